/**
 * Many objects' figures as one number for each name and labels. Kept by difference: taking a report costs what is in
 * it, and reading costs what there is to show, however many objects told of it.
 */

import { type Figure, type FigureKind, kindOf } from "./figures.ts";

export interface HeldReport {
  readonly at: number;
  readonly figures: readonly Figure[];
}

export interface TakenReport {
  /** The object's figures, each name and labels once. */
  readonly figures: readonly Figure[];
  /** Counters that the object has begun anew: what it had counted before, which stays in the total. */
  readonly carried: readonly Figure[];
}

/** What a report changes; null: nothing, it is not newer than the one that is held. */
export function takeReport(held: HeldReport | undefined, report: HeldReport): TakenReport | null {
  if (held !== undefined && report.at <= held.at) return null;
  const figures = distinct(report.figures);
  return { figures, carried: carriedOver(held?.figures ?? [], figures) };
}

/** Both lists as one: a counter of both is their sum. */
export function addUp(one: readonly Figure[], other: readonly Figure[]): readonly Figure[] {
  return distinct([...one, ...other]);
}

export class FigureTotals {
  readonly #series = new Map<string, Series>();

  /** @param before what this source told last, as it was taken */
  replace(source: string, before: readonly Figure[], after: readonly Figure[]): void {
    for (const one of before) this.#of(one)?.remove(source, one.value);
    for (const one of after) this.#of(one)?.add(source, one.value);
    for (const one of before) if (this.#series.get(nameOf(one))?.isEmpty === true) this.#series.delete(nameOf(one));
  }

  figures(): Figure[] {
    return [...this.#series.values()].map(({ name, labels, value }) => ({ name, labels, value }));
  }

  #of(one: Figure): Series | null {
    const kind = kindOf(one.name);
    if (kind === null) return null;
    const key = nameOf(one);
    const found = this.#series.get(key) ?? new Series(one.name, one.labels, kind);
    this.#series.set(key, found);
    return found;
  }
}

/** Seconds are counted in milliseconds, everything else in whole numbers. */
const COUNTED_PARTS = 1_000;

class Series {
  readonly name: string;
  readonly labels: Figure["labels"];
  readonly #merge: FigureKind["merge"];
  /** Of one. Counters are added up as whole numbers: in another order floats have another sum, and it may have fallen. */
  readonly #parts: number;
  #sources = 0;
  #sum = 0;
  /** Of the least or the most, each source's value: only objects that have something to tell are in here. */
  readonly #values = new Map<string, number>();
  #best: number | null = null;

  constructor(name: string, labels: Figure["labels"], { type, merge }: FigureKind) {
    this.name = name;
    this.labels = labels;
    this.#merge = merge;
    this.#parts = type === "counter" ? COUNTED_PARTS : 1;
  }

  get isEmpty(): boolean {
    return this.#sources === 0;
  }

  add(source: string, value: number): void {
    this.#sources++;
    if (this.#merge === "sum") {
      this.#sum += this.#inParts(value);
      return;
    }
    this.#values.set(source, value);
    if (this.#best !== null) this.#best = better(this.#merge, this.#best, value);
  }

  remove(source: string, value: number): void {
    this.#sources--;
    if (this.#merge === "sum") {
      this.#sum -= this.#inParts(value);
      return;
    }
    this.#values.delete(source);
    // Looked for again when it is read.
    if (value === this.#best) this.#best = null;
  }

  get value(): number {
    if (this.#merge === "sum") return this.#sum / this.#parts;
    if (this.#best === null) {
      for (const value of this.#values.values()) {
        this.#best = this.#best === null ? value : better(this.#merge, this.#best, value);
      }
    }
    return this.#best ?? 0;
  }

  #inParts(value: number): number {
    return this.#parts === 1 ? value : Math.round(value * this.#parts);
  }
}

/** Counters only rise. One that is lower than before began anew: what it had counted goes on without it. */
function carriedOver(before: readonly Figure[], after: readonly Figure[]): Figure[] {
  const now = new Map(after.map((one) => [nameOf(one), one.value]));
  return before.filter((one) => kindOf(one.name)?.type === "counter" && (now.get(nameOf(one)) ?? 0) < one.value);
}

function distinct(figures: readonly Figure[]): readonly Figure[] {
  const found = new Map<string, Figure>();
  for (const one of figures) {
    const kind = kindOf(one.name);
    if (kind === null || !Number.isFinite(one.value)) continue;
    const key = nameOf(one);
    const before = found.get(key);
    const value = before === undefined ? one.value : merged(kind.merge, before.value, one.value);
    found.set(key, { ...one, value });
  }
  return [...found.values()];
}

function merged(merge: FigureKind["merge"], one: number, other: number): number {
  return merge === "sum" ? one + other : better(merge, one, other);
}

function better(merge: FigureKind["merge"], one: number, other: number): number {
  return merge === "min" ? Math.min(one, other) : Math.max(one, other);
}

function nameOf({ name, labels }: Figure): string {
  return JSON.stringify([name, ...Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))]);
}
