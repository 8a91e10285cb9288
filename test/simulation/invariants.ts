/**
 * What must hold when the world has come to rest, in every moment before, and whenever bytes leave. Read from the
 * objects' own rows and from the chain, not from what the product says of itself. Names are the design's.
 */

import { MAX_ATTEMPTS } from "../../src/core/webhook-schedule.ts";
import { EVENT_LOG } from "../support/event-log.ts";
import { checkAlarms } from "./check-alarms.ts";
import { checkEvents, checkFees, checkLedger, checkReserved, type Fail, type Rows } from "./check-books.ts";
import { checkClaims, checkDeposits, checkPending } from "./check-deposits.ts";
import {
  checkApprovals,
  checkConfirmed,
  checkEverPaid,
  checkIntents,
  checkKeys,
  checkNonces,
  checkPayments,
  checkReleased,
  checkSteps,
} from "./check-withdrawals.ts";
import type { Complaints } from "./client.ts";
import type { Merchant } from "./merchants.ts";
import type { Town } from "./run.ts";
import { isEndpoint, isScanner, isTenant, type Service } from "./service.ts";
import type { Disk } from "./world/disk.ts";

/** I8, I7: whatever reaches a provider was stored, durably, before, and its nonce was claimed. */
export function checkSend(service: Service, raw: string, complaints: Complaints): void {
  for (const { disk } of service.objects.filter(isTenant)) {
    const [attempt] = disk.rows("SELECT network, sender, nonce FROM attempts WHERE raw = ?", raw);
    if (attempt === undefined) continue;
    const { network, sender, nonce } = attempt;
    const claim = "SELECT 1 FROM wallet_nonces WHERE network = ? AND sender = ? AND nonce = ?";
    if (service.d1.rows(claim, network, sender, nonce).length === 0)
      complaints.add(`I7 nonce ${nonce} of ${sender} reached a provider before it was claimed`);
    return;
  }
  complaints.add(`I8 bytes that no tenant has stored reached a provider: ${raw.slice(0, 60)}...`);
}

/** What no moment may show. Called as blocks come. */
export function checkNow({ service, complaints, watches, world, life }: Town): void {
  checkAlarms(service, world.now, (text) => complaints.add(text));
  for (const { disk } of service.objects.filter(isScanner)) {
    const problem = watches.note((sql, ...values) => disk.rows(sql, ...values));
    if (problem !== null) complaints.add(problem);
  }
  for (const { name, disk } of service.objects.filter(isTenant)) {
    const fail = (text: string) => complaints.add(`${name}: ${text}`);
    const rows: Rows = (sql, ...values) => disk.rows(sql, ...values);
    checkReserved(rows, fail);
    checkConfirmed(rows, fail);
    checkReleased(life, rows, fail);
    checkEverPaid(life, rows, fail);
    checkPending(service, name.slice("tenant/".length), rows, fail);
  }
}

/** Read blocks may stand so far behind the head at any moment. */
const MAX_BEHIND = 2;

/** Nothing is left to do: nothing is undecided, and nothing still to be delivered. */
export function whatIsLeft(service: Service, head: number): string | null {
  const undecided = whatIsUndecided(service, head);
  if (undecided !== null) return undecided;
  for (const { name, disk } of service.objects.filter(isEndpoint)) {
    const waiting = Number(disk.rows("SELECT count(*) AS n FROM deliveries WHERE status = 'pending'")[0]?.n ?? 0);
    if (waiting > 0) return `${name} has ${waiting} deliveries`;
  }
  return null;
}

/** The chain is read, nothing is open, or still to be handed over. */
export function whatIsUndecided(service: Service, head: number): string | null {
  for (const { name, disk } of service.objects.filter(isScanner)) {
    const scannedTo = Number(disk.rows("SELECT scanned_to FROM scanner")[0]?.scanned_to ?? -1);
    if (scannedTo < head - MAX_BEHIND) return `${name} has read to ${scannedTo} of ${head}`;
  }
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
      `SELECT count(*) AS n FROM endpoints WHERE handed_to < (SELECT coalesce(max(sequence), 0) FROM ${EVENT_LOG})`,
    );
    if (behind > 0) return `${name} has events to hand over`;
    const given = count("SELECT count(*) AS n FROM addresses WHERE release_pending = 1");
    if (given > 0) return `${name} has ${given} addresses to give back`;
  }
  return null;
}

/** When the earliest delivery is due that waits; null: none waits. */
export function nextDelivery(service: Service): number | null {
  const due = "SELECT min(next_at) AS at FROM deliveries WHERE status = 'pending' AND blocked = 0";
  const times = service.objects.filter(isEndpoint).map(({ disk }) => disk.rows(due)[0]?.at ?? null);
  const found = times.filter((at) => at !== null).map(Number);
  return found.length === 0 ? null : Math.min(...found);
}

