/** What the sandbox's way to the chain makes of requests: nothing, an older chain, no answer, or a contradiction. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { LIES, lie } from "../../scripts/sandbox/lies.ts";
import { isRecord, quantity, type RpcRequest } from "../../scripts/sandbox/rpc.ts";
import { RpcProxy } from "../../scripts/sandbox/rpc-proxy.ts";

const HEAD = 100;
const SHOWN = HEAD - 6;
const hashOf = (height: number) => `0x${height.toString(16).padStart(64, "0")}`;
const ZERO = `0x${"0".repeat(64)}`;

/** What the node was asked for, in its own words. */
let asked: { method: string; params: unknown[] }[] = [];
let sent: string[] = [];

/** A chain whose blocks have their heights for hashes. */
function node({ method, params }: { method: string; params: unknown[] }): unknown {
  const [first] = params;
  switch (method) {
    case "eth_blockNumber":
      return quantity(HEAD);
    case "eth_getBlockByNumber":
    case "eth_getBlockByHash": {
      const height = first === "latest" ? HEAD : Number(first);
      return height > HEAD ? null : { number: quantity(height), hash: hashOf(height), parentHash: hashOf(height - 1) };
    }
    case "eth_getTransactionReceipt":
      return {
        transactionHash: first,
        blockNumber: quantity(Number(first)),
        blockHash: hashOf(Number(first)),
        status: "0x1",
      };
    case "eth_sendRawTransaction":
      sent.push(String(first));
      return hashOf(1);
    case "eth_getTransactionCount":
      return "0x0";
    default:
      return [];
  }
}

const backend = createServer(async (message, response) => {
  let text = "";
  for await (const chunk of message) text += chunk;
  const body = JSON.parse(text) as RpcRequest | RpcRequest[];
  const answers = [body].flat().map(({ id, method, params }) => {
    asked.push({ method, params: [...params] });
    return { jsonrpc: "2.0", id, result: node({ method, params: [...params] }) };
  });
  response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
});
let proxy: RpcProxy;
const front = createServer((message, response) => void proxy.serve(message, response));
const portOf = (server: typeof front) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  await new Promise<void>((done) => backend.listen(0, "127.0.0.1", done));
  await new Promise<void>((done) => front.listen(0, "127.0.0.1", done));
  proxy = new RpcProxy(`http://127.0.0.1:${portOf(backend)}`);
});
afterAll(() => {
  proxy.close();
  for (const server of [front, backend]) server.closeAllConnections();
  front.close();
  backend.close();
});
beforeEach(async () => {
  proxy.setMode("ok");
  await proxy.stick(false);
  asked = [];
  sent = [];
});

