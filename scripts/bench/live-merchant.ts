/**
 * A merchant's receiver: takes a webhook for true only when the package `standardwebhooks` verifies it, and remembers
 * when that was.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

export interface Told {
  /** `performance.now()` once the signature was verified. */
  readonly at: number;
  readonly type: string;
  readonly txId: string;
}

export interface Merchant {
  readonly url: string;
  readonly told: Told[];
  setSecret(secret: string): void;
  /** Resolves with the first that fits, now or within a minute. @throws Error */
  heard(fits: (told: Told) => boolean): Promise<Told>;
  close(): Promise<void>;
}

const HEARD_WITHIN_MS = 60_000;

export async function startMerchant(): Promise<Merchant> {
  let webhook: Webhook | null = null;
  const told: Told[] = [];
  let waiting: (() => void)[] = [];
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk) => chunks.push(chunk));
    message.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      try {
        const event = webhook?.verify(body, message.headers as Record<string, string>) as {
          type: string;
          data: { tx_id: string };
        };
        told.push({ at: performance.now(), type: event.type, txId: event.data.tx_id });
        response.writeHead(204).end();
      } catch (error) {
        console.error(`  a webhook was not genuine: ${error}`);
        response.writeHead(400).end();
      }
      for (const wake of waiting.splice(0)) wake();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    told,
    setSecret: (secret) => {
      webhook = new Webhook(secret);
    },
    heard: async (fits) => {
      for (const until = performance.now() + HEARD_WITHIN_MS; ; ) {
        const found = told.find(fits);
        if (found !== undefined) return found;
        const left = until - performance.now();
        if (left <= 0) throw new Error("no such webhook came within a minute");
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left);
          waiting.push(() => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
    },
    close: async () => {
      waiting = [];
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
