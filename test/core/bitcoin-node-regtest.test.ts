/** The scanner's reading of real Bitcoin nodes: real blocks, real pools, real reorganisations. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BitcoinNode } from "../../src/chains/bitcoin/node.ts";
import type { Reading } from "../../src/chains/port.ts";
import { addressOfScript, parseBitcoinAddress, scriptOfAddress } from "../../src/core/bitcoin-address.ts";
import { type AddressType, type Bitcoind, noBitcoind, startBitcoind } from "../support/bitcoind.ts";
import { interestIn } from "../support/chain-worlds.ts";

const ADDRESSES = { bech32: "bcrt", pubKeyHash: 0x6f, scriptHash: 0xc4, coinType: 1 };
const NETWORK = { addresses: ADDRESSES, pool: true };

const nodeOf = ({ url }: Bitcoind) => new BitcoinNode({ url, fetch, timeoutMs: 10_000 }, NETWORK);

/** All of a range, in as many readings as it takes. */
async function readTo(node: BitcoinNode, from: number, to: number, watched: readonly string[]): Promise<Reading> {
  const { interest } = interestIn(watched);
  let whole = await node.readRange(from, to, interest);
  while (whole.stopped === null && whole.blocks.length <= to - from) {
    const next = await node.readRange(from + whole.blocks.length, to, interest);
    const { blocks, transfers } = whole;
    whole = { ...next, blocks: [...blocks, ...next.blocks], transfers: [...transfers, ...next.transfers] };
  }
  return whole;
}

const waiting = async (node: BitcoinNode, watched: readonly string[]) => {
  const reading = await node.pool?.(interestIn(watched).interest);
  if (reading === undefined) throw new Error("this network's pool is read");
  return reading;
};

