/**
 * Whatever path of forks a chain takes, what is told ends where a fresh reading of the last chain ends, and
 * every key's story alternates. The model is a random walk of branches over a small set of payments.
 */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Balance, depositConfirmed, depositReverted, EMPTY_BALANCE, post } from "../../src/core/ledger.ts";
import { UNMINED } from "../../src/core/transfer.ts";
import {
  type ChainView,
  type ConfirmationRule,
  decide,
  nextLook,
  type SeenPayment,
  type Step,
  type Told,
} from "../../src/core/watcher.ts";

const WINDOW = 8;
const KEYS = ["t1/log:0", "t1/log:1", "t2/value", "t3/call:0"];

/** A chain: at each height a fork name and the keys mined there with their amounts. */
interface Block {
  readonly fork: number;
  readonly paid: Readonly<Record<string, bigint>>;
}
type Chain = readonly Block[];

/** One move: drop some blocks off the top (inside the window) and put more on. */
const move = fc.record({
  drop: fc.integer({ min: 0, max: WINDOW - 1 }),
  blocks: fc.array(
    fc.dictionary(fc.constantFrom(...KEYS), fc.bigInt({ min: 1n, max: 3n }), { maxKeys: 2, noNullPrototype: true }),
    { minLength: 1, maxLength: WINDOW },
  ),
});
const moves = fc.array(move, { minLength: 1, maxLength: 12 });

function apply(
  chain: Chain,
  { drop, blocks }: { drop: number; blocks: Record<string, bigint>[] },
  fork: number,
): Chain {
  // A shorter or equal branch proves nothing: the chain only ever grows.
  const kept = chain.slice(0, Math.max(0, chain.length - Math.min(drop, blocks.length - 1)));
  const known = new Set(kept.flatMap((block) => Object.keys(block.paid)));
  const added = blocks.map((paid) => {
    const fresh = Object.entries(paid).filter(([key]) => !known.has(key));
    for (const [key] of fresh) known.add(key);
    return { fork, paid: Object.fromEntries(fresh) };
  });
  return [...kept, ...added];
}

function seenOn(chain: Chain): Map<string, SeenPayment> {
  const seen = new Map<string, SeenPayment>();
  for (const [height, block] of chain.entries()) {
    for (const [key, amountUnits] of Object.entries(block.paid)) {
      const blockHash = `${height}@${block.fork}`;
      seen.set(key, { address: "w", asset: "native", amountUnits, height, blockHash, timestamp: height });
    }
  }
  return seen;
}

const viewOf = (chain: Chain): ChainView => ({
  head: chain.length - 1,
  headTimestamp: chain.length - 1,
  finalized: -1,
  windowFrom: Math.max(0, chain.length - WINDOW),
  minConfirmSeconds: 0,
});

interface Story {
  readonly told: Map<string, Told>;
  readonly steps: Map<string, Step[]>;
  balance: Balance;
}

function tell(story: Story, chain: Chain): void {
  const seen = seenOn(chain);
  for (const key of KEYS) {
    const decision = decide(story.told.get(key) ?? null, seen.get(key) ?? null, viewOf(chain), () => 3);
    if (decision.told !== null) story.told.set(key, decision.told);
    for (const step of decision.steps) {
      story.steps.set(key, [...(story.steps.get(key) ?? []), step]);
      if (step.type === "confirmed")
        story.balance = post(story.balance, depositConfirmed(story.balance, step.told.amountUnits));
      if (step.type === "reverted")
        story.balance = post(story.balance, depositReverted(story.balance, step.told.amountUnits));
    }
  }
}

function play(
  list: readonly { drop: number; blocks: Record<string, bigint>[] }[],
  each?: (story: Story, chain: Chain) => void,
) {
  const story: Story = { told: new Map(), steps: new Map(), balance: EMPTY_BALANCE };
  let chain: Chain = [];
  for (const [i, step] of list.entries()) {
    chain = apply(chain, step, i);
    tell(story, chain);
    each?.(story, chain);
  }
  return { story, chain };
}

/**
 * A key in a world with a pool: it waits, it is mined, a reorganisation takes it out, and it is told of late or
 * not at all in between. Height and head move on their own.
 */
const sight = fc.record({
  where: fc.constantFrom("gone", "waits", "mined"),
  depth: fc.integer({ min: 1, max: WINDOW + 3 }),
  grows: fc.integer({ min: 0, max: 3 }),
  amountUnits: fc.bigInt({ min: 1n, max: 2n }),
  fork: fc.nat(2),
});
const rules = fc.constantFrom<ConfirmationRule>(1, 3, "finalized");

