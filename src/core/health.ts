/**
 * Which of several providers to ask first. A score of what they did lately, forgetting with time, so that one
 * bad minute does not banish a node and one good answer does not crown it.
 */

export interface NodeHealth {
  /** Faults, each worth 1 when fresh. Decays. */
  readonly faults: number;
  /** Blocks behind the best head when it last showed its own. Decays. */
  readonly lag: number;
  /** Smoothed time of an answer in milliseconds; null before the first. */
  readonly latencyMs: number | null;
  /** Unix milliseconds of the last outcome; decay counts from here. */
  readonly at: number;
}

export type NodeOutcome =
  /** It did what it was asked. `head`: height it showed as its newest, null when the call shows none. */
  | { readonly kind: "answered"; readonly latencyMs: number; readonly head: number | null }
  /** It did not have what was asked for, or contradicted itself. */
  | { readonly kind: "stopped"; readonly reason: "not_known" | "inconsistent"; readonly latencyMs: number }
  /** It failed. */
  | { readonly kind: "failed"; readonly latencyMs: number };

/** After this time a fault or a lag weighs half. */
const HALF_LIFE_MS = 60_000;
/** What each kind of trouble is worth. A contradiction is worse than a delay: every node is behind at times. */
const FAULT = { failed: 1, inconsistent: 1, not_known: 0.25 } as const;
const MAX_FAULTS = 20;
/** A single block behind is the ordinary spread between nodes. */
const FREE_LAG = 1;
/** A node that claims an absurd head must not make all others worse than one that fails. */
const MAX_LAG = 4;
/** Weight of the newest answer in the smoothed latency. */
const LATENCY_WEIGHT = 0.2;
/** Latency counts in steps, so that jitter between equals does not swap them at every poll. */
const LATENCY_STEP_MS = 250;
const MAX_LATENCY_MS = 10_000;
/** One slip of a node that offers everything does not outweigh what the other never shows; two in a row do. */
const INCOMPLETE = 1.5;

export function newHealth(now: number): NodeHealth {
  return { faults: 0, lag: 0, latencyMs: null, at: now };
}

/** @param bestHead highest head any node of the network showed, or null. */
export function afterOutcome(
  health: NodeHealth,
  outcome: NodeOutcome,
  bestHead: number | null,
  now: number,
): NodeHealth {
  const faded = fade(health, now);
  const latencyMs = smoothed(health.latencyMs, outcome.latencyMs);
  switch (outcome.kind) {
    case "answered": {
      const lag = outcome.head === null ? faded.lag : Math.max(0, (bestHead ?? outcome.head) - outcome.head);
      return { ...faded, lag: Math.min(MAX_LAG, lag), latencyMs };
    }
    case "stopped":
      return { ...faded, faults: Math.min(MAX_FAULTS, faded.faults + FAULT[outcome.reason]), latencyMs };
    case "failed":
      return { ...faded, faults: Math.min(MAX_FAULTS, faded.faults + FAULT.failed), latencyMs };
  }
}

/** Lower is better; 0 is a node of which nothing bad is known. */
export function penalty(health: NodeHealth, now: number): number {
  const { faults, lag } = fade(health, now);
  const latencySteps = Math.floor(Math.min(MAX_LATENCY_MS, health.latencyMs ?? 0) / LATENCY_STEP_MS);
  return faults + 0.25 * Math.max(0, lag - FREE_LAG) + 0.1 * latencySteps;
}

export interface Standing {
  readonly health: NodeHealth;
  /** Known not to offer all that its network asks for. */
  readonly isIncomplete: boolean;
}

/** Places of the given nodes, best first; equals stay in the order in which they were configured. */
export function ranking(standings: readonly Standing[], now: number): number[] {
  const scored = standings.map(({ health, isIncomplete }, place) => ({
    place,
    penalty: penalty(health, now) + (isIncomplete ? INCOMPLETE : 0),
  }));
  return scored.sort((a, b) => a.penalty - b.penalty || a.place - b.place).map(({ place }) => place);
}

function fade(health: NodeHealth, now: number): NodeHealth {
  // A clock that went backwards ages nothing.
  const elapsed = Math.max(0, now - health.at);
  const factor = 0.5 ** (elapsed / HALF_LIFE_MS);
  const faults = health.faults * factor;
  // Below this it is dust, which would keep a healed node behind its equals for ever.
  return { ...health, faults: faults < 0.05 ? 0 : faults, lag: health.lag * factor, at: Math.max(now, health.at) };
}

function smoothed(before: number | null, latest: number): number {
  return before === null ? latest : before + LATENCY_WEIGHT * (latest - before);
}
