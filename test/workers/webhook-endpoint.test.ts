/**
 * The endpoint object in workerd. Time is the test's: it stands still until moved, far enough ahead that
 * no alarm fires by itself. The merchant is a script in place of fetch.
 */

import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { derivedId } from "../../src/core/ids.ts";
import type { DeliveryView } from "../../src/core/views.ts";
import { RETRY_DELAYS_MS } from "../../src/core/webhook-schedule.ts";
import { type Env, readSettings } from "../../src/env.ts";
import { Tenant } from "../../src/index.ts";
import type { EndpointState, QueuedEvent } from "../../src/objects/api.ts";
import { SecretBox } from "../../src/objects/secret-box.ts";
import type { WebhookEndpoint } from "../../src/objects/webhook-endpoint.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const URL_ = "https://merchant.example/hook";

interface Sent {
  readonly url: string;
  readonly id: string;
  readonly timestamp: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}
type Merchant = (sent: Sent) => Promise<Response> | Response;

let now: number;
let sent: Sent[];
let active: number;
let mostActive: number;
let merchant: Merchant;
let told: unknown[][];
/** What the tenant was told of an endpoint that goes on: since when it fails, null when it does not any more. */
let toldFailing: (number | null)[];
let tenantStatus: MockInstance<(...args: unknown[]) => Promise<void>>;
let count = 0;
const opened: Endpoint[] = [];

beforeEach(() => {
  now = Date.now() + 365 * DAY;
  sent = [];
  active = 0;
  mostActive = 0;
  told = [];
  toldFailing = [];
  merchant = () => new Response("ok");
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    const headers = init?.headers as Record<string, string>;
    const one = {
      url: String(url),
      id: headers["webhook-id"] ?? "",
      timestamp: Number(headers["webhook-timestamp"]),
      headers,
      body: new TextDecoder().decode(init?.body as Uint8Array),
    };
    sent.push(one);
    mostActive = Math.max(mostActive, ++active);
    try {
      return await merchant(one);
    } finally {
      active--;
    }
  });
  tenantStatus = vi.spyOn(Tenant.prototype, "endpointStatus") as never;
  tenantStatus.mockImplementation(async (...args) => {
    const { status, publicKey, failingSince } = args[1] as EndpointState;
    if (status === "enabled" && publicKey === null) toldFailing.push(failingSince);
    else told.push(args);
  });
});
afterEach(async () => {
  // What one still has to send would reach the next test's receiver, by a timer of its own.
  for (const endpoint of opened.splice(0)) await endpoint.stub.close().catch(() => {});
  vi.restoreAllMocks();
});

function event(sequence: number, subject: string, change: Partial<QueuedEvent> = {}): QueuedEvent {
  const id = `evt_${String(sequence).padStart(5, "0")}`;
  const body = `{"id":"${id}","n":1.0,  "z":"\\u001B\u2028 ${subject}"}`;
  return { id, type: "deposit.confirmed", sequence, subject, subjectSequence: sequence, body, ...change };
}
const events = (subject: string, ...sequences: number[]) => sequences.map((sequence) => event(sequence, subject));
const ids = () => sent.map((one) => Number(one.id.slice(4)));

/** Generous, since the machine may be busy: what must not happen is checked without waiting. */
const until = <T>(check: () => T | Promise<T>) => vi.waitFor(check, { interval: 15, timeout: 10_000 });

class Endpoint {
  readonly id = `we_${String(++count).padStart(4, "0")}`;
  readonly tenantId = `ten_${this.id}`;
  secret = "";
  signature: "v1" | "v1a" = "v1";
  publicKey: string | null = null;

  /** A fresh one each time: a crash breaks the ones from before. */
  get stub(): DurableObjectStub<WebhookEndpoint> {
    const namespace = (env as unknown as Env).WEBHOOK_ENDPOINT;
    return namespace.get(namespace.idFromName(this.id)) as unknown as DurableObjectStub<WebhookEndpoint>;
  }

  static async open(url = URL_, signature: "v1" | "v1a" = "v1"): Promise<Endpoint> {
    const endpoint = new Endpoint();
    endpoint.signature = signature;
    opened.push(endpoint);
    await endpoint.takeTime();
    const { secret, state } = await endpoint.configure(url);
    endpoint.secret = secret ?? "";
    endpoint.publicKey = state.publicKey;
    return endpoint;
  }

  /** Also after each eviction or crash: the new instance has the real clock. */
  takeTime(): Promise<void> {
    return this.inside((object) => {
      object.clock = () => now;
      object.random = () => 0;
    });
  }

  /** @returns the secret that it made */
  async rotate(overlapS: number, requestId: string): Promise<string> {
    return (await this.stub.rotateSecret(overlapS, requestId)).secret ?? "";
  }

  inside<T>(work: (object: WebhookEndpoint, state: DurableObjectState) => T | Promise<T>): Promise<T> {
    return runInDurableObject(this.stub, work);
  }

  configure(url: string) {
    const { tenantId, id: endpointId, signature } = this;
    return this.stub.configure({ tenantId, endpointId, url, apiVersion: "2026-11-01", signature });
  }

  async enqueue(list: readonly QueuedEvent[], replay = false): Promise<void> {
    await this.stub.enqueue(list, { replay });
  }

  async list(filter: { status?: "pending" | "delivered" | "given_up" } = {}, limit = 200): Promise<DeliveryView[]> {
    const page = await this.page(filter, limit, null);
    return page.data;
  }

  async page(filter: { status?: "pending" | "delivered" | "given_up" }, limit: number, cursor: string | null) {
    const outcome = await this.stub.deliveries(filter, { limit, cursor });
    if (!outcome.ok) throw new Error(outcome.refusal.code);
    return outcome.value as unknown as { data: DeliveryView[]; next_cursor: string | null };
  }

  /** Lets `ms` pass and fires the alarm, as the platform would. */
  async pass(ms: number): Promise<boolean> {
    now += ms;
    return runDurableObjectAlarm(this.stub);
  }

  alarmAt(): Promise<number | null> {
    return this.inside((_, state) => state.storage.getAlarm());
  }

  /** Nothing is under way and every answer is committed. */
  async quiet(): Promise<void> {
    let seen = -1;
    await until(async () => {
      const attempts = (await this.list()).reduce((sum, delivery) => sum + delivery.attempts.length, 0);
      const isQuiet = active === 0 && attempts === seen;
      seen = attempts;
      expect(isQuiet).toBe(true);
    });
  }
}

/** Holds requests until released. Polled, since a promise of one object must not wake another. */
function gate() {
  const state = { open: false };
  return {
    open: () => {
      state.open = true;
    },
    passed: async () => {
      while (!state.open) await new Promise((resolve) => setTimeout(resolve, 3));
    },
  };
}

