/**
 * An object's own storage, as its parts use it. Commits, alarms and waits for the disk are steps; reads of the own
 * disk are none, for nothing is decided by whether they were made. Single statements outside a transaction become
 * durable with the turn they are made in, and so with whatever step ends it.
 */

import { commitStep, step } from "../steps.ts";

export interface SteppedStorage {
  transactionSync<T>(work: () => T): T;
  /** A part of a commit that is undone by itself when it throws. Only inside `transactionSync`. */
  savepoint<T>(work: () => T): T;
  getAlarm(): Promise<number | null>;
  /** Part of the turn it is called in, as a write is. @param at unix milliseconds */
  setAlarm(at: number): Promise<void>;
  /** The alarm and everything else. */
  clear(): Promise<void>;
  sync(): Promise<void>;
  /** Only `steppedStorage` makes one: the platform's own storage does not pass for it. */
  readonly isStepped: true;
}

/** @param committed called in the turn of each commit, after it; must not throw */
export function steppedStorage(
  kind: string,
  storage: DurableObjectStorage,
  committed: () => void = () => {},
): SteppedStorage {
  return {
    transactionSync: (work) => {
      const result = commitStep(`${kind} commit`, () => storage.transactionSync(work));
      committed();
      return result;
    },
    savepoint: (work) => storage.transactionSync(work),
    getAlarm: () => storage.getAlarm(),
    setAlarm: (at) => step(`${kind} alarm`, () => storage.setAlarm(at)),
    clear: () =>
      step(`${kind} clear`, async () => {
        await storage.deleteAlarm();
        await storage.deleteAll();
      }),
    sync: () => step(`${kind} sync`, () => storage.sync()),
    isStepped: true,
  };
}
