/**
 * Chains that change their mind, and providers that only look as if one had. Whatever happens in between, what
 * counts in the end is what the chain says, and each merchant was told of each change once.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DepositView } from "../../src/core/views.ts";
import { type Anvil, type Chain, DEV_ACCOUNTS, type Hex } from "../support/anvil.ts";
import { freshAddress, type Merchant } from "../support/merchant.ts";
import { expectExact, untilRead } from "../support/oracle.ts";
import { asksForHead, type Call, type Faults, headAt, type Item, type Reply } from "../support/rpc-proxy.ts";
import { leaked } from "../support/served.ts";
import { type Network, type Stage, startStage } from "../support/stage.ts";
import { type Contract, deploy } from "../support/tokens.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({ flip: {}, flap: {}, lag: {}, late: {}, bare: {}, shuffled: {}, limited: {}, deep: {} });
});
afterAll(() => stage?.stop());

interface Scene {
  readonly network: Network;
  readonly chain: Anvil;
  readonly shop: Merchant;
  readonly coin: Contract;
}

async function openScene(id: string): Promise<Scene> {
  const network = await stage.open(id);
  const coin = await deploy(network.chain, "Token", ["Coin", "COIN", 6]);
  const shop = await stage.merchant(id);
  await shop.list(id, coin.address);
  return { network, chain: network.chain, shop, coin };
}

async function watchNew({ shop, network }: Scene): Promise<string> {
  return (await shop.watch({ network: network.id })).address;
}

/** What the merchant was told of the payments to an address, in order. */
async function storyOf(shop: Merchant, address: string): Promise<string[]> {
  const events = (await shop.events()).filter(({ data }) => (data as Partial<DepositView>).address === address);
  return events.map(({ type }) => type.replace("deposit.", ""));
}

