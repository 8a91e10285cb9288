/**
 * What only the operator is told, from its true causes: payments met again and again, providers that contradict each
 * other, alarms that never came. And how the operator's webhook is called.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Incident } from "../../src/core/incident.ts";
import type { OperatorIncidentView, Page } from "../../src/core/views.ts";
import { type Env, readSettings } from "../../src/env.ts";
import type { Monitor } from "../../src/index.ts";
import type { Sighting } from "../../src/objects/monitor-api.ts";
import { patrol } from "../../src/patrol.ts";
import { signatureHeader } from "../../src/webhooks/signature.ts";
import { ModelNode, newAddress, pay } from "../support/model-chain.ts";
import {
  call,
  chain,
  inScanner,
  Merchant,
  node,
  OPERATOR_TOKEN,
  poll,
  quiet,
  serveFrom,
  startLine,
  time,
} from "./line.ts";
import { nodes, PayingMerchant, startPayouts, wallets } from "./payout-line.ts";

const MIN = 60_000;
const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const { MONITOR } = env as unknown as Required<Env>;
/** Made anew for each call: a stub of which one call failed stays broken. */
const monitor = () => MONITOR.get(MONITOR.idFromName("monitor")) as unknown as DurableObjectStub<Monitor>;

async function takeTime(): Promise<void> {
  await runInDurableObject(monitor(), (object) => {
    object.clock = () => time.now;
    object.random = () => 0;
  });
}

beforeEach(async () => {
  quiet("warn", "error");
  await takeTime();
  await runInDurableObject(monitor(), async (object, { storage }) => {
    for (const table of ["incidents", "calls"]) storage.sql.exec(`DELETE FROM ${table}`);
    await storage.deleteAlarm();
    Object.assign(readSettings((object as unknown as { env: Env }).env), { operatorWebhook: null });
  });
});
afterEach(() => vi.restoreAllMocks());

async function operator(query = ""): Promise<OperatorIncidentView[]> {
  const response = await call("GET", `/v1/operator/incidents${query}`, { key: OPERATOR_TOKEN });
  expect(response.status).toBe(200);
  return ((await response.json()) as Page<OperatorIncidentView>).data;
}
const states = async () => (await operator()).map(({ kind, subject, status }) => `${kind} ${subject} ${status}`);
const cron = () => patrol(env as unknown as Env, time.now);
const until = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { interval: 15, timeout: 10_000 });

/** So much later, with every alarm of the monitor that came due by then. */
async function later(ms: number): Promise<void> {
  time.now += ms;
  await runDurableObjectAlarm(monitor());
}

describe("duplicate_spike", () => {
  const PAYMENTS = 60;

  async function pays(): Promise<string> {
    await startLine();
    const merchant = await Merchant.signUp();
    const address = newAddress();
    await merchant.watch(address);
    await poll();
    return address;
  }

  /** The scanner's rows as they are now, and how to put them back: its checkpoint was never written. */
  const copy = () =>
    inScanner((_, sql) => {
      const tables = ["scanner", "blocks", "transfers", "payments", "removals", "tenants"];
      const rows = tables.map((table) => sql.exec(`SELECT * FROM ${table}`).toArray());
      return () =>
        inScanner((_object, now) => {
          for (const [i, table] of tables.entries()) {
            now.exec(`DELETE FROM ${table}`);
            for (const row of rows[i] ?? []) {
              const names = Object.keys(row).map((name) => `"${name}"`);
              now.exec(
                `INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => "?").join()})`,
                ...Object.values(row),
              );
            }
          }
        });
    });

  it("opens when a checkpoint is stuck and the same blocks are read again and again", async () => {
    const address = await pays();
    const putBack = await copy();
    chain.mine(Array.from({ length: PAYMENTS }, () => pay(address, 1n)));
    await poll();
    for (let round = 0; round < 12; round++) {
      await putBack();
      await poll();
    }
    expect(await operator()).toEqual([]);
    time.now += MIN;
    await putBack();
    await poll();
    await until(async () => expect(await states()).toEqual(["duplicate_spike local open"]));
    const [incident] = await operator();
    expect(incident).toMatchObject({ tenant_id: null, network: "local", runbook: "docs/runbook/duplicate_spike.md" });
    expect(Number(incident?.evidence.met_again)).toBeGreaterThan(10 * PAYMENTS);
    await later(14 * MIN);
    expect(await states()).toEqual(["duplicate_spike local open"]);
    await later(2 * MIN);
    expect(await states()).toEqual(["duplicate_spike local closed"]);
  });

  it("is none in a reorganisation that meets each payment once more, nor in a start on what is there", async () => {
    const address = await pays();
    const payments = Array.from({ length: PAYMENTS }, () => pay(address, 1n));
    chain.mine(payments);
    await poll();
    time.now += 20 * MIN;
    for (let times = 0; times < 2; times++) {
      chain.reorg(1 + times, payments, ...Array.from({ length: times + 1 }, () => []));
      await poll(2);
      time.now += 2 * MIN;
    }
    const again = await inScanner((_, sql) =>
      sql.exec("SELECT value FROM counters WHERE name = 'claims_met_again'").toArray(),
    );
    expect(Number(again[0]?.value)).toBeGreaterThanOrEqual(2 * PAYMENTS);
    expect(
      await runInDurableObject(monitor(), (_, { storage }) => storage.sql.exec("SELECT * FROM incidents").toArray()),
    ).toEqual([]);
  });
});

