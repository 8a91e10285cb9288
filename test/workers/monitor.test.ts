/**
 * What the operator is shown: how the monitor keeps what it is told, that each figure comes from what really happened,
 * and that money does not mind a monitor that is away.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { figure } from "../../src/core/figures.ts";
import type { Env } from "../../src/env.ts";
import { Monitor, type WebhookEndpoint } from "../../src/index.ts";
import { MONITOR_NAME } from "../../src/objects/monitor-api.ts";
import { keepQuiet, type Reporter } from "../../src/objects/reporter.ts";
import { patrol } from "../../src/patrol.ts";
import { parseMetrics } from "../support/metrics.ts";
import { newAddress, pay } from "../support/model-chain.ts";
import { call, chain, checkBooks, DB, OPERATOR_TOKEN, poll, quiet, scanner, switchOff, time } from "./line.ts";
import { checkPayouts, ETH, PayingMerchant, startPayouts } from "./payout-line.ts";

const { MONITOR, WEBHOOK_ENDPOINT } = env as unknown as Env & { MONITOR: NonNullable<Env["MONITOR"]> };
const HOOK = "http://127.0.0.1:9";
const HOUR_MS = 3_600_000;

const monitor = () => MONITOR.get(MONITOR.idFromName(MONITOR_NAME)) as unknown as DurableObjectStub<Monitor>;

async function metrics(): Promise<(series: string) => number | null> {
  const response = await call("GET", "/metrics", { key: OPERATOR_TOKEN });
  expect(response.status).toBe(200);
  const samples = parseMetrics(await response.text());
  return (series) => samples.get(series)?.value ?? null;
}

const stop = (object: unknown) => (object as { reporter: Reporter }).reporter.stop();
const anyOf = (stub: unknown) => stub as DurableObjectStub;

/** Lets these objects tell how they stand. */
async function tell(...stubs: readonly unknown[]): Promise<(series: string) => number | null> {
  keepQuiet(false);
  for (const stub of stubs) {
    await runInDurableObject(anyOf(stub), (object) => (object as unknown as { reporter: Reporter }).reporter.tell());
  }
  keepQuiet(true);
  return metrics();
}

beforeEach(async () => {
  await startPayouts();
  await runInDurableObject(monitor(), (_, { storage }) => storage.deleteAll());
  await evictDurableObject(monitor());
});
afterEach(() => {
  keepQuiet(true);
  vi.restoreAllMocks();
});

describe("the monitor", () => {
  const pending = (n: number) => [figure("sluice_webhook_deliveries_pending", n)];
  const attempts = (n: number) => [figure("sluice_webhook_attempts_total", n, { outcome: "delivered" })];
  const PENDING = "sluice_webhook_deliveries_pending";
  const ATTEMPTS = 'sluice_webhook_attempts_total{outcome="delivered"}';

  it("keeps the newest of each source, one row each, and knows the same after a new start", async () => {
    const figures = (n: number) => [...pending(n), ...attempts(10 * n)];
    await monitor().report([
      { source: "endpoint:a", at: 5, figures: figures(3) },
      { source: "endpoint:b", at: 1, figures: figures(4) },
    ]);
    await monitor().report([{ source: "endpoint:a", at: 4, figures: figures(9) }]);
    await monitor().report([{ source: "endpoint:a", at: 5, figures: figures(9) }]);
    const seen = async () => [(await metrics())(PENDING), (await metrics())(ATTEMPTS)];
    expect(await seen()).toEqual([7, 70]);
    await evictDurableObject(monitor());
    expect(await seen()).toEqual([7, 70]);
    await monitor().report([{ source: "endpoint:b", at: 2, figures: figures(5) }]);
    expect(await seen()).toEqual([8, 80]);
    const rows = await runInDurableObject(monitor(), (_, { storage }) => {
      const written = storage.sql.exec("SELECT source FROM reports ORDER BY source").toArray();
      return written.map(({ source }) => source);
    });
    expect(rows).toEqual(["endpoint:a", "endpoint:b"]);
  });

  it("lets go of what is gone, keeps what it counted, and is not fooled by its last words", async () => {
    await monitor().report([{ source: "endpoint:a", at: 5, figures: [...pending(3), ...attempts(30)] }]);
    await monitor().report([{ source: "endpoint:a", at: 6, figures: [] }]);
    await monitor().report([{ source: "endpoint:a", at: 5, figures: [...pending(3), ...attempts(30)] }]);
    expect([(await metrics())(PENDING), (await metrics())(ATTEMPTS)]).toEqual([0, 30]);
    await evictDurableObject(monitor());
    expect([(await metrics())(PENDING), (await metrics())(ATTEMPTS)]).toEqual([0, 30]);
  });

  it("forgets an endpoint whose end it was not told, and no idle one", async () => {
    const late = figure("sluice_event_oldest_undelivered_timestamp_seconds", 7);
    await monitor().report([
      { source: "endpoint:a", at: Date.now() - 49 * HOUR_MS, figures: [late, ...pending(1), ...attempts(5)] },
      { source: "endpoint:b", at: Date.now() - 49 * HOUR_MS, figures: [figure("sluice_webhook_endpoints", 1)] },
    ]);
    await evictDurableObject(monitor());
    await monitor().report([{ source: "cron", at: 1, figures: [] }]);
    const seen = await metrics();
    expect([seen(late.name), seen(PENDING), seen(ATTEMPTS)]).toEqual([null, 0, 5]);
    expect(seen("sluice_webhook_endpoints")).toBe(1);
  });

  it("says whether a network's scanner told of itself lately, and forgets one that is off", async () => {
    const up = async () => (await metrics())('sluice_network_up{network="local"}');
    const head = async () => (await metrics())('sluice_network_head{network="local"}');
    expect(await up()).toBe(0);
    const figures = [figure("sluice_network_head", 9, { network: "local" })];
    await monitor().report([{ source: "network:local", at: Date.now() - 140_000, figures }]);
    expect([await up(), await head()]).toEqual([1, 9]);
    await monitor().report([
      { source: "network:other", at: Date.now(), figures: [figure("sluice_accounts_in_debt", 1)] },
    ]);
    expect((await metrics())("sluice_accounts_in_debt")).toBe(null);
    await runInDurableObject(monitor(), (object) => {
      object.clock = () => Date.now() + 20_000;
    });
    expect([await up(), await head()]).toEqual([0, 9]);
  });
});

