/** The withdrawal line's adapter against scripted nodes: what is believed, what is not, and how often is asked. */

import { describe, expect, it } from "vitest";
import { EvmPayoutNode, type PayoutNetwork } from "../../src/chains/evm/payout-node.ts";
import { createPayoutNodes } from "../../src/chains/payout-nodes.ts";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";
import { FakeChain, FakeNode, type Json, quantity, RpcRefusal, word } from "../support/fake-rpc.ts";

const WALLET = `0x${"a1".repeat(20)}`;
const TX = word("0x77");
const NETWORK: PayoutNetwork = {
  id: "local",
  caip2: "eip155:31337",
  finality: "depth",
  reorgWindow: 2,
  payout: { kind: "nonces", maxFeeGwei: 500, feeModel: "eip1559", replaceAfterBlocks: 3, deadlineS: 600 },
};
const URL_WITH_KEY = "http://node.test/v3/k3y0123456789";

function nodeOf(fake: FakeNode, change: Partial<PayoutNetwork> = {}): EvmPayoutNode {
  return new EvmPayoutNode({ url: URL_WITH_KEY, fetch: fake.fetch, timeoutMs: 1_000 }, { ...NETWORK, ...change });
}

/** Blocks 1 to 5; the wallet's transaction is in block 3. */
function stage(): { chain: FakeChain; fake: FakeNode } {
  const chain = new FakeChain();
  for (const txs of [[], [], [{ hash: TX, from: WALLET }], [], []]) chain.mine(txs);
  return { chain, fake: paying(new FakeNode(chain)) };
}

/** A node that also knows of fees and nonces. */
function paying(fake: FakeNode, fields: Json = {}): FakeNode {
  const count = (height: number) => (height >= 3 ? 1 : 0);
  return fake
    .on("eth_getTransactionReceipt", (_, honest) => withFees(honest() as Json | null, fields))
    .on("eth_getTransactionCount", ([, at]) => quantity(String(at).startsWith("0x") ? count(Number(at)) : 1));
}

function withFees(receipt: Json | null, fields: Json = {}): Json | null {
  return receipt && { ...receipt, gasUsed: "0x5208", effectiveGasPrice: "0x3b9aca00", ...fields };
}

const question = { sender: WALLET, hashes: [TX], heights: [] as number[] };
const refuse = (code: number, message: string) => () => {
  throw new RpcRefusal(code, message);
};

describe("chain", () => {
  it("is asked before anything else, and once", async () => {
    const { fake } = stage();
    const node = nodeOf(fake);
    await node.look(question);
    await node.look(question);
    expect(fake.calls[0]?.method).toBe("eth_chainId");
    expect(fake.called("eth_chainId")).toHaveLength(1);
  });

  it("of another chain ends everything, and nothing is sent", async () => {
    const { fake } = stage();
    const node = nodeOf(fake, { id: "ethereum", caip2: "eip155:1" });
    const text = "node node.test serves eip155:31337, network ethereum is eip155:1";
    expect(await node.send("0x02")).toEqual({ kind: "error", code: 0, text: `wrong chainid: ${text}` });
    const questions = [
      () => node.look(question),
      () => node.quote(),
      () => node.balances(WALLET, []),
      () => node.consumerOf(WALLET, 0, 0, 5),
      () => node.estimate({ sender: WALLET, to: WALLET, valueUnits: 0n, data: "0x" }),
    ];
    for (const ask of questions) await expect(ask()).rejects.toMatchObject({ message: text, retryable: false });
    expect((await node.send("0x02")).kind).toBe("error");
    expect(fake.calls.map(({ method }) => method)).toEqual(["eth_chainId"]);
  });

  it("that was not answered is asked again, and nothing is sent meanwhile", async () => {
    const { fake } = stage();
    const node = nodeOf(fake.on("eth_chainId", refuse(-32_000, "busy")));
    expect(await node.send("0x02")).toMatchObject({ kind: "no_answer", status: null });
    expect(fake.called("eth_sendRawTransaction")).toEqual([]);
    fake.on("eth_chainId", () => "0x7a69").on("eth_sendRawTransaction", () => TX);
    expect(await node.send("0x02")).toEqual({ kind: "hash", hash: TX });
  });

  it("is asked of every provider of a network, and each keeps its place", () => {
    const settings = BUILT_IN_NETWORKS.find(({ id }) => id === "local");
    if (settings === undefined) throw new Error("there is no network local");
    const build = (urls: string[]) => createPayoutNodes({ settings, urls, fetch, timeoutMs: 1_000 });
    expect(build(["http://b.test/x", "http://a.test/y"]).map(({ name }) => name)).toEqual(["b.test", "a.test"]);
    expect(() => build([])).toThrow("network local has no node");
  });
});

