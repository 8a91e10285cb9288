CREATE TABLE `tenant_work` (
	`tenant_id` text PRIMARY KEY NOT NULL,
	`due_at` integer NOT NULL,
	`unresolved` integer NOT NULL,
	`mismatches` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `tenant_work_due` ON `tenant_work` (`due_at`);--> statement-breakpoint
CREATE TABLE `wallet_nonces` (
	`network` text NOT NULL,
	`sender` text NOT NULL,
	`nonce` integer NOT NULL,
	`tenant_id` text NOT NULL,
	`subject` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`network`, `sender`, `nonce`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `wallet_nonces_subject` ON `wallet_nonces` (`subject`);--> statement-breakpoint
CREATE TABLE `withdrawal_keys` (
	`tenant_id` text NOT NULL,
	`account` text NOT NULL,
	`idempotency_key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`withdrawal_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`tenant_id`, `account`, `idempotency_key`)
) WITHOUT ROWID;
