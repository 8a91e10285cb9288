/** The inbox: every event applied once and in order, over each kind of storage, whatever happens at once or in between. */

import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decide } from "../../src/sdk/inbox.ts";
import {
  d1Storage,
  type EventFeed,
  INBOX_SCHEMA,
  Inbox,
  type InboxStorage,
  memoryStorage,
  type SluiceEvent,
  sqliteStorage,
} from "../../src/sdk/index.ts";
import { json, scripted } from "../support/sdk.ts";
import { amountOf, BOOKS, depositEvent, eventOf, inOrder, withdrawalEvent } from "../support/sdk-inbox.ts";

interface Merchant {
  readonly inbox: Inbox<never>;
  /** Ids of what was applied, in order. */
  readonly applied: () => string[];
  readonly balance: () => number;
  /** The next application writes, then throws. */
  fail: boolean;
}

type Make = (feed?: EventFeed) => Merchant;

function merchant<Applied>(
  storage: InboxStorage<Applied>,
  write: (event: SluiceEvent, failing: boolean) => Applied,
  rows: () => { event: string; amount: number }[],
  feed?: EventFeed,
  after?: number,
): Merchant {
  const made: Merchant = {
    inbox: new Inbox<Applied>({
      storage,
      feed,
      after,
      apply: (event) => {
        const { fail } = made;
        made.fail = false;
        return write(event, fail);
      },
    }) as unknown as Inbox<never>,
    applied: () => rows().map(({ event }) => event),
    balance: () => rows().reduce((sum, { amount }) => sum + amount, 0),
    fail: false,
  };
  return made;
}

function overSqlite(feed?: EventFeed, after?: number): Merchant {
  const db = new DatabaseSync(":memory:");
  db.exec(BOOKS);
  const write = (event: SluiceEvent, failing: boolean): void => {
    db.prepare("INSERT INTO books (event, amount) VALUES (?, ?)").run(event.id, amountOf(event));
    if (failing) throw new Error("the merchant's own fault");
  };
  return merchant(sqliteStorage(db), write, () => rowsOf(db), feed, after);
}

function overMemory(feed?: EventFeed): Merchant {
  const rows: { event: string; amount: number }[] = [];
  const write = async (event: SluiceEvent, failing: boolean): Promise<void> => {
    await Promise.resolve();
    if (failing) throw new Error("the merchant's own fault");
    rows.push({ event: event.id, amount: amountOf(event) });
  };
  return merchant(memoryStorage(), write, () => rows, feed);
}

function overD1(feed?: EventFeed, answersLost = { count: 0 }): Merchant {
  const db = new DatabaseSync(":memory:");
  db.exec(BOOKS);
  db.exec(INBOX_SCHEMA);
  const d1 = d1Over(db, answersLost);
  const write = async (event: SluiceEvent, failing: boolean) => {
    await Promise.resolve();
    const credit = d1.prepare("INSERT INTO books (event, amount) VALUES (?, ?)").bind(event.id, amountOf(event));
    return failing ? [credit, d1.prepare("INSERT INTO no_such_table VALUES (1)")] : [credit];
  };
  return merchant(d1Storage(d1), write, () => rowsOf(db), feed);
}

interface Statement {
  bind(...values: (string | number | null)[]): Statement;
  first(): Promise<unknown>;
  run(): void;
}

/** D1 as far as the inbox sees it: everything takes its time, and a batch is a transaction. */
function d1Over(db: DatabaseSync, answersLost: { count: number }) {
  const statement = (sql: string, values: (string | number | null)[]): Statement => ({
    bind: (...given) => statement(sql, given),
    first: async () => {
      await Promise.resolve();
      return db.prepare(sql).get(...values) ?? null;
    },
    run: () => {
      db.prepare(sql).run(...values);
    },
  });
  return {
    prepare: (sql: string) => statement(sql, []),
    batch: async (statements: Statement[]) => {
      await Promise.resolve();
      db.exec("BEGIN");
      try {
        for (const one of statements) one.run();
        db.exec("COMMIT");
      } catch (error) {
        db.exec("ROLLBACK");
        throw error;
      }
      if (answersLost.count-- > 0) throw new Error("D1_ERROR: Network connection lost.");
    },
  };
}

