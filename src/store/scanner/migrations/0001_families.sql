ALTER TABLE `removals` ADD `was_unmined` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `transfers` ADD `least_depth` integer DEFAULT 1 NOT NULL;