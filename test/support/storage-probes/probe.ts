/** What a probe of an object's storage is, and what the programs of all of them have in common. */

/** As much of the platform's storage as the service uses. */
export interface ProbeStorage {
  readonly sql: { exec(text: string, ...values: unknown[]): ProbeCursor };
  transactionSync<T>(work: () => T): T;
  sync(): Promise<void>;
  setAlarm(at: number): Promise<void>;
  getAlarm(): Promise<number | null>;
  deleteAlarm(): Promise<void>;
  deleteAll(): Promise<void>;
}

interface ProbeCursor {
  readonly columnNames: string[];
  toArray(): Record<string, unknown>[];
  one(): Record<string, unknown>;
  raw(): { toArray(): unknown[][] };
  next(): { done?: boolean; value?: unknown };
}

/** One request that runs in the object. */
export interface ProbeRequest {
  readonly storage: ProbeStorage;
  /** Runs one statement and gives its rows. */
  sql(text: string, ...values: unknown[]): Record<string, unknown>[];
  /** Adds a row whose `v` is this. */
  write(v: unknown): void;
  transact<T>(work: () => T): T;
  /** Waits for a timer of a millisecond. */
  timer(): Promise<void>;
  /** Sends something out of the object, and waits for its answer. */
  call(): Promise<void>;
  /** The instance ends here; what was under way in it hears nothing more. */
  abort(): never;
}

export type ProbeStep = (request: ProbeRequest) => unknown;

export interface Probe {
  readonly name: string;
  /** Begun in this order, none waiting for another. */
  readonly requests: readonly ProbeStep[];
  /** What the object's alarm does when it comes, its first time and each later one. */
  readonly alarms?: readonly ProbeStep[];
  /** A request that comes when the alarm has rung once, and before it rings again. */
  readonly afterFirstRing?: ProbeStep;
  /** For how long it is then seen whether the alarm rings more often than there are `alarms`. */
  readonly lingerMs?: number;
  readonly found: Found;
}

/** What is found by a request that comes after all others, in another instance if the first one ended. */
export interface Found {
  /** `v` of each row, in order; null: there is no table. */
  readonly rows: readonly unknown[] | null;
  readonly alarm?: "set" | "none";
  /** How many calls arrived outside. By default none. */
  readonly calls?: number;
  /** What each request answered: its value, `threw`, or `ended` with its instance. By default not looked at. */
  readonly answers?: readonly unknown[];
}

/** Never comes while a probe runs. */
export const FAR = Date.UTC(2100, 0, 1);

export function probe(name: string, request: ProbeStep | readonly ProbeStep[], found: Found): Probe {
  return { name, requests: typeof request === "function" ? [request] : request, found };
}

/** What it throws, as one word. */
export function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch {
    return "threw";
  }
}

export function fail(): never {
  throw new Error("thrown by the probe");
}

/** Turns what came out of SQLite into what the list says: bytes are written out, whatever holds them. */
export function plain(value: unknown): unknown {
  if (value instanceof ArrayBuffer) return `bytes ${new Uint8Array(value)}`;
  if (value instanceof Uint8Array) return `bytes ${value}`;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}

/** Gives the values of each row. */
export const read = (text: string, ...values: unknown[]): ProbeStep => {
  return ({ sql }) => attempt(() => sql(text, ...values).map((row) => Object.values(row)));
};

/** Writes a value, and gives what is read of it, and of which type it is. */
export const kept = (v: unknown): ProbeStep => {
  return ({ sql, write }) =>
    attempt(() => {
      write(v);
      return sql("SELECT v, typeof(v) AS t FROM probe_x").map((row) => Object.values(row))[0];
    });
};
