/**
 * The local sandbox as a developer plays with it: through the Worker, with an API key. Whatever the chain, the provider
 * or the receiver is made to do, what is credited in the end is what was paid, and each payment is made once.
 */

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtWorker, OPTIONS_FILE } from "../../scripts/build.mjs";
import type { DepositView, WithdrawalView } from "../../src/core/views.ts";
import { chainAt } from "../support/anvil.ts";
import { freshAddress } from "../support/merchant.ts";
import { type Service, startService } from "../support/service.ts";

const ETHER = 10n ** 18n;

interface State {
  readonly chain: { readonly height: number };
  readonly rpc: { readonly mode: string };
  readonly receiver: { readonly mode: string; readonly url: string };
  readonly fees: { readonly stuck: boolean };
  readonly demo: boolean;
}

interface Delivery {
  readonly n: number;
  readonly endpoint_id: string | null;
  readonly event_id: string;
  readonly type: string | null;
  readonly verified: boolean;
  readonly duplicate: boolean;
  readonly answered: number | null;
}

let service: Service;
let key: string;
let endpointId: string;
let account = 0;

beforeAll(async () => {
  service = await startService({ environment: { SANDBOX: "on" } });
  ({ key } = await service.signUp());
  const { receiver } = await state();
  const endpoint = await api<{ id: string; secret: string }>("POST", "/v1/webhook-endpoints", { url: receiver.url });
  endpointId = endpoint.id;
  await api("POST", "/sandbox/receiver/keys", { endpoint_id: endpoint.id, secret: endpoint.secret });
});
afterAll(() => service?.stop());

