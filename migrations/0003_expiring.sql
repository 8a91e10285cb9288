CREATE TABLE `live_attempts` (
	`withdrawal_id` text NOT NULL,
	`number` integer NOT NULL,
	`tenant_id` text NOT NULL,
	`network` text NOT NULL,
	`sender` text NOT NULL,
	`tx_id` text,
	`expires_at` integer,
	`signed_above` integer,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`withdrawal_id`, `number`)
) WITHOUT ROWID;
