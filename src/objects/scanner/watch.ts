/**
 * Takes and ends watches. An address has one owner at a height: intervals of one address never overlap,
 * and an ended watch still counts inside the reorganisation window.
 */

import { ChainFault, type ChainNode, type ChainTip } from "../../chains/port.ts";
import { derivedId } from "../../core/ids.ts";
import { type Outcome, refuse } from "../../core/refusal.ts";
import { countJobsOf, insertJob, unreadFrom } from "../../store/scanner/job-store.ts";
import { countUp } from "../../store/scanner/state-store.ts";
import {
  deleteWatch,
  insertToken,
  insertWatch,
  intervalsOf,
  setUntil,
  tenantById,
  tenantByIdOrNew,
} from "../../store/scanner/watch-store.ts";
import type { WatchRequest } from "../api.ts";
import { isActive } from "./active.ts";
import { noteHead, type ScannerContext, stateOf } from "./context.ts";
import { startAtHead } from "./start.ts";

/** Past ranges of one tenant that may wait at a time. */
const MAX_BACKFILLS = 20;

/** A network that nobody watches is started at its head, as the first watch would. */
export async function ready(s: ScannerContext): Promise<Outcome<null>> {
  if (isActive(s)) return { ok: true, value: null };
  const started = await start(s);
  return started.ok ? { ok: true, value: null } : started;
}

export async function watch(
  s: ScannerContext,
  request: WatchRequest,
): Promise<Outcome<{ watchedFrom: number; scannedTo: number }>> {
  if (!isActive(s)) {
    const started = await start(s);
    if (!started.ok) return started;
  }
  if (request.startHeight !== null && request.startHeight > knownHead(s)) {
    const head = await freshHead(s);
    if (!head.ok) return head;
    if (request.startHeight > head.value) {
      const detail = `start_height ${request.startHeight} is above the head, ${head.value}.`;
      return refuse("invalid_range", detail, { errors: [{ path: "start_height", message: "above the chain's head" }] });
    }
  }

  // From here on without an await: what is read is what is written to.
  const { scannedTo, windowFrom } = stateOf(s);
  if (scannedTo === null || windowFrom === null) throw new Error("the network has started but has no height");
  const mark = tenantByIdOrNew(s.db, request.tenantId, windowFrom);
  const intervals = intervalsOf(s.db, new Set([request.address])).get(request.address) ?? [];
  const open = intervals.find((row) => row.untilHeight === null);
  if (open !== undefined) {
    if (open.tenant !== mark.n) return refuse("address_taken", `${request.address} is watched for another tenant.`);
    return {
      ok: true,
      value: { watchedFrom: open.fromHeight, scannedTo: readTo(s, mark.n, request.address, scannedTo) },
    };
  }
  const last = intervals.reduce<(typeof intervals)[number] | null>(
    (best, row) => (best === null || row.fromHeight > best.fromHeight ? row : best),
    null,
  );
  if (last !== null && last.tenant === mark.n && (last.untilHeight ?? 0) >= scannedTo) {
    // Ended so lately that nothing was missed: the old watch goes on.
    setUntil(s.db, last.address, last.fromHeight, null);
    return { ok: true, value: { watchedFrom: last.fromHeight, scannedTo } };
  }

  // A reading under way has perhaps asked already which receivers are watched: it counts as read without this one.
  const read = Math.max(scannedTo, s.memory.readingTo);
  const watchedFrom = Math.max(request.startHeight ?? read + 1, (last?.untilHeight ?? -1) + 1);
  s.storage.transactionSync(() => {
    insertWatch(s.db, { address: request.address, fromHeight: watchedFrom, tenant: mark.n, untilHeight: null });
    countUp(s.db, "watches_taken", 1);
    if (watchedFrom <= read) {
      insertJob(s.db, {
        id: derivedId("bf", request.addressId, watchedFrom),
        tenant: mark.n,
        address: request.address,
        toHeight: read,
        nextHeight: watchedFrom,
        failures: 0,
        dueAt: s.now(),
      });
    }
  });
  return { ok: true, value: { watchedFrom, scannedTo: readTo(s, mark.n, request.address, scannedTo) } };
}

