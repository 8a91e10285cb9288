/**
 * Owns: the way from the service to the local chain's node, and what goes wrong on it.
 *
 * When nothing is to go wrong, bytes pass as they are, unread. Otherwise a request is answered whole by one mode: two
 * of them never meet in one answer.
 */

import { Agent, type IncomingMessage, request, type ServerResponse } from "node:http";
import { asked, hashIn, LAG_BLOCKS, shown } from "./lag.ts";
import { lie } from "./lies.ts";
import { askNode, type Call, isRecord, type Node, nodeAt, type Reply, type RpcRequest } from "./rpc.ts";
import { StuckFees } from "./stuck-fees.ts";

export const RPC_MODES = ["ok", "lag", "drop", "lie"] as const;
export type RpcMode = (typeof RPC_MODES)[number];

/** The ways in which a request is lost, in turn. */
const LOSSES = ["refused", "cut", "answer lost", "no answer"] as const;
const MAX_BODY_BYTES = 4 * 1024 * 1024;

export class RpcProxy {
  readonly fees = new StuckFees();
  readonly #url: string;
  readonly #node: Node;
  readonly #agent = new Agent({ keepAlive: true });
  /** Requests that get no answer, until the mode changes or the client leaves. */
  readonly #unanswered = new Set<ServerResponse>();
  #mode: RpcMode = "ok";
  #turn = 0;
  #gate: Promise<unknown> | null = null;

  constructor(url: string) {
    this.#url = url;
    this.#node = nodeAt(url);
  }

  get mode(): RpcMode {
    return this.#mode;
  }

  setMode(mode: RpcMode): void {
    this.#mode = mode;
    this.#turn = 0;
    for (const response of this.#unanswered) response.destroy();
    this.#unanswered.clear();
  }

  stick(stuck: boolean): Promise<void> {
    return this.fees.set(stuck, this.#node);
  }

  /** Lets no request through while `work` is at it. */
  async closedFor<T>(work: () => Promise<T>): Promise<T> {
    const done = work();
    const gate = done.catch(() => {});
    this.#gate = gate;
    try {
      return await done;
    } finally {
      if (this.#gate === gate) this.#gate = null;
    }
  }

  async serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#gate !== null) await this.#gate;
    if (this.#mode === "ok" && !this.fees.stuck) return this.#pass(message, response);
    const body = await bodyOf(message);
    const calls = callsIn(body);
    if (calls === null) {
      response.writeHead(400).end();
      return;
    }
    const mode = this.#mode;
    if (mode === "drop") return this.#drop(calls, response);
    const replies = await this.#answer(calls, mode);
    const items = replies.map((reply, i) => ({ jsonrpc: "2.0", id: calls[i]?.id ?? null, ...reply }));
    const isBatch = /^\s*\[/.test(body);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(isBatch ? items : items[0]));
  }

  #pass(message: IncomingMessage, response: ServerResponse): Promise<void> {
    return new Promise((resolve) => {
      const type = { "content-type": message.headers["content-type"] ?? "application/json" };
      const onward = request(this.#url, { method: "POST", headers: type, agent: this.#agent }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, {
          "content-type": answer.headers["content-type"] ?? "application/json",
        });
        answer.pipe(response);
        answer.once("close", resolve);
      });
      onward.once("error", () => {
        if (!response.headersSent) response.writeHead(502);
        response.end();
        resolve();
      });
      response.once("close", () => response.writableFinished || onward.destroy());
      message.pipe(onward);
    });
  }

  async #drop(calls: readonly RpcRequest[], response: ServerResponse): Promise<void> {
    switch (LOSSES[this.#turn++ % LOSSES.length]) {
      case "refused":
        response.writeHead(503).end("no backend");
        return;
      case "answer lost":
        await this.#answer(calls, "ok").catch(() => {});
        response.destroy();
        return;
      case "no answer":
        this.#unanswered.add(response);
        response.once("close", () => this.#unanswered.delete(response));
        return;
      default:
        response.destroy();
    }
  }

  async #answer(calls: readonly RpcRequest[], mode: RpcMode): Promise<Reply[]> {
    const replies = new Array<Reply | undefined>(calls.length);
    const onward: { readonly place: number; readonly call: Call }[] = [];
    const view = mode === "lag" ? await this.#viewBehind(calls) : null;
    for (const [place, call] of calls.entries()) {
      const ruling =
        this.fees.stuck && call.method === "eth_sendRawTransaction"
          ? await this.fees.rule(String(call.params[0]))
          : null;
      const made = ruling?.kind === "answer" ? ruling.reply : null;
      const next =
        made ?? (view === null ? call : asked(call, view.head, view.heights.get(hashIn(call) ?? "") ?? null));
      if ("method" in next) onward.push({ place, call: next });
      else replies[place] = next;
    }
    const given = await askNode(
      this.#url,
      onward.map(({ call }) => call),
    );
    const turn = mode === "lie" ? this.#turn++ : 0;
    for (const [i, { place }] of onward.entries()) {
      const call = calls[place];
      const reply = given[i];
      if (call === undefined || reply === undefined) continue;
      const counted = this.fees.stuck ? this.fees.amend(call, reply) : reply;
      if (view !== null) replies[place] = shown(call, counted, view.head);
      else replies[place] = mode === "lie" ? lie(call, counted, turn) : counted;
    }
    return replies.map((reply) => reply ?? { error: { code: -32_603, message: "no answer" } });
  }

  /** The head that is shown, and the heights of all blocks that are named by their hash. */
  async #viewBehind(calls: readonly Call[]): Promise<{ head: number; heights: Map<string, number> }> {
    const hashes = [...new Set(calls.map(hashIn).filter((hash) => hash !== null))];
    const [head, ...blocks] = await askNode(this.#url, [
      { method: "eth_blockNumber", params: [] },
      ...hashes.map((hash) => ({ method: "eth_getBlockByHash", params: [hash, false] })),
    ]);
    const height = head !== undefined && "result" in head ? Number(head.result) : 0;
    const heights = new Map<string, number>();
    for (const [i, block] of blocks.entries()) {
      if ("result" in block && isRecord(block.result)) heights.set(hashes[i] ?? "", Number(block.result.number));
    }
    return { head: Math.max(0, height - LAG_BLOCKS), heights };
  }

  close(): void {
    this.setMode("ok");
    this.#agent.destroy();
  }
}

function callsIn(body: string): RpcRequest[] | null {
  try {
    const parsed: unknown = JSON.parse(body);
    return [parsed].flat().map((item) => {
      if (!isRecord(item) || typeof item.method !== "string") throw new Error("not a call");
      return { id: item.id, method: item.method, params: Array.isArray(item.params) ? item.params : [] };
    });
  } catch {
    return null;
  }
}

/** @throws Error when it is longer than any request of the service */
export async function bodyOf(message: IncomingMessage, maxBytes = MAX_BODY_BYTES): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Error("the body is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
