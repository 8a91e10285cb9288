/** I6 I7 I8 I9 I11: the machine goes away at any step of a withdrawal of coins, and what was asked for is paid once. */

import { afterEach, beforeEach, describe, it, vi } from "vitest";
import { CoinPayouts } from "./coin-world.ts";
import { hitAll, MANY_CRASHES_MS, SOME_WAYS, WAYS } from "./scenario.ts";

/** Where money is promised, given coins, signed for, sent, and settled. */
const MONEY_STEPS = [
  "d1 claim withdrawal key",
  "Tenant commit reserve",
  "Tenant commit allocate",
  "d1 claim spend",
  "Tenant commit claimSpends",
  "d1 claim address",
  "ChainScanner.watch",
  "sign",
  "Tenant commit store",
  "Tenant sync",
  "rpc sendrawtransaction",
  "Tenant commit sendOne",
  "Tenant commit follow",
];

let payouts: CoinPayouts;
beforeEach(async () => {
  payouts = await CoinPayouts.start();
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe.each([
  { name: "from its request to its final block", prepare: () => payouts.pay(), ways: WAYS, steps: MONEY_STEPS },
  {
    name: "replaced by one that offers more",
    prepare: () => payouts.replace(),
    ways: SOME_WAYS,
    steps: ["sign", "Tenant commit store", "rpc sendrawtransaction", "Tenant commit follow"],
  },
  {
    name: "with a further coin that it does not need in the end",
    prepare: () => payouts.extend(),
    ways: SOME_WAYS,
    steps: ["Tenant commit extend", "d1 claim spend", "sign", "d1 release outputs", "Tenant commit releaseFreed"],
  },
])("a withdrawal of coins, $name", ({ name, prepare, ways, steps }) => {
  it.each(ways)("%s", { timeout: MANY_CRASHES_MS }, async (way) => {
    await hitAll(`a withdrawal of coins, ${name}`, prepare, way, steps);
    await payouts.checkAll();
  });
});
