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