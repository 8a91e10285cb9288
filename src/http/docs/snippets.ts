/** How a call is made, in the languages that there are examples for. */

import { API_KEY, OPERATOR_TOKEN, SESSION } from "../calls.ts";
import { type ApiDocument, type Operation, type Parameter, parametersOf } from "../description/document.ts";
import { exampleOf } from "../description/example.ts";

export interface Snippet {
  readonly language: string;
  readonly text: string;
}

/** One for each language, in the order they are shown. */
export function snippetsOf(method: string, path: string, operation: Operation, document: ApiDocument): Snippet[] {
  return [{ language: "curl", text: curl(method, path, operation, document) }];
}

function curl(method: string, path: string, operation: Operation, document: ApiDocument): string {
  const parameters = parametersOf(operation, document);
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    exampleText(
      parameters.find((parameter) => parameter.in === "path" && parameter.name === name),
      document,
    ),
  );
  const token = tokenOf(operation);
  const isBySession = token === null && operation.security.some((one) => SESSION in one);
  const media = operation.requestBody?.content["application/json"];
  const body = media === undefined || isEmpty(media.example) ? null : JSON.stringify(media.example);
  const key = parameters.find(({ name }) => name === "Idempotency-Key");
  // curl makes it a POST by the body; a GET needs no word at all.
  const verb = method === "get" || (method === "post" && body !== null) ? "" : ` -X ${method.toUpperCase()}`;
  return [
    `curl -s${verb} "$SLUICE${filled}"`,
    ...(token === null ? [] : [`-H "authorization: Bearer ${token}"`]),
    ...(isBySession ? [`-b "$SESSION"`] : []),
    ...(isBySession && method !== "get" ? [`-H "origin: $SLUICE"`] : []),
    ...(key === undefined ? [] : [`-H ${quoted(`idempotency-key: ${exampleText(key, document)}`)}`]),
    ...(body === null ? [] : [`-H 'content-type: application/json'`, `-d ${quoted(body)}`]),
  ].join(" \\\n  ");
}

function tokenOf({ security }: Operation): string | null {
  if (security.some((one) => API_KEY in one)) return "$KEY";
  return security.some((one) => OPERATOR_TOKEN in one) ? "$OPERATOR_TOKEN" : null;
}

function exampleText(parameter: Parameter | undefined, document: ApiDocument): string {
  if (parameter === undefined) return "";
  const { example, schema } = parameter;
  return String(example ?? (schema === undefined ? "" : exampleOf(schema, document)));
}

function isEmpty(body: unknown): boolean {
  return typeof body === "object" && body !== null && Object.keys(body).length === 0;
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