/** A token payment that anybody may send, with the log that goes with it. */
function minting({ coin }: Scene, to: string, units: bigint, from: string = DEV_ACCOUNTS[0]) {
  return { from: from as Hex, to: coin.address, data: coin.encode("mint", [to, units]), gas: 200_000n };
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

describe("one chain", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene("local");
  });
  const exact = () => expectExact(scene.network, [scene.shop]);

  it("moves the log index of a payment: one key, one credit, nothing new to tell", async () => {
    const { chain, shop } = scene;
    const address = await watchNew(scene);
    const [other, ours] = await inOneBlock(chain, async () => [
      await chain.send(minting(scene, freshAddress(), 5n, DEV_ACCOUNTS[0])),
      await chain.send(minting(scene, address, 7n, DEV_ACCOUNTS[1])),
    ]);
    await chain.mine(2);
    await exact();
    const before = await chain.receipt(ours as Hex);
    const [deposit] = await shop.deposits({ address });

    const raws = [await chain.rawTransaction(ours as Hex), await chain.rawTransaction(other as Hex)] as const;
    await chain.reorg(3, [
      [raws[0], 0],
      [raws[1], 1],
    ]);
    await chain.mine();
    await exact();
    const after = await chain.receipt(ours as Hex);
    expect([before.logs[0]?.logIndex, after.logs[0]?.logIndex]).toEqual(["0x1", "0x0"]);
    expect(after.blockHash).not.toBe(before.blockHash);
    expect(await storyOf(shop, address)).toEqual(["pending", "confirmed"]);
    expect(await shop.deposits({ address })).toMatchObject([
      { id: deposit?.id, transfer_index: "log:0", block_hash: after.blockHash, epoch: 1 },
    ]);
    expect((await scene.network.view()).counters.reorganisations).toBe(1);
  });

  it("B16: drops a confirmed payment, without any notice of removal: reverted once, the balance is back", async () => {
    const { chain, shop } = scene;
    const { address } = await shop.watch({ network: "local", account: "dropped" });
    await chain.pay(address, 10n ** 18n);
    await chain.mine(2);
    await exact();
    const balance = async () => (await shop.balances()).filter(({ account }) => account === "dropped");
    expect(await balance()).toMatchObject([{ available: "1", debt: "0" }]);
    await chain.reorg(3);
    await chain.mine();
    await exact();
    expect(await balance()).toMatchObject([{ available: "0", debt: "0" }]);
    expect(await storyOf(shop, address)).toEqual(["pending", "confirmed", "reverted"]);
    await chain.mine(25);
    await exact();
    expect(await storyOf(shop, address)).toHaveLength(3);
  });

  it.each([
    ["one block later, still deep enough: nothing to tell", 1, ["pending", "confirmed"]],
    [
      "two blocks later, not deep enough: reverted, then confirmed again",
      2,
      ["pending", "confirmed", "reverted", "pending", "confirmed"],
    ],
  ] as const)("B08: mines a confirmed payment again %s", async (_, later, story) => {
    const { chain, shop } = scene;
    const address = await watchNew(scene);
    const hash = await chain.send(minting(scene, address, 7n));
    const before = await chain.receipt(hash);
    await chain.mine(2);
    await exact();
    await chain.reorg(3, [[await chain.rawTransaction(hash), later]]);
    await chain.mine();
    await exact();
    await chain.mine();
    await exact();
    const after = await chain.receipt(hash);
    expect(Number(after.blockNumber)).toBe(Number(before.blockNumber) + later);
    expect(await storyOf(shop, address)).toEqual(story);
    expect(await shop.deposits({ address })).toMatchObject([
      { status: "confirmed", block_height: Number(after.blockNumber) },
    ]);
  });

  it("drops a pending payment, which comes back later under the same key", async () => {
    const { chain, shop } = scene;
    const address = await watchNew(scene);
    const { transactionHash } = await chain.pay(address, 5n);
    const raw = await chain.rawTransaction(transactionHash);
    await exact();
    await chain.reorg(1);
    await chain.mine();
    await exact();
    expect(await storyOf(shop, address)).toEqual(["pending", "dropped"]);
    await chain.rpc("eth_sendRawTransaction", [raw]);
    await chain.mine(3);
    await exact();
    expect(await storyOf(shop, address)).toEqual(["pending", "dropped", "pending", "confirmed"]);
    expect(await shop.deposits({ address })).toMatchObject([{ tx_id: transactionHash, epoch: 1 }]);
  });

  it("runs a payment again with another outcome: the old amount is taken back, the new one counts", async () => {
    const { chain, shop } = scene;
    const address = await watchNew(scene);
    // It pays as many wei as the number of its block: NUMBER, PUSH20 address, GAS, CALL.
    const runtime = `60006000600060004373${address.slice(2)}5af100`;
    const created = await chain.receipt(
      await chain.send({ data: `0x602180600b6000396000f3${runtime}`, gas: 200_000n }),
    );
    const { transactionHash } = await chain.pay(created.contractAddress as Hex, 1_000_000n);
    await chain.mine(2);
    await exact();
    const [first] = await shop.deposits({ address });
    expect(first).toMatchObject({
      transfer_index: "call:0",
      amount_units: String(first?.block_height),
      status: "confirmed",
    });
    await chain.reorg(3, [[await chain.rawTransaction(transactionHash), 1]]);
    await chain.mine();
    await exact();
    expect(await storyOf(shop, address)).toEqual(["pending", "confirmed", "reverted", "pending", "confirmed"]);
    const second = String(Number(first?.amount_units) + 1);
    expect(await shop.deposits({ address })).toMatchObject([{ id: first?.id, amount_units: second, epoch: 2 }]);
  });

  it("B13: keeps 35 of 40 payments once and reverts 5 once", async () => {
    const { chain, shop } = scene;
    const accounts = await chain.rpc<Hex[]>("eth_accounts");
    const payments = Array.from({ length: 40 }, (_, i) => ({ round: Math.floor(i / 10), account: i % 10 }));
    const paid: { address: string; hash: Hex; round: number; account: number }[] = [];
    const addresses = await Promise.all(payments.map(() => watchNew(scene)));
    for (let block = 0; block < 8; block++) {
      await inOneBlock(chain, async () => {
        for (const [i, { round, account }] of [...payments.entries()].slice(block * 5, block * 5 + 5)) {
          const address = addresses[i] ?? "";
          const from = accounts[account] as Hex;
          const request =
            i % 2 === 0
              ? minting(scene, address, BigInt(i + 1), from)
              : { from, to: address as Hex, value: BigInt(i + 1) };
          paid.push({ address, hash: await chain.send(request), round, account });
        }
        return [];
      });
    }
    await chain.mine(3);
    await exact();
    // Each account's last payment may go: a later one of the same account could not be mined without it.
    const isLost = ({ round, account }: (typeof paid)[number]) => round === 3 && account < 5;
    const kept = paid.filter((payment) => !isLost(payment)).reverse();
    kept.sort((a, b) => a.round - b.round);
    const again = await Promise.all(
      kept.map(
        async ({ hash, round, account }) => [await chain.rawTransaction(hash), round * 2 + (account % 2)] as const,
      ),
    );
    await chain.reorg(11, again);
    await chain.mine();
    await exact();
    await chain.mine(25);
    await exact();
    const stories = await Promise.all(
      paid.map(async (payment) => [isLost(payment), (await storyOf(shop, payment.address)).join()]),
    );
    expect(stories.filter(([lost]) => lost)).toEqual(Array(5).fill([true, "pending,confirmed,reverted"]));
    expect(stories.filter(([lost]) => !lost)).toEqual(Array(35).fill([false, "pending,confirmed,settled"]));
  });
});

