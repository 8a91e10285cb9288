/** What every `ChainNode` does, whatever its family: the same tests over each family's world. */

import { describe, expect, it } from "vitest";
import { ChainNodes } from "../../src/chains/nodes.ts";
import {
  ChainFault,
  type ChainNode,
  type Interest,
  MAX_BLOCKS_PER_RANGE,
  MAX_BLOCKS_PER_READ,
  type Reading,
} from "../../src/chains/port.ts";
import { interestIn, WORLDS } from "../support/chain-worlds.ts";

type Read = (node: ChainNode, from: number, to: number, interest: Interest) => Promise<Reading>;
const READS: readonly (readonly [string, Read])[] = [
  ["readBlocks", (node, from, to, interest) => node.readBlocks(from, to, interest)],
  ["readRange", (node, from, to, interest) => node.readRange(from, to, interest)],
];

/** All of a range, in as many readings as it takes. */
async function readAll(read: Read, node: ChainNode, from: number, to: number, interest: Interest): Promise<Reading> {
  const first = await read(node, from, to, interest);
  const last = first.blocks.at(-1)?.height ?? to;
  if (first.stopped !== null || last === to) return first;
  const rest = await readAll(read, node, last + 1, to, interest);
  return {
    ...rest,
    blocks: [...first.blocks, ...rest.blocks],
    transfers: [...first.transfers, ...rest.transfers],
  };
}

