/**
 * The service dies with kill -9 at whatever moment, and is started again on its data. Nobody asks it for
 * anything; it goes on by itself, and in the end nothing is lost, doubled or told otherwise.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BackfillView, DepositView } from "../../src/core/views.ts";
import { DEV_ACCOUNTS, type Hex } from "../support/anvil.ts";
import { CONTENT } from "../support/consumer.ts";
import { freshAddress, type Merchant } from "../support/merchant.ts";
import { expectExact, untilRead } from "../support/oracle.ts";
import { asksForHead, type Call } from "../support/rpc-proxy.ts";
import { leaked } from "../support/served.ts";
import { type Network, type Stage, startStage } from "../support/stage.ts";
import { type Contract, deploy } from "../support/tokens.ts";

let stage: Stage;
let local: Network;
let shop: Merchant;
let other: Merchant;
let coin: Contract;

beforeAll(async () => {
  stage = await startStage();
  local = await stage.open("local");
  coin = await deploy(local.chain, "Token", ["Coin", "COIN", 6]);
  shop = await stage.merchant("Shop");
  other = await stage.merchant("Other");
  for (const merchant of [shop, other]) await merchant.list("local", coin.address);
});
afterAll(() => stage?.stop());

const exact = () => expectExact(local, [shop, other]);

async function watchNew(merchant: Merchant): Promise<string> {
  return (await merchant.watch({ network: "local" })).address;
}

function minting(to: string, units: bigint) {
  return { to: coin.address, data: coin.encode("mint", [to, units]), gas: 200_000n };
}

/** Coin and token to each of these addresses, from one account, so that all are mined in order. */
async function payEach(addresses: readonly string[], units: bigint): Promise<Hex[]> {
  const hashes: Hex[] = [];
  for (const to of addresses) {
    hashes.push(await local.chain.send({ to: to as Hex, value: units }));
    hashes.push(await local.chain.send(minting(to, units)));
  }
  for (const hash of hashes) await local.chain.receipt(hash);
  return hashes;
}

/** Waits for the merchant's own program to have been told, without asking the service. */
async function untilTold(merchant: Merchant, hash: Hex, type = "deposit.confirmed"): Promise<void> {
  await merchant.consumer.waitFor((e) => e.type === type && (e.data as Partial<DepositView>).tx_id === hash, 60_000);
}

