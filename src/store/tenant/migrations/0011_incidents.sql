CREATE TABLE `incidents` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`network` text,
	`first_seen_at` integer NOT NULL,
	`looks` integer NOT NULL,
	`opened_at` integer,
	`well_since` integer,
	`closed_at` integer,
	`summary` text NOT NULL,
	`evidence` text NOT NULL,
	`shown_at` integer NOT NULL,
	`revision` integer NOT NULL,
	`told_revision` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `incidents_id_unique` ON `incidents` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `incidents_current` ON `incidents` (`kind`,`subject`) WHERE closed_at IS NULL;--> statement-breakpoint
CREATE INDEX `incidents_untold` ON `incidents` (`seq`) WHERE told_revision < revision;--> statement-breakpoint
ALTER TABLE `wallets` ADD `stopped_for` text;--> statement-breakpoint
UPDATE `wallets` SET `stopped_for` = 'foreign_spend' WHERE `status` = 'stopped' AND (
	`incident` LIKE '%a transaction that is not ours%' OR `incident` LIKE 'nonces below % were spent by somebody else%'
);
