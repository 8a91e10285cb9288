/** I6 I8 I9 I11: the machine goes away at any step of a withdrawal whose transactions expire, and it is paid once. */

import { afterEach, beforeEach, describe, it, vi } from "vitest";
import { ExpiringPayouts } from "./expiring-world.ts";
import { hitAll, MANY_CRASHES_MS, SOME_WAYS } from "./scenario.ts";

/** Where money is promised, signed for, sent, and settled. */
const MONEY_STEPS = [
  "d1 claim withdrawal key",
  "Tenant commit reserve",
  "rpc prepare",
  "sign",
  "Tenant commit signOne",
  "d1 claim attempt",
  "Tenant commit claimAttempts",
  "rpc simulate",
  "Tenant sync",
  "rpc send",
  "Tenant commit sendOne",
  "Tenant commit follow",
];

let payouts: ExpiringPayouts;
beforeEach(async () => {
  payouts = await ExpiringPayouts.start();
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe.each([
  { name: "from its request to its final block", prepare: () => payouts.pay(), steps: MONEY_STEPS },
  {
    name: "whose first transaction expires",
    prepare: () => payouts.payAnew(),
    steps: ["sign", "Tenant commit signOne", "d1 claim attempt", "rpc send", "Tenant commit follow"],
  },
  {
    name: "that a person gives up",
    prepare: () => payouts.giveUp(),
    steps: ["Tenant commit decide", "Tenant commit follow", "d1 claim attempt", "Tenant commit closePayments"],
  },
])("a withdrawal that expires, $name", ({ name, prepare, steps }) => {
  it.each(SOME_WAYS)("%s", { timeout: MANY_CRASHES_MS }, async (way) => {
    await hitAll(`a withdrawal that expires, ${name}`, prepare, way, steps);
    await payouts.checkAll();
  });
});
