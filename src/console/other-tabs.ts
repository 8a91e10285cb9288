/**
 * Tabs of one browser share the session's cookie: whoever signs in in one of them is who all of them call as. A tab that
 * went on showing another tenant would act for the one while it shows the other, so the tabs tell each other.
 */

import type { Session } from "../sdk/types.ts";

const CHANNEL = "sluice-session";

/** The tenant and the key: nothing that is shown of one outlasts a change of it. Neither is a secret. null: nobody. */
export function whoIs(session: Session | null): string | null {
  return session === null ? null : `${session.tenant.id} ${session.api_key.id}`;
}

export function tellTabs(session: Session | null): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(whoIs(session));
  channel.close();
}

/** @returns ends it */
export function hearTabs(onTold: (who: string | null) => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: { readonly data: string | null }) => onTold(data);
  return () => channel.close();
}
