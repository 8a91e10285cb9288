/** Payments that wait to be mined, in workerd: from a node's pool to the tenant's one pending deposit. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EvmNode } from "../../src/chains/evm/node.ts";
import type { Reading } from "../../src/chains/port.ts";
import { Tenant } from "../../src/index.ts";
import * as bounds from "../../src/objects/scanner/pool.ts";
import { ModelNode, newAddress, pay, type Tx } from "../support/model-chain.ts";
import {
  call,
  chain,
  checkBooks,
  checkClaims,
  DB,
  empty,
  evictScanner,
  inScanner,
  local,
  Merchant,
  mineAndPoll,
  node,
  OPERATOR_TOKEN,
  poll,
  quiet,
  serveFrom,
  startLine,
  status,
} from "./line.ts";
import { Pool, servePools } from "./pools.ts";

let merchant: Merchant;
let address: string;
let pool: Pool;
const ETH = 10n ** 18n;

beforeEach(async () => {
  await startLine();
  local.pool = true;
  pool = new Pool(node);
  servePools(pool);
  merchant = await Merchant.signUp();
  address = newAddress();
});
afterEach(async () => {
  vi.restoreAllMocks();
  local.pool = false;
  await checkBooks(merchant);
  await checkClaims(merchant);
});

const counters = async () => (await status()).counters;
const versionNow = () => inScanner((_, sql) => sql.exec("SELECT version FROM scanner").one().version);
const unmined = () => inScanner((_, sql) => sql.exec("SELECT * FROM transfers WHERE block_hash = ''").toArray());
const standing = async (of = merchant) => (await of.deposits()).map((d) => `${d.amount_units} ${d.status}`).sort();

/** A payment that waits, and was told of. */
async function waits(value = ETH): Promise<Tx> {
  await merchant.watch(address);
  const tx = pay(address, value);
  pool.txs = [tx];
  await poll();
  expect(await merchant.told()).toBe("pending");
  return tx;
}

/** The pool's payments are mined. */
async function mined(...txs: Tx[]): Promise<void> {
  pool.txs = pool.txs.filter((tx) => !txs.includes(tx));
  await mineAndPoll(txs);
}