async function post(body: unknown): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${portOf(front)}/`, { method: "POST", body: JSON.stringify(body) });
  return response.status === 200 ? response.json() : { status: response.status };
}
async function ask(method: string, ...params: unknown[]): Promise<unknown> {
  const answer = (await post({ jsonrpc: "2.0", id: 7, method, params })) as { result?: unknown; error?: unknown };
  return "result" in answer ? answer.result : answer;
}

describe("ok", () => {
  it("hands on single requests and batches as they are", async () => {
    expect(await ask("eth_getBlockByNumber", "latest", false)).toMatchObject({ hash: hashOf(HEAD) });
    const batch = await post([{ jsonrpc: "2.0", id: "a", method: "eth_blockNumber", params: [] }]);
    expect(batch).toEqual([{ jsonrpc: "2.0", id: "a", result: quantity(HEAD) }]);
    expect(asked.map(({ params }) => params)).toEqual([["latest", false], []]);
  });
});

describe("lag", () => {
  beforeEach(() => proxy.setMode("lag"));

  it.each([
    ["eth_blockNumber", [], quantity(SHOWN)],
    ["eth_getBlockByNumber", ["latest", false], { hash: hashOf(SHOWN) }],
    ["eth_getBlockByNumber", [quantity(SHOWN), false], { hash: hashOf(SHOWN) }],
    ["eth_getBlockByNumber", [quantity(SHOWN + 1), false], null],
    ["eth_getBlockByNumber", ["finalized", false], { hash: hashOf(SHOWN - 64) }],
    ["eth_getBlockByHash", [hashOf(SHOWN), false], { number: quantity(SHOWN) }],
    ["eth_getBlockByHash", [hashOf(SHOWN + 1), false], null],
    ["eth_getBlockReceipts", [hashOf(SHOWN + 1)], null],
    ["eth_getTransactionReceipt", [hashOf(SHOWN)], { status: "0x1" }],
    ["eth_getTransactionReceipt", [hashOf(SHOWN + 1)], null],
    ["eth_getLogs", [{ fromBlock: quantity(SHOWN + 1), toBlock: quantity(HEAD) }], []],
    ["eth_getLogs", [{ blockHash: hashOf(SHOWN + 1) }], { error: { message: "unknown block" } }],
    ["debug_traceBlockByHash", [hashOf(SHOWN + 1), {}], { error: { message: "unknown block" } }],
    ["eth_getTransactionCount", [ZERO, quantity(SHOWN + 1)], { error: { message: "unknown block" } }],
  ])("%s %j", async (method, params, expected) => {
    const got = await ask(method, ...params);
    if (isRecord(expected)) expect(got).toMatchObject(expected);
    else expect(got).toEqual(expected);
  });

  it.each([
    ["eth_getLogs", [{ fromBlock: "0x1", toBlock: "latest" }], [{ fromBlock: "0x1", toBlock: quantity(SHOWN) }]],
    ["eth_call", [{ to: ZERO }], [{ to: ZERO }, quantity(SHOWN)]],
    ["eth_getBalance", [ZERO, "latest"], [ZERO, quantity(SHOWN)]],
    ["eth_getTransactionCount", [ZERO, "pending"], [ZERO, quantity(SHOWN)]],
    ["eth_getCode", [ZERO, "latest"], [ZERO, quantity(SHOWN)]],
  ])("asks for the state as of then: %s", async (method, params, expected) => {
    await ask(method, ...params);
    expect(asked.at(-1)).toEqual({ method, params: expected });
  });
});

describe("drop", () => {
  it("loses each request in another way, and what has no answer is cut when it ends", async () => {
    proxy.setMode("drop");
    const got: string[] = [];
    for (let i = 0; i < 3; i++) {
      got.push(
        await ask("eth_blockNumber").then(
          (answer) => JSON.stringify(answer),
          () => "cut",
        ),
      );
    }
    const hanging = ask("eth_blockNumber").then(
      () => "answered",
      () => "cut",
    );
    expect(await Promise.race([hanging, new Promise((done) => setTimeout(done, 300, "hangs"))])).toBe("hangs");
    // Of the four, one was carried out and its answer lost.
    expect([got.toSorted(), asked.length]).toEqual([["cut", "cut", '{"status":503}'], 1]);
    proxy.setMode("ok");
    expect(await hanging).toBe("cut");
  });
});

describe("lie", () => {
  const log = { data: hashOf(5), blockHash: hashOf(9) };
  const receipt = { status: "0x1", cumulativeGasUsed: "0x5208", blockHash: hashOf(9), logs: [log] };
  const honest: Record<string, unknown> = {
    eth_getLogs: [log, log],
    eth_getBlockReceipts: [receipt, { ...receipt, cumulativeGasUsed: "0xa410" }],
    eth_getTransactionReceipt: receipt,
    eth_getBlockByNumber: { number: "0x9", hash: hashOf(9), parentHash: hashOf(8) },
  };

  it.each(Object.keys(honest))("is told about every %s, in turn, and never the same by two methods", (method) => {
    for (let turn = 0; turn < 10; turn++) {
      const told = lie({ method, params: [] }, { result: honest[method] }, turn);
      expect(told).not.toEqual({ result: honest[method] });
    }
    // What a wallet believes of its own receipt is never touched, nor is the block's own name.
    const every = Object.values(LIES).map((tell) => JSON.stringify(tell({ method, params: [] }, honest[method])));
    expect(every.filter((told) => told.includes('"status":"0x0"') || !told.match(/\[\]|"blockHash"|"hash"/))).toEqual(
      [],
    );
  });

  it("is told of nothing else", () => {
    for (const method of ["eth_call", "eth_getTransactionCount", "eth_getBalance"])
      expect(lie({ method, params: [] }, { result: "0x1" }, 0)).toEqual({ result: "0x1" });
  });
});

describe("stuck fees", () => {
  const account = privateKeyToAccount(`0x${"11".repeat(32)}`);
  const sign = (nonce: number, gwei: number) =>
    account.signTransaction({
      type: "eip1559",
      chainId: 31337,
      nonce,
      gas: 21_000n,
      maxFeePerGas: BigInt(gwei * 10) * 10n ** 8n,
      maxPriorityFeePerGas: BigInt(gwei * 10) * 10n ** 8n,
    });

  it("keeps the first of each nonce, lets a tenth more through, and the rest on release in its order", async () => {
    await proxy.stick(true);
    const [first, little, more, second] = [
      await sign(0, 10),
      await sign(0, 10.5),
      await sign(0, 11),
      await sign(1, 10),
    ];
    const hash = await ask("eth_sendRawTransaction", first);
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await ask("eth_sendRawTransaction", first)).toBe(hash);
    await ask("eth_sendRawTransaction", second);
    expect(await ask("eth_getTransactionCount", account.address, "pending")).toBe("0x2");
    expect(await ask("eth_getTransactionCount", account.address, "latest")).toBe("0x0");
    expect(await ask("eth_sendRawTransaction", little)).toMatchObject({ error: { message: /underpriced/ } });
    expect(sent).toEqual([]);
    await ask("eth_sendRawTransaction", more);
    expect(sent).toEqual([more]);
    const third = await sign(2, 10);
    await ask("eth_sendRawTransaction", third);
    await proxy.stick(false);
    expect(sent).toEqual([more, second, third]);
  });
});
