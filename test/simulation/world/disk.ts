/**
 * The storage of one object, as workerd keeps it: what is written in one turn becomes durable together, when the
 * object waits for something outside or sends something; until then a crash takes all of it back. Inside
 * `transactionSync` a thrown error takes back what the transaction wrote, and nothing else.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";

type Value = string | number | null | Uint8Array;
export type Row = Record<string, Value>;

/** Rows of one query, all of them read already. */
class Cursor {
  readonly #columns: readonly string[];
  readonly #rows: readonly Value[][];
  #next = 0;
  readonly rowsRead = 0;
  readonly rowsWritten = 0;

  constructor(columns: readonly string[], rows: readonly Value[][]) {
    this.#columns = columns;
    this.#rows = rows;
  }

  get columnNames(): string[] {
    return [...this.#columns];
  }

  toArray(): Row[] {
    return this.#rows.map((row) => this.#named(row));
  }

  one(): Row {
    const [row] = this.#rows;
    if (row === undefined || this.#rows.length !== 1) throw new Error(`expected one row, got ${this.#rows.length}`);
    return this.#named(row);
  }

  next(): { done: boolean; value?: Row } {
    const row = this.#rows[this.#next++];
    return row === undefined ? { done: true } : { done: false, value: this.#named(row) };
  }

  raw() {
    const rows = this.#rows;
    return {
      toArray: () => [...rows],
      [Symbol.iterator]: () => rows[Symbol.iterator](),
    };
  }

  [Symbol.iterator]() {
    return this.toArray()[Symbol.iterator]();
  }

  #named(row: readonly Value[]): Row {
    return Object.fromEntries(this.#columns.map((name, i) => [name, row[i] ?? null]));
  }
}

/** Statements of one database, compiled once. */
export class Sqlite {
  readonly db = new DatabaseSync(":memory:");
  readonly #statements = new Map<string, { statement: StatementSync; columns: readonly string[] }>();

  query(text: string, values: readonly unknown[]): { columns: readonly string[]; rows: Value[][]; changes: number } {
    let known = this.#statements.get(text);
    if (known === undefined) {
      const statement = this.db.prepare(text);
      statement.setReturnArrays(true);
      known = { statement, columns: statement.columns().map(({ name }) => name) };
      // What changes the schema is run once and would go stale.
      if (!/^\s*(create|drop|alter|pragma)/i.test(text)) this.#statements.set(text, known);
    }
    const bound = values.map((value) => (typeof value === "boolean" ? Number(value) : (value as Value)));
    if (known.columns.length === 0) {
      const { changes } = known.statement.run(...bound);
      return { columns: [], rows: [], changes: Number(changes) };
    }
    const rows = known.statement.all(...bound) as unknown as Value[][];
    return { columns: known.columns, rows, changes: 0 };
  }

  run(text: string): void {
    this.db.exec(text);
  }
}

export class Disk {
  #sqlite = new Sqlite();
  #isOpen = false;
  #depth = 0;
  /** As written in this turn, and as it would be found after a crash. */
  #alarm: { now: number | null; durable: number | null } = { now: null, durable: null };
  /** Called when a durable alarm changes. */
  onAlarm: (at: number | null) => void = () => {};

  get durableAlarm(): number | null {
    return this.#alarm.durable;
  }

  /** For looking at it from outside. */
  rows(text: string, ...values: unknown[]): Row[] {
    const { columns, rows } = this.#sqlite.query(text, values);
    return new Cursor(columns, rows).toArray();
  }

  /** The turn's writes become durable. */
  flush(): void {
    if (this.#isOpen) this.#sqlite.run("COMMIT");
    this.#isOpen = false;
    if (this.#alarm.now === this.#alarm.durable) return;
    this.#alarm.durable = this.#alarm.now;
    this.onAlarm(this.#alarm.durable);
  }

  /** The turn's writes are lost. */
  lose(): void {
    if (this.#isOpen) this.#sqlite.run("ROLLBACK");
    this.#isOpen = false;
    this.#depth = 0;
    this.#alarm.now = this.#alarm.durable;
  }

  /** The platform takes the alarm away as it calls the handler. */
  takeAlarm(): void {
    this.#alarm = { now: null, durable: null };
  }

  exec(text: string, values: readonly unknown[]): Cursor {
    this.#begin();
    const { columns, rows } = this.#sqlite.query(text, values);
    return new Cursor(columns, rows);
  }

  transactionSync<T>(work: () => T): T {
    this.#begin();
    const point = `turn_${this.#depth++}`;
    this.#sqlite.run(`SAVEPOINT ${point}`);
    try {
      const result = work();
      if (result instanceof Promise) throw new Error("transactionSync was given an async function");
      this.#sqlite.run(`RELEASE ${point}`);
      return result;
    } catch (error) {
      // A crash inside has taken everything back already.
      if (this.#isOpen) this.#sqlite.run(`ROLLBACK TO ${point}; RELEASE ${point}`);
      throw error;
    } finally {
      if (this.#depth > 0) this.#depth--;
    }
  }

  setAlarm(at: number): void {
    this.#alarm.now = at;
  }

  getAlarm(): number | null {
    return this.#alarm.now;
  }

  deleteAlarm(): void {
    this.#alarm.now = null;
  }

  deleteAll(): void {
    if (this.#isOpen) this.#sqlite.run("ROLLBACK");
    this.#isOpen = false;
    this.#sqlite = new Sqlite();
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#sqlite.run("BEGIN");
    this.#isOpen = true;
  }
}