describe("look", () => {
  it("takes two requests, each a batch of its own", async () => {
    const { chain, fake } = stage();
    const look = await nodeOf(fake).look({ ...question, hashes: [TX, word("0x78")], heights: [3, 4, 99] });
    expect(fake.bodies.map((body) => (Array.isArray(body) ? body.length : 1))).toEqual([1, 5, 3]);
    expect(look).toEqual({
      head: 5,
      finalHeight: 3,
      nonceLatest: 1,
      noncePending: 1,
      nonceFinal: 1,
      receipts: new Map([
        [
          TX,
          {
            txId: TX,
            height: 3,
            blockHash: chain.at(3).hash,
            success: true,
            feeUnits: 21_000n * 10n ** 9n,
            logs: [],
          },
        ],
      ]),
      blocks: new Map([3, 4].map((height) => [height, chain.at(height).hash])),
    });
  });

  it("goes to a provider without batches one call at a time", async () => {
    const { fake } = stage();
    fake.raw = (body) => (Array.isArray(body) ? new Response("no batches", { status: 400 }) : null);
    expect((await nodeOf(fake).look(question)).receipts.has(TX)).toBe(true);
  });

  it("B104: gives no receipt of a block that is not at its height", async () => {
    const { chain, fake } = stage();
    const fork = chain.fork(3);
    fork.mine([{ hash: TX, from: WALLET }], "other");
    // The receipt is of the fork's block 4; the chain has another one there.
    fake.on("eth_getTransactionReceipt", () => withFees(fork.at(4).receipts[0] ?? null));
    const look = await nodeOf(fake).look(question);
    expect(look.receipts).toEqual(new Map());
    expect(look.blocks).toEqual(new Map([[4, chain.at(4).hash]]));
    // Not final by this look's own rule: its nonce still holds.
    expect(look.nonceFinal).toBe(1);
  });

  it("B84: says no final nonce beside a final receipt that its own headers deny", async () => {
    const { chain, fake } = stage();
    const fork = chain.fork(2);
    fork.mine([{ hash: TX, from: WALLET }], "other");
    fake.on("eth_getTransactionReceipt", () => withFees(fork.at(3).receipts[0] ?? null));
    expect(await nodeOf(fake).look(question)).toMatchObject({ finalHeight: 3, receipts: new Map(), nonceFinal: null });
  });

  it("gives no receipt from above its own head, and none from the pool", async () => {
    const { chain, fake } = stage();
    const longer = chain.fork(5);
    longer.mine([{ hash: TX, from: WALLET }]);
    fake.on("eth_getTransactionReceipt", () => withFees(longer.at(6).receipts[0] ?? null));
    expect((await nodeOf(fake).look(question)).receipts).toEqual(new Map());
    fake.on("eth_getTransactionReceipt", () => ({ transactionHash: TX, blockHash: null, blockNumber: null }));
    expect((await nodeOf(fake).look(question)).receipts).toEqual(new Map());
  });

  it.each([
    ["missing trie node 5f2a (path )", -32_000],
    ["historical state 0xab is not available", -32_000],
    ["method not available on your plan", -32_601],
  ])("says no final nonce when the node has no state: %s", async (message, code) => {
    const { fake } = stage();
    fake.on("eth_getTransactionCount", ([, at]) => (at === "0x3" ? refuse(code, message)() : "0x1"));
    expect(await nodeOf(fake).look(question)).toMatchObject({ nonceLatest: 1, nonceFinal: null });
  });

  it("B94: takes the pool's nonce only to raise", async () => {
    const { fake } = stage();
    for (const [pending, expected] of [
      [() => "0x4", 4],
      [() => "0x0", 1],
      [refuse(-32_000, "pending state is not available"), 1],
    ] as const) {
      fake.on("eth_getTransactionCount", ([, at]) => (at === "pending" ? pending() : "0x1"));
      expect((await nodeOf(fake).look(question)).noncePending).toBe(expected);
    }
  });

  it.each([
    ["a height below the head", (chain: FakeChain) => chain.at(2).header, 2],
    ["the head itself", (chain: FakeChain) => chain.at(5).header, 5],
    ["none", () => null, -1],
    ["the head's height with another hash", (chain: FakeChain) => ({ ...chain.at(5).header, hash: word("0x9") }), -1],
    ["a height above the head", (chain: FakeChain) => ({ ...chain.at(5).header, number: "0x6" }), -1],
    ["an error", refuse(-32_000, "finalized block not found"), -1],
  ])("under the tag, final is %s", async (_, finalized, expected) => {
    const { chain, fake } = stage();
    fake.on("eth_getBlockByNumber", ([tag], honest) => (tag === "finalized" ? finalized(chain) : honest()));
    const look = await nodeOf(fake, { finality: "tag" }).look(question);
    expect(look.finalHeight).toBe(expected);
    expect(look.nonceFinal).toBe(expected < 0 ? null : expected >= 3 ? 1 : 0);
  });

  it.each([
    ["0x0", 21_000n * 10n ** 9n],
    ["0x64", 21_000n * 10n ** 9n + 100n],
    [null, 21_000n * 10n ** 9n],
  ])("adds a rollup's share for its parent chain: %s", async (l1Fee, feeUnits) => {
    const { chain } = stage();
    const fake = paying(new FakeNode(chain), { l1Fee });
    expect((await nodeOf(fake).look(question)).receipts.get(TX)?.feeUnits).toBe(feeUnits);
  });

  it("B96: reads status 0 as no success", async () => {
    const { chain } = stage();
    const fake = paying(new FakeNode(chain), { status: "0x0" });
    expect((await nodeOf(fake).look(question)).receipts.get(TX)?.success).toBe(false);
  });

  it.each<Json>([
    { status: "0x2" },
    { status: true },
    { status: undefined, root: word("0x1") },
    { gasUsed: undefined },
    { gasUsed: "21000" },
    { effectiveGasPrice: undefined },
    { effectiveGasPrice: 1_000 },
    { l1Fee: "12.5" },
    { blockNumber: "three" },
    { transactionHash: word("0x78") },
    { logs: null },
  ])("does not take a receipt with %j", async (fields) => {
    const { chain } = stage();
    const ask = nodeOf(paying(new FakeNode(chain), fields)).look(question);
    await expect(ask).rejects.toMatchObject({ name: "ChainFault", retryable: true, node: "node.test" });
  });

  it.each([
    ["eth_getBlockByNumber", () => null],
    ["eth_getBlockByNumber", () => ({})],
    ["eth_getTransactionCount", () => "1"],
    ["eth_getTransactionCount", refuse(-32_000, "busy")],
    ["eth_getTransactionReceipt", refuse(-32_005, "limit exceeded")],
    ["eth_getTransactionReceipt", () => "pending"],
  ])("fails as a whole when %s is not answered as it must be", async (method, answer) => {
    const { fake } = stage();
    await expect(nodeOf(fake.on(method, answer)).look(question)).rejects.toMatchObject({ name: "ChainFault" });
    // Nothing is asked a second time behind the caller's back.
    expect(fake.called("eth_getTransactionReceipt")).toHaveLength(1);
  });

  it("takes no other height's block for the one asked", async () => {
    const { chain, fake } = stage();
    fake.on("eth_getBlockByNumber", ([tag], honest) => (tag === "0x3" ? chain.at(2).header : honest()));
    await expect(nodeOf(fake).look(question)).rejects.toThrow("expected block 3, got 2");
  });
});

