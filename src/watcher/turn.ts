/** What the parts of one poll work with. */

import type { ChainNode } from "../chains/port.ts";
import type { Draft, DraftSettings } from "./draft.ts";
import type { DepositSource } from "./source.ts";

export interface Turn extends DraftSettings {
  readonly source: DepositSource;
  readonly draft: Draft;
  /** Providers of this poll, best first. */
  readonly candidates: readonly ChainNode[];
  /** Blocks that may still be read in this poll. */
  blocksLeft: number;
  /** Whether this poll took in a block. */
  hasAdvanced: boolean;
  internal: "traced" | "untraced" | "off" | null;
  /** What kept a provider from being believed, for whoever wants to know why nothing came. */
  detail: string;
}

/**
 * The chain was replaced from below the window. Nothing was changed and nothing is guessed; polling again says the
 * same for as long as the providers do. What to do then is a person's decision.
 */
export class DeepReorganisation extends Error {
  override readonly name = "DeepReorganisation";
  readonly retryable = false;
  readonly network: string;
  /** The height just below the window. */
  readonly below: number;
  /** The hash that was read at that height, and that the chain does not have there any more. */
  readonly ours: string;
  readonly reorgDepth: number;

  constructor(facts: { network: string; below: number; ours: string; reorgDepth: number }, node: string) {
    const { network, below, ours, reorgDepth } = facts;
    super(
      `${network}: ${node} shows a chain without block ${ours} of height ${below}, which lies below the window of ${reorgDepth} blocks; nothing was changed`,
    );
    this.network = network;
    this.below = below;
    this.ours = ours;
    this.reorgDepth = reorgDepth;
  }
}