export async function checkAtRest(town: Town): Promise<void> {
  const { service, life, foreign, watches } = town;
  checkNow(town);
  const keys = new Map(
    service.d1.rows("SELECT * FROM deposit_keys").map((row) => [`${row.tx_id}/${row.transfer_index}`, row.tenant_id]),
  );
  for (const merchant of town.merchants) {
    const { disk } = service.object("tenant", merchant.id);
    const fail = (text: string) => town.complaints.add(`${merchant.name}: ${text}`);
    const rows: Rows = (sql, ...values) => disk.rows(sql, ...values);
    checkEvents(rows, fail);
    checkLedger(rows, fail);
    checkReserved(rows, fail);
    checkFees(rows, feesOf(town, merchant), fail);
    checkDeposits({ life, watches, tenantId: merchant.id, keys, foreign }, rows, fail);
    checkGivenUp(town, merchant, fail);
    checkClaims(keys, merchant.id, rows, fail);
    checkSteps(rows, fail);
    checkPayments(life, merchant.wallet, rows, fail);
    checkKeys(service, merchant.id, rows, fail);
    if (merchant.approvalAbove !== null) checkApprovals(merchant.approvalAbove, rows, fail);
    await checkIntents(rows, fail);
    checkTold(town, merchant, rows, fail);
  }
  checkNonces(service, town.complaints);
  checkBlocks(town);
}

/** What the chain took for everything that was signed here for a merchant's wallet. Wei. */
function feesOf({ life }: Town, { wallet }: Merchant): bigint {
  let fees = 0n;
  for (let height = 0; height <= life.chain.head; height++) {
    for (const { hash, sent } of life.chain.at(height)?.txs ?? []) {
      if (sent?.from === wallet && !life.adversary.foreign.has(hash)) fees += sent.gasUsed * sent.gasPrice;
    }
  }
  return fees;
}

/** I13: every event came to the receiver, or is visibly given up. I10: every key that was answered names what is there. */
function checkTold({ service }: Town, merchant: Merchant, rows: Rows, fail: Fail): void {
  const endpoints = service.objects.filter(isEndpoint);
  const given = new Set(
    endpoints
      .flatMap(({ disk }) => disk.rows("SELECT event_id, failures FROM deliveries WHERE status = 'given_up'"))
      .filter(({ failures }) => Number(failures) >= MAX_ATTEMPTS)
      .map((row) => row.event_id),
  );
  checkReplays(service.object("endpoint", merchant.hooks.endpoint).disk, merchant, rows, given, fail);
  const made = rows(`SELECT coalesce(min(sequence), 1) AS first FROM ${EVENT_LOG}`)[0]?.first ?? 1;
  for (const event of rows(`SELECT id, type, sequence FROM ${EVENT_LOG} WHERE sequence >= ?`, made)) {
    if (/^deposit\.(pending|dropped)$/.test(String(event.type))) continue;
    if (!merchant.receiver.bodies.has(String(event.id)) && !given.has(event.id as string))
      fail(`I13 event ${event.id} ${event.type} never arrived`);
  }
  for (const wish of merchant.payouts.wishes) {
    const found = rows("SELECT id FROM withdrawals WHERE account = ? AND idempotency_key = ?", wish.account, wish.key);
    if (found.length > 1) fail(`I10 key ${wish.key} has ${found.length} withdrawals`);
    if (wish.id !== null && found[0]?.id !== wish.id) fail(`I10 key ${wish.key} was ${wish.id} and is ${found[0]?.id}`);
  }
}

/** I13: an event is delivered once, and once more for each time that it was asked for again; then it comes again. */
function checkReplays(disk: Disk, merchant: Merchant, rows: Rows, given: ReadonlySet<unknown>, fail: Fail): void {
  const { receiver, hooks } = merchant;
  for (const { event_id, sequence, n } of disk.rows(
    "SELECT event_id, sequence, count(*) AS n FROM deliveries GROUP BY event_id HAVING n > 1",
  )) {
    const asked = hooks.replays.filter(({ after }) => after < Number(sequence));
    const most = 1 + asked.reduce((sum, { asks }) => sum + asks, 0);
    if (Number(n) > most) fail(`I13 event ${event_id} is delivered ${n} times over, and ${most} were asked for`);
  }
  for (const { after, upTo, askedAt } of hooks.replays) {
    if (upTo === null) continue;
    for (const { id, type } of rows(
      `SELECT id, type FROM ${EVENT_LOG} WHERE sequence > ? AND sequence <= ?`,
      after,
      upTo,
    )) {
      if (/^deposit\.(pending|dropped)$/.test(String(type)) || given.has(id)) continue;
      const came = receiver.lastCame.get(String(id)) ?? 0;
      if (came < askedAt) fail(`I13 event ${id} ${type} was asked for again, and did not come`);
    }
  }
}

/** What was given up counts as long as a fork may move it, and no longer. */
function checkGivenUp({ watches }: Town, merchant: Merchant, fail: Fail): void {
  for (const { address, least, most } of merchant.addresses.givenUp) {
    const own = watches.of(address).filter(({ tenantId }) => tenantId === merchant.id);
    const isTakenAgain = merchant.addresses.held.some((held) => held.address === address);
    const last = own.at(-1);
    if (last === undefined || isTakenAgain) continue;
    if (last.until === null || last.until < least || last.until > most)
      fail(
        `I5 ${address} was given up, to count to ${least} at least and ${most} at most, and counts to ${last.until}`,
      );
  }
}

/** I15: what the scanner holds is a chain, and ends where its cursor stands. */
function checkBlocks({ service, complaints }: Town): void {
  for (const { name, disk } of service.objects.filter(isScanner)) {
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
