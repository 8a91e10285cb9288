/**
 * Durable Objects: one instance at a time for each name, its calls answered over a network that loses them, its
 * alarm kept by a platform that is late, fires twice, or forgets. A crash ends the instance between two of its
 * steps: what it had not made durable is gone, and nothing it was waiting for ever comes back to it.
 */

import { Disk } from "./disk.ts";
import type { Runner, World } from "./world.ts";

type Method = (...args: unknown[]) => unknown;
type Instance = Record<string, Method> & { alarm?: () => Promise<void>; clock?: () => number };
export type ObjectClass = new (context: unknown, env: object) => object;

/** What befalls one call between an object and whoever calls it. */
export type CallFate =
  | "delivered"
  /** Never arrives; the caller hears of a lost connection. */
  | "lost"
  /** Has its effect; the caller hears of a lost connection. */
  | "answer_lost"
  /** The instance that is called dies before it begins, or when it has done its work and made it durable. */
  | "crash_before"
  | "crash_after";

export type AlarmFate = "on_time" | "late" | "twice" | "lost";

export interface Fates {
  call(object: string, method: string): CallFate;
  alarm(object: string): AlarmFate;
  /** Whether the calling instance dies as it sends something; `kept`: after its writes became durable. */
  callerCrash(object: string, what: string): "no" | "kept" | "unkept";
  latencyMs(): number;
}

export class ConnectionLost extends Error {
  readonly retryable = true;
  constructor(what: string) {
    super(`Network connection lost. (${what})`);
  }
}

const MAX_ALARM_RETRIES = 6;
/** A hang longer than any deadline in the product. */
const LATE_ALARM_MS = 45_000;

export class SimObject implements Runner {
  readonly name: string;
  readonly disk = new Disk();
  readonly #world: World;
  readonly #make: (object: SimObject) => object;
  readonly #fates: Fates;
  #instance: Instance | null = null;
  #life: Life | null = null;
  #cancelAlarm: (() => void) | null = null;
  #alarmFailures = 0;

  constructor(world: World, name: string, fates: Fates, make: (object: SimObject) => object) {
    this.#world = world;
    this.name = name;
    this.#fates = fates;
    this.#make = make;
    this.disk.onAlarm = (at) => this.#arm(at);
    this.disk.onBroken = () => this.crash(false, "a statement with rows left was under way");
  }

  /** The platform has called the alarm's handler as often as it does, and calls it no more. */
  isGivenUp = false;

  // An object as a whole never dies; its lives do.
  isDead = false;
  flush(): void {
    this.disk.flush();
  }

