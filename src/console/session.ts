/** Who is signed in, and what their key may do. */

import { createContext, useContext } from "react";
import type { Scope, Session } from "../sdk/types.ts";

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("used outside a session");
  return session;
}

/** Whether the session's key has a scope; `admin` has all. What it has not, the service refuses anyway. */
export function useMay(scope: Scope): boolean {
  const { scopes } = useSession().api_key;
  return scopes.includes("admin") || scopes.includes(scope);
}
