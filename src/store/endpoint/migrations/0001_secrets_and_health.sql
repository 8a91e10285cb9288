ALTER TABLE `attempts` ADD `error` text;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `id` text;--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_id` ON `deliveries` (`id`) WHERE id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deliveries_unnamed` ON `deliveries` (`position`) WHERE id IS NULL;--> statement-breakpoint
ALTER TABLE `endpoint` ADD `revision` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE `endpoint` ADD `signature` text DEFAULT 'v1' NOT NULL;--> statement-breakpoint
ALTER TABLE `endpoint` ADD `failing_since` integer;--> statement-breakpoint
ALTER TABLE `secrets` ADD `key_version` text;--> statement-breakpoint
ALTER TABLE `secrets` ADD `public_key` text;--> statement-breakpoint
UPDATE `endpoint` SET `disabled_reason` = 'gone' WHERE `disabled_reason` = 'The endpoint answered 410 Gone.';