describe("a delivery", () => {
  it("goes out at once, signed over the stored bytes, and is recorded", async () => {
    const endpoint = await Endpoint.open();
    const one = event(1, "dep_a");
    await endpoint.enqueue([one]);
    await endpoint.quiet();

    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({ url: URL_, id: one.id, body: one.body, timestamp: Math.floor(now / 1_000) });
    const webhook = new Webhook(endpoint.secret);
    expect(() => webhook.verify(sent[0]?.body ?? "", { ...sent[0]?.headers, "webhook-timestamp": "1" })).toThrow();
    expect(sent[0]?.headers["webhook-signature"]).toBe(webhook.sign(one.id, new Date(now), one.body));

    const [delivery] = await endpoint.list();
    expect(delivery).toMatchObject({ event_id: one.id, sequence: 1, status: "delivered", next_attempt_at: null });
    expect(delivery?.id).toMatch(/^del_[0-9a-hjkmnp-tv-z]{26}$/);
    const at = new Date(now).toISOString();
    expect(delivery?.attempts).toEqual([
      { at, status: 200, outcome: "delivered", duration_ms: 0, response: "ok", error: null },
    ]);
  });

  it("of an event that was met before is ignored", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.enqueue(events("a", 1, 2));
    await endpoint.enqueue(events("a", 1, 2, 3));
    await endpoint.quiet();
    expect(ids()).toEqual([1, 2, 3]);
    expect(await endpoint.list()).toHaveLength(3);
  });

  it("to a refused target is never sent, is tried again and ends as given up", async () => {
    const endpoint = await Endpoint.open("https://10.0.0.1/hook");
    await endpoint.enqueue(events("a", 1));
    await until(async () => expect((await endpoint.list())[0]?.attempts).toHaveLength(1));
    for (const [i, waitMs] of RETRY_DELAYS_MS.entries()) {
      await endpoint.pass(waitMs);
      await until(async () => expect((await endpoint.list())[0]?.attempts).toHaveLength(i + 2));
    }
    const [delivery] = await endpoint.list();
    expect(delivery).toMatchObject({ status: "given_up", next_attempt_at: null });
    expect(delivery?.attempts[0]).toMatchObject({ status: null, outcome: "target_refused", response: null });
    expect(delivery?.attempts[0]?.error).toMatch(/^The target is refused: /);
    expect(sent).toEqual([]);
  });

  it("honours Retry-After (B139)", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response("slow down", { status: 429, headers: { "retry-after": "3600" } });
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    const next = new Date(now + HOUR).toISOString();
    expect((await endpoint.list())[0]).toMatchObject({ status: "pending", next_attempt_at: next });
    await endpoint.pass(HOUR - 1);
    await endpoint.quiet();
    expect(sent).toHaveLength(1);
    await endpoint.pass(1);
    await endpoint.quiet();
    expect(sent).toHaveLength(2);
  });
});

describe("order (B109, I2)", () => {
  it("within a subject waits for the earlier event; other subjects do not wait", async () => {
    const endpoint = await Endpoint.open();
    merchant = (one) => new Response(null, { status: one.id === event(1, "").id && sent.length < 4 ? 500 : 200 });
    await endpoint.enqueue([event(1, "a"), event(2, "b"), event(3, "a"), event(4, "b"), event(5, "a")]);
    await endpoint.quiet();
    expect(ids().sort()).toEqual([1, 2, 4]);

    await endpoint.pass(5 * SECOND);
    await endpoint.quiet();
    expect(ids().slice(3)).toEqual([1, 3, 5]);
    const [first, again] = sent.filter((one) => one.id === event(1, "").id);
    expect(again?.body).toBe(first?.body);
    expect(again?.timestamp).toBe(Number(first?.timestamp) + 5);
    expect(again?.headers["webhook-signature"]).not.toBe(first?.headers["webhook-signature"]);
  });

  it("is by sequence, whatever order they arrived in", async () => {
    const endpoint = await Endpoint.open();
    const held = gate();
    merchant = async (one) => {
      if (one.id === event(1, "").id) await held.passed();
      return new Response();
    };
    await endpoint.enqueue(events("a", 1));
    await endpoint.enqueue(events("a", 9));
    await endpoint.enqueue(events("a", 5));
    await endpoint.enqueue(events("a", 7));
    held.open();
    await endpoint.quiet();
    expect(ids()).toEqual([1, 5, 7, 9]);
  });

  it("goes on to the next event of the subject when one is given up after its tenth attempt", async () => {
    const endpoint = await Endpoint.open();
    merchant = (one) => new Response("no", { status: one.id === event(1, "").id ? 500 : 200 });
    await endpoint.enqueue(events("a", 1, 2));
    await endpoint.quiet();
    const waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    for (const [index, waitS] of waits.entries()) {
      expect(ids()).toEqual(Array(index + 1).fill(1));
      await endpoint.pass(waitS * SECOND - 1);
      await endpoint.quiet();
      expect(ids()).toEqual(Array(index + 1).fill(1));
      await endpoint.pass(1);
      await endpoint.quiet();
    }
    expect(ids()).toEqual([...Array(10).fill(1), 2]);
    expect(new Set(sent.slice(0, 10).map((one) => one.body)).size).toBe(1);
    const [second, first] = await endpoint.list();
    expect(first).toMatchObject({ status: "given_up", next_attempt_at: null });
    expect(first?.attempts.map((attempt) => attempt.status)).toEqual(Array(10).fill(500));
    expect(second).toMatchObject({ status: "delivered" });
    expect(await endpoint.list({ status: "given_up" })).toEqual([first]);
  });

  it.each([1, 2, 3])("holds under random failures, crashes and late arrivals (seed %d)", async (seed) => {
    const random = mulberry32(seed);
    const endpoint = await Endpoint.open();
    merchant = async () => {
      if (random() < 0.3) await new Promise((resolve) => setTimeout(resolve, 2));
      return new Response(null, { status: random() < 0.5 ? 500 : 200 });
    };
    const bySubject = new Map<string, number[]>();
    let sequence = 0;
    for (let round = 0; round < 12; round++) {
      const batch: QueuedEvent[] = [];
      for (let i = 0; i < 4; i++) {
        const subject = `s${Math.floor(random() * 4)}`;
        batch.push(event(++sequence, subject));
        bySubject.set(subject, [...(bySubject.get(subject) ?? []), sequence]);
      }
      await endpoint.enqueue(batch);
      if (random() < 0.3) await crash(endpoint);
      await endpoint.pass(Math.floor(random() * HOUR));
    }
    for (let round = 0; round < 200 && (await endpoint.list({ status: "pending" })).length > 0; round++) {
      await endpoint.quiet();
      await endpoint.pass(DAY);
    }
    expect(await endpoint.list({ status: "pending" })).toEqual([]);
    expect(await endpoint.list()).toHaveLength(sequence);
    for (const own of bySubject.values()) {
      const order = ids().filter((id) => own.includes(id));
      expect([...order].sort((a, b) => a - b)).toEqual(order);
      expect(new Set(order).size).toBe(own.length);
    }
  });
});

