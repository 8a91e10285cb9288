/**
 * The simulated world: one virtual clock, one queue of things that will happen, one source of chance. Nothing
 * in it waits for anything real, so a seed always tells the same story.
 *
 * While a world runs, the timers, clocks and randomness of the process are the world's own. Each thing that
 * happens runs until everything it set off waits for something else that will happen; then the objects' writes
 * of that turn become durable.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { Dice } from "./dice.ts";

/** What runs code in the world and may die: an instance of an object. */
export interface Runner {
  readonly name: string;
  isDead: boolean;
  /** Makes what it has written durable. */
  flush(): void;
}

interface Happening {
  readonly at: number;
  readonly order: number;
  readonly name: string;
  readonly run: () => void;
  cancelled: boolean;
}

const realImmediate = setImmediate;
const STORY_LINES = 400;
/** Characters. */
const HASHED_AT_ONCE = 16_384;

export class World {
  readonly dice: Dice;
  /** What `fetch` is while the world runs. */
  fetch: typeof fetch = () => Promise.reject(new TypeError("fetch failed"));
  /** Unix milliseconds. */
  now: number;
  /** How many things have happened. */
  happened = 0;
  readonly #queue: Happening[] = [];
  readonly #hash = createHash("sha256");
  #unhashed = "";
  readonly #story: string[] = [];
  readonly #runner = new AsyncLocalStorage<Runner>();
  readonly #runners = new Set<Runner>();
  #order = 0;
  /** How many timers were set. No number comes twice in a world's life: one cleared late must end no other. */
  #timers = 0;
  readonly #cancels = new Map<number, () => void>();
  /** Answers of WebCrypto that are still to come, and when the last of them will have come. */
  #computing = 0;
  #computed: Promise<unknown> = Promise.resolve();

  constructor(seed: number) {
    this.dice = new Dice(seed);
    this.now = Date.UTC(2027, 0, 1) + (seed % 1_000) * 1_000;
  }

  /** The instance whose code is running, or undefined for the world's own people. */
  get runner(): Runner | undefined {
    return this.#runner.getStore();
  }

  as<T>(runner: Runner, run: () => T): T {
    this.#runners.add(runner);
    return this.#runner.run(runner, run);
  }

  forget(runner: Runner): void {
    this.#runners.delete(runner);
  }

