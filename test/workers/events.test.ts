/** The event log as it is pulled: nothing skipped, nothing twice, and heard of as soon as it is committed. */

import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EventView, Page } from "../../src/core/views.ts";
import type { TenantContext } from "../../src/objects/tenant/context.ts";
import type { EventWaits } from "../../src/objects/tenant/event-waits.ts";
import { EventAppender } from "../../src/store/tenant/event-store.ts";
import { call, Merchant, startLine, time } from "./line.ts";

let merchant: Merchant;
let notices = 0;
beforeEach(async () => {
  await startLine();
  merchant = await Merchant.signUp();
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Writes one event. */
const write = (type: "network.halted" | "network.resumed" = "network.halted", network = "local") =>
  merchant.stub.noticeNetwork({
    id: `notice-${++notices}`,
    type,
    network,
    data: { network, reason: "a test", height: null },
    at: time.now,
  });

interface Heard {
  readonly status: number;
  readonly sequences: number[];
  readonly next: string | null;
  readonly response: Response;
  readonly at: number;
}

async function listen(query: string, key = merchant.key): Promise<Heard> {
  const response = await call("GET", `/v1/events?${query}`, { key });
  const at = Date.now();
  const page = (await response.json()) as Page<EventView>;
  return {
    status: response.status,
    sequences: (page.data ?? []).map((event) => event.sequence),
    next: page.next_cursor,
    response,
    at,
  };
}

interface Inside {
  readonly c: TenantContext;
  readonly eventWaits: EventWaits;
  followUpLater(): void;
}
const inside = <T>(work: (object: Inside) => T) => merchant.inside((object) => work(object as unknown as Inside));

/** How many calls of the tenant wait now. */
const waiting = () => inside(({ eventWaits }) => eventWaits.size);
const untilWaiting = (count: number) =>
  vi.waitFor(async () => expect(await waiting()).toBe(count), { interval: 10, timeout: 10_000 });

describe("pulling while events are written", () => {
  it("skips nothing and repeats nothing: three writers, four readers", async () => {
    const perWriter = 30;
    const total = 3 * perWriter;
    const writer = async () => {
      for (let i = 0; i < perWriter; i++) await write();
    };
    const reader = async (limit: number, wait: number) => {
      const read: number[] = [];
      while (read.length < total) {
        const { status, sequences } = await listen(`after=${read.at(-1) ?? 0}&limit=${limit}&wait=${wait}`);
        expect(status).toBe(200);
        read.push(...sequences);
      }
      return read;
    };
    const readers = [reader(1, 5), reader(7, 5), reader(200, 5), reader(3, 0)];
    await Promise.all([writer(), writer(), writer()]);
    const expected = Array.from({ length: total }, (_, i) => i + 1);
    for (const read of await Promise.all(readers)) expect(read).toEqual(expected);
  });

  it("tells of one subject alone, in order and page by page", async () => {
    for (const network of ["local", "sepolia", "local", "local", "sepolia"]) await write("network.halted", network);
    await write("network.resumed", "local");
    expect((await listen("subject=network:local")).sequences).toEqual([1, 3, 4, 6]);
    expect(await listen("subject=network:local&after=1&limit=2")).toMatchObject({ sequences: [3, 4], next: "4" });
    expect((await listen("subject=network:local&types=network.resumed")).sequences).toEqual([6]);
    expect(await listen("subject=network:base")).toMatchObject({ status: 200, sequences: [], next: null });
    const heard = listen("subject=network:sepolia&after=5&wait=10");
    await untilWaiting(1);
    await write();
    await write("network.resumed", "sepolia");
    expect((await heard).sequences).toEqual([8]);
  });

  it("gives a sequence only to what was committed", async () => {
    await write();
    const heard = listen("after=1&wait=10");
    await untilWaiting(1);
    await inside(({ c }) => {
      const undone = () =>
        c.storage.transactionSync(() => {
          new EventAppender(c.db, merchant.id, time.now).append("network.halted", "network:local", { lost: true });
          throw new Error("undone");
        });
      expect(undone).toThrow("undone");
    });
    expect(await waiting()).toBe(1);
    await write("network.resumed");
    const { sequences, response } = await heard;
    expect([sequences, response.status]).toEqual([[2], 200]);
    const [event] = (await merchant.events()).slice(1);
    expect(event).toMatchObject({ sequence: 2, type: "network.resumed", data: { network: "local" } });
  });
});

describe("waiting for events", () => {
  it("does not wait when there is something", async () => {
    await write();
    const startedAt = Date.now();
    expect(await listen("after=0&wait=25")).toMatchObject({ status: 200, sequences: [1], next: null });
    expect(Date.now() - startedAt).toBeLessThan(5_000);
  });

  it("ends with an empty page when its time is over, and not before", async () => {
    await write();
    const startedAt = Date.now();
    expect(await listen("after=1&wait=1")).toMatchObject({ status: 200, sequences: [], next: null });
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(990);
    expect(await waiting()).toBe(0);
  });

  it("hears of an event within 200 ms of its commit", async () => {
    const delays: number[] = [];
    for (let after = 0; after < 15; after++) {
      const heard = listen(`after=${after}&wait=25`);
      await untilWaiting(1);
      // From before its commit, so that what is measured is never less than what is claimed.
      const writtenFrom = Date.now();
      await write();
      const { sequences, at } = await heard;
      expect(sequences).toEqual([after + 1]);
      delays.push(at - writtenFrom);
    }
    delays.sort((x, y) => x - y);
    console.info(`event heard after its commit, ms: median ${delays[7]}, longest ${delays[14]}`);
    expect(delays[7]).toBeLessThan(200);
  });

  it("goes on waiting when what was written does not fit its types", async () => {
    const heard = listen("after=0&types=network.resumed&wait=25");
    await untilWaiting(1);
    await write("network.halted");
    await write("network.halted");
    expect(await waiting()).toBe(1);
    await write("network.resumed");
    expect((await heard).sequences).toEqual([3]);
  });

  it("gives what comes after a sequence that is not written yet", async () => {
    const heard = listen("after=2&wait=25");
    await untilWaiting(1);
    for (let i = 0; i < 3; i++) await write();
    expect((await heard).sequences).toEqual([3]);
  });

  it("keeps nobody out: requests, the alarm, and the tenant's turns go on", async () => {
    const heard = listen("after=0&wait=25");
    await untilWaiting(1);
    expect((await merchant.call("GET", "/v1/tenant")).status).toBe(200);
    expect(await inside(({ c }) => c.turns.isBusy(""))).toBe(false);
    await inside((object) => object.followUpLater());
    expect(await runDurableObjectAlarm(merchant.stub)).toBe(true);
    expect(await waiting()).toBe(1);
    await write();
    expect((await heard).sequences).toEqual([1]);
  });

  it("counts as one request, however long it lasts", async () => {
    const remaining = (response: Response) => Number(/r=(\d+)/.exec(response.headers.get("RateLimit") ?? "")?.[1]);
    const before = remaining(await merchant.call("GET", "/v1/tenant"));
    const heard = await listen("after=0&wait=1");
    expect(remaining(heard.response)).toBe(before - 1);
    expect(remaining(await merchant.call("GET", "/v1/tenant"))).toBe(before - 2);
  });

  it("opens nothing to a key that ended meanwhile", async () => {
    const made = await merchant.call("POST", "/v1/api-keys", { body: { name: "a key", scopes: ["read"] } });
    const { id, secret } = (await made.json()) as { id: string; secret: string };
    const heard = listen("after=0&wait=25", secret);
    await untilWaiting(1);
    expect((await merchant.call("DELETE", `/v1/api-keys/${id}`)).status).toBe(204);
    await write();
    expect(await heard).toMatchObject({ status: 401, sequences: [] });
  });

  it("has a bound: one more is asked to come again, and all who wait hear", async () => {
    const crowd = Array.from({ length: 100 }, () => listen("after=0&wait=25"));
    await untilWaiting(100);
    const refused = await call("GET", "/v1/events?after=0&wait=25", { key: merchant.key });
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "1"]);
    expect(await refused.json()).toMatchObject({ code: "rate_limited", retryable: true });
    expect((await listen("after=0")).status).toBe(200);
    await write();
    for (const heard of await Promise.all(crowd)) expect(heard).toMatchObject({ status: 200, sequences: [1] });
    expect(await waiting()).toBe(0);
    // There is something to tell, and so no need to wait.
    expect(await listen("after=0&wait=25")).toMatchObject({ status: 200, sequences: [1] });
  });

  it("ends with 503 when the object is reset, and is made again", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const heard = call("GET", "/v1/events?after=0&wait=25", { key: merchant.key });
    await untilWaiting(1);
    const startedAt = Date.now();
    const reset = runInDurableObject(merchant.stub, (_, state) => {
      state.abort("Durable Object reset because its code was updated.");
    });
    await expect(reset).rejects.toThrow("was updated");
    const ended = await heard;
    expect([ended.status, ended.headers.has("Retry-After")]).toEqual([503, true]);
    expect(Date.now() - startedAt).toBeLessThan(5_000);
    expect(await listen("after=0&wait=1")).toMatchObject({ status: 200, sequences: [] });
  });

  it("lets go of its place when its time is over, also when nobody listens any more", async () => {
    for (let i = 0; i < 100; i++) void call("GET", "/v1/events?after=0&wait=2", { key: merchant.key });
    await untilWaiting(100);
    expect((await listen("after=0&wait=1")).status).toBe(429);
    await untilWaiting(0);
    expect(await listen("after=0&wait=1")).toMatchObject({ status: 200, sequences: [] });
  });
});
