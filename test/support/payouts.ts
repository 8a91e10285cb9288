/**
 * What must hold whenever a chain rests after withdrawals: the chain's balances, the ledger, the states, the
 * feed and the merchant's webhooks say the same. The numbers in brackets are the service's invariants.
 */

import { expect } from "vitest";
import { type Bucket, FEE_ACCOUNT } from "../../src/core/ledger.ts";
import type { EventView, LedgerEntryView, ReconciliationView, WithdrawalView } from "../../src/core/views.ts";
import { isOpen, mayBecome } from "../../src/core/withdrawal.ts";
import type { Chain, Hex, Receipt } from "./anvil.ts";
import type { Merchant } from "./merchant.ts";

/** A network, and what its chain says of payments, whatever its family. */
export interface PaidWorld {
  readonly id: string;
  /** I6: at most one payment, and exactly one when it is called paid; the fee is booked once it is final. */
  differences(
    merchant: Merchant,
    withdrawals: readonly WithdrawalView[],
    entries: readonly LedgerEntryView[],
  ): Promise<readonly string[]>;
}

export interface PaidOn {
  readonly id: string;
  readonly chain: Chain;
}

const WITHIN_MS = 30_000;
/** A second event or payment of something that is settled already would have come by then. */
const REST_MS = 250;
/** Of every network that tests add: a block so deep is final. */
export const REORG_WINDOW = 20;

/** Waits without asking the service: the merchant's own program is told. */
export async function untilToldState(
  merchant: Merchant,
  id: string,
  state: WithdrawalView["state"],
  withinMs = 60_000,
) {
  const event = await merchant.consumer.waitFor(
    ({ subject, data }) => subject === id && (data as WithdrawalView).state === state,
    withinMs,
  );
  return event.data as WithdrawalView;
}

/** @throws Error with the withdrawal as it stands, when it does not come to that in time */
export async function untilView(
  merchant: Merchant,
  id: string,
  wanted: (view: WithdrawalView) => boolean,
  withinMs = 30_000,
): Promise<WithdrawalView> {
  const until = Date.now() + withinMs;
  for (;;) {
    const view = await merchant.withdrawal(id);
    if (wanted(view)) return view;
    if (Date.now() > until) throw new Error(`it stays ${JSON.stringify(view, null, 1)}`);
    await pause(40);
  }
}

export const untilState = (merchant: Merchant, id: string, state: WithdrawalView["state"], withinMs?: number) =>
  untilView(merchant, id, (view) => view.state === state, withinMs);

/** Waits until the chain shows so much native coin on an address, without asking the service. */
export async function untilPaid({ chain }: PaidOn, address: string, wei: bigint, withinMs = 60_000): Promise<void> {
  const until = Date.now() + withinMs;
  for (;;) {
    const has = BigInt(await chain.rpc<Hex>("eth_getBalance", [address, "latest"]));
    if (has === wei) return;
    if (has > wei || Date.now() > until) throw new Error(`${address} has ${has} wei, was to get ${wei}`);
    await pause(100);
  }
}

/** Base units of an asset on an address. */
export async function holding(
  merchant: Merchant,
  { id, chain }: PaidOn,
  asset: string,
  address: string,
): Promise<bigint> {
  const { data } = await merchant.call<{ data: { symbol: string; contract: string | null; network: string }[] }>(
    "GET",
    "/v1/assets",
  );
  const contract = data.find(({ symbol, network }) => symbol === asset && network === id)?.contract ?? null;
  if (contract === null) return BigInt(await chain.rpc<Hex>("eth_getBalance", [address, "latest"]));
  // balanceOf(address)
  const call = { to: contract, data: `0x70a08231${address.slice(2).padStart(64, "0")}` };
  return BigInt(await chain.rpc<Hex>("eth_call", [call, "latest"]));
}

export function expectAgreed(network: PaidOn, merchants: readonly Merchant[]): Promise<void> {
  return expectAgreedOn({ id: network.id, differences: (...of) => againstChain(network, ...of) }, merchants);
}

/** Waits until nothing differs any more, rests, and looks again. */
export async function expectAgreedOn(network: PaidWorld, merchants: readonly Merchant[]): Promise<void> {
  const until = Date.now() + WITHIN_MS;
  const look = async () => (await Promise.all(merchants.map((merchant) => differences(network, merchant)))).flat();
  while ((await look()).length > 0 && Date.now() < until) await pause(100);
  await pause(REST_MS);
  expect(await look()).toEqual([]);
}

