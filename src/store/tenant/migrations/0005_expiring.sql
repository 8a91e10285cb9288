CREATE TABLE `expiring_attempts` (
	`withdrawal_id` text NOT NULL,
	`tx_id` text NOT NULL,
	`number` integer NOT NULL,
	`raw` text,
	`unsigned` text,
	`expires_at` integer NOT NULL,
	`signed_above` integer NOT NULL,
	`fee_most` text NOT NULL,
	`claimed` integer NOT NULL,
	`status` text NOT NULL,
	`landed_height` integer,
	`landed_hash` text,
	`fee_units` text,
	`dead_point` integer,
	`refusal` text,
	`signed_at` integer NOT NULL,
	`first_sent_at` integer,
	`last_sent_at` integer,
	`sends` integer NOT NULL,
	`outcome` text,
	PRIMARY KEY(`withdrawal_id`, `tx_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `expiring_attempts_tx` ON `expiring_attempts` (`tx_id`);--> statement-breakpoint
CREATE TABLE `expiring_payments` (
	`withdrawal_id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`sender` text NOT NULL,
	`status` text NOT NULL,
	`given_up` integer NOT NULL,
	`hurried` integer NOT NULL,
	`created_at` integer NOT NULL,
	`deadline_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `expiring_payments_open` ON `expiring_payments` (`network`,`sender`) WHERE status = 'open';