describe("send", () => {
  it.each([
    ["HTTP 429", () => new Response("slow down", { status: 429 }), { kind: "no_answer", status: 429 }],
    ["HTTP 502", () => new Response("<html>", { status: 502 }), { kind: "no_answer", status: 502 }],
    ["a redirect", () => new Response(null, { status: 307, headers: { location: "http://b.test" } }), { status: 307 }],
    ["no JSON", () => new Response("OK"), { kind: "no_answer", status: null }],
    ["no hash", () => Response.json({ jsonrpc: "2.0", id: 2, result: "0x1234" }), { kind: "no_answer", status: null }],
    ["null", () => Response.json({ jsonrpc: "2.0", id: 2, result: null }), { kind: "no_answer", status: null }],
    [
      "a lost connection",
      () => {
        throw new Error(`reset by ${URL_WITH_KEY}`);
      },
      { kind: "no_answer", status: null },
    ],
    [
      "an error",
      () => Response.json({ jsonrpc: "2.0", id: 2, error: { code: -32_000, message: "nonce too low: next 14" } }),
      { kind: "error", code: -32_000, text: "nonce too low: next 14" },
    ],
    [
      "an error under an HTTP status",
      () => Response.json({ jsonrpc: "2.0", error: { code: -32_005, message: "quota" } }, { status: 429 }),
      { kind: "error", code: -32_005, text: "quota" },
    ],
  ])("is one request, answered by %s", async (_, answer, expected) => {
    const { fake } = stage();
    fake.raw = (_body, index) => (index === 0 ? null : answer());
    const reply = await nodeOf(fake).send("0x02c0");
    expect(reply).toMatchObject(expected);
    expect(JSON.stringify(reply)).not.toContain("k3y0123456789");
    expect(fake.bodies).toHaveLength(2);
    expect(fake.bodies[1]).toMatchObject({ method: "eth_sendRawTransaction", params: ["0x02c0"] });
  });

  it("does not wait for ever", async () => {
    const { fake } = stage();
    fake.raw = (_, index) => (index === 0 ? null : new Promise<Response>(() => {}));
    const node = new EvmPayoutNode({ url: URL_WITH_KEY, fetch: fake.fetch, timeoutMs: 30 }, NETWORK);
    expect(await node.send("0x02")).toEqual({ kind: "no_answer", text: "no answer within 30 ms", status: null });
  });
});

