/**
 * The local sandbox, which is there only when the service runs on this machine. It is no part of the API, so the SDK
 * knows nothing of it; its shapes are those of `/sandbox`.
 */

import { useQuery } from "@tanstack/react-query";
import {
  AuthenticationError,
  ConnectionError,
  type ErrorFacts,
  type FieldProblem,
  SluiceError,
} from "../sdk/errors.ts";

export interface SandboxState {
  readonly chain: { readonly network: string; readonly height: number };
  readonly rpc: { readonly mode: "ok" | "lag" | "drop" | "lie" };
  readonly receiver: { readonly mode: "ok" | "fail" | "slow" | "gone"; readonly url: string };
  readonly fees: { readonly stuck: boolean };
  readonly demo: boolean;
}

export interface ReceivedDelivery {
  readonly n: number;
  readonly at: string;
  readonly endpoint_id: string | null;
  readonly event_id: string | null;
  readonly type: string | null;
  readonly subject: string | null;
  readonly sequence: number | null;
  readonly verified: boolean;
  readonly problem: string | null;
  readonly duplicate: boolean;
  /** null: the service had stopped waiting. */
  readonly answered: number | null;
  readonly body: string;
}

/** null: there is none. */
export function useSandbox() {
  return useQuery({
    queryKey: ["sandbox"],
    queryFn: async () => (isThisMachine(location.hostname) ? await askSandbox<SandboxState>("GET", "") : null),
    staleTime: 30_000,
  });
}

/** Elsewhere no service has a sandbox, and none is asked for one. */
function isThisMachine(hostname: string): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
}

/**
 * @returns null when there is no sandbox, or it has no body to give
 * @throws SluiceError as the SDK would: the sandbox refuses in the API's own form
 */
export async function askSandbox<T>(method: "GET" | "POST", path: string, body?: object): Promise<T | null> {
  const answer = await fetch(`/sandbox${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  }).catch((cause: unknown) => {
    throw new ConnectionError("The service cannot be reached.", { code: "connection_failed", cause });
  });
  if (answer.status === 404 || answer.status === 204) return null;
  const read: unknown = await answer.json().catch(() => null);
  if (answer.ok) return read as T;
  const problem = (read ?? {}) as Problem;
  const facts: ErrorFacts = {
    code: problem.code ?? "unexpected_answer",
    status: answer.status,
    detail: problem.detail ?? null,
    requestId: problem.request_id ?? null,
    errors: problem.errors ?? [],
  };
  const message = problem.detail ?? `The sandbox answered ${answer.status}.`;
  throw answer.status === 401 ? new AuthenticationError(message, facts) : new SluiceError(message, facts);
}

interface Problem {
  readonly code?: string;
  readonly detail?: string;
  readonly request_id?: string;
  readonly errors?: readonly FieldProblem[];
}
