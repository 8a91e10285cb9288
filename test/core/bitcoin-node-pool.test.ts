/** What waits in a node's pool: found once, told while it waits, and never more than memory takes. */

import { describe, expect, it } from "vitest";
import { BitcoinNode } from "../../src/chains/bitcoin/node.ts";
import { POOL_BOUNDS, Pool, type PoolBounds } from "../../src/chains/bitcoin/pool.ts";
import { ChainNodes } from "../../src/chains/nodes.ts";
import type { PoolReading } from "../../src/chains/port.ts";
import { RpcClient } from "../../src/chains/rpc/client.ts";
import { BitcoinChain } from "../support/bitcoin-chain.ts";
import { BitcoinNodeDouble, CoreError } from "../support/bitcoin-double.ts";
import { testKey } from "../support/bitcoin-faucet.ts";
import { interestIn } from "../support/chain-worlds.ts";

const ADDRESSES = { bech32: "bcrt", pubKeyHash: 0x6f, scriptHash: 0xc4, coinType: 1 };
const W = testKey("W").address;
const W2 = testKey("W2").address;
const STRANGER = testKey("stranger").address;

function world(over: Partial<PoolBounds> = {}) {
  const chain = BitcoinChain.grown(125);
  const double = new BitcoinNodeDouble(chain);
  const rpc = new RpcClient({ url: "http://node.test", fetch: double.fetch, timeoutMs: 2_000 });
  const pool = new Pool(rpc, ADDRESSES, { ...POOL_BOUNDS, ...over });
  const read = (watched: readonly string[] = [W]) => pool.read(interestIn(watched).interest);
  return { chain, double, read, fetched: () => double.asked.filter((m) => m === "getrawtransaction").length };
}

const told = ({ transfers }: PoolReading) =>
  transfers.map(({ address, amountUnits, transferIndex }) => `${address} ${amountUnits} ${transferIndex}`);
const waiting = (amount: bigint, vout = 0, address = W) => `${address} ${amount} out:${vout}`;

describe("what waits", () => {
  it("is told with the node's head while it waits, each output apart", async () => {
    const { chain, read } = world();
    const tx = chain.pay(W, 50_000n, { outputs: [{ to: W, amount: 40_000n }] });
    chain.pay(STRANGER, 30_000n);
    const reading = await read();
    expect(reading).toEqual({
      head: chain.tip.hash,
      isWhole: true,
      txIds: new Set(chain.pool.txs.map(({ txid }) => txid)),
      transfers: [0, 1].map((vout) => ({
        txId: tx.txid,
        transferIndex: `out:${vout}`,
        address: W,
        asset: "native",
        amountUnits: vout === 0 ? 50_000n : 40_000n,
      })),
    });
    expect(told(await read())).toEqual([waiting(50_000n), waiting(40_000n, 1)]);
    chain.mine();
    expect(await read()).toEqual({ head: chain.tip.hash, isWhole: true, transfers: [], txIds: new Set() });
  });

  it("B69: is gone when another transaction took its place", async () => {
    const { chain, read } = world();
    const first = chain.pay(W, 50_000n);
    expect(told(await read())).toEqual([waiting(50_000n)]);
    chain.replace(first, { feeRate: 40n, outputs: [{ to: STRANGER, amount: 4_999_000_000n }] });
    expect(await read()).toMatchObject({ transfers: [], isWhole: true });
  });

  it("is fetched once, however often it is looked at", async () => {
    const { chain, read, fetched } = world();
    for (let i = 0; i < 5; i++) chain.pay(i % 2 === 0 ? W : STRANGER, 20_000n + BigInt(i));
    for (let i = 0; i < 3; i++) expect(told(await read())).toHaveLength(3);
    expect(fetched()).toBe(5);
    chain.pay(W, 1_000n);
    expect(told(await read())).toHaveLength(4);
    expect(fetched()).toBe(6);
  });

  it("comes back into view when a reorganisation put it back", async () => {
    const { chain, read } = world();
    chain.pay(W, 50_000n);
    chain.mine();
    expect(told(await read())).toEqual([]);
    chain.reorg(1);
    expect(told(await read())).toEqual([waiting(50_000n)]);
  });
});

