/**
 * Solana through the running service to a merchant's program and back: deposits of coins and tokens as wallets make them,
 * forks, and withdrawals over two nodes of a chain that carries transactions out.
 */

import { address } from "@solana/kit";
import { getTransferSolInstruction } from "@solana-program/system";
import { getCloseAccountInstruction, getSyncNativeInstruction } from "@solana-program/token";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../../src/core/solana-address.ts";
import type { DepositView, EstimateView, WithdrawalView } from "../../src/core/views.ts";
import type { Merchant } from "../support/merchant.ts";
import { expectReconciled, untilState, untilToldState, untilView } from "../support/payouts.ts";
import { leaked } from "../support/served.ts";
import type { ChainBlock } from "../support/solana-chain.ts";
import { solanaKey } from "../support/solana-keys.ts";
import { expectPaidExactly, fund, pays, sentTo, unitsOf } from "../support/solana-payouts.ts";
import { LIFE, SOLANA, type SolanaStage, startSolanaStage, UNFINAL } from "../support/solana-stage.ts";
import { holding, openHolding, type TestToken, WRAPPED_SOL } from "../support/solana-tokens.ts";

/** Polls that would have told what is not to be told. */
const POLLS_MS = 600;
const TOLD_WITHIN_MS = 20_000;
const SOL = 10n ** 9n;
const TOKENS = 10n ** 6n;
/** What an account of a token must hold to exist. */
const RENT = 2_039_280;
const RENT_SHOWN = "0.00203928";
const WRAPPED: TestToken = { mint: address(WRAPPED_SOL), program: address(TOKEN_PROGRAM), decimals: 9 };

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let stage: SolanaStage;
let shop: Merchant;
let usd: TestToken;
let taxed: TestToken;
let people = 0;
const newOwner = () => solanaKey(`person ${++people}`).address;

beforeAll(async () => {
  stage = await startSolanaStage();
  usd = await stage.token("usd");
  taxed = await stage.token("taxed", { program: TOKEN_2022_PROGRAM, feeBasisPoints: 100, symbol: "TAX" });
  await stage.finalize();
  shop = await stage.merchant("Shop");
  await shop.list(SOLANA, usd.mint, "USD");
  await shop.list(SOLANA, taxed.mint);
});
afterAll(() => stage?.stop());

