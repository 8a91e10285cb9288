/** The withdrawal line's adapter against a real node: real pools, real receipts, real reorganisations. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deriveSigner } from "../../src/chains/evm/derived-signer.ts";
import { burnCall, gasLimitFor, transferCall } from "../../src/chains/evm/intent.ts";
import { EvmPayoutNode, type PayoutNetwork } from "../../src/chains/evm/payout-node.ts";
import { remoteSigner } from "../../src/chains/evm/remote-signer.ts";
import { readSigned } from "../../src/chains/evm/signed-transaction.ts";
import type { Call, Intent, PayoutNode, SignedTransaction, Signer } from "../../src/chains/payout.ts";
import type { Fees } from "../../src/core/fees.ts";
import { showsPayment } from "../../src/core/transfer-log.ts";
import { type Anvil, DEV_ACCOUNTS, type Hex, hex, startAnvil } from "../support/anvil.ts";
import { type Contract, deploy } from "../support/tokens.ts";

const SEED = "07".repeat(32);
const PAYEE = "0x00000000000000000000000000000000000a11ce";
const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
const FEES: Fees = { kind: "eip1559", maxFeePerGas: 50n * GWEI, maxPriorityFeePerGas: 2n * GWEI };
const NETWORK: PayoutNetwork = {
  id: "local",
  caip2: "eip155:31337",
  finality: "depth",
  reorgWindow: 3,
  payout: { kind: "nonces", maxFeeGwei: 500, feeModel: "eip1559", replaceAfterBlocks: 3, deadlineS: 600 },
};

let anvil: Anvil;
let token: Contract;

beforeAll(async () => {
  anvil = await startAnvil();
  token = await deploy(anvil, "Token", ["Token", "TKN", 6]);
  await anvil.mine(5);
});
afterAll(() => anvil.stop());

function nodeOf(change: Partial<PayoutNetwork> = {}): EvmPayoutNode {
  return new EvmPayoutNode({ url: anvil.url, fetch, timeoutMs: 10_000 }, { ...NETWORK, ...change });
}

/** A wallet of its own for each test, with one ether. */
async function wallet(name: string, wei = ETHER): Promise<Signer> {
  const signer = deriveSigner(SEED, name, { id: "local" });
  if (wei > 0n) await anvil.pay(signer.address, wei);
  return signer;
}

function intentOf(call: Call, nonce: number, change: Partial<Intent> = {}): Intent {
  const { sender, to, valueUnits, data } = call;
  return { chainId: 31_337, sender, nonce, to, valueUnits, data, gasLimit: 100_000n, fees: FEES, ...change };
}

async function signed(signer: Signer, intent: Intent): Promise<SignedTransaction> {
  const read = await readSigned(await signer.sign(intent), intent);
  if (!read.ok) throw new Error(read.problem);
  return read.signed;
}

/** A payment of native coin. */
const payment = (signer: Signer, nonce: number, change: Partial<Intent> = {}) =>
  signed(signer, intentOf(transferCall("native", signer.address, PAYEE, 1_000n), nonce, change));

/** Sends, and gives the height of the block once there is one. */
async function mined(node: PayoutNode, { txId, raw }: SignedTransaction): Promise<number> {
  expect(await node.send(raw)).toEqual({ kind: "hash", hash: txId });
  return Number((await anvil.receipt(txId as Hex)).blockNumber);
}

/** Runs while no block is made, and makes one afterwards. */
async function held<T>(run: () => Promise<T>): Promise<T> {
  await anvil.rpc("evm_setAutomine", [false]);
  try {
    return await run();
  } finally {
    await anvil.mine();
    await anvil.rpc("evm_setAutomine", [true]);
  }
}

const balance = async (address: string) => BigInt(await anvil.rpc<string>("eth_getBalance", [address, "latest"]));

