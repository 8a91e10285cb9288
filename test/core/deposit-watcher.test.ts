/** The watcher by itself: what it tells, what it refuses, and that it changes together with its state or not at all. */

import { beforeEach, describe, expect, it } from "vitest";
import {
  DeepReorganisation,
  DepositWatcher,
  evmSource,
  type WatcherOptions,
  type WatcherState,
} from "../../src/watcher/index.ts";
import { ModelChain, ModelNode, newAddress, pay, payThrough, payTokens, STRANGER } from "../support/model-chain.ts";
import { modelSource, Store, TOKEN } from "../support/watcher-world.ts";

const DEPTH = 6;
const OPTIONS: WatcherOptions = { policy: { default: 3 }, reorgDepth: DEPTH };

let chain: ModelChain;
let node: ModelNode;
let shop: string;

beforeEach(() => {
  chain = new ModelChain();
  chain.grow(20);
  node = new ModelNode(chain);
  shop = newAddress();
});

const watch = (addresses: ConstructorParameters<typeof DepositWatcher>[1], more: Partial<WatcherOptions> = {}) =>
  new DepositWatcher(modelSource([node]), addresses, { ...OPTIONS, ...more });

const ids = (list: readonly { txId: string; transferIndex: string }[]) =>
  list.map((d) => `${d.txId} ${d.transferIndex}`);

describe("a deposit", () => {
  it("is pending, confirmed at the policy's depth, and settled below the window", async () => {
    const watcher = watch([shop]);
    await watcher.poll();
    const paid = payTokens(TOKEN, [STRANGER, 1n], [shop, 5n]);
    const block = chain.mine([paid]);
    const first = await watcher.poll();
    expect(first.pending).toEqual([
      {
        network: "model",
        txId: paid.hash,
        transferIndex: "log:1",
        address: shop,
        asset: "COIN",
        contract: TOKEN,
        decimals: 6,
        amountUnits: 5n,
        height: 21,
        blockHash: block.hash,
        timestamp: block.timestamp,
        epoch: 1,
      },
    ]);
    expect(first).toMatchObject({ confirmed: [], reverted: [], head: 21, readTo: 21, more: false, changed: true });
    chain.grow(1);
    expect(await watcher.poll()).toMatchObject({ pending: [], confirmed: [] });
    chain.grow(1);
    expect((await watcher.poll()).confirmed).toEqual(first.pending);
    chain.grow(DEPTH - 3);
    expect(await watcher.poll()).toMatchObject({ settled: [] });
    chain.grow(1);
    expect((await watcher.poll()).settled).toEqual(first.pending);
    expect(watcher.state.deposits).toEqual([]);
    expect(await watcher.poll()).toMatchObject({ changed: false, confirmed: [], settled: [] });
  });

  it("of coins by contracts has the call's place, and by a policy its asset's and amount's depth", async () => {
    const watcher = watch([shop], {
      policy: { default: 1, assets: { COIN: { default: 2, amounts: [{ from: "0.00001", confirmations: 4 }] } } },
    });
    await watcher.poll();
    const coins = payThrough(STRANGER, { to: STRANGER, value: 1n }, { to: shop, value: 7n });
    const little = payTokens(TOKEN, [shop, 9n]);
    const much = payTokens(TOKEN, [shop, 10n]);
    chain.mine([coins, little, much]);
    const found: string[][] = [];
    for (let i = 0; i < 4; i++) {
      const { confirmed, internal } = await watcher.poll();
      expect(internal).toBe("traced");
      found.push(ids(confirmed));
      chain.grow(1);
    }
    expect(found).toEqual([[`${coins.hash} call:1`], [`${little.hash} log:0`], [], [`${much.hash} log:0`]]);
  });

  it("waits for the chain's own tag where the policy says so, not longer than the window", async () => {
    const watcher = watch([shop], { policy: { default: "finalized" } });
    await watcher.poll();
    chain.mine([pay(shop, 1n)]);
    chain.mine([pay(shop, 2n)]);
    node.finalized = 21;
    expect((await watcher.poll()).confirmed.map((d) => d.amountUnits)).toEqual([1n]);
    chain.grow(DEPTH);
    expect((await watcher.poll()).confirmed.map((d) => d.amountUnits)).toEqual([2n]);
  });

  it("keeps its identity when it is mined again elsewhere, and is told anew only where it is not deep enough", async () => {
    const watcher = watch([shop]);
    const store = new Store();
    await watcher.poll((poll) => store.commit(poll));
    const paid = payTokens(TOKEN, [shop, 5n]);
    chain.mine([payTokens(TOKEN, [STRANGER, 1n]), paid], [], []);
    await watcher.poll((poll) => store.commit(poll));
    chain.reorg(3, [paid], [], [], []);
    expect(await watcher.poll((poll) => store.commit(poll))).toMatchObject({
      confirmed: [],
      reverted: [],
      pending: [],
    });
    chain.reorg(4, [], [], [], [paid], []);
    const moved = await watcher.poll((poll) => store.commit(poll));
    expect(moved.reverted).toMatchObject([{ txId: paid.hash, transferIndex: "log:0", epoch: 1 }]);
    expect(moved.pending).toMatchObject([{ txId: paid.hash, height: 24, epoch: 2 }]);
    chain.reorg(2, [], [], []);
    expect((await watcher.poll((poll) => store.commit(poll))).dropped).toMatchObject([{ txId: paid.hash, epoch: 2 }]);
    chain.mine([paid], [], []);
    expect((await watcher.poll((poll) => store.commit(poll))).confirmed).toMatchObject([{ txId: paid.hash, epoch: 2 }]);
    expect([...store.stories.values()]).toEqual([["confirmed 1", "reverted 1", "confirmed 2"]]);
  });

  it("is reverted as what it was when it pays otherwise after a reorganisation", async () => {
    const watcher = watch([shop], { policy: { default: 1 } });
    await watcher.poll();
    const paid = pay(shop, 5n);
    chain.mine([paid]);
    await watcher.poll();
    chain.reorg(1, [{ ...paid, value: 6n }], []);
    const poll = await watcher.poll();
    expect(poll.reverted).toMatchObject([{ txId: paid.hash, amountUnits: 5n, epoch: 1 }]);
    expect(poll.confirmed).toMatchObject([{ txId: paid.hash, amountUnits: 6n, epoch: 2 }]);
  });
});

