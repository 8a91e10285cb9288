/**
 * What the app answers and what it says that it answers are one: a good request and bad ones to every call, each
 * answer held against the OpenAPI document. The table is the document itself, so a new call is in it by being there.
 */

import type { z } from "@hono/zod-openapi";
import { afterEach, describe, expect, test, vi } from "vitest";
import { REFUSALS, type RefusalCode } from "../../src/core/refusal.ts";
import { type ApiDocument, type Operation, parametersOf } from "../../src/http/description/document.ts";
import { exampleOf } from "../../src/http/description/example.ts";
import type { ScannerStatus } from "../../src/objects/api.ts";
import { WEBHOOK_EVENTS } from "../../src/schema/webhook.ts";
import { projectFiles } from "../house/project-files.ts";
import { contractOf } from "../support/contract.ts";
import { API_KEY, BY_SESSION, fakeApp, given, LOCAL, OPERATOR_TOKEN, RATE } from "../support/http-app.ts";

const status: ScannerStatus = {
  network: "ethereum",
  head: 12,
  scannedTo: 11,
  finalized: null,
  windowFrom: 2,
  status: "halted",
  internal: "traced",
  incident: { id: "inc", reason: "too deep", at: 1_790_000_000_000 },
  watchedAddresses: 3,
  counters: { polls: 7 },
  lastPollAt: 1_790_000_000_000,
  lastError: null,
};

/** What each method of the tenant's object gives, for the test that runs. */
let object: (method: string) => unknown = () => null;
const tenant = new Proxy({}, { get: (_, method) => async () => object(String(method)) });
const { app, calls: reached } = fakeApp({
  tenant: tenant as Record<string, () => unknown>,
  scanner: { status: async () => status, resume: async () => ({ ok: true, value: { fromHeight: 5 } }) },
  store: { ping: async () => 1 },
  monitor: { listIncidents: async () => object("listIncidents") },
  networks: [{ ...LOCAL, id: "ethereum" }],
});

const document = (await (await app.request("/openapi.json")).json()) as ApiDocument;
const contract = contractOf(document);

interface Call {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}
const calls: Call[] = Object.entries(document.paths).flatMap(([template, item]) =>
  Object.entries(item).map(([method, operation]) => {
    const parameters = parametersOf(operation, document);
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const parameter = parameters.find((one) => one.in === "path" && one.name === name);
      return String(exampleOf(parameter?.schema ?? {}, document));
    });
    return { name: `${method.toUpperCase()} ${template}`, method: method.toUpperCase(), path, operation };
  }),
);

