/**
 * Payments compared with D1 and the chain: what was signed is what was approved, what landed is still there, what was
 * taken for dead is still in no final block, and D1 has every transaction that may have been sent, and no other.
 */

import { larger, unitsFromText } from "../../../../core/amount.ts";
import { type AgreedExpiring, agreeOnExpiring, type ExpiringLook } from "../../../../core/expiring-look.ts";
import { difference } from "../../../../core/reconciliation.ts";
import type { DifferenceView } from "../../../../core/views.ts";
import { log } from "../../../../log.ts";
import { StoreFault } from "../../../../store/d1/deadline.ts";
import { type HeldAttempt, readLiveAttempts } from "../../../../store/d1/live-attempts.ts";
import {
  allOpenExpiringPayments,
  type ExpiringAttemptRow,
  type ExpiringPaymentRow,
  expiringAttemptsOf,
  expiringPaymentOf,
} from "../../../../store/tenant/expiring-store.ts";
import { withdrawalById } from "../../../../store/tenant/withdrawal-store.ts";
import type { TenantContext } from "../../context.ts";
import { uniqueBy } from "../compare-scope.ts";
import type { Findings } from "../findings.ts";
import type { ComparedScope } from "../payout-line.ts";
import { intentOf } from "./payer.ts";
import { expiringChain, expiringNetwork } from "./signing.ts";

/** Payments that are compared in one report. */
const MAX_COMPARED = 200;
/** Signed transactions read back for one report: each one costs the check of a signature. */
const MAX_ATTEMPTS_READ = 500;
/** Transactions of one network asked about, in looks of so many. */
const MAX_ASKED = 200;
const ASKED_PER_LOOK = 25;

interface NetworkLooks {
  readonly network: string;
  /** By the id that was asked for. */
  readonly looks: ReadonlyMap<string, AgreedExpiring>;
}

/** As `PayoutLine.compare`. */
export async function comparePayments(
  c: TenantContext,
  tenantId: string,
  { withdrawals }: ComparedScope,
  findings: Findings,
): Promise<() => void> {
  const ofWithdrawals = withdrawals.flatMap(({ id }) => expiringPaymentOf(c.db, id) ?? []);
  const payments = uniqueBy([...allOpenExpiringPayments(c.db), ...ofWithdrawals], ({ withdrawalId }) => withdrawalId);
  const compared = payments.slice(0, MAX_COMPARED);
  const ids = [...new Set([...compared.map(({ withdrawalId }) => withdrawalId), ...withdrawals.map(({ id }) => id)])];
  compareAttempts(c, compared, findings);
  const networks = Map.groupBy(compared, ({ network }) => network);
  const [held, looked] = await Promise.all([
    readClaims(c, tenantId, ids),
    Promise.all([...networks].map(([network, own]) => lookAt(c, network, own, findings))),
  ]);
  return () => {
    if (held === null) findings.unreachable.add("d1");
    else compareClaims(c, ids, held, findings);
    for (const { network, looks } of looked) {
      for (const payment of networks.get(network) ?? []) compareLanded(c, payment, looks, findings);
    }
  };
}

async function readClaims(
  c: TenantContext,
  tenantId: string,
  ids: readonly string[],
): Promise<readonly HeldAttempt[] | null> {
  if (ids.length === 0) return [];
  try {
    return await readLiveAttempts(c.env.DB, ids);
  } catch (error) {
    if (!(error instanceof StoreFault)) throw error;
    log("warn", "reconciliation_incomplete", { tenant: tenantId }, error);
    return null;
  }
}

/** What is settled, landed or dead: the chain must bear it out. What lives is followed elsewhere. */
async function lookAt(
  c: TenantContext,
  network: string,
  payments: readonly ExpiringPaymentRow[],
  findings: Findings,
): Promise<NetworkLooks> {
  const { nodes } = expiringChain(c, network);
  const all = payments.flatMap(({ withdrawalId }) => expiringAttemptsOf(c.db, withdrawalId));
  const asked = all.filter(({ status }) => status === "landed" || status === "dead").slice(-MAX_ASKED);
  const looks = new Map<string, AgreedExpiring>();
  for (let at = 0; at < asked.length; at += ASKED_PER_LOOK) {
    const attempts = asked.slice(at, at + ASKED_PER_LOOK);
    const answers = await Promise.allSettled(nodes.map((node) => node.look({ attempts })));
    const agreed = agreeOnExpiring(answersOf(network, answers), nodes.length);
    if (agreed === null) findings.unreachable.add(`chain:${network}`);
    else for (const { txId } of attempts) looks.set(txId, agreed);
  }
  return { network, looks };
}

