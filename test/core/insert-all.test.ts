import { DatabaseSync } from "node:sqlite";
import { drizzle } from "drizzle-orm/durable-sqlite";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { describe, expect, it } from "vitest";
import { insertAll } from "../../src/store/insert-all.ts";

const things = sqliteTable("things", {
  seq: integer("seq").primaryKey(),
  name: text("the_name").notNull().unique(),
  amountUnits: text("amount_units"),
  count: integer("count").notNull().default(7),
  list: text("list", { mode: "json" }).$type<readonly (string | number)[]>(),
});

function database() {
  const sqlite = new DatabaseSync(":memory:");
  sqlite.exec(
    "CREATE TABLE things (seq INTEGER PRIMARY KEY, the_name TEXT NOT NULL UNIQUE, amount_units TEXT, count INTEGER NOT NULL DEFAULT 7, list TEXT)",
  );
  let statements = 0;
  const exec = (query: string, ...values: (string | number | null)[]) => {
    statements++;
    const rows = sqlite.prepare(query).all(...values);
    return {
      toArray: () => rows,
      raw: () => ({ toArray: () => rows.map((row) => Object.values(row)) }),
      next: () => {},
    };
  };
  const db = drizzle({ sql: { exec } } as never);
  const rows = () =>
    sqlite
      .prepare("SELECT *, typeof(count) AS kind FROM things ORDER BY seq")
      .all()
      .map((row) => ({ ...row }));
  return { db, rows, statements: () => statements };
}

describe("many rows in one statement", () => {
  it("stand in the list's order, each with its own values, and the default where none is named", () => {
    const { db, rows, statements } = database();
    insertAll(db, things, [
      {
        name: 'z "quoted" \\ \n ü€😀',
        amountUnits: "115792089237316195423570985008687907853269984665640564039457584007913129639935",
      },
      { name: "a", amountUnits: null },
    ]);
    expect(rows()).toEqual([
      {
        seq: 1,
        the_name: 'z "quoted" \\ \n ü€😀',
        amount_units: "115792089237316195423570985008687907853269984665640564039457584007913129639935",
        count: 7,
        list: null,
        kind: "integer",
      },
      { seq: 2, the_name: "a", amount_units: null, count: 7, list: null, kind: "integer" },
    ]);
    expect(statements()).toBe(1);
  });

  it("are written over those that hold the key, in all that is named and nothing else", () => {
    const { db, rows } = database();
    insertAll(db, things, [{ name: "a", amountUnits: "1", count: 9_007_199_254_740_991 }]);
    const both = [
      { name: "a", amountUnits: "2" },
      { name: "b", amountUnits: "3" },
    ];
    insertAll(db, things, both, ["name"]);
    expect(rows()).toMatchObject([
      { the_name: "a", amount_units: "2", count: 9_007_199_254_740_991 },
      { the_name: "b", amount_units: "3", count: 7 },
    ]);
  });

  it("meet a key that is held without being told to write over it: nothing of the statement stands", () => {
    const { db, rows } = database();
    insertAll(db, things, [{ name: "a" }]);
    expect(() => insertAll(db, things, [{ name: "b" }, { name: "a" }])).toThrow();
    expect(rows()).toMatchObject([{ the_name: "a" }]);
  });

  it("go in more statements when they are many or long, and none is lost", () => {
    const many = database();
    insertAll(
      many.db,
      things,
      Array.from({ length: 4_001 }, (_, n) => ({ name: `thing ${n}` })),
    );
    expect(many.rows()).toHaveLength(4_001);
    expect(many.rows().at(-1)).toMatchObject({ seq: 4_001, the_name: "thing 4000" });
    const long = database();
    insertAll(
      long.db,
      things,
      Array.from({ length: 5 }, (_, n) => ({ name: `${n}`.padEnd(300_000, "x") })),
    );
    expect(long.rows().map((row) => String(row.the_name)[0])).toEqual(["0", "1", "2", "3", "4"]);
    expect(long.statements()).toBe(5);
  });

  it("hold what a column keeps as JSON as the column would write it", () => {
    const { db, rows } = database();
    const list = ["[1]", 'a "quoted" one', 2];
    insertAll(db, things, [
      { name: "a", list },
      { name: "b", list: null },
      { name: "c", list: [] },
    ]);
    expect(rows().map((row) => row.list)).toEqual([JSON.stringify(list), null, "[]"]);
    expect(db.select({ list: things.list }).from(things).all()).toEqual([{ list }, { list: null }, { list: [] }]);
  });

  it("are not written when there are none, and refuse what is neither text, a whole number nor null", () => {
    const { db, statements } = database();
    insertAll(db, things, []);
    expect(statements()).toBe(0);
    expect(() => insertAll(db, things, [{ name: "a", count: 0.5 }])).toThrow("count is to be");
    expect(() => insertAll(db, things, [{ name: "a", count: 1 }, { name: "b" }])).toThrow("count is to be");
  });
});
