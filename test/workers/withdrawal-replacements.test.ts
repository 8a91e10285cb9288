/**
 * Replacements, and what the chain makes of them: every attempt is followed, one is paid, and the chain has the last word.
 */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newAddress } from "../support/model-chain.ts";
import { chain, quiet } from "./line.ts";
import { checkPayouts, ETH, FINAL_BLOCKS, PayingMerchant, provider, startPayouts, wallets } from "./payout-line.ts";

const TOK = newAddress();

beforeEach(() => startPayouts());
afterEach(() => {
  vi.restoreAllMocks();
});

describe("replacements", () => {
  it("B90 B93: every attempt is followed; the oldest is mined and completes it with its own fee", async () => {
    const merchant = await PayingMerchant.start();
    // 2 * 5 + 1: a maximum of 11 wei and a tip of 1, where an integer eighth is nothing.
    Object.assign(wallets, { baseFee: 5n, tip: 1n });
    const { id } = await merchant.withdraw();
    for (let i = 0; i < 10; i++) {
      chain.grow(1);
      await merchant.drive();
    }
    const [first, second, third, ...more] = await merchant.signed();
    expect(more).toEqual([]);
    if (first === undefined || third === undefined) throw new Error("expected three attempts");
    expect([first, second].map((tx) => [tx?.maxFee, tx?.tip])).toEqual([
      [11n, 1n],
      [13n, 2n],
    ]);
    expect(third.maxFee * 10n >= 13n * 11n && third.tip * 10n >= 2n * 11n).toBe(true);
    for (const tx of [second, third]) {
      expect(tx).toMatchObject({ nonce: first.nonce, to: first.to, value: first.value, data: first.data });
    }
    wallets.mineOnly(first);
    await merchant.rest();
    const done = await merchant.withdrawal(id);
    expect(done).toMatchObject({ state: "confirmed", tx_id: first.hash, fee_units: String(21_000 * 6) });
    expect(done.attempts.map(({ status }) => status)).toEqual(["mined", "void", "void"]);
    await checkPayouts(merchant);
  });

  it("speed-up signs one more at once, of the same nonce, and either may be mined", async () => {
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    expect(await merchant.act(id, "speed-up")).toBe("200");
    await merchant.drive();
    const signed = await merchant.signed();
    expect(signed.map(({ nonce }) => nonce)).toEqual([0, 0]);
    await merchant.rest();
    expect((await merchant.withdrawal(id)).tx_id).toBe(signed[1]?.hash);
    await checkPayouts(merchant);
  });

  it("B93: a replacement that is underpriced all the same is followed by one that offers more", async () => {
    quiet("warn");
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    provider().next("eth_sendRawTransaction", 1, () => {
      throw new Error("replacement transaction underpriced");
    });
    await merchant.act(id, "speed-up");
    await merchant.drive(2, 4_000);
    const [, second, third] = await merchant.signed();
    expect((third?.maxFee ?? 0n) > (second?.maxFee ?? 0n)).toBe(true);
    expect(await merchant.hotWallet()).toMatchObject({ status: "active" });
    await merchant.rest();
    expect((await merchant.withdrawal(id)).tx_id).toBe(third?.hash);
    await checkPayouts(merchant);
  });

  it("B90 B104: confirmed by one attempt, reorganised, mined by the other: still one payment and one fee", async () => {
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    await merchant.act(id, "speed-up");
    await merchant.drive();
    const [first, second] = await merchant.signed();
    if (first === undefined || second === undefined) throw new Error("expected two attempts");
    wallets.mineOnly(first);
    chain.grow(2);
    await merchant.drive(1, 5_000);
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "confirmed", tx_id: first.hash });
    wallets.reorg(3, { keep: false });
    wallets.mineOnly(second);
    await merchant.drive(1, 5_000);
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "confirmation_tracking", tx_id: second.hash });
    await merchant.rest();
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "confirmed", tx_id: second.hash });
    expect((await merchant.entries()).filter(({ account }) => account === "sluice:fees")).toHaveLength(1);
    await checkPayouts(merchant);
  });

  it("at most 16 are in flight; the rest wait their turn and all are paid", async () => {
    const merchant = await PayingMerchant.start({ coins: 30n * ETH });
    const answers = await Promise.all(Array.from({ length: 20 }, () => merchant.ask()));
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    await merchant.drive(3);
    expect(await merchant.hotWallet()).toMatchObject({ in_flight: 16 });
    expect([wallets.pool.length, (await merchant.signed()).length]).toEqual([16, 16]);
    await merchant.rest();
    expect(wallets.paidBy(merchant.wallet).map(({ nonce }) => nonce)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    await checkPayouts(merchant);
  });
});