describe("provider_disagreement", () => {
  it("opens when two providers do not agree on a payout, and closes when it is long not seen again", async () => {
    await startPayouts(2);
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    nodes[1]?.on("eth_getTransactionReceipt", (_, honest) => {
      const receipt = honest() as Record<string, unknown> | null;
      return receipt && { ...receipt, status: "0x0" };
    });
    nodes[1]?.on("eth_getBlockReceipts", () => {
      throw new Error("not offered");
    });
    wallets.mine();
    chain.grow(20);
    await merchant.drive(2, MIN);
    expect(await operator()).toEqual([]);
    await merchant.drive(2, MIN);
    await until(async () => expect(await states()).toEqual(["provider_disagreement local open"]));
    expect((await operator())[0]?.evidence).toMatchObject({ seen_by: merchant.id, wallet: merchant.wallet });
    // It cannot be helped by the tenant, and is none of its.
    expect((await merchant.get<Page<unknown>>("/v1/incidents")).data).toEqual([]);
    nodes[1]?.on("eth_getTransactionReceipt", null);
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    await later(16 * MIN);
    expect(await states()).toEqual(["provider_disagreement local closed"]);
  });

  it("opens when a node stays on a fork that another node does not have", async () => {
    await startLine();
    const merchant = await Merchant.signUp();
    await merchant.watch(newAddress());
    chain.grow(40);
    await poll(2);
    const strayed = chain.fork(35);
    strayed.grow(60);
    await serveFrom(new ModelNode(strayed), node);
    for (let looks = 0; looks < 5; looks++) {
      await poll();
      time.now += MIN;
    }
    await until(async () => expect(await states()).toEqual(["provider_disagreement local open"]));
  });
});

describe("alarm_overdue", () => {
  it("opens when a scanner's alarm is lost, and closes when it has long fired again", async () => {
    await startLine();
    const merchant = await Merchant.signUp();
    await merchant.watch(newAddress());
    await poll();
    await cron();
    expect(await states()).toEqual([]);
    await inScanner((_, __, state) => state.storage.deleteAlarm());
    await cron();
    expect(await states()).toEqual(["alarm_overdue network:local open"]);
    expect((await operator())[0]?.evidence).toEqual({ alarm: "missing", due_at: null });
    for (let minute = 0; minute < 9; minute++) {
      await poll();
      await cron();
      await later(MIN);
    }
    expect(await states()).toEqual(["alarm_overdue network:local open"]);
    await poll();
    await later(2 * MIN);
    expect(await states()).toEqual(["alarm_overdue network:local closed"]);
  });

  it("does not open for one that is late once, as after a time in which the machine was away; twice it does", async () => {
    await startLine();
    const merchant = await Merchant.signUp();
    await merchant.watch(newAddress());
    await poll();
    time.now += 60 * MIN;
    await cron();
    expect(await states()).toEqual([]);
    await poll();
    await later(11 * MIN);
    await poll();
    expect(
      await runInDurableObject(monitor(), (_, { storage }) => storage.sql.exec("SELECT * FROM incidents").toArray()),
    ).toEqual([]);
    for (let looks = 0; looks < 2; looks++) {
      time.now += MIN;
      await cron();
    }
    expect(await states()).toEqual(["alarm_overdue network:local open"]);
  });

  it("opens when the alarm of a tenant with a withdrawal under way is lost", async () => {
    await startPayouts();
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    await runInDurableObject(merchant.stub, (_, state) => state.storage.deleteAlarm());
    await merchant.evict();
    time.now += 10 * MIN;
    await poll();
    await cron();
    expect(await states()).toContain(`alarm_overdue tenant:${merchant.id} open`);
    // Cron has woken it.
    wallets.mine();
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
  });

  it("opens when the alarm of an endpoint with something to send is lost", async () => {
    await startLine();
    vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("", { status: 500 }));
    const merchant = await Merchant.signUp();
    const { WEBHOOK_ENDPOINT } = env as unknown as Env;
    const body = { url: "https://hook.example/a" };
    const { id } = (await (await merchant.call("POST", "/v1/webhook-endpoints", { body })).json()) as { id: string };
    const stub = WEBHOOK_ENDPOINT.get(WEBHOOK_ENDPOINT.idFromName(id));
    const withTime = () =>
      runInDurableObject(stub, (object) => {
        (object as unknown as { clock: () => number }).clock = () => time.now;
      });
    await withTime();
    expect((await merchant.call("POST", `/v1/webhook-endpoints/${id}/test`)).ok).toBe(true);
    const attempts = () =>
      runInDurableObject(stub, (_, { storage }) => storage.sql.exec("SELECT * FROM attempts").toArray().length);
    await until(async () => expect(await attempts()).toBe(1));
    time.now += MIN;
    await withTime();
    await runInDurableObject(stub, (object) => (object as unknown as { alarm(): Promise<void> }).alarm());
    await until(async () => expect(await attempts()).toBe(2));
    // Its lease is over: what is left is a long wait, which cron knows of.
    time.now += MIN;
    await until(async () => {
      await withTime();
      await runInDurableObject(stub, (object) => (object as unknown as { alarm(): Promise<void> }).alarm());
      const { results } = await (env as unknown as Env).DB.prepare(
        "SELECT * FROM endpoint_waits WHERE endpoint_id = ?1",
      )
        .bind(id)
        .all();
      expect(results).toHaveLength(1);
    });
    await runInDurableObject(stub, (_, { storage }) => storage.deleteAlarm());
    await evictDurableObject(stub);
    await withTime();
    time.now += 20 * MIN;
    await cron();
    expect(await states()).toContain(`alarm_overdue endpoint:${id} open`);
    await until(async () => expect(await attempts()).toBe(3));
  });
});

