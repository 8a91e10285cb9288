/** A Bitcoin node as the scanner sees it: what counts as a payment, how much is read at once, and how it fails. */

import { describe, expect, it } from "vitest";
import { BitcoinNode } from "../../src/chains/bitcoin/node.ts";
import { READING_BOUNDS, readBlocks } from "../../src/chains/bitcoin/read-blocks.ts";
import { ChainFault } from "../../src/chains/port.ts";
import { RpcClient } from "../../src/chains/rpc/client.ts";
import { Span } from "../../src/chains/span.ts";
import { addressOfScript } from "../../src/core/bitcoin-address.ts";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";
import type { Transfer } from "../../src/core/transfer.ts";
import { BitcoinChain } from "../support/bitcoin-chain.ts";
import { BitcoinNodeDouble, CoreError } from "../support/bitcoin-double.ts";
import { FAUCET, testKey } from "../support/bitcoin-faucet.ts";
import { interestIn } from "../support/chain-worlds.ts";

const ADDRESSES = { bech32: "bcrt", pubKeyHash: 0x6f, scriptHash: 0xc4, coinType: 1 };
const NETWORK = { addresses: ADDRESSES, pool: false };
const W = testKey("W");
const W2 = testKey("W2");
const P2SH = addressOfScript(ADDRESSES, `a914${"5a".repeat(20)}87`) ?? "";
const P2WSH = addressOfScript(ADDRESSES, `0020${"5a".repeat(32)}`) ?? "";

function world(blocks = 105) {
  const chain = BitcoinChain.grown(blocks);
  const double = new BitcoinNodeDouble(chain);
  let ms = 0;
  const node = nodeOf(double, () => ms);
  const pass = (more: number) => {
    ms += more;
  };
  return { chain, double, node, pass };
}

function nodeOf(double: BitcoinNodeDouble, now = () => 0, url = "http://node.test"): BitcoinNode {
  return new BitcoinNode({ url, fetch: double.fetch, timeoutMs: 2_000 }, NETWORK, now);
}

const told = (transfers: readonly Transfer[]) =>
  transfers.map(({ address, amountUnits, transferIndex }) => `${address} ${amountUnits} ${transferIndex}`);

describe("what counts as a payment", () => {
  it("B72: every output of its own, two to one address apart, none of zero and no OP_RETURN", async () => {
    const { chain, node } = world();
    const outputs = [
      { to: W.address, amount: 300_000n },
      { to: W2.address, amount: 200_000n },
      { to: "6a0b68656c6c6f20776f726c64", amount: 0n },
      { to: W.address, amount: 0n },
    ];
    const tx = chain.put(chain.pay(W.address, 400_000n, { outputs, keepBack: true }));
    chain.mine();
    const { interest } = interestIn([W.address, W2.address]);
    const reading = await node.readBlocks(chain.head, chain.head, interest);
    expect(told(reading.transfers)).toEqual([
      `${W.address} 400000 out:0`,
      `${W.address} 300000 out:1`,
      `${W2.address} 200000 out:2`,
    ]);
    expect(new Set(reading.transfers.map(({ txId }) => txId))).toEqual(new Set([tx.txid]));
  });

  it.each([
    ["P2PKH", W.legacyAddress],
    ["P2SH", P2SH],
    ["P2WPKH", W.address],
    ["P2WSH", P2WSH],
    ["P2TR", W.taprootAddress],
  ])("every address form: %s", async (_, address) => {
    const { chain, node } = world();
    chain.pay(address, 50_000n);
    chain.mine();
    const reading = await node.readBlocks(chain.head, chain.head, interestIn([address]).interest);
    expect(told(reading.transfers)).toEqual([`${address} 50000 out:0`]);
    expect(reading.transfers[0]).not.toHaveProperty("leastDepth");
  });

  it("not what pays a bare key, a bare multisig or an anchor: nobody has such an address", async () => {
    const { chain, node } = world();
    const key = `02${FAUCET.taprootScript.slice(4)}`;
    for (const to of [`21${key}ac`, `5121${key}51ae`, "51024e73"]) {
      chain.put(chain.pay(to, 60_000n, { keepBack: true }));
    }
    chain.mine();
    const { interest, questions } = interestIn([]);
    const reading = await node.readBlocks(chain.head, chain.head, interest);
    expect(reading.stopped).toBeNull();
    expect([...(questions[0] ?? [])]).toEqual([FAUCET.address]);
  });

  it("B73: a reward, with the depth of 101 that the network itself demands", async () => {
    const { chain, node } = world();
    chain.pay(W.address, 50_000n);
    chain.mine(1, { coinbaseTo: W.address });
    const at = chain.head;
    const { transfers } = await node.readBlocks(at, at, interestIn([W.address]).interest);
    expect(transfers.map(({ amountUnits, leastDepth }) => [amountUnits > 100_000n, leastDepth])).toEqual([
      [true, 101],
      [false, undefined],
    ]);
  });

  it("only amounts that are integers from the start: no JSON number is read", async () => {
    const { chain, double, node } = world();
    chain.pay(W.address, 2_999_999_999n);
    chain.mine();
    const { transfers } = await node.readBlocks(chain.head, chain.head, interestIn([W.address]).interest);
    expect(transfers[0]?.amountUnits).toBe(2_999_999_999n);
    expect(new Set(double.asked)).toEqual(new Set(["getblockhash", "getblock"]));
  });
});