describe("what the chain makes of it", () => {
  it("B96: status 0 is failed only when it is final; released once, the fee booked once", async () => {
    const merchant = await PayingMerchant.start({ token: TOK });
    const destination = newAddress();
    const { id } = await merchant.withdraw({ asset: "TOK", amount: "5", destination });
    wallets.reverting.add(destination);
    wallets.mine();
    for (let depth = 1; depth <= FINAL_BLOCKS; depth++) {
      await merchant.drive(1, 5_000);
      expect([depth, await merchant.state(id), await merchant.funds("TOK")]).toEqual([
        depth,
        "confirmation_tracking",
        "995 5 0",
      ]);
      chain.grow(1);
    }
    await merchant.drive(3, 5_000);
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted reverted_on_chain");
    expect(await merchant.funds("TOK")).toBe("1000 0 0");
    const booked = (await merchant.entries()).filter(({ account }) => account === "sluice:fees");
    expect(booked.map(({ amount_units }) => amount_units)).toEqual([String(50_000n * 2n * 10n ** 9n)]);
    await checkPayouts(merchant);
  });

  it("a token that says success without a Transfer log is not confirmed: a person looks", async () => {
    const merchant = await PayingMerchant.start({ token: TOK });
    const { id } = await merchant.withdraw({ asset: "TOK", amount: "5" });
    wallets.silent.add(TOK);
    await merchant.mineAndDrive(FINAL_BLOCKS);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.mineAndDrive(3);
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted transfer_log_missing");
    expect(await merchant.funds("TOK")).toBe("995 5 0");
  });

  it.each([
    ["forgot it", false],
    ["took it back", true],
  ])(
    "B104: a confirmation that is reorganised away goes back, the same bytes are paid once: pools %s",
    async (...at) => {
      const [, keep] = at;
      const merchant = await PayingMerchant.start({ token: TOK });
      const { id } = await merchant.withdraw({ asset: "TOK", amount: "5" });
      await merchant.mineAndDrive(3);
      expect([await merchant.state(id), await merchant.funds("TOK")]).toEqual(["confirmed", "995 0 5"]);
      wallets.reorg(3, { keep });
      await merchant.drive(1, 5_000);
      expect([await merchant.state(id), await merchant.funds("TOK")]).toEqual(["confirmation_tracking", "995 5 0"]);
      expect((await merchant.withdrawal(id)).fee_units).toBeNull();
      // Sent again at once, not only when it is due.
      expect(wallets.pool.map(({ hash }) => hash)).toEqual((await merchant.signed()).map(({ hash }) => hash));
      await merchant.rest();
      expect(await merchant.steps(id)).toBe(
        "nonce_assigned accepted confirmed_on_chain reorganised confirmed_on_chain",
      );
      expect(await merchant.funds("TOK")).toBe("995 0 5");
      expect(await merchant.signed()).toHaveLength(1);
      expect((await merchant.entries()).filter(({ account }) => account === "sluice:fees")).toHaveLength(1);
      await checkPayouts(merchant);
    },
  );

  it("B104: a block that is replaced by one with the same transaction keeps the confirmation honest", async () => {
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    await merchant.mineAndDrive(3);
    wallets.reorg(3, { keep: true });
    wallets.mine();
    await merchant.drive(1, 5_000);
    // In its new block it is not deep enough.
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    await checkPayouts(merchant);
  });
});
