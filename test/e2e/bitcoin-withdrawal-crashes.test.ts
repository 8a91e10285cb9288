/**
 * The service dies with kill -9 at every point between a request for a withdrawal of bitcoin and its confirmation, and
 * is started again on its data. Whether the client asks again or not, and whatever had left the service: one payment.
 *
 * Every case is brought to its point and kept there, then all die together, twice: bytes are sent again after half a
 * minute, which is waited for once. Both providers are held, since bytes go to both.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BitcoinBook } from "../support/bitcoin-book.ts";
import { expectPaidExactly, fund, inputsSigned, walletKeys } from "../support/bitcoin-payouts.ts";
import { type BitcoinStage, REGTEST, startBitcoinStage, WINDOW } from "../support/bitcoin-stage.ts";
import { type Bitcoind, noBitcoind } from "../support/bitcoind.ts";
import type { Merchant } from "../support/merchant.ts";
import { expectReconciled, untilToldState, untilView } from "../support/payouts.ts";
import { type Call, type Held, isSend } from "../support/rpc-proxy.ts";
import { leaked } from "../support/served.ts";
import { type Crowd, expectOneEach, killUnderCrowd, type Reached, reachedBy } from "../support/withdrawal-kills.ts";

const EQUAL_REQUESTS = 30;
const OTHER_REQUESTS = 8;
const PAID = 50_000_000n;
const SENT_AGAIN_WITHIN_MS = 60_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Scene {
  readonly shop: Merchant;
  readonly destination: string;
  /** In hex, as it stands in signed bytes. */
  readonly script: string;
  /** Transactions that topped its wallet up. */
  readonly coins: ReadonlySet<unknown>;
}

type Case = Scene & Reached;

