/**
 * Whether this browser may hold a session. Its cookie is out of reach for scripts, so the page keeps a mark of its own, which
 * opens nothing: without it a first visit would begin with a call that is bound to be refused.
 */

const KEY = "sluice-signed-in";
/** What the link of a local start leads to, after it has signed in. */
const ENTERED = "?entered";

export function maySession(): boolean {
  if (location.search === ENTERED) return true;
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    // Storage is off: ask.
    return true;
  }
}

export function markSession(isThere: boolean): void {
  if (location.search === ENTERED) history.replaceState(null, "", `/${location.hash}`);
  try {
    if (isThere) localStorage.setItem(KEY, "yes");
    else localStorage.removeItem(KEY);
  } catch {}
}
