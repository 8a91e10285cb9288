/** Networks as a tenant sees them, and what the operator sees and does: health, metrics, the end of a halt. */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { figure } from "../../src/core/figures.ts";
import type { NetworkSettings } from "../../src/core/network.ts";
import type { NetworkView, Page } from "../../src/core/views.ts";
import { within } from "../../src/http/scanners.ts";
import type { ScannerStatus } from "../../src/objects/api.ts";
import { fakeApp, given, keyed, LOCAL, OPERATOR_TOKEN, problemOf } from "../support/http-app.ts";
import { parseMetrics } from "../support/metrics.ts";

const OTHER: NetworkSettings = { ...LOCAL, id: "other-net", caip2: "eip155:1", finality: "tag", native: false };
const STATUS: ScannerStatus = {
  network: "local",
  head: 120,
  scannedTo: 118,
  finalized: 56,
  windowFrom: 99,
  status: "ok",
  internal: "traced",
  incident: null,
  watchedAddresses: 3,
  counters: { blocksRead: 118, reorgs: 2 },
  lastPollAt: Date.parse("2026-06-01T00:00:00.250Z"),
  lastError: null,
};
const ETH = { network: "local", symbol: "ETH", contract: null, decimals: 18, caip19: "eip155:31337/slip44:60" };
const TOKEN = { network: "other-net", symbol: "T", contract: "0xab", decimals: 6, caip19: "eip155:1/erc20:0xab" };
const FACTS = { assets: [ETH, TOKEN], duplicatesMet: { local: 17 } };

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const away = async () => {
  throw new Error("away");
};
const asOperator = (method = "GET", body?: unknown) =>
  keyed(method, body, { Authorization: `Bearer ${OPERATOR_TOKEN}` });

describe("GET /v1/networks", () => {
  const networks = [LOCAL, OTHER];
  const tenant = { networkFacts: async () => given(FACTS) };

  test("settings, the scanner's word and the tenant's own, together", async () => {
    const { app } = fakeApp({ networks: [LOCAL], tenant, scanner: { status: async () => STATUS } });
    const response = await app.request("/v1/networks", keyed("GET"));
    expect(await response.json()).toEqual({
      data: [
        {
          id: "local",
          caip2: "eip155:31337",
          family: "evm",
          native_asset: { symbol: "ETH", decimals: 18 },
          head: 120,
          scanned_to: 118,
          finalized: 56,
          status: "ok",
          confirmations: 3,
          finality: "depth",
          native_transfers: { own_value: true, internal: "traced" },
          duplicates_met: 17,
          assets: [ETH],
        },
      ],
      next_cursor: null,
    });
    expect(response.headers.get("ratelimit")).toBe('"default";r=41;t=17');
  });

  test("a scanner that fails is one network that lags, and no failed call", async () => {
    const scanner = (id: string) => ({ status: id === "local" ? async () => STATUS : away });
    const { app } = fakeApp({ networks, tenant, scanner });
    const response = await app.request("/v1/networks", keyed("GET"));
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as Page<NetworkView>;
    expect(data[0]?.status).toBe("ok");
    expect(data[1]).toEqual({
      id: "other-net",
      caip2: "eip155:1",
      family: "evm",
      native_asset: { symbol: "ETH", decimals: 18 },
      head: null,
      scanned_to: null,
      finalized: null,
      status: "lagging",
      confirmations: null,
      finality: "tag",
      native_transfers: { own_value: false, internal: "unknown" },
      duplicates_met: 0,
      assets: [TOKEN],
    });
  });

  test("a scanner that hangs is waited for two seconds", async () => {
    vi.useFakeTimers();
    const { app } = fakeApp({ networks, tenant, scanner: { status: () => new Promise(() => {}) } });
    const response = Promise.resolve(app.request("/v1/networks", keyed("GET")));
    await vi.advanceTimersByTimeAsync(2_000);
    const { data } = (await (await response).json()) as Page<NetworkView>;
    expect(data.map(({ status }) => status)).toEqual(["lagging", "lagging"]);
  });

  test("an answer in time leaves no timer behind", async () => {
    vi.useFakeTimers();
    // Only promises run in between: no other file's timers can come into the count.
    const before = vi.getTimerCount();
    await within(2_000, Promise.resolve());
    expect(vi.getTimerCount()).toBe(before);
  });

  test("a key that its object refuses makes no scanner work", async () => {
    const refused = { ok: false, refusal: { code: "unauthorized", detail: "d" }, rate: null };
    const { app, calls } = fakeApp({ networks, tenant: { networkFacts: async () => refused } });
    expect((await problemOf(await app.request("/v1/networks", keyed("GET")))).code).toBe("unauthorized");
    expect(calls.map(({ method }) => method)).toEqual(["networkFacts"]);
  });
});

