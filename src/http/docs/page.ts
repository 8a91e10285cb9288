/**
 * The page at `/docs`. No script and nothing from elsewhere: the policy forbids both. Every text goes
 * through `html`, which escapes it.
 */

import { html, raw } from "hono/html";
import { REFUSALS, type RefusalCode } from "../../core/refusal.ts";
import type { ApiDocument } from "../description/document.ts";
import { exampleOf } from "../description/example.ts";
import { fieldTable } from "./fields.ts";
import { groupsOf } from "./groups.ts";
import { navigation } from "./navigation.ts";
import { callSection, pretty } from "./operation.ts";
import { problemTable } from "./problems.ts";
import { STYLE } from "./style.ts";
import { webhookSections } from "./webhooks.ts";

export function docsPage(document: ApiDocument) {
  const groups = groupsOf(document);
  const { title, version, description } = document.info;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} API</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${navigation(groups, document)}
<main id="content">
<h1>${title} API, version ${version}</h1>
<p>${description}</p>
<p>The same for programs: <a href="/openapi.json">/openapi.json</a></p>
${openers(document)}
${groups.map(
  ({ id, name, description: about, calls }) => html`<h2 id="${id}">${name}</h2>
<p>${about}</p>
${calls.map((call) => callSection(call, document))}`,
)}
${webhookSections(document)}
<h2 id="problems">Error codes</h2>
<p>Decide by code, never by the texts. A code keeps its meaning; new ones may be added.</p>
${problemTable(Object.keys(REFUSALS) as RefusalCode[])}
<h2 id="schemas">Schemas</h2>
${Object.entries(document.components.schemas).map(
  ([name, schema]) => html`<section aria-labelledby="schema-${name}"><h3 id="schema-${name}">${name}</h3>
${fieldTable(`Fields of ${name}`, schema, document)}
<details><summary>Example of ${name}</summary><pre tabindex="0"><code>${pretty(exampleOf(schema, document))}</code></pre></details></section>
`,
)}
</main>
</body>
</html>`;
}

function openers({ components }: ApiDocument) {
  return html`<h2 id="conventions">Keys and headers</h2>
<p>In the examples <code>$SLUICE</code> is where the service answers and <code>$KEY</code> an API key.</p>
${Object.values(components.securitySchemes).map(({ description }) => html`<p>${description}</p>`)}
<div class="wide" tabindex="0" role="region" aria-label="Headers"><table>
<caption>Headers of requests and answers</caption>
<thead><tr><th scope="col">Header</th><th scope="col">Meaning</th><th scope="col">Example</th></tr></thead>
<tbody>${[
    ...Object.values(components.parameters).map(({ name, required, description, example }) => ({
      name: required ? `${name} (withdrawals)` : name,
      description,
      example,
    })),
    ...Object.entries(components.headers).map(([name, header]) => ({ name, ...header })),
  ].map(
    ({ name, description, example }) =>
      html`<tr><th scope="row"><code>${name}</code></th><td>${description}</td><td><code>${String(example)}</code></td></tr>
`,
  )}</tbody>
</table></div>`;
}
