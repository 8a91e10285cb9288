/** Where webhooks may go, with a resolver set: asked at registration, and again at each attempt. */

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { DeliveryView, EndpointView, Page } from "../../src/core/views.ts";
import { type Env, readSettings, type Settings } from "../../src/env.ts";
import type { WebhookEndpoint } from "../../src/index.ts";
import { a, aaaa, asked, dnsAnswer, type Zone } from "../support/dns.ts";
import { DAY_MS, Merchant, startLine } from "./line.ts";

const RESOLVER = "https://doh.test/dns-query";
const GOOD: Zone = { A: [a("93.184.216.34")], AAAA: [aaaa(0x2606, 0x4700, 0, 0, 0, 0, 0, 0x1111)] };
const BAD: Zone = { A: [a("93.0.0.1")], AAAA: [aaaa(0, 0, 0, 0, 0, 0, 0, 1)] };
const SERVFAIL: Zone = { code: 2 };

let merchant: Merchant;
/** What the resolver says now, by name; a name that is not there does not exist. */
let zones: Record<string, Zone>;
let names: string[];
let delivered: string[];
/** Runs while the resolver is asked. */
let meanwhile: () => Promise<unknown>;

beforeEach(async () => {
  await startLine();
  merchant = await Merchant.signUp();
  zones = { "hook.example": GOOD };
  names = [];
  delivered = [];
  meanwhile = async () => {};
  await merchant.inside((object) => useResolver(object));
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    if (String(input) !== RESOLVER) {
      delivered.push(String(input));
      return new Response("ok");
    }
    const query = init?.body as Uint8Array;
    const { name } = asked(query);
    names.push(name);
    await meanwhile();
    const headers = { "content-type": "application/dns-message" };
    return new Response(dnsAnswer(query, zones[name] ?? { code: 3 }), { headers });
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

function useResolver(object: object): void {
  const settings = readSettings((object as { env: Env }).env) as { -readonly [K in keyof Settings]: Settings[K] };
  settings.dnsResolver = RESOLVER;
  settings.allowLocalWebhooks = false;
}

const create = (host: string, headers: Record<string, string> = {}) =>
  merchant.call("POST", "/v1/webhook-endpoints", { body: { url: `https://${host}/in` }, headers });
const list = async () => (await merchant.get<Page<EndpointView>>("/v1/webhook-endpoints")).data;
const refusal = async (response: Response) => {
  const { code, detail } = (await response.json()) as { code: string; detail: string };
  return `${response.status} ${code}: ${detail}`;
};

describe("at registration", () => {
  it("a name with good addresses is taken", async () => {
    expect((await create("hook.example")).status).toBe(201);
    expect(names).toEqual(["hook.example", "hook.example"]);
  });

  it("one bad address among good ones refuses, and nothing is left behind (B116)", async () => {
    zones["bad.example"] = BAD;
    expect(await refusal(await create("bad.example"))).toBe(
      '422 invalid_webhook_target: The target is refused: "bad.example" has the address 0:0:0:0:0:0:0:1, which is not on the public internet.',
    );
    expect(await list()).toEqual([]);
  });

  it("a name that does not exist is refused", async () => {
    expect(await refusal(await create("gone.example"))).toBe(
      '422 invalid_webhook_target: The target is refused: "gone.example" has no address in the DNS.',
    );
  });

  it("without an answer it is 503, and the same request succeeds later", async () => {
    const same = { "Idempotency-Key": "one" };
    zones["hook.example"] = SERVFAIL;
    const refused = await create("hook.example", same);
    expect(refused.headers.get("Retry-After")).toBe("5");
    expect(await refusal(refused)).toMatch(/^503 store_unavailable: .*SERVFAIL/);
    expect(await list()).toEqual([]);
    zones["hook.example"] = GOOD;
    expect((await create("hook.example", same)).status).toBe(201);
    expect(await list()).toHaveLength(1);
  });

  it("the same request twice at once makes one endpoint", async () => {
    const same = { "Idempotency-Key": "two" };
    const [one, two] = await Promise.all([create("hook.example", same), create("hook.example", same)]);
    expect([one.status, two.status]).toEqual([201, 201]);
    const ids = await Promise.all([one, two].map(async (response) => ((await response.json()) as EndpointView).id));
    expect(new Set(ids).size).toBe(1);
    expect(await list()).toHaveLength(1);
  });

  it("forms that are refused are not looked up (B115)", async () => {
    for (const host of ["2130706433", "[::ffff:10.0.0.1]", "localhost.", "user:pw@hook.example", "hook.example:22"]) {
      expect((await create(host)).status).toBe(422);
    }
    expect(names).toEqual([]);
  });
});

describe("at a change", () => {
  const made = async () => ((await (await create("hook.example")).json()) as EndpointView).id;
  const move = (id: string, host: string) =>
    merchant.call("PATCH", `/v1/webhook-endpoints/${id}`, { body: { url: `https://${host}/in` } });

  it("a bad target leaves the old one", async () => {
    const id = await made();
    zones["bad.example"] = BAD;
    expect((await move(id, "bad.example")).status).toBe(422);
    zones["bad.example"] = SERVFAIL;
    expect((await move(id, "bad.example")).status).toBe(503);
    expect(await list()).toMatchObject([{ id, url: "https://hook.example/in" }]);
  });

  it("an endpoint that is deleted while its new name is looked up stays deleted", async () => {
    const id = await made();
    zones["new.example"] = GOOD;
    let once = true;
    meanwhile = async () => {
      if (!once) return;
      once = false;
      expect((await merchant.call("DELETE", `/v1/webhook-endpoints/${id}`)).status).toBe(204);
    };
    expect((await move(id, "new.example")).status).toBe(404);
    expect(await list()).toEqual([]);
  });

  it("asks nobody when the URL stays", async () => {
    const id = await made();
    names = [];
    const patch = { body: { description: "x" } };
    expect((await merchant.call("PATCH", `/v1/webhook-endpoints/${id}`, patch)).status).toBe(200);
    expect(names).toEqual([]);
  });
});

describe("at each attempt, of test events too", () => {
  it("a name that was rebound gets nothing, and is asked again on schedule (B116)", async () => {
    const { id } = (await (await create("hook.example")).json()) as EndpointView;
    const namespace = (env as unknown as Env).WEBHOOK_ENDPOINT;
    const stub = () => namespace.get(namespace.idFromName(id)) as unknown as DurableObjectStub<WebhookEndpoint>;
    // A year ahead, so that no alarm fires by itself.
    let now = Date.now() + 365 * DAY_MS;
    await evictDurableObject(stub());
    await runInDurableObject(stub(), (object) => {
      object.clock = () => now;
      object.random = () => 0;
      useResolver(object);
    });
    const attempts = async () => {
      const path = `/v1/webhook-endpoints/${id}/deliveries`;
      const [delivery] = (await merchant.get<Page<DeliveryView>>(path)).data;
      return (delivery?.attempts ?? []).map((attempt) => attempt.outcome).sort();
    };
    const until = (outcomes: string[]) =>
      vi.waitFor(async () => expect(await attempts()).toEqual(outcomes), { interval: 15, timeout: 10_000 });

    zones["hook.example"] = { A: [a("169.254.169.254")] };
    expect((await merchant.call("POST", `/v1/webhook-endpoints/${id}/test`)).status).toBe(202);
    await until(["target_refused"]);

    zones["hook.example"] = SERVFAIL;
    now += 6_000;
    await stub().patrol();
    await until(["target_refused", "unresolved"]);
    expect(delivered).toEqual([]);

    zones["hook.example"] = GOOD;
    now += 6 * 60_000;
    await stub().patrol();
    await until(["delivered", "target_refused", "unresolved"]);
    expect(delivered).toEqual(["https://hook.example/in"]);
  });
});
