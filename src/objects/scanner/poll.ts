/**
 * One poll: ask a node where the chain stands, read what is new, commit it, claim it, tell tenants; then what
 * waits to be mined. A node that lags, fails or contradicts itself costs time: the next one is asked, and
 * nothing is taken back on its word alone.
 */

import {
  type AskedWithTip,
  type BlockRef,
  ChainFault,
  type ChainNode,
  type ChainTip,
  MAX_BLOCKS_PER_RANGE,
  MAX_BLOCKS_PER_READ,
} from "../../chains/port.ts";
import { safeHeight } from "../../core/window.ts";
import { log } from "../../log.ts";
import { countUp, type ScannerState } from "../../store/scanner/state-store.ts";
import { anyoneWaitsForFinality } from "../../store/scanner/watch-store.ts";
import { stepBackfill } from "./backfill.ts";
import { claimNew } from "./claim.ts";
import { noteHead, type ScannerContext, stateOf } from "./context.ts";
import { deliver } from "./deliver.ts";
import { mayFollowEven } from "./even-branch.ts";
import { extend } from "./extend.ts";
import { followFork } from "./fork.ts";
import { sightDeepFork } from "./halt.ts";
import { interestOf } from "./interest.ts";
import { isAtTip, readPool } from "./pool.ts";
import { sawContradiction } from "./sights.ts";
import { startAtHead } from "./start.ts";

/** Bounds one poll; a scanner that is further behind goes on with the next one at once. */
const MAX_STEPS = 64;
const POLL_BUDGET_MS = 20_000;
/** Under the finality tag the window waits for it, up to this many times its usual length. */
const MAX_WINDOW_FACTOR = 4;
/** After this many polls without a new block the other nodes are asked as well. */
const QUIET_POLLS = 10;

type Step =
  /** Something was read; there may be more. */
  | "advanced"
  /** This node has nothing above our tip. */
  | "nothing_new"
  /** This node could not show what it should: another one is asked. */
  | "doubtful"
  | "halted";

/** @returns whether there is more to do at once */
export async function poll(s: ScannerContext): Promise<boolean> {
  const startedAt = s.now();
  s.memory.lastPollAt = startedAt;
  s.memory.counted.polls++;
  if (stateOf(s).status === "halted") return settleAccounts(s);

  const candidates = s.nodes.candidates(startedAt);
  let answered = false;
  let more = false;
  let current: ChainNode | null = null;
  const heads: BlockRef[] = [];
  for (const node of candidates) {
    const askedAt = s.now();
    try {
      const also = alongWithTip(s);
      const tip = await node.tip(also);
      if (also.finalized) s.memory.finalizedAskedAt = askedAt;
      heads.push(tip.head);
      noteHead(s, tip.head);
      const steps = await readOn(s, node, tip, candidates, startedAt);
      const latencyMs = s.now() - askedAt;
      if (steps === "doubtful") s.nodes.report(node, { kind: "stopped", reason: "not_known", latencyMs }, s.now());
      else s.nodes.report(node, { kind: "answered", latencyMs, head: tip.head.height }, s.now());
      answered = true;
      if (current === null && isAtTip(s, tip.head)) current = node;
      if (steps === "more") more = true;
      // Another node is asked when this one may be the one that hangs behind, not on every quiet poll.
      if (steps === "doubtful" || (steps === "nothing_new" && mayLag(s, tip))) continue;
      break;
    } catch (error) {
      if (!(error instanceof ChainFault)) throw error;
      s.memory.lastError = error.message;
      s.nodes.report(node, { kind: "failed", latencyMs: s.now() - askedAt }, s.now());
    }
  }
  // Every node was asked, and none has what one claimed before: that was no head.
  if (heads.length === candidates.length && heads.length > 0) {
    s.memory.head = null;
    for (const head of heads) noteHead(s, head);
  }
  if (answered) {
    s.memory.lastOkAt = s.now();
    s.memory.failedPolls = 0;
  } else {
    s.memory.failedPolls++;
    s.memory.counted.pollsFailed++;
  }
  let waiting = await settleAccounts(s);
  // Far behind, what waits is of no interest yet.
  if (current !== null && (await readPool(s, [current, ...candidates.filter((node) => node !== current)]))) {
    waiting = (await settleAccounts(s)) || waiting;
  }
  const worked = answered && (await stepBackfill(s, candidates));
  return more || waiting || worked;
}

/** At the head the next block is asked for at once. Further behind the next one is one of many. */
function alongWithTip(s: ScannerContext): AskedWithTip {
  const { scannedTo } = stateOf(s);
  const { head, finalizedAskedAt, lastAdvanceAt } = s.memory;
  const isAtHead = scannedTo !== null && head !== null && head.height <= scannedTo + 1;
  // Where depth decides, finality is news only once there was a block, or while somebody's own rule waits for it.
  const finalized =
    s.network.finality === "tag" || finalizedAskedAt <= (lastAdvanceAt ?? s.now()) || anyoneWaitsForFinality(s.db);
  return { next: isAtHead ? scannedTo + 1 : null, native: s.network.native, finalized };
}

