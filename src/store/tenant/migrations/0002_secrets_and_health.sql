ALTER TABLE `endpoints` ADD `disabled_at` integer;--> statement-breakpoint
ALTER TABLE `endpoints` ADD `signature` text DEFAULT 'v1' NOT NULL;--> statement-breakpoint
ALTER TABLE `endpoints` ADD `public_key` text;--> statement-breakpoint
ALTER TABLE `endpoints` ADD `api_version` text DEFAULT '2026-11-01' NOT NULL;--> statement-breakpoint
ALTER TABLE `endpoints` ADD `revision` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `signers` ADD `key_version` text;--> statement-breakpoint
UPDATE `endpoints` SET `disabled_reason` = 'gone' WHERE `disabled_reason` = 'The endpoint answered 410 Gone.';
