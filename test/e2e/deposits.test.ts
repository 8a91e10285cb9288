/**
 * Every way in which a payment reaches an address, and everything that only looks like one, from a real node
 * through the running service to a merchant's program.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DepositView } from "../../src/core/views.ts";
import { type Chain, DEV_ACCOUNTS, type Hex } from "../support/anvil.ts";
import { freshAddress, type Merchant } from "../support/merchant.ts";
import { expectExact, untilRead } from "../support/oracle.ts";
import { asksForHead, type Call } from "../support/rpc-proxy.ts";
import { leaked } from "../support/served.ts";
import { type Network, type Stage, startStage } from "../support/stage.ts";
import { type Contract, contractAt, deploy } from "../support/tokens.ts";

const ETHER = 10n ** 18n;
/** Who sends by default. */
const STRANGER = DEV_ACCOUNTS[0].toLowerCase();

let stage: Stage;
let local: Network;
let shop: Merchant;
let other: Merchant;
let coin: Contract;

beforeAll(async () => {
  stage = await startStage({
    timed: { min_confirm_seconds: 60 },
    tagged: { finality: "tag", reorg_window: 100 },
    untraced: {},
    plain: { internal: false },
  });
  local = await stage.open("local");
  coin = await deploy(local.chain, "Token", ["Coin", "COIN", 6]);
  await coin.send("mint", [STRANGER, 10n ** 15n]);
  shop = await stage.merchant("Shop");
  other = await stage.merchant("Other");
  for (const merchant of [shop, other]) await merchant.list("local", coin.address);
});
afterAll(() => stage?.stop());

/** Mines until the last payment has its three confirmations, then compares everything. */
async function rest(options: Parameters<typeof expectExact>[2] = {}): Promise<void> {
  await local.chain.mine(2);
  await expectExact(local, [shop, other], options);
}

/** All in one block, in this order. */
async function inOneBlock(chain: Chain, send: () => Promise<Hex[]>): Promise<Hex[]> {
  await chain.rpc("evm_setAutomine", [false]);
  try {
    const hashes = await send();
    await chain.mine();
    return hashes;
  } finally {
    await chain.rpc("evm_setAutomine", [true]);
  }
}

async function paidTo(merchant: Merchant, address: string): Promise<DepositView[]> {
  return merchant.deposits({ address });
}

function brief({ asset, amount, transfer_index, status }: DepositView): string {
  return `${amount} ${asset} ${transfer_index} ${status}`;
}

