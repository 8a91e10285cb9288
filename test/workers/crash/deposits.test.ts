/** I1 I2 I4 I5 I13 I17: the machine goes away at any step of a deposit's way, and the books end as the chain's. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { BackfillView } from "../../../src/core/views.ts";
import { chain } from "../line.ts";
import { FINAL_BLOCKS, HookedMerchant } from "./deposit-world.ts";
import { hitAll, insist, MANY_CRASHES_MS, type Run, until, WAYS } from "./scenario.ts";

let merchant: HookedMerchant;
let runs = 0;
beforeEach(async () => {
  merchant = await HookedMerchant.start();
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** From its block to its webhook, and on until it is settled. */
async function deposit(): Promise<Run> {
  const payment = await merchant.expectPayment({ isWatched: true });
  await merchant.rest();
  return {
    async act() {
      chain.mine([payment.tx]);
      await merchant.until(payment, "pending");
      chain.grow(2);
      await merchant.until(payment, "confirmed");
      chain.grow(FINAL_BLOCKS);
      await merchant.until(payment, "settled", { delivered: true });
    },
    check: () => merchant.checkPayment(payment, "pending confirmed settled"),
  };
}

/** Confirmed and told before the run begins: its steps are those of the way back, and of the way up again. */
async function reversal(): Promise<Run> {
  const payment = await merchant.expectPayment({ isWatched: true });
  chain.mine([payment.tx], [], []);
  await merchant.until(payment, "confirmed", { delivered: true });
  await merchant.rest();
  return {
    async act() {
      chain.reorg(3, ...Array.from({ length: 4 }, () => []));
      await merchant.until(payment, "reverted");
      chain.mine([payment.tx], [], []);
      await merchant.until(payment, "confirmed", { delivered: true });
    },
    async check() {
      chain.grow(FINAL_BLOCKS);
      await merchant.until(payment, "settled", { delivered: true });
      await merchant.checkPayment(payment, "pending confirmed reverted pending confirmed settled");
    },
  };
}

/** An address that was paid below the window: it is taken, and its past is asked for. */
async function taking(): Promise<Run> {
  const payment = await merchant.expectPayment({ isWatched: false });
  const { address, account } = payment;
  chain.mine([payment.tx]);
  const paidAt = chain.head;
  chain.grow(FINAL_BLOCKS + 3);
  await until(() => merchant.hasRead(chain.head), merchant.objects);
  await merchant.rest();
  const key = `take-${++runs}`;
  const post = (path: string, body: unknown) => () =>
    merchant.call("POST", path, { body, headers: { "Idempotency-Key": `${key}${path}` } });
  let backfill = "";
  return {
    async act() {
      await insist(post("/v1/addresses", { network: "local", address, account }));
      const range = { network: "local", from_height: paidAt - 2, to_height: paidAt + 2 };
      backfill = ((await insist(post("/v1/backfills", range))) as BackfillView).id;
      await merchant.until(payment, "settled", { delivered: true });
      await until(() => merchant.hasBackfilled(backfill), merchant.objects);
    },
    async check() {
      await merchant.checkPayment(payment, "pending confirmed settled");
      const report = await merchant.get<BackfillView>(`/v1/backfills/${backfill}`);
      expect(report).toMatchObject({ status: "done", added: 1, already_known: 0, conflicts: 0 });
      const rows = await merchant.inside((_, sql) =>
        sql.exec("SELECT 1 FROM addresses WHERE address = ?", address).toArray(),
      );
      expect(rows).toHaveLength(1);
    },
  };
}

describe.each([
  {
    name: "a deposit, from its block to its webhook",
    prepare: deposit,
    steps: ["rpc eth_getBlockByNumber", "d1 claim deposits", "Tenant.observe", "WebhookEndpoint.enqueue", "webhook"],
  },
  {
    name: "a deposit that is reverted and confirmed again",
    prepare: reversal,
    steps: ["ChainScanner commit commitBranch", "Tenant.observe", "Tenant commit observe", "webhook"],
  },
  {
    name: "an address that is taken, with a backfill",
    prepare: taking,
    steps: ["d1 claim address", "ChainScanner.watch", "ChainScanner.startBackfill", "Tenant.backfillSlice"],
  },
])("$name", ({ name, prepare, steps }) => {
  it.each(WAYS)("%s", { timeout: MANY_CRASHES_MS }, async (way) => {
    await hitAll(name, prepare, way, steps);
    await merchant.checkAll();
  });
});
