ALTER TABLE `deposits` ADD `least_depth` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
CREATE INDEX `deposits_unmined` ON `deposits` (`network`) WHERE height = 4503599627370496 AND status = 'pending';--> statement-breakpoint
ALTER TABLE `transfers` ADD `least_depth` integer DEFAULT 1 NOT NULL;