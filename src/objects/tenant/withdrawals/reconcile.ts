/**
 * The reconciliation report: withdrawals, attempts, claims in D1, ledger and chain compared, each difference named.
 * It changes nothing but the list of reports. What others say is asked for first; then, in one turn, it is held
 * against the rows as they are, and the report is written down in the same turn.
 */

import { newId } from "../../../core/ids.ts";
import { statusOf } from "../../../core/reconciliation.ts";
import type { ReconciliationView } from "../../../core/views.ts";
import { bindKey, useOfKey } from "../../../store/tenant/key-store.ts";
import { listEntries } from "../../../store/tenant/ledger-store.ts";
import { insertReport, newestReport, storedReports } from "../../../store/tenant/report-store.ts";
import { allCounters } from "../../../store/tenant/wallet-store.ts";
import { openWithdrawals, type WithdrawalRow } from "../../../store/tenant/withdrawal-store.ts";
import type { Idempotency } from "../../api.ts";
import { type Done, KEY_REUSED, notFound } from "../authorize.ts";
import type { TenantContext } from "../context.ts";
import { compareBooks } from "./compare-books.ts";
import { compareClaims, readClaims } from "./compare-claims.ts";
import { readScope } from "./compare-scope.ts";
import { Findings } from "./findings.ts";
import { allLines, findLine } from "./lines.ts";

/** Cron compares a tenant with withdrawals under way this often. */
const REPORT_EVERY_MS = 3_600_000;
/** A wait that somebody should hear of. */
const LONG_WAIT_MS = 10 * 60_000;
/** Differences that a report names; `mismatches` counts all of them. */
const MAX_NAMED = 1_000;

export function latestReport(c: TenantContext): Done<ReconciliationView> {
  const latest = newestReport(c.db);
  return latest === undefined ? notFound("report yet") : { ok: true, value: latest.report };
}

/** A key that came before answers with the report that it made, or the latest one when that is no longer kept. */
export async function reconcileOnRequest(
  c: TenantContext,
  tenantId: string,
  idempotency: Idempotency,
): Promise<Done<ReconciliationView>> {
  return inTurn(c, async () => {
    const use = useOfKey(c.db, idempotency);
    if (use.kind === "other_request") return KEY_REUSED;
    if (use.kind === "fresh") return { ok: true, value: await reconcile(c, tenantId, idempotency) };
    const kept = storedReports(c.db);
    const made = kept.find(({ report }) => report.id === use.objectId) ?? kept[0];
    return made === undefined ? notFound("report yet") : { ok: true, value: made.report, replayed: true };
  });
}

/** Idle: nothing is open, and a report that missed nothing was made since. */
export async function patrolWithdrawals(
  c: TenantContext,
  tenantId: string,
): Promise<{ isIdle: boolean; unresolved: number; mismatches: number }> {
  return inTurn(c, async () => {
    const kept = newestReport(c.db);
    const report = kept === undefined || isDue(c, kept.at, kept.report) ? await reconcile(c, tenantId) : kept.report;
    return {
      isIdle: isAtRest(c) && !c.turns.isBusy("key/") && report.unreachable.length === 0,
      unresolved: report.counters.unresolved_withdrawals ?? 0,
      mismatches: report.counters.mismatches ?? 0,
    };
  });
}

function isDue(c: TenantContext, at: number, { compared }: ReconciliationView): boolean {
  if (c.now() - at >= REPORT_EVERY_MS) return true;
  if (!isAtRest(c)) return false;
  const wasAtRest =
    compared.open_withdrawals === 0 && allLines().every(({ openName }) => (compared[openName] ?? 0) === 0);
  const lastEntry = listEntries(c.db, {}, null, 1)[0];
  return !wasAtRest || (lastEntry !== undefined && lastEntry.createdAt >= at);
}

function isAtRest(c: TenantContext): boolean {
  return openWithdrawals(c.db).length === 0 && allLines().every((line) => line.openCount(c) === 0);
}

function inTurn<T>(c: TenantContext, work: () => Promise<T>): Promise<T> {
  return c.turns.take("reconcile", work);
}

async function reconcile(
  c: TenantContext,
  tenantId: string,
  idempotency: Idempotency = null,
): Promise<ReconciliationView> {
  const findings = new Findings();
  const lines = allLines();
  const unsettled = lines.flatMap((line) => line.openWithdrawals(c));
  const scope = readScope(c, unsettled);
  const [claims, ...compareLines] = await Promise.all([
    readClaims(c, tenantId, scope),
    ...lines.map((line) => {
      const isOwn = (network: string) => findLine(c, network) === line;
      const withdrawals = scope.withdrawals.filter(({ network }) => isOwn(network));
      return line.compare(c, tenantId, { withdrawals, isOwn }, findings);
    }),
  ]);
  return c.storage.transactionSync(() => {
    compareBooks(c, scope, findings);
    if (claims === null) findings.unreachable.add("d1");
    else compareClaims(c, tenantId, scope, claims, findings);
    for (const compareLine of compareLines) compareLine();
    const at = c.now();
    const report = toReport(c, at, findings);
    insertReport(c.db, { at, report });
    bindKey(c.db, idempotency, report.id);
    return report;
  });
}

function toReport(c: TenantContext, at: number, findings: Findings): ReconciliationView {
  const open = openWithdrawals(c.db);
  const { differences, unreachable } = findings;
  findings.count("open_withdrawals", open.length);
  for (const line of allLines()) findings.count(line.openName, line.openCount(c));
  return {
    id: newId("rec", c.random(16)),
    created_at: new Date(at).toISOString(),
    status: statusOf(differences.length, unreachable.size),
    compared: findings.counts,
    differences: differences.slice(0, MAX_NAMED),
    unreachable: [...unreachable].sort(),
    counters: {
      ...allCounters(c.db),
      unresolved_withdrawals: open.filter((row) => needsSomebody(row, at)).length,
      mismatches: differences.length,
    },
  };
}

/** A person's turn, or a wait for a top-up, a signer, a lower fee or a rule that has lasted. */
function needsSomebody({ state, waitingFor, createdAt }: WithdrawalRow, now: number): boolean {
  if (state === "manual_review") return true;
  return waitingFor !== null && waitingFor !== "approval" && now - createdAt >= LONG_WAIT_MS;
}
