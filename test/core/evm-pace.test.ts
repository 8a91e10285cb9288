/** How much of a range one reading covers: bounded in time and bytes, learned from each node. */

import { describe, expect, it } from "vitest";
import { EvmNode } from "../../src/chains/evm/node.ts";
import { Pace } from "../../src/chains/evm/pace.ts";
import type { Interest } from "../../src/chains/port.ts";
import { FakeChain, FakeNode, RpcRefusal, STRANGER } from "../support/fake-rpc.ts";

const LENGTH = 2_001;
const chain = new FakeChain();
for (let height = 1; height <= LENGTH; height++) chain.mine(height % 10 === 0 ? [{ to: STRANGER }] : []);

const interest = (over: Partial<Interest>): Interest => ({
  contracts: new Set([`0x${"70".repeat(20)}`]),
  native: false,
  internal: false,
  watched: () => new Set(),
  ...over,
});

/** @param msPerRequest how far the clock moves with each request */
function nodeOf(msPerRequest: number) {
  const fake = new FakeNode(chain);
  let now = 0;
  fake.raw = () => {
    now += msPerRequest;
    return null;
  };
  const settings = { url: "http://node.test", fetch: fake.fetch, timeoutMs: 2_000 };
  return { fake, node: new EvmNode(settings, () => now) };
}

async function lengths(node: EvmNode, over: Partial<Interest>, readings: number): Promise<number[]> {
  const covered: number[] = [];
  let next = 1;
  for (let i = 0; i < readings && next <= LENGTH; i++) {
    const { blocks, stopped } = await node.readRange(next, LENGTH, interest(over));
    expect([stopped, blocks[0]?.height]).toEqual([null, next]);
    covered.push(blocks.length);
    next += blocks.length;
  }
  return covered;
}

describe("one reading of a range", () => {
  it("covers 2,001 blocks when tokens alone are asked for", async () => {
    expect(await lengths(nodeOf(1).node, {}, 1)).toEqual([LENGTH]);
  });

  it("starts shorter with whole transactions, shortest with traces, and grows where they are quick", async () => {
    expect(await lengths(nodeOf(1).node, { native: true }, 3)).toEqual([256, 1_024, 721]);
    expect(await lengths(nodeOf(1).node, { native: true, internal: true }, 4)).toEqual([64, 256, 1_024, 657]);
  });

  it("shrinks to about five seconds where they are slow", async () => {
    const [first, second] = await lengths(nodeOf(2_500).node, { internal: true }, 2);
    expect(first).toBe(64);
    expect(second).toBeLessThan(40);
    expect(second).toBeGreaterThan(10);
  });

  it("is shorter after a fault", async () => {
    const { fake, node } = nodeOf(1);
    fake.on("debug_traceBlockByHash", () => {
      throw new RpcRefusal(-32005, "rate limit");
    });
    await expect(node.readRange(1, LENGTH, interest({ internal: true }))).rejects.toThrow(/rate limit/);
    fake.on("debug_traceBlockByHash", (_, honest) => honest());
    expect(await lengths(node, { internal: true }, 1)).toEqual([32]);
  });
});

describe("pace", () => {
  it("heeds bytes as well as time, and is not misled by a short rest", () => {
    const pace = new Pace({ start: 256, max: 2_048 });
    pace.took(256, 100, 640_000_000);
    expect(pace.blocks).toBe(25);
    pace.took(3, 900, 1_000);
    expect(pace.blocks).toBe(25);
    pace.took(3, 15_000, 1_000);
    expect(pace.blocks).toBe(1);
    for (let i = 0; i < 8; i++) pace.took(pace.blocks, 10, 1_000);
    expect(pace.blocks).toBe(2_048);
    for (let i = 0; i < 20; i++) pace.failed(pace.blocks);
    expect(pace.blocks).toBe(1);
  });
});
