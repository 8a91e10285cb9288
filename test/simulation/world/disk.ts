/**
 * The storage of one object, as workerd keeps it (test/support/storage-probes.ts states and compares it): what is
 * written in one turn becomes durable together, at its end; until then a crash takes all of it back, and nothing
 * that was sent in it leaves. Inside `transactionSync` a thrown error takes back what the transaction did, alarms
 * included, and nothing else.
 */

import { Cursor, type Row, Sqlite } from "./sqlite.ts";

export type { Row };

/** What the platform makes of a value that is given to a statement. */
function asBound(value: unknown): unknown {
  if (typeof value === "bigint") throw new TypeError("a bigint cannot be given to a statement");
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || typeof value === "number" || value instanceof Uint8Array) return value;
  return value instanceof ArrayBuffer ? new Uint8Array(value) : String(value);
}

const isPlain = (value: unknown) => typeof value === "string" || typeof value === "number" || value === null;
const isBytes = (value: unknown) => value instanceof Uint8Array;
const hasBytes = (row: readonly unknown[]) => row.some(isBytes);

function asFound(value: unknown): unknown {
  if (!(value instanceof Uint8Array)) return value;
  return value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength);
}

/** What was sent in a turn that was lost never leaves. */
export interface Turn {
  isLost: boolean;
}

interface Alarm {
  /** As written in this turn. */
  now: number | null;
  /** As it would be found after a crash. */
  durable: number | null;
}

export class Disk {
  #sqlite = new Sqlite();
  #isOpen = false;
  #depth = 0;
  #alarm: Alarm = { now: null, durable: null };
  /** The alarm whose handler runs. Nobody sees it as set, but it is again if the handler does not come to its end. */
  #ringing: number | null = null;
  /** The alarm whose handler came to its end in this turn. That it is done is a write like any other. */
  #rung: number | null = null;
  /** Of statements that changed something and have rows to give. */
  #cursors: Cursor[] = [];
  turn: Turn = { isLost: false };
  /** Called when a durable alarm changes. */
  onAlarm: (at: number | null) => void = () => {};
  /** Called when a turn could not become durable: the instance is broken. */
  onBroken: () => void = () => {};

  get durableAlarm(): number | null {
    return this.#alarm.durable;
  }

  /** Whether the platform calls the alarm's handler now, and would again if it did not come to its end. */
  get isRinging(): boolean {
    return this.#ringing !== null;
  }

  /** For looking at it from outside. */
  rows(text: string, ...values: unknown[]): Row[] {
    const { columns, rows } = this.#sqlite.query(text, values);
    return new Cursor(columns, rows).toArray();
  }

  /** The turn's writes become durable. */
  flush(): void {
    const isBroken = this.#cursors.some(({ isRead }) => !isRead);
    this.#cursors = [];
    // SQLite commits nothing while a statement that writes is under way.
    if (isBroken) {
      this.onBroken();
      return;
    }
    if (this.#isOpen) this.#sqlite.command("COMMIT");
    this.#isOpen = false;
    this.#rung = null;
    this.turn = { isLost: false };
    if (this.#alarm.now === this.#alarm.durable) return;
    this.#alarm.durable = this.#alarm.now;
    this.onAlarm(this.#alarm.durable);
  }

  /** The turn's writes are lost. */
  lose(): void {
    if (this.#isOpen) this.#sqlite.command("ROLLBACK");
    this.#isOpen = false;
    this.#depth = 0;
    this.#cursors = [];
    this.#alarm.now = this.#alarm.durable;
    this.turn.isLost = true;
    this.turn = { isLost: false };
    const again = this.#alarm.durable === null ? this.#rung : null;
    this.#rung = null;
    if (again === null) return;
    this.#alarm = { now: again, durable: again };
    this.onAlarm(again);
  }

  /** The platform begins to call the handler of the alarm that was set for then. */
  beginRinging(at: number): void {
    if (this.#alarm.durable !== at) return;
    this.#ringing = at;
    this.#alarm = { now: null, durable: null };
  }

  /** @param isDone otherwise the alarm is as it was, unless it was set anew */
  endRinging(isDone: boolean): void {
    if (!isDone && this.#ringing !== null && this.#alarm.now === null && this.#alarm.durable === null)
      this.#alarm = { now: this.#ringing, durable: this.#ringing };
    if (isDone) this.#rung = this.#ringing;
    this.#ringing = null;
  }

  exec(text: string, values: readonly unknown[]): Cursor {
    const compiled = this.#sqlite.compile(text);
    if (compiled.isCommand) throw new Error(`transactions are not made by statements: ${text}`);
    const bound = values.every(isPlain) ? values : values.map(asBound);
    // What only reads finds the same without a transaction, and leaves nothing to be kept.
    if (!compiled.isRead) this.#begin();
    const { columns, rows } = this.#sqlite.query(text, bound, compiled);
    const cursor = new Cursor(columns, rows.some(hasBytes) ? rows.map((row) => row.map(asFound)) : rows);
    if (rows.length > 0 && compiled.isReturning) this.#cursors.push(cursor);
    return cursor;
  }

  transactionSync<T>(work: () => T): T {
    this.#begin();
    const alarm = this.#alarm.now;
    const point = `turn_${this.#depth++}`;
    this.#sqlite.command(`SAVEPOINT ${point}`);
    try {
      const result = work();
      this.#sqlite.command(`RELEASE ${point}`);
      return result;
    } catch (error) {
      // A crash inside has taken everything back already.
      if (this.#isOpen) {
        this.#sqlite.run(`ROLLBACK TO ${point}; RELEASE ${point}`);
        this.#alarm.now = alarm;
      }
      throw error;
    } finally {
      if (this.#depth > 0) this.#depth--;
    }
  }

  setAlarm(at: number): void {
    if (!(at > 0)) throw new TypeError(`an alarm's time must be above 0, got ${at}`);
    this.#alarm.now = at;
  }

  getAlarm(): number | null {
    return this.#alarm.now;
  }

  deleteAlarm(): void {
    this.#alarm.now = null;
  }

  /** Done at once, whatever becomes of the turn. */
  deleteAll(): void {
    if (this.#isOpen) this.#sqlite.command("ROLLBACK");
    this.#isOpen = false;
    this.#cursors = [];
    this.#sqlite = new Sqlite();
    this.#alarm = { now: null, durable: null };
    this.onAlarm(null);
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#sqlite.command("BEGIN");
    this.#isOpen = true;
  }
}
