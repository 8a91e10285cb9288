CREATE TABLE `coins` (
	`network` text NOT NULL,
	`tx_id` text NOT NULL,
	`vout` integer NOT NULL,
	`address` text NOT NULL,
	`path` text NOT NULL,
	`amount_units` text NOT NULL,
	`height` integer NOT NULL,
	`least_depth` integer NOT NULL,
	PRIMARY KEY(`network`, `tx_id`, `vout`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `spend_attempts` (
	`network` text NOT NULL,
	`sender` text NOT NULL,
	`number` integer NOT NULL,
	`attempt` integer NOT NULL,
	`tx_id` text NOT NULL,
	`raw` text NOT NULL,
	`inputs` text NOT NULL,
	`outputs` text NOT NULL,
	`pays` text NOT NULL,
	`fee_units` text NOT NULL,
	`vsize` integer NOT NULL,
	`signed_at` integer NOT NULL,
	`signed_height` integer NOT NULL,
	`first_sent_at` integer,
	`last_sent_at` integer,
	`sends` integer NOT NULL,
	`outcome` text,
	PRIMARY KEY(`network`, `sender`, `number`, `attempt`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `spend_attempts_tx` ON `spend_attempts` (`tx_id`);--> statement-breakpoint
CREATE TABLE `spend_inputs` (
	`network` text NOT NULL,
	`tx_id` text NOT NULL,
	`vout` integer NOT NULL,
	`sender` text NOT NULL,
	`number` integer NOT NULL,
	`address` text NOT NULL,
	`path` text NOT NULL,
	`amount_units` text NOT NULL,
	`height` integer NOT NULL,
	`claimed` integer NOT NULL,
	`status` text NOT NULL,
	PRIMARY KEY(`network`, `tx_id`, `vout`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `spend_inputs_spend` ON `spend_inputs` (`network`,`sender`,`number`);--> statement-breakpoint
CREATE INDEX `spend_inputs_freed` ON `spend_inputs` (`network`,`sender`) WHERE status = 'freed';--> statement-breakpoint
CREATE TABLE `spend_members` (
	`network` text NOT NULL,
	`sender` text NOT NULL,
	`number` integer NOT NULL,
	`place` integer NOT NULL,
	`withdrawal_id` text NOT NULL,
	`given_up` integer NOT NULL,
	PRIMARY KEY(`network`, `sender`, `number`, `place`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `spend_members_withdrawal` ON `spend_members` (`withdrawal_id`);--> statement-breakpoint
CREATE TABLE `spends` (
	`network` text NOT NULL,
	`sender` text NOT NULL,
	`number` integer NOT NULL,
	`pin_tx_id` text NOT NULL,
	`pin_vout` integer NOT NULL,
	`status` text NOT NULL,
	`claimed` integer NOT NULL,
	`speed_up` integer NOT NULL,
	`mined_attempt` integer,
	`mined_tx_id` text,
	`mined_height` integer,
	`mined_block_hash` text,
	`foreign_tx_id` text,
	`created_at` integer NOT NULL,
	`deadline_at` integer NOT NULL,
	PRIMARY KEY(`network`, `sender`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `spends_pin` ON `spends` (`network`,`pin_tx_id`,`pin_vout`);--> statement-breakpoint
CREATE INDEX `spends_open` ON `spends` (`network`,`sender`) WHERE status = 'open';--> statement-breakpoint
CREATE INDEX `spends_tx` ON `spends` (`mined_tx_id`) WHERE mined_tx_id IS NOT NULL;--> statement-breakpoint
CREATE TABLE `wallet_addresses` (
	`network` text NOT NULL,
	`address` text NOT NULL,
	`sender` text NOT NULL,
	`path` text NOT NULL,
	`watched_from` integer,
	PRIMARY KEY(`network`, `address`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `xpubs` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`network` text NOT NULL,
	`type` text NOT NULL,
	`path` text NOT NULL,
	`account` text NOT NULL,
	`shown` text NOT NULL,
	`fingerprint` text NOT NULL,
	`first_address` text NOT NULL,
	`label` text,
	`next_index` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `xpubs_id_unique` ON `xpubs` (`id`);--> statement-breakpoint
ALTER TABLE `addresses` ADD `xpub_id` text;--> statement-breakpoint
ALTER TABLE `addresses` ADD `derivation_index` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `addresses_derived` ON `addresses` (`xpub_id`,`derivation_index`) WHERE xpub_id IS NOT NULL;--> statement-breakpoint
ALTER TABLE `deposits` ADD `least_depth` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
CREATE INDEX `deposits_unmined` ON `deposits` (`network`) WHERE height = 4503599627370496 AND status = 'pending';--> statement-breakpoint
ALTER TABLE `transfers` ADD `least_depth` integer DEFAULT 1 NOT NULL;