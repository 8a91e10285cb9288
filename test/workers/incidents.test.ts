/**
 * Tenants' incidents from their true causes: opened and closed with their event, refreshed without one, told to the
 * operator's monitor, and seen by nobody else.
 */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EventView, IncidentView, OperatorIncidentView, Page } from "../../src/core/views.ts";
import type { Env } from "../../src/env.ts";
import type { Monitor } from "../../src/index.ts";
import { patrol } from "../../src/patrol.ts";
import { newAddress, pay } from "../support/model-chain.ts";
import { call, chain, DB, empty, Merchant, OPERATOR_TOKEN, poll, quiet, startLine, time } from "./line.ts";
import { ETH, FINAL_BLOCKS, PayingMerchant, startPayouts, wallets } from "./payout-line.ts";

const MIN = 60_000;
const { MONITOR, WEBHOOK_ENDPOINT } = env as unknown as Required<Env>;
const monitor = MONITOR.get(MONITOR.idFromName("monitor")) as unknown as DurableObjectStub<Monitor>;

beforeEach(async () => {
  quiet("warn", "error");
  await runInDurableObject(monitor, (object, state) => {
    object.clock = () => time.now;
    for (const table of ["incidents", "calls"]) state.storage.sql.exec(`DELETE FROM ${table}`);
  });
});
afterEach(() => vi.restoreAllMocks());

const listed = (merchant: Merchant, query = "") => merchant.get<Page<IncidentView>>(`/v1/incidents${query}`);
const one = async (merchant: Merchant, query = ""): Promise<IncidentView> => {
  const { data } = await listed(merchant, query);
  if (data.length !== 1 || data[0] === undefined) throw new Error(`expected one incident: ${JSON.stringify(data)}`);
  return data[0];
};
const events = async (merchant: Merchant) =>
  (await merchant.events()).filter(({ type }) => type.startsWith("incident."));
const told = async (merchant: Merchant) =>
  (await events(merchant)).map(({ type, data }) => `${(data as IncidentView).kind} ${type.slice(9)}`).join(", ");
async function operator(query = ""): Promise<OperatorIncidentView[]> {
  const response = await call("GET", `/v1/operator/incidents${query}`, { key: OPERATOR_TOKEN });
  expect(response.status).toBe(200);
  return ((await response.json()) as Page<OperatorIncidentView>).data;
}
const cron = () => patrol(env as unknown as Env, time.now);
const rows = (merchant: Merchant) => merchant.inside((_, sql) => sql.exec("SELECT * FROM incidents").toArray());

const until = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { interval: 15, timeout: 10_000 });

/** Every event carries the incident as it was; what the feed says and what the list says are one. */
async function checkTold(merchant: Merchant): Promise<void> {
  const all = await merchant.all<IncidentView>("/v1/incidents");
  const feed = Map.groupBy(await events(merchant), ({ subject }) => subject);
  for (const incident of all) {
    const own: EventView[] = feed.get(incident.id) ?? [];
    const types = incident.kind === "network_halted" ? [] : ["incident.opened", "incident.closed"];
    expect(own.map(({ type }) => type)).toEqual(types.slice(0, incident.status === "open" ? 1 : 2));
    expect(await merchant.get(`/v1/incidents/${incident.id}`)).toEqual(incident);
    feed.delete(incident.id);
    if (incident.status === "closed" && own.length > 0) expect(own.at(-1)?.data).toEqual(incident);
  }
  expect([...feed.keys()]).toEqual([]);
}

describe("while all is well", () => {
  it("a withdrawal that is paid writes nothing of incidents, here and at the monitor", async () => {
    await startPayouts();
    const merchant = await PayingMerchant.start();
    await merchant.withdraw();
    await merchant.rest();
    time.now += 10 * MIN;
    await poll();
    await cron();
    expect(await rows(merchant)).toEqual([]);
    expect(await listed(merchant)).toEqual({ data: [], next_cursor: null });
    expect(
      await runInDurableObject(monitor, (_, { storage }) => storage.sql.exec("SELECT * FROM incidents").toArray()),
    ).toEqual([]);
  });
});