describe("bounds (B118, B119, B139)", () => {
  it("five requests at most are under way, and one that hangs holds up only its own subject", async () => {
    const endpoint = await Endpoint.open();
    const [slow, all] = [gate(), gate()];
    merchant = async (one) => {
      await (one.id === event(1, "").id ? slow : all).passed();
      return new Response();
    };
    const list = Array.from({ length: 12 }, (_, i) => event(i + 1, `s${i + 1}`));
    await endpoint.enqueue([...list, event(13, "s1")]);
    await until(() => expect(active).toBe(5));
    expect(sent).toHaveLength(5);
    all.open();
    await until(() => expect(sent).toHaveLength(12));
    expect(mostActive).toBe(5);
    expect(ids()).not.toContain(13);
    slow.open();
    await endpoint.quiet();
    expect(ids().at(-1)).toBe(13);
  });

  it("a backlog goes out as fast as it is answered", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.enqueue(Array.from({ length: 300 }, (_, i) => event(i + 1, `s${i}`)));
    await until(() => expect(sent).toHaveLength(300));
    await endpoint.quiet();
    expect(mostActive).toBe(5);
    expect(new Set(ids()).size).toBe(300);
  });

  it("ten thousand that piled up while the receiver was down go out at a pace, five at a time, each subject in order", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: 503, headers: { "retry-after": "1" } });
    const subjects = 4_000;
    for (let from = 1; from <= 10_000; from += 1_000) {
      await endpoint.enqueue(Array.from({ length: 1_000 }, (_, i) => event(from + i, `s${(from + i) % subjects}`)));
    }
    await endpoint.quiet();
    const failed = sent.length;
    expect(failed).toBeLessThan(20);

    const acknowledged: number[] = [];
    merchant = (one) => {
      acknowledged.push(Number(one.id.slice(4)));
      return new Response();
    };
    // Twice as many each second, by the pace's own timer; past a thousand, all.
    for (const total of [10, 30, 70, 150, 310, 630, 10_000]) {
      now += SECOND;
      await until(() => expect(acknowledged.length).toBe(total));
      if (total < 10_000) await endpoint.quiet();
      expect(acknowledged).toHaveLength(total);
    }
    await endpoint.quiet();
    expect(mostActive).toBe(5);
    expect(sent).toHaveLength(10_000 + failed);
    const last = new Map<number, number>();
    for (const sequence of acknowledged) {
      expect(sequence).toBeGreaterThan(last.get(sequence % subjects) ?? 0);
      last.set(sequence % subjects, sequence);
    }
    expect(new Set(acknowledged).size).toBe(10_000);
  }, 120_000);

  it("fifty dead deliveries at the head do not keep the next one from going", async () => {
    const endpoint = await Endpoint.open();
    merchant = (one) => new Response(null, { status: one.id === event(51, "").id ? 200 : 500 });
    await endpoint.enqueue(Array.from({ length: 51 }, (_, i) => event(i + 1, `s${i + 1}`)));
    for (let second = 0; second < 5; second++) {
      await endpoint.quiet();
      await endpoint.pass(SECOND);
    }
    await endpoint.quiet();
    expect((await endpoint.list({ status: "delivered" })).map((delivery) => delivery.sequence)).toEqual([51]);
  });

  it("with ten thousand waiting, the next due one is found at once", async () => {
    const endpoint = await Endpoint.open();
    const held = gate();
    merchant = async (one) => {
      if (one.id === event(1, "").id) await held.passed();
      return new Response();
    };
    const sequences = Array.from({ length: 10_000 }, (_, i) => i + 1);
    for (let from = 0; from < sequences.length; from += 1_000) {
      await endpoint.enqueue(events("busy", ...sequences.slice(from, from + 1_000)));
    }
    await endpoint.enqueue([event(20_000, "other")]);
    await until(() => expect(ids()).toEqual([1, 20_000]));
    const read = await endpoint.inside((_, state) => {
      const due = "SELECT position FROM deliveries WHERE status = 'pending' AND blocked = 0 ORDER BY next_at, position";
      const cursor = state.storage.sql.exec(`${due} LIMIT 15`);
      return { rows: cursor.toArray().length, read: cursor.rowsRead };
    });
    expect(read).toEqual({ rows: 1, read: 1 });
    await endpoint.stub.close();
    held.open();
    await until(() => expect(active).toBe(0));
  });
});

describe("results", () => {
  /** Calls what the endpoint's object does in each commit. */
  function commitsOf(endpoint: Endpoint, before: () => void): Promise<void> {
    return endpoint.inside((object) => {
      const { storage } = object as unknown as { storage: { transactionSync<T>(work: () => T): T } };
      const commit = storage.transactionSync;
      storage.transactionSync = (work) =>
        commit(() => {
          before();
          return work();
        });
    });
  }

  it("that come while there is more to send are committed together, an acknowledged delivery as one row written", async () => {
    const endpoint = await Endpoint.open();
    const held = gate();
    merchant = async () => {
      await held.passed();
      return new Response("thanks\u0000");
    };
    await endpoint.enqueue(Array.from({ length: 200 }, (_, i) => event(i + 1, `s${i}`)));
    let commits = 0;
    await commitsOf(endpoint, () => commits++);
    held.open();
    await until(() => expect(sent).toHaveLength(200));
    await endpoint.quiet();
    expect(commits).toBeLessThan(40);
    const [delivery] = await endpoint.list();
    const at = new Date(now).toISOString();
    const attempt = { at, status: 200, outcome: "delivered", duration_ms: 0, response: "thanks\u0000", error: null };
    expect(delivery).toMatchObject({ status: "delivered", attempts: [attempt] });
    const kept = await endpoint.inside((_, { storage: { sql } }) =>
      sql.exec("SELECT count(*) AS n FROM attempts").one(),
    );
    expect(kept).toEqual({ n: 0 });
  });

  it("write five rows for an event, from its arrival to its acknowledgement, and one when it is forgotten", async () => {
    const endpoint = await Endpoint.open();
    let cursors: { readonly rowsWritten: number }[] = [];
    const written = () => cursors.splice(0).reduce((sum, cursor) => sum + cursor.rowsWritten, 0);
    await endpoint.inside((_, { storage: { sql } }) => {
      const exec = sql.exec.bind(sql);
      Object.defineProperty(sql, "exec", {
        value: (query: string, ...bound: unknown[]) => {
          const cursor = exec(query, ...bound);
          cursors.push(cursor);
          return cursor;
        },
      });
    });
    cursors = [];
    await endpoint.enqueue([event(1, "a")]);
    await endpoint.quiet();
    expect(written()).toBe(5);
    await endpoint.pass(31 * DAY);
    expect(await endpoint.list()).toEqual([]);
    expect(written()).toBe(1);
  });

  it("lost in a crash are sent again before what follows them in their subject (I2)", async () => {
    const endpoint = await Endpoint.open();
    await commitsOf(endpoint, () => {
      if (sent.length > 0) throw new Error("the disk is gone");
    });
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    await endpoint.enqueue(events("a", 1, 2, 3));
    await until(() => expect(logged).toHaveBeenCalled());
    expect(ids()).toEqual([1]);
    await crash(endpoint);
    await endpoint.pass(MINUTE);
    await endpoint.quiet();
    expect(ids()).toEqual([1, 1, 2, 3]);
    expect((await endpoint.list()).map(({ attempts }) => attempts.length)).toEqual([1, 1, 1]);
  });

  it("one that cannot be kept keeps no other from being kept, and is sent again", async () => {
    const endpoint = await Endpoint.open();
    vi.spyOn(console, "error").mockImplementation(() => {});
    await endpoint.inside((_, { storage: { sql } }) =>
      sql.exec(
        "CREATE TRIGGER poison BEFORE UPDATE OF status ON deliveries WHEN NEW.sequence = 3 BEGIN SELECT RAISE(ABORT, 'poison'); END",
      ),
    );
    await endpoint.enqueue(Array.from({ length: 30 }, (_, i) => event(i + 1, `s${i}`)));
    await until(() => expect(sent).toHaveLength(30));
    await endpoint.quiet();
    expect((await endpoint.list({ status: "pending" })).map(({ sequence }) => sequence)).toEqual([3]);
    await endpoint.inside((_, { storage: { sql } }) => sql.exec("DROP TRIGGER poison"));
    await endpoint.pass(MINUTE);
    await endpoint.quiet();
    expect(ids().filter((id) => id === 3)).toHaveLength(2);
    expect(await endpoint.list({ status: "pending" })).toEqual([]);
  });
});

describe("alarms (B134)", () => {
  it("that fire early or twice send nothing twice and lose nothing", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: sent.length < 2 ? 500 : 200 });
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    expect(await endpoint.alarmAt()).toBe(now + 5 * SECOND);

    for (let early = 0; early < 3; early++) expect(await endpoint.pass(SECOND)).toBe(true);
    expect(sent).toHaveLength(1);
    expect(await endpoint.alarmAt()).toBe(now + 2 * SECOND);

    now += 2 * SECOND;
    const held = gate();
    const before = merchant;
    merchant = async (one) => {
      await held.passed();
      return before(one);
    };
    await Promise.all([1, 2, 3].map(() => endpoint.inside((object) => object.alarm())));
    held.open();
    await endpoint.quiet();
    expect(sent).toHaveLength(2);
    expect((await endpoint.list())[0]).toMatchObject({ status: "delivered" });
  });

  it("stand for what is left after each one, until nothing is", async () => {
    const endpoint = await Endpoint.open();
    merchant = (one) => new Response(null, { status: one.id === event(1, "").id ? 500 : 503 });
    await endpoint.enqueue([event(1, "a"), event(2, "b")]);
    await endpoint.quiet();
    await endpoint.pass(5 * SECOND);
    await endpoint.quiet();
    merchant = () => new Response();
    await endpoint.pass(5 * MINUTE);
    await endpoint.quiet();
    expect((await endpoint.list()).map((delivery) => delivery.status)).toEqual(["delivered", "delivered"]);
    while (await endpoint.pass(DAY)) expect(sent).toHaveLength(6);
    expect(await endpoint.alarmAt()).toBeNull();
  });

  it("are written once for a burst", async () => {
    const endpoint = await Endpoint.open();
    const writes = await endpoint.inside((_, state) => {
      const spy = vi.spyOn(state.storage, "setAlarm");
      return spy;
    });
    for (let i = 1; i <= 10; i++) await endpoint.enqueue([event(i, `s${i}`)]);
    await endpoint.quiet();
    expect(sent).toHaveLength(10);
    expect(writes).toHaveBeenCalledTimes(1);
  });

  it("missing or overdue, are armed again by the patrol", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: 500 });
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    await endpoint.inside((_, state) => state.storage.deleteAlarm());
    await endpoint.stub.patrol();
    expect(await endpoint.alarmAt()).toBe(now + 5 * SECOND);

    await endpoint.inside((_, state) => state.storage.setAlarm(now + 1));
    now += HOUR;
    await endpoint.stub.patrol();
    await endpoint.quiet();
    expect(sent).toHaveLength(2);
    expect(await endpoint.alarmAt()).toBe(now + 25 * SECOND);
  });
});