describe("two nodes behind one provider", () => {
  it("follows A, B and A again, and tells of each turn once", async () => {
    const scene = await openScene("flip");
    const { network, chain: a, shop } = scene;
    const [first, second] = [await watchNew(scene), await watchNew(scene)];
    await a.mine(3);
    const b = await stage.copyOf(a);
    await a.pay(first, 1n);
    await a.mine(3);
    await expectExact(network, [shop]);

    await b.pay(second, 2n);
    await b.mine(5);
    network.proxy.setNode(b.url);
    await expectExact({ ...network, chain: b }, [shop]);
    expect(await storyOf(shop, first)).toEqual(["pending", "confirmed", "reverted"]);

    // Shorter than B, it proves nothing.
    network.proxy.setNode(a.url);
    const requests = network.proxy.requests();
    await expect.poll(() => network.proxy.requests(), { timeout: 20_000 }).toBeGreaterThan(requests + 5);
    expect((await shop.deposits({ address: second })).map(({ status }) => status)).toEqual(["confirmed"]);

    await a.mine(4);
    await expectExact(network, [shop]);
    expect(await storyOf(shop, first)).toEqual(["pending", "confirmed", "reverted", "pending", "confirmed"]);
    expect(await storyOf(shop, second)).toEqual(["pending", "confirmed", "reverted"]);
    expect(await shop.deposits({ address: first })).toMatchObject([{ status: "confirmed", epoch: 2 }]);
  });

  it("is not led to a chain that no single node has, while two forks answer in turn", async () => {
    const scene = await openScene("flap");
    const { network, chain: a, shop } = scene;
    const [onA, onB, onBoth] = [await watchNew(scene), await watchNew(scene), await watchNew(scene)];
    await a.mine(3);
    const b = await stage.copyOf(a);
    const { transactionHash } = await a.pay(onBoth, 4n);
    await a.pay(onA, 1n);
    await b.mine();
    await b.rpc("eth_sendRawTransaction", [await a.rawTransaction(transactionHash)]);
    await b.pay(onB, 2n);
    let calls = 0;
    const route = () => (calls++ % 2 === 0 ? a.url : b.url);
    network.proxy.setFaults({ route });
    for (let i = 0; i < 12; i++) {
      await (i % 3 === 0 ? b : a).mine();
      await new Promise((resolve) => setTimeout(resolve, 120));
    }
    network.proxy.setFaults({ route: (_, { number }) => (number % 2 === 0 ? a.url : b.url) });
    for (let i = 0; i < 12; i++) {
      await (i % 3 === 0 ? a : b).mine();
      await new Promise((resolve) => setTimeout(resolve, 120));
    }
    const { counters } = await network.view();
    expect((counters.readings_inconsistent ?? 0) + (counters.readings_not_known ?? 0)).toBeGreaterThan(0);
    await b.mine(Math.max(1, (await a.height()) - (await b.height()) + 2));
    network.proxy.setFaults({});
    network.proxy.setNode(b.url);
    await expectExact({ ...network, chain: b }, [shop]);
    expect((await network.view()).status).toBe("ok");
    const live = (await shop.deposits()).filter(({ status }) => status === "confirmed");
    expect(live.map(({ address }) => address).sort()).toEqual([onB, onBoth].sort());
    expect(live.find(({ address }) => address === onBoth)?.tx_id).toBe(transactionHash);
  });
});

