/** Deposits on Bitcoin through the real Worker and adapter: from the pool to settlement, replaced, reorganised, disputed. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { addressOfScript } from "../../src/core/bitcoin-address.ts";
import { blockHex } from "../support/bitcoin-block.ts";
import { BitcoinNodeDouble } from "../support/bitcoin-double.ts";
import { testKey } from "../support/bitcoin-faucet.ts";
import {
  BitcoinMerchant,
  chain,
  evictScanner,
  inScanner,
  mineAndPoll,
  NETWORK,
  node,
  poll,
  regtest,
  serveBitcoin,
  startBitcoin,
} from "./bitcoin-line.ts";
import { checkBooks, checkClaims, quiet } from "./line.ts";

const BTC = 100_000_000n;
const PAYER = testKey("payer");

/** New in each test: an address has one tenant. */
let forms: readonly string[];
let W: string;
let merchant: BitcoinMerchant;
let tests = 0;

/** One address of each form. P2SH and P2WSH stand for scripts that nobody here can spend. */
function newAddresses(): string[] {
  const key = testKey(`merchant ${++tests}`);
  const hash = (bytes: number) => tests.toString(16).padStart(2 * bytes, "5c");
  const scripts = [key.script, key.legacyScript, key.taprootScript, `a914${hash(20)}87`, `0020${hash(32)}`];
  return scripts.map((script) => addressOfScript(regtest.addresses, script) ?? "");
}

beforeEach(async () => {
  await startBitcoin();
  forms = newAddresses();
  [W = ""] = forms;
  merchant = await BitcoinMerchant.signUp();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await checkBooks(merchant);
  await checkClaims(merchant);
});

const standing = async () =>
  (await merchant.deposits()).map((d) => `${d.transfer_index} ${d.amount} ${d.status}`).sort();

/** A payment of 0.1 to W that waits, and was told of. */
async function waits() {
  await merchant.watch(W);
  const tx = chain.pay(W, BTC / 10n);
  await poll();
  expect(await merchant.told()).toBe("pending");
  return tx;
}

describe("a payment", () => {
  it("to each form of address waits, is mined, is counted and is settled", async () => {
    const [first, ...others] = forms;
    for (const address of forms) await merchant.watch(address);
    const outputs = others.map((to, i) => ({ to, amount: BTC * BigInt(i + 2) }));
    const tx = chain.pay(String(first), BTC, { outputs });
    await poll();
    const seen = await merchant.deposits();
    expect(seen.map((d) => d.address).sort()).toEqual([...forms].sort());
    for (const deposit of seen) {
      const none = { block_height: null, block_hash: null, confirmations: 0, confirmations_required: 3 };
      expect(deposit).toMatchObject({ network: NETWORK, asset: "BTC", status: "pending", tx_id: tx.txid, ...none });
    }
    await mineAndPoll();
    expect((await merchant.deposits()).map((d) => [d.id, d.status, d.block_height, d.confirmations])).toEqual(
      seen.map((d) => [d.id, "pending", 111, 1]),
    );
    expect((await merchant.deposits())[0]?.block_hash).toBe(chain.at(111)?.hash);
    await mineAndPoll(2);
    expect(await standing()).toEqual([1, 2, 3, 4, 5].map((n) => `out:${n - 1} ${n} confirmed`));
    expect(await merchant.available()).toBe(15n * BTC);
    chain.mine(141);
    await poll();
    expect((await standing()).join()).not.toContain("settled");
    await mineAndPoll();
    expect(await standing()).toEqual([1, 2, 3, 4, 5].map((n) => `out:${n - 1} ${n} settled`));
    expect((await merchant.told()).split(" ").length).toBe(15);
  });

  it("B72 every output is a deposit of its own; data and nothing are none", async () => {
    const [, , W2 = ""] = forms;
    await merchant.watch(W);
    await merchant.watch(W2);
    const outputs = [
      { to: W, amount: (BTC * 3n) / 10n },
      { to: W2, amount: (BTC * 2n) / 10n },
      { to: "6a0568656c6c6f", amount: 0n },
      { to: W, amount: 0n },
    ];
    chain.put(chain.pay(W, (BTC * 4n) / 10n, { outputs, keepBack: true }));
    await poll();
    const expected = (status: string) => [`out:0 0.4 ${status}`, `out:1 0.3 ${status}`, `out:2 0.2 ${status}`];
    expect(await standing()).toEqual(expected("pending"));
    await mineAndPoll(3);
    expect(await standing()).toEqual(expected("confirmed"));
    expect(await merchant.available()).toBe((BTC * 9n) / 10n);
  });

  it("seen first in a block, and by nobody in a pool", async () => {
    await merchant.watch(W);
    chain.pay(W, BTC);
    chain.mine();
    await poll();
    expect(await merchant.deposit()).toMatchObject({ status: "pending", block_height: 111, confirmations: 1 });
  });

  it("B73 of a block's reward: not at 100 confirmations, at 101", async () => {
    await merchant.watch(W);
    chain.mine(1, { coinbaseTo: W });
    await poll();
    expect(await merchant.deposit()).toMatchObject({ transfer_index: "out:0", confirmations_required: 101 });
    chain.mine(99);
    await poll();
    expect(await merchant.deposit()).toMatchObject({ status: "pending", confirmations: 100 });
    expect(await merchant.available()).toBe(0n);
    await mineAndPoll();
    expect(await merchant.deposit()).toMatchObject({ status: "confirmed", confirmations: 101 });
  });

  it("of the past is found by a start height, the reward's depth with it", async () => {
    chain.mine(1, { coinbaseTo: W });
    chain.pay(W, BTC);
    chain.mine(5);
    await merchant.watch(W, { start_height: 100 });
    await poll(3);
    const found = (await merchant.deposits()).map((d) => `${d.block_height} ${d.confirmations_required} ${d.status}`);
    expect(found.sort()).toEqual(["111 101 pending", "112 3 confirmed"]);
  });
});