  /** The life that runs now; begins one when there is none. */
  live(): Life {
    if (this.#life !== null) return this.#life;
    const life = new Life(this);
    this.#life = life;
    this.#world.note(`${this.name} starts`);
    this.#world.as(life, () => {
      this.#instance = this.#make(this) as Instance;
    });
    return life;
  }

  get life(): Life | null {
    return this.#life;
  }

  /** Ends the present life. `kept`: its last writes are durable. */
  crash(kept: boolean, why: string): void {
    const life = this.#life;
    if (life === null) return;
    if (kept) this.disk.flush();
    else this.disk.lose();
    // What could not be kept has ended it already.
    if (this.#life !== life) return;
    this.#world.note(`${this.name} crashes (${why}, ${kept ? "kept" : "unkept"})`);
    life.isDead = true;
    this.#world.forget(life);
    this.#life = null;
    this.#instance = null;
    for (const reject of life.callers) reject(new ConnectionLost(`${this.name} was reset`));
    life.callers.clear();
  }

  /** One call from somewhere, over the network. */
  call(method: string, args: readonly unknown[]): Promise<unknown> {
    const world = this.#world;
    const what = `${this.name}.${method}`;
    const given = structuredClone(args);
    if (!leave(world, this.#fates, what)) return new Promise(() => {});
    const fate = this.#fates.call(this.name, method);
    if (fate !== "delivered") world.note(`${what}: ${fate}`);
    return world.answer((resolve, reject) => {
      const lost = () => world.later(this.#fates.latencyMs(), `${what} lost`, () => reject(new ConnectionLost(what)));
      const arrive = () => {
        if (fate === "lost") return void lost();
        if (fate === "crash_before") this.crash(false, what);
        const life = this.live();
        life.callers.add(reject);
        const work = world.as(life, async () => {
          await life.ready;
          const run = this.#instance?.[method];
          if (run === undefined) throw new Error(`${what}: no such method`);
          return run.apply(this.#instance, given as unknown[]);
        });
        const ended = (send: () => void) => {
          if (life.isDead) return;
          life.callers.delete(reject);
          if (fate === "crash_after") {
            this.crash(true, what);
            return void lost();
          }
          if (fate === "answer_lost") return void lost();
          // Nothing leaves before what it tells of is durable.
          const { turn } = this.disk;
          const answer = () => (turn.isLost ? reject(new ConnectionLost(what)) : send());
          world.later(this.#fates.latencyMs(), `${what} answers`, answer);
        };
        work.then(
          (value) => ended(() => resolve(structuredClone(value))),
          (error) => ended(() => reject(error)),
        );
      };
      world.later(this.#fates.latencyMs(), what, afterTurn(world, arrive));
    });
  }

  /** Runs code inside the instance, as a test would: nothing of it is lost. */
  inside<T>(run: (instance: object) => T): T {
    const life = this.live();
    return this.#world.as(life, () => run(this.#instance as object));
  }

  #arm(at: number | null): void {
    this.#cancelAlarm?.();
    this.#cancelAlarm = null;
    if (at === null) return;
    this.isGivenUp = false;
    const fate = this.#fates.alarm(this.name);
    if (fate !== "on_time") this.#world.note(`${this.name} alarm: ${fate}`);
    if (fate === "lost") return;
    const delayMs = Math.max(0, at - this.#world.now) + (fate === "late" ? LATE_ALARM_MS : 0);
    this.#cancelAlarm = this.#world.later(delayMs, `${this.name} alarm`, () => this.#ring(at, fate === "twice"));
  }

  #ring(at: number, again: boolean): void {
    // First, so that an instance that its alarm starts does not find it set.
    this.disk.beginRinging(at);
    const life = this.live();
    const world = this.#world;
    const work = world.as(life, async () => {
      await life.ready;
      await this.#instance?.alarm?.();
    });
    const broken = () => this.#retry(at);
    life.callers.add(broken);
    work.then(
      () => {
        if (life.isDead) return;
        this.#alarmFailures = 0;
        life.callers.delete(broken);
        this.disk.endRinging(true);
        if (again) world.later(1, `${this.name} alarm again`, () => this.#ring(at, false));
      },
      (error) => {
        if (life.isDead) return;
        life.callers.delete(broken);
        world.note(`${this.name} alarm threw ${String(error)}`);
        this.#retry(at);
      },
    );
  }

  /** At least once: a handler that did not come to its end is called again, a few times, unless it set another. */
  #retry(at: number): void {
    const isLast = ++this.#alarmFailures > MAX_ALARM_RETRIES;
    const isSetAnew = this.disk.getAlarm() !== null;
    this.disk.endRinging(isLast);
    this.isGivenUp = isLast && !isSetAnew;
    if (isLast || isSetAnew) return;
    const delayMs = 2_000 * 2 ** (this.#alarmFailures - 1);
    this.#cancelAlarm = this.#world.later(delayMs, `${this.name} alarm retry`, () => this.#ring(at, false));
  }
}

/** One life of an object: from its constructor to its crash. */
export class Life implements Runner {
  readonly object: SimObject;
  readonly callers = new Set<(error: unknown) => void>();
  isDead = false;
  ready: Promise<unknown> = Promise.resolve();

  constructor(object: SimObject) {
    this.object = object;
  }

  get name(): string {
    return this.object.name;
  }

  flush(): void {
    this.object.disk.flush();
  }
}

/**
 * Whoever sends something may die in that moment. What it sends leaves at the end of its turn, see `afterTurn`.
 * A turn is kept whole or not at all: an instance whose writes are kept dies when its turn has ended.
 * @returns false when it dies: nothing is sent, and nothing will come back
 */
export function leave(world: World, fates: Pick<Fates, "callerCrash">, what: string): boolean {
  const runner = world.runner;
  if (runner === undefined) return true;
  if (runner.isDead) return false;
  const crash = fates.callerCrash(runner.name, what);
  if (crash === "no") return true;
  if (!(runner instanceof Life)) return false;
  const { object } = runner;
  const why = `as it calls ${what}`;
  if (crash === "unkept") object.crash(false, why);
  else world.later(0, why, () => object.life === runner && object.crash(true, why));
  return false;
}

/** What arrives elsewhere of what is being sent: nothing, if the sender's turn never becomes durable (the output gate). */
export function afterTurn(world: World, arrive: () => void): () => void {
  const { runner } = world;
  if (!(runner instanceof Life)) return arrive;
  const { turn } = runner.object.disk;
  return () => {
    if (!turn.isLost) arrive();
  };
}

/** What an instance gets as its `ctx`. */
export function contextOf(world: World, object: SimObject): unknown {
  const life = () => {
    const runner = world.runner;
    if (runner instanceof Life && runner.isDead) throw new Error(`${object.name}: a dead instance touches its storage`);
    return object.disk;
  };
  const storage = {
    sql: {
      exec: (text: string, ...values: unknown[]) => life().exec(text, values),
      get databaseSize() {
        return 0;
      },
    },
    transactionSync: <T>(work: () => T) => life().transactionSync(work),
    setAlarm: async (at: number | Date) => life().setAlarm(Number(at)),
    getAlarm: async () => life().getAlarm(),
    deleteAlarm: async () => life().deleteAlarm(),
    deleteAll: async () => life().deleteAll(),
    sync: async () => life().flush(),
  };
  const own = object.live.bind(object);
  return {
    id: { name: object.name.slice(object.name.indexOf("/") + 1), toString: () => object.name },
    storage,
    waitUntil: (work: Promise<unknown>) => void Promise.resolve(work).catch(() => {}),
    blockConcurrencyWhile: (work: () => Promise<unknown>) => {
      const runner = world.runner;
      const running = work();
      if (runner instanceof Life) runner.ready = running;
      return running;
    },
    abort: (why?: string) => {
      own();
      object.crash(false, why ?? "abort");
      throw new Error(why ?? "aborted");
    },
  };
}

/** `idFromName` and `get`, as bindings have them. A stub knows every method: what does not exist fails when called. */
export function namespaceOf(find: (name: string) => SimObject) {
  return {
    idFromName: (name: string) => ({ name }),
    get: ({ name }: { name: string }) =>
      new Proxy(
        {},
        {
          get: (_, method) =>
            method === "then" ? undefined : (...args: unknown[]) => find(name).call(String(method), args),
        },
      ),
  };
}