describe("a reorganisation", () => {
  it("proves nothing as long as its branch is not longer", async () => {
    const watcher = watch([shop], { policy: { default: 1 } });
    await watcher.poll();
    chain.mine([pay(shop, 5n)], []);
    await watcher.poll();
    const before = JSON.stringify(watcher.state);
    chain.reorg(2, [], []);
    expect(await watcher.poll()).toMatchObject({ reverted: [], changed: false });
    expect(JSON.stringify(watcher.state)).toBe(before);
    chain.grow(1);
    expect((await watcher.poll()).reverted).toHaveLength(1);
  });

  it("deeper than the window is an error that changes nothing, until the chain is ours again", async () => {
    const watcher = watch([shop]);
    const lost = chain.fork(0);
    await watcher.poll();
    lost.grow(1);
    const before = JSON.stringify(watcher.state);
    chain.reorg(DEPTH + 1, ...Array.from({ length: DEPTH + 3 }, () => []));
    for (let i = 0; i < 2; i++) {
      const error = await watcher.poll(() => expect.unreachable()).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(DeepReorganisation);
      expect(error).toMatchObject({
        network: "model",
        below: 14,
        ours: lost.at(14)?.hash,
        reorgDepth: DEPTH,
        retryable: false,
      });
    }
    expect(JSON.stringify(watcher.state)).toBe(before);
    node.chain = lost;
    expect(await watcher.poll()).toMatchObject({ readTo: 21 });
  });

  it("as deep as the window is followed", async () => {
    const watcher = watch([shop]);
    await watcher.poll();
    chain.reorg(DEPTH, [pay(shop, 1n)], ...Array.from({ length: DEPTH }, () => []));
    expect(await watcher.poll()).toMatchObject({ readTo: 21, confirmed: [] });
  });

  it("below the window on one provider alone is its own: the others go on", async () => {
    const other = new ModelNode(chain.fork(DEPTH + 2));
    other.chain.grow(DEPTH + 5);
    const watcher = new DepositWatcher(modelSource([node, other]), [shop], OPTIONS);
    await watcher.poll();
    node.down = true;
    await expect(watcher.poll()).rejects.toThrow(/below the window, and no other provider answers/);
    node.down = false;
    chain.mine([pay(shop, 3n)]);
    expect((await watcher.poll()).pending).toHaveLength(1);
  });

  it("is not taken from a provider without traces when coins by contracts may have moved", async () => {
    const watcher = watch([shop], { policy: { default: 1 } });
    await watcher.poll();
    const paid = payThrough(STRANGER, { to: shop, value: 7n });
    chain.mine([paid]);
    expect((await watcher.poll()).confirmed).toHaveLength(1);
    chain.reorg(1, [], [paid]);
    node.on("debug_traceBlockByHash", () => {
      throw new Error("the method debug_traceBlockByHash does not exist/is not available");
    });
    await expect(watcher.poll()).rejects.toThrow(/no traces/);
    node.on("debug_traceBlockByHash", null);
    // What a node said that it lacks is not asked for again: another program, or the next start, does.
    const next = watch([shop], { policy: { default: 1 }, state: watcher.state });
    expect(await next.poll()).toMatchObject({ reverted: [], readTo: 22 });
  });
});

