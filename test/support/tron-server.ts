/**
 * A TRON provider over real HTTP: a node double behind a secret in the URL's path, which tests hold up, cut off and
 * make forget its answers.
 */

import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Held } from "./rpc-proxy.ts";
import type { Json, TronNodeDouble } from "./tron-double.ts";

export interface TronCall {
  /** `wallet/...` or `walletsolidity/...` */
  readonly path: string;
  readonly body: Json;
}

export interface TronServer {
  readonly url: string;
  readonly secret: string;
  /**
   * Resolves once the next such request has come; it stays unanswered until it is released. Several may be waited for at
   * once, and each catches one.
   */
  hold(wanted: (call: TronCall) => boolean): Promise<Held>;
  /** From now on: for these it says that the node took them, and the node never sees them. Null: for none. */
  forget(wanted: ((bytes: string) => boolean) | null): void;
  /** Bytes that it forgot. */
  readonly forgotten: readonly string[];
  close(): Promise<void>;
}

interface Trap {
  readonly wanted: (call: TronCall) => boolean;
  readonly caught: (held: Held) => void;
}

export async function startTronServer(double: TronNodeDouble): Promise<TronServer> {
  const secret = `tron-${randomBytes(16).toString("hex")}`;
  let traps: readonly Trap[] = [];
  let isForgotten: ((bytes: string) => boolean) | null = null;
  const forgotten: string[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, given, path] = /^\/([^/]+)\/(\w+\/\w+)$/.exec(request.url ?? "") ?? [];
    const body = await textOf(request);
    if (given !== secret || path === undefined) {
      response.writeHead(401).end();
      return;
    }
    const call = { path, body: JSON.parse(body) as Json };
    const ask = () => double.fetch(`http://node.test/${path}`, { method: "POST", body });
    const trap = traps.find(({ wanted }) => wanted(call));
    if (trap !== undefined) {
      traps = traps.filter((other) => other !== trap);
      await new Promise<void>((release) => {
        trap.caught({ release, swallow: async () => void (await ask()), cut: () => response.destroy() });
      });
    }
    const bytes = String(call.body.transaction);
    if (path === "wallet/broadcasthex" && isForgotten?.(bytes) === true) {
      forgotten.push(bytes);
      response.writeHead(200, JSON_TYPE).end(JSON.stringify({ result: true, code: "SUCCESS", message: "" }));
      return;
    }
    const answer = await ask();
    response.writeHead(answer.status, JSON_TYPE).end(await answer.text());
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/${secret}`,
    secret,
    hold: (wanted) =>
      new Promise((caught) => {
        traps = [...traps, { wanted, caught }];
      }),
    forget: (wanted) => {
      isForgotten = wanted;
    },
    forgotten,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const JSON_TYPE = { "content-type": "application/json" };

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
