/**
 * Gives nonces to withdrawals whose funds are reserved, oldest first: the wallet can pay, the call would not
 * revert, then counter and slot in one commit, then the claim in D1. A withdrawal counts as being sent only
 * when D1 says that the nonce is its own.
 */

import { gasLimitFor } from "../../../chains/evm/intent.ts";
import type { Call, GasEstimate } from "../../../chains/payout.ts";
import { larger, smaller } from "../../../core/amount.ts";
import { type FeeQuote, firstFees, mostPerGas } from "../../../core/fees.ts";
import { NATIVE } from "../../../core/transfer.ts";
import { type AgreedLook, quorumOf } from "../../../core/wallet-look.ts";
import { type ClaimedNonce, claimNonce } from "../../../store/d1/withdrawals.ts";
import {
  attemptsOf,
  changeSlot,
  insertSlot,
  knownNonces,
  openSlots,
  type SlotRow,
  slotAt,
} from "../../../store/tenant/slot-store.ts";
import { changeWallet, count, raiseWallet } from "../../../store/tenant/wallet-store.ts";
import {
  changeWithdrawal,
  type WithdrawalRow,
  withdrawalById,
  withdrawalsIn,
} from "../../../store/tenant/withdrawal-store.ts";
import { WithdrawalCommit } from "./commit.ts";
import { callOf, logProvider, type Payer, walletOf } from "./payer.ts";

/** Nonces that are open and not mined, of one wallet. Nodes keep so many of one sender without complaint. */
export const MAX_IN_FLIGHT = 16;
/** How long nonces may be missing before they are handed out again: a pool may still hold who has them. */
const GAP_GRACE_MS = 60_000;
/** Looked at in one round; those that wait for a top-up do not keep the others from being seen. */
const CANDIDATES = 64;

/** @returns how many events were written */
export async function allocate(payer: Payer, look: AgreedLook, quote: FeeQuote): Promise<number> {
  const { c, network } = payer;
  let written = 0;
  const waiting = withdrawalsIn(c.db, network.id, ["funds_reserved"], CANDIDATES).filter(({ nonce }) => nonce === null);
  if (waiting.length > 0 && inFlight(payer) < MAX_IN_FLIGHT) {
    const contracts = [...new Set(waiting.flatMap(({ asset }) => (asset === NATIVE ? [] : [asset])))];
    const purse = await openPurse(payer, contracts);
    for (const row of waiting) {
      if (inFlight(payer) >= MAX_IN_FLIGHT) break;
      written += await allocateOne(payer, look, quote, purse, row);
    }
  }
  fillGaps(payer, look);
  return written + (await claimSlots(payer));
}

/** What the wallet has on the chain and has not promised yet. */
interface Purse {
  native: bigint;
  readonly tokens: Map<string, bigint>;
}

/** The lowest of what providers say: a payment that cannot be covered blocks every nonce behind it. */
async function openPurse(payer: Payer, contracts: readonly string[]): Promise<Purse> {
  const answers = await Promise.allSettled(payer.nodes.map((node) => node.balances(payer.sender, contracts)));
  const known = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  for (const [i, answer] of answers.entries()) {
    if (answer.status === "rejected") logProvider(payer, "balances", payer.nodes[i]?.name, answer.reason);
  }
  if (known.length < quorumOf(payer.nodes.length)) throw new Error("too few providers tell the wallet's balances");
  const least = (at: number) => known.map((values) => values[at] ?? 0n).reduce(smaller);
  const purse: Purse = { native: least(0), tokens: new Map(contracts.map((contract, i) => [contract, least(i + 1)])) };
  for (const slot of openSlots(payer.c.db, payer.network.id, payer.sender)) {
    if (slot.minedTxId === null) promise(payer, purse, slot);
  }
  return purse;
}

function promise({ c }: Payer, purse: Purse, slot: SlotRow): void {
  const row = slot.withdrawalId === null ? undefined : withdrawalById(c.db, slot.withdrawalId);
  const gas = attemptsOf(c.db, slot)
    .map(({ gasLimit, mostPerGas: perGas }) => BigInt(gasLimit) * BigInt(perGas))
    .reduce(larger, 0n);
  purse.native -= gas;
  if (row === undefined || slot.burn === 1) return;
  if (row.asset === NATIVE) purse.native -= BigInt(row.amountUnits);
  else purse.tokens.set(row.asset, (purse.tokens.get(row.asset) ?? 0n) - BigInt(row.amountUnits));
}

