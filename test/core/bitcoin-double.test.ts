/** Nodes that show the Bitcoin chain in memory: their faults, and nodes that do not agree. */

import { beforeEach, describe, expect, it } from "vitest";
import { GENESIS_HASH } from "../support/bitcoin-block.ts";
import { BitcoinChain } from "../support/bitcoin-chain.ts";
import { BitcoinNodeDouble, CoreError } from "../support/bitcoin-double.ts";
import { testKey } from "../support/bitcoin-faucet.ts";
import type { BitcoinTx } from "../support/bitcoin-tx.ts";

const payee = testKey("payee");

let chain: BitcoinChain;
let node: BitcoinNodeDouble;
beforeEach(() => {
  chain = BitcoinChain.grown();
  node = new BitcoinNodeDouble(chain);
});

/** @returns the result, or `<code> <message>`, or `HTTP <status>` */
async function ask(method: string, params: unknown[] = [], to = node, headers: HeadersInit = {}): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await to.fetch("http://node.test/", { method: "POST", body, headers });
  const text = await response.text();
  if (!text.startsWith("{")) return `HTTP ${response.status} ${text}`.trim();
  const { result, error } = JSON.parse(text) as { result?: unknown; error?: { code: number; message: string } };
  return error === undefined ? result : `${error.code} ${error.message}`;
}

const send = (tx: BitcoinTx, to = node) => ask("sendrawtransaction", [tx.raw], to);
const unspent = async (tx: BitcoinTx, to = node) => (await ask("gettxout", [tx.txid, 0, false], to)) !== null;

describe("a chain in memory", () => {
  it("is the same chain whenever it is made, on regtest's own first block", () => {
    expect(chain.at(0)?.hash).toBe(GENESIS_HASH);
    expect(BitcoinChain.grown().tip).toEqual(chain.tip);
  });

  it("mines no transaction twice, and none that cannot be", () => {
    const tx = chain.pay(payee.address, 10_000n);
    chain.mine();
    expect(() => chain.mine(1, { include: [tx] })).toThrow(/txn-already-known|missingorspent/);
    expect(() => chain.mine(1, { include: [tx, tx] })).toThrow();
    const other = chain.pay(payee.address, 10_000n, { keepBack: true });
    const rival = chain.replace(other, { outputs: [{ to: payee.address, amount: 5_000n }], keepBack: true });
    expect(() => chain.mine(1, { include: [other, rival] })).toThrow(/same block/);
  });

  it("lets a key pay that was paid before", async () => {
    chain.pay(payee.address, 500_000n);
    chain.mine();
    const tx = chain.pay(testKey("another").address, 200_000n, { from: payee });
    const raised = chain.replace(tx, { feeRate: 30n, keys: [payee] });
    expect(chain.pool.txs).toEqual([raised]);
    chain.mine();
    expect(await unspent(raised)).toBe(true);
    expect(await unspent(tx)).toBe(false);
  });
});

describe("nodes apart", () => {
  it("a node cut off keeps its own blocks and pool until it hears of a longer branch", async () => {
    const far = new BitcoinNodeDouble(chain.fork());
    const tx = chain.pay(payee.address, 100_000n);
    const rival = chain.replace(tx, { outputs: [{ to: payee.legacyAddress, amount: 90_000n }], keepBack: true });
    expect(await send(rival, far)).toBe(rival.txid);
    chain.mine();
    far.chain.mine(2);
    expect([await unspent(tx), await unspent(rival)]).toEqual([true, false]);
    expect([await unspent(tx, far), await unspent(rival, far)]).toEqual([false, true]);
    const stale = chain.tip.hash;
    expect(await ask("getblockheader", [stale], far)).toBe("-5 Block not found");
    chain.join(far.chain);
    expect([await unspent(tx), await unspent(rival)]).toEqual([false, true]);
    expect(chain.tip.hash).toBe(far.chain.tip.hash);
    expect(await ask("getblockheader", [stale])).toMatchObject({ confirmations: -1 });
    expect(await ask("getrawmempool")).toEqual([]);
  });

  it("an equally long branch does not win", () => {
    const far = chain.fork();
    const { hash } = chain.mine();
    const other = far.mine();
    chain.join(far);
    expect([chain.tip.hash, far.tip.hash]).toEqual([hash, other.hash]);
  });

  it("pools of joined nodes stay apart until they relay", () => {
    const far = chain.fork();
    const tx = chain.pay(payee.address, 100_000n);
    chain.join(far);
    expect(far.pool.txs).toEqual([]);
    far.relay(chain);
    expect(far.pool.txs).toEqual([tx]);
  });

  it("a node that lags has not got the last blocks, but what they hold", async () => {
    const tx = chain.pay(payee.address, 100_000n);
    chain.mine(2);
    node.lag = 2;
    expect(await ask("getblockcount")).toBe(110);
    expect(await ask("getblockheader", [chain.tip.hash])).toBe("-5 Block not found");
    expect(await ask("getrawmempool")).toEqual([tx.txid]);
    const next = chain.pay(payee.address, 50_000n, { keepBack: true });
    expect(await send(next)).toBe(next.txid);
    expect(chain.pool.entry(next.txid)).toBeDefined();
    node.lag = 0;
    expect(await ask("getblockcount")).toBe(112);
  });
});

