/** Who spends a coin, as one Bitcoin provider tells the withdrawal line: before a node that shows a chain in memory. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BitcoinCoinNode } from "../../src/chains/bitcoin/coin-node.ts";
import { type CoinPin, coinText } from "../../src/chains/coin-payout.ts";
import { ChainFault } from "../../src/chains/port.ts";
import { blockHex } from "../support/bitcoin-block.ts";
import type { BitcoinChain } from "../support/bitcoin-chain.ts";
import { BitcoinNodeDouble, CoreError } from "../support/bitcoin-double.ts";
import type { BitcoinTx } from "../support/bitcoin-tx.ts";
import { at, countOf, newNode, spend, spenderOf, URL, world } from "../support/coin-node-world.ts";
import { PAYEES, REGTEST } from "../support/coin-wallet.ts";

describe("a look", () => {
  it("tells a pin that is there, one that waits in the pool only, and one that is spent in a block", async () => {
    const { chain, node, owned, pins } = world();
    const said = async () => (await node.look({ pins, heights: [] })).spenders.get(coinText(at(owned, 0)));
    expect(await said()).toBeNull();
    const tx = chain.submit(await spend(owned));
    expect(await said()).toBeNull();
    chain.mine();
    expect(await said()).toEqual(spenderOf(tx, chain));
    chain.mine(5);
    expect(await said()).toEqual(spenderOf(tx, chain));
  });

  it("has the head and the hashes at the heights asked for, and none above", async () => {
    const { chain, node } = world();
    const look = await node.look({ pins: [], heights: [0, 7, chain.head, chain.head + 1] });
    expect({ head: look.head, hash: look.headHash }).toEqual({ head: chain.head, hash: chain.tip.hash });
    expect([...look.blocks]).toEqual([0, 7, chain.head].map((height) => [height, chain.at(height)?.hash]));
  });

  it("finds a stranger's spend, and names what it spends and pays", async () => {
    const { chain, node, owned, pins } = world({ coins: 2 });
    const tx = chain.submit(await spend(owned, 2_000n, PAYEES.p2tr));
    chain.mine();
    const { spenders } = await node.look({ pins, heights: [] });
    expect([...spenders.values()]).toEqual([spenderOf(tx, chain), spenderOf(tx, chain)]);
  });

  it("takes back what a reorganisation took back, and finds what came instead", async () => {
    const { chain, node, owned, pins } = world();
    const said = async () => (await node.look({ pins, heights: [] })).spenders.get(coinText(at(owned, 0)));
    const [tx, other] = [chain.submit(await spend(owned)), await spend(owned, 3_000n)];
    chain.mine(3);
    expect(await said()).toEqual(spenderOf(tx, chain));
    chain.reorg(3, { keep: [other] });
    expect(await said()).toEqual(spenderOf(other, chain));
    chain.reorg(4, { pool: "drop" });
    expect(await said()).toBeNull();
    chain.submit(tx);
    chain.mine();
    expect(await said()).toEqual(spenderOf(tx, chain));
  });

  it("a pin whose own transaction was reorganised away is missing", async () => {
    const { chain, node, owned, pins } = world();
    expect((await node.look({ pins, heights: [] })).spenders.get(coinText(at(owned, 0)))).toBeNull();
    chain.reorg(1, { newBlocks: 3, pool: "drop" });
    expect((await node.look({ pins, heights: [] })).spenders.get(coinText(at(owned, 0)))).toBe("missing");
  });

  it("a node that has not come to the pin's height cannot tell", async () => {
    const { chain, double, node, pins } = world();
    chain.mine();
    double.lag = 2;
    const look = await node.look({ pins, heights: [] });
    expect(look.head).toBe(chain.head - 2);
    expect([...look.spenders]).toEqual([]);
  });

  it("fetches a block once, and none for a pin that is there", async () => {
    const { chain, double, node, owned, pins } = world({ coins: 3 });
    await node.look({ pins, heights: [] });
    expect(countOf(double, "getblock")).toBe(0);
    chain.mine(4);
    chain.submit(await spend(owned.slice(0, 1)));
    chain.mine();
    await node.look({ pins, heights: [] });
    // The pin was there at the head before: the four blocks since are not known yet.
    expect(countOf(double, "getblock")).toBe(5);
    chain.mine(2);
    chain.submit(await spend(owned.slice(1, 2)));
    chain.mine();
    await node.look({ pins, heights: [] });
    expect(countOf(double, "getblock")).toBe(8);
    await node.look({ pins, heights: [] });
    expect(countOf(double, "getblock")).toBe(8);
  });

  it("finds a spender in a block that was read for another pin, and has that block alone again", async () => {
    const { chain, double, owned, pins } = world({ coins: 3 });
    const txs: BitcoinTx[] = [];
    for (const coin of owned) {
      txs.push(chain.submit(await spend([coin])));
      chain.mine(2);
    }
    const node = newNode(double);
    const said = async (place: number) =>
      (await node.look({ pins: [at(pins, place)], heights: [] })).spenders.get(coinText(at(owned, place)));
    expect(await said(2)).toEqual(spenderOf(at(txs, 2), chain));
    const read = countOf(double, "getblock");
    expect(await said(0)).toEqual(spenderOf(at(txs, 0), chain));
    expect(await said(1)).toEqual(spenderOf(at(txs, 1), chain));
    expect(countOf(double, "getblock")).toBe(read + 2);
  });

  it("looks again when a coin was seen at another head", async () => {
    const { double, node, owned, pins } = world();
    double.next("gettxout", 1, (_, honest) => ({ ...(honest() as object), bestblock: "ab".repeat(32) }));
    const { spenders } = await node.look({ pins, heights: [] });
    expect(spenders.get(coinText(at(owned, 0)))).toBeNull();
    expect(countOf(double, "gettxout")).toBe(2);
  });

  it("reads 50 blocks at most, says nothing of what it did not reach, and goes on from there", async () => {
    const { chain, double, owned, pins } = world({ coins: 2 });
    chain.mine(119);
    const tx = chain.submit(await spend(owned.slice(0, 1)));
    chain.mine(5);
    chain.submit(await spend(owned.slice(1)));
    chain.mine();
    const node = newNode(double);
    const seen: number[] = [];
    const searched: (number | undefined)[] = [];
    const { from } = at(pins, 0);
    for (let looks = 0; looks < 3; looks++) {
      const look = await node.look({ pins, heights: [] });
      seen.push(look.spenders.size);
      searched.push(look.searched.get(coinText(at(owned, 1))));
      expect(countOf(double, "getblock")).toBeLessThanOrEqual(50 * (looks + 1));
    }
    expect(seen).toEqual([0, 0, 2]);
    expect(searched).toEqual([from + 49, from + 99, chain.head - 1]);
    expect(countOf(double, "getblock")).toBe(chain.head - at(pins, 0).from + 1);
    const { spenders } = await node.look({ pins, heights: [] });
    expect(spenders.get(coinText(at(owned, 0)))).toEqual(spenderOf(tx, chain));
  });

  it("cannot tell where a node has thrown the blocks away", async () => {
    const { chain, double, node, owned, pins } = world();
    chain.submit(await spend(owned));
    chain.mine(3);
    double.on("getblock", () => {
      throw new CoreError(-1, "Block not available (pruned data)");
    });
    expect([...(await node.look({ pins, heights: [] })).spenders]).toEqual([]);
    double.honestAgain();
    expect((await node.look({ pins, heights: [] })).spenders.size).toBe(1);
  });

  it("looks again when the head moved, and gives up when it moves again", async () => {
    const { chain, double, node, owned, pins } = world();
    const tx = chain.submit(await spend(owned));
    chain.mine();
    double.next("getblock", 1, (_, honest) => {
      chain.mine();
      return honest();
    });
    const look = await node.look({ pins, heights: [] });
    expect({ head: look.head, said: look.spenders.get(coinText(at(owned, 0))) }).toEqual({
      head: chain.head,
      said: spenderOf(tx, chain),
    });
    let calls = 0;
    double.on("getbestblockhash", (_, honest) => (calls++ % 2 === 1 ? "ab".repeat(32) : honest()));
    const fault = await node.look({ pins, heights: [] }).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(ChainFault);
    expect(fault).toMatchObject({
      retryable: true,
      message: "node.test:8332: the head moved 2 times while coins were looked at",
    });
  });

  it("does not let a coin of one backend meet the blocks of another", async () => {
    const { chain, double, node, pins } = world();
    const behind = new BitcoinNodeDouble(chain.fork(2));
    chain.mine();
    // Coins come from a backend two blocks behind, where the pin does not exist yet.
    double.http = async (methods, honest) => (methods.includes("gettxout") ? behind.answer(bodyOf) : honest());
    let bodyOf = "";
    const split = new BitcoinCoinNode(
      {
        url: URL,
        fetch: (input, init) => {
          bodyOf = String(init?.body);
          return double.fetch(input, init);
        },
        timeoutMs: 5_000,
      },
      REGTEST,
    );
    await expect(split.look({ pins, heights: [] })).rejects.toThrow("the head moved 2 times");
    double.http = null;
    expect((await node.look({ pins, heights: [] })).spenders.size).toBe(1);
  });

  it.each<[string, string, (chain: BitcoinChain) => unknown, string]>([
    [
      "a block that is another one",
      "getblock",
      (chain) => blockHex(chain.at(3) ?? chain.tip),
      "block: expected block ",
    ],
    ["a coin without its head", "gettxout", () => ({ value: 1 }), "bestblock of a coin: expected 32 bytes of"],
    [
      "a head that is none",
      "getblockchaininfo",
      () => ({ blocks: -1, bestblockhash: "ab".repeat(32) }),
      "blocks: expected a height",
    ],
  ])("refuses %s, without the URL's secrets", async (_name, method, answer, message) => {
    const { chain, double, node, owned, pins } = world();
    if (method === "getblock") chain.submit(await spend(owned));
    chain.mine();
    double.on(method, () => answer(chain));
    const fault = await node.look({ pins, heights: [] }).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(ChainFault);
    const text = String((fault as Error).message);
    expect(text).toContain(message);
    expect(text).not.toMatch(/rpcuser|rpcpassword|secret-key/);
  });

  it("whatever happens to the chain, a long-lived node says what a reader of the whole chain says", async () => {
    const anOp = fc.constantFrom("mine", "mine", "pay", "raise", "reorg", "deep", "drop", "other", "look", "restart");
    await fc.assert(
      fc.asyncProperty(fc.array(anOp, { minLength: 5, maxLength: 30 }), async (ops) => {
        const { chain, double, owned, pins } = world({ coins: 3 });
        let node = newNode(double);
        for (const [step, op] of ops.entries()) {
          const coin = at(owned, step % owned.length);
          if (op === "mine") chain.mine();
          if (op === "pay") chain.offer(await spend([coin], 1_000n + BigInt(step)));
          if (op === "raise") chain.offer(await spend(owned, 5_000n + BigInt(step) * 500n, PAYEES.p2sh));
          if (op === "reorg" && chain.head > 112) chain.reorg(1);
          if (op === "deep" && chain.head > 114) chain.reorg(3, { newBlocks: 4 });
          if (op === "drop" && chain.head > 112) chain.reorg(2, { pool: "drop" });
          if (op === "other" && chain.head > 112)
            chain.reorg(1, { keep: keepable(chain, await spend([coin], 9_000n + BigInt(step))) });
          if (op === "restart") node = newNode(double);
          if (op !== "look" && step < ops.length - 1) continue;
          const { spenders, head } = await node.look({ pins, heights: [] });
          expect(head).toBe(chain.head);
          for (const pin of pins) expect(spenders.get(coinText(pin.ref))).toEqual(truthOf(chain, pin));
        }
      }),
      { numRuns: 25 },
    );
  }, 60_000);
});

/** By reading all of the best branch. */
function truthOf(chain: BitcoinChain, { ref, from }: CoinPin) {
  for (let height = from; height <= chain.head; height++)
    for (const tx of chain.at(height)?.txs ?? [])
      if (tx.inputs.some(({ txid, vout }) => txid === ref.txId && vout === ref.vout)) return spenderOf(tx, chain);
  return chain.view.get(coinText(ref)) === undefined ? "missing" : null;
}

/** What the block below the top may hold in place of the top one. */
function keepable(chain: BitcoinChain, tx: BitcoinTx): BitcoinTx[] {
  return chain.fork(1).pool.judge(tx, chain.fork(1).view, false).ok ? [tx] : [];
}
