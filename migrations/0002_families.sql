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
CREATE INDEX `spent_outputs_pin` ON `spent_outputs` (`network`,`pin`);--> statement-breakpoint
CREATE TABLE `xpub_indexes` (
	`network` text NOT NULL,
	`key_hash` text NOT NULL,
	`idx` integer NOT NULL,
	`tenant_id` text NOT NULL,
	`address_id` text NOT NULL,
	`request` text,
	`has_address` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`network`, `key_hash`, `idx`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `xpub_indexes_address` ON `xpub_indexes` (`address_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `xpub_indexes_request` ON `xpub_indexes` (`request`) WHERE request IS NOT NULL;