describe("look", () => {
  it("follows a payment from the pool into a block and to its finality", async () => {
    const node = nodeOf();
    const signer = await wallet("follows");
    const before = await balance(signer.address);
    const { txId, raw } = await payment(signer, 0);
    const ask = () => node.look({ sender: signer.address, hashes: [txId], heights: [] });
    await held(async () => {
      expect(await node.send(raw)).toEqual({ kind: "hash", hash: txId });
      expect(await ask()).toMatchObject({ nonceLatest: 0, noncePending: 1, nonceFinal: 0, receipts: new Map() });
    });
    const after = await ask();
    const height = await anvil.height();
    const receipt = after.receipts.get(txId);
    expect(after).toMatchObject({
      head: height,
      finalHeight: height - 3,
      nonceLatest: 1,
      noncePending: 1,
      nonceFinal: 0,
    });
    expect(receipt).toMatchObject({ txId, height, success: true, logs: [] });
    expect(after.blocks).toEqual(new Map([[height, receipt?.blockHash]]));
    // What left the wallet beside the payment is the fee.
    expect(receipt?.feeUnits).toBe(before - (await balance(signer.address)) - 1_000n);
    await anvil.mine(3);
    expect(await ask()).toMatchObject({ finalHeight: height, nonceFinal: 1 });
  });

  it("B104: gives no receipt of a block that a reorganisation replaced, and shows the block that took its place", async () => {
    const node = nodeOf();
    const signer = await wallet("reorganised");
    const paying = await payment(signer, 0);
    const { txId } = paying;
    const question = { sender: signer.address, hashes: [txId], heights: [await mined(node, paying)] };
    const before = await node.look(question);
    const was = before.receipts.get(txId);
    expect(was?.height).toBe(question.heights[0]);
    await anvil.reorg(1);
    const after = await node.look(question);
    expect(after).toMatchObject({ nonceLatest: 0, receipts: new Map() });
    const found = after.blocks.get(was?.height ?? -1);
    expect(found).toMatch(/^0x[0-9a-f]{64}$/);
    expect(found).not.toBe(was?.blockHash);
    // The same bytes go in again.
    const height = await mined(node, paying);
    expect(height).toBe((was?.height ?? 0) + 1);
    expect((await node.look(question)).receipts.get(txId)?.height).toBe(height);
  });

  it("B96: tells a failed execution from a payment, and shows a token's Transfer", async () => {
    const node = nodeOf();
    const signer = await wallet("token");
    const pay = transferCall(token.address, signer.address, PAYEE, 25n);
    const failing = await signed(signer, intentOf(pay, 0));
    await mined(node, failing);
    await token.send("mint", [signer.address, 100n]);
    const paying = await signed(signer, intentOf(pay, 1));
    await mined(node, paying);
    const hashes = [failing.txId, paying.txId];
    const { receipts } = await node.look({ sender: signer.address, hashes, heights: [] });
    expect(receipts.get(failing.txId)).toMatchObject({ success: false, logs: [] });
    expect(receipts.get(failing.txId)?.feeUnits).toBeGreaterThan(0n);
    const shown = receipts.get(paying.txId);
    expect(shown?.success).toBe(true);
    const expected = { contract: token.address, from: signer.address, to: PAYEE, amountUnits: 25n };
    expect(showsPayment(shown?.logs ?? [], expected)).toBe(true);
    expect(showsPayment(shown?.logs ?? [], { ...expected, amountUnits: 24n })).toBe(false);
  });

  it("takes the chain's own tag where the network says so", async () => {
    await anvil.mine(70);
    const { head, finalHeight, nonceFinal } = await nodeOf({ finality: "tag" }).look({
      sender: DEV_ACCOUNTS[0].toLowerCase(),
      hashes: [],
      heights: [],
    });
    // anvil: 64 below the head.
    expect(finalHeight).toBe(head - 64);
    expect(nonceFinal).toBe(Number(await anvil.rpc("eth_getTransactionCount", [DEV_ACCOUNTS[0], hex(finalHeight)])));
  });

  it("holds nothing final on a chain shorter than its window", async () => {
    const look = await nodeOf({ reorgWindow: 1_000_000 }).look({ sender: PAYEE, hashes: [], heights: [] });
    expect(look).toMatchObject({ finalHeight: -1, nonceFinal: null });
  });
});

describe("send", () => {
  it("B83, B84, B93: hands on what a real pool says", async () => {
    const node = nodeOf();
    const signer = await wallet("sends");
    const first = await payment(signer, 0);
    const rival = await payment(signer, 0, { valueUnits: 1_001n });
    await held(async () => {
      expect(await node.send(first.raw)).toEqual({ kind: "hash", hash: first.txId });
      expect(await node.send(first.raw)).toMatchObject({ kind: "error", text: expect.stringMatching(/already/i) });
      expect(await node.send(rival.raw)).toMatchObject({
        kind: "error",
        text: expect.stringMatching(/replacement transaction underpriced/i),
      });
    });
    expect(await node.send(rival.raw)).toMatchObject({ kind: "error", text: expect.stringMatching(/nonce too low/i) });
    const poor = await wallet("poor", 0n);
    expect(await node.send((await payment(poor, 0)).raw)).toMatchObject({
      kind: "error",
      text: expect.stringMatching(/insufficient funds/i),
    });
    const elsewhere = await payment(signer, 1, { chainId: 1 });
    expect(await node.send(elsewhere.raw)).toMatchObject({ kind: "error", text: expect.stringMatching(/chain.?id/i) });
  });

  it("knows of a lost answer no more than that it was lost", async () => {
    const gone = new EvmPayoutNode({ url: "http://127.0.0.1:1", fetch, timeoutMs: 5_000 }, NETWORK);
    expect(await gone.send("0x00")).toMatchObject({ kind: "no_answer", status: null });
  });
});