describe("how much is read at once", () => {
  const shape = (double: BitcoinNodeDouble) => {
    const sizes: number[] = [];
    const own = double.fetch;
    const fetch: typeof own = (input, init) => {
      const body: unknown = JSON.parse(String(init?.body));
      const calls = [body].flat() as { method: string }[];
      if (calls[0]?.method === "getblock") sizes.push(calls.length);
      return own(input, init);
    };
    return { sizes, fetch };
  };

  it("begins with one block a request, and takes more while they are small", async () => {
    const { double } = world();
    const { sizes, fetch } = shape(double);
    const node = new BitcoinNode({ url: "http://node.test", fetch, timeoutMs: 2_000 }, NETWORK);
    const reading = await node.readRange(0, 104, interestIn([]).interest);
    expect(reading.blocks).toHaveLength(105);
    expect(sizes).toEqual([1, 4, 16, 64, 20]);
  });

  it("ends a reading that takes long, and the next one goes on from there", async () => {
    const { double, node, pass } = world();
    double.on("getblock", (_, honest) => {
      pass(2_000);
      return honest();
    });
    const { interest } = interestIn([]);
    const lengths: number[] = [];
    for (let next = 0; next <= 100; ) {
      const { blocks, stopped } = await node.readRange(next, 100, interest);
      expect(stopped).toBeNull();
      expect(blocks[0]?.height).toBe(next);
      lengths.push(blocks.length);
      next += blocks.length;
    }
    expect(lengths.length).toBeGreaterThan(1);
    expect(lengths.reduce((sum, n) => sum + n, 0)).toBe(101);
  });

  it.each([
    ["large", { ...READING_BOUNDS, bytes: 10_000 }],
    ["full of outputs", { ...READING_BOUNDS, outputs: 60 }],
  ])("ends a reading when the blocks in it are %s, with one block at least", async (_, bounds) => {
    const { chain, double } = world();
    for (let i = 0; i < 9; i++) {
      const outputs = Array.from({ length: 40 }, () => ({ to: W2.address, amount: 1_000n }));
      chain.pay(W.address, 10_000n, { outputs });
      chain.mine();
    }
    const rpc = new RpcClient({ url: "http://node.test", fetch: double.fetch, timeoutMs: 2_000 });
    const span = new Span({ start: 1, max: 64, aimBytes: 4_000 });
    const access = { rpc, form: ADDRESSES, span, now: () => 0, bounds };
    const lengths: number[] = [];
    for (let next = 106; next <= 114; ) {
      const { blocks, transfers, stopped } = await readBlocks(access, next, 114, interestIn([W.address]).interest);
      expect([stopped, transfers.length]).toEqual([null, blocks.length]);
      lengths.push(blocks.length);
      next += blocks.length;
    }
    expect(lengths.length).toBeGreaterThan(2);
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(1);
    expect(lengths.reduce((sum, n) => sum + n, 0)).toBe(9);
  });
});

