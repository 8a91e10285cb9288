/** What becomes of values on their way into statements and out of them, and how cursors give rows. */

import { attempt, kept, type Probe, probe, read } from "./probe.ts";

export const VALUES: readonly Probe[] = [
  probe("a whole number in a column of no type", kept(5), { rows: [5], answers: [[5, "real"]] }),
  probe(
    "a whole number in a column of text",
    ({ sql }) => {
      sql("CREATE TABLE probe_t (v TEXT)");
      sql("INSERT INTO probe_t VALUES (?)", 5);
      return sql("SELECT v FROM probe_t");
    },
    { rows: [], answers: [[{ v: "5.0" }]] },
  ),
  probe("a bigint", kept(2n ** 60n), { rows: [], answers: ["threw"] }),
  probe("a boolean", kept(true), { rows: ["true"], answers: [["true", "text"]] }),
  probe("undefined", kept(undefined), { rows: [null], answers: [[null, "null"]] }),
  probe("null", kept(null), { rows: [null], answers: [[null, "null"]] }),
  probe("an object", kept({ a: 1 }), { rows: ["[object Object]"], answers: [["[object Object]", "text"]] }),
  probe("not a number", kept(Number.NaN), { rows: [null], answers: [[null, "null"]] }),
  probe("a text with a zero in it", kept("a\0b"), { rows: ["a\0b"], answers: [["a\0b", "text"]] }),
  probe("bytes", kept(new Uint8Array([1, 2])), { rows: ["bytes 1,2"], answers: [["bytes 1,2", "blob"]] }),
  probe("a buffer", kept(new Uint8Array([1, 2]).buffer), { rows: ["bytes 1,2"], answers: [["bytes 1,2", "blob"]] }),
  probe("an integer above 2^53", read("SELECT 9007199254740993, 9223372036854775807"), {
    rows: [],
    answers: [[[2 ** 53, 2 ** 63]]],
  }),
  probe("an integer above 2^53 from an aggregate", read("SELECT max(x) FROM (SELECT 9007199254740993 AS x)"), {
    rows: [],
    answers: [[[2 ** 53]]],
  }),
];

export const CURSORS: readonly Probe[] = [
  probe("INSERT with RETURNING", read("INSERT INTO probe_x (v) VALUES ('a'), ('b') RETURNING id, v"), {
    rows: ["a", "b"],
    answers: [
      [
        [1, "a"],
        [2, "b"],
      ],
    ],
  }),
  probe(
    "UPDATE with RETURNING, its rows never read",
    ({ storage, write, sql }) => {
      write(1);
      write(2);
      storage.sql.exec("UPDATE probe_x SET v = v + 10 RETURNING id");
      return sql("SELECT v FROM probe_x").length;
    },
    { rows: [], answers: ["threw"] },
  ),
  probe(
    "INSERT with RETURNING, its one row never read",
    ({ storage }) => {
      storage.sql.exec("INSERT INTO probe_x (v) VALUES (1) RETURNING id");
    },
    { rows: [], answers: ["threw"] },
  ),
  probe(
    "UPDATE with RETURNING, its rows read after the turn",
    async ({ storage, write, timer }) => {
      write(1);
      write(2);
      const cursor = storage.sql.exec("UPDATE probe_x SET v = v + 10 RETURNING id");
      await timer();
      return cursor.toArray().length;
    },
    { rows: [], answers: ["threw"] },
  ),
  probe(
    "SELECT, its rows never read",
    async ({ storage, write, timer }) => {
      write(1);
      storage.sql.exec("SELECT v FROM probe_x");
      await timer();
      return storage.sql.exec("SELECT v FROM probe_x").next().done;
    },
    { rows: [1], answers: [false] },
  ),
  probe(
    "UPDATE with RETURNING, one of its two rows read",
    ({ storage, write }) => {
      write(1);
      write(2);
      storage.sql.exec("UPDATE probe_x SET v = v + 10 RETURNING id").next();
    },
    { rows: [], answers: ["threw"] },
  ),
  probe(
    "INSERT with RETURNING, its row read and not the end",
    ({ storage }) => {
      storage.sql.exec("INSERT INTO probe_x (v) VALUES (1) RETURNING id").next();
    },
    { rows: [1], answers: [undefined] },
  ),
  probe(
    "a row read by one that changes others",
    ({ storage, write, sql }) => {
      write(1);
      write(2);
      const cursor = storage.sql.exec("SELECT v FROM probe_x");
      sql("UPDATE probe_x SET v = v + 10");
      return cursor.toArray().length;
    },
    { rows: [11, 12], answers: [2] },
  ),
  probe(
    "two columns of one name",
    ({ storage }) => {
      const cursor = storage.sql.exec("SELECT 1 AS a, 2 AS a");
      return [cursor.columnNames, cursor.toArray()];
    },
    { rows: [], answers: [[["a", "a"], [{ a: 2 }]]] },
  ),
  probe(
    "raw rows with two columns of one name",
    ({ storage }) => storage.sql.exec("SELECT 1 AS a, 2 AS a").raw().toArray(),
    { rows: [], answers: [[[1, 2]]] },
  ),
  probe(
    "one() of no row and of two",
    ({ storage }) =>
      ["SELECT 1 WHERE 0", "SELECT 1 UNION ALL SELECT 2"].map((text) => attempt(() => storage.sql.exec(text).one())),
    { rows: [], answers: [["threw", "threw"]] },
  ),
  probe(
    "one() and toArray() after it, and twice",
    ({ storage }) => {
      const cursor = storage.sql.exec("SELECT 1 AS a");
      return [cursor.toArray(), cursor.toArray(), attempt(() => cursor.one())];
    },
    { rows: [], answers: [[[{ a: 1 }], [], "threw"]] },
  ),
  probe(
    "what next() gives",
    ({ storage }) => {
      const cursor = storage.sql.exec("SELECT 1 AS a");
      return [cursor.next(), cursor.next()];
    },
    { rows: [], answers: [[{ done: false, value: { a: 1 } }, { done: true }]] },
  ),
];