/** The service itself finds no difference, and its wallets are at rest. */
export async function expectReconciled(network: string, merchants: readonly Merchant[]): Promise<void> {
  for (const merchant of merchants) {
    const report = await merchant.call<ReconciliationView>("POST", "/v1/reconciliation");
    expect(report).toMatchObject({ status: "matched", differences: [], unreachable: [] });
    expect(await merchant.wallet(network)).toMatchObject({ status: "active", incident: null, in_flight: 0 });
  }
}

async function differences(network: PaidWorld, merchant: Merchant): Promise<string[]> {
  const [withdrawals, events, entries, balances] = await Promise.all([
    merchant.withdrawals({ network: network.id }),
    merchant.events(),
    merchant.entries(),
    merchant.balances(),
  ]);
  const problems = [...merchant.consumer.alarms];
  for (const withdrawal of withdrawals) {
    problems.push(
      ...stepsOf(withdrawal),
      ...tellingOf(withdrawal, events, merchant),
      ...bookingOf(withdrawal, entries),
    );
  }
  const nonces = withdrawals.flatMap(({ attempts: [first] }) => first?.nonce ?? []);
  if (new Set(nonces).size !== nonces.length) problems.push(`I7: a nonce was given twice: ${nonces}`);
  for (const { account, asset, ...shown } of balances.filter((balance) => balance.network === network.id)) {
    const own = entries.filter((e) => e.account === account && e.network === network.id && e.asset === asset);
    const fold = (bucket: Bucket) =>
      own.reduce((sum, { from, to, amount_units: units }) => {
        return sum + (to === bucket ? BigInt(units) : 0n) - (from === bucket ? BigInt(units) : 0n);
      }, 0n);
    const open = withdrawals.filter((w) => w.account === account && w.asset === asset && isOpen(w.state));
    const reserved = open.reduce((sum, { amount_units }) => sum + BigInt(amount_units), 0n);
    if (fold("reserved") !== reserved) problems.push(`I11: ${account} ${asset}: ${fold("reserved")} of ${reserved}`);
    for (const bucket of ["available", "reserved", "settled"] as const) {
      const digits = shown[bucket].replace(".", "").replace(/^0+(?=\d)/, "");
      const units = fold(bucket).toString();
      // Written with fewer digits than base units have: only zeros were left out.
      if (units.replace(/0+$/, "") !== digits.replace(/0+$/, ""))
        problems.push(`I3: ${account} ${asset} ${bucket}: ${shown[bucket]}, entries ${units}`);
    }
  }
  return [...problems, ...(await network.differences(merchant, withdrawals, entries))];
}

/** I12. */
function stepsOf({ id, state, transitions }: WithdrawalView): string[] {
  const problems = transitions.flatMap(({ from, to }, i) => {
    const before = transitions[i - 1]?.to ?? null;
    const isLegal = from === before && (from === null ? to === "request_received" : mayBecome(from, to));
    return isLegal ? [] : [`I12: ${id} went from ${from} to ${to} after ${before}`];
  });
  if (transitions.at(-1)?.to !== state) problems.push(`I12: ${id} is ${state} after ${transitions.at(-1)?.to}`);
  return problems;
}

/** I2, I13: each step was told once, in order, on the feed and to the merchant's program. */
function tellingOf({ id, transitions }: WithdrawalView, events: readonly EventView[], merchant: Merchant): string[] {
  const own = events.filter(({ subject }) => subject === id);
  const problems: string[] = [];
  const isTold = own.every((event, i) => event.type === "withdrawal.updated" && event.subject_sequence === i + 1);
  if (!isTold) problems.push(`I2: ${id}: ${own.map((event) => `${event.type} ${event.subject_sequence}`)}`);
  // One event tells of the request and what was decided with it.
  const steps = transitions.filter(
    ({ to }, i) => i > 0 && !(to === "funds_reserved" && transitions[i + 1]?.to === "pending_approval"),
  );
  const told = own.map(({ data }) => (data as WithdrawalView).state);
  if (String(told) !== String(steps.map(({ to }) => to))) problems.push(`I13: ${id}: told ${told}`);
  const arrived = merchant.consumer.events.filter(({ subject }) => subject === id);
  if (JSON.stringify(arrived) !== JSON.stringify(own))
    problems.push(`I13: ${id}: of ${own.length} events arrived ${arrived.map(({ subject_sequence: n }) => n)}`);
  return problems;
}