describe("from what happens to the text", () => {
  const NET = 'network="local"';
  let merchant: PayingMerchant;
  let endpoint: DurableObjectStub;

  beforeEach(async () => {
    quiet("warn", "error");
    const nodes = vi.mocked(fetch).getMockImplementation();
    vi.mocked(fetch).mockImplementation(async (input, init) => {
      if (!String(input).startsWith(HOOK)) return nodes?.(input, init) as Promise<Response>;
      return new Response(null, { status: 500 });
    });
    merchant = await PayingMerchant.start();
    const made = await merchant.call("POST", "/v1/webhook-endpoints", { body: { url: `${HOOK}/x` } });
    const { id } = (await made.json()) as { id: string };
    endpoint = anyOf(WEBHOOK_ENDPOINT.get(WEBHOOK_ENDPOINT.idFromName(id)));
  });

  it("the chain, its providers, a deposit, its reversal and what it leaves owing", async () => {
    const first = await tell(scanner(), merchant.stub);
    expect(first(`sluice_network_up{${NET}}`)).toBe(1);
    expect(first(`sluice_network_status{${NET},status="ok"}`)).toBe(1);
    expect(first(`sluice_network_head{${NET}}`)).toBe(chain.head);
    expect(first(`sluice_network_scanned_to{${NET}}`)).toBe(chain.head);
    expect(first(`sluice_network_lag_blocks{${NET}}`)).toBe(0);
    expect(first(`sluice_network_lag_seconds{${NET}}`)).toBe(0);
    expect(first(`sluice_network_last_poll_timestamp_seconds{${NET}}`)).toBe(time.now / 1_000);
    expect(first(`sluice_network_blocks_read_total{${NET}}`)).toBeGreaterThan(3);
    expect(first(`sluice_network_watched_addresses{${NET}}`)).toBe(1);
    expect(first(`sluice_provider_healthy{${NET},provider="node-0.test"}`)).toBe(1);
    expect(first(`sluice_provider_requests_total{${NET},provider="node-0.test"}`)).toBeGreaterThan(3);
    expect(first(`sluice_provider_head{${NET},provider="node-0.test"}`)).toBe(chain.head);
    expect(first(`sluice_claims_total{${NET},outcome="new"}`)).toBe(1);
    expect(first(`sluice_deposits{${NET},state="confirmed"}`)).toBe(1);
    expect(first(`sluice_accounts_in_debt{${NET},asset="ETH"}`)).toBe(null);

    chain.grow(6);
    await poll(2);
    const shop = newAddress();
    await merchant.watch(shop, { account: "shop" });
    chain.mine([pay(shop, 2n * ETH)]);
    chain.grow(2);
    await poll(2);
    await merchant.withdraw({ account: "shop", amount: "1.5" });
    chain.reorg(3, [], [], [], []);
    await poll(2);
    expect(await merchant.told()).toContain("reverted");

    time.now += 10_000;
    const later = await tell(scanner(), merchant.stub);
    expect(later(`sluice_deposits{${NET},state="settled"}`)).toBe(1);
    expect(later(`sluice_deposits{${NET},state="reverted"}`)).toBe(1);
    expect(later(`sluice_deposits{${NET},state="confirmed"}`)).toBe(null);
    expect(later(`sluice_scanner_reorganisations_total{${NET}}`)).toBe(1);
    expect(later(`sluice_scanner_blocks_replaced_total{${NET}}`)).toBe(3);
    expect(later(`sluice_accounts_in_debt{${NET},asset="ETH"}`)).toBe(1);
    expect(later(`sluice_accounts_debt_units{${NET},asset="ETH"}`)).toBe(1.5);
    await checkBooks(merchant);

    // The same payment, in another block.
    chain.mine([pay(shop, 2n * ETH)]);
    await poll();
    const counted = await merchant.inside((_, sql) =>
      sql.exec<{ status: string; n: number }>("SELECT status, count(*) AS n FROM deposits GROUP BY status").toArray(),
    );
    const seen = await tell(merchant.stub);
    for (const { status, n } of counted) expect(seen(`sluice_deposits{${NET},state="${status}"}`)).toBe(n);
  });

  it("a payment met again, and a backfill of what is known", async () => {
    chain.grow(6);
    await poll(2);
    const range = { network: "local", from_height: 0, to_height: chain.head - 8 };
    await merchant.call("POST", "/v1/backfills", { body: range });
    await merchant.drive();
    await poll(2);
    const seen = await tell(scanner(), merchant.stub);
    expect(seen(`sluice_payments_met_again_total{${NET}}`)).toBe(1);
    expect(seen(`sluice_claims_total{${NET},outcome="met_again"}`)).toBe(1);
    expect(seen(`sluice_deposits{${NET},state="settled"}`)).toBe(1);
  });

  it("a withdrawal from its request to its end, a replay and a conflict", async () => {
    const askedAt = time.now / 1_000;
    await merchant.withdraw({ amount: "1", destination: "0x00000000000000000000000000000000000000aa" }, "one");
    const wanted = { amount: "1", destination: "0x00000000000000000000000000000000000000aa" };
    expect((await merchant.ask(wanted, "one")).status).toBe(200);
    expect((await merchant.ask({ ...wanted, amount: "2" }, "one")).status).toBe(422);
    await merchant.drive(3, 60_000);
    const open = await tell(merchant.stub);
    const state = "confirmation_tracking";
    expect(open(`sluice_withdrawals{${NET},state="${state}"}`)).toBe(1);
    expect(open(`sluice_withdrawal_oldest_open_timestamp_seconds{${NET}}`)).toBe(askedAt);
    expect(open("sluice_idempotency_replays_total")).toBe(1);
    expect(open("sluice_idempotency_conflicts_total")).toBe(1);
    expect(open("sluice_withdrawal_broadcasts_repeated_total")).toBeGreaterThan(0);

    await merchant.rest();
    const ended = await tell(merchant.stub);
    expect(ended(`sluice_withdrawals{${NET},state="confirmed"}`)).toBe(1);
    expect(ended(`sluice_withdrawals{${NET},state="${state}"}`)).toBe(null);
    expect(ended(`sluice_withdrawal_oldest_open_timestamp_seconds{${NET}}`)).toBe(null);
    await checkPayouts(merchant);
  });

  it("an endpoint that takes nothing", async () => {
    await merchant.withdraw();
    await vi.waitFor(async () => {
      const seen = await tell(merchant.stub, endpoint);
      expect(seen('sluice_webhook_attempts_total{outcome="http_error"}')).toBe(1);
      expect(seen('sluice_webhook_endpoints{state="failing"}')).toBe(1);
      expect(seen("sluice_webhook_deliveries_pending")).toBeGreaterThan(0);
      expect(seen("sluice_event_oldest_undelivered_timestamp_seconds")).toBeGreaterThan(0);
    });
    await runInDurableObject(endpoint, (object) => {
      keepQuiet(false);
      return (object as unknown as WebhookEndpoint).close();
    });
    await vi.waitFor(async () => {
      const seen = await metrics();
      expect(seen('sluice_webhook_endpoints{state="failing"}')).toBe(null);
      expect(seen("sluice_webhook_deliveries_pending")).toBe(0);
      expect(seen('sluice_webhook_attempts_total{outcome="http_error"}')).toBe(1);
    });
  });

  it("cron's round, in one call for all that it found", async () => {
    await DB.prepare("DELETE FROM tenant_work").run();
    await merchant.withdraw();
    const report = vi.spyOn(Monitor.prototype, "report");
    time.now += HOUR_MS;
    await patrol(env as unknown as Env, time.now);
    expect(report.mock.calls.map(([reports]) => reports.map(({ source }) => source))).toEqual([
      ["network:local", `tenant:${merchant.id}`, "cron"],
    ]);
    const seen = await metrics();
    expect(seen("sluice_cron_last_run_timestamp_seconds")).toBe(time.now / 1_000);
    expect(seen('sluice_alarm_overdue_seconds{object="tenant"}')).toBeGreaterThan(3_000);
    expect(seen('sluice_alarm_overdue_seconds{object="endpoint"}')).toBe(0);
    expect(seen('sluice_patrol_failures{object="scanner"}')).toBe(0);
    expect(seen(`sluice_network_up{${NET}}`)).toBe(1);
  });

  it("cron's round with a scanner that hangs: as one that failed, and everything else as ever", async () => {
    quiet("error");
    let end = () => {};
    const hung = new Promise<void>((resolve) => {
      end = resolve;
    });
    const hanging = { idFromName: () => "", get: () => ({ patrol: () => hung }) };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    time.now += HOUR_MS;
    let isOver = false;
    const round = patrol({ ...env, CHAIN_SCANNER: hanging } as unknown as Env, time.now).then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(20_000);
    vi.useRealTimers();
    await vi.waitFor(() => expect(isOver).toBe(true), { timeout: 2_000 }).finally(end);
    await round;
    const seen = await metrics();
    expect(seen('sluice_patrol_failures{object="scanner"}')).toBe(1);
    expect(seen("sluice_cron_last_run_timestamp_seconds")).toBe(time.now / 1_000);
  });

  it("by itself, soon after the first commit, and then at most every ten seconds", async () => {
    const report = vi.spyOn(Monitor.prototype, "report");
    const own = () => report.mock.calls.filter(([[one]]) => one?.source === `tenant:${merchant.id}`).length;
    keepQuiet(false);
    chain.grow(1);
    time.now += 10_000;
    for (let i = 0; i < 3; i++) {
      const address = newAddress();
      await merchant.watch(address);
      chain.mine([pay(address, ETH)]);
      await poll();
    }
    await vi.waitFor(() => expect(own()).toBe(1), { timeout: 2_000 });
    chain.grow(3);
    await poll();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(own()).toBe(1);
    keepQuiet(true);
    await runInDurableObject(anyOf(merchant.stub), stop);
  });
});

