/** What must hold of a tenant's events and of its ledger, read from its own rows. Names are the design's. */

import { FEE_ACCOUNT } from "../../src/core/ledger.ts";
import { isOpen, type WithdrawalState } from "../../src/core/withdrawal.ts";
import { EVENT_LOG } from "../support/event-log.ts";
import type { Row } from "./world/disk.ts";

export type Rows = (sql: string, ...values: unknown[]) => Row[];
export type Fail = (text: string) => void;

/** I1, I2, I13: sequences without a gap; of one deposit, confirmed and reverted in turn. */
export function checkEvents(rows: Rows, fail: Fail): void {
  const events = rows(`SELECT sequence, type, subject, subject_sequence FROM ${EVENT_LOG} ORDER BY sequence`);
  const subjects = new Map<string, Row[]>();
  for (const [i, event] of events.entries()) {
    if (event.sequence !== i + 1) fail(`I13 event ${event.sequence} stands at place ${i + 1}`);
    const own = subjects.get(String(event.subject)) ?? [];
    own.push(event);
    subjects.set(String(event.subject), own);
  }
  for (const [subject, own] of subjects) {
    own.forEach((event, i) => {
      if (event.subject_sequence !== i + 1) fail(`I2 ${subject}: ${event.subject_sequence} at place ${i + 1}`);
    });
    const money = own.map(({ type }) => String(type)).filter((type) => /^deposit\.(confirmed|reverted)$/.test(type));
    money.forEach((type, i) => {
      if (type !== (i % 2 === 0 ? "deposit.confirmed" : "deposit.reverted")) fail(`I1 ${subject}: ${money.join()}`);
    });
  }
}

interface Sums {
  available: bigint;
  reserved: bigint;
  settled: bigint;
  debt: bigint;
}
const BUCKETS = ["available", "reserved", "settled", "debt"] as const;

/** I3, I4: balances are the fold of the entries, nothing is below zero, and debt comes before everything else. */
export function checkLedger(rows: Rows, fail: Fail): void {
  const fold = new Map<string, Sums>();
  const entries = rows("SELECT * FROM ledger_entries ORDER BY seq");
  for (const [i, entry] of entries.entries()) {
    const name = nameOf(entry);
    const sums = fold.get(name) ?? { available: 0n, reserved: 0n, settled: 0n, debt: 0n };
    fold.set(name, sums);
    if (entry.cause_type === "withdrawal.reserved") checkUnfrozen(fold, entry, fail);
    move(sums, String(entry.from_bucket), -BigInt(String(entry.amount_units)));
    move(sums, String(entry.to_bucket), BigInt(String(entry.amount_units)));
    // Between the lines of one journal, what comes back may stand beside the debt that it repays.
    if (entries[i + 1]?.journal_id === entry.journal_id) continue;
    for (const bucket of BUCKETS) if (sums[bucket] < 0n) fail(`I4 ${name}: ${bucket} fell to ${sums[bucket]}`);
    if (sums.debt > 0n && sums.available > 0n)
      fail(`I4 ${name}: ${sums.available} is available beside a debt of ${sums.debt}`);
  }
  for (const row of rows("SELECT * FROM balances")) {
    const sums = fold.get(nameOf(row));
    for (const bucket of BUCKETS) {
      const held = BigInt(String(row[bucket]));
      const sum = sums?.[bucket] ?? 0n;
      if (held !== sum) fail(`I3 ${nameOf(row)}: ${bucket} is ${held}, its entries sum to ${sum}`);
    }
  }
}

/** An account that owes anything reserves nothing. */
function checkUnfrozen(fold: ReadonlyMap<string, Sums>, { account, cause_id }: Row, fail: Fail): void {
  for (const [name, { debt }] of fold) {
    if (debt > 0n && name.startsWith(`${account}/`)) fail(`I4 ${cause_id} was reserved while ${name} owes ${debt}`);
  }
}

/** I11: what is open is reserved. Holds in every moment. */
export function checkReserved(rows: Rows, fail: Fail): void {
  const open = new Map<string, bigint>();
  for (const row of rows("SELECT account, network, asset, amount_units, state FROM withdrawals")) {
    if (isOpen(row.state as WithdrawalState)) open.set(nameOf(row), (open.get(nameOf(row)) ?? 0n) + unitsOf(row));
  }
  for (const row of rows("SELECT account, network, asset, reserved FROM balances")) {
    const [is, due] = [BigInt(String(row.reserved)), open.get(nameOf(row)) ?? 0n];
    open.delete(nameOf(row));
    if (is !== due) fail(`I11 ${nameOf(row)}: ${is} is reserved, ${due} is open`);
  }
  for (const [name, due] of open) fail(`I11 ${name}: nothing is reserved, ${due} is open`);
}

/** I3: the account of fees holds what the wallet's transactions cost, each of them once. @param paid wei */
export function checkFees(rows: Rows, paid: bigint, fail: Fail): void {
  const entries = rows("SELECT amount_units FROM ledger_entries WHERE account = ?", FEE_ACCOUNT);
  const booked = entries.reduce((sum, row) => sum + unitsOf(row), 0n);
  if (booked !== paid) fail(`I3 fees of ${booked} are booked, the chain took ${paid}`);
}

function nameOf({ account, network, asset }: Row): string {
  return `${account}/${network}/${asset}`;
}

function unitsOf({ amount_units }: Row): bigint {
  return BigInt(String(amount_units));
}

function move(sums: Sums, bucket: string, units: bigint): void {
  if (bucket === "chain") return;
  if (bucket === "debt") sums.debt -= units;
  else sums[bucket as "available"] += units;
}
