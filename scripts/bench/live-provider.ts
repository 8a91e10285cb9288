/**
 * A provider between a reader of blocks and anvil: passes requests on as they are, and counts them, as a vendor's bill
 * does. One keep-alive connection each way; it costs each request about half a millisecond.
 */

import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface Asked {
  /** `performance.now()` when it had come. */
  readonly at: number;
  /** JSON-RPC calls in this one HTTP request: their methods. */
  readonly methods: readonly string[];
  /** Whether it asks where the chain stands: the begin of a poll. */
  readonly beginsPoll: boolean;
}

export interface Provider {
  readonly url: string;
  /** Every HTTP request so far. */
  readonly asked: Asked[];
  close(): Promise<void>;
}

export async function startProvider(node: string): Promise<Provider> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const asked: Asked[] = [];
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on("data", (chunk) => chunks.push(chunk));
    message.on("end", () => {
      const body = Buffer.concat(chunks);
      asked.push({ at: performance.now(), ...callsIn(body) });
      const headers = { "content-type": "application/json", "content-length": body.length };
      const onward = request(node, { method: "POST", agent, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, { "content-type": "application/json" });
        answer.pipe(response);
      });
      onward.on("error", () => response.destroy());
      onward.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: async () => {
      server.closeAllConnections();
      agent.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function callsIn(body: Buffer): Pick<Asked, "methods" | "beginsPoll"> {
  const parsed = JSON.parse(body.toString("utf8")) as Call | Call[];
  const calls = Array.isArray(parsed) ? parsed : [parsed];
  const beginsPoll = calls.some(({ method, params }) => method === "eth_blockNumber" || params?.[0] === "latest");
  return { methods: calls.map(({ method }) => method), beginsPoll };
}

interface Call {
  readonly method: string;
  readonly params?: readonly unknown[];
}
