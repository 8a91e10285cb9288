-- The first table is INBOX_SCHEMA of the SDK.
CREATE TABLE sluice_inbox (subject TEXT PRIMARY KEY NOT NULL, subject_sequence INTEGER NOT NULL, credits INTEGER NOT NULL);
CREATE TABLE entries (event TEXT NOT NULL, account TEXT NOT NULL, asset TEXT NOT NULL, units TEXT NOT NULL);
CREATE INDEX entries_by_account ON entries (account, asset);
