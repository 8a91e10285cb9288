/**
 * What the pages know of the service, by name. Every answer is kept under a name that begins with its noun, so that an
 * event, which names its noun, refreshes what shows it and nothing else.
 */

import { QueryClient } from "@tanstack/react-query";
import { AuthenticationError } from "../sdk/errors.ts";
import type { Session } from "../sdk/types.ts";
import { hearTabs, tellTabs, whoIs } from "./other-tabs.ts";
import { markSession } from "./signed-in.ts";

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
  | "incidents"
  | "keys"
  | "reconciliation"
  | "sandbox";

/**
 * From now on this is who is signed in, null for nobody. Nothing else that one session has read is left in memory for
 * the next one. What shows the session itself goes on looking at the same query, so that is not removed.
 */
export function becomeSession(client: QueryClient, session: Session | null): void {
  markSession(session !== null);
  client.setQueryData(["session"], session);
  forgetOthers(client);
  tellTabs(session);
}

function forgetOthers(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" });
  client.getMutationCache().clear();
}

/** The service's word on who this tab calls as. Somebody else than before leaves nothing of that one in memory. */
export function heardSession(client: QueryClient, session: Session | null): void {
  markSession(session !== null);
  const before = client.getQueryData<Session | null>(["session"]);
  if (before !== undefined && whoIs(before) === whoIs(session)) return;
  forgetOthers(client);
  tellTabs(session);
}

/**
 * Asks anew who this tab calls as when another tab has become somebody else. A page on which nobody has signed in stays
 * as it is: it may show a key that is shown once.
 * @returns ends it
 */
export function followOtherTabs(client: QueryClient): () => void {
  return hearTabs((who) => {
    const mine = whoIs(client.getQueryData<Session | null>(["session"]) ?? null);
    if (mine !== null && mine !== who) void client.refetchQueries({ queryKey: ["session"] }, { cancelRefetch: true });
  });
}

/** Once an answer says that there is no session (any more), there is none. */
export function createQueries(): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      // The SDK repeats by itself what is worth repeating.
      queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true },
      mutations: { retry: false },
    },
  });
  const hear = ({ action }: { action?: { type: string; error?: unknown } }) => {
    if (action?.type === "error" && action.error instanceof AuthenticationError) becomeSession(client, null);
  };
  client.getQueryCache().subscribe((event) => hear(event as { action?: { type: string; error?: unknown } }));
  client.getMutationCache().subscribe((event) => hear(event as { action?: { type: string; error?: unknown } }));
  return client;
}
