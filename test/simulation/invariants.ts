/**
 * What must hold when the world has come to rest, and what must hold whenever bytes leave. Read from the
 * objects' own rows and from the chain, not from what the product says of itself. Names are the design's.
 */

import { readSigned } from "../../src/chains/evm/signed-transaction.ts";
import { isOpen, mayBecome, type WithdrawalState } from "../../src/core/withdrawal.ts";
import type { Tx } from "../support/model-chain.ts";
import { TOKEN } from "./chain-life.ts";
import type { Complaints, Merchant } from "./merchants.ts";
import type { Town } from "./run.ts";
import type { Service } from "./service.ts";
import type { Row } from "./world/disk.ts";
import type { SimObject } from "./world/objects.ts";

const isTenant = ({ name, disk }: SimObject) =>
  name.startsWith("tenant/") && disk.rows("SELECT 1 FROM sqlite_master WHERE name = 'withdrawals'").length > 0;
/** Objects that were ever called to an end: one whose first call crashed has no tables and was given nothing. */
const isEndpoint = ({ name, disk }: SimObject) =>
  name.startsWith("endpoint/") && disk.rows("SELECT 1 FROM sqlite_master WHERE name = 'deliveries'").length > 0;

/** I8: whatever reaches a provider was stored, durably, before. */
export function checkSend(service: Service, raw: string, complaints: Complaints): void {
  const isStored = service.objects
    .filter(isTenant)
    .some(({ disk }) => disk.rows("SELECT 1 FROM attempts WHERE raw = ?", raw).length > 0);
  if (!isStored) complaints.add(`I8 bytes that no tenant has stored reached a provider: ${raw.slice(0, 60)}...`);
}

/** Nothing is left to do: no delivery waits, nothing is handed over, no withdrawal is open, no deposit undecided. */
export function whatIsLeft(service: Service): string | null {
  for (const { name, disk } of service.objects.filter(isTenant)) {
    const count = (sql: string) => Number(disk.rows(sql)[0]?.n ?? 0);
    const open = count(
      "SELECT count(*) AS n FROM withdrawals WHERE state NOT IN ('confirmed','failed','cancelled','rejected')",
    );
    if (open > 0) return `${name} has ${open} open withdrawals`;
    const slots = count("SELECT count(*) AS n FROM slots WHERE status = 'open'");
    if (slots > 0) return `${name} has ${slots} open nonces`;
    const due = count("SELECT count(*) AS n FROM deposits WHERE due_height IS NOT NULL OR due_finalized IS NOT NULL");
    if (due > 0) return `${name} has ${due} deposits to be decided`;
    const behind = count(
      "SELECT count(*) AS n FROM endpoints WHERE handed_to < (SELECT coalesce(max(sequence), 0) FROM events)",
    );
    if (behind > 0) return `${name} has events to hand over`;
  }
  for (const { name, disk } of service.objects.filter(isEndpoint)) {
    const waiting = Number(disk.rows("SELECT count(*) AS n FROM deliveries WHERE status = 'pending'")[0]?.n ?? 0);
    if (waiting > 0) return `${name} has ${waiting} deliveries`;
  }
  return null;
}

export async function checkAtRest(town: Town): Promise<void> {
  for (const merchant of town.merchants) {
    const tenant = town.service.object("tenant", merchant.id);
    const fail = (text: string) => town.complaints.add(`${merchant.name}: ${text}`);
    const rows = (sql: string, ...values: unknown[]) => tenant.disk.rows(sql, ...values);
    checkEvents(rows, fail);
    checkLedger(rows, fail);
    checkDeposits(town, merchant, rows, fail);
    checkSteps(rows, fail);
    checkPayments(town, merchant, rows, fail);
    await checkIntents(rows, fail);
    checkTold(town, merchant, rows, fail);
  }
  checkNonces(town);
  checkBlocks(town);
}

type Rows = (sql: string, ...values: unknown[]) => Row[];
type Fail = (text: string) => void;

