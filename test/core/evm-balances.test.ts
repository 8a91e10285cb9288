/** A log is proven, a balance is not: what a node says about balances may cost time, never a payment. */

import { describe, expect, it } from "vitest";
import { EvmNode } from "../../src/chains/evm/node.ts";
import type { Interest, Reading } from "../../src/chains/port.ts";
import { FakeChain, FakeNode, type FakeTx, quantity, RpcRefusal, transferLog, word } from "../support/fake-rpc.ts";

const TOK = `0x${"70".repeat(20)}`;
const W = `0x${"a1".repeat(20)}`;
const INTEREST: Interest = {
  contracts: new Set([TOK]),
  native: false,
  internal: false,
  watched: (asked) => new Set([W].filter((address) => asked.has(address))),
};

const pays = (value: number): FakeTx => ({ to: TOK, logs: [transferLog(TOK, W, BigInt(value))] });

/** Heights 1 to 6: the third pays 100 in two parts, the fifth 7. */
function chainOfSix(): FakeChain {
  const chain = new FakeChain();
  for (const txs of [[], [], [pays(60), pays(40)], [], [pays(7)], []]) chain.mine(txs);
  return chain;
}

/** @param grown what really arrives in each block, by height */
function nodeWith(grown: Readonly<Record<number, number>>) {
  const fake = new FakeNode(chainOfSix());
  const balanceAt = (height: number) =>
    1_000 + Object.entries(grown).reduce((sum, [at, value]) => sum + (Number(at) <= height ? value : 0), 0);
  const heightOf = (at: unknown) => fake.chain.byHash((at as { blockHash: string }).blockHash)?.height ?? 0;
  const answer = (height: number) => word(quantity(balanceAt(height)));
  fake.on("eth_call", ([, at]) => answer(heightOf(at)));
  return {
    fake,
    answer,
    heightOf,
    node: new EvmNode({ url: "http://node.test", fetch: fake.fetch, timeoutMs: 2_000 }),
  };
}

type Way = (node: EvmNode, from?: number) => Promise<Reading>;
/** With the number of requests after which what fell short is asked again. */
const WAYS: readonly [string, number, Way][] = [
  ["near the head", 1, (node, from = 1) => node.readBlocks(from, 6, INTEREST)],
  ["over a range", 2, (node, from = 1) => node.readRange(from, 6, INTEREST)],
];
const weighings = (fake: FakeNode) => fake.bodies.filter((body) => JSON.stringify(body).includes("eth_call")).length;
const amounts = ({ transfers }: Reading) => transfers.map(({ amountUnits }) => Number(amountUnits));

describe.each(WAYS)("a balance that contradicts a log, %s", (_, firstAsking, read) => {
  it("counts for less only when a second asking says the same", async () => {
    const { fake, node } = nodeWith({ 3: 98, 5: 7 });
    const reading = await read(node);
    expect([amounts(reading), reading.stopped]).toEqual([[58, 40, 7], null]);
    expect(reading).toMatchObject({ shortTransfers: 2, unweighedTransfers: 0 });
    // The later block's balance first, and not beside the other.
    const [after, before] = fake.bodies.slice(-2).map((body) => JSON.stringify(body));
    expect(after).toContain(fake.chain.at(3).hash);
    expect(before).toContain(fake.chain.at(2).hash);
    expect(before).not.toContain(fake.chain.at(3).hash);
  });

  it("cuts the height when the second asking says otherwise, and asks again", async () => {
    const { fake, node, answer, heightOf } = nodeWith({ 3: 100, 5: 7 });
    const { fake: other } = nodeWith({ 3: 98, 5: 7 });
    // The first requests reach a backend that tells another growth.
    fake.on("eth_call", (params) =>
      weighings(fake) <= firstAsking
        ? other.answer({ id: 0, method: "eth_call", params }).result
        : answer(heightOf(params[1])),
    );
    const reading = await read(node);
    expect(reading).toMatchObject({ stopped: { reason: "inconsistent", height: 3 }, transfers: [], shortTransfers: 0 });
    expect(reading.blocks.map(({ height }) => height)).toEqual([1, 2]);
    const later = await readOn(read, node, 3);
    expect(amounts(later)).toEqual([60, 40, 7]);
    expect(later).toMatchObject({ shortTransfers: 0, unweighedTransfers: 0 });
  });

  it("never erases a proven payment: the log stands after three readings", async () => {
    for (const grown of [0, -500]) {
      const { node } = nodeWith({ 3: grown, 5: 7 });
      const first = await read(node);
      expect(first).toMatchObject({ stopped: { reason: "inconsistent", height: 3 }, transfers: [] });
      expect(first.blocks.map(({ height }) => height)).toEqual([1, 2]);
      for (let attempt = 2; attempt <= 3; attempt++) {
        expect(await read(node, 3)).toMatchObject({ blocks: [], stopped: { reason: "inconsistent", height: 3 } });
      }
      const last = await readOn(read, node, 3);
      expect(amounts(last)).toEqual([60, 40, 7]);
      expect(last).toMatchObject({ shortTransfers: 0, unweighedTransfers: 2 });
    }
  });

  it("takes no shortfall that cannot be asked for again", async () => {
    const { fake, node, answer, heightOf } = nodeWith({ 3: 98, 5: 7 });
    fake.on("eth_call", ([, at]) => {
      if (weighings(fake) > firstAsking) throw new RpcRefusal(-32000, "missing trie node");
      return answer(heightOf(at));
    });
    const reading = await read(node);
    expect(reading).toMatchObject({ stopped: { reason: "inconsistent", height: 3 }, shortTransfers: 0 });
  });
});

it("reads a height in doubt by itself, and the whole range after it", async () => {
  const { fake, node } = nodeWith({ 3: 0, 5: 7 });
  await node.readRange(1, 6, INTEREST);
  const before = fake.called("eth_getBlockByNumber").length;
  await node.readRange(3, 6, INTEREST);
  const heights = fake.called("eth_getBlockByNumber").slice(before);
  expect(new Set(heights.map(({ params }) => Number(params[0])))).toEqual(new Set([3]));
  await node.readRange(3, 6, INTEREST);
  expect((await node.readRange(3, 6, INTEREST)).blocks.map(({ height }) => height)).toEqual([3]);
  expect((await node.readRange(4, 6, INTEREST)).blocks.map(({ height }) => height)).toEqual([4, 5, 6]);
});

/** Reads to height 6 as a scanner does: on from the last block. */
async function readOn(read: Way, node: EvmNode, from: number): Promise<Reading> {
  const first = await read(node, from);
  expect(first.stopped).toBeNull();
  const last = first.blocks.at(-1)?.height ?? 0;
  if (last === 6) return first;
  const rest = await readOn(read, node, last + 1);
  return {
    ...first,
    blocks: [...first.blocks, ...rest.blocks],
    transfers: [...first.transfers, ...rest.transfers],
    shortTransfers: first.shortTransfers + rest.shortTransfers,
    unweighedTransfers: first.unweighedTransfers + rest.unweighedTransfers,
  };
}