describe("quote", () => {
  const withBaseFee = () => {
    const { fake } = stage();
    return fake.on("eth_getBlockByNumber", (_, honest) => ({ ...(honest() as Json), baseFeePerGas: "0x64" }));
  };
  const history = (reward: unknown) => () => ({ oldestBlock: "0x1", reward });

  it.each([
    ["the node's own tip", (fake: FakeNode) => fake.on("eth_maxPriorityFeePerGas", () => "0x7"), 7n],
    [
      "the middle of the tips paid",
      (fake: FakeNode) => fake.on("eth_feeHistory", history([["0x9"], ["0x0"], ["0x2"], ["0x5"]])),
      5n,
    ],
    ["1 gwei when none was paid", (fake: FakeNode) => fake.on("eth_feeHistory", history([["0x0"]])), 10n ** 9n],
    ["1 gwei when there is no history", (fake: FakeNode) => fake.on("eth_feeHistory", history(undefined)), 10n ** 9n],
    ["1 gwei when neither can be asked", (fake: FakeNode) => fake, 10n ** 9n],
  ])("offers %s", async (_, script, priorityFee) => {
    const fake = script(withBaseFee());
    expect(await nodeOf(fake).quote()).toEqual({ kind: "eip1559", baseFee: 100n, priorityFee });
  });

  it("of a network without a base fee says which setting is wrong", async () => {
    const { fake } = stage();
    await expect(nodeOf(fake.on("eth_maxPriorityFeePerGas", () => "0x1")).quote()).rejects.toMatchObject({
      message: 'node.test: blocks of network local have no base fee; its fee_model must be "legacy"',
      retryable: false,
    });
  });

  it("guesses nothing when a node is only busy", async () => {
    const busy = refuse(-32_005, "too many requests");
    await expect(nodeOf(withBaseFee().on("eth_maxPriorityFeePerGas", busy)).quote()).rejects.toThrow("too many");
    await expect(nodeOf(withBaseFee().on("eth_feeHistory", busy)).quote()).rejects.toThrow("too many");
    const legacy = { payout: { ...NETWORK.payout, feeModel: "legacy" as const } };
    await expect(nodeOf(stage().fake.on("eth_gasPrice", busy), legacy).quote()).rejects.toThrow("too many");
    await expect(
      nodeOf(
        stage().fake.on("eth_gasPrice", () => 7),
        legacy,
      ).quote(),
    ).rejects.toThrow("expected a hex");
  });
});

