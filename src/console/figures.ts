/** What the charts show, as numbers: counts and waiting times, never money. */

import type { Delivery, Deposit, DepositStatus } from "../sdk/types.ts";

export const HOUR_MS = 3_600_000;
export const HOURS = 24;
/** More columns than this are read by nobody. */
const MOST_COLUMNS = 12;

export const DEPOSIT_STATUSES = ["pending", "confirmed", "settled", "reverted", "dropped"] as const;

export interface Hour {
  /** Unix ms. */
  readonly start: number;
  readonly counts: Readonly<Record<DepositStatus, number>>;
}

/** Of which the first hour shown begins. The last one is the present, which is not over. */
export function firstHour(now: number): number {
  return (Math.floor(now / HOUR_MS) - (HOURS - 1)) * HOUR_MS;
}

/** By the hour in which they were seen first and the status they have now. */
export function depositsPerHour(deposits: readonly Deposit[], now: number): Hour[] {
  const first = firstHour(now);
  const hours = Array.from({ length: HOURS }, (_, i) => ({
    start: first + i * HOUR_MS,
    counts: { pending: 0, confirmed: 0, settled: 0, reverted: 0, dropped: 0 },
  }));
  for (const { created_at, status } of deposits) {
    const hour = hours[Math.floor((Date.parse(created_at) - first) / HOUR_MS)];
    if (hour !== undefined) hour.counts[status]++;
  }
  return hours;
}

export interface ToGo {
  readonly name: string;
  readonly deposits: number;
}

/** How many deposits still wait for how many blocks. Where there are many depths, a column is for several. */
export function confirmationsToGo(pending: readonly Deposit[]): ToGo[] {
  const missing: number[] = [];
  let untilFinal = 0;
  for (const { confirmations, confirmations_required: required } of pending) {
    if (required === null) untilFinal++;
    else missing.push(Math.max(0, required - confirmations));
  }
  const columns: ToGo[] = [];
  if (missing.length > 0) {
    const [least, most] = [Math.min(...missing), Math.max(...missing)];
    const width = Math.ceil((most - least + 1) / MOST_COLUMNS);
    for (let from = least; from <= most; from += width) {
      const to = Math.min(most, from + width - 1);
      const deposits = missing.filter((n) => n >= from && n <= to).length;
      columns.push({ name: from === to ? String(from) : `${from}–${to}`, deposits });
    }
  }
  if (untilFinal > 0) columns.push({ name: "finality", deposits: untilFinal });
  return columns;
}

export interface Latency {
  readonly count: number;
  /** Milliseconds that half of them, and 95 of 100, did not exceed. */
  readonly p50: number;
  readonly p95: number;
}

/** From when a delivery was made to the end of the first attempt that succeeded. null: none did. */
export function latencyOf(deliveries: readonly Delivery[]): Latency | null {
  const waits = deliveries
    .flatMap(({ created_at, attempts }) => {
      const good = attempts.find(({ outcome }) => outcome === "delivered");
      return good === undefined ? [] : [Math.max(0, Date.parse(good.at) + good.duration_ms - Date.parse(created_at))];
    })
    .sort((a, b) => a - b);
  if (waits.length === 0) return null;
  return { count: waits.length, p50: rank(waits, 50), p95: rank(waits, 95) };
}

/** Nearest rank: a wait that there was, not one between two. */
function rank(ascending: readonly number[], percent: number): number {
  return ascending[Math.max(0, Math.ceil((percent * ascending.length) / 100) - 1)] ?? 0;
}

export function millisecondsText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 90) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}