describe("state", () => {
  it("is plain JSON, and a watcher made of it goes on with the same words", async () => {
    const watcher = watch([shop]);
    await watcher.poll();
    chain.mine([pay(shop, 2n ** 100n)]);
    const { state } = await watcher.poll();
    expect(state.deposits).toMatchObject([{ amountUnits: "1267650600228229401496703205376" }]);
    const stored = JSON.parse(JSON.stringify(state)) as WatcherState;
    expect(stored).toEqual(state);
    chain.grow(3);
    const polls = await Promise.all(
      [watcher, watch([shop], { state: stored }), watch(null, { state: stored })].map((w) => w.poll()),
    );
    expect(polls[0]?.confirmed).toMatchObject([{ amountUnits: 2n ** 100n }]);
    expect(polls[1]).toEqual(polls[0]);
    expect(polls[2]).toEqual(polls[0]);
  });

  it("grows its revision by one with what changed, and names the one before", async () => {
    const watcher = watch([shop]);
    expect(await watcher.poll()).toMatchObject({ baseRevision: 0, state: { revision: 1 }, watchesChanged: true });
    expect(await watcher.poll()).toMatchObject({ baseRevision: 1, state: { revision: 1 }, changed: false });
    chain.grow(2);
    expect(await watcher.poll()).toMatchObject({ baseRevision: 1, state: { revision: 2 }, watchesChanged: false });
  });

  it.each<[string, Record<string, unknown>]>([
    ["state.format: expected 1, got 2", { format: 2 }],
    ["state.network: expected model, got base", { network: "base" }],
    ["state.chainId: expected 31337, got 1", { chainId: 1 }],
    ["state.chain.hashes: expected a list", { chain: { windowFrom: 1 } }],
    ["state.deposits.0.status: expected one of", { deposits: [{ status: "lost" }] }],
    ["state.revision: expected an integer, 0 or more, got -1", { revision: -1 }],
    ["state.watches: expected an object", { watches: null }],
  ])("that is not understood is refused: %s", async (message, spoilt) => {
    const watcher = watch([shop]);
    await watcher.poll();
    const state = { ...watcher.state, ...spoilt } as WatcherState;
    expect(() => watch([shop], { state })).toThrow(message);
  });

  it("with a payment that the source would not read any more is refused: it would seem to be gone", async () => {
    const watcher = watch([shop]);
    await watcher.poll();
    chain.mine([payThrough(STRANGER, { to: shop, value: 7n })]);
    const { state } = await watcher.poll();
    const blind = modelSource([node], { internal: false });
    expect(() => new DepositWatcher(blind, [shop], { ...OPTIONS, state })).toThrow(/does not read any more/);
  });
});