describe("lists that are held whole are paged as all others", () => {
  const names = Array.from({ length: 7 }, (_, i) => `eip155:1/erc20:0x${i}`);
  const tenant = {
    listAssets: async () => given({ data: names.map((caip19) => ({ ...TOKEN, caip19 })), next_cursor: null }),
  };
  const read = async (query: string) =>
    (await fakeApp({ tenant }).app.request(`/v1/assets?${query}`, keyed("GET"))).json();

  test.each([1, 2, 3, 6, 7, 8])("every row exactly once, %i at a time", async (limit) => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = (await read(`limit=${limit}${cursor === null ? "" : `&cursor=${cursor}`}`)) as Page<{
        caip19: string;
      }>;
      expect(page.data.length).toBeLessThanOrEqual(limit);
      seen.push(...page.data.map(({ caip19 }) => caip19));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(names);
  });

  test("a cursor that was never given is 400, and keeps the rate", async () => {
    const response = await fakeApp({ tenant }).app.request("/v1/assets?cursor=bm9wZQ", keyed("GET"));
    expect((await problemOf(response)).code).toBe("invalid_cursor");
    expect(response.headers.get("ratelimit")).not.toBeNull();
  });
});

describe("GET /healthz", () => {
  test("ready", async () => {
    const { app } = fakeApp({ store: { ping: async () => 1 } });
    const response = await app.request("/healthz");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "ok" });
  });

  test("an answer in time leaves no timer behind", async () => {
    vi.useFakeTimers();
    await fakeApp({ store: { ping: async () => 1 } }).app.request("/healthz");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("not while the database is away", async () => {
    const lost = async () => {
      throw new Error("D1_ERROR: Network connection lost.");
    };
    const response = await fakeApp({ store: { ping: lost } }).app.request("/healthz");
    expect(response.status).toBe(503);
    expect((await problemOf(response)).code).toBe("store_unavailable");
  });

  test("not while the database hangs", async () => {
    vi.useFakeTimers();
    const { app } = fakeApp({ store: { ping: () => new Promise(() => {}) } });
    const response = Promise.resolve(app.request("/healthz"));
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await response).status).toBe(503);
  });

  test("not on a fault that has no name", async () => {
    expect((await fakeApp({ store: { ping: away } }).app.request("/healthz")).status).toBe(503);
  });
});

describe("GET /metrics", () => {
  const told = [figure("sluice_network_head", 120, { network: "local" })];

  test("what the monitor was told, and nobody else is asked", async () => {
    const { app, calls } = fakeApp({ monitor: { figures: async () => told } });
    const response = await app.request("/metrics", asOperator());
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(parseMetrics(await response.text())).toEqual(
      new Map([['sluice_network_head{network="local"}', { type: "gauge", value: 120 }]]),
    );
    expect(calls).toEqual([{ to: "monitor", id: "monitor", method: "figures", args: [] }]);
  });

  test("a monitor that fails is told by no numbers at all", async () => {
    const { app } = fakeApp({ monitor: { figures: away } });
    expect((await app.request("/metrics", asOperator())).status).toBeGreaterThanOrEqual(500);
  });

  test("one that hangs is waited for two seconds", async () => {
    vi.useFakeTimers();
    const { app } = fakeApp({ monitor: { figures: () => new Promise(() => {}) } });
    const response = Promise.resolve(app.request("/metrics", asOperator()));
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await response).status).toBeGreaterThanOrEqual(500);
  });

  test("where there is none the answer says so", async () => {
    const { app } = fakeApp({ monitor: null });
    const problem = await problemOf(await app.request("/metrics", asOperator()));
    expect(problem).toMatchObject({ status: 503, code: "store_unavailable" });
  });
});

