/** Reading far behind: ranges that split on any refusal, down to the last block, and never skip one. */

import { afterEach, describe, expect, it } from "vitest";
import { EvmNode } from "../../src/chains/evm/node.ts";
import type { Interest, Reading } from "../../src/chains/port.ts";
import {
  FakeChain,
  FakeNode,
  type FakeTx,
  type Json,
  type LogFilter,
  quantity,
  RpcRefusal,
  type RpcRequest,
  STRANGER,
  transferLog,
  word,
} from "../support/fake-rpc.ts";

const TOK = `0x${"70".repeat(20)}`;
const FAKE = `0x${"fa".repeat(20)}`;
const W = `0x${"a1".repeat(20)}`;

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

function interest(over: Partial<Interest> = {}): Interest {
  return {
    contracts: new Set([TOK]),
    native: false,
    internal: false,
    watched: (asked) => new Set([W].filter((address) => asked.has(address))),
    ...over,
  };
}

const pays = (value: number, token = TOK): FakeTx => ({ to: token, logs: [transferLog(token, W, BigInt(value))] });

const built = new FakeChain();

/** Heights 1..`length`: every third block pays W its own height, twice when it is a multiple of six. */
function longChain(length: number): FakeChain {
  while (built.head.height < length) {
    const height = built.head.height + 1;
    const own = [...(height % 3 === 0 ? [pays(height)] : []), ...(height % 6 === 0 ? [pays(height)] : [])];
    built.mine([pays(7, FAKE), ...own]);
  }
  return built.fork(length);
}

function expected(length: number): number[] {
  return Array.from({ length }, (_, i) => i + 1).flatMap((height) => [
    ...(height % 3 === 0 ? [height] : []),
    ...(height % 6 === 0 ? [height] : []),
  ]);
}

function nodeOf(fake: FakeNode): EvmNode {
  return new EvmNode({ url: "http://node.test", fetch: fake.fetch, timeoutMs: 2_000 });
}

async function overHttp(fake: FakeNode): Promise<EvmNode> {
  const server = await fake.listen();
  open.push(server);
  return new EvmNode({ url: server.url, fetch, timeoutMs: 5_000 });
}

function read(fake: FakeNode, over: Partial<Interest> = {}): Promise<Reading> {
  return nodeOf(fake).readRange(1, fake.chain.head.height, interest(over));
}

const amounts = ({ transfers }: Reading): number[] => transfers.map(({ amountUnits }) => Number(amountUnits));

function width(filter: LogFilter): number {
  return filter.blockHash === undefined ? Number(filter.toBlock) - Number(filter.fromBlock) + 1 : 1;
}

