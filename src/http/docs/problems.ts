/** Error codes as a table: when each comes, whether a repeat helps, what to do. */

import { html } from "hono/html";
import { isRetryable, REFUSALS, type RefusalCode } from "../../core/refusal.ts";
import { PROBLEM_GUIDE } from "../description/problem-guide.ts";

export function problemTable(codes: readonly RefusalCode[]) {
  return html`<div class="wide" tabindex="0" role="region" aria-label="Error codes"><table>
<caption>Every code there is</caption>
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">When</th><th scope="col">Retry</th><th scope="col">What to do</th></tr></thead>
<tbody>${codes.map((code) => {
    const { when, remedy } = PROBLEM_GUIDE[code];
    return html`<tr id="problem-${code}"><th scope="row"><code>${code}</code></th><td>${REFUSALS[code]}</td><td>${when}</td><td>${isRetryable(code) ? "yes" : "no"}</td><td>${remedy}</td></tr>
`;
  })}</tbody>
</table></div>`;
}
