ALTER TABLE `networks` ADD `tallies` text DEFAULT '{"deposits":{},"withdrawals":{}}' NOT NULL;--> statement-breakpoint
CREATE INDEX `balances_in_debt` ON `balances` (`network`,`asset`) WHERE debt <> '0';--> statement-breakpoint
UPDATE `networks` SET `tallies` = json_object(
	'deposits', json((SELECT json_group_object(status, n) FROM (SELECT status, count(*) AS n FROM deposits WHERE network = `networks`.`network` GROUP BY status))),
	'withdrawals', json((SELECT json_group_object(state, n) FROM (SELECT state, count(*) AS n FROM withdrawals WHERE network = `networks`.`network` AND state IN ('confirmed', 'failed', 'cancelled', 'rejected') GROUP BY state)))
);
