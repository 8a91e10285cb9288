CREATE TABLE `payments` (
	`height` integer NOT NULL,
	`tenant` integer NOT NULL,
	`part` integer NOT NULL,
	`added_version` integer NOT NULL,
	`block_hash` text NOT NULL,
	`timestamp_s` integer NOT NULL,
	`list` text NOT NULL,
	PRIMARY KEY(`height`, `tenant`, `part`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `tenants` ADD `changed_from` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
INSERT INTO `payments` (`height`, `tenant`, `part`, `added_version`, `block_hash`, `timestamp_s`, `list`)
SELECT `height`, `tenant`, `n` / 1000, max(`added_version`), min(`block_hash`), min(`timestamp_s`),
	json_group_array(json_array(`tx_id`, `transfer_index`, `address`, `asset`, `amount_units`, `least_depth`, `memo`))
FROM (SELECT *, row_number() OVER (PARTITION BY `height`, `tenant` ORDER BY `tx_id`, `transfer_index`) - 1 AS `n` FROM `transfers`)
WHERE `height` < 4503599627370496 GROUP BY `height`, `tenant`, `n` / 1000;
--> statement-breakpoint
DELETE FROM `transfers` WHERE `height` < 4503599627370496;