describe("a poll", () => {
  it("whose commit fails leaves the watcher as it was, and the next one says the same", async () => {
    const watcher = watch([shop]);
    await watcher.poll();
    chain.mine([pay(shop, 1n)], [], []);
    const late = newAddress();
    watcher.add({ address: late, startHeight: 21 });
    const before = JSON.stringify(watcher.state);
    const seen: unknown[] = [];
    const failing = watcher.poll((poll) => {
      seen.push(poll);
      throw new Error("disk full");
    });
    await expect(failing).rejects.toThrow("disk full");
    expect(JSON.stringify(watcher.state)).toBe(before);
    expect([await watcher.poll(() => {})]).toEqual(seen);
    expect(watcher.state.watches[late]).toEqual([[21, null]]);
  });

  it("whose providers fail changes nothing, and what was asked for still waits", async () => {
    const watcher = watch([]);
    await watcher.poll();
    watcher.add(shop);
    node.down = true;
    chain.mine([pay(shop, 1n)], [], []);
    await expect(watcher.poll()).rejects.toMatchObject({ name: "ChainFault", retryable: true });
    node.down = false;
    expect((await watcher.poll()).confirmed).toHaveLength(1);
  });

  it("is refused while another is under way", async () => {
    const watcher = watch([shop]);
    const first = watcher.poll();
    await expect(watcher.poll()).rejects.toThrow(/under way/);
    await first;
    await watcher.poll();
  });

  it("reads so many blocks and no more, and says that there are more", async () => {
    const watcher = watch([{ address: shop, startHeight: 0 }], { maxBlocksPerPoll: 50 });
    await watcher.poll();
    while ((await watcher.poll()).more);
    chain.mine(...Array.from({ length: 120 }, (_, i) => (i % 10 === 0 ? [pay(shop, 1n)] : [])));
    const read: [number, boolean][] = [];
    let confirmed = 0;
    for (let more = true; more; ) {
      const poll = await watcher.poll();
      more = poll.more;
      confirmed += poll.confirmed.length;
      read.push([poll.readTo, poll.more]);
    }
    expect(read).toEqual([
      [70, true],
      [120, true],
      [140, false],
    ]);
    expect(confirmed).toBe(12);
  });

  it("asks the next provider when the first one hangs behind", async () => {
    const ahead = new ModelNode(chain);
    const watcher = new DepositWatcher(modelSource([node, ahead]), [shop], OPTIONS);
    await watcher.poll();
    node.chain = chain.fork(0);
    chain.mine([pay(shop, 1n)]);
    let quiet = 0;
    while ((await watcher.poll()).pending.length === 0 && quiet < 50) quiet++;
    expect(quiet).toBeLessThan(12);
  });

  it("does not believe a provider of another chain", async () => {
    node.on("eth_chainId", () => "0x1");
    await expect(watch([shop]).poll()).rejects.toThrow(/serves eip155:1,/);
  });
});

