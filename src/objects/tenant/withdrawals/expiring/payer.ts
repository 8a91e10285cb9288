/** One hot wallet whose transactions expire while it is being driven: its signer, its providers, what they say together. */

import type {
  ExpiringChain,
  ExpiringIntent,
  ExpiringNetwork,
  ExpiringSigner,
} from "../../../../chains/expiring-payout.ts";
import { parseAmount, unitsFromText } from "../../../../core/amount.ts";
import { type AgreedExpiring, agreeOnExpiring, contradictionIn } from "../../../../core/expiring-look.ts";
import { expiresByItself } from "../../../../core/network.ts";
import {
  type ExpiringAttemptRow,
  type ExpiringPaymentRow,
  expiringAttemptsOf,
  openExpiringPayments,
} from "../../../../store/tenant/expiring-store.ts";
import { type WithdrawalRow, withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import { mustFindAsset, type TenantContext } from "../../context.ts";
import { sawLooks } from "../../incidents/contradictions.ts";
import { type HotWallet, logProvider } from "../wallet.ts";
import { expiringChain, expiringSigner } from "./signing.ts";

/** Looked for in one look, oldest first. */
const MAX_ASKED = 64;

export interface ExpiringPayer extends HotWallet {
  readonly network: ExpiringNetwork;
  /** Null: this wallet is no longer the one in use. What it sent is followed, and nothing new is signed. */
  readonly signer: ExpiringSigner | null;
  readonly chain: ExpiringChain;
}

/** Null when the network is switched off. */
export function payerOf(c: TenantContext, tenantId: string, networkId: string, sender?: string): ExpiringPayer | null {
  const network = c.settings.networks.get(networkId)?.settings;
  if (network === undefined || !expiresByItself(network)) return null;
  const current = expiringSigner(c, tenantId, networkId);
  const signer = sender === undefined || sender === current.address ? current : null;
  return { c, tenantId, network, sender: sender ?? current.address, signer, chain: expiringChain(c, networkId) };
}

export function withdrawalOf({ c }: HotWallet, { withdrawalId }: ExpiringPaymentRow): WithdrawalRow {
  const row = withdrawalById(c.db, withdrawalId);
  if (row === undefined) throw new Error(`a payment of ${withdrawalId} is left without it`);
  return row;
}

/** What may still land, as far as it is known here. */
export function liveOf({ c }: HotWallet, { withdrawalId }: ExpiringPaymentRow): ExpiringAttemptRow[] {
  return expiringAttemptsOf(c.db, withdrawalId).filter(({ status }) => status === "live");
}

export function openOf({ c, network, sender }: HotWallet): ExpiringPaymentRow[] {
  return openExpiringPayments(c.db, network.id, sender);
}

/** What is to be paid. The same in every attempt. */
export function intentOf(
  { c, network, sender }: Pick<ExpiringPayer, "c" | "network" | "sender">,
  row: WithdrawalRow,
): ExpiringIntent {
  const { decimals } = mustFindAsset(c, row.network, row.asset);
  return {
    sender,
    asset: row.asset,
    decimals,
    destination: row.destination,
    amountUnits: unitsFromText(row.amountUnits),
    maxFeeUnits: capOf(network),
  };
}

/** Most that one payment may cost, base units of the native coin. */
export function capOf({ id, payout, nativeAsset }: ExpiringNetwork): bigint {
  const cap = parseAmount(payout.maxFee, nativeAsset.decimals);
  if (!cap.ok) throw new Error(`max_fee of ${id} is no amount of ${nativeAsset.symbol}: ${cap.reason}`);
  return cap.units;
}

export interface Looked extends AgreedExpiring {
  /** Unix milliseconds, before anybody was asked. */
  readonly askedAt: number;
}

/** What enough providers say about everything that may still land; null when too few answer. */
export async function lookAt(payer: ExpiringPayer): Promise<Looked | null> {
  const { nodes } = payer.chain;
  const askedAt = payer.c.now();
  const live = openOf(payer).flatMap((payment) => liveOf(payer, payment));
  const attempts = live
    .slice(0, MAX_ASKED)
    .map(({ txId, expiresAt, signedAbove }) => ({ txId, expiresAt, signedAbove }));
  const answers = await Promise.allSettled(nodes.map((node) => node.look({ attempts })));
  const looks = heard(payer, "look", answers);
  sawLooks(payer, contradictionIn(looks));
  const agreed = agreeOnExpiring(looks, nodes.length);
  return agreed && { ...agreed, askedAt };
}

/** Those that answered. The others are written to the log. */
export function heard<T>(payer: ExpiringPayer, call: string, answers: readonly PromiseSettledResult<T>[]): T[] {
  for (const [i, answer] of answers.entries()) {
    if (answer.status === "rejected") logProvider(payer, call, payer.chain.nodes[i]?.name, answer.reason);
  }
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
}
