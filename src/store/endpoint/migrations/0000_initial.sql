CREATE TABLE `attempts` (
	`delivery` integer NOT NULL,
	`n` integer NOT NULL,
	`at` integer NOT NULL,
	`outcome` text NOT NULL,
	`status` integer,
	`duration_ms` integer NOT NULL,
	`response` text,
	PRIMARY KEY(`delivery`, `n`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `deliveries` (
	`position` integer PRIMARY KEY NOT NULL,
	`event_id` text NOT NULL,
	`event_type` text NOT NULL,
	`sequence` integer NOT NULL,
	`replay` integer NOT NULL,
	`subject` text NOT NULL,
	`subject_sequence` integer NOT NULL,
	`status` text NOT NULL,
	`blocked` integer NOT NULL,
	`failures` integer NOT NULL,
	`next_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`settled_at` integer,
	`body` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_event` ON `deliveries` (`event_id`,`replay`);--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`next_at`) WHERE status = 'pending' AND blocked = 0;--> statement-breakpoint
CREATE INDEX `deliveries_subject` ON `deliveries` (`subject`,`sequence`,`replay`) WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX `deliveries_given_up` ON `deliveries` (`position`) WHERE status = 'given_up';--> statement-breakpoint
CREATE TABLE `endpoint` (
	`id` integer PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`endpoint_id` text NOT NULL,
	`url` text NOT NULL,
	`api_version` text NOT NULL,
	`status` text NOT NULL,
	`disabled_reason` text,
	`status_at` integer NOT NULL,
	`tell_at` integer
);
--> statement-breakpoint
CREATE TABLE `secrets` (
	`n` integer PRIMARY KEY NOT NULL,
	`secret` text NOT NULL,
	`request_id` text NOT NULL,
	`ends_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `secrets_request_id_unique` ON `secrets` (`request_id`);