/** Reads, commits, claims and tells until this node has no more, or the poll's budget is used. */
async function readOn(
  s: ScannerContext,
  node: ChainNode,
  tip: ChainTip,
  candidates: readonly ChainNode[],
  startedAt: number,
): Promise<"more" | "done" | "nothing_new" | "doubtful"> {
  let advanced = false;
  for (let i = 0; i < MAX_STEPS && s.now() - startedAt < POLL_BUDGET_MS; i++) {
    const step = await readStep(s, node, tip, candidates).finally(() => {
      s.memory.readingTo = -1;
    });
    if (step === "halted") return "done";
    if (step === "doubtful") return "doubtful";
    if (step === "nothing_new") return advanced ? "done" : "nothing_new";
    advanced = true;
    s.memory.lastAdvanceAt = s.now();
    s.memory.lastError = null;
    await settleAccounts(s);
  }
  return "more";
}

async function readStep(
  s: ScannerContext,
  node: ChainNode,
  tip: ChainTip,
  candidates: readonly ChainNode[],
): Promise<Step> {
  const state = stateOf(s);
  if (state.scannedTo === null) return (await startAtHead(s, node, tip)) === null ? "doubtful" : "advanced";
  if (tip.head.height <= state.scannedTo) {
    return (await mayFollowEven(s, node, tip, candidates)) ? follow(s, node, tip, candidates) : "nothing_new";
  }
  if (isWindowFull(s, state, tip)) return "nothing_new";

  const from = state.scannedTo + 1;
  const safe = Math.min(safeHeight(s.network, tip.head.height, tip.finalized?.height ?? null), tip.head.height);
  const isFar = safe >= from;
  const to = isFar
    ? Math.min(safe, from + MAX_BLOCKS_PER_RANGE - 1)
    : Math.min(tip.head.height, from + MAX_BLOCKS_PER_READ - 1);
  s.memory.readingTo = to;
  const interest = interestOf(s, null);
  const reading = isFar ? await node.readRange(from, to, interest) : await node.readBlocks(from, to, interest);
  if (reading.blocks.length === 0) {
    s.memory.lastError = `${node.name}: ${reading.stopped?.detail ?? "nothing was read"}`;
    countUp(s.db, `readings_${reading.stopped?.reason ?? "empty"}`, 1);
    if (reading.stopped?.reason === "inconsistent") sawContradiction(s, s.memory.lastError);
    return "doubtful";
  }
  // A node that lacks what lies far below its own head, or contradicts itself there, has two backends: how far it can be
  // read is no depth.
  const isFinal = isFar && reading.stopped === null;
  const extended = extend(s, reading, tip.finalized, isFinal ? safe : -1);
  switch (extended.kind) {
    case "extended":
      s.memory.deepSightings = 0;
      s.memory.tipFrom = node;
      return "advanced";
    case "stale":
      return "doubtful";
    case "forked":
      return follow(s, node, tip, candidates);
  }
}

async function follow(
  s: ScannerContext,
  node: ChainNode,
  tip: ChainTip,
  candidates: readonly ChainNode[],
): Promise<Step> {
  s.memory.readingTo = tip.head.height;
  const before = stateOf(s).scannedTo;
  const followed = await followFork(s, node, tip);
  switch (followed.kind) {
    case "extended":
      s.memory.deepSightings = 0;
      s.memory.tipFrom = node;
      if (followed.to === before) s.memory.evenAt = before;
      return "advanced";
    case "stale":
    case "forked":
      return "doubtful";
    case "unproven":
      s.memory.lastError = `${node.name}: another branch is not proven: ${followed.detail}`;
      return "doubtful";
    case "deep": {
      const others = candidates.filter((other) => other !== node);
      return (await sightDeepFork(s, followed.below, others)) ? "halted" : "doubtful";
    }
  }
}

/** Claims and tells. D1 out of reach is recorded and tried again; it never undoes what was read. */
async function settleAccounts(s: ScannerContext): Promise<boolean> {
  try {
    await claimNew(s);
  } catch (error) {
    s.memory.lastError = error instanceof Error ? error.message : String(error);
    log("warn", "claim_failed", { network: s.network.id }, error);
  }
  return deliver(s);
}

function isWindowFull(s: ScannerContext, state: ScannerState, tip: ChainTip): boolean {
  if (s.network.finality !== "tag" || state.scannedTo === null || state.windowFrom === null) return false;
  // The tag has moved: the next commit lets go of what it covers.
  if (tip.finalized !== null && tip.finalized.height >= state.windowFrom) return false;
  const length = state.scannedTo - state.windowFrom + 1;
  if (length < s.network.reorgWindow * MAX_WINDOW_FACTOR) return false;
  s.memory.lastError = `finality has not moved for ${length} blocks; reading waits for it`;
  return true;
}

function mayLag(s: ScannerContext, tip: ChainTip): boolean {
  if (tip.head.height < Math.max(stateOf(s).scannedTo ?? 0, s.memory.head?.height ?? 0)) return true;
  return s.now() - (s.memory.lastAdvanceAt ?? 0) > QUIET_POLLS * s.network.pollMs;
}
