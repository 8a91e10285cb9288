/**
 * The example with a database of its own, on a real chain with real reorganisations, killed with SIGKILL again and
 * again. Its books end as the chain's.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WatcherState } from "../../src/watcher/index.ts";
import { type Anvil, type Hex, startAnvil } from "../support/anvil.ts";
import { atExit } from "../support/at-exit.ts";
import { freshAddress } from "../support/merchant.ts";

const PROGRAM = fileURLToPath(new URL("../../examples/watcher-sqlite/watch.ts", import.meta.url));
const ROUNDS = 6;
const RIGHT_WITHIN_MS = 30_000;

let anvil: Anvil;
let folder: string;
let child: ChildProcess | null = null;
let forget = () => {};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-watcher-"));
  anvil = await startAnvil();
  await anvil.mine(5);
});

afterAll(async () => {
  await kill();
  await anvil?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const database = () => join(folder, "deposits.db");

function start(): void {
  const env = { ...process.env, DATABASE: database(), RPC_URL: anvil.url, POLL_MS: "5" };
  const running = spawn(process.execPath, ["--no-warnings", PROGRAM], { env, stdio: ["ignore", "ignore", "inherit"] });
  forget = atExit(() => running.kill("SIGKILL"));
  child = running;
}

async function kill(): Promise<void> {
  const running = child;
  child = null;
  forget();
  if (running === null || running.exitCode !== null) return;
  const gone = new Promise((resolve) => running.once("exit", resolve));
  running.kill("SIGKILL");
  await gone;
}

interface Entry {
  readonly key: string;
  readonly kind: "credit" | "reversal";
  readonly epoch: number;
  readonly amount_units: string;
}

function read<T>(sql: string): T[] {
  const db = new DatabaseSync(database(), { readOnly: true });
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}

/** Credited and not taken back, by transaction. */
function books(): Record<string, string> {
  const left = new Map<string, string>();
  const entries = read<Entry>("SELECT tx_id AS key, kind, epoch, amount_units FROM entries ORDER BY rowid");
  for (const { key, kind, amount_units } of entries) {
    // Turn by turn: neither a credit on a credit nor a reversal of nothing.
    expect([key, left.has(key)]).toEqual([key, kind === "reversal"]);
    if (kind === "credit") left.set(key, amount_units);
    else left.delete(key);
  }
  return Object.fromEntries([...left].sort());
}

async function until(isRight: () => boolean): Promise<void> {
  const deadline = Date.now() + RIGHT_WITHIN_MS;
  while (!isRight() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** As it was committed last; of revision 0 before there is one. */
function stored(): { revision: number; tip: string | undefined } {
  try {
    const [row] = read<{ revision: number; state: string }>("SELECT revision, state FROM watcher");
    const state = JSON.parse(row?.state ?? "null") as WatcherState | null;
    return { revision: row?.revision ?? 0, tip: state?.chain?.hashes.at(-1) };
  } catch {
    return { revision: 0, tip: undefined };
  }
}

const aMoment = (mostMs: number) => new Promise((resolve) => setTimeout(resolve, Math.random() * mostMs));

describe("credit and state in one transaction", () => {
  it("survive kill -9 at any moment, through reorganisations", async () => {
    const address = freshAddress();
    const db = new DatabaseSync(database());
    db.exec("PRAGMA journal_mode = WAL; CREATE TABLE addresses (address TEXT PRIMARY KEY, start_height INTEGER)");
    db.prepare("INSERT INTO addresses VALUES (?, 0)").run(address);
    db.close();

    const paid = new Map<Hex, bigint>();
    for (let round = 0; round < ROUNDS; round++) {
      const { revision } = stored();
      start();
      await anvil.mine();
      await until(() => stored().revision > revision);
      const hashes: Hex[] = [];
      for (let i = 0; i < 3; i++) {
        const wei = BigInt(round * 10 + i + 1);
        const { transactionHash } = await anvil.pay(address, wei);
        hashes.push(transactionHash);
        paid.set(transactionHash, wei);
      }
      if (round % 2 === 1) {
        await anvil.mine(3);
        await aMoment(150);
        // The last payment is gone; the ones before it come again, elsewhere.
        const [first, second, third] = hashes as [Hex, Hex, Hex];
        const again = [await anvil.rawTransaction(first), await anvil.rawTransaction(second)] as const;
        await anvil.reorg(6, [
          [again[0], 2],
          [again[1], 4],
        ]);
        paid.delete(third);
        await anvil.mine(1);
      }
      await aMoment(60);
      await kill();
    }
    start();
    await anvil.mine(4);
    const expected = Object.fromEntries([...paid].map(([hash, wei]) => [hash, wei.toString()] as const).sort());
    await until(() => JSON.stringify(books()) === JSON.stringify(expected));
    expect(books()).toEqual(expected);

    const { hash } = await anvil.rpc<{ hash: Hex }>("eth_getBlockByNumber", ["latest", false]);
    await until(() => stored().tip === hash);
    expect(stored().tip).toBe(hash);
  }, 120_000);
});
