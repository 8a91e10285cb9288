/**
 * A node that shows a chain in memory over Solana's JSON-RPC, with whatever faults a test sets on it. Codes and texts are
 * those of Agave 4. It answers in process (`fetch`) or over HTTP (`listen`).
 *
 *   const node = new SolanaNodeDouble(chain);
 *   node.lag = 2; node.down = true;
 *   node.hide(slot);                          as if it did not have this block; node.refuseBlock(slot, code, text)
 *   node.on("getBlock", (params, honest) => ...);  a fault by method; throw RpcError(code, text) for an error
 *   node.next("sendTransaction", 1, () => { throw new RpcError(-32005, "Node is behind by 42 slots"); });
 *   node.loseAnswers("sendTransaction");      done, and never answered
 *   node.forget(signature);                   as if it had never seen it
 *   node.forwards = false;                    takes transactions and passes none on
 */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { base64 } from "@scure/base";
import type { Fault, Json } from "./model-chain.ts";
import type { ChainBlock, SolanaChain } from "./solana-chain.ts";
import { accountJson, accountsJson, RpcError, statusJson, transactionJson } from "./solana-json.ts";
import type { HttpFault } from "./wallet-chain.ts";

interface Call {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: readonly unknown[];
}

const HISTORY = { commitment: "finalized" };

export class SolanaNodeDouble {
  chain: SolanaChain;
  /** Blocks at the top that this node does not have yet. */
  lag = 0;
  down = false;
  forwards = true;
  /** Micro-lamports per unit that it says others paid lately. */
  priorityFees: readonly number[] = [];
  http: HttpFault | null = null;
  /** Methods asked for, in order. */
  readonly asked: string[] = [];
  readonly calls: Call[] = [];
  /** What came to `sendTransaction`, base64, taken or not. */
  readonly sent: string[] = [];
  genesis: string | null = null;
  readonly #faults = new Map<string, Fault>();
  readonly #hidden = new Set<number>();
  readonly #refused = new Map<number, RpcError>();
  readonly #forgotten = new Set<string>();

  constructor(chain: SolanaChain) {
    this.chain = chain;
  }

  on(method: string, fault: Fault | null): void {
    if (fault === null) this.#faults.delete(method);
    else this.#faults.set(method, fault);
  }

  next(method: string, times: number, fault: Fault): void {
    let left = times;
    this.on(method, (params, honest) => (left-- > 0 ? fault(params, honest) : honest()));
  }

  /** Left out of every list, and its slot called skipped. Null: as usual. */
  hide(slot: number | null): void {
    if (slot === null) this.#hidden.clear();
    else this.#hidden.add(slot);
  }

  /** Listed, and not given. */
  refuseBlock(slot: number, code: number, message: string): void {
    this.#refused.set(slot, new RpcError(code, message));
  }

  forget(signature: string): void {
    this.#forgotten.add(signature);
  }

  honestAgain(): void {
    for (const set of [this.#faults, this.#hidden, this.#refused, this.#forgotten]) set.clear();
    this.http = null;
    this.down = false;
  }

  /** Does what the next `times` requests with this method ask, and their answers never arrive. */
  loseAnswers(method: string, times = 1): void {
    let left = times;
    this.http = async (methods, honest) => {
      const answered = await honest();
      if (methods.includes(method) && left-- > 0) throw new TypeError("fetch failed");
      return answered;
    };
  }

  readonly fetch: typeof fetch = async (_input: unknown, init?: RequestInit) => {
    if (this.down) throw new TypeError("fetch failed");
    return this.answer(String(init?.body));
  };

  async answer(body: string): Promise<Response> {
    const calls = [JSON.parse(body)].flat() as Call[];
    for (const call of calls) {
      this.asked.push(call.method);
      this.calls.push(call);
      if (call.method === "sendTransaction") this.sent.push(String(call.params?.[0]));
    }
    const methods = calls.map(({ method }) => method);
    const honest = async () => this.respond(body);
    return this.http === null ? honest() : this.http(methods, honest);
  }

  respond(body: string): Response {
    const calls = JSON.parse(body) as Call | Call[];
    return Response.json(Array.isArray(calls) ? calls.map((call) => this.#answer(call)) : this.#answer(calls));
  }

  /** Serves over HTTP on a free port of loopback. */
  async listen(port = 0): Promise<{ readonly url: string; close(): Promise<void> }> {
    const server = createServer(async (request, reply) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      try {
        if (this.down) throw new TypeError("fetch failed");
        const response = await this.answer(Buffer.concat(chunks).toString("utf8"));
        reply.writeHead(response.status, { "content-type": "application/json" });
        reply.end(await response.text());
      } catch {
        request.socket.destroy();
      }
    });
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      async close() {
        server.closeAllConnections();
        server.close();
        await once(server, "close");
      },
    };
  }

  #answer({ id, method, params = [] }: Call): Json {
    try {
      const honest = () => this.honest(method, params);
      const fault = this.#faults.get(method);
      return { jsonrpc: "2.0", id, result: fault === undefined ? honest() : fault(params, honest) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { jsonrpc: "2.0", id, error: { code: error.code, message: error.message } };
    }
  }

  get #blocks(): readonly ChainBlock[] {
    return this.chain.blocks
      .slice(0, this.chain.blocks.length - this.lag)
      .filter(({ slot }) => !this.#hidden.has(slot));
  }

  /** Height of the newest block of this commitment. */
  #top({ commitment = "finalized" }: { readonly commitment?: string } = {}): ChainBlock {
    const top = this.chain.head - this.lag - (commitment === "finalized" ? this.chain.unfinal : 0);
    return this.chain.at(Math.max(0, top));
  }

  /** Blocks of this commitment; `processed` is not one that blocks are given for. */
  #history(config: { readonly commitment?: string } = {}): readonly ChainBlock[] {
    if (config.commitment === "processed")
      throw new RpcError(-32602, "Method does not support commitment below `confirmed`");
    const top = this.#top(config).height;
    return this.#blocks.filter(({ height }) => height <= top);
  }