describe("a node's faults", () => {
  const tx = () => chain.pay(payee.address, 100_000n, { keepBack: true });

  it("an answer is lost after it was done", async () => {
    const sent = tx();
    node.loseAnswers("sendrawtransaction");
    await expect(send(sent)).rejects.toThrow("fetch failed");
    expect(chain.pool.txs.map(({ txid }) => txid)).toEqual([sent.txid]);
    expect(await send(sent)).toBe(sent.txid);
    expect(node.sent).toEqual([sent.raw, sent.raw]);
  });

  it("a request is turned away before it is done", async () => {
    node.turnAway("sendrawtransaction", 503);
    expect(await send(tx())).toBe("HTTP 503 Work queue depth exceeded");
    expect(chain.pool.size).toBe(0);
  });

  it("an error comes as often as it was asked for", async () => {
    const sent = tx();
    node.next("sendrawtransaction", 1, () => {
      throw new CoreError(-26, "mempool full");
    });
    expect([await send(sent), await send(sent)]).toEqual(["-26 mempool full", sent.txid]);
  });

  it("it is down, warms up, or does not know who asks", async () => {
    node.warmingUp = "Loading block index…";
    expect(await ask("getblockcount")).toBe("-28 Loading block index…");
    node.warmingUp = null;
    node.credentials = "user:pass";
    expect(await ask("getblockcount")).toBe("HTTP 401");
    expect(await ask("getblockcount", [], node, { authorization: `Basic ${btoa("user:pass")}` })).toBe(110);
    node.down = true;
    await expect(ask("getblockcount")).rejects.toThrow("fetch failed");
  });

  it("a request hangs until it is let go, before it is done or after", async () => {
    for (const when of ["before", "after"] as const) {
      const sent = tx();
      const gate = node.hold("sendrawtransaction", when);
      const answer = send(sent);
      await gate.reached();
      expect(chain.pool.entry(sent.txid) === undefined).toBe(when === "before");
      gate.open();
      expect(await answer).toBe(sent.txid);
      chain.mine();
    }
  });

  it("it hides a transaction, or tells another amount, until it is honest again", async () => {
    const sent = chain.pay(payee.address, 100_000n);
    node.hide(sent.txid);
    expect(await ask("getrawmempool")).toEqual([]);
    expect(await ask("gettxout", [sent.txid, 0])).toBeNull();
    chain.mine();
    const shown = () =>
      ask("getblock", [chain.tip.hash, 2]) as Promise<{ tx: { txid: string; vout: { value: number }[] }[] }>;
    expect((await shown()).tx).toHaveLength(1);
    node.honestAgain();
    node.alter(sent.txid, 0, 7n);
    expect((await shown()).tx[1]?.vout[0]?.value).toBe(0.00000007);
    expect(await ask("gettxout", [sent.txid, 0])).toMatchObject({ value: 0.00000007 });
    node.honestAgain();
    expect((await shown()).tx[1]?.vout[0]?.value).toBe(0.001);
  });

  it("estimates what it is told to, and asks what a full pool asks", async () => {
    node.facts.estimate = 12_345n;
    expect(await ask("estimatesmartfee", [6])).toEqual({ feerate: 0.00012345, blocks: 6 });
    chain.pool.policy.mempoolMinFeeRate = 20_000n;
    expect(await ask("getmempoolinfo")).toMatchObject({ mempoolminfee: 0.0002, minrelaytxfee: 0.000001 });
    expect(await send(tx())).toMatch(/^-26 mempool min fee not met, \d+ < \d+$/);
  });

  it("without an index it finds mined transactions only by their block, with one in all blocks", async () => {
    const sent = chain.pay(payee.address, 100_000n);
    chain.mine();
    expect(await ask("getrawtransaction", [sent.txid, 1])).toMatch(/^-5 No such mempool transaction. Use -txindex/);
    node.facts.txindex = true;
    expect(await ask("getrawtransaction", [sent.txid, 1])).toMatchObject({
      confirmations: 1,
      blockhash: chain.tip.hash,
    });
  });

  it("speaks as it did before version 28, when every error was an HTTP error", async () => {
    node.facts.version = 270_000;
    const sent = chain.pay(payee.address, 100_000n);
    chain.mine();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "sendrawtransaction", params: [sent.raw] });
    const response = await node.answer(body);
    expect(response.status).toBe(500);
    const error = { code: -27, message: "Transaction already in block chain" };
    expect(await response.json()).toEqual({ result: null, error, id: 1 });
  });
});
