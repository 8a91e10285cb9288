/**
 * I6 I7 I8 I9 I11: the machine goes away at any step of a withdrawal, and what was asked for is paid once.
 *
 * It is also hit twice on one withdrawal's way: the second time when the second step is next taken after the first
 * hit. All pairs of the money's steps are too many for every run of the suite: it plays a sample, always the same
 * one, and all of them with SLUICE_ALL_CRASHES=1.
 */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Point, waysOf } from "./machine.ts";
import { hitAll, isWhole, MANY_CRASHES_MS, play, playEach, type Run, WAYS } from "./scenario.ts";
import { Payouts } from "./withdrawal-world.ts";

const SAMPLE = 12;
const SEED = 20_250_917;

/** Where money is promised, given a nonce, signed for, sent, and settled. */
const MONEY_STEPS = [
  "d1 claim withdrawal key",
  "Tenant commit reserve",
  "Tenant commit allocateOne",
  "d1 claim nonce",
  "Tenant commit claimSlots",
  "sign",
  "Tenant commit store",
  "rpc eth_sendRawTransaction",
  "Tenant commit sendOne",
  "Tenant commit follow",
];

let payouts: Payouts;
beforeEach(async () => {
  payouts = await Payouts.start();
});
afterEach(() => {
  vi.restoreAllMocks();
});

interface Scenario {
  readonly name: string;
  readonly prepare: () => Promise<Run>;
  readonly steps: readonly string[];
}

const WHOLE = ["Tenant.createWithdrawal", "ChainScanner.status", "Tenant sync", ...MONEY_STEPS];
const SCENARIOS: readonly Scenario[] = [
  { name: "native, from its request to its final block", prepare: () => payouts.pay("ETH"), steps: WHOLE },
  { name: "token, from its request to its final block", prepare: () => payouts.pay("TOK"), steps: WHOLE },
  {
    name: "replaced after it was confirmed",
    prepare: () => payouts.payAgain(),
    steps: ["Tenant commit follow", "rpc eth_sendRawTransaction", "Tenant commit sendOne"],
  },
];

describe.each(SCENARIOS)("a withdrawal, $name", ({ name, prepare, steps }) => {
  it.each(WAYS)("%s", { timeout: MANY_CRASHES_MS }, async (way) => {
    await hitAll(`a withdrawal, ${name}`, prepare, way, steps);
    await payouts.checkAll();
  });
});

/** The same `count` of them on every run, spread by a small seeded generator. */
function sampleOf<T>(all: readonly T[], count: number): readonly T[] {
  let state = SEED;
  const dealt = all.map((one) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return [state >>> 0, one] as const;
  });
  return dealt
    .sort(([a], [b]) => a - b)
    .slice(0, count)
    .map(([, one]) => one);
}

describe("a withdrawal, two crashes at any two of the money's steps", () => {
  it.each(["ETH", "TOK"] as const)("%s", { timeout: MANY_CRASHES_MS }, async (asset) => {
    const prepare = () => payouts.pay(asset, { mayBeReplaced: true });
    const names = (await play(prepare)).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(MONEY_STEPS));
    const points = MONEY_STEPS.flatMap((name) =>
      waysOf({ name, occurrence: 1 }).map((way): Point => ({ name, occurrence: 1, way })),
    );
    const pairs = points.flatMap((first) => points.map((second) => [first, second]));
    const played = isWhole ? pairs : sampleOf(pairs, SAMPLE);
    // A second step that lies before the first one may never be taken again.
    const whole = await playEach(prepare, played);
    console.log(`crash points, ${asset}: ${played.length} of ${pairs.length} pairs; both were reached in ${whole}`);
    expect(whole).toBeGreaterThan(played.length / 3);
    await payouts.checkAll();
  });
});
