/** Reading of answers: what comes over the wire is believed only as far as it has the shape it should have. */

import type { AnswerInfo } from "./call.ts";
import { type FieldProblem, UnexpectedAnswerError } from "./errors.ts";

interface Arrived {
  readonly status: number;
  readonly header: (name: string) => string | null;
  readonly text: string;
}

export interface ProblemFacts {
  readonly code: string;
  readonly detail: string;
  readonly requestId: string | null;
  readonly retryable: boolean | null;
  readonly errors: readonly FieldProblem[];
}

export function answerInfo({ status, header }: Arrived, attempts: number): AnswerInfo {
  // RateLimit header fields for HTTP (draft-ietf-httpapi-ratelimit-headers): "default";r=<left>;t=<seconds>
  const rate = /;r=(\d+);t=(\d+)/.exec(header("ratelimit") ?? "");
  return {
    status,
    requestId: header("x-request-id"),
    replayed: header("idempotent-replayed") === "true",
    attempts,
    rateLimit: rate === null ? null : { remaining: Number(rate[1]), resetS: Number(rate[2]) },
  };
}

/** The object of a success; undefined for a removal, which has no body. */
export function parseJson(
  { status, text }: Arrived,
  { requestId, attempts }: AnswerInfo,
  { key, method, isPage = false }: { key: string | null; method: string; isPage?: boolean | undefined },
): unknown {
  if (status === 204 && method === "DELETE") return undefined;
  const value = readObject(text);
  if (value !== null && (!isPage || isPageOfRows(value))) return value;
  const expected = isPage ? "a page of a list" : "a JSON object";
  throw new UnexpectedAnswerError(`expected ${expected} with status ${status}, got ${text.length} other characters`, {
    code: "unexpected_answer",
    status,
    requestId,
    attempts,
    idempotencyKey: key,
    // It answered with success, so what was asked for is most likely done.
    outcomeUnknown: method !== "GET",
  });
}

/** Whatever reads a list goes by its rows and its cursor: without them it would end early or never. */
function isPageOfRows({ data, next_cursor }: Record<string, unknown>): boolean {
  const areRows = Array.isArray(data) && data.every((row) => typeof row === "object" && row !== null);
  return areRows && (next_cursor === null || typeof next_cursor === "string");
}

/** A problem document (RFC 9457) with the service's own fields; null: it is none. */
export function readProblem(text: string): ProblemFacts | null {
  const value = readObject(text);
  if (value === null || typeof value.code !== "string") return null;
  return {
    code: value.code,
    detail: typeof value.detail === "string" ? value.detail : "",
    requestId: typeof value.request_id === "string" ? value.request_id : null,
    retryable: typeof value.retryable === "boolean" ? value.retryable : null,
    errors: Array.isArray(value.errors) ? value.errors.filter(isFieldProblem) : [],
  };
}

function isFieldProblem(value: unknown): value is FieldProblem {
  if (typeof value !== "object" || value === null) return false;
  const { path, message } = value as Record<string, unknown>;
  return typeof path === "string" && typeof message === "string";
}

export function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