describe("a monitor that is away", () => {
  it("is not told of a network that is off", async () => {
    const back = await switchOff();
    const report = vi.spyOn(Monitor.prototype, "report");
    await tell(scanner());
    expect(report).not.toHaveBeenCalled();
    await back();
  });

  it.each<[string, (this: Monitor) => Promise<void>]>([
    ["fails", () => Promise.reject(new Error("the monitor is down"))],
    [
      "dies",
      function () {
        (this as unknown as { ctx: DurableObjectState }).ctx.abort("gone");
        return new Promise(() => {});
      },
    ],
    // The last: whom it holds up is not evicted.
    ["hangs", () => new Promise((resolve) => setTimeout(resolve, 4_000))],
  ])("and %s changes nothing for a deposit and a withdrawal", async (_, away) => {
    quiet("warn", "error");
    const report = vi.spyOn(Monitor.prototype, "report").mockImplementation(away);
    keepQuiet(false);
    const merchant = await PayingMerchant.start();
    await merchant.withdraw();
    await vi.waitFor(() => expect(report.mock.calls.length).toBeGreaterThan(1), { timeout: 2_000 });
    await merchant.rest();
    expect(await runDurableObjectAlarm(scanner())).toBe(true);
    await checkPayouts(merchant);
    expect(await merchant.funds()).toBe("9 0 1");
    keepQuiet(true);
    await runInDurableObject(anyOf(merchant.stub), stop);
  });
});
