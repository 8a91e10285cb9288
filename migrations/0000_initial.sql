CREATE TABLE `addresses` (
	`network` text NOT NULL,
	`address` text NOT NULL,
	`tenant_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`network`, `address`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`tenant_id` text NOT NULL,
	`hash` text NOT NULL,
	`scopes` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE TABLE `deposit_keys` (
	`network` text NOT NULL,
	`tx_id` text NOT NULL,
	`transfer_index` text NOT NULL,
	`tenant_id` text NOT NULL,
	PRIMARY KEY(`network`, `tx_id`, `transfer_index`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `endpoint_waits` (
	`endpoint_id` text PRIMARY KEY NOT NULL,
	`due_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `endpoint_waits_due` ON `endpoint_waits` (`due_at`);--> statement-breakpoint
CREATE TABLE `sign_up_keys` (
	`scope_hash` text PRIMARY KEY NOT NULL,
	`fingerprint` text NOT NULL,
	`tenant_id` text NOT NULL,
	`key_id` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `tenants` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`email` text,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
