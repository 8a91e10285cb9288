/** One hot wallet of coins while it is being driven: its signer, its providers, and what they say together. */

import type { CoinNode, CoinRef, CoinSigner, UnspentCoin } from "../../../../chains/coin-payout.ts";
import { larger } from "../../../../core/amount.ts";
import {
  type AgreedCoins,
  agreeOnCoins,
  agreeOnUnspent,
  type CoinPin,
  contradictionIn,
} from "../../../../core/coin-look.ts";
import { coinText } from "../../../../core/coins.ts";
import { type FeeRateLimits, type FeeRateQuote, feeRateLimits } from "../../../../core/fee-rate.ts";
import { type BitcoinNetwork, holdsCoins } from "../../../../core/network.ts";
import { networkRule } from "../../../../core/policy.ts";
import { quorumOf } from "../../../../core/wallet-look.ts";
import { networkState } from "../../../../store/tenant/network-store.ts";
import { inputsOf, membersOf, openSpends, type SpendRow } from "../../../../store/tenant/spend-store.ts";
import { type WithdrawalRow, withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../../context.ts";
import { sawLooks } from "../../incidents/contradictions.ts";
import { type HotWallet, logProvider, setWaitingOf } from "../wallet.ts";
import { coinNodes, coinSigner } from "./signing.ts";

/** Inputs asked about in one look. */
const MAX_PINS = 500;

interface AskedInput extends CoinPin {
  /** Whether it is the pinned one of its spend. */
  readonly isPin: boolean;
}

export interface CoinPayer extends HotWallet {
  readonly network: BitcoinNetwork;
  /** Null: this wallet is no longer the one in use. What it sent is followed, and nothing new is signed. */
  readonly signer: CoinSigner | null;
  readonly nodes: readonly CoinNode[];
}

/** Null when the network is switched off. */
export function payerOf(c: TenantContext, tenantId: string, networkId: string, sender?: string): CoinPayer | null {
  const network = c.settings.networks.get(networkId)?.settings;
  if (network === undefined || !holdsCoins(network)) return null;
  const current = coinSigner(c, tenantId, networkId);
  const signer = sender === undefined || sender === current.address ? current : null;
  return { c, tenantId, network, sender: sender ?? current.address, signer, nodes: coinNodes(c, networkId) };
}

export function withdrawalsOf({ c }: HotWallet, spend: SpendRow): WithdrawalRow[] {
  return membersOf(c.db, spend).flatMap(({ withdrawalId }) => withdrawalById(c.db, withdrawalId) ?? []);
}

/** What all of a spend's withdrawals wait for. */
export function setWaiting(payer: CoinPayer, spend: SpendRow, waitingFor: string | null): void {
  for (const row of withdrawalsOf(payer, spend)) setWaitingOf(payer.c, row, waitingFor);
}

export function pinOf({ pinTxId: txId, pinVout: vout }: SpendRow): CoinRef {
  return { txId, vout };
}

export function pinText(spend: SpendRow): string {
  return coinText(pinOf(spend));
}

/** Depth at which the network's own rule counts a payment. */
export function deepOf(network: BitcoinNetwork): number {
  const rule = networkRule(network);
  return rule === "finalized" ? network.confirmations : rule;
}

/**
 * What enough providers say about the inputs of what is open; null when too few answer. Of what is mined only the
 * block is asked for, until it is replaced, deep enough, or final: then the pinned input says the rest.
 */
export async function lookAt(payer: CoinPayer): Promise<AgreedCoins | null> {
  const { c, network, sender } = payer;
  const open = openSpends(c.db, network.id, sender);
  const heights = [...new Set(open.flatMap(({ minedHeight }) => minedHeight ?? []))];
  const unmined = open.filter(({ minedTxId }) => minedTxId === null).flatMap((spend) => pinsOf(payer, spend));
  const first = await ask(payer, unmined, heights);
  if (first === null) return null;
  const toRead = open.flatMap((spend) => pinOfMined(payer, spend, first));
  return toRead.length === 0 ? first : ask(payer, [...toRead, ...unmined], heights);
}

/** Every input: one of them may be lost to the wallet although the pinned one is not. */
function pinsOf({ c, network }: CoinPayer, spend: SpendRow): AskedInput[] {
  const inputs = inputsOf(c.db, spend).filter(({ status }) => status === "locked");
  const pin = pinText(spend);
  const pins = inputs.map(({ txId, vout, height }) => {
    const ref = { txId, vout };
    return { ref, from: height, isPin: coinText(ref) === pin };
  });
  const isKnown = pins.some(({ isPin }) => isPin);
  // Pinned by a copy of this object that is gone, and never seen here: older than what is read at all.
  const from = networkState(c.db, network.id)?.windowFrom ?? 0;
  return isKnown ? pins : [...pins, { ref: pinOf(spend), from, isPin: true }];
}

function pinOfMined(payer: CoinPayer, spend: SpendRow, look: AgreedCoins): AskedInput[] {
  const { minedHeight, minedBlockHash } = spend;
  if (minedHeight === null || minedBlockHash === null) return [];
  if (look.isReplaced(minedHeight, minedBlockHash)) return pinsOf(payer, spend);
  const depth = look.head - minedHeight + 1;
  const isSettled = withdrawalsOf(payer, spend).every(({ state }) => state === "confirmed" || state === "failed");
  const isNews = depth > payer.network.reorgWindow || (depth >= deepOf(payer.network) && !isSettled);
  return isNews ? [{ ref: pinOf(spend), from: minedHeight, isPin: true }] : [];
}

async function ask(
  payer: CoinPayer,
  pins: readonly AskedInput[],
  heights: readonly number[],
): Promise<AgreedCoins | null> {
  // The pinned ones say what became of a spend: those of no spend are left out for another's other inputs.
  const [first, others] = [pins.filter(({ isPin }) => isPin), pins.filter(({ isPin }) => !isPin)];
  const question = { pins: [...first, ...others].slice(0, MAX_PINS), heights };
  const answers = await Promise.allSettled(payer.nodes.map((node) => node.look(question)));
  const looks = heard(payer, "look", answers);
  sawLooks(payer, contradictionIn(looks));
  return agreeOnCoins(looks, payer.nodes.length);
}

/** Of two or more quotes the second highest, so that no provider decides alone upwards. */
export async function quoteOf(payer: CoinPayer): Promise<FeeRateQuote | null> {
  const answers = await Promise.allSettled(payer.nodes.map((node) => node.quote()));
  const quotes = heard(payer, "fees", answers);
  const rate = ({ estimate, floor }: FeeRateQuote) => larger(estimate ?? 0n, floor);
  quotes.sort((a, b) => Number(rate(b) - rate(a)));
  return quotes[Math.min(quorumOf(payer.nodes.length), quotes.length) - 1] ?? null;
}

/** Which of these coins enough providers have as unspent. @throws Error when too few answer */
export async function unspentOf(
  payer: CoinPayer,
  refs: readonly CoinRef[],
): Promise<ReadonlyMap<string, UnspentCoin | null>> {
  const answers = await Promise.allSettled(payer.nodes.map((node) => node.unspent(refs)));
  const known = heard(payer, "unspent", answers);
  if (known.length < quorumOf(payer.nodes.length)) throw new Error("too few providers tell what the wallet holds");
  return agreeOnUnspent(known, payer.nodes.length);
}

export function limitsOf({ network }: Pick<CoinPayer, "network">): FeeRateLimits {
  return feeRateLimits(network.payout);
}

function heard<T>(payer: CoinPayer, call: string, answers: readonly PromiseSettledResult<T>[]): T[] {
  for (const [i, answer] of answers.entries()) {
    if (answer.status === "rejected") logProvider(payer, call, payer.nodes[i]?.name, answer.reason);
  }
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
}