describe("payments", () => {
  it("credits native coin and token, each once, with amounts in the asset's unit", async () => {
    const { address } = await shop.watch({ network: "local", account: "anna" });
    const native = await local.chain.pay(address, 1_500_000_000_000_000_001n);
    const token = await coin.send("transfer", [address, 1_500_000n]);
    await rest();
    const deposits = await paidTo(shop, address);
    expect(deposits.map(brief).sort()).toEqual([
      "1.5 COIN log:0 confirmed",
      "1.500000000000000001 ETH value confirmed",
    ]);
    expect(deposits.map(({ tx_id }) => tx_id).sort()).toEqual([native.transactionHash, token.transactionHash].sort());
    expect(deposits.map(({ amount_units }) => amount_units).sort()).toEqual(["1500000", "1500000000000000001"]);
    const balances = (await shop.balances()).filter(({ account }) => account === "anna");
    expect(balances.map(({ asset, available }) => `${available} ${asset}`).sort()).toEqual([
      "1.5 COIN",
      "1.500000000000000001 ETH",
    ]);
  });

  it("B39: a pending payment is told, and not available before it is confirmed", async () => {
    const { address } = await shop.watch({ network: "local", account: "ben" });
    await local.chain.pay(address, ETHER);
    const pending = await shop.consumer.waitFor(
      (e) => e.type === "deposit.pending" && (e.data as DepositView).address === address,
      10_000,
    );
    expect(pending.data).toMatchObject({
      status: "pending",
      confirmations: 1,
      confirmations_required: 3,
      confirmed_at: null,
    });
    await local.chain.mine();
    await expectExact(local, [shop]);
    expect((await shop.balances()).filter(({ account }) => account === "ben")).toEqual([]);
    await local.chain.mine();
    await expectExact(local, [shop]);
    expect(
      (await shop.balances()).filter(({ account }) => account === "ben").map(({ available }) => available),
    ).toEqual(["1"]);
  });

  it("pays two tenants in one transaction, each hearing of its own part alone", async () => {
    const [a, b] = [await shop.watch({ network: "local" }), await other.watch({ network: "local" })];
    const payer = await deploy(local.chain, "Payer", []);
    await payer.send("pay", [[a.address, b.address], 5n], 10n);
    await coin.send("batch", [
      [b.address, a.address],
      [7n, 9n],
    ]);
    await rest();
    expect((await paidTo(shop, a.address)).map(brief).sort()).toEqual([
      "0.000000000000000005 ETH call:0 confirmed",
      "0.000009 COIN log:1 confirmed",
    ]);
    expect((await paidTo(other, b.address)).map(brief).sort()).toEqual([
      "0.000000000000000005 ETH call:1 confirmed",
      "0.000007 COIN log:0 confirmed",
    ]);
  });

  it("B18: two equal logs in one transaction are two payments, and a third goes to another tenant", async () => {
    const [a, b] = [await shop.watch({ network: "local" }), await other.watch({ network: "local" })];
    await coin.send("batch", [
      [a.address, a.address, b.address],
      [1_000_000n, 1_000_000n, 2_000_000n],
    ]);
    await coin.send("twice", [a.address, 4_000_000n]);
    await rest();
    expect((await paidTo(shop, a.address)).map(brief).sort()).toEqual([
      "1 COIN log:0 confirmed",
      "1 COIN log:1 confirmed",
      "4 COIN log:0 confirmed",
      "4 COIN log:1 confirmed",
    ]);
    expect((await paidTo(other, b.address)).map(brief)).toEqual(["2 COIN log:2 confirmed"]);
  });

  it("B36: finds a payment among sixty others of an exchange's distributor", async () => {
    const { address } = await shop.watch({ network: "local" });
    const distributor = await deploy(local.chain, "Distributor", []);
    await coin.send("transfer", [distributor.address, 61n * 25_000_000n]);
    const receivers = Array.from({ length: 61 }, (_, i) => (i === 37 ? address : freshAddress()));
    await distributor.send("distribute", [coin.address, receivers, receivers.map(() => 25_000_000n)]);
    await rest();
    expect((await paidTo(shop, address)).map(brief)).toEqual(["25 COIN log:37 confirmed"]);
  });

  it("credits fifty transfers of one transaction to fifty addresses", async () => {
    const watched = await Promise.all(
      Array.from({ length: 50 }, () => shop.watch({ network: "local", account: "fifty" })),
    );
    const amounts = watched.map((_, i) => BigInt(i + 1));
    await coin.send("batch", [watched.map(({ address }) => address), amounts]);
    await rest();
    const indexes = await Promise.all(
      watched.map(async ({ address }) => (await paidTo(shop, address)).map((d) => d.transfer_index)),
    );
    expect(indexes).toEqual(watched.map((_, i) => [`log:${i}`]));
  });

  it("B28: credits fifty native payments of one contract's transaction, nested calls and a self-destruction", async () => {
    const watched = await Promise.all(
      Array.from({ length: 50 }, () => shop.watch({ network: "local", account: "internal" })),
    );
    const receivers = watched.map(({ address }) => address);
    const payer = await deploy(local.chain, "Payer", []);
    await payer.send("pay", [receivers, ETHER], 50n * ETHER);
    await payer.send("payNested", [receivers.slice(0, 3), 7n], 21n);
    await deploy(local.chain, "SelfDestructPayer", [receivers[0]], 11n);
    await rest();
    const indexes = await Promise.all(
      receivers.map(async (address) => (await paidTo(shop, address)).map((d) => d.transfer_index).sort()),
    );
    expect(indexes[0]).toEqual(["call:0", "call:0", "call:0.0"]);
    expect(indexes[2]).toEqual(["call:0.2", "call:2"]);
    expect(indexes[49]).toEqual(["call:49"]);
    expect((await local.view()).internal).toBe("traced");
  });

  it("B28: says so where the node offers no traces, and credits the rest", async () => {
    const untraced = await stage.open("untraced");
    untraced.proxy.setFaults({
      instead: ({ method }) =>
        /^(debug|trace)_/.test(method)
          ? { error: { code: -32601, message: `the method ${method} does not exist/is not available` } }
          : null,
    });
    const merchant = await stage.merchant("Untraced");
    const [direct, internal] = [
      await merchant.watch({ network: "untraced" }),
      await merchant.watch({ network: "untraced" }),
    ];
    await untraced.chain.pay(direct.address, 3n);
    const payer = await deploy(untraced.chain, "Payer", []);
    await payer.send("pay", [[internal.address], 5n], 5n);
    await untraced.chain.mine(2);
    await merchant.consumer.waitFor((event) => event.type === "deposit.confirmed", 20_000);
    type Networks = { data: { id: string; native_transfers: { internal: string } }[] };
    const { data } = await merchant.call<Networks>("GET", "/v1/networks");
    expect(data.find(({ id }) => id === "untraced")?.native_transfers.internal).toBe("untraced");
    expect((await merchant.deposits()).map(({ address }) => address)).toEqual([direct.address]);
  });

  it("tells within a poll and little more of the block", async () => {
    const { address } = await shop.watch({ network: "local" });
    const took: number[] = [];
    for (let i = 0; i < 5; i++) {
      const { transactionHash } = await local.chain.pay(address, 1n);
      const minedAt = Date.now();
      const told = await shop.consumer.waitFor(
        (e) => (e.data as Partial<DepositView>).tx_id === transactionHash,
        10_000,
      );
      took.push((shop.consumer.arrivedAt(told.id) ?? 0) - minedAt);
    }
    console.log(`mined block to webhook, poll every 100 ms: ${took.sort((a, b) => a - b).join(", ")} ms`);
    await rest();
  });
});

