/**
 * The service dies with kill -9 at every point between a request for a withdrawal and its confirmation, and is
 * started again on its data. Whether the client asks again or not, and whatever had left the service: one payment.
 *
 * Every case is brought to its point and kept there, then all die together, twice: bytes are sent again after half
 * a minute, which is waited for once.
 */

import { HDKey } from "@scure/bip32";
import { privateKeyToAddress } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WithdrawalView } from "../../src/core/views.ts";
import { freshAddress, type Merchant } from "../support/merchant.ts";
import { expectAgreed, holding, REORG_WINDOW, untilPaid, untilToldState, untilView } from "../support/payouts.ts";
import { type RemoteSigner, startRemoteSigner } from "../support/remote-signer.ts";
import { type Call, isSend } from "../support/rpc-proxy.ts";
import { leaked } from "../support/served.ts";
import { type Network, type Stage, startStage } from "../support/stage.ts";
import { type Crowd, expectOneEach, killUnderCrowd } from "../support/withdrawal-kills.ts";

const HALF = 5n * 10n ** 17n;
const EQUAL_REQUESTS = 30;
const OTHER_REQUESTS = 8;

let stage: Stage;
let kills: Network;
let storm: Network;
const signers = new Map<Merchant, RemoteSigner>();

beforeAll(async () => {
  stage = await startStage({ kills: {}, storm: {} });
  [kills, storm] = [await stage.open("kills"), await stage.open("storm")];
});
afterAll(async () => {
  await stage?.stop();
  for (const signer of signers.values()) await signer.close();
});

/** Bytes that came to be sent to a destination. Native payments name it in the signed bytes as it is. */
const sentTo = (destination: string) => kills.proxy.sent.filter((raw) => raw.includes(destination.slice(2)));

interface Case {
  readonly shop: Merchant;
  readonly destination: string;
  readonly withdrawal: WithdrawalView;
  /** Stored before the service died, so that no others may ever be sent; null: nothing was. */
  readonly stored: string | null;
}

interface Scene {
  readonly shop: Merchant;
  readonly wallet: string;
  readonly destination: string;
  /** Asks for the withdrawal, and comes back when the service waits for an answer to such a call. */
  heldAt(wanted: (call: Call) => boolean): Promise<{ withdrawal: WithdrawalView; swallow(): Promise<void> }>;
  ask(): Promise<WithdrawalView>;
}

type Reached = Pick<Case, "withdrawal" | "stored">;

/** Each brings a withdrawal to a point, and keeps it there. */
const POINTS: Readonly<Record<string, (scene: Scene) => Promise<Reached>>> = {
  "nothing is known of the wallet": async ({ heldAt, wallet }) => ({
    ...(await heldAt(({ method, params }) => method === "eth_getTransactionCount" && params[0] === wallet)),
    stored: null,
  }),
  "the fee is asked for": async ({ heldAt }) => ({
    ...(await heldAt(({ method }) => method === "eth_maxPriorityFeePerGas")),
    stored: null,
  }),
  "the gas is asked for": async ({ heldAt, destination }) => ({
    ...(await heldAt(({ method, params: [call] }) => method === "eth_estimateGas" && isTo(call, destination))),
    stored: null,
  }),
  "signed, and not stored": async ({ shop, ask }) => {
    const held = signers.get(shop)?.holdAnswer();
    const withdrawal = await ask();
    await held;
    return { withdrawal, stored: null };
  },
  "stored, and not sent": async ({ heldAt, destination }) => {
    const { withdrawal } = await heldAt((call) => isSend(call) && sentTo(destination).includes(String(call.params[0])));
    return { withdrawal, stored: sentTo(destination)[0] ?? "" };
  },
  "sent, and the answer lost": async ({ heldAt, destination }) => {
    const { withdrawal, swallow } = await heldAt(
      (call) => isSend(call) && sentTo(destination).includes(String(call.params[0])),
    );
    await swallow();
    return { withdrawal, stored: sentTo(destination)[0] ?? "" };
  },
  "mined, and not confirmed": async ({ shop, ask, destination }) => {
    const { id } = await ask();
    const withdrawal = await untilView(shop, id, ({ fee_units }) => fee_units !== null);
    return { withdrawal, stored: sentTo(destination)[0] ?? "" };
  },
};