describe("the operator's list", () => {
  const incident = (n: number, more: Partial<Incident> = {}): Incident => ({
    id: `inc_${String(n).padStart(26, "0")}`,
    kind: "wallet_short",
    subject: `local/0x${n}`,
    tenantId: `ten_${n}`,
    network: "local",
    openedAt: 1_800_000_000_000 + n,
    closedAt: null,
    summary: "It is short.",
    evidence: { n },
    ...more,
  });

  it("is paged newest first, each once, and repeats and late news change nothing", async () => {
    await monitor().incidents([1, 2, 3, 4, 5].map((n) => incident(n)));
    const closed = incident(2, { closedAt: 1_800_000_100_000 });
    await monitor().incidents([closed, incident(1)]);
    await monitor().incidents([incident(2), closed, incident(3)]);
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const path: string = `/v1/operator/incidents?limit=2${cursor && `&cursor=${cursor}`}`;
      const response = await call("GET", path, { key: OPERATOR_TOKEN });
      const page = (await response.json()) as Page<OperatorIncidentView>;
      seen.push(...page.data.map(({ subject, status }) => `${subject} ${status}`));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual([5, 4, 3, 2, 1].map((n) => `local/0x${n} ${n === 2 ? "closed" : "open"}`));
    expect(await operator("?status=closed")).toHaveLength(1);
    expect(await operator("?tenant_id=ten_4")).toHaveLength(1);
    expect(await operator("?kind=endpoint_dead")).toEqual([]);
    expect((await call("GET", "/v1/operator/incidents?cursor=x", { key: OPERATOR_TOKEN })).status).toBe(400);
    expect((await call("GET", "/v1/operator/incidents?kind=none", { key: OPERATOR_TOKEN })).status).toBe(422);
  });
});

it("the monitor finds its alarm lost when it starts, and sets it", async () => {
  time.now = Date.now();
  await takeTime();
  const late = { kind: "alarm_overdue", subject: "tenant:t", network: null, summary: "Late.", evidence: {} } as const;
  await monitor().saw([{ ...late, state: "ill", isCertain: true }]);
  const alarm = () => runInDurableObject(monitor(), (_, { storage }) => storage.getAlarm());
  const before = await alarm();
  await runInDurableObject(monitor(), (_, { storage }) => storage.deleteAlarm());
  await evictDurableObject(monitor());
  expect([before === null, await alarm()]).toEqual([false, before]);
});