/** Repeating it changes nothing. It needs no node: a network that is switched off lets go as well. */
export function unwatch(s: Pick<ScannerContext, "db" | "network">, tenantId: string, address: string): void {
  const mark = tenantById(s.db, tenantId);
  const { scannedTo } = stateOf(s);
  if (mark === undefined || scannedTo === null) return;
  const intervals = intervalsOf(s.db, new Set([address])).get(address) ?? [];
  const open = intervals.find((row) => row.untilHeight === null && row.tenant === mark.n);
  // A past that is still being read stays to be read: it was this tenant's, and the watch may be taken back.
  if (open === undefined) return;
  const until = scannedTo + s.network.reorgWindow;
  // One that was to begin above that never counted, and its place may be taken.
  if (until < open.fromHeight) deleteWatch(s.db, address, open.fromHeight);
  else setUntil(s.db, address, open.fromHeight, until);
}

/** Up to where each of a tenant's addresses was read without a gap. */
export function scannedTo(s: ScannerContext, tenantId: string, list: readonly string[]): Record<string, number> {
  const mark = tenantById(s.db, tenantId);
  const state = stateOf(s);
  if (mark === undefined || state.scannedTo === null) return {};
  const unread = unreadFrom(s.db, mark.n);
  const height = state.scannedTo;
  return Object.fromEntries(
    list.map((address) => [address, Math.min(height, (unread.get(address) ?? height + 1) - 1)]),
  );
}

export function listToken(s: ScannerContext, tenantId: string, contract: string): void {
  const mark = tenantByIdOrNew(s.db, tenantId, stateOf(s).windowFrom ?? 0);
  insertToken(s.db, contract, mark.n);
  s.memory.listed = null;
}

export function startBackfill(
  s: ScannerContext,
  request: {
    readonly backfillId: string;
    readonly tenantId: string;
    readonly fromHeight: number;
    readonly toHeight: number;
  },
): Outcome<null> {
  const state = stateOf(s);
  if (state.scannedTo === null || request.toHeight > state.scannedTo) {
    return refuse(
      "invalid_range",
      `Height ${request.toHeight} has not been read; read up to ${state.scannedTo ?? "nothing"}.`,
    );
  }
  const mark = tenantByIdOrNew(s.db, request.tenantId, state.windowFrom ?? 0);
  if (countJobsOf(s.db, mark.n, request.backfillId) >= MAX_BACKFILLS) {
    return refuse("state_conflict", `${MAX_BACKFILLS} backfills of this tenant wait already; let one of them finish.`);
  }
  insertJob(s.db, {
    id: request.backfillId,
    tenant: mark.n,
    address: null,
    toHeight: request.toHeight,
    nextHeight: request.fromHeight,
    failures: 0,
    dueAt: s.now(),
  });
  return { ok: true, value: null };
}

function start(s: ScannerContext): Promise<Outcome<number>> {
  return firstAnswer(s, async (node, tip) => {
    const height = await startAtHead(s, node, tip);
    if (height !== null) s.memory.head = tip.head;
    return height;
  });
}

/** The chain's height now, as far as any node shows it. */
function freshHead(s: ScannerContext): Promise<Outcome<number>> {
  return firstAnswer(s, async (_node, tip) => {
    noteHead(s, tip.head);
    return knownHead(s);
  });
}

/** Asks node after node for its tip until `take` makes something of one. */
async function firstAnswer(
  s: ScannerContext,
  take: (node: ChainNode, tip: ChainTip) => Promise<number | null>,
): Promise<Outcome<number>> {
  let detail = "no node is configured";
  for (const node of s.nodes.candidates(s.now())) {
    const askedAt = s.now();
    try {
      const tip = await node.tip();
      const height = await take(node, tip);
      s.nodes.report(node, { kind: "answered", latencyMs: s.now() - askedAt, head: tip.head.height }, s.now());
      if (height !== null) return { ok: true, value: height };
      detail = `${node.name} does not show a linked chain`;
    } catch (error) {
      if (!(error instanceof ChainFault)) throw error;
      s.nodes.report(node, { kind: "failed", latencyMs: s.now() - askedAt }, s.now());
      detail = error.message;
    }
  }
  return refuse("chain_unavailable", `The height of ${s.network.id} cannot be learned now: ${detail}.`, {
    retryAfterS: 5,
  });
}

function knownHead(s: ScannerContext): number {
  return Math.max(s.memory.head?.height ?? 0, stateOf(s).scannedTo ?? 0);
}

function readTo(s: ScannerContext, tenant: number, address: string, height: number): number {
  return Math.min(height, (unreadFrom(s.db, tenant).get(address) ?? height + 1) - 1);
}
