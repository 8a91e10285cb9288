/** The list of everything on the page. A native disclosure, so that it opens and closes without a script. */

import { html } from "hono/html";
import type { ApiDocument } from "../description/document.ts";
import { callId, type Group } from "./groups.ts";

export function navigation(groups: readonly Group[], document: ApiDocument) {
  return html`<nav aria-label="Contents"><details open><summary>Contents</summary>
<p><a href="#conventions">Keys and headers</a></p>
${groups.map(
  ({ id, name, calls }) => html`<p><a href="#${id}">${name}</a></p>
<ul>${calls.map(
    (call) =>
      html`<li><a href="#${callId(call)}"><span class="method ${call.method}">${call.method}</span> ${call.operation.summary}</a></li>
`,
  )}</ul>`,
)}
<p><a href="#webhooks">Webhooks</a></p>
<ul>${Object.keys(document.webhooks).map((type) => html`<li><a href="#webhook-${type}">${type}</a></li>`)}</ul>
<p><a href="#problems">Error codes</a></p>
<p><a href="#schemas">Schemas</a></p>
</details></nav>`;
}
