/** One Bitcoin provider as the withdrawal line sees it, before a node that shows a chain in memory. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBtc } from "../../src/chains/bitcoin/btc-amount.ts";
import { BitcoinCoinNode } from "../../src/chains/bitcoin/coin-node.ts";
import { createCoinNodes } from "../../src/chains/coin-nodes.ts";
import { type Coin, type CoinPin, coinText } from "../../src/chains/coin-payout.ts";
import { ChainFault } from "../../src/chains/port.ts";
import { scriptOfAddress } from "../../src/core/bitcoin-address.ts";
import { blockHex } from "../support/bitcoin-block.ts";
import { BitcoinChain } from "../support/bitcoin-chain.ts";
import { BitcoinNodeDouble, Btc, CoreError } from "../support/bitcoin-double.ts";
import { type BitcoinTx, parseTx } from "../support/bitcoin-tx.ts";
import { coinWallet, MAINNET, PAYEES, REGTEST } from "../support/coin-wallet.ts";

const wallet = coinWallet();
const GROWN = BitcoinChain.grown();
const URL = "http://rpcuser:rpcpassword@node.test:8332/path/secret-key";

/** A chain whose top block pays the wallet, and a node that shows it. */
function world({ coins = 1 } = {}) {
  const chain = GROWN.fork();
  const more = Array.from({ length: coins - 1 }, () => ({ to: wallet.address, amount: 400_000n }));
  const funding = chain.pay(wallet.address, 400_000n, { outputs: more });
  chain.mine();
  const double = new BitcoinNodeDouble(chain);
  const owned: Coin[] = Array.from({ length: coins }, (_, vout) => ({
    txId: funding.txid,
    vout,
    amountUnits: 400_000n,
    address: wallet.address,
    path: "0/0",
  }));
  const from = chain.head;
  const pins: CoinPin[] = owned.map((ref) => ({ ref: { txId: ref.txId, vout: ref.vout }, from }));
  return { chain, double, funding, owned, pins, node: newNode(double) };
}

function newNode(double: BitcoinNodeDouble, network = REGTEST): BitcoinCoinNode {
  return new BitcoinCoinNode({ url: URL, fetch: double.fetch, timeoutMs: 5_000 }, network);
}

/** Signed by the wallet, not sent. */
async function spend(inputs: readonly Coin[], feeUnits = 1_000n, to = PAYEES.p2wpkh): Promise<BitcoinTx> {
  const amountUnits = inputs.reduce((sum, coin) => sum + coin.amountUnits, 0n) - feeUnits;
  return parseTx(await wallet.sign({ inputs, payments: [{ address: to, amountUnits }], change: null }));
}

const spenderOf = (tx: BitcoinTx, chain: BitcoinChain) => {
  const block = chain.blockOf(tx.txid);
  return {
    txId: tx.txid,
    height: block?.height,
    blockHash: block?.hash,
    inputs: tx.inputs.map(({ txid, vout }) => ({ txId: txid, vout })),
    outputs: tx.outputs.map(({ amount, script }) => ({ script, amountUnits: amount })),
  };
};
const countOf = (double: BitcoinNodeDouble, method: string) => double.asked.filter((one) => one === method).length;
const at = <T>(items: readonly T[], place: number): T => {
  const item = items[place];
  if (item === undefined) throw new Error(`nothing at ${place}`);
  return item;
};

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
    for (let looks = 0; looks < 3; looks++) {
      seen.push((await node.look({ pins, heights: [] })).spenders.size);
      expect(countOf(double, "getblock")).toBeLessThanOrEqual(50 * (looks + 1));
    }
    expect(seen).toEqual([0, 0, 2]);
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

describe("what is unspent", () => {
  it("in the chain and in the pool, with amount, script and depth", async () => {
    const { chain, node, owned } = world({ coins: 2 });
    chain.mine(2);
    const tx = chain.submit(await spend(owned.slice(0, 1)));
    const change = { txId: tx.txid, vout: 0 };
    const nobody = { txId: "ee".repeat(32), vout: 0 };
    const said = await node.unspent([at(owned, 0), at(owned, 1), change, nobody]);
    expect([...said.values()]).toEqual([
      null,
      { amountUnits: 400_000n, script: scriptOfAddress(REGTEST.addresses, wallet.address), depth: 3 },
      { amountUnits: 399_000n, script: tx.outputs[0]?.script, depth: 0 },
      null,
    ]);
    expect([...said.keys()]).toEqual([at(owned, 0), at(owned, 1), change, nobody].map(coinText));
  });

  it("asks nothing for nothing, and refuses amounts that are none", async () => {
    const { double, node, owned } = world();
    expect((await node.unspent([])).size).toBe(0);
    for (const value of ["0.1", -1, 0.123456789, 21_000_001, null]) {
      double.on("gettxout", (_, honest) => ({ ...(honest() as object), value }));
      await expect(node.unspent(owned)).rejects.toThrow(/value: expected an amount of coins with at most 8 decimals/);
    }
  });
});