describe("B06 limits of every wording end in the whole set", () => {
  const refusals: [string, () => RpcRefusal | Response][] = [
    ["-32005, 10000 results", () => new RpcRefusal(-32005, "query returned more than 10000 results")],
    ["-32602, limit of 10000", () => new RpcRefusal(-32602, "block range exceeds limit of 10000")],
    ["-32602, max block range", () => new RpcRefusal(-32602, "query exceeds max block range 100000")],
    [
      "-32602, suggested range",
      () => new RpcRefusal(-32602, "query exceeds max results 20000, retry with the range 900001-900007"),
    ],
    [
      "-32602, response size",
      () => new RpcRefusal(-32602, "Log response size exceeded. this block range should work: [0x0, 0x1]"),
    ],
    ["-32603, max 1k blocks", () => new RpcRefusal(-32603, "block range is too large, max is 1k blocks")],
    [
      "35, free tier",
      () => new RpcRefusal(35, "ranges over 10000 blocks are not supported on freetier, upgrade your plan"),
    ],
    ["-32602, 1024 blocks", () => new RpcRefusal(-32602, "eth_getLogs is limited to 1024 blocks")],
    [
      "-32000, 1000 block range",
      () => new RpcRefusal(-32000, "eth_getLogs and eth_newFilter are limited to a 1000 block range"),
    ],
    ["-32601 of all codes", () => new RpcRefusal(-32601, "method not supported for this range")],
    ["-32000, timeout", () => new RpcRefusal(-32000, "query timeout exceeded")],
    ["an unknown wording", () => new RpcRefusal(-99, "Die Anfrage ist zu breit.")],
    ["HTTP 413 with text", () => new Response("Request Entity Too Large", { status: 413 })],
    ["HTTP 429 with text", () => new Response("range too wide for your rate", { status: 429 })],
    ["HTTP 503", () => new Response("backend is overloaded", { status: 503 })],
    ["half an answer", () => new Response('[{"jsonrpc":"2.0","id":1,"res')],
  ];

  it.each(refusals)("%s", async (_, refusal) => {
    const LENGTH = 150;
    const LIMIT = 11;
    const fake = new FakeNode(longChain(LENGTH));
    const tooWide = (call: RpcRequest) => call.method === "eth_getLogs" && width(call.params[0] as LogFilter) > LIMIT;
    fake.on("eth_getLogs", ([filter], honest) => {
      const sample = refusal();
      if (width(filter as LogFilter) > LIMIT && sample instanceof RpcRefusal) throw sample;
      return honest();
    });
    fake.raw = (body) => {
      const sample = refusal();
      const calls = (Array.isArray(body) ? body : [body]) as RpcRequest[];
      return sample instanceof Response && calls.some(tooWide) ? sample : null;
    };
    const node = await overHttp(fake);
    const reading = await node.readRange(1, LENGTH, interest());
    expect(reading).toMatchObject({ stopped: null });
    expect(reading.blocks.map((ref) => ref.height)).toEqual(Array.from({ length: LENGTH }, (_unused, i) => i + 1));
    expect(amounts(reading)).toEqual(expected(LENGTH));
    // The span that works is remembered: the next reading asks for little that is refused.
    const before = fake.called("eth_getLogs").length;
    expect(amounts(await node.readRange(1, LENGTH, interest()))).toEqual(expected(LENGTH));
    expect(fake.called("eth_getLogs").slice(before).filter(tooWide).length).toBeLessThanOrEqual(1);
  });

  it.each([
    ["by the block's hash", (filter: LogFilter) => filter.blockHash !== undefined],
    ["token by token", (filter: LogFilter) => filter.blockHash !== undefined && filter.address?.length === 1],
    ["from receipts", () => false],
  ])("reads a block that cannot be read as a range %s", async (_, allowed) => {
    const fake = new FakeNode(longChain(20)).on("eth_getLogs", ([filter], honest) => {
      if (!allowed(filter as LogFilter)) throw new RpcRefusal(-32005, "query returned more than 10000 results");
      return honest();
    });
    const other = `0x${"71".repeat(20)}`;
    const reading = await read(fake, { contracts: new Set([TOK, FAKE, other]), watched: (asked) => asked });
    expect(reading.stopped).toBeNull();
    expect(amounts(reading)).toEqual(
      Array.from({ length: 20 }, (_unused, i) => [7, ...expected(20).filter((height) => height === i + 1)]).flat(),
    );
  });

  it("stops with a fault, and never skips, when nothing answers for a block", async () => {
    const fake = new FakeNode(longChain(20)).lacks("eth_getBlockReceipts");
    const refuse = () => {
      throw new RpcRefusal(-32005, "limit exceeded");
    };
    fake.on("eth_getLogs", refuse).on("eth_getTransactionReceipt", refuse);
    await expect(read(fake)).rejects.toMatchObject({
      name: "ChainFault",
      retryable: true,
      message: expect.stringContaining("limit exceeded"),
    });
    // And it does so after a bounded number of requests.
    expect(fake.bodies.length).toBeLessThan(120);
  });

  it("does not split on a provider that is gone or locked", async () => {
    for (const status of [401, 302]) {
      const fake = new FakeNode(longChain(200));
      fake.raw = (body) =>
        JSON.stringify(body).includes("eth_getLogs")
          ? new Response("", { status, headers: { location: "http://elsewhere.test" } })
          : null;
      await expect(read(fake)).rejects.toMatchObject({ name: "ChainFault" });
      expect(fake.bodies.filter((body) => JSON.stringify(body).includes("eth_getLogs")).length).toBeLessThanOrEqual(4);
    }
  });
});

