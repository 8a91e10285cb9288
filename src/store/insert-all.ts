/**
 * Many rows into one table, in as few statements as their size allows: the rows travel as one JSON text through
 * `json_each`, in the list's order. A statement for each row would cost more to build than to run. Callers have a
 * transaction open: rows that take several statements stand or fall together by it alone.
 */

import { type Column, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { BaseSQLiteDatabase, SQLiteTable } from "drizzle-orm/sqlite-core";

/** A bound text may have two million bytes; one character has three at most here, and nearly always one. */
const MAX_CHARS = 500_000;
const MAX_ROWS = 2_000;

/**
 * Columns that a row does not name get their default. Every row names the same ones, with text, whole numbers, null, or what its
 * column keeps as JSON.
 * @param orUpdate columns of a key that may be met: then the row's other columns are written over those that stand there
 */
export function insertAll<Table extends SQLiteTable>(
  db: BaseSQLiteDatabase<"sync", unknown>,
  table: Table,
  rows: readonly Table["$inferInsert"][],
  orUpdate: readonly (keyof Table["$inferInsert"] & string)[] = [],
): void {
  const [first] = rows;
  if (first === undefined) return;
  const keys = Object.keys(first);
  const columns: Record<string, Column> = getTableColumns(table);
  const statement = insertOf(table, keys, orUpdate);
  let texts: string[] = [];
  let chars = 0;
  const write = () => {
    db.run(statement(`[${texts.join(",")}]`));
    texts = [];
    chars = 0;
  };
  for (const row of rows) {
    const text = JSON.stringify(keys.map((key) => plain(row, key, columns[key])));
    if (texts.length === MAX_ROWS || (chars > 0 && chars + text.length > MAX_CHARS)) write();
    texts.push(text);
    chars += text.length;
  }
  write();
}

function insertOf(table: SQLiteTable, keys: readonly string[], orUpdate: readonly string[]): (list: string) => SQL {
  const columns = getTableColumns(table);
  const named = (key: string) => {
    const column = columns[key];
    if (column === undefined) throw new Error(`a table has no column for ${key}`);
    return sql.identifier(column.name);
  };
  const listed = (parts: readonly SQL[]) => sql.join([...parts], sql`, `);
  const names = listed(keys.map((key) => sql`${named(key)}`));
  const values = listed(keys.map((_, n) => sql.raw(`json_extract(value, '$[${n}]')`)));
  const over = keys.filter((key) => !orUpdate.includes(key)).map((key) => sql`${named(key)} = excluded.${named(key)}`);
  const update =
    orUpdate.length === 0
      ? sql``
      : sql` ON CONFLICT (${listed(orUpdate.map((key) => sql`${named(key)}`))}) DO UPDATE SET ${listed(over)}`;
  return (list) => sql`INSERT INTO ${table} (${names}) SELECT ${values} FROM json_each(${list}) WHERE true${update}`;
}

function plain(row: object, key: string, column: Column | undefined): string | number | null {
  const given: unknown = (row as Record<string, unknown>)[key];
  if (given === null) return null;
  const value: unknown = column === undefined ? given : column.mapToDriverValue(given);
  if (typeof value === "string" || Number.isSafeInteger(value)) return value as string | number;
  throw new Error(`${key} is to be text, a whole number or null, not ${typeof value}`);
}
