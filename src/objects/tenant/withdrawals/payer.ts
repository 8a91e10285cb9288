/** One hot wallet while it is being driven: its rows, its signer, its providers, and what they said last. */

import { transferCall } from "../../../chains/evm/intent.ts";
import type { Call, PayoutNode, Signer } from "../../../chains/payout.ts";
import { unitsFromText } from "../../../core/amount.ts";
import type { FeeQuote } from "../../../core/fees.ts";
import type { NetworkSettings } from "../../../core/network.ts";
import { NATIVE } from "../../../core/transfer.ts";
import { type AgreedLook, agree, quorumOf } from "../../../core/wallet-look.ts";
import { attemptsOf, openSlots } from "../../../store/tenant/slot-store.ts";
import { insertWallet, type WalletRow, walletRow } from "../../../store/tenant/wallet-store.ts";
import type { WithdrawalRow } from "../../../store/tenant/withdrawal-store.ts";
import { soon } from "../../soon.ts";
import type { TenantContext } from "../context.ts";
import { scannerOf } from "../peers.ts";
import { payoutNodes, signerOf, walletAddress } from "./signing.ts";

const SCANNER_DEADLINE_MS = 5_000;

export interface Payer {
  readonly c: TenantContext;
  readonly tenantId: string;
  readonly network: NetworkSettings;
  readonly sender: string;
  readonly signer: Signer;
  readonly nodes: readonly PayoutNode[];
}

/** Null when the network is switched off. */
export function payerOf(c: TenantContext, tenantId: string, networkId: string): Payer | null {
  const network = c.settings.networks.get(networkId)?.settings;
  if (network === undefined) return null;
  const sender = walletAddress(c, tenantId, networkId);
  const signer = signerOf(c, tenantId, networkId);
  return { c, tenantId, network, sender, signer, nodes: payoutNodes(c, networkId) };
}

export function walletOf({ c, network, sender }: Payer): WalletRow {
  return walletRow(c.db, network.id, sender) ?? insertWallet(c.db, network.id, sender);
}

/** What enough providers say about the wallet and everything open in it; null when too few answer. */
export async function lookAt(payer: Payer): Promise<AgreedLook | null> {
  const { c, network, sender, nodes } = payer;
  const hashes = hashesOf(payer);
  const open = openSlots(c.db, network.id, sender);
  const heights = [...new Set(open.flatMap(({ minedHeight }) => minedHeight ?? []))];
  const answers = await Promise.allSettled(nodes.map((node) => node.look({ sender, hashes, heights })));
  for (const [i, answer] of answers.entries()) {
    if (answer.status === "rejected") logProvider(payer, "look", nodes[i]?.name, answer.reason);
  }
  // A hash that nobody was asked for would look like one that nobody has.
  const asked = new Set(hashes);
  if (!hashesOf(payer).every((hash) => asked.has(hash))) return null;
  const looks = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  return agree(looks, nodes.length);
}

/** Of everything that was signed for open nonces. */
function hashesOf({ c, network, sender }: Payer): string[] {
  return openSlots(c.db, network.id, sender).flatMap((slot) => attemptsOf(c.db, slot).map(({ txId }) => txId));
}

/** The highest of what enough providers ask for gas; null when too few answer. */
export async function quoteOf(payer: Payer): Promise<FeeQuote | null> {
  const answers = await Promise.allSettled(payer.nodes.map((node) => node.quote()));
  const quotes = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  for (const [i, answer] of answers.entries()) {
    if (answer.status === "rejected") logProvider(payer, "fees", payer.nodes[i]?.name, answer.reason);
  }
  // One provider that asks too much must not decide alone: of two or more, the second highest counts.
  quotes.sort((a, b) => Number(perGas(b) - perGas(a)));
  return quotes[Math.min(quorumOf(payer.nodes.length), quotes.length) - 1] ?? null;
}

function perGas(quote: FeeQuote): bigint {
  return quote.kind === "legacy" ? quote.gasPrice : quote.baseFee + quote.priorityFee;
}

/** Whether the network may be paid out on: its chain is not in dispute. Who cannot say holds payments back. */
export async function isHalted({ c, network }: Payer): Promise<boolean> {
  try {
    return (await soon(scannerOf(c.env, network.id).status(), SCANNER_DEADLINE_MS)).status === "halted";
  } catch (error) {
    console.warn(JSON.stringify({ at: "withdrawals", network: network.id, call: "status", error: String(error) }));
    return true;
  }
}

/** The call that pays a withdrawal. */
export function callOf({ sender }: Pick<Payer, "sender">, row: WithdrawalRow): Call {
  const asset = row.asset === NATIVE ? NATIVE : row.asset;
  return transferCall(asset, sender, row.destination, unitsFromText(row.amountUnits));
}

export function logProvider(payer: Payer, call: string, node: string | undefined, error: unknown): void {
  const { network, tenantId } = payer;
  console.warn(
    JSON.stringify({ at: "withdrawals", tenant: tenantId, network: network.id, node, call, error: String(error) }),
  );
}
