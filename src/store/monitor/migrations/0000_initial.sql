CREATE TABLE `reports` (
	`source` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`figures` text NOT NULL
) WITHOUT ROWID;
