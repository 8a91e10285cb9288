/**
 * The sandbox's built-in receiver: an endpoint that points to it is of use once it has what verifies the endpoint's
 * signatures, so whatever makes a new secret here passes it on.
 */

import type { WebhookEndpoint } from "../../../sdk/types.ts";
import { askSandbox, useSandbox } from "../../sandbox.ts";

/** What a secret's dialog has to show. */
export interface MadeSecret {
  readonly endpoint: WebhookEndpoint;
  /** null: the endpoint has none that one must keep. */
  readonly secret: string | null;
  /** What became of it at the built-in receiver; null: it does not concern it. */
  readonly receiver: "has it" | { readonly problem: string } | null;
}

/** @returns splits a new endpoint from its secret, which goes to the built-in receiver when it is that one's */
export function useTakeSecret(): (made: WebhookEndpoint) => Promise<MadeSecret> {
  const sandbox = useSandbox();
  const receiverUrl = sandbox.data?.receiver.url;
  return async ({ secret = null, ...endpoint }) => {
    const key = endpoint.signature === "v1" ? secret : endpoint.public_key;
    if (endpoint.url !== receiverUrl || key === null) return { endpoint, secret, receiver: null };
    try {
      await askSandbox("POST", "/receiver/keys", { endpoint_id: endpoint.id, secret: key });
      return { endpoint, secret, receiver: "has it" };
    } catch (error) {
      return { endpoint, secret, receiver: { problem: error instanceof Error ? error.message : String(error) } };
    }
  };
}
