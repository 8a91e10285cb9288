/** The sandbox's own listener: the receiver with its memory, the bounds of the calls, and who is let in. */

import { appendFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { type IncomingMessage, request, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { compileToken } from "../../scripts/sandbox/compile-token.mjs";
import { answer, type World } from "../../scripts/sandbox/control.ts";
import { Deliveries, KEPT, PER_PAGE } from "../../scripts/sandbox/deliveries.ts";
import demoToken from "../../scripts/sandbox/demo-token.json" with { type: "json" };
import { listen, serverOf, TENANT_HEADER, TOKEN_HEADER } from "../../scripts/sandbox/listener.ts";
import { Receiver } from "../../scripts/sandbox/receiver.ts";
import { eventOf } from "../support/sdk-inbox.ts";
import { SECRET, signed } from "../support/shop.ts";

const TENANT = `ten_${"a".repeat(26)}`;
const OTHER = `ten_${"b".repeat(26)}`;
const ENDPOINT = `we_${"c".repeat(26)}`;
const TOKEN = "t".repeat(64);
const NEW_SECRET = `whsec_${"B".repeat(43)}=`;

let folder: string;
let receiver: Receiver;
let server: Server;
let port: number;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-sandbox-"));
  welcomed = 0;
  receiver = new Receiver(folder);
  server = serverOf({ control: TOKEN, rpc: "rpc" }, () => worldWith(receiver));
  port = await listen(server, null);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

let welcomed = 0;

function worldWith(own: Receiver): World {
  // Its first blocks are from before the start.
  const hasStateAt = async (height: number) => height >= 30;
  const chain = {
    hasStateAt,
    height: async () => 40,
    mine: async (blocks: number) => 40 + blocks,
    reorganise: async () => 41,
  };
  // Nobody is kept out because nothing can be paid for them.
  const welcome = async () => {
    welcomed++;
    throw new Error("the chain is gone");
  };
  const demo = { token: null, tenantId: OTHER, key: "sk_demo", welcome };
  const proxy = { mode: "ok", setMode: () => {}, fees: { stuck: false }, stick: async () => {} };
  return { chain, demo, proxy, receiver: own, receiverUrl: "http://here", code: "the code" } as unknown as World;
}

const event = (n: number) => eventOf("webhook.test", ENDPOINT, n, { endpoint_id: ENDPOINT, message: "a test" });
async function deliver(n: number, options: { path?: string; secret?: string; body?: string } = {}): Promise<number> {
  const { body, headers } = await signed(event(n), options.secret ?? SECRET);
  const url = `http://127.0.0.1:${port}${options.path ?? receiver.pathOf(TENANT)}`;
  return (await fetch(url, { method: "POST", headers, body: options.body ?? body })).status;
}
/** Events by number: each has one id. */
const idOf = (n: number) => event(n).id;
const seen = () => receiver.deliveries.after(TENANT, 0).data;

describe("the receiver", () => {
  beforeEach(() => receiver.addSecret(TENANT, ENDPOINT, SECRET));

  it("verifies, writes down, and marks what it took in before", async () => {
    expect([await deliver(1), await deliver(1), await deliver(2)]).toEqual([204, 204, 204]);
    expect(seen()).toMatchObject([
      {
        n: 1,
        endpoint_id: ENDPOINT,
        type: "webhook.test",
        event_id: idOf(1),
        verified: true,
        problem: null,
        duplicate: false,
      },
      { n: 2, event_id: idOf(1), verified: true, duplicate: true, answered: 204 },
      { n: 3, event_id: idOf(2), duplicate: false },
    ]);
    expect(seen()[0]).not.toHaveProperty("taken_in");
  });

  it("does not believe what was changed on its way, or signed by somebody else", async () => {
    expect(await deliver(1, { body: JSON.stringify({ ...event(1), id: "evt_forged" }) })).toBe(400);
    expect(await deliver(2, { secret: NEW_SECRET })).toBe(400);
    expect(seen().map(({ verified, endpoint_id, answered }) => [verified, endpoint_id, answered])).toEqual([
      [false, null, 400],
      [false, null, 400],
    ]);
    expect(seen()[0]?.problem).toContain("none of 1 signatures");
  });

  it("takes the old secret and the new one while they overlap", async () => {
    receiver.addSecret(TENANT, ENDPOINT, NEW_SECRET);
    expect([await deliver(1), await deliver(2, { secret: NEW_SECRET })]).toEqual([204, 204]);
    receiver.addSecret(TENANT, ENDPOINT, `whsec_${"C".repeat(43)}=`);
    expect(await deliver(3)).toBe(400);
  });

  it("is found by its own URL alone", async () => {
    for (const path of [
      receiver.pathOf(TENANT).slice(0, -1),
      receiver.pathOf(OTHER).replace(OTHER, TENANT),
      `/hooks/${TENANT}`,
    ])
      expect(await deliver(1, { path })).toBe(404);
    expect(seen()).toEqual([]);
  });

  it("fails and is gone as it is told, and what it refused is no duplicate", async () => {
    receiver.setMode(TENANT, "fail");
    expect(await deliver(1)).toBe(500);
    receiver.setMode(TENANT, "gone");
    expect(await deliver(1)).toBe(410);
    receiver.setMode(TENANT, "ok");
    expect(await deliver(1)).toBe(204);
    expect(seen().map(({ answered, duplicate }) => [answered, duplicate])).toEqual([
      [500, false],
      [410, false],
      [204, false],
    ]);
  });

  it("is slow: whoever leaves has no answer, and comes back with what was taken in", async () => {
    receiver.setMode(TENANT, "slow");
    const { body, headers } = await signed(event(1));
    const url = `http://127.0.0.1:${port}${receiver.pathOf(TENANT)}`;
    await expect(fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(200) })).rejects.toThrow();
    const waiting = deliver(2);
    await new Promise((done) => setTimeout(done, 200));
    receiver.setMode(TENANT, "ok");
    expect([await waiting, await deliver(1)]).toEqual([204, 204]);
    expect(seen().map(({ event_id, answered, duplicate }) => [event_id, answered, duplicate])).toEqual([
      [idOf(1), null, false],
      [idOf(2), 204, false],
      [idOf(1), 204, true],
    ]);
  });

  it("remembers over a restart, also when the last line was cut, with files of its user's alone", async () => {
    await deliver(1);
    const path = join(folder, "deliveries", `${TENANT}.jsonl`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    appendFileSync(path, '{"n":2,"at":"20');
    receiver = new Receiver(folder);
    expect([await deliver(1), await deliver(2)]).toEqual([204, 204]);
    receiver = new Receiver(folder);
    expect(seen().map(({ n, duplicate }) => [n, duplicate])).toEqual([
      [1, false],
      [2, true],
      [3, false],
    ]);
    for (const file of [path, join(folder, "receiver.json")]) expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

it("keeps the last deliveries of a tenant, in pages, numbered on", () => {
  const deliveries = new Deliveries(folder);
  const facts = {
    at: "",
    endpoint_id: null,
    type: null,
    subject: null,
    sequence: null,
    verified: false,
    problem: null,
  };
  const count = 2 * KEPT + 3;
  for (let i = 1; i <= count; i++)
    deliveries.add(TENANT, { ...facts, event_id: `evt_${i}`, duplicate: false, answered: 204, body: "" }, true);
  for (const one of [deliveries, new Deliveries(folder)]) {
    const first = one.after(TENANT, 0);
    expect([first.data[0]?.n, first.data.length, first.next]).toEqual([
      count - KEPT + 1,
      PER_PAGE,
      count - KEPT + PER_PAGE,
    ]);
    expect(one.after(TENANT, count)).toEqual({ data: [], next: count });
    expect([one.wasTakenIn(TENANT, `evt_${count}`), one.wasTakenIn(TENANT, "evt_1")]).toEqual([true, false]);
    expect(one.after(OTHER, 0)).toEqual({ data: [], next: 0 });
  }
});

describe("the calls", () => {
  const call = (method: string, path: string, body: unknown = null, tenantId: string | null = TENANT, query = "") =>
    answer(worldWith(receiver), { method, path, body, tenantId, query: new URLSearchParams(query) });

  it.each([
    ["/mine", { blocks: 0 }],
    ["/mine", { blocks: 1.5 }],
    ["/mine", { blocks: 1, more: true }],
    ["/reorg", { depth: 0, remine: true }],
    ["/reorg", { depth: 16, remine: true }],
    ["/reorg", { depth: 3 }],
    ["/rpc", { mode: "" }],
    ["/receiver", { mode: "ok", tenant: OTHER }],
    ["/pay", { address: `0x${"1".repeat(40)}`, amount: "0" }],
    ["/pay", { address: `0x${"1".repeat(40)}`, amount: "1e3" }],
    ["/pay", { address: `0x${"1".repeat(40)}`, amount: "0.0000000000000000001" }],
    ["/receiver/keys", { endpoint_id: TENANT, secret: SECRET }],
    ["/fees", null],
  ])("%s %j does not fit", async (path, body) => {
    expect(await call("POST", path, body)).toMatchObject({ status: 422, body: { code: "invalid_fields" } });
  });

  it("reorganise what can be", async () => {
    expect(await call("POST", "/reorg", { depth: 10, remine: true })).toEqual({
      status: 200,
      body: { height: 41, replaced: 10 },
    });
    expect(await call("POST", "/reorg", { depth: 11, remine: true })).toMatchObject({
      status: 409,
      body: { code: "state_conflict" },
    });
  });

  it("are each tenant's own where they are about its receiver, and the shop's key is for the code alone", async () => {
    expect(await call("POST", "/receiver", { mode: "gone" })).toMatchObject({
      body: { receiver: { mode: "gone" }, demo: false },
    });
    expect(await call("GET", "/", null, OTHER)).toMatchObject({ body: { receiver: { mode: "ok" }, demo: true } });
    expect(await call("GET", "/", null, null)).toMatchObject({ status: 401 });
    const said = vi.spyOn(console, "error").mockImplementation(() => {});
    expect(await call("GET", "/enter", null, null, "code=the+code")).toEqual({ status: 200, body: { key: "sk_demo" } });
    expect([welcomed, said.mock.calls]).toEqual([1, [["sandbox: no deposit for the demo shop: the chain is gone"]]]);
    said.mockRestore();
    for (const query of ["", "code=the+cod", "code=the+cody", "code=the+cöde"])
      expect(await call("GET", "/enter", null, null, query)).toMatchObject({ status: 404 });
    expect(welcomed).toBe(1);
    expect(await call("GET", "/deliveries", null, TENANT, "after=-1")).toMatchObject({ status: 422 });
    expect(await call("POST", "/")).toMatchObject({ status: 404 });
  });
});

describe("the listener", () => {
  const knock = (headers: Record<string, string>, path = "/control/") =>
    new Promise<number>((resolve, reject) => {
      const answered = (message: IncomingMessage) => resolve(message.resume().statusCode ?? 0);
      request({ host: "127.0.0.1", port, path, headers }, answered).once("error", reject).end();
    });
  const parent = { [TOKEN_HEADER]: TOKEN, [TENANT_HEADER]: TENANT };

  it("lets the parent in, and nobody whom a page sends, whatever token is shown", async () => {
    expect(await knock(parent)).toBe(200);
    expect(await knock({})).toBe(404);
    expect(await knock({ ...parent, [TOKEN_HEADER]: `${TOKEN}x` })).toBe(404);
    expect(await knock({ ...parent, origin: "http://127.0.0.1:8787" })).toBe(403);
    expect(await knock({ ...parent, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await knock({ ...parent, host: `sandbox.example.com:${port}` })).toBe(403);
    expect(await knock(parent, "/rpc/other")).toBe(404);
  });
});

it("pays with the token whose source is there", () => {
  expect(demoToken).toEqual(compileToken());
});
