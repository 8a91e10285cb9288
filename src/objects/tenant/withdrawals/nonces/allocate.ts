/**
 * Gives nonces to withdrawals whose funds are reserved, oldest first: the wallet can pay, the call would not
 * revert, then counter and slot in one commit, then the claim in D1. A withdrawal counts as being sent only
 * when D1 says that the nonce is its own.
 */

import { gasLimitFor } from "../../../../chains/evm/intent.ts";
import { larger, smaller } from "../../../../core/amount.ts";
import { type FeeQuote, firstFees, mostPerGas } from "../../../../core/fees.ts";
import { NATIVE } from "../../../../core/transfer.ts";
import { type AgreedLook, quorumOf } from "../../../../core/wallet-look.ts";
import { type ClaimedNonce, claimedFor, claimNonce } from "../../../../store/d1/withdrawals.ts";
import {
  attemptsOf,
  changeSlot,
  insertSlot,
  knownNonces,
  openSlots,
  type SlotKey,
  type SlotRow,
  slotAt,
} from "../../../../store/tenant/slot-store.ts";
import { changeWallet, count, insertWallet, raiseWallet } from "../../../../store/tenant/wallet-store.ts";
import {
  changeWithdrawal,
  type WithdrawalRow,
  withdrawalById,
  withdrawalsWithoutNonce,
} from "../../../../store/tenant/withdrawal-store.ts";
import { WithdrawalCommit } from "../commit.ts";
import { mayStillBePaid } from "../judge.ts";
import { logProvider, walletOf } from "../wallet.ts";
import { callOf, capOf, estimateOf, type Payer, withdrawalOf } from "./payer.ts";

/** Nonces that are open and not mined, of one wallet. Nodes keep so many of one sender without complaint. */
export const MAX_IN_FLIGHT = 16;
/** How long nonces may be missing before they are handed out again: a pool may still hold who has them. */
const GAP_GRACE_MS = 60_000;
/** Looked at in one round. What the wallet cannot cover is passed over without asking anybody. */
const CANDIDATES = 1_000;

/** @returns how many events were written */
export async function allocate(payer: Payer, look: AgreedLook, quote: FeeQuote): Promise<number> {
  let written = 0;
  const waiting = withdrawalsWithoutNonce(payer.c.db, payer.network.id, CANDIDATES);
  if (waiting.length > 0 && inFlight(payer) < MAX_IN_FLIGHT) {
    const contracts = [...new Set(waiting.flatMap(({ asset }) => (asset === NATIVE ? [] : [asset])))];
    const purse = await openPurse(payer, contracts);
    for (const row of waiting) {
      if (inFlight(payer) >= MAX_IN_FLIGHT) break;
      written += await allocateOne(payer, look, quote, purse, row);
    }
  }
  fillGaps(payer, look);
  return written;
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
  // A token that does not say what the wallet has is one of which it has nothing.
  const least = (at: number) => known.map((values) => values[at] ?? 0n).reduce(smaller);
  const purse: Purse = { native: least(0), tokens: new Map(contracts.map((contract, i) => [contract, least(i + 1)])) };
  for (const slot of openSlots(payer.c.db, payer.network.id, payer.sender)) {
    if (slot.minedTxId === null) promise(payer, purse, slot);
  }
  return purse;
}

function promise(payer: Payer, purse: Purse, slot: SlotRow): void {
  const row = withdrawalOf(payer, slot);
  const gas = attemptsOf(payer.c.db, slot)
    .map(({ gasLimit, mostPerGas: perGas }) => BigInt(gasLimit) * BigInt(perGas))
    .reduce(larger, 0n);
  purse.native -= gas;
  if (row === undefined || slot.burn === 1) return;
  if (row.asset === NATIVE) purse.native -= BigInt(row.amountUnits);
  else purse.tokens.set(row.asset, (purse.tokens.get(row.asset) ?? 0n) - BigInt(row.amountUnits));
}

