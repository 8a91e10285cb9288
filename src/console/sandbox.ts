/**
 * The local sandbox, which is there only when the service runs on this machine. It is no part of the API, so the SDK
 * knows nothing of it; its shapes are those of `/sandbox`.
 */

import { useQuery } from "@tanstack/react-query";

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
  readonly answered: number;
  readonly body: string;
}

/** null: there is none. */
export function useSandbox() {
  return useQuery({
    queryKey: ["sandbox"],
    queryFn: () => askSandbox<SandboxState>("GET", ""),
    staleTime: 30_000,
  });
}

/** @returns null when there is no sandbox, or it has no body to give */
export async function askSandbox<T>(method: "GET" | "POST", path: string, body?: object): Promise<T | null> {
  const answer = await fetch(`/sandbox${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  if (answer.status === 404 || answer.status === 204) return null;
  const read = (await answer.json()) as T & { detail?: string };
  if (!answer.ok) throw new Error(read.detail ?? `The sandbox answered ${answer.status}.`);
  return read;
}
