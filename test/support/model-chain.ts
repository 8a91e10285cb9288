/**
 * An EVM chain in memory, and nodes that show it over JSON-RPC in place of fetch. Blooms and receipts roots
 * are those that the adapter would compute, so every block proves itself. A transaction keeps its hash in
 * whatever block it is mined; a block keeps its hash in whatever fork it stands.
 */

import { bloomOf, EMPTY_BLOOM, joinBlooms } from "../../src/chains/evm/bloom.ts";
import { receiptsRoot } from "../../src/chains/evm/receipts-root.ts";
import { parseReceipt } from "../../src/chains/evm/records.ts";
import { TRANSFER_TOPIC } from "../../src/core/transfer-log.ts";

export type Json = Record<string, unknown>;

export interface Tx {
  readonly hash: string;
  readonly to: string;
  readonly value: bigint;
  readonly logs: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: string }[];
  readonly status: 0 | 1;
  /** Calls below the transaction's own. */
  readonly calls: readonly { readonly to: string; readonly value: bigint }[];
  /** Absent: a stranger's, about whom nothing else is known. */
  readonly sent?: {
    readonly from: string;
    readonly nonce: number;
    readonly gasUsed: bigint;
    readonly gasPrice: bigint;
  };
}

export interface Block {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: number;
  readonly txs: readonly Tx[];
  readonly receipts: readonly Json[];
  readonly bloom: string;
  readonly root: string;
}

export const STRANGER = `0x${"5e".repeat(20)}`;
const EMPTY_ROOT = receiptsRoot([]);
const SECONDS_PER_BLOCK = 12;
const FIRST_TIMESTAMP = 1_700_000_000;
const REACHED_WITHIN_MS = 1_000;

let counter = 0;
/** A number nobody had before, as hex of so many bytes. */
function fresh(bytes: number, prefix: string): string {
  return `0x${prefix}${(++counter).toString(16).padStart(bytes * 2 - prefix.length, "0")}`;
}

/** Begins anew, for a run that must be the same as another one. */
export function resetFresh(): void {
  counter = 0;
}

export const quantity = (value: number | bigint) => `0x${value.toString(16)}`;
export const word = (hex: string) => `0x${hex.slice(2).padStart(64, "0")}`;

/** An address nobody had before, lower case. */
export const newAddress = () => fresh(20, "ad");

function tx(more: Partial<Tx>): Tx {
  return { hash: fresh(32, "7a"), to: STRANGER, value: 0n, logs: [], status: 1, calls: [], ...more };
}

/** The chain's own coin. */
export const pay = (to: string, value: bigint, more: Partial<Tx> = {}) => tx({ to, value, ...more });

/** One transaction with a Transfer of this token for each receiver. */
export function payTokens(token: string, ...paid: readonly (readonly [to: string, units: bigint])[]): Tx {
  const logs = paid.map(([to, units]) => ({
    address: token,
    topics: [TRANSFER_TOPIC, word(STRANGER), word(to)],
    data: word(quantity(units)),
  }));
  return tx({ to: token, logs });
}

/** Coins sent by a contract. */
export const payThrough = (contract: string, ...calls: readonly { to: string; value: bigint }[]) =>
  tx({ to: contract, calls });

export class ModelChain {
  readonly #blocks: Block[];

  constructor(blocks: readonly Block[] = []) {
    this.#blocks = [...blocks];
    if (blocks.length === 0) this.mine([]);
  }

  get head(): number {
    return this.#blocks.length - 1;
  }

  at(height: number): Block | undefined {
    return this.#blocks[height];
  }

  byHash(hash: unknown): Block | undefined {
    return this.#blocks.find((block) => block.hash === hash);
  }

  /** One block for each list of transactions. @returns the last one */
  mine(...blocks: readonly (readonly Tx[])[]): Block {
    for (const txs of blocks) this.#blocks.push(this.#seal(txs));
    const last = this.#blocks.at(-1);
    if (last === undefined) throw new Error("a chain has at least one block");
    return last;
  }

  /** So many empty blocks. */
  grow(count: number): Block {
    return this.mine(...Array.from({ length: count }, () => []));
  }

