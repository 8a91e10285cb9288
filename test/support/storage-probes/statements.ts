/** Statements: how many, how large, and in which dialect. */

import { attempt, type Probe, probe, read } from "./probe.ts";

export const STATEMENTS: readonly Probe[] = [
  probe("an expression 100 deep", read(`SELECT ${"(1+".repeat(98)}1${")".repeat(98)}`), {
    rows: [],
    answers: [[[99]]],
  }),
  probe("an expression 101 deep", read(`SELECT ${"(1+".repeat(101)}1${")".repeat(101)}`), {
    rows: [],
    answers: ["threw"],
  }),
  probe("a comment after the semicolon", read("SELECT 1; -- that was it"), { rows: [], answers: ["threw"] }),
  probe("a semicolon and spaces at the end", read("SELECT 1;  \n "), { rows: [], answers: [[[1]]] }),
  probe("comments before and in a statement", read("-- one\n SELECT /* two */ 1 -- three"), {
    rows: [],
    answers: [[[1]]],
  }),
  probe(
    "several statements in one exec",
    read("INSERT INTO probe_x (v) VALUES (1); INSERT INTO probe_x (v) VALUES (2); SELECT v FROM probe_x"),
    {
      rows: [1, 2],
      answers: [[[1], [2]]],
    },
  ),
  probe(
    "several statements, values for the last",
    read("INSERT INTO probe_x (v) VALUES (1); INSERT INTO probe_x (v) VALUES (?) RETURNING v", "b"),
    {
      rows: [1, "b"],
      answers: [[["b"]]],
    },
  ),
  probe(
    "several statements, the second of which fails",
    read("INSERT INTO probe_x VALUES (1, 'a'); INSERT INTO probe_x VALUES (1, 'b')"),
    {
      rows: ["a"],
      answers: ["threw"],
    },
  ),
  probe("several statements, the second of which is no SQL", read("INSERT INTO probe_x VALUES (1, 'a'); NOT SQL"), {
    rows: ["a"],
    answers: ["threw"],
  }),
  probe("no statement", read("  "), { rows: [], answers: ["threw"] }),
  probe("too few values", read("SELECT ?, ?", 1), { rows: [], answers: ["threw"] }),
  probe("too many values", read("SELECT ?", 1, 2), { rows: [], answers: ["threw"] }),
  probe(
    "100 values",
    read(`SELECT count(*) FROM probe_x WHERE id IN (${Array(100).fill("?")})`, ...Array(100).fill(1)),
    { rows: [], answers: [[[0]]] },
  ),
  probe(
    "101 values",
    read(`SELECT count(*) FROM probe_x WHERE id IN (${Array(101).fill("?")})`, ...Array(101).fill(1)),
    { rows: [], answers: ["threw"] },
  ),
  probe("a numbered value, twice", read("SELECT ?1 AS a, ?1 AS b", "a"), { rows: [], answers: [[["a", "a"]]] }),
  probe("a pattern of 50 characters", read("SELECT 'a' LIKE ?", "a".repeat(50)), { rows: [], answers: [[[0]]] }),
  probe("a pattern of 51 characters", read("SELECT 'a' LIKE ?", "a".repeat(51)), { rows: [], answers: ["threw"] }),
  probe("5 parts of a UNION", read(Array(5).fill("SELECT 1").join(" UNION ALL ")), {
    rows: [],
    answers: [[[1], [1], [1], [1], [1]]],
  }),
  probe("6 parts of a UNION", read(Array(6).fill("SELECT 1").join(" UNION ALL ")), { rows: [], answers: ["threw"] }),
  probe("500 rows of VALUES", read(`SELECT count(*) FROM (VALUES ${Array(500).fill("(1)")})`), {
    rows: [],
    answers: [[[500]]],
  }),
  probe(
    "a table of 100 columns",
    ({ sql }) =>
      attempt(() => {
        sql(`CREATE TABLE probe_w (${Array.from({ length: 100 }, (_, i) => `c${i}`)})`);
        return "made";
      }),
    { rows: [], answers: ["made"] },
  ),
  probe(
    "a table of 101 columns",
    ({ sql }) =>
      attempt(() => {
        sql(`CREATE TABLE probe_w (${Array.from({ length: 101 }, (_, i) => `c${i}`)})`);
        return "made";
      }),
    { rows: [], answers: ["threw"] },
  ),
  probe("a statement of 100,000 bytes", read(`SELECT 1 --${"x".repeat(100_000 - 11)}`), { rows: [], answers: [[[1]]] }),
  probe("a statement of 100,001 bytes", read(`SELECT 1 --${"x".repeat(100_001 - 11)}`), {
    rows: [],
    answers: ["threw"],
  }),
  probe("a text in double quotes", read('SELECT "nothing"'), { rows: [], answers: [[["nothing"]]] }),
  probe(
    "foreign keys are enforced",
    ({ sql }) => {
      sql("CREATE TABLE probe_parent (id INTEGER PRIMARY KEY)");
      sql("CREATE TABLE probe_child (id REFERENCES probe_parent (id))");
      return attempt(() => sql("INSERT INTO probe_child VALUES (1)"));
    },
    { rows: [], answers: ["threw"] },
  ),
  probe(
    "changes() and last_insert_rowid()",
    ({ sql, write }) => {
      write("a");
      write("b");
      return sql("SELECT last_insert_rowid() AS id, changes() AS n");
    },
    { rows: ["a", "b"], answers: [[{ id: 2, n: 1 }]] },
  ),
  probe("json functions", read("SELECT json_extract('{\"a\":[1,2]}', '$.a[1]')"), { rows: [], answers: [[[2]]] }),
];