describe("any path through a pool", () => {
  it("I1 a payment that waits is never credited: confirmed comes from a block alone, and in turn with reverted", () => {
    fc.assert(
      fc.property(
        fc.array(sight, { minLength: 1, maxLength: 30 }),
        rules,
        fc.constantFrom(1, 5),
        (sights, rule, leastDepth) => {
          let told: Told | null = null;
          let head = 100;
          let isCredited = false;
          for (const { where, depth, grows, amountUnits, fork } of sights) {
            head += grows;
            const height = where === "waits" ? UNMINED : head - depth + 1;
            const place = { height, blockHash: where === "waits" ? "" : `${height}@${fork}`, timestamp: 0 };
            const seen = where === "gone" ? null : { address: "w", asset: "native", amountUnits, leastDepth, ...place };
            const view: ChainView = {
              head,
              headTimestamp: head,
              finalized: head - 4,
              windowFrom: head - WINDOW + 1,
              minConfirmSeconds: 0,
            };
            const decision = decide(told, seen, view, () => rule);
            for (const step of decision.steps) {
              if (step.type === "confirmed") {
                expect([isCredited, where]).toEqual([false, "mined"]);
                expect(step.told.height).toBe(height);
                if (depth <= WINDOW) expect(depth).toBeGreaterThanOrEqual(leastDepth);
                isCredited = true;
              }
              if (step.type === "reverted") {
                expect(isCredited).toBe(true);
                isCredited = false;
              }
              if (step.type === "settled") expect(step.told.height).toBeLessThan(view.windowFrom);
            }
            told = decision.told;
            if (seen !== null) expect(told?.height).toBe(height);
            if (where === "waits") expect(told?.status).toBe("pending");
            const byDepth = { finality: "depth", reorgWindow: WINDOW } as const;
            const look = told === null ? null : nextLook(told, view, byDepth);
            // What is due at all is due soon, and above what has been looked at.
            expect(look?.height ?? head + 1).toBeLessThanOrEqual(head + WINDOW + 5);
            expect(look?.height ?? head + 1).toBeGreaterThan(head);
            expect(look?.finalized ?? head).toBeGreaterThan(view.finalized);
          }
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

/** What matters at rest: which payments count, for how much, and where they stand. Rounds are history. */
function standing(told: ReadonlyMap<string, Told>) {
  return [...told]
    .filter(([, t]) => t.status !== "reverted" && t.status !== "dropped")
    .map(([key, t]) => [key, t.status, t.amountUnits, t.height, t.blockHash])
    .sort();
}

describe("any path of forks", () => {
  it("I5 ends like a fresh reading of the last chain", () => {
    fc.assert(
      fc.property(moves, (list) => {
        const { story, chain } = play(list);
        const fresh: Story = { told: new Map(), steps: new Map(), balance: EMPTY_BALANCE };
        tell(fresh, chain);
        expect(standing(story.told)).toEqual(standing(fresh.told));
        expect(story.balance.available - story.balance.debt).toBe(fresh.balance.available);
      }),
      { numRuns: 2_000 },
    );
  });

  it("I1 confirms and reverts in turn, beginning with confirmed", () => {
    fc.assert(
      fc.property(moves, (list) => {
        const { story } = play(list);
        for (const steps of story.steps.values()) {
          const money = steps.map((s) => s.type).filter((type) => type === "confirmed" || type === "reverted");
          expect(money).toEqual(money.map((_, i) => (i % 2 === 0 ? "confirmed" : "reverted")));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("I17 tells nothing when the same chain is looked at again", () => {
    fc.assert(
      fc.property(moves, (list) => {
        play(list, (story, chain) => {
          const before = JSON.stringify([...story.steps.values()].map((steps) => steps.length));
          tell(story, chain);
          expect(JSON.stringify([...story.steps.values()].map((steps) => steps.length))).toBe(before);
        });
      }),
      { numRuns: 500 },
    );
  });

  it("I4 never takes available below zero, and owes only what was taken back", () => {
    fc.assert(
      fc.property(moves, (list) => {
        play(list, ({ balance }) => {
          expect(balance.available >= 0n && balance.debt >= 0n).toBe(true);
        });
      }),
      { numRuns: 500 },
    );
  });
});
