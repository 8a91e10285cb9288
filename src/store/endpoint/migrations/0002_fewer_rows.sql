DROP INDEX `deliveries_unnamed`;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `is_numbered` integer;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `acknowledged_at` integer;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `acknowledged_status` integer;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `acknowledged_ms` integer;--> statement-breakpoint
ALTER TABLE `deliveries` ADD `acknowledged_response` text;--> statement-breakpoint
CREATE INDEX `deliveries_unnamed` ON `deliveries` (`position`) WHERE id IS NULL AND is_numbered IS NULL;