/** @returns how many events were written */
async function allocateOne(
  payer: Payer,
  look: AgreedLook,
  quote: FeeQuote,
  purse: Purse,
  row: WithdrawalRow,
): Promise<number> {
  const { c } = payer;
  const wait = (waitingFor: string) => {
    if (row.waitingFor !== waitingFor) changeWithdrawal(c.db, row.id, { waitingFor });
    return 0;
  };
  const price = firstFees(quote, capOf(payer, "first"));
  if (!price.ok) return wait("lower_fee");
  const amount = BigInt(row.amountUnits);
  const has = row.asset === NATIVE ? purse.native : (purse.tokens.get(row.asset) ?? 0n);
  if (has < amount) return wait("wallet_top_up");
  const estimate = await estimateOf(payer, callOf(payer, row));
  if (estimate === null) return 0;
  const gasLimit = estimate.ok === false ? null : gasLimitFor(estimate.gas);
  if (gasLimit === null) {
    // A copy that is no longer there may have paid it: then it is given that copy's nonce, whatever the call does now.
    const isClaimed = (await claimedFor(c.env.DB, row.id)) !== null;
    if (isClaimed)
      return c.storage.transactionSync(() => assign(payer, look, row.id, 0n)) === "held_back" ? wait("policy") : 0;
    return estimate.ok === false
      ? failUnsigned(payer, row, "would_revert", estimate.detail)
      : failUnsigned(payer, row, "too_much_gas", `it needs ${estimate.gas} gas`);
  }
  const gasCost = gasLimit * mostPerGas(price.fees);
  if (purse.native < gasCost + (row.asset === NATIVE ? amount : 0n)) return wait("wallet_top_up");

  const assigned = c.storage.transactionSync(() => assign(payer, look, row.id, gasLimit));
  if (assigned === "held_back") return wait("policy");
  if (assigned === "gone") return 0;
  purse.native -= gasCost;
  if (row.asset === NATIVE) purse.native -= amount;
  else purse.tokens.set(row.asset, has - amount);
  return 0;
}

/**
 * Counter and slot in one commit. What has changed since the reservation counts: a withdrawal that was called
 * off is gone, and one that today's rules would refuse is held back.
 */
function assign(payer: Payer, look: AgreedLook, id: string, gasLimit: bigint): "assigned" | "held_back" | "gone" {
  const { c, network, sender } = payer;
  const row = withdrawalById(c.db, id);
  if (row?.state !== "funds_reserved" || row.nonce !== null || walletOf(payer).status === "stopped") return "gone";
  if (!mayStillBePaid(c, row)) return "held_back";
  const nonce = openGap(payer, look) ?? Math.max(walletOf(payer).nextNonce, look.nonceLatest);
  addSlot(payer, { network: network.id, sender, nonce }, id, gasLimit);
  raiseWallet(c.db, { network: network.id, sender }, { nextNonce: nonce + 1 });
  changeWithdrawal(c.db, id, { sender, nonce, waitingFor: null });
  return "assigned";
}

function addSlot({ c, network }: Payer, key: SlotKey, withdrawalId: string | null, gasLimit: bigint | null): void {
  insertSlot(c.db, {
    ...key,
    withdrawalId,
    status: "open",
    claimed: 0,
    burn: withdrawalId === null ? 1 : 0,
    speedUp: 0,
    gasLimit: gasLimit?.toString() ?? null,
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
    if (isInTheWay) addSlot(payer, { network: network.id, sender, nonce }, null, null);
  });
}

/** The name under which a nonce that carries no withdrawal is claimed. */
export function gapName(slot: Pick<SlotRow, "network" | "sender" | "nonce">): string {
  return `gap:${slot.network}:${slot.sender}:${slot.nonce}`;
}

