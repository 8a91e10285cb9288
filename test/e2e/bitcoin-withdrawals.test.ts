/**
 * Withdrawals of bitcoin from the request to the last block, on two real nodes: what the blocks hold, what the ledger
 * says and what the merchant is told, while requests repeat, fees rise, nodes refuse or lose answers, strangers sign
 * with the wallet's key and chains turn.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EstimateView, WithdrawalView } from "../../src/core/views.ts";
import { BitcoinBook } from "../support/bitcoin-book.ts";
import {
  expectPaidExactly,
  foreignSpend,
  fund,
  inputsSigned,
  walletKeys,
  walletUnits,
} from "../support/bitcoin-payouts.ts";
import { type BitcoinStage, REGTEST, startBitcoinStage, WINDOW } from "../support/bitcoin-stage.ts";
import { type AddressType, type Bitcoind, noBitcoind } from "../support/bitcoind.ts";
import type { Merchant } from "../support/merchant.ts";
import { expectReconciled, untilState, untilToldState, untilView } from "../support/payouts.ts";
import { type Call, type Faults, isSend, type Reply } from "../support/rpc-proxy.ts";
import { leaked } from "../support/served.ts";

const EQUAL_REQUESTS = 50;
const REPLACED_AFTER = 3;
/** As long as it takes to be sent again, and some. */
const SENT_AGAIN_WITHIN_MS = 45_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(noBitcoind)("bitcoin withdrawals", () => {
  let stage: BitcoinStage;
  let here: Bitcoind;
  let there: Bitcoind;
  let book: BitcoinBook;
  let shops: Record<string, Merchant>;

  /** Each begun at the start of the file, and looked at again at its end: what takes half a minute to happen. */
  const FAULTY_SENDS: Readonly<Record<string, Faults["instead"] | "hangs" | "answer" | "request">> = {
    "-25, its input missing or spent": refusal(-25, "bad-txns-inputs-missingorspent"),
    "-26, its fee too low": refusal(-26, "min relay fee not met, 141 < 14100"),
    "-26, no room": refusal(-26, "mempool full"),
    "-26, for a reason nobody has heard of": refusal(-26, "a-rule-of-my-own"),
    "-27, in the chain already": refusal(-27, "Transaction outputs already in utxo set"),
    "-28, warming up": refusal(-28, "Verifying blocks..."),
    "nothing, for ever": "hangs",
    "and the answer is lost": "answer",
    "and the request is lost": "request",
  };
  const FAULTY_LOOKS: Readonly<Record<string, { codes: readonly number[]; methods: RegExp }>> = {
    "its head": { codes: [-28], methods: /^getblockchaininfo$/ },
    "the wallet's coins": { codes: [-25, -26, -27, -28], methods: /^gettxout$/ },
    "the fee": { codes: [-25, -26, -27, -28], methods: /^(estimatesmartfee|getmempoolinfo)$/ },
    everything: { codes: [-28], methods: /./ },
  };
  const names = {
    plain: "Shop",
    batch: "Batch",
    single: "One coin",
    hurry: "Hurry",
    robbed: "Robbed",
    turned: "Turned",
    apart: "Apart",
    looks: "Looks",
  };
  const begun = new Map<string, { shop: Merchant; asked: WithdrawalView }>();
  let robbed: { asked: WithdrawalView; theft: string };

  function refusal(code: number, message: string): Faults["instead"] {
    return () => ({ error: { code, message } }) satisfies Reply;
  }

  beforeAll(async () => {
    stage = await startBitcoinStage({ replace_after_blocks: REPLACED_AFTER });
    [here, there] = [stage.first.node, stage.second.node];
    book = new BitcoinBook(here);
    shops = {};
    for (const name of [...Object.values(names), ...Object.keys(FAULTY_SENDS)])
      shops[name] = await stage.merchant(name);
    const coins = (name: string) =>
      name === names.single ? ["3"] : name === names.batch ? ["1", "1", "1", "1"] : ["1.5", "1.5", "1.5"];
    await fund(
      stage,
      Object.entries(shops).map(([name, shop]) => ({ shop, btc: "2.5", coins: coins(name) })),
    );
  });
  afterAll(() => stage?.stop());

  const shopOf = (name: string) => shops[name] as Merchant;
  const both = () => [stage.first.proxy, stage.second.proxy];
  const setFaults = (faults: Faults) => both().map((proxy) => proxy.setFaults(faults));

  async function withdraw(shop: Merchant, amount: string, type?: AddressType): Promise<WithdrawalView> {
    return shop.withdraw({ network: REGTEST, asset: "BTC", destination: await here.newAddress(type), amount });
  }

  const exact = (...merchants: readonly Merchant[]) => expectPaidExactly(stage, book, merchants);

  async function balanceOf(shop: Merchant) {
    const found = (await shop.balances()).find(({ account }) => account === "default");
    return found && { available: found.available, reserved: found.reserved, settled: found.settled };
  }

  function stepsOf({ transitions }: WithdrawalView): string[] {
    return transitions.map(({ to, reason }) => `${to}: ${reason}`);
  }

  const accepted = (shop: Merchant, { id }: WithdrawalView, attempt = 0) =>
    untilView(shop, id, ({ attempts }) => attempts[attempt]?.outcome === "accepted");

  /** Transactions that topped its wallet up. */
  async function coinsOf(shop: Merchant): Promise<ReadonlySet<unknown>> {
    const script = await book.scriptOf((await shop.wallet(REGTEST)).address);
    return new Set((await book.ledger()).byScript.get(script)?.map(({ txId }) => txId));
  }

  /** Whoever mines next has it in the pool. */
  async function pooled(node: Bitcoind, txId: string | null | undefined): Promise<void> {
    await expect.poll(() => node.rpc<string[]>("getrawmempool"), { timeout: 20_000 }).toContain(txId);
  }

  async function mineEmpty(node: Bitcoind, blocks: number): Promise<void> {
    for (let i = 0; i < blocks; i++) await node.mineOnly([], await here.newAddress());
  }

  /** In a block, or in the pool of whoever mines next. */
  async function untilOnItsWay(shop: Merchant, { id }: WithdrawalView): Promise<void> {
    const until = Date.now() + SENT_AGAIN_WITHIN_MS;
    for (;;) {
      const pool = await here.rpc<string[]>("getrawmempool");
      const { attempts, fee_units } = await shop.withdrawal(id);
      if (fee_units !== null || attempts.some(({ tx_id }) => pool.includes(tx_id))) return;
      if (Date.now() > until) throw new Error(`${id} is nowhere: ${JSON.stringify(attempts)}`);
      await pause(100);
    }
  }

  /** The bytes that were sent under this id. */
  async function rawOf(txId: string | undefined): Promise<string> {
    for (const raw of stage.first.proxy.sent) {
      if ((await here.rpc<{ txid: string }>("decoderawtransaction", raw)).txid === txId) return raw;
    }
    throw new Error(`${txId} was never sent`);
  }

  describe("a node that does not answer as it should", () => {
    it.each(Object.entries(FAULTY_LOOKS))("about %s keeps a withdrawal waiting, and pays nothing", async (_, fault) => {
      const shop = shopOf(names.looks);
      let asked = 0;
      setFaults({
        instead: ({ method }) => {
          if (!fault.methods.test(method)) return null;
          const code = fault.codes[asked++ % fault.codes.length] ?? 0;
          return { error: { code, message: `no, because of ${code}` } };
        },
      });
      const { id } = await withdraw(shop, "0.01");
      await expect.poll(() => asked, { timeout: 20_000 }).toBeGreaterThan(0);
      await pause(300);
      const view = await shop.withdrawal(id);
      expect([view.state, view.attempts]).toEqual(["funds_reserved", []]);
      setFaults({});
    });

    it("to bytes that are sent: nothing is released, and nothing else is signed", async () => {
      const scripts = new Map<string, keyof typeof FAULTY_SENDS>();
      const answersOf = (call: Call) => {
        const found = isSend(call) && [...scripts].find(([script]) => String(call.params[0]).includes(script));
        return found ? FAULTY_SENDS[found[1]] : null;
      };
      setFaults({
        instead: (call) => {
          const answers = answersOf(call);
          return typeof answers === "function" ? (answers(call) ?? null) : null;
        },
        lose: (call) => {
          const answers = answersOf(call);
          return answers === "answer" || answers === "request" ? answers : null;
        },
      });
      for (const proxy of both()) void proxy.hold((call) => answersOf(call) === "hangs");
      for (const name of Object.keys(FAULTY_SENDS)) {
        const destination = await here.newAddress();
        scripts.set(await book.scriptOf(destination), name);
        const shop = shopOf(name);
        const asked = await shop.withdraw({ network: REGTEST, asset: "BTC", destination, amount: "0.5" });
        begun.set(name, { shop, asked });
      }
      for (const [name, { shop, asked }] of begun) {
        const hangs = FAULTY_SENDS[name] === "hangs";
        const view = await untilView(shop, asked.id, ({ attempts: [first] }) =>
          hangs ? first?.status === "sent" : (first?.outcome ?? null) !== null,
        );
        const isKnown = name.startsWith("-27");
        expect([name, view.state]).toEqual([name, isKnown ? "confirmation_tracking" : "broadcast_pending"]);
        expect(view.attempts).toHaveLength(1);
        expect(await balanceOf(shop)).toEqual({ available: "2", reserved: "0.5", settled: "0" });
        expect((await shop.wallet(REGTEST)).status).toBe("active");
      }
      setFaults({});
    });
  });

  it("a coin that a stranger spends stops the wallet, and asks a person", async () => {
    const shop = shopOf(names.robbed);
    const destination = await here.newAddress();
    const script = await book.scriptOf(destination);
    const isOurs = (call: Call) => isSend(call) && String(call.params[0]).includes(script);
    const held = Promise.all(both().map((proxy) => proxy.hold(isOurs)));
    const asked = await shop.withdraw({ network: REGTEST, asset: "BTC", destination, amount: "0.5" });
    const requests = await held;
    const { attempts } = await shop.withdrawal(asked.id);
    const [coin = ""] = (await inputsSigned(stage)).get(attempts[0]?.tx_id ?? "") ?? [];
    const raw = await foreignSpend(stage, book, shop, coin, await here.newAddress());
    await here.mineOnly([raw]);
    await mineEmpty(here, 1);
    for (const request of requests) request.release();
    const review = await untilToldState(shop, asked.id, "manual_review");
    const { txid } = await here.rpc<{ txid: string }>("decoderawtransaction", raw);
    expect(review.transitions.at(-1)).toMatchObject({ reason: "input_spent_by_another" });
    expect(review.transitions.at(-1)?.evidence).toContain(txid);
    const wallet = await shop.wallet(REGTEST);
    expect(wallet.status).toBe("stopped");
    expect(wallet.incident).toContain(txid);
    expect(await balanceOf(shop)).toEqual({ available: "2", reserved: "0.5", settled: "0" });
    robbed = { asked, theft: txid };
  });

  describe("a payment", () => {
    it(`B78: ${EQUAL_REQUESTS} equal requests at a time are one withdrawal, reserved, tracked and paid once`, async () => {
      const shop = shopOf(names.plain);
      const destination = await here.newAddress();
      const body = { network: REGTEST, asset: "BTC", destination, amount: "0.5" };
      const estimate = await shop.call<EstimateView>("POST", "/v1/withdrawals/estimate", body);
      expect(estimate).toMatchObject({ accepted: true, warning: null, refusal: null, fee_asset: "BTC" });
      const answers = await Promise.all(
        Array.from({ length: EQUAL_REQUESTS }, () =>
          shop.ask<WithdrawalView>("POST", "/v1/withdrawals", body, "click"),
        ),
      );
      expect(new Set(answers.map(({ body: { id } }) => id)).size).toBe(1);
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.every(({ status }) => status === 200 || status === 201)).toBe(true);
      const asked = answers[0]?.body as WithdrawalView;
      const { tx_id } = await accepted(shop, asked);
      await pooled(here, tx_id);
      await here.mine();
      await untilView(shop, asked.id, ({ fee_units }) => fee_units !== null);
      expect(await balanceOf(shop)).toEqual({ available: "2", reserved: "0.5", settled: "0" });
      await here.mine();
      const done = await untilToldState(shop, asked.id, "confirmed");
      expect(stepsOf(done)).toEqual([
        "request_received: requested",
        "funds_reserved: reserved",
        "broadcast_pending: coins_chosen",
        "confirmation_tracking: accepted",
        "confirmed: confirmed_on_chain",
      ]);
      expect(Number(done.fee)).toBeLessThanOrEqual(Number(estimate.max_fee));
      expect(await balanceOf(shop)).toEqual({ available: "2", reserved: "0", settled: "0.5" });
      await exact(shop);
      expect(await book.paidTo(destination)).toEqual([50_000_000n]);
      expect(await shop.withdrawals()).toHaveLength(1);
    });

    it("from one coin leaves change, and the next one spends that", async () => {
      const shop = shopOf(names.single);
      const first = await accepted(shop, await withdraw(shop, "1"));
      const waiting = await withdraw(shop, "0.25");
      await untilView(shop, waiting.id, ({ waiting_for }) => waiting_for === "wallet_top_up");
      await pooled(here, first.tx_id);
      await here.mine(2);
      await untilToldState(shop, first.id, "confirmed");
      const second = await accepted(shop, waiting);
      expect((await inputsSigned(stage)).get(second.tx_id ?? "")).toEqual([expect.stringContaining(`${first.tx_id}:`)]);
      await pooled(here, second.tx_id);
      await here.mine(2);
      await untilToldState(shop, second.id, "confirmed");
      await exact(shop);
      const { addresses } = await walletKeys(stage, shop);
      const change = await Promise.all(addresses.slice(1, 3).map((address) => book.paidTo(address)));
      expect(change.map((outputs) => outputs.length)).toEqual([1, 1]);
    });
  });

  describe("a batch", () => {
    it("of all that wait together is one transaction: each is paid once, hurried together, and bears its share", async () => {
      const shop = shopOf(names.batch);
      const coins = await coinsOf(shop);
      const held = stage.first.proxy.hold(({ method, params: [txId] }) => method === "gettxout" && coins.has(txId));
      const types: (AddressType | undefined)[] = ["legacy", "p2sh-segwit", "bech32", "bech32m", undefined, undefined];
      const asked = [await withdraw(shop, "0.1")];
      const request = await held;
      for (const [i, type] of types.entries()) asked.push(await withdraw(shop, `0.2${i}`, type));
      request.release();
      const pending = await Promise.all(asked.map((one) => accepted(shop, one)));
      expect(new Set(pending.map(({ tx_id }) => tx_id)).size).toBe(1);
      await shop.call("POST", `/v1/withdrawals/${asked[3]?.id}/speed-up`);
      const hurried = await Promise.all(asked.map((one) => accepted(shop, one, 1)));
      expect(new Set(hurried.map(({ tx_id }) => tx_id)).size).toBe(1);
      expect(hurried[0]?.tx_id).not.toBe(pending[0]?.tx_id);
      await pooled(here, hurried[0]?.tx_id);
      await here.mine(2);
      for (const { id } of asked) await untilToldState(shop, id, "confirmed");
      await exact(shop);
      for (const { destination, amount_units } of asked)
        expect(await book.paidTo(destination)).toEqual([BigInt(amount_units)]);
    });
  });

  describe("fees", () => {
    /** A withdrawal that lies in both pools, and no block takes. */
    async function waiting(): Promise<WithdrawalView> {
      const shop = shopOf(names.hurry);
      const view = await accepted(shop, await withdraw(shop, "0.25"));
      await pooled(there, view.tx_id);
      return view;
    }

    async function feeOf(txId: string | undefined): Promise<number> {
      return (await here.rpc<{ fees: { base: number } }>("getmempoolentry", txId)).fees.base;
    }

    it("B93: what is not mined for some blocks is replaced at a higher fee by what spends the same coin", async () => {
      const shop = shopOf(names.hurry);
      const { id, tx_id, attempts } = await waiting();
      const before = await feeOf(tx_id ?? "");
      await mineEmpty(here, REPLACED_AFTER - 1);
      await pause(500);
      expect((await shop.withdrawal(id)).attempts).toHaveLength(1);
      await mineEmpty(here, 1);
      const replaced = await accepted(shop, { id } as WithdrawalView, 1);
      expect(replaced.attempts[0]?.tx_id).toBe(attempts[0]?.tx_id);
      await pooled(here, replaced.tx_id);
      expect(await feeOf(replaced.tx_id ?? "")).toBeGreaterThan(before);
      expect(await here.rpc<string[]>("getrawmempool")).not.toContain(tx_id);
      await here.mine(2);
      expect((await untilToldState(shop, id, "confirmed")).tx_id).toBe(replaced.tx_id);
      await exact(shop);
    });

    it("B90: an older attempt that is mined completes the withdrawal, with its own id and fee", async () => {
      const shop = shopOf(names.hurry);
      const asked = await waiting();
      for (const _ of ["asked", "asked again"])
        expect((await shop.ask("POST", `/v1/withdrawals/${asked.id}/speed-up`, {}, "hurry")).status).toBe(200);
      const hurried = await accepted(shop, asked, 1);
      expect(hurried.attempts).toHaveLength(2);
      await pooled(there, hurried.tx_id);
      await here.mineOnly([await rawOf(asked.attempts[0]?.tx_id)]);
      await mineEmpty(here, 1);
      const done = await untilToldState(shop, asked.id, "confirmed");
      expect([hurried.tx_id, done.tx_id]).toEqual([hurried.attempts[1]?.tx_id, asked.attempts[0]?.tx_id]);
      await exact(shop);
      await expect(here.rpc("sendrawtransaction", await rawOf(hurried.tx_id ?? ""))).rejects.toThrow(/missingorspent/);
    });
  });

  describe("a reorganisation", () => {
    it("B104: takes a confirmed payment away, which is tracked again and mined again with the same bytes", async () => {
      const shop = shopOf(names.apart);
      await here.connect(there);
      // Both providers have one node behind them, as far as they can be told apart.
      stage.show(here, here);
      const asked = await accepted(shop, await withdraw(shop, "0.5"));
      await here.disconnect(there);
      await here.mine(2);
      const before = await untilToldState(shop, asked.id, "confirmed");
      expect(await book.paidTo(asked.destination)).toHaveLength(1);
      await mineEmpty(there, 4);
      await there.connect(here);
      const back = await untilState(shop, asked.id, "confirmation_tracking");
      expect(stepsOf(back).slice(-2)).toEqual(["confirmed: confirmed_on_chain", "confirmation_tracking: reorganised"]);
      expect(back.fee_units).toBeNull();
      expect(await balanceOf(shop)).toEqual({ available: "2", reserved: "0.5", settled: "0" });
      expect(await book.paidTo(asked.destination)).toEqual([]);
      stage.show(here, there);
      await pooled(here, asked.tx_id);
      await here.mine(2);
      const after = await untilView(shop, asked.id, ({ state }) => state === "confirmed");
      expect([after.tx_id, after.attempts.length]).toEqual([before.tx_id, 1]);
      await exact(shop);
      expect(await balanceOf(shop)).toEqual({ available: "2", reserved: "0", settled: "0.5" });
    });

    it("by a node that calls a block invalid, with a provider that does not: nothing moves until both agree", async () => {
      const shop = shopOf(names.turned);
      await here.connect(there);
      const asked = await accepted(shop, await withdraw(shop, "0.5"));
      await pooled(here, asked.tx_id);
      const [block] = await here.mine(2);
      await untilToldState(shop, asked.id, "confirmed");
      await here.connect(there);
      await here.disconnect(there);
      await there.rpc("invalidateblock", block);
      await mineEmpty(there, 3);
      await pause(1_000);
      expect((await shop.withdrawal(asked.id)).state).toBe("confirmed");
      await there.connect(here);
      await untilState(shop, asked.id, "confirmation_tracking");
      await here.mine(2);
      await untilState(shop, asked.id, "confirmed");
      await exact(shop);
      await there.rpc("reconsiderblock", block);
    });
  });

  describe("in the end", () => {
    it("B83: each withdrawal whose sending was answered wrongly, or not at all, is paid once", {
      timeout: 120_000,
    }, async () => {
      const looks = shopOf(names.looks);
      const looked = (await looks.withdrawals()).map((asked) => ({ shop: looks, asked }));
      expect(looked).toHaveLength(Object.keys(FAULTY_LOOKS).length);
      const all = [...begun.values(), ...looked];
      for (const { shop, asked } of all) await untilOnItsWay(shop, asked);
      await here.mine(2);
      for (const { shop, asked } of all) await untilToldState(shop, asked.id, "confirmed");
    });

    it("what a stranger's coin was to pay is released when that is final, and the wallet goes on", async () => {
      const shop = shopOf(names.robbed);
      await here.mine(WINDOW);
      // A wallet that is stopped looks every quarter of a minute.
      await expect.poll(async () => (await shop.wallet(REGTEST)).in_flight, { timeout: 40_000 }).toBe(0);
      expect((await shop.withdrawal(robbed.asked.id)).state).toBe("manual_review");
      const body = { outcome: "failed", evidence: `looked at ${robbed.theft}` };
      const failed = await shop.call<WithdrawalView>("POST", `/v1/withdrawals/${robbed.asked.id}/resolve`, body);
      await untilToldState(shop, failed.id, "failed");
      expect(await balanceOf(shop)).toEqual({ available: "2.5", reserved: "0", settled: "0" });
      expect(await book.paidTo(robbed.asked.destination)).toEqual([]);
      await shop.call("POST", `/v1/wallets/${REGTEST}/resume`);
      const next = await accepted(shop, await withdraw(shop, "0.5"));
      await pooled(here, next.tx_id);
      await here.mine(2);
      await untilToldState(shop, next.id, "confirmed");
    });

    it("the blocks hold each payment once, the wallets what is left, and reconciliation finds nothing", async () => {
      await here.mine(WINDOW);
      const merchants = Object.values(shops);
      await exact(...merchants);
      await expectReconciled(REGTEST, merchants);
      for (const merchant of merchants) expect(await walletUnits(merchant)).toBeGreaterThan(0n);
    });

    it("no seed, key or password is ever printed", async () => {
      const keys = await Promise.all(Object.values(shops).map((shop) => walletKeys(stage, shop)));
      const wifs = keys.flatMap((own) => own.wifs);
      expect(leaked(stage, wifs)).toEqual([]);
    });
  });
});