describe("estimate", () => {
  const call = { sender: WALLET, to: `0x${"b2".repeat(20)}`, valueUnits: 255n, data: "0xab" };

  it("asks about the call on top of the latest block", async () => {
    const { fake } = stage();
    expect(await nodeOf(fake.on("eth_estimateGas", () => "0x5209")).estimate(call)).toEqual({ ok: true, gas: 21_001n });
    const [asked] = fake.called("eth_estimateGas");
    expect(asked?.params).toEqual([{ from: WALLET, to: call.to, value: "0xff", data: "0xab" }, "latest"]);
  });

  it.each([
    [3, "execution reverted: ERC20: transfer amount exceeds balance", true],
    [-32_000, "execution reverted: insufficient funds in the pool", true],
    [3, "insufficient balance of the sender", true],
    [-32_015, "VM execution error.", true],
    [-32_000, "invalid opcode: INVALID", true],
    [-32_000, "insufficient funds for gas * price + value", false],
    [-32_003, "Out of gas: gas required exceeds allowance: 0", false],
    [-32_000, "gas required exceeds allowance (0)", false],
    [-32_005, "rate limit", false],
    [-32_601, "the method eth_estimateGas does not exist", false],
  ])("code %i %s: a revert is %s", async (code, message, isRevert) => {
    const { fake } = stage();
    const ask = nodeOf(fake.on("eth_estimateGas", refuse(code, message))).estimate(call);
    if (isRevert) expect(await ask).toEqual({ ok: false, detail: message });
    else await expect(ask).rejects.toMatchObject({ name: "ChainFault", retryable: true });
  });
});

describe("consumerOf", () => {
  /** A chain of a million blocks in which the nonce 7 is used up at one height. */
  function long(usedAt: number, nonces: readonly number[] = [6, 7, 8]): FakeNode {
    const transactions = nonces.map((nonce) => ({ from: WALLET, nonce: quantity(nonce), hash: word(quantity(nonce)) }));
    const stranger = { from: `0x${"cc".repeat(20)}`, nonce: "0x7", hash: word("0x1") };
    return new FakeNode(new FakeChain())
      .on("eth_getTransactionCount", ([, at]) => quantity(Number(at) >= usedAt ? 9 : 6))
      .on("eth_getBlockByNumber", ([at]) => ({ number: at, transactions: [stranger, ...transactions] }));
  }

  it.each([0, 1, 2, 499_999, 999_998, 999_999, 1_000_000])("finds height %i among a million", async (usedAt) => {
    const fake = long(usedAt);
    expect(await nodeOf(fake).consumerOf(WALLET, 7, 0, 1_000_000)).toEqual({ txId: word("0x7"), height: usedAt });
    expect(fake.called("eth_getTransactionCount").length).toBeLessThanOrEqual(41);
    expect(fake.called("eth_getBlockByNumber")).toHaveLength(1);
  });

  it("asks near the top first, where nodes keep state", async () => {
    const fake = long(999_990);
    const archive = fake.on("eth_getTransactionCount", ([, at]) => {
      if (Number(at) < 999_900) throw new RpcRefusal(-32_000, "missing trie node");
      return quantity(Number(at) >= 999_990 ? 9 : 6);
    });
    expect(await nodeOf(archive).consumerOf(WALLET, 7, 0, 1_000_000)).toMatchObject({ height: 999_990 });
    expect(await nodeOf(archive).consumerOf(WALLET, 5, 0, 1_000_000)).toBeNull();
  });

  it("names nobody when it was not shown", async () => {
    expect(await nodeOf(long(10)).consumerOf(WALLET, 9, 0, 100)).toBeNull();
    expect(await nodeOf(long(10, [6, 8])).consumerOf(WALLET, 7, 0, 100)).toBeNull();
    expect(await nodeOf(long(10).on("eth_getBlockByNumber", () => null)).consumerOf(WALLET, 7, 0, 100)).toBeNull();
    const busy = long(10).on("eth_getTransactionCount", refuse(-32_005, "too many requests"));
    await expect(nodeOf(busy).consumerOf(WALLET, 7, 0, 100)).rejects.toThrow("too many");
    await expect(nodeOf(long(10)).consumerOf(WALLET, 7, 5, 4)).rejects.toThrow("asked for 5..4");
  });
});
