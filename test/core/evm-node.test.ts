/** The small calls of a node: tip, headers, chain id, tokens; and the codecs under the proofs. */

import { concat, keccak256, numberToHex, toRlp } from "viem";
import { describe, expect, it } from "vitest";
import { bloomMayHold, bloomMayHoldTransfer, bloomOf, EMPTY_BLOOM, joinBlooms } from "../../src/chains/evm/bloom.ts";
import { EvmNode } from "../../src/chains/evm/node.ts";
import { encodeReceipt, receiptsRoot } from "../../src/chains/evm/receipts-root.ts";
import { parseReceipt } from "../../src/chains/evm/records.ts";
import { encodeBytes, encodeList, encodeNumber } from "../../src/chains/evm/rlp.ts";
import { readSymbol } from "../../src/chains/evm/token.ts";
import { Span } from "../../src/chains/span.ts";
import { TRANSFER_TOPIC } from "../../src/core/transfer-log.ts";
import {
  FakeChain,
  FakeNode,
  type Json,
  quantity,
  RpcRefusal,
  STRANGER,
  transferLog,
  word,
} from "../support/fake-rpc.ts";

const TOK = `0x${"70".repeat(20)}`;

function longChain(length: number): FakeChain {
  const chain = new FakeChain();
  while (chain.head.height < length) chain.mine([]);
  return chain;
}

function nodeOf(fake: FakeNode): EvmNode {
  return new EvmNode({ url: "http://node.test", fetch: fake.fetch, timeoutMs: 2_000 });
}

describe("tip", () => {
  it("gives head and finalized from one request", async () => {
    const fake = new FakeNode(longChain(70));
    const { head, finalized } = await nodeOf(fake).tip();
    expect(head).toEqual({
      height: 70,
      hash: fake.chain.at(70).hash,
      parentHash: fake.chain.at(69).hash,
      timestamp: 1_700_000_840,
    });
    expect(finalized).toEqual({ height: 6, hash: fake.chain.at(6).hash });
    expect(fake.bodies).toHaveLength(1);
  });

  it("knows no finalized block where the node has none, or where it lies beyond the head", async () => {
    const chain = longChain(3);
    const ahead = chain.fork(3);
    ahead.mine([]);
    const sibling = chain.fork(2);
    sibling.mine([], "fork");
    const answers = [
      () => null,
      () => {
        throw new RpcRefusal(-39001, "Unknown block");
      },
      () => {
        throw new RpcRefusal(-32602, "invalid block tag");
      },
      () => ({ ...ahead.head.header, transactions: [] }),
      () => ({ ...sibling.head.header, transactions: [] }),
    ];
    for (const answer of answers) {
      const fake = new FakeNode(chain).on("eth_getBlockByNumber", ([tag], honest) =>
        tag === "finalized" ? answer() : honest(),
      );
      expect(await nodeOf(fake).tip()).toMatchObject({ head: { height: 3 }, finalized: null });
    }
  });

  it("is a fault when there is no latest block", async () => {
    const fake = new FakeNode(longChain(3)).on("eth_getBlockByNumber", () => null);
    await expect(nodeOf(fake).tip()).rejects.toMatchObject({
      name: "ChainFault",
      message: expect.stringContaining("latest block: expected an object, got null"),
    });
  });
});