describe("B01 a backend that lags behind", () => {
  it("takes no empty answer from a backend that does not have the range's last block", async () => {
    const fake = new FakeNode(longChain(40));
    const behind = new FakeNode(longChain(30));
    // Headers come from the node that leads; whatever carries a log query goes to the one that lags.
    fake.raw = (body) => {
      const calls = (Array.isArray(body) ? body : [body]) as RpcRequest[];
      return calls.some((call) => call.method === "eth_getLogs") ? behind.respond(body) : null;
    };
    const first = await read(fake);
    expect(first.stopped).toMatchObject({ reason: "not_known" });
    expect(first.stopped?.height).toBeLessThanOrEqual(31);
    expect(first.blocks.length).toBe((first.stopped?.height ?? 0) - 1);
    fake.raw = null;
    expect(amounts(await read(fake))).toEqual(expected(40));
  });

  it("finds out by the blooms when calls of one request are answered by two backends", async () => {
    const fake = new FakeNode(longChain(40));
    fake.on("eth_getLogs", ([filter], honest) =>
      (honest() as Json[]).filter((log) => Number(log.blockNumber) <= 30 || (filter as LogFilter).blockHash),
    );
    // The receipts are there: nothing is lost.
    expect(amounts(await read(fake))).toEqual(expected(40));
    // They are not: the reading ends before the first block that is not borne out.
    fake.on("eth_getBlockReceipts", () => null);
    const reading = await read(fake);
    expect(reading.stopped).toMatchObject({ reason: "not_known", height: 33 });
    expect(amounts(reading)).toEqual(expected(30));
  });

  it("keeps the request of logs and last header together when the provider takes no batches", async () => {
    const fake = new FakeNode(longChain(40));
    fake.raw = (body) =>
      Array.isArray(body) ? Response.json({ error: { code: -32600, message: "no batches" } }) : null;
    expect(amounts(await read(fake))).toEqual(expected(40));
  });

  it("ends where a log is of another block than the header", async () => {
    const fake = new FakeNode(longChain(40));
    fake.on("eth_getLogs", (_, honest) =>
      (honest() as Json[]).map((log) => (Number(log.blockNumber) === 21 ? { ...log, blockHash: word("0xbad") } : log)),
    );
    const reading = await read(fake);
    expect(reading.stopped).toMatchObject({ reason: "inconsistent", height: 21 });
    expect(reading.blocks.at(-1)?.height).toBe(20);
    expect(amounts(reading)).toEqual(expected(20));
  });

  it("ends where the chain changes under the reading", async () => {
    const fake = new FakeNode(longChain(40));
    const fork = fake.chain.fork(19);
    for (let height = 20; height <= 40; height++) fork.mine([pays(1_000 + height)], "fork");
    let asked = 0;
    fake.on("eth_getLogs", (_, honest) => {
      asked += 1;
      if (asked === 1) fake.chain = fork;
      return honest();
    });
    const reading = await read(fake);
    expect(reading.stopped).toMatchObject({ reason: "inconsistent" });
    for (const { blockHash, height } of reading.transfers) expect(blockHash).toBe(longChain(40).at(height).hash);
    expect(amounts(await read(fake)).slice(-3)).toEqual([1_038, 1_039, 1_040]);
  });

  it("ends where the chain changes under a range that holds no logs", async () => {
    const chain = new FakeChain();
    for (let height = 1; height <= 12; height++) chain.mine([]);
    const fork = chain.fork(6);
    for (let height = 7; height <= 12; height++) fork.mine([], "fork");
    const fake = new FakeNode(chain).on("eth_getLogs", (_, honest) => {
      fake.chain = fork;
      return honest();
    });
    const reading = await read(fake);
    expect(reading).toMatchObject({ blocks: [], stopped: { reason: "inconsistent", height: 1 } });
    expect(reading.stopped?.detail).toContain(fork.head.hash);
  });
});