describe("long waits", () => {
  const waitsOf = async (endpoint: Endpoint) => {
    const query = "SELECT due_at FROM endpoint_waits WHERE endpoint_id = ?";
    const { results } = await (env as unknown as Env).DB.prepare(query).bind(endpoint.id).all();
    return results.map((row) => row.due_at);
  };

  it("are listed for cron, short ones are not", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: 500 });
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    expect(await waitsOf(endpoint)).toEqual([]);
    await endpoint.pass(5 * SECOND);
    await endpoint.quiet();
    await endpoint.pass(25 * SECOND);
    const nextAt = now - 25 * SECOND + 5 * MINUTE;
    await until(async () => expect(await waitsOf(endpoint)).toEqual([nextAt + 30 * SECOND]));
  });

  it("hold up nothing when D1 is out of reach", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: 429, headers: { "retry-after": "3600" } });
    await endpoint.inside((object) => {
      const broken = {
        prepare: () => {
          throw new Error("D1 is down");
        },
      };
      Object.defineProperty(object, "env", { value: { ...(env as unknown as Env), DB: broken } });
    });
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    await endpoint.pass(25 * SECOND);
    await until(() => expect(String(logged.mock.calls)).toContain("a long wait could not be listed"));
    merchant = () => new Response();
    expect(await endpoint.alarmAt()).toBe(now - 25 * SECOND + HOUR);
    await endpoint.pass(HOUR);
    await endpoint.quiet();
    expect(await endpoint.list({ status: "delivered" })).toHaveLength(1);
  });
});

describe("restarts (B135)", () => {
  it("in mid-send lead to the same id and bytes again, and cost no attempt", async () => {
    const endpoint = await Endpoint.open();
    const held = gate();
    merchant = async () => {
      await held.passed();
      return new Response();
    };
    const one = event(1, "a");
    await endpoint.enqueue([one, event(2, "a")]);
    await until(() => expect(sent).toHaveLength(1));

    for (let crashes = 1; crashes <= 12; crashes++) {
      await crash(endpoint);
      expect((await endpoint.list()).map((delivery) => [delivery.status, delivery.attempts.length])).toEqual([
        ["pending", 0],
        ["pending", 0],
      ]);
      expect(await endpoint.alarmAt()).not.toBeNull();
      await endpoint.pass(25 * SECOND);
      await until(() => expect(sent).toHaveLength(1 + crashes));
    }
    expect(new Set(sent.map((each) => `${each.id} ${each.body}`))).toEqual(new Set([`${one.id} ${one.body}`]));
    expect(new Set(sent.map((each) => each.timestamp)).size).toBe(13);

    held.open();
    await until(async () => expect(await endpoint.list({ status: "pending" })).toEqual([]));
    expect((await endpoint.list()).map((delivery) => delivery.attempts.length)).toEqual([1, 1]);
  });

  it("between attempts lose nothing", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: sent.length < 3 ? 500 : 200 });
    await endpoint.enqueue([event(1, "a"), event(2, "a"), event(3, "b")]);
    await endpoint.quiet();
    await evictDurableObject(endpoint.stub);
    await endpoint.takeTime();
    await endpoint.pass(5 * SECOND);
    await endpoint.quiet();
    await evictDurableObject(endpoint.stub);
    await endpoint.takeTime();
    expect((await endpoint.list()).map((delivery) => delivery.status)).toEqual(Array(3).fill("delivered"));
    expect(ids().filter((id) => id < 3)).toEqual([1, 1, 2]);
  });

  it("after a fault of our own come back later, counting nothing, telling no secret", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const endpoint = await Endpoint.open();
    const stored = await endpoint.inside(
      (_, { storage }) => storage.sql.exec("SELECT secret FROM secrets").one().secret,
    );
    await endpoint.inside((_, state) =>
      state.storage.sql.exec("UPDATE secrets SET secret = 'AAAAAAAAAAAAAAAAAAAAAAAA'"),
    );
    await endpoint.enqueue(events("a", 1));
    await until(() => expect(logged).toHaveBeenCalledTimes(1));
    expect(String(logged.mock.calls[0])).toContain("does not open under version 2");
    expect(String(logged.mock.calls[0])).not.toContain("AAAA");
    expect(await endpoint.alarmAt()).toBe(now + 25 * SECOND);
    await endpoint.pass(25 * SECOND);
    expect(logged).toHaveBeenCalledTimes(1);
    await endpoint.inside((_, state) => state.storage.sql.exec("UPDATE secrets SET secret = ?", stored));
    await endpoint.pass(MINUTE);
    await endpoint.quiet();
    expect(await endpoint.list()).toMatchObject([{ status: "delivered", attempts: [{ status: 200 }] }]);
  });
});

