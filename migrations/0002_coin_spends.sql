CREATE TABLE `spend_members` (
	`withdrawal_id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`network` text NOT NULL,
	`pin` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `spend_members_pin` ON `spend_members` (`network`,`pin`);--> statement-breakpoint
CREATE TABLE `spent_outputs` (
	`network` text NOT NULL,
	`tx_id` text NOT NULL,
	`vout` integer NOT NULL,
	`tenant_id` text NOT NULL,
	`pin` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`network`, `tx_id`, `vout`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `spent_outputs_pin` ON `spent_outputs` (`network`,`pin`);