/** Attempts that replace others, and what a chain may make of them: whichever is mined, it is one payment. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { chain, node, poll, regtest } from "./bitcoin-line.ts";
import { checkCoinPayouts, expectStrangers, receivedBy } from "./coin-checks.ts";
import { BTC, CoinMerchant, startCoins } from "./coin-line.ts";
import { quiet, time } from "./line.ts";

beforeEach(async () => {
  expectStrangers();
  await startCoins();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const BLOCKS = 5;

/** Blocks that take nothing from the pool, and a look after each. */
async function pass(merchant: CoinMerchant, blocks: number): Promise<void> {
  for (let i = 0; i < blocks; i++) {
    chain.mine(1, { include: [] });
    await poll();
    await merchant.drive(1, 16_000);
  }
}

const inputsOf = (tx: { inputs: readonly { txid: string; vout: number }[] }) =>
  tx.inputs.map(({ txid, vout }) => `${txid}:${vout}`);

describe("replacements", () => {
  it("B90: not mined in time, it is replaced by one that offers more, and spends the same coin", async () => {
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.withdraw();
    await pass(merchant, BLOCKS);
    await merchant.drive(1, 16_000);
    const [first, second] = await merchant.signed();
    if (first === undefined || second === undefined) throw new Error("expected two attempts");
    expect(inputsOf(second)[0]).toBe(inputsOf(first)[0]);
    expect(second.outputs[0]).toEqual(first.outputs[0]);
    expect(chain.pool.txs.map(({ txid }) => txid)).toEqual([second.txid]);
    await merchant.rest();
    const view = await merchant.withdrawal(id);
    expect(view.attempts.map(({ status }) => status)).toEqual(["void", "mined"]);
    await checkCoinPayouts(merchant);
  });

  it("B90: the older attempt is mined: it completes the withdrawal with its own fee", async () => {
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.withdraw();
    const first = await merchant.last();
    expect(await merchant.act(id, "speed-up")).toBe("200");
    const [, second] = await merchant.signed();
    expect(second).toBeDefined();
    chain.mine(1, { include: [first] });
    await merchant.mineAndDrive(3);
    const view = await merchant.withdrawal(id);
    expect([view.state, view.tx_id]).toEqual(["confirmed", first.txid]);
    await merchant.rest();
    expect((await merchant.withdrawal(id)).attempts.map(({ status }) => status)).toEqual(["mined", "void"]);
    await checkCoinPayouts(merchant);
  });

  it("B90 B104: confirmed by one attempt, reorganised, mined by the other: one payment and one fee", async () => {
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.withdraw();
    const first = await merchant.last();
    await merchant.act(id, "speed-up");
    const second = await merchant.last();
    chain.mine(1, { include: [first] });
    await merchant.mineAndDrive(2);
    expect(await merchant.state(id)).toBe("confirmed");
    chain.reorg(3, { newBlocks: 4, keep: [second] });
    await merchant.drive(2, 16_000);
    expect((await merchant.withdrawal(id)).tx_id).toBe(second.txid);
    await merchant.rest();
    const fee = 10n * BTC - second.outputs.reduce((sum, { amount }) => sum + amount, 0n);
    expect((await merchant.withdrawal(id)).fee_units).toBe(fee.toString());
    const entries = (await merchant.entries()).filter(({ account }) => account === "sluice:fees");
    expect(entries.map(({ amount_units }) => amount_units)).toEqual([fee.toString()]);
    await checkCoinPayouts(merchant);
  });

  it("takes one more coin when change does not cover the fee; the coin it did not need comes back", async () => {
    const merchant = await CoinMerchant.start({ coins: [BTC + 2_000n, BTC / 2n] });
    node.facts.estimate = 10_000n;
    const { id } = await merchant.withdraw({ amount: "1" });
    const first = await merchant.last();
    expect(first.inputs).toHaveLength(1);
    node.facts.estimate = 100_000n;
    await merchant.act(id, "speed-up");
    await merchant.drive(3, 16_000);
    const second = await merchant.last();
    expect(second.inputs).toHaveLength(2);
    expect(inputsOf(second)[0]).toBe(inputsOf(first)[0]);
    chain.mine(1, { include: [first] });
    await merchant.rest();
    expect((await merchant.withdrawal(id)).tx_id).toBe(first.txid);
    expect(await merchant.rows("SELECT status FROM spend_inputs")).toEqual([{ status: "spent" }]);
    const next = await merchant.withdraw({ amount: "0.25" });
    await merchant.rest();
    expect(await merchant.state(next.id)).toBe("confirmed");
    await checkCoinPayouts(merchant);
  });

  it("what spends the change of an attempt that another one has replaced for good fails, and its funds come back", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start({ coins: [9n * BTC] });
    const { id } = await merchant.withdraw();
    const first = await merchant.last();
    await merchant.act(id, "speed-up");
    const second = await merchant.last();
    chain.mine(1, { include: [first] });
    await merchant.mineAndDrive(2);
    const next = await merchant.withdraw();
    expect((await merchant.last()).inputs[0]?.txid).toBe(first.txid);
    chain.reorg(3, { newBlocks: 4, keep: [second] });
    await merchant.rest();
    expect([await merchant.state(id), await merchant.state(next.id)]).toEqual(["confirmed", "failed"]);
    expect(await merchant.steps(next.id)).toBe("coins_chosen accepted input_never_made");
    expect([receivedBy(next.destination), await merchant.funds()]).toEqual([[], `${9n * BTC} 0 ${BTC}`]);
    const again = await merchant.withdraw();
    await merchant.rest();
    expect(await merchant.state(again.id)).toBe("confirmed");
    await checkCoinPayouts(merchant);
  });

  it("waits for a lower fee above the cap, and is replaced up to it", async () => {
    const merchant = await CoinMerchant.start();
    node.facts.estimate = BigInt(regtest.payout.maxFeeRate) * 1_000n;
    const { id } = await merchant.withdraw();
    expect((await merchant.withdrawal(id)).waiting_for).toBe("lower_fee");
    node.facts.estimate = 5_000n;
    await merchant.drive(1, 16_000);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.rest();
    await checkCoinPayouts(merchant);
  });
});