function requestOf({ method, operation }: Call, headers: Record<string, string> = {}, body?: string): RequestInit {
  const [scheme] = operation.security.flatMap((one) => Object.keys(one));
  const token = scheme === "operatorToken" ? OPERATOR_TOKEN : scheme === "apiKey" ? API_KEY : null;
  const media = operation.requestBody?.content["application/json"];
  const keyed = parametersOf(operation, document).some(({ name }) => name === "Idempotency-Key");
  const text = body ?? (media === undefined ? undefined : JSON.stringify(media.example));
  return {
    method,
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(scheme === "session" ? BY_SESSION : {}),
      ...(keyed ? { "Idempotency-Key": "payout-17" } : {}),
      ...(text === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(text === undefined ? {} : { body: text }),
  };
}

async function answerOf(path: string, init: RequestInit) {
  const response = await app.request(path, init);
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

/** What a method of the object gives for a call: as the view's schema has it, without what the edge adds. */
function viewFor({ operation }: Call, wanted: string): unknown {
  if (operation.operationId === "listNetworks")
    return { assets: [exampleOf({ $ref: "Asset" }, document)], duplicatesMet: {} };
  const example = operation.responses[wanted]?.content?.["application/json"]?.example ?? null;
  const { secret: _, ...view } = Object(example) as Record<string, unknown>;
  return example === null || Array.isArray(example) ? example : view;
}

const signedUp = { tenant: exampleOf({ $ref: "Tenant" }, document), key: exampleOf({ $ref: "ApiKey" }, document) };
const met = new Set<string>();

/** Before the object is asked, or when it did not answer: requests of their own show these. */
const MADE_AT_THE_EDGE: readonly RefusalCode[] = [
  "malformed_json",
  "payload_too_large",
  "unsupported_media_type",
  "invalid_idempotency_key",
  "idempotency_key_missing",
  "internal_error",
];

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(calls)("$name", (call) => {
  const remembersKey = call.operation.responses[200]?.headers?.["Idempotent-Replayed"] !== undefined;
  const successes = Object.keys(call.operation.responses).filter((one) => one.startsWith("2"));
  const check = async (path: string, init: RequestInit, answer: (method: string) => unknown) => {
    object = answer;
    reached.length = 0;
    const actual = await answerOf(path, init);
    expect(contract.violations(call.method, call.path, actual)).toEqual([]);
    return actual;
  };

  test.each(successes)("is met with %s, as described", async (wanted) => {
    const answer = (method: string) =>
      method === "signUp"
        ? signedUp
        : given(viewFor(call, wanted), { created: wanted === "201", replayed: wanted === "200" && remembersKey });
    const actual = await check(call.path, requestOf(call), answer);
    expect(actual.status).toBe(Number(wanted));
    met.add(`${call.name} ${wanted}`);
  });

  const codes = Object.values(call.operation.responses).flatMap(({ content }) =>
    Object.keys(content?.["application/problem+json"]?.examples ?? {}),
  ) as RefusalCode[];

  test("each of its codes comes with a status that is described, and each status with a code", () => {
    const statuses = Object.keys(call.operation.responses).filter((one) => /^[45]/.test(one));
    expect([...new Set(codes.map((code) => String(REFUSALS[code])))].sort()).toEqual(statuses.sort());
  });

  test("a body that does not fit, an unknown parameter, no key", async () => {
    const refusal = () => given(viewFor(call, "200"));
    const unknown = await check(`${call.path}?no_such=1`, requestOf(call), refusal);
    expect(unknown.status).toBe(422);
    if (call.operation.security.length > 0) {
      const bare = await check(call.path, requestOf(call, { Authorization: "Bearer sk_no" }), refusal);
      expect(bare.status).toBe(401);
    }
    if (call.operation.requestBody === undefined) return;
    const bad: [string, Record<string, string>, number][] = [
      ["[1]", {}, 400],
      ['{"no_such":1}', {}, 422],
      ["{}", { "Content-Type": "text/plain" }, 415],
      [`{"a":"${"x".repeat(66_000)}"}`, {}, 413],
      ...(codes.includes("invalid_idempotency_key")
        ? [["{}", { "Idempotency-Key": " \t" }, 400] as [string, Record<string, string>, number]]
        : []),
    ];
    for (const [body, headers, expected] of bad) {
      const actual = await check(call.path, requestOf(call, headers, body), refusal);
      expect(actual.status).toBe(expected);
    }
  });

  // Whatever the object authorizes has a scope.
  if (call.operation["x-required-scope"] !== undefined) {
    test.each(codes.filter((code) => !MADE_AT_THE_EDGE.includes(code)))(
      "what the object refuses with %s comes as described",
      async (code) => {
        const refuse = () => ({
          ok: false,
          refusal: { code, detail: "why" },
          rate: code === "unauthorized" ? null : RATE,
        });
        const actual = await check(call.path, requestOf(call), refuse);
        expect(actual.status).toBe(REFUSALS[code]);
      },
    );

    test.each([
      [500, new Error("broken")],
      [503, Object.assign(new Error("away"), { retryable: true })],
    ])("what the object throws comes as described: %i", async (expected, fault) => {
      vi.spyOn(console, "error").mockReturnValue();
      const actual = await check(call.path, requestOf(call), () => {
        throw fault;
      });
      expect(actual.status).toBe(expected);
    });

    test("its scope is the one that the object asks for", async () => {
      await check(call.path, requestOf(call), () => given(viewFor(call, successes[0] ?? "")));
      const [first] = reached.filter(({ to }) => to === "tenant");
      expect(scopesInSource.get(first?.method ?? "")).toBe(call.operation["x-required-scope"]);
    });
  }
});

/** By the method's name, as the object's source has it. */
const scopesInSource = new Map(
  [...projectFiles()]
    .filter(([path]) => path.startsWith("src/objects/tenant"))
    .flatMap(([, source]) =>
      [
        ...source.matchAll(/^ {2}async (\w+)\((?:(?!^ {2}\}).)*?this\.(?:serve|change|#write)\(caller, "([a-z:]+)"/gms),
      ].map(([, method = "", scope = ""]): [string, string] => [method, scope]),
    ),
);

test("every success that is described was met", () => {
  const all = calls.flatMap(({ name, operation }) =>
    Object.keys(operation.responses)
      .filter((one) => one.startsWith("2"))
      .map((one) => `${name} ${one}`),
  );
  expect([...met].sort()).toEqual(all.sort());
});

test("an answer that is not described is seen", () => {
  const headers = (type: string) => new Headers({ "Content-Type": type, "X-Request-Id": "req_1" });
  const tenant = exampleOf({ $ref: "Tenant" }, document) as Record<string, unknown>;
  const json = headers("application/json");
  const of = (status: number, body: unknown, from = json) =>
    contract.violations("GET", "/v1/tenant", { status, headers: from, body });
  expect(of(200, tenant)).toEqual([]);
  expect(of(202, tenant)).not.toEqual([]);
  expect(of(200, { ...tenant, more: 1 })).not.toEqual([]);
  expect(of(200, { ...tenant, id: 1 })).not.toEqual([]);
  expect(of(200, tenant, headers("text/plain"))).not.toEqual([]);
  expect(of(200, tenant, new Headers({ "Content-Type": "application/json" }))).not.toEqual([]);
  const problem = { ...(document.components.examples.not_found?.value as object) };
  expect(of(404, problem, headers("application/problem+json"))).not.toEqual([]);
});

describe("examples are true", () => {
  interface Definition {
    readonly type: string;
    readonly route: {
      readonly operationId: string;
      readonly request?: { readonly body?: { readonly content: Record<string, { readonly schema: z.ZodType }> } };
      readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: z.ZodType }> }>;
    };
  }
  const routes = (app.openAPIRegistry.definitions as unknown as Definition[])
    .filter(({ type }) => type === "route")
    .map(({ route }) => route);
  const operations = new Map(calls.map(({ operation }) => [operation.operationId, operation]));

  test.each(routes)("of $operationId, by the schemas that read and type the bodies", (route) => {
    const operation = operations.get(route.operationId);
    const read = route.request?.body?.content["application/json"]?.schema;
    const asked = operation?.requestBody?.content["application/json"]?.example;
    if (read !== undefined) expect(read.safeParse(asked)).toMatchObject({ success: true });
    for (const [status, { content }] of Object.entries(route.responses)) {
      const typed = content?.["application/json"]?.schema;
      const example = operation?.responses[status]?.content?.["application/json"]?.example;
      // Equal to what it is parsed to: a field that the schema does not know would be gone.
      if (typed !== undefined) expect(typed.parse(example)).toEqual(example);
    }
  });

  test.each(Object.entries(document.components.schemas))("of %s, by the document's own schema", (_, schema) => {
    expect(contract.mismatches(schema, exampleOf(schema, document))).toEqual([]);
  });

  test.each(WEBHOOK_EVENTS)("of the webhook $type, in the envelope and in its data", ({ type, schema }) => {
    const media = document.webhooks[type]?.post?.requestBody?.content["application/json"];
    expect(schema.parse(media?.example)).toEqual(media?.example);
    expect(contract.mismatches(media?.schema ?? {}, media?.example)).toEqual([]);
  });

  test.each(Object.entries(document.components.examples))("of the problem %s", (code, { value }) => {
    expect(contract.mismatches({ $ref: "#/components/schemas/Problem" }, value)).toEqual([]);
    expect(value).toMatchObject({ code, status: REFUSALS[code as RefusalCode] });
  });
});
