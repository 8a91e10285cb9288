/**
 * Deposits of bitcoin from two real nodes through the running service to a merchant's program: addresses from extended
 * keys, pools, new coins, chains that are cut apart and joined again, and kill -9.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "@noble/hashes/sha2";
import { utf8ToBytes } from "@noble/hashes/utils";
import { HDKey } from "@scure/bip32";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DepositView, WithdrawalView, XpubView } from "../../src/core/views.ts";
import { BitcoinBook, judgedBy } from "../support/bitcoin-book.ts";
import { derivedBy, rivals, send, sign, txIdOf } from "../support/bitcoin-payer.ts";
import { type BitcoinStage, REGTEST, startBitcoinStage, WINDOW } from "../support/bitcoin-stage.ts";
import { type AddressType, type Bitcoind, noBitcoind } from "../support/bitcoind.ts";
import { PAYEES } from "../support/coin-wallet.ts";
import type { Merchant } from "../support/merchant.ts";
import { expectJudgedExact } from "../support/oracle.ts";

/** What SLIP-132 leaves to `type`: tpub. */
const TEST_KEYS = { public: 0x043587cf, private: 0x04358394 };
/** Polls that would have told what is not to be told. */
const POLLS_MS = 600;
const TOLD_WITHIN_MS = 20_000;

