/** One call on the page: what it does, what it takes, what it answers, how it fails. */

import { html } from "hono/html";
import { REFUSALS, type RefusalCode } from "../../core/refusal.ts";
import { API_KEY, OPERATOR_TOKEN } from "../calls.ts";
import { type ApiDocument, type Media, nameOf, type Operation, parametersOf } from "../description/document.ts";
import { fieldTable, meaning, typeText } from "./fields.ts";
import { type Call, callId } from "./groups.ts";
import { type Snippet, snippetsOf } from "./snippets.ts";

export function callSection(call: Call, document: ApiDocument) {
  const { method, path, operation } = call;
  const body = operation.requestBody?.content["application/json"];
  return html`<section aria-labelledby="${callId(call)}">
<h3 id="${callId(call)}">${operation.summary}</h3>
<p class="call"><span class="method ${method}">${method}</span> <code>${path}</code> <span class="dim">${opener(operation)}</span></p>
<p>${operation.description ?? ""}</p>
${parameterTable(operation, document)}
${body === undefined ? "" : bodyFields(body, operation.requestBody?.required === true, document)}
${snippetsOf(method, path, operation, document).map(snippetBlock)}
${answers(operation, document)}
${errorTable(operation)}
</section>
`;
}

function opener({ security, "x-required-scope": scope }: Operation): string {
  if (security.length === 0) return "no key";
  if (security.some((one) => OPERATOR_TOKEN in one)) return "operator's token";
  const by = security.some((one) => API_KEY in one) ? "" : "session, ";
  return scope === undefined ? `${by}any key` : `${by}scope ${scope}`;
}

function parameterTable(operation: Operation, document: ApiDocument) {
  const parameters = parametersOf(operation, document);
  if (parameters.length === 0) return "";
  const caption = "Parameters";
  return html`<div class="wide" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr><th scope="col">Name</th><th scope="col">In</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${parameters.map(
    ({ name, in: where, required, description, schema = {} }) =>
      html`<tr><th scope="row"><code>${name}</code>${required ? "" : html` <span class="dim">optional</span>`}</th><td>${where}</td><td>${typeText(schema)}</td><td>${meaning({ ...schema, description: description ?? schema.description ?? "" })}</td></tr>
`,
  )}</tbody>
</table></div>`;
}

function bodyFields({ schema }: Media, isRequired: boolean, document: ApiDocument) {
  const caption = isRequired ? "Body" : "Body, which may be left out";
  return fieldTable(caption, schema, document);
}

function snippetBlock({ language, text }: Snippet) {
  return html`<h4>Example: ${language}</h4><pre tabindex="0"><code>${text}</code></pre>`;
}

function answers({ responses }: Operation, document: ApiDocument) {
  const good = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  return html`<h4>Answers</h4>
${good.map(([status, { description, content, headers }]) => {
  const names = Object.keys(headers ?? {})
    .map(nameOf)
    .join(", ");
  return html`<p><strong>${status}</strong> ${description}${content === undefined ? ", without a body" : ""}. <span class="dim">Headers: ${names}</span></p>
${Object.entries(content ?? {}).map(([type, media]) =>
  type === "application/json"
    ? html`<details><summary>${status}: fields and example</summary>
<p>${typeText(media.schema)}</p>
${fieldTable(`Answer ${status}`, media.schema, document)}<pre tabindex="0"><code>${pretty(media.example)}</code></pre></details>`
    : html`<p><code>${type}</code></p>`,
)}`;
})}`;
}

function errorTable({ responses }: Operation) {
  const codes = Object.values(responses)
    .flatMap(({ content }) => Object.keys(content?.["application/problem+json"]?.examples ?? {}))
    .map((code) => code as RefusalCode);
  return html`<details><summary>Errors</summary><table>
<caption>Codes that this call can answer</caption>
<thead><tr><th scope="col">Status</th><th scope="col">Code</th></tr></thead>
<tbody>${codes.map(
    (code) =>
      html`<tr><td>${REFUSALS[code]}</td><th scope="row"><a href="#problem-${code}"><code>${code}</code></a></th></tr>
`,
  )}</tbody>
</table></details>`;
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
