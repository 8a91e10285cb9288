/**
 * A node whose every answer can be scripted, over an imaginary chain whose blooms, receipts and roots agree
 * with each other. It answers in process (`fetch`) or over real HTTP (`listen`).
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { keccak_256 } from "@noble/hashes/sha3";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import { bloomOf, joinBlooms } from "../../src/chains/evm/bloom.ts";
import { receiptsRoot } from "../../src/chains/evm/receipts-root.ts";
import { parseReceipt } from "../../src/chains/evm/records.ts";

export interface FakeLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

export interface FakeFrame {
  readonly type: string;
  readonly from: string;
  readonly to: string;
  readonly value?: string;
  readonly error?: string;
  readonly calls?: readonly FakeFrame[];
}

export interface FakeTx {
  /** Default: derived from the block and the position. Given, it can be mined in two forks. */
  readonly hash?: string;
  readonly from?: string;
  readonly to?: string | null;
  readonly value?: bigint;
  readonly input?: string;
  readonly type?: number;
  readonly status?: 0 | 1;
  /** Ignored when `status` is 0. */
  readonly logs?: readonly FakeLog[];
  /** Below the transaction's own frame. */
  readonly frames?: readonly FakeFrame[];
}

export type Json = Record<string, unknown>;

export interface FakeBlock {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly header: Json;
  readonly transactions: readonly Json[];
  readonly receipts: readonly Json[];
  readonly traces: readonly Json[];
}

export const STRANGER = `0x${"5e".repeat(20)}`;
const NOBODY = `0x${"0b".repeat(20)}`;
const TRANSFER = digest("Transfer(address,address,uint256)");

/** A standard ERC-20 Transfer. */
export function transferLog(token: string, to: string, value: bigint, from: string = STRANGER): FakeLog {
  return { address: token, topics: [TRANSFER, word(from), word(to)], data: word(quantity(value)) };
}

/** Left-padded to 32 bytes. */
export function word(hex: string): string {
  return `0x${hex.slice(2).padStart(64, "0")}`;
}

export function quantity(value: number | bigint): string {
  return `0x${value.toString(16)}`;
}

export class FakeChain {
  readonly blocks: FakeBlock[];

  constructor(blocks: readonly FakeBlock[] = []) {
    this.blocks = [...blocks];
    if (blocks.length === 0) this.mine([]);
  }

  get head(): FakeBlock {
    return this.at(this.blocks.length - 1);
  }

  at(height: number): FakeBlock {
    const block = this.blocks[height];
    if (block === undefined) throw new Error(`the fake chain has no block ${height}`);
    return block;
  }

  /** Another chain that shares all blocks up to `height`. */
  fork(height: number): FakeChain {
    return new FakeChain(this.blocks.slice(0, height + 1));
  }

  /** @param salt tells siblings with the same contents apart. */
  mine(txs: readonly FakeTx[], salt = ""): FakeBlock {
    const height = this.blocks.length;
    const parentHash = this.blocks.at(-1)?.hash ?? word("0x0");
    const hash = digest(
      JSON.stringify([parentHash, height, salt, txs], (_, v) => (typeof v === "bigint" ? `${v}` : v)),
    );
    const ref = { blockHash: hash, blockNumber: quantity(height) };
    let logIndex = 0;
    const receipts = txs.map((tx, index) => {
      const own = { ...ref, transactionHash: tx.hash ?? digest(`${hash}/${index}`), transactionIndex: quantity(index) };
      const logs = (tx.status === 0 ? [] : (tx.logs ?? [])).map((log) => ({
        ...own,
        ...log,
        logIndex: quantity(logIndex++),
        removed: false,
      }));
      return {
        ...own,
        type: quantity(tx.type ?? 2),
        status: quantity(tx.status ?? 1),
        cumulativeGasUsed: quantity(50_000 * (index + 1)),
        logsBloom: bloomOf(logs),
        logs,
      };
    });
    const transactions = txs.map((tx, index) => ({
      ...ref,
      hash: receipts[index]?.transactionHash,
      transactionIndex: quantity(index),
      type: quantity(tx.type ?? 2),
      from: tx.from ?? STRANGER,
      to: tx.to === undefined ? NOBODY : tx.to,
      value: quantity(tx.value ?? 0n),
      input: tx.input ?? "0x",
    }));
    const header = {
      number: quantity(height),
      hash,
      parentHash,
      timestamp: quantity(1_700_000_000 + 12 * height),
      logsBloom: joinBlooms(receipts.map((receipt) => receipt.logsBloom)),
      receiptsRoot: receiptsRoot(receipts.map(parseReceipt)),
    };
    const traces = transactions.map((tx, index) => {
      const { status, frames } = txs[index] ?? {};
      const error = status === 0 ? { error: "execution reverted" } : {};
      return {
        txHash: tx.hash,
        result: { type: "CALL", from: tx.from, to: tx.to ?? NOBODY, value: tx.value, ...error, calls: frames ?? [] },
      };
    });
    const block = { height, hash, parentHash, header, transactions, receipts, traces };
    this.blocks.push(block);
    return block;
  }

