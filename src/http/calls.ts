/** What calls of one kind have in common: who may call, what runs before the route, how it is documented. */

import type { z } from "@hono/zod-openapi";
import type { MiddlewareHandler } from "hono";
import type { RefusalCode } from "../core/refusal.ts";
import type { Scope } from "../core/views.ts";
import { Problem } from "../schema/problem.ts";
import type { ProblemStatus } from "./problem.ts";
import {
  allowJson,
  authenticate,
  authenticateByKey,
  authenticateBySession,
  checkIdempotencyKey,
  fromProvenName,
  operatorOnly,
  requireIdempotencyKey,
  requireJson,
} from "./stages.ts";

export const API_KEY = "apiKey";
export const SESSION = "session";
export const OPERATOR_TOKEN = "operatorToken";
export const IDEMPOTENCY_PARAMETER = "IdempotencyKey";
export const REQUIRED_IDEMPOTENCY_PARAMETER = "RequiredIdempotencyKey";
export const REQUIRED_SCOPE = "x-required-scope";
/** Of a route alone: the document has the codes as examples of its problems. */
export const OWN_CODES = "x-own-codes";

function stages<const S extends MiddlewareHandler[]>(...handlers: S): S {
  return handlers;
}

const withIdempotency = { parameters: [{ $ref: `#/components/parameters/${IDEMPOTENCY_PARAMETER}` as const }] };
const byKey = { security: [{ [API_KEY]: [] as string[] }] };
const bySession = { security: [{ [SESSION]: [] as string[] }] };
/** One or the other. */
const byKeyOrSession = { security: [...byKey.security, ...bySession.security] };
const byOperator = { security: [{ [OPERATOR_TOKEN]: [] as string[] }] };

/** GET and DELETE with an API key, or with the session that one signed in to. So are the others that are `keyed`. */
export const keyed = { ...byKeyOrSession, middleware: stages(authenticate) };
/** PUT and PATCH: a body, and by their nature no need of an idempotency key. */
export const keyedWithBody = { ...byKeyOrSession, middleware: stages(authenticate, requireJson) };
/** POST with a body. */
export const keyedPost = {
  ...byKeyOrSession,
  ...withIdempotency,
  middleware: stages(authenticate, checkIdempotencyKey, requireJson),
};
/**
 * POST with a body that must name itself. The key comes before the body: a client that sends none is told so
 * whatever its body is like.
 */
export const keyedOnce = {
  ...byKeyOrSession,
  parameters: [{ $ref: `#/components/parameters/${REQUIRED_IDEMPOTENCY_PARAMETER}` as const }],
  middleware: stages(authenticate, requireIdempotencyKey, requireJson),
};
/** POST that means something without a body. */
export const keyedAction = {
  ...byKeyOrSession,
  ...withIdempotency,
  middleware: stages(authenticate, checkIdempotencyKey, allowJson),
};
/** The same with an API key and nothing else: sign-in alone. */
export const keyOnlyAction = {
  ...byKey,
  ...withIdempotency,
  middleware: stages(authenticateByKey, checkIdempotencyKey, allowJson),
};
/** GET and DELETE of the session itself. */
export const ofSession = { ...bySession, middleware: stages(authenticateBySession) };
/** POST without a key: sign-up alone. */
export const openPost = {
  security: [] as Record<string, string[]>[],
  ...withIdempotency,
  middleware: stages(fromProvenName, checkIdempotencyKey, requireJson),
};
export const operated = { ...byOperator, middleware: stages(operatorOnly) };
export const operatedAction = {
  ...byOperator,
  ...withIdempotency,
  middleware: stages(operatorOnly, checkIdempotencyKey, allowJson),
};

/** The scope the key must have; `admin` has every other one. The tenant's object is who checks it. */
export function needs(scope: Scope) {
  return { [REQUIRED_SCOPE]: scope };
}

/**
 * The codes of a call that do not follow from its kind. What follows from it (the key, the body, the cursor, the
 * path) is added where the document is made; `idempotency_key_reused` says that the call keeps its key in mind.
 */
export function mayRefuse(...codes: readonly RefusalCode[]) {
  return { [OWN_CODES]: codes };
}

/** `differing`: what this call answers otherwise than the schema's own example. */
export function json<S extends z.ZodType>(schema: S, description: string, differing?: Partial<z.output<S>>) {
  const media = differing === undefined ? { schema } : { schema, example: differing };
  return { description, content: { "application/json": media } };
}

export function body<S extends z.ZodType>(schema: S) {
  return { required: true, content: { "application/json": { schema } } };
}

export function optionalBody<S extends z.ZodType>(schema: S) {
  return { required: false, content: { "application/json": { schema } } };
}

const DESCRIPTIONS: Readonly<Record<ProblemStatus, string>> = {
  400: "Not a JSON object, or a header or cursor that does not fit",
  401: "No valid API key or session",
  403: "The key lacks a scope, or a page of another origin called",
  404: "Unknown, or another tenant's",
  405: "The path does not know this method",
  409: "The present state does not allow this",
  413: "The body is larger than 64 KiB",
  415: "The body is not sent as JSON",
  422: "Fields do not fit, or what they ask for is refused",
  429: "Too many requests; see Retry-After",
  500: "A fault of ours",
  503: "A store or chain is out of reach; see Retry-After",
};

function problemResponse(description: string) {
  return { description, content: { "application/problem+json": { schema: Problem } } };
}

/** The problems a call is known for. `default` stands for the rest: every problem has the same shape. */
export function problems<const S extends ProblemStatus>(...statuses: readonly S[]) {
  const listed = Object.fromEntries(statuses.map((status) => [status, problemResponse(DESCRIPTIONS[status])]));
  return {
    ...(listed as Record<S, ReturnType<typeof problemResponse>>),
    default: problemResponse("Any other problem"),
  };
}
