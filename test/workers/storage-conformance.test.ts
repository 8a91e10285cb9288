/**
 * The platform's storage as it is: every probe on an object of its own inside workerd. What the simulation's
 * storage is held to is pinned here; when a new workerd differs, this says so first.
 */

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Env } from "../../src/env.ts";
import { WebhookEndpoint } from "../../src/index.ts";
import {
  FAR,
  type Found,
  PROBES,
  type Probe,
  type ProbeRequest,
  type ProbeStep,
  plain,
} from "../support/storage-probes.ts";

const { DB, WEBHOOK_ENDPOINT } = env as unknown as Env;
const PATIENCE = { timeout: 5_000 };
const TABLE = "CREATE TABLE IF NOT EXISTS probe_x (id INTEGER PRIMARY KEY, v)";

beforeAll(async () => {
  await DB.prepare("CREATE TABLE IF NOT EXISTS probe_calls (name TEXT NOT NULL)").run();
});
afterEach(() => {
  vi.restoreAllMocks();
});

type Stub = DurableObjectStub<WebhookEndpoint>;

/** A stub to an instance that ended reaches no other. */
const stubOf = (id: DurableObjectId) => WEBHOOK_ENDPOINT.get(id) as unknown as Stub;

const timer = () => new Promise<void>((resolve) => setTimeout(resolve, 1));

/** @param ended called before the instance ends */
function requestIn(state: DurableObjectState, name: string, ended: () => void): ProbeRequest {
  const { storage } = state;
  const sql = (text: string, ...values: unknown[]) => plain(storage.sql.exec(text, ...values).toArray()) as never;
  return {
    storage: storage as never,
    sql,
    write: (v) => void storage.sql.exec("INSERT INTO probe_x (v) VALUES (?)", v),
    transact: (work) => storage.transactionSync(work),
    timer,
    call: async () => void (await DB.prepare("INSERT INTO probe_calls (name) VALUES (?1)").bind(name).run()),
    abort: () => {
      ended();
      state.abort("the probe ends the instance");
      throw new Error("the instance went on");
    },
  };
}

/** An object of no particular kind, whose own tables do not matter. */
async function fresh(): Promise<DurableObjectId> {
  const id = WEBHOOK_ENDPOINT.newUniqueId();
  await runInDurableObject(stubOf(id), async (_, { storage }) => {
    await storage.deleteAlarm();
    storage.sql.exec(TABLE);
    await storage.sync();
  });
  return id;
}

async function run({ name, requests, alarms = [], afterFirstRing, lingerMs = 0 }: Probe): Promise<Found> {
  const id = await fresh();
  const stub = stubOf(id);
  const life = { ended: false };
  const end = () => {
    life.ended = true;
  };
  let rung = 0;
  vi.spyOn(WebhookEndpoint.prototype, "alarm").mockImplementation(async function (this: WebhookEndpoint) {
    const step = alarms[rung++];
    await step?.(requestIn((this as unknown as { ctx: DurableObjectState }).ctx, name, end));
  });
  const answers: unknown[] = await Promise.all(requests.map((step) => answerOf(stub, step, name, life, end)));
  if (afterFirstRing !== undefined) {
    await vi.waitFor(() => expect(rung).toBe(1), PATIENCE);
    await vi.waitFor(() => runInDurableObject(stubOf(id), () => {}), PATIENCE);
    answers.push(await answerOf(stubOf(id), afterFirstRing, name, life, end));
  }
  await vi.waitFor(() => expect(rung).toBeGreaterThanOrEqual(alarms.length), PATIENCE);
  if (alarms.length > 0) await new Promise((resolve) => setTimeout(resolve, 50 + lingerMs));
  expect(rung).toBe(alarms.length);
  // An instance that ended takes its moment.
  await vi.waitFor(() => runInDurableObject(stubOf(id), () => {}), PATIENCE);
  return look(stubOf(id), name, answers);
}

async function answerOf(stub: Stub, step: ProbeStep, name: string, life: { ended: boolean }, end: () => void) {
  try {
    return plain(await runInDurableObject(stub, async (_, state) => step(requestIn(state, name, end))));
  } catch {
    return life.ended ? "ended" : "threw";
  }
}

async function look(stub: Stub, name: string, answers: readonly unknown[]): Promise<Found> {
  const calls = await DB.prepare("SELECT count(*) AS n FROM probe_calls WHERE name = ?1").bind(name).first<number>("n");
  return runInDurableObject(stub, async (_, { storage }) => {
    const isThere = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'probe_x'").toArray().length > 0;
    const rows = isThere ? storage.sql.exec("SELECT v FROM probe_x ORDER BY id").toArray() : null;
    const alarm = await storage.getAlarm();
    return {
      rows: rows?.map(({ v }) => plain(v)) ?? null,
      alarm: alarm === null ? "none" : alarm >= FAR ? "set" : (`at ${alarm}` as "set"),
      calls: calls ?? -1,
      answers,
    };
  });
}

describe.each(Object.entries(PROBES))("%s", (_, probes) => {
  it.each(probes.map((probe) => [probe.name, probe] as const))("%s", async (_, probe) => {
    const { answers, ...found } = await run(probe);
    expect(found).toEqual({ alarm: "none", calls: 0, ...probe.found, answers: undefined });
    if (probe.found.answers !== undefined) expect(answers).toEqual(probe.found.answers);
  });
});

it("an instance that its alarm starts does not find it set, neither as it begins nor in the handler", async () => {
  const id = await fresh();
  const seen: (number | null)[] = [];
  const storage = await runInDurableObject(stubOf(id), (_, state) => Object.getPrototypeOf(state.storage));
  const { getAlarm } = storage;
  await runInDurableObject(stubOf(id), (_, state) => state.storage.setAlarm(Date.now() + 300));
  await evictDurableObject(stubOf(id));
  vi.spyOn(storage, "getAlarm").mockImplementation(async function (this: unknown) {
    const found = await getAlarm.call(this);
    seen.push(found);
    return found;
  });
  let isRung = false;
  vi.spyOn(WebhookEndpoint.prototype, "alarm").mockImplementation(async function (this: WebhookEndpoint) {
    await (this as unknown as { ctx: DurableObjectState }).ctx.storage.getAlarm();
    isRung = true;
  });
  await vi.waitFor(() => expect(isRung).toBe(true), PATIENCE);
  expect(seen).toEqual([null, null]);
});