describe("what only looks like a payment", () => {
  it("B27, B29: nothing moved in a transaction, or a part of one, that failed", async () => {
    const { address } = await shop.watch({ network: "local" });
    // It takes no coin: a plain payment to it fails and keeps its value on paper.
    const refusing = await shop.watch({ network: "local", address: coin.address });
    const payer = await deploy(local.chain, "Payer", []);
    const poor = DEV_ACCOUNTS[3];
    const failed = [
      await local.chain.send({ to: refusing.address as Hex, value: ETHER, gas: 100_000n }),
      await local.chain.send({
        from: poor,
        to: coin.address,
        data: coin.encode("transfer", [address, 50n]),
        gas: 100_000n,
      }),
      await local.chain.send({
        to: coin.address,
        data: coin.encode("transferThenRevert", [address, 50n]),
        gas: 200_000n,
      }),
      (await payer.send("payThenRevert", [[address, address], ETHER], 2n * ETHER)).transactionHash,
    ];
    const statuses = await Promise.all(failed.map(async (hash) => (await local.chain.receipt(hash)).status));
    expect(statuses).toEqual(["0x0", "0x0", "0x0", "0x0"]);
    expect((await payer.send("payInFailedFrame", [[address], ETHER], ETHER)).status).toBe("0x1");
    await rest();
    expect([...(await paidTo(shop, address)), ...(await paidTo(shop, refusing.address))]).toEqual([]);
  });

  it("B20, B21: a Transfer of another form credits nobody, and stops no payment beside it", async () => {
    const { address } = await shop.watch({ network: "local" });
    const odd = await deploy(local.chain, "OddToken", ["Odd", "ODD", 6]);
    await shop.list("local", odd.address);
    const before = (await local.view()).counters.irregular_logs ?? 0;
    const forms = ["unindexed", "halfIndexed", "longData", "shortData", "dirtyTopic", "nft"];
    const hashes = await inOneBlock(local.chain, async () => {
      const sent: Hex[] = [];
      for (const form of forms)
        sent.push(
          await local.chain.send({ to: odd.address, data: odd.encode(form, [address, 1_000_000_000n]), gas: 100_000n }),
        );
      sent.push(await local.chain.send({ to: odd.address, data: odd.encode("mint", [address, 5n]), gas: 200_000n }));
      return sent;
    });
    const receipts = await Promise.all(hashes.map((hash) => local.chain.receipt(hash)));
    expect(receipts.map(({ status, logs }) => [status, logs.length])).toEqual(hashes.map(() => ["0x1", 1]));
    expect(new Set(receipts.map(({ blockNumber }) => blockNumber)).size).toBe(1);
    await rest();
    expect((await paidTo(shop, address)).map(brief)).toEqual(["0.000005 ODD log:0 confirmed"]);
    expect(((await local.view()).counters.irregular_logs ?? 0) - before).toBe(forms.length);
  });

  it("B20: a contract of NFTs cannot be listed", async () => {
    const nft = await deploy(local.chain, "Nft", []);
    const answer = await shop.ask("POST", "/v1/assets", { network: "local", contract: nft.address });
    expect([answer.status, answer.body]).toMatchObject([422, { code: "invalid_token" }]);
  });

  it("B23: two hundred transfers of nothing in one block leave no trace", async () => {
    const plain = await stage.open("plain");
    const merchant = await stage.merchant("Spoofed");
    const token = await deploy(plain.chain, "Token", ["Coin", "COIN", 6]);
    await merchant.list("plain", token.address);
    const { address } = await merchant.watch({ network: "plain" });
    const lookalike = freshAddress();
    const hashes = await inOneBlock(plain.chain, async () => {
      const sent: Hex[] = [];
      for (let i = 0; i < 200; i++) {
        const pair = i % 2 === 0 ? [address, lookalike] : [lookalike, address];
        sent.push(
          await plain.chain.send({
            to: token.address,
            data: token.encode("transferFrom", [...pair, 0n]),
            gas: 100_000n,
          }),
        );
      }
      return sent;
    });
    const receipts = await Promise.all(hashes.map((hash) => plain.chain.receipt(hash)));
    expect(
      new Set(receipts.map(({ status, logs, blockNumber }) => `${status} ${logs.length} ${blockNumber}`)).size,
    ).toBe(1);
    expect(receipts[0]).toMatchObject({ status: "0x1", logs: [{ address: token.address }] });
    await plain.chain.mine(3);
    await expectExact(plain, [merchant]);
    expect([await merchant.events(), merchant.consumer.requests()]).toEqual([[], 0]);
  });

  it("B26: a token that answers false moves nothing", async () => {
    const quiet = await deploy(local.chain, "QuietToken", ["Quiet", "QUIET", 6]);
    await shop.list("local", quiet.address);
    const { address } = await shop.watch({ network: "local" });
    const receipt = await quiet.send("transfer", [address, 1_000n]);
    expect([receipt.status, receipt.logs.length]).toEqual(["0x1", 0]);
    await rest();
    expect(await paidTo(shop, address)).toEqual([]);
  });

  it("B40: a contract that borrows a symbol is not the asset, and cannot be listed under it", async () => {
    const fake = await deploy(local.chain, "Token", ["Coin", "COIN", 6]);
    const { address } = await shop.watch({ network: "local" });
    await fake.send("mint", [address, 100_000_000_000n]);
    await coin.send("transfer", [address, 1_000_000n]);
    await rest();
    expect((await paidTo(shop, address)).map(brief)).toEqual(["1 COIN log:0 confirmed"]);
    const refused = await shop.ask("POST", "/v1/assets", { network: "local", contract: fake.address });
    expect([refused.status, refused.body]).toMatchObject([409, { code: "symbol_taken" }]);
  });

  it("only the tenant that listed a token is credited with it", async () => {
    const own = await deploy(local.chain, "Token", ["Own", "OWN", 6]);
    await shop.list("local", own.address);
    const [a, b] = [await shop.watch({ network: "local" }), await other.watch({ network: "local" })];
    await own.send("mint", [STRANGER, 10n]);
    await own.send("batch", [
      [a.address, b.address],
      [3n, 4n],
    ]);
    await rest();
    expect((await paidTo(shop, a.address)).map(brief)).toEqual(["0.000003 OWN log:0 confirmed"]);
    expect(await paidTo(other, b.address)).toEqual([]);
  });

  it("B24: of a token that takes a fee, what arrived counts, whether or not a log says so", async () => {
    const told: string[][] = [];
    for (const [symbol, oneLog] of [
      ["TAX", false],
      ["TAXQ", true],
    ] as const) {
      const tax = await deploy(local.chain, "FeeToken", ["Tax", symbol, 6, oneLog]);
      await shop.list("local", tax.address);
      const { address } = await shop.watch({ network: "local", account: symbol });
      await tax.send("mint", [STRANGER, 200_000_000n]);
      const { logs } = await tax.send("transfer", [address, 100_000_000n]);
      expect([logs.length, await tax.read("balanceOf", [address])]).toEqual([oneLog ? 1 : 2, 98_000_000n]);
      await local.chain.mine(2);
      await expectExact(local, [shop]);
      told.push((await paidTo(shop, address)).map(brief));
    }
    expect(told).toEqual([["98 TAX log:0 confirmed"], ["98 TAXQ log:0 confirmed"]]);
  });
});

