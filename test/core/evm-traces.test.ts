/** Internal payments out of both trace formats: the same payment has the same key, whichever client traced it. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCallTracer, readTraceBlock, type TraceReading } from "../../src/chains/evm/call-traces.ts";
import { type FakeFrame, type Json, quantity, STRANGER, word } from "../support/fake-rpc.ts";

const TX = word("0x7a");
const BLOCK = word("0xb1");
const W = `0x${"a1".repeat(20)}`;
const PRECOMPILE = `0x${"0".repeat(38)}02`;
const PAYER = `0x${"c0".repeat(20)}`;

const call = (to: string, value: number, more: Partial<FakeFrame> = {}): FakeFrame => ({
  type: "CALL",
  from: PAYER,
  to,
  value: quantity(value),
  ...more,
});

function payments(reading: TraceReading) {
  if (reading.kind !== "whole") throw new Error(`the trace is ${reading.kind}`);
  return reading.payments;
}

function callTracer(...calls: FakeFrame[]) {
  return payments(readCallTracer([{ txHash: TX, result: { ...call(PAYER, 9, { from: STRANGER }), calls } }], [TX]));
}

/** The same execution as trace_block tells it: no frame for a precompile or for a call that failed at once. */
function parityTraces(frame: FakeFrame, address: readonly number[]): Json[] {
  const failed = frame.error ? { error: "Reverted" } : {};
  const own = { blockHash: BLOCK, transactionHash: TX, traceAddress: address, ...failed };
  const listed = (frame.calls ?? []).filter(
    (child) => child.to !== PRECOMPILE && !(child.error && !child.calls?.length),
  );
  const below = listed.flatMap((child, position) => parityTraces(child, [...address, position]));
  return [{ ...own, ...parityAction(frame) }, ...below];
}

function parityAction({ type, from, to, value = "0x0" }: FakeFrame): Json {
  switch (type) {
    case "CREATE":
      return { type: "create", action: { from, value, init: "0x" }, result: { address: to } };
    case "SELFDESTRUCT":
      return { type: "suicide", action: { address: from, refundAddress: to, balance: value }, result: null };
    default:
      return { type: "call", action: { callType: type.toLowerCase(), from, to, value } };
  }
}

function traceBlock(...calls: FakeFrame[]) {
  return payments(readTraceBlock(parityTraces({ ...call(PAYER, 9, { from: STRANGER }), calls }, []), BLOCK, [TX]));
}

describe("coins that a frame moves", () => {
  it.each([
    ["a call", call(W, 1), "0"],
    ["a creation's endowment", call(W, 1, { type: "CREATE" }), "0"],
    ["a dying contract's balance", call(W, 1, { type: "SELFDESTRUCT" }), "0"],
  ])("%s", (_, frame, path) => {
    const payment = [{ txHash: TX, path, to: W, value: "0x1" }];
    expect(callTracer(frame)).toEqual(payment);
    expect(traceBlock(frame)).toEqual(payment);
  });

  it.each([
    ["a delegated call, whose value is its caller's", call(W, 1, { type: "DELEGATECALL" })],
    ["borrowed code, which keeps the value at home", call(W, 1, { type: "CALLCODE" })],
    ["a call without value", call(W, 0)],
    ["a call to oneself", call(W, 1, { from: W })],
    ["a call that failed", call(W, 1, { error: "out of gas", calls: [call(STRANGER, 0)] })],
    [
      "a call below one that failed",
      call(STRANGER, 0, { error: "reverted", calls: [call(STRANGER, 0, { calls: [call(W, 1)] })] }),
    ],
  ])("not %s", (_, frame) => {
    expect(callTracer(frame)).toEqual([]);
    expect(traceBlock(frame)).toEqual([]);
  });

  it("not the transaction's own value, which is told by the transaction", () => {
    expect(payments(readCallTracer([{ txHash: TX, result: call(W, 1) }], [TX]))).toEqual([]);
  });

  it("nothing when the outermost frame failed", () => {
    const result = { ...call(PAYER, 0), error: "execution reverted", calls: [call(W, 1)] };
    expect(payments(readCallTracer([{ txHash: TX, result }], [TX]))).toEqual([]);
  });
});

