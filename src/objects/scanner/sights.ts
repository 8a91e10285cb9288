/**
 * What a scanner tells the operator's monitor: a halt, providers that contradict each other, payments that are met again
 * and again. Nothing waits for it: what is lost is told again by the next sight, and a halt when cron next looks in.
 */

import { log } from "../../log.ts";
import { readState } from "../../store/scanner/state-store.ts";
import { countTransfers } from "../../store/scanner/transfer-store.ts";
import type { Sighting } from "../monitor-api.ts";
import { monitorOf } from "../monitor-of.ts";
import { soon } from "../soon.ts";
import type { ScannerContext } from "./context.ts";

const MONITOR_DEADLINE_MS = 5_000;
const TELL_EVERY_MS = 60_000;

/** Over so long claims are counted. */
const SPIKE_WINDOW_MS = 10 * 60_000;
/** Fewer than this that were met again are a restart or a short reorganisation. */
const SPIKE_LEAST = 50;
/** So many times as many as are new. */
const SPIKE_OVER_NEW = 10;
/** A reorganisation meets what the window holds once more, and another one soon after it again. */
const SPIKE_OVER_WINDOW = 3;

/** Tells of the halt that there is, or that there is none: once for each that comes and goes, and after a start. */
export function tellHalt(s: ScannerContext): void {
  const { sights } = s.memory;
  const state = readState(s.db);
  const halt = state?.status === "halted" ? state.incidentId : null;
  if (sights.toldHalt === halt) return;
  const summary = state?.incidentReason ?? `${s.network.id} goes on.`;
  const evidence = { halt, reason: state?.incidentReason ?? null, scanned_to: state?.scannedTo ?? null };
  const told = tell(s, {
    kind: "network_halted",
    state: halt === null ? "well" : "ill",
    isCertain: true,
    summary,
    evidence,
  });
  void told.then((wasHeard) => {
    if (wasHeard) sights.toldHalt = halt;
  });
}

/** Two nodes, or two backends of one, differ in what cannot differ. At the next block they may not: one such sight proves little. */
export function sawContradiction(s: ScannerContext, what: string): void {
  tellNowAndThen(s, {
    kind: "provider_disagreement",
    state: "ill",
    isCertain: false,
    summary: `Providers of ${s.network.id} contradict each other.`,
    evidence: { seen_by: "scanner", what },
  });
}

/** Claims of new blocks alone: a backfill meets again what it should. */
export function noteClaims(s: ScannerContext, fresh: number, again: number): void {
  const { claims } = s.memory.sights;
  const now = s.now();
  // A person has it read anew.
  if (readState(s.db)?.holdUntil != null) return;
  if (fresh > 0 || again > 0) claims.push({ at: now, fresh, again });
  while (claims[0] !== undefined && claims[0].at <= now - SPIKE_WINDOW_MS) claims.shift();
  if (again === 0) return;
  const sum = { fresh: 0, again: 0 };
  for (const one of claims) {
    sum.fresh += one.fresh;
    sum.again += one.again;
  }
  if (sum.again < SPIKE_LEAST || sum.again <= SPIKE_OVER_NEW * sum.fresh) return;
  const inWindow = countTransfers(s.db);
  if (sum.again <= SPIKE_OVER_WINDOW * inWindow) return;
  tellNowAndThen(s, {
    kind: "duplicate_spike",
    state: "ill",
    isCertain: false,
    summary: `Payments on ${s.network.id} are met again and again: its source replays, or its checkpoint is stuck.`,
    evidence: {
      met_again: sum.again,
      new: sum.fresh,
      in_window: inWindow,
      minutes: SPIKE_WINDOW_MS / 60_000,
      scanned_to: readState(s.db)?.scannedTo ?? null,
    },
  });
}

type Seen = Omit<Sighting, "subject" | "network">;

function tellNowAndThen(s: ScannerContext, seen: Seen): void {
  const { toldAt } = s.memory.sights;
  const before = toldAt.get(seen.kind);
  const passedMs = s.now() - (before ?? 0);
  if (before !== undefined && passedMs >= 0 && passedMs < TELL_EVERY_MS) return;
  toldAt.set(seen.kind, s.now());
  void tell(s, seen);
}

/** Never throws, and nobody waits for it. @returns whether it was heard */
async function tell(s: ScannerContext, seen: Seen): Promise<boolean> {
  const monitor = monitorOf(s.env);
  if (monitor === null) return true;
  const network = s.network.id;
  try {
    await soon(monitor.saw([{ ...seen, subject: network, network }]), MONITOR_DEADLINE_MS);
    return true;
  } catch (error) {
    log("warn", "sighting_not_told", { network, kind: seen.kind }, error);
    return false;
  }
}
