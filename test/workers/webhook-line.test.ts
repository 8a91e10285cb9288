/**
 * Webhook endpoints through the API, with the tenant's and the endpoints' own objects behind it: what is shown and
 * what is not, what the owner is told, and what is sent again. The merchants' receivers are scripts in place of fetch.
 */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DeliveryView, EndpointView, EventView, Page } from "../../src/core/views.ts";
import type { Env } from "../../src/env.ts";
import { Tenant, WebhookEndpoint } from "../../src/index.ts";
import type { EndpointState } from "../../src/objects/api.ts";
import { Merchant, quiet, startLine } from "./line.ts";

const { WEBHOOK_ENDPOINT } = env as unknown as Env;
const PATH = "/v1/webhook-endpoints";

interface Got {
  readonly url: string;
  readonly id: string;
  readonly body: string;
  readonly event: EventView;
}

let merchant: Merchant;
let got: Got[];
let answer: (one: Got) => Response;
const opened: string[] = [];

beforeEach(async () => {
  await startLine();
  merchant = await Merchant.signUp();
  got = [];
  answer = () => new Response("ok");
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    const body = new TextDecoder().decode(init?.body as Uint8Array);
    const id = new Headers(init?.headers).get("webhook-id") ?? "";
    const one = { url: String(url), id, body, event: JSON.parse(body) as EventView };
    got.push(one);
    return answer(one);
  });
});
afterEach(async () => {
  // What one still has to send would reach the next test's receiver.
  for (const id of opened.splice(0)) await stubOf(id).close();
  vi.restoreAllMocks();
});

const until = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { interval: 15, timeout: 10_000 });
const stubOf = (id: string) =>
  WEBHOOK_ENDPOINT.get(WEBHOOK_ENDPOINT.idFromName(id)) as unknown as DurableObjectStub<WebhookEndpoint>;

async function open(body: object = {}, headers: Record<string, string> = {}): Promise<EndpointView> {
  const response = await merchant.call("POST", PATH, { body: { url: "https://hook.example/a", ...body }, headers });
  expect(response.status).toBe(201);
  const endpoint = (await response.json()) as EndpointView;
  opened.push(endpoint.id);
  return endpoint;
}