describe("the path of a frame", () => {
  it("counts what succeeded, not what a client may leave out", () => {
    const calls = [
      call(PRECOMPILE, 0),
      call(STRANGER, 1, { error: "insufficient balance for transfer" }),
      call(STRANGER, 0, { calls: [call(PRECOMPILE, 0), call(W, 5)] }),
      call(W, 6),
    ];
    expect(callTracer(...calls).map(({ path }) => path)).toEqual(["0.0", "1"]);
    expect(traceBlock(...calls)).toEqual(callTracer(...calls));
  });

  it("is the same in both formats for any execution", () => {
    const { frame } = fc.letrec<{ frame: FakeFrame }>((tie) => ({
      frame: fc.record(
        {
          type: fc.constantFrom("CALL", "CALL", "DELEGATECALL", "STATICCALL", "CREATE", "SELFDESTRUCT"),
          from: fc.constant(PAYER),
          to: fc.constantFrom(W, STRANGER, PRECOMPILE),
          value: fc.constantFrom("0x0", "0x1", "0x2"),
          error: fc.constantFrom("", "", "", "failed"),
          calls: fc.oneof({ depthSize: "small" }, fc.constant([]), fc.array(tie("frame"), { maxLength: 4 })),
        },
        { requiredKeys: ["type", "from", "to"] },
      ),
    }));
    let count = 0;
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 5 }), (calls) => {
        const found = callTracer(...calls);
        count += found.length;
        expect(traceBlock(...calls)).toEqual(found);
      }),
      { numRuns: 300, seed: 7 },
    );
    expect(count).toBeGreaterThan(100);
  });
});

describe("a trace that is not whole", () => {
  it("is not known when a transaction of the block is missing, or the block is another", () => {
    const other = word("0x7b");
    const missing = { kind: "missing" };
    expect(readCallTracer([{ txHash: TX, result: call(W, 1) }], [TX, other])).toEqual(missing);
    expect(readTraceBlock([], BLOCK, [TX])).toEqual(missing);
    expect(readTraceBlock(parityTraces(call(W, 1), []), word("0xb2"), [TX])).toEqual(missing);
  });

  it("has failed when the node says so of a transaction", () => {
    const whole = { txHash: TX, result: call(W, 1) };
    expect(readCallTracer([whole, { txHash: BLOCK, error: "Resource not found" }], [TX, BLOCK])).toEqual({
      kind: "failed",
    });
  });

  it("takes traces without hashes by their order only when all are there", () => {
    const result = { ...call(PAYER, 0), calls: [call(W, 1)] };
    expect(payments(readCallTracer([{ result }, { result }], [TX, BLOCK])).map(({ txHash }) => txHash)).toEqual([
      TX,
      BLOCK,
    ]);
    expect(readCallTracer([{ result }], [TX, BLOCK])).toEqual({ kind: "missing" });
  });

  it("is refused when it is malformed", () => {
    const bad: unknown[] = [
      [{ txHash: TX, result: { type: "CALL", from: "0x1", to: W } }],
      [{ txHash: TX, result: { ...call(PAYER, 0), calls: [{ ...call(W, 1), value: "ten" }] } }],
      [{ txHash: TX, result: "0x" }],
      { result: [] },
    ];
    for (const answer of bad) expect(() => readCallTracer(answer, [TX])).toThrow(/expected/);
    const [root] = parityTraces(call(PAYER, 0), []);
    const twice = [root, ...[1, 2].map(() => ({ ...root, traceAddress: [0] }))];
    expect(() => readTraceBlock(twice, BLOCK, [TX])).toThrow(/one frame at each place/);
    expect(() => readTraceBlock([root, { ...root, traceAddress: [3, 1] }], BLOCK, [TX])).toThrow(/parent/);
    expect(() => readTraceBlock([{ ...root, type: "gift" }], BLOCK, [TX])).toThrow(/call, create or suicide/);
  });
});
