/**
 * A real chain for one test file: anvil on a port of its own, chain id 31337, a block for each transaction.
 * It is gone when the test process is, however that ends short of a kill -9.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { anvilBinary } from "../../scripts/local-chain.mjs";
import { listensOn } from "../../scripts/ports.mjs";
import { atExit } from "./at-exit.ts";
import { freePort } from "./ports.ts";

export type Hex = `0x${string}`;

/** anvil's first accounts, unlocked, 10,000 ETH each. */
export const DEV_ACCOUNTS = [
  "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
  "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
] as const;

export interface Receipt {
  readonly transactionHash: Hex;
  readonly blockHash: Hex;
  readonly blockNumber: Hex;
  readonly contractAddress: Hex | null;
  readonly status: Hex;
  readonly logs: readonly {
    readonly address: Hex;
    readonly logIndex: Hex;
    readonly topics: readonly Hex[];
    readonly data: Hex;
  }[];
}

export interface TransactionRequest {
  readonly from?: Hex;
  readonly to?: Hex;
  /** Wei. */
  readonly value?: bigint;
  readonly data?: Hex;
  readonly gas?: bigint;
}

/** What can be asked of an anvil by its URL alone, whoever started it. */
export interface Chain {
  readonly url: string;
  /** @throws Error with the node's own message */
  rpc<T>(method: string, params?: readonly unknown[]): Promise<T>;
  height(): Promise<number>;
  mine(blocks?: number): Promise<void>;
  /**
   * Replaces the last `depth` blocks by as many new ones. `transactions` are mined again as
   * [raw or request, block offset]; all others are gone, also from the pool.
   */
  reorg(depth: number, transactions?: readonly (readonly [Hex | Record<string, unknown>, number])[]): Promise<void>;
  /** Sends from an unlocked account, by default the first, and gives the hash at once. */
  send(request: TransactionRequest): Promise<Hex>;
  /** Waits until the transaction is in a block. */
  receipt(hash: Hex): Promise<Receipt>;
  /** Pays native coin and waits for the block. */
  pay(to: string, wei: bigint): Promise<Receipt>;
  /** The transaction's signed bytes, to mine it again elsewhere. */
  rawTransaction(hash: Hex): Promise<Hex>;
}

export interface Anvil extends Chain {
  readonly port: number;
  stop(): Promise<void>;
}

const START_WITHIN_MS = 20_000;
const RECEIPT_WITHIN_MS = 20_000;

/** @param args further arguments of anvil's, e.g. `--no-mining`. */
export async function startAnvil(args: readonly string[] = []): Promise<Anvil> {
  const port = await freePort();
  // States of older blocks go to disk; by default into the user's home, where a kill leaves them.
  const cache = mkdtempSync(join(tmpdir(), "sluice-anvil-"));
  const child = spawn(anvilBinary(), ["--port", String(port), "--quiet", "--cache-path", cache, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const sweep = () => {
    child.kill("SIGKILL");
    rmSync(cache, { recursive: true, force: true });
  };
  const forget = atExit(sweep);
  const chain = chainAt(`http://127.0.0.1:${port}`);
  await untilAnswering(chain, child, port);
  return {
    ...chain,
    port,
    async stop() {
      forget();
      child.kill("SIGKILL");
      await exited;
      sweep();
    },
  };
}

/** It has been seen to hang. Mining thousands of blocks takes it a minute and more. */
const ANSWERS_WITHIN_MS = 150_000;

export function chainAt(url: string): Chain {
  let id = 0;

  async function rpc<T>(method: string, params: readonly unknown[] = []): Promise<T> {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params }),
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    }).catch((error: unknown) => {
      throw new Error(`anvil at ${url} gave no answer to ${method}`, { cause: error });
    });
    const answer = (await response.json()) as { result: T; error?: { code: number; message: string } };
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`);
    return answer.result;
  }

  async function send(request: TransactionRequest): Promise<Hex> {
    const { from = DEV_ACCOUNTS[0], to, value, data, gas } = request;
    const fields = {
      from,
      to,
      data,
      value: value === undefined ? undefined : hex(value),
      gas: gas === undefined ? undefined : hex(gas),
    };
    return rpc<Hex>("eth_sendTransaction", [fields]);
  }

  /** A receipt can be null for a moment after sending. */
  async function receipt(hash: Hex): Promise<Receipt> {
    const until = Date.now() + RECEIPT_WITHIN_MS;
    for (;;) {
      const found = await rpc<Receipt | null>("eth_getTransactionReceipt", [hash]);
      if (found !== null) return found;
      if (Date.now() > until) throw new Error(`no receipt for ${hash} within ${RECEIPT_WITHIN_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  return {
    url,
    rpc,
    send,
    receipt,
    height: async () => Number(await rpc<Hex>("eth_blockNumber")),
    mine: async (blocks = 1) => void (await rpc("anvil_mine", [hex(blocks)])),
    reorg: async (depth, transactions = []) => void (await rpc("anvil_reorg", [depth, transactions])),
    pay: async (to, wei) => receipt(await send({ to: to as Hex, value: wei })),
    rawTransaction: (hash) => rpc<Hex>("eth_getRawTransactionByHash", [hash]),
  };
}

export function hex(value: bigint | number): Hex {
  return `0x${value.toString(16)}`;
}

async function untilAnswering(chain: Chain, child: ChildProcess, port: number): Promise<void> {
  let says = "";
  child.stderr?.on("data", (chunk) => {
    says += chunk;
  });
  const until = Date.now() + START_WITHIN_MS;
  for (;;) {
    try {
      if (!listensOn(child.pid ?? 0, port)) throw new Error("another program answers");
      await chain.rpc("eth_chainId");
      return;
    } catch {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`anvil ended at its start: ${says}`);
      if (Date.now() > until) throw new Error(`anvil does not answer on ${chain.url}: ${says}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}