/** I1, I2, I13: sequences without a gap; of one deposit, confirmed and reverted in turn. */
function checkEvents(rows: Rows, fail: Fail): void {
  const events = rows("SELECT sequence, type, subject, subject_sequence FROM events ORDER BY sequence");
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

/** I3, I4, I11: balances are the fold of the entries, nothing is below zero, and what is open is reserved. */
function checkLedger(rows: Rows, fail: Fail): void {
  const fold = new Map<string, Record<string, bigint>>();
  const journals = new Set<string>();
  for (const entry of rows("SELECT * FROM ledger_entries ORDER BY seq")) {
    const name = `${entry.account}/${entry.network}/${entry.asset}`;
    const sums = fold.get(name) ?? { available: 0n, reserved: 0n, settled: 0n, debt: 0n };
    const move = (bucket: string, by: bigint) => {
      if (bucket !== "chain") sums[bucket] = (sums[bucket] ?? 0n) + (bucket === "debt" ? -by : by);
      if (bucket === "available" && (sums.available ?? 0n) < 0n)
        fail(`I4 ${name}: available fell to ${sums.available}`);
    };
    move(String(entry.from_bucket), -BigInt(String(entry.amount_units)));
    move(String(entry.to_bucket), BigInt(String(entry.amount_units)));
    fold.set(name, sums);
    journals.add(`${entry.journal_id}/${entry.line}`);
  }
  const open = new Map<string, bigint>();
  for (const row of rows("SELECT account, network, asset, amount_units, state FROM withdrawals")) {
    if (!isOpen(row.state as WithdrawalState)) continue;
    const name = `${row.account}/${row.network}/${row.asset}`;
    open.set(name, (open.get(name) ?? 0n) + BigInt(String(row.amount_units)));
  }
  for (const row of rows("SELECT * FROM balances")) {
    const name = `${row.account}/${row.network}/${row.asset}`;
    const sums = fold.get(name) ?? {};
    for (const bucket of ["available", "reserved", "settled", "debt"] as const) {
      const held = BigInt(String(row[bucket]));
      if (held !== (sums[bucket] ?? 0n)) fail(`I3 ${name}: ${bucket} is ${held}, its entries sum to ${sums[bucket]}`);
      if (held < 0n) fail(`I4 ${name}: ${bucket} is ${held}`);
    }
    const reserved = BigInt(String(row.reserved));
    if (reserved !== (open.get(name) ?? 0n))
      fail(`I11 ${name}: ${reserved} is reserved, ${open.get(name) ?? 0n} is open`);
  }
}

/** I5: every account was credited with what the best chain pays to its addresses, and with nothing else. */
function checkDeposits({ life }: Town, merchant: Merchant, rows: Rows, fail: Fail): void {
  const from = new Map<string, { account: string; height: number }>();
  for (const row of rows("SELECT address, account, watched_from FROM addresses")) {
    from.set(String(row.address), { account: String(row.account), height: Number(row.watched_from) });
  }
  const owed = new Map<string, bigint>();
  const add = (height: number, to: string, asset: string, units: bigint) => {
    const watch = from.get(to);
    if (watch === undefined || height < watch.height || units === 0n) return;
    const name = `${watch.account}/${asset}`;
    owed.set(name, (owed.get(name) ?? 0n) + units);
  };
  for (let height = 0; height <= life.chain.head; height++) {
    for (const tx of life.chain.at(height)?.txs ?? []) addTx(tx, (to, asset, units) => add(height, to, asset, units));
  }
  const credited = new Map<string, bigint>();
  for (const row of rows(
    "SELECT account, asset, from_bucket, to_bucket, amount_units FROM ledger_entries WHERE cause_type LIKE 'deposit.%'",
  )) {
    const name = `${row.account}/${row.asset}`;
    const sign = row.from_bucket === "chain" ? 1n : -1n;
    credited.set(name, (credited.get(name) ?? 0n) + sign * BigInt(String(row.amount_units)));
  }
  for (const name of new Set([...owed.keys(), ...credited.keys()])) {
    const [chain, books] = [owed.get(name) ?? 0n, credited.get(name) ?? 0n];
    if (chain !== books) fail(`I5 ${merchant.name}/${name}: the chain paid ${chain}, ${books} was credited`);
  }
}

function addTx(tx: Tx, add: (to: string, asset: string, units: bigint) => void): void {
  if (tx.status === 0) return;
  add(tx.to, "native", tx.value);
  for (const call of tx.calls) add(call.to, "native", call.value);
  for (const log of tx.logs) add(`0x${log.topics[2]?.slice(26)}`, log.address, BigInt(log.data));
}

/** I12: every step is one there is, and begins where the one before it ended. */
function checkSteps(rows: Rows, fail: Fail): void {
  const last = new Map<string, WithdrawalState | null>();
  for (const row of rows("SELECT * FROM withdrawal_transitions ORDER BY withdrawal_id, number")) {
    const id = String(row.withdrawal_id);
    const before = last.get(id) ?? null;
    const [from, to] = [row.from_state as WithdrawalState | null, row.to_state as WithdrawalState];
    if (from !== before) fail(`I12 ${id}: a step from ${from} after ${before}`);
    if (from !== null && !mayBecome(from, to)) fail(`I12 ${id}: ${from} became ${to}`);
    last.set(id, to);
  }
  for (const { id, state } of rows("SELECT id, state FROM withdrawals")) {
    if (last.get(String(id)) !== state) fail(`I12 ${id} is ${state}, its last step led to ${last.get(String(id))}`);
  }
}

/** I6, I9: a withdrawal is on the chain once when it is confirmed, and not at all when it was given back. */
function checkPayments({ life }: Town, merchant: Merchant, rows: Rows, fail: Fail): void {
  const paid = life.wallets.paidBy(merchant.wallet).filter(({ success, units }) => success && units > 0n);
  const wanted = new Set<string>();
  for (const row of rows("SELECT id, destination, asset, amount_units, state FROM withdrawals")) {
    wanted.add(String(row.destination));
    const own = paid.filter(({ to }) => to === row.destination);
    const times = row.state === "confirmed" ? 1 : 0;
    if (own.length !== times) fail(`I6 ${row.id} is ${row.state} and was paid ${own.length} times`);
    for (const { asset, units } of own) {
      const right = row.asset === "native" ? asset === "native" : asset === TOKEN;
      if (!right || units !== BigInt(String(row.amount_units))) fail(`I6 ${row.id} was paid ${units} of ${asset}`);
    }
  }
  for (const { to, hash } of paid) if (!wanted.has(to)) fail(`I6 ${hash} pays ${to}, which nobody asked for`);
}

/** I16: signed bytes decode to what was approved. I6: one nonce for each withdrawal. */
async function checkIntents(rows: Rows, fail: Fail): Promise<void> {
  const attempts = rows(
    `SELECT a.*, w.destination, w.asset, w.amount_units FROM attempts AS a
     JOIN slots AS s ON s.network = a.network AND s.sender = a.sender AND s.nonce = a.nonce
     LEFT JOIN withdrawals AS w ON w.id = s.withdrawal_id`,
  );
  for (const row of attempts) {
    const isToken = row.kind === "payment" && row.asset !== "native";
    const units = BigInt(String(row.amount_units ?? "0"));
    const data = `0xa9059cbb${String(row.destination).slice(2).padStart(64, "0")}${units.toString(16).padStart(64, "0")}`;
    const read = await readSigned(String(row.raw), {
      chainId: 31_337,
      sender: String(row.sender),
      nonce: Number(row.nonce),
      to: row.kind === "burn" ? String(row.sender) : isToken ? String(row.asset) : String(row.destination),
      valueUnits: row.kind === "burn" || isToken ? 0n : units,
      data: isToken ? data : "0x",
      gasLimit: BigInt(String(row.gas_limit)),
      fees: {
        kind: "eip1559",
        maxFeePerGas: BigInt(String(row.most_per_gas)),
        maxPriorityFeePerGas: BigInt(String(row.tip_per_gas)),
      },
    });
    if (!read.ok) fail(`I16 ${row.tx_id}: ${read.problem}`);
  }
}

/** I13: every event came to the receiver, or is visibly given up. I10: every key that was answered names what is there. */
function checkTold({ service }: Town, merchant: Merchant, rows: Rows, fail: Fail): void {
  const endpoints = service.objects.filter(isEndpoint);
  const given = new Set(
    endpoints
      .flatMap(({ disk }) => disk.rows("SELECT event_id FROM deliveries WHERE status = 'given_up'"))
      .map((row) => row.event_id),
  );
  const made = rows("SELECT coalesce(min(sequence), 1) AS first FROM events")[0]?.first ?? 1;
  for (const event of rows("SELECT id, type, sequence FROM events WHERE sequence >= ?", made)) {
    if (/^deposit\.(pending|dropped)$/.test(String(event.type))) continue;
    if (!merchant.bodies.has(String(event.id)) && !given.has(event.id as string))
      fail(`I13 event ${event.id} ${event.type} never arrived`);
  }
  for (const wish of merchant.wishes) {
    const found = rows("SELECT id FROM withdrawals WHERE account = ? AND idempotency_key = ?", wish.account, wish.key);
    if (found.length > 1) fail(`I10 key ${wish.key} has ${found.length} withdrawals`);
    if (wish.id !== null && found[0]?.id !== wish.id) fail(`I10 key ${wish.key} was ${wish.id} and is ${found[0]?.id}`);
  }
}

/** I7: D1 and the tenants agree on what every nonce carries. */
function checkNonces({ service, complaints }: Town): void {
  const claims = new Map(
    service.d1.rows("SELECT * FROM wallet_nonces").map((row) => [`${row.network}/${row.sender}/${row.nonce}`, row]),
  );
  for (const { name, disk } of service.objects.filter(isTenant)) {
    const carried = new Set<unknown>();
    for (const slot of disk.rows("SELECT * FROM slots WHERE claimed = 1")) {
      const place = `${slot.network}/${slot.sender}/${slot.nonce}`;
      if (claims.get(place) === undefined) complaints.add(`I7 ${name}: nobody claimed ${place}`);
      if (slot.withdrawal_id === null) continue;
      if (claims.get(place)?.subject !== slot.withdrawal_id)
        complaints.add(`I7 ${place} carries ${slot.withdrawal_id}`);
      if (carried.has(slot.withdrawal_id)) complaints.add(`I6 ${slot.withdrawal_id} has two nonces`);
      carried.add(slot.withdrawal_id);
    }
  }
}

/** I15: what the scanner holds is a chain, and ends where its cursor stands. */
function checkBlocks({ service, complaints }: Town): void {
  for (const { name, disk } of service.objects.filter((object) => object.name.startsWith("scanner/"))) {
    // Below the window single blocks are kept to find a deep fork by.
    const blocks = disk.rows(
      "SELECT height, hash, parent_hash FROM blocks WHERE height >= (SELECT window_from FROM scanner) - 1 ORDER BY height",
    );
    blocks.forEach((block, i) => {
      const before = blocks[i - 1];
      if (before === undefined) return;
      if (block.height !== Number(before.height) + 1 || block.parent_hash !== before.hash)
        complaints.add(`I15 ${name}: block ${block.height} does not follow block ${before.height}`);
    });
  }
}
