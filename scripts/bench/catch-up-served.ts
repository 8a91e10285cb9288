/** The parent's side of the node that serves a made-up chain. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { PROJECT } from "../install.mjs";
import type { ChainShape } from "./catch-up-chain.ts";
import type { Counted } from "./catch-up-node.ts";

export interface BenchNode {
  readonly url: string;
  /** Moves its head, and counts anew from here. */
  open(head: number): Promise<void>;
  count(): Promise<Counted>;
  stop(): void;
}

export async function startNode(shape: ChainShape): Promise<BenchNode> {
  const script = join(PROJECT, "scripts", "bench", "catch-up-node.ts");
  // It ends when its parent does: their channel closes.
  const child = fork(script, [JSON.stringify(shape)], { execArgv: ["--no-warnings"] });
  const said = async (message: object | null) => {
    const answer = once(child, "message");
    const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`the node ended with ${code}`)));
    ended.catch(() => {});
    if (message !== null) child.send(message);
    return (await Promise.race([answer, ended]))[0];
  };
  const { port } = (await said(null)) as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    open: async (head) => void (await said({ open: head })),
    count: async () => ((await said({ count: true })) as { counted: Counted }).counted,
    stop: () => child.kill(),
  };
}