describe("deposits", () => {
  const watch = async (account: string) =>
    (await shop.watch({ network: SOLANA, address: newOwner(), account })).address;

  /** Of the events about payments to an address: what they told, in order. */
  const storyOf = (to: string) =>
    shop.consumer.events.flatMap(({ type, data }) => ((data as Partial<DepositView>).address === to ? [type] : []));

  async function toldConfirmed(to: string): Promise<DepositView> {
    const event = await shop.consumer.waitFor(
      ({ type, data }) => type === "deposit.confirmed" && (data as DepositView).address === to,
      TOLD_WITHIN_MS,
    );
    return event.data as DepositView;
  }

  async function availableOf(account: string): Promise<string[]> {
    const own = (await shop.balances()).filter((balance) => balance.account === account);
    return own.map(({ asset, available }) => `${available} ${asset}`).sort();
  }

  it("coins, and tokens in an account that is opened with the payment, when final and not before; skipped slots; no failed one", async () => {
    const owners = new Map<string, string>();
    for (const account of ["coins", "tokens", "taxed", "unwrapped", "failed"])
      owners.set(account, await watch(account));
    const of = (account: string) => owners.get(account) ?? "";
    const eve = solanaKey("eve");
    const lent = solanaKey("lent");
    const { payer } = stage;
    const wrapped = holding(WRAPPED, eve.address);

    const ids = [
      await stage.pay(of("coins"), 1_500_000_001n),
      await stage.pay(of("tokens"), 250_500_000n, usd),
      await stage.pay(of("taxed"), 100n * TOKENS, taxed),
      // Eve wraps coins, and closes what holds them into the customer's address.
      await stage.send(
        [
          openHolding({ faucet: payer }, WRAPPED, eve.address),
          getTransferSolInstruction({ source: payer.signer, destination: wrapped, amount: 2n * SOL }),
          getSyncNativeInstruction({ account: wrapped }),
          getCloseAccountInstruction({
            account: wrapped,
            destination: address(of("unwrapped")),
            owner: eve.signer,
          }),
        ],
        [eve],
      ),
      // Its first instruction would have paid; what the second asks for nobody has.
      await stage.send(
        [
          getTransferSolInstruction({ source: payer.signer, destination: address(of("failed")), amount: SOL }),
          getTransferSolInstruction({ source: lent.signer, destination: address(of("failed")), amount: SOL }),
        ],
        [lent],
      ),
    ];
    await stage.order("chain", "skip", 5);
    const { height, slot, txs } = await stage.mine();
    expect([txs.map(({ signature }) => signature), txs.map(({ err }) => err === null)]).toEqual([
      ids,
      [true, true, true, true, false],
    ]);
    expect(slot).toBeGreaterThan(height + 4);
    await stage.order("chain", "skip", 3);
    await stage.mine(UNFINAL - 1);
    await pause(POLLS_MS);
    expect([await shop.deposits(), await shop.balances()]).toEqual([[], []]);

    await stage.mine();
    const credited = new Map<string, string>([
      ["coins", "1.500000001 SOL"],
      ["tokens", "250.5 USD"],
      ["taxed", "99 TAX"],
      ["unwrapped", `2${RENT_SHOWN.slice(1)} SOL`],
    ]);
    for (const [i, [account, amount]] of [...credited].entries()) {
      const told = await toldConfirmed(of(account));
      expect(`${told.amount} ${told.asset}`).toBe(amount);
      expect([told.tx_id, told.block_height, told.account]).toEqual([ids[i], height, account]);
      expect(told.transfer_index).toMatch(/^ix:\d/);
      expect(await availableOf(account)).toEqual([amount]);
    }
    // The same block was read whole.
    expect([storyOf(of("failed")), await shop.deposits({ address: of("failed") })]).toEqual([[], []]);
  });

  it("of a block that a fork takes away never, and of one that it moves once, where it stands in the end", async () => {
    const [gone, moved] = [await watch("gone"), await watch("moved")];
    await stage.pay(gone, SOL);
    const kept = await stage.pay(moved, 2n * SOL);
    const old = await stage.mine();
    await stage.mine(3);
    await pause(POLLS_MS);
    await stage.order("chain", "reorg", 4, { keep: [kept], mine: 5 });
    await stage.mine(UNFINAL);
    const told = await toldConfirmed(moved);
    const block = await stage.order<ChainBlock>("chain", "at", told.block_height);
    expect([told.tx_id, told.amount, told.block_hash]).toEqual([kept, "2", block.hash]);
    expect(block.hash).not.toBe(old.hash);
    await pause(POLLS_MS);
    expect([await shop.deposits({ address: gone }), await availableOf("gone"), await availableOf("moved")]).toEqual([
      [],
      [],
      ["2 SOL"],
    ]);
  });

  it("from the node that has them, while the other one is gone, behind, or says that there was no such block", async () => {
    const [first] = stage.proxies;
    const [away, late, skipped] = [await watch("away"), await watch("late"), await watch("skipped")];
    const node = (call: string, ...given: unknown[]) => stage.order(0, call, ...given);
    for (const [to, begin, end] of [
      [away, () => first.setFaults({ refuse: () => ({ status: 503, body: "" }) }), () => first.setFaults({})],
      [late, () => node("lag", 200), () => node("lag", 0)],
    ] as const) {
      await stage.pay(to, SOL);
      await begin();
      await stage.finalize();
      await toldConfirmed(to);
      await end();
    }
    await stage.pay(skipped, SOL);
    const { slot } = await stage.mine();
    await node("hide", slot);
    await stage.mine(UNFINAL);
    await toldConfirmed(skipped);
    await node("honestAgain");
    expect([await availableOf("away"), await availableOf("late"), await availableOf("skipped")]).toEqual([
      ["1 SOL"],
      ["1 SOL"],
      ["1 SOL"],
    ]);
  });

  it("each told once, in order, by requests whose signatures hold; the feed says the same", async () => {
    const { events, alarms, balances } = shop.consumer;
    expect([alarms, events.filter(({ id }) => shop.consumer.timesSeen(id) !== 1)]).toEqual([[], []]);
    const told = ["deposit.pending", "deposit.confirmed", "deposit.settled"];
    for (const { address: to } of shop.watched) expect(told).toEqual(expect.arrayContaining(storyOf(to)));
    expect(await shop.events()).toEqual(expect.arrayContaining([...events]));
    const sums = [...balances.values()].reduce((sum, units) => sum + units, 0n);
    const deposits = await shop.deposits();
    expect(deposits.reduce((sum, { amount_units }) => sum + BigInt(amount_units), 0n)).toBe(sums);
    expect(deposits).toHaveLength(8);
  });
});

