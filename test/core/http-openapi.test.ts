/** The API's own description: complete, sound, and the one that the wire contract fixes. */

import { afterEach, describe, expect, test, vi } from "vitest";
import { REFUSALS } from "../../src/core/refusal.ts";
import { fakeApp } from "../support/http-app.ts";

interface Schema {
  readonly $ref?: string;
  readonly properties?: Record<string, Schema>;
  readonly required?: readonly string[];
  readonly [key: string]: unknown;
}
interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Record<string, string[]>[];
  readonly parameters?: readonly { $ref?: string; name?: string; in?: string; required?: boolean }[];
  readonly requestBody?: { content: Record<string, { schema: Schema }> };
  readonly responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Record<string, Schema>;
    readonly securitySchemes: Record<string, unknown>;
    readonly parameters: Record<string, unknown>;
  };
}

const document = (await (await fakeApp().app.request("/openapi.json")).json()) as Document;
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method,
    path,
    operation,
  })),
);

afterEach(() => {
  vi.restoreAllMocks();
});

test("the calls are exactly these", () => {
  expect(operations.map(({ name }) => name).sort()).toEqual([
    "DELETE /v1/addresses/{id}",
    "DELETE /v1/api-keys/{id}",
    "DELETE /v1/session",
    "DELETE /v1/webhook-endpoints/{id}",
    "GET /healthz",
    "GET /metrics",
    "GET /v1/addresses",
    "GET /v1/addresses/{id}",
    "GET /v1/api-keys",
    "GET /v1/assets",
    "GET /v1/audit-log",
    "GET /v1/backfills/{id}",
    "GET /v1/balances",
    "GET /v1/deposits",
    "GET /v1/deposits/{id}",
    "GET /v1/events",
    "GET /v1/events/{id}",
    "GET /v1/incidents",
    "GET /v1/incidents/{id}",
    "GET /v1/ledger/entries",
    "GET /v1/networks",
    "GET /v1/operator/incidents",
    "GET /v1/operator/networks/{id}",
    "GET /v1/policies",
    "GET /v1/reconciliation",
    "GET /v1/session",
    "GET /v1/tenant",
    "GET /v1/wallets",
    "GET /v1/webhook-endpoints",
    "GET /v1/webhook-endpoints/{id}",
    "GET /v1/webhook-endpoints/{id}/deliveries",
    "GET /v1/withdrawals",
    "GET /v1/withdrawals/{id}",
    "GET /v1/xpubs",
    "GET /v1/xpubs/{id}",
    "PATCH /v1/webhook-endpoints/{id}",
    "POST /v1/addresses",
    "POST /v1/api-keys",
    "POST /v1/api-keys/{id}/rotate",
    "POST /v1/assets",
    "POST /v1/backfills",
    "POST /v1/operator/networks/{id}/resume",
    "POST /v1/reconciliation",
    "POST /v1/session",
    "POST /v1/tenants",
    "POST /v1/wallets/{network}/resume",
    "POST /v1/webhook-endpoints",
    "POST /v1/webhook-endpoints/{id}/deliveries/{delivery_id}/resend",
    "POST /v1/webhook-endpoints/{id}/disable",
    "POST /v1/webhook-endpoints/{id}/enable",
    "POST /v1/webhook-endpoints/{id}/replay",
    "POST /v1/webhook-endpoints/{id}/rotate-secret",
    "POST /v1/webhook-endpoints/{id}/test",
    "POST /v1/withdrawals",
    "POST /v1/withdrawals/estimate",
    "POST /v1/withdrawals/{id}/approve",
    "POST /v1/withdrawals/{id}/cancel",
    "POST /v1/withdrawals/{id}/reject",
    "POST /v1/withdrawals/{id}/resolve",
    "POST /v1/withdrawals/{id}/speed-up",
    "POST /v1/xpubs",
    "PUT /v1/policies/confirmations/{network}",
    "PUT /v1/policies/withdrawals",
    "PUT /v1/wallets/{network}/signer",
  ]);
});

describe.each(operations)("$name", ({ method, path, operation }) => {
  test("says who may call, what it does and how it fails", () => {
    expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/);
    expect(operation.summary?.length).toBeGreaterThan(3);
    expect(operation.tags).toHaveLength(1);
    expect(operation.security).toBeDefined();
    for (const scheme of operation.security ?? []) {
      expect(Object.keys(document.components.securitySchemes)).toContain(Object.keys(scheme)[0]);
      expect(operation.responses).toHaveProperty("401");
    }
    expect(Object.keys(operation.responses).filter((status) => status.startsWith("2"))).not.toEqual([]);
    expect(operation.responses).toHaveProperty("default");
    for (const [status, response] of Object.entries(operation.responses)) {
      expect(response.description).not.toBe("");
      if (/^2/.test(status)) continue;
      expect(Object.keys(response.content ?? {})).toEqual(["application/problem+json"]);
      expect(response.content?.["application/problem+json"]?.schema).toEqual({ $ref: "#/components/schemas/Problem" });
    }
    expect(operation.responses["204"] !== undefined).toBe(method === "delete");
  });

  test("names each parameter of its path, and an idempotency key on every POST", () => {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const named = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
    expect(named.map(({ name }) => name)).toEqual(inPath);
    for (const parameter of operation.parameters ?? []) {
      if (parameter.in !== undefined) expect(parameter.required).toBe(parameter.in === "path");
    }
    const keys = (operation.parameters ?? []).flatMap(({ $ref }) => $ref?.split("/").at(-1) ?? []);
    const once = path === "/v1/withdrawals" ? "RequiredIdempotencyKey" : "IdempotencyKey";
    expect(keys).toEqual(method === "post" ? [once] : []);
    expect(operation.requestBody !== undefined).toBe(["post", "put", "patch"].includes(method));
  });
});

