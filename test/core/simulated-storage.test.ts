/**
 * The simulation's storage does what the platform's does: the probes that workerd answers in
 * test/workers/storage-conformance.test.ts are answered here in the same way.
 */

import { describe, expect, it } from "vitest";
import { SimD1 } from "../simulation/world/d1.ts";
import { contextOf, type Fates, SimObject } from "../simulation/world/objects.ts";
import { World } from "../simulation/world/world.ts";
import {
  FAR,
  type Found,
  PROBES,
  type Probe,
  type ProbeRequest,
  type ProbeStorage,
  plain,
} from "../support/storage-probes.ts";

const MOST_EVENTS = 10_000;
const LONG_MS = 10_000;

const calm: Fates & { d1(): "answered" } = {
  call: () => "delivered",
  alarm: () => "on_time",
  callerCrash: () => "no",
  latencyMs: () => 1,
  d1: () => "answered",
};

interface Context {
  readonly storage: ProbeStorage;
  blockConcurrencyWhile(work: () => Promise<unknown>): Promise<unknown>;
  abort(why: string): never;
}

class Bench {
  readonly world = new World(1);
  readonly d1 = new SimD1(this.world, calm, ["CREATE TABLE probe_calls (name TEXT NOT NULL)"]);
  readonly object: SimObject;
  readonly #probe: Probe;
  #rung = 0;

  constructor(probe: Probe) {
    this.#probe = probe;
    this.object = new SimObject(this.world, "object/probe", calm, (object) => {
      const context = contextOf(this.world, object) as Context;
      return {
        prepare: () => context.storage.sql.exec("CREATE TABLE probe_x (id INTEGER PRIMARY KEY, v)").toArray(),
        request: (i: number) => probe.requests[i]?.(this.#request(context)),
        afterFirstRing: () => probe.afterFirstRing?.(this.#request(context)),
        alarm: () => probe.alarms?.[this.#rung++]?.(this.#request(context)),
        look: () => look(context.storage),
      };
    });
  }

  async found(): Promise<Found & { readonly rung: number }> {
    await this.#of("prepare");
    const { requests, afterFirstRing } = this.#probe;
    const answers = await this.#all(requests.map((_, i) => ["request", i]));
    if (afterFirstRing !== undefined) {
      await this.world.run(() => this.#rung === 1, MOST_EVENTS);
      answers.push(...(await this.#all([["afterFirstRing", 0]])));
    }
    await this.#rest();
    const seen = (await this.#of("look")) as Found;
    const calls = this.d1.rows("SELECT * FROM probe_calls").length;
    return { ...seen, calls, answers, rung: this.#rung };
  }

  #request({ storage, abort }: Context): ProbeRequest {
    const call = () => this.d1.prepare("INSERT INTO probe_calls VALUES (?1)").bind(this.#probe.name).run();
    return {
      storage,
      sql: (text, ...values) => plain(storage.sql.exec(text, ...values).toArray()) as Record<string, unknown>[],
      write: (v) => void storage.sql.exec("INSERT INTO probe_x (v) VALUES (?)", v),
      transact: (work) => storage.transactionSync(work),
      timer: () => new Promise((resolve) => setTimeout(resolve, 1)),
      call: async () => void (await call()),
      abort: () => abort("the probe ends the instance"),
    };
  }

  async #of(method: string): Promise<unknown> {
    let answer: unknown;
    this.world.later(0, method, () => {
      void this.object.call(method, []).then((value) => {
        answer = value;
      });
    });
    await this.world.run(() => answer !== undefined, MOST_EVENTS);
    return answer;
  }

  async #all(calls: readonly (readonly [string, number])[]): Promise<unknown[]> {
    const answers = new Map<number, unknown>();
    this.world.later(0, "requests", () => {
      for (const [i, [method, argument]] of calls.entries()) {
        this.object.call(method, [argument]).then(
          (value) => answers.set(i, plain(value)),
          (error) => answers.set(i, String(error).includes("was reset") && !isBroken(this.world) ? "ended" : "threw"),
        );
      }
    });
    await this.world.run(() => answers.size === calls.length, MOST_EVENTS);
    return calls.map((_, i) => answers.get(i));
  }

  /** Until nothing happens any more before an alarm that is far away. */
  async #rest(): Promise<void> {
    const until = this.world.now + LONG_MS;
    let isOver = false;
    this.world.later(LONG_MS, "the end", () => {
      isOver = true;
    });
    await this.world.run(() => isOver || this.world.now > until, MOST_EVENTS);
  }
}

/** It ended by itself, and not because the probe said so. */
function isBroken(world: World): boolean {
  return world.story.some((line) => line.includes("rows left"));
}

async function look(storage: ProbeStorage): Promise<Found> {
  const isThere = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'probe_x'").toArray().length > 0;
  const rows = isThere ? storage.sql.exec("SELECT v FROM probe_x ORDER BY id").toArray() : null;
  const alarm = await storage.getAlarm();
  return {
    rows: rows?.map(({ v }) => plain(v)) ?? null,
    alarm: alarm === null ? "none" : alarm === FAR ? "set" : (`at ${alarm}` as "set"),
  };
}

describe.each(Object.entries(PROBES))("%s", (_, probes) => {
  it.each(probes.map((probe) => [probe.name, probe] as const))("%s", async (_, probe) => {
    const { answers, rung, ...found } = await new Bench(probe).found();
    const { answers: expected, ...stated } = probe.found;
    expect(found).toEqual({ alarm: "none", calls: 0, ...stated });
    expect(rung).toBe(probe.alarms?.length ?? 0);
    if (expected !== undefined) expect(answers).toEqual(expected);
  });
});

it("an instance that its alarm starts does not find it set, neither as it begins nor in the handler", async () => {
  const world = new World(1);
  const seen: (number | null)[] = [];
  const object = new SimObject(world, "object/probe", calm, (own) => {
    const { storage, blockConcurrencyWhile } = contextOf(world, own) as Context;
    void blockConcurrencyWhile(async () => {
      await null;
      seen.push(await storage.getAlarm());
    });
    return {
      set: (at: number) => storage.setAlarm(at),
      alarm: async () => seen.push(await storage.getAlarm()),
    };
  });
  world.later(0, "set", () => void object.call("set", [world.now + 300]));
  world.later(100, "evict", () => object.crash(true, "evicted"));
  await world.run(() => seen.length === 3, MOST_EVENTS);
  expect(seen).toEqual([null, null, null]);
});
