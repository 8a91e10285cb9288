/**
 * The service dies with kill -9 at every point between a request for a withdrawal on Solana and its confirmation, and is
 * started again on its data. Whether the client asks again or not, whatever had left the service, and when what was signed
 * can never land: one payment.
 *
 * Every case is brought to its point and kept there, then all die together, twice: bytes are sent again after ten seconds,
 * which are waited for once. Those that are left alone pay in coins, the others in tokens to whoever has no account of them.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WithdrawalView } from "../../src/core/views.ts";
import type { Merchant } from "../support/merchant.ts";
import { expectReconciled, untilToldState, untilView } from "../support/payouts.ts";
import type { Call, Held } from "../support/rpc-proxy.ts";
import { leaked } from "../support/served.ts";
import { solanaKey } from "../support/solana-keys.ts";
import { expectPaidExactly, type Funding, fund, pays, sentTo, unitsOf } from "../support/solana-payouts.ts";
import { LIFE, SOLANA, type SolanaStage, startSolanaStage, UNFINAL } from "../support/solana-stage.ts";
import type { TestToken } from "../support/solana-tokens.ts";
import { type Crowd, expectOneEach, killUnderCrowd, type Reached, reachedBy } from "../support/withdrawal-kills.ts";

const EQUAL_REQUESTS = 20;
const OTHER_REQUESTS = 4;
const SOL = 10n ** 9n;
const TOKENS = 10n ** 6n;
/** A dozen wallets ask at once, and what is waited for takes ten seconds. */
const POLL_MS = 400;
const SENT_AGAIN_WITHIN_MS = 40_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Scene {
  readonly shop: Merchant;
  readonly destination: string;
  readonly asset: "SOL" | "USD";
}

type Case = Scene & Reached;

let stage: SolanaStage;
let usd: TestToken;
let people = 0;
const newOwner = () => solanaKey(`person ${++people}`).address;
const statusesOf = ({ attempts }: WithdrawalView) => attempts.map(({ status }) => status).join(" ");

/** Resolves when both providers have such a request, which stays unanswered. */
const holdBoth = (wanted: (call: Call) => boolean): Promise<Held[]> =>
  Promise.all(stage.proxies.map((proxy) => proxy.hold(wanted)));

const toDestination =
  (method: string, { destination }: Scene, isSigned = true) =>
  (call: Call) =>
    call.method === method &&
    pays(destination, [usd])(call) &&
    (method !== "simulateTransaction" || (call.params[1] as { sigVerify?: boolean }).sigVerify === isSigned);

const isSend = (scene: Scene) => toDestination("sendTransaction", scene);

const ask = ({ shop, destination, asset }: Scene) =>
  shop.withdraw({ network: SOLANA, asset, destination, amount: "0.5" });

const unitsAsked = ({ asset }: Scene) => (asset === "SOL" ? SOL / 2n : TOKENS / 2n);
const unitsPaid = ({ asset, destination }: Scene) => unitsOf(stage, destination, asset === "SOL" ? undefined : usd);

async function sendsHeld(scene: Scene): Promise<Reached & { readonly held: Held[] }> {
  const reached = holdBoth(isSend(scene));
  const { id } = await ask(scene);
  const held = await reached;
  return { held, ...(await reachedBy(scene.shop, id)) };
}

async function accepted(scene: Scene): Promise<Reached> {
  const { id } = await ask(scene);
  await untilView(scene.shop, id, ({ attempts }) => attempts[0]?.outcome === "accepted");
  return reachedBy(scene.shop, id);
}

/** Each brings a withdrawal to a point, and keeps it there. */
const POINTS: Readonly<Record<string, (scene: Scene) => Promise<Reached>>> = {
  "being prepared": async (scene) => {
    const reached = stage.proxies[0].hold(toDestination("simulateTransaction", scene, false));
    const { id } = await ask(scene);
    await reached;
    return reachedBy(scene.shop, id);
  },
  "stored, and being tried out": async (scene) => {
    const reached = holdBoth(toDestination("simulateTransaction", scene));
    const { id } = await ask(scene);
    await reached;
    return reachedBy(scene.shop, id);
  },
  "stored, and not sent": sendsHeld,
  "sent, and the answer lost": async (scene) => {
    const { held, ...reached } = await sendsHeld(scene);
    await held[0]?.swallow();
    return reached;
  },
  "sent to both, and both answers lost": async (scene) => {
    const { held, ...reached } = await sendsHeld(scene);
    for (const one of held) await one.swallow();
    return reached;
  },
  "followed, and in no block": accepted,
  // One block has all of one kind.
  "in a block that is not final": accepted,
  "final, and being read": accepted,
};