async function post<T>(path: string, body?: object, headers: Record<string, string> = {}): Promise<T> {
  const response = await merchant.call("POST", path, { headers, ...(body === undefined ? {} : { body }) });
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

const shown = (id: string) => merchant.get<EndpointView>(`${PATH}/${id}`);
const deliveries = async (id: string, query = "") =>
  (await merchant.get<Page<DeliveryView>>(`${PATH}/${id}/deliveries${query}`)).data;
const eventsOf = async (type: string) => (await merchant.events()).filter((event) => event.type === type);

describe("a secret", () => {
  it("is in the answers that made it and in no other, and in no row of the tenant's", async () => {
    const headers = { "Idempotency-Key": "create" };
    const { secret: first, ...made } = await open({}, headers);
    expect(first).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(made).toMatchObject({ signature: "v1", public_key: null, api_version: "2026-11-01" });
    const turn = { "Idempotency-Key": "rotate" };
    const { secret: second, ...rotated } = await post<EndpointView>(`${PATH}/${made.id}/rotate-secret`, {}, turn);
    expect(second).toMatch(/^whsec_/);
    expect(second).not.toBe(first);
    expect(rotated).toEqual(made);

    expect(await open({}, headers)).toEqual(made);
    expect(await post(`${PATH}/${made.id}/rotate-secret`, {}, turn)).toEqual(made);
    expect(await shown(made.id)).toEqual(made);
    expect((await merchant.get<Page<EndpointView>>(PATH)).data).toEqual([made]);
    await post(`${PATH}/${made.id}/disable`);
    const all = await merchant.inside((_, sql) => {
      const tables = sql.exec("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
      const own = tables.map(({ name }) => String(name)).filter((name) => !name.startsWith("_cf_"));
      return JSON.stringify(own.map((name) => sql.exec(`SELECT * FROM "${name}"`).toArray()));
    });
    expect(all).toContain(made.id);
    for (const secret of [first, second]) expect(all).not.toContain(secret?.slice("whsec_".length));
  });

  it("with v1a there is none: the public key is shown, always the newest", async () => {
    const headers = { "Idempotency-Key": "create" };
    const made = await open({ signature: "v1a" }, headers);
    expect(made).not.toHaveProperty("secret");
    expect(made).toMatchObject({ signature: "v1a", public_key: expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/) });
    expect(await open({ signature: "v1a" }, headers)).toEqual(made);
    const rotated = await post<EndpointView>(`${PATH}/${made.id}/rotate-secret`);
    expect(rotated).toEqual({ ...made, public_key: rotated.public_key });
    expect(rotated.public_key).not.toBe(made.public_key);
    expect(await shown(made.id)).toEqual(rotated);
  });

  it("with v1a the key is shown also when the answer to its rotation was lost", async () => {
    quiet("error");
    const made = await open({ signature: "v1a" });
    // The object rotates, and whoever asked hears nothing of it.
    const { state } = (await stubOf(made.id).rotateSecret(60, "lost")) as { state: EndpointState };
    expect(state.publicKey).not.toBe(made.public_key);
    await until(async () => expect((await shown(made.id)).public_key).toBe(state.publicKey));
  });
});

describe("an endpoint that is disabled (B139)", () => {
  it("by its 410 is shown so, and its owner is told once: by the feed and by other endpoints", async () => {
    const [gone, other] = [await open({ url: "https://gone.example/a" }), await open()];
    answer = (one) => new Response(null, { status: one.url.includes("gone") ? 410 : 200 });
    await post(`${PATH}/${gone.id}/test`);
    await until(async () =>
      expect(await shown(gone.id)).toMatchObject({ status: "disabled", disabled_reason: "gone" }),
    );
    const disabled = await shown(gone.id);
    expect(Date.parse(disabled.disabled_at ?? "")).toBeGreaterThan(0);
    const [event, ...more] = await eventsOf("endpoint.disabled");
    expect(more).toEqual([]);
    const { id: _, secret: __, ...rest } = disabled;
    expect(event).toMatchObject({ subject: `endpoint:${gone.id}`, data: { ...rest, id: gone.id } });
    expect(JSON.stringify(event)).not.toContain("whsec_");
    await until(() => expect(got.map((one) => one.id)).toContain(event?.id));
    const toOther = got.filter((one) => one.id === event?.id);
    expect(toOther.map((one) => one.url)).toEqual([other.url]);

    // Told again, or late: nothing is written twice, and what holds by now stays.
    const state: EndpointState = {
      revision: 2,
      status: "disabled",
      disabledReason: "gone",
      disabledAt: Date.parse(disabled.disabled_at ?? ""),
      failingSince: null,
      publicKey: null,
    };
    await merchant.stub.endpointStatus(gone.id, state);
    answer = () => new Response();
    const enabled = await post<EndpointView>(`${PATH}/${gone.id}/enable`);
    expect(enabled).toMatchObject({ status: "enabled", disabled_reason: null, disabled_at: null });
    await merchant.stub.endpointStatus(gone.id, state);
    expect(await shown(gone.id)).toEqual(enabled);
    expect(await eventsOf("endpoint.disabled")).toEqual([event]);
    // What waited for it is there now: the test, then the news of itself.
    await until(async () => expect(await deliveries(gone.id, "?status=pending")).toEqual([]));
    const own = got
      .filter((one) => one.url === gone.url && !one.event.type.startsWith("incident."))
      .map((one) => one.event.type);
    expect(own).toEqual(["webhook.test", "webhook.test", "endpoint.disabled"]);
  });

  it("by its owner says so; a second time is a second event, the same time is not", async () => {
    const endpoint = await open();
    for (const times of [1, 2]) {
      const disabled = await post<EndpointView>(`${PATH}/${endpoint.id}/disable`);
      expect(disabled).toMatchObject({ status: "disabled", disabled_reason: "by_request" });
      expect(await post(`${PATH}/${endpoint.id}/disable`)).toEqual(disabled);
      expect(await eventsOf("endpoint.disabled")).toHaveLength(times);
      expect(await post(`${PATH}/${endpoint.id}/enable`)).toMatchObject({ status: "enabled", disabled_reason: null });
    }
    await until(() => expect(got.map((one) => one.event.type)).toEqual(Array(2).fill("endpoint.disabled")));
  });

  it("is told to its owner though the news came after it was enabled again", async () => {
    const endpoint = await open();
    const news: EndpointState = {
      revision: 2,
      status: "disabled",
      disabledReason: "failing",
      disabledAt: 1_800_000_000_000,
      failingSince: null,
      publicKey: null,
    };
    await merchant.stub.endpointStatus(endpoint.id, { ...news, revision: 3, status: "enabled", disabledAt: null });
    await merchant.stub.endpointStatus(endpoint.id, news);
    await merchant.stub.endpointStatus(endpoint.id, news);
    expect((await shown(endpoint.id)).status).toBe("enabled");
    const events = await eventsOf("endpoint.disabled");
    expect(events.map(({ data }) => (data as EndpointView).disabled_reason)).toEqual(["failing"]);
  });
});

describe("events", () => {
  it("go by the filter that holds when they happen: PATCH changes it", async () => {
    const endpoint = await open({ events: ["webhook.test"] });
    const victim = await open({ url: "https://victim.example/a", events: ["webhook.test"] });
    await post(`${PATH}/${victim.id}/disable`);
    await post(`${PATH}/${endpoint.id}/test`);
    await until(() => expect(got).toHaveLength(1));
    expect((await merchant.call("PATCH", `${PATH}/${endpoint.id}`, { body: { events: null } })).status).toBe(200);
    await post(`${PATH}/${victim.id}/enable`);
    await post(`${PATH}/${victim.id}/disable`);
    await until(() => expect(got).toHaveLength(2));
    expect(got.map((one) => one.event.type)).toEqual(["webhook.test", "endpoint.disabled"]);
    expect(got[1]?.event.sequence).toBe(3);
  });

  it("go to a changed URL, whichever of two changes at once came last", async () => {
    const endpoint = await open();
    const patch = (url: string) => merchant.call("PATCH", `${PATH}/${endpoint.id}`, { body: { url } });
    await Promise.all(["https://hook.example/b", "https://hook.example/c"].map(patch));
    const { url } = await shown(endpoint.id);
    await post(`${PATH}/${endpoint.id}/test`);
    await until(() => expect(got.map((one) => one.url)).toEqual([url]));
  });

  it("are replayed from a sequence and from a time with their ids and bytes", async () => {
    const endpoint = await open();
    const clock = (at: number) =>
      merchant.inside((object) => {
        object.clock = () => at;
      });
    const base = Date.now() + 1_000;
    for (const at of [0, 60_000, 120_000]) {
      await clock(base + at);
      await post(`${PATH}/${endpoint.id}/disable`);
      await post(`${PATH}/${endpoint.id}/enable`);
    }
    await until(() => expect(got).toHaveLength(3));
    const handed = () => merchant.inside((_, sql) => sql.exec("SELECT handed_to FROM endpoints").one().handed_to);
    await until(async () => expect(await handed()).toBe(3));
    const sent = got.map((one) => [one.id, one.body]);
    expect(await post(`${PATH}/${endpoint.id}/replay`, { after_sequence: 1 })).toEqual({
      from_sequence: 2,
      to_sequence: 3,
    });
    await until(() => expect(got).toHaveLength(5));
    const since = new Date(base + 60_001).toISOString();
    expect(await post(`${PATH}/${endpoint.id}/replay`, { since })).toEqual({ from_sequence: 3, to_sequence: 3 });
    await until(() => expect(got).toHaveLength(6));
    expect(got.slice(3).map((one) => [one.id, one.body])).toEqual([sent[1], sent[2], sent[2]]);
    expect(new Set(got.map((one) => one.body)).size).toBe(3);

    // What was never handed over is not replayed: its first delivery is still to come, after those before it.
    await merchant.inside((_, sql) => sql.exec("UPDATE endpoints SET handed_to = 1"));
    const early = await post(`${PATH}/${endpoint.id}/replay`, { after_sequence: 0 });
    expect(early).toEqual({ from_sequence: 1, to_sequence: 1 });
  });

  it("have the version that the endpoint is pinned to; one that cannot be rendered waits and is reported", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    const [pinned, newest] = [await open({ url: "https://old.example/a" }), await open()];
    await merchant.inside((_, sql) =>
      sql.exec("UPDATE endpoints SET api_version = '2020-01-01' WHERE id = ?", pinned.id),
    );
    expect((await shown(pinned.id)).api_version).toBe("2020-01-01");
    await post(`${PATH}/${newest.id}/disable`);
    await post(`${PATH}/${newest.id}/enable`);
    await until(() => expect(got.map((one) => one.url)).toEqual([newest.url]));
    expect(got[0]?.event.api_version).toBe("2026-11-01");
    expect(String(warned.mock.calls)).toContain("no event has the API version 2020-01-01");
    await merchant.inside((_, sql) => sql.exec("UPDATE endpoints SET api_version = '2026-11-01'"));
    await merchant.inside((object) => object.alarm());
    await until(() => expect(got.map((one) => one.url)).toEqual([newest.url, pinned.url]));
  });
});

