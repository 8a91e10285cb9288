/**
 * Queries that are asked on every request or poll: built once for each database, then only bound. Building one
 * anew costs more than running it.
 */

import { getTableColumns, type InferSelectModel, sql } from "drizzle-orm";
import type { BaseSQLiteDatabase, SQLiteTable } from "drizzle-orm/sqlite-core";

/** @param build makes the query with placeholders; called once for each database object */
export function prepared<Db extends object, Query>(build: (db: Db) => Query): (db: Db) => Query {
  const queries = new WeakMap<Db, Query>();
  return (db) => {
    let query = queries.get(db);
    if (query === undefined) {
      query = build(db);
      queries.set(db, query);
    }
    return query;
  };
}

/** Whole rows into one table. A column that numbers the rows by itself takes null. */
export function insertionInto<Table extends SQLiteTable>(table: Table) {
  type Row = InferSelectModel<Table>;
  type Given = { readonly [Name in keyof Row]: Name extends "seq" ? null : Row[Name] };
  const marks = Object.fromEntries(Object.keys(getTableColumns(table)).map((name) => [name, sql.placeholder(name)]));
  const insertion = prepared((db: BaseSQLiteDatabase<"sync", unknown>) =>
    db
      .insert(table)
      .values(marks as Table["$inferInsert"])
      .prepare(),
  );
  return (db: BaseSQLiteDatabase<"sync", unknown>, row: Given): void => {
    insertion(db).run(row);
  };
}