function answersOf(network: string, settled: readonly PromiseSettledResult<ExpiringLook>[]): ExpiringLook[] {
  return settled.flatMap((one) => {
    if (one.status === "fulfilled") return [one.value];
    log("warn", "reconciliation_incomplete", { network }, one.reason);
    return [];
  });
}

function compareLanded(
  c: TenantContext,
  { withdrawalId }: ExpiringPaymentRow,
  looks: ReadonlyMap<string, AgreedExpiring>,
  findings: Findings,
): void {
  for (const attempt of expiringAttemptsOf(c.db, withdrawalId)) {
    const news = looks.get(attempt.txId)?.newsOf(attempt);
    // Too old for these providers, or they do not agree: nothing is said.
    if (news === undefined || news.kind === "waiting" || news.kind === "seen") continue;
    const found = news.kind === "dead" ? "in no final block" : landing(news.landed.height, news.landed.blockHash);
    const expected =
      attempt.status === "landed" ? landing(attempt.landedHeight, attempt.landedHash) : "in no final block";
    const kind = news.kind === "dead" ? "receipt_missing" : "receipt_differs";
    findings.compared("receipts", difference(kind, withdrawalId, named(attempt, expected), named(attempt, found)));
  }
}

/** Rows as they are now, both ways. Claimed meanwhile, they are there; not claimed yet, nothing is said. */
function compareClaims(
  c: TenantContext,
  ids: readonly string[],
  held: readonly HeldAttempt[],
  findings: Findings,
): void {
  const byId = Map.groupBy(held, ({ withdrawalId }) => withdrawalId);
  for (const id of ids) {
    const claims = byId.get(id) ?? [];
    const attempts = expiringAttemptsOf(c.db, id);
    const known = new Set(attempts.map(({ txId }) => txId));
    const claimed = new Set(claims.map(({ txId }) => txId));
    for (const attempt of attempts) {
      if (attempt.firstSentAt === null) continue;
      const found = claimed.has(attempt.txId) ? "claimed" : "no claim";
      const texts = [named(attempt, "claimed"), named(attempt, found)] as const;
      findings.compared("transactions", difference("attempt_claim_missing", id, ...texts));
    }
    for (const { txId, number } of claims) {
      if (txId === null || known.has(txId)) continue;
      findings.found(difference("attempt_unknown", id, "an attempt of this tenant", `${number} in D1: ${txId}`));
    }
  }
}

/** Rows of attempts never change, and neither does what a withdrawal pays: they are compared as they are met. */
function compareAttempts(c: TenantContext, payments: readonly ExpiringPaymentRow[], findings: Findings): void {
  const all = payments.flatMap((payment) =>
    expiringAttemptsOf(c.db, payment.withdrawalId).map((attempt) => ({ payment, attempt })),
  );
  for (const { payment, attempt } of all.slice(-MAX_ATTEMPTS_READ)) {
    const found = compareAttempt(c, payment, attempt);
    if (found !== null) findings.compared("attempts", found);
  }
}

function compareAttempt(
  c: TenantContext,
  { network, sender }: ExpiringPaymentRow,
  attempt: ExpiringAttemptRow,
): DifferenceView[] | null {
  const { withdrawalId, raw, unsigned: bytes, expiresAt, txId } = attempt;
  const row = withdrawalById(c.db, withdrawalId);
  // A copy that is gone has the bytes.
  if (row === undefined || raw === null || bytes === null) return null;
  const feeMostUnits = unitsFromText(attempt.feeMost);
  const intent = intentOf({ c, network: expiringNetwork(c, network), sender }, row);
  // The cap may have been lowered since.
  const approved = { ...intent, maxFeeUnits: larger(intent.maxFeeUnits, feeMostUnits) };
  const read = expiringChain(c, network).read(raw, { bytes, expiresAt, feeMostUnits }, approved);
  const found = read.ok ? read.signed.txId : read.problem;
  return difference("attempt_differs", withdrawalId, named(attempt, txId), named(attempt, found));
}

function landing(height: number | null, blockHash: string | null): string {
  return `in block ${height} ${blockHash}`;
}

function named({ number, txId }: ExpiringAttemptRow, what: string): string {
  return what === txId ? `attempt ${number}: ${txId}` : `attempt ${number} ${txId}: ${what}`;
}
