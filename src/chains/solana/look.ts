/**
 * Where signed transactions stand, by one provider. That one landed is read from the final block's own record; that one
 * never will is said only when the provider shows that it would know:
 *
 * - its final height is past the last one at which the transaction could land, and was so before it searched. The stored
 *   expiry is one provider's word; that a blockhash lives for 151 blocks, and that none can be of a block above the
 *   head at the signing, is nobody's;
 * - its search through all of history finds nothing, on a state not older than that height;
 * - it lists every final block since before the signing, so that none of them is missing from what it searched.
 */

import { NATIVE } from "../../core/transfer.ts";
import type { ExpiringLook, ExpiringQuestion, Landed } from "../expiring-payout.ts";
import type { RpcClient } from "../rpc/client.ts";
import { MalformedAnswer, parseList, parseObject } from "../rpc/malformed.ts";
import { ask, FINALIZED, faultOf, isWithoutBlock, parseContext, parseCount, parseLamports } from "./answers.ts";
import { arrivalsOf } from "./arrivals.ts";
import { transactionParams } from "./big-block.ts";
import { headCall, rawBytes, readHead } from "./block.ts";
import { effectsOf } from "./effects.ts";
import type { Slots } from "./slots.ts";
import { type ExecutedTransaction, failureOf, readExecuted } from "./status.ts";
import { readTransaction, transactionId } from "./transaction.ts";

/** A blockhash lives for 151 blocks, and the head is not further above the final block than the other 150. */
export const LATEST_LANDING_BLOCKS = 301;
/** `getSignatureStatuses` takes so many. */
const MAX_STATUSES = 256;

/** @throws ChainFault, MalformedAnswer */
export async function lookForAttempts(
  rpc: RpcClient,
  slots: Slots,
  { attempts }: ExpiringQuestion,
): Promise<ExpiringLook> {
  const info = parseObject(await ask(rpc, "getEpochInfo", [{ commitment: FINALIZED }]), "final point");
  const finalHeight = parseCount(info.blockHeight, "final height");
  const finalSlot = parseCount(info.absoluteSlot, "final slot");
  const found = new Map<string, Landed | "pending" | null>();
  if (attempts.length > MAX_STATUSES)
    throw new Error(`asked for ${attempts.length} transactions, ${MAX_STATUSES} at most`);
  if (attempts.length > 0) {
    const ids = attempts.map(({ txId }) => txId);
    const params = [ids, { searchTransactionHistory: true }];
    const { slot, value } = parseContext(await ask(rpc, "getSignatureStatuses", params), "statuses");
    const statuses = parseList(value, "statuses");
    if (statuses.length !== ids.length) throw new MalformedAnswer("statuses", `${ids.length} of them`, statuses.length);
    const unseen: number[] = [];
    for (const [i, status] of statuses.entries()) {
      const txId = ids[i] ?? "";
      if (status === null) unseen.push(i);
      else if (!isFinal(status)) found.set(txId, "pending");
      else {
        const landed = await readLanded(rpc, txId);
        if (landed !== null) found.set(txId, landed);
      }
    }
    const dead = unseen.flatMap((i) => attempts[i] ?? []).filter((one) => finalHeight > lastLanding(one));
    if (dead.length > 0 && slot >= finalSlot && (await listsAll(rpc, slots, dead))) {
      for (const { txId } of dead) found.set(txId, null);
    }
  }
  return { finalHeight, finalPoint: finalHeight, found };
}

type Attempt = ExpiringQuestion["attempts"][number];

/** The last height at which it could land, whoever was wrong about its expiry. */
function lastLanding({ expiresAt, signedAbove }: Attempt): number {
  return Math.max(expiresAt, signedAbove + LATEST_LANDING_BLOCKS);
}

function isFinal(status: unknown): boolean {
  return parseObject(status, "status").confirmationStatus === FINALIZED;
}

/** Whether the node has every final block in which these could stand: as many slots as there are heights from first to last. */
async function listsAll(rpc: RpcClient, slots: Slots, dead: readonly Attempt[]): Promise<boolean> {
  const from = Math.min(...dead.map(({ signedAbove }) => signedAbove));
  const to = Math.max(...dead.map(lastLanding));
  const { slots: listed } = await slots.of(from, to);
  const [first, last] = [listed[0], listed.at(-1)];
  if (listed.length !== to - from + 1 || first === undefined || last === undefined) return false;
  for (const [height, slot] of [
    [from, first],
    [to, last],
  ] as const) {
    const answer = await rpc.call("getBlock", headCall(slot).params);
    if (!answer.ok && !isWithoutBlock(answer.failure)) throw faultOf(rpc, `block ${height}`, answer.failure);
    if (!answer.ok || answer.result === null || readHead(answer.result, slot).height !== height) {
      slots.forget();
      return false;
    }
  }
  return true;
}

/** Null when the node does not give it whole. */
async function readLanded(rpc: RpcClient, txId: string): Promise<Landed | null> {
  const answer = await ask(rpc, "getTransaction", transactionParams(txId));
  if (answer === null) return null;
  const { slot: inSlot, transaction, meta } = parseObject(answer, `transaction ${txId}`);
  const slot = parseCount(inSlot, `slot of ${txId}`);
  const wire = readTransaction(rawBytes(transaction));
  const got = transactionId(wire);
  if (got !== txId) throw new MalformedAnswer("transaction", txId, got);
  const { method, params } = headCall(slot);
  const block = await ask(rpc, method, params);
  const { height, hash } = block === null ? { height: null, hash: "" } : readHead(block, slot);
  if (height === null) return null;
  const where = { txId, height, blockHash: hash };
  if (failureOf(meta) !== null) {
    const feeUnits = parseLamports(parseObject(meta, `meta of ${txId}`).fee, `fee of ${txId}`);
    return { ...where, success: false, feeUnits, moves: [] };
  }
  return { ...where, success: true, ...movesOf(readExecuted(wire, meta, `meta of ${txId}`)) };
}

/**
 * What the payer's own instructions moved, as the balances bear it out, and all else that it cost. What these called on
 * the way, as an account for the receiver, is cost.
 */
function movesOf(tx: ExecutedTransaction): Pick<Landed, "feeUnits" | "moves"> {
  const payer = tx.accounts.address(0);
  const mints = new Set([...tx.tokensAfter.values()].map(({ mint }) => mint));
  const { credits } = arrivalsOf(tx, { native: true, contracts: mints });
  const byPath = new Map(effectsOf(tx).map((effect) => [effect.path, effect]));
  const moves = credits.flatMap(({ transferIndex, asset, address, amountUnits }) => {
    const effect = byPath.get(transferIndex);
    const from = effect?.kind === "lamports" || effect?.kind === "tokens" ? effect.from : null;
    if (transferIndex.includes(".") || from === null) return [];
    const account = tx.tokensBefore.get(from) ?? tx.tokensAfter.get(from);
    const owner = asset === NATIVE ? tx.accounts.address(from) : account?.owner;
    return owner === undefined ? [] : [{ asset, from: owner, to: address, amountUnits }];
  });
  const [before, after] = [tx.before[0] ?? null, tx.after[0] ?? null];
  if (before === null || after === null) {
    throw new MalformedAnswer(`balance of ${payer}`, "an exact number", "one above 2^53");
  }
  const sent = moves.filter(({ asset, from }) => asset === NATIVE && from === payer);
  return { moves, feeUnits: before - after - sent.reduce((sum, { amountUnits }) => sum + amountUnits, 0n) };
}