describe("a delivery", () => {
  it("says of each attempt what came and what was wrong", async () => {
    const endpoint = await open();
    answer = () => new Response("x".repeat(2_000), { status: 503 });
    await post(`${PATH}/${endpoint.id}/test`);
    await until(async () => expect((await deliveries(endpoint.id))[0]?.attempts).toHaveLength(1));
    const [delivery] = await deliveries(endpoint.id, "?status=pending");
    expect(delivery?.attempts[0]).toMatchObject({
      status: 503,
      outcome: "http_error",
      duration_ms: expect.any(Number),
      response: "x".repeat(1_024),
      error: "Answered 503; expected 2xx.",
    });
  });

  it("is sent again once for one Idempotency-Key, with its id and its bytes", async () => {
    const endpoint = await open();
    await post(`${PATH}/${endpoint.id}/test`);
    await until(async () => expect(await deliveries(endpoint.id, "?status=delivered")).toHaveLength(1));
    const [first] = await deliveries(endpoint.id);
    const path = `${PATH}/${endpoint.id}/deliveries/${first?.id}/resend`;
    const headers = { "Idempotency-Key": "again" };
    const sent = await merchant.call("POST", path, { headers });
    expect([sent.status, sent.headers.get("idempotent-replayed")]).toEqual([202, null]);
    const { id, event_id } = (await sent.json()) as DeliveryView;
    expect([id === first?.id, event_id]).toEqual([false, first?.event_id]);
    await until(async () => expect(await deliveries(endpoint.id, "?status=delivered")).toHaveLength(2));

    const replayed = await merchant.call("POST", path, { headers });
    expect([replayed.status, replayed.headers.get("idempotent-replayed")]).toEqual([202, "true"]);
    expect(await replayed.json()).toMatchObject({ id, status: "delivered" });
    const used = await merchant.call("POST", `${PATH}/${endpoint.id}/deliveries/${id}/resend`, { headers });
    expect([used.status, ((await used.json()) as { code: string }).code]).toEqual([422, "idempotency_key_reused"]);
    expect(got.map((one) => one.body)).toEqual(Array(2).fill(got[0]?.body));
  });

  it("of another endpoint, or none, is not found", async () => {
    const [one, other] = [await open(), await open()];
    await post(`${PATH}/${one.id}/test`);
    await until(async () => expect(await deliveries(one.id, "?status=delivered")).toHaveLength(1));
    const [delivery] = await deliveries(one.id);
    for (const [endpoint, id] of [
      [other.id, delivery?.id],
      [one.id, `del_${"0".repeat(26)}`],
      [one.id, "del_x"],
      [one.id, one.id],
    ]) {
      expect((await merchant.call("POST", `${PATH}/${endpoint}/deliveries/${id}/resend`)).status).toBe(404);
    }
    expect(got).toHaveLength(1);
  });
});

