/**
 * Makes one signed transaction for a withdrawal: prepared by the first provider that can, signed, read back and compared
 * with what was approved. Nothing of it is kept here, and nothing leaves the process. Each attempt begins with another
 * provider: one whose transactions never land would make them all.
 */

import type { ExpiringSigner, Prepared, SignedExpiring, Unsigned } from "../../../../chains/expiring-payout.ts";
import { SignerFault } from "../../../../chains/payout.ts";
import type { AgreedExpiring } from "../../../../core/expiring-look.ts";
import { quorumOf } from "../../../../core/wallet-look.ts";
import { step } from "../../../../steps.ts";
import { expiringAttemptsOf } from "../../../../store/tenant/expiring-store.ts";
import type { WithdrawalRow } from "../../../../store/tenant/withdrawal-store.ts";
import { logProvider, stopWallet } from "../wallet.ts";
import { capOf, type ExpiringPayer, intentOf } from "./payer.ts";

export type Made =
  | { readonly kind: "made"; readonly unsigned: Unsigned; readonly signed: SignedExpiring }
  /** What it waits for; null: for providers that answer. */
  | { readonly kind: "waits"; readonly waitingFor: string | null }
  /** Enough providers say that the chain would not carry it out. */
  | { readonly kind: "refused"; readonly detail: string };

type Unprepared = Extract<Prepared, { ok: false }>;

export async function make(
  payer: ExpiringPayer,
  signer: ExpiringSigner,
  row: WithdrawalRow,
  look: AgreedExpiring,
): Promise<Made> {
  const { chain } = payer;
  const intent = intentOf(payer, row);
  const refusals: Unprepared[] = [];
  let problem: string | null = null;
  const first = expiringAttemptsOf(payer.c.db, row.id).length % Math.max(1, chain.nodes.length);
  for (const node of [...chain.nodes.slice(first), ...chain.nodes.slice(0, first)]) {
    const prepared = await preparedBy(payer, node.name, () => node.prepare(intent));
    if (prepared === null) continue;
    if (!prepared.ok) {
      refusals.push(prepared);
      continue;
    }
    const { unsigned } = prepared;
    // Too few liars to call something dead can neither date it before what is final nor hold the withdrawal with a far date.
    const inTime = unsigned.expiresAt > look.newestPoint && unsigned.expiresAt <= look.finalPoint + chain.longestLife;
    if (unsigned.feeMostUnits > capOf(payer.network) || !inTime) {
      logProvider(payer, "prepare", node.name, `a fee of ${unsigned.feeMostUnits}, expiring at ${unsigned.expiresAt}`);
      continue;
    }
    const raw = await signedBy(payer, signer, unsigned);
    if (raw === null) return { kind: "waits", waitingFor: "signer" };
    const read = chain.read(raw, unsigned, intent);
    if (read.ok) return { kind: "made", unsigned, signed: read.signed };
    problem = read.problem;
    logProvider(payer, "prepare", node.name, read.problem);
  }
  if (problem !== null) {
    stopWallet(payer, `what was prepared and signed for ${row.id} is not what was approved: ${problem}`);
    return { kind: "waits", waitingFor: "signer" };
  }
  return together(refusals, chain.nodes.length);
}

async function preparedBy(
  payer: ExpiringPayer,
  node: string,
  prepare: () => Promise<Prepared>,
): Promise<Prepared | null> {
  try {
    return await prepare();
  } catch (error) {
    logProvider(payer, "prepare", node, error);
    return null;
  }
}

async function signedBy(payer: ExpiringPayer, signer: ExpiringSigner, unsigned: Unsigned): Promise<string | null> {
  try {
    return await step("sign", () => signer.sign(unsigned));
  } catch (error) {
    if (!(error instanceof SignerFault)) throw error;
    logProvider(payer, "sign", undefined, error);
    return null;
  }
}

/** That it cannot work needs as many voices as a landing; what it waits for is anybody's word. */
function together(refusals: readonly Unprepared[], providers: number): Made {
  const refused = refusals.filter(({ reason }) => reason === "refused");
  if (refused.length >= quorumOf(providers)) return { kind: "refused", detail: refused[0]?.detail ?? "" };
  if (refusals.some(({ reason }) => reason === "wallet_short")) return { kind: "waits", waitingFor: "wallet_top_up" };
  if (refusals.some(({ reason }) => reason === "fee_above_cap")) return { kind: "waits", waitingFor: "lower_fee" };
  return { kind: "waits", waitingFor: null };
}