  /** Something happens in so many milliseconds. @returns how to call it off */
  later(delayMs: number, name: string, run: () => void): () => void {
    const happening = { at: this.now + Math.max(0, delayMs), order: this.#order++, name, run, cancelled: false };
    push(this.#queue, happening);
    return () => {
      happening.cancelled = true;
    };
  }

  /** A promise that is settled only while whoever waits for it lives. */
  answer<T>(start: (resolve: (value: T) => void, reject: (error: unknown) => void) => void): Promise<T> {
    const waiting = this.runner;
    return new Promise<T>((resolve, reject) => {
      start(
        (value) => {
          if (waiting?.isDead !== true) resolve(value);
        },
        (error) => {
          if (waiting?.isDead !== true) reject(error);
        },
      );
    });
  }

  sleep(ms: number): Promise<void> {
    return this.answer((resolve) => this.later(ms, "sleep", () => resolve()));
  }

  /** Writes down what happened, for the hash of the run and the story of a failure. */
  note(line: string): void {
    this.#unhashed += `${this.now} ${line}\n`;
    if (this.#unhashed.length > HASHED_AT_ONCE) this.#hashRest();
    this.#story.push(`${String(this.now % 100_000_000).padStart(8, "0")} ${line}`);
    if (this.#story.length > STORY_LINES) this.#story.shift();
  }

  get story(): readonly string[] {
    return this.#story;
  }

  digest(): string {
    this.#hashRest();
    return this.#hash.copy().digest("hex").slice(0, 16);
  }

  #hashRest(): void {
    this.#hash.update(this.#unhashed);
    this.#unhashed = "";
  }

  /** Lets things happen until `isOver` says so, or until nothing is left. @returns whether it was said */
  async run(isOver: () => boolean, most: number): Promise<boolean> {
    const restore = this.#takeOver();
    try {
      await this.#settle();
      for (let i = 0; i < most; i++) {
        if (isOver()) return true;
        const next = pop(this.#queue);
        if (next === undefined) return isOver();
        if (next.cancelled) continue;
        this.now = Math.max(this.now, next.at);
        this.happened++;
        next.run();
        await this.#settle();
      }
      return isOver();
    } finally {
      restore();
    }
  }

  /** Everything that can go on without anything else happening has gone on; the turn's writes are durable. */
  async #settle(): Promise<void> {
    do await new Promise<void>((resolve) => realImmediate(resolve));
    while (this.#computing > 0);
    for (const runner of this.#runners) if (!runner.isDead) runner.flush();
  }

  /**
   * WebCrypto computes on threads of the process: its answers are waited for, as if they came at once, and come in
   * the order in which they were asked for.
   */
  #compute<T>(work: () => Promise<T>): Promise<T> {
    this.#computing++;
    const result = work();
    const inOrder = Promise.allSettled([this.#computed, result]);
    this.#computed = inOrder;
    return this.answer((resolve, reject) => {
      void inOrder.then(() => {
        this.#computing--;
        result.then(resolve, reject);
      });
    });
  }

  #computingAlike(subtle: SubtleCrypto): SubtleCrypto {
    return new Proxy(subtle, {
      get: (_, name) => {
        const method = Reflect.get(subtle, name) as (...args: unknown[]) => Promise<unknown>;
        return (...args: unknown[]) => this.#compute(() => Reflect.apply(method, subtle, args));
      },
    });
  }

  #takeOver(): () => void {
    const real = {
      setTimeout: globalThis.setTimeout,
      clearTimeout: globalThis.clearTimeout,
      dateNow: Date.now,
      random: Math.random,
      performanceNow: performance.now,
      getRandomValues: crypto.getRandomValues,
      fetch: globalThis.fetch,
    };
    globalThis.setTimeout = ((callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) => {
      const id = ++this.#timers;
      const runner = this.runner;
      const cancel = this.later(delayMs, "timer", () => {
        this.#cancels.delete(id);
        if (runner === undefined) callback(...args);
        else if (!runner.isDead) this.as(runner, () => callback(...args));
      });
      this.#cancels.set(id, cancel);
      return id;
    }) as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((id: number | undefined | null) => {
      if (id === undefined || id === null) return;
      this.#cancels.get(id)?.();
      this.#cancels.delete(id);
    }) as unknown as typeof clearTimeout;
    Date.now = () => Math.floor(this.now);
    Math.random = () => this.dice.fraction();
    performance.now = () => this.now;
    crypto.getRandomValues = ((array: Uint8Array) => {
      array.set(this.dice.bytes(array.length));
      return array;
    }) as typeof crypto.getRandomValues;
    globalThis.fetch = (input, init) => this.fetch(input, init);
    Object.defineProperty(crypto, "subtle", { value: this.#computingAlike(crypto.subtle), configurable: true });
    return () => {
      // Behind it lies the platform's own.
      Reflect.deleteProperty(crypto, "subtle");
      globalThis.fetch = real.fetch;
      globalThis.setTimeout = real.setTimeout;
      globalThis.clearTimeout = real.clearTimeout;
      Date.now = real.dateNow;
      Math.random = real.random;
      performance.now = real.performanceNow;
      crypto.getRandomValues = real.getRandomValues;
    };
  }
}

// ---- a binary heap, earliest first, then in the order it was asked for ----------------------------

function isBefore(a: Happening, b: Happening): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push(heap: Happening[], item: Happening): void {
  heap.push(item);
  let at = heap.length - 1;
  while (at > 0) {
    const up = (at - 1) >> 1;
    const parent = heap[up];
    if (parent === undefined || isBefore(parent, item)) break;
    heap[at] = parent;
    at = up;
  }
  heap[at] = item;
}

function pop(heap: Happening[]): Happening | undefined {
  const top = heap[0];
  const last = heap.pop();
  if (top === undefined || last === undefined || heap.length === 0) return top;
  let at = 0;
  for (;;) {
    const child = lowerChild(heap, at);
    const lower = heap[child];
    if (lower === undefined || isBefore(last, lower)) break;
    heap[at] = lower;
    at = child;
  }
  heap[at] = last;
  return top;
}

function lowerChild(heap: readonly Happening[], at: number): number {
  const left = 2 * at + 1;
  const one = heap[left];
  const other = heap[left + 1];
  return one !== undefined && other !== undefined && isBefore(other, one) ? left + 1 : left;
}
