/**
 * Random walks over the line: forks, crashes, D1 and tenants that fail before or after they applied, nodes that
 * lag or leave things out. When the chain rests, the books must be the chain (I5), told without a contradiction.
 */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Page } from "../../src/core/views.ts";
import { Tenant } from "../../src/index.ts";
import { newAddress, pay, payTokens, type Tx } from "../support/model-chain.ts";
import {
  chain,
  checkBooks,
  checkClaims,
  DB,
  evictScanner,
  Merchant,
  node,
  poll,
  quiet,
  startLine,
  status,
  time,
} from "./line.ts";

const STEPS = 40;
const TOK = newAddress();

/** mulberry32: a small seeded generator. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * sides);
  };
}

const database = Object.getPrototypeOf(DB) as D1Database;
const { observe, backfillSlice } = Tenant.prototype;
const honest = { batch: database.batch, observe, backfillSlice };

/** Breaks the next calls of a method: before it ran, or after. */
function breakNext(method: keyof typeof honest, times: number, applies: boolean): void {
  const target = (method === "batch" ? database : Tenant.prototype) as unknown as typeof honest;
  const call = honest[method] as (...args: unknown[]) => Promise<unknown>;
  let left = times;
  vi.spyOn(target, method).mockImplementation(async function (this: unknown, ...args: unknown[]) {
    if (left-- <= 0) return call.apply(this, args);
    if (applies) await call.apply(this, args);
    throw new Error("Network connection lost.");
  } as never);
}

interface World {
  readonly merchants: readonly { readonly merchant: Merchant; readonly addresses: readonly string[] }[];
  readonly txs: readonly Tx[];
}

async function newWorld(): Promise<World> {
  node.tokens.set(TOK, { symbol: "TOK", decimals: 6 });
  const merchants = [];
  for (let i = 0; i < 2; i++) {
    const merchant = await Merchant.signUp();
    const addresses = [newAddress(), newAddress()];
    await merchant.call("POST", "/v1/assets", { body: { network: "local", contract: TOK } });
    for (const [n, address] of addresses.entries()) await merchant.watch(address, { account: `account-${n}` });
    merchants.push({ merchant, addresses });
  }
  const all = merchants.flatMap(({ addresses }) => addresses);
  const txs = all.flatMap((address, i) => [
    pay(address, 10n ** 18n + BigInt(i)),
    payTokens(TOK, [address, 1n], [address, 1n], [all[(i + 1) % all.length] ?? "", 5n]),
    payTokens(TOK, [address, 1_000n]),
  ]);
  return { merchants, txs };
}

/** Transactions on the chain now, above the start. */
function mined(): Set<string> {
  const hashes = new Set<string>();
  for (let height = 0; height <= chain.head; height++)
    for (const tx of chain.at(height)?.txs ?? []) hashes.add(tx.hash);
  return hashes;
}

function someBlocks(roll: (sides: number) => number, txs: readonly Tx[], count: number): Tx[][] {
  const used = mined();
  return Array.from({ length: count }, () => {
    const free = txs.filter((tx) => !used.has(tx.hash));
    const taken = free.filter(() => roll(4) === 0).sort(() => roll(2) - 0.5);
    for (const tx of taken) used.add(tx.hash);
    return taken;
  });
}

/** What every account is owed by the chain as it stands. */
function owed(addresses: readonly string[]): Record<string, bigint> {
  const sums: Record<string, bigint> = {};
  const add = (to: string, asset: string, units: bigint) => {
    const place = addresses.indexOf(to);
    if (place < 0) return;
    const name = `account-${place}/${asset}`;
    sums[name] = (sums[name] ?? 0n) + units;
  };
  for (let height = 0; height <= chain.head; height++) {
    for (const tx of chain.at(height)?.txs ?? []) {
      add(tx.to, "native", tx.value);
      for (const log of tx.logs) add(`0x${log.topics[2]?.slice(26)}`, log.address, BigInt(log.data));
    }
  }
  return sums;
}

/** Deletes an address and takes it again at once, however often D1 has to be asked. */
async function takeAgain(of: World["merchants"][number] | undefined): Promise<void> {
  const address = of?.addresses[0];
  if (of === undefined || address === undefined) return;
  const { data } = await of.merchant.get<Page<{ id: string; address: string }>>("/v1/addresses");
  const id = data.find((row) => row.address === address)?.id;
  await of.merchant.call("DELETE", `/v1/addresses/${id}`);
  const body = { network: "local", address, account: "account-0" };
  for (let tries = 0; tries < 5; tries++) {
    if ((await of.merchant.call("POST", "/v1/addresses", { body })).ok) return;
  }
  throw new Error("the address could not be taken again");
}

async function step(roll: (sides: number) => number, world: World): Promise<void> {
  const { txs, merchants } = world;
  switch (roll(14)) {
    case 0:
    case 1:
    case 2:
    case 3:
      chain.mine(...someBlocks(roll, txs, 1 + roll(3)));
      break;
    case 4:
    case 5: {
      const depth = 1 + roll(7);
      chain.reorg(depth, []);
      chain.mine(...someBlocks(roll, txs, depth + roll(3) - 1));
      break;
    }
    case 6:
      breakNext("batch", 1 + roll(3), roll(2) === 0);
      break;
    case 7:
      breakNext("observe", 1 + roll(3), roll(2) === 0);
      break;
    case 8:
      node.lag = roll(3);
      break;
    case 9:
      node.next("eth_getBlockReceipts", 1 + roll(2), () => (roll(2) === 0 ? null : []));
      break;
    case 10:
      await evictScanner();
      break;
    case 11:
      await merchants[roll(2)]?.merchant.evict();
      break;
    case 12: {
      const to = (await status()).scannedTo ?? 0;
      const body = { network: "local", from_height: to - roll(40), to_height: to };
      await merchants[roll(2)]?.merchant.call("POST", "/v1/backfills", { body });
      breakNext("backfillSlice", roll(2), roll(2) === 0);
      break;
    }
    case 13:
      await takeAgain(merchants[roll(2)]);
      break;
  }
  await poll(1 + roll(2));
}

beforeEach(() => startLine());
afterEach(() => {
  vi.restoreAllMocks();
});

describe("I1 I2 I3 I5 any walk ends in the books of its chain", () => {
  it.each([1, 2, 3, 4])("seed %i", async (seed) => {
    quiet("warn", "error");
    const roll = dice(seed);
    const world = await newWorld();
    // No fork reaches below the first watched height: what is mined there is nobody's.
    chain.grow(8);
    await poll();
    for (let i = 0; i < STEPS; i++) await step(roll, world);

    node.lag = 0;
    node.on("eth_getBlockReceipts", null);
    breakNext("observe", 0, true);
    breakNext("batch", 0, true);
    breakNext("backfillSlice", 0, true);
    time.now += 200_000;
    chain.grow(30);
    await poll(3);
    chain.grow(1);
    await poll(2);

    expect(await status()).toMatchObject({ status: "ok", scannedTo: chain.head });
    for (const { merchant, addresses } of world.merchants) {
      const balances = await merchant.inside((_, sql) => sql.exec("SELECT * FROM balances").toArray());
      const held = balances
        .filter((row) => row.available !== "0")
        .map((row) => [`${row.account}/${row.asset}`, BigInt(String(row.available))]);
      expect(Object.fromEntries(held)).toEqual(owed(addresses));
      const statuses = (await merchant.deposits()).map((deposit) => deposit.status);
      expect(statuses.filter((s) => s === "pending" || s === "confirmed")).toEqual([]);
      await checkBooks(merchant);
      await checkClaims(merchant);
    }
  });
});
