/** What counts as a method that a node does not have, and how long that is believed. */

import { describe, expect, it } from "vitest";
import { EvmNode } from "../../src/chains/evm/node.ts";
import type { Interest, Reading } from "../../src/chains/port.ts";
import { isMethodMissing } from "../../src/chains/rpc/rpc-failure.ts";
import { FakeChain, FakeNode, RpcRefusal, STRANGER, transferLog } from "../support/fake-rpc.ts";

const TOK = `0x${"70".repeat(20)}`;
const W = `0x${"a1".repeat(20)}`;
const INTEREST: Interest = {
  contracts: new Set([TOK]),
  native: false,
  internal: true,
  watched: (asked) => new Set([W].filter((address) => asked.has(address))),
};
const TIER_TIMEOUT = new RpcRefusal(30, "Request timeout on the free tier, please upgrade your tier to the paid one");

function nodeOf() {
  const chain = new FakeChain();
  const frames = [{ type: "CALL", from: STRANGER, to: W, value: "0x5" }];
  chain.mine([
    { to: STRANGER, frames },
    { to: TOK, logs: [transferLog(TOK, W, 1n)] },
  ]);
  const fake = new FakeNode(chain);
  return { fake, node: new EvmNode({ url: "http://node.test", fetch: fake.fetch, timeoutMs: 2_000 }) };
}

const amounts = ({ transfers }: Reading) => transfers.map(({ amountUnits }) => Number(amountUnits));

describe("a missing method", () => {
  it.each([
    [-32601, "the method trace_block does not exist/is not available", true],
    [-32601, "Die Methode fehlt.", true],
    [-32004, "method debug_traceBlockByHash not supported", true],
    [-32600, "debug_traceBlockByHash is not available on the Free tier - upgrade to Pay As You Go", true],
    [-32000, "method is not whitelisted", true],
    [-32600, "The method 'trace_block' is found but the namespace 'Trace' is disabled", true],
    [-32000, "unknown method trace_block", true],
    [30, TIER_TIMEOUT.message, false],
    [-32601, "Request timeout", false],
    [-32004, "resource is busy", false],
    [35, "ranges over 10000 blocks are not supported on freetier, upgrade your plan", false],
    [-32005, "your plan's capacity is used up, upgrade your tier", false],
    [-32000, "debug_traceBlockByHash: block 0x12 not found", false],
    [-32000, "debug_traceBlockByHash is temporarily disabled", false],
    [-32000, "method handler: historical state is not available", false],
  ])("%d %s: %s", (code, message, missing) => {
    expect(isMethodMissing({ kind: "rpc", code, message })).toBe(missing);
  });
});

describe("traces", () => {
  it("are not given up for a timeout on a free tier: transactions are traced one by one", async () => {
    const { fake, node } = nodeOf();
    fake.on("debug_traceBlockByHash", () => {
      throw TIER_TIMEOUT;
    });
    for (let poll = 1; poll <= 2; poll++) {
      const reading = await node.readBlocks(1, 1, INTEREST);
      expect([amounts(reading), reading.internal]).toEqual([[5, 1], "traced"]);
      expect(fake.called("debug_traceBlockByHash")).toHaveLength(poll);
    }
    expect(node.lacksTraces).toBe(false);
  });

  it("of a block that always times out hold it up for some readings, near and far, not for ever", async () => {
    for (const read of ["readBlocks", "readRange"] as const) {
      const { fake, node } = nodeOf();
      for (const method of ["debug_traceBlockByHash", "debug_traceTransaction"]) {
        fake.on(method, () => {
          throw TIER_TIMEOUT;
        });
      }
      for (let attempt = 1; attempt <= 4; attempt++) {
        expect(await node[read](1, 1, INTEREST)).toMatchObject({ blocks: [], stopped: { reason: "not_known" } });
      }
      const reading = await node[read](1, 1, INTEREST);
      expect([amounts(reading), reading.internal, node.lacksTraces]).toEqual([[1], "untraced", false]);
    }
  });

  it("are asked for again after two hundred readings", async () => {
    const { fake, node } = nodeOf();
    fake.lacks("debug_traceBlockByHash");
    expect(node.lacksTraces).toBe(false);
    for (let poll = 1; poll <= 200; poll++) {
      expect((await node.readBlocks(1, 1, INTEREST)).internal).toBe("untraced");
      if (poll === 2) fake.on("debug_traceBlockByHash", (_, honest) => honest());
    }
    expect(node.lacksTraces).toBe(true);
    expect(amounts(await node.readBlocks(1, 1, INTEREST))).toEqual([5, 1]);
    expect(node.lacksTraces).toBe(false);
  });
});

describe("eth_getBlockReceipts", () => {
  it("is not given up for a timeout or an argument that is refused: those receipts come singly", async () => {
    for (const refusal of [TIER_TIMEOUT, new RpcRefusal(-32602, "invalid argument 0")]) {
      const { fake, node } = nodeOf();
      fake.on("eth_getBlockReceipts", () => {
        throw refusal;
      });
      expect(amounts(await node.readBlocks(1, 1, INTEREST))).toEqual([5, 1]);
      const before = fake.called("eth_getBlockReceipts").length;
      expect(amounts(await node.readBlocks(1, 1, INTEREST))).toEqual([5, 1]);
      expect(fake.called("eth_getBlockReceipts").length).toBeGreaterThan(before);
    }
  });

  it("of a block that is not there cuts, whatever the code", async () => {
    const { fake, node } = nodeOf();
    fake.on("eth_getBlockReceipts", () => {
      throw new RpcRefusal(-32601, "block 0x12 not found");
    });
    expect(await node.readBlocks(1, 1, INTEREST)).toMatchObject({ stopped: { reason: "not_known", height: 1 } });
    fake.on("eth_getBlockReceipts", (_, honest) => honest());
    expect(amounts(await node.readBlocks(1, 1, INTEREST))).toEqual([5, 1]);
    expect(fake.called("eth_getBlockReceipts")).toHaveLength(2);
  });

  it("is asked for again after two hundred readings", async () => {
    const { fake, node } = nodeOf();
    fake.lacks("eth_getBlockReceipts");
    for (let poll = 1; poll <= 200; poll++) await node.readBlocks(1, 1, INTEREST);
    expect(fake.called("eth_getBlockReceipts")).toHaveLength(1);
    fake.on("eth_getBlockReceipts", (_, honest) => honest());
    for (let poll = 1; poll <= 2; poll++) await node.readBlocks(1, 1, INTEREST);
    expect(fake.called("eth_getBlockReceipts")).toHaveLength(3);
  });
});