describe("amounts of coins", () => {
  it.each([
    [0, 0n],
    [1e-8, 1n],
    [0.1, 10_000_000n],
    [0.29, 29_000_000n],
    [1.1, 110_000_000n],
    [20_999_999.9769, 2_099_999_997_690_000n],
    [20_999_999.99999999, 2_099_999_999_999_999n],
    [21_000_000, 2_100_000_000_000_000n],
  ])("%d", (value, units) => {
    expect(parseBtc(value, "it")).toBe(units);
  });

  it("every number of satoshi comes back from its decimal", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2_100_000_000_000_000n), (units) => {
        const text = units.toString().padStart(9, "0");
        const written = `${text.slice(0, -8)}.${text.slice(-8)}`;
        expect(parseBtc(JSON.parse(written.replace(/^0+(?=\d)/, "")), "it")).toBe(units);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a send", () => {
  it("is one request, and the node's own id is what it must name", async () => {
    const { chain, double, node, owned } = world();
    const tx = await spend(owned);
    expect(await node.send(tx.raw, tx.txid)).toEqual({ meaning: "accepted", text: tx.txid });
    expect(double.sent).toEqual([tx.raw]);
    expect(chain.pool.entry(tx.txid)).toBeDefined();
    expect(await node.send(tx.raw, tx.txid)).toMatchObject({ meaning: "accepted" });
    expect(await node.send(tx.raw, "ee".repeat(32))).toMatchObject({ meaning: "unknown" });
  });

  it("B69: -27 when it is mined, -25 when its outputs are spent as well, and for a stranger's spend", async () => {
    const { chain, node, owned } = world({ coins: 2 });
    const tx = chain.submit(await spend(owned.slice(0, 1), 1_000n, wallet.address));
    chain.mine();
    expect(await node.send(tx.raw, tx.txid)).toEqual({
      meaning: "already_known",
      text: "Transaction outputs already in utxo set (code -27)",
    });
    const output: Coin = { ...at(owned, 0), txId: tx.txid, vout: 0, amountUnits: 399_000n };
    chain.submit(await spend([output]));
    chain.mine();
    // Ours is in the chain, and the node says what it would say of a double spend.
    expect(await node.send(tx.raw, tx.txid)).toEqual({
      meaning: "nonce_consumed",
      text: "bad-txns-inputs-missingorspent (code -25)",
    });
    const ours = await spend(owned.slice(1));
    chain.submit(await spend(owned.slice(1), 4_000n, PAYEES.p2tr));
    chain.mine();
    expect(await node.send(ours.raw, ours.txid)).toMatchObject({ meaning: "nonce_consumed" });
  });

  it("-26: what the pool refuses", async () => {
    const { chain, node, owned } = world();
    const first = chain.submit(await spend(owned, 2_000n));
    const said = async (feeUnits: bigint) => {
      const tx = await spend(owned, feeUnits);
      return (await node.send(tx.raw, tx.txid)).meaning;
    };
    expect(await said(10n)).toBe("fee_too_low");
    expect(await said(1_999n)).toBe("replacement_underpriced");
    expect(await said(2_005n)).toBe("replacement_underpriced");
    expect(await said(2_000n + BigInt(first.vsize))).toBe("accepted");
    expect(await said(399_900n)).toBe("setup_fault");
    const cut = first.raw.slice(0, -20);
    expect(await node.send(cut, first.txid)).toMatchObject({ meaning: "setup_fault" });
  });

  it("asks for no limit on the fee: Core's own is 0.10 BTC for 1,000 vbytes", async () => {
    const chain = GROWN.fork();
    const funding = chain.pay(wallet.address, 100_000_000n);
    chain.mine();
    const node = newNode(new BitcoinNodeDouble(chain));
    const coin = { txId: funding.txid, vout: 0, amountUnits: 100_000_000n, address: wallet.address, path: "0/0" };
    const dear = await spend([coin], 10_000_000n);
    expect(await node.send(dear.raw, dear.txid)).toMatchObject({ meaning: "accepted" });
  });

  it.each([
    [
      "warming up, HTTP 200",
      (double: BitcoinNodeDouble) => {
        double.warmingUp = "Verifying blocks…";
      },
      "provider_unavailable",
    ],
    [
      "warming up, HTTP 500",
      (double: BitcoinNodeDouble) => {
        double.facts.version = 270_000;
        double.warmingUp = "Verifying blocks…";
      },
      "provider_unavailable",
    ],
    ["an answer that is lost", (double: BitcoinNodeDouble) => double.loseAnswers("sendrawtransaction"), "unknown"],
    ["a full queue", (double: BitcoinNodeDouble) => double.turnAway("sendrawtransaction", 503), "unknown"],
    ["a rate limit", (double: BitcoinNodeDouble) => double.turnAway("sendrawtransaction", 429), "provider_unavailable"],
    ["a bad gateway", (double: BitcoinNodeDouble) => double.turnAway("sendrawtransaction", 502), "unknown"],
    [
      "an error of HTTP 500",
      (double: BitcoinNodeDouble) => {
        double.facts.version = 270_000;
        double.next("sendrawtransaction", 1, () => {
          throw new CoreError(-26, "mempool min fee not met");
        });
      },
      "fee_too_low",
    ],
    [
      "something that is no id",
      (double: BitcoinNodeDouble) => double.next("sendrawtransaction", 1, () => ({ ok: true })),
      "unknown",
    ],
  ] as const)("$0: sent once, $2", async (_name, fault, meaning) => {
    const { double, node, owned } = world();
    await node.look({ pins: [], heights: [] });
    fault(double);
    const tx = await spend(owned);
    expect((await node.send(tx.raw, tx.txid)).meaning).toBe(meaning);
    expect(double.sent).toEqual([tx.raw]);
  });

  it("nothing is sent to a node that has not shown its chain, or serves another", async () => {
    const { double, owned } = world();
    const tx = await spend(owned);
    double.warmingUp = "Loading block index…";
    expect((await newNode(double).send(tx.raw, tx.txid)).meaning).toBe("provider_unavailable");
    double.warmingUp = null;
    const foreign = newNode(double, { ...MAINNET });
    expect(await foreign.send(tx.raw, tx.txid)).toEqual({
      meaning: "setup_fault",
      text: "node node.test:8332 serves bip122:0f9188f13cb7b2c71f2a335e3a4fc328, network bitcoin is bip122:000000000019d6689c085ae165831e93",
    });
    await expect(foreign.look({ pins: [], heights: [] })).rejects.toMatchObject({ retryable: false });
    expect(double.sent).toEqual([]);
  });
});

describe("a quote", () => {
  it.each([
    ["errors alone", null, 1_000n, { estimate: null, floor: 1_000n }],
    ["a rate", 12_345n, 1_000n, { estimate: 12_345n, floor: 1_000n }],
    ["a rate below 1 sat/vB", 101n, 100n, { estimate: 101n, floor: 100n }],
    ["a rate that is no binary fraction", 29_000_001n, 1_000n, { estimate: 29_000_001n, floor: 1_000n }],
  ])("%s", async (_name, estimate, floor, expected) => {
    const { chain, double, node } = world();
    double.facts.estimate = estimate;
    Object.assign(chain.pool.policy, { minFeeRate: floor });
    expect(await node.quote()).toEqual(expected);
  });

  it("the floor is the higher of the pool's two", async () => {
    const { double, node } = world();
    double.on("getmempoolinfo", () => ({ mempoolminfee: new Btc(7_000n), minrelaytxfee: new Btc(1_000n) }));
    expect((await node.quote()).floor).toBe(7_000n);
    double.on("getmempoolinfo", () => ({ mempoolminfee: new Btc(1_000n), minrelaytxfee: new Btc(2_000n) }));
    expect((await node.quote()).floor).toBe(2_000n);
  });

  it("asks for the network's target", async () => {
    const { double, node } = world();
    const asked: unknown[] = [];
    double.on("estimatesmartfee", (params, honest) => {
      asked.push(params);
      return honest();
    });
    await node.quote();
    expect(asked).toEqual([[REGTEST.payout.feeTargetBlocks, "economical"]]);
  });

  it("a node without estimates has none; one that fails is a fault", async () => {
    const { double, node } = world();
    const fails = (code: number, text: string) =>
      double.on("estimatesmartfee", () => {
        throw new CoreError(code, text);
      });
    fails(-32603, "Fee estimation disabled");
    expect((await node.quote()).estimate).toBeNull();
    fails(-1, "something else");
    await expect(node.quote()).rejects.toThrow("node.test:8332: fee estimate: something else (code -1)");
    double.on("estimatesmartfee", () => ({ feerate: -1, blocks: 2 }));
    await expect(node.quote()).rejects.toThrow(ChainFault);
    double.on("estimatesmartfee", () => ({ feerate: 0, blocks: 2 }));
    expect((await node.quote()).estimate).toBeNull();
  });
});

describe("the nodes of a network", () => {
  it("are all of them, in order; a network of another kind or without nodes is refused", () => {
    const settings = { settings: REGTEST, fetch, timeoutMs: 1_000 };
    const nodes = createCoinNodes({ ...settings, urls: ["http://a.test", "http://b.test:1"] });
    expect(nodes.map(({ name }) => name)).toEqual(["a.test", "b.test:1"]);
    expect(() => createCoinNodes({ ...settings, urls: [] })).toThrow("network bitcoin-regtest has no node");
  });
});
