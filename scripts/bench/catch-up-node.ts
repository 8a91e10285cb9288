/**
 * Serves a made-up chain over JSON-RPC from memory, in a process of its own: what is measured are its readers. It counts the
 * requests and the calls in them, and when the first of them came. Its head is final.
 *
 * Spoken to by its parent: `{ open: height }` moves the head, `{ count: true }` is answered with what came since then.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CHAIN_ID, type ChainShape, makeChain, type ServedBlock, UNITS } from "./catch-up-chain.ts";

/** As geth has it. */
const MAX_BATCH = 1_000;
const WORD = 64;

interface Call {
  readonly id: number | string;
  readonly method: string;
  readonly params?: readonly unknown[];
}

interface Filter {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly blockHash?: string;
  readonly address?: string | readonly string[];
  readonly topics?: readonly (string | readonly string[] | null)[];
}

export interface Counted {
  readonly requests: number;
  readonly calls: Readonly<Record<string, number>>;
  readonly bytes: number;
  /** Unix milliseconds of the first request since the head was moved that asked for more than the head itself. */
  readonly firstAt: number | null;
}

const chain = makeChain(JSON.parse(process.argv[2] ?? "") as ChainShape);
const byHash = new Map(chain.map((block, height) => [block.hash, height]));
const paidAt = new Map<string, number[]>();
const receiptOf = new Map<string, string>();
for (const [height, block] of chain.entries()) {
  for (const [n, log] of block.logs.entries()) {
    const to = log.topics[2] ?? "";
    const heights = paidAt.get(to) ?? [];
    heights.push(height);
    paidAt.set(to, heights);
    const receipt = block.receipts[n] ?? "null";
    receiptOf.set(JSON.parse(receipt).transactionHash, receipt);
  }
}

let head = 0;
let counted = { requests: 0, calls: {} as Record<string, number>, bytes: 0, firstAt: null as number | null };

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const asked = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[];
  const body = Array.isArray(asked) && asked.length > MAX_BATCH ? refused(asked[0]) : answered(asked);
  counted.requests++;
  counted.bytes += body.length;
  counted.firstAt ??= Date.now();
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
});

function refused(call: Call | undefined): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(call?.id ?? null)},"error":{"code":-32600,"message":"batch too large"}}`;
}

function answered(asked: Call | Call[]): string {
  return Array.isArray(asked) ? `[${asked.map(answer).join(",")}]` : answer(asked);
}

function answer({ id, method, params = [] }: Call): string {
  counted.calls[method] = (counted.calls[method] ?? 0) + 1;
  const result = resultOf(method, params);
  const said = result === undefined ? `"error":{"code":-32601,"message":"no method ${method}"}` : `"result":${result}`;
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${said}}`;
}

/** JSON text; undefined where the method is not served. */
function resultOf(method: string, params: readonly unknown[]): string | undefined {
  switch (method) {
    case "eth_chainId":
      return `"0x${CHAIN_ID.toString(16)}"`;
    case "net_version":
      return `"${CHAIN_ID}"`;
    case "eth_blockNumber":
      return `"0x${head.toString(16)}"`;
    case "eth_getBlockByNumber":
      return blockAt(heightOf(params[0]))?.json ?? "null";
    case "eth_getBlockByHash":
      return blockAt(byHash.get(String(params[0])) ?? -1)?.json ?? "null";
    case "eth_getBlockReceipts":
      return `[${blockAt(heightOf(params[0]))?.receipts.join(",") ?? ""}]`;
    case "eth_getTransactionReceipt":
      return receiptOf.get(String(params[0])) ?? "null";
    case "eth_getLogs":
      return logsOf(params[0] as Filter);
    case "eth_call":
      return called(params[0] as { data: string }, params[1]);
    default:
      return undefined;
  }
}

function blockAt(height: number): ServedBlock | undefined {
  return height <= head ? chain[height] : undefined;
}

function heightOf(tag: unknown): number {
  if (typeof tag === "object" && tag !== null) return byHash.get((tag as { blockHash: string }).blockHash) ?? -1;
  const text = String(tag);
  if (text.length === 66) return byHash.get(text) ?? -1;
  if (text.startsWith("0x")) return Number(text);
  return text === "earliest" ? 0 : head;
}

function logsOf(filter: Filter): string {
  const one = filter.blockHash === undefined ? null : heightOf(filter.blockHash);
  const from = one ?? heightOf(filter.fromBlock);
  const to = Math.min(one ?? heightOf(filter.toBlock), head);
  const topics = (filter.topics ?? []).map((wanted) =>
    wanted === null ? null : new Set([wanted].flat().map((topic) => String(topic).toLowerCase())),
  );
  const found: string[] = [];
  for (let height = from; height <= to; height++) {
    for (const log of chain[height]?.logs ?? []) {
      if (topics.every((wanted, n) => wanted === null || wanted.has(log.topics[n] ?? ""))) found.push(log.json);
    }
  }
  return `[${found.join(",")}]`;
}

/** symbol(), decimals(), and balanceOf() at the block asked for. */
function called({ data }: { data: string }, tag: unknown): string {
  const word = (value: bigint) => value.toString(16).padStart(WORD, "0");
  if (data === "0x95d89b41") return `"0x${word(32n)}${word(3n)}${"42454e".padEnd(WORD, "0")}"`;
  if (data === "0x313ce567") return `"0x${word(6n)}"`;
  const height = heightOf(tag);
  const paid = (paidAt.get(`0x${data.slice(10)}`) ?? []).filter((at) => at <= height).length;
  return `"0x${word(BigInt(paid) * UNITS)}"`;
}

process.on("message", (message: { open?: number; count?: true }) => {
  if (message.open !== undefined) {
    head = message.open;
    counted = { requests: 0, calls: {}, bytes: 0, firstAt: null };
    process.send?.({ opened: head });
  }
  if (message.count) process.send?.({ counted });
});
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as AddressInfo).port }));