async function allocateOne(
  payer: Payer,
  look: AgreedLook,
  quote: FeeQuote,
  purse: Purse,
  row: WithdrawalRow,
): Promise<number> {
  const { c } = payer;
  const price = firstFees(quote, capOf(payer));
  if (!price.ok) return wait(payer, row, "lower_fee");
  const call = callOf(payer, row);
  const amount = BigInt(row.amountUnits);
  const has = row.asset === NATIVE ? purse.native : (purse.tokens.get(row.asset) ?? 0n);
  if (has < amount) return wait(payer, row, "wallet_top_up");
  const estimate = await estimateOf(payer, call);
  if (estimate === null) return 0;
  const gasLimit = estimate.ok ? gasLimitFor(estimate.gas) : null;
  if (gasLimit === null) {
    const evidence = estimate.ok ? `it needs ${estimate.gas} gas` : estimate.detail;
    return refuseByChain(payer, row, estimate.ok ? "too_much_gas" : "would_revert", evidence);
  }
  const gasCost = gasLimit * mostPerGas(price.fees);
  if (purse.native < gasCost + (row.asset === NATIVE ? amount : 0n)) return wait(payer, row, "wallet_top_up");

  const taken = c.storage.transactionSync(() => assign(payer, look, row.id, gasLimit));
  if (!taken) return 0;
  purse.native -= gasCost;
  if (row.asset === NATIVE) purse.native -= amount;
  else purse.tokens.set(row.asset, has - amount);
  if (row.waitingFor !== null) changeWithdrawal(c.db, row.id, { waitingFor: null });
  return 0;
}

/** Counter and slot in one commit. False when the withdrawal is not to be sent any more. */
function assign(payer: Payer, look: AgreedLook, id: string, gasLimit: bigint): boolean {
  const { c, network, sender } = payer;
  const row = withdrawalById(c.db, id);
  if (row?.state !== "funds_reserved" || row.nonce !== null) return false;
  const nonce = openGap(payer, look) ?? Math.max(walletOf(payer).nextNonce, look.nonceLatest);
  addSlot(payer, nonce, id, gasLimit);
  raiseWallet(c.db, { network: network.id, sender }, { nextNonce: nonce + 1 });
  changeWithdrawal(c.db, id, { sender, nonce });
  return true;
}

function addSlot({ c, network, sender }: Payer, nonce: number, withdrawalId: string | null, gas: bigint | null): void {
  insertSlot(c.db, {
    network: network.id,
    sender,
    nonce,
    withdrawalId,
    status: "open",
    claimed: 0,
    burn: withdrawalId === null ? 1 : 0,
    speedUp: 0,
    gasLimit: gas?.toString() ?? null,
    minedTxId: null,
    minedHeight: null,
    minedBlockHash: null,
    createdAt: c.now(),
    deadlineAt: c.now() + network.payout.deadlineS * 1_000,
  });
}

/** The lowest nonce that the chain waits for and nobody here has, once it has been missing long enough. */
function openGap(payer: Payer, look: AgreedLook): number | null {
  const { c, network, sender } = payer;
  const { nextNonce, gapSince } = walletOf(payer);
  const nonce = lowestGap(payer, look, nextNonce);
  if (nonce === null) {
    if (gapSince !== null) changeWallet(c.db, { network: network.id, sender }, { gapSince: null });
    return null;
  }
  if (gapSince === null) {
    changeWallet(c.db, { network: network.id, sender }, { gapSince: c.now() });
    return null;
  }
  return c.now() - gapSince >= GAP_GRACE_MS ? nonce : null;
}

function lowestGap({ c, network, sender }: Payer, look: AgreedLook, below: number): number | null {
  const known = knownNonces(c.db, network.id, sender, look.nonceLatest, below);
  for (let nonce = look.nonceLatest; nonce < below; nonce++) {
    if (!known.has(nonce)) return nonce;
  }
  return null;
}

/** A gap that no waiting withdrawal took keeps every later nonce from being mined: it is filled with nothing. */
function fillGaps(payer: Payer, look: AgreedLook): void {
  const { c, network, sender } = payer;
  c.storage.transactionSync(() => {
    const nonce = openGap(payer, look);
    if (nonce === null) return;
    const isInTheWay = openSlots(c.db, network.id, sender).some((slot) => slot.nonce > nonce);
    if (isInTheWay) addSlot(payer, nonce, null, null);
  });
}

