/** Reading near the head: what counts as a payment, and what a node must show before a block counts as read. */

import { describe, expect, it } from "vitest";
import { EvmNode } from "../../src/chains/evm/node.ts";
import type { Interest, Reading } from "../../src/chains/port.ts";
import {
  FakeChain,
  FakeNode,
  type FakeTx,
  type Json,
  quantity,
  RpcRefusal,
  STRANGER,
  transferLog,
  word,
} from "../support/fake-rpc.ts";

const TOK = `0x${"70".repeat(20)}`;
const TOK2 = `0x${"72".repeat(20)}`;
const FAKE = `0x${"fa".repeat(20)}`;
const W = `0x${"a1".repeat(20)}`;
const W2 = `0x${"a2".repeat(20)}`;

function interest(over: Partial<Interest> = {}): Interest {
  return {
    contracts: new Set([TOK, TOK2]),
    native: true,
    internal: false,
    watched: (asked) => new Set([W, W2].filter((address) => asked.has(address))),
    ...over,
  };
}

/** A chain of the genesis and one block for each list of transactions. */
function chainOf(...blocks: FakeTx[][]): FakeChain {
  const chain = new FakeChain();
  for (const txs of blocks) chain.mine(txs);
  return chain;
}

function nodeOf(fake: FakeNode): EvmNode {
  return new EvmNode({ url: "http://node.test", fetch: fake.fetch, timeoutMs: 2_000 });
}

function read(fake: FakeNode, over: Partial<Interest> = {}): Promise<Reading> {
  return nodeOf(fake).readBlocks(1, fake.chain.head.height, interest(over));
}

function told({ transfers }: Reading): string[] {
  return transfers.map(
    (t) =>
      `${t.address.slice(2, 4)} ${t.asset === "native" ? "native" : t.asset.slice(2, 4)} ${t.amountUnits} ${t.transferIndex}`,
  );
}

const pays = (to: string, value: bigint, token = TOK): FakeTx => ({ to: token, logs: [transferLog(token, to, value)] });

/** All ways in which a node can be asked for what belongs to a block. */
const WAYS: readonly [string, (fake: FakeNode) => FakeNode][] = [
  ["with eth_getBlockReceipts", (fake) => fake],
  ["without eth_getBlockReceipts", (fake) => fake.lacks("eth_getBlockReceipts")],
];

