/** Alarms as part of the storage, alarms that ring, and the end of all of it. */

import { attempt, FAR, fail, type Probe, probe } from "./probe.ts";

export const ALARMS: readonly Probe[] = [
  probe("a time of 0 is none", ({ storage }) => storage.setAlarm(0), { rows: [], alarm: "none", answers: ["threw"] }),
  probe(
    "an alarm is set",
    async ({ storage }) => {
      await storage.setAlarm(FAR);
      return storage.getAlarm();
    },
    { rows: [], alarm: "set", answers: [FAR] },
  ),
  probe(
    "it is kept and lost with the turn",
    ({ storage, write, abort }) => {
      write(1);
      void storage.setAlarm(FAR);
      abort();
    },
    { rows: [], alarm: "none" },
  ),
  probe(
    "to wait for setAlarm() is an end of the turn or is none",
    async ({ storage, write, abort }) => {
      write(1);
      await storage.setAlarm(FAR);
      abort();
    },
    { rows: [], alarm: "none" },
  ),
  probe(
    "to wait for getAlarm() is an end of the turn or is none",
    async ({ storage, write, abort }) => {
      write(1);
      await storage.getAlarm();
      abort();
    },
    { rows: [], alarm: "none" },
  ),
  probe(
    "it is kept after a timer",
    async ({ storage, write, timer, abort }) => {
      write(1);
      void storage.setAlarm(FAR);
      await timer();
      abort();
    },
    { rows: [1], alarm: "set" },
  ),
  probe(
    "a deletion is lost with the turn",
    async ({ storage, timer, abort }) => {
      await storage.setAlarm(FAR);
      await timer();
      void storage.deleteAlarm();
      abort();
    },
    { rows: [], alarm: "set" },
  ),
  probe(
    "a deletion is kept",
    async ({ storage, timer, abort }) => {
      await storage.setAlarm(FAR);
      await timer();
      await storage.deleteAlarm();
      await timer();
      abort();
    },
    { rows: [], alarm: "none" },
  ),
  probe(
    "set in a transaction that fails, it is not set",
    async ({ storage, write, transact }) => {
      attempt(() =>
        transact(() => {
          write(1);
          void storage.setAlarm(FAR);
          fail();
        }),
      );
      return storage.getAlarm();
    },
    { rows: [], alarm: "none", answers: [null] },
  ),
  probe(
    "moved in a transaction that fails, it is what it was",
    async ({ storage, transact }) => {
      void storage.setAlarm(FAR);
      attempt(() =>
        transact(() => {
          void storage.setAlarm(FAR + 1);
          attempt(() =>
            transact(() => {
              void storage.deleteAlarm();
              fail();
            }),
          );
          fail();
        }),
      );
      return storage.getAlarm();
    },
    { rows: [], alarm: "set", answers: [FAR] },
  ),
  probe(
    "a thrown error keeps it",
    ({ storage }) => {
      void storage.setAlarm(FAR);
      fail();
    },
    { rows: [], alarm: "set" },
  ),
];

/** They come by themselves, soon after they are set. */
export const RINGING: readonly Probe[] = [
  {
    name: "an alarm that rings is not set any more, and neither is it while it rings",
    requests: [({ storage }) => storage.setAlarm(1)],
    alarms: [async ({ storage, write }) => write(await storage.getAlarm())],
    found: { rows: [null], alarm: "none" },
  },
  {
    name: "one that sets itself again stays set",
    requests: [({ storage }) => storage.setAlarm(1)],
    alarms: [({ storage }) => storage.setAlarm(FAR)],
    found: { rows: [], alarm: "set" },
  },
  {
    name: "one that throws rings again, and what it wrote is kept",
    requests: [({ storage }) => storage.setAlarm(1)],
    alarms: [
      ({ write }) => {
        write("first");
        fail();
      },
      async ({ storage, write }) => write((await storage.getAlarm()) === null ? "again" : "still set"),
    ],
    found: { rows: ["first", "again"], alarm: "none" },
  },
  {
    name: "one whose instance ends rings again, and what it wrote is lost",
    requests: [({ storage }) => storage.setAlarm(1)],
    alarms: [
      ({ write, abort }) => {
        write("first");
        abort();
      },
      ({ write }) => write("again"),
    ],
    found: { rows: ["again"], alarm: "none" },
  },
];

