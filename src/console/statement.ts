/**
 * A statement: ledger entries as a CSV file (RFC 4180), oldest first, with what each account held after each of them.
 * Amounts are the service's own digits. A cell that a spreadsheet would read as a formula is made text.
 */

import type { LedgerEntry, LedgerFilter } from "../sdk/types.ts";
import { Sum } from "./amounts.ts";

const BUCKETS = ["available", "reserved", "settled", "debt"] as const;
type Bucket = (typeof BUCKETS)[number];

const HEAD = [
  "created_at",
  "entry_id",
  "journal_id",
  "account",
  "network",
  "asset",
  "from",
  "to",
  "amount",
  "amount_units",
  "cause",
  "cause_id",
  "event_id",
  ...BUCKETS.map((bucket) => `${bucket}_after`),
];

/**
 * @param newestFirst every entry of the accounts and assets that are in it: what is held is counted from nothing
 * @returns the file, in parts, so that a long one is never one long string
 */
export function statementOf(newestFirst: readonly LedgerEntry[]): string[] {
  const held = new Map<string, Record<Bucket, Sum>>();
  const lines = [csvLine(HEAD)];
  for (const entry of newestFirst.toReversed()) {
    const name = JSON.stringify([entry.account, entry.network, entry.asset]);
    const balance = held.get(name) ?? {
      available: new Sum(),
      reserved: new Sum(),
      settled: new Sum(),
      debt: new Sum(),
    };
    held.set(name, balance);
    book(balance, entry);
    lines.push(
      csvLine([
        entry.created_at,
        entry.id,
        entry.journal_id,
        entry.account,
        entry.network,
        entry.asset,
        entry.from,
        entry.to,
        entry.amount,
        entry.amount_units,
        entry.cause.type,
        entry.cause.id,
        entry.cause.event_id ?? "",
        ...BUCKETS.map((bucket) => balance[bucket].toString()),
      ]),
    );
  }
  return lines;
}

/** What an account owes grows when units leave `debt`. `chain` is the world outside, which nothing is counted for. */
function book(balance: Record<Bucket, Sum>, { from, to, amount }: LedgerEntry): void {
  if (from === "debt") balance.debt.add(amount);
  else if (isBucket(from)) balance[from].take(amount);
  if (to === "debt") balance.debt.take(amount);
  else if (isBucket(to)) balance[to].add(amount);
}

function isBucket(name: string): name is Bucket {
  return BUCKETS.some((bucket) => bucket === name);
}

export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/**
 * Spreadsheets take what begins so for a formula, in quotes or not. The wide forms are those of East Asian keyboards.
 * Where the decimal point is a comma, they begin a new cell at each semicolon.
 */
const FORMULA = /(^|;\s*)(?=[=+\-@\t\r\n＝＋－＠])/g;
/** Below zero is a number and no formula. The service writes none; sums of wrong entries would be. */
const NUMBER = /^-\d+(\.\d+)?$/;

function csvCell(text: string): string {
  const safe = NUMBER.test(text) ? text : text.replaceAll(FORMULA, "$1'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Says what is in it and until when. Letters that a file system may refuse are left out. */
export function statementName(filter: LedgerFilter, now: Date): string {
  const parts = [filter.account, filter.network, filter.asset].filter((part) => part !== undefined && part !== "");
  const what = parts.length === 0 ? ["all"] : parts;
  const name = ["ledger", ...what, now.toISOString().slice(0, 19).replaceAll(":", "")].join("-");
  return `${name.replaceAll(/[^A-Za-z0-9._-]+/g, "_")}.csv`;
}