describe.each(WAYS)("what counts as a payment, %s", (_, as) => {
  it("B18 counts equal logs of one transaction apart, by their place in the receipt", async () => {
    const logs = [transferLog(FAKE, W, 9n), transferLog(TOK, W, 1n), transferLog(TOK, W, 1n), transferLog(TOK, W2, 2n)];
    const reading = await read(as(new FakeNode(chainOf([pays(STRANGER, 5n), { to: TOK, logs }]))));
    expect(told(reading)).toEqual(["a1 70 1 log:1", "a1 70 1 log:2", "a2 70 2 log:3"]);
    expect(new Set(reading.transfers.map(({ txId }) => txId)).size).toBe(1);
  });

  it("B20 ignores an NFT's Transfer and still credits what stands beside it", async () => {
    const nft = { address: TOK2, topics: [...transferLog(TOK2, W, 1n).topics, word("0x3b9aca00")], data: "0x" };
    const reading = await read(as(new FakeNode(chainOf([{ logs: [nft, transferLog(TOK, W, 3n)] }]))));
    expect(told(reading)).toEqual(["a1 70 3 log:1"]);
    expect(reading.irregularLogs).toBe(1);
  });

  it("B21 credits no unusual form, and counts each", async () => {
    const standard = transferLog(TOK, W, 5n);
    const [topic = "", from = "", to = ""] = standard.topics;
    const odd = [
      { ...standard, topics: [topic], data: `0x${from.slice(2)}${to.slice(2)}${standard.data.slice(2)}` },
      { ...standard, topics: [topic, from], data: `0x${to.slice(2)}${standard.data.slice(2)}` },
      { ...standard, data: standard.data.slice(0, -2) },
      { ...standard, data: `${standard.data}${"0".repeat(64)}` },
      { ...standard, topics: [topic, from, `0x01${to.slice(4)}`] },
      { ...standard, topics: [topic, `0x01${from.slice(4)}`, to] },
    ];
    const reading = await read(as(new FakeNode(chainOf([{ logs: [...odd, standard] }], [{ logs: odd }]))));
    expect(told(reading)).toEqual(["a1 70 5 log:6"]);
    expect(reading).toMatchObject({ irregularLogs: 12, stopped: null });
  });

  it("B23 takes no notice of zero amounts, nor of what goes in a circle", async () => {
    const logs = Array.from({ length: 200 }, (_unused, i) =>
      i % 2 ? transferLog(TOK, W, 0n) : transferLog(TOK, STRANGER, 0n, W),
    );
    const circle: FakeTx = { from: W, to: W, value: 5n, logs: [transferLog(TOK, W, 7n, W)] };
    const reading = await read(as(new FakeNode(chainOf([{ logs }, circle]))));
    expect(told(reading)).toEqual([]);
    expect(reading.irregularLogs).toBe(0);
  });

  it("B26 B27 credits neither a call that logged nothing nor one that failed, whatever its input says", async () => {
    const input = `0xa9059cbb${word(W).slice(2)}${word(quantity(1000n)).slice(2)}`;
    const silent: FakeTx = { to: TOK, input, status: 1, logs: [] };
    const failed: FakeTx = { to: TOK, input, status: 0, logs: [transferLog(TOK, W, 50n)] };
    const failedNative: FakeTx = { to: W, value: 10n, status: 0 };
    const reading = await read(as(new FakeNode(chainOf([silent, failed, failedNative, pays(W2, 1n)]))));
    expect(told(reading)).toEqual(["a2 70 1 log:0"]);
  });

  it("B36 credits a token sent through any contract, one log among many", async () => {
    const others = Array.from({ length: 60 }, (_unused, i) =>
      transferLog(TOK, word(quantity(i + 1)).replace("0x000000000000000000000000", "0x"), 1n),
    );
    others.splice(17, 0, transferLog(TOK, W, 25n));
    const reading = await read(as(new FakeNode(chainOf([{ to: FAKE, input: "0xdeadbeef", logs: others }]))));
    expect(told(reading)).toEqual(["a1 70 25 log:17"]);
  });

  it("credits only listed contracts, and native value only when asked for", async () => {
    const chain = chainOf([pays(W, 1n, FAKE), pays(W, 2n, TOK2), { to: W, value: 3n }, { to: null, value: 4n }]);
    expect(told(await read(as(new FakeNode(chain))))).toEqual(["a1 72 2 log:0", "a1 native 3 value"]);
    expect(told(await read(as(new FakeNode(chain)), { native: false }))).toEqual(["a1 72 2 log:0"]);
    expect(told(await read(as(new FakeNode(chain)), { contracts: new Set() }))).toEqual(["a1 native 3 value"]);
  });

  it("gives several payments of several kinds in chain order, and asks once who is watched", async () => {
    const both: FakeTx = { to: W, value: 3n, logs: [transferLog(TOK, W2, 4n)] };
    const fake = as(new FakeNode(chainOf([pays(W, 1n), { to: W2, value: 2n }], [], [both])));
    const asked: ReadonlySet<string>[] = [];
    const reading = await read(fake, {
      watched(addresses) {
        asked.push(addresses);
        return addresses;
      },
    });
    expect(told(reading)).toEqual(["a1 70 1 log:0", "a2 native 2 value", "a1 native 3 value", "a2 70 4 log:0"]);
    expect(asked).toEqual([new Set([W, W2])]);
    expect(reading.transfers.map(({ height, blockHash }) => [height, blockHash])).toEqual(
      [1, 1, 3, 3].map((height) => [height, fake.chain.at(height).hash]),
    );
  });
});