describe("a payment that waits", () => {
  it("is pending, in no block, and one deposit from there to the end", async () => {
    const observe = vi.spyOn(Tenant.prototype, "observe");
    const tx = await waits();
    const first = await merchant.deposit();
    const none = { block_height: null, block_hash: null, confirmations: 0, confirmations_required: 3 };
    expect(first).toMatchObject({ status: "pending", epoch: 1, tx_id: tx.hash, confirmed_at: null, ...none });
    expect((await merchant.events())[0]?.data).toMatchObject(none);
    await mineAndPoll([], [], [], []);
    expect(observe).toHaveBeenCalledTimes(1);
    expect(await merchant.deposit()).toEqual(first);
    await mined(tx);
    const inBlock = { block_height: chain.head, block_hash: chain.at(chain.head)?.hash, confirmations: 1 };
    expect(await merchant.deposit()).toEqual({ ...first, ...inBlock });
    expect(await merchant.told()).toBe("pending");
    expect(await merchant.balances()).toEqual([]);
    await mineAndPoll([], []);
    expect(await merchant.told()).toBe("pending confirmed");
    await mineAndPoll(...empty(20));
    expect(await merchant.told()).toBe("pending confirmed settled");
    expect(await merchant.deposit()).toMatchObject({ id: first.id, epoch: 1, status: "settled" });
    // Waits, is mined, is confirmed, is settled.
    expect(observe).toHaveBeenCalledTimes(4);
    expect(await unmined()).toEqual([]);
  });

  it("is due at no height, and a pool in which nothing happens costs no row and no call", async () => {
    const changes = () => inScanner((_, sql) => Number(sql.exec("SELECT total_changes() AS n").one().n));
    const costOf = async (work: () => Promise<void>) => {
      const before = await changes();
      await work();
      return (await changes()) - before;
    };
    await merchant.watch(newAddress());
    await poll();
    // The alarm's own.
    const idle = await costOf(() => poll(5));
    await waits();
    const due = await inScanner((_, sql) => sql.exec("SELECT next_height, next_finalized, dirty FROM tenants").one());
    expect(due).toEqual({ next_height: null, next_finalized: null, dirty: 0 });
    const observe = vi.spyOn(Tenant.prototype, "observe");
    const readings = pool.readings;
    expect(await costOf(() => poll(5))).toBe(idle);
    expect([observe.mock.calls.length, pool.readings - readings]).toEqual([0, 5]);
  });

  it("B69 one that is replaced is dropped once, and is never confirmed", async () => {
    await waits();
    pool.txs = [pay(newAddress(), ETH)];
    await poll(2);
    expect(await merchant.told()).toBe("pending dropped");
    await mined(...pool.txs);
    await mineAndPoll(...empty(25));
    expect(await merchant.told()).toBe("pending dropped");
    expect(await merchant.deposit()).toMatchObject({ status: "dropped", block_height: null, block_hash: null });
    expect(await merchant.balances()).toEqual([]);
  });

  it("B69 the one that takes its place and pays too is a deposit of its own", async () => {
    const first = await waits(5n);
    pool.txs = [pay(address, 7n)];
    await poll();
    expect((await merchant.told()).split(" ").sort()).toEqual(["dropped", "pending", "pending"]);
    await mined(...pool.txs);
    await mineAndPoll(...empty(2));
    expect(await standing()).toEqual(["5 dropped", "7 confirmed"]);
    expect((await merchant.deposits()).find((d) => d.tx_id === first.hash)?.status).toBe("dropped");
  });

  it("one that goes and comes back is pending again in the same round", async () => {
    const tx = await waits();
    pool.txs = [];
    await poll();
    pool.txs = [tx];
    await poll();
    await mined(tx);
    await mineAndPoll(...empty(2));
    expect(await merchant.told()).toBe("pending dropped pending confirmed");
    expect(await merchant.deposit()).toMatchObject({ epoch: 1, status: "confirmed" });
  });

  it("one that came and went between two calls to its tenant is told of to nobody", async () => {
    quiet("warn");
    await merchant.watch(address);
    const observe = vi.spyOn(Tenant.prototype, "observe").mockRejectedValue(new Error("the tenant is out of reach"));
    pool.txs = [pay(address, 1n)];
    await poll();
    pool.txs = [];
    await poll();
    expect(observe).toHaveBeenCalled();
    observe.mockRestore();
    await poll(70);
    expect(await merchant.told()).toBe("");
    expect(await inScanner((_, sql) => sql.exec("SELECT * FROM removals").toArray())).toEqual([]);
  });

  it("waits for its claim while D1 is out of reach", async () => {
    quiet("warn", "error");
    await merchant.watch(address);
    const batch = vi.spyOn(DB, "batch").mockRejectedValue(new Error("D1_ERROR: Network connection lost."));
    const tx = pay(address, ETH);
    pool.txs = [tx];
    await poll(2);
    await evictScanner();
    expect(await merchant.told()).toBe("");
    batch.mockRestore();
    await poll();
    expect(await merchant.told()).toBe("pending");
    await mined(tx);
    await mineAndPoll(...empty(2));
    expect(await merchant.told()).toBe("pending confirmed");
  });
});