  /** What it would honestly say. @throws RpcError */
  honest(method: string, params: readonly unknown[]): unknown {
    const [first, second] = params;
    const third = params[2] as { commitment?: string } | undefined;
    const config = (typeof second === "object" ? second : first) as Json & { commitment?: string };
    switch (method) {
      case "getGenesisHash":
        return this.genesis ?? this.chain.genesis;
      case "getSlot":
        return this.#top(first as Json).slot;
      case "getEpochInfo": {
        const { slot, height } = this.#top(first as Json);
        return { absoluteSlot: slot, blockHeight: height, epoch: 0, slotIndex: slot, slotsInEpoch: 432_000 };
      }
      case "getBlockHeight":
        return this.#top(first as Json).height;
      case "getBlocks":
        return this.#history(third).flatMap(({ slot }) =>
          slot >= Number(first) && slot <= Number(second) ? slot : [],
        );
      case "getBlocksWithLimit": {
        const from = this.#history(third).filter(({ slot }) => slot >= Number(first));
        return from.slice(0, Number(second)).map(({ slot }) => slot);
      }
      case "getBlock":
        return this.#block(Number(first), second as Json);
      case "getLatestBlockhash": {
        const top = this.#top(first as Json);
        return this.#withContext(first as Json, { blockhash: top.hash, lastValidBlockHeight: top.height + 150 });
      }
      case "isBlockhashValid":
        return this.#withContext(config, this.chain.isGoodHash(String(first)));
      case "getMultipleAccounts":
        return this.#withContext(
          config,
          (first as string[]).map((who) => this.#account(who, config)),
        );
      case "getAccountInfo":
        return this.#withContext(config, this.#account(String(first), config));
      case "getBalance":
        return this.#withContext(
          config,
          Number(this.chain.accountAt(String(first), this.#top(config).height)?.lamports ?? 0n),
        );
      case "getMinimumBalanceForRentExemption":
        return Number(this.chain.svm.minimumBalanceForRentExemption(BigInt(Number(first))));
      case "getRecentPrioritizationFees":
        return this.priorityFees.map((prioritizationFee, i) => ({ slot: this.#top().slot - i, prioritizationFee }));
      case "getSignatureStatuses":
        return this.#withContext(
          { commitment: "processed" },
          (first as string[]).map((signature) => this.#status(signature)),
        );
      case "getTransaction":
        return this.#transaction(String(first), second as Json);
      case "sendTransaction":
        return this.#send(String(first));
      case "simulateTransaction": {
        const { err, units, logs } = this.chain.simulate(base64.decode(String(first)), config.sigVerify === true);
        return this.#withContext(config, { err, logs, unitsConsumed: Number(units) });
      }
      default:
        throw new RpcError(-32601, "Method not found");
    }
  }

  #withContext(config: { readonly commitment?: string } | undefined, value: unknown): Json {
    return { context: { slot: this.#top(config).slot, apiVersion: "4.2.2" }, value };
  }

  #block(slot: number, config: Json & { readonly commitment?: string }): Json {
    const { transactionDetails = "full", maxSupportedTransactionVersion } = config;
    const refused = this.#refused.get(slot);
    if (refused !== undefined) throw refused;
    if (slot > this.#top(config).slot) throw new RpcError(-32004, `Block not available for slot ${slot}`);
    const block = this.#history(config).find((candidate) => candidate.slot === slot);
    if (block === undefined) {
      throw new RpcError(-32007, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`);
    }
    const head = {
      blockHeight: block.height,
      blockTime: block.time,
      blockhash: block.hash,
      parentSlot: block.parentSlot,
      previousBlockhash: block.parentHash,
    };
    if (transactionDetails === "none") return head;
    const transactions = block.txs.map((tx) => transactionJson(tx, maxSupportedTransactionVersion));
    if (transactionDetails !== "accounts") return { ...head, transactions };
    return { ...head, transactions: block.txs.map((tx, i) => ({ ...transactions[i], ...accountsJson(tx) })) };
  }

  #account(who: string, config: { readonly commitment?: string }): Json | null {
    const account = this.chain.accountAt(who, this.#top(config).height);
    return account === null ? null : accountJson(account);
  }

  #status(signature: string): Json | null {
    const found = this.#forgotten.has(signature) ? null : this.chain.find(signature);
    if (found === null || found.block.height > this.#top({ commitment: "processed" }).height) return null;
    return statusJson(found.tx, found.block.slot, found.block.height <= this.#top(HISTORY).height);
  }

  #transaction(signature: string, config: Json): Json | null {
    const found = this.#forgotten.has(signature) ? null : this.chain.find(signature);
    if (found === null || found.block.height > this.#top(config as { commitment?: string }).height) return null;
    const { slot, time } = found.block;
    return { slot, blockTime: time, ...transactionJson(found.tx, config.maxSupportedTransactionVersion) };
  }

  /** As with `skipPreflight`: whatever can be decoded is taken. */
  #send(raw: string): string {
    let bytes: Uint8Array;
    try {
      bytes = base64.decode(raw);
    } catch {
      throw new RpcError(-32602, "invalid base64 encoding");
    }
    const signature = this.chain.send(bytes);
    if (!this.forwards) this.chain.waiting.delete(signature);
    return signature;
  }
}