function rowsOf(db: DatabaseSync) {
  return db.prepare("SELECT event, amount FROM books ORDER BY line").all() as { event: string; amount: number }[];
}

const confirmed = depositEvent("deposit.confirmed", 2);
const reverted = depositEvent("deposit.reverted", 3);
const again = depositEvent("deposit.confirmed", 5, 2);
const settled = depositEvent("deposit.settled", 6, 2);

describe.each<[string, Make]>([
  ["SQLite", overSqlite],
  ["D1", overD1],
  ["memory", overMemory],
])("over %s", (_, make) => {
  test("an event is applied once, however often it comes", async () => {
    const { inbox, applied } = make();
    expect(await inbox.receive(confirmed)).toEqual({ outcome: "applied", status: 204 });
    for (let i = 0; i < 3; i++) expect(await inbox.receive(confirmed)).toEqual({ outcome: "duplicate", status: 204 });
    expect(applied()).toEqual([confirmed.id]);
  });

  test("an event that comes many times at once is applied once", async () => {
    const { inbox, applied, balance } = make();
    const outcomes = (await Promise.all(Array.from({ length: 8 }, () => inbox.receive(confirmed)))).map(
      (r) => r.outcome,
    );
    expect(outcomes.filter((outcome) => outcome === "applied")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "duplicate")).toHaveLength(7);
    expect(applied()).toEqual([confirmed.id]);
    expect(balance()).toBe(100);
  });

  test("events of many subjects at once are each applied once", async () => {
    const { inbox, balance } = make();
    const events = Array.from({ length: 12 }, (_, i) => depositEvent("deposit.confirmed", 1, 1, `dep_${i}`));
    await Promise.all([...events, ...events].map((event) => inbox.receive(event)));
    expect(balance()).toBe(1_200);
  });

  test("a fault undoes the credit with the mark, and the event is applied when it comes again", async () => {
    const merchant = make();
    merchant.fail = true;
    await expect(merchant.inbox.receive(confirmed)).rejects.toThrow();
    expect(merchant.applied()).toEqual([]);
    expect(await merchant.inbox.receive(confirmed)).toMatchObject({ outcome: "applied" });
    expect(merchant.balance()).toBe(100);
  });

  test("a reversal that overtakes its confirmation is held back, and then both are applied in order (B109)", async () => {
    const { inbox, applied, balance } = make();
    expect(await inbox.receive(reverted)).toEqual({ outcome: "gap", status: 503, retryAfterS: 10 });
    expect(applied()).toEqual([]);
    await inbox.receive(confirmed);
    await inbox.receive(reverted);
    expect(applied()).toEqual([confirmed.id, reverted.id]);
    expect(balance()).toBe(0);
    // The older one comes once more: no going back to confirmed.
    expect(await inbox.receive(confirmed)).toMatchObject({ outcome: "duplicate" });
    expect(balance()).toBe(0);
  });

  test("types that an endpoint does not hear of leave no gap, a confirmation that is missing does", async () => {
    const { inbox, applied } = make();
    await inbox.receive(confirmed);
    expect(await inbox.receive(settled)).toMatchObject({ outcome: "gap" });
    expect(await inbox.receive(again)).toMatchObject({ outcome: "gap" });
    await inbox.receive(reverted);
    await inbox.receive(again);
    await inbox.receive(settled);
    expect(applied()).toEqual([confirmed, reverted, again, settled].map(({ id }) => id));
  });

  test("a withdrawal's events are applied without a gap", async () => {
    const { inbox, applied } = make();
    expect(await inbox.receive(withdrawalEvent(2))).toMatchObject({ outcome: "gap" });
    for (const n of [1, 2, 3]) await inbox.receive(withdrawalEvent(n));
    expect(applied()).toEqual(["evt_wd_1_1", "evt_wd_1_2", "evt_wd_1_3"]);
  });

  test("a test event does not take the place of what else its endpoint tells", async () => {
    const { inbox, applied } = make();
    const disabled = eventOf("endpoint.disabled", "endpoint:we_1", 2, {} as never);
    const ping = eventOf("webhook.test", "endpoint:we_1", 3, {} as never);
    // To different endpoints, so in any order.
    for (const event of [ping, disabled, ping, disabled]) await inbox.receive(event);
    expect(applied()).toEqual([ping.id, disabled.id]);
  });

  test("an event that comes by feed and by webhook is applied once", async () => {
    const log = inOrder(confirmed, reverted, again, settled);
    const { inbox, applied, balance } = make(feedOf(log));
    await Promise.all([inbox.catchUp(), ...log.map((event) => inbox.receive(event)), inbox.catchUp()]);
    for (const event of log) expect((await inbox.receive(event)).outcome).toBe("duplicate");
    expect(applied()).toEqual(log.map(({ id }) => id));
    expect(balance()).toBe(100);
  });

  test("with a feed, a gap is closed by reading it", async () => {
    const log = inOrder(confirmed, withdrawalEvent(1), reverted, again);
    const { inbox, applied } = make(feedOf(log));
    expect(await inbox.receive(log[3] ?? again)).toEqual({ outcome: "applied", status: 204 });
    expect(applied()).toEqual(log.map(({ id }) => id));
  });
});

