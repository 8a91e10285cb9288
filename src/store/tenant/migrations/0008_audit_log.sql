CREATE TABLE `audit_log` (
	`seq` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`key_id` text NOT NULL,
	`via` text NOT NULL,
	`request_id` text NOT NULL,
	`call` text NOT NULL,
	`subject` text,
	`outcome` text NOT NULL,
	`client_address` text,
	`user_agent` text,
	`hash` text NOT NULL
);
