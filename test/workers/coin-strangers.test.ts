/** Transactions that are not ours, or no longer look like it: by the coins they spend they are told apart. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Page, WithdrawalView } from "../../src/core/views.ts";
import { chain, node, poll, regtest } from "./bitcoin-line.ts";
import { checkCoinPayouts, expectStrangers, receivedBy } from "./coin-checks.ts";
import { BTC, CoinMerchant, newBitcoinAddress, startCoins, WINDOW } from "./coin-line.ts";
import { quiet, time } from "./line.ts";

beforeEach(async () => {
  expectStrangers();
  await startCoins();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const inputsOf = (tx: { inputs: readonly { txid: string; vout: number }[] }) =>
  tx.inputs.map(({ txid, vout }) => `${txid}:${vout}`);

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

  it.each([
    ["for good", false],
    ["and is mined again", true],
  ])(
    "a top-up that is double spent %s: what its coin was to pay is not given back while it may return",
    async (_how, returns) => {
      quiet("warn", "error");
      const merchant = await CoinMerchant.start({ coins: [] });
      const topUp = chain.pay(merchant.wallet, 2n * BTC);
      const rival = chain.replace(topUp, { outputs: [{ to: newBitcoinAddress(), amount: BTC }], keepBack: true });
      await merchant.mineAndPoll(3);
      const { id, destination } = await merchant.withdraw();
      const { inputs, raw } = await merchant.last();
      expect(inputs.map(({ txid }) => txid)).toEqual([topUp.txid]);
      chain.reorg(3, { newBlocks: 4, keep: [rival], pool: "drop" });
      const late = async () => {
        time.now += regtest.payout.deadlineS * 1_000;
        await poll(1);
        await merchant.drive(1, 16_000);
        expect(await merchant.steps(id)).toMatch(/ deadline$/);
        expect(await merchant.funds()).toBe(`${9n * BTC} ${BTC} 0`);
      };
      await late();
      expect(await merchant.act(id, "resolve", { outcome: "failed", evidence: "the top-up is gone" })).toBe("200");
      await merchant.mineAndDrive(1);
      expect(await merchant.steps(id)).toMatch(/ spending_without_it$/);
      if (returns) {
        chain.reorg(5, { keep: [topUp] });
        await merchant.rest();
        // Its transaction is not the payment, which is valid again as well: the chain took one of them.
        expect([await merchant.state(id), receivedBy(destination)]).toEqual(["failed", []]);
        expect(await merchant.funds()).toBe(`${10n * BTC} 0 0`);
      } else {
        await merchant.mineAndDrive(WINDOW + 1);
        await late();
        expect((await merchant.signed()).map((one) => one.raw)).toEqual([raw]);
        expect(await merchant.hotWallet()).toMatchObject({ status: "active" });
        chain.pay(merchant.wallet, 2n * BTC);
        await merchant.mineAndDrive(3);
        const next = await merchant.withdraw();
        await merchant.mineAndDrive(3);
        expect(await merchant.state(next.id)).toBe("confirmed");
      }
      await checkCoinPayouts(merchant);
    },
  );

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