describe("wallet_short", () => {
  it("opens when the wallet has been short for a while, and closes after it was topped up", async () => {
    await startPayouts();
    const merchant = await PayingMerchant.start({ inWallet: 0n });
    await merchant.withdraw({ amount: "1" });
    await merchant.withdraw({ amount: "0.25" });
    expect(await told(merchant)).toBe("");
    await merchant.drive(1, MIN);
    expect((await listed(merchant)).data).toEqual([]);
    await merchant.drive(1, MIN);
    const incident = await one(merchant, "?status=open&kind=wallet_short&network=local");
    expect(incident).toMatchObject({
      subject: `local/${merchant.wallet}`,
      network: "local",
      evidence: { wallet: merchant.wallet, withdrawals: 2, waiting_ETH: "1.25" },
      runbook: "docs/runbook/wallet_short.md",
    });
    expect(await told(merchant)).toBe("wallet_short opened");
    expect(await operator("?status=open")).toEqual([{ ...incident, tenant_id: merchant.id }]);

    // What shows it is kept up, without an event.
    await merchant.withdraw({ amount: "2" });
    await merchant.drive(2, 10 * MIN);
    await merchant.drive(1, 15_000);
    expect((await one(merchant)).evidence).toMatchObject({ withdrawals: 3, waiting_ETH: "3.25" });
    expect((await operator())[0]?.evidence).toMatchObject({ withdrawals: 3 });
    expect(await told(merchant)).toBe("wallet_short opened");

    chain.mine([pay(merchant.wallet, 50n * ETH)]);
    await merchant.rest();
    expect((await one(merchant)).status).toBe("open");
    // Nothing wakes the tenant any more but cron.
    time.now += 6 * MIN;
    await cron();
    expect(await told(merchant)).toBe("wallet_short opened, wallet_short closed");
    await until(async () => expect((await operator("?status=closed"))[0]?.id).toBe(incident.id));
    await checkTold(merchant);
    await cron();
    time.now += 10 * MIN;
    await cron();
    expect(
      (await DB.prepare("SELECT * FROM tenant_work WHERE tenant_id = ?1").bind(merchant.id).all()).results,
    ).toEqual([]);
  });

  it("that is over before the threshold was nothing", async () => {
    await startPayouts();
    const merchant = await PayingMerchant.start({ inWallet: 0n });
    await merchant.withdraw();
    expect(await rows(merchant)).toHaveLength(1);
    expect((await listed(merchant)).data).toEqual([]);
    chain.mine([pay(merchant.wallet, 50n * ETH)]);
    await merchant.rest();
    expect(await rows(merchant)).toEqual([]);
    expect(await told(merchant)).toBe("");
    expect(await operator()).toEqual([]);
  });
});

describe("withdrawal_stuck", () => {
  it("opens when a withdrawal stays unmined until its deadline, and closes with its end", async () => {
    await startPayouts();
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    await merchant.drive(2, 20 * MIN);
    expect(await told(merchant)).toBe("");
    await merchant.drive(2, 11 * MIN);
    expect(await merchant.state(id)).toBe("manual_review");
    const incident = await one(merchant);
    expect(incident).toMatchObject({
      kind: "withdrawal_stuck",
      subject: id,
      status: "open",
      evidence: { withdrawal: id, state: "manual_review", reason: "deadline", waiting_for: "person" },
    });
    await merchant.rest();
    await merchant.mineAndDrive(FINAL_BLOCKS + 3);
    expect(await merchant.state(id)).toBe("confirmed");
    expect(await told(merchant)).toBe("withdrawal_stuck opened, withdrawal_stuck closed");
    await checkTold(merchant);
  });

  it("closes some time after a person has sent it on its way, and not before", async () => {
    await startPayouts();
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    await merchant.drive(4, 16 * MIN);
    expect(await merchant.state(id)).toBe("manual_review");
    wallets.forget();
    expect(await merchant.act(id, "resolve", { outcome: "failed", evidence: "called off" })).toBe("200");
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.drive(2, MIN);
    expect((await one(merchant)).status).toBe("open");
    await merchant.drive(2, 6 * MIN);
    expect((await one(merchant)).status).toBe("closed");
    await checkTold(merchant);
  });
});

describe("foreign_spend", () => {
  it("opens in the round that finds it, and closes when a person lets the wallet go on", async () => {
    await startPayouts();
    const merchant = await PayingMerchant.start();
    await merchant.withdraw();
    wallets.forget();
    const foreign = await merchant.foreign(0);
    wallets.mineOnly(foreign);
    chain.grow(FINAL_BLOCKS + 1);
    await merchant.drive(2, 5_000);
    const incident = await one(merchant, "?kind=foreign_spend");
    expect(incident).toMatchObject({ subject: `local/${merchant.wallet}`, status: "open" });
    expect(String(incident.evidence.found)).toContain(foreign.hash);
    expect(await told(merchant)).toContain("foreign_spend opened");
    expect((await operator("?kind=foreign_spend"))[0]?.tenant_id).toBe(merchant.id);
    await merchant.drive(3, 20 * MIN);
    expect((await one(merchant, "?kind=foreign_spend")).status).toBe("open");
    expect((await merchant.call("POST", "/v1/wallets/local/resume")).status).toBe(200);
    await merchant.drive(1, 15_000);
    expect((await one(merchant, "?kind=foreign_spend")).status).toBe("closed");
    await checkTold(merchant);
  });
});

