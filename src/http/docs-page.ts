/**
 * The page at `/docs`. No script and nothing from elsewhere: the policy forbids both. Every text goes
 * through `html`, which escapes it.
 */

import { sha256 } from "@noble/hashes/sha256";
import { utf8ToBytes } from "@noble/hashes/utils";
import { html, raw } from "hono/html";
import { REFUSALS, type RefusalCode } from "../core/refusal.ts";
import { PROBLEM_TITLES } from "./problem.ts";
import type { App } from "./services.ts";

type Document = ReturnType<App["getOpenAPI31Document"]>;

const STYLE = `
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2024}
h2{margin-top:3rem;border-bottom:1px solid #d0d5da}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{background:#f4f6f8;padding:.75rem;overflow:auto}
details{margin:.5rem 0}
summary{cursor:pointer}
.method{display:inline-block;min-width:4rem;font-weight:600;text-transform:uppercase}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #e3e7eb}
`;

export const DOCS_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${btoa(String.fromCharCode(...sha256(utf8ToBytes(STYLE))))}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly rest: object;
}

export function docsPage(document: Document) {
  const operations = operationsOf(document);
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title} API</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<h1>${document.info.title} API, version ${document.info.version}</h1>
<p>${document.info.description ?? ""}</p>
<p>The same for programs: <a href="/openapi.json">/openapi.json</a></p>
${tags.map((tag) => html`<h2>${tag}</h2>${operations.filter((one) => one.tag === tag).map(operationSection)}`)}
<h2>Problems</h2>
<table>
<tr><th>code</th><th>status</th><th>meaning</th></tr>
${Object.entries(REFUSALS).map(([code, status]) => problemRow(code as RefusalCode, status))}
</table>
<h2>Schemas</h2>
${Object.entries(document.components?.schemas ?? {}).map(
  ([name, schema]) =>
    html`<details id="schema-${name}"><summary>${name}</summary><pre>${pretty(schema)}</pre></details>`,
)}
</body>
</html>`;
}

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      const { tags, summary, operationId: _, ...rest } = operation;
      return [{ method, path, tag: tags?.[0] ?? "Other", summary: summary ?? "", rest }];
    }),
  );
}

function operationSection({ method, path, summary, rest }: Operation) {
  return html`<details><summary><span class="method">${method}</span> <code>${path}</code> ${summary}</summary>
<pre>${pretty(rest)}</pre></details>`;
}

function problemRow(code: RefusalCode, status: number) {
  return html`<tr id="problem-${code}"><td><code>${code}</code></td><td>${status}</td><td>${PROBLEM_TITLES[code]}</td></tr>`;
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll("#/components/schemas/", "");
}
