/**
 * A Solana chain and its nodes as a process of their own, for tests that cannot load the validators' runtime: workerd,
 * and services under test. Started with `startSolana`, which talks to it; ends with whoever started it.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { SolanaChain } from "./solana-chain.ts";
import { SolanaNodeDouble } from "./solana-double.ts";
import { type Order, orderAt, restored, written } from "./solana-orders.ts";
import * as tokens from "./solana-tokens.ts";

export interface SolanaProcess {
  /** One for each node. */
  readonly urls: readonly string[];
  /** Where orders are posted, also from workerd. */
  readonly control: string;
  order(order: Order): Promise<unknown>;
  stop(): Promise<void>;
}

export async function startSolana(nodes = 1): Promise<SolanaProcess> {
  const script = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, ["--no-warnings", script, String(nodes)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    once(child, "exit").then(() => Promise.reject(new Error("the chain's process ended before it listened"))),
  ])) as [string];
  const { urls, control } = JSON.parse(line) as { urls: string[]; control: string };
  return { urls, control, order: (order) => orderAt(control, order), stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function serve(count: number): Promise<void> {
  const chain = new SolanaChain();
  const nodes = Array.from({ length: count }, () => new SolanaNodeDouble(chain));
  const targets = (on: Order["on"]) => (on === "chain" ? chain : on === "tokens" ? tokens : nodes[on]) as object;
  const carryOut = ({ on, call, with: given }: Order): unknown => {
    const target = targets(on) as Record<string, unknown>;
    const method = target[call];
    // What is no method is set: `lag`, `down`, `unfinal`.
    if (typeof method !== "function") return given.length === 0 ? method : void Reflect.set(target, call, given[0]);
    return Reflect.apply(method, target, on === "tokens" ? [chain, ...given] : given);
  };
  const control = createServer(async (request, reply) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    try {
      const done = carryOut(JSON.parse(Buffer.concat(chunks).toString("utf8"), restored) as Order);
      reply.writeHead(200).end(JSON.stringify(done, written) ?? "");
    } catch (error) {
      reply.writeHead(500).end(String(error));
    }
  });
  control.listen(0, "127.0.0.1");
  await once(control, "listening");
  const listening = await Promise.all(nodes.map((node) => node.listen()));
  const { port } = control.address() as AddressInfo;
  console.log(JSON.stringify({ urls: listening.map(({ url }) => url), control: `http://127.0.0.1:${port}` }));
  // The pipe closes with whoever started this, however that ends.
  process.stdin.resume();
  process.stdin.once("close", () => process.exit(0));
  process.stdin.once("end", () => process.exit(0));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(Number(process.argv[2] ?? 1));
