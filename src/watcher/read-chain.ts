/**
 * Brings the draft up to a provider's head. One that lags, fails or contradicts itself costs time: the next one is
 * asked, and nothing is taken back on its word alone.
 */

import {
  type BlockRef,
  ChainFault,
  type ChainNode,
  type ChainTip,
  type Interest,
  MAX_BLOCKS_PER_RANGE,
  MAX_BLOCKS_PER_READ,
} from "../chains/port.ts";
import { brokenLink, safeHeight } from "../core/window.ts";
import { readTo } from "./book.ts";
import { followFork } from "./follow-fork.ts";
import type { Turn } from "./turn.ts";

type Step =
  /** Something was read; there may be more. */
  | "advanced"
  /** This node has nothing above our tip. */
  | "nothing_new"
  /** This node could not show what it should: another one is asked. */
  | "doubtful"
  /** Another branch, and this poll has taken something in already: the next one follows it. */
  | "next_poll";

/**
 * @param asksAll whether all providers are asked although the first one answers: it may be one that hangs behind
 * @returns the newest height any provider showed, and whether there is more to read at once
 * @throws ChainFault when no provider answered, DeepReorganisation
 */
export async function readChain(turn: Turn, asksAll: boolean): Promise<{ head: number; more: boolean }> {
  let answered = false;
  let more = false;
  let head = -1;
  let fault: ChainFault | null = null;
  for (const node of turn.candidates) {
    const askedAt = turn.source.now();
    const latencyMs = () => turn.source.now() - askedAt;
    try {
      const tip = await node.tip();
      head = Math.max(head, tip.head.height);
      const went = await readOn(turn, node, tip);
      if (went === "doubtful")
        turn.source.report(node, { kind: "stopped", reason: "not_known", latencyMs: latencyMs() });
      else turn.source.report(node, { kind: "answered", latencyMs: latencyMs(), head: tip.head.height });
      if (went === "more") more = true;
      if (went !== "doubtful") answered = true;
      const mayLag = asksAll || tip.head.height < Math.max(head, tipOf(turn) ?? 0);
      if (went === "doubtful" || (went === "nothing_new" && mayLag)) continue;
      break;
    } catch (error) {
      if (!(error instanceof ChainFault)) throw error;
      fault = error;
      turn.source.report(node, { kind: "failed", latencyMs: latencyMs() });
    }
  }
  if (answered || turn.hasAdvanced) return { head: Math.max(head, tipOf(turn) ?? 0), more: more || !answered };
  const { id } = turn.network;
  const detail = turn.detail || fault?.message || "every provider serves another chain";
  throw new ChainFault(`${id}: no provider can be read from: ${detail}`, fault?.retryable ?? turn.detail !== "", id, {
    cause: fault,
  });
}

/** Reads until this node has no more, or the poll's budget is used. */
async function readOn(
  turn: Turn,
  node: ChainNode,
  tip: ChainTip,
): Promise<"more" | "done" | "nothing_new" | "doubtful"> {
  let advanced = false;
  while (turn.blocksLeft > 0) {
    const step = await readStep(turn, node, tip);
    if (step === "next_poll") return "more";
    if (step === "doubtful") return "doubtful";
    if (step === "nothing_new") return advanced ? "done" : "nothing_new";
    advanced = true;
    turn.hasAdvanced = true;
  }
  return tip.head.height > (tipOf(turn) ?? -1) ? "more" : "done";
}

async function readStep(turn: Turn, node: ChainNode, tip: ChainTip): Promise<Step> {
  const { draft, reorgDepth } = turn;
  const { chain } = draft;
  if (chain === null) return begin(turn, node, tip);
  const from = readTo(chain) + 1;
  if (tip.head.height < from) return "nothing_new";

  const safe = safeHeight({ finality: "depth", reorgWindow: reorgDepth }, tip.head.height, null);
  const isFar = safe >= from;
  const most = Math.min(turn.blocksLeft, isFar ? MAX_BLOCKS_PER_RANGE : MAX_BLOCKS_PER_READ);
  const to = Math.min(isFar ? safe : tip.head.height, from + most - 1);
  const interest = interestOf(turn, draft.watchedFrom(from));
  const reading = isFar ? await node.readRange(from, to, interest) : await node.readBlocks(from, to, interest);
  if (reading.blocks.length === 0) {
    turn.detail = `${node.name}: ${reading.stopped?.detail ?? "nothing was read"}`;
    return "doubtful";
  }
  // A node that lacks what lies far below its own head, or contradicts itself there, has two backends: how far it can be
  // read is no depth.
  const isFinal = isFar && reading.stopped === null;
  if (draft.extend(reading, tip.finalized, isFinal ? safe : -1) === "extended") {
    turn.blocksLeft -= reading.blocks.length;
    turn.internal = reading.internal;
    return "advanced";
  }
  return turn.hasAdvanced ? "next_poll" : followFork(turn, node, tip, interest);
}

/**
 * Begins at the head. Heights before are nobody's business unless an address asks for them; the headers of one
 * window are fetched, so that a reorganisation right after the start can be followed.
 */
async function begin(turn: Turn, node: ChainNode, tip: ChainTip): Promise<Step> {
  const to = tip.head.height;
  const from = Math.max(0, to - turn.reorgDepth);
  const headers: BlockRef[] = [];
  for (let next = from; next <= to; ) {
    const part = await node.headers(next, Math.min(to, next + MAX_BLOCKS_PER_RANGE - 1));
    if (part.length === 0) break;
    headers.push(...part);
    next += part.length;
  }
  const [lowest] = headers;
  const isWhole = lowest?.height === from && headers.at(-1)?.height === to;
  if (lowest === undefined || !isWhole || brokenLink(lowest, headers.slice(1)) !== -1) {
    turn.detail = `${node.name} does not show linked headers from ${from} to ${to}`;
    return "doubtful";
  }
  turn.draft.begin(headers, tip.finalized);
  return "advanced";
}

export function interestOf({ network }: Pick<Turn, "network">, watched: Interest["watched"]): Interest {
  const contracts = new Set(network.tokens.map((token) => token.contract));
  return { contracts, native: network.native, internal: network.internal, watched };
}

function tipOf({ draft }: Turn): number | null {
  return draft.chain === null ? null : readTo(draft.chain);
}
