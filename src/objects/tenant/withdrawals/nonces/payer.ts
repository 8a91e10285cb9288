/** One hot wallet that counts nonces while it is being driven: its signer, its providers, and what they say together. */

import { gasLimitFor, transferCall } from "../../../../chains/evm/intent.ts";
import type { Call, GasEstimate, PayoutNode, Signer } from "../../../../chains/payout.ts";
import { larger, unitsFromText } from "../../../../core/amount.ts";
import { capFor, type FeeQuote, perGasNow } from "../../../../core/fees.ts";
import { countsNonces, type EvmNetwork } from "../../../../core/network.ts";
import { type AgreedLook, agree, contradictionIn, quorumOf } from "../../../../core/wallet-look.ts";
import { attemptsOf, openSlots, type SlotRow } from "../../../../store/tenant/slot-store.ts";
import { type WithdrawalRow, withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../../context.ts";
import { sawLooks } from "../../incidents/contradictions.ts";
import { type HotWallet, logProvider, setWaitingOf } from "../wallet.ts";
import { payoutNodes, signerOf, walletAddress } from "./signing.ts";

/** Receipts asked for in one look: with what else is asked, one batch, which one backend answers. */
const MAX_HASHES = 90;

export interface Payer extends HotWallet {
  readonly network: EvmNetwork;
  /** Null: this wallet is no longer the one in use. What it sent is followed, and nothing new is signed. */
  readonly signer: Signer | null;
  readonly nodes: readonly PayoutNode[];
}

/** Null when the network is switched off. */
export function payerOf(c: TenantContext, tenantId: string, networkId: string, sender?: string): Payer | null {
  const network = c.settings.networks.get(networkId)?.settings;
  if (network === undefined || !countsNonces(network)) return null;
  const current = walletAddress(c, tenantId, networkId);
  const signer = sender === undefined || sender === current ? signerOf(c, tenantId, networkId) : null;
  return { c, tenantId, network, sender: sender ?? current, signer, nodes: payoutNodes(c, networkId) };
}

export function setWaiting(payer: Payer, slot: SlotRow, waitingFor: string | null): void {
  setWaitingOf(payer.c, withdrawalOf(payer, slot), waitingFor);
}

export function withdrawalOf({ c }: Payer, slot: SlotRow): WithdrawalRow | undefined {
  return slot.withdrawalId === null ? undefined : withdrawalById(c.db, slot.withdrawalId);
}

/**
 * What enough providers say about the wallet and what is open in it; null when too few answer. Of what is mined
 * only the block is asked for, until it is replaced, deep enough, or final: then its receipt says the rest.
 */
export async function lookAt(payer: Payer): Promise<AgreedLook | null> {
  const { c, network, sender } = payer;
  const open = openSlots(c.db, network.id, sender);
  const heights = [...new Set(open.flatMap(({ minedHeight }) => minedHeight ?? []))];
  const first = await ask(
    payer,
    open.filter(({ minedTxId }) => minedTxId === null),
    heights,
  );
  if (first === null) return null;
  const toRead = open.filter(
    ({ minedHeight, minedBlockHash }) =>
      minedHeight !== null &&
      (minedHeight <= first.finalHeight ||
        first.isReplaced(minedHeight, minedBlockHash ?? "") ||
        (network.finality === "depth" && first.head - minedHeight + 1 >= network.confirmations)),
  );
  const unread = toRead.filter((slot) => withdrawalOf(payer, slot)?.state !== "confirmed" || isSettling(slot, first));
  return unread.length === 0 ? first : ask(payer, [...open.filter(isUnmined), ...unread], heights);
}

function isUnmined({ minedTxId }: SlotRow): boolean {
  return minedTxId === null;
}

/** Confirmed by its depth: only its end, or its block's, is news. */
function isSettling({ minedHeight, minedBlockHash }: SlotRow, look: AgreedLook): boolean {
  if (minedHeight === null) return true;
  return minedHeight <= look.finalHeight || look.isReplaced(minedHeight, minedBlockHash ?? "");
}

async function ask(payer: Payer, slots: readonly SlotRow[], heights: readonly number[]): Promise<AgreedLook | null> {
  const { c, sender, nodes } = payer;
  const hashes: string[] = [];
  // Lowest nonces first: what is left out is asked for once they are done.
  for (const slot of slots) {
    const own = attemptsOf(c.db, slot).map(({ txId }) => txId);
    if (hashes.length + own.length <= MAX_HASHES) hashes.push(...own);
  }
  const answers = await Promise.allSettled(nodes.map((node) => node.look({ sender, hashes, heights })));
  for (const [i, answer] of answers.entries()) {
    if (answer.status === "rejected") logProvider(payer, "look", nodes[i]?.name, answer.reason);
  }
  const looks = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  sawLooks(payer, contradictionIn(looks));
  return agree(looks, nodes.length, new Set(hashes));
}

/** What gas costs; of two or more quotes the second highest, so that no provider decides alone upwards. */
export async function quoteOf(payer: Payer): Promise<FeeQuote | null> {
  const answers = await Promise.allSettled(payer.nodes.map((node) => node.quote()));
  const quotes = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  for (const [i, answer] of answers.entries()) {
    if (answer.status === "rejected") logProvider(payer, "fees", payer.nodes[i]?.name, answer.reason);
  }
  quotes.sort((a, b) => Number(perGasNow(b) - perGasNow(a)));
  return quotes[Math.min(quorumOf(payer.nodes.length), quotes.length) - 1] ?? null;
}

/** What a call needs as providers estimate it, or why it would fail; null: nobody can tell now. */
export async function estimateOf(
  payer: Payer,
  call: Call,
): Promise<GasEstimate | { ok: "too_much"; gas: bigint } | null> {
  const answers = await Promise.allSettled(payer.nodes.map((node) => node.estimate(call)));
  const reverts: Extract<GasEstimate, { ok: false }>[] = [];
  const within: bigint[] = [];
  const beyond: bigint[] = [];
  for (const [i, answer] of answers.entries()) {
    if (answer.status === "rejected") logProvider(payer, "estimate", payer.nodes[i]?.name, answer.reason);
    else if (!answer.value.ok) reverts.push(answer.value);
    else (gasLimitFor(answer.value.gas) === null ? beyond : within).push(answer.value.gas);
  }
  const quorum = quorumOf(payer.nodes.length);
  // Who says that it works is believed alone: at worst it fails on the chain. That it cannot work needs more.
  if (within.length > 0) return { ok: true, gas: within.reduce(larger) };
  if (reverts.length >= quorum) return reverts[0] ?? null;
  return beyond.length >= quorum ? { ok: "too_much", gas: beyond.reduce(larger) } : null;
}

/** The call that pays a withdrawal. */
export function callOf({ sender }: Pick<Payer, "sender">, row: WithdrawalRow): Call {
  return transferCall(row.asset, sender, row.destination, unitsFromText(row.amountUnits));
}

/** Wei. */
export function capOf({ network }: Pick<Payer, "network">, kind: Parameters<typeof capFor>[0]): bigint {
  return capFor(kind, BigInt(Math.round(network.payout.maxFeeGwei * 1e9)));
}
