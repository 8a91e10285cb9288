/** What waits in the pool of the Bitcoin double, and what becomes of it when the chain moves: a real node judges. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blockHex } from "../support/bitcoin-block.ts";
import type { BitcoinChain } from "../support/bitcoin-chain.ts";
import { FAUCET, type KeyedCoin } from "../support/bitcoin-faucet.ts";
import { BitcoinJudge, payee, recentChain } from "../support/bitcoin-judge.ts";
import { malleate } from "../support/bitcoin-tx.ts";
import { type Bitcoind, noBitcoind, startBitcoind } from "../support/bitcoind.ts";

describe.skipIf(noBitcoind)("a real node, given the same transactions and branches", () => {
  let judge: BitcoinJudge;
  let chain: BitcoinChain;
  beforeAll(async () => {
    judge = await BitcoinJudge.start();
    chain = judge.chain;
  });
  afterAll(() => judge?.stop());

  it("lets a transaction be replaced by one that pays enough more, and by no other", async () => {
    const coin = judge.coin();
    const tx = chain.pay(payee.address, 50_000n, { keepBack: true, coins: [coin], feeRate: 10n });
    const child = chain.spend({
      inputs: [chain.coinOf(tx, 0, payee)],
      outputs: [{ to: payee.address, amount: 40_000n }],
    });
    const other = judge.payment(60_000n);
    for (const sent of [tx, child, other]) expect(await judge.send(sent)).toBe(sent.txid);
    const paying = (fee: bigint, ...more: KeyedCoin[]) => {
      const inputs = [coin, ...more];
      const left = inputs.reduce((sum, { amount }) => sum + amount, 0n) - fee;
      return chain.spend({ inputs, outputs: [{ to: FAUCET.address, amount: left }] });
    };
    const said = await judge.sendAll(
      paying(1_000n),
      paying(11_000n),
      paying(11_411n),
      paying(11_415n),
      paying(40_000n, chain.coinOf(child, 0, payee)),
      paying(40_000n, chain.coinOf(other, 0, payee)),
    );
    expect(said).toMatchInlineSnapshot(`
      [
        "-26 insufficient fee, rejecting replacement ...; new feerate 0.00009090 BTC/kvB <= old feerate 0.00010000 BTC/kvB",
        "-26 insufficient fee, rejecting replacement ..., less fees than conflicting txs; 0.00011 < 0.0001141",
        "-26 insufficient fee, rejecting replacement ..., not enough additional fees to relay; 0.00000001 < 0.00000011",
        "-26 insufficient fee, rejecting replacement ..., not enough additional fees to relay; 0.00000005 < 0.00000011",
        "-26 bad-txns-spends-conflicting-tx, ... spends conflicting transaction ...",
        "-26 replacement-adds-unconfirmed, replacement ... adds unconfirmed input, idx 1",
      ]
    `);
    const raised = paying(12_000n);
    expect(await judge.send(raised)).toBe(raised.txid);
    expect(await judge.pool()).toEqual([raised.txid, other.txid].sort());
    await judge.both("gettxspendingprevout", [{ txid: coin.txid, vout: coin.vout }]);
    await judge.both("gettxout", coin.txid, coin.vout);
    await judge.both("gettxout", coin.txid, coin.vout, false);
    await judge.both("getrawtransaction", tx.txid);
    // What was replaced cannot come back, and its child has no parent any more.
    expect(await judge.sendAll(tx, child)).toMatchInlineSnapshot(`
      [
        "-26 insufficient fee, rejecting replacement ...; new feerate 0.00010000 BTC/kvB <= old feerate 0.00109090 BTC/kvB",
        "-25 bad-txns-inputs-missingorspent",
      ]
    `);
    await judge.mine();
    expect(await judge.send(tx)).toBe("-25 bad-txns-inputs-missingorspent");
  });

  it("says -25 to a mined transaction whose outputs are all spent", async () => {
    const coin = judge.coin();
    const tx = chain.spend({ inputs: [coin], outputs: [{ to: payee.address, amount: coin.amount - 1_000n }] });
    expect(await judge.send(tx)).toBe(tx.txid);
    const child = chain.spend({
      inputs: [chain.coinOf(tx, 0, payee)],
      outputs: [{ to: FAUCET.address, amount: coin.amount - 2_000n }],
    });
    expect(await judge.send(child)).toBe(child.txid);
    await judge.mine();
    expect(await judge.send(tx)).toBe("-25 bad-txns-inputs-missingorspent");
    expect(await judge.send(child)).toBe("-27 Transaction outputs already in utxo set");
  });

  it("mines a malleated transaction in place of the one in its pool", async () => {
    const tx = judge.payment(70_000n, { legacy: true });
    const other = malleate(tx);
    expect(await judge.send(other)).toMatch(/^-26 .*S value is unnecessarily high/);
    expect(await judge.send(tx)).toBe(tx.txid);
    chain.mine(1, { include: [other] });
    await judge.give();
    expect(await judge.pool()).toEqual([]);
    expect(await judge.send(tx)).toBe("-25 bad-txns-inputs-missingorspent");
    await judge.both("gettxout", other.txid, 0);
    await judge.both("getblock", chain.tip.hash, 3);
  });

  it("moves to a longer branch as the node does, and its pool with it", async () => {
    const [kept, doubled, waiting] = [judge.payment(100_000n), judge.payment(200_000n), judge.payment(300_000n)];
    for (const tx of [kept, doubled, waiting]) await judge.send(tx);
    await judge.mine(2);
    const stale = chain.tip;
    const child = chain.spend({
      inputs: [chain.coinOf(doubled, 0, payee)],
      outputs: [{ to: payee.address, amount: 150_000n }],
    });
    await judge.send(child);
    const other = chain.replace(doubled, { outputs: [{ to: FAUCET.address, amount: 200_000n }], keepBack: true });
    chain.reorg(2, { keep: [kept, other] });
    await judge.give();
    expect(await judge.pool()).toEqual([waiting.txid]);
    for (const { txid } of [kept, doubled, waiting, other, child]) {
      await judge.both("getrawtransaction", txid, 1);
      await judge.both("getrawtransaction", txid, 1, stale.parentHash);
      await judge.both("gettxout", txid, 0);
      await judge.both("gettxout", txid, 0, false);
    }
    for (const hash of [stale.hash, stale.parentHash]) {
      await judge.both("getblockheader", hash);
      await judge.both("getblock", hash, 2);
    }
    await judge.both("getblockchaininfo");
    expect(await judge.send(doubled)).toBe("-25 bad-txns-inputs-missingorspent");
    expect(await judge.send(kept)).toBe("-27 Transaction outputs already in utxo set");
    await judge.mine();
  });

  it("gives up a branch when it is told to, and takes it up again", async () => {
    const tx = judge.payment(100_000n);
    await judge.send(tx);
    await judge.mine(3);
    const first = chain.at(chain.head - 2)?.hash ?? "";
    const top = chain.tip.hash;
    await judge.real.rpc("invalidateblock", first);
    chain.invalidate(first);
    expect(await judge.pool()).toEqual([tx.txid]);
    await judge.both("getblockheader", first);
    await judge.both("getblockchaininfo");
    await judge.real.rpc("reconsiderblock", first);
    chain.reconsider(first);
    chain.follow(top);
    expect(await judge.pool()).toEqual([]);
    await judge.both("getblockheader", first);
  });

  it("lets a coinbase be spent after 100 blocks, and not when a reorganisation makes it younger", async () => {
    const young = chain.at(chain.head - 99)?.txs[0];
    if (young === undefined) throw new Error("a block has a coinbase");
    const coin = chain.coinOf(young);
    const tx = chain.spend({ inputs: [coin], outputs: [{ to: payee.address, amount: coin.amount - 1_000n }] });
    expect(await judge.send(tx)).toBe(tx.txid);
    const below = chain.tip.hash;
    await judge.real.rpc("invalidateblock", below);
    chain.invalidate(below);
    expect(await judge.pool()).toEqual([]);
    expect(await judge.send(tx)).toMatch(/tried to spend coinbase at depth 99$/);
    await judge.mine(2);
  });

  it("lets no more than 25 transactions wait one upon the other", async () => {
    let coin = judge.coin();
    let said = "";
    for (let made = 0; made < 26; made++) {
      const tx = chain.spend({ inputs: [coin], outputs: [{ to: FAUCET.address, amount: coin.amount - 1_000n }] });
      said = await judge.send(tx);
      coin = chain.coinOf(tx);
    }
    expect(said).toBe("-26 too-long-mempool-chain, too many unconfirmed ancestors [limit: 25]");
    expect(await judge.pool()).toHaveLength(25);
    await judge.mine();
    expect(await judge.pool()).toEqual([]);
  });
});

describe.skipIf(noBitcoind)("two real nodes, cut apart and joined again", () => {
  it("end where two chains in memory end", async () => {
    const [here, there] = [await startBitcoind(), await startBitcoind()];
    try {
      const chain = recentChain(110);
      await take(here, chain);
      await here.connect(there);
      const shared = chain.pay(payee.address, 100_000n);
      await here.rpc("sendrawtransaction", shared.raw);
      await until(async () => (await pooled(there)).length === 1);
      await here.disconnect(there);

      const far = chain.fork();
      const [coin, other] = chain.faucetCoins();
      if (coin === undefined || other === undefined) throw new Error("the faucet is empty");
      const mine = chain.pay(payee.address, 200_000n, { coins: [coin] });
      const theirs = far.pay(payee.legacyAddress, 200_000n, { coins: [coin] });
      const alone = chain.pay(payee.taprootAddress, 300_000n, { coins: [other] });
      for (const tx of [mine, alone]) await here.rpc("sendrawtransaction", tx.raw);
      await there.rpc("sendrawtransaction", theirs.raw);
      chain.mine();
      await take(here, chain);
      far.mine();
      far.mine(2, { include: [] });
      await take(there, far);
      await agree();

      chain.join(far);
      await here.connect(there);
      await agree();
      expect(chain.tip.hash).toBe(far.tip.hash);
      expect(chain.pool.txs).toEqual([alone]);
      expect(far.pool.txs).toEqual([]);

      async function agree() {
        for (const [node, belief] of [
          [here, chain],
          [there, far],
        ] as const) {
          expect(await node.tip()).toBe(belief.tip.hash);
          expect(await pooled(node)).toEqual(belief.pool.txs.map(({ txid }) => txid).sort());
        }
      }
    } finally {
      await here.stop();
      await there.stop();
    }
  });

  const pooled = async (node: Bitcoind) => (await node.rpc<string[]>("getrawmempool")).sort();

  async function take(node: Bitcoind, chain: BitcoinChain): Promise<void> {
    for (let height = (await node.height()) + 1; height <= chain.head; height++) {
      const block = chain.at(height);
      if (block !== undefined) expect(await node.rpc("submitblock", blockHex(block))).toBeNull();
    }
  }

  async function until(isSo: () => Promise<boolean>): Promise<void> {
    for (const end = Date.now() + 10_000; !(await isSo()); await new Promise((resolve) => setTimeout(resolve, 20)))
      if (Date.now() > end) throw new Error("it has not come in 10 s");
  }
});
