/** Attempts that replace others, and what a chain may make of them: whichever is mined, it is one payment. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Page, WithdrawalView } from "../../src/core/views.ts";
import { type BitcoinNodeDouble, CoreError } from "../support/bitcoin-double.ts";
import { chain, node, poll, regtest } from "./bitcoin-line.ts";
import {
  BTC,
  CoinMerchant,
  checkCoinPayouts,
  expectStrangers,
  newBitcoinAddress,
  nodes,
  receivedBy,
  startCoins,
} from "./coin-line.ts";
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

  it("without anybody left everything goes back to the wallet; the payment that is mined instead wins", async () => {
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

describe("what is not ours", () => {
  it("a stranger who spends the coin stops the wallet; a person decides, and it is given back when that is final", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.withdraw();
    const [pin] = (await merchant.last()).inputs;
    if (pin === undefined) throw new Error("no input");
    const theirs = await merchant.foreign([pin], BTC);
    chain.forget();
    chain.mine(1, { include: [theirs] });
    expectStrangers(theirs.txid);
    await merchant.drive(1, 16_000);
    expect(await merchant.hotWallet()).toMatchObject({ status: "stopped" });
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.mineAndDrive(2);
    expect(await merchant.steps(id)).toMatch(/input_spent_by_another$/);
    const fail = () => merchant.act(id, "resolve", { outcome: "failed", evidence: "stolen" });
    await merchant.mineAndDrive(5);
    expect(await merchant.rows("SELECT status FROM spends")).toEqual([{ status: "final" }]);
    expect(await fail()).toBe("200");
    expect(await merchant.funds()).toBe(`${10n * BTC} 0 0`);
    await checkCoinPayouts(merchant);
  });

  it("a stranger's transaction in the pool stops the wallet and asks a person", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start({ coins: [5n * BTC] });
    const coins = await merchant.rows<{ tx_id: string; vout: number }>("SELECT tx_id, vout FROM coins");
    const theirs = await merchant.foreign(
      coins.map(({ tx_id, vout }) => ({ txid: tx_id, vout })),
      BTC,
    );
    // The node tells nothing of its pool when it is asked for coins: the line finds out when it sends.
    node.on(
      "gettxout",
      ([txid, vout], honest) => (honest() ?? node.honest("gettxout", [txid, vout, false])) as unknown,
    );
    chain.submit(theirs);
    const { id } = await merchant.withdraw();
    expect(await merchant.steps(id)).toBe("coins_chosen input_held_by_another");
    expect(await merchant.hotWallet()).toMatchObject({ status: "stopped" });
  });

  it("an id that was changed on the way is still ours", async () => {
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.withdraw();
    const tx = await merchant.last();
    await merchant.mineAndDrive(1);
    // As if the bytes had been rewritten: the same coins, the same outputs, another name.
    await merchant.inside((_, sql) => {
      sql.exec("UPDATE spend_attempts SET tx_id = ?", "ab".repeat(32));
      sql.exec(
        "UPDATE spends SET mined_tx_id = NULL, mined_height = NULL, mined_block_hash = NULL, mined_attempt = NULL",
      );
    });
    await merchant.mineAndDrive(2);
    const view = await merchant.withdrawal(id);
    expect([view.state, view.tx_id, view.attempts[0]?.tx_id]).toEqual(["confirmed", tx.txid, tx.txid]);
    const found = await merchant.get<Page<WithdrawalView>>(`/v1/withdrawals?tx_id=${tx.txid}`);
    expect(found.data.map((one) => one.id)).toEqual([id]);
  });

  it("a double spend of the coin in a reorganisation takes the confirmation back, and a person decides", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    const { id, destination } = await merchant.withdraw();
    const [pin] = (await merchant.last()).inputs;
    if (pin === undefined) throw new Error("no input");
    await merchant.mineAndDrive(3);
    expect(await merchant.state(id)).toBe("confirmed");
    const theirs = await merchant.foreign([pin], BTC);
    chain.reorg(3, { newBlocks: 4, keep: [theirs], pool: "drop" });
    expectStrangers(theirs.txid);
    await merchant.drive(2, 16_000);
    expect(await merchant.steps(id)).toMatch(/confirmed_on_chain reorganised input_spent_by_another$/);
    expect(receivedBy(destination)).toEqual([]);
    expect((await merchant.funds()).split(" ")[1]).toBe(BTC.toString());
    await checkCoinPayouts(merchant);
  });

  it("an input beside the pinned one that is lost is left out of the next attempt", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start({ coins: [BTC, BTC, BTC] });
    const { id } = await merchant.withdraw({ amount: "1.5" });
    const first = await merchant.last();
    expect(first.inputs).toHaveLength(2);
    const [, other] = first.inputs;
    if (other === undefined) throw new Error("no second input");
    const theirs = await merchant.foreign([other], BTC / 2n);
    chain.forget();
    chain.mine(1, { include: [theirs] });
    expectStrangers(theirs.txid);
    await merchant.drive(3, 16_000);
    const second = await merchant.last();
    expect(inputsOf(second)[0]).toBe(inputsOf(first)[0]);
    expect(inputsOf(second)).not.toContain(`${other.txid}:${other.vout}`);
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    await checkCoinPayouts(merchant);
  });
});

describe("what a node says to a send", () => {
  it.each([
    [-25, "bad-txns-inputs-missingorspent", "nonce_consumed"],
    [-26, "min relay fee not met, 10 < 141", "fee_too_low"],
    [-26, "some policy nobody knows", "unknown"],
    [-27, "Transaction outputs already in utxo set", "already_known"],
    [-28, "Loading block index…", "provider_unavailable"],
  ])("%i %s releases nothing, and is paid once in the end", async (code, text, outcome) => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    node.next("sendrawtransaction", 1, () => {
      throw new CoreError(code, text);
    });
    const { id } = await merchant.withdraw();
    expect((await merchant.withdrawal(id)).attempts[0]?.outcome).toBe(outcome);
    expect((await merchant.funds()).split(" ")[1]).toBe(BTC.toString());
    await merchant.drive(3, 31_000);
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    await checkCoinPayouts(merchant);
  });

  it("no answer: the same bytes again, and no second payment", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    node.loseAnswers("sendrawtransaction", 1);
    const { id } = await merchant.withdraw();
    expect(await merchant.state(id)).toBe("broadcast_pending");
    await merchant.drive(1, 31_000);
    expect(await merchant.steps(id)).toBe("coins_chosen accepted");
    expect(await merchant.signed()).toHaveLength(1);
    await merchant.rest();
    await checkCoinPayouts(merchant);
  });

  it("a second provider that knows nothing holds the confirmation back, and nothing else", async () => {
    quiet("warn", "error");
    await startCoins(2);
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.withdraw();
    const other = nodes[1] as BitcoinNodeDouble;
    other.chain = chain.fork();
    await merchant.mineAndDrive(3);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    other.chain = chain;
    await merchant.drive(1, 16_000);
    expect(await merchant.state(id)).toBe("confirmed");
    await merchant.rest();
    await checkCoinPayouts(merchant);
  });

  it("an amount that no node relays is refused", async () => {
    const merchant = await CoinMerchant.start();
    const answer = await merchant.ask({ amount: "0.00000200", destination: newBitcoinAddress() });
    expect(answer.status).toBe(422);
  });
});
