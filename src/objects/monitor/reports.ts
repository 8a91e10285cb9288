/**
 * The newest report of each source and the totals over all of them. Rows are what is kept; the totals are their sum in
 * memory, added up once when the object starts and adjusted by difference from then on.
 */

import { addUp, FigureTotals, takeReport } from "../../core/figure-totals.ts";
import { type Figure, figure } from "../../core/figures.ts";
import type { MonitorDb } from "../../store/monitor/database.ts";
import { deleteReport, putReport, reportOf, reportsAfter, silentSince } from "../../store/monitor/report-store.ts";
import type { Report } from "../monitor-api.ts";
import type { SteppedStorage } from "../stepped-storage.ts";

/** What counters had counted that their sources count no more. No object has this name. */
const CARRIED = "carried";
const NETWORK = "network:";
const ROWS_AT_ONCE = 1_000;
/** Cron has every scanner tell of itself each minute. */
const UP_MS = 150_000;
/** An endpoint with something to send tries at least once a day, and tells of it: one that is silent for longer is gone. */
const GONE_MS = 48 * 3_600_000;
const TIDY_EVERY_MS = 6 * 3_600_000;
const TIDIED_AT_ONCE = 500;

export class Reports {
  readonly #storage: SteppedStorage;
  readonly #db: MonitorDb;
  readonly #totals = new FigureTotals();
  /** When each network's scanner told of itself last. */
  readonly #networks = new Map<string, number>();
  #tidiedAt: number | null = null;

  constructor(storage: SteppedStorage, db: MonitorDb) {
    this.#storage = storage;
    this.#db = db;
  }

  /** Adds up what is kept. Once, before the first call. */
  load(): void {
    for (let after = ""; ; ) {
      const rows = reportsAfter(this.#db, after, ROWS_AT_ONCE);
      for (const { source, at, figures } of rows) this.#replace(source, at, [], figures);
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.source;
    }
  }

  /** Keeps what is newer. The totals follow the rows, and only once these are committed. */
  take(reports: readonly Report[]): void {
    const changes: (() => void)[] = [];
    this.#storage.transactionSync(() => {
      for (const { source, at, figures: told } of reports) {
        const held = reportOf(this.#db, source);
        const taken = takeReport(held, { at, figures: told });
        if (taken === null) continue;
        const { figures, carried } = taken;
        putReport(this.#db, { source, at, figures });
        changes.push(() => this.#replace(source, at, held?.figures ?? [], figures));
        if (carried.length > 0) changes.push(this.#carry(carried));
      }
    });
    for (const change of changes) change();
  }

  /** @param on networks that are switched on: what others told is let go */
  figures(on: readonly string[], now: number): readonly Figure[] {
    for (const id of this.#networks.keys()) if (!on.includes(id)) this.#drop(`${NETWORK}${id}`);
    const told = this.#totals.figures();
    const known = new Set(told.map(({ name }) => name));
    return [
      ...told,
      ...WITHOUT_LABELS.filter((name) => !known.has(name)).map((name) => figure(name, 0)),
      ...on.map((network) => figure("sluice_network_up", this.#isUp(network, now) ? 1 : 0, { network })),
      ...[...this.#networks].map(([network, at]) =>
        figure("sluice_network_last_report_timestamp_seconds", at / 1_000, { network }),
      ),
    ];
  }

  /** Forgets endpoints that were deleted. Their own word of it may have been lost. */
  tidy(now: number): void {
    if (this.#tidiedAt !== null && now - this.#tidiedAt < TIDY_EVERY_MS) return;
    this.#tidiedAt = now;
    for (const { source } of silentSince(this.#db, now - GONE_MS, TIDIED_AT_ONCE)) this.#drop(source);
  }

  #isUp(network: string, now: number): boolean {
    const at = this.#networks.get(network);
    return at !== undefined && now - at <= UP_MS;
  }

  #drop(source: string): void {
    const held = reportOf(this.#db, source);
    // A network's figures are its scanner's alone: no total would fall.
    const taken = source.startsWith(NETWORK) ? null : takeReport(held, { at: Infinity, figures: [] });
    const change = this.#storage.transactionSync(() => {
      deleteReport(this.#db, source);
      return taken === null || taken.carried.length === 0 ? () => {} : this.#carry(taken.carried);
    });
    this.#replace(source, null, held?.figures ?? [], []);
    change();
  }

  /** Inside a transaction. @returns what to do once it is committed */
  #carry(figures: readonly Figure[]): () => void {
    const held = reportOf(this.#db, CARRIED);
    const all = addUp(held?.figures ?? [], figures);
    putReport(this.#db, { source: CARRIED, at: 0, figures: all });
    return () => this.#totals.replace(CARRIED, held?.figures ?? [], all);
  }

  #replace(source: string, at: number | null, before: readonly Figure[], after: readonly Figure[]): void {
    this.#totals.replace(source, before, after);
    if (!source.startsWith(NETWORK)) return;
    const id = source.slice(NETWORK.length);
    if (at === null) this.#networks.delete(id);
    else this.#networks.set(id, at);
  }
}

/** Sums that have no label: nobody told of one is zero. A moment is not: there was none. */
const WITHOUT_LABELS = [
  "sluice_withdrawals_unresolved",
  "sluice_reconciliation_mismatches",
  "sluice_webhook_deliveries_pending",
  "sluice_withdrawal_broadcasts_repeated_total",
  "sluice_foreign_spends_total",
  "sluice_idempotency_replays_total",
  "sluice_idempotency_conflicts_total",
] as const;
