/**
 * What must hold whenever a chain rests: the service, its merchants and the chain agree, both ways, to the
 * last base unit. An EVM chain is asked for balances alone, never for logs or traces, so that a mistake
 * in reading those cannot hide itself.
 */

import { expect } from "vitest";
import { formatAmount } from "../../src/core/amount.ts";
import type { AssetView, BalanceView, DepositView, EventView, LedgerEntryView } from "../../src/core/views.ts";
import type { Chain, Hex } from "./anvil.ts";
import { balanceKey } from "./consumer.ts";
import type { Merchant } from "./merchant.ts";

/** A network, and what its chain says, whatever its family. */
export interface Judged {
  readonly id: string;
  height(): Promise<number>;
  /** Up to where the service has read this chain. */
  scannedTo(): Promise<number | null>;
  /** I5: what counts equals what the addresses hold, and every payment that counts stands on the chain. */
  differences(
    merchant: Merchant,
    deposits: readonly DepositView[],
    assets: readonly AssetView[],
  ): Promise<readonly string[]>;
}

export interface ChainOf {
  readonly id: string;
  readonly chain: Chain;
  /** Up to where the service has read this chain. */
  scannedTo(): Promise<number | null>;
}

export interface ExactOptions {
  readonly withinMs?: number;
  /** A person reopened settled heights: what was told to be settled may stand elsewhere, not settled again yet. */
  readonly reopened?: boolean;
}

const WITHIN_MS = 30_000;
/** A second event of something that was told already would have come by then. */
const REST_MS = 300;

export function expectExact(
  network: ChainOf,
  merchants: readonly Merchant[],
  options: ExactOptions = {},
): Promise<void> {
  const { id, chain } = network;
  const judged: Judged = {
    id,
    height: () => chain.height(),
    scannedTo: () => network.scannedTo(),
    differences: (...of) => againstChain(network, ...of),
  };
  return expectJudgedExact(judged, merchants, options);
}

/** Waits until nothing differs any more, rests, and looks again. */
export async function expectJudgedExact(
  network: Judged,
  merchants: readonly Merchant[],
  options: ExactOptions = {},
): Promise<void> {
  const until = Date.now() + (options.withinMs ?? WITHIN_MS);
  const look = async () => {
    const height = await network.height();
    const scannedTo = await network.scannedTo();
    if (scannedTo !== height) return [`${network.id} is at ${height}, read up to ${scannedTo}`];
    return (await Promise.all(merchants.map((merchant) => differences(network, merchant, options)))).flat();
  };
  while ((await look()).length > 0 && Date.now() < until) await pause(50);
  await pause(REST_MS);
  expect(await look()).toEqual([]);
}

/** Waits until the service has read the chain to its head. */
export async function untilRead(network: ChainOf): Promise<void> {
  const height = await network.chain.height();
  await expect.poll(() => network.scannedTo(), { timeout: WITHIN_MS }).toBeGreaterThanOrEqual(height);
}

async function differences(network: Judged, merchant: Merchant, options: ExactOptions): Promise<string[]> {
  const [deposits, events, balances, entries] = await Promise.all([
    merchant.deposits(),
    merchant.events(),
    merchant.balances(),
    merchant.entries(),
  ]);
  const assets = await assetsOf(merchant);
  return [
    ...(await network.differences(merchant, deposits, assets)),
    ...eventsAlone(events),
    ...againstDeposits(events, deposits, options.reopened ?? false),
    ...againstLedger(deposits, balances, entries, assets),
    ...againstConsumer(merchant, events, balances, assets),
  ];
}

async function assetsOf(merchant: Merchant): Promise<AssetView[]> {
  return (await merchant.call<{ data: AssetView[] }>("GET", "/v1/assets")).data;
}

export function isLive({ status }: DepositView): boolean {
  return status === "pending" || status === "confirmed" || status === "settled";
}