/** I3, I9: what was reserved is settled or released once for each time that the state says so. */
function bookingOf({ id, amount_units, transitions }: WithdrawalView, entries: readonly LedgerEntryView[]): string[] {
  const own = entries.filter(({ cause }) => cause.id === id && cause.type !== "withdrawal.network_fee");
  const times = (holds: (step: WithdrawalView["transitions"][number]) => boolean) => transitions.filter(holds).length;
  const expected = {
    "withdrawal.reserved": 1,
    "withdrawal.confirmed": times(({ to }) => to === "confirmed"),
    "withdrawal.reopened": times(({ from }) => from === "confirmed"),
    "withdrawal.released": times(({ to }) => to === "failed" || to === "cancelled" || to === "rejected"),
  };
  const problems = Object.entries(expected).flatMap(([type, count]) => {
    const found = own.filter(({ cause }) => cause.type === type).length;
    return found === count ? [] : [`I3: ${id}: ${found} entries of ${type}, expected ${count}`];
  });
  if (own.some((entry) => entry.amount_units !== amount_units)) problems.push(`I3: ${id}: an entry of another amount`);
  return problems;
}

async function againstChain(
  network: PaidOn,
  merchant: Merchant,
  withdrawals: readonly WithdrawalView[],
  entries: readonly LedgerEntryView[],
): Promise<string[]> {
  const problems: string[] = [];
  const height = await network.chain.height();
  const paid = new Map<string, bigint>();
  for (const { id, attempts, state, destination, asset, amount_units, tx_id, fee_units } of withdrawals) {
    if (new Set(attempts.map(({ nonce }) => nonce)).size > 1) problems.push(`I6: ${id} has several nonces`);
    const mined: Mined[] = [];
    for (const { tx_id, kind } of attempts) {
      const receipt = await network.chain.rpc<Mined | null>("eth_getTransactionReceipt", [tx_id]);
      if (receipt !== null) mined.push({ ...receipt, kind });
    }
    const [only] = mined;
    if (mined.length > 1) problems.push(`I6: ${mined.length} transactions of ${id} are mined`);
    const key = `${asset} ${destination}`;
    const isPaid = only !== undefined && only.kind === "payment" && only.status === "0x1";
    const moves = isPaid && (asset === "ETH" || only.logs.length > 0);
    paid.set(key, (paid.get(key) ?? 0n) + (moves ? BigInt(amount_units) : 0n));
    if (state === "confirmed" && !(moves && only.transactionHash === tx_id))
      problems.push(`I6: ${id} is not paid by ${tx_id}`);
    if (!isOpen(state) && state !== "confirmed" && moves) problems.push(`I9: ${id} is ${state} and paid`);
    const fees = entries.filter(({ cause, account }) => cause.id === id && account === FEE_ACCOUNT);
    const cost = only === undefined ? null : BigInt(only.gasUsed) * BigInt(only.effectiveGasPrice);
    const shownCost = only?.kind === "payment" ? (cost?.toString() ?? null) : null;
    if (fee_units !== shownCost) problems.push(`${id} cost ${shownCost}, shown is ${fee_units}`);
    const isFinal = only !== undefined && Number(only.blockNumber) <= height - REORG_WINDOW;
    const booked = fees.map((entry) => `${entry.from} ${entry.to} ${entry.asset} ${entry.amount_units}`);
    if (String(booked) !== (isFinal ? `chain settled ETH ${cost}` : ""))
      problems.push(`fee of ${id}: ${booked}, cost ${cost}`);
  }
  for (const [key, units] of paid) {
    const [asset = "", destination = ""] = key.split(" ");
    const has = await holding(merchant, network, asset, destination);
    if (has !== units) problems.push(`I6: ${destination} has ${has} ${asset}, was to get ${units}`);
  }
  return problems;
}

interface Mined extends Receipt {
  readonly kind: "payment" | "burn";
  readonly gasUsed: Hex;
  readonly effectiveGasPrice: Hex;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