describe("410 Gone (B139)", () => {
  it("disables the endpoint, tells the tenant, and loses nothing until it is enabled again", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response("gone", { status: 410 });
    await endpoint.enqueue(events("a", 1, 2));
    await endpoint.quiet();
    const reason = { status: "disabled", disabledReason: "gone", disabledAt: now + 1 };
    const state = { revision: 2, ...reason, failingSince: null, publicKey: null };
    await until(() => expect(told).toEqual([[endpoint.id, state]]));

    await endpoint.enqueue([...events("a", 3), ...events("b", 4)]);
    for (let day = 0; day < 10; day++) await endpoint.pass(DAY);
    await endpoint.quiet();
    expect(ids()).toEqual([1]);
    expect(told).toHaveLength(1);
    expect((await endpoint.list({ status: "pending" })).map((delivery) => delivery.next_attempt_at)).toEqual(
      Array(4).fill(null),
    );

    merchant = () => new Response();
    await endpoint.stub.enable();
    await endpoint.quiet();
    expect(ids().filter((id) => id !== 4)).toEqual([1, 1, 2, 3]);
    expect(ids().filter((id) => id === 4)).toEqual([4]);
    expect(await endpoint.list({ status: "pending" })).toEqual([]);
    expect(told).toHaveLength(1);
  });

  it("is told to the tenant until it hears, also after a restart", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const endpoint = await Endpoint.open();
    let tries = 0;
    tenantStatus.mockImplementation(async () => {
      tries++;
      throw new Error("out of reach");
    });
    merchant = () => new Response(null, { status: 410 });
    await endpoint.enqueue(events("a", 1));
    await until(() => expect(tries).toBe(1));
    await evictDurableObject(endpoint.stub);
    await endpoint.takeTime();
    await endpoint.pass(59 * SECOND);
    await endpoint.pass(SECOND);
    await until(() => expect(tries).toBe(2));
    await endpoint.quiet();
    tenantStatus.mockImplementation(async (...args) => {
      told.push(args);
    });
    await endpoint.pass(MINUTE);
    await until(() => expect(told).toHaveLength(1));
    while (await endpoint.pass(DAY));
    expect(told).toHaveLength(1);
  });

  it("from a former target, or from before the endpoint was enabled again, changes nothing", async () => {
    const endpoint = await Endpoint.open();
    const held = gate();
    merchant = async (one) => {
      if (one.url !== URL_) return new Response();
      await held.passed();
      return new Response(null, { status: 410 });
    };
    await endpoint.enqueue(events("a", 1, 2));
    await until(() => expect(active).toBe(1));
    await endpoint.configure("https://new.example/hook");
    held.open();
    await endpoint.quiet();
    expect(told).toEqual([]);
    expect(sent.map((one) => one.url)).toEqual([URL_, "https://new.example/hook", "https://new.example/hook"]);
    expect(await endpoint.list({ status: "pending" })).toEqual([]);
  });

  it("is told again when the tenant does not answer", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: 410 });
    tenantStatus.mockImplementationOnce(() => new Promise(() => {}));
    await endpoint.inside((object) => {
      object.deadlineMs = 300;
    });
    await endpoint.enqueue(events("a", 1));
    await until(() => expect(tenantStatus).toHaveBeenCalledTimes(1));
    await new Promise((resolve) => setTimeout(resolve, 500));
    await endpoint.pass(MINUTE);
    await until(() => expect(told).toHaveLength(1));
  });

  it("counts also when the clock stepped back after the endpoint was enabled", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.stub.disable();
    await endpoint.stub.enable();
    await until(() => expect(told.length).toBeGreaterThan(0));
    const before = told.length;
    now -= HOUR;
    merchant = () => new Response(null, { status: 410 });
    await endpoint.enqueue(events("a", 1));
    await until(() => expect(told.length).toBeGreaterThan(before));
    await endpoint.quiet();
    expect(sent).toHaveLength(1);
  });

  it("does not stop the waits of others: enabling makes all of them due", async () => {
    const endpoint = await Endpoint.open();
    merchant = (one) => new Response(null, { status: one.id === event(1, "").id ? 500 : 410 });
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    await endpoint.pass(5 * SECOND);
    await endpoint.quiet();
    await endpoint.enqueue(events("b", 2));
    await until(() => expect(told).toHaveLength(1));
    merchant = () => new Response();
    now += SECOND;
    await endpoint.stub.enable();
    await endpoint.quiet();
    expect(await endpoint.list({ status: "delivered" })).toHaveLength(2);
  });
});

describe("a replay", () => {
  it("sends the same ids and bytes with a fresh time stamp, as new deliveries", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.enqueue(events("a", 1, 2));
    await endpoint.quiet();
    now += HOUR;
    await endpoint.enqueue(events("a", 1, 2), true);
    await endpoint.quiet();
    expect(ids()).toEqual([1, 2, 1, 2]);
    expect(sent[2]?.body).toBe(sent[0]?.body);
    expect(sent[2]?.timestamp).toBe(Number(sent[0]?.timestamp) + 3_600);
    const list = await endpoint.list();
    expect(new Set(list.map((delivery) => delivery.id)).size).toBe(4);
    expect(list.map((delivery) => delivery.sequence)).toEqual([2, 1, 2, 1]);
  });

  it("of what still waits adds nothing, so it may be repeated", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: 500 });
    await endpoint.enqueue(events("a", 1, 2, 3));
    await endpoint.quiet();
    for (let i = 0; i < 3; i++) await endpoint.enqueue(events("a", 1, 2, 3), true);
    await endpoint.quiet();
    expect(await endpoint.list()).toHaveLength(3);
  });

  it("goes in its place: before what is later in its subject, after what is under way", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.enqueue(events("a", 1, 2));
    await endpoint.quiet();
    merchant = () => new Response(null, { status: 500 });
    await endpoint.enqueue(events("a", 3));
    await endpoint.quiet();
    merchant = () => new Response();
    await endpoint.enqueue(events("a", 1, 2, 3), true);
    await endpoint.quiet();
    expect(ids()).toEqual([1, 2, 3, 1, 2]);
    await endpoint.pass(5 * SECOND);
    await endpoint.quiet();
    expect(ids()).toEqual([1, 2, 3, 1, 2, 3]);

    const held = gate();
    merchant = async () => {
      await held.passed();
      return new Response();
    };
    await endpoint.enqueue(events("a", 4));
    await until(() => expect(active).toBe(1));
    await endpoint.enqueue(events("a", 3, 4), true);
    expect(active).toBe(1);
    held.open();
    await endpoint.quiet();
    expect(ids().slice(6)).toEqual([4, 3, 4]);
    expect(mostActive).toBe(1);
  });

  it("that fails holds back what is later, also what waited for its next attempt already", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    merchant = () => new Response(null, { status: 500 });
    await endpoint.enqueue(events("a", 3));
    await endpoint.quiet();
    await endpoint.enqueue(events("a", 1), true);
    await endpoint.quiet();
    expect(ids()).toEqual([1, 3, 1]);
    await endpoint.pass(5 * SECOND);
    await endpoint.quiet();
    expect(ids()).toEqual([1, 3, 1, 1]);
    merchant = () => new Response();
    await endpoint.pass(5 * MINUTE);
    await endpoint.quiet();
    expect(ids()).toEqual([1, 3, 1, 1, 1, 3]);
  });

  it("gives a new chance to what was given up", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: 500 });
    await endpoint.enqueue(events("a", 1));
    await giveUp(endpoint);
    expect(await endpoint.list()).toMatchObject([{ status: "given_up" }]);
    merchant = () => new Response();
    await endpoint.enqueue(events("a", 1), true);
    await endpoint.quiet();
    expect(await endpoint.list()).toMatchObject([{ status: "delivered" }, { status: "given_up" }]);
  });
});

describe("secrets (B113)", () => {
  it("are given once; configuring again changes the target alone", async () => {
    const endpoint = await Endpoint.open();
    expect(endpoint.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await endpoint.configure("https://new.example/hook")).toMatchObject({ secret: null });
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    expect(sent[0]?.url).toBe("https://new.example/hook");
    expect(sent[0]?.headers["webhook-signature"]).toBe(
      new Webhook(endpoint.secret).sign(sent[0]?.id ?? "", new Date(now), sent[0]?.body ?? ""),
    );
  });

  it("overlap while one replaces the other, then the old one stops; a repeated request gives the same", async () => {
    const endpoint = await Endpoint.open();
    const fresh = await endpoint.rotate(3_600, "req_1");
    expect(fresh).not.toBe(endpoint.secret);
    now += HOUR - 1;
    expect(await endpoint.rotate(3_600, "req_1")).toBe(fresh);
    const signers = async (sequence: number, ...secrets: string[]) => {
      await endpoint.enqueue(events(`s${sequence}`, sequence));
      await endpoint.quiet();
      const one = sent.at(-1);
      const signatures = one?.headers["webhook-signature"]?.split(" ");
      const expected = secrets.map((secret) => new Webhook(secret).sign(one?.id ?? "", new Date(now), one?.body ?? ""));
      expect(signatures).toEqual(expected);
    };
    await signers(1, fresh, endpoint.secret);
    now += 1;
    await signers(2, fresh);
    const newest = await endpoint.rotate(0, "req_2");
    await signers(3, newest);
  });

  it("replaced while deliveries are under way lose nothing, whichever one a receiver knows", async () => {
    const endpoint = await Endpoint.open();
    const known = { old: endpoint.secret, new: "" };
    /** As the reference library does it, whose own clock is not the test's. */
    const verifies = (one: Sent, secret: string) => {
      const expected = new Webhook(secret).sign(one.id, new Date(one.timestamp * SECOND), one.body);
      return one.headers["webhook-signature"]?.split(" ").includes(expected) ?? false;
    };
    const held = gate();
    merchant = async (one) => {
      await held.passed();
      const secret = one.body.endsWith('old"}') ? known.old : known.new;
      return new Response(null, { status: verifies(one, secret) ? 200 : 401 });
    };
    await endpoint.enqueue([...events("old", 1, 3), ...events("new", 2, 4)]);
    await until(() => expect(active).toBe(2));
    known.new = await endpoint.rotate(3_600, "req_1");
    held.open();
    await endpoint.quiet();
    // What was signed before the new one was there is refused by whoever knows that alone, and comes again.
    expect(ids().toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    await endpoint.pass(5 * SECOND);
    await endpoint.quiet();
    expect(ids().slice(3)).toEqual([2, 4]);
    expect(await endpoint.list({ status: "delivered" })).toHaveLength(4);

    now += HOUR;
    await endpoint.enqueue([...events("old", 5), ...events("new", 6)]);
    await endpoint.quiet();
    expect((await endpoint.list({ status: "pending" })).map((delivery) => delivery.sequence)).toEqual([5]);
  });

  it("rotated under whatever request id are new ones", async () => {
    const endpoint = await Endpoint.open();
    const secret = await endpoint.rotate(0, "configure");
    expect(secret).toMatch(/^whsec_/);
    expect(secret).not.toBe(endpoint.secret);
  });

  it("rotated without overlap end every older one", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.stub.rotateSecret(7 * 86_400, "req_1");
    const secret = await endpoint.rotate(0, "req_2");
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    expect(sent[0]?.headers["webhook-signature"]?.split(" ")).toHaveLength(1);
    expect(sent[0]?.headers["webhook-signature"]).toBe(
      new Webhook(secret).sign(sent[0]?.id ?? "", new Date(now), sent[0]?.body ?? ""),
    );
  });
});