describe("kill -9", () => {
  it.each([
    ["the head", asksForHead],
    ["a block's receipts", ({ method }: Call) => method === "eth_getBlockReceipts"],
    ["a block's traces", ({ method }: Call) => method.startsWith("debug_trace")],
  ] as const)("while a node is asked for %s", async (_, wanted) => {
    const [a, b] = [await watchNew(shop), await watchNew(other)];
    await untilRead(local);
    const held = local.proxy.hold(wanted);
    const hashes = await payEach([a, b], 5n);
    await local.chain.mine(2);
    const request = await held;
    await stage.kill();
    request.release();
    await stage.restart();
    await untilTold(shop, hashes[1] as Hex);
    await untilTold(other, hashes[3] as Hex);
    await exact();
  });

  it("while a reorganisation is being read", async () => {
    const [lost, moved] = [await watchNew(shop), await watchNew(other)];
    const gone = await local.chain.pay(lost, 7n);
    const kept = await local.chain.send({ from: DEV_ACCOUNTS[1], to: moved as Hex, value: 8n });
    await local.chain.receipt(kept);
    await local.chain.mine(2);
    await exact();
    const held = local.proxy.hold(({ method }) => method.startsWith("debug_trace"));
    await local.chain.reorg(4, [[await local.chain.rawTransaction(kept), 3]]);
    await local.chain.mine();
    const request = await held;
    await stage.kill();
    request.release();
    await stage.restart();
    await untilTold(shop, gone.transactionHash, "deposit.reverted");
    await untilTold(other, kept, "deposit.reverted");
    await local.chain.mine(2);
    await exact();
    expect(await other.deposits({ address: moved })).toMatchObject([{ status: "confirmed", epoch: 2 }]);
  });

  it("between a webhook's arrival and its answer: it comes again, the same to the byte", async () => {
    const address = await watchNew(shop);
    shop.consumer.setMood((event) =>
      event.type === "deposit.confirmed" ? { kind: "hang" } : { kind: "answer", status: 200 },
    );
    const { transactionHash } = await local.chain.pay(address, 9n);
    await local.chain.mine(2);
    await untilTold(shop, transactionHash);
    const event = shop.consumer.events.find(
      ({ data }) => (data as DepositView).tx_id === transactionHash && (data as DepositView).status === "confirmed",
    );
    await stage.kill();
    shop.consumer.setMood(CONTENT);
    await stage.restart();
    const restarted = Date.now();
    await expect.poll(() => shop.consumer.timesSeen(event?.id ?? ""), { timeout: 60_000, interval: 20 }).toBe(2);
    console.log(`the webhook came again ${Date.now() - restarted} ms after the restart`);
    await exact();
  });

  it("B41: at any moment, six times and more, with payments before, meanwhile and after", async () => {
    const addresses = await Promise.all(Array.from({ length: 12 }, (_, i) => watchNew(i % 2 === 0 ? shop : other)));
    await untilRead(local);
    for (let round = 0; round < 6; round++) {
      const pair = addresses.slice(round * 2, round * 2 + 2);
      // A block's traces are the last that is read of it; then come commit, claim, ledger and webhooks.
      const held = local.proxy.hold(({ method }) => method.startsWith("debug_trace"));
      await payEach(pair, BigInt(round + 1));
      const request = await held;
      await local.chain.mine(1 + (round % 3));
      request.release();
      const delayMs = Math.floor(Math.random() * 20 * (round + 1));
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await stage.kill();
      console.log(`killed ${delayMs} ms after a block was read`);
      const later = await local.chain.send({ from: DEV_ACCOUNTS[1], to: pair[0] as Hex, value: 100n });
      await local.chain.receipt(later);
      if (round === 2) await local.chain.reorg(3, [[await local.chain.rawTransaction(later), 1]]);
      await local.chain.mine(round === 4 ? 30 : 1);
      await stage.restart();
      // (c) of the case: once more, before it has come to rest.
      if (round === 3) {
        await stage.kill();
        await stage.restart();
      }
    }
    const last = await local.chain.pay(addresses[10] ?? "", 1_000n);
    await local.chain.mine(2);
    await untilTold(shop, last.transactionHash);
    await exact();
    const { counters } = await local.view();
    console.log(`claims made ${counters.claims_new}, met again ${counters.claims_met_again ?? 0}`);
  });

  it("in the middle of a backfill: it goes on, and its numbers are right", async () => {
    const past = freshAddress();
    const first = await local.chain.height();
    await payEach([past], 11n);
    await local.chain.mine(25);
    await payEach([past], 13n);
    await untilRead(local);
    const watched = await shop.watch({ network: "local", address: past, held: 24n });
    const held = local.proxy.hold(
      ({ method, params }) => method === "eth_getLogs" && "fromBlock" in (params[0] as object),
    );
    const height = await local.chain.height();
    const { id } = await shop.call<BackfillView>("POST", "/v1/backfills", {
      network: "local",
      from_height: first,
      to_height: height,
    });
    const request = await held;
    await stage.kill();
    request.release();
    await stage.restart();
    await expect
      .poll(async () => (await shop.call<BackfillView>("GET", `/v1/backfills/${id}`)).status, { timeout: 60_000 })
      .toBe("done");
    watched.held = 0n;
    await exact();
    expect(await shop.call("GET", `/v1/backfills/${id}`)).toMatchObject({
      found: 4,
      already_known: 0,
      added: 4,
      conflicts: 0,
    });
  });
});

it("B41: a manual rescan after all of it finds everything known, and tells nothing", async () => {
  await local.chain.mine(25);
  await exact();
  const events = [await shop.events(), await other.events()];
  const height = await local.chain.height();
  for (const merchant of [shop, other]) {
    const live = (await merchant.deposits()).filter(
      ({ status }) => status !== "reverted" && status !== "dropped",
    ).length;
    expect(live).toBeGreaterThan(8);
    expect(await merchant.backfill("local", 0, height)).toMatchObject({
      found: live,
      already_known: live,
      added: 0,
      conflicts: 0,
    });
  }
  await exact();
  expect([await shop.events(), await other.events()]).toEqual(events);
});

it("no key, secret, token or provider's path is ever printed", () => {
  expect(stage.printed().split("Sluice listens on").length).toBeGreaterThan(12);
  expect(stage.secrets().length).toBe(7);
  expect(leaked(stage)).toEqual([]);
});