it("an endpoint's object keeps what it was told when its tenant could not be: it tells again", async () => {
  quiet("error", "warn");
  const endpoint = await open();
  const state = await runInDurableObject(stubOf(endpoint.id), (object) => object.disable());
  await until(async () => expect((await shown(endpoint.id)).status).toBe("disabled"));
  expect(await shown(endpoint.id)).toMatchObject({ disabled_reason: state.disabledReason });
  expect(await eventsOf("endpoint.disabled")).toHaveLength(1);
});

it("an endpoint that is enabled before its owner heard that it was disabled is told of all the same", async () => {
  quiet("error", "warn");
  const endpoint = await open();
  answer = () => new Response(null, { status: 410 });
  vi.spyOn(Tenant.prototype, "endpointStatus").mockRejectedValue(new Error("gone away"));
  await post(`${PATH}/${endpoint.id}/test`);
  await until(() => expect(Tenant.prototype.endpointStatus).toHaveBeenCalled());
  answer = () => new Response();
  expect(await post(`${PATH}/${endpoint.id}/enable`)).toMatchObject({ status: "enabled" });
  const events = await eventsOf("endpoint.disabled");
  expect(events.map(({ data }) => (data as EndpointView).disabled_reason)).toEqual(["gone"]);
  await until(() => expect(got.map((one) => one.id)).toContain(events[0]?.id));
});