describe("addresses and policies", () => {
  it("B38: one address in all its spellings is one watch", async () => {
    const mixed = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";
    const spellings = [
      mixed,
      mixed.toLowerCase(),
      `0X${mixed.slice(2).toUpperCase()}`,
      `0x${mixed.slice(2).toUpperCase()}`,
    ];
    const first = await shop.watch({
      network: "local",
      address: mixed,
      account: "vitalik",
      held: BigInt(await local.chain.rpc<Hex>("eth_getBalance", [mixed, "latest"])),
    });
    for (const address of spellings) {
      const again = await shop.ask<{ id: string }>("POST", "/v1/addresses", { network: "local", address });
      expect([again.status, again.body.id]).toEqual([200, first.id]);
      const foreign = await other.ask("POST", "/v1/addresses", { network: "local", address });
      expect([foreign.status, foreign.body]).toMatchObject([409, { code: "address_taken" }]);
    }
    const wrong = await shop.ask("POST", "/v1/addresses", { network: "local", address: mixed.replace("dA6", "da6") });
    expect([wrong.status, wrong.body]).toMatchObject([422, { code: "invalid_address" }]);
    await coin.send("transfer", [mixed, 8n]);
    await local.chain.pay(mixed.toLowerCase(), 9n);
    await rest();
    for (const address of spellings) {
      expect((await paidTo(shop, address)).map(brief).sort()).toEqual([
        "0.000000000000000009 ETH value confirmed",
        "0.000008 COIN log:0 confirmed",
      ]);
    }
    const contract = contractAt(local.chain, "Token", `0x${coin.address.slice(2).toUpperCase()}`);
    expect((await shop.list("local", contract.address)).contract).toBe(coin.address);
  });

  it("counts what was paid from the start height on, and what came before only when it is asked for", async () => {
    const merchant = await stage.merchant("Late");
    await merchant.list("local", coin.address);
    const [from, past] = [freshAddress(), freshAddress()];
    const first = await local.chain.pay(from, 1n);
    const { blockNumber } = await local.chain.pay(from, 20n);
    await coin.send("transfer", [from, 300n]);
    await local.chain.pay(past, 4_000n);
    await local.chain.mine(30);
    await local.chain.pay(from, 50_000n);
    await untilRead(local);
    const late = await merchant.watch({ network: "local", address: from, startHeight: Number(blockNumber), held: 1n });
    const onlyNew = await merchant.watch({ network: "local", address: past, held: 4_000n });
    expect(late.watched_from).toBe(Number(blockNumber));
    expect(onlyNew.watched_from).toBeGreaterThan(Number(blockNumber) + 30);
    await local.chain.pay(past, 600_000n);
    await local.chain.mine(2);
    await expectExact(local, [merchant]);
    const amounts = async (address: string) => (await paidTo(merchant, address)).map((d) => d.amount_units).sort();
    expect([await amounts(from), await amounts(past)]).toEqual([["20", "300", "50000"], ["600000"]]);

    const height = await local.chain.height();
    const report = await merchant.backfill("local", Number(first.blockNumber), height);
    expect(report).toMatchObject({ status: "done", found: 6, already_known: 4, added: 2, conflicts: 0 });
    late.held = 0n;
    onlyNew.held = 0n;
    await expectExact(local, [merchant]);
    expect([await amounts(from), await amounts(past)]).toEqual([
      ["1", "20", "300", "50000"],
      ["4000", "600000"],
    ]);

    const address = freshAddress();
    const ahead = await shop.ask("POST", "/v1/addresses", { network: "local", address, start_height: height + 1_000 });
    expect([ahead.status, ahead.body]).toMatchObject([422, { code: "invalid_range" }]);
  });

  it("asks for as many confirmations as the tenant's policy has for the amount", async () => {
    const merchant = await stage.merchant("Careful");
    await merchant.list("local", coin.address);
    await merchant.call("PUT", "/v1/policies/confirmations/local", {
      default: 2,
      assets: {
        COIN: {
          default: 1,
          amounts: [
            { from: "10", confirmations: 5 },
            { from: "1000.5", confirmations: 8 },
          ],
        },
      },
    });
    const { address } = await merchant.watch({ network: "local" });
    const amounts = [9_999_999n, 10_000_000n, 1_000_499_999n, 1_000_500_000n];
    await coin.send("batch", [amounts.map(() => address), amounts]);
    await expectExact(local, [merchant]);
    const required = (await merchant.deposits()).map((d) => [d.amount, d.confirmations_required, d.status]);
    expect(required.sort((a, b) => Number(a[0]) - Number(b[0]))).toEqual([
      ["9.999999", 1, "confirmed"],
      ["10", 5, "pending"],
      ["1000.499999", 5, "pending"],
      ["1000.5", 8, "pending"],
    ]);
    for (const [mined, confirmed] of [
      [3, 1],
      [1, 3],
      [2, 3],
      [1, 4],
    ] as const) {
      await local.chain.mine(mined);
      await expectExact(local, [merchant]);
      expect(await merchant.deposits({ status: "confirmed" })).toHaveLength(confirmed);
    }
    await local.chain.pay(address, 1n);
    await local.chain.mine();
    await expectExact(local, [merchant]);
    expect(await merchant.deposits({ asset: "ETH" })).toMatchObject([
      { confirmations_required: 2, status: "confirmed" },
    ]);
    await rest();
  });

  it("B12: many blocks a second do not make a confirmation", async () => {
    const timed = await stage.open("timed");
    const merchant = await stage.merchant("Timed");
    const { address } = await merchant.watch({ network: "timed" });
    await timed.chain.pay(address, 1n);
    await timed.chain.rpc("anvil_mine", ["0x10", "0x1"]);
    await expectExact(timed, [merchant]);
    expect(await merchant.deposits()).toMatchObject([
      { status: "pending", confirmations: 17, confirmations_required: 3 },
    ]);
    await timed.chain.rpc("evm_increaseTime", [60]);
    await timed.chain.mine();
    await expectExact(timed, [merchant]);
    expect(await merchant.deposits()).toMatchObject([{ status: "confirmed" }]);
  });

  it("waits for the chain's own finality where the network has one", async () => {
    const tagged = await stage.open("tagged");
    const merchant = await stage.merchant("Tagged");
    const { address } = await merchant.watch({ network: "tagged" });
    await tagged.chain.pay(address, 1n);
    await tagged.chain.mine(60);
    await expectExact(tagged, [merchant]);
    expect(await merchant.deposits()).toMatchObject([
      { status: "pending", confirmations: 61, confirmations_required: null },
    ]);
    // anvil calls the 64th block below its head final.
    await tagged.chain.mine(4);
    await expectExact(tagged, [merchant]);
    expect(await merchant.deposits()).toMatchObject([{ status: "settled" }]);
  });
});

