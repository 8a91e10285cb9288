/**
 * One SQLite as workerd has it, for objects and D1 alike: its dialect, its limits, texts of several statements, and
 * cursors that give each row once.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";

type Value = string | number | null | Uint8Array;
export type Row = Record<string, unknown>;

/** workerd's own, for objects and D1 alike. */
const LIMITS = {
  sqlLength: 100_000,
  column: 100,
  exprDepth: 100,
  compoundSelect: 5,
  likePatternLength: 50,
  variableNumber: 100,
};

/** Rows of one query, each given once. */
export class Cursor {
  readonly #columns: readonly string[];
  readonly #rows: readonly unknown[][];
  #next = 0;

  constructor(columns: readonly string[], rows: readonly unknown[][]) {
    this.#columns = columns;
    this.#rows = rows;
  }

  get columnNames(): string[] {
    return [...this.#columns];
  }

  get isRead(): boolean {
    return this.#next >= this.#rows.length;
  }

  toArray(): Row[] {
    return this.#rest().map((row) => this.#named(row));
  }

  one(): Row {
    const rows = this.#rest();
    const [row] = rows;
    if (row === undefined || rows.length !== 1) throw new Error(`expected one row, got ${rows.length}`);
    return this.#named(row);
  }

  next(): { done: boolean; value?: Row } {
    const row = this.#rows[this.#next++];
    return row === undefined ? { done: true } : { done: false, value: this.#named(row) };
  }

  raw() {
    const rest = () => this.#rest();
    return { toArray: rest, [Symbol.iterator]: () => rest()[Symbol.iterator]() };
  }

  [Symbol.iterator]() {
    return this.toArray()[Symbol.iterator]();
  }

  #rest(): unknown[][] {
    const rows = this.#rows.slice(this.#next);
    this.#next = this.#rows.length;
    return rows;
  }

  #named(row: readonly unknown[]): Row {
    return Object.fromEntries(this.#columns.map((name, i) => [name, row[i] ?? null]));
  }
}

interface Compiled {
  readonly statement: StatementSync;
  readonly columns: readonly string[];
  /** How many values it takes. */
  readonly takes: number;
  /** What follows it in the same text, or "". */
  readonly rest: string;
}

/** One database, whose statements are compiled once. */
export class Sqlite {
  readonly db = new DatabaseSync(":memory:", { enableDoubleQuotedStringLiterals: true });
  readonly #compiled = new Map<string, Compiled>();

  constructor() {
    Object.assign((this.db as unknown as { limits: object }).limits, LIMITS);
  }

  /** Runs each statement of a text, the last one with these values, and gives what the last one gives. */
  query(text: string, values: readonly unknown[]): { columns: readonly string[]; rows: unknown[][]; changes: number } {
    let compiled = this.#compile(text);
    while (compiled.rest !== "") {
      bind(compiled, []);
      compiled.statement.all();
      compiled = this.#compile(compiled.rest);
    }
    const { statement, columns } = compiled;
    const bound = bind(compiled, values);
    if (columns.length === 0) return { columns, rows: [], changes: Number(statement.run(...bound).changes) };
    const rows = statement.all(...bound) as unknown as unknown[][];
    return { columns, rows: rows.map((row) => row.map(asNumber)), changes: 0 };
  }

  run(text: string): void {
    this.db.exec(text);
  }

  #compile(text: string): Compiled {
    const known = this.#compiled.get(text);
    if (known !== undefined) return known;
    if (text.trim() === "") throw new Error("there is no statement");
    const statement = this.db.prepare(text);
    statement.setReturnArrays(true);
    statement.setReadBigInts(true);
    const own = statement.sourceSQL;
    const compiled = {
      statement,
      columns: statement.columns().map(({ name }) => name),
      takes: parametersIn(own),
      rest: text.slice(own.length).trim(),
    };
    // What changes the schema is run once and would go stale.
    if (!/^\s*(create|drop|alter|pragma)/i.test(text)) this.#compiled.set(text, compiled);
    return compiled;
  }
}

function bind({ takes }: Compiled, values: readonly unknown[]): Value[] {
  if (values.length !== takes) throw new Error(`the statement takes ${takes} values, got ${values.length}`);
  return values.map((value) => (typeof value === "boolean" ? Number(value) : (value as Value)));
}

/** Large integers lose digits on their way, as they do on the platform. */
function asNumber(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

const TEXT_OR_PARAMETER = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d*)/g;

function parametersIn(text: string): number {
  let highest = 0;
  for (const [found, number] of text.matchAll(TEXT_OR_PARAMETER)) {
    if (found.startsWith("?")) highest = number === "" ? highest + 1 : Math.max(highest, Number(number));
  }
  return highest;
}