describe.skipIf(noBitcoind)("bitcoin withdrawals and kill -9", () => {
  let stage: BitcoinStage;
  let here: Bitcoind;
  let there: Bitcoind;
  let book: BitcoinBook;

  /** Resolves when both providers have such a request, which stays unanswered. */
  const holdBoth = (wanted: (call: Call) => boolean): Promise<Held[]> =>
    Promise.all([stage.first, stage.second].map(({ proxy }) => proxy.hold(wanted)));

  const isSendTo = (script: string) => (call: Call) => isSend(call) && String(call.params[0]).includes(script);

  const ask = ({ shop, destination }: Scene) =>
    shop.withdraw({ network: REGTEST, asset: "BTC", destination, amount: "0.5" });

  async function heldAt(scene: Scene, wanted: (call: Call) => boolean): Promise<Reached & { held: Held[] }> {
    const reached = holdBoth(wanted);
    const { id } = await ask(scene);
    const held = await reached;
    return { held, ...(await reachedBy(scene.shop, id)) };
  }

  /** Each brings a withdrawal to a point, and keeps it there. */
  const POINTS: Readonly<Record<string, (scene: Scene) => Promise<Reached>>> = {
    "the coins are asked about": (scene) =>
      heldAt(scene, ({ method, params: [txId] }) => method === "gettxout" && scene.coins.has(txId)),
    "stored, and not sent": (scene) => heldAt(scene, isSendTo(scene.script)),
    "sent, and the answer lost": async (scene) => {
      const { held, ...reached } = await heldAt(scene, isSendTo(scene.script));
      await held[0]?.swallow();
      return reached;
    },
    "sent, and one of two answers lost": async (scene) => {
      const { held, ...reached } = await heldAt(scene, isSendTo(scene.script));
      await held[0]?.swallow();
      held[1]?.cut();
      return reached;
    },
    "a replacement stored, and not sent": async (scene) => {
      const { id } = await ask(scene);
      await untilView(scene.shop, id, ({ attempts }) => attempts[0]?.outcome === "accepted");
      const held = holdBoth(isSendTo(scene.script));
      await scene.shop.call("POST", `/v1/withdrawals/${id}/speed-up`);
      await held;
      return reachedBy(scene.shop, id);
    },
    "a replacement sent, and the answer lost": async (scene) => {
      const { id } = await ask(scene);
      await untilView(scene.shop, id, ({ attempts }) => attempts[0]?.outcome === "accepted");
      const held = holdBoth(isSendTo(scene.script));
      await scene.shop.call("POST", `/v1/withdrawals/${id}/speed-up`);
      for (const one of await held) await one.swallow();
      return reachedBy(scene.shop, id);
    },
    "in the pool": async (scene) => {
      const { id } = await ask(scene);
      const withdrawal = await untilView(scene.shop, id, ({ attempts }) => attempts[0]?.outcome === "accepted");
      return { withdrawal, stored: withdrawal.attempts.map(({ tx_id }) => tx_id) };
    },
    // One block has all of these, once they are sent.
    "mined, and not confirmed": (scene) => POINTS["in the pool"]?.(scene) as Promise<Reached>,
  };

  const points = Object.keys(POINTS).flatMap((point) => [`${point}: left alone`, `${point}: asked again`]);
  const cases = new Map<string, Case>();
  let crowd: Crowd;
  let answers: Awaited<ReturnType<typeof killUnderCrowd>>;

  async function mineThose(beginning: string): Promise<void> {
    const those = [...cases].flatMap(([name, one]) => (name.startsWith(beginning) ? [one] : []));
    const { sent } = stage.first.proxy;
    await here.mineOnly(those.map(({ script }) => sent.find((raw) => raw.includes(script)) ?? ""));
    for (const { shop, withdrawal } of those)
      await untilView(shop, withdrawal.id, ({ fee_units }) => fee_units !== null);
  }

  beforeAll(async () => {
    // Nothing is replaced for its age: what is sent again are the same bytes.
    stage = await startBitcoinStage({ replace_after_blocks: 1_000 });
    [here, there] = [stage.first.node, stage.second.node];
    book = new BitcoinBook(here);
    const crowded = await stage.merchant("Crowd");
    const shops = new Map<string, Merchant>();
    for (const name of points) shops.set(name, await stage.merchant(name));
    await fund(stage, [
      { shop: crowded, btc: "10", coins: ["1", "2", "3"] },
      ...[...shops.values()].map((shop) => ({ shop, btc: "2", coins: ["0.75", "0.75", "0.75"] })),
    ]);
    const { byScript } = await book.ledger();
    const begun = Date.now();
    const reached = [...shops].map(async ([name, shop]) => {
      const destination = await here.newAddress();
      const [script, own] = await Promise.all([
        book.scriptOf(destination),
        shop.wallet(REGTEST).then(({ address }) => book.scriptOf(address)),
      ]);
      const coins = new Set(byScript.get(own)?.map(({ txId }) => txId));
      const scene = { shop, destination, script, coins };
      const reach = POINTS[name.replace(/: .*/, "")];
      if (reach === undefined) throw new Error(`${name} is no case`);
      cases.set(name, { ...scene, ...(await reach(scene)) });
    });
    await Promise.all(reached);
    await mineThose("mined");
    console.log(`all ${cases.size} cases were at their points within ${Date.now() - begun} ms`);
    const addresses: string[] = [];
    for (let i = 0; i <= OTHER_REQUESTS; i++) addresses.push(await here.newAddress());
    const [equal = "", ...others] = addresses;
    const payout = { network: REGTEST, asset: "BTC", amount: "0.5" };
    crowd = { shop: crowded, equal, equalRequests: EQUAL_REQUESTS, others, payout };
    answers = await killUnderCrowd(stage, crowd, cases);
    await untilAllPaid();
  }, 300_000);
  afterAll(() => stage?.stop());

  /** Mines what the pool has, a block at a time, until every destination has an output. */
  async function untilAllPaid(): Promise<void> {
    const wanted = [crowd.equal, ...crowd.others, ...[...cases.values()].map(({ destination }) => destination)];
    const scripts = await Promise.all(wanted.map((address) => book.scriptOf(address)));
    const until = Date.now() + SENT_AGAIN_WITHIN_MS;
    for (;;) {
      const { byScript } = await book.ledger();
      const missing = wanted.filter((_, i) => !byScript.has(scripts[i] ?? ""));
      if (missing.length === 0) break;
      if (Date.now() > until) throw new Error(`not paid: ${missing}`);
      if ((await here.rpc<string[]>("getrawmempool")).length > 0) await here.mine();
      await pause(200);
    }
    await here.mine(2);
  }

  describe("B135: at each point", () => {
    it.each(points)("%s", async (name) => {
      const { shop, destination, withdrawal, stored } = cases.get(name) as Case;
      const done = await untilToldState(shop, withdrawal.id, "confirmed");
      expect(await book.paidTo(destination)).toEqual([PAID]);
      // B102: what was stored goes out, and nothing else ever did.
      const sent = done.attempts.map(({ tx_id }) => tx_id);
      if (stored.length > 0) expect(sent).toEqual(stored);
      else expect(sent).toHaveLength(1);
      const signed = await inputsSigned(stage);
      expect(sent.every((txId) => signed.has(txId))).toBe(true);
      const again = await shop.askAgain(withdrawal);
      expect([again.status, again.body.id, again.body.state]).toEqual([200, withdrawal.id, "confirmed"]);
      expect(await shop.withdrawals()).toHaveLength(1);
      expect((await shop.balances()).filter(({ account }) => account === "default")).toMatchObject([
        { available: "1.5", reserved: "0", settled: "0.5" },
      ]);
    });
  });

  it(`B82: requests that are repeated until they are answered are one payment each, ${EQUAL_REQUESTS} of them one`, async () => {
    await expectOneEach(crowd, answers);
    for (const to of [crowd.equal, ...crowd.others]) expect(await book.paidTo(to)).toEqual([PAID]);
  });

  it("chain, wallets, books, feeds and reconciliation agree when all is final", async () => {
    const merchants = [crowd.shop, ...[...cases.values()].map(({ shop }) => shop)];
    await here.connect(there);
    await here.mine(WINDOW);
    await expectPaidExactly(stage, book, merchants);
    await expectReconciled(REGTEST, merchants);
  });

  it("no seed, key or password is ever printed", async () => {
    const keys = await Promise.all([...cases.values()].map(({ shop }) => walletKeys(stage, shop)));
    expect(stage.printed().split("Sluice listens on")).toHaveLength(4);
    const wifs = keys.flatMap((own) => own.wifs);
    expect(leaked(stage, wifs)).toEqual([]);
  });
});