const heights = (blocks: readonly { readonly height: number }[]) => blocks.map(({ height }) => height);
const upTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe.each(WORLDS)("a node of the %s family", (_, begin) => {
  describe("shows itself", () => {
    it("by its host alone", () => {
      expect(begin().node.name).toBe("node.test");
    });

    it("with its chain as CAIP-2 names it; one of another chain is never asked again", async () => {
      const world = begin();
      expect(await world.node.chain()).toBe(world.caip2);
      world.moveToAnotherChain();
      const nodes = new ChainNodes({ id: "here", caip2: world.caip2, internal: false }, [world.node]);
      const [candidate] = nodes.candidates(0);
      const before = world.asked.length;
      await expect(candidate?.tip()).rejects.toMatchObject({ name: "ChainFault", retryable: false });
      await expect(candidate?.tip()).rejects.toThrow(`network here is ${world.caip2}`);
      expect(world.asked.length).toBe(before + 1);
      expect(nodes.candidates(0)).toEqual([]);
    });

    it("with a head that is its own newest header", async () => {
      const world = begin();
      world.mine(3);
      const { head } = await world.node.tip();
      expect(head).toMatchObject({
        height: world.head(),
        hash: world.hashAt(world.head()),
        parentHash: world.hashAt(world.head() - 1),
      });
      expect(await world.node.headers(head.height, head.height)).toEqual([head]);
    });
  });

  describe("gives headers", () => {
    it("ascending and linked, and fewer when it has fewer", async () => {
      const world = begin();
      world.mine(5);
      const to = world.head();
      const headers = await world.node.headers(to - 4, to + 3);
      expect(heights(headers)).toEqual(upTo(to - 4, to));
      for (const [i, { parentHash, hash }] of headers.entries()) {
        expect(hash).toBe(world.hashAt(to - 4 + i));
        expect(parentHash).toBe(world.hashAt(to - 5 + i));
      }
      expect(await world.node.headers(to + 1, to + 2)).toEqual([]);
    });

    it("without those above a block that it does not have", async () => {
      const world = begin();
      world.mine(5);
      const to = world.head();
      world.hide(to - 1);
      expect(heights(await world.node.headers(to - 3, to))).toEqual([to - 3, to - 2]);
    });

    it("of the branch it follows now", async () => {
      const world = begin();
      world.mine(4);
      const from = world.head() - 3;
      const before = await world.node.headers(from, from + 3);
      world.reorg(2);
      const after = await world.node.headers(from, from + 4);
      expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
      expect(after[2]?.hash).not.toBe(before[2]?.hash);
      expect(after[2]?.parentHash).toBe(before[1]?.hash);
      expect(after).toHaveLength(5);
    });
  });

  describe.each(READS)("%s", (name, read) => {
    it("finds payments to whoever is watched, in chain order, and no others", async () => {
      const world = begin();
      const [ann, bob, eve] = [world.address(), world.address(), world.address()];
      const from = world.head() + 1;
      const first = world.pay(ann, 70_000n);
      world.pay(eve, 60_000n);
      world.mine();
      const second = world.pay(bob, 50_000n);
      const third = world.pay(ann, 40_000n);
      world.mine(2);
      const { interest } = interestIn([ann, bob]);
      const reading = await readAll(read, world.node, from, world.head(), interest);
      expect(reading.stopped).toBeNull();
      expect(heights(reading.blocks)).toEqual(upTo(from, from + 2));
      expect(reading.blocks.map(({ hash }) => hash)).toEqual(upTo(from, from + 2).map((h) => world.hashAt(h)));
      const told = reading.transfers.map((t) => [t.txId, t.address, t.asset, t.amountUnits, t.height, t.blockHash]);
      expect(told).toEqual([
        [first.txId, ann, "native", 70_000n, from, world.hashAt(from)],
        [second.txId, bob, "native", 50_000n, from + 1, world.hashAt(from + 1)],
        [third.txId, ann, "native", 40_000n, from + 1, world.hashAt(from + 1)],
      ]);
      expect(reading).toMatchObject({ internal: "off", shortTransfers: 0, unweighedTransfers: 0, irregularLogs: 0 });
    });

    it("asks once who is watched, about everybody who was paid, and not at all when nobody was", async () => {
      const world = begin();
      const [ann, eve] = [world.address(), world.address()];
      world.pay(ann, 1_000n);
      world.pay(eve, 1_000n);
      world.mine();
      const { interest, questions } = interestIn([ann]);
      await read(world.node, world.head(), world.head(), interest);
      expect(questions).toHaveLength(1);
      expect([...(questions[0] ?? [])]).toEqual(expect.arrayContaining([ann, eve]));
    });

    it("reads blocks completely for whoever looks for nothing", async () => {
      const world = begin();
      world.pay(world.address(), 1_000n);
      world.mine(3);
      const { interest, questions } = interestIn([], { native: false });
      const reading = await readAll(read, world.node, world.head() - 2, world.head(), interest);
      expect(heights(reading.blocks)).toEqual(upTo(world.head() - 2, world.head()));
      expect([reading.transfers, reading.stopped, questions]).toEqual([[], null, []]);
    });

    it("gives a payment the same key in whatever block it is mined", async () => {
      const world = begin();
      const ann = world.address();
      const kept = world.pay(ann, 30_000n);
      world.pay(ann, 20_000n);
      world.mine(2);
      const { interest } = interestIn([ann]);
      const at = world.head() - 1;
      const before = await read(world.node, at, at, interest);
      world.reorg(2, [kept]);
      const after = await readAll(read, world.node, at, world.head(), interest);
      expect(before.transfers).toHaveLength(2);
      const { blockHash, ...payment } = before.transfers[0] ?? {};
      expect(after.transfers).toHaveLength(1);
      expect(after.transfers[0]).toMatchObject(payment);
      expect(after.transfers[0]?.blockHash).not.toBe(blockHash);
    });

    it("stops before a block that the node does not have yet", async () => {
      const world = begin();
      world.mine(3);
      const to = world.head();
      world.lag(1);
      const reading = await readAll(read, world.node, to - 1, to + 1, interestIn([]).interest);
      expect(heights(reading.blocks)).toEqual([to - 1]);
      expect(reading.stopped).toMatchObject({ reason: "not_known", height: to });
      world.lag(0);
      const again = await readAll(read, world.node, to, to + 1, interestIn([]).interest);
      expect(heights(again.blocks)).toEqual([to]);
      expect(again.stopped).toMatchObject({ reason: "not_known", height: to + 1 });
    });

    it("skips no block that is missing among others", async () => {
      const world = begin();
      const ann = world.address();
      world.mine();
      const from = world.head();
      world.pay(ann, 10_000n);
      world.mine();
      world.pay(ann, 11_000n);
      world.mine();
      world.hide(from + 1);
      const { interest } = interestIn([ann]);
      const reading = await readAll(read, world.node, from, from + 2, interest);
      expect(heights(reading.blocks)).toEqual([from]);
      expect(reading.transfers).toEqual([]);
      expect(reading.stopped).toMatchObject({ reason: "not_known", height: from + 1 });
      world.hide(null);
      const rest = await readAll(read, world.node, from + 1, from + 2, interest);
      expect(rest.transfers.map(({ amountUnits }) => amountUnits)).toEqual([10_000n, 11_000n]);
      expect(rest.stopped).toBeNull();
    });

    it.each(Object.keys(begin().corruptions))("stops before %s", async (kind) => {
      const world = begin();
      world.mine(4);
      const at = world.head() - 1;
      world.corruptions[kind]?.(at);
      const reading = await readAll(read, world.node, at - 2, at + 1, interestIn([]).interest);
      expect(heights(reading.blocks)).toEqual([at - 2, at - 1]);
      expect(reading.stopped).toMatchObject({ reason: "inconsistent", height: at });
    });

    it("refuses a range longer than allowed, or that is none, without asking the node", async () => {
      const world = begin();
      const most = name === "readBlocks" ? MAX_BLOCKS_PER_READ : MAX_BLOCKS_PER_RANGE;
      const { interest } = interestIn([]);
      for (const [from, to] of [
        [0, most],
        [5, 4],
        [-1, 0],
        [0.5, 1],
      ] as const) {
        expect(() => read(world.node, from, to, interest)).toThrow(/covers 1 to/);
      }
      expect(() => world.node.headers(0, MAX_BLOCKS_PER_RANGE)).toThrow(/covers 1 to/);
      expect(world.asked).toEqual([]);
      expect(heights((await read(world.node, 0, most - 1, interest)).blocks)[0]).toBe(0);
    });

    it("leaves out amounts of zero", async () => {
      const world = begin();
      const ann = world.address();
      world.pay(ann, 0n);
      const { txId } = world.pay(ann, 5_000n);
      world.mine();
      const { interest } = interestIn([ann]);
      const { transfers } = await read(world.node, world.head(), world.head(), interest);
      expect(transfers.map((t) => [t.txId, t.amountUnits])).toEqual([[txId, 5_000n]]);
    });
  });

  describe("fails", () => {
    const calls: readonly (readonly [string, (node: ChainNode) => Promise<unknown>])[] = [
      ["tip", (node) => node.tip()],
      ["headers", (node) => node.headers(1, 2)],
      ["readBlocks", (node) => node.readBlocks(1, 2, interestIn([]).interest)],
      ["readRange", (node) => node.readRange(1, 2, interestIn([]).interest)],
      ["chain", (node) => node.chain()],
    ];

    describe.each(calls)("in %s", (_call, call) => {
      it.each<readonly [string, () => Response | Promise<Response>]>([
        ["no connection", () => Promise.reject(new TypeError("fetch failed"))],
        ["a full queue", () => new Response("Work queue depth exceeded", { status: 503 })],
        ["a page", () => new Response("<html>pa55word some-k3y-in-the-path</html>")],
        ["nothing", () => new Response("")],
        ["another answer", () => Response.json({ jsonrpc: "2.0", id: 999_999, result: null })],
      ])("as a fault that may pass: %s", async (_kind, respond) => {
        const world = begin();
        world.answerWith(respond);
        const fault: unknown = await call(world.node).catch((error: unknown) => error);
        expect(fault).toBeInstanceOf(ChainFault);
        expect(fault).toMatchObject({ retryable: true, node: "node.test" });
        expect(String(fault)).toContain("node.test");
        expect(String(fault)).not.toMatch(/pa55word|k3y/);
      });

      it("as a fault in the node's own words", async () => {
        const world = begin();
        world.refuse(-32_603, "the disk is full, pa55word");
        const fault: unknown = await call(world.node).catch((error: unknown) => error);
        expect(fault).toMatchObject({ name: "ChainFault", retryable: true });
        expect(String(fault)).toContain("the disk is full, ***");
      });
    });
  });
});
