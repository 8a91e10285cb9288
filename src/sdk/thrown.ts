/** What a `fetch` threw, made fit to be shown: a fetch of the caller's own may put the request, API key and all, into it. */

const DEEPEST = 4;

/** Its message, without the key. */
export function messageOf(thrown: unknown, apiKey: string | null): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return apiKey === null ? message : message.replaceAll(apiKey, "***");
}

/** It, as the `cause` of an error that gets logged; undefined when the key may be somewhere in it. */
export function causeOf(thrown: unknown, apiKey: string | null): unknown {
  return apiKey !== null && mayShow(thrown, apiKey, 0) ? undefined : thrown;
}

function mayShow(thrown: unknown, apiKey: string, depth: number): boolean {
  if (typeof thrown !== "object" || thrown === null) return String(thrown).includes(apiKey);
  if (depth > DEEPEST) return true;
  const { message, stack, cause, errors } = thrown as Record<"message" | "stack" | "cause" | "errors", unknown>;
  try {
    if (`${message}${stack}${JSON.stringify(thrown)}`.includes(apiKey)) return true;
  } catch {
    // Not to be looked through, so not to be shown either.
    return true;
  }
  const inner = Array.isArray(errors) ? [cause, ...errors] : [cause];
  return inner.some((one) => one !== undefined && mayShow(one, apiKey, depth + 1));
}
