/** JSON-RPC as it passes through the sandbox: its parts, and asking the local chain's own node. */

export interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface RpcRequest extends Call {
  readonly id: unknown;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
}

export type Reply = { readonly result: unknown } | { readonly error: RpcError };

/** The node gave no answer, or refused with its own words. */
export class NodeError extends Error {}

export type Node = <T>(method: string, ...params: readonly unknown[]) => Promise<T>;

/** Mining a hundred blocks and reorganising take a node a second at most. */
const ANSWERS_WITHIN_MS = 30_000;

export function nodeAt(url: string): Node {
  return async <T>(method: string, ...params: readonly unknown[]) => {
    const [reply] = await askNode(url, [{ method, params }]);
    if (reply === undefined || "error" in reply)
      throw new NodeError(`${method}: ${reply?.error.message ?? "no answer"}`);
    return reply.result as T;
  };
}

/** All in one request; the replies in the calls' order. @throws NodeError */
export async function askNode(url: string, calls: readonly Call[]): Promise<Reply[]> {
  if (calls.length === 0) return [];
  let items: readonly (Reply & { readonly id: number })[];
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }))),
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    });
    items = (await response.json()) as typeof items;
  } catch (error) {
    throw new NodeError("The local chain gives no answer.", { cause: error });
  }
  const replies = calls.map((): Reply => ({ error: { code: -32603, message: "the node left this call out" } }));
  for (const { id, ...rest } of items) replies[id] = "result" in rest ? { result: rest.result } : { error: rest.error };
  return replies;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function quantity(value: number | bigint): string {
  return `0x${value.toString(16)}`;
}