async function againstChain(
  network: ChainOf,
  merchant: Merchant,
  deposits: readonly DepositView[],
  assets: readonly AssetView[],
): Promise<string[]> {
  const { id, chain } = network;
  const live = deposits.filter((deposit) => deposit.network === id && isLive(deposit));
  const problems: string[] = [];
  const keys = new Set(deposits.map((d) => `${d.network} ${d.tx_id} ${d.transfer_index}`));
  if (keys.size !== deposits.length) problems.push(`${deposits.length} deposits under ${keys.size} keys`);
  const counted = assets.filter(({ network }) => network === id);
  const pairs = merchant.watched
    .filter((watched) => watched.network === id)
    .flatMap(({ address, held }) =>
      counted.map(({ symbol, contract }) => ({ address, symbol, contract, held: contract === null ? held : 0n })),
    );
  const holdings = await askAll<Hex>(
    chain,
    pairs.map(({ address, contract }) => holdingOf(address, contract)),
  );
  const toldOf = Map.groupBy(live, ({ address, asset }) => `${address} ${asset}`);
  for (const [i, { address, symbol, held }] of pairs.entries()) {
    const received = BigInt(holdings[i] ?? 0) - held;
    const told = sum(toldOf.get(`${address} ${symbol}`) ?? []);
    if (told !== received) problems.push(`${address} received ${received} ${symbol}, deposits say ${told}`);
  }
  type Mined = { blockHash: Hex; blockNumber: Hex; status: Hex } | null;
  const receipts = await askAll<Mined>(
    chain,
    live.map(({ tx_id }) => ["eth_getTransactionReceipt", [tx_id]]),
  );
  for (const [i, { tx_id, block_height, block_hash }] of live.entries()) {
    const mined = receipts[i] ?? null;
    if (mined?.status === "0x1" && mined.blockHash === block_hash && Number(mined.blockNumber) === block_height)
      continue;
    problems.push(`${tx_id} does not stand in ${block_height} ${block_hash}: ${JSON.stringify(mined?.blockNumber)}`);
  }
  return problems;
}

type Question = readonly [method: string, params: readonly unknown[]];

function holdingOf(address: string, contract: string | null): Question {
  if (contract === null) return ["eth_getBalance", [address, "latest"]];
  // balanceOf(address)
  return ["eth_call", [{ to: contract, data: `0x70a08231${address.slice(2).padStart(64, "0")}` }, "latest"]];
}

/** In one request. @throws Error with the node's message */
async function askAll<T>(chain: Chain, questions: readonly Question[]): Promise<T[]> {
  if (questions.length === 0) return [];
  const response = await fetch(chain.url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(questions.map(([method, params], id) => ({ jsonrpc: "2.0", id, method, params }))),
  });
  const items = (await response.json()) as { id: number; result: T; error?: { message: string } }[];
  const results = new Array<T>(questions.length);
  for (const { id, result, error } of items) {
    if (error !== undefined) throw new Error(`${questions[id]?.[0]}: ${error.message}`);
    results[id] = result;
  }
  return results;
}

/** What may follow an event of a deposit, "" being the beginning. Confirmed and reverted alternate (I1). */
const MAY_FOLLOW: Readonly<Record<string, readonly string[]>> = {
  "": ["deposit.pending"],
  "deposit.pending": ["deposit.confirmed", "deposit.dropped"],
  "deposit.dropped": ["deposit.pending"],
  "deposit.confirmed": ["deposit.settled", "deposit.reverted"],
  "deposit.settled": ["deposit.reverted"],
  "deposit.reverted": ["deposit.pending"],
};

function eventsAlone(events: readonly EventView[]): string[] {
  const problems: string[] = [];
  const ids = new Set(events.map(({ id }) => id));
  if (ids.size !== events.length) problems.push(`${events.length} events under ${ids.size} ids`);
  events.forEach(({ sequence }, i) => {
    if (sequence !== i + 1) problems.push(`event ${i + 1} has sequence ${sequence}`);
  });
  for (const [subject, own] of Map.groupBy(events, (event) => event.subject)) {
    let last = "";
    own.forEach(({ type, subject_sequence }, i) => {
      if (subject_sequence !== i + 1)
        problems.push(`${subject}: its event ${i + 1} has subject_sequence ${subject_sequence}`);
      if (type.startsWith("deposit.") && !MAY_FOLLOW[last]?.includes(type))
        problems.push(`${subject}: ${type} after ${last}`);
      last = type;
    });
  }
  return problems;
}

/** The last that was told of a deposit is what it is. */
function againstDeposits(events: readonly EventView[], deposits: readonly DepositView[], reopened: boolean): string[] {
  const told = new Map(events.map((event) => [event.subject, event.type]));
  const confirmations = Map.groupBy(
    events.filter(({ type }) => type === "deposit.confirmed"),
    (event) => event.subject,
  );
  const problems = deposits.flatMap(({ id, status, epoch }) => {
    const times = (confirmations.get(id)?.length ?? 0) + (status === "pending" || status === "dropped" ? 1 : 0);
    const isSo =
      told.get(id) === `deposit.${status}` || (reopened && `${told.get(id)} ${status}` === "deposit.settled confirmed");
    if (isSo && epoch === times) return [];
    return [`${id} is ${status} in epoch ${epoch}, told: ${told.get(id)}, confirmed ${times} times`];
  });
  const subjects = new Set(events.filter(({ type }) => type.startsWith("deposit.")).map(({ subject }) => subject));
  if (subjects.size !== deposits.length)
    problems.push(`${subjects.size} deposits were told of, ${deposits.length} are listed`);
  return problems;
}

