CREATE TABLE `deposit_events` (
	`last` integer PRIMARY KEY NOT NULL,
	`first` integer NOT NULL,
	`created_at` integer NOT NULL,
	`bodies` text NOT NULL
);
--> statement-breakpoint
ALTER TABLE `networks` ADD `dues` text DEFAULT '{"height":[],"finalized":[]}' NOT NULL;
--> statement-breakpoint
-- While the indexes are there that know what is due: all of it as one range, which the first look takes apart.
UPDATE `networks` SET `dues` = json_object(
	'height', (SELECT CASE count(*) WHEN 0 THEN json('[]') ELSE json_array(json_array(min(`due_height`), min(`seq`), max(`seq`))) END FROM `deposits` WHERE `deposits`.`network` = `networks`.`network` AND `due_height` IS NOT NULL),
	'finalized', (SELECT CASE count(*) WHEN 0 THEN json('[]') ELSE json_array(json_array(min(`due_finalized`), min(`seq`), max(`seq`))) END FROM `deposits` WHERE `deposits`.`network` = `networks`.`network` AND `due_finalized` IS NOT NULL)
);
--> statement-breakpoint
ALTER TABLE `transfers` ADD `gone` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
-- Every key that was told is found here from now on, also one that is on the chain no more.
INSERT INTO `transfers` (`network`, `tx_id`, `transfer_index`, `address`, `asset`, `amount_units`, `height`, `block_hash`, `timestamp_s`, `least_depth`, `memo`, `gone`)
SELECT `network`, `tx_id`, `transfer_index`, `address`, `asset`, `amount_units`, `height`, `block_hash`, `timestamp_s`, `least_depth`, `memo`, 1
FROM `deposits` WHERE `status` IN ('dropped', 'reverted') ON CONFLICT DO NOTHING;
--> statement-breakpoint
DROP INDEX `deposits_key`;
--> statement-breakpoint
DROP INDEX `deposits_due_height`;
--> statement-breakpoint
DROP INDEX `deposits_due_finalized`;
--> statement-breakpoint
ALTER TABLE `deposits` ADD `events` text;
--> statement-breakpoint
DROP INDEX `ledger_entries_journal`;
--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_entries_cause` ON `ledger_entries` (`journal_id`,`line`) WHERE cause_type NOT IN ('deposit.confirmed', 'deposit.reverted');
