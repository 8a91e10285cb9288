/** What one Bitcoin provider says of coins, sends and fees: before a node that shows a chain in memory. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBtc } from "../../src/chains/bitcoin/btc-amount.ts";
import { createCoinNodes } from "../../src/chains/coin-nodes.ts";
import { type Coin, coinText } from "../../src/chains/coin-payout.ts";
import { ChainFault } from "../../src/chains/port.ts";
import { scriptOfAddress } from "../../src/core/bitcoin-address.ts";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";
import { BitcoinNodeDouble, Btc, CoreError } from "../support/bitcoin-double.ts";
import { at, GROWN, newNode, spend, wallet, world } from "../support/coin-node-world.ts";
import { MAINNET, PAYEES, REGTEST } from "../support/coin-wallet.ts";

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
    Object.assign(chain.pool.policy, { minRelayFeeRate: floor });
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
    const [evm] = BUILT_IN_NETWORKS;
    if (evm === undefined) throw new Error("no network");
    expect(() => createCoinNodes({ ...settings, settings: evm, urls: ["http://a.test"] })).toThrow(
      "wallets on ethereum are not sets of coins",
    );
  });
});