describe("network_halted", () => {
  it("opens for each tenant that watches, closes with the resume, and is told by the network's own events", async () => {
    await startLine();
    const [merchant, other, idle] = [await Merchant.signUp(), await Merchant.signUp(), await Merchant.signUp()];
    for (const tenant of [merchant, other]) await tenant.watch(newAddress());
    chain.grow(40);
    await poll(2);
    chain.reorg(35, ...empty(36));
    await poll(3);
    for (const tenant of [merchant, other]) {
      expect(await one(tenant)).toMatchObject({ kind: "network_halted", subject: "local", status: "open" });
      expect(await told(tenant)).toBe("");
      expect(await tenant.told()).toBe("halted");
    }
    expect((await listed(idle)).data).toEqual([]);
    // One for the operator, however many tenants there are.
    await until(async () => expect(await operator("?status=open")).toHaveLength(1));
    expect((await operator())[0]).toMatchObject({ kind: "network_halted", subject: "local", tenant_id: null });
    expect((await call("POST", "/v1/operator/networks/local/resume", { key: OPERATOR_TOKEN })).status).toBe(202);
    await poll(3);
    expect(await one(merchant)).toMatchObject({ status: "closed" });
    await until(async () => expect((await operator())[0]?.status).toBe("closed"));
    await checkTold(merchant);
  });

  it("that the monitor was not told of is told when cron looks in", async () => {
    await startLine();
    const merchant = await Merchant.signUp();
    await merchant.watch(newAddress());
    chain.grow(40);
    await poll(2);
    const saw = vi
      .spyOn((await import("../../src/index.ts")).Monitor.prototype, "saw")
      .mockRejectedValue(new Error("away"));
    chain.reorg(35, ...empty(36));
    await poll(3);
    expect(saw).toHaveBeenCalled();
    saw.mockRestore();
    expect(await operator()).toEqual([]);
    await cron();
    await until(async () => expect(await operator("?status=open")).toHaveLength(1));
    expect((await call("POST", "/v1/operator/networks/local/resume", { key: OPERATOR_TOKEN })).status).toBe(202);
    await until(async () => expect(await operator("?status=closed")).toHaveLength(1));
  });
});