/** I3, I4: balances are the fold of the entries, and equal what is confirmed. */
function againstLedger(
  deposits: readonly DepositView[],
  balances: readonly BalanceView[],
  entries: readonly LedgerEntryView[],
  assets: readonly AssetView[],
): string[] {
  const buckets = new Map<string, Map<string, bigint>>();
  for (const entry of entries) {
    const own = buckets.get(balanceKey(entry)) ?? new Map<string, bigint>();
    own.set(entry.from, (own.get(entry.from) ?? 0n) - BigInt(entry.amount_units));
    own.set(entry.to, (own.get(entry.to) ?? 0n) + BigInt(entry.amount_units));
    buckets.set(balanceKey(entry), own);
  }
  const problems: string[] = [];
  if (buckets.size !== balances.length) problems.push(`${balances.length} balances, entries of ${buckets.size}`);
  for (const balance of balances) {
    const key = balanceKey(balance);
    const decimals = decimalsOf(assets, balance);
    const fold = (name: string) => buckets.get(key)?.get(name) ?? 0n;
    // Debt is what is owed: it grows when units leave its bucket.
    const folded = {
      available: fold("available"),
      reserved: fold("reserved"),
      settled: fold("settled"),
      debt: -fold("debt"),
    };
    for (const [name, units] of Object.entries(folded)) {
      const shown = balance[name as keyof typeof folded];
      if (units < 0n || formatAmount(units, decimals) !== shown)
        problems.push(`${key}: ${name} is ${shown}, entries fold to ${units}`);
    }
    const counted = sum(
      deposits.filter((d) => balanceKey(d) === key && (d.status === "confirmed" || d.status === "settled")),
    );
    if (counted !== folded.available + folded.reserved + folded.settled - folded.debt) {
      problems.push(`${key}: deposits of ${counted} are confirmed, the balance is ${JSON.stringify(balance)}`);
    }
  }
  const credited = new Set(deposits.filter(({ confirmed_at }) => confirmed_at !== null).map(balanceKey));
  for (const key of credited) if (!buckets.has(key)) problems.push(`${key}: confirmed, and no ledger entry`);
  return problems;
}

/** I13: each event reached the merchant as it stands in the log, and made its books what ours are. */
function againstConsumer(
  merchant: Merchant,
  events: readonly EventView[],
  balances: readonly BalanceView[],
  assets: readonly AssetView[],
): string[] {
  const { consumer } = merchant;
  const problems = [...consumer.alarms];
  const arrived = new Map(consumer.events.map((event) => [event.id, event]));
  for (const event of events) {
    const own = arrived.get(event.id);
    if (own === undefined) problems.push(`${event.type} ${event.id} did not arrive`);
    else if (JSON.stringify(own) !== JSON.stringify(event))
      problems.push(`${event.id} arrived otherwise than it stands in the log`);
  }
  if (arrived.size !== events.length) problems.push(`${arrived.size} events arrived, ${events.length} are in the log`);
  const shown = new Map(balances.map((balance) => [balanceKey(balance), balance]));
  for (const key of new Set([...consumer.balances.keys(), ...shown.keys()])) {
    const units = consumer.balances.get(key) ?? 0n;
    const balance = shown.get(key);
    const told =
      balance === undefined
        ? null
        : unitsOf(balance.available, decimalsOf(assets, balance)) - unitsOf(balance.debt, decimalsOf(assets, balance));
    if (units !== told) problems.push(`${key}: the merchant counts ${units}, the service ${told}`);
  }
  return problems;
}

function decimalsOf(assets: readonly AssetView[], of: Pick<BalanceView, "network" | "asset">): number {
  const asset = assets.find(({ network, symbol }) => network === of.network && symbol === of.asset);
  if (asset === undefined) throw new Error(`${of.asset} on ${of.network} is no listed asset`);
  return asset.decimals;
}

function unitsOf(amount: string, decimals: number): bigint {
  const [whole = "", fraction = ""] = amount.split(".");
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

export function sum(deposits: readonly DepositView[]): bigint {
  return deposits.reduce((total, deposit) => total + BigInt(deposit.amount_units), 0n);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
