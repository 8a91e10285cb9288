/** Whatever the blocks hold and however a range is cut up, the same transfers come out. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EvmNode } from "../../src/chains/evm/node.ts";
import type { Interest, Reading } from "../../src/chains/port.ts";
import { NATIVE } from "../../src/core/transfer.ts";
import {
  FakeChain,
  type FakeFrame,
  type FakeLog,
  FakeNode,
  type FakeTx,
  type LogFilter,
  quantity,
  RpcRefusal,
  STRANGER,
  transferLog,
} from "../support/fake-rpc.ts";

const TOKENS = [0x70, 0x71, 0x72].map((byte) => `0x${byte.toString(16).repeat(20)}`);
const LISTED = new Set(TOKENS.slice(0, 2));
const PEOPLE = [0xa1, 0xa2, 0xa3, 0xa4].map((byte) => `0x${byte.toString(16).repeat(20)}`);
const WATCHED = new Set(PEOPLE.slice(0, 2));

const person = fc.constantFrom(...PEOPLE, STRANGER);
const amount = fc.constantFrom(0n, 1n, 2n, 10n ** 24n);

const log: fc.Arbitrary<FakeLog> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(...TOKENS), person, amount)
      .map(([token, to, value]) => transferLog(token, to, value)),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...TOKENS), person)
      .map(([token, to]) => ({ ...transferLog(token, to, 1n), data: "0x" })),
  },
  { weight: 1, arbitrary: fc.constantFrom(...TOKENS).map((token) => ({ address: token, topics: [], data: "0x1234" })) },
);

const { frame } = fc.letrec<{ frame: FakeFrame }>((tie) => ({
  frame: fc.record(
    {
      type: fc.constantFrom("CALL", "CALL", "CALL", "STATICCALL", "DELEGATECALL", "CREATE", "SELFDESTRUCT"),
      from: fc.constant(STRANGER),
      to: fc.oneof(person, fc.constant(`0x${"0".repeat(39)}1`)),
      value: amount.map(quantity),
      error: fc.constantFrom("", "", "", "execution reverted"),
      calls: fc.oneof({ depthSize: "small" }, fc.constant([]), fc.array(tie("frame"), { maxLength: 2 })),
    },
    { requiredKeys: ["type", "from", "to"] },
  ),
}));

const tx: fc.Arbitrary<FakeTx> = fc.record({
  to: fc.option(person, { nil: null }),
  value: amount,
  type: fc.constantFrom(0, 1, 2, 3, 4),
  status: fc.constantFrom(0, 1, 1, 1),
  logs: fc.array(log, { maxLength: 4 }),
  frames: fc.array(frame, { maxLength: 3 }),
});

const blocks = fc.array(fc.array(tx, { maxLength: 3 }), { minLength: 1, maxLength: 24 });

function chainOf(txs: readonly FakeTx[][]): FakeChain {
  const chain = new FakeChain();
  for (const block of txs) chain.mine(block);
  return chain;
}

const INTEREST: Interest = {
  contracts: LISTED,
  native: true,
  internal: true,
  watched: (asked) => new Set([...asked].filter((address) => WATCHED.has(address))),
};

function nodeOf(chain: FakeChain, limit: number, hasBlockReceipts: boolean): EvmNode {
  const fake = new FakeNode(chain).on("eth_getLogs", ([filter], honest) => {
    const { fromBlock, toBlock, blockHash } = filter as LogFilter;
    if (blockHash === undefined && Number(toBlock) - Number(fromBlock) >= limit)
      throw new RpcRefusal(-32005, "too wide");
    return honest();
  });
  if (!hasBlockReceipts) fake.lacks("eth_getBlockReceipts");
  return new EvmNode({ url: "http://node.test", fetch: fake.fetch, timeoutMs: 5_000 });
}

function joined(readings: readonly Reading[]) {
  for (const reading of readings) expect(reading.stopped).toBeNull();
  return {
    blocks: readings.flatMap((reading) => reading.blocks),
    transfers: readings.flatMap((reading) => reading.transfers),
    irregularLogs: readings.reduce((sum, reading) => sum + reading.irregularLogs, 0),
  };
}

/** What the blocks say, worked out in the plainest way. Internal payments are left to the traces' own tests. */
function plainTruth(chain: FakeChain, txs: readonly FakeTx[][]): string[] {
  const found: string[] = [];
  for (const [i, block] of txs.entries()) {
    for (const [j, one] of block.entries()) {
      if (one.status === 0) continue;
      const id = chain.at(i + 1).transactions[j]?.hash;
      if (one.to && WATCHED.has(one.to) && one.value) found.push(`${id} value ${one.to} ${one.value}`);
      for (const [n, entry] of (one.logs ?? []).entries()) {
        const [, , to = ""] = entry.topics;
        const receiver = `0x${to.slice(26)}`;
        if (LISTED.has(entry.address) && WATCHED.has(receiver) && entry.data.length === 66 && BigInt(entry.data) > 0n) {
          found.push(`${id} log:${n} ${receiver} ${BigInt(entry.data)}`);
        }
      }
    }
  }
  return found.sort();
}

describe("any way of reading", () => {
  it("gives what the blocks hold, the same for every split, far, near and block by block", async () => {
    await fc.assert(
      fc.asyncProperty(
        blocks,
        fc.array(fc.nat(23), { maxLength: 4 }),
        fc.integer({ min: 1, max: 24 }),
        fc.boolean(),
        async (txs, cuts, limit, whole) => {
          const chain = chainOf(txs);
          const starts = [...new Set([1, ...cuts.map((cut) => cut + 1).filter((start) => start <= txs.length)])].sort(
            (a, b) => a - b,
          );
          const pieces = starts.map((start, i) => [start, (starts[i + 1] ?? txs.length + 1) - 1] as const);
          const node = nodeOf(chain, limit, whole);
          const far: Reading[] = [];
          const near: Reading[] = [];
          const single: Reading[] = [];
          for (const [from, to] of pieces) {
            far.push(await node.readRange(from, to, INTEREST));
            near.push(await node.readBlocks(from, to, INTEREST));
          }
          for (let height = 1; height <= txs.length; height++)
            single.push(await node.readBlocks(height, height, INTEREST));
          const truth = joined(single);
          expect(joined(far)).toEqual(truth);
          expect(joined(near)).toEqual(truth);
          expect(joined([await node.readRange(1, txs.length, INTEREST)])).toEqual(truth);
          expect(truth.blocks.map((ref) => ref.hash)).toEqual(chain.blocks.slice(1).map((block) => block.hash));
          const keys = truth.transfers.map(({ txId, transferIndex }) => `${txId} ${transferIndex}`);
          expect(new Set(keys).size).toBe(keys.length);
          const plain = truth.transfers.filter(({ transferIndex }) => !transferIndex.startsWith("call:"));
          expect(plain.map((t) => `${t.txId} ${t.transferIndex} ${t.address} ${t.amountUnits}`).sort()).toEqual(
            plainTruth(chain, txs),
          );
          for (const t of truth.transfers) expect(t.transferIndex.startsWith("log:")).toBe(t.asset !== NATIVE);
        },
      ),
      { numRuns: 60, seed: 20_260, endOnFailure: true },
    );
  }, 60_000);
});
