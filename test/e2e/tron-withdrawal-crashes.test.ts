/**
 * The service dies with kill -9 at every point between a request for a withdrawal on TRON and the solid block that pays
 * it, and is started again on its data. Whether the client asks again or not, and whatever had left the service: one
 * payment. Nothing on this chain excludes a second transaction but that the first is dead, so some are such as the nodes
 * took and forgot: when solid blocks show that they have expired, another one is signed.
 *
 * Every case is brought to its point and kept there, then all die together, twice: bytes are sent again after a quarter
 * of a minute, which is waited for once. Both providers are held, since bytes go to both.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tronHex } from "../../src/core/tron-address.ts";
import type { Merchant } from "../support/merchant.ts";
import { expectReconciled, untilToldState, untilView } from "../support/payouts.ts";
import type { Held } from "../support/rpc-proxy.ts";
import { leaked } from "../support/served.ts";
import { parseTx } from "../support/tron-block.ts";
import { expectPaidExactly } from "../support/tron-payouts.ts";
import type { TronCall } from "../support/tron-server.ts";
import { freshTronAddress, startTronStage, TRON, type TronStage, UNSOLID } from "../support/tron-stage.ts";
import { type Crowd, expectOneEach, killUnderCrowd, type Reached, reachedBy } from "../support/withdrawal-kills.ts";

const EQUAL_REQUESTS = 12;
const OTHER_REQUESTS = 3;
const SENT_WITHIN_MS = 60_000;
const POLL_MS = 400;
/** Blocks after which a transaction of the service has expired. */
const LIFE = 20;
const AMOUNT = "5";
const TRX_EACH = 100;
const TOKENS_EACH = 50;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

type Asset = "TRX" | "USDX";

interface Scene {
  readonly shop: Merchant;
  readonly asset: Asset;
  readonly destination: string;
  /** 20 bytes of the hot wallet, hex. */
  readonly wallet: string;
}

type Case = Scene & Reached;

