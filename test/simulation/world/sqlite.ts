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

  #rest(): readonly unknown[][] {
    const rows = this.#next === 0 ? this.#rows : this.#rows.slice(this.#next);
    this.#next = this.#rows.length;
    return rows;
  }

  #named(row: readonly unknown[]): Row {
    return named(this.#columns, row);
  }
}

export function named(columns: readonly string[], row: readonly unknown[]): Row {
  const made: Row = {};
  for (let i = 0; i < columns.length; i++) made[columns[i] as string] = row[i] ?? null;
  return made;
}

export interface Compiled {
  readonly statement: StatementSync;
  readonly columns: readonly string[];
  /** How many values it takes. */
  readonly takes: number;
  /** What follows it in the same text, or "". */
  readonly rest: string;
  /** Changes nothing, so that it may be asked twice and needs no transaction. */
  readonly isRead: boolean;
  /** Changes something and has rows to give. */
  readonly isReturning: boolean;
  /** Begins or ends a transaction. */
  readonly isCommand: boolean;
  /** Places of its values that are the size of a LIMIT: written out, see `query`. */
  readonly limits: readonly number[];
  /** By those sizes, the same statement with them written out. */
  readonly sized: Map<string, Compiled>;
}

export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly unknown[][];
  readonly changes: number;
}

const NO_ROWS: readonly unknown[][] = [];

/** One database, whose statements are compiled once. */
export class Sqlite {
  readonly db = new DatabaseSync(":memory:", { enableDoubleQuotedStringLiterals: true });
  readonly #compiled = new Map<string, Compiled>();
  readonly #commands = new Map<string, StatementSync>();

  constructor() {
    Object.assign((this.db as unknown as { limits: object }).limits, LIMITS);
  }

  /** Runs each statement of a text, the last one with these values, and gives what the last one gives. */
  query(text: string, values: readonly unknown[], whole: Compiled = this.compile(text)): Answer {
    let compiled = whole;
    while (compiled.rest !== "") {
      bind(compiled, []);
      compiled.statement.all();
      compiled = this.compile(compiled.rest);
    }
    let bound = bind(compiled, values);
    // SQLite compiles a statement anew whenever another size is bound to its LIMIT, and whenever the same one is.
    if (compiled.limits.length > 0 && compiled.limits.every((at) => isSize(bound[at]))) {
      const { limits, sized } = compiled;
      const sizes = limits.map((at) => bound[at]).join();
      const known = sized.get(sizes) ?? this.compile(withSizes(text, limits, bound));
      sized.set(sizes, known);
      compiled = known;
      bound = bound.filter((_, at) => !limits.includes(at));
    }
    const { statement, columns, isRead } = compiled;
    if (columns.length === 0) return { columns, rows: NO_ROWS, changes: Number(statement.run(...bound).changes) };
    return { columns, rows: isRead ? read(statement, bound) : exactly(statement, bound), changes: 0 };
  }

  /** A command without values or rows, like COMMIT. */
  command(text: string): void {
    let statement = this.#commands.get(text);
    if (statement === undefined) {
      statement = this.db.prepare(text);
      this.#commands.set(text, statement);
    }
    statement.run();
  }

  run(text: string): void {
    this.db.exec(text);
  }

  compile(text: string): Compiled {
    const known = this.#compiled.get(text);
    if (known !== undefined) return known;
    if (text.trim() === "") throw new Error("there is no statement");
    const statement = this.db.prepare(text);
    statement.setReturnArrays(true);
    const own = statement.sourceSQL;
    const { takes, limits } = parametersOf(own);
    const compiled = {
      statement,
      columns: statement.columns().map(({ name }) => name),
      takes,
      rest: text.slice(own.length).trim(),
      isRead: /^\s*select\b/i.test(text) && text.length === own.length,
      isReturning: /\breturning\b/i.test(text),
      isCommand: /^\s*(begin|commit|end|rollback|savepoint|release)\b/i.test(text),
      limits,
      sized: new Map<string, Compiled>(),
    };
    // What changes the schema is run once and would go stale.
    if (!/^\s*(create|drop|alter|pragma)/i.test(text)) this.#compiled.set(text, compiled);
    return compiled;
  }
}

function bind({ takes }: Compiled, values: readonly unknown[]): Value[] {
  if (values.length !== takes) throw new Error(`the statement takes ${takes} values, got ${values.length}`);
  for (let at = 0; at < values.length; at++) {
    if (typeof values[at] === "boolean")
      return values.map((value) => (typeof value === "boolean" ? Number(value) : (value as Value)));
  }
  return values as Value[];
}

const isSize = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 10_000;

/** The text with the sizes of its LIMITs written out. */
function withSizes(text: string, limits: readonly number[], values: readonly Value[]): string {
  let at = -1;
  return text.replace(TEXT_OR_PARAMETER, (found) => {
    if (!found.startsWith("?")) return found;
    at++;
    return limits.includes(at) ? String(values[at]) : found;
  });
}

/** Integers that a number does not hold are an error of node:sqlite's: then they are asked for once more, exactly. */
function read(statement: StatementSync, bound: Value[]): unknown[][] {
  statement.setReadBigInts(false);
  try {
    return statement.all(...bound) as unknown as unknown[][];
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_OUT_OF_RANGE") throw error;
    return exactly(statement, bound);
  }
}

function exactly(statement: StatementSync, bound: Value[]): unknown[][] {
  statement.setReadBigInts(true);
  const rows = statement.all(...bound) as unknown as unknown[][];
  return rows.map((row) => row.map(asNumber));
}

/** Large integers lose digits on their way, as they do on the platform. */
function asNumber(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

const TEXT_OR_PARAMETER = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d*)/g;

/** How many values a statement takes, and which of them say how many rows it gives. */
function parametersOf(text: string): { takes: number; limits: number[] } {
  let takes = 0;
  let isNumbered = false;
  const limits: number[] = [];
  for (const { 0: found, 1: number, index } of text.matchAll(TEXT_OR_PARAMETER)) {
    if (!found.startsWith("?")) continue;
    if (number !== "") isNumbered = true;
    else if (/\blimit $/i.test(text.slice(Math.max(0, index - 7), index))) limits.push(takes);
    takes = number === "" ? takes + 1 : Math.max(takes, Number(number));
  }
  return { takes, limits: isNumbered ? [] : limits };
}