describe("one truth per block", () => {
  it("B04 never sends an empty address list, and believes nothing it did not ask for", async () => {
    const fake = new FakeNode(longChain(30));
    fake.on("eth_getLogs", ([filter]) => {
      const { fromBlock, toBlock } = filter as LogFilter;
      return fake.chain.blocks
        .slice(Number(fromBlock), Number(toBlock) + 1)
        .flatMap((block) => block.receipts)
        .flatMap((receipt) => receipt.logs as Json[]);
    });
    expect(amounts(await read(fake, { contracts: new Set() }))).toEqual([]);
    expect(fake.called("eth_getLogs")).toEqual([]);
    expect(amounts(await read(fake))).toEqual(expected(30));
    for (const call of fake.called("eth_getLogs")) expect((call.params[0] as LogFilter).address).toEqual([TOK]);
  });

  it("splits a long list of contracts into filters of at most 500", async () => {
    const many = Array.from({ length: 1_203 }, (_, i) =>
      word(quantity(i + 1)).replace("0x000000000000000000000000", "0x"),
    );
    const fake = new FakeNode(longChain(30));
    expect(amounts(await read(fake, { contracts: new Set([...many, TOK]) }))).toEqual(expected(30));
    const sizes = fake.called("eth_getLogs").map((call) => (call.params[0] as LogFilter).address?.length ?? 0);
    expect(Math.max(...sizes)).toBe(500);
    expect(sizes.slice(0, 3).reduce((sum, size) => sum + size, 0)).toBe(1_204);
  });

  it("counts a log that comes twice once", async () => {
    const fake = new FakeNode(longChain(30)).on("eth_getLogs", (_, honest) => [
      ...(honest() as Json[]),
      ...(honest() as Json[]),
    ]);
    expect(amounts(await read(fake))).toEqual(expected(30));
  });

  it("refuses an answer whose logs are not those of the receipt", async () => {
    const changes: ((log: Json) => Json | null)[] = [
      (log) => ({ ...log, data: word("0x1") }),
      (log) => ({ ...log, logIndex: quantity(Number(log.logIndex) + 50) }),
      (log) => (Number(log.logIndex) === 2 ? null : log),
    ];
    for (const change of changes) {
      const chain = longChain(5);
      chain.mine([pays(1, FAKE), { to: TOK, logs: [transferLog(TOK, W, 6n), transferLog(TOK, W, 6n)] }]);
      const fake = new FakeNode(chain);
      fake.on("eth_getLogs", (_, honest) =>
        (honest() as Json[]).flatMap((log) => (Number(log.blockNumber) === 6 ? (change(log) ?? []) : log)),
      );
      const reading = await read(fake);
      expect(reading.stopped).toMatchObject({ reason: "inconsistent", height: 6 });
      expect(amounts(reading)).toEqual([3]);
    }
  });

  it("B32 ends before a block whose receipt is null or of another block", async () => {
    for (const receipt of [null, { blockHash: word("0xbad") }]) {
      const fake = new FakeNode(longChain(30));
      fake.on("eth_getTransactionReceipt", ([hash], honest) => {
        const own = honest() as Json;
        if (own.blockNumber !== quantity(12) || fake.chain.at(12).transactions[1]?.hash !== hash) return own;
        return receipt && { ...own, ...receipt, logs: (own.logs as Json[]).map((log) => ({ ...log, ...receipt })) };
      });
      const reading = await read(fake);
      expect(reading.stopped).toMatchObject({ reason: "not_known", height: 12 });
      expect(amounts(reading)).toEqual(expected(11));
    }
  });

  it("reads through its receipts a block whose bloom denies a log it is said to have", async () => {
    const fake = new FakeNode(longChain(30));
    const made = {
      ...transferLog(TOK, W, 3n),
      ...{ blockNumber: quantity(4), blockHash: fake.chain.at(4).hash, logIndex: "0x5" },
      ...{ transactionHash: fake.chain.at(3).transactions[1]?.hash, transactionIndex: "0x1" },
    };
    fake.on("eth_getLogs", ([filter], honest) =>
      Number((filter as LogFilter).fromBlock) <= 4 ? [...(honest() as Json[]), made] : honest(),
    );
    expect(amounts(await read(fake))).toEqual(expected(30));
  });

  it("reads through its receipts a block that holds the contract's other logs and is said to hold a Transfer", async () => {
    const chain = longChain(3);
    const approval = {
      ...transferLog(TOK, W, 9n),
      topics: [word("0xa99"), ...transferLog(TOK, W, 9n).topics.slice(1)],
    };
    const block = chain.mine([{ to: TOK, logs: [approval] }]);
    const fake = new FakeNode(chain);
    const [own] = block.receipts.flatMap((receipt) => receipt.logs as Json[]);
    fake.on("eth_getLogs", (_, honest) => [...(honest() as Json[]), { ...own, ...transferLog(TOK, W, 9n) }]);
    const reading = await read(fake);
    expect([amounts(reading), reading.stopped]).toEqual([[3], null]);
  });

  it("asks for whole blocks of receipts where many of one block are wanted", async () => {
    const chain = new FakeChain();
    chain.mine(Array.from({ length: 30 }, (_, i) => pays(i + 1)));
    chain.mine([pays(99)]);
    const fake = new FakeNode(chain);
    expect(amounts(await read(fake))).toEqual([...Array.from({ length: 30 }, (_, i) => i + 1), 99]);
    expect(fake.called("eth_getBlockReceipts")).toHaveLength(1);
    expect(fake.called("eth_getTransactionReceipt")).toHaveLength(1);
    const without = new FakeNode(chain).lacks("eth_getBlockReceipts");
    expect(amounts(await read(without))).toHaveLength(31);
  });

  it("asks for no receipts of transactions that pay nobody watched", async () => {
    const fake = new FakeNode(longChain(30));
    expect((await read(fake, { watched: () => new Set() })).transfers).toEqual([]);
    expect(fake.calls.filter((call) => call.method.includes("Receipt"))).toEqual([]);
  });

  it("finds native payments, and leaves out those that failed", async () => {
    const chain = longChain(10);
    chain.mine([
      { to: W, value: 5n },
      { to: W, value: 6n, status: 0 },
      { to: STRANGER, value: 7n },
    ]);
    const fake = new FakeNode(chain);
    expect(amounts(await read(fake, { native: true }))).toEqual([...expected(10), 5]);
    expect(fake.called("eth_getTransactionReceipt").length).toBe(expected(10).length + 2);
  });
});