describe("tip, with the next block", () => {
  const also = (next: number) => ({ next, native: true, finalized: false });
  const nothing = { contracts: new Set<string>(), native: true, internal: false, watched: () => new Set<string>() };
  const blocksAsked = (fake: FakeNode) =>
    fake.calls.filter(({ params }) => params[1] === true).map(({ params }) => params[0]);

  it("brings it in the same request, and the reading that begins with it asks for the others alone", async () => {
    const fake = new FakeNode(longChain(12));
    const node = nodeOf(fake);
    expect(await node.tip(also(11))).toMatchObject({ head: { height: 12 }, finalized: null });
    expect(fake.bodies).toHaveLength(1);
    const reading = await node.readBlocks(11, 12, nothing);
    expect(reading.blocks.map(({ hash }) => hash)).toEqual([fake.chain.at(11).hash, fake.chain.at(12).hash]);
    expect(blocksAsked(fake)).toEqual(["0xb", "0xc"]);
    // It was given away: whoever reads again sees what the node says now.
    await node.readBlocks(11, 11, nothing);
    expect(blocksAsked(fake)).toEqual(["0xb", "0xc", "0xb"]);
  });

  it("is for a reading of that height and form alone", async () => {
    const fake = new FakeNode(longChain(12));
    const node = nodeOf(fake);
    await node.tip(also(11));
    await node.readBlocks(12, 12, nothing);
    await node.readBlocks(11, 11, { ...nothing, native: false });
    expect(fake.calls.slice(2).map(({ params }) => params)).toEqual([
      ["0xc", true],
      ["0xb", false],
    ]);
    await node.tip(also(13));
    await node.readBlocks(11, 11, nothing);
    expect(fake.calls.at(-1)?.params).toEqual(["0xb", true]);
    // Nor is it for one after a later head, which it may not be below.
    await node.tip(also(11));
    await node.tip();
    await node.readBlocks(11, 11, nothing);
    expect(fake.calls.at(-1)?.params).toEqual(["0xb", true]);
  });

  it("shows a block as the head that was mined between the two answers", async () => {
    const chain = longChain(12);
    const fake = new FakeNode(chain).on("eth_getBlockByNumber", ([tag], honest) => {
      const answer = honest();
      if (tag === "latest") chain.mine([]);
      return answer;
    });
    expect((await nodeOf(fake).tip(also(13))).head).toMatchObject({ height: 13, hash: chain.at(13).hash });
  });

  it("is not asked for again where the node calls it an error", async () => {
    const fake = new FakeNode(longChain(12)).on("eth_getBlockByNumber", ([tag], honest) => {
      if (tag === "0xd") throw new RpcRefusal(-32000, "block not found");
      return honest();
    });
    const node = nodeOf(fake);
    for (let n = 0; n < 3; n++) expect((await node.tip(also(13))).head.height).toBe(12);
    expect(blocksAsked(fake).length).toBeLessThan(3);
    const before = fake.calls.length;
    await node.tip(also(13));
    expect(fake.calls.length).toBe(before + 1);
  });
});

describe("headers", () => {
  it("gives a shorter list when some are missing or a link is broken", async () => {
    const chain = longChain(10);
    const fake = new FakeNode(chain);
    const node = nodeOf(fake);
    expect((await node.headers(4, 20)).map((ref) => ref.height)).toEqual([4, 5, 6, 7, 8, 9, 10]);
    const fork = chain.fork(6);
    while (fork.head.height < 10) fork.mine([], "fork");
    fake.on("eth_getBlockByNumber", ([tag, full], honest) =>
      Number(tag) > 7 ? fork.answer("eth_getBlockByNumber", [tag, full]) : honest(),
    );
    expect((await node.headers(4, 10)).map((ref) => ref.height)).toEqual([4, 5, 6, 7]);
  });

  it("reads two thousand of them, each once", async () => {
    const fake = new FakeNode(longChain(2_047));
    expect(await nodeOf(fake).headers(0, 2_047)).toHaveLength(2_048);
    expect(fake.calls).toHaveLength(2_048);
    expect(fake.bodies.length).toBeLessThan(50);
  });

  it("is a fault, not a short list, when the node refuses", async () => {
    const fake = new FakeNode(longChain(10)).on("eth_getBlockByNumber", () => {
      throw new RpcRefusal(-32000, "database is closed");
    });
    await expect(nodeOf(fake).headers(1, 5)).rejects.toMatchObject({ name: "ChainFault", retryable: true });
  });
});

