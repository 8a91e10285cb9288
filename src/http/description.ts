/** The API described: OpenAPI 3.1 for programs, one page of plain HTML for people. Both come from the routes. */

import { completed } from "./description/complete.ts";
import { INFO, PARAMETERS, SECURITY_SCHEMES } from "./description/components.ts";
import type { ApiDocument } from "./description/document.ts";
import { describeWebhooks } from "./description/webhooks.ts";
import { docsPage } from "./docs/page.ts";
import { DOCS_POLICY } from "./docs/style.ts";
import type { App } from "./services.ts";

/** Adds `/openapi.json` and `/docs`. Call it last: only routes that are there by then are described. */
export function describeApi(app: App): void {
  const registry = app.openAPIRegistry;
  for (const [name, scheme] of Object.entries(SECURITY_SCHEMES)) {
    registry.registerComponent("securitySchemes", name, scheme);
  }
  for (const [name, parameter] of Object.entries(PARAMETERS)) registry.registerComponent("parameters", name, parameter);
  describeWebhooks(app);

  // Made at the first request and not at start: a Worker's start is short of time.
  let described: ApiDocument | undefined;
  const document = () => {
    const parts = { openapi: "3.1.0", info: INFO, servers: [{ url: "/" }] };
    described ??= completed(app.getOpenAPI31Document(parts) as unknown as ApiDocument);
    return described;
  };
  app.get("/openapi.json", (c) => c.json(document()));
  let page: ReturnType<typeof docsPage> | undefined;
  app.get("/docs", (c) => {
    page ??= docsPage(document());
    return c.html(page, 200, { "Content-Security-Policy": DOCS_POLICY });
  });
}
