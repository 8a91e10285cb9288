/**
 * Looks at a tenant's own rows for what a person should know of: after a round of a hot wallet, and when cron looks in.
 * Nothing is asked of anybody, and nobody is woken for it.
 */

import { formatAmount, unitsFromText } from "../../../core/amount.ts";
import { currentIncidents, type IncidentRow } from "../../../store/tenant/incident-store.ts";
import { allWallets } from "../../../store/tenant/wallet-store.ts";
import {
  stepsOf,
  type WithdrawalRow,
  withdrawalById,
  withdrawalsThatWaitFor,
  withdrawalsUnmoved,
} from "../../../store/tenant/withdrawal-store.ts";
import { mustFindAsset, type TenantContext } from "../context.ts";
import { iso } from "../deposit-view.ts";
import { lineOf, walletAddress } from "../withdrawals/lines.ts";
import { isLate } from "../withdrawals/settle.ts";
import { recordSights, type TenantSight } from "./record.ts";

/** While rounds follow each other closely they need not all look. */
const LOOK_EVERY_MS = 10_000;
/** At most so many withdrawals of one network are incidents of their own at one time. */
const MAX_STUCK = 100;
/** Summed up for one wallet. */
const MAX_WAITING = 1_000;
const MAX_ASSETS_SHOWN = 10;

/** After a round. @param isLast none follows by itself. @returns how many events were written */
export function lookAfterRound(c: TenantContext, tenantId: string, network: string, isLast: boolean): number {
  const passedMs = c.now() - (c.lookedAt.get(network) ?? 0);
  if (!isLast && passedMs >= 0 && passedMs < LOOK_EVERY_MS) return 0;
  c.lookedAt.set(network, c.now());
  return recordSights(c, tenantId, sightsOn(c, tenantId, network, currentIncidents(c.db)));
}

/** What is open or suspected is looked at again. @returns how many events were written */
export function lookAgain(c: TenantContext, tenantId: string): number {
  const current = currentIncidents(c.db);
  const networks = new Set(current.flatMap(({ network }) => network ?? []));
  const endpoints = current.filter(({ kind, wellSince }) => kind === "endpoint_dead" && wellSince !== null);
  return recordSights(c, tenantId, [
    ...[...networks].flatMap((network) => sightsOn(c, tenantId, network, current)),
    ...endpoints.map((row) => isWell(row, false)),
  ]);
}

/** Whether any waits only for the time after which it counts as over. */
export function isAnyRecovering(c: TenantContext): boolean {
  return currentIncidents(c.db).some(({ wellSince }) => wellSince !== null);
}

function sightsOn(
  c: TenantContext,
  tenantId: string,
  network: string,
  current: readonly IncidentRow[],
): readonly TenantSight[] {
  if (!c.settings.knownNetworks.has(network)) return [];
  const ill = [...stuck(c, network), ...short(c, tenantId, network), ...foreign(c, tenantId, network)];
  const names = new Set(ill.map(nameOf));
  const well = current.flatMap((row) => {
    if (row.network !== network || names.has(nameOf(row))) return [];
    if (row.kind === "withdrawal_stuck") return [isWell(row, isOver(withdrawalById(c.db, row.subject)))];
    if (row.kind === "wallet_short") return [isWell(row, false)];
    return row.kind === "foreign_spend" ? [isWell(row, true)] : [];
  });
  return [...ill, ...well];
}

function nameOf({ kind, subject }: Pick<TenantSight, "kind" | "subject">): string {
  return `${kind} ${subject}`;
}

function isWell({ kind, subject }: Pick<IncidentRow, "kind" | "subject">, isCertain: boolean): TenantSight {
  return { kind, subject, state: "well", isCertain, since: null, shown: null };
}

function isOver(row: WithdrawalRow | undefined): boolean {
  return row === undefined || ["confirmed", "failed", "cancelled", "rejected"].includes(row.state);
}

function stuck(c: TenantContext, network: string): TenantSight[] {
  const deadlineMs = (c.settings.knownNetworks.get(network)?.payout.deadlineS ?? 0) * 1_000;
  return withdrawalsUnmoved(c.db, network, c.now() - deadlineMs, MAX_STUCK).flatMap((row) => {
    const { state, updatedAt } = row;
    // What is in a block may take far longer to be final than one that nobody mines.
    const minedTxId = lineOf(c, network).openPayment(c, row)?.minedTxId ?? null;
    if (state !== "manual_review" && !isLate(c, { deadlineAt: updatedAt + deadlineMs, minedTxId })) return [];
    const summary =
      state === "manual_review"
        ? `Withdrawal ${row.id} waits for a person's decision.`
        : `Withdrawal ${row.id} has been ${state} for longer than its network allows.`;
    const evidence = {
      withdrawal: row.id,
      state,
      since: iso(updatedAt),
      reason: stepsOf(c.db, row.id).at(-1)?.reason ?? null,
      waiting_for: row.waitingFor,
      tx_id: row.txId,
    };
    const shown = { network, summary, evidence };
    return [{ kind: "withdrawal_stuck", subject: row.id, state: "ill", isCertain: true, since: null, shown }];
  });
}

function short(c: TenantContext, tenantId: string, network: string): TenantSight[] {
  const waiting = withdrawalsThatWaitFor(c.db, network, "wallet_top_up", MAX_WAITING);
  if (waiting.length === 0) return [];
  const wallet = walletAddress(c, tenantId, network);
  const units = new Map<string, bigint>();
  for (const { asset, amountUnits } of waiting) units.set(asset, (units.get(asset) ?? 0n) + unitsFromText(amountUnits));
  const amounts = [...units].slice(0, MAX_ASSETS_SHOWN).map(([asset, sum]) => {
    const { symbol, decimals } = mustFindAsset(c, network, asset);
    return [`waiting_${symbol}`, formatAmount(sum, decimals)] as const;
  });
  const summary = `The hot wallet ${wallet} on ${network} holds less than what waits for it: it must be topped up.`;
  const evidence = { wallet, withdrawals: waiting.length, ...Object.fromEntries(amounts) };
  const shown = { network, summary, evidence };
  const subject = `${network}/${wallet}`;
  return [{ kind: "wallet_short", subject, state: "ill", isCertain: false, since: null, shown }];
}

/** As long as the wallet is stopped by it, and matters: it is in use, or something of it is in flight. */
function foreign(c: TenantContext, tenantId: string, network: string): TenantSight[] {
  return allWallets(c.db).flatMap((row) => {
    const { sender } = row;
    if (row.network !== network || row.status !== "stopped" || row.stoppedFor !== "foreign_spend") return [];
    const isInUse =
      sender === walletAddress(c, tenantId, network) || lineOf(c, network).inFlight(c, network, sender) > 0;
    if (!isInUse) return [];
    const summary = `Something that is not ours was signed with the key of the hot wallet ${sender} on ${network}. It is stopped.`;
    const shown = { network, summary, evidence: { wallet: sender, found: row.incident } };
    const subject = `${network}/${sender}`;
    return [{ kind: "foreign_spend", subject, state: "ill", isCertain: true, since: null, shown }];
  });
}