describe("what a node must show", () => {
  it("stops at a block that has another height than asked for, though its links are good", async () => {
    const { chain, double, node } = world();
    // Every height is off by one, as behind a cache.
    double.on("getblockhash", ([height]) => chain.at(Number(height) - 1)?.hash);
    const reading = await node.readBlocks(100, 103, interestIn([]).interest);
    expect(reading.blocks).toEqual([]);
    expect(reading.stopped).toMatchObject({ reason: "inconsistent", height: 100 });
    expect(reading.stopped?.detail).toBe("node.test was asked for block 100 and gave block 99");
  });

  it("stops at a block in which a payment is hidden, added or raised", async () => {
    const { chain, double, node } = world();
    chain.pay(W.address, 50_000n);
    chain.mine();
    const amount = "50c3000000000000";
    double.on("getblock", (_, honest) => String(honest()).replace(amount, "51c3000000000000"));
    const reading = await node.readBlocks(chain.head - 1, chain.head, interestIn([W.address]).interest);
    expect(reading.blocks.map(({ height }) => height)).toEqual([chain.head - 1]);
    expect(reading.transfers).toEqual([]);
    expect(reading.stopped).toMatchObject({ reason: "inconsistent", height: chain.head });
    expect(reading.stopped?.detail).toMatch(/merkle root/);
  });

  it.each([
    [-1, "Block not available (pruned data)"],
    [-1, "Block not available (not fully downloaded)"],
    [-1, "Block not found on disk"],
    [-5, "Block not found"],
  ])("asks again, or elsewhere, for what a node does not have: %i %s", async (code, message) => {
    const { chain, double, node } = world();
    const hidden = chain.at(101)?.hash;
    double.on("getblock", ([hash], honest) => {
      if (hash === hidden) throw new CoreError(code, message);
      return honest();
    });
    const reading = await node.readBlocks(100, 103, interestIn([]).interest);
    expect(reading.blocks.map(({ height }) => height)).toEqual([100]);
    expect(reading.stopped).toEqual({
      reason: "not_known",
      height: 101,
      detail: `node.test: block 101: ${message}`,
    });
  });

  describe("blocks that took work", () => {
    // Of regtest every second hash takes none, and one in sixteen has the work that is asked for here.
    const leastWork = { fromHeight: 104, highestHash: `0${"f".repeat(63)}` };

    function working(blocks: number) {
      const chain = BitcoinChain.grown(blocks);
      const double = new BitcoinNodeDouble(chain);
      const settings = { url: "http://node.test", fetch: double.fetch, timeoutMs: 2_000 };
      const node = new BitcoinNode(settings, { ...NETWORK, leastWork });
      return { chain, node };
    }

    it("alone count, from the height on that asks for it: one provider's own chain credits nobody", async () => {
      const { chain, node } = working(103);
      const { interest } = interestIn([W.address]);
      chain.pay(W.address, 50_000n);
      chain.mine(6);
      const cheap = [104, 105, 106, 107, 108, 109].find((at) => (chain.at(at)?.hash ?? "") > leastWork.highestHash);
      if (cheap === undefined) throw new Error("expected a block here that took no work");
      expect((await node.headers(90, 103)).length).toBe(14);
      expect((await node.headers(100, 109)).at(-1)?.height).toBe(cheap - 1);
      for (const read of [node.readBlocks(100, 109, interest), node.readRange(100, 109, interest)]) {
        const { blocks, transfers, stopped } = await read;
        expect(blocks.at(-1)?.height).toBe(cheap - 1);
        expect(transfers.every(({ height }) => height < cheap)).toBe(true);
        expect(stopped).toMatchObject({ reason: "inconsistent", height: cheap });
        expect(stopped?.detail).toMatch(/took too little work/);
      }
    });

    it("alone are a head", async () => {
      const { chain, node } = working(102);
      for (let i = 0; i < 20; i++) {
        chain.mine();
        const { head, tip } = { head: chain.head, tip: chain.tip.hash };
        if (head < leastWork.fromHeight || tip <= leastWork.highestHash) {
          expect((await node.tip()).head.hash).toBe(tip);
        } else {
          await expect(node.tip()).rejects.toMatchObject({ name: "ChainFault", retryable: true });
        }
      }
    });

    it("are asked for on the main chain: its own blocks have done it since, and none of them is near the bound", () => {
      const work = BUILT_IN_NETWORKS.flatMap((network) => (network.family === "bitcoin" ? network : []));
      expect(work.map(({ id, leastWork: least }) => [id, least === undefined])).toEqual([
        ["bitcoin", false],
        ["bitcoin-regtest", true],
      ]);
      const least = work[0]?.leastWork;
      // Target of the main chain's block 800,000, from its bits 0x17053894.
      const target = `${"0".repeat(18)}053894${"0".repeat(40)}`;
      expect(target < (least?.highestHash ?? "")).toBe(true);
      expect(BigInt(`0x${least?.highestHash}`) / BigInt(`0x${target}`)).toBe(6n);
      expect(least?.highestHash).toMatch(/^[0-9a-f]{64}$/);
    });
  });

  it("asks once for heights beyond the head, not singly again", async () => {
    const { chain, double, node } = world();
    await node.headers(chain.head - 1, chain.head + 20);
    expect(double.asked.filter((method) => method === "getblockhash")).toHaveLength(22);
  });
});