describe("the feed", () => {
  test("is read on from where it ended", async () => {
    const log = inOrder(confirmed, reverted, again);
    const asked: number[] = [];
    const { inbox, applied } = overSqlite(feedOf(log, (after) => asked.push(after)));
    await inbox.catchUp();
    await inbox.catchUp();
    expect(asked).toEqual([0, 3]);
    expect(applied()).toHaveLength(3);
  });

  test("begun later gives what comes after, and waits for nothing before", async () => {
    const log = inOrder(withdrawalEvent(1), withdrawalEvent(2), confirmed, withdrawalEvent(3));
    const { inbox, applied } = overSqlite(feedOf(log), 2);
    await inbox.catchUp();
    expect(applied()).toEqual([confirmed.id, "evt_wd_1_3"]);
    await inbox.catchUp();
    expect(applied()).toHaveLength(2);
  });

  test("begun later keeps out what lies before also when it comes by webhook, first or last", async () => {
    const old = depositEvent("deposit.confirmed", 2, 1, "dep_old");
    const log = inOrder(old, withdrawalEvent(1), withdrawalEvent(2), confirmed, reverted);
    const [before, , late, credit, reversal] = log as [SluiceEvent, SluiceEvent, SluiceEvent, SluiceEvent, SluiceEvent];
    const { inbox, applied } = overSqlite(feedOf(log), 3);
    // The books have these already. Nothing is waited for either: the sender would keep them for days.
    expect(await inbox.receive(before)).toMatchObject({ outcome: "duplicate" });
    expect(await inbox.receive(late)).toMatchObject({ outcome: "duplicate" });
    // A gap is closed from there on, not from the very beginning.
    expect(await inbox.receive(reversal)).toMatchObject({ outcome: "applied" });
    expect(applied()).toEqual([credit.id, reversal.id]);
    expect(await inbox.receive(before)).toMatchObject({ outcome: "duplicate" });
    expect(applied()).toHaveLength(2);
  });

  test("of several tenants in one store is each its own", async () => {
    const db = new DatabaseSync(":memory:");
    db.exec(BOOKS);
    const of = (tenant: string, log: readonly SluiceEvent[]) =>
      new Inbox({
        storage: sqliteStorage(db),
        tenant,
        feed: feedOf(log),
        apply: ({ id }): void => {
          db.prepare("INSERT INTO books (event, amount) VALUES (?, 0)").run(`${tenant} ${id}`);
        },
      });
    const halted = (n: number) => eventOf("network.halted", "network:local", n, {} as never);
    await of("ten_1", inOrder(confirmed, reverted, halted(2))).catchUp();
    const second = inOrder(depositEvent("deposit.confirmed", 1, 1, "dep_2"), halted(1));
    await of("ten_2", second).catchUp();
    for (const event of second) expect((await of("ten_2", second).receive(event)).outcome).toBe("duplicate");
    expect(rowsOf(db).map(({ event }) => event)).toEqual([
      ...[confirmed, reverted, halted(2)].map(({ id }) => `ten_1 ${id}`),
      ...second.map(({ id }) => `ten_2 ${id}`),
    ]);
  });

  test("is read on after a fault, and nothing is left out or repeated", async () => {
    const log = inOrder(confirmed, reverted, again, settled);
    const merchant = overD1(feedOf(log));
    merchant.fail = true;
    await expect(merchant.inbox.catchUp()).rejects.toThrow();
    await merchant.inbox.catchUp();
    expect(merchant.applied()).toEqual(log.map(({ id }) => id));
  });

  test("of a long past is read in parts while a webhook waits", async () => {
    const past = Array.from({ length: 2_500 }, (_, i) => depositEvent("deposit.pending", 1, 1, `dep_${i}`));
    const log = inOrder(...past, confirmed, reverted);
    const { inbox, applied } = overMemory(feedOf(log));
    const last = log.at(-1) ?? reverted;
    const outcomes = [];
    for (let i = 0; i < 3; i++) outcomes.push((await inbox.receive(last)).outcome);
    expect(outcomes).toEqual(["gap", "gap", "applied"]);
    expect(applied()).toHaveLength(log.length);
  });

  test("is followed until the signal", async () => {
    const log = inOrder(confirmed, reverted);
    const abort = new AbortController();
    const { inbox, applied } = overSqlite(feedOf(log, () => {}, abort));
    await inbox.follow({ signal: abort.signal });
    expect(applied()).toEqual([confirmed.id, reverted.id]);
  });

  test("has to be there to be read", async () => {
    await expect(overMemory().inbox.catchUp()).rejects.toThrow("sluice.events");
  });
});