/** The account's extended public key of a merchant's wallet: BIP-84 and BIP-86 differ in the first step. */
function accountKey(purpose: 84 | 86): string {
  const seed = HDKey.fromMasterSeed(sha256(utf8ToBytes("a merchant's wallet for tests")), TEST_KEYS);
  return seed.derive(`m/${purpose}'/1'/0'`).publicExtendedKey;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(noBitcoind)("bitcoin deposits", () => {
  let stage: BitcoinStage;
  let here: Bitcoind;
  let there: Bitcoind;
  let shop: Merchant;
  let books: Map<Bitcoind, BitcoinBook>;

  beforeAll(async () => {
    stage = await startBitcoinStage();
    [here, there] = [stage.first.node, stage.second.node];
    books = new Map([here, there].map((node) => [node, new BitcoinBook(node)]));
    shop = await stage.merchant("Shop");
  });
  afterAll(() => stage?.stop());

  /** The service, the shop and this node agree to the last satoshi, pool and all. */
  const exact = (node: Bitcoind = here) =>
    expectJudgedExact(judgedBy(books.get(node) as BitcoinBook, async () => (await stage.view()).scanned_to), [shop]);

  const watch = async (account: string, type?: AddressType) =>
    (await shop.watch({ network: REGTEST, address: await here.newAddress(type), account })).address;

  /** What was told of the payments to an address, in order. */
  async function storyOf(address: string): Promise<string[]> {
    const events = (await shop.events()).filter(({ data }) => (data as Partial<DepositView>).address === address);
    return events.map(({ type }) => type.replace("deposit.", ""));
  }

  async function told(address: string, type: string, times = 1): Promise<DepositView> {
    const until = Date.now() + TOLD_WITHIN_MS;
    for (;;) {
      const own = shop.consumer.events.filter(
        (event) => event.type === `deposit.${type}` && (event.data as DepositView).address === address,
      );
      const found = own[times - 1];
      if (found !== undefined) return found.data as DepositView;
      if (Date.now() > until) throw new Error(`${address}: told ${await storyOf(address)}, expected ${type}`);
      await pause(20);
    }
  }

  async function balanceOf(account: string) {
    const found = (await shop.balances()).find((balance) => balance.account === account);
    return found && { available: found.available, reserved: found.reserved, debt: found.debt };
  }

  async function synced(): Promise<void> {
    await expect.poll(() => there.tip(), { timeout: TOLD_WITHIN_MS }).toBe(await here.tip());
  }

  describe("addresses from an extended public key", () => {
    const orders: { address: string; account: string; btc: string; type: "wpkh" | "tr"; place: number }[] = [];

    it.each([
      ["BIP-84", "wpkh", "p2wpkh", 84],
      ["BIP-86", "tr", "p2tr", 86],
    ] as const)("%s: each order has the next one, as the node derives it", async (_, form, type, purpose) => {
      const xpub = accountKey(purpose);
      const body = { network: REGTEST, xpub, type, label: form };
      const registered = await shop.call<XpubView>("POST", "/v1/xpubs", body);
      const derived = await derivedBy(here, form, xpub, 2);
      expect(registered).toMatchObject({ path: `m/${purpose}'/1'/0'`, first_address: derived[0], next_index: 0 });
      for (const [place, address] of derived.entries()) {
        const account = `${form} order ${place}`;
        const made = await shop.watch({ network: REGTEST, xpubId: registered.id, account });
        expect(made).toMatchObject({ address, account, derivation_path: `0/${place}` });
        orders.push({ address, account, btc: `0.${purpose}00000${place + 1}`, type: form, place });
      }
    });

    it("each other form is given by hand", async () => {
      const forms: Record<string, string> = { p2wsh: PAYEES.p2wsh };
      for (const type of ["legacy", "p2sh-segwit", "bech32", "bech32m"] as const)
        forms[type] = await here.newAddress(type);
      for (const [form, address] of Object.entries(forms)) {
        await shop.watch({ network: REGTEST, address, account: form });
        orders.push({ address, account: form, btc: "0.12345678", type: "wpkh", place: 0 });
      }
    });

    it("what is paid there is pending in the pool, confirmed, then settled, each told and received once", async () => {
      for (const { address, btc } of orders) await here.pay(address, btc);
      for (const { address, account, btc } of orders) {
        const pending = await told(address, "pending");
        expect(pending).toMatchObject({ account, amount: btc, asset: "BTC", transfer_index: /^out:\d+$/ as unknown });
        expect(pending).toMatchObject({ block_height: null, block_hash: null, confirmations: 0 });
      }
      await exact();
      expect(await shop.balances()).toEqual([]);
      await here.mine();
      await exact();
      expect(await shop.balances()).toEqual([]);
      await here.mine();
      for (const { address, account, btc } of orders) {
        const confirmed = await told(address, "confirmed");
        expect(confirmed).toMatchObject({ confirmations: 2, confirmations_required: 2, epoch: 1 });
        expect(await balanceOf(account)).toEqual({ available: btc, reserved: "0", debt: "0" });
      }
      await exact();
      await here.mine(WINDOW);
      for (const { address } of orders) await told(address, "settled");
      await exact();
      for (const { address } of orders) expect(await storyOf(address)).toEqual(["pending", "confirmed", "settled"]);
      expect(shop.consumer.events.map(({ id }) => shop.consumer.timesSeen(id)).filter((times) => times !== 1)).toEqual([]);
    });
  });

  it("B72: each output is a deposit of its own, nothing and data are none", async () => {
    const [one, two] = [await watch("twice"), await watch("beside")];
    const [again, nothing] = [await here.newAddress(), await here.newAddress()];
    const outputs = [{ [one]: "0.4" }, { [again]: "0.3" }, { [two]: "0.2" }, { data: "00ff" }, { [nothing]: "0" }];
    const [raw = ""] = await rivals(here, outputs);
    // The node makes no transaction that names an address twice.
    const script = async (address: string) => books.get(here)?.scriptOf(address) ?? "";
    const unsigned = await here.rpc<{ hex: string }>("decoderawtransaction", raw).then(() => raw);
    const renamed = (await [again, nothing].reduce(
      async (hex, address) => (await hex).replace(await script(address), await script(one)),
      Promise.resolve(unsigned),
    )) as string;
    const txId = await txIdOf(here, await sign(here, renamed));
    await here.mineOnly([await sign(here, renamed)]);
    await here.mine();
    await exact();
    const deposits = [...(await shop.deposits({ address: one })), ...(await shop.deposits({ address: two }))];
    const brief = deposits.map(({ tx_id, transfer_index, amount, status }) =>
      [tx_id, transfer_index, amount, status].join(" "),
    );
    expect(brief.sort()).toEqual([
      `${txId} out:0 0.4 confirmed`,
      `${txId} out:1 0.3 confirmed`,
      `${txId} out:2 0.2 confirmed`,
    ]);
    expect([await balanceOf("twice"), await balanceOf("beside")]).toMatchObject([
      { available: "0.7" },
      { available: "0.2" },
    ]);
  });

  it("B73: a miner's reward counts at 101 confirmations, not at 100", async () => {
    const address = await watch("miner");
    await here.mine(1, address);
    await here.mine(99);
    await exact();
    expect(await shop.deposits({ address })).toMatchObject([
      { status: "pending", confirmations: 100, confirmations_required: 101, transfer_index: "out:0" },
    ]);
    await pause(POLLS_MS);
    expect(await storyOf(address)).toEqual(["pending"]);
    expect(await balanceOf("miner")).toBeUndefined();
    await here.mine();
    expect(await told(address, "confirmed")).toMatchObject({ confirmations: 101 });
    await exact();
  });

  describe("the pool", () => {
    it("B69: a payment that is replaced by one to somebody else is dropped, and never counts", async () => {
      const address = await watch("replaced");
      const [payment = "", other = ""] = await rivals(here, [{ [address]: "0.1" }], []);
      await send(here, payment);
      await told(address, "pending");
      await send(here, other);
      expect(await told(address, "dropped")).toMatchObject({ status: "dropped", block_height: null });
      await here.mine(3);
      await exact();
      expect(await storyOf(address)).toEqual(["pending", "dropped"]);
      expect(await balanceOf("replaced")).toBeUndefined();
    });

    it("a payment that is replaced by a dearer one to the same address counts once, under the later id", async () => {
      const address = await watch("bumped");
      const [cheap = "", dear = ""] = await rivals(here, [{ [address]: "0.1" }], [{ [address]: "0.1" }]);
      await send(here, cheap);
      await told(address, "pending");
      await send(here, dear);
      await told(address, "pending", 2);
      await here.mine(2);
      expect(await told(address, "confirmed")).toMatchObject({ tx_id: await txIdOf(here, dear) });
      await exact();
      expect(await balanceOf("bumped")).toMatchObject({ available: "0.1" });
    });

    it("a payment that only one of two providers has stays pending", async () => {
      const address = await watch("one pool");
      await synced();
      await here.disconnect(there);
      await here.pay(address, "0.2");
      await told(address, "pending");
      await pause(POLLS_MS);
      expect(await storyOf(address)).toEqual(["pending"]);
      await here.connect(there);
      await here.mine(2);
      await told(address, "confirmed");
      await exact();
      expect(await storyOf(address)).toEqual(["pending", "confirmed"]);
    });
  });
});
