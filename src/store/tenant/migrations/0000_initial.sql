CREATE TABLE `addresses` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`network` text NOT NULL,
	`address` text NOT NULL,
	`account` text NOT NULL,
	`label` text,
	`metadata` text NOT NULL,
	`watched_from` integer,
	`created_at` integer NOT NULL,
	`deleted_at` integer,
	`release_pending` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `addresses_id_unique` ON `addresses` (`id`);--> statement-breakpoint
CREATE INDEX `addresses_address` ON `addresses` (`address`,`network`);--> statement-breakpoint
CREATE INDEX `addresses_account` ON `addresses` (`account`);--> statement-breakpoint
CREATE INDEX `addresses_release` ON `addresses` (`release_pending`) WHERE release_pending = 1;--> statement-breakpoint
CREATE TABLE `api_keys` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`hash` text NOT NULL,
	`name` text NOT NULL,
	`scopes` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer,
	`replaced_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_id_unique` ON `api_keys` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE TABLE `assets` (
	`network` text NOT NULL,
	`contract` text NOT NULL,
	`symbol` text NOT NULL,
	`decimals` integer NOT NULL,
	PRIMARY KEY(`network`, `contract`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `assets_symbol` ON `assets` (`network`,`symbol`);--> statement-breakpoint
CREATE TABLE `backfills` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`from_height` integer NOT NULL,
	`to_height` integer NOT NULL,
	`status` text NOT NULL,
	`next_height` integer NOT NULL,
	`found` integer NOT NULL,
	`already_known` integer NOT NULL,
	`added` integer NOT NULL,
	`conflicts` integer NOT NULL,
	`error` text,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	`handed_over` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `balances` (
	`account` text NOT NULL,
	`network` text NOT NULL,
	`asset` text NOT NULL,
	`available` text NOT NULL,
	`reserved` text NOT NULL,
	`settled` text NOT NULL,
	`debt` text NOT NULL,
	PRIMARY KEY(`account`, `network`, `asset`),
	CONSTRAINT "balances_not_negative" CHECK(available NOT LIKE '-%' AND reserved NOT LIKE '-%' AND settled NOT LIKE '-%' AND debt NOT LIKE '-%')
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `deposits` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`network` text NOT NULL,
	`tx_id` text NOT NULL,
	`transfer_index` text NOT NULL,
	`address` text NOT NULL,
	`account` text NOT NULL,
	`asset` text NOT NULL,
	`amount_units` text NOT NULL,
	`status` text NOT NULL,
	`epoch` integer NOT NULL,
	`rule` text NOT NULL,
	`height` integer NOT NULL,
	`block_hash` text NOT NULL,
	`timestamp_s` integer NOT NULL,
	`due_height` integer,
	`due_finalized` integer,
	`created_at` integer NOT NULL,
	`confirmed_at` integer,
	`reverted_at` integer,
	`settled_at` integer,
	`backfill_id` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deposits_id_unique` ON `deposits` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `deposits_key` ON `deposits` (`tx_id`,`transfer_index`,`network`);--> statement-breakpoint
CREATE INDEX `deposits_account` ON `deposits` (`account`);--> statement-breakpoint
CREATE INDEX `deposits_address` ON `deposits` (`address`);--> statement-breakpoint
CREATE INDEX `deposits_due_height` ON `deposits` (`network`,`due_height`) WHERE due_height IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deposits_due_finalized` ON `deposits` (`network`,`due_finalized`) WHERE due_finalized IS NOT NULL;--> statement-breakpoint
CREATE TABLE `endpoints` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`url` text NOT NULL,
	`events` text,
	`description` text,
	`status` text NOT NULL,
	`disabled_reason` text,
	`handed_to` integer NOT NULL,
	`created_at` integer NOT NULL,
	`deleted_at` integer,
	`close_pending` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `endpoints_id_unique` ON `endpoints` (`id`);--> statement-breakpoint
CREATE TABLE `events` (
	`sequence` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`subject` text NOT NULL,
	`subject_sequence` integer NOT NULL,
	`body` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `events_id_unique` ON `events` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `events_subject` ON `events` (`subject`,`subject_sequence`);--> statement-breakpoint
CREATE TABLE `idempotency` (
	`key` text PRIMARY KEY NOT NULL,
	`fingerprint` text NOT NULL,
	`object_id` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `ledger_entries` (
	`seq` integer PRIMARY KEY NOT NULL,
	`journal_id` text NOT NULL,
	`line` integer NOT NULL,
	`account` text NOT NULL,
	`network` text NOT NULL,
	`asset` text NOT NULL,
	`from_bucket` text NOT NULL,
	`to_bucket` text NOT NULL,
	`amount_units` text NOT NULL,
	`cause_type` text NOT NULL,
	`cause_id` text NOT NULL,
	`event_id` text,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_entries_journal` ON `ledger_entries` (`journal_id`,`line`);--> statement-breakpoint
CREATE INDEX `ledger_entries_account` ON `ledger_entries` (`account`);--> statement-breakpoint
CREATE TABLE `networks` (
	`network` text PRIMARY KEY NOT NULL,
	`version` integer NOT NULL,
	`head` integer NOT NULL,
	`head_timestamp_s` integer NOT NULL,
	`finalized` integer NOT NULL,
	`window_from` integer NOT NULL,
	`duplicates_met` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `notices` (
	`id` text NOT NULL,
	`type` text NOT NULL,
	`event_id` text NOT NULL,
	PRIMARY KEY(`id`, `type`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `policies` (
	`name` text PRIMARY KEY NOT NULL,
	`rules` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `tenant` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`email` text,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `transfers` (
	`network` text NOT NULL,
	`tx_id` text NOT NULL,
	`transfer_index` text NOT NULL,
	`address` text NOT NULL,
	`asset` text NOT NULL,
	`amount_units` text NOT NULL,
	`height` integer NOT NULL,
	`block_hash` text NOT NULL,
	`timestamp_s` integer NOT NULL,
	PRIMARY KEY(`network`, `tx_id`, `transfer_index`)
) WITHOUT ROWID;