describe("reading again", () => {
  it("B42: polls without a new block, and a block after them, tell nothing twice", async () => {
    await rest();
    const before = [await shop.events(), shop.consumer.requests()];
    const polls = local.proxy.requests();
    let heads = 0;
    const countHeads = (call: Call) => {
      if (asksForHead(call)) heads += 1;
      return call;
    };
    local.proxy.setFaults({ rewrite: countHeads });
    await expect.poll(() => heads, { timeout: 10_000 }).toBeGreaterThan(5);
    local.proxy.setFaults({});
    expect(local.proxy.requests()).toBeGreaterThan(polls);
    expect([await shop.events(), shop.consumer.requests()]).toEqual(before);
  });

  it("I17: a backfill of everything ever read finds it all known, and changes nothing", async () => {
    await local.chain.mine(30);
    await rest();
    const before = [await shop.events(), await shop.deposits(), await shop.entries()];
    const height = await local.chain.height();
    const known = (await shop.deposits({ network: "local" })).length;
    const report = await shop.backfill("local", 0, height);
    expect(report).toMatchObject({ status: "done", progress: { scanned_to: height, of: height + 1 } });
    expect(report).toMatchObject({ found: known, already_known: known, added: 0, conflicts: 0 });
    await rest();
    expect(await shop.backfill("local", 0, height)).toMatchObject({ found: known, already_known: known, added: 0 });
    expect(await shop.backfill("local", height - 10, height)).toMatchObject({ status: "done", found: 0, added: 0 });
    await expectExact(local, [shop, other]);
    expect([await shop.events(), await shop.deposits(), await shop.entries()].map((rows) => rows.length)).toEqual(
      before.map((rows) => rows.length),
    );
  });
});