  /** Another chain that shares all but the top `depth` blocks. */
  fork(depth: number): ModelChain {
    return new ModelChain(this.#blocks.slice(0, this.#blocks.length - depth));
  }

  /** Takes the top `depth` blocks off and mines these in their place. */
  reorg(depth: number, ...blocks: readonly (readonly Tx[])[]): void {
    this.#blocks.length -= depth;
    this.mine(...blocks);
  }

  logs(from: number, to: number): Json[] {
    return this.#blocks
      .slice(from, to + 1)
      .flatMap((block) => block.receipts)
      .flatMap((receipt) => receipt.logs as Json[]);
  }

  #seal(txs: readonly Tx[]): Block {
    const height = this.#blocks.length;
    const hash = fresh(32, "b0");
    const place = { blockHash: hash, blockNumber: quantity(height) };
    let logIndex = 0;
    const receipts = txs.map((tx, index) => {
      const own = { ...place, transactionHash: tx.hash, transactionIndex: quantity(index) };
      const logs = tx.logs.map((log) => ({ ...own, ...log, logIndex: quantity(logIndex++), removed: false }));
      const gas = { type: "0x2", status: quantity(tx.status), cumulativeGasUsed: quantity(21_000 * (index + 1)) };
      const { gasUsed = 21_000n, gasPrice = 1n } = tx.sent ?? {};
      const fee = { gasUsed: quantity(gasUsed), effectiveGasPrice: quantity(gasPrice) };
      return { ...own, ...gas, ...fee, logsBloom: bloomOf(logs), logs };
    });
    return {
      height,
      hash,
      parentHash: this.#blocks.at(-1)?.hash ?? word("0x0"),
      timestamp: FIRST_TIMESTAMP + SECONDS_PER_BLOCK * height,
      txs,
      receipts,
      bloom: txs.length === 0 ? EMPTY_BLOOM : joinBlooms(receipts.map((receipt) => receipt.logsBloom)),
      root: txs.length === 0 ? EMPTY_ROOT : receiptsRoot(receipts.map(parseReceipt)),
    };
  }
}

export type Fault = (params: readonly unknown[], honest: () => unknown) => unknown;

/** Thrown by a fault: an answer with this code. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** One provider. What it shows is its chain, changed by whatever faults were set on it. */
export class ModelNode {
  chain: ModelChain;
  /** Blocks at the top that this node does not have yet. */
  lag = 0;
  /** No answer at all. */
  down = false;
  /** Height the chain's own tag names; null: none. */
  finalized: number | null = null;
  readonly tokens = new Map<string, { readonly symbol: string; readonly decimals: number }>();
  readonly #faults = new Map<string, Fault>();
  #held: { readonly method: string; readonly gate: Gate } | null = null;

  constructor(chain: ModelChain) {
    this.chain = chain;
  }

  /** Answers a method otherwise; a thrown Error is a JSON-RPC error. Null: honestly again. */
  on(method: string, fault: Fault | null): void {
    if (fault === null) this.#faults.delete(method);
    else this.#faults.set(method, fault);
  }

  /** Answers a method otherwise for the next `times` calls. */
  next(method: string, times: number, fault: Fault): void {
    let left = times;
    this.on(method, (params, honest) => (left-- > 0 ? fault(params, honest) : honest()));
  }

  /** Keeps back every answer to a method until the gate is opened. */
  hold(method: string): Gate {
    this.#held = { method, gate: new Gate() };
    return this.#held.gate;
  }

  async answer(body: string): Promise<Response> {
    if (this.#held !== null && body.includes(`"${this.#held.method}"`)) await this.#held.gate.pass();
    return this.respond(body);
  }

  respond(body: string): Response {
    const calls = JSON.parse(body) as RpcCall | RpcCall[];
    return Response.json(Array.isArray(calls) ? calls.map((call) => this.#answer(call)) : this.#answer(calls));
  }

  #answer({ id, method, params }: RpcCall): Json {
    try {
      const honest = () => this.honest(method, params);
      const fault = this.#faults.get(method);
      return { jsonrpc: "2.0", id, result: fault === undefined ? honest() : fault(params, honest) };
    } catch (error) {
      const code = error instanceof RpcError ? error.code : -32000;
      return { jsonrpc: "2.0", id, error: { code, message: error instanceof Error ? error.message : "" } };
    }
  }

  protected honest(method: string, params: readonly unknown[]): unknown {
    const [first, second] = params;
    switch (method) {
      case "eth_chainId":
        return quantity(31_337);
      case "eth_getBlockByNumber":
        return shown(this.visible(this.#named(first)), second === true);
      case "eth_getBlockByHash":
        return shown(this.visible(this.chain.byHash(first)), second === true);
      case "eth_getBlockReceipts":
        return this.visible(this.chain.byHash(first))?.receipts ?? null;
      case "eth_getTransactionReceipt":
        return this.#receipt(first);
      case "eth_getLogs":
        return this.#logs(first as Json);
      case "debug_traceBlockByHash":
        return this.#trace(this.visible(this.chain.byHash(first)));
      case "eth_call":
        return this.#call(first as { to: string; data: string }, second as { blockHash: string } | string);
      default:
        throw new Error(`the method ${method} does not exist/is not available`);
    }
  }

  #named(tag: unknown): Block | undefined {
    if (tag === "latest") return this.chain.at(this.chain.head - this.lag);
    if (tag === "finalized") return this.finalized === null ? undefined : this.chain.at(this.finalized);
    return this.chain.at(Number(tag));
  }

  protected visible(block: Block | undefined): Block | undefined {
    return block !== undefined && block.height <= this.chain.head - this.lag ? block : undefined;
  }

  #receipt(hash: unknown): unknown {
    for (let height = this.chain.head - this.lag; height >= 0; height--) {
      const found = this.chain.at(height)?.receipts.find((receipt) => receipt.transactionHash === hash);
      if (found !== undefined) return found;
    }
    return null;
  }

  #logs(filter: Json): Json[] {
    const named = filter.blockHash === undefined ? undefined : this.visible(this.chain.byHash(filter.blockHash));
    if (filter.blockHash !== undefined && named === undefined) throw new Error("unknown block");
    const from = named?.height ?? Number(filter.fromBlock);
    const to = named?.height ?? Math.min(Number(filter.toBlock), this.chain.head - this.lag);
    const contracts = filter.address as string[];
    return this.chain.logs(from, to).filter((log) => contracts.includes(String(log.address)));
  }

  #trace(block: Block | undefined): Json[] {
    if (block === undefined) throw new Error("block not found");
    return block.txs.map((tx) => {
      const error = tx.status === 0 ? { error: "execution reverted" } : {};
      const frame = (from: string, to: string, value: bigint) => ({ type: "CALL", from, to, value: quantity(value) });
      const calls = tx.calls.map((call) => frame(tx.to, call.to, call.value));
      const from = tx.sent?.from ?? STRANGER;
      return { txHash: tx.hash, result: { ...frame(from, tx.to, tx.value), ...error, calls } };
    });
  }

