/**
 * Tells the operator's monitor how an object stands. Nothing waits for it and nothing depends on it: what fails or is
 * lost here is made good by the next report. No alarm is set for it, so it wakes nobody: a timer of an object that is
 * awake anyway, which dies with it.
 */

import type { Figure } from "../core/figures.ts";
import type { Env } from "../env.ts";
import { log } from "../log.ts";
import type { Report } from "./monitor-api.ts";
import { monitorOf } from "./monitor-of.ts";
import { soon } from "./soon.ts";

const REPORT_EVERY_MS = 10_000;
/** What follows a commit at once is told together with it. */
const SOON_MS = 250;
const DEADLINE_MS = 5_000;

let isQuiet = false;

/** For tests alone: whether objects keep to themselves how they stand, but for what cron takes along. */
export function keepQuiet(quiet: boolean): void {
  isQuiet = quiet;
}

export interface Reported {
  readonly env: Pick<Env, "MONITOR">;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Null: there is nothing to tell of. */
  readonly source: () => string | null;
  readonly figures: () => readonly Figure[];
}

export class Reporter {
  readonly #of: Reported;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #toldAt: number | null = null;
  /** What the monitor heard last from this instance, as text. */
  #heard: string | null = null;

  constructor(of: Reported) {
    this.#of = of;
  }

  /** Something may have changed: it is told soon, and not more often than every ten seconds. Throws nothing. */
  changed(): void {
    const { MONITOR } = this.#of.env;
    if (MONITOR === undefined || isQuiet || this.#timer !== null) return;
    const since = this.#toldAt === null ? REPORT_EVERY_MS : this.#of.now() - this.#toldAt;
    const wait = Math.min(Math.max(REPORT_EVERY_MS - since, SOON_MS), REPORT_EVERY_MS);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.tell();
    }, wait);
  }

  /** For those who tell at their own pace. */
  get isDue(): boolean {
    return this.#toldAt === null || Math.abs(this.#of.now() - this.#toldAt) >= REPORT_EVERY_MS;
  }

  /** Tells now how it stands, unless that is what it told last. Throws nothing. */
  async tell(): Promise<void> {
    const report = isQuiet ? null : this.report();
    if (report === null) return;
    const figures = JSON.stringify(report.figures);
    if (figures !== this.#heard && (await this.#send(report))) this.#heard = figures;
  }

  /**
   * How it stands, for whoever takes it to the monitor together with others'. Null where nobody wants to know. Throws
   * nothing: whoever asks has something else to do.
   */
  report(): Report | null {
    const { source, figures } = this.#of;
    const { MONITOR } = this.#of.env;
    if (MONITOR === undefined) return null;
    try {
      const name = source();
      return name === null ? null : { source: name, at: this.#nextAt(), figures: figures() };
    } catch (error) {
      logFailed(error);
      return null;
    }
  }

  /** The object is gone. Throws nothing. */
  async end(source: string): Promise<void> {
    this.stop();
    await this.#send({ source, at: this.#nextAt(), figures: [] });
  }

  /** @returns whether it was heard */
  async #send(report: Report): Promise<boolean> {
    const monitor = monitorOf(this.#of.env);
    if (monitor === null) return false;
    try {
      await soon(monitor.report([report]), DEADLINE_MS);
      return true;
    } catch (error) {
      logFailed(error);
      return false;
    }
  }

  /** Later than the one before also when the clock stands. */
  #nextAt(): number {
    this.#toldAt = Math.max(this.#of.now(), (this.#toldAt ?? 0) + 1);
    return this.#toldAt;
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

function logFailed(error: unknown): void {
  log("warn", "report_failed", {}, error);
}