describe("what a block costs, its header apart", () => {
  const beside = async (txs: FakeTx[], over: Partial<Interest> = {}) => {
    const fake = new FakeNode(chainOf(txs));
    const reading = await read(fake, { contracts: new Set(), internal: true, ...over });
    expect([reading.stopped, reading.internal]).toEqual([null, "traced"]);
    const [, ...bodies] = fake.bodies;
    return [told(reading), bodies.map((body) => (Array.isArray(body) ? body.length : 1))];
  };
  const many = Array.from({ length: 40 }, (): FakeTx => ({ to: STRANGER, value: 1n }));

  it("nothing, when nothing is in it", async () => {
    expect(await beside([])).toEqual([[], []]);
  });
  it("a trace, when it pays nobody watched", async () => {
    expect(await beside([{ to: STRANGER, value: 1n }])).toEqual([[], [1]]);
  });
  it("one request for its receipts and its trace, when it pays somebody", async () => {
    expect(await beside([{ to: W, value: 1n }])).toEqual([["a1 native 1 value"], [2]]);
  });
  it("one for each of the two, when it is large", async () => {
    expect(await beside([{ to: W, value: 1n }, ...many])).toEqual([["a1 native 1 value"], [1, 1]]);
  });
});

describe("what a node must show", () => {
  it("B02 finds the log once when it becomes readable after the block", async () => {
    for (const [method, empty] of [
      ["eth_getBlockReceipts", []],
      ["eth_getBlockReceipts", null],
      ["eth_getLogs", []],
    ] as const) {
      const fake = new FakeNode(chainOf([], [pays(W, 5n)], []));
      let ready = false;
      if (method === "eth_getLogs") {
        fake.lacks("eth_getBlockReceipts").on("eth_getTransactionReceipt", (_, honest) => (ready ? honest() : null));
      }
      fake.on(method, (_, honest) => (ready ? honest() : empty));
      const early = await read(fake);
      expect(early.blocks.map((ref) => ref.height)).toEqual([1]);
      expect(early.stopped).toMatchObject({ reason: "not_known", height: 2 });
      ready = true;
      expect(told(await read(fake))).toEqual(["a1 70 5 log:0"]);
    }
  });

  it("B02 believes the receipts when logs by hash stay empty against the bloom", async () => {
    const fake = new FakeNode(chainOf([pays(W, 5n), pays(STRANGER, 1n)]))
      .lacks("eth_getBlockReceipts")
      .on("eth_getLogs", () => []);
    const reading = await read(fake);
    expect(told(reading)).toEqual(["a1 70 5 log:0"]);
    expect(fake.called("eth_getTransactionReceipt")).toHaveLength(2);
  });

  it("B03 takes [] and an error for an unknown hash alike: not known here", async () => {
    const answers: [string, () => unknown][] = [
      ["eth_getBlockReceipts", () => []],
      ["eth_getBlockReceipts", () => null],
      [
        "eth_getBlockReceipts",
        () => {
          throw new RpcRefusal(-32000, "unknown block");
        },
      ],
      ["eth_getLogs", () => []],
      [
        "eth_getLogs",
        () => {
          throw new RpcRefusal(-32000, "unknown block");
        },
      ],
    ];
    for (const [method, answer] of answers) {
      const fake = new FakeNode(chainOf([pays(W, 5n)]));
      if (method === "eth_getLogs") fake.lacks("eth_getBlockReceipts").on("eth_getTransactionReceipt", () => null);
      fake.on(method, answer);
      expect(await read(fake)).toMatchObject({
        blocks: [],
        transfers: [],
        stopped: { reason: "not_known", height: 1 },
      });
    }
  });

  it("B04 asks for no logs when no contract is listed, whatever the node would answer", async () => {
    const fake = new FakeNode(chainOf([pays(W, 5n)], [{ to: W, value: 1n }])).lacks("eth_getBlockReceipts");
    const reading = await read(fake, { contracts: new Set() });
    expect(told(reading)).toEqual(["a1 native 1 value"]);
    expect(fake.called("eth_getLogs")).toEqual([]);
  });

  it("B16 ends before a broken link, with nothing of the other fork", async () => {
    const chain = chainOf([pays(W, 1n)], [pays(W, 2n)], [pays(W, 3n)]);
    const other = chain.fork(1);
    other.mine([], "fork");
    other.mine([pays(W, 9n)], "fork");
    // The node changes its mind between height 2 and height 3.
    const fake = new FakeNode(chain).on("eth_getBlockByNumber", ([tag, full], honest) =>
      tag === "0x3" ? other.answer("eth_getBlockByNumber", [tag, full]) : honest(),
    );
    const reading = await read(fake);
    expect(told(reading)).toEqual(["a1 70 1 log:0", "a1 70 2 log:0"]);
    expect(reading.stopped).toMatchObject({ reason: "inconsistent", height: 3 });
  });

  it("B16 reads nothing into removed logs: only hashes count", async () => {
    const fake = new FakeNode(chainOf([pays(W, 1n)]));
    fake.on("eth_getBlockReceipts", (_, honest) =>
      (honest() as Json[]).map((receipt) => ({
        ...receipt,
        logs: (receipt.logs as Json[]).map((log) => ({ ...log, removed: true })),
      })),
    );
    expect(told(await read(fake))).toEqual(["a1 70 1 log:0"]);
  });

  it("B32 does not pass a block whose receipt is null or of another fork", async () => {
    const hash = word("0x7a");
    const chain = chainOf([], [{ ...pays(W, 5n), hash }]);
    const fork = chain.fork(1);
    fork.mine([{ ...pays(STRANGER, 1n) }, { ...pays(W, 5n), hash }], "fork");
    for (const method of ["eth_getBlockReceipts", "eth_getTransactionReceipt"]) {
      const fake = new FakeNode(chain);
      if (method === "eth_getTransactionReceipt") fake.lacks("eth_getBlockReceipts");
      let asked = 0;
      fake.on(method, () => {
        asked += 1;
        if (asked <= 2) return null;
        return method === "eth_getBlockReceipts" ? fork.at(2).receipts : fork.answer(method, [hash]);
      });
      for (let poll = 0; poll < 4; poll++) {
        const reading = await read(fake);
        expect(reading.blocks.map((ref) => ref.height)).toEqual([1]);
        expect(reading).toMatchObject({ transfers: [], stopped: { reason: "not_known", height: 2 } });
      }
      fake.chain = fork;
      fake.on(method, (_, honest) => honest());
      const reading = await read(fake);
      expect(reading.transfers).toMatchObject([{ txId: hash, transferIndex: "log:0", blockHash: fork.at(2).hash }]);
    }
  });

  it("reads receipts singly when a block's receipts are too much for one answer", async () => {
    const fake = new FakeNode(chainOf([pays(W, 5n), { to: W2, value: 1n }])).on("eth_getBlockReceipts", () => {
      throw new RpcRefusal(-32008, "Response is too big");
    });
    expect(told(await read(fake))).toEqual(["a1 70 5 log:0", "a2 native 1 value"]);
    expect(fake.called("eth_getBlockReceipts").length).toBeGreaterThan(0);
  });

  it("stops at receipts that do not give the header's root, or say another place", async () => {
    const damage: ((receipts: Json[]) => Json[])[] = [
      ([one, two]) => [{ ...one, logs: [] }, { ...two }],
      ([one, two]) => [
        { ...one, transactionIndex: "0x1" },
        { ...two, transactionIndex: "0x0" },
      ],
      ([one, two]) => [{ ...one, cumulativeGasUsed: "0x1" }, { ...two }],
      ([one]) => [{ ...one }, { ...one }],
    ];
    for (const change of damage) {
      const fake = new FakeNode(chainOf([], [pays(W, 1n), pays(STRANGER, 2n)]));
      fake.on("eth_getBlockReceipts", (_, honest) => change(honest() as Json[]));
      const reading = await read(fake);
      expect(reading).toMatchObject({ transfers: [], stopped: { reason: "inconsistent", height: 2 } });
    }
  });

  it("stops at blooms that deny what the receipts hold, rather than pass by in silence", async () => {
    const fake = new FakeNode(chainOf([pays(W, 1n)]));
    fake.on("eth_getBlockByNumber", (_, honest) => ({ ...(honest() as Json), logsBloom: `0x${"0".repeat(512)}` }));
    expect(await read(fake)).toMatchObject({ blocks: [], stopped: { reason: "inconsistent", height: 1 } });
  });

  it("asks for no receipts when bloom and values hold nothing of interest", async () => {
    const fake = new FakeNode(chainOf([pays(W, 1n, FAKE), { to: STRANGER, value: 5n }], []));
    const reading = await read(fake);
    expect(reading.blocks).toHaveLength(2);
    expect(fake.calls.map((call) => call.method)).toEqual(["eth_getBlockByNumber", "eth_getBlockByNumber"]);
  });

  it("asks for headers in one request, for all receipts in another, and weighs all receivers in a third", async () => {
    const fake = new FakeNode(chainOf([pays(W, 1n)], [pays(W, 2n)], [pays(W, 3n)]));
    expect((await read(fake)).transfers).toHaveLength(3);
    expect(fake.bodies.map((body) => (body as unknown[]).length)).toEqual([3, 3, 6]);
  });

  it("proves receipts of unknown types by count, order and bloom, and lets Polygon's extra one pass uncredited", async () => {
    const strange: FakeTx = { ...pays(W, 5n), type: 0x55 };
    const fake = new FakeNode(chainOf([strange, pays(STRANGER, 1n)]));
    const otherRoot = (_: unknown, honest: () => unknown) => ({ ...(honest() as Json), receiptsRoot: word("0x1") });
    fake.on("eth_getBlockByNumber", otherRoot);
    expect(told(await read(fake))).toEqual(["a1 70 5 log:0"]);
    const extra = chainOf([pays(W, 77n)]).at(1).receipts[0] as Json;
    const appended = (_: unknown, honest: () => unknown) => {
      const receipts = honest() as Json[];
      const own = {
        blockHash: receipts[0]?.blockHash,
        transactionHash: word("0xe"),
        transactionIndex: quantity(receipts.length),
      };
      return [...receipts, { ...extra, ...own, logs: (extra.logs as Json[]).map((log) => ({ ...log, ...own })) }];
    };
    fake.on("eth_getBlockReceipts", appended);
    expect(told(await read(fake))).toEqual(["a1 70 5 log:0"]);
    // The same with known types: the root decides, and the extra receipt is not under it.
    const polygon = new FakeNode(chainOf([pays(W, 5n)])).on("eth_getBlockReceipts", appended);
    expect(told(await read(polygon))).toEqual(["a1 70 5 log:0"]);
    // Unknown types do not excuse a log that was left out.
    fake.on("eth_getBlockReceipts", (_, honest) =>
      (honest() as Json[]).map((receipt, i) => (i === 0 ? { ...receipt, logs: [] } : receipt)),
    );
    expect(await read(fake)).toMatchObject({ transfers: [], stopped: { reason: "inconsistent" } });
  });
});