const idOf = (object: WebhookEndpoint) => (object as unknown as { ctx: DurableObjectState }).ctx.id.name;

/** Holds the next call that hands events to an endpoint's object. */
function holdHandOff(): { readonly taken: () => number; readonly release: () => void } {
  const enqueue = WebhookEndpoint.prototype.enqueue;
  let taken = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  vi.spyOn(WebhookEndpoint.prototype, "enqueue").mockImplementationOnce(async function (
    this: WebhookEndpoint,
    ...args
  ) {
    taken++;
    await released;
    return enqueue.apply(this, args);
  });
  return { taken: () => taken, release };
}

describe("a change while events are being handed over", () => {
  it("of the filter holds for what happens after it", async () => {
    const endpoint = await open({ events: ["endpoint.disabled"] });
    const victim = await open({ url: "https://victim.example/a", events: ["deposit.confirmed"] });
    const held = holdHandOff();
    await post(`${PATH}/${victim.id}/disable`);
    await until(() => expect(held.taken()).toBe(1));
    const none = { body: { events: ["deposit.confirmed"] } };
    expect((await merchant.call("PATCH", `${PATH}/${endpoint.id}`, none)).status).toBe(200);
    await post(`${PATH}/${victim.id}/enable`);
    await post(`${PATH}/${victim.id}/disable`);
    held.release();
    const handed = () => merchant.inside((_, sql) => sql.exec("SELECT min(handed_to) AS n FROM endpoints").one().n);
    await until(async () => expect(await handed()).toBe(2));
    await until(async () => expect(await deliveries(endpoint.id, "?status=pending")).toEqual([]));
    expect(got.map((one) => one.event.sequence)).toEqual([1]);
  });

  it("does not let a test event overtake what its subject had before", async () => {
    const endpoint = await open({ events: ["endpoint.disabled"] });
    const held = holdHandOff();
    await post(`${PATH}/${endpoint.id}/disable`);
    await until(() => expect(held.taken()).toBe(1));
    await post(`${PATH}/${endpoint.id}/enable`);
    const test = post(`${PATH}/${endpoint.id}/test`);
    await until(async () => expect(await eventsOf("webhook.test")).toHaveLength(1));
    held.release();
    await test;
    await until(() => expect(got).toHaveLength(2));
    expect(got.map((one) => one.event.subject_sequence)).toEqual([1, 2]);
  });

  it("loses no test event when the endpoint's object does not answer, and gives it to no other", async () => {
    quiet("warn", "error");
    const endpoint = await open();
    const other = await open({ url: "https://other.example/a", events: ["webhook.test"] });
    vi.spyOn(WebhookEndpoint.prototype, "enqueue").mockRejectedValueOnce(new Error("gone away"));
    await merchant.call("POST", `${PATH}/${endpoint.id}/test`);
    await merchant.inside((object) => object.alarm());
    await until(() => expect(got.map((one) => one.url)).toEqual([endpoint.url]));
    const handed = () => merchant.inside((_, sql) => sql.exec("SELECT min(handed_to) AS n FROM endpoints").one().n);
    await until(async () => expect(await handed()).toBe(1));
    expect(await deliveries(other.id)).toEqual([]);
  });
});