describe("a person's turn", () => {
  it("resolved as failed, the next attempt pays all but that one, and releases it only when it is final", async () => {
    quiet("warn");
    const merchant = await CoinMerchant.start();
    node.warmingUp = "Loading block index…";
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push((await merchant.withdraw({ amount: "1" })).id);
    node.warmingUp = null;
    await merchant.drive(2, 16_000);
    const first = await merchant.last();
    expect(first.outputs).toHaveLength(4);
    time.now += regtest.payout.deadlineS * 1_000;
    await merchant.drive(1, 16_000);
    const [gone = "", ...others] = ids;
    expect(await merchant.state(gone)).toBe("manual_review");
    expect(await merchant.act(gone, "resolve", { outcome: "failed", evidence: "called off" })).toBe("200");
    await merchant.drive(2, 16_000);
    const second = await merchant.last();
    expect(second.outputs).toHaveLength(3);
    expect(inputsOf(second)[0]).toBe(inputsOf(first)[0]);
    await merchant.mineAndDrive(3);
    expect(await merchant.state(gone)).toBe("confirmation_tracking");
    await merchant.rest();
    expect(await merchant.steps(gone)).toMatch(/deadline spending_without_it input_spent_without_it$/);
    for (const id of others) expect(await merchant.state(id)).toBe("confirmed");
    expect((await merchant.withdrawal(gone)).attempts.map(({ kind }) => kind)).toEqual(["payment", "burn"]);
    expect(await merchant.funds()).toBe(`${8n * BTC} 0 ${2n * BTC}`);
    await checkCoinPayouts(merchant);
  });

  it("without anybody left everything goes back to the wallet, and it is released when that is final", async () => {
    quiet("warn");
    const merchant = await CoinMerchant.start();
    const { id, destination } = await merchant.withdraw();
    time.now += regtest.payout.deadlineS * 1_000;
    await merchant.drive(1, 16_000);
    await merchant.act(id, "resolve", { outcome: "failed", evidence: "called off" });
    await merchant.drive(2, 16_000);
    const burn = await merchant.last();
    await merchant.mineAndDrive(3);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.rest();
    expect([await merchant.state(id), receivedBy(destination)]).toEqual(["failed", []]);
    expect(await merchant.funds()).toBe(`${10n * BTC} 0 0`);
    const fee = 10n * BTC - burn.outputs.reduce((sum, { amount }) => sum + amount, 0n);
    const entries = (await merchant.entries()).filter(({ account }) => account === "sluice:fees");
    expect(entries.map(({ amount_units }) => amount_units)).toEqual([fee.toString()]);
    await checkCoinPayouts(merchant);
  });

  it("without anybody left, the payment that is mined instead wins", async () => {
    quiet("warn");
    const merchant = await CoinMerchant.start();
    const { id, destination } = await merchant.withdraw();
    const first = await merchant.last();
    time.now += regtest.payout.deadlineS * 1_000;
    await merchant.drive(1, 16_000);
    await merchant.act(id, "resolve", { outcome: "failed", evidence: "called off" });
    await merchant.drive(2, 16_000);
    expect((await merchant.last()).outputs).toHaveLength(1);
    chain.mine(1, { include: [first] });
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    expect(receivedBy(destination)).toEqual([BTC]);
    await checkCoinPayouts(merchant);
  });

  it("of two that share a transaction one is called paid and the other failed: the next attempt pays the one alone", async () => {
    quiet("warn");
    const merchant = await CoinMerchant.start();
    node.warmingUp = "Loading block index…";
    const paid = await merchant.withdraw();
    const gone = await merchant.withdraw();
    node.warmingUp = null;
    await merchant.drive(2, 16_000);
    const { txid } = await merchant.last();
    time.now += regtest.payout.deadlineS * 1_000;
    await merchant.drive(1, 16_000);
    expect(await merchant.act(paid.id, "resolve", { outcome: "confirmed", evidence: txid })).toBe("200");
    expect(await merchant.act(gone.id, "resolve", { outcome: "failed", evidence: "called off" })).toBe("200");
    await merchant.drive(2, 16_000);
    await merchant.rest();
    expect(await merchant.state(gone.id)).toBe("failed");
    expect([receivedBy(paid.destination), receivedBy(gone.destination)]).toEqual([[BTC], []]);
    expect(await merchant.funds()).toBe(`${9n * BTC} 0 ${BTC}`);
    await checkCoinPayouts(merchant);
  });

  it("resolved as confirmed needs evidence that names an attempt", async () => {
    quiet("warn");
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.withdraw();
    time.now += regtest.payout.deadlineS * 1_000;
    await merchant.drive(1, 16_000);
    const resolve = (evidence: string) => merchant.act(id, "resolve", { outcome: "confirmed", evidence });
    expect(await resolve("somebody said so")).toBe("409 illegal_transition");
    expect(await resolve(`seen: ${(await merchant.last()).txid}`)).toBe("200");
    await merchant.rest();
    expect(await merchant.signed()).toHaveLength(1);
    await checkCoinPayouts(merchant);
  });
});
