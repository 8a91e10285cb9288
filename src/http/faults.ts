/**
 * What was thrown, as an answer and as one line of the log.
 *
 * The answer says nothing of the error: 503 when the same call may succeed later, 500 otherwise. The log
 * gets its name and message, under the request's id.
 */

import type { Context } from "hono";
import { log } from "../log.ts";
import { problem } from "./problem.ts";
import type { HttpEnv } from "./services.ts";

export function faultProblem<E extends HttpEnv>(c: Context<E>, thrown: unknown) {
  const transient = isTransient(thrown);
  log("error", "request_failed", { request_id: c.get("requestId"), retryable: transient }, thrown);
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