function isTo(call: unknown, destination: string): boolean {
  return (call as { to?: string }).to === destination;
}

async function sceneOf(shop: Merchant): Promise<Scene> {
  const destination = freshAddress();
  const ask = () => shop.withdraw({ network: "kills", destination, amount: "0.5" });
  return {
    shop,
    destination,
    wallet: (await shop.wallet("kills")).address,
    ask,
    async heldAt(wanted) {
      const held = kills.proxy.hold(wanted);
      const withdrawal = await ask();
      const { swallow } = await held;
      return { withdrawal, swallow };
    },
  };
}

async function withRemoteSigner(shop: Merchant): Promise<void> {
  const signer = await startRemoteSigner();
  signers.set(shop, signer);
  const { url, address, token } = signer;
  await shop.call("PUT", "/v1/wallets/kills/signer", { type: "remote", url, address, token });
}

/**
 * Within the ten seconds that the service gives a node. The fee is asked for without naming anybody, so its cases
 * come first and by themselves; what is mined comes last, so that no later block confirms it.
 */
async function reachAll(scenes: ReadonlyMap<string, Scene>): Promise<void> {
  const names = [...scenes.keys()];
  const [fee, mined] = ["the fee", "mined"].map((first) => names.filter((name) => name.startsWith(first)));
  const others = names.filter((name) => !fee?.includes(name) && !mined?.includes(name));
  const begun = Date.now();
  for (const together of [...(fee ?? []).map((name) => [name]), others, mined ?? []]) {
    const reached = together.map(async (name) => {
      const [scene, reach] = [scenes.get(name), POINTS[name.replace(/: .*/, "")]];
      if (scene === undefined || reach === undefined) throw new Error(`${name} is no case`);
      cases.set(name, { ...scene, ...(await reach(scene)) });
    });
    await Promise.all(reached);
  }
  console.log(`all ${cases.size} cases were at their points within ${Date.now() - begun} ms`);
}

const points = Object.keys(POINTS);
const cases = new Map<string, Case>();
let crowd: Crowd;
let answers: Awaited<ReturnType<typeof killUnderCrowd>>;

beforeAll(async () => {
  crowd = {
    shop: await stage.merchant("Crowd"),
    equal: freshAddress(),
    equalRequests: EQUAL_REQUESTS,
    others: Array.from({ length: OTHER_REQUESTS }, freshAddress),
    payout: { network: "storm", asset: "ETH", amount: "0.5" },
  };
  await crowd.shop.fund(storm, { wei: 10n ** 19n });
  const scenes = new Map<string, Scene>();
  for (const name of points.flatMap((point) => [`${point}: left alone`, `${point}: asked again`])) {
    const shop = await stage.merchant(name);
    if (name.startsWith("signed, and not stored")) await withRemoteSigner(shop);
    await shop.fund(kills);
    scenes.set(name, await sceneOf(shop));
  }
  await reachAll(scenes);
  answers = await killUnderCrowd(stage, crowd, cases);
  const left = [...cases.values()].map(({ destination }) => untilPaid(kills, destination, HALF));
  await Promise.all([...left, ...[crowd.equal, ...crowd.others].map((to) => untilPaid(storm, to, HALF))]);
  for (const { chain } of [kills, storm]) await chain.mine(2);
});

