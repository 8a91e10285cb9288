/** One call to a Bitcoin node over JSON-RPC, each on a connection of its own: none is left over from before a restart. */

import { request } from "node:http";

const ANSWERS_WITHIN_MS = 150_000;

/** The node refused. Codes: Bitcoin Core's src/rpc/protocol.h. */
export class BitcoindError extends Error {
  readonly method: string;
  readonly code: number;
  readonly reason: string;

  constructor(method: string, code: number, reason: string) {
    super(`${method}: ${code} ${reason}`);
    this.method = method;
    this.code = code;
    this.reason = reason;
  }
}

/** @throws BitcoindError with the node's code and words; Error when what comes is no answer of a node's */
export async function callBitcoind<T>(url: string, method: string, params: readonly unknown[]): Promise<T> {
  const { status, text } = await post(new URL(url), JSON.stringify({ jsonrpc: "1.0", id: 1, method, params })).catch(
    (error: Error) => {
      throw new Error(`bitcoind gave no answer to ${method}: ${error.message}`, { cause: error });
    },
  );
  let answer: { result: T; error: { code: number; message: string } | null };
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error(`bitcoind answered ${method} with status ${status} and no JSON: ${text.slice(0, 200)}`);
  }
  if (answer.error !== null) throw new BitcoindError(method, answer.error.code, answer.error.message);
  return answer.result;
}

function post(url: URL, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: url.hostname,
        port: url.port,
        method: "POST",
        path: url.pathname,
        auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
        agent: false,
        signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.once("error", reject);
        response.once("end", () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
        );
      },
    );
    sent.once("error", reject);
    sent.end(body);
  });
}