/** The answer's body. @throws Error when it is a refusal */
async function api<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  const answer = await service.api<T>(method, path, { key, headers, ...(body === undefined ? {} : { body }) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const state = () => api<State>("GET", "/sandbox");
const pay = async (address: string, amount: string, asset = "ETH") =>
  (await api<{ tx_id: string }>("POST", "/sandbox/pay", { address, amount, asset })).tx_id;
const mine = async (blocks: number) => (await api<{ height: number }>("POST", "/sandbox/mine", { blocks })).height;
const deposits = async (address: string) =>
  (await api<{ data: DepositView[] }>("GET", `/v1/deposits?address=${address}`)).data;
const deliveries = async (after = 0) =>
  (await api<{ data: Delivery[]; next: number }>("GET", `/sandbox/deliveries?after=${after}`)).data;

/** A customer of its own for each test. */
async function watch(): Promise<{ address: string; balance: (asset?: string) => Promise<string | undefined> }> {
  const name = `customer-${++account}`;
  const { address } = await api<{ address: string }>("POST", "/v1/addresses", {
    network: "local",
    address: freshAddress(),
    account: name,
  });
  type Balances = { data: { asset: string; available: string }[] };
  const balance = async (asset = "ETH") =>
    (await api<Balances>("GET", `/v1/balances?account=${name}`)).data.find((one) => one.asset === asset)?.available;
  return { address, balance };
}

async function fundWallet(amount: string): Promise<void> {
  const { data } = await api<{ data: { network: string; address: string }[] }>("GET", "/v1/wallets");
  await pay(data.find(({ network }) => network === "local")?.address ?? "", amount);
}

/** From the last customer's balance to somebody who has nothing. */
async function withdraw(amount: string): Promise<{ view: () => Promise<WithdrawalView>; paid: () => Promise<bigint> }> {
  const destination = freshAddress();
  const body = { network: "local", asset: "ETH", account: `customer-${account}`, amount, destination };
  const { id } = await api<WithdrawalView>("POST", "/v1/withdrawals", body, { "idempotency-key": `payout-${account}` });
  const { rpc } = chainAt(service.chainUrl ?? "");
  return {
    view: () => api<WithdrawalView>("GET", `/v1/withdrawals/${id}`),
    paid: async () => BigInt(await rpc<string>("eth_getBalance", [destination, "latest"])),
  };
}

/** The service has seen all that the chain has now. */
async function untilRead(): Promise<void> {
  const { height } = (await state()).chain;
  await until(`reading up to ${height}`, async () => {
    const { data } = await api<{ data: { id: string; scanned_to: number }[] }>("GET", "/v1/networks");
    return (data.find(({ id }) => id === "local")?.scanned_to ?? 0) >= height ? true : null;
  });
}

async function untilDeposit(address: string, status: string): Promise<DepositView> {
  return until(`a deposit of ${address} that is ${status}`, async () => {
    const found = await deposits(address);
    return found.find((one) => one.status === status) ?? null;
  });
}

/** Replaces everything from a block on, also when one more is mined at this moment. */
async function reorganise(from: number, remine: boolean): Promise<void> {
  const { chain } = await state();
  const depth = chain.height - from + 2;
  const { height, replaced } = await api<{ height: number; replaced: number }>("POST", "/sandbox/reorg", {
    depth,
    remine,
  });
  expect(replaced).toBe(depth);
  expect(height).toBeGreaterThan(chain.height);
}

describe("the demo shop", () => {
  const demo = () =>
    JSON.parse(readFileSync(join(service.dataDir, "sandbox", "demo.json"), "utf8")) as {
      readonly tenantId: string;
      readonly key: string;
      readonly token: string;
    };
  const blockAt = (tag: string) =>
    chainAt(service.chainUrl ?? "").rpc<{ number: string; hash: string }>("eth_getBlockByNumber", [tag, false]);
  const enter = (url: string) => fetch(url, { redirect: "manual" });
  const link = () => /Console: (\S+)/.exec(service.output())?.[1] ?? "";

  it("is there by the link that the start prints, with a deposit under way", async () => {
    const answer = await until("a shop behind the link", async () => {
      const entered = await enter(link());
      return entered.status === 503 ? null : entered;
    });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/?entered"]);
    expect((await enter(link().slice(0, -1))).status).toBe(404);
    expect((await enter(`${service.url}/sandbox/enter`)).status).toBe(404);

    const shop = { key: demo().key };
    const found = await until("three deposits", async () => {
      const { body } = await service.api<{ data: DepositView[] }>("GET", "/v1/deposits", shop);
      return body.data.filter(({ status }) => status === "confirmed").length === 3 ? body.data : null;
    });
    expect(found.map(({ amount, asset }) => `${amount} ${asset}`)).toEqual(["0.25 ETH", "250 USDX", "1 ETH"]);
    expect((await service.api<State>("GET", "/sandbox", shop)).body.demo).toBe(true);
    expect((await state()).demo).toBe(false);
    // The token is for everybody.
    await api("POST", "/v1/assets", { network: "local", contract: demo().token });
    // Whoever comes in later finds another one under way.
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    expect((await enter(link())).status).toBe(303);
    await until("one more deposit", async () => {
      const { body } = await service.api<{ data: DepositView[] }>("GET", "/v1/deposits", shop);
      return body.data.length === 4 && body.data[0]?.amount === "0.25" ? body : null;
    });
    const seen = await service.api<{ data: Delivery[] }>("GET", "/sandbox/deliveries", shop);
    expect(seen.body.data.length).toBeGreaterThanOrEqual(6);
    expect(seen.body.data.filter(({ verified, answered }) => !verified || answered !== 204)).toEqual([]);
  });

  it("is the same after kill -9, on the reorganised chain, with one more deposit; the old link is dead", async () => {
    const before = { ...demo(), link: link(), first: (await deliveries())[0] };
    for (const name of ["demo.json", "receiver.json"])
      expect(statSync(join(service.dataDir, "sandbox", name)).mode & 0o777).toBe(0o600);
    await api("POST", "/sandbox/reorg", { depth: 2, remine: true });
    const tip = await blockAt("latest");
    await service.kill9();
    await service.restart();
    expect((await blockAt(tip.number)).hash).toBe(tip.hash);
    await until("another deposit", async () => {
      const { body } = await service.api<{ data: DepositView[] }>("GET", "/v1/deposits", { key: before.key });
      return body.data.length === 5 ? body : null;
    });
    expect(demo()).toMatchObject({ tenantId: before.tenantId, key: before.key });
    expect((await deliveries())[0]).toEqual(before.first);
    expect((await enter(link())).status).toBe(303);
    expect((await enter(before.link)).status).toBe(404);
  });
});

describe("the chain", () => {
  it("pays, mines, and shows the merchant's server what was sent about it", async () => {
    const { address, balance } = await watch();
    const last = (await deliveries()).at(-1)?.n ?? 0;
    const txId = await pay(address, "1.5");
    const height = (await state()).chain.height;
    expect(await mine(3)).toBeGreaterThanOrEqual(height + 3);
    expect(await untilDeposit(address, "confirmed")).toMatchObject({ amount: "1.5", tx_id: txId });
    expect(await balance()).toBe("1.5");
    const [told] = await until("a delivery", async () => nonEmpty(await deliveries(last)));
    expect(told).toMatchObject({
      type: "deposit.confirmed",
      endpoint_id: endpointId,
      verified: true,
      duplicate: false,
      answered: 204,
    });
  });

  it.each([
    ["mined again elsewhere: reverted, then confirmed again", true, "9999.5"],
    ["gone: reverted, and the balance with it", false, "0"],
  ] as const)("reorganises a confirmed deposit away, %s", async (_, remine, left) => {
    const { address, balance } = await watch();
    // More than the payer has left: it is topped up, and a reorganisation takes that back, too.
    await pay(address, "9999.5");
    await mine(3);
    const before = await untilDeposit(address, "confirmed");
    const height = before.block_height ?? 0;
    await reorganise(height, remine);
    await until("a reversal", async () => {
      const [deposit] = await deposits(address);
      return deposit?.status === "reverted" || (deposit?.epoch ?? 1) > before.epoch ? deposit : null;
    });
    await mine(4);
    if (remine) {
      const after = await until("a second confirmation", async () => {
        const [deposit] = await deposits(address);
        return deposit?.status === "confirmed" && deposit.block_height !== before.block_height ? deposit : null;
      });
      expect(after.block_height).toBeGreaterThan(height);
    }
    await untilRead();
    expect(await balance()).toBe(left);
    expect(await deposits(address)).toHaveLength(1);
  });

  it("refuses what is out of bounds, and who is nobody", async () => {
    const address = freshAddress();
    const refusals: [string, unknown, string][] = [
      ["/sandbox/pay", { address, amount: "10001" }, "invalid_fields"],
      ["/sandbox/pay", { address, amount: "1", asset: "DAI" }, "unknown_asset"],
      ["/sandbox/pay", { address: "0x1", amount: "1" }, "invalid_address"],
      ["/sandbox/mine", { blocks: 101 }, "invalid_fields"],
      ["/sandbox/reorg", { depth: 16, remine: true }, "invalid_fields"],
      ["/sandbox/rpc", { mode: "fast" }, "invalid_fields"],
      ["/sandbox/fees", {}, "invalid_fields"],
      ["/sandbox/receiver/keys", { endpoint_id: endpointId, secret: "secret" }, "invalid_fields"],
    ];
    for (const [path, body, code] of refusals) {
      const answer = await service.api<{ code: string }>("POST", path, { key, body });
      expect([path, answer.status, answer.body.code]).toEqual([path, 422, code]);
      expect((await service.api("POST", path, { body })).status).toBe(401);
    }
    expect((await service.api("DELETE", "/sandbox/rpc", { key })).status).toBe(405);
  });
});

describe("the provider", () => {
  const rpc = (mode: string) => api<State>("POST", "/sandbox/rpc", { mode });

  it.each(["drop", "lie"])("credits nothing while it does nothing but %s; all of it once afterwards", async (mode) => {
    const { address, balance } = await watch();
    await pay(address, "1");
    await fundWallet("1");
    await mine(3);
    await until("a balance", async () => ((await balance()) === "1" ? true : null));

    expect((await rpc(mode)).rpc.mode).toBe(mode);
    const payout = await withdraw("0.5");
    await pay(address, "3");
    await pay(address, "40", "USDX");
    await mine(6);
    for (let look = 0; look < 8; look++) {
      expect([await balance(), await balance("USDX")]).toEqual(["0.5", undefined]);
      await seconds(0.5);
    }
    await rpc("ok");
    await until("both deposits", async () => ((await balance("USDX")) === "40" ? true : null));
    expect(await balance()).toBe("3.5");
    const story = (await deposits(address)).map(({ amount, status, epoch }) => `${amount} ${status} ${epoch}`);
    expect(story.sort()).toEqual(["1 confirmed 1", "3 confirmed 1", "40 confirmed 1"]);
    await until("the payment", async () => ((await payout.paid()) > 0n ? true : null));
    await mine(3);
    await until("a confirmed withdrawal", async () => ((await payout.view()).state === "confirmed" ? true : null));
    expect(await payout.paid()).toBe(ETHER / 2n);
    const networks = await api<{ data: { id: string; status: string }[] }>("GET", "/v1/networks");
    expect(networks.data.find(({ id }) => id === "local")?.status).toBe("ok");
  });

  it("lags: it shows a payment when the chain is six blocks further, and its age as it was then", async () => {
    const { address } = await watch();
    await rpc("lag");
    const txId = await pay(address, "5");
    const { blockNumber } = await chainAt(service.chainUrl ?? "").receipt(txId as `0x${string}`);
    await mine(3);
    for (let seen: DepositView | undefined; seen?.status !== "confirmed"; ) {
      [seen] = await deposits(address);
      const above = (await state()).chain.height - Number(blockNumber);
      if (seen !== undefined) expect(above).toBeGreaterThanOrEqual(6);
      if (seen?.status === "confirmed") expect(above).toBeGreaterThanOrEqual(8);
      if (above >= 6 && seen === undefined) await mine(1);
      await seconds(0.2);
    }
    await rpc("ok");
    await mine(1);
    expect(await deposits(address)).toMatchObject([{ status: "confirmed", epoch: 1 }]);
  });
});

describe("the receiver", () => {
  const receiver = (mode: string) => api<State>("POST", "/sandbox/receiver", { mode });

  it("fails, and gets the same event again when it is well", async () => {
    const last = (await deliveries()).at(-1)?.n ?? 0;
    await receiver("fail");
    const test = await api<{ id: string }>("POST", `/v1/webhook-endpoints/${endpointId}/test`);
    await until("a failure", async () => nonEmpty(await deliveries(last)));
    await receiver("ok");
    const told = await until("a redelivery", async () => {
      const found = (await deliveries(last)).filter(({ event_id }) => event_id === test.id);
      return found.length >= 2 ? found : null;
    });
    expect(told).toMatchObject([
      { verified: true, duplicate: false, answered: 500 },
      { verified: true, duplicate: false, answered: 204 },
    ]);
    const { data } = await api<{ data: { id: string }[] }>("GET", `/v1/webhook-endpoints/${endpointId}/deliveries`);
    await api("POST", `/v1/webhook-endpoints/${endpointId}/deliveries/${data[0]?.id}/resend`);
    await until("a repetition", async () => (await deliveries(last)).find(({ duplicate }) => duplicate) ?? null);
  });

  it("is gone: the endpoint is disabled at once, and goes on when it is enabled", async () => {
    await receiver("gone");
    await api("POST", `/v1/webhook-endpoints/${endpointId}/test`);
    const endpoint = () =>
      api<{ status: string; disabled_reason: string | null }>("GET", `/v1/webhook-endpoints/${endpointId}`);
    await until("a disabled endpoint", async () => ((await endpoint()).disabled_reason === "gone" ? true : null));
    const last = (await deliveries()).at(-1)?.n ?? 0;
    await receiver("ok");
    await api("POST", `/v1/webhook-endpoints/${endpointId}/enable`);
    await until("what had waited", async () =>
      nonEmpty((await deliveries(last)).filter(({ answered }) => answered === 204)),
    );
  });
});

describe("fees", () => {
  it.each([
    ["replaced by the service, and paid once", false],
    ["released, and paid by its first transaction", true],
  ] as const)("are stuck until the withdrawal is %s", async (_, released) => {
    const { address, balance } = await watch();
    await pay(address, "6");
    await fundWallet("10");
    await mine(3);
    await until("the deposit", async () => ((await balance()) === "6" ? true : null));

    expect((await api<State>("POST", "/sandbox/fees", { stuck: true })).fees.stuck).toBe(true);
    const { view, paid } = await withdraw("2");
    await until("an accepted attempt", async () => ((await view()).attempts[0]?.outcome === "accepted" ? true : null));
    await mine(2);
    await seconds(1);
    expect((await view()).state).toBe("confirmation_tracking");
    expect(await paid()).toBe(0n);

    if (released) await api("POST", "/sandbox/fees", { stuck: false });
    else {
      await mine(5);
      await until("a replacement", async () => ((await view()).attempts[1]?.outcome === "accepted" ? true : null));
    }
    await until("the payment", async () => ((await paid()) > 0n ? true : null));
    await mine(3);
    const done = await until("a confirmed withdrawal", async () => {
      const seen = await view();
      return seen.state === "confirmed" ? seen : null;
    });
    expect(done.tx_id).toBe(done.attempts[released ? 0 : 1]?.tx_id);
    await api("POST", "/sandbox/fees", { stuck: false });
    await mine(2);
    expect([await paid(), await balance()]).toEqual([2n * ETHER, "4"]);
  });
});

describe("nobody else", () => {
  it("gets into the sandbox's own listener: no page, and no program without this start's token", async () => {
    const port = readFileSync(join(service.dataDir, "sandbox", "port"), "utf8").trim();
    const at = `http://127.0.0.1:${port}`;
    const statusOf = async (path: string, init: RequestInit = {}) => (await fetch(`${at}${path}`, init)).status;
    expect(await statusOf("/control/")).toBe(404);
    expect(await statusOf("/control/mine", { method: "POST", headers: { "x-sluice-sandbox": "f".repeat(64) } })).toBe(
      404,
    );
    expect(await statusOf("/rpc/", { method: "POST" })).toBe(404);
    expect(await statusOf("/hooks/ten_00000000000000000000000000/x", { method: "POST" })).toBe(404);
    expect(await statusOf("/hooks/", { method: "POST", headers: { origin: "https://example.com" } })).toBe(403);
  });

  it("is left: the sandbox ends with its start, and the start with its sandbox", async () => {
    await service.killParent();
    await until("end of all processes", async () => (service.processes().length === 0 ? true : null));
    await service.restart();
    const commandOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "latin1");
    const pid = service.processes().find((one) => commandOf(one).includes("scripts/sandbox/main.ts"));
    process.kill(pid ?? 0, "SIGKILL");
    expect(await service.exited()).toBe(1);
    expect(service.output()).toContain("The sandbox ended unexpectedly (SIGKILL)");
    expect(service.processes()).toEqual([]);
  });

  it("has it: what is deployed knows no such binding", async () => {
    const build = await builtWorker(new AbortController().signal);
    const options = readFileSync(join(build, OPTIONS_FILE), "utf8");
    expect(options).not.toMatch(/SANDBOX|serviceBindings":\{"/);
    expect(options).toContain("TENANT");
    await service.restart({ SANDBOX: "off" });
    for (const [method, path] of [
      ["GET", "/sandbox"],
      ["POST", "/sandbox/mine"],
      ["GET", "/sandbox/enter?code=x"],
    ] as const) {
      const answer = await service.api<{ code: string }>(method, path, {
        key,
        ...(method === "POST" ? { body: { blocks: 1 } } : {}),
      });
      expect([answer.status, answer.body.code]).toEqual([404, "not_found"]);
    }
    expect(service.output()).not.toContain("Console:");
  });
});

function nonEmpty<T>(found: readonly T[]): readonly T[] | null {
  return found.length > 0 ? found : null;
}

function seconds(count: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, count * 1_000));
}

async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  const deadline = Date.now() + 40_000;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (Date.now() > deadline) throw new Error(`no ${what} within 40 s`);
    await seconds(0.1);
  }
}
