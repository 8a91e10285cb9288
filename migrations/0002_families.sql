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