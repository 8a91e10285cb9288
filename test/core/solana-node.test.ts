/** A Solana node as the scanner sees it: where a height is looked for, how much is read at once, and how it fails. */

import { describe, expect, it } from "vitest";
import { RpcClient } from "../../src/chains/rpc/client.ts";
import { SolanaNode } from "../../src/chains/solana/node.ts";
import { READING_BOUNDS, readBlocks } from "../../src/chains/solana/read-blocks.ts";
import { Slots } from "../../src/chains/solana/slots.ts";
import { Span } from "../../src/chains/span.ts";
import { interestIn } from "../support/chain-worlds.ts";
import { SolanaChain } from "../support/solana-chain.ts";
import { SolanaNodeDouble } from "../support/solana-double.ts";
import { RpcError } from "../support/solana-json.ts";
import { solanaKey } from "../support/solana-keys.ts";

const NETWORK = { caip2: "solana:local", genesis: null };
const ANN = solanaKey("ann").address;

function world(blocks = 10) {
  const chain = new SolanaChain();
  chain.fund(ANN, 10n ** 9n);
  for (let i = 0; i < blocks; i++) {
    chain.skip(i % 3);
    chain.pay(ANN, BigInt(i + 1));
    chain.mine();
  }
  const double = new SolanaNodeDouble(chain);
  const node = new SolanaNode({ url: "http://node.test", fetch: double.fetch, timeoutMs: 5_000 }, NETWORK);
  return { chain, double, node, interest: interestIn([ANN]).interest };
}

describe("where a height is", () => {
  it("is remembered: going on takes one list, and no search", async () => {
    const { chain, double, node, interest } = world();
    await node.readBlocks(1, 5, interest);
    double.asked.length = 0;
    await node.readBlocks(6, 8, interest);
    expect(new Set(double.asked)).toEqual(new Set(["getBlocksWithLimit", "getBlock"]));
    expect(double.asked.filter((method) => method === "getBlock")).toHaveLength(3);
    expect(chain.head).toBe(10);
  });

  it("is looked for anew when what was remembered is no more", async () => {
    const { chain, node, interest } = world();
    const before = await node.readBlocks(9, 10, interest);
    chain.reorg(2, { keep: [] });
    const after = await node.readBlocks(9, 11, interest);
    expect(after.stopped).toBeNull();
    expect(after.blocks.map(({ hash }) => hash)).toEqual([9, 10, 11].map((height) => chain.at(height).hash));
    expect(after.blocks[0]?.hash).not.toBe(before.blocks[0]?.hash);
    expect(after.transfers).toEqual([]);
  });

  it("is not guessed by a list that leaves out a block", async () => {
    const { chain, double, node, interest } = world();
    const left = chain.at(6).slot;
    double.on("getBlocksWithLimit", (_, honest) => (honest() as number[]).filter((slot) => slot !== left));
    const reading = await node.readBlocks(4, 8, interest);
    expect(reading.blocks.map(({ height }) => height)).toEqual([4, 5]);
    expect(reading.stopped).toMatchObject({ reason: "not_known", height: 6 });
  });

  it.each([
    ["descending", (slots: number[]) => slots.toReversed()],
    ["twice the same", (slots: number[]) => slots.flatMap((slot) => [slot, slot])],
    ["no numbers", (slots: number[]) => slots.map(String)],
  ])("is nothing that a list says which is %s", async (_, change) => {
    const { double, node, interest } = world();
    double.on("getBlocksWithLimit", (_params, honest) => change(honest() as number[]));
    await expect(node.readBlocks(4, 8, interest)).rejects.toMatchObject({ name: "ChainFault", retryable: true });
  });
});

describe("how much is read at once", () => {
  const access = (double: SolanaNodeDouble, bounds: Partial<typeof READING_BOUNDS>, now = () => 0) => {
    const rpc = new RpcClient({ url: "http://node.test", fetch: double.fetch, timeoutMs: 5_000 });
    const span = new Span({ start: 2, max: 2, aimBytes: 1e9 });
    return { rpc, slots: new Slots(rpc), span, now, bounds: { ...READING_BOUNDS, ...bounds } };
  };

  it.each([
    ["bytes", { bytes: 1 }],
    ["payments", { arrivals: 2 }],
  ])("ends with the blocks that reach the bound of %s, and says nothing stopped it", async (_, bounds) => {
    const { double, interest } = world();
    const reading = await readBlocks(access(double, bounds), 1, 8, interest);
    expect(reading.blocks.map(({ height }) => height)).toEqual([1, 2]);
    expect(reading.transfers.map(({ amountUnits }) => amountUnits)).toEqual([1n, 2n]);
    expect(reading.stopped).toBeNull();
  });

  it("ends with the time", async () => {
    const { double, interest } = world();
    let ms = 0;
    const reading = await readBlocks(
      access(double, { ms: 100 }, () => (ms += 60)),
      1,
      8,
      interest,
    );
    expect(reading.blocks).toHaveLength(4);
  });
});

describe("a node that fails", () => {
  it("because it is behind, or refuses the key, says so", async () => {
    const { double, node } = world();
    double.on("getSlot", () => {
      throw new RpcError(-32005, "Node is behind by 42 slots");
    });
    await expect(node.tip()).rejects.toThrow(/behind by 42 slots/);
    const closed = new SolanaNode(
      { url: "http://node.test", fetch: async () => new Response("", { status: 401 }), timeoutMs: 5_000 },
      NETWORK,
    );
    await expect(closed.tip()).rejects.toMatchObject({ retryable: false });
  });

  it("to give its newest blocks shows the newest that it gives", async () => {
    const { chain, double, node } = world();
    double.refuseBlock(chain.at(10).slot, -32014, "Block status not yet available");
    double.refuseBlock(chain.at(9).slot, -32004, "Block not available");
    expect((await node.tip()).head).toMatchObject({ height: 8, hash: chain.at(8).hash });
  });

  it("of a public chain is never taken for a development one, and no other for it", async () => {
    const { double } = world();
    const settings = { url: "http://node.test", fetch: double.fetch, timeoutMs: 5_000 };
    const main = {
      caip2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
      genesis: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
    };
    expect(await new SolanaNode(settings, main).chain()).not.toBe(main.caip2);
    double.genesis = main.genesis;
    expect(await new SolanaNode(settings, main).chain()).toBe(main.caip2);
    expect(await new SolanaNode(settings, NETWORK).chain()).toBe(main.caip2);
  });
});
