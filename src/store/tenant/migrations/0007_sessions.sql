CREATE TABLE `sessions` (
	`hash` text PRIMARY KEY NOT NULL,
	`key_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
) WITHOUT ROWID;