describe("questions", () => {
  it("quotes in both models", async () => {
    const block = await anvil.rpc<{ baseFeePerGas: string }>("eth_getBlockByNumber", ["latest", false]);
    expect(await nodeOf().quote()).toEqual({
      kind: "eip1559",
      baseFee: BigInt(block.baseFeePerGas),
      priorityFee: BigInt(await anvil.rpc<string>("eth_maxPriorityFeePerGas")),
    });
    const legacy = nodeOf({ payout: { ...NETWORK.payout, feeModel: "legacy" } });
    expect(await legacy.quote()).toEqual({
      kind: "legacy",
      gasPrice: BigInt(await anvil.rpc<string>("eth_gasPrice")),
    });
  });

  it("estimates, and tells a revert from an empty wallet", async () => {
    const node = nodeOf();
    const signer = await wallet("estimates");
    expect(await node.estimate(transferCall("native", signer.address, PAYEE, 1n))).toEqual({ ok: true, gas: 21_000n });
    expect(await node.estimate(burnCall(signer.address))).toEqual({ ok: true, gas: 21_000n });
    const pay = transferCall(token.address, signer.address, PAYEE, 25n);
    expect(await node.estimate(pay)).toMatchObject({ ok: false, detail: expect.stringMatching(/revert/i) });
    await token.send("mint", [signer.address, 25n]);
    const estimate = await node.estimate(pay);
    const gasLimit = gasLimitFor(estimate.ok ? estimate.gas : 0n) ?? 0n;
    const paying = await signed(signer, intentOf(pay, 0, { gasLimit }));
    await mined(node, paying);
    const { receipts } = await node.look({ sender: signer.address, hashes: [paying.txId], heights: [] });
    expect(receipts.get(paying.txId)?.success).toBe(true);
    const tooMuch = node.estimate({ ...pay, valueUnits: 100n * ETHER });
    await expect(tooMuch).rejects.toMatchObject({ name: "ChainFault", retryable: true });
    await expect(tooMuch).rejects.toThrow(/funds/i);
  });

  it("reads balances in the order asked", async () => {
    const other = await deploy(anvil, "Token", ["Other", "OTH", 18]);
    const signer = await wallet("balances", 5n);
    await token.send("mint", [signer.address, 7n]);
    await other.send("mint", [signer.address, 2n ** 200n]);
    const node = nodeOf();
    expect(await node.balances(signer.address, [])).toEqual([5n]);
    expect(await node.balances(signer.address, [other.address, token.address])).toEqual([5n, 2n ** 200n, 7n]);
    // One that does not say hides nothing of the others.
    expect(await node.balances(signer.address, [PAYEE, token.address])).toEqual([5n, null, 7n]);
  });

  it("B84: finds who used up a nonce", async () => {
    const node = nodeOf();
    const signer = await wallet("consumed");
    const start = await anvil.height();
    const sent: { txId: string; height: number }[] = [];
    for (let nonce = 0; nonce < 5; nonce++) {
      const paying = await payment(signer, nonce);
      sent.push({ txId: paying.txId, height: await mined(node, paying) });
      await anvil.mine(nonce);
    }
    const head = await anvil.height();
    for (const [nonce, expected] of sent.entries())
      expect(await node.consumerOf(signer.address, nonce, start, head)).toEqual(expected);
    expect(await node.consumerOf(signer.address, 0, 0, head)).toEqual(sent[0]);
    const last = sent[4]?.height ?? 0;
    expect(await node.consumerOf(signer.address, 4, last, last)).toEqual(sent[4]);
    // Free as yet, and used up below the range.
    expect(await node.consumerOf(signer.address, 5, start, head)).toBeNull();
    expect(await node.consumerOf(signer.address, 0, last, head)).toBeNull();
  });
});

describe("a remote signer", () => {
  it("that is a real one signs both fee models, and its bytes are mined", async () => {
    const address = DEV_ACCOUNTS[3].toLowerCase();
    const signer = remoteSigner({ url: anvil.url, address, token: null, fetch, timeoutMs: 10_000 });
    const node = nodeOf();
    const gasPrice = 40n * GWEI;
    for (const [nonce, fees] of [FEES, { kind: "legacy", gasPrice } as const].entries()) {
      const paying = await payment(signer, nonce, { fees });
      await mined(node, paying);
      const { receipts } = await node.look({ sender: address, hashes: [paying.txId], heights: [] });
      expect(receipts.get(paying.txId)?.success).toBe(true);
    }
  });
});
