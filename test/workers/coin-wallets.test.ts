/** Wallets that are sets of coins: what they show, what they may be used for, and what a reconciliation says of them. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EstimateView, Page, ReconciliationView, WalletView } from "../../src/core/views.ts";
import { chain, NETWORK, node, poll, regtest } from "./bitcoin-line.ts";
import { checkCoinPayouts, expectStrangers, receivedBy } from "./coin-checks.ts";
import { BTC, CoinMerchant, newBitcoinAddress, nodes, startCoins, WINDOW } from "./coin-line.ts";
import { DB, quiet, time } from "./line.ts";
import { statusAndCode } from "./payout-line.ts";

beforeEach(async () => {
  expectStrangers();
  await startCoins();
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a wallet", () => {
  it("signs by its derived key alone", async () => {
    const merchant = await CoinMerchant.start();
    const put = (body: unknown) => merchant.call("PUT", `/v1/wallets/${NETWORK}/signer`, { body });
    const remote = { type: "remote", url: "https://signer.example", address: newBitcoinAddress(), token: null };
    expect(await statusAndCode(await put(remote))).toBe("422 invalid_fields");
    expect(await statusAndCode(await put({ type: "derived" }))).toBe("200");
    const path = expect.stringMatching(/^m\/84'\/1'\//);
    expect((await merchant.hotWallet()).signer).toEqual({ type: "derived", path });
  });

  it("is no destination, its change included, and no address for deposits", async () => {
    const merchant = await CoinMerchant.start();
    await merchant.withdraw();
    const change = merchant.signer().addressAt("1/0");
    for (const destination of [merchant.wallet, change])
      expect(await statusAndCode(await merchant.ask({ destination }))).toBe("422 invalid_destination");
    for (const address of [merchant.wallet, change]) {
      const taken = await merchant.call("POST", "/v1/addresses", { body: { network: NETWORK, address } });
      expect(await statusAndCode(taken)).toBe("409 address_taken");
      const other = await CoinMerchant.signUp();
      const theirs = await other.call("POST", "/v1/addresses", { body: { network: NETWORK, address } });
      expect(await statusAndCode(theirs)).toBe("409 address_taken");
    }
  });

  it("is not shown before its address is watched; the other wallets are", async () => {
    quiet("warn");
    const merchant = await CoinMerchant.signUp();
    vi.spyOn(Object.getPrototypeOf(DB) as D1Database, "batch").mockRejectedValue(new Error("Network connection lost."));
    const { data } = await merchant.get<Page<WalletView>>("/v1/wallets");
    expect(data.map(({ network }) => network)).not.toContain(NETWORK);
    vi.mocked((Object.getPrototypeOf(DB) as D1Database).batch).mockRestore();
    const again = await merchant.get<Page<WalletView>>("/v1/wallets");
    expect(again.data.map(({ network }) => network)).toContain(NETWORK);
  });

  it("is not named to be topped up before its address is watched", async () => {
    quiet("warn");
    const merchant = await CoinMerchant.signUp();
    vi.spyOn(Object.getPrototypeOf(DB) as D1Database, "batch").mockRejectedValue(new Error("Network connection lost."));
    const body = { network: NETWORK, asset: "BTC", amount: "1", destination: newBitcoinAddress(), account: "default" };
    const answer = await merchant.call("POST", "/v1/withdrawals/estimate", { body });
    const { warning } = (await answer.json()) as EstimateView;
    expect(warning).toMatch(/topped up/);
    expect(warning).not.toContain("bcrt1");
  });

  it("stays watched when an address for deposits that it once was is given back late", async () => {
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.watch(newBitcoinAddress());
    await merchant.call("DELETE", `/v1/addresses/${id}`);
    await merchant.rows(`UPDATE addresses SET address = '${merchant.wallet}', release_pending = 1 WHERE id = '${id}'`);
    await merchant.withdraw();
    await merchant.drive(1, 60_000);
    expect(await merchant.rows("SELECT 1 FROM addresses WHERE release_pending = 1")).toEqual([]);
    await merchant.mineAndPoll(WINDOW + 2);
    chain.pay(merchant.wallet, 3n * BTC);
    await merchant.mineAndPoll(2);
    expect(await merchant.rows(`SELECT 1 FROM coins WHERE amount_units = '${3n * BTC}'`)).toHaveLength(1);
  });

  it("holds what is deep enough, until a block spends it", async () => {
    const merchant = await CoinMerchant.start({ coins: [5n * BTC] });
    const held = async () => (await merchant.hotWallet()).balances?.[0]?.amount_units;
    expect(await held()).toBe(String(5n * BTC));
    chain.pay(merchant.wallet, BTC);
    await merchant.mineAndPoll(2);
    expect(await held()).toBe(String(5n * BTC));
    await merchant.mineAndPoll(1);
    expect(await held()).toBe(String(6n * BTC));
    await merchant.withdraw({ amount: "2" });
    expect([await held(), (await merchant.hotWallet()).in_flight]).toEqual([String(6n * BTC), 1]);
    await merchant.mineAndDrive(1);
    expect([await held(), (await merchant.hotWallet()).in_flight]).toEqual([String(BTC), 0]);
    await merchant.mineAndDrive(3);
    expect(BigInt((await held()) ?? 0)).toBeGreaterThan(3n * BTC);
  });

  it("does not spend what one of two providers does not have", async () => {
    quiet("warn");
    await startCoins(2);
    const merchant = await CoinMerchant.start({ coins: [5n * BTC] });
    nodes[1]?.on("gettxout", () => null);
    const { id } = await merchant.withdraw();
    expect((await merchant.withdrawal(id)).waiting_for).toBe("wallet_top_up");
    nodes[1]?.on("gettxout", null);
    await merchant.drive(1, 16_000);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
  });

  it("estimates what a payment alone would cost", async () => {
    const merchant = await CoinMerchant.start();
    node.facts.estimate = 10_000n;
    const estimate = async (amount: string) => {
      const body = { network: NETWORK, asset: "BTC", amount, destination: newBitcoinAddress(), account: "default" };
      const answer = await merchant.call("POST", "/v1/withdrawals/estimate", { body });
      return (await answer.json()) as EstimateView;
    };
    const view = await estimate("1");
    expect(view).toMatchObject({ accepted: true, warning: null, fee_asset: "BTC" });
    expect([Number(view.fee) * 1e8, Number(view.max_fee) * 1e8].map(Math.round)).toEqual([
      expect.toSatisfy((fee: number) => fee > 1_300 && fee < 1_600),
      expect.toSatisfy((fee: number) => fee > 65_000 && fee < 80_000),
    ]);
    expect((await estimate("30")).warning).toMatch(/topped up/);
  });

  it("waits when the pinned coin's own transaction is in no block any more, and goes on when it is again", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start({ coins: [5n * BTC] });
    const funding = chain.at(chain.head - 2)?.txs ?? [];
    const { id, destination } = await merchant.withdraw();
    chain.reorg(3, { newBlocks: 4, pool: "drop" });
    await poll(2);
    expect(await merchant.rows("SELECT 1 AS n FROM coins")).toEqual([]);
    await merchant.drive(3, 31_000);
    expect(await merchant.signed()).toHaveLength(1);
    time.now += regtest.payout.deadlineS * 1_000;
    await merchant.drive(1, 16_000);
    expect(await merchant.state(id)).toBe("manual_review");
    expect((await merchant.funds()).split(" ")[1]).toBe(BTC.toString());
    for (const tx of funding.slice(1)) chain.put(tx);
    await merchant.mineAndDrive(2);
    await merchant.rest();
    expect([await merchant.state(id), receivedBy(destination)]).toEqual(["confirmed", [BTC]]);
  });
});

describe("a reconciliation", () => {
  async function report(merchant: CoinMerchant): Promise<ReconciliationView> {
    const answer = await merchant.call("POST", "/v1/reconciliation", {
      headers: { "Idempotency-Key": `report-${time.now++}` },
    });
    return (await answer.json()) as ReconciliationView;
  }
  const kinds = ({ differences }: ReconciliationView) => differences.map(({ kind }) => kind);

  it("finds nothing of what was paid, and says how much is open", async () => {
    const merchant = await CoinMerchant.start();
    await merchant.withdraw();
    await merchant.mineAndDrive(3);
    const open = await report(merchant);
    expect([open.status, kinds(open), open.compared.open_spends]).toEqual(["matched", [], 1]);
    expect(open.compared).toMatchObject({ attempts: 1, coins: 1, spends: 1 });
    await merchant.rest();
    const closed = await report(merchant);
    expect([closed.status, kinds(closed), closed.compared.open_spends]).toEqual(["matched", [], 0]);
    await checkCoinPayouts(merchant);
  });

  it.each([
    ["coin_claim_missing", "DELETE FROM spent_outputs"],
    ["spend_claim_missing", "DELETE FROM spend_members"],
    ["coin_claim_differs", "UPDATE spent_outputs SET tenant_id = 'ten_other'"],
    ["spend_claim_differs", "UPDATE spend_members SET pin = 'another'"],
  ])("names %s", async (kind, change) => {
    const merchant = await CoinMerchant.start();
    await merchant.withdraw();
    await DB.prepare(`${change} WHERE tenant_id = ?1`).bind(merchant.id).run();
    const found = await report(merchant);
    expect([found.status, kinds(found)]).toEqual(["mismatched", [kind]]);
  });

  it.each([
    ["what was signed", "UPDATE spend_attempts SET fee_units = '1', pays = '[]'"],
    ["whom it pays", "UPDATE withdrawals SET destination = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080'"],
  ])("reads back %s", async (_what, change) => {
    const merchant = await CoinMerchant.start();
    await merchant.withdraw();
    await merchant.inside((_, sql) => sql.exec(change).toArray());
    expect(kinds(await report(merchant))).toContain("attempt_differs");
  });

  it("names a coin that a stranger spent", async () => {
    const merchant = await CoinMerchant.start();
    const [coin] = await merchant.rows<{ tx_id: string; vout: number }>("SELECT tx_id, vout FROM coins");
    if (coin === undefined) throw new Error("the wallet has no coin");
    const theirs = await merchant.foreign([{ txid: coin.tx_id, vout: coin.vout }], BTC);
    chain.submit(theirs);
    chain.mine();
    await poll(1);
    expect(kinds(await report(merchant))).toEqual(["foreign_spend"]);
  });

  it("says which sources it could not ask", async () => {
    quiet("warn");
    const merchant = await CoinMerchant.start();
    await merchant.withdraw();
    node.down = true;
    const found = await report(merchant);
    node.down = false;
    expect([found.status, found.unreachable]).toEqual(["incomplete", [`chain:${NETWORK}`]]);
  });
});