describe("the operator's webhook", () => {
  interface Got {
    readonly url: string;
    readonly headers: Headers;
    readonly body: string;
    readonly told: { id: string; type: string; data: OperatorIncidentView };
  }
  let got: Got[];
  let answer: () => Response | Promise<Response>;

  async function switchOn(): Promise<void> {
    await takeTime();
    await runInDurableObject(monitor(), (object) => {
      const operatorWebhook = { url: "https://ops.example/hook", secret: SECRET };
      Object.assign(readSettings((object as unknown as { env: Env }).env), { operatorWebhook });
    });
  }

  beforeEach(async () => {
    time.now = Date.now();
    await switchOn();
    got = [];
    answer = () => new Response("ok");
    vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
      const body = new TextDecoder().decode(init?.body as Uint8Array);
      got.push({ url: String(url), headers: new Headers(init?.headers), body, told: JSON.parse(body) });
      return answer();
    });
  });

  const ill: Sighting = {
    kind: "network_halted",
    subject: "local",
    network: "local",
    state: "ill",
    isCertain: true,
    summary: "It is halted.",
    evidence: { reason: "deep" },
  };
  const fire = () => runDurableObjectAlarm(monitor());

  it("is told of each opening and each closing, signed as merchants' webhooks are", async () => {
    await monitor().saw([ill]);
    await fire();
    await monitor().saw([ill]);
    await fire();
    expect(got.map(({ url, told }) => `${url} ${told.type}`)).toEqual(["https://ops.example/hook incident.opened"]);
    await monitor().saw([{ ...ill, state: "well" }]);
    await fire();
    expect(got.map(({ told }) => told.type)).toEqual(["incident.opened", "incident.closed"]);
    const [incident] = await operator();
    expect(got[1]?.told.data).toEqual(incident);
    for (const { headers, body, told } of got) {
      expect(headers.get("webhook-id")).toBe(told.id);
      const timestampS = Number(headers.get("webhook-timestamp"));
      const message = { id: told.id, timestampS, body: new TextEncoder().encode(body) };
      expect(timestampS).toBe(Math.floor(time.now / 1_000));
      expect(headers.get("webhook-signature")).toBe(await signatureHeader([{ scheme: "v1", secret: SECRET }], message));
    }
  });

  it("is called again after a failure, with the same id and bytes, and in order", async () => {
    answer = () => new Response("", { status: 410 });
    await monitor().saw([ill]);
    await fire();
    await monitor().saw([{ ...ill, state: "well" }]);
    await fire();
    expect(got).toHaveLength(1);
    answer = () => new Response("ok");
    time.now += 4_000;
    await fire();
    expect(got).toHaveLength(1);
    time.now += 1_000;
    await fire();
    await fire();
    expect(got.map(({ told }) => told.type)).toEqual(["incident.opened", "incident.opened", "incident.closed"]);
    expect(got[1]?.body).toBe(got[0]?.body);
    time.now += 600_000;
    await fire();
    expect(got).toHaveLength(3);
  });

  it("is not lost with an object that ends while the call is on its way", async () => {
    answer = () => new Promise<Response>(() => {});
    await monitor().saw([ill]);
    void fire().catch(() => {});
    await until(() => expect(got).toHaveLength(1));
    await runInDurableObject(monitor(), (_, state) => state.abort("the machine is gone")).catch(() => {});
    await switchOn();
    answer = () => new Response("ok");
    const alarm = await runInDurableObject(monitor(), (_, { storage }) => storage.getAlarm());
    expect(alarm).not.toBeNull();
    time.now = Math.max(time.now, alarm ?? 0);
    await fire();
    expect(got.map(({ told }) => told.id)).toEqual([got[0]?.told.id, got[0]?.told.id]);
  });

  it("is given up visibly after its last attempt, and keeps nothing of the secret in rows or logs", async () => {
    const said: string[] = [];
    for (const method of ["warn", "error"] as const)
      vi.spyOn(console, method).mockImplementation((...texts) => void said.push(String(texts)));
    answer = () => new Response("", { status: 500 });
    await monitor().saw([ill]);
    for (let day = 0; day < 12; day++) {
      await fire();
      time.now += 24 * 60 * MIN;
    }
    expect(got).toHaveLength(10);
    const rows = await runInDurableObject(monitor(), (_, { storage }) =>
      storage.sql.exec("SELECT * FROM calls").toArray(),
    );
    expect(rows).toMatchObject([{ status: "given_up", failures: 10 }]);
    expect(said.join()).toContain("given_up");
    expect(said.join() + JSON.stringify(rows)).not.toContain(SECRET.slice(6, 20));
  });

  it("is not called where none is set", async () => {
    await runInDurableObject(monitor(), (object) => {
      Object.assign(readSettings((object as unknown as { env: Env }).env), { operatorWebhook: null });
    });
    await monitor().saw([ill]);
    expect(
      await runInDurableObject(monitor(), (_, { storage }) => storage.sql.exec("SELECT * FROM calls").toArray()),
    ).toEqual([]);
    await fire();
    expect(got).toEqual([]);
  });
});