test("a withdrawal's Idempotency-Key is required, and everywhere else it is not", () => {
  expect(document.components.parameters).toMatchObject({
    IdempotencyKey: { name: "Idempotency-Key", in: "header", required: false },
    RequiredIdempotencyKey: { name: "Idempotency-Key", in: "header", required: true },
  });
});

test("operation ids are unique", () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

test("every reference leads somewhere, and every pattern is a regular expression", () => {
  const parts = document.components as unknown as Record<string, Record<string, unknown>>;
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, of] of Object.entries(value)) {
      if (key === "$ref") {
        const [, , kind = "", name = ""] = String(of).split("/");
        expect(parts[kind], String(of)).toHaveProperty(name);
      }
      if (key === "pattern" && typeof of === "string") {
        expect(() => new RegExp(of, "u")).not.toThrow();
        expect(of).not.toMatch(/\/[a-z]*$/);
      }
      visit(of);
    }
  };
  visit(document);
  expect(document.openapi).toBe("3.1.0");
});

test("bodies of requests refuse what they do not know; answers may grow", () => {
  for (const { operation, name } of operations) {
    const schema = operation.requestBody?.content["application/json"]?.schema;
    if (schema === undefined) continue;
    const of = schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split("/").at(-1) ?? ""];
    expect(of?.additionalProperties, name).toBe(false);
  }
  expect(document.components.schemas.Deposit).not.toHaveProperty("additionalProperties");
});

describe("what is required and what may be null", () => {
  test.each([
    ["NewAddress", ["network"]],
    ["NewXpub", ["network", "xpub"]],
    ["NewAsset", ["contract", "network"]],
    ["NewApiKey", ["name", "scopes"]],
    ["NewWebhookEndpoint", ["url"]],
    ["NewBackfill", ["from_height", "network", "to_height"]],
    ["SignUp", ["name"]],
    ["ApiKey", ["created_at", "expires_at", "id", "name", "revoked_at", "scopes"]],
    ["NewWithdrawal", ["amount", "asset", "destination", "network"]],
    ["RejectWithdrawal", []],
    ["ResolveWithdrawal", ["evidence", "outcome"]],
    ["Signer", ["type"]],
    ["WithdrawalRules", []],
    ["Problem", ["code", "detail", "request_id", "retryable", "status", "title", "type"]],
  ])("%s", (name, required) => {
    expect([...(document.components.schemas[name]?.required ?? [])].sort()).toEqual(required);
  });

  test("a rule may be null wherever null means the next wider one", () => {
    expect(JSON.stringify(document.components.schemas.ConfirmationRules?.properties?.default)).toContain('"null"');
    expect(JSON.stringify(document.components.schemas.ConfirmationRules?.properties?.assets)).toContain('"null"');
  });
});

describe("GET /docs", () => {
  test("shows every call and every problem, runs nothing and loads nothing", async () => {
    const response = await fakeApp().app.request("/docs");
    expect(response.headers.get("content-type")).toBe("text/html; charset=UTF-8");
    const policy = response.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|script-src|https?:/);
    const page = await response.text();
    expect(page).not.toMatch(/<script|<link|<img|<iframe|javascript:|\son\w+=|url\(|@import/i);
    for (const { path } of operations) expect(page).toContain(`<code>${path}</code>`);
    for (const code of Object.keys(REFUSALS)) expect(page).toContain(`id="problem-${code}"`);
  });

  test("the style is the one that the policy allows", async () => {
    const response = await fakeApp().app.request("/docs");
    const style = /<style>([\s\S]*?)<\/style>/.exec(await response.text())?.[1] ?? "";
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
    const hash = btoa(String.fromCharCode(...new Uint8Array(digest)));
    expect(response.headers.get("content-security-policy")).toContain(`'sha256-${hash}'`);
  });

  test("texts are escaped", async () => {
    const { app } = fakeApp();
    const evil = '"><script>alert(1)</script>';
    const made = app.getOpenAPI31Document({
      openapi: "3.1.0",
      info: { title: evil, version: evil, description: evil },
    });
    vi.spyOn(app, "getOpenAPI31Document").mockReturnValue(made);
    const page = await (await app.request("/docs")).text();
    expect(page).toContain("&lt;script&gt;");
    expect(page).not.toContain("<script");
  });
});