export const AGAIN: readonly Probe[] = [
  {
    name: "one that throws is still set until it rings again",
    requests: [({ storage }) => storage.setAlarm(1)],
    alarms: [fail, ({ write }) => write("again")],
    afterFirstRing: async ({ storage, write }) => write((await storage.getAlarm()) === null ? "none" : "still set"),
    found: { rows: ["still set", "again"], alarm: "none" },
  },
  {
    name: "one whose instance ended is still set until it rings again",
    requests: [({ storage }) => storage.setAlarm(1)],
    alarms: [({ abort }) => abort(), ({ write }) => write("again")],
    afterFirstRing: async ({ storage, write }) => write((await storage.getAlarm()) === null ? "none" : "still set"),
    found: { rows: ["still set", "again"], alarm: "none" },
  },
  {
    name: "one that sets itself to a later time and throws does not ring before",
    requests: [({ storage }) => storage.setAlarm(1)],
    alarms: [
      ({ storage }) => {
        void storage.setAlarm(FAR);
        fail();
      },
    ],
    lingerMs: 3_000,
    found: { rows: [], alarm: "set" },
  },
  {
    name: "one that sets itself to a later time, and whose instance ends after that was kept, does not ring before",
    requests: [({ storage }) => storage.setAlarm(1)],
    alarms: [
      async ({ storage, timer, abort }) => {
        await storage.setAlarm(FAR);
        await timer();
        abort();
      },
    ],
    lingerMs: 3_000,
    found: { rows: [], alarm: "set" },
  },
  {
    name: "one that waits is set anew by a request meanwhile, and stays set",
    requests: [
      ({ storage }) => storage.setAlarm(1),
      async ({ storage, timer }) => {
        for (let i = 0; i < 20; i++) await timer();
        await storage.setAlarm(FAR);
      },
    ],
    alarms: [
      async ({ timer }) => {
        for (let i = 0; i < 60; i++) await timer();
      },
    ],
    lingerMs: 300,
    found: { rows: [], alarm: "set" },
  },
];

export const DELETE_ALL: readonly Probe[] = [
  probe(
    "deleteAll() leaves no table and no alarm",
    async ({ storage, write }) => {
      write(1);
      await storage.setAlarm(FAR);
      await storage.sync();
      await storage.deleteAll();
    },
    { rows: null, alarm: "none" },
  ),
  probe(
    "what is made after it stays",
    async ({ storage, write, sql }) => {
      write(1);
      await storage.deleteAll();
      sql("CREATE TABLE probe_x (id INTEGER PRIMARY KEY, v)");
      write(2);
    },
    { rows: [2] },
  ),
  probe(
    "the end in the turn of it",
    async ({ storage, write, abort }) => {
      write(1);
      await storage.setAlarm(FAR);
      await storage.sync();
      void storage.deleteAll();
      abort();
    },
    { rows: null, alarm: "none" },
  ),
  probe(
    "the end in the turn of it, with a write before",
    async ({ storage, write, abort }) => {
      write(1);
      await storage.setAlarm(FAR);
      await storage.sync();
      write(2);
      void storage.deleteAll();
      abort();
    },
    { rows: null, alarm: "none" },
  ),
  probe(
    "the end after one has waited for it",
    async ({ storage, write, abort }) => {
      write(1);
      await storage.setAlarm(FAR);
      await storage.sync();
      await storage.deleteAll();
      abort();
    },
    { rows: null, alarm: "none" },
  ),
];
