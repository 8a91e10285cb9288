/** What the service sends: the headers that all webhooks have, then each type. */

import { html } from "hono/html";
import { type ApiDocument, parametersOf } from "../description/document.ts";
import { typeText } from "./fields.ts";
import { pretty } from "./operation.ts";

export function webhookSections(document: ApiDocument) {
  const events = Object.entries(document.webhooks).flatMap(([type, { post }]) =>
    post === undefined ? [] : [{ type, operation: post }],
  );
  const [first] = events;
  if (first === undefined) return "";
  return html`<h2 id="webhooks">Webhooks</h2>
<p>Events are POSTed to your endpoints as JSON and follow Standard Webhooks 1.0.0, whose libraries verify them. Verify
the signature over the body as it came, before it is parsed. Of one subject the next event waits for the one before.</p>
<table>
<caption>Headers of every webhook</caption>
<thead><tr><th scope="col">Header</th><th scope="col">Meaning</th></tr></thead>
<tbody>${parametersOf(first.operation, document).map(
    ({ name, description, schema }) =>
      html`<tr><th scope="row"><code>${name}</code></th><td>${description ?? schema?.description ?? ""}</td></tr>
`,
  )}</tbody>
</table>
<table>
<caption>What your answer means</caption>
<thead><tr><th scope="col">Status</th><th scope="col">Meaning</th></tr></thead>
<tbody>${Object.entries(first.operation.responses).map(
    ([status, { description }]) =>
      html`<tr><th scope="row">${status === "default" ? "any other, or none" : status}</th><td>${description}</td></tr>
`,
  )}</tbody>
</table>
${events.map(({ type, operation }) => {
  const body = operation.requestBody?.content["application/json"];
  return html`<section aria-labelledby="webhook-${type}"><h3 id="webhook-${type}"><code>${type}</code></h3>
<p>${operation.description ?? ""}</p>
${
  body === undefined
    ? ""
    : html`<p>Body: ${typeText(body.schema)}</p>
<details><summary>Example of ${type}</summary><pre tabindex="0"><code>${pretty(body.example)}</code></pre></details>`
}</section>
`;
})}`;
}
