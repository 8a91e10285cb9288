/**
 * What every call's description has by its kind, filled in where the generator cannot know it: the headers of its
 * answers, an example of each body, and the codes of each problem.
 */

import { REFUSALS, type RefusalCode } from "../../core/refusal.ts";
import { OWN_CODES, REQUIRED_SCOPE } from "../calls.ts";
import { problemParts } from "../problem.ts";
import { codesOf, type RouteOperation, remembersKey } from "./codes.ts";
import { HEADERS, type HeaderName, TAGS } from "./components.ts";
import type { Answer, ApiDocument, Json, Media, Operation, Reference } from "./document.ts";
import { exampleOf } from "./example.ts";
import { PROBLEM_GUIDE } from "./problem-guide.ts";

/** @param generated as the routes gave it, with their own codes still in it */
export function completed(generated: ApiDocument): ApiDocument {
  const paths = Object.entries(generated.paths).map(([path, item]) => {
    const operations = Object.entries(item).map(([method, operation]) => [method, complete(operation, generated)]);
    return [path, Object.fromEntries(operations)];
  });
  const webhooks = Object.entries(generated.webhooks).map(([name, item]) => {
    const operations = Object.entries(item).map(([method, operation]) => [method, withBody(operation, generated)]);
    return [name, Object.fromEntries(operations)];
  });
  return {
    ...generated,
    tags: TAGS,
    paths: Object.fromEntries(paths),
    webhooks: Object.fromEntries(webhooks),
    components: { ...generated.components, headers: HEADERS, examples: problemExamples() },
  };
}

function complete(operation: RouteOperation, document: ApiDocument): Operation {
  const codes = codesOf(operation, document);
  const responses = Object.entries(operation.responses).map(([status, answer]): [string, Answer] => {
    const headers = { ...headersOf(operation, status), ...answer.headers };
    if (!/^[45]/.test(status)) return [status, { ...answer, headers, ...withExamples(answer, document) }];
    const own = codes.filter((code) => REFUSALS[code] === Number(status));
    return [status, { ...answer, headers, ...withProblems(answer, own) }];
  });
  const { [OWN_CODES]: _, ...rest } = withBody(operation, document);
  return { ...rest, responses: Object.fromEntries(responses) };
}

function withBody(operation: RouteOperation, document: ApiDocument): RouteOperation {
  const { requestBody } = operation;
  return requestBody === undefined
    ? operation
    : { ...operation, requestBody: { ...requestBody, ...withExamples(requestBody, document) } };
}

/** An example that a route gives has only what differs from the schema's. */
function withExamples(part: { readonly content?: Readonly<Record<string, Media>> }, document: ApiDocument) {
  if (part.content === undefined) return {};
  const content = Object.entries(part.content).map(([type, media]) => {
    if (type !== "application/json") return [type, media];
    const whole = exampleOf(media.schema, document);
    return [
      type,
      { ...media, example: isObject(whole) && isObject(media.example) ? { ...whole, ...media.example } : whole },
    ];
  });
  return { content: Object.fromEntries(content) };
}

function isObject(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function withProblems(answer: Answer, codes: readonly RefusalCode[]) {
  if (answer.content === undefined) return {};
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  const content = Object.entries(answer.content).map(([type, media]) => [type, { ...media, examples }]);
  return { content: Object.fromEntries(content) };
}

function problemExamples() {
  return Object.fromEntries((Object.keys(REFUSALS) as RefusalCode[]).map((code) => [code, problemExample(code)]));
}

function problemExample(code: RefusalCode) {
  const { detail, when } = PROBLEM_GUIDE[code];
  const errors = code === "invalid_fields" ? { errors: [{ path: "network", message: "unknown field" }] } : {};
  const { body } = problemParts({ code, detail, ...errors }, HEADERS["X-Request-Id"].example, null);
  return { summary: when, value: { ...body } };
}

function headersOf(operation: RouteOperation, status: string): Readonly<Record<string, Reference>> {
  const names: HeaderName[] = ["X-Request-Id"];
  const isSuccess = status.startsWith("2");
  if (isSuccess && remembersKey(operation)) names.push("Idempotent-Replayed");
  const isCounted = operation[REQUIRED_SCOPE] !== undefined;
  if (isCounted && (isSuccess || AFTER_THE_KEY.includes(status))) names.push("RateLimit-Policy", "RateLimit");
  if (status === "429" || status === "503") names.push("Retry-After");
  if (status === "401") names.push("WWW-Authenticate");
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Statuses that the tenant's object answers, which counts the request. */
const AFTER_THE_KEY = ["400", "403", "404", "409", "422", "429", "503"];
