/**
 * Many clients that ask without a pause over kept connections, each for the next thing when the last was answered. Speaks as
 * much HTTP/1.1 as that takes, on bare sockets: what asks must cost less than what answers.
 */

import { connect } from "node:net";
import { quantile } from "./result.ts";

export interface Load {
  readonly seconds: number;
  readonly answers: number;
  /** How often each status came. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * Asks for about `seconds`, and ends when all that was asked is answered.
 * @param next the request that a client sends now
 * @throws when a connection breaks
 */
export async function load(port: number, clients: number, seconds: number, next: () => string): Promise<Load> {
  const latencies: number[] = [];
  const statuses: Record<number, number> = {};
  const from = performance.now();
  const until = from + seconds * 1_000;
  const ask = async () => {
    const line = await open(port);
    while (performance.now() < until) {
      const sent = performance.now();
      const status = await line.ask(next());
      latencies.push(performance.now() - sent);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    line.close();
  };
  await Promise.all(Array.from({ length: clients }, ask));
  const took = (performance.now() - from) / 1_000;
  return {
    seconds: took,
    answers: latencies.length,
    statuses,
    perSecond: latencies.length / took,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  };
}

/** The request's text, as it goes over the wire. */
export function requestText(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: object | null,
): string {
  const text = body === null ? "" : JSON.stringify(body);
  const lines = Object.entries({ host: "127.0.0.1", ...headers }).map(([name, value]) => `${name}: ${value}`);
  if (body !== null) lines.push("content-type: application/json", `content-length: ${Buffer.byteLength(text)}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${text}`;
}

interface Line {
  ask(request: string): Promise<number>;
  close(): void;
}

function open(port: number): Promise<Line> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    let held = "";
    let waiting: ((status: number) => void) | null = null;
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the service closed a connection")));
    // One character a byte: lengths are counted in bytes.
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      held = held === "" ? text : held + text;
      if (!isWhole(held)) return;
      const status = Number(held.slice(9, 12));
      held = "";
      waiting?.(status);
    });
    socket.once("connect", () =>
      resolve({
        ask: (request) =>
          new Promise((answered) => {
            waiting = answered;
            socket.write(request);
          }),
        close: () => socket.removeAllListeners("close").destroy(),
      }),
    );
  });
}

/** Whether a whole answer has come. */
function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end + 2))?.[1];
  return length === undefined ? text.endsWith("0\r\n\r\n") : text.length >= end + 4 + Number(length);
}