/** Once bytes are accepted it makes no difference who asks: one way each. */
const ONE_WAY: Readonly<Record<string, string>> = {
  "followed, and in no block": "asked again",
  "in a block that is not final": "left alone",
  "final, and being read": "asked again",
};
const points = Object.keys(POINTS).flatMap((point) => {
  const ways = ONE_WAY[point] === undefined ? ["left alone", "asked again"] : [ONE_WAY[point]];
  return ways.map((way) => `${point}: ${way}`);
});
/** Their bytes never reach a node before they are dead. */
const EXPIRING = ["expired: another one being prepared", "expired: another one sent, and the answer lost"];

describe("solana withdrawals and kill -9", () => {
  const cases = new Map<string, Case>();
  const expired = new Map<string, Case>();
  let crowd: Crowd;
  let answers: Awaited<ReturnType<typeof killUnderCrowd>>;

  const those = (beginning: string) => [...cases].flatMap(([name, one]) => (name.startsWith(beginning) ? [one] : []));

  /** A block at a time of what waits, until every one of these has its money; then until that is final. */
  async function untilPaid(owed: readonly Pick<Scene, "destination" | "asset">[]): Promise<void> {
    const until = Date.now() + SENT_AGAIN_WITHIN_MS;
    for (;;) {
      const units = await Promise.all(owed.map((one) => unitsPaid(one as Scene)));
      const missing = owed.filter((_, i) => units[i] === 0n);
      if (missing.length === 0) break;
      if (Date.now() > until) throw new Error(`not paid: ${missing.map(({ destination }) => destination)}`);
      await pause(400);
      await stage.mine();
    }
    await stage.finalize();
  }

  beforeAll(async () => {
    stage = await startSolanaStage(POLL_MS);
    usd = await stage.token("usd");
    await stage.finalize();
    crowd = {
      shop: await stage.merchant("Crowd"),
      equal: newOwner(),
      equalRequests: EQUAL_REQUESTS,
      others: Array.from({ length: OTHER_REQUESTS }, newOwner),
      payout: { network: SOLANA, asset: "SOL", amount: "0.5" },
    };
    const fundings: Funding[] = [{ shop: crowd.shop, lamports: 10n * SOL }];
    const scenes = new Map<string, Scene>();
    const opened = [...points, ...EXPIRING].map(async (name) => {
      const shop = await stage.merchant(name);
      const asset = name.endsWith("left alone") ? "SOL" : "USD";
      if (asset === "USD") await shop.list(SOLANA, usd.mint, "USD");
      const tokens = asset === "USD" ? [{ token: usd, units: 2n * TOKENS }] : [];
      fundings.push({ shop, lamports: 2n * SOL, tokens });
      scenes.set(name, { shop, asset, destination: newOwner() });
    });
    await Promise.all(opened);
    await fund(stage, fundings, newOwner);

    const begun = Date.now();
    await Promise.all(
      points.map(async (name) => {
        const scene = scenes.get(name) as Scene;
        const reach = POINTS[name.replace(/: .*/, "")];
        if (reach === undefined) throw new Error(`${name} is no case`);
        cases.set(name, { ...scene, ...(await reach(scene)) });
      }),
    );
    const landed = those("final").flatMap(({ stored }) => stored);
    await stage.order("chain", "mine", 1, { include: landed });
    const read = ({ stored }: Case) =>
      holdBoth(({ method, params: [txId] }) => method === "getTransaction" && stored.includes(String(txId)));
    const reading = Promise.all(those("final").map(read));
    await stage.order("chain", "mine", UNFINAL, { include: [] });
    await reading;
    const last = those("in a block").flatMap(({ stored }) => stored);
    await stage.order("chain", "mine", 1, { include: last });
    console.log(`all ${cases.size} cases were at their points within ${Date.now() - begun} ms`);

    answers = await killUnderCrowd(stage, crowd, cases);
    const beside = [crowd.equal, ...crowd.others].map((destination) => ({ destination, asset: "SOL" as const }));
    await untilPaid([...cases.values(), ...beside]);

    // What these had signed expires while the service is down; it dies once more with what it signs instead.
    const dying = EXPIRING.map((name) => [name, scenes.get(name) as Scene] as const);
    const isLost = dying.map(([, scene]) => isSend(scene));
    for (const proxy of stage.proxies)
      proxy.setFaults({ lose: (call) => (isLost.some((is) => is(call)) ? "request" : null) });
    for (const [name, scene] of dying) {
      const { id } = await ask(scene);
      await untilView(scene.shop, id, ({ attempts }) => attempts[0]?.outcome === "unknown");
      expired.set(name, { ...scene, ...(await reachedBy(scene.shop, id)) });
    }
    await stage.kill();
    await stage.mine(LIFE);
    for (const proxy of stage.proxies) proxy.setFaults({});
    // Each further attempt is prepared by another provider first.
    const held = dying.map(([name, scene]) =>
      name.endsWith("prepared")
        ? Promise.all([stage.proxies[1].hold(toDestination("simulateTransaction", scene, false))])
        : holdBoth(isSend(scene)),
    );
    await stage.restart();
    const [, sends = []] = await Promise.all(held);
    for (const one of sends) await one.swallow();
    await stage.kill();
    await stage.restart();
    await untilPaid([...expired.values()]);
  }, 300_000);
  afterAll(() => stage?.stop());

  it.each(points)("%s", async (name) => {
    const found = cases.get(name) as Case;
    const { shop, withdrawal, stored, destination, asset } = found;
    const done = await untilToldState(shop, withdrawal.id, "confirmed");
    expect(await unitsPaid(found)).toBe(unitsAsked(found));
    // What was stored goes out, and nothing else ever did.
    const sent = done.attempts.map(({ tx_id }) => tx_id);
    expect(stored.length).toBe(name.startsWith("being prepared") ? 0 : 1);
    if (stored.length > 0) expect(sent).toEqual(stored);
    expect(sent).toHaveLength(1);
    expect(sentTo(stage, destination, [usd])).toEqual(sent);
    const again = await shop.askAgain(withdrawal);
    expect([again.status, again.body.id, again.body.state]).toEqual([200, withdrawal.id, "confirmed"]);
    expect(await shop.withdrawals()).toHaveLength(1);
    const own = (await shop.balances()).filter((balance) => balance.account === "default" && balance.asset === asset);
    expect(own).toMatchObject([{ available: "1.5", reserved: "0", settled: "0.5" }]);
  });

  it.each(EXPIRING)("%s", async (name) => {
    const found = expired.get(name) as Case;
    const { shop, withdrawal, stored, destination } = found;
    const done = await untilToldState(shop, withdrawal.id, "confirmed");
    expect(await unitsPaid(found)).toBe(unitsAsked(found));
    expect([statusesOf(done), done.attempts[0]?.tx_id]).toEqual(["void mined", stored[0]]);
    expect(sentTo(stage, destination, [usd])).toEqual(done.attempts.map(({ tx_id }) => tx_id));
  });

  it(`requests that are repeated until they are answered are one payment each, ${EQUAL_REQUESTS} of them one`, async () => {
    await expectOneEach(crowd, answers);
    for (const to of [crowd.equal, ...crowd.others]) expect(await unitsOf(stage, to)).toBe(SOL / 2n);
  });

  it("chain, wallets, books, feeds, webhooks and reconciliation agree in the end", async () => {
    const merchants = [crowd.shop, ...[...cases.values(), ...expired.values()].map(({ shop }) => shop)];
    await stage.finalize();
    await expectPaidExactly(stage, merchants, [usd]);
    await expectReconciled(SOLANA, merchants);
  });

  it("no seed, key or secret of a provider is ever printed", () => {
    expect(stage.printed().split("Sluice listens on")).toHaveLength(6);
    expect(leaked(stage)).toEqual([]);
  });
});