/** `sluice.events` over a log, through the SDK's own client. */
function feedOf(
  log: readonly SluiceEvent[],
  asked: (after: number) => void = () => {},
  endsWith?: AbortController,
): EventFeed {
  return scripted(({ query }) => {
    const [after, limit] = [Number(query.get("after")), Number(query.get("limit"))];
    const rest = log.filter(({ sequence }) => sequence > after);
    const data = rest.slice(0, limit);
    if (data.length === 0) endsWith?.abort();
    if (after === 0 || data.length === 0) asked(after);
    return json({ data, next_cursor: rest.length > limit ? String(data.at(-1)?.sequence) : null });
  }).sluice.events;
}

describe("SQLite", () => {
  test("lets no application outlive its transaction", async () => {
    const db = new DatabaseSync(":memory:");
    db.exec(BOOKS);
    const late = async () => {
      db.prepare("INSERT INTO books (event, amount) VALUES ('early', 1)").run();
      await Promise.resolve();
    };
    const inbox = new Inbox({ storage: sqliteStorage(db), apply: late });
    await expect(inbox.receive(confirmed)).rejects.toThrow("done when it returns");
    expect(rowsOf(db)).toEqual([]);
    expect(db.isTransaction).toBe(false);
  });

  test("keeps two connections to one file from applying it twice", async () => {
    const { mkdtempSync, rmSync } = process.getBuiltinModule("node:fs");
    const folder = mkdtempSync("/tmp/sluice-inbox-");
    try {
      const connections = [1, 2].map(() => new DatabaseSync(`${folder}/books.sqlite`));
      connections[0]?.exec(BOOKS);
      const inboxes = connections.map(
        (db) =>
          new Inbox({
            storage: sqliteStorage(db),
            apply: (event): void => {
              db.prepare("INSERT INTO books (event, amount) VALUES (?, ?)").run(event.id, amountOf(event));
            },
          }),
      );
      const outcomes = await Promise.all(inboxes.map((inbox) => inbox.receive(confirmed)));
      expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(["applied", "duplicate"]);
      for (const db of connections) db.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("D1", () => {
  test("whose answer was lost after it committed applied it once", async () => {
    const { inbox, applied } = overD1(undefined, { count: 1 });
    expect(await inbox.receive(confirmed)).toMatchObject({ outcome: "duplicate" });
    expect(applied()).toEqual([confirmed.id]);
  });
});

describe("decide", () => {
  const mark = (subjectSequence: number, credits: number) => ({ subjectSequence, credits });
  const debt = (n: number) => eventOf("account.debt_opened", "account:a", n, {} as never);

  test.each<[string, Parameters<typeof decide>[0], SluiceEvent, ReturnType<typeof decide>]>([
    ["the first of all", null, depositEvent("deposit.pending", 1), "next"],
    ["a confirmation whose pending was not heard of", null, depositEvent("deposit.confirmed", 2), "next"],
    [
      "a confirmation after dropped and pending that were not heard of",
      null,
      depositEvent("deposit.confirmed", 4),
      "next",
    ],
    ["a second confirmation without the first", null, depositEvent("deposit.confirmed", 5, 2), "gap"],
    ["a reversal of nothing", null, depositEvent("deposit.reverted", 3), "gap"],
    ["settled without confirmed", null, depositEvent("deposit.settled", 3), "gap"],
    ["a pending after a reversal that is missing", mark(2, 1), depositEvent("deposit.pending", 4, 2), "gap"],
    ["settled after confirmed", mark(2, 1), depositEvent("deposit.settled", 3), "next"],
    ["confirmed after an unheard pending", mark(3, 2), depositEvent("deposit.confirmed", 5, 2), "next"],
    ["an older one", mark(3, 2), depositEvent("deposit.confirmed", 2), "duplicate"],
    ["the same one", mark(2, 1), depositEvent("deposit.confirmed", 2), "duplicate"],
    ["a withdrawal's jump", mark(1, 0), withdrawalEvent(3), "gap"],
    ["a debt, of which the newest counts", mark(1, 0), debt(3), "next"],
    ["an older debt", mark(3, 0), debt(2), "duplicate"],
    ["a type of the future", null, { ...debt(4), type: "account.renamed" } as unknown as SluiceEvent, "next"],
  ])("%s", (_, before, event, expected) => expect(decide(before, event)).toBe(expected));
});

describe("in any order, with any repetition, with any part of the types", () => {
  /** What the service writes of one deposit: its life as a sequence of events. */
  const lives = fc.array(fc.constantFrom("dropped", "reverted"), { maxLength: 4 }).map((ends) => {
    const log: SluiceEvent[] = [];
    let epoch = 1;
    const add = (type: Parameters<typeof depositEvent>[0]) => log.push(depositEvent(type, log.length + 1, epoch));
    for (const end of ends) {
      add("deposit.pending");
      if (end === "dropped") add("deposit.dropped");
      else {
        add("deposit.confirmed");
        add("deposit.reverted");
        epoch++;
      }
    }
    add("deposit.pending");
    add("deposit.confirmed");
    add("deposit.settled");
    return log;
  });

  test("credits end as the log's, and never pass through what it never was", async () => {
    await fc.assert(
      fc.asyncProperty(lives, fc.boolean(), fc.infiniteStream(fc.nat()), async (log, hearsAll, chance) => {
        const heard = hearsAll ? log : log.filter(({ type }) => !/pending|dropped/.test(type));
        const { inbox, applied, balance } = overSqlite();
        // The sender repeats what was not acknowledged, in whatever order it gets through.
        const open = [...heard];
        for (let tries = 0; open.length > 0 && tries < 2_000; tries++) {
          const at = (chance.next().value ?? 0) % open.length;
          const event = open[at];
          if (event === undefined) break;
          const { status } = await inbox.receive(event);
          expect([0, 100]).toContain(balance());
          // Now and then the answer is lost, and it comes again.
          if (status === 204 && (chance.next().value ?? 0) % 4 !== 0) open.splice(at, 1);
        }
        expect(open).toEqual([]);
        expect(balance()).toBe(100);
        const credits = heard.filter(({ type }) => /confirmed|reverted/.test(type)).map(({ id }) => id);
        expect(applied().filter((id) => credits.includes(id))).toEqual(credits);
      }),
      { numRuns: 150 },
    );
  });
});
