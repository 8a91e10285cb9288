/** An object's answer as an HTTP answer: status, rate headers, replay mark, or the problem. */

import type { Context } from "hono";
import type { Outcome } from "../core/refusal.ts";
import type { Answer, RateState } from "../objects/api.ts";
import { problem } from "./problem.ts";
import type { HttpEnv } from "./services.ts";

export function send<E extends HttpEnv, T extends object, S extends 200 | 201 | 202>(
  c: Context<E>,
  answer: Answer<T>,
  status: S,
) {
  setRateHeaders(c, answer.rate);
  if (!answer.ok) return problem(c, answer.refusal, answer.rate);
  if (answer.replayed) c.header("Idempotent-Replayed", "true");
  return c.json(answer.value, status);
}

/** 201 when the call made the thing, 200 when it was there already. */
export function sendCreated<E extends HttpEnv, T extends object>(c: Context<E>, answer: Answer<T>) {
  return answer.ok && !answer.created ? send(c, answer, 200) : send(c, answer, 201);
}

/** 204: it is gone. */
export function sendGone<E extends HttpEnv>(c: Context<E>, answer: Answer<null>) {
  setRateHeaders(c, answer.rate);
  return answer.ok ? c.body(null, 204) : problem(c, answer.refusal, answer.rate);
}

/** The answer with another value made of its own; a refusal stays, and one made here keeps the rate. */
export function mapAnswer<A, B>(answer: Answer<A>, make: (value: A) => Outcome<B>): Answer<B> {
  return answer.ok ? { ...answer, ...make(answer.value) } : answer;
}

/** RateLimit header fields for HTTP (draft-ietf-httpapi-ratelimit-headers), one policy for all calls of a tenant. */
function setRateHeaders<E extends HttpEnv>(c: Context<E>, rate: RateState | null): void {
  if (rate === null) return;
  if (rate.keyId !== undefined) c.set("keyId", rate.keyId);
  c.header("RateLimit-Policy", `"default";q=${rate.limit};w=${rate.windowS}`);
  c.header("RateLimit", `"default";r=${rate.remaining};t=${rate.resetS}`);
}