describe("TRON withdrawals and kill -9", () => {
  let stage: TronStage;

  const servers = () => [stage.first.server, stage.second.server];

  /** Resolves when both providers have such a request, which stays unanswered. */
  const holdBoth = (wanted: (call: TronCall) => boolean): Promise<Held[]> =>
    Promise.all(servers().map((server) => server.hold(wanted)));

  const isSendTo =
    (destination: string) =>
    ({ path, body }: TronCall) =>
      path === "wallet/broadcasthex" && String(body.transaction).includes(tronHex(destination));

  const ask = ({ shop, asset, destination }: Omit<Scene, "wallet">) =>
    shop.withdraw({ network: TRON, asset, destination, amount: AMOUNT });

  async function sendHeld(scene: Scene): Promise<Reached & { held: Held[] }> {
    const reached = holdBoth(isSendTo(scene.destination));
    const { id } = await ask(scene);
    const held = await reached;
    return { ...(await reachedBy(scene.shop, id)), held };
  }

  async function accepted(scene: Scene): Promise<Reached> {
    const { id } = await ask(scene);
    await untilView(scene.shop, id, ({ state }) => state === "confirmation_tracking");
    return reachedBy(scene.shop, id);
  }

  /** Each brings a withdrawal to a point, and keeps it there. */
  const POINTS: Readonly<Record<string, (scene: Scene) => Promise<Reached>>> = {
    // Only the provider that is asked first made it; both try it out.
    "stored, and being tried": async (scene) => {
      const held = stage.second.server.hold(
        ({ path, body }) =>
          path === "wallet/triggerconstantcontract" &&
          body.owner_address === `41${scene.wallet}` &&
          String(body.data).startsWith("a9059cbb"),
      );
      const { id } = await ask(scene);
      await held;
      return reachedBy(scene.shop, id);
    },
    "being made": async (scene) => {
      const held = stage.first.server.hold(
        ({ path, body }) => path === "wallet/getaccountresource" && body.address === `41${scene.wallet}`,
      );
      const { id } = await ask(scene);
      await held;
      return reachedBy(scene.shop, id);
    },
    "stored, and not sent": sendHeld,
    "sent, and the answer lost": async (scene) => {
      const { held, ...reached } = await sendHeld(scene);
      for (const one of held) await one.swallow();
      return reached;
    },
    "sent, and one of two answers lost": async (scene) => {
      const { held, ...reached } = await sendHeld(scene);
      await held[0]?.swallow();
      held[1]?.cut();
      return reached;
    },
    "waiting for a block": accepted,
    "expired, and another one not sent": accepted,
    "expired, and the answer to another one lost": accepted,
    "solid, and being looked at": accepted,
    "in a block that is not solid": accepted,
  };
  /** Need blocks, during which what the other cases signed would expire: so they come first, in this order. */
  const EXPIRED = Object.keys(POINTS).filter((point) => point.startsWith("expired"));
  const SOLID = "solid, and being looked at";
  const UNSOLIDIFIED = "in a block that is not solid";

  const TWICE = ["stored, and not sent", "sent, and the answer lost"];
  /** Those of whom nobody asks again want TRX, the others the token: the one that is tried needs a contract. */
  const points = Object.keys(POINTS).flatMap((point, i) => {
    const [left, again] = [`${point}: left alone`, `${point}: asked again`];
    return TWICE.includes(point) ? [left, again] : [i % 2 === 0 ? again : left];
  });
  const cases = new Map<string, Case>();
  const scenes = new Map<string, Scene>();
  let crowd: Crowd;
  let answers: Awaited<ReturnType<typeof killUnderCrowd>>;

  async function sceneOf(name: string, asset: Asset): Promise<Scene> {
    const shop = await stage.merchant(name);
    if (asset === "USDX") await shop.list(TRON, stage.tokenAddress);
    const { address } = await shop.wallet(TRON);
    return { shop, asset, destination: freshTronAddress(), wallet: tronHex(address) };
  }

  async function reach(point: string): Promise<void> {
    const own = [...scenes].filter(([name]) => name.startsWith(`${point}:`));
    await Promise.all(
      own.map(async ([name, scene]) => {
        const bring = POINTS[point];
        if (bring === undefined) throw new Error(`${name} is no case`);
        cases.set(name, { ...scene, ...(await bring(scene)) });
      }),
    );
  }

  const casesAt = (point: string) => [...cases].filter(([name]) => name.startsWith(`${point}:`)).map(([, one]) => one);

  /** What was asked for is taken, forgotten, and expires; the sends of what is signed in its place are held. */
  async function reachExpired(): Promise<void> {
    for (const server of servers()) server.forget(() => true);
    await Promise.all(EXPIRED.map(reach));
    const kept = new Set(servers().flatMap(({ forgotten }) => forgotten));
    for (const server of servers()) server.forget((bytes) => kept.has(bytes));
    const again = EXPIRED.flatMap((point) =>
      casesAt(point).map(async ({ destination }) => {
        const isAnother = (call: TronCall) => isSendTo(destination)(call) && !kept.has(String(call.body.transaction));
        for (const held of await holdBoth(isAnother)) if (point.endsWith("lost")) await held.swallow();
      }),
    );
    await stage.mine(LIFE + UNSOLID + 2);
    await Promise.all(again);
  }

  async function reachSolid(): Promise<void> {
    await reach(SOLID);
    const { height } = stage.chain.head;
    const looked = casesAt(SOLID).map(({ stored: [txId] }) =>
      holdBoth(
        ({ path, body }) =>
          path === "walletsolidity/gettransactioninfobyid" && body.value === txId && stage.chain.solid.height > height,
      ),
    );
    await stage.settle();
    await Promise.all(looked);
  }

  /** Waits until every destination has a payment that waits for a block, or is in one. */
  async function untilAllSent(destinations: readonly string[]): Promise<void> {
    const until = Date.now() + SENT_WITHIN_MS;
    const { chain } = stage;
    for (;;) {
      const mined = Array.from({ length: chain.head.height }, (_, i) => chain.at(i + 1).txs).flat();
      const sent = [...mined, ...chain.pool].map(({ raw }) => raw);
      const missing = destinations.filter((one) => !sent.some((raw) => raw.includes(tronHex(one))));
      if (missing.length === 0) return;
      if (Date.now() > until) throw new Error(`not sent: ${missing}`);
      await pause(200);
    }
  }

  beforeAll(async () => {
    stage = await startTronStage({ poll_ms: POLL_MS });
    crowd = {
      shop: await stage.merchant("Crowd"),
      equal: freshTronAddress(),
      equalRequests: EQUAL_REQUESTS,
      others: Array.from({ length: OTHER_REQUESTS }, freshTronAddress),
      payout: { network: TRON, asset: "TRX", amount: AMOUNT },
    };
    for (const name of points) scenes.set(name, await sceneOf(name, name.endsWith("again") ? "USDX" : "TRX"));
    await stage.fund([
      { shop: crowd.shop, trx: TRX_EACH },
      ...[...scenes.values()].map(({ shop, asset }) => ({
        shop,
        trx: TRX_EACH,
        tokens: asset === "USDX" ? TOKENS_EACH : 0,
      })),
    ]);
    const begun = Date.now();
    await reachSolid();
    await reachExpired();
    await reach(UNSOLIDIFIED);
    await stage.mine();
    const deep = [...EXPIRED, SOLID, UNSOLIDIFIED];
    await Promise.all(Object.keys(POINTS).map((point) => (deep.includes(point) ? null : reach(point))));
    console.log(`all ${cases.size} cases were at their points within ${Date.now() - begun} ms`);

    answers = await killUnderCrowd(stage, crowd, cases);
    await untilAllSent([crowd.equal, ...crowd.others, ...[...cases.values()].map(({ destination }) => destination)]);
    await stage.settle();
  }, 300_000);
  afterAll(() => stage?.stop());

  describe("B135: at each point", () => {
    it.each(points)("%s", async (name) => {
      const { shop, asset, withdrawal, stored } = cases.get(name) as Case;
      const done = await untilToldState(shop, withdrawal.id, "confirmed");
      // B102: what was stored goes out, and nothing else ever did.
      const sent = done.attempts.map(({ tx_id }) => tx_id);
      expect(sent.slice(0, stored.length)).toEqual(stored);
      expect(sent).toHaveLength(name.startsWith("expired") ? 2 : 1);
      expect(await shop.withdrawals()).toHaveLength(1);
      const balance = (await shop.balances()).find((one) => one.account === "default" && one.asset === asset);
      const left = (asset === "TRX" ? TRX_EACH : TOKENS_EACH) - Number(AMOUNT);
      expect(balance).toMatchObject({ available: String(left), reserved: "0", settled: AMOUNT });
    });
  });

  it("what was sent and not heard of is known to the nodes as a duplicate, and nothing else is made for it", () => {
    const duplicates = [stage.first, stage.second].map(({ node }) => new Set(node.sent).size < node.sent.length);
    expect(duplicates).toEqual([true, true]);
    expect(stage.printed()).toContain("DUP_TRANSACTION_ERROR");
  });

  it(`B82: requests that are repeated until they are answered are one payment each, ${EQUAL_REQUESTS} of them one`, () =>
    expectOneEach(crowd, answers));

  it("B98: what expired was signed anew once, and the bytes of the first are worth nothing to whoever kept them", () => {
    const kept = new Set(stage.first.server.forgotten);
    expect(kept.size).toBe(EXPIRED.flatMap(casesAt).length);
    for (const bytes of kept) expect(() => stage.chain.push(parseTx(bytes))).toThrow(/expiration/);
  });

  it("chain, ledgers, feeds, webhooks and reconciliation agree in the end", async () => {
    const merchants = [crowd.shop, ...[...scenes.values()].map(({ shop }) => shop)];
    await expectPaidExactly(stage, merchants);
    await expectReconciled(TRON, merchants);
  });

  it("no seed or key is ever printed", () => {
    expect(stage.printed().split("Sluice listens on")).toHaveLength(1 + 3);
    expect(leaked(stage)).toEqual([]);
  });
});