  /** What an honest node with this chain says. @throws RpcRefusal */
  answer(method: string, params: readonly unknown[]): unknown {
    const [first, second] = params;
    switch (method) {
      case "eth_chainId":
        return "0x7a69";
      case "eth_getBlockByNumber":
        return shown(this.byTag(String(first)), second === true);
      case "eth_getBlockByHash":
        return shown(this.byHash(String(first)), second === true);
      case "eth_getBlockReceipts":
        return this.byHash(String(first))?.receipts ?? null;
      case "eth_getTransactionReceipt":
        return this.receiptOf(String(first));
      case "eth_getLogs":
        return this.logs(first as LogFilter);
      case "debug_traceBlockByHash": {
        const block = this.byHash(String(first));
        if (block === undefined) throw new RpcRefusal(-32000, "block not found");
        return block.traces;
      }
      case "debug_traceTransaction":
        return this.blocks.flatMap((block) => block.traces).find((trace) => trace.txHash === first)?.result ?? null;
      default:
        throw new RpcRefusal(-32601, `the method ${method} does not exist/is not available`);
    }
  }

  byTag(tag: string): FakeBlock | undefined {
    if (tag === "latest") return this.head;
    if (tag === "finalized") return this.blocks[Math.max(0, this.head.height - 64)];
    return this.blocks[Number(tag)];
  }

  byHash(hash: string): FakeBlock | undefined {
    return this.blocks.find((block) => block.hash === hash);
  }

  private receiptOf(txHash: string): Json | null {
    for (const block of this.blocks) {
      for (const receipt of block.receipts) if (receipt.transactionHash === txHash) return receipt;
    }
    return null;
  }

  private logs(filter: LogFilter): Json[] {
    const { blockHash } = filter;
    const blocks =
      blockHash === undefined
        ? this.blocks.slice(Number(filter.fromBlock), Number(filter.toBlock) + 1)
        : this.blocks.filter((block) => block.hash === blockHash);
    if (blockHash !== undefined && blocks.length === 0) throw new RpcRefusal(-32000, "unknown block");
    const all = blocks.flatMap((block) => block.receipts).flatMap((receipt) => receipt.logs as Json[]);
    return all.filter((log) => {
      const [topic] = log.topics as string[];
      const wanted = filter.topics?.[0];
      return (filter.address ?? []).includes(String(log.address)) && (wanted?.includes(String(topic)) ?? true);
    });
  }
}

export interface LogFilter {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly blockHash?: string;
  readonly address?: readonly string[];
  readonly topics?: readonly (readonly string[])[];
}

/** A JSON-RPC error object, thrown by a script. */
export class RpcRefusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

type Script = (params: readonly unknown[], honest: () => unknown) => unknown;
export type RpcRequest = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };

export class FakeNode {
  chain: FakeChain;
  /** Every call that reached a script, and every HTTP body. */
  readonly calls: RpcRequest[] = [];
  readonly bodies: unknown[] = [];
  /** Answers a whole HTTP request instead of the chain; null: as usual. */
  raw: ((body: unknown, index: number) => Response | Promise<Response> | null) | null = null;
  readonly #scripts = new Map<string, Script>();

  constructor(chain: FakeChain) {
    this.chain = chain;
  }

  /** Replaces the answers to one method. A thrown `RpcRefusal` is a JSON-RPC error. */
  on(method: string, script: Script): this {
    this.#scripts.set(method, script);
    return this;
  }

  lacks(...methods: readonly string[]): this {
    for (const method of methods) {
      this.on(method, () => {
        throw new RpcRefusal(-32601, `the method ${method} does not exist/is not available`);
      });
    }
    return this;
  }

  called(method: string): RpcRequest[] {
    return this.calls.filter((call) => call.method === method);
  }

  readonly fetch: typeof fetch = async (_input, init) => this.respond(JSON.parse(String(init?.body)));

  async respond(body: unknown): Promise<Response> {
    const index = this.bodies.push(body) - 1;
    const special = await this.raw?.(body, index);
    if (special) return special;
    return Response.json(Array.isArray(body) ? body.map((call) => this.answer(call)) : this.answer(body as RpcRequest));
  }

  answer(call: RpcRequest): Json {
    this.calls.push(call);
    const honest = () => this.chain.answer(call.method, call.params);
    try {
      const script = this.#scripts.get(call.method);
      return { jsonrpc: "2.0", id: call.id, result: script ? script(call.params, honest) : honest() };
    } catch (error) {
      if (!(error instanceof RpcRefusal)) throw error;
      return { jsonrpc: "2.0", id: call.id, error: { code: error.code, message: error.message } };
    }
  }

  /** Serves over HTTP on a free port of loopback. */
  async listen(): Promise<{ readonly url: string; close(): Promise<void> }> {
    const server = createServer(async (request, reply) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const response = await this.respond(JSON.parse(Buffer.concat(chunks).toString("utf8")));
      reply.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body) for await (const chunk of response.body) reply.write(chunk);
      reply.end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}`,
      async close() {
        server.closeAllConnections();
        server.close();
        await once(server, "close");
      },
    };
  }
}

function shown(block: FakeBlock | undefined, full: boolean): Json | null {
  if (block === undefined) return null;
  return { ...block.header, transactions: full ? block.transactions : block.transactions.map((tx) => tx.hash) };
}

function digest(text: string): string {
  return `0x${bytesToHex(keccak_256(utf8ToBytes(text)))}`;
}