describe("secrets at rest", () => {
  /** Every value of every table, as it lies in the object's storage. */
  const raw = (endpoint: Endpoint) =>
    endpoint.inside((_, { storage }) => {
      const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
      const names = tables.map(({ name }) => String(name)).filter((name) => !name.startsWith("_cf_"));
      return JSON.stringify(names.map((name) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray()));
    });
  const rows = (endpoint: Endpoint) =>
    endpoint.inside((_, { storage }) =>
      storage.sql.exec("SELECT n, secret, key_version FROM secrets ORDER BY n").toArray(),
    );
  const plain = (secret: string) => secret.slice("whsec_".length);

  it("are nowhere in storage, neither the first nor one that replaced it", async () => {
    const endpoint = await Endpoint.open();
    const fresh = await endpoint.rotate(3_600, "req_1");
    const check = async () => {
      const stored = await raw(endpoint);
      expect(stored).toContain(endpoint.id);
      for (const secret of [endpoint.secret, fresh]) {
        expect(plain(secret)).toHaveLength(44);
        expect(stored).not.toContain(plain(secret));
        expect(stored).not.toContain(Buffer.from(plain(secret), "base64").toString("hex"));
      }
    };
    // Before they are used, and after.
    await check();
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    await check();
    expect((await rows(endpoint)).map((row) => row.key_version)).toEqual(["2", "2"]);
  });

  it("that an older version left as plain text still sign, and are sealed when they are first used", async () => {
    const endpoint = await Endpoint.open();
    const old = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const before = "UPDATE secrets SET secret = ?, key_version = NULL";
    await endpoint.inside((_, state) => state.storage.sql.exec(before, old));
    await evictDurableObject(endpoint.stub);
    await endpoint.takeTime();
    for (const sequence of [1, 2]) {
      await endpoint.enqueue(events(`s${sequence}`, sequence));
      await endpoint.quiet();
      const one = sent.at(-1);
      const signature = new Webhook(old).sign(one?.id ?? "", new Date(now), one?.body ?? "");
      expect(one?.headers["webhook-signature"]).toBe(signature);
      expect(await raw(endpoint)).not.toContain(plain(old));
      expect((await rows(endpoint)).map((row) => row.key_version)).toEqual(["2"]);
      // The sealed one signs as well, in an instance that never saw the other.
      await evictDurableObject(endpoint.stub);
      await endpoint.takeTime();
    }
  });

  it("under a root key that no longer writes are sealed under the one that does", async () => {
    const endpoint = await Endpoint.open();
    const owner = { kind: "webhook-secret", tenantId: endpoint.tenantId, place: endpoint.id } as const;
    const { rootKeys } = readSettings(env as unknown as Env);
    const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
    const older = await new SecretBox(() => rootKeys.slice(1), random).seal(endpoint.secret, owner);
    expect(older.keyVersion).toBe("1");
    const before = "UPDATE secrets SET secret = ?, key_version = ?";
    await endpoint.inside((_, state) => state.storage.sql.exec(before, older.text, older.keyVersion));
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    const signature = new Webhook(endpoint.secret).sign(sent[0]?.id ?? "", new Date(now), sent[0]?.body ?? "");
    expect(sent[0]?.headers["webhook-signature"]).toBe(signature);
    const [row] = await rows(endpoint);
    expect(row?.key_version).toBe("2");
    expect(row?.secret).not.toBe(older.text);
  });

  it("copied to another owner do not open", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const [mine, theirs] = [await Endpoint.open(), await Endpoint.open()];
    const [stolen] = await rows(theirs);
    const copy = "UPDATE secrets SET secret = ?";
    await mine.inside((_, state) => state.storage.sql.exec(copy, String(stolen?.secret)));
    await mine.enqueue(events("a", 1));
    await until(() => expect(String(logged.mock.calls)).toContain("damaged or another owner's"));
    expect(sent).toEqual([]);
  });

  it("whose root key was taken away wait for it, and name its version", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const endpoint = await Endpoint.open();
    await endpoint.inside((_, state) => state.storage.sql.exec("UPDATE secrets SET key_version = '0'"));
    await endpoint.enqueue(events("a", 1));
    await until(() => expect(String(logged.mock.calls)).toContain("SECRETS_KEY has no version 0"));
    expect(sent).toEqual([]);
    await endpoint.inside((_, state) => state.storage.sql.exec("UPDATE secrets SET key_version = '2'"));
    await endpoint.pass(MINUTE);
    await endpoint.quiet();
    expect(await endpoint.list()).toMatchObject([{ status: "delivered", attempts: [{ status: 200 }] }]);
  });

  it("of a request that came twice at once are one", async () => {
    const endpoint = await Endpoint.open();
    const both = await Promise.all([endpoint.rotate(0, "req_1"), endpoint.rotate(0, "req_1")]);
    expect(both[0]).toBe(both[1]);
    expect(await rows(endpoint)).toHaveLength(2);
  });
});

describe("asymmetric keys (v1a)", () => {
  async function isVerified(publicKey: string | null, signature: string | undefined, one: Sent | undefined) {
    const bytes = (base64: string) => new Uint8Array(Buffer.from(base64, "base64"));
    const raw = bytes(publicKey?.slice("whpk_".length) ?? "");
    const key = await crypto.subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
    const signed = new TextEncoder().encode(`${one?.id}.${one?.timestamp}.${one?.body}`);
    return crypto.subtle.verify({ name: "Ed25519" }, key, bytes(signature?.slice("v1a,".length) ?? ""), signed);
  }

  it("sign what they send; nobody is given the private one, and it is not in storage", async () => {
    const endpoint = await Endpoint.open(URL_, "v1a");
    expect(endpoint.secret).toBe("");
    expect(endpoint.publicKey).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    const header = sent[0]?.headers["webhook-signature"];
    expect(header).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
    expect(await isVerified(endpoint.publicKey, header, sent[0])).toBe(true);
    const [row] = await endpoint.inside((_, state) => state.storage.sql.exec("SELECT * FROM secrets").toArray());
    expect(row).toMatchObject({ public_key: endpoint.publicKey, key_version: "2" });
    expect(String(row?.secret)).not.toContain("whsk_");
    expect(Buffer.from(String(row?.secret), "base64").length).toBe(12 + "whsk_".length + 44 + 16);
  });

  it("overlap while one replaces the other, then the old one stops; the tenant is told the new one", async () => {
    const endpoint = await Endpoint.open(URL_, "v1a");
    const { secret, state } = await endpoint.stub.rotateSecret(3_600, "req_1");
    expect(secret).toBeNull();
    expect(state).toMatchObject({ revision: 2, status: "enabled" });
    expect(state.publicKey).not.toBe(endpoint.publicKey);
    expect(await endpoint.stub.rotateSecret(3_600, "req_1")).toEqual({ secret, state });
    await until(() => expect(told).toEqual([[endpoint.id, state]]));

    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    const [fresh, old, ...more] = sent[0]?.headers["webhook-signature"]?.split(" ") ?? [];
    expect(more).toEqual([]);
    expect(await isVerified(state.publicKey, fresh, sent[0])).toBe(true);
    expect(await isVerified(endpoint.publicKey, old, sent[0])).toBe(true);
    now += HOUR;
    await endpoint.enqueue(events("b", 2));
    await endpoint.quiet();
    const header = sent[1]?.headers["webhook-signature"];
    expect(header?.split(" ")).toHaveLength(1);
    expect(await isVerified(state.publicKey, header, sent[1])).toBe(true);
  });
});