describe("an address that is watched later", () => {
  it("is found in the next look in a small pool", async () => {
    const { chain, read, fetched } = world();
    chain.pay(W2, 50_000n);
    expect(told(await read([W]))).toEqual([]);
    expect(told(await read([W, W2]))).toEqual([waiting(50_000n, 0, W2)]);
    expect(told(await read([W]))).toEqual([]);
    expect(told(await read([W2]))).toEqual([waiting(50_000n, 0, W2)]);
    expect(fetched()).toBe(1);
  });

  it("is found within size / askedAgain looks in a large one, and then in each", async () => {
    const { chain, read } = world({ askedAgain: 2 });
    for (let i = 0; i < 10; i++) chain.pay(i === 7 ? W2 : STRANGER, 20_000n);
    expect(told(await read([W]))).toEqual([]);
    const looks: number[] = [];
    for (let i = 0; i < 10; i++) looks.push((await read([W, W2])).transfers.length);
    expect(looks.slice(0, 5)).toContain(1);
    expect(looks.slice(looks.indexOf(1))).toEqual(looks.slice(looks.indexOf(1)).map(() => 1));
  });

  it("asks once in each look who is watched, about a bounded number of transactions", async () => {
    const { chain, double } = world();
    const rpc = new RpcClient({ url: "http://node.test", fetch: double.fetch, timeoutMs: 2_000 });
    const pool = new Pool(rpc, ADDRESSES, { ...POOL_BOUNDS, askedAgain: 2 });
    for (let i = 0; i < 8; i++) chain.pay(testKey(`one ${i}`).address, 20_000n);
    const { interest, questions } = interestIn([]);
    for (let i = 0; i < 3; i++) await pool.read(interest);
    // The faucet's change is a receiver as well.
    expect(questions.map((asked) => asked.size)).toEqual([9, 3, 3]);
  });
});

describe("a pool that is not whole", () => {
  it("has more that is new than is fetched in one look", async () => {
    const { chain, read, fetched } = world({ fetched: 4 });
    for (let i = 0; i < 10; i++) chain.pay(W, 20_000n);
    const readings = [await read(), await read(), await read(), await read()];
    expect(readings.map(({ isWhole, transfers }) => [isWhole, transfers.length])).toEqual([
      [false, 4],
      [false, 8],
      [true, 10],
      [true, 10],
    ]);
    expect(fetched()).toBe(10);
  });

  it.each([
    ["transactions", { remembered: 6 }],
    ["characters", { chars: 1, fetched: 6 }],
  ])("has more %s than are remembered, until some leave", async (_, bounds) => {
    const { chain, read } = world(bounds);
    const txs = Array.from({ length: 10 }, () => chain.pay(W, 20_000n));
    for (let i = 0; i < 3; i++) expect((await read()).isWhole).toBe(false);
    const reading = await read();
    expect(reading.transfers).toHaveLength(6);
    // Those that were not looked at are named all the same.
    expect(reading.txIds).toEqual(new Set(txs.map(({ txid }) => txid)));
    chain.mine();
    chain.pay(W, 5_000n);
    expect(await read()).toMatchObject({ isWhole: true, transfers: [{ amountUnits: 5_000n }] });
  });

  it("is still read from disk after the node's start", async () => {
    const { chain, double, read } = world();
    chain.pay(W, 50_000n);
    double.facts.poolLoaded = false;
    expect(await read()).toMatchObject({ isWhole: false, transfers: [{ amountUnits: 50_000n }], txIds: null });
    double.facts.poolLoaded = true;
    expect((await read()).isWhole).toBe(true);
  });

  it("has a transaction whose bytes the node does not give", async () => {
    const { chain, double, read } = world();
    const [first] = [chain.pay(W, 50_000n), chain.pay(W, 60_000n)];
    double.on("getrawtransaction", ([txid], honest) => {
      if (txid === first?.txid) throw new CoreError(-5, "No such mempool or blockchain transaction");
      return honest();
    });
    expect(await read()).toMatchObject({ isWhole: false, transfers: [{ amountUnits: 60_000n }] });
    double.on("getrawtransaction", null);
    expect(await read()).toMatchObject({ isWhole: true, transfers: [{}, {}] });
  });
});

