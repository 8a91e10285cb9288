/** Which codes a call can answer: those that follow from its kind, and those that its route names as its own. */

import { REFUSALS, type RefusalCode } from "../../core/refusal.ts";
import { OPERATOR_TOKEN, OWN_CODES, REQUIRED_SCOPE } from "../calls.ts";
import { type ApiDocument, type Operation, parametersOf } from "./document.ts";

export type RouteOperation = Operation & { readonly [OWN_CODES]?: readonly RefusalCode[] };

/** In the order of `REFUSALS`: by status. */
export function codesOf(operation: RouteOperation, document: ApiDocument): readonly RefusalCode[] {
  const codes = new Set<RefusalCode>([...codesOfKind(operation, document), ...(operation[OWN_CODES] ?? [])]);
  return (Object.keys(REFUSALS) as RefusalCode[]).filter((code) => codes.has(code));
}

/** Whether a repeat with the same key is known again. Some calls take a key and have no use for it. */
export function remembersKey(operation: RouteOperation): boolean {
  return operation[OWN_CODES]?.includes("idempotency_key_reused") ?? false;
}

function codesOfKind(operation: RouteOperation, document: ApiDocument): RefusalCode[] {
  const parameters = parametersOf(operation, document);
  const key = parameters.find(({ name }) => name === "Idempotency-Key");
  const [guard] = operation.security.flatMap((one) => Object.keys(one));
  const codes: RefusalCode[] = ["invalid_fields"];
  if (guard !== undefined) codes.push("unauthorized");
  if (guard !== undefined && guard !== OPERATOR_TOKEN) codes.push("forbidden");
  if (operation[REQUIRED_SCOPE] !== undefined) codes.push("rate_limited");
  if (key !== undefined) codes.push("invalid_idempotency_key");
  if (key?.required === true) codes.push("idempotency_key_missing");
  if (operation.requestBody !== undefined) {
    codes.push("malformed_json", "payload_too_large", "unsupported_media_type");
  }
  if (parameters.some(({ name }) => name === "cursor")) codes.push("invalid_cursor");
  if (parameters.some((parameter) => parameter.in === "path")) codes.push("not_found");
  if (operation.responses[500] !== undefined) codes.push("internal_error");
  if (operation.responses[503] !== undefined) codes.push("store_unavailable");
  return codes;
}
