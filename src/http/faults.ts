/**
 * What was thrown, as an answer and as one line of the log.
 *
 * The answer says nothing of the error: 503 when the same call may succeed later, 500 otherwise. The log
 * gets its name and message, never a header, a body or a key.
 */

import type { Context } from "hono";
import { problem } from "./problem.ts";
import type { HttpEnv } from "./services.ts";

const MAX_LOGGED_CHARS = 500;

export function faultProblem<E extends HttpEnv>(c: Context<E>, thrown: unknown) {
  const transient = isTransient(thrown);
  logFault(thrown, {
    request_id: c.get("requestId"),
    method: c.req.method,
    path: c.req.path.slice(0, MAX_LOGGED_CHARS),
    retryable: transient,
  });
  return transient
    ? problem(c, { code: "store_unavailable", detail: "What keeps your data is out of reach. Try again." }, null)
    : problem(
        c,
        { code: "internal_error", detail: "Something is broken here. It was logged under the request_id." },
        null,
      );
}

/**
 * Texts of D1 and of Durable Objects that mean "not now" when no property says so.
 * Source: Cloudflare's lists of D1 errors and of object errors.
 */
const TRANSIENT_TEXT =
  /network connection lost|object to be reset|was reset|reset because its code was updated|is overloaded|transient issue|exceeded timeout/i;

/** Whether the same call may succeed later. */
export function isTransient(thrown: unknown): boolean {
  if (typeof thrown !== "object" || thrown === null) return false;
  const { retryable, overloaded } = thrown as { retryable?: unknown; overloaded?: unknown };
  if (retryable === true || overloaded === true) return true;
  return thrown instanceof Error && TRANSIENT_TEXT.test(thrown.message);
}

/** One JSON line. Errors of libraries quote what they were given, so what looks like a secret is struck out. */
export function logFault(thrown: unknown, facts: Readonly<Record<string, string | boolean>>): void {
  const name = thrown instanceof Error ? thrown.name : typeof thrown;
  const message = thrown instanceof Error ? thrown.message : "thrown without being an Error";
  console.error(JSON.stringify({ level: "error", ...facts, error: name, message: withoutSecrets(message) }));
}

function withoutSecrets(message: string): string {
  return (
    message
      .replace(/\b(sk|ses|whsec)_[\w+/=-]+/g, "$1_***")
      // Extended private keys are refused before anything is done with them; what quotes one shows none of it.
      .replace(/\b([a-z]prv)\w+/gi, "$1***")
      .replace(/\bbearer\s+\S+/gi, "Bearer ***")
      // A provider's URL often carries its key in the path, the query or before the host.
      .replace(/\b([a-z]+):\/\/(?:[^\s/@]*@)?([^\s/?#"']+)[^\s"']*/gi, "$1://$2/***")
      .slice(0, MAX_LOGGED_CHARS)
  );
}
