/**
 * Whether the service answers: what every call of the page found last. The feed of events outlasts a service that is
 * down without a word, so it cannot say.
 */

/** The two that the feed is made of. */
const FEED = /\/v1\/(events|session)\b/;

type Listener = () => void;

let isReached = true;
const listeners = new Set<Listener>();

export function isServiceReached(): boolean {
  return isReached;
}

export function onReach(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Asks as `fetch` does, and remembers whether there was an answer. A call that the page ended itself says nothing. */
export async function watchedFetch(url: string, init: RequestInit): Promise<Response> {
  try {
    const answer = await fetch(url, init);
    // One call that fails is its own matter; the feed's failing is everyone's.
    if (answer.status < 500) note(true);
    else if (FEED.test(url)) note(false);
    return answer;
  } catch (error) {
    if (init.signal?.aborted !== true) note(false);
    throw error;
  }
}

function note(found: boolean): void {
  if (found === isReached) return;
  isReached = found;
  for (const listener of listeners) listener();
}