describe("traces of the past", () => {
  const frames = [{ type: "CALL", from: STRANGER, to: W, value: "0x5" }];

  it("reads them, and says untraced where the node's state is gone", async () => {
    const chain = longChain(3);
    chain.mine([{ to: STRANGER, frames }]);
    const fake = new FakeNode(chain);
    const reading = await read(fake, { internal: true });
    expect([amounts(reading), reading.internal]).toEqual([[3, 5], "traced"]);
    const gone: (() => unknown)[] = [
      () => {
        throw new RpcRefusal(-32000, "required historical state unavailable (reexec=128)");
      },
      () => [{ txHash: chain.at(4).transactions[0]?.hash, error: "Resource not found" }],
    ];
    for (const answer of gone) {
      fake.on("debug_traceBlockByHash", answer);
      const later = await read(fake, { internal: true });
      expect([amounts(later), later.internal, later.stopped]).toEqual([[3], "untraced", null]);
    }
  });

  it("asks trace_block where the tracer cannot, and finds the same payment under the same key", async () => {
    const chain = longChain(3);
    const block = chain.mine([{ to: STRANGER, frames }]);
    const own = { blockHash: block.hash, transactionHash: block.transactions[0]?.hash, type: "call" };
    const fake = new FakeNode(chain);
    const traced = await read(fake, { internal: true });
    fake.on("trace_block", ([height]) =>
      chain.byTag(String(height))?.transactions.flatMap(({ hash }) => [
        {
          ...own,
          blockHash: chain.byTag(String(height))?.hash,
          transactionHash: hash,
          traceAddress: [],
          action: { callType: "call", from: W, to: STRANGER, value: "0x0" },
        },
        ...(height === "0x4"
          ? [{ ...own, traceAddress: [0], action: { callType: "call", from: STRANGER, to: W, value: "0x5" } }]
          : []),
      ]),
    );
    fake.on("debug_traceBlockByHash", () => [{ error: "Resource not found" }]);
    expect(await read(fake, { internal: true })).toEqual(traced);
    fake.lacks("debug_traceBlockByHash");
    expect(await read(fake, { internal: true })).toEqual(traced);
  });
});

describe("bounds", () => {
  it("refuses a range that is empty, turned round or too long", () => {
    const node = nodeOf(new FakeNode(longChain(3)));
    expect(() => node.readRange(5, 4, interest())).toThrow(/1 to 2048 heights/);
    expect(() => node.readRange(0, 2_048, interest())).toThrow(/1 to 2048 heights/);
    expect(() => node.readBlocks(1, 33, interest())).toThrow(/1 to 32 heights/);
    expect(() => node.headers(-1, 3)).toThrow(/heights/);
  });
});