describe("endpoint_dead", () => {
  const stubOf = (id: string) => WEBHOOK_ENDPOINT.get(WEBHOOK_ENDPOINT.idFromName(id));
  let answer: () => Response;

  /** An instance that is made anew has the real time again. */
  async function takeTime(merchant: Merchant, id: string): Promise<void> {
    await merchant.takeTime();
    await runInDurableObject(stubOf(id), (object) => {
      (object as unknown as { clock: () => number }).clock = () => time.now;
    });
  }

  async function open(merchant: Merchant): Promise<string> {
    const body = { url: "https://hook.example/token-in-path", events: ["webhook.test"] };
    const { id } = (await (await merchant.call("POST", "/v1/webhook-endpoints", { body })).json()) as { id: string };
    await takeTime(merchant, id);
    return id;
  }

  async function act(merchant: Merchant, id: string, action: string): Promise<void> {
    await takeTime(merchant, id);
    expect((await merchant.call("POST", `/v1/webhook-endpoints/${id}/${action}`)).ok).toBe(true);
  }
  async function wake(merchant: Merchant, id: string): Promise<void> {
    await takeTime(merchant, id);
    await runInDurableObject(stubOf(id), (object) => (object as unknown as { alarm(): Promise<void> }).alarm());
  }

  beforeEach(async () => {
    await startLine();
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => answer());
  });

  it("opens with a 410, stays through a second one, and closes ten minutes after it took something", async () => {
    const merchant = await Merchant.signUp();
    const id = await open(merchant);
    answer = () => new Response("", { status: 410 });
    await act(merchant, id, "test");
    await until(async () => expect((await listed(merchant)).data).toHaveLength(1));
    expect(await one(merchant)).toMatchObject({
      kind: "endpoint_dead",
      subject: id,
      network: null,
      evidence: { host: "hook.example", status: "disabled", disabled_reason: "gone" },
    });
    expect(JSON.stringify(await operator())).not.toContain("token-in-path");
    time.now += MIN;
    await act(merchant, id, "enable");
    await until(async () =>
      expect((await merchant.get<{ status: string }>(`/v1/webhook-endpoints/${id}`)).status).toBe("disabled"),
    );
    time.now += 30 * MIN;
    await cron();
    expect(await told(merchant)).toBe("endpoint_dead opened");
    answer = () => new Response("ok");
    await act(merchant, id, "enable");
    await cron();
    expect((await one(merchant)).status).toBe("open");
    // The tenant has nothing to do: cron alone looks in.
    await until(async () =>
      expect(
        (await DB.prepare("SELECT * FROM tenant_work WHERE tenant_id = ?1").bind(merchant.id).all()).results,
      ).toHaveLength(1),
    );
    time.now += 10 * MIN;
    await cron();
    await until(async () => expect(await told(merchant)).toBe("endpoint_dead opened, endpoint_dead closed"));
    await checkTold(merchant);
    time.now += 10 * MIN;
    await cron();
    expect(
      (await DB.prepare("SELECT * FROM tenant_work WHERE tenant_id = ?1").bind(merchant.id).all()).results,
    ).toEqual([]);
  });

  it("opens after an hour of nothing but failures, and a success ends it", async () => {
    const merchant = await Merchant.signUp();
    const id = await open(merchant);
    answer = () => new Response("", { status: 500 });
    await act(merchant, id, "test");
    const attempts = () =>
      runInDurableObject(stubOf(id), (_, { storage }) => storage.sql.exec("SELECT * FROM attempts").toArray().length);
    for (const [i, passed] of [0, 6, 6, 40].entries()) {
      time.now += passed * MIN;
      if (i > 0) await wake(merchant, id);
      await until(async () => expect(await attempts()).toBe(i + 1));
    }
    expect((await listed(merchant)).data).toEqual([]);
    time.now += 150 * MIN;
    await wake(merchant, id);
    await until(async () => expect((await listed(merchant)).data).toHaveLength(1));
    expect(await one(merchant)).toMatchObject({ evidence: { status: "enabled", disabled_reason: null } });
    answer = () => new Response("ok");
    time.now += 400 * MIN;
    await wake(merchant, id);
    await until(async () =>
      expect(
        (await DB.prepare("SELECT * FROM tenant_work WHERE tenant_id = ?1").bind(merchant.id).all()).results,
      ).toHaveLength(1),
    );
    time.now += 11 * MIN;
    await takeTime(merchant, id);
    await cron();
    expect(await told(merchant)).toBe("endpoint_dead opened, endpoint_dead closed");
  });

  it("is none when its owner disables it, and is over when it is deleted", async () => {
    const merchant = await Merchant.signUp();
    const [idle, gone] = [await open(merchant), await open(merchant)];
    await act(merchant, idle, "disable");
    answer = () => new Response("", { status: 410 });
    await act(merchant, gone, "test");
    await until(async () => expect((await one(merchant)).subject).toBe(gone));
    expect((await merchant.call("DELETE", `/v1/webhook-endpoints/${gone}`)).status).toBe(204);
    expect((await one(merchant)).status).toBe("closed");
    await checkTold(merchant);
  });
});

describe("I14", () => {
  it("a tenant sees its own and no other's, and the operator's call takes no key", async () => {
    await startPayouts();
    const merchant = await PayingMerchant.start({ inWallet: 0n });
    await merchant.withdraw();
    await merchant.drive(2, 2 * MIN);
    const { id } = await one(merchant);
    const other = await Merchant.signUp();
    expect((await listed(other)).data).toEqual([]);
    const strange = await other.call("GET", `/v1/incidents/${id}`);
    const unknown = await other.call("GET", `/v1/incidents/inc_${"0".repeat(26)}`);
    expect([strange.status, unknown.status]).toEqual([404, 404]);
    expect((await other.call("GET", "/v1/operator/incidents")).status).toBe(401);
    expect((await call("GET", "/v1/operator/incidents")).status).toBe(401);
    expect(await operator(`?tenant_id=${other.id}`)).toEqual([]);
    expect(await operator(`?tenant_id=${merchant.id}&status=open`)).toHaveLength(1);
  });
});

describe("the monitor", () => {
  it("that is away is told later; the tenant's own is there at once", async () => {
    await startPayouts();
    const { Monitor: M } = await import("../../src/index.ts");
    const away = vi.spyOn(M.prototype, "incidents").mockRejectedValue(new Error("away"));
    const merchant = await PayingMerchant.start({ inWallet: 0n });
    await merchant.withdraw();
    await merchant.drive(2, 2 * MIN);
    const { id } = await one(merchant);
    expect(away).toHaveBeenCalled();
    expect(await operator()).toEqual([]);
    await merchant.evict();
    away.mockRestore();
    await merchant.drive(1, 15_000);
    expect((await operator()).map((incident) => incident.id)).toEqual([id]);
  });
});