/** The name under which a nonce that carries no withdrawal is claimed. */
export function gapName(slot: Pick<SlotRow, "network" | "sender" | "nonce">): string {
  return `gap:${slot.network}:${slot.sender}:${slot.nonce}`;
}

/** @returns how many events were written */
async function claimSlots(payer: Payer): Promise<number> {
  const { c, network, sender, tenantId } = payer;
  let written = 0;
  for (const slot of openSlots(c.db, network.id, sender)) {
    if (slot.claimed === 1) continue;
    const { nonce } = slot;
    const subject = slot.withdrawalId ?? gapName(slot);
    const claim = { network: network.id, sender, nonce, tenantId, subject, now: c.now() };
    const claimed = await claimNonce(c.env.DB, claim);
    written += c.storage.transactionSync(() => takeClaim(payer, slot, claimed));
  }
  return written;
}

function takeClaim(payer: Payer, { network, sender, nonce }: SlotRow, claimed: ClaimedNonce): number {
  const { c, tenantId } = payer;
  const slot = slotAt(c.db, { network, sender, nonce });
  if (slot === undefined || slot.claimed === 1) return 0;
  if (claimed !== "own") {
    // Nothing was signed for it here, so the withdrawal gets another nonce.
    count(c.db, "nonce_conflicts");
    // A copy of this tenant that is no longer there had it: nobody else will ever use it up, and the chain
    // waits for it. Nothing is moved by it, which also makes void what that copy may have signed.
    const left = claimed === "lost" ? ({ claimed: 1, burn: 1 } as const) : ({ status: "final" } as const);
    changeSlot(c.db, slot, { withdrawalId: null, ...left });
    if (slot.withdrawalId !== null) changeWithdrawal(c.db, slot.withdrawalId, { sender: null, nonce: null });
    return 0;
  }
  changeSlot(c.db, slot, { claimed: 1 });
  const row = slot.withdrawalId === null ? undefined : withdrawalById(c.db, slot.withdrawalId);
  if (row?.state !== "funds_reserved") return 0;
  const commit = new WithdrawalCommit(c, tenantId);
  commit.move(row, { to: "broadcast_pending", reason: "nonce_assigned", evidence: `nonce ${nonce} of ${sender}` });
  return commit.written;
}

/** Said by enough providers that it would revert, or by one that it would not; null: nobody can tell now. */
async function estimateOf(payer: Payer, call: Call): Promise<GasEstimate | null> {
  const answers = await Promise.allSettled(payer.nodes.map((node) => node.estimate(call)));
  const reverts: Extract<GasEstimate, { ok: false }>[] = [];
  let most: bigint | null = null;
  for (const [i, answer] of answers.entries()) {
    if (answer.status === "rejected") logProvider(payer, "estimate", payer.nodes[i]?.name, answer.reason);
    else if (!answer.value.ok) reverts.push(answer.value);
    else if (most === null || answer.value.gas > most) most = answer.value.gas;
  }
  if (most !== null) return { ok: true, gas: most };
  return reverts.length >= quorumOf(payer.nodes.length) ? (reverts[0] ?? null) : null;
}

/** Nothing was signed, so the reservation can go back without further proof. @returns how many events were written */
function refuseByChain({ c, tenantId }: Payer, { id }: WithdrawalRow, reason: string, evidence: string): number {
  return c.storage.transactionSync(() => {
    const row = withdrawalById(c.db, id);
    if (row?.state !== "funds_reserved" || row.nonce !== null) return 0;
    const commit = new WithdrawalCommit(c, tenantId);
    commit.move(row, { to: "failed", reason, evidence, changes: { waitingFor: null } });
    return commit.written;
  });
}

function wait({ c }: Payer, row: WithdrawalRow, waitingFor: "wallet_top_up" | "lower_fee"): number {
  if (row.waitingFor !== waitingFor) changeWithdrawal(c.db, row.id, { waitingFor });
  return 0;
}

function inFlight({ c, network, sender }: Payer): number {
  return openSlots(c.db, network.id, sender).filter(({ minedTxId }) => minedTxId === null).length;
}

/** Wei. */
export function capOf({ network }: Pick<Payer, "network">): bigint {
  return BigInt(Math.round(network.payout.maxFeeGwei * 1e9));
}