describe("a call whose other half broke", () => {
  it("PATCH of the URL reaches the endpoint's object in the end", async () => {
    quiet("warn", "error");
    const endpoint = await open();
    vi.spyOn(WebhookEndpoint.prototype, "configure").mockRejectedValueOnce(new Error("gone away"));
    const body = { url: "https://new.example/a" };
    expect((await merchant.call("PATCH", `${PATH}/${endpoint.id}`, { body })).ok).toBe(false);
    expect((await shown(endpoint.id)).url).toBe(body.url);
    await merchant.inside((object) => object.alarm());
    await post(`${PATH}/${endpoint.id}/test`);
    await until(() => expect(got.map((one) => one.url)).toEqual([body.url]));
  });

  it("DELETE keeps no other endpoint from being deleted", async () => {
    quiet("warn", "error");
    const [broken, endpoint] = [await open(), await open()];
    const close = WebhookEndpoint.prototype.close;
    let isBroken = true;
    vi.spyOn(WebhookEndpoint.prototype, "close").mockImplementation(async function (this: WebhookEndpoint) {
      if (isBroken && idOf(this) === broken.id) throw new Error("gone away");
      return close.call(this);
    });
    expect((await merchant.call("DELETE", `${PATH}/${broken.id}`)).ok).toBe(false);
    expect((await merchant.call("DELETE", `${PATH}/${endpoint.id}`)).status).toBe(204);
    isBroken = false;
    await merchant.inside((object) => object.alarm());
    const tables = await runInDurableObject(stubOf(broken.id), (_, state) =>
      state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'endpoint'").toArray(),
    );
    expect(tables).toEqual([]);
  });
});

it("an endpoint's object that hangs when it is deleted holds up no events of others", async () => {
  quiet("warn", "error");
  const [hanging, endpoint] = [await open(), await open({ url: "https://well.example/a" })];
  vi.spyOn(WebhookEndpoint.prototype, "close").mockImplementationOnce(() => new Promise(() => {}));
  await merchant.inside((_, sql) =>
    sql.exec("UPDATE endpoints SET deleted_at = 1, close_pending = 1 WHERE id = ?", hanging.id),
  );
  const followUp = merchant.inside((object) => object.alarm());
  await until(() => expect(WebhookEndpoint.prototype.close).toHaveBeenCalledTimes(1));
  await post(`${PATH}/${endpoint.id}/test`);
  await vi.waitFor(() => expect(got.map((one) => one.url)).toEqual([endpoint.url]), { interval: 50, timeout: 14_000 });
  await followUp;
  await until(() => expect(WebhookEndpoint.prototype.close).toHaveBeenCalledTimes(2));
}, 30_000);

it("a repeated enable or disable with its key changes nothing any more", async () => {
  const endpoint = await open();
  const call = (what: string, key: string) =>
    merchant.call("POST", `${PATH}/${endpoint.id}/${what}`, { headers: { "Idempotency-Key": key } });
  expect((await call("disable", "a")).headers.get("Idempotent-Replayed")).toBeNull();
  expect((await call("enable", "b")).status).toBe(200);
  const again = await call("disable", "a");
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(await again.json()).toMatchObject({ status: "enabled" });
  await call("disable", "c");
  expect(await (await call("enable", "b")).json()).toMatchObject({ status: "disabled" });
  expect((await call("enable", "c")).status).toBe(422);
  expect(await eventsOf("endpoint.disabled")).toHaveLength(2);
});

it("fifty endpoints are the most, also when many are made at once", async () => {
  for (let i = 0; i < 48; i++) await open();
  const make = () => merchant.call("POST", PATH, { body: { url: "https://hook.example/a" } });
  const statuses = (await Promise.all(Array.from({ length: 5 }, make))).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([201, 201, 409, 409, 409]);
  expect((await merchant.get<Page<EndpointView>>(`${PATH}?limit=200`)).data).toHaveLength(50);
});
