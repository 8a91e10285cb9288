/**
 * What the pages know of the service, by name. Every answer is kept under a name that begins with its noun, so that an
 * event, which names its noun, refreshes what shows it and nothing else.
 */

import { QueryClient } from "@tanstack/react-query";
import { AuthenticationError } from "../sdk/errors.ts";

/** Nouns of the API; the first part of every query's key. */
export type Noun =
  | "session"
  | "networks"
  | "assets"
  | "addresses"
  | "xpubs"
  | "deposits"
  | "balances"
  | "entries"
  | "withdrawals"
  | "wallets"
  | "policies"
  | "endpoints"
  | "deliveries"
  | "keys"
  | "reconciliation"
  | "sandbox";

/** @param onSignedOut told once an answer says that there is no session (any more) */
export function createQueries(onSignedOut: () => void): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      // The SDK repeats by itself what is worth repeating.
      queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true },
      mutations: { retry: false },
    },
  });
  const hear = ({ action }: { action?: { type: string; error?: unknown } }) => {
    if (action?.type === "error" && action.error instanceof AuthenticationError) onSignedOut();
  };
  client.getQueryCache().subscribe((event) => hear(event as { action?: { type: string; error?: unknown } }));
  client.getMutationCache().subscribe((event) => hear(event as { action?: { type: string; error?: unknown } }));
  return client;
}