/** As they were seen in the wild, and one that nobody has seen. */
const REFUSALS = [
  { code: -32005, message: "query returned more than 10000 results" },
  { code: -32602, message: "query exceeds max block range 100000" },
  { status: 413, body: "Payload Too Large" },
  { code: -32602, message: "block range exceeds the limit of 10000" },
  { code: -32602, message: "query exceeds max results 20000, retry with the range 1-2" },
  { code: -32603, message: "range is too large, max is 1k blocks" },
  { status: 429, body: "limit exceeded" },
  { code: 35, message: "ranges over 10000 blocks are not supported on freetier" },
  { code: -32602, message: "eth_getLogs is limited to a 1024 range" },
  { code: -32000, message: "exceed maximum block range: 1000" },
  { code: -32701, message: "please narrow your filter somewhat" },
] as const;

describe("a provider that misleads", () => {
  it("B01: has backends that lag: empty answers for blocks they have not seen move nothing", async () => {
    const scene = await openScene("lag");
    const { network, chain: ahead, shop } = scene;
    const address = await watchNew(scene);
    await ahead.mine(2);
    await untilRead(network);
    const behind = await stage.copyOf(ahead);
    const reached = await ahead.height();

    // Near the head: two of three requests meet the backend that lags; only the head is always fresh.
    network.proxy.setFaults({
      route: (call, { number }) => (asksForHead(call) || number % 3 === 0 ? ahead.url : behind.url),
    });
    for (let i = 1; i <= 5; i++) await ahead.receipt(await ahead.send(minting(scene, address, BigInt(i))));
    await expect
      .poll(async () => (await network.view()).counters.readings_not_known ?? 0, { timeout: 20_000 })
      .toBeGreaterThan(0);
    network.proxy.setFaults({});
    await expectExact(network, [shop]);
    expect(await ahead.height()).toBe(reached + 5);

    // Far behind: logs are asked for over ranges, and they always meet the one that lags.
    const frozen = await ahead.height();
    network.proxy.setFaults(headAt(frozen));
    for (let i = 1; i <= 6; i++) {
      await ahead.receipt(await ahead.send(minting(scene, address, BigInt(100 * i))));
      await ahead.mine(9);
    }
    let ranges = 0;
    const asksRange = ({ method }: Call) => method === "eth_getLogs";
    network.proxy.setFaults({
      route: (_, { calls }) => {
        if (!calls.some(asksRange)) return ahead.url;
        ranges += 1;
        return behind.url;
      },
      // anvil says that it does not have the blocks; others say that there is nothing.
      amend: (call, reply) => (asksRange(call) && "error" in reply ? { result: [] } : reply),
    });
    await expect.poll(() => ranges, { timeout: 20_000 }).toBeGreaterThan(3);
    // The one block that comes along with the head may be read: it is proven by itself, and no range was asked for it.
    expect(((await network.scannedTo()) ?? Number.NaN) - frozen).toBeLessThanOrEqual(1);
    network.proxy.setFaults({});
    await expectExact(network, [shop]);
    expect(await shop.deposits({ address })).toHaveLength(11);
  });

  it("B02: announces a block before what belongs to it can be read", async () => {
    const scene = await openScene("late");
    const { network, chain, shop } = scene;
    const address = await watchNew(scene);
    const early: Reply[] = [
      { result: [] },
      { result: null },
      { error: { code: -32000, message: "unknown block" } },
      { result: [] },
    ];
    for (const methods of [/^eth_getBlockReceipts$/, /^(debug|trace)_/]) {
      const left = [...early];
      const before = (await network.view()).counters.readings_not_known ?? 0;
      network.proxy.setFaults({
        instead: (call) => (methods.test(call.method) ? (left.shift() ?? null) : null),
      });
      await chain.send(minting(scene, address, 5n));
      await chain.mine(3);
      await expectExact(network, [shop]);
      expect(left).toEqual([]);
      expect((await network.view()).counters.readings_not_known).toBeGreaterThan(before);
    }
    network.proxy.setFaults({});
    expect((await shop.deposits({ address })).map(({ amount_units }) => amount_units)).toEqual(["5", "5"]);
  });

  it("B03, B32: has no receipts by block, then none at all, then those of a sibling", async () => {
    const scene = await openScene("bare");
    const { network, chain, shop } = scene;
    const address = await watchNew(scene);
    const missing: Reply = { error: { code: -32601, message: "the method eth_getBlockReceipts does not exist" } };
    const noBlockReceipts: Faults = { instead: ({ method }) => (method === "eth_getBlockReceipts" ? missing : null) };

    // B03: an unknown hash is [] to one client and an error to another. Neither says that there is nothing.
    const unknown: Reply[] = [{ result: [] }, { error: { code: -32000, message: "unknown block" } }];
    let asked = 0;
    network.proxy.setFaults({
      instead: (call) => {
        if (call.method === "eth_getLogs" && unknown.length > 0) return unknown.shift() ?? null;
        if (call.method === "eth_getTransactionReceipt" && asked++ < 2) return { result: null };
        return noBlockReceipts.instead?.(call) ?? null;
      },
    });
    await chain.send(minting(scene, address, 5n));
    await chain.mine(3);
    await expectExact(network, [shop]);
    expect(unknown).toEqual([]);
    expect(asked).toBeGreaterThan(2);

    // B32: the receipt that comes at last is of the block's sibling.
    let nulls = 0;
    network.proxy.setFaults({
      instead: (call) => {
        if (call.method === "eth_getTransactionReceipt" && nulls < 2) {
          nulls += 1;
          return { result: null };
        }
        // The bloom is contradicted, so that receipts have to be read.
        if (call.method === "eth_getLogs") return { result: [] };
        return noBlockReceipts.instead?.(call) ?? null;
      },
    });
    const wantsReceipt = (call: Call) => call.method === "eth_getTransactionReceipt" && nulls >= 2;
    const held = network.proxy.hold(wantsReceipt);
    const hash = await chain.send(minting(scene, address, 6n));
    const before = await chain.receipt(hash);
    const waiting = await held;
    await chain.reorg(1, [[await chain.rawTransaction(hash), 0]]);
    const after = await chain.receipt(hash);
    expect([after.blockNumber, after.blockHash !== before.blockHash]).toEqual([before.blockNumber, true]);
    waiting.release();
    await chain.mine(2);
    await expectExact(network, [shop]);
    expect(await shop.deposits({ address })).toMatchObject([
      { amount_units: "6", block_hash: after.blockHash },
      { amount_units: "5" },
    ]);
  });

  it("B34: answers batches in another order, without an item or with one that failed", async () => {
    const scene = await openScene("shuffled");
    const { network, chain, shop } = scene;
    const addresses = [await watchNew(scene), await watchNew(scene)];
    let batches = 0;
    const failed: Reply = { error: { code: -32603, message: "header not found, try again" } };
    const shape = (items: readonly Item[]): Item[] => {
      batches += 1;
      const turned = [...items.slice(batches % items.length), ...items.slice(0, batches % items.length)].reverse();
      if (batches % 3 === 0) turned.pop();
      if (batches % 4 === 0 && turned[0] !== undefined) turned[0] = { jsonrpc: "2.0", id: turned[0].id, ...failed };
      return turned;
    };
    network.proxy.setFaults({ shape });
    const hashes: Hex[] = [];
    for (let i = 0; i < 6; i++) {
      const address = addresses[i % 2] ?? "";
      const request = i < 3 ? minting(scene, address, BigInt(i + 1)) : { to: address as Hex, value: BigInt(i + 1) };
      hashes.push((await chain.receipt(await chain.send(request))).transactionHash);
    }
    await chain.mine(2);
    await expectExact(network, [shop]);
    await chain.reorg(4, [[await chain.rawTransaction(hashes[4] as Hex), 1]]);
    await chain.mine(2);
    await expectExact(network, [shop]);
    expect(batches).toBeGreaterThan(10);
    const live = (await shop.deposits()).filter(({ status }) => status === "confirmed");
    expect(live.map(({ tx_id }) => tx_id).sort()).toEqual(hashes.slice(0, 5).sort());
  });

  it("B06: refuses wide ranges in eleven ways, and one block whatever is asked about its logs", async () => {
    const scene = await openScene("limited");
    const { network, chain, shop } = scene;
    const address = await watchNew(scene);
    await untilRead(network);
    network.proxy.setFaults(headAt(await chain.height()));
    const paid: Hex[] = [];
    for (let i = 1; i <= 30; i++) {
      paid.push((await chain.receipt(await chain.send(minting(scene, address, BigInt(i))))).blockNumber);
      await chain.mine(9);
    }
    const asked = new Set<number>();
    let turn = 0;
    const next = () => REFUSALS[turn % REFUSALS.length] ?? REFUSALS[0];
    const stubborn = Number(paid[12]);
    const { hash: stubbornHash } = await chain.rpc<{ hash: Hex }>("eth_getBlockByNumber", [paid[12], false]);
    const isRefused = ({ method, params }: Call) => {
      if (method !== "eth_getLogs") return false;
      const filter = params[0] as { fromBlock?: Hex; toBlock?: Hex; blockHash?: Hex };
      if (filter.blockHash !== undefined) return filter.blockHash === stubbornHash;
      const [from, to] = [Number(filter.fromBlock), Number(filter.toBlock)];
      return to - from > 2 || (from <= stubborn && stubborn <= to);
    };
    const refusal = () => {
      const one = next();
      asked.add(turn++ % REFUSALS.length);
      return one;
    };
    network.proxy.setFaults({
      refuse: (calls) => {
        if (!calls.some(isRefused) || !("status" in next())) return null;
        const one = refusal();
        return "status" in one ? one : null;
      },
      instead: (call) => {
        const one = isRefused(call) ? refusal() : null;
        return one !== null && "code" in one ? { error: one } : null;
      },
    });
    await expectExact(network, [shop], { withinMs: 60_000 });
    expect(asked.size).toBe(REFUSALS.length);
    expect(
      (await shop.deposits({ address })).map(({ amount_units }) => Number(amount_units)).sort((a, b) => a - b),
    ).toEqual(paid.map((_, i) => i + 1));
  });
});

