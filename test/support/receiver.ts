/**
 * A merchant's HTTP receiver on loopback: records every request as it came, raw body included, and
 * answers as its script says.
 */

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  /** Unix ms. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type Reply =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string | Buffer;
    }
  | { readonly kind: "redirect"; readonly status: number; readonly location: string }
  /** Takes the request and never says anything. */
  | { readonly kind: "hang" }
  /** A status at once, then one byte every `everyMs`, for ever. */
  | { readonly kind: "drip"; readonly status: number; readonly everyMs: number }
  /** So many bytes of body, as fast as they are taken. */
  | { readonly kind: "huge"; readonly status: number; readonly bytes: number }
  /** Cuts the connection without an answer. */
  | { readonly kind: "cut" };

/** @param index 0 for the first request that came */
export type Script = (request: Received, index: number) => Reply;

export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly requests: Received[];
  /** Bytes of body written in `huge` answers so far. */
  readonly bytesWritten: () => number;
  /** Requests that have neither been answered in full nor cut off. */
  readonly open: () => number;
  setScript(script: Script): void;
  /** Resolves with the first `count` requests. Rejects when they do not come in time. */
  waitFor(count: number, timeoutMs: number): Promise<Received[]>;
  close(): Promise<void>;
}

export const answer = (status: number, headers: Record<string, string> = {}, body: string | Buffer = ""): Script => {
  return () => ({ kind: "answer", status, headers, body });
};

export async function startReceiver(script: Script = answer(200)): Promise<Receiver> {
  const requests: Received[] = [];
  const timers = new Set<NodeJS.Timeout>();
  const count = { written: 0, open: 0 };
  let current = script;
  let waiters: (() => void)[] = [];

  const server = createServer((message, response) => {
    count.open++;
    response.on("close", () => count.open--);
    readBody(message).then(
      (body) => {
        const received = {
          at: Date.now(),
          method: message.method ?? "",
          path: message.url ?? "",
          headers: message.headers,
          body,
        };
        requests.push(received);
        reply(response, current(received, requests.length - 1), timers, count);
        for (const wake of waiters.splice(0)) wake();
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    requests,
    bytesWritten: () => count.written,
    open: () => count.open,
    setScript: (next) => {
      current = next;
    },
    waitFor: async (wanted, timeoutMs) => {
      const deadline = Date.now() + timeoutMs;
      while (requests.length < wanted) {
        const leftMs = deadline - Date.now();
        if (leftMs <= 0) throw new Error(`expected ${wanted} requests within ${timeoutMs} ms, got ${requests.length}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, leftMs);
          waiters.push(() => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
      return requests.slice(0, wanted);
    },
    close: async () => {
      for (const timer of timers) clearInterval(timer);
      waiters = [];
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function readBody(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function reply(response: ServerResponse, script: Reply, timers: Set<NodeJS.Timeout>, count: { written: number }): void {
  switch (script.kind) {
    case "answer":
      response.writeHead(script.status, script.headers).end(script.body);
      return;
    case "redirect":
      response.writeHead(script.status, { location: script.location }).end();
      return;
    case "hang":
      return;
    case "cut":
      response.destroy();
      return;
    case "drip": {
      response.writeHead(script.status).write(".");
      const timer = setInterval(() => response.write("."), script.everyMs);
      timers.add(timer);
      response.on("close", () => clearInterval(timer));
      return;
    }
    case "huge":
      response.writeHead(script.status);
      pour(response, script.bytes, count);
      return;
  }
}

/** Writes while the socket takes it, and goes on when it drained. */
function pour(response: ServerResponse, bytes: number, count: { written: number }): void {
  const chunk = Buffer.alloc(64 * 1024, "x");
  let left = bytes;
  const more = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= chunk.length;
      count.written += chunk.length;
      if (!response.write(chunk)) {
        response.once("drain", more);
        return;
      }
    }
    if (!response.destroyed) response.end();
  };
  more();
}