describe("B69 replacement", () => {
  it("by one that does not pay: dropped once, never confirmed", async () => {
    const tx = await waits();
    const other = chain.replace(tx, { feeRate: 50n, outputs: [{ to: PAYER.address, amount: BTC / 20n }] });
    await poll(2);
    expect(await merchant.told()).toBe("pending dropped");
    await mineAndPoll(10);
    expect(chain.blockOf(other.txid)?.height).toBe(111);
    expect(await merchant.told()).toBe("pending dropped");
    expect(await merchant.deposit()).toMatchObject({ status: "dropped", block_height: null });
  });

  it("by one that pays too: a deposit of its own", async () => {
    const tx = await waits();
    const raised = chain.replace(tx, { feeRate: 50n });
    await poll();
    await mineAndPoll(3);
    expect([await merchant.toldOf(tx.txid), await merchant.toldOf(raised.txid)]).toEqual([
      "pending dropped",
      "pending confirmed",
    ]);
    expect(await merchant.available()).toBe(BTC / 10n);
  });

  it("that nobody saw before it was mined", async () => {
    const tx = await waits();
    const other = chain.replace(tx, { outputs: [{ to: PAYER.address, amount: BTC / 20n }], keepBack: true });
    chain.mine(1, { include: [other] });
    await poll();
    expect(await merchant.told()).toBe("pending dropped");
  });

  it("a node that starts again with an empty pool, not loaded yet, drops nothing", async () => {
    const tx = await waits();
    chain.forget();
    node.facts.poolLoaded = false;
    await poll(3);
    await evictScanner();
    await poll();
    expect(await merchant.told()).toBe("pending");
    chain.offer(tx);
    node.facts.poolLoaded = true;
    await poll(2);
    expect(await merchant.told()).toBe("pending");
    await mineAndPoll(3);
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("a node that warms up says nothing, and nothing is taken from it", async () => {
    await waits();
    node.warmingUp = "Loading block index…";
    await poll(3);
    node.warmingUp = null;
    await mineAndPoll(3);
    expect(await merchant.told()).toBe("pending confirmed");
  });
});

describe("reorganisations", () => {
  it("B74 confirmed, reorganised away and spent elsewhere: reverted, and nothing comes back", async () => {
    const tx = await waits();
    const cutOff = chain.fork();
    await mineAndPoll(3);
    expect(await merchant.available()).toBe(BTC / 10n);
    cutOff.mine(1, {
      include: [cutOff.replace(tx, { outputs: [{ to: PAYER.address, amount: BTC / 20n }], keepBack: true })],
    });
    cutOff.mine(3);
    chain.join(cutOff);
    await poll(2);
    expect(await merchant.told()).toBe("pending confirmed reverted");
    expect(await merchant.available()).toBe(0n);
    await mineAndPoll(5);
    expect(await merchant.told()).toBe("pending confirmed reverted");
  });

  it("confirmed, put back into the pool and mined again: the same deposit in its next round", async () => {
    const tx = await waits();
    await mineAndPoll(3);
    const { id } = await merchant.deposit();
    chain.reorg(3);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted pending");
    expect(await merchant.deposit()).toMatchObject({ id, status: "pending", epoch: 2, block_height: null });
    expect(chain.pool.entry(tx.txid)).toBeDefined();
    await mineAndPoll(3);
    expect(await merchant.told()).toBe("pending confirmed reverted pending confirmed");
    expect(await merchant.deposit()).toMatchObject({ id, status: "confirmed", epoch: 2 });
    expect(await merchant.available()).toBe(BTC / 10n);
  });

  it("far behind, a block that the next one contradicts is not deep: two nodes behind one address, one on a dead branch", async () => {
    await merchant.watch(W);
    await mineAndPoll();
    const dead = chain.fork();
    dead.pay(W, BTC);
    const at = dead.head + 1;
    const block = dead.mine();
    chain.mine(200);
    const isDead = ([asked]: readonly unknown[]) => asked === at || asked === block.hash;
    node.on("getblockhash", (params, honest) => (isDead(params) ? block.hash : honest()));
    node.on("getblockheader", (params, honest) => (isDead(params) ? block.header : honest()));
    node.on("getblock", (params, honest) => (isDead(params) ? blockHex(block) : honest()));
    await poll(2);
    expect(await merchant.told()).toBe("pending");
    expect(await merchant.available()).toBe(0n);
    node.honestAgain();
    await poll(2);
    expect(await merchant.told()).toBe("pending dropped");
    expect(await inScanner((_, sql) => sql.exec("SELECT status, scanned_to FROM scanner").one())).toEqual({
      status: "ok",
      scanned_to: chain.head,
    });
  });

  it("mined in another block of the longer branch: nothing to tell", async () => {
    const tx = await waits();
    await mineAndPoll(3);
    chain.reorg(3, { keep: [tx], newBlocks: 4 });
    await poll(2);
    expect(await merchant.told()).toBe("pending confirmed");
    expect((await merchant.deposit()).block_hash).toBe(chain.at(111)?.hash);
  });

  it("a branch as long as ours proves nothing", async () => {
    await waits();
    await mineAndPoll(3);
    chain.reorg(3, { newBlocks: 3, pool: "drop" });
    await poll(2);
    expect(await merchant.told()).toBe("pending confirmed");
    await mineAndPoll();
    expect(await merchant.told()).toBe("pending confirmed reverted");
  });

  it("a reward that is reorganised away is reverted, and waits in no pool", async () => {
    await merchant.watch(W);
    chain.mine(1, { coinbaseTo: W });
    chain.mine(100);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed");
    chain.reorg(101);
    await poll(3);
    expect(await merchant.told()).toBe("pending confirmed reverted");
  });
});

describe("two providers", () => {
  let second: BitcoinNodeDouble;
  beforeEach(async () => {
    second = new BitcoinNodeDouble(chain.fork());
    await serveBitcoin(node, second);
  });

  it("with different pools: what one of them still has is not gone", async () => {
    const tx = await waits();
    second.chain.offer(tx);
    chain.forget();
    await poll(3);
    expect(await merchant.told()).toBe("pending");
    second.chain.forget();
    await poll();
    expect(await merchant.told()).toBe("pending dropped");
    chain.offer(tx);
    await mineAndPoll(3);
    expect(await merchant.told()).toBe("pending dropped pending confirmed");
  });

  it("on different branches: the longer one counts, and each conflict ends with one of the two payments", async () => {
    quiet("warn", "error");
    const tx = await waits();
    const [, elsewhere = ""] = forms;
    const other = second.chain.replace(second.chain.submit(tx), {
      feeRate: 50n,
      outputs: [{ to: elsewhere, amount: BTC / 20n }],
    });
    await merchant.watch(elsewhere);
    await mineAndPoll(3);
    expect(await merchant.toldOf(tx.txid)).toBe("pending confirmed");
    second.chain.mine(4);
    await poll(12);
    expect(await merchant.toldOf(tx.txid)).toBe("pending confirmed reverted");
    expect(await merchant.toldOf(other.txid)).toMatch(/^pending confirmed$/);
    expect(await merchant.available()).toBe(other.outputs[0]?.amount);
    chain.join(second.chain);
    await mineAndPoll(2);
    expect(await merchant.available()).toBe(other.outputs[0]?.amount);
  });

  it("one is out of reach: the other one serves blocks and pool", async () => {
    node.down = true;
    await merchant.watch(W);
    second.chain.pay(W, BTC);
    await poll();
    expect(await merchant.told()).toBe("pending");
    second.chain.mine(3);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed");
  });
});

it("nobody's password is in what the scanner keeps or says", async () => {
  await waits();
  node.down = true;
  await poll(2);
  const kept = await inScanner(async (object, sql) =>
    JSON.stringify([await object.status(), sql.exec("SELECT * FROM scanner").toArray()]),
  );
  expect(kept).not.toContain("pass");
});