describe("deeper than the window", () => {
  it("B09, B10: stops, takes nothing back by itself, and after an operator's word each loss is told once", async () => {
    const scene = await openScene("deep");
    const { network, chain, shop } = scene;
    const [before, lost, kept, late] = [
      await watchNew(scene),
      await watchNew(scene),
      await watchNew(scene),
      await watchNew(scene),
    ];
    await chain.pay(before, 1n);
    await chain.mine(40);
    await chain.pay(lost, 2n);
    // From another account: one cannot be mined without the earlier ones of its own.
    const again = await chain.receipt(await chain.send({ from: DEV_ACCOUNTS[1], to: kept as Hex, value: 3n }));
    await chain.mine(25);
    await expectExact(network, [shop]);
    expect((await shop.deposits()).map(({ status }) => status)).toEqual(["settled", "settled", "settled"]);

    await chain.reorg(27, [[await chain.rawTransaction(again.transactionHash), 3]]);
    await chain.pay(late, 4n);
    await chain.mine(5);
    await shop.consumer.waitFor(({ type }) => type === "network.halted", 20_000);
    const view = await network.view();
    expect([view.status, view.incident === null]).toEqual(["halted", false]);
    type Networks = { data: { id: string; status: string }[] };
    const { data } = await shop.call<Networks>("GET", "/v1/networks");
    expect(data.find(({ id }) => id === "deep")?.status).toBe("halted");
    const requests = network.proxy.requests();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(network.proxy.requests() - requests).toBeLessThan(3);
    expect((await shop.deposits()).map(({ status }) => status)).toEqual(["settled", "settled", "settled"]);

    const resumed = await stage.operate("POST", "/v1/operator/networks/deep/resume", {});
    expect(resumed.status).toBe(202);
    expect(Number((resumed.body as { from_height: number }).from_height)).toBeLessThanOrEqual(
      Number(again.blockNumber) - 1,
    );
    expect((await stage.operate("POST", "/v1/operator/networks/deep/resume", {})).status).toBe(409);
    await expectExact(network, [shop], { reopened: true });
    expect(await storyOf(shop, before)).toEqual(["pending", "confirmed", "settled"]);
    expect(await shop.deposits({ address: kept })).toMatchObject([{ status: "confirmed", epoch: 1 }]);
    expect(await storyOf(shop, lost)).toEqual(["pending", "confirmed", "settled", "reverted"]);
    expect(await storyOf(shop, late)).toEqual(["pending", "confirmed"]);
    await chain.mine(25);
    await expectExact(network, [shop]);
    // It settled once more where it stands now, was never taken back, and there is nothing new to tell.
    expect(await storyOf(shop, kept)).toEqual(["pending", "confirmed", "settled"]);
    const types = (await shop.events()).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith("network."))).toEqual(["network.halted", "network.resumed"]);
    expect(types.filter((type) => type === "deposit.reverted")).toHaveLength(1);
    expect(types.filter((type) => type === "deposit.confirmed")).toHaveLength(4);
  });
});

it("no key, secret, token or provider's path is ever printed", () => {
  expect(stage.printed()).toContain("Sluice listens on");
  expect(stage.secrets().length).toBeGreaterThan(20);
  expect(leaked(stage)).toEqual([]);
});
