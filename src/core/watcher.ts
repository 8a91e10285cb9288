/**
 * Decides what a merchant is told about one payment.
 *
 *   pending -> confirmed -> settled
 *   pending -> dropped      confirmed -> reverted -> (seen again: pending, epoch + 1)
 *
 * What the chain says (`seen`) and what was told (`told`) come in apart and never mix. For one key the
 * steps `confirmed` and `reverted` alternate, beginning with `confirmed`, whatever the chain does. A payment
 * that waits to be mined stands at the height `UNMINED`: pending, and never more than that.
 */

import { samePayment, type Transfer, UNMINED } from "./transfer.ts";
import type { DepositStatus } from "./views.ts";

/** A depth, the block itself being the first, or the chain's own finalized tag. */
export type ConfirmationRule = number | "finalized";

export interface SeenPayment
  extends Pick<Transfer, "address" | "asset" | "amountUnits" | "height" | "blockHash" | "leastDepth" | "memo"> {
  /** Time stamp of its block, unix seconds. */
  readonly timestamp: number;
}

export interface Told extends SeenPayment {
  readonly status: DepositStatus;
  /** The round this payment is in: how many times it has been, or is about to be, confirmed. */
  readonly epoch: number;
  /** Fixed, like `leastDepth`, when the payment is first seen in a round; a later change of policy does not move it. */
  readonly rule: ConfirmationRule;
}

export interface ChainView {
  /** Highest block read. */
  readonly head: number;
  /** Its time stamp, unix seconds. */
  readonly headTimestamp: number;
  /** Highest height that is final by the chain's own tag, -1 when unknown. */
  readonly finalized: number;
  /** First height that may still be replaced. */
  readonly windowFrom: number;
  readonly minConfirmSeconds: number;
}

export interface Step {
  readonly type: "pending" | "dropped" | "confirmed" | "reverted" | "settled";
  /** What is told once this step was taken. */
  readonly told: Told;
}

export interface Decision {
  /** What is told after all steps; null when the payment is unknown on both sides. */
  readonly told: Told | null;
  /** In order. Empty when nothing is to be told; `told` may still have moved to another block. */
  readonly steps: readonly Step[];
}

/**
 * @param told what the merchant knows of this key, or null
 * @param seen the payment on the best chain, or null when it is not there
 */
export function decide(
  told: Told | null,
  seen: SeenPayment | null,
  view: ChainView,
  ruleFor: (payment: SeenPayment) => ConfirmationRule,
): Decision {
  const steps: Step[] = [];
  let now = told;

  const isLive = now !== null && now.status !== "reverted" && now.status !== "dropped";
  if (now !== null && isLive && (seen === null || !samePayment(now, seen))) {
    now = take(steps, takenBack(now));
  }
  if (seen === null) return { told: now, steps };

  if (now === null || now.status === "reverted" || now.status === "dropped") {
    now = take(steps, { type: "pending", told: seenAgain(now, seen, ruleFor(seen)) });
  } else if (now.blockHash !== seen.blockHash || now.height !== seen.height) {
    const { height, blockHash, timestamp } = seen;
    const moved: Told = {
      ...now,
      ...{ height, blockHash, timestamp },
      status: now.status === "pending" ? "pending" : "confirmed",
    };
    if (moved.status === "confirmed" && !isDeepEnough(moved, view)) {
      // The confirmation no longer holds where the payment stands now: it starts over.
      now = take(steps, takenBack(now));
      now = take(steps, { type: "pending", told: seenAgain(now, seen, ruleFor(seen)) });
    } else {
      now = moved;
    }
  }

  if (now.status === "pending" && isDeepEnough(now, view)) {
    now = take(steps, { type: "confirmed", told: { ...now, status: "confirmed" } });
  }
  if (now.status === "confirmed" && now.height < view.windowFrom) {
    now = take(steps, { type: "settled", told: { ...now, status: "settled" } });
  }
  return { told: now, steps };
}

/**
 * When a payment must be looked at again although nothing about it changed. Both null: never. One that waits to
 * be mined is looked at when it is mined, or gone.
 */
export function nextLook(
  told: Told,
  view: ChainView,
  settlesBy: { readonly finality: "depth" | "tag"; readonly reorgWindow: number },
): { readonly height: number | null; readonly finalized: number | null } {
  if (told.height === UNMINED) return { height: null, finalized: null };
  const settles =
    settlesBy.finality === "tag"
      ? { height: null, finalized: told.height }
      : { height: told.height + settlesBy.reorgWindow, finalized: null };
  switch (told.status) {
    case "pending": {
      const deep = told.height + depthAsked(told) - 1;
      if (told.rule === "finalized") {
        const isMature = deep <= view.head;
        // Once final it waits for its depth alone: what has been reached already would call at every block.
        const finalized = told.height <= view.finalized ? null : told.height;
        return { height: isMature ? settles.height : Math.min(deep, settles.height ?? deep), finalized };
      }
      // Deep enough but too young: the next block decides again.
      return { height: Math.max(deep, view.head + 1), finalized: settles.finalized };
    }
    case "confirmed":
      return settles;
    case "settled":
    case "reverted":
    case "dropped":
      return { height: null, finalized: null };
  }
}

export function confirmationsAt(told: Pick<Told, "status" | "height">, head: number): number {
  if (told.status === "reverted" || told.status === "dropped" || told.height === UNMINED) return 0;
  return Math.max(0, head - told.height + 1);
}

/** Depth that a payment must have, as far as a depth is asked for: the policy's, and not below the chain's own. */
export function depthAsked({ rule, leastDepth = 1 }: Pick<Told, "rule" | "leastDepth">): number {
  return rule === "finalized" ? leastDepth : Math.max(rule, leastDepth);
}

function isDeepEnough(told: Told, view: ChainView): boolean {
  if (told.height === UNMINED) return false;
  if (told.height < view.windowFrom) return true;
  if (view.head - told.height + 1 < depthAsked(told)) return false;
  if (told.rule === "finalized") return told.height <= view.finalized;
  return view.headTimestamp - told.timestamp >= view.minConfirmSeconds;
}

function takenBack(told: Told): Step {
  return told.status === "pending"
    ? { type: "dropped", told: { ...told, status: "dropped" } }
    : { type: "reverted", told: { ...told, status: "reverted" } };
}

function seenAgain(before: Told | null, seen: SeenPayment, rule: ConfirmationRule): Told {
  const { address, asset, amountUnits, height, blockHash, timestamp, leastDepth, memo } = seen;
  const more = { ...(leastDepth === undefined ? {} : { leastDepth }), ...(memo === undefined ? {} : { memo }) };
  const epoch = before === null ? 1 : before.status === "reverted" ? before.epoch + 1 : before.epoch;
  return { address, asset, amountUnits, height, blockHash, timestamp, ...more, status: "pending", epoch, rule };
}

function take(steps: Step[], step: Step): Told {
  steps.push(step);
  return step.told;
}
