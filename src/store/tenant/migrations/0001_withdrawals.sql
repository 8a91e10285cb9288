CREATE TABLE `attempts` (
	`network` text NOT NULL,
	`sender` text NOT NULL,
	`nonce` integer NOT NULL,
	`number` integer NOT NULL,
	`tx_id` text NOT NULL,
	`kind` text NOT NULL,
	`raw` text NOT NULL,
	`gas_limit` text NOT NULL,
	`fee_kind` text NOT NULL,
	`most_per_gas` text NOT NULL,
	`tip_per_gas` text,
	`signed_at` integer NOT NULL,
	`signed_height` integer NOT NULL,
	`first_sent_at` integer,
	`last_sent_at` integer,
	`sends` integer NOT NULL,
	`outcome` text,
	PRIMARY KEY(`network`, `sender`, `nonce`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `attempts_tx` ON `attempts` (`tx_id`);--> statement-breakpoint
CREATE TABLE `counters` (
	`name` text PRIMARY KEY NOT NULL,
	`value` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `reconciliations` (
	`seq` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`report` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `signers` (
	`network` text PRIMARY KEY NOT NULL,
	`url` text NOT NULL,
	`address` text NOT NULL,
	`token` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `slots` (
	`network` text NOT NULL,
	`sender` text NOT NULL,
	`nonce` integer NOT NULL,
	`withdrawal_id` text,
	`status` text NOT NULL,
	`claimed` integer NOT NULL,
	`burn` integer NOT NULL,
	`speed_up` integer NOT NULL,
	`gas_limit` text,
	`mined_tx_id` text,
	`mined_height` integer,
	`mined_block_hash` text,
	`created_at` integer NOT NULL,
	`deadline_at` integer NOT NULL,
	PRIMARY KEY(`network`, `sender`, `nonce`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `slots_open` ON `slots` (`network`,`sender`) WHERE status = 'open';--> statement-breakpoint
CREATE TABLE `wallets` (
	`network` text NOT NULL,
	`sender` text NOT NULL,
	`next_nonce` integer NOT NULL,
	`used_below` integer NOT NULL,
	`status` text NOT NULL,
	`incident` text,
	`due_at` integer,
	`gap_since` integer,
	PRIMARY KEY(`network`, `sender`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `withdrawal_transitions` (
	`withdrawal_id` text NOT NULL,
	`number` integer NOT NULL,
	`from_state` text,
	`to_state` text NOT NULL,
	`reason` text NOT NULL,
	`evidence` text,
	`at` integer NOT NULL,
	PRIMARY KEY(`withdrawal_id`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `withdrawals` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`account` text NOT NULL,
	`idempotency_key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`network` text NOT NULL,
	`asset` text NOT NULL,
	`destination` text NOT NULL,
	`amount_units` text NOT NULL,
	`external_id` text,
	`metadata` text NOT NULL,
	`creator_key_id` text NOT NULL,
	`state` text NOT NULL,
	`sender` text,
	`nonce` integer,
	`tx_id` text,
	`fee_units` text,
	`waiting_for` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `withdrawals_id_unique` ON `withdrawals` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `withdrawals_key` ON `withdrawals` (`idempotency_key`,`account`);--> statement-breakpoint
CREATE INDEX `withdrawals_account` ON `withdrawals` (`account`);--> statement-breakpoint
CREATE INDEX `withdrawals_external` ON `withdrawals` (`external_id`) WHERE external_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `withdrawals_open` ON `withdrawals` (`network`,`state`) WHERE state NOT IN ('confirmed', 'failed', 'cancelled', 'rejected');--> statement-breakpoint
CREATE INDEX `withdrawals_recent` ON `withdrawals` (`asset`,`network`,`created_at`);--> statement-breakpoint
ALTER TABLE `api_keys` ADD `origin_id` text;