describe("what a reading proves", () => {
  it("one that is not whole takes nothing away, and adds", async () => {
    await waits(1n);
    // A node that has just started, and has not loaded its pool.
    Object.assign(pool, { txs: [pay(address, 2n)], isWhole: false });
    await poll(3);
    expect(await standing()).toEqual(["1 pending", "2 pending"]);
    pool.isWhole = true;
    await poll();
    expect(await standing()).toEqual(["1 dropped", "2 pending"]);
  });

  it.each([
    ["of another head", "0xother"],
    ["whose head moved meanwhile", null],
  ])("one %s tells nothing", async (_, head) => {
    await waits(1n);
    Object.assign(pool, { txs: [pay(address, 2n)], head });
    await poll(3);
    expect(await standing()).toEqual(["1 pending"]);
    pool.head = undefined;
    await poll();
    expect(await standing()).toEqual(["1 dropped", "2 pending"]);
  });

  it("B69 one too large to be looked at whole says by its list what is gone", async () => {
    const [first, second] = [await waits(1n), pay(address, 2n)];
    const others = Array.from({ length: 3 }, () => pay(newAddress(), 9n));
    // The second one waits, and was not looked at any more after a restart.
    Object.assign(pool, { txs: [first, second], isWhole: false, listed: [first, second, ...others] });
    await poll();
    Object.assign(pool, { txs: [first] });
    await poll(2);
    expect(await standing()).toEqual(["1 pending", "2 pending"]);
    // Another transaction takes the first one's place.
    Object.assign(pool, { txs: [], listed: [second, ...others] });
    await poll();
    expect(await standing()).toEqual(["1 dropped", "2 pending"]);
    Object.assign(pool, { txs: [], listed: others });
    await poll();
    expect(await standing()).toEqual(["1 dropped", "2 dropped"]);
    expect((await counters()).pool_transfers_gone).toBe(2);
  });

  it("one that fails takes nothing away", async () => {
    await waits();
    Object.assign(pool, { txs: [], down: true });
    await poll(3);
    expect(await merchant.told()).toBe("pending");
    expect((await counters()).pool_readings_failed).toBe(3);
    expect((await status()).lastError).toBe("the pool does not answer");
    pool.down = false;
    await poll();
    expect(await merchant.told()).toBe("pending dropped");
  });

  it("far behind, no pool is read", async () => {
    await waits();
    const readings = pool.readings;
    node.on("eth_getBlockByNumber", ([height]) => {
      if (height === "latest") return { ...(chain.at(chain.head) as object), number: "0x999" };
      throw new Error("not now");
    });
    await poll(2);
    expect(pool.readings).toBe(readings);
  });

  it("a pool that hangs behind does not bring back what is in a block", async () => {
    const tx = await waits();
    await mineAndPoll([tx], []);
    expect(await unmined()).toEqual([]);
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed");
    // Far below the window, where the scanner keeps nothing of it.
    await mineAndPoll(...empty(25));
    expect(await merchant.told()).toBe("pending confirmed settled");
    pool.txs = [];
    await poll(2);
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed settled");
    expect(await merchant.deposit()).toMatchObject({ status: "settled", block_height: 41 });
  });

  it("nor does it keep waiting what the reading of the past finds in a block", async () => {
    await merchant.watch(newAddress());
    const tx = pay(address, ETH);
    await mineAndPoll([tx], []);
    pool.txs = [tx];
    await merchant.watch(address, { start_height: 41 });
    await poll(2);
    expect(await merchant.deposit()).toMatchObject({ status: "pending", block_height: 41, confirmations: 2 });
    expect(await unmined()).toEqual([]);
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed");
  });
});

describe("two providers", () => {
  let other: Pool;
  let second: ModelNode;

  beforeEach(async () => {
    second = new ModelNode(chain);
    other = new Pool(second);
    await serveFrom(node, second);
    vi.restoreAllMocks();
    const { serveNodes } = await import("./serve-nodes.ts");
    serveNodes({ "http://node-0.test": node, "http://node-1.test": second });
    servePools(pool, other);
  });

  it("what one of them still has is not gone, and both are asked only while they differ", async () => {
    const tx = await waits();
    expect([pool.readings, other.readings]).toEqual([1, 0]);
    other.txs = [tx];
    pool.txs = [];
    await poll(3);
    expect(await merchant.told()).toBe("pending");
    expect([pool.readings, other.readings]).toEqual([4, 3]);
    other.txs = [];
    await poll();
    expect(await merchant.told()).toBe("pending dropped");
    await poll(2);
    expect([pool.readings, other.readings]).toEqual([7, 4]);
  });

  it.each([
    ["is out of reach", () => ({ down: true })],
    ["stands elsewhere on the chain", () => ({ head: "0xbehind" })],
  ])("one that %s keeps nothing alive", async (_, how) => {
    const tx = await waits();
    Object.assign(other, { txs: [tx], ...how() });
    pool.txs = [];
    await poll();
    expect(await merchant.told()).toBe("pending dropped");
  });

  it("a pool that is not whole still shows what it has, and the whole one says what is gone", async () => {
    const tx = await waits(1n);
    Object.assign(pool, { txs: [tx], isWhole: false });
    Object.assign(other, { txs: [pay(address, 2n)] });
    await poll();
    expect(await standing()).toEqual(["1 pending", "2 pending"]);
    pool.txs = [];
    await poll();
    expect(await standing()).toEqual(["1 dropped", "2 pending"]);
  });

  it("what one's whole reading lacks and another one's list names is not gone", async () => {
    const tx = await waits(1n);
    pool.txs = [];
    Object.assign(other, { isWhole: false, listed: [tx] });
    await poll(2);
    expect(await standing()).toEqual(["1 pending"]);
    other.listed = [];
    await poll();
    expect(await standing()).toEqual(["1 dropped"]);
  });

  it("the next one is asked when the first does not answer", async () => {
    await merchant.watch(address);
    pool.down = true;
    other.txs = [pay(address, 3n)];
    await poll();
    expect(await standing()).toEqual(["3 pending"]);
  });
});