describe("five days of failure", () => {
  /** Lets a day pass in which one more event arrives. */
  async function nextDay(endpoint: Endpoint, sequence: number): Promise<void> {
    now += DAY;
    await endpoint.enqueue(events(`day${sequence}`, sequence));
    await endpoint.quiet();
  }

  it("disable the endpoint and tell the tenant; enabling sends what piled up, in order and at the pace", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response("no", { status: 500 });
    await endpoint.enqueue(events("day1", 1));
    await endpoint.quiet();
    const failingSince = now;
    for (let day = 2; day <= 5; day++) await nextDay(endpoint, day);
    now = failingSince + 5 * DAY - 1;
    await endpoint.enqueue(events("day6", 6));
    await endpoint.quiet();
    expect(told).toEqual([]);
    // From the first hour on, and not with every failure.
    await until(() => expect(toldFailing.length).toBeGreaterThan(3));
    expect(new Set(toldFailing)).toEqual(new Set([failingSince]));
    now += 1;
    await endpoint.enqueue(events("day7", 7));
    const reason = { status: "disabled", disabledReason: "failing", disabledAt: now };
    await until(() => expect(told).toEqual([[endpoint.id, expect.objectContaining(reason)]]));
    await endpoint.quiet();

    const before = sent.length;
    const piled = Array.from({ length: 60 }, (_, i) => event(100 + i, i % 2 === 0 ? "even" : `odd${i}`));
    await endpoint.enqueue(piled);
    for (let day = 0; day < 3; day++) await endpoint.pass(DAY);
    await endpoint.quiet();
    expect(sent).toHaveLength(before);

    merchant = () => new Response();
    await endpoint.stub.enable();
    await endpoint.quiet();
    expect(sent).toHaveLength(before + 10);
    for (let second = 0; second < 3; second++) {
      await endpoint.pass(SECOND);
      await endpoint.quiet();
    }
    expect(await endpoint.list({ status: "pending" })).toEqual([]);
    const even = ids().filter((id) => id >= 100 && id % 2 === 0);
    expect(even).toEqual(Array.from({ length: 30 }, (_, i) => 100 + 2 * i));
    expect(new Set(ids().slice(before)).size).toBe(ids().slice(before).length);
    expect(told).toHaveLength(1);
  });

  it("begin anew with each success, with another target, and when the endpoint is enabled", async () => {
    const endpoint = await Endpoint.open();
    let status = 500;
    merchant = () => new Response(null, { status });
    await endpoint.enqueue(events("day1", 1));
    await endpoint.quiet();
    for (let day = 2; day <= 4; day++) await nextDay(endpoint, day);
    status = 200;
    await nextDay(endpoint, 5);
    await until(() => expect(toldFailing.at(-1)).toBeNull());
    status = 500;
    for (let day = 6; day <= 10; day++) await nextDay(endpoint, day);
    await endpoint.configure("https://new.example/hook");
    for (let day = 11; day <= 15; day++) await nextDay(endpoint, day);
    expect(told).toEqual([]);
    // The same target once more is no other one.
    await endpoint.configure("https://new.example/hook");
    await nextDay(endpoint, 16);
    await until(() => expect(told).toHaveLength(1));
    await endpoint.stub.enable();
    await endpoint.quiet();
    for (let day = 17; day <= 20; day++) await nextDay(endpoint, day);
    expect(told).toHaveLength(1);
  });

  it("are counted while there is something to send: what was given up long ago disables nothing", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: 500 });
    await endpoint.enqueue(events("once", 1));
    await endpoint.quiet();
    for (const delay of RETRY_DELAYS_MS) {
      await endpoint.pass(delay);
      await endpoint.quiet();
    }
    expect((await endpoint.list())[0]).toMatchObject({ status: "given_up" });
    now += 90 * DAY;
    await endpoint.enqueue(events("later", 2));
    await endpoint.quiet();
    expect(told).toEqual([]);
    merchant = () => new Response();
    await endpoint.pass(5 * SECOND);
    await endpoint.quiet();
    expect((await endpoint.list())[0]).toMatchObject({ sequence: 2, status: "delivered" });
  });
});

describe("an endpoint that its owner disabled", () => {
  it("gets nothing until it is enabled, and says why; doing either twice changes nothing", async () => {
    const endpoint = await Endpoint.open();
    const state = await endpoint.stub.disable();
    expect(state).toMatchObject({ revision: 2, status: "disabled", disabledReason: "by_request", disabledAt: now + 1 });
    await until(() => expect(told).toEqual([[endpoint.id, state]]));
    now += HOUR;
    expect(await endpoint.stub.disable()).toEqual(state);
    await endpoint.enqueue(events("a", 1, 2));
    await endpoint.pass(DAY);
    await endpoint.quiet();
    expect(sent).toEqual([]);
    const { state: enabled } = await endpoint.stub.enable();
    expect(enabled).toMatchObject({ revision: 3, status: "enabled", disabledReason: null, disabledAt: null });
    expect(await endpoint.stub.enable()).toEqual({ before: enabled, state: enabled });
    await endpoint.quiet();
    expect(ids()).toEqual([1, 2]);
  });
});

