/** Owns the time that an exchange with a stranger may take: it ends then, whatever the other side does. */

export interface Deadline {
  /** Aborted when the time is over. */
  readonly signal: AbortSignal;
  /** @throws Error at the deadline, also when the thing waited for ignores its abort signal */
  orPassed<T>(work: Promise<T>): Promise<T>;
  end(): void;
}

export function startDeadline(ms: number): Deadline {
  const { deadline, pass } = openDeadline(ms, () => clearTimeout(timer));
  const timer = setTimeout(pass, ms);
  return deadline;
}

/** In how many steps the time of many is measured. */
const TICKS = 10;

/**
 * Deadlines of one length for many exchanges side by side: two timer calls for each would cost more than what they watch
 * over, so one timer ticks for all of them, while there are any. None ends early; one may end a tick late.
 */
export class Deadlines {
  readonly ms: number;
  readonly #open = new Map<Deadline, { readonly pass: () => void; ticksLeft: number }>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(ms: number) {
    this.ms = ms;
  }

  start(): Deadline {
    const { deadline, pass } = openDeadline(this.ms, () => {
      this.#open.delete(deadline);
      if (this.#open.size > 0 || this.#timer === null) return;
      clearTimeout(this.#timer);
      this.#timer = null;
    });
    // The tick under way began before it.
    this.#open.set(deadline, { pass, ticksLeft: this.#timer === null ? TICKS : TICKS + 1 });
    this.#timer ??= setTimeout(() => this.#tick(), this.ms / TICKS);
    return deadline;
  }

  #tick(): void {
    this.#timer = setTimeout(() => this.#tick(), this.ms / TICKS);
    for (const one of this.#open.values()) if (--one.ticksLeft === 0) one.pass();
  }
}

function openDeadline(ms: number, end: () => void): { readonly deadline: Deadline; readonly pass: () => void } {
  const abort = new AbortController();
  const { promise: passed, reject } = Promise.withResolvers<never>();
  passed.catch(() => {});
  return {
    deadline: { signal: abort.signal, orPassed: (work) => Promise.race([work, passed]), end },
    pass() {
      abort.abort();
      reject(new Error(`no complete answer within ${ms} ms`));
    },
  };
}