describe("addresses", () => {
  it("added with a start height are told of their past once, whatever was watched before", async () => {
    const [early, late] = [newAddress(), newAddress()];
    chain.mine([pay(early, 1n), pay(late, 2n)], [], [pay(early, 3n)]);
    chain.grow(20);
    const watcher = watch([{ address: early, startHeight: 22 }]);
    const amounts: bigint[] = [];
    const take = async () => {
      do {
        const poll = await watcher.poll();
        amounts.push(...poll.confirmed.map((d) => d.amountUnits));
        if (!poll.more) return;
      } while (amounts.length < 99);
    };
    await take();
    expect(amounts.splice(0)).toEqual([3n]);
    watcher.add({ address: early, startHeight: 0 }, { address: late, startHeight: 0 });
    await take();
    expect(amounts.splice(0)).toEqual([1n, 2n]);
    watcher.add({ address: early, startHeight: 0 }, { address: late, startHeight: 5 }, early);
    expect(await watcher.poll()).toMatchObject({ changed: false });
    expect(watcher.state.watches).toEqual({ [early]: [[0, null]], [late]: [[0, null]] });
  });

  it("whose unread past a reorganisation replaced are told once, by the branch and not by the past again", async () => {
    const watcher = watch([], { policy: { default: 1 }, maxBlocksPerPoll: 4 });
    await watcher.poll();
    watcher.add({ address: shop, startHeight: 0 });
    chain.reorg(4, [pay(shop, 1n)], [], [], [], []);
    const amounts: bigint[] = [];
    let past = 0;
    for (let more = true; more; ) {
      const poll = await watcher.poll();
      more = poll.more;
      amounts.push(...poll.confirmed.map((d) => d.amountUnits));
      // It settles while the past is still to be read.
      if (past++ === 0) chain.grow(2 * DEPTH);
    }
    expect(past).toBeGreaterThan(5);
    expect(amounts).toEqual([1n]);
    expect(watcher.state.deposits).toEqual([]);
  });

  it("in upper case or with a checksum are the same ones, and one that is none is refused", async () => {
    const watcher = watch(["0xF39FD6E51AAD88F6F4CE6AB8827279CFFFB92266"]);
    watcher.add("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    await watcher.poll();
    expect(Object.keys(watcher.state.watches)).toEqual(["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"]);
    expect(() => watcher.add("0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266")).toThrow(/bad_checksum/);
    expect(() => watch([{ address: shop, startHeight: -1 }])).toThrow(/startHeight/);
  });

  it("that are removed count as far as a payment may still have moved, and come back without a gap told twice", async () => {
    const watcher = watch([shop]);
    await watcher.poll();
    watcher.remove(shop);
    chain.mine([pay(shop, 1n)]);
    expect((await watcher.poll()).pending).toHaveLength(1);
    chain.grow(DEPTH);
    chain.mine([pay(shop, 2n)]);
    chain.grow(DEPTH);
    const after = await watcher.poll();
    expect(after.confirmed.map((d) => d.amountUnits)).toEqual([1n]);
    expect(after.pending).toEqual([]);
    const again = watch([{ address: shop, startHeight: 0 }], { state: after.state });
    expect((await again.poll()).confirmed.map((d) => d.amountUnits)).toEqual([2n]);
  });

  it("keep a payment that a reorganisation moved to before their first height, and are not told of it again", async () => {
    const watcher = watch([{ address: shop, startHeight: 23 }], { policy: { default: 1 } });
    await watcher.poll();
    const paid = pay(shop, 1n);
    chain.mine([], [], [paid]);
    expect((await watcher.poll()).confirmed).toHaveLength(1);
    chain.reorg(2, [paid], [], []);
    expect(await watcher.poll()).toMatchObject({ reverted: [], dropped: [], readTo: 24 });
    chain.grow(2 * DEPTH);
    expect((await watcher.poll()).settled).toMatchObject([{ txId: paid.hash, height: 22 }]);
    watcher.add({ address: shop, startHeight: 0 });
    expect(await watcher.poll()).toMatchObject({ confirmed: [], pastBlocks: 0 });
    expect(watcher.state.deposits).toEqual([]);
  });

  it("of the list are the ones that count: others of the state are removed", async () => {
    const other = newAddress();
    const watcher = watch([shop, other]);
    await watcher.poll();
    const next = watch([other], { state: watcher.state });
    await next.poll();
    expect(next.state.watches).toEqual({ [shop]: [[21, 20 + DEPTH]], [other]: [[21, null]] });
  });

  it("in any number are the same object in every state until one of them changes", async () => {
    const watcher = watch(Array.from({ length: 20_000 }, newAddress).concat(shop));
    await watcher.poll();
    const { watches } = watcher.state;
    chain.mine([pay(shop, 1n)]);
    const poll = await watcher.poll();
    expect(poll.pending).toHaveLength(1);
    expect(poll.state.watches).toBe(watches);
  });

  it("have their past from a provider on our chain only, not from one left on a branch that died", async () => {
    const dead = new ModelNode(chain.fork(0));
    dead.chain.mine([pay(shop, 9n)]);
    chain.mine([]);
    chain.grow(DEPTH + 5);
    dead.chain.grow(2);
    const watcher = new DepositWatcher(modelSource([dead, node]), [], OPTIONS);
    dead.down = true;
    await watcher.poll();
    dead.down = false;
    watcher.add({ address: shop, startHeight: 21 });
    expect(await watcher.poll()).toMatchObject({ confirmed: [], pastBlocks: 0, more: false });
  });
});

describe("settings", () => {
  it.each<[string, Partial<WatcherOptions>]>([
    ["reorgDepth: expected 1 to 20000 blocks, got 0", { reorgDepth: 0 }],
    ["default: expected 1 to 6 blocks on model, got 7", { policy: { default: 7 } }],
    ['default: expected a number of blocks or "finalized", got "safe"', { policy: { default: "safe" as "finalized" } }],
    ["assets.GOLD: no asset GOLD is listed on model", { policy: { default: 1, assets: { GOLD: {} } } }],
    ["assets.COIN.default: expected 1 to 6", { policy: { default: 1, assets: { COIN: { default: 9 } } } }],
    [
      "assets.COIN.amounts.0.from: expected a decimal amount",
      { policy: { default: 1, assets: { COIN: { amounts: [{ from: "1e3", confirmations: 2 }] } } } },
    ],
    ["minConfirmSeconds: expected 0 to 86400, got -1", { policy: { default: 1, minConfirmSeconds: -1 } }],
    ["maxBlocksPerPoll: expected 1 or more, got 0", { maxBlocksPerPoll: 0 }],
  ])("that cannot be kept are refused: %s", (message, more) => expect(() => watch([shop], more)).toThrow(message));

  it("of a source that cannot be meant are refused, without a URL in the message", () => {
    const urls = ["https://user:hunter22@rpc.test/key-of-mine"];
    const usdc = { symbol: "USDC", contract: newAddress(), decimals: 6 };
    expect(() => evmSource({ urls: [], network: "base" })).toThrow(/one RPC URL/);
    expect(() => evmSource({ urls, network: "atlantis" })).toThrow(/no built-in network is called "atlantis"/);
    expect(() => evmSource({ urls, network: { id: "Mine", chainId: 1 } })).toThrow(/a network id/);
    expect(() => evmSource({ urls, network: { id: "mine", chainId: 0 } })).toThrow(/a chain id/);
    expect(() => evmSource({ urls, network: "base", tokens: [usdc] })).toThrow(/lists an asset USDC already/);
    expect(() => evmSource({ urls, network: "local", tokens: [{ ...usdc, contract: "0x1" }] })).toThrow(/no address/);
    expect(() => evmSource({ urls, network: "local", tokens: [{ ...usdc, decimals: 78 }] })).toThrow(/0 to 77/);
    expect(() => evmSource({ urls: ["ftp://x/hunter22"], network: "base" })).toThrow(/^(?!.*hunter22)/);
    expect(evmSource({ urls, network: "base" }).network.tokens.length).toBeGreaterThan(3);
  });
});
