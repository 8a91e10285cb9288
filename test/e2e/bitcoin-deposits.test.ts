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
import { leaked } from "../support/served.ts";

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
    expectJudgedExact(
      judgedBy(books.get(node) as BitcoinBook, async () => (await stage.view()).scanned_to),
      [shop],
    );

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

  /** Also where they are joined already. */
  const synced = () => here.connect(there);

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
      expect(shop.consumer.events.map(({ id }) => shop.consumer.timesSeen(id)).filter((times) => times !== 1)).toEqual(
        [],
      );
    });
  });

  it("B72: each output is a deposit of its own, nothing and data are none", async () => {
    const [one, two] = [await watch("twice"), await watch("beside")];
    const [again, nothing] = [await here.newAddress(), await here.newAddress()];
    const outputs = [{ [one]: "0.4" }, { [again]: "0.3" }, { [two]: "0.2" }, { data: "00ff" }, { [nothing]: "0" }];
    const [raw = ""] = await rivals(here, outputs);
    // The node makes no transaction that names an address twice, so a script is put in another's place.
    const scriptOf = async (address: string) => books.get(here)?.scriptOf(address) ?? "";
    const own = await scriptOf(one);
    const renamed = raw.replace(await scriptOf(again), own).replace(await scriptOf(nothing), own);
    const signed = await sign(here, renamed);
    const txId = await txIdOf(here, signed);
    await here.mineOnly([signed]);
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

    it.each(["the first", "the second"])("a payment that of two providers only %s has stays pending", async (which) => {
      const address = await watch(`only ${which}`);
      await synced();
      await here.disconnect(there);
      const [payment = ""] = await rivals(here, [{ [address]: "0.3" }]);
      if (which === "the first") stage.show(here, null);
      else stage.show(null, there);
      await send(which === "the first" ? here : there, payment);
      await told(address, "pending");
      stage.show(here, there);
      await pause(POLLS_MS);
      expect(await storyOf(address)).toEqual(["pending"]);
      if (which !== "the first") await send(here, payment);
      // A node that has neither payment nor block would have it told as dropped until the block is read.
      stage.show(here, null);
      await here.mine(2);
      await here.connect(there);
      stage.show(here, there);
      await told(address, "confirmed");
      await exact();
      expect(await storyOf(address)).toEqual(["pending", "confirmed"]);
    });
  });

  describe("nodes that are cut apart", () => {
    beforeAll(synced);

    it("B74: a confirmed payment whose coin is spent on the longer branch is reverted once, and leaves a debt", async () => {
      const address = await watch("spent twice");
      const again = await watch("spent twice");
      await here.disconnect(there);
      const [payment = "", other = ""] = await rivals(here, [{ [address]: "0.5" }], []);
      await here.mineOnly([payment]);
      await here.mine();
      await told(address, "confirmed");
      // It waits for coins to pay with, so nothing of it ever leaves.
      const asked = await shop.withdraw({
        network: REGTEST,
        asset: "BTC",
        destination: PAYEES.p2tr,
        amount: "0.3",
        account: "spent twice",
      });
      expect(await balanceOf("spent twice")).toEqual({ available: "0.2", reserved: "0.3", debt: "0" });

      const thirds = await here.newAddress();
      await there.mineOnly([other], thirds);
      await there.mine(3, thirds);
      await told(address, "reverted");
      await here.connect(there);
      expect(await here.tip()).toBe(await there.tip());
      expect(await balanceOf("spent twice")).toEqual({ available: "0", reserved: "0.3", debt: "0.3" });
      const more = { network: REGTEST, asset: "BTC", destination: PAYEES.p2tr, amount: "0.01", account: "spent twice" };
      const refused = await shop.ask("POST", "/v1/withdrawals", more, "with a debt");
      expect([refused.status, refused.body]).toMatchObject([422, { code: "account_frozen" }]);

      await here.pay(again, "0.4");
      await here.mine(2);
      await told(again, "confirmed");
      await shop.call<WithdrawalView>("POST", `/v1/withdrawals/${asked.id}/cancel`);
      expect(await balanceOf("spent twice")).toEqual({ available: "0.4", reserved: "0", debt: "0" });
      await exact();
      expect(await storyOf(address)).toEqual(["pending", "confirmed", "reverted"]);
      const debts = (await shop.events()).filter(({ type }) => type.startsWith("account.debt"));
      expect(debts.map(({ type }) => type)).toEqual(["account.debt_opened", "account.debt_cleared"]);
    });

    it("a block that its node calls invalid, and valid again: followed only when the other branch is longer", async () => {
      const address = await watch("turned");
      await here.disconnect(there);
      stage.show(here, null);
      await here.pay(address, "0.6");
      const [old] = await here.mine();
      await here.mine();
      await told(address, "confirmed");
      await here.rpc("invalidateblock", old);
      await pause(POLLS_MS);
      expect(await storyOf(address)).toEqual(["pending", "confirmed"]);
      const other = await here.newAddress();
      const fresh = [await here.mineOnly([], other), await here.mineOnly([], other), await here.mineOnly([], other)];
      await told(address, "reverted");
      // It waits again, in the pool.
      await told(address, "pending", 2);
      await exact();
      expect(await balanceOf("turned")).toMatchObject({ available: "0", debt: "0" });

      await here.rpc("reconsiderblock", old);
      await here.rpc("invalidateblock", fresh[0]);
      await pause(POLLS_MS);
      expect(await storyOf(address)).toEqual(["pending", "confirmed", "reverted", "pending"]);
      await here.mine(2);
      expect(await told(address, "confirmed", 2)).toMatchObject({ block_hash: old, epoch: 2 });
      await here.rpc("reconsiderblock", fresh[0]);
      stage.show(here, there);
      await here.connect(there);
      await exact();
      expect(await storyOf(address)).toEqual(["pending", "confirmed", "reverted", "pending", "confirmed"]);
      expect(await balanceOf("turned")).toMatchObject({ available: "0.6", debt: "0" });
    });

    it("providers that disagree: one that lags, or is on a branch no longer than ours, has nothing told", async () => {
      const address = await watch("disputed");
      await synced();
      await here.disconnect(there);
      stage.show(here, null);
      await here.pay(address, "0.7");
      await here.mine(2);
      await told(address, "confirmed");
      stage.show(here, there);
      await pause(POLLS_MS);
      stage.show(null, there);
      await pause(POLLS_MS);
      await there.mine(2, await here.newAddress());
      await pause(POLLS_MS);
      stage.show(here, there);
      await pause(POLLS_MS);
      expect(await storyOf(address)).toEqual(["pending", "confirmed"]);
      await here.mine();
      await here.connect(there);
      await exact(here);
      await exact(there);
      expect(await storyOf(address)).toEqual(["pending", "confirmed"]);
    });
  });

  describe("kill -9", () => {
    const ORDERS = 20;
    let read: string;
    let waited: string;
    let replaced: string;
    let xpub: XpubView;
    let made: string[];

    beforeAll(async () => {
      await synced();
      [read, waited, replaced] = [await watch("read"), await watch("waited"), await watch("replaced too")];
      const key = HDKey.fromMasterSeed(sha256(utf8ToBytes("orders")), TEST_KEYS).derive("m/84'/1'/0'");
      const body = { network: REGTEST, xpub: key.publicExtendedKey, type: "p2wpkh" };
      xpub = await shop.call<XpubView>("POST", "/v1/xpubs", body);
      await exact();
      stage.show(here, null);
      const [payment = "", other = ""] = await rivals(here, [{ [replaced]: "0.3" }], []);
      await send(here, payment);
      await here.pay(waited, "0.2");
      await told(replaced, "pending");
      await told(waited, "pending");

      const [block = ""] = await rivals(here, [{ [read]: "0.1" }]);
      const hashes = new Set<unknown>();
      const held = stage.first.proxy.hold(({ method, params: [hash] }) => method === "getblock" && hashes.has(hash));
      hashes.add(await here.mineOnly([block]));
      await held;
      const orders = Array.from({ length: ORDERS }, (_, i) => askUntilAnswered(`order ${i}`));
      await pause(Math.random() * 300);
      await stage.kill();
      await send(here, other);
      await here.mine();
      await stage.restart();
      made = await Promise.all(orders);
      stage.show(here, there);
    });

    /** As a client does it that follows the documents: the same request with the same key until it answers. */
    async function askUntilAnswered(order: string): Promise<string> {
      const body = { network: REGTEST, xpub_id: xpub.id, account: order };
      for (;;) {
        const answer = await shop.ask<{ address: string }>("POST", "/v1/addresses", body, order).catch(() => null);
        if (answer !== null && answer.status < 300) return answer.body.address;
        await pause(50);
      }
    }

    it("while a block is read: what it pays is told once", async () => {
      await here.mine();
      await told(read, "confirmed");
      await exact();
      expect(await storyOf(read)).toEqual(["pending", "confirmed"]);
    });

    it("between pool and block: one deposit, which goes on without a gap", async () => {
      await told(waited, "confirmed");
      expect(await storyOf(waited)).toEqual(["pending", "confirmed"]);
    });

    it("between a payment and its replacement: dropped once", async () => {
      await told(replaced, "dropped");
      expect(await storyOf(replaced)).toEqual(["pending", "dropped"]);
    });

    it("while orders ask for addresses: each has its own, and no index is left out or given twice", async () => {
      expect(new Set(made)).toEqual(new Set(await derivedBy(here, "wpkh", xpubOf(), ORDERS - 1)));
      expect(made).toHaveLength(ORDERS);
    });

    function xpubOf(): string {
      return HDKey.fromMasterSeed(sha256(utf8ToBytes("orders")), TEST_KEYS).derive("m/84'/1'/0'").publicExtendedKey;
    }
  });

  it("a provider that is down or refuses is spoken of, and its password is nowhere", async () => {
    const proxies = [stage.first, stage.second].map(({ proxy }) => proxy);
    const says = (what: RegExp) =>
      expect.poll(async () => (await stage.view()).last_error, { timeout: TOLD_WITHIN_MS }).toMatch(what);
    stage.show(null, null);
    await says(/503/);
    for (const proxy of proxies) {
      const message = `Loading at ${proxy.url}, with ${proxy.secret}`;
      proxy.setFaults({ instead: () => ({ error: { code: -28, message } }) });
    }
    stage.show(here, there);
    await says(/Loading at \S*\*\*\*\S* with \*\*\* .*-28/);
    for (const proxy of proxies) proxy.setFaults({});
    await exact();
    const kept = filesBelow(stage.service.dataDir).map((path) => readFileSync(path, "latin1"));
    expect(kept.length).toBeGreaterThan(3);
    const providers = [stage.first, stage.second].flatMap((one) => [one.proxy.secret, one.node.password]);
    expect(providers.filter((secret) => kept.some((content) => content.includes(secret)))).toEqual([]);
    expect(leaked(stage, providers)).toEqual([]);
  });

  function filesBelow(folder: string): string[] {
    const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  }
});