describe("reorganisations", () => {
  it("B74 a confirmed one that waits again is reverted and pending in the next round, and dropped when it is replaced", async () => {
    const tx = await waits();
    await mined(tx);
    await mineAndPoll(...empty(2));
    chain.reorg(3, ...empty(4));
    pool.txs = [tx];
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted pending");
    expect(await merchant.deposit()).toMatchObject({ status: "pending", epoch: 2, block_height: null });
    expect((await merchant.balances())[0]).toMatchObject({ available: "0", debt: "0" });
    pool.txs = [];
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed reverted pending dropped");
    await mineAndPoll(...empty(25));
    expect((await merchant.told()).split(" ")).toHaveLength(5);
  });

  it("what waits is untouched by one, and by the window that moves", async () => {
    await waits();
    chain.reorg(5, ...empty(6));
    await poll();
    await mineAndPoll(...empty(50));
    expect(await merchant.told()).toBe("pending");
    expect(await unmined()).toHaveLength(1);
  });

  it("one that was mined on the old branch, then on the new one, is one deposit", async () => {
    const tx = await waits();
    await mined(tx);
    chain.reorg(1, [], [tx], []);
    await poll();
    expect(await merchant.told()).toBe("pending");
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("deeper than the window: nothing is read while it is halted; what was settled waits again, and is mined again", async () => {
    quiet("error", "warn");
    const tx = await waits(1n);
    await mined(tx);
    await mineAndPoll(...empty(25));
    const young = pay(address, 2n);
    pool.txs = [young];
    await poll();
    const before = await merchant.told();
    expect(before).toBe("pending confirmed settled pending");
    chain.reorg(35, ...empty(36));
    pool.txs = [];
    await poll(3);
    const readings = pool.readings;
    expect((await merchant.network()).status).toBe("halted");
    await poll(2);
    expect(pool.readings).toBe(readings);
    expect(await standing()).toEqual(["1 settled", "2 pending"]);
    pool.txs = [tx, young];
    const body = { from_height: 32 };
    expect((await call("POST", "/v1/operator/networks/local/resume", { key: OPERATOR_TOKEN, body })).status).toBe(202);
    await poll(3);
    expect(await standing()).toEqual(["1 pending", "2 pending"]);
    expect((await merchant.deposits()).find((d) => d.tx_id === tx.hash)).toMatchObject({
      epoch: 2,
      block_height: null,
    });
    await mined(tx, young);
    await mineAndPoll(...empty(2));
    expect(await standing()).toEqual(["1 confirmed", "2 confirmed"]);
    // The one that waited all along was pending once.
    const own = (await merchant.events()).filter((e) => (e.data as { tx_id?: string }).tx_id === young.hash);
    expect(own.map((e) => e.type)).toEqual(["deposit.pending", "deposit.confirmed"]);
  });
});

describe("whose it is", () => {
  it("nobody's before somebody watches its address", async () => {
    await merchant.watch(newAddress());
    const tx = pay(address, ETH);
    pool.txs = [tx];
    await poll();
    expect(await merchant.told()).toBe("");
    await merchant.watch(address);
    await poll();
    expect(await merchant.told()).toBe("pending");
    await mined(tx);
    await mineAndPoll(...empty(2));
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("its tenant's when it is mined after the watch has ended and its time has passed", async () => {
    const { id } = (await merchant.watch(address)) as { id: string };
    const tx = pay(address, ETH);
    pool.txs = [tx];
    await poll();
    expect((await merchant.call("DELETE", `/v1/addresses/${id}`)).status).toBe(204);
    await mineAndPoll(...empty(22));
    expect(await merchant.told()).toBe("pending");
    await mined(tx);
    await mineAndPoll(...empty(2));
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("when nobody watches any more it ends as dropped, and the network comes to rest", async () => {
    const { id } = (await merchant.watch(address)) as { id: string };
    pool.txs = [pay(address, ETH)];
    await poll();
    expect((await merchant.call("DELETE", `/v1/addresses/${id}`)).status).toBe(204);
    await mineAndPoll(...empty(40));
    expect(await merchant.told()).toBe("pending dropped");
    expect(await inScanner((_, __, state) => state.storage.getAlarm())).toBe(null);
  });

  it("a claim that another tenant holds is asked for once", async () => {
    quiet("error");
    await merchant.watch(address);
    const tx = pay(address, ETH);
    await DB.prepare(
      "INSERT INTO deposit_keys (network, tx_id, transfer_index, tenant_id) VALUES ('local', ?1, 'value', 'ten_other')",
    )
      .bind(tx.hash)
      .run();
    pool.txs = [tx];
    await poll();
    const version = await versionNow();
    await poll(4);
    expect(await merchant.told()).toBe("");
    expect([await versionNow(), (await counters()).claims_refused]).toEqual([version, 1]);
    expect(await unmined()).toEqual([]);
  });

  it("one address that two tenants have one after the other: it is the one's as long as the next block would be", async () => {
    const { id } = (await merchant.watch(address)) as { id: string };
    expect((await merchant.call("DELETE", `/v1/addresses/${id}`)).status).toBe(204);
    const heir = await Merchant.signUp();
    await heir.watch(address);
    const tx = pay(address, ETH);
    pool.txs = [tx];
    await poll();
    expect([await merchant.told(), await heir.told()]).toEqual(["", ""]);
    await mined(tx);
    expect([await merchant.told(), await heir.told()]).toEqual(["pending", ""]);
    await mineAndPoll(...empty(20));
    const later = pay(address, 2n);
    pool.txs = [later];
    await poll();
    expect(await heir.told()).toBe("pending");
    await checkBooks(heir);
    await checkClaims(heir);
  });
});

describe("bounds and switches", () => {
  it("there is room for so many and no more; the rest is counted, and seen when it is mined", async () => {
    const observe = vi.spyOn(Tenant.prototype, "observe").mockImplementation(async (o) => ({
      kind: "acknowledged",
      version: o.version,
      head: o.head,
      nextHeight: null,
      nextFinalized: null,
    }));
    await merchant.watch(address);
    const first = pay(address, 1n);
    pool.txs = [first];
    await poll();
    pool.txs = [...Array.from({ length: bounds.MAX_UNMINED + 4 }, () => pay(address, 1n)), first];
    await poll();
    expect(await unmined()).toHaveLength(bounds.MAX_UNMINED);
    expect((await unmined()).some((row) => row.tx_id === first.hash)).toBe(true);
    expect((await counters()).pool_transfers_left_out).toBe(5);
    const version = await versionNow();
    await poll(2);
    expect([await versionNow(), (await counters()).pool_transfers_left_out]).toEqual([version, 5]);
    const last = pool.txs.at(-2) as Tx;
    await mined(last);
    expect(observe.mock.lastCall?.[0].added).toMatchObject([{ txId: last.hash, height: chain.head }]);
    // The tenant heard nothing really: its books are empty.
    pool.txs = [];
    await poll();
    expect(await unmined()).toEqual([]);
  });

  it("where the pool is not read any more, what was told of it ends", async () => {
    const tx = await waits();
    local.pool = false;
    await poll();
    expect(await merchant.told()).toBe("pending dropped");
    const readings = pool.readings;
    await mined(tx);
    await mineAndPoll(...empty(2));
    expect(await merchant.told()).toBe("pending dropped pending confirmed");
    expect(pool.readings).toBe(readings);
  });

  it("the whole names what waits, and a tenant that fell behind misses nothing", async () => {
    quiet("warn");
    const [gone, stays] = [pay(address, 1n), pay(address, 2n)];
    await merchant.watch(address);
    pool.txs = [gone, stays];
    await poll();
    expect(await standing()).toEqual(["1 pending", "2 pending"]);
    // As after a restore: the scanner knows of no acknowledgement.
    await inScanner((_, sql) => {
      sql.exec("UPDATE tenants SET acked_version = NULL, dirty = 1");
      sql.exec("DELETE FROM transfers WHERE tx_id = ?", gone.hash);
      sql.exec("UPDATE scanner SET version = version + 1, claimed_version = version + 1");
    });
    await evictScanner();
    pool.txs = [stays];
    await poll();
    expect(await standing()).toEqual(["1 dropped", "2 pending"]);
    expect((await merchant.events()).map((e) => e.type.slice(8))).toEqual(["pending", "pending", "dropped"]);
  });

  it("a scanner restored from an older copy does not drop what was mined since", async () => {
    quiet("warn");
    const tx = await waits();
    const tables = ["scanner", "blocks", "transfers", "payments", "tenants", "removals"];
    const copy = await inScanner((_, sql) =>
      tables.map((table) => ({ table, rows: sql.exec(`SELECT * FROM ${table}`).toArray() })),
    );
    await mined(tx);
    await mineAndPoll(...empty(2));
    expect(await merchant.told()).toBe("pending confirmed");
    await inScanner((_, sql) => {
      for (const { table, rows } of copy) {
        sql.exec(`DELETE FROM ${table}`);
        for (const row of rows) {
          const names = Object.keys(row);
          sql.exec(
            `INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => "?").join()})`,
            ...Object.values(row),
          );
        }
      }
    });
    await evictScanner();
    await poll(2);
    await mineAndPoll(...empty(3));
    expect(await merchant.told()).toBe("pending confirmed");
  });
});

describe("B73 what the chain itself keeps from being spent", () => {
  /** Payments of these transactions are new coins. */
  function areNewCoins(...txs: readonly Tx[]): void {
    const young = new Set(txs.map((tx) => tx.hash));
    for (const method of ["readBlocks", "readRange"] as const) {
      const honest = EvmNode.prototype[method];
      vi.spyOn(EvmNode.prototype, method).mockImplementation(async function (this: EvmNode, ...args) {
        const reading: Reading = await honest.apply(this, args);
        const transfers = reading.transfers.map((t) => (young.has(t.txId) ? { ...t, leastDepth: 101 } : t));
        return { ...reading, transfers };
      });
    }
  }

  beforeEach(() => {
    local.reorgWindow = 144;
  });

  it("is not confirmed at a hundred confirmations, and is at 101", async () => {
    await merchant.watch(address);
    const tx = pay(address, ETH);
    areNewCoins(tx);
    await mineAndPoll([tx], [pay(address, 1n)], [], []);
    expect(await standing()).toEqual([`${ETH} pending`, "1 confirmed"].sort());
    const coins = async () => (await merchant.deposits()).find((d) => d.tx_id === tx.hash);
    expect(await coins()).toMatchObject({ confirmations: 4, confirmations_required: 101 });
    chain.grow(96);
    await poll();
    expect(await coins()).toMatchObject({ confirmations: 100, status: "pending" });
    await mineAndPoll([]);
    expect(await coins()).toMatchObject({ confirmations: 101, confirmations_required: 101, status: "confirmed" });
  });

  it("also when a policy asks for more, when a backfill finds it, and after a reorganisation", async () => {
    await merchant.watch(newAddress());
    const [a, b] = [pay(address, 1n), pay(address, 2n)];
    areNewCoins(a, b);
    await mineAndPoll([a], []);
    await merchant.watch(address, { start_height: 41 });
    await poll(2);
    expect(await merchant.deposit()).toMatchObject({ confirmations_required: 101, status: "pending" });
    const body = { default: 120, assets: {} };
    expect((await merchant.call("PUT", "/v1/policies/confirmations/local", { body })).status).toBe(200);
    await mineAndPoll([b]);
    const required = async () =>
      (await merchant.deposits()).map((d) => `${d.amount_units} ${d.confirmations_required}`);
    expect((await required()).sort()).toEqual(["1 101", "2 120"]);
    chain.grow(97);
    await poll();
    expect(await standing()).toEqual(["1 pending", "2 pending"]);
    await mineAndPoll([]);
    expect(await standing()).toEqual(["1 confirmed", "2 pending"]);
    chain.reorg(2, ...empty(3));
    await poll();
    expect(await standing()).toEqual(["1 confirmed", "2 pending"]);
  });
});
