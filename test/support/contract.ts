/**
 * Holds real answers against the API's own description: status, headers, media type and body. The description
 * lets answers grow; here it does not, so that a field that nobody described is seen.
 */

import { z } from "zod";
import type { ApiDocument, Operation, Schema } from "../../src/http/description/document.ts";

export interface ActualAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed where it is JSON, text where it is not, empty text where there is none. */
  readonly body: unknown;
}

export interface Contract {
  readonly document: ApiDocument;
  /** What is not as described, in words; none when all is. `path` without its query. */
  violations(method: string, path: string, answer: ActualAnswer): string[];
  /** Why the value is not what the schema says; none when it is. */
  mismatches(schema: Schema, value: unknown, options?: { readonly mayGrow: boolean }): string[];
}

const EVERY_ANSWER = ["X-Request-Id"];

export function contractOf(document: ApiDocument): Contract {
  const open = validatorOf(document, (schema) => schema);
  const closed = validatorOf(document, withoutMore);
  const mismatches: Contract["mismatches"] = (schema, value, { mayGrow } = { mayGrow: false }) =>
    (mayGrow ? open : closed)(schema, value);

  return {
    document,
    mismatches,
    violations(method, path, answer) {
      const operation = operationAt(document, method, path);
      if (operation === undefined) return answer.status < 400 ? [`${method} ${path} is not described`] : [];
      const at = (what: string) => `${method} ${path} answers ${answer.status}: ${what}`;
      const described = operation.responses[String(answer.status)];
      if (described === undefined) return [at("the status is not described")];
      const missing = EVERY_ANSWER.concat(
        Object.keys(described.headers ?? {}).filter((name) =>
          ["Retry-After", "Set-Cookie", "WWW-Authenticate"].includes(name),
        ),
      ).filter((name) => !answer.headers.has(name));
      const undescribed = ["Retry-After", "Set-Cookie", "RateLimit", "RateLimit-Policy", "Idempotent-Replayed"].filter(
        (name) => answer.headers.has(name) && described.headers?.[name] === undefined,
      );
      return [
        ...missing.map((name) => at(`${name} is missing`)),
        ...undescribed.map((name) => at(`${name} is not described`)),
        ...bodyViolations(described.content, answer, mismatches).map(at),
      ];
    },
  };
}

function bodyViolations(
  content: Operation["responses"][string]["content"],
  { headers, body }: ActualAnswer,
  mismatches: Contract["mismatches"],
): string[] {
  const type = headers.get("content-type")?.split(";")[0] ?? null;
  if (content === undefined) return type === null && body === "" ? [] : [`expected no body, got ${type}`];
  const media = type === null ? undefined : content[type];
  if (media === undefined) return [`expected ${Object.keys(content).join(" or ")}, got ${type}`];
  const { code } = Object(body) as { code?: string };
  if (type === "application/problem+json" && media.examples?.[code ?? ""] === undefined) {
    return [`the code ${code} is not described`];
  }
  return mismatches(media.schema, body);
}

/** The call a path belongs to: a literal part goes before a parameter, as in the router. */
function operationAt(document: ApiDocument, method: string, path: string): Operation | undefined {
  const parts = path.split("/");
  const candidates = Object.keys(document.paths)
    .filter((template) => {
      const pattern = template.split("/");
      return pattern.length === parts.length && pattern.every((one, i) => one === parts[i] || one.startsWith("{"));
    })
    .sort((a, b) => a.split("{").length - b.split("{").length);
  return candidates
    .map((template) => document.paths[template]?.[method.toLowerCase()])
    .find((one) => one !== undefined);
}

/** JSON Schema 2020-12, as zod reads it: what it does not understand it refuses. */
function validatorOf(document: ApiDocument, change: (schema: Schema) => Schema) {
  const $defs = Object.fromEntries(
    Object.entries(document.components.schemas).map(([name, schema]) => [name, localized(schema, change)]),
  );
  const made = new Map<string, z.ZodType>();
  return (schema: Schema, value: unknown): string[] => {
    const key = JSON.stringify(schema);
    const validator =
      made.get(key) ??
      z.fromJSONSchema({ ...Object(localized(schema, change)), $defs } as z.core.JSONSchema.JSONSchema);
    made.set(key, validator);
    const read = validator.safeParse(value);
    return read.success ? [] : read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  };
}

/** References as JSON Schema alone has them, and each object changed. Examples are data and stay. */
function localized(value: unknown, change: (schema: Schema) => Schema, key = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => localized(one, change));
  if (typeof value === "string") return key === "$ref" ? value.replace("#/components/schemas/", "#/$defs/") : value;
  if (typeof value !== "object" || value === null || key === "example") return value;
  const parts = Object.entries(value)
    // zod takes a relative reference for a URL that is broken.
    .filter(([name, part]) => name !== "format" || part !== "uri-reference")
    .map(([name, part]) => [name, localized(part, change, name)]);
  const whole = Object.fromEntries(parts);
  // Under `properties` the names are the API's own, not those of JSON Schema.
  return key === "properties" ? whole : change(whole);
}

function withoutMore(schema: Schema): Schema {
  return schema.properties === undefined || schema.additionalProperties !== undefined
    ? schema
    : { ...schema, additionalProperties: false };
}