describe("answers without their form", () => {
  it.each([
    [
      "a height past 2^53",
      { number: "0x20000000000001" },
      /block number: expected a hex quantity below 2\^53, got "0x20000000000001"/,
    ],
    ["a short hash", { hash: "0x12" }, /hash: expected 32 bytes of hex, got "0x12"/],
    ["a short bloom", { logsBloom: "0x00" }, /logsBloom: expected a bloom of 256 bytes/],
    ["no transactions", { transactions: null }, /transactions: expected an array, got null/],
    ["a decimal time", { timestamp: 12 }, /timestamp: expected a hex quantity below 2\^53, got 12/],
  ])("refuses %s, and says what came", async (_, change, message) => {
    const fake = new FakeNode(chainOf([]));
    fake.on("eth_getBlockByNumber", (_params, honest) => ({ ...(honest() as Json), ...change }));
    await expect(read(fake)).rejects.toMatchObject({
      name: "ChainFault",
      retryable: true,
      node: "node.test",
      message: expect.stringMatching(message),
    });
  });

  it("refuses another block than the one asked for", async () => {
    const fake = new FakeNode(chainOf([], []));
    fake.on("eth_getBlockByNumber", () => ({ ...fake.chain.at(1).header, transactions: [] }));
    expect(await read(fake)).toMatchObject({ stopped: { reason: "inconsistent", height: 2 } });
  });
});