describe.skipIf(noBitcoind)("real nodes", () => {
  let here: Bitcoind;
  let there: Bitcoind;
  let node: BitcoinNode;

  beforeAll(async () => {
    [here, there] = await Promise.all([startBitcoind(), startBitcoind()]);
    node = nodeOf(here);
    await here.mine(110);
    await here.connect(there);
  }, 120_000);
  afterAll(async () => {
    await Promise.all([here?.stop(), there?.stop()]);
  });

  it("show chain, head and headers", async () => {
    expect(await node.chain()).toBe("bip122:0f9188f13cb7b2c71f2a335e3a4fc328");
    const height = await here.height();
    const { head, finalized } = await node.tip();
    expect(head).toMatchObject({ height, hash: await here.tip() });
    expect(finalized).toBeNull();
    const headers = await node.headers(0, height + 5);
    expect(headers).toHaveLength(height + 1);
    expect(headers.at(-1)).toEqual(head);
    expect(headers[0]).toMatchObject({ height: 0, timestamp: 1_296_688_602 });
  });

  it("show every block from the first one on, and what it pays", async () => {
    const height = await here.height();
    const address = await here.newAddress();
    await here.mine(1, address);
    const reading = await readTo(node, 0, height + 1, [address]);
    expect(reading.stopped).toBeNull();
    expect(reading.blocks).toHaveLength(height + 2);
    expect(reading.transfers).toHaveLength(1);
    expect(reading.transfers[0]).toMatchObject({
      amountUnits: 5_000_000_000n,
      leastDepth: 101,
      transferIndex: "out:0",
    });
  });

  it.each<AddressType>(["legacy", "p2sh-segwit", "bech32", "bech32m"])("pay %s addresses", async (type) => {
    const address = await here.newAddress(type);
    expect(parseBitcoinAddress(ADDRESSES, address)).toEqual({ ok: true, address });
    const { scriptPubKey } = await here.rpc<{ scriptPubKey: string }>("getaddressinfo", address);
    expect(scriptOfAddress(ADDRESSES, address)).toBe(scriptPubKey);
    expect(addressOfScript(ADDRESSES, scriptPubKey)).toBe(address);
    const txId = await here.pay(address, "0.12345678");
    expect((await waiting(node, [address])).transfers).toMatchObject([{ txId, address, amountUnits: 12_345_678n }]);
    await here.mine();
    const height = await here.height();
    const { transfers } = await node.readBlocks(height, height, interestIn([address]).interest);
    expect(transfers).toMatchObject([{ txId, address, amountUnits: 12_345_678n, height, blockHash: await here.tip() }]);
    expect((await waiting(node, [address])).transfers).toEqual([]);
  });

  it("pay a P2WSH address, and two outputs of one transaction apart (B72)", async () => {
    const script = addressOfScript(ADDRESSES, `0020${"5a".repeat(32)}`) ?? "";
    const { isvalid } = await here.rpc<{ isvalid: boolean }>("validateaddress", script);
    expect(isvalid).toBe(true);
    const other = await here.newAddress();
    const outputs = [{ [script]: "0.4" }, { [other]: "0.2" }, { data: "00ff" }];
    const { psbt } = await here.rpc<{ psbt: string }>("walletcreatefundedpsbt", [], outputs);
    const signed = await here.rpc<{ psbt: string }>("walletprocesspsbt", psbt);
    const { hex } = await here.rpc<{ hex: string }>("finalizepsbt", signed.psbt);
    const txId = await here.rpc<string>("sendrawtransaction", hex);
    await here.mine();
    const height = await here.height();
    const { transfers } = await node.readBlocks(height, height, interestIn([script, other]).interest);
    const told = transfers.map(({ address, amountUnits }) => `${address} ${amountUnits}`).sort();
    expect(told).toEqual([`${script} 40000000`, `${other} 20000000`].sort());
    expect(new Set(transfers.map((transfer) => transfer.txId))).toEqual(new Set([txId]));
    expect(new Set(transfers.map(({ transferIndex }) => transferIndex)).size).toBe(2);
  });

  it("B74: cut apart and joined again, drop a payment whose coin was spent on the longer branch", async () => {
    const lost = await here.newAddress();
    const kept = await here.newAddress();
    await here.disconnect(there);
    const [coin] = await here.rpc<{ txid: string; vout: number; amount: number }[]>("listunspent", 1);
    if (coin === undefined) throw new Error("the payer has no coin");
    const spend = async (to: string, amount: string) => {
      const raw = await here.rpc<string>("createrawtransaction", [coin], [{ [to]: amount }]);
      return (await here.rpc<{ hex: string }>("signrawtransactionwithwallet", raw)).hex;
    };
    const amount = (coin.amount - 0.0001).toFixed(8);
    const first = await spend(lost, amount);
    const second = await spend(kept, (coin.amount - 0.0002).toFixed(8));
    await here.mineOnly([first]);
    const forked = await here.height();
    const before = await node.readBlocks(forked, forked, interestIn([lost, kept]).interest);
    expect(before.transfers.map(({ address }) => address)).toEqual([lost]);

    await there.mineOnly([second], await here.newAddress());
    await there.mine(1, await here.newAddress());
    const other = nodeOf(there);
    const theirs = await other.readBlocks(forked, forked + 1, interestIn([lost, kept]).interest);
    expect(theirs.transfers.map(({ address }) => address)).toEqual([kept]);
    await here.connect(there);

    const { head } = await node.tip();
    expect(head).toEqual((await other.tip()).head);
    expect(head.height).toBe(forked + 1);
    const [below, at] = await node.headers(forked - 1, forked);
    expect(at?.parentHash).toBe(below?.hash);
    expect(at?.hash).not.toBe(before.blocks[0]?.hash);
    const after = await node.readBlocks(forked, forked + 1, interestIn([lost, kept]).interest);
    expect(after.transfers.map(({ address }) => address)).toEqual([kept]);
    expect((await waiting(node, [lost])).transfers).toEqual([]);
  });

  it("keep the key of a payment that is mined again after invalidateblock", async () => {
    const address = await here.newAddress();
    await here.disconnect(there);
    const txId = await here.pay(address, "0.5");
    const [hash] = await here.mine();
    const height = await here.height();
    const before = await node.readBlocks(height, height, interestIn([address]).interest);
    await here.rpc("invalidateblock", hash);
    const between = await node.readBlocks(height, height, interestIn([address]).interest);
    expect(between).toMatchObject({ blocks: [], transfers: [], stopped: { reason: "not_known", height } });
    expect((await waiting(node, [address])).transfers).toMatchObject([{ txId, amountUnits: 50_000_000n }]);
    // To somebody else: with the same reward it would be the very block that is refused.
    await here.mine(1, await here.newAddress());
    const after = await node.readBlocks(height, height, interestIn([address]).interest);
    expect(after.blocks[0]?.hash).not.toBe(hash);
    const { blockHash: _, ...payment } = before.transfers[0] ?? {};
    expect(after.transfers).toHaveLength(1);
    expect(after.transfers[0]).toMatchObject(payment);
    await here.mine(1);
    await here.connect(there);
  });

  it("B69: replace a payment in the pool by one that pays somebody else", async () => {
    const address = await here.newAddress();
    const txId = await here.pay(address, "0.25");
    expect((await waiting(node, [address])).transfers).toMatchObject([{ txId }]);
    const { hex } = await here.rpc<{ hex: string }>("gettransaction", txId);
    const { vin } = await here.rpc<{ vin: { txid: string; vout: number }[] }>("decoderawtransaction", hex);
    const spent = await Promise.all(
      vin.map(({ txid, vout }) => here.rpc<{ value: number } | null>("gettxout", txid, vout, false)),
    );
    const total = spent.reduce((sum, output) => sum + (output?.value ?? 0), 0);
    const back = await here.newAddress();
    const inputs = vin.map(({ txid, vout }) => ({ txid, vout }));
    const raw = await here.rpc<string>("createrawtransaction", inputs, [{ [back]: (total - 0.001).toFixed(8) }]);
    const signed = await here.rpc<{ hex: string }>("signrawtransactionwithwallet", raw);
    const other = await here.rpc<string>("sendrawtransaction", signed.hex);
    const reading = await waiting(node, [address]);
    expect(reading).toEqual({ head: await here.tip(), isWhole: true, transfers: [], txIds: new Set([other]) });
    await here.mine();
    const height = await here.height();
    const { transfers } = await node.readBlocks(height, height, interestIn([address, back]).interest);
    expect(transfers.map((transfer) => transfer.address)).toEqual([back]);
  });

  it("refuse a wrong password, and say so without it", async () => {
    const url = here.url.replace(here.password, "not-the-pa55word");
    const wrong = new BitcoinNode({ url, fetch, timeoutMs: 10_000 }, NETWORK);
    const fault: unknown = await wrong.tip().catch((error: unknown) => error);
    expect(fault).toMatchObject({ name: "ChainFault", retryable: false });
    expect(String(fault)).toMatch(/refused \(HTTP 401\)/);
    expect(String(fault)).not.toContain("pa55word");
  });
});
