ALTER TABLE `deposits` ADD `memo` text;--> statement-breakpoint
ALTER TABLE `transfers` ADD `memo` text;--> statement-breakpoint
ALTER TABLE `withdrawals` ADD `turn_at` integer;