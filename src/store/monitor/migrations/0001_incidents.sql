CREATE TABLE `calls` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`incident_id` text NOT NULL,
	`body` text NOT NULL,
	`status` text NOT NULL,
	`failures` integer NOT NULL,
	`next_at` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `calls_id_unique` ON `calls` (`id`);--> statement-breakpoint
CREATE INDEX `calls_due` ON `calls` (`next_at`) WHERE status = 'pending';--> statement-breakpoint
CREATE TABLE `incidents` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`tenant_id` text,
	`network` text,
	`first_seen_at` integer NOT NULL,
	`looks` integer NOT NULL,
	`opened_at` integer,
	`closed_at` integer,
	`summary` text NOT NULL,
	`evidence` text NOT NULL,
	`quiet_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `incidents_id_unique` ON `incidents` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `incidents_current` ON `incidents` (`kind`,`subject`) WHERE tenant_id IS NULL AND closed_at IS NULL;--> statement-breakpoint
CREATE INDEX `incidents_quiet` ON `incidents` (`quiet_at`) WHERE quiet_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `incidents_tenant` ON `incidents` (`tenant_id`);