/** When what is written, and what is sent, is kept; and what becomes of it in transactions and statements that fail. */

import { attempt, fail, type Probe, probe } from "./probe.ts";

export const TURNS: readonly Probe[] = [
  probe(
    "a thrown error keeps what was written before",
    ({ write }) => {
      write(1);
      fail();
    },
    { rows: [1], answers: ["threw"] },
  ),
  probe(
    "the end loses what the turn has written",
    ({ write, abort }) => {
      write(1);
      abort();
    },
    { rows: [], answers: ["ended"] },
  ),
  probe(
    "a promise that is settled already is no end of the turn",
    async ({ write, abort }) => {
      write(1);
      await Promise.resolve();
      await null;
      abort();
    },
    { rows: [] },
  ),
  probe(
    "sync() ends the turn",
    async ({ storage, write, abort }) => {
      write(1);
      await storage.sync();
      write(2);
      abort();
    },
    { rows: [1] },
  ),
  probe(
    "a timer ends the turn",
    async ({ write, timer, abort }) => {
      write(1);
      await timer();
      write(2);
      abort();
    },
    { rows: [1] },
  ),
  probe(
    "the answer to a call ends the turn",
    async ({ write, call, abort }) => {
      write(1);
      await call();
      write(2);
      abort();
    },
    { rows: [1], calls: 1 },
  ),
  probe(
    "a call of a turn that was lost is never sent",
    ({ write, call, abort }) => {
      write(1);
      void call();
      abort();
    },
    { rows: [], calls: 0 },
  ),
  probe(
    "what is written after a call is kept together with what was written before it",
    async ({ write, call, abort }) => {
      write(1);
      const answer = call();
      write(2);
      await answer;
      write(3);
      abort();
    },
    { rows: [1, 2], calls: 1 },
  ),
  probe(
    "a call of a turn that wrote nothing, and was lost",
    ({ call, abort }) => {
      void call();
      abort();
    },
    { rows: [], calls: 0 },
  ),
  probe(
    "an answer is given when what was written is kept",
    ({ write }) => {
      write(1);
      return "done";
    },
    { rows: [1], answers: ["done"] },
  ),
  probe(
    "of two requests that take turns, the one that ends the instance loses its own turn alone",
    [
      async ({ write, timer }) => {
        write("a1");
        await timer();
        write("a2");
        await timer();
        await timer();
        write("a3");
        for (let i = 0; i < 50; i++) await timer();
      },
      async ({ storage, write, timer, sql, abort }) => {
        write("b1");
        for (let i = 0; i < 40 && sql("SELECT v FROM probe_x WHERE v = 'a3'").length === 0; i++) await timer();
        await storage.sync();
        write("b2");
        abort();
      },
    ],
    { rows: ["a1", "b1", "a2", "a3"], answers: ["ended", "ended"] },
  ),
  probe(
    "a request sees what another has written and not kept yet",
    [
      ({ write, timer }) => {
        write(1);
        return timer();
      },
      ({ sql }) => sql("SELECT v FROM probe_x"),
    ],
    { rows: [1], answers: [undefined, [{ v: 1 }]] },
  ),
];

export const TRANSACTIONS: readonly Probe[] = [
  probe(
    "an error thrown in a transaction takes back all of it, and nothing before it",
    ({ write, transact }) => {
      write(1);
      transact(() => {
        write(2);
        write(3);
        fail();
      });
    },
    { rows: [1], answers: ["threw"] },
  ),
  probe(
    "a transaction's value is the callback's",
    ({ write, transact }) =>
      transact(() => {
        write(1);
        return "value";
      }),
    { rows: [1], answers: ["value"] },
  ),
  probe(
    "the end in a transaction loses the turn",
    ({ write, transact, abort }) => {
      write(1);
      transact(() => {
        write(2);
        abort();
      });
    },
    { rows: [] },
  ),
  probe(
    "the end after a transaction in the same turn loses the transaction",
    ({ write, transact, abort }) => {
      transact(() => write(1));
      abort();
    },
    { rows: [] },
  ),
  probe(
    "an inner transaction that fails and is caught takes back itself alone",
    ({ write, transact }) => {
      transact(() => {
        write(1);
        attempt(() =>
          transact(() => {
            write(2);
            fail();
          }),
        );
        write(3);
      });
    },
    { rows: [1, 3] },
  ),
  probe(
    "an outer transaction that fails takes an inner one back with it",
    ({ write, transact }) => {
      transact(() => {
        write(1);
        transact(() => write(2));
        fail();
      });
    },
    { rows: [], answers: ["threw"] },
  ),
  probe(
    "transactions may follow a failed one in the same turn",
    ({ write, transact }) => {
      attempt(() =>
        transact(() => {
          write(1);
          fail();
        }),
      );
      transact(() => write(2));
    },
    { rows: [2] },
  ),
  probe(
    "a failed statement in a transaction, when caught, takes back itself alone",
    ({ sql, write, transact }) => {
      transact(() => {
        write(1);
        attempt(() => sql("INSERT INTO probe_x VALUES (7, 'x'), (7, 'y')"));
        write(2);
      });
    },
    { rows: [1, 2] },
  ),
  probe(
    "a schema change is taken back as well",
    ({ sql, transact }) => {
      attempt(() =>
        transact(() => {
          sql("CREATE TABLE probe_y (v)");
          fail();
        }),
      );
      return attempt(() => sql("SELECT count(*) FROM probe_y"));
    },
    { rows: [], answers: ["threw"] },
  ),
  probe(
    "an async callback",
    ({ write, transact }) => {
      const result = attempt(() =>
        transact(async () => {
          write(1);
        }),
      );
      return result === "threw" ? "threw" : result instanceof Promise ? "promise" : "value";
    },
    { rows: [1], answers: ["promise"] },
  ),
  probe(
    "statements of one's own for transactions",
    ({ sql }) => ["BEGIN", "SAVEPOINT a", "COMMIT", "ROLLBACK"].map((text) => attempt(() => sql(text))),
    { rows: [], answers: [["threw", "threw", "threw", "threw"]] },
  ),
];

export const FAILURES: readonly Probe[] = [
  probe(
    "a failing statement takes back itself alone",
    ({ sql, write }) => {
      write(1);
      attempt(() => sql("INSERT INTO probe_x VALUES (8, 'a'), (8, 'b')"));
      write(2);
    },
    { rows: [1, 2] },
  ),
  probe(
    "a failing statement that nobody catches leaves what was written",
    ({ sql, write }) => {
      write(1);
      sql("INSERT INTO probe_x VALUES (1, 'again')");
    },
    { rows: [1], answers: ["threw"] },
  ),
  probe(
    "a statement that is no SQL in the middle of a turn",
    ({ sql, write }) => {
      write(1);
      attempt(() => sql("NOT SQL"));
      write(2);
    },
    { rows: [1, 2] },
  ),
];