describe("withdrawals", () => {
  let store: Merchant;

  beforeAll(async () => {
    store = await stage.merchant("Store");
    await store.list(SOLANA, usd.mint, "USD");
    await store.list(SOLANA, taxed.mint);
    const tokens = [
      { token: usd, units: 1_000n * TOKENS },
      { token: taxed, units: 100n * TOKENS },
    ];
    await fund(stage, [{ shop: store, lamports: 10n * SOL, tokens }], newOwner);
  });

  const wanted = (over: Partial<Parameters<Merchant["withdraw"]>[0]> = {}) => ({
    network: SOLANA,
    asset: "SOL",
    amount: "0.25",
    destination: newOwner() as string,
    ...over,
  });

  const accepted = (id: string) => untilView(store, id, ({ attempts }) => attempts.at(-1)?.outcome === "accepted");
  const statusesOf = ({ attempts }: WithdrawalView) => attempts.map(({ status }) => status).join(" ");

  it("coins, and tokens to whoever has no account of them and to whoever has one: paid once, settled, at the cost that was told", async () => {
    const opened = newOwner();
    await stage.send([openHolding({ faucet: stage.payer }, usd, opened)]);
    await stage.finalize();
    const requests = [
      wanted(),
      wanted({ asset: "USD", amount: "12.5" }),
      wanted({ asset: "USD", destination: opened }),
    ];
    const costs: number[] = [];
    for (const request of requests) {
      const estimate = await store.call<EstimateView>("POST", "/v1/withdrawals/estimate", request);
      expect(estimate).toMatchObject({ accepted: true, warning: null, fee_asset: "SOL", max_fee: "0.01" });
      costs.push(Math.round(Number(estimate.fee) * 1e9));
    }
    const [coins = 0, opening = 0, plain = 0] = costs;
    expect([coins >= 5_000, coins < 10_000, plain < 10_000, opening - RENT >= 5_000, opening - RENT < 10_000]).toEqual(
      Array(5).fill(true),
    );
    const made: WithdrawalView[] = [];
    for (const request of requests) made.push(await store.withdraw(request));
    for (const { id } of made) expect(await accepted(id)).toMatchObject({ state: "confirmation_tracking", fee: null });
    await stage.mine(UNFINAL);
    await pause(POLLS_MS);
    for (const { id } of made) expect((await store.withdrawal(id)).state).toBe("confirmation_tracking");
    await stage.mine();
    for (const [i, { id }] of made.entries()) {
      const done = await untilToldState(store, id, "confirmed");
      expect([statusesOf(done), done.transitions.map(({ to }) => to).join(" ")]).toEqual([
        "mined",
        "request_received funds_reserved broadcast_pending confirmation_tracking confirmed",
      ]);
      // The priority fee follows the compute units that it took.
      expect(Math.abs(Number(done.fee_units) - (costs[i] ?? 0))).toBeLessThan(200);
    }
    expect(await unitsOf(stage, opened, usd)).toBe(250_000n);
    const own = (await store.balances()).filter(({ account }) => account === "default");
    expect(own.sort((a, b) => a.asset.localeCompare(b.asset))).toMatchObject([
      { asset: "SOL", available: "9.75", reserved: "0", settled: "0.25" },
      { asset: "TAX", available: "99" },
      { asset: "USD", available: "987.25", reserved: "0", settled: "12.75" },
    ]);
  });

  it("a double click with one key is one payment", async () => {
    const body = wanted({ amount: "0.5" });
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => store.ask<WithdrawalView>("POST", "/v1/withdrawals", body, "double click")),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 201]);
    const [id = "", ...others] = new Set(answers.map((answer) => answer.body.id));
    expect(others).toEqual([]);
    await accepted(id);
    await stage.finalize();
    await untilState(store, id, "confirmed");
    expect([await unitsOf(stage, body.destination), sentTo(stage, body.destination).length]).toEqual([SOL / 2n, 1]);
  });

  it("what the chain would not carry out fails before anything is signed, and its amount is released", async () => {
    const before = await store.balances();
    // Less than an account must hold; more than one that keeps a fee would deliver.
    for (const over of [{ amount: "0.0000001" }, { asset: "TAX", amount: "1" }]) {
      const request = wanted(over);
      const { warning } = await store.call<EstimateView>("POST", "/v1/withdrawals/estimate", request);
      expect(warning).toMatch(/rent-exempt minimum|keeps a fee/);
      const { id } = await store.withdraw(request);
      const { transitions, attempts } = await untilState(store, id, "failed");
      expect([transitions.at(-1)?.reason, attempts]).toEqual(["would_revert", []]);
      expect(sentTo(stage, request.destination, [usd, taxed])).toEqual([]);
    }
    expect(await store.balances()).toEqual(before);
  });

  it("bytes that both nodes refuse when they try them out are not sent; another one is signed when they are dead", async () => {
    const request = wanted({ asset: "USD", amount: "2" });
    const isOwn = pays(request.destination, [usd]);
    const failed = { context: { slot: 1 }, value: { err: "AccountInUse", logs: [], unitsConsumed: 0 } };
    const isTry = (config: unknown) => (config as { readonly sigVerify?: boolean }).sigVerify === true;
    for (const proxy of stage.proxies)
      proxy.setFaults({ instead: (call) => (isOwn(call) && isTry(call.params[1]) ? { result: failed } : null) });
    const { id } = await store.withdraw(request);
    await untilView(store, id, ({ attempts }) => attempts.length === 1);
    await stage.mine(LIFE - 40);
    await pause(POLLS_MS);
    expect(statusesOf(await store.withdrawal(id))).toBe("signed");
    for (const proxy of stage.proxies) proxy.setFaults({});
    await pause(POLLS_MS);
    expect(sentTo(stage, request.destination, [usd])).toEqual([]);
    await stage.mine(60);
    const again = await accepted(id);
    expect(statusesOf(again)).toBe("void sent");
    await stage.finalize();
    const done = await untilToldState(store, id, "confirmed");
    expect([statusesOf(done), sentTo(stage, request.destination, [usd])]).toEqual(["void mined", [done.tx_id]]);
  });

  it("B99: one that never lands is signed anew when both nodes are past its last block, and not while one is behind", async () => {
    const request = wanted({ asset: "USD", amount: "3" });
    const tokens = [usd];
    for (const on of [0, 1]) await stage.order(on, "forwards", false);
    const { id } = await store.withdraw(request);
    await accepted(id);
    await stage.order(1, "lag", LIFE);
    await stage.mine(LIFE + 20);
    await pause(POLLS_MS);
    expect(statusesOf(await store.withdrawal(id))).toBe("sent");
    for (const on of [0, 1]) await stage.order(on, "forwards", true);
    await stage.order(1, "lag", 0);
    const again = await untilView(store, id, (view) => statusesOf(view) === "void sent");
    await accepted(id);
    await stage.finalize();
    const done = await untilToldState(store, id, "confirmed");
    expect([done.tx_id, statusesOf(done)]).toEqual([again.tx_id, "void mined"]);
    expect(sentTo(stage, request.destination, tokens)).toEqual(done.attempts.map(({ tx_id }) => tx_id));
    expect(await unitsOf(stage, request.destination, usd)).toBe(3n * TOKENS);
  });

  it("one that landed is not signed anew while one node, or its history, does not have it", async () => {
    const requests = [wanted(), wanted({ asset: "USD", amount: "4" })];
    const made: WithdrawalView[] = [];
    for (const request of requests) made.push(await store.withdraw(request));
    for (const { id } of made) {
      const { tx_id } = await accepted(id);
      await stage.order(0, "forget", tx_id);
    }
    await stage.order(1, "lag", LIFE);
    await stage.mine(LIFE);
    await pause(POLLS_MS);
    await stage.order(1, "lag", 0);
    await stage.mine(LIFE);
    await pause(POLLS_MS);
    for (const { id } of made) {
      const view = await store.withdrawal(id);
      expect([view.state, statusesOf(view)]).toEqual(["confirmation_tracking", "sent"]);
    }
    await stage.order(0, "honestAgain");
    for (const { id } of made) expect(statusesOf(await untilToldState(store, id, "confirmed"))).toBe("mined");
    for (const { destination } of requests) expect(sentTo(stage, destination, [usd])).toHaveLength(1);
  });

  it("chain, wallet, books, feed, webhooks and reconciliation agree in the end, and no secret was printed", async () => {
    await expectPaidExactly(stage, [store], [usd, taxed]);
    await expectReconciled(SOLANA, [store]);
    expect(leaked(stage)).toEqual([]);
  });
});