describe("a node that cannot serve", () => {
  it("still loads the chain: a fault that passes, except on regtest", async () => {
    const { chain, double, node } = world();
    double.facts.initialBlockDownload = true;
    expect((await node.tip()).head.height).toBe(chain.head);
    double.on("getblockchaininfo", (_, honest) => ({ ...(honest() as object), chain: "main", headers: 900_000 }));
    await expect(node.tip()).rejects.toMatchObject({
      name: "ChainFault",
      retryable: true,
      message: `node.test: still loads the chain: it has block ${chain.head} of 900000`,
    });
  });

  it.each([
    ["2.0", 290_403],
    ["before 2.0, with HTTP 500", 270_000],
  ])("warms up (%s): a fault that passes, asked once", async (_, version) => {
    const { double, node } = world();
    double.facts.version = version;
    double.warmingUp = "Loading block index…";
    for (const call of [() => node.tip(), () => node.chain(), () => node.headers(1, 20)]) {
      await expect(call()).rejects.toMatchObject({ name: "ChainFault", retryable: true });
    }
    await expect(node.tip()).rejects.toThrow(/Loading block index.*\(code -28\)/);
    expect(double.asked.filter((method) => method === "getblockhash")).toHaveLength(1 + 20);
    double.warmingUp = null;
    expect((await node.tip()).head.height).toBe(105);
  });

  it("refuses the password: a fault that stays, and the password is in no message", async () => {
    const { double } = world();
    double.credentials = "user:right-password";
    const right = nodeOf(double, undefined, "http://user:right-password@node.test");
    expect((await right.tip()).head.height).toBe(105);
    const wrong = nodeOf(double, undefined, "http://user:wrong-password@node.test");
    const { interest } = interestIn([]);
    for (const call of [() => wrong.tip(), () => wrong.headers(1, 3), () => wrong.readBlocks(1, 3, interest)]) {
      const fault: unknown = await call().catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(ChainFault);
      expect(fault).toMatchObject({ retryable: false, node: "node.test" });
      expect(String(fault)).toContain("user and password are refused (HTTP 401)");
      expect(String(fault)).not.toContain("wrong-password");
    }
  });

  it("has its queue full: a fault that passes", async () => {
    const { double, node } = world();
    double.turnAway("getblockchaininfo", 503);
    await expect(node.tip()).rejects.toMatchObject({ retryable: true });
    await expect(node.tip()).resolves.toBeDefined();
  });

  it.each<readonly [string, (double: BitcoinNodeDouble) => void]>([
    ["no hash", (double) => double.on("getblockchaininfo", () => ({ blocks: 5, bestblockhash: 7 }))],
    [
      "no height",
      (double) => double.on("getblockchaininfo", (_, honest) => ({ ...(honest() as object), blocks: "5" })),
    ],
    ["no state", (double) => double.on("getblockchaininfo", () => null)],
    ["another header", (double) => double.on("getblockheader", () => BitcoinChain.grown(1).tip.header)],
    ["no header", (double) => double.on("getblockheader", () => "00")],
  ])("gives %s for its head: a fault", async (_, spoil) => {
    const { double, node } = world();
    spoil(double);
    await expect(node.tip()).rejects.toMatchObject({ name: "ChainFault", retryable: true });
  });

  it("knows no tokens", async () => {
    const { double, node } = world();
    expect(await node.token()).toBeNull();
    expect(double.asked).toEqual([]);
  });
});