describe("B135: kill -9", () => {
  it.each(points.flatMap((point) => [`${point}: left alone`, `${point}: asked again`]))("%s", async (name) => {
    const { shop, destination, withdrawal, stored } = cases.get(name) as Case;
    const done = await untilToldState(shop, withdrawal.id, "confirmed");
    expect(done.attempts).toMatchObject([{ nonce: 0, status: "mined" }]);
    // B102: what was stored goes out, and nothing else ever did.
    const sent = new Set(sentTo(destination));
    expect(sent.size).toBe(1);
    if (stored !== null) expect(sent).toEqual(new Set([stored]));
    const again = await shop.askAgain(withdrawal);
    expect([again.status, again.body.id, again.body.state]).toEqual([200, withdrawal.id, "confirmed"]);
    expect(await shop.withdrawals()).toHaveLength(1);
    expect(await holding(shop, kills, "ETH", destination)).toBe(HALF);
    expect((await shop.balances()).filter(({ account }) => account === "default")).toMatchObject([
      { available: "1.5", reserved: "0", settled: "0.5" },
    ]);
    await expectAgreed(kills, [shop]);
  });

  it("asks a remote signer again for bytes that were not stored", () => {
    // A signer that was just chosen may be tried out with a nonce that no wallet reaches.
    const nonces = [...signers.values()].map(({ asked }) => asked.map(({ nonce = 0 }) => nonce));
    expect(nonces.map((asked) => asked.filter((nonce) => nonce < 1_000_000))).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

it(`B82: requests that are repeated until they are answered are one payment each, ${EQUAL_REQUESTS} of them one`, async () => {
  await expectOneEach(crowd, answers);
  expect(await crowd.shop.withdrawals({ idempotency_key: "equal" })).toHaveLength(1);
  expect(await holding(crowd.shop, storm, "ETH", crowd.equal)).toBe(HALF);
  await expectAgreed(storm, [crowd.shop]);
  const next_nonce = 1 + OTHER_REQUESTS;
  expect(await crowd.shop.wallet("storm")).toMatchObject({ status: "active", next_nonce, in_flight: 0 });
});

it("books the network's fee of each of them once, when it is final", async () => {
  for (const { chain } of [kills, storm]) await chain.mine(REORG_WINDOW);
  const shops = [...cases.values()].map(({ shop }) => shop);
  await expectAgreed(kills, shops);
  await expectAgreed(storm, [crowd.shop]);
  for (const shop of shops) {
    expect(await shop.wallet("kills")).toMatchObject({ status: "active", incident: null, next_nonce: 1, in_flight: 0 });
    expect((await shop.balances()).filter(({ account }) => account === "sluice:fees")).toHaveLength(1);
  }
});

it("B101: the next withdrawal of each wallet goes on with its next nonce", async () => {
  const shops = [...cases.values()].map(({ shop }) => shop);
  const asked = await Promise.all(shops.map((shop) => shop.withdraw({ network: "kills", amount: "0.25" })));
  await Promise.all(asked.map(({ destination }) => untilPaid(kills, destination, HALF / 2n)));
  await kills.chain.mine(2);
  for (const [i, shop] of shops.entries()) {
    const { attempts } = await untilToldState(shop, asked[i]?.id ?? "", "confirmed");
    expect(attempts).toMatchObject([{ nonce: 1 }]);
  }
  await expectAgreed(kills, shops);
});

it("no seed, key, token or path of a signer is ever printed, nor the key of a hot wallet", async () => {
  const seed = HDKey.fromMasterSeed(Buffer.from(stage.service.walletSeed, "hex"));
  const keys: string[] = [];
  for (const { shop } of cases.values()) {
    const { signer, address } = await shop.wallet("kills");
    if (signer.type === "remote") continue;
    const { privateKey } = seed.derive(signer.path);
    const key = Buffer.from(privateKey ?? []).toString("hex");
    keys.push(key);
    expect(privateKeyToAddress(`0x${key}`).toLowerCase()).toBe(address);
  }
  expect(keys).toHaveLength(cases.size - signers.size);
  const secrets = [...keys, ...[...signers.values()].flatMap((signer) => signer.secrets)];
  expect(stage.printed().split("Sluice listens on")).toHaveLength(4);
  expect(leaked(stage, secrets)).toEqual([]);
});
