/** The API described: OpenAPI 3.1 for programs, one page of plain HTML for people. Both come from the routes. */

import { API_KEY, IDEMPOTENCY_PARAMETER, OPERATOR_TOKEN, REQUIRED_IDEMPOTENCY_PARAMETER } from "./calls.ts";
import { DOCS_POLICY, docsPage } from "./docs-page.ts";
import type { App } from "./services.ts";

const INFO = {
  title: "Sluice",
  version: "1",
  description:
    "Watches deposit addresses and tells about every deposit and every reversal exactly once in effect; " +
    "pays withdrawals out at most once. " +
    "JSON in and out; amounts are decimal strings; times are RFC 3339 in UTC. " +
    "A body is one JSON object in UTF-8 of at most 64 KiB, without unknown or repeated fields; " +
    "unknown query parameters are refused as well. Every problem is an application/problem+json document.",
};

/** Adds `/openapi.json` and `/docs`. Call it last: only routes that are there by then are described. */
export function describeApi(app: App): void {
  const registry = app.openAPIRegistry;
  registry.registerComponent("securitySchemes", API_KEY, {
    type: "http",
    scheme: "bearer",
    description: "An API key, sk_...",
  });
  registry.registerComponent("securitySchemes", OPERATOR_TOKEN, {
    type: "http",
    scheme: "bearer",
    description: "The operator's token. No API key opens these calls.",
  });
  registry.registerComponent("parameters", IDEMPOTENCY_PARAMETER, {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "1 to 255 printable ASCII characters, compared byte for byte. The same key with the same request answers " +
      "with the same object and Idempotent-Replayed: true; with another request it is refused.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  });

  registry.registerComponent("parameters", REQUIRED_IDEMPOTENCY_PARAMETER, {
    name: "Idempotency-Key",
    in: "header",
    required: true,
    description:
      "1 to 255 printable ASCII characters, compared byte for byte. It names one withdrawal of its account for " +
      "ever: the same request again answers with that withdrawal as it stands and Idempotent-Replayed: true; " +
      "with another request it is refused. A refused request leaves it free.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  });

  // Made at the first request and not at start: a Worker's start is short of time.
  let described: ReturnType<App["getOpenAPI31Document"]> | undefined;
  const document = () => {
    described ??= app.getOpenAPI31Document({ openapi: "3.1.0", info: INFO, servers: [{ url: "/" }] });
    return described;
  };
  app.get("/openapi.json", (c) => c.json(document()));
  app.get("/docs", (c) => c.html(docsPage(document()), 200, { "Content-Security-Policy": DOCS_POLICY }));
}