describe("internal payments", () => {
  const PAYER = `0x${"c0".repeat(20)}`;
  const call = (to: string, value: bigint, more: object = {}) => ({
    type: "CALL",
    from: PAYER,
    to,
    value: quantity(value),
    ...more,
  });

  it("B28 finds coins sent by a contract, with and without a payment to the same address in the transaction", async () => {
    const frames = [
      call(STRANGER, 0n, {
        calls: [call(W, 5n), { type: "DELEGATECALL", from: PAYER, to: W, value: "0x7" }, call(W2, 6n)],
      }),
      call(W, 1n),
    ];
    const fake = new FakeNode(
      chainOf([
        { to: PAYER, frames },
        { to: W, value: 2n, frames: [] },
      ]),
    );
    const reading = await read(fake, { internal: true });
    expect(told(reading)).toEqual([
      "a1 native 5 call:0.0",
      "a2 native 6 call:0.2",
      "a1 native 1 call:1",
      "a1 native 2 value",
    ]);
    expect(reading.internal).toBe("traced");
  });

  it("B29 counts no frame below a failed one, and nothing of a failed transaction", async () => {
    const frames = [
      call(W, 1n, { error: "out of gas" }),
      call(STRANGER, 0n, { error: "execution reverted", calls: [call(W, 2n)] }),
      call(W2, 3n),
    ];
    const failed: FakeTx = { to: PAYER, status: 0, frames: [call(W, 1n), call(W2, 1n)] };
    // A tracer that forgets to mark the outermost frame: the receipt's status decides.
    const fake = new FakeNode(chainOf([{ to: PAYER, frames }, failed]));
    fake.on("debug_traceBlockByHash", (_, honest) =>
      (honest() as { result: Json }[]).map((trace) => ({ ...trace, result: { ...trace.result, error: undefined } })),
    );
    expect(told(await read(fake, { internal: true }))).toEqual(["a2 native 3 call:0"]);
  });

  it("says untraced, once found out without asking again, when the node has no traces", async () => {
    const fake = new FakeNode(chainOf([{ to: PAYER, frames: [call(W, 5n)] }, pays(W, 1n)])).lacks(
      "debug_traceBlockByHash",
    );
    const node = nodeOf(fake);
    for (let poll = 0; poll < 2; poll++) {
      const reading = await node.readBlocks(1, 1, interest({ internal: true }));
      expect(reading).toMatchObject({ internal: "untraced", stopped: null });
      expect(told(reading)).toEqual(["a1 70 1 log:0"]);
    }
    expect(fake.called("debug_traceBlockByHash")).toHaveLength(1);
    expect(fake.called("trace_block")).toHaveLength(1);
    expect((await node.readBlocks(1, 1, interest())).internal).toBe("off");
  });

  it("does not take a passing failure for a missing method", async () => {
    const fake = new FakeNode(chainOf([{ to: PAYER, frames: [call(W, 5n)] }]));
    const node = nodeOf(fake);
    for (const [code, message] of [
      [-32000, "internal error"],
      [-32005, "rate limit"],
    ] as const) {
      fake.on("debug_traceBlockByHash", () => {
        throw new RpcRefusal(code, message);
      });
      await expect(node.readBlocks(1, 1, interest({ internal: true }))).rejects.toMatchObject({ name: "ChainFault" });
    }
    const notYet: (() => unknown)[] = [
      () => {
        throw new RpcRefusal(-32000, "block 0x12 not found");
      },
      () => {
        throw new RpcRefusal(-32000, "missing trie node abc");
      },
      () => [],
      () => null,
      () => [{ txHash: fake.chain.at(1).transactions[0]?.hash, error: "execution timeout" }],
    ];
    for (const answer of notYet) {
      fake.on("debug_traceBlockByHash", answer);
      expect(await node.readBlocks(1, 1, interest({ internal: true }))).toMatchObject({
        blocks: [],
        stopped: { reason: "not_known", height: 1 },
      });
    }
    fake.on("debug_traceBlockByHash", (_, honest) => honest());
    expect(told(await node.readBlocks(1, 1, interest({ internal: true })))).toEqual(["a1 native 5 call:0"]);
  });

  it("gives a trace that fails some attempts, and then reads on without it, saying so", async () => {
    const fake = new FakeNode(chainOf([{ to: PAYER, frames: [call(W, 5n)] }, pays(W, 1n)]));
    fake.on("debug_traceBlockByHash", () => [{ error: "execution timeout" }]);
    const node = nodeOf(fake);
    for (let attempt = 1; attempt <= 4; attempt++) {
      const early = await node.readBlocks(1, 1, interest({ internal: true }));
      expect(early).toMatchObject({ blocks: [], stopped: { reason: "not_known", height: 1 } });
    }
    const reading = await node.readBlocks(1, 1, interest({ internal: true }));
    expect([told(reading), reading.internal, reading.stopped]).toEqual([["a1 70 1 log:0"], "untraced", null]);
  });

  it("traces a block by its transactions when its trace is too much for one answer", async () => {
    const chain = chainOf([{ to: PAYER, frames: [call(W, 5n)] }, pays(W, 1n), { to: PAYER, frames: [call(W2, 6n)] }]);
    const tooLarge = () => new Response(new Uint8Array(33 * 1024 * 1024).fill(0x20));
    const fake = new FakeNode(chain);
    fake.raw = (body) => (JSON.stringify(body).includes("debug_traceBlockByHash") ? tooLarge() : null);
    const whole = await read(fake, { internal: true });
    expect([told(whole), whole.internal]).toEqual([
      ["a1 native 5 call:0", "a1 70 1 log:0", "a2 native 6 call:0"],
      "traced",
    ]);
    // One transaction outgrows every bound: the block is read without it, and the reading says so.
    const heavy = String(chain.at(1).transactions[0]?.hash);
    fake.raw = (body) =>
      /debug_traceBlock/.test(JSON.stringify(body)) ||
      (/debug_traceTr/.test(JSON.stringify(body)) && JSON.stringify(body).includes(heavy))
        ? tooLarge()
        : null;
    const partial = await read(fake, { internal: true });
    expect([told(partial), partial.internal]).toEqual([["a1 70 1 log:0", "a2 native 6 call:0"], "untraced"]);
    expect(partial.stopped).toBeNull();
  });

  it("does not trace blocks without transactions", async () => {
    const fake = new FakeNode(chainOf([], []));
    expect((await read(fake, { internal: true })).internal).toBe("traced");
    expect(fake.called("debug_traceBlockByHash")).toEqual([]);
  });
});