describe("a head that moves while the pool is read", () => {
  it("leaves nothing told, and nothing is lost for the next look", async () => {
    const { chain, double, read, fetched } = world();
    chain.pay(W, 50_000n);
    double.on("getrawtransaction", (_, honest) => {
      const raw = honest();
      chain.mine(1, { include: [] });
      return raw;
    });
    expect(await read()).toEqual({ head: null, transfers: [], isWhole: false, txIds: null });
    double.on("getrawtransaction", null);
    expect(await read()).toMatchObject({ head: chain.tip.hash, isWhole: true, transfers: [{ amountUnits: 50_000n }] });
    expect(fetched()).toBe(1);
  });
});

describe("a node that does not tell the truth, or nothing", () => {
  const node = (double: BitcoinNodeDouble) =>
    new BitcoinNode(
      { url: "http://u:pa55word@node.test", fetch: double.fetch, timeoutMs: 2_000 },
      {
        addresses: ADDRESSES,
        pool: true,
      },
    );

  it.each<readonly [string, (double: BitcoinNodeDouble, chain: BitcoinChain) => void, RegExp]>([
    [
      "other bytes than asked for",
      (double, chain) => {
        const other = chain.pay(STRANGER, 9_000n, { keepBack: true }).raw;
        double.on("getrawtransaction", () => other);
      },
      /the bytes of/,
    ],
    ["bytes that are none", (double) => double.on("getrawtransaction", () => "zz"), /bytes in hex/],
    ["no list", (double) => double.on("getrawmempool", () => ({})), /an array/],
    ["a list of other things", (double) => double.on("getrawmempool", () => [1]), /32 bytes/],
    [
      "an error",
      (double) =>
        double.on("getrawmempool", () => {
          throw new CoreError(-32_603, "pa55word");
        }),
      /\*\*\*/,
    ],
    ["that it warms up", (double) => Object.assign(double, { warmingUp: "Loading mempool…" }), /-28/],
  ])("gives %s: a fault", async (_, spoil, message) => {
    const { chain, double } = world();
    chain.pay(W, 50_000n);
    spoil(double, chain);
    const fault: unknown = await node(double)
      .pool?.(interestIn([W]).interest)
      .catch((error: unknown) => error);
    expect(fault).toMatchObject({ name: "ChainFault", retryable: true, node: "node.test" });
    expect(String(fault)).toMatch(message);
    expect(String(fault)).not.toContain("pa55word");
  });

  it("is read where the network's pool is on, and has none to read where it is off", async () => {
    const { chain, double } = world();
    chain.pay(W, 50_000n);
    const caip2 = "bip122:0f9188f13cb7b2c71f2a335e3a4fc328";
    const [on] = new ChainNodes({ id: "b", caip2, internal: false }, [node(double)]).candidates(0);
    expect((await on?.pool?.(interestIn([W]).interest))?.transfers).toHaveLength(1);
    const provider = { url: "http://node.test", fetch: double.fetch, timeoutMs: 2_000 };
    const off = new BitcoinNode(provider, { addresses: ADDRESSES, pool: false });
    expect(off.pool).toBeUndefined();
    expect(new ChainNodes({ id: "b", caip2, internal: false }, [off]).candidates(0)[0]?.pool).toBeUndefined();
  });
});
