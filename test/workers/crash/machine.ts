/**
 * The machine that goes away. It sees every named step of the running service, knows which object takes it, and
 * ends that object at a chosen one, with what the platform makes of it: what the turn wrote and did not commit is
 * gone, nothing that was awaited ever comes back, and the next call or alarm starts the object anew.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { vi } from "vitest";
import { ChainScanner, Tenant, WebhookEndpoint } from "../../../src/index.ts";
import { onSteps, type StepHooks } from "../../../src/steps.ts";
import { time } from "../line.ts";

export type Way =
  /**
   * The object ends before the step has any effect. A call never leaves, though what its turn wrote is durable; a
   * commit, or an alarm, takes with it what its turn wrote before.
   */
  | "before"
  /** It ends when the step has had its effect and is durable, and before anything else leaves. */
  | "after"
  /** The step has its effect, and the object, which lives on, hears of a lost connection. */
  | "lost"
  /** The call is made twice, as by a network that repeats it. */
  | "twice";

export interface Seen {
  readonly name: string;
  /** How often it was taken in this run, from 1. */
  readonly occurrence: number;
}

export interface Point extends Seen {
  readonly way: Way;
}

export const textOf = ({ name, occurrence, way }: Point): string => `${way} ${name} #${occurrence}`;

/** Commits, alarms and the wait for the disk: the object's own, so that no network repeats or loses them. */
const OWN = / (commit .*|alarm|sync|clear)$/;
/**
 * What is told to the operator's monitor is no step to be hit: nothing waits for it and nothing is decided by it, and it
 * goes out when a timer says so, not at a place of the line. What its failure means is a test of its own.
 */
const UNWATCHED = /^Monitor[. ]/;
const QUIET_TICKS = 2;

/** The ways in which a step can be hit. */
export function waysOf({ name }: Seen): readonly Way[] {
  return OWN.test(name) ? ["before", "after"] : ["before", "after", "lost", "twice"];
}

type Owner = DurableObjectState | null;

const owners = new AsyncLocalStorage<DurableObjectState>();
const testClock = () => time.now;

/** Every method of an object says whose steps it takes, and runs by the test's clock from its first call on. */
function watch(objectClass: { readonly prototype: object }): void {
  const platform = Object.getPrototypeOf(ChainScanner.prototype);
  for (let proto = objectClass.prototype; proto !== platform; proto = Object.getPrototypeOf(proto)) {
    for (const [name, { value: method }] of Object.entries(Object.getOwnPropertyDescriptors(proto))) {
      if (typeof method !== "function" || name === "constructor") continue;
      const wrapped = function (this: { ctx: DurableObjectState; clock: () => number }, ...args: unknown[]) {
        this.clock = testClock;
        return owners.run(this.ctx, () => method.apply(this, args));
      };
      Object.defineProperty(proto, name, { value: wrapped, configurable: true, writable: true });
    }
  }
}
for (const objectClass of [Tenant, ChainScanner, WebhookEndpoint]) watch(objectClass);

export class Machine implements StepHooks {
  /** The steps of the run under way, in order. */
  seen: Seen[] = [];
  /** The points that were reached. */
  hits: Point[] = [];
  /** Called when an object ends. */
  onCrash: () => void = () => {};
  #plan: Point[] = [];
  #counts = new Map<string, number>();
  #sinceHit = new Map<string, number>();
  #dying = new WeakSet<DurableObjectState>();
  #underWay = new Map<Owner, number>();

  /** From now on steps are recorded and hit. Each point after the first counts its occurrence from the hit before it. */
  begin(plan: readonly Point[]): void {
    this.seen = [];
    this.hits = [];
    this.#plan = [...plan];
    this.#counts = new Map();
    this.#sinceHit = new Map();
    onSteps(this);
  }

  /** What was planned and not reached is dropped. */
  end(): void {
    this.#plan = [];
    onSteps(null);
    this.#underWay = new Map();
  }

  /** Comes back when nothing is under way any more. */
  async quiet(): Promise<void> {
    for (let still = 0, before = -1; still < QUIET_TICKS; ) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      const isStill = this.seen.length === before && [...this.#underWay.values()].every((count) => count === 0);
      still = isStill ? still + 1 : 0;
      before = this.seen.length;
    }
  }

  async call<T>(name: string, call: () => Promise<T>): Promise<T> {
    const owner = owners.getStore() ?? null;
    // Writes of the turn that is being committed belong to it; nothing else leaves a machine that is gone.
    if (owner !== null && this.#dying.has(owner) && !OWN.test(name)) return new Promise(() => {});
    if (UNWATCHED.test(name)) return call();
    const way = this.#next(name);
    const tracked = () => this.#track(owner, call);
    if (way === null) return tracked();
    if (way === "before") {
      // Whatever the turn wrote is durable before anything leaves: the worst moment is when it has not left yet.
      if (owner !== null && !OWN.test(name)) {
        this.#dying.add(owner);
        await owner.storage.sync();
      }
      return this.#away(owner);
    }
    if (way === "twice") {
      await tracked();
      return tracked();
    }
    const made = tracked();
    if (way === "after" && owner !== null) {
      await made.catch(() => {});
      if (OWN.test(name)) await owner.storage.sync();
      return this.#away(owner);
    }
    await made;
    throw new Error("Network connection lost.");
  }

  commit<T>(name: string, work: () => T): T {
    if (UNWATCHED.test(name)) return work();
    const owner = owners.getStore() ?? null;
    const way = this.#next(`${name} ${committer()}`);
    if (way === null || owner === null) return work();
    if (way === "before") {
      void this.#away(owner);
      throw new Error("the machine went away");
    }
    const made = work();
    // The turn ends where it waits next; all that it wrote is one commit.
    this.#dying.add(owner);
    void owner.storage.sync().then(() => this.#away(owner));
    return made;
  }

  #next(name: string): Way | null {
    const occurrence = countUp(this.#counts, name);
    this.seen.push({ name, occurrence });
    const due = countUp(this.#sinceHit, name);
    const [first] = this.#plan;
    if (first === undefined || first.name !== name || first.occurrence !== due) return null;
    this.#plan.shift();
    this.hits.push(first);
    this.#sinceHit = new Map();
    return first.way;
  }

  /** The Worker itself holds nothing: whoever asked it hears that it is gone. */
  #away(owner: Owner): Promise<never> {
    if (owner === null) return Promise.reject(new Error("Network connection lost."));
    this.#underWay.delete(owner);
    this.onCrash();
    owner.abort("the machine went away");
    return new Promise(() => {});
  }

  async #track<T>(owner: Owner, call: () => Promise<T>): Promise<T> {
    const underWay = this.#underWay;
    underWay.set(owner, (underWay.get(owner) ?? 0) + 1);
    try {
      return await call();
    } finally {
      const count = underWay.get(owner);
      if (count !== undefined) underWay.set(owner, count - 1);
    }
  }
}

function countUp(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  return count;
}

/** The function that commits, from the trace of its call: it names the commit. */
function committer(): string {
  const lines = (new Error().stack ?? "").split("\n");
  const frame = lines[lines.findIndex((line) => line.includes("transactionSync")) + 1] ?? "";
  const name = /at (?:async )?(?:\w+\.)?([\w#]+) \(/.exec(frame)?.[1];
  return name ?? /(\w[\w-]*)\.ts/.exec(frame)?.[1] ?? "somebody";
}

/** Work inside an object that may just have ended. */
export function patiently<T>(work: () => Promise<T>): Promise<T> {
  return vi.waitFor(work, { timeout: 5_000, interval: 2 });
}
