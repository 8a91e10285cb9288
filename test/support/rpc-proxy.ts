/**
 * A provider of JSON-RPC between the service and a real node: it forwards, and misbehaves as its script says.
 * Its URL carries a secret, as providers' URLs do: in its path, or as a password where nodes want one.
 */

import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

export type Reply =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } };

export type Item = Reply & { readonly jsonrpc: "2.0"; readonly id: unknown };

export interface Faults {
  /** The whole request, refused before any node is asked. */
  readonly refuse?: (calls: readonly Call[]) => { readonly status: number; readonly body: string } | null;
  /** What is asked instead. */
  readonly rewrite?: (call: Call) => Call;
  /** The connection is cut: before any node has seen the request, or after, so that the answer is lost alone. */
  readonly lose?: (call: Call) => "request" | "answer" | null;
  /** URL of the node that answers this call of a request; by default the proxy's own. */
  readonly route?: (call: Call, request: RequestFacts) => string | null;
  /** A reply without asking any node. */
  readonly instead?: (call: Call) => Reply | null;
  /** What becomes of a node's reply on its way. */
  readonly amend?: (call: Call, reply: Reply) => Reply;
  /** What becomes of a batch's items on their way. */
  readonly shape?: (items: readonly Item[]) => readonly Item[];
}

export interface RequestFacts {
  /** 1 for the first that came. */
  readonly number: number;
  readonly calls: readonly Call[];
}

export interface Held {
  /** Lets the request go on to the node. */
  release(): void;
  /** Lets it go on and keeps the answer for ever. Resolves when the node has answered. */
  swallow(): Promise<void>;
  /** Cuts the connection; no node has seen the request. */
  cut(): void;
}

export interface ProxyOptions {
  /** The secret is a password that every request must have, as a Bitcoin node wants it. */
  readonly login?: boolean;
}

export interface RpcProxy {
  /** With the secret in it. */
  readonly url: string;
  readonly secret: string;
  /** Requests so far. */
  readonly requests: () => number;
  /** Signed bytes that came to be sent, in order, whatever became of them. */
  readonly sent: readonly string[];
  /** The node that answers when the script names no other, with its password in the URL; null: nobody, HTTP 503. */
  setNode(url: string | null): void;
  /** Replaces the script. */
  setFaults(faults: Faults): void;
  /**
   * Resolves once the next request with such a call has come, by itself or in a batch; it stays unanswered until
   * it is released. Several may be waited for at once, and each catches one request.
   */
  hold(wanted: (call: Call) => boolean): Promise<Held>;
  close(): Promise<void>;
}

export async function startRpcProxy({ login = false }: ProxyOptions = {}): Promise<RpcProxy> {
  const secret = `rpc-${randomBytes(16).toString("hex")}`;
  let node: string | null = null;
  let faults: Faults = {};
  let requests = 0;
  const sent: string[] = [];
  let traps: readonly Trap[] = [];

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    if (login && message.headers.authorization !== basic(USER, secret)) {
      message.resume();
      response.writeHead(401).end();
      return;
    }
    const body = JSON.parse(await textOf(message)) as RpcRequest | RpcRequest[];
    requests += 1;
    const calls = Array.isArray(body) ? body : [body];
    sent.push(...calls.flatMap(({ method, params }) => (SENDS.has(method) ? String(params[0]) : [])));
    const trap = traps.find(({ wanted }) => calls.some(wanted));
    if (trap !== undefined) {
      traps = traps.filter((other) => other !== trap);
      await new Promise<void>((release) => {
        const swallow = async () => void (await answer(calls, faults, node ?? "", requests));
        trap.caught({ release, swallow, cut: () => response.destroy() });
      });
    }
    // The script as it is now: it may have been changed while the request was held.
    const script = faults;
    const refused = script.refuse?.(calls) ?? null;
    if (refused !== null || node === null) {
      response.writeHead(refused?.status ?? 503).end(refused?.body ?? "no backend");
      return;
    }
    const lost = new Set(calls.map((call) => script.lose?.(call) ?? null));
    const items = lost.has("request") ? [] : await answer(calls, script, node, requests);
    if (lost.has("request") || lost.has("answer")) {
      response.destroy();
      return;
    }
    const shaped = Array.isArray(body) ? (script.shape?.(items) ?? items) : items[0];
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(shaped));
  }

  const server = createServer((message, response) => {
    serve(message, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(502);
      response.end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: login ? `http://${USER}:${secret}@127.0.0.1:${port}` : `http://127.0.0.1:${port}/v2/${secret}`,
    secret,
    requests: () => requests,
    sent,
    setNode: (url) => {
      node = url;
    },
    setFaults: (next) => {
      faults = next;
    },
    hold: (wanted) =>
      new Promise((caught) => {
        traps = [...traps, { wanted, caught }];
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** The node's head looks as if it were at `height`. */
export function headAt(height: number): Faults {
  return {
    rewrite: (call) => (asksForHead(call) ? { ...call, params: [`0x${height.toString(16)}`, call.params[1]] } : call),
  };
}

export function asksForHead(call: Call): boolean {
  return call.method === "eth_getBlockByNumber" && call.params[0] === "latest";
}

export function isSend(call: Call): boolean {
  return SENDS.has(call.method);
}

const SENDS: ReadonlySet<string> = new Set(["eth_sendRawTransaction", "sendrawtransaction", "sendTransaction"]);
const USER = "sluice";

interface Trap {
  readonly wanted: (call: Call) => boolean;
  readonly caught: (held: Held) => void;
}

interface RpcRequest extends Call {
  readonly id: unknown;
}

/** In the calls' order, whatever the nodes' was. */
async function answer(requests: readonly RpcRequest[], script: Faults, node: string, number: number): Promise<Item[]> {
  const items = new Array<Item>(requests.length);
  const byNode = new Map<string, { place: number; call: Call }[]>();
  for (const [place, request] of requests.entries()) {
    const call = script.rewrite?.(request) ?? request;
    const made = script.instead?.(call) ?? null;
    if (made !== null) {
      items[place] = { jsonrpc: "2.0", id: request.id, ...made };
      continue;
    }
    const url = script.route?.(call, { number, calls: requests }) ?? node;
    byNode.set(url, [...(byNode.get(url) ?? []), { place, call }]);
  }
  for (const [url, asked] of byNode) {
    const replies = await forward(
      url,
      asked.map(({ call }) => call),
    );
    for (const [i, { place, call }] of asked.entries()) {
      const reply = replies[i] ?? { error: { code: -32603, message: "the node left this call out" } };
      items[place] = { jsonrpc: "2.0", id: requests[place]?.id, ...(script.amend?.(call, reply) ?? reply) };
    }
  }
  return items;
}

async function forward(node: string, calls: readonly Call[]): Promise<Reply[]> {
  // fetch refuses a URL with credentials in it.
  const url = new URL(node);
  const identity = url.password === "" ? {} : { authorization: basic(url.username, decodeURIComponent(url.password)) };
  url.username = "";
  url.password = "";
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...identity },
    body: JSON.stringify(calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }))),
  });
  const items = (await response.json()) as (Reply & { id: number })[];
  const replies = new Array<Reply>(calls.length);
  for (const { id, ...rest } of items) replies[id] = "result" in rest ? { result: rest.result } : { error: rest.error };
  return replies;
}

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
