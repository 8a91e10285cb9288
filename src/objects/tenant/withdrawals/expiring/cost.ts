/** What a payment would cost now, and what speaks against it, as the first provider says that can. */

import type { ExpiringIntent, ExpiringNode } from "../../../../chains/expiring-payout.ts";
import { soon } from "../../../soon.ts";
import type { WithdrawalIntent } from "../intent.ts";
import type { Cost } from "../payout-line.ts";
import { logProvider } from "../wallet.ts";
import { capOf, type ExpiringPayer } from "./payer.ts";

const DESTINATION_DEADLINE_MS = 3_000;

export async function costOf(payer: ExpiringPayer, wanted: WithdrawalIntent): Promise<Cost | null> {
  const intent = intentOf(payer, wanted);
  const cost = await firstThatSays(payer, "cost", (node) => node.cost(intent));
  if (cost === null) return null;
  const { nowUnits, mostUnits, parts, warning } = cost;
  return { now: nowUnits, most: mostUnits, parts, warning };
}

/** Somebody waits for the answer to a request: where no provider can tell soon, it is told before the signing. */
export async function destinationProblem(payer: ExpiringPayer, wanted: WithdrawalIntent): Promise<string | null> {
  const intent = intentOf(payer, wanted);
  const ask = async (node: ExpiringNode) => (await node.destinationProblem?.(intent)) ?? null;
  try {
    return await soon(firstThatSays(payer, "destination", ask), DESTINATION_DEADLINE_MS);
  } catch {
    return null;
  }
}

function intentOf(
  { network, sender }: ExpiringPayer,
  { asset, destination, amountUnits }: WithdrawalIntent,
): ExpiringIntent {
  return {
    sender,
    asset: asset.asset,
    decimals: asset.decimals,
    destination,
    amountUnits,
    maxFeeUnits: capOf(network),
  };
}

/** Null when none can. */
async function firstThatSays<T>(
  payer: ExpiringPayer,
  what: string,
  ask: (node: ExpiringNode) => Promise<T>,
): Promise<T | null> {
  for (const node of payer.chain.nodes) {
    try {
      return await ask(node);
    } catch (error) {
      logProvider(payer, what, node.name, error);
    }
  }
  return null;
}
