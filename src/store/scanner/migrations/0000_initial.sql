CREATE TABLE `addresses` (
	`address` text NOT NULL,
	`from_height` integer NOT NULL,
	`tenant` integer NOT NULL,
	`until_height` integer,
	PRIMARY KEY(`address`, `from_height`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `addresses_tenant` ON `addresses` (`tenant`);--> statement-breakpoint
CREATE INDEX `addresses_until` ON `addresses` (`until_height`) WHERE until_height IS NOT NULL;--> statement-breakpoint
CREATE TABLE `backfills` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`tenant` integer NOT NULL,
	`address` text,
	`to_height` integer NOT NULL,
	`next_height` integer NOT NULL,
	`failures` integer NOT NULL,
	`due_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `backfills_id_unique` ON `backfills` (`id`);--> statement-breakpoint
CREATE INDEX `backfills_due` ON `backfills` (`due_at`);--> statement-breakpoint
CREATE INDEX `backfills_tenant` ON `backfills` (`tenant`,`address`);--> statement-breakpoint
CREATE TABLE `blocks` (
	`height` integer PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`parent_hash` text NOT NULL,
	`timestamp_s` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `counters` (
	`name` text PRIMARY KEY NOT NULL,
	`value` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `notices` (
	`tenant` integer NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`reason` text NOT NULL,
	`height` integer,
	`at` integer NOT NULL,
	PRIMARY KEY(`tenant`, `id`, `type`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `removals` (
	`tenant` integer NOT NULL,
	`version` integer NOT NULL,
	`tx_id` text NOT NULL,
	`transfer_index` text NOT NULL,
	PRIMARY KEY(`tenant`, `version`, `tx_id`, `transfer_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `scanner` (
	`id` integer PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`version` integer NOT NULL,
	`claimed_version` integer NOT NULL,
	`scanned_to` integer,
	`window_from` integer,
	`finalized` integer NOT NULL,
	`hold_until` integer,
	`reopened_from` integer,
	`status` text NOT NULL,
	`incident_id` text,
	`incident_reason` text,
	`incident_at` integer,
	`internal` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `tenants` (
	`n` integer PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`acked_version` integer,
	`dirty` integer NOT NULL,
	`kept_from` integer NOT NULL,
	`next_height` integer,
	`next_finalized` integer,
	`retry_at` integer DEFAULT 0 NOT NULL,
	`failures` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tenants_tenant_id_unique` ON `tenants` (`tenant_id`);--> statement-breakpoint
CREATE INDEX `tenants_dirty` ON `tenants` (`dirty`) WHERE dirty = 1;--> statement-breakpoint
CREATE INDEX `tenants_next_height` ON `tenants` (`next_height`) WHERE next_height IS NOT NULL;--> statement-breakpoint
CREATE INDEX `tenants_next_finalized` ON `tenants` (`next_finalized`) WHERE next_finalized IS NOT NULL;--> statement-breakpoint
CREATE TABLE `tokens` (
	`contract` text NOT NULL,
	`tenant` integer NOT NULL,
	PRIMARY KEY(`contract`, `tenant`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `transfers` (
	`height` integer NOT NULL,
	`tx_id` text NOT NULL,
	`transfer_index` text NOT NULL,
	`tenant` integer NOT NULL,
	`address` text NOT NULL,
	`asset` text NOT NULL,
	`amount_units` text NOT NULL,
	`block_hash` text NOT NULL,
	`timestamp_s` integer NOT NULL,
	`added_version` integer NOT NULL,
	PRIMARY KEY(`height`, `tx_id`, `transfer_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `transfers_tenant` ON `transfers` (`tenant`,`added_version`);