describe("the operator's calls", () => {
  test("one network as its scanner sees it", async () => {
    const incident = { id: "inc_1", reason: "deep_reorg", at: Date.parse("2026-06-01T00:00:00Z") };
    const { app, calls } = fakeApp({ scanner: { status: async () => ({ ...STATUS, status: "halted", incident }) } });
    const response = await app.request("/v1/operator/networks/local", asOperator());
    expect(await response.json()).toEqual({
      network: "local",
      head: 120,
      scanned_to: 118,
      finalized: 56,
      window_from: 99,
      status: "halted",
      internal: "traced",
      incident: { id: "inc_1", reason: "deep_reorg", at: "2026-06-01T00:00:00.000Z" },
      watched_addresses: 3,
      counters: { blocksRead: 118, reorgs: 2 },
      last_poll_at: "2026-06-01T00:00:00.250Z",
      last_error: null,
    });
    expect(calls).toEqual([{ to: "scanner", id: "local", method: "status", args: [] }]);
  });

  test("the list of incidents, filtered and paged; none without a monitor, and none for a key", async () => {
    const listed = { data: [], next_cursor: "next" };
    const monitor = { listIncidents: async () => ({ ok: true, value: listed }) };
    const { app, calls } = fakeApp({ monitor });
    const query = "status=open&kind=alarm_overdue&tenant_id=ten_7&network=local&limit=3&cursor=abc";
    const response = await app.request(`/v1/operator/incidents?${query}`, asOperator());
    expect(await response.json()).toEqual(listed);
    const filter = { status: "open", kind: "alarm_overdue", tenant_id: "ten_7", network: "local" };
    const page = { limit: 3, cursor: "abc" };
    expect(calls).toEqual([{ to: "monitor", id: "monitor", method: "listIncidents", args: [filter, page] }]);
    expect((await app.request("/v1/operator/incidents", keyed("GET"))).status).toBe(401);
    const without = fakeApp({ monitor: null });
    const problem = await problemOf(await without.app.request("/v1/operator/incidents", asOperator()));
    expect(problem).toMatchObject({ status: 503, code: "store_unavailable" });
  });

  test.each([
    [undefined, null],
    [{}, null],
    [{ from_height: null }, null],
    [{ from_height: 0 }, 0],
    [{ from_height: 90 }, 90],
  ])("resume with %j", async (body, fromHeight) => {
    const { app, calls } = fakeApp({ scanner: { resume: async () => ({ ok: true, value: { fromHeight: 88 } }) } });
    const response = await app.request("/v1/operator/networks/local/resume", asOperator("POST", body));
    expect(response.status).toBe(202);
    expect(await response.json()).toEqual({ from_height: 88 });
    expect(calls).toEqual([{ to: "scanner", id: "local", method: "resume", args: [fromHeight] }]);
  });

  test("a network that is not halted", async () => {
    const refusal = { code: "state_conflict", detail: "local is not halted" };
    const { app } = fakeApp({ scanner: { resume: async () => ({ ok: false, refusal }) } });
    const problem = await problemOf(await app.request("/v1/operator/networks/local/resume", asOperator("POST")));
    expect(problem).toMatchObject({ status: 409, code: "state_conflict", detail: "local is not halted" });
  });

  test.each(["", "/resume"])("a network that is off is unknown, and no object is made for it: %s", async (action) => {
    const { app, calls } = fakeApp();
    const init = asOperator(action === "" ? "GET" : "POST");
    expect((await problemOf(await app.request(`/v1/operator/networks/base${action}`, init))).code).toBe("not_found");
    expect(calls).toEqual([]);
  });

  test("no rate is told to the operator", async () => {
    const response = await fakeApp().app.request("/metrics", asOperator());
    expect(response.headers.get("ratelimit")).toBeNull();
  });
});