describe("webhooks", () => {
  it("go on where they were when the merchant's server comes back", async () => {
    const merchant = await stage.merchant("Flaky");
    const [a, b] = [await merchant.watch({ network: "local" }), await merchant.watch({ network: "local" })];
    merchant.consumer.setMood(({ type }, times) => ({
      kind: "answer",
      status: type === "deposit.pending" && times === 1 ? 500 : 200,
    }));
    await local.chain.pay(a.address, 1n);
    await local.chain.pay(b.address, 2n);
    await local.chain.mine(2);
    await expectExact(local, [merchant]);
    // What was confirmed meanwhile waited for the pending that came before it; the consumer would have told.
    const { events } = merchant.consumer;
    expect(events.map(({ type }) => type).sort()).toEqual(
      ["confirmed", "confirmed", "pending", "pending"].map((what) => `deposit.${what}`),
    );
    expect(events.map(({ id }) => merchant.consumer.timesSeen(id)).sort()).toEqual([1, 1, 2, 2]);
    const attempts = (await merchant.deliveries()).map(({ attempts }) => attempts.map(({ status }) => status));
    expect(attempts.sort((x, y) => x.length - y.length)).toEqual([[200], [200], [500, 200], [500, 200]]);
  });
});

it("no key, secret, token or provider's path is ever printed", async () => {
  // Something to print: a provider that fails and repeats its own URL.
  local.proxy.setFaults({ refuse: () => ({ status: 500, body: `cannot serve ${local.proxy.url}` }) });
  await expect.poll(async () => (await local.view()).last_error ?? "", { timeout: 20_000 }).toContain("HTTP 500");
  expect((await local.view()).last_error).not.toContain(local.proxy.secret);
  local.proxy.setFaults({});
  await rest();
  expect(stage.printed()).toContain("Sluice listens on");
  expect(stage.secrets().length).toBeGreaterThan(10);
  expect(leaked(stage)).toEqual([]);
});
