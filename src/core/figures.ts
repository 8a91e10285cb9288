/**
 * What the operator's monitor knows by name: each figure's kind, its meaning, its labels, and how what many objects say
 * of it becomes one number. Names and units are Prometheus' own: base units, `_total` for what only rises.
 */

export interface FigureKind {
  readonly type: "gauge" | "counter";
  readonly help: string;
  /** Of several objects with the same labels: their sum, the smallest or the largest. */
  readonly merge: "sum" | "min" | "max";
}

/** One number of one object. Absolute, not a difference: a repeat changes nothing. */
export interface Figure {
  /** A name of the catalogue. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