describe("token", () => {
  const text = (value: string) =>
    Array.from(new TextEncoder().encode(value), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const abi = (value: string) =>
    `0x${word("0x20").slice(2)}${word(quantity(value.length)).slice(2)}${text(value).padEnd(64, "0")}`;
  const tokenOf = (symbol: unknown, decimals: unknown) =>
    nodeOf(
      new FakeNode(longChain(0)).on("eth_call", ([call]) => {
        const answer = (call as { data: string }).data === "0x95d89b41" ? symbol : decimals;
        if (answer instanceof RpcRefusal) throw answer;
        return answer;
      }),
    ).token(TOK);

  it("reads both spellings of a symbol", async () => {
    const token = { symbol: "USDT", contract: TOK, decimals: 6 };
    expect(await tokenOf(abi("USDT"), word("0x6"))).toEqual(token);
    expect(await tokenOf(`0x${text("USDT").padEnd(64, "0")}`, word("0x6"))).toEqual(token);
    expect(await tokenOf(abi("aToken-1.5%"), word("0x4d"))).toMatchObject({ symbol: "aToken-1.5%", decimals: 77 });
  });

  it.each([
    ["no code", "0x", "0x"],
    ["no decimals", abi("TOK"), "0x"],
    ["a revert", new RpcRefusal(3, "execution reverted"), word("0x6")],
    ["a revert without code 3", abi("TOK"), new RpcRefusal(-32000, "execution reverted: no")],
    ["78 decimals", abi("TOK"), word("0x4e")],
    ["256-bit decimals", abi("TOK"), `0x${"f".repeat(64)}`],
    ["a space", abi("T K"), word("0x6")],
    ["a control character", abi("TOK\n"), word("0x6")],
    ["letters beyond ASCII", abi("TОK"), word("0x6")],
    ["an empty symbol", abi(""), word("0x6")],
    ["21 characters", abi("A".repeat(21)), word("0x6")],
    ["a length past the data", `0x${word("0x20").slice(2)}${word("0xffff").slice(2)}`, word("0x6")],
    ["an offset past the data", `0x${word("0xffffffff").slice(2)}${word("0x3").slice(2)}`, word("0x6")],
  ])("is null for %s", async (_, symbol, decimals) => {
    expect(await tokenOf(symbol, decimals)).toBeNull();
  });

  it("is a fault when the node fails, which says nothing about the token", async () => {
    await expect(tokenOf(new RpcRefusal(-32005, "rate limit"), word("0x6"))).rejects.toMatchObject({
      name: "ChainFault",
    });
    await expect(tokenOf(null, word("0x6"))).rejects.toMatchObject({ name: "ChainFault" });
  });

  it("accepts the longest symbol", () => {
    expect(readSymbol(abi("A".repeat(20)).slice(2))).toBe("A".repeat(20));
  });
});

describe("bloom", () => {
  it("matches the yellow paper's bits", () => {
    // keccak256 of the Transfer topic begins with ada3 89e1 fc24: bits 0x5a3, 0x1e1 and 0x424.
    expect(keccak256(TRANSFER_TOPIC).slice(2, 14)).toBe("ada389e1fc24");
    const bloom = BigInt(bloomOf([{ address: TRANSFER_TOPIC, topics: [] }]));
    expect(bloom).toBe((1n << 0x5a3n) | (1n << 0x1e1n) | (1n << 0x424n));
  });

  it("never denies what it was made of, and joins to a union", () => {
    const logs = Array.from({ length: 60 }, (_, i) =>
      transferLog(word(quantity(i + 1)).replace("0x000000000000000000000000", "0x"), STRANGER, BigInt(i)),
    );
    const whole = bloomOf(logs);
    for (const log of logs)
      for (const value of [log.address, ...log.topics]) expect(bloomMayHold(whole, value)).toBe(true);
    expect(joinBlooms(logs.map((log) => bloomOf([log])))).toBe(whole);
    expect(joinBlooms([])).toBe(EMPTY_BLOOM);
    expect(bloomMayHoldTransfer(bloomOf([transferLog(TOK, STRANGER, 1n)]), [TOK])).toBe(true);
    expect(bloomMayHoldTransfer(bloomOf([transferLog(TOK, STRANGER, 1n)]), [STRANGER.replace("5e", "5f")])).toBe(false);
    expect(bloomMayHoldTransfer(EMPTY_BLOOM, [TOK])).toBe(false);
  });
});

describe("rlp", () => {
  const show = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString("hex")}`;

  it.each([0, 1, 2, 54, 55, 56, 57, 255, 256, 257, 65_535, 65_536])(
    "encodes %d bytes, alone and in a list",
    (length) => {
      const bytes = new Uint8Array(length).fill(0x81);
      expect(show(encodeBytes(bytes))).toBe(toRlp(bytes, "hex"));
      expect(show(encodeList([encodeBytes(bytes)]))).toBe(toRlp([bytes], "hex"));
    },
  );

  it.each([0, 1, 0x7f, 0x80, 0xff, 0x100, 30_000_000, Number.MAX_SAFE_INTEGER])("encodes the number %d", (value) => {
    expect(show(encodeNumber(value))).toBe(toRlp(value === 0 ? "0x" : evenHex(value)));
  });

  function evenHex(value: number): `0x${string}` {
    const digits = value.toString(16);
    return `0x${digits.length % 2 ? "0" : ""}${digits}`;
  }
});

describe("receipt encoding", () => {
  const base = {
    transactionHash: word("0x1"),
    transactionIndex: "0x0",
    blockHash: word("0x2"),
    blockNumber: "0x1",
    cumulativeGasUsed: "0x5208",
    logsBloom: EMPTY_BLOOM,
    logs: [],
    status: "0x1",
    type: "0x0",
  };
  const rlp = (...fields: (`0x${string}` | `0x${string}`[])[]) => toRlp(fields);
  const encoded = (over: Json) => `0x${Buffer.from(encodeReceipt(parseReceipt({ ...base, ...over }))).toString("hex")}`;
  const bloom = EMPTY_BLOOM as `0x${string}`;

  it("is that of EIP-658, EIP-2718, and of Frontier's state roots", () => {
    expect(encoded({})).toBe(rlp("0x01", "0x5208", bloom, []));
    expect(encoded({ status: "0x0", type: undefined })).toBe(rlp("0x", "0x5208", bloom, []));
    expect(encoded({ type: "0x2" })).toBe(concat(["0x02", rlp("0x01", "0x5208", bloom, [])]));
    expect(encoded({ status: undefined, root: word("0xabc") })).toBe(
      rlp(word("0xabc") as `0x${string}`, "0x5208", bloom, []),
    );
  });

  it("is op-geth's for deposits: nonce and version from Canyon on, neither before", () => {
    expect(encoded({ type: "0x7e", depositNonce: "0x9", depositReceiptVersion: "0x1" })).toBe(
      concat(["0x7e", rlp("0x01", "0x5208", bloom, [], "0x09", "0x01")]),
    );
    expect(encoded({ type: "0x7e", depositNonce: "0x9" })).toBe(concat(["0x7e", rlp("0x01", "0x5208", bloom, [])]));
    expect(encoded({ type: "0x7e" })).toBe(concat(["0x7e", rlp("0x01", "0x5208", bloom, [])]));
  });

  it("encodes long data and works out a bloom that is not given", () => {
    const log = { ...base, ...transferLog(TOK, STRANGER, 1n), data: `0x${"ab".repeat(70_000)}`, logIndex: "0x0" };
    const own = bloomOf([log]) as `0x${string}`;
    const fields = toRlp(["0x01", "0x5208", own, [[log.address, log.topics, log.data]] as never]);
    expect(encoded({ logs: [log], logsBloom: null })).toBe(fields);
  });

  it("gives the empty trie's root for no receipts, and a single leaf's for one", () => {
    expect(receiptsRoot([])).toBe("0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");
    const leaf = toRlp([concat(["0x20", numberToHex(0x80)]), rlp("0x01", "0x5208", bloom, [])]);
    expect(receiptsRoot([parseReceipt(base)])).toBe(keccak256(leaf));
  });
});

describe("span", () => {
  const bounds = { start: 64, max: 2_048, aimBytes: 400_000 };

  it("grows while answers are small, shrinks when they are large", () => {
    const span = new Span(bounds);
    span.answered(64, 1_000);
    expect(span.blocks).toBe(256);
    span.answered(256, 4_000_000);
    expect(span.blocks).toBe(25);
    span.answered(5, 10);
    expect(span.blocks).toBe(25);
    for (let i = 0; i < 9; i++) span.answered(span.blocks, 1_000);
    expect(span.blocks).toBe(2_048);
  });

  it("stays below what was refused, and tries more only now and then", () => {
    const span = new Span(bounds);
    span.refused(64);
    expect(span.blocks).toBe(32);
    for (let i = 0; i < 31; i++) span.answered(span.blocks, 1_000);
    expect(span.blocks).toBe(32);
    span.answered(span.blocks, 1_000);
    expect(span.blocks).toBe(64);
    span.refused(1);
    expect(span.blocks).toBe(1);
  });
});