  /** decimals(), symbol(), and balanceOf(address) as the token's logs add up to it. */
  #call({ to, data }: { to: string; data: string }, at: { blockHash: string } | string): string {
    const token = this.tokens.get(to);
    if (token === undefined) return "0x";
    if (data.startsWith("0x70a08231")) {
      const block = typeof at === "string" ? undefined : this.visible(this.chain.byHash(at.blockHash));
      if (block === undefined) throw new Error("header not found");
      const holder = word(`0x${data.slice(-40)}`);
      const logs = this.chain.logs(0, block.height).filter((log) => log.address === to);
      const units = logs.reduce((sum, { topics, data }) => {
        const [, from, receiver] = topics as string[];
        const value = BigInt(data === "0x" ? 0 : String(data));
        return sum + (receiver === holder ? value : 0n) - (from === holder ? value : 0n);
      }, 0n);
      return word(quantity(units));
    }
    if (data === "0x313ce567") return word(quantity(token.decimals));
    const bytes = Array.from(token.symbol, (char) => char.charCodeAt(0).toString(16).padStart(2, "0")).join("");
    return `${word("0x20")}${word(quantity(token.symbol.length)).slice(2)}${bytes.padEnd(64, "0")}`;
  }
}

/**
 * Where one side waits for the other. By looking, not by a shared promise: in workerd a promise belongs to
 * the request that made it, and does not wake another one reliably.
 */
export class Gate {
  static readonly #all: Gate[] = [];
  #waiting = false;
  #open = false;

  constructor() {
    Gate.#all.push(this);
  }

  /** For a test that failed while somebody still waited. */
  static openAll(): void {
    for (const gate of Gate.#all.splice(0)) gate.open();
  }

  async pass(): Promise<void> {
    this.#waiting = true;
    while (!this.#open) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** Comes back when somebody waits at the gate. */
  async reached(): Promise<void> {
    const deadline = Date.now() + REACHED_WITHIN_MS;
    while (!this.#waiting) {
      if (Date.now() > deadline) throw new Error("nobody has come to the gate");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  open(): void {
    this.#open = true;
  }
}

interface RpcCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A block as JSON-RPC gives it. */
export function shown(block: Block | undefined, full: boolean): Json | null {
  if (block === undefined) return null;
  const { height, hash, parentHash, timestamp, bloom, root, txs } = block;
  const transactions = txs.map((tx, index) =>
    full
      ? {
          hash: tx.hash,
          blockHash: hash,
          transactionIndex: quantity(index),
          from: tx.sent?.from ?? STRANGER,
          to: tx.to,
          value: quantity(tx.value),
          ...(tx.sent === undefined ? {} : { nonce: quantity(tx.sent.nonce) }),
        }
      : tx.hash,
  );
  return {
    number: quantity(height),
    hash,
    parentHash,
    timestamp: quantity(timestamp),
    logsBloom: bloom,
    receiptsRoot: root,
    transactions,
  };
}