describe("a delivery sent again", () => {
  const idOf = async (endpoint: Endpoint, sequence: number) =>
    (await endpoint.list()).find((delivery) => delivery.sequence === sequence)?.id ?? "";
  const resend = async (endpoint: Endpoint, id: string) => {
    const outcome = await endpoint.stub.resend(id);
    if (!outcome.ok) throw new Error(outcome.refusal.code);
    return outcome.value as unknown as DeliveryView;
  };

  it("that was given up goes out with the same id and bytes, a fresh time stamp and signature", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response("no", { status: 500 });
    await endpoint.enqueue(events("a", 1));
    await giveUp(endpoint);
    const [old] = await endpoint.list({ status: "given_up" });
    merchant = () => new Response();
    now += HOUR;
    const again = await resend(endpoint, old?.id ?? "");
    expect(again).toMatchObject({ event_id: old?.event_id, sequence: 1, status: "pending", attempts: [] });
    expect(again.id).not.toBe(old?.id);
    await endpoint.quiet();
    const [first, last] = [sent[0], sent.at(-1)];
    expect(sent).toHaveLength(11);
    expect([last?.id, last?.body]).toEqual([first?.id, first?.body]);
    expect(last?.timestamp).toBe(Math.floor(now / SECOND));
    expect(last?.headers["webhook-signature"]).toBe(
      new Webhook(endpoint.secret).sign(last?.id ?? "", new Date(now), last?.body ?? ""),
    );
    const outcome = await endpoint.stub.delivery(again.id);
    expect(outcome).toMatchObject({ ok: true, value: { id: again.id, status: "delivered" } });
    expect(await endpoint.list({ status: "given_up" })).toEqual([old]);
  });

  it("keeps its place in its subject: behind what is under way, before what is later", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.enqueue(events("a", 1, 2));
    await endpoint.quiet();
    const held = gate();
    merchant = async () => {
      await held.passed();
      return new Response();
    };
    await endpoint.enqueue(events("a", 3, 4));
    await until(() => expect(active).toBe(1));
    await resend(endpoint, await idOf(endpoint, 1));
    await resend(endpoint, await idOf(endpoint, 2));
    held.open();
    await endpoint.quiet();
    expect(ids()).toEqual([1, 2, 3, 1, 2, 4]);
    expect(mostActive).toBe(1);
  });

  it("while it is still pending is tried now and not doubled, also when it is under way", async () => {
    const endpoint = await Endpoint.open();
    merchant = () => new Response(null, { status: 500 });
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    const id = await idOf(endpoint, 1);
    const held = gate();
    merchant = async () => {
      await held.passed();
      return new Response();
    };
    expect(await resend(endpoint, id)).toMatchObject({ id, status: "pending" });
    await until(() => expect(active).toBe(1));
    expect(await resend(endpoint, id)).toMatchObject({ id, status: "pending" });
    held.open();
    await endpoint.quiet();
    expect(ids()).toEqual([1, 1]);
    expect(await endpoint.list()).toMatchObject([{ id, status: "delivered" }]);
  });

  it("waits when the endpoint is disabled", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.enqueue(events("a", 1));
    await endpoint.quiet();
    await endpoint.stub.disable();
    expect(await resend(endpoint, await idOf(endpoint, 1))).toMatchObject({ status: "pending", next_attempt_at: null });
    await endpoint.quiet();
    expect(sent).toHaveLength(1);
    await endpoint.stub.enable();
    await endpoint.quiet();
    expect(ids()).toEqual([1, 1]);
  });

  it("is found by its name, also in rows from before names were kept; another name is none", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.enqueue([event(1, "a"), event(2, "b"), event(3, "c")]);
    await endpoint.quiet();
    const named = derivedId("del", endpoint.id, event(2, "b").id, 0);
    await endpoint.inside((_, { storage: { sql } }) => {
      sql.exec("UPDATE deliveries SET is_numbered = NULL, id = ? WHERE sequence = 2", named);
      sql.exec("UPDATE deliveries SET is_numbered = NULL WHERE sequence = 3");
    });
    expect(await idOf(endpoint, 2)).toBe(named);
    expect(await idOf(endpoint, 3)).toBe(derivedId("del", endpoint.id, event(3, "c").id, 0));
    for (const sequence of [1, 2, 3]) await resend(endpoint, await idOf(endpoint, sequence));
    await endpoint.quiet();
    expect(ids().slice(3).sort()).toEqual([1, 2, 3]);
    const other = await Endpoint.open();
    const notFound = { ok: false, refusal: { code: "not_found" } };
    expect(await other.stub.resend(await idOf(endpoint, 1))).toMatchObject(notFound);
    expect(await other.stub.delivery(await idOf(endpoint, 1))).toMatchObject(notFound);
  });
});

describe("the record of deliveries", () => {
  it("is paged newest first, every row once while rows are being added", async () => {
    const endpoint = await Endpoint.open();
    await endpoint.enqueue(Array.from({ length: 25 }, (_, i) => event(i + 1, `s${i}`)));
    await endpoint.quiet();
    const seen: number[] = [];
    let cursor: string | null = null;
    let next = 100;
    do {
      const page: { data: DeliveryView[]; next_cursor: string | null } = await endpoint.page({}, 10, cursor);
      seen.push(...page.data.map((delivery) => delivery.sequence));
      cursor = page.next_cursor;
      await endpoint.enqueue([event(next++, "late")]);
    } while (cursor !== null);
    expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => 25 - i));
  });

  it("is filtered by status", async () => {
    const endpoint = await Endpoint.open();
    merchant = (one) => new Response(null, { status: Number(one.id.slice(4)) % 2 === 0 ? 500 : 200 });
    await endpoint.enqueue(Array.from({ length: 6 }, (_, i) => event(i + 1, `s${i}`)));
    await endpoint.quiet();
    const of = async (status: "pending" | "delivered" | "given_up") =>
      (await endpoint.list({ status })).map((delivery) => delivery.sequence);
    expect(await of("pending")).toEqual([6, 4, 2]);
    expect(await of("delivered")).toEqual([5, 3, 1]);
    expect(await of("given_up")).toEqual([]);
  });

  it.each(["", "x", "!!!", "djEuMQ==", "djEuLTE", "djEuMS41", "🙂"])("refuses the cursor %j", async (cursor) => {
    const endpoint = await Endpoint.open();
    const outcome = await endpoint.stub.deliveries({}, { limit: 10, cursor });
    expect(outcome).toMatchObject({ ok: false, refusal: { code: "invalid_cursor" } });
  });

  it("forgets what ended more than thirty days ago, never what waits", async () => {
    const endpoint = await Endpoint.open();
    merchant = (one) => new Response(null, { status: one.id === event(2, "").id ? 410 : 200 });
    await endpoint.enqueue([event(1, "a")]);
    await endpoint.quiet();
    now += 29 * DAY;
    await endpoint.enqueue([event(2, "b")]);
    await until(() => expect(told).toHaveLength(1));
    expect((await endpoint.list()).map((delivery) => delivery.sequence)).toEqual([2, 1]);
    await endpoint.pass(DAY + SECOND);
    expect((await endpoint.list()).map((delivery) => delivery.sequence)).toEqual([2]);
    now += 60 * DAY;
    await endpoint.inside((object) => object.alarm());
    expect((await endpoint.list()).map((delivery) => delivery.sequence)).toEqual([2]);
    const left = await endpoint.inside((_, state) => state.storage.sql.exec("SELECT delivery FROM attempts").toArray());
    expect(left).toHaveLength(1);
  });
});

describe("closing", () => {
  it("forgets everything, also what was under way, and takes nothing more", async () => {
    const endpoint = await Endpoint.open();
    const held = gate();
    merchant = async () => {
      await held.passed();
      return new Response();
    };
    await endpoint.enqueue(events("a", 1, 2));
    await until(() => expect(active).toBe(1));
    await endpoint.stub.close();
    held.open();
    await until(() => expect(active).toBe(0));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ids()).toEqual([1]);
    expect(await endpoint.alarmAt()).toBeNull();
    await expectThrow(() => endpoint.enqueue(events("a", 3)), "not configured");
    await endpoint.stub.patrol();
    await endpoint.stub.close();
    const outcome = await endpoint.stub.deliveries({}, { limit: 10, cursor: null });
    expect(outcome).toMatchObject({ ok: false, refusal: { code: "not_found" } });
    const tables = await endpoint.inside((_, state) =>
      state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
    );
    expect(tables).toEqual([]);
    await evictDurableObject(endpoint.stub);
    await expectThrow(() => endpoint.enqueue(events("a", 3)), "not configured");
  });

  it("an object never serves two endpoints", async () => {
    const endpoint = await Endpoint.open();
    const other = { tenantId: "ten_x", endpointId: "we_x", url: URL_, apiVersion: "1", signature: "v1" as const };
    await expectThrow(async () => void (await endpoint.stub.configure(other)), "this object is");
  });
});

/** Every attempt of what is pending fails, each one when it is due. */
async function giveUp(endpoint: Endpoint): Promise<void> {
  await endpoint.quiet();
  for (const waitMs of RETRY_DELAYS_MS) {
    await endpoint.pass(waitMs);
    await endpoint.quiet();
  }
}

/** Ends every object as a crash would: nothing is drained, only what was committed is left. */
async function crash(endpoint: Endpoint): Promise<void> {
  await abortAllDurableObjects();
  active = 0;
  await endpoint.takeTime();
}

async function expectThrow(work: () => Promise<void>, message: string): Promise<void> {
  let thrown = "";
  try {
    await work();
  } catch (error) {
    thrown = String(error);
  }
  expect(thrown).toContain(message);
}

/** Small seeded generator: the same seed always fails in the same way. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
