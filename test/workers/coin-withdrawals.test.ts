/** Withdrawals from a wallet that is a set of coins: chosen, claimed, signed, sent, mined, confirmed, final. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { chain, node } from "./bitcoin-line.ts";
import { checkCoinPayouts, expectStrangers, receivedBy } from "./coin-checks.ts";
import { BTC, CoinMerchant, newBitcoinAddress, startCoins, WINDOW } from "./coin-line.ts";
import { quiet } from "./line.ts";

beforeEach(async () => {
  expectStrangers();
  await startCoins();
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a withdrawal", () => {
  it("is paid once, from confirmed coins, its change back to a new address, its fee booked when final", async () => {
    const merchant = await CoinMerchant.start();
    const { id, destination } = await merchant.withdraw({ amount: "1.5" });
    expect(await merchant.steps(id)).toBe("coins_chosen accepted");
    const tx = await merchant.last();
    expect([tx.inputs.length, tx.outputs.length]).toEqual([1, 2]);
    expect(node.sent).toEqual([tx.raw]);
    await merchant.mineAndDrive(3);
    expect(await merchant.steps(id)).toBe("coins_chosen accepted confirmed_on_chain");
    const view = await merchant.withdrawal(id);
    expect(view).toMatchObject({ tx_id: tx.txid, waiting_for: null });
    expect(view.attempts).toMatchObject([{ tx_id: tx.txid, nonce: null, kind: "payment", status: "mined" }]);
    expect(receivedBy(destination)).toEqual([BTC + BTC / 2n]);
    expect(await merchant.funds()).toBe(`${8n * BTC + BTC / 2n} 0 ${BTC + BTC / 2n}`);
    await merchant.rest();
    const fees = (await merchant.balances()).find(({ account }) => account === "sluice:fees");
    expect(view.fee_units).toBe(String(10n * BTC - tx.outputs.reduce((sum, { amount }) => sum + amount, 0n)));
    expect(JSON.stringify(fees)).toContain(view.fee_units ?? "none");
    await checkCoinPayouts(merchant);
  });

  it("has a wallet whose address is watched, and whose payments are no deposits", async () => {
    const merchant = await CoinMerchant.start({ coins: [2n * BTC, BTC] });
    expect(await merchant.hotWallet()).toMatchObject({
      network: "bitcoin-regtest",
      next_nonce: null,
      in_flight: 0,
      balances: [{ asset: "BTC", amount_units: String(3n * BTC) }],
    });
    expect(await merchant.deposits()).toHaveLength(1);
    const taken = await merchant.call("POST", "/v1/addresses", {
      body: { network: "bitcoin-regtest", address: merchant.wallet },
    });
    expect(taken.status).toBe(409);
  });

  it("pays ten that wait together in one transaction, each once, whatever is clicked twice", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    node.on("getmempoolinfo", () => {
      throw new TypeError("not now");
    });
    node.warmingUp = "Loading block index…";
    const asked = Array.from({ length: 10 }, (_, i) => ({ key: `ten-${i}`, amount: `0.${i + 1}` }));
    for (const { key, amount } of asked) {
      const wanted = { amount, destination: newBitcoinAddress() };
      const answers = await Promise.all([merchant.ask(wanted, key), merchant.ask(wanted, key)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 201]);
    }
    node.warmingUp = null;
    node.on("getmempoolinfo", null);
    await merchant.drive(2, 16_000);
    const signed = await merchant.signed();
    expect(signed).toHaveLength(1);
    expect(signed[0]?.outputs).toHaveLength(11);
    await merchant.rest();
    for (const { state } of await merchant.withdrawals()) expect(state).toBe("confirmed");
    const fees = (await merchant.withdrawals()).map(({ fee_units }) => BigInt(fee_units ?? 0));
    const [tx] = signed;
    const paid = tx?.outputs.reduce((sum, { amount }) => sum + amount, 0n) ?? 0n;
    expect(fees.reduce((sum, fee) => sum + fee, 0n)).toBe(10n * BTC - paid);
    await checkCoinPayouts(merchant);
  });

  it("spends its change once that is deep enough, and not before", async () => {
    const merchant = await CoinMerchant.start({ coins: [3n * BTC] });
    await merchant.withdraw({ amount: "1" });
    const second = await merchant.withdraw({ amount: "1" });
    expect((await merchant.withdrawal(second.id)).waiting_for).toBe("wallet_top_up");
    await merchant.mineAndDrive(2);
    expect(await merchant.state(second.id)).toBe("funds_reserved");
    await merchant.mineAndDrive(2);
    expect(await merchant.signed()).toHaveLength(2);
    await merchant.rest();
    expect(await merchant.state(second.id)).toBe("confirmed");
    await checkCoinPayouts(merchant);
  });

  it("takes the oldest that fit when the coins do not suffice for all", async () => {
    quiet("warn");
    const merchant = await CoinMerchant.start({ coins: [3n * BTC] });
    node.warmingUp = "Loading block index…";
    const ids: string[] = [];
    for (const amount of ["2", "2.5", "0.5"]) ids.push((await merchant.withdraw({ amount })).id);
    node.warmingUp = null;
    await merchant.drive(2, 16_000);
    const states = await Promise.all(ids.map((id) => merchant.state(id)));
    expect(states).toEqual(["confirmation_tracking", "funds_reserved", "confirmation_tracking"]);
    expect(await merchant.act(ids[1] ?? "", "cancel")).toBe("200");
    expect(await merchant.act(ids[0] ?? "", "cancel")).toBe("409 illegal_transition");
    await merchant.rest();
    await checkCoinPayouts(merchant);
  });
});

describe("reorganisations", () => {
  it("B104: a confirmation that is reorganised away goes back, and the same bytes are paid once", async () => {
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.withdraw();
    await merchant.mineAndDrive(3);
    expect(await merchant.state(id)).toBe("confirmed");
    chain.reorg(3, { newBlocks: 4, pool: "drop" });
    await merchant.drive(2, 16_000);
    expect(await merchant.steps(id)).toBe("coins_chosen accepted confirmed_on_chain reorganised");
    await merchant.rest();
    expect(await merchant.signed()).toHaveLength(1);
    expect(await merchant.steps(id)).toBe("coins_chosen accepted confirmed_on_chain reorganised confirmed_on_chain");
    await checkCoinPayouts(merchant);
  });

  it("stays open until it is below the window, and is looked at for so long", async () => {
    const merchant = await CoinMerchant.start();
    await merchant.withdraw();
    await merchant.mineAndDrive(WINDOW);
    expect(await merchant.rows("SELECT status FROM spends")).toEqual([{ status: "open" }]);
    await merchant.mineAndDrive(1);
    expect(await merchant.rows("SELECT status FROM spends")).toEqual([{ status: "final" }]);
  });
});