/** Claims in D1 what was assigned. @returns how many events were written */
export async function claimSlots(payer: Payer): Promise<number> {
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

function takeClaim(payer: Payer, asked: SlotRow, claimed: ClaimedNonce): number {
  const { c, tenantId } = payer;
  const slot = slotAt(c.db, asked);
  // Something else became of it while D1 answered.
  if (slot === undefined || slot.claimed === 1 || slot.withdrawalId !== asked.withdrawalId) return 0;
  const row = withdrawalOf(payer, slot);
  const commit = new WithdrawalCommit(c, tenantId);
  switch (claimed.kind) {
    case "own":
      changeSlot(c.db, slot, { claimed: 1 });
      if (row !== undefined) beginSending(commit, row, slot);
      return commit.written;
    case "taken":
    case "lost":
      // Nothing was signed for it here, so the withdrawal gets another nonce. One that a copy of this tenant had
      // which is no longer there is used up by nobody else: nothing is moved by it, which also makes void what
      // that copy may have signed.
      count(c.db, "nonce_conflicts");
      changeSlot(c.db, slot, {
        withdrawalId: null,
        ...(claimed.kind === "lost" ? { claimed: 1, burn: 1 } : { status: "final" }),
      });
      if (row !== undefined) changeWithdrawal(c.db, row.id, { sender: null, nonce: null });
      return 0;
    case "elsewhere": {
      // An earlier copy of this tenant gave the withdrawal a nonce, and may have paid it with that one. It keeps
      // it: whatever is signed now excludes what was signed then.
      count(c.db, "nonce_conflicts");
      changeSlot(c.db, slot, { withdrawalId: null, burn: 1 });
      if (row === undefined) return 0;
      const key = { network: slot.network, sender: claimed.sender, nonce: claimed.nonce };
      const known = slotAt(c.db, key);
      if (known === undefined) addSlot(payer, key, row.id, BigInt(slot.gasLimit ?? 0));
      changeSlot(c.db, key, { withdrawalId: row.id, claimed: 1 });
      changeWithdrawal(c.db, row.id, { sender: key.sender, nonce: key.nonce });
      // It may be another wallet's than the one in use: that one is looked after from now on.
      changeWallet(c.db, insertWallet(c.db, key.network, key.sender), { dueAt: c.now() });
      raiseWallet(c.db, key, { nextNonce: key.nonce + 1 });
      const sending = beginSending(commit, { ...row, ...key }, key);
      if (known?.status === "final" && sending.state === "broadcast_pending") {
        // Used up already, perhaps by that copy's payment: nothing more comes from the chain, so a person looks.
        const evidence = `nonce ${key.nonce} of ${key.sender}, given by an earlier copy of this tenant`;
        const changes = { waitingFor: "person" };
        commit.move(sending, { to: "manual_review", reason: "nonce_spent_by_another", evidence, changes });
      }
      return commit.written;
    }
  }
}

/** From here on a final transaction of the nonce decides. @returns the row as it stands */
function beginSending(commit: WithdrawalCommit, row: WithdrawalRow, { sender, nonce }: SlotKey): WithdrawalRow {
  if (row.state !== "funds_reserved") return row;
  const evidence = `nonce ${nonce} of ${sender}`;
  return commit.move(row, { to: "broadcast_pending", reason: "nonce_assigned", evidence });
}

/** Nothing was signed, so the reservation can go back without further proof. @returns how many events were written */
function failUnsigned({ c, tenantId }: Payer, { id }: WithdrawalRow, reason: string, evidence: string): number {
  return c.storage.transactionSync(() => {
    const row = withdrawalById(c.db, id);
    if (row?.state !== "funds_reserved" || row.nonce !== null) return 0;
    const commit = new WithdrawalCommit(c, tenantId);
    commit.move(row, { to: "failed", reason, evidence, changes: { waitingFor: null } });
    return commit.written;
  });
}

function inFlight({ c, network, sender }: Payer): number {
  return openSlots(c.db, network.id, sender).filter(({ minedTxId }) => minedTxId === null).length;
}
