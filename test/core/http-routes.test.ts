/**
 * Bad input, on every route there is: the table comes from the API's own description, so a new route is
 * in it by being there. Each answer is a problem with a stable code, and nothing behind was reached.
 */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { mintApiKey } from "../../src/core/api-key.ts";
import { newId } from "../../src/core/ids.ts";
import { API_KEY, BY_SESSION, fakeApp, keyed, OPERATOR_TOKEN, PEPPER, problemOf } from "../support/http-app.ts";

interface Operation {
  readonly security?: readonly Record<string, unknown>[];
  readonly parameters?: readonly { readonly $ref?: string }[];
  readonly requestBody?: {
    readonly required?: boolean;
    readonly content: Record<string, { schema: { $ref?: string } }>;
  };
}
interface Route {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly guard: "apiKey" | "session" | "operatorToken" | "none";
  readonly body: "required" | "optional" | "none";
  /** Without an Idempotency-Key it goes no further. */
  readonly once: boolean;
}

const ID = "01h455vb4pex5vsknk084sn02q";
const PREFIXES: Record<string, string> = {
  "api-keys": "key",
  addresses: "addr",
  deposits: "dep",
  events: "evt",
  "webhook-endpoints": "we",
  backfills: "bf",
  withdrawals: "wd",
};

// One app for the whole table: nothing may ever reach what is behind it, so nothing changes.
const { app, calls } = fakeApp();
const routes = await allRoutes();
const withBody = routes.filter((route) => route.body !== "none");
const guarded = routes.filter((route) => route.guard !== "none");

async function allRoutes(): Promise<Route[]> {
  const response = await app.request("/openapi.json");
  const document = (await response.json()) as { paths: Record<string, Record<string, Operation>> };
  return Object.entries(document.paths).flatMap(([pattern, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const noun = pattern.split("/")[2] ?? "";
      const path = pattern
        .replace("/operator/networks/{id}", "/operator/networks/local")
        .replace("{id}", `${PREFIXES[noun]}_${ID}`)
        .replace("{delivery_id}", `del_${ID}`)
        .replace("{network}", "local");
      const guard = Object.keys(operation.security?.[0] ?? {})[0] ?? "none";
      const body =
        operation.requestBody === undefined ? "none" : operation.requestBody.required ? "required" : "optional";
      const once = (operation.parameters ?? []).some(({ $ref }) => $ref?.endsWith("/RequiredIdempotencyKey"));
      const name = `${method.toUpperCase()} ${pattern}`;
      return { name, method: method.toUpperCase(), path, guard, body, once } as Route;
    }),
  );
}

/** A request that gets past the guard. */
function open(route: Route, body?: string, headers: Record<string, string> = {}): RequestInit {
  const once = route.once ? { "Idempotency-Key": "k" } : {};
  if (route.guard === "session") {
    const { Authorization: _, ...of } = keyed(route.method, body, headers).headers as Record<string, string>;
    return { ...keyed(route.method, body), headers: { ...of, ...BY_SESSION } };
  }
  const token = route.guard === "operatorToken" ? OPERATOR_TOKEN : API_KEY;
  return keyed(route.method, body, { Authorization: `Bearer ${token}`, ...once, ...headers });
}

async function expectRefusal(route: Route, init: RequestInit, code: string, path = route.path) {
  const response = await app.request(path, init);
  const problem = await problemOf(response);
  expect(problem.code).toBe(code);
  expect(problem.status).toBe(response.status);
  expect(problem.request_id).toMatch(/^req_[0-9a-z]{26}$/);
  expect(response.headers.get("x-request-id")).toBe(problem.request_id);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(calls).toEqual([]);
  return { response, problem };
}

const SAID_OF_A_REQUEST = "level time event request_id tenant key_id via method route status duration_ms client".split(
  " ",
);
const written: string[] = [];
beforeEach(() => {
  written.length = 0;
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, method).mockImplementation((...args: unknown[]) => {
      written.push(args.map(String).join(" "));
    });
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  // Bad input is no fault of ours: one line says that it came, of which nothing is the caller's own words.
  const logged = written.map((line) =>
    Object.keys(JSON.parse(line)).filter((name) => !SAID_OF_A_REQUEST.includes(name)),
  );
  expect(logged).toEqual(written.map(() => []));
});

test("the table has every route, and only these are open", () => {
  expect(routes.length).toBeGreaterThanOrEqual(55);
  expect(routes.filter((route) => route.guard === "none").map((route) => route.name)).toEqual([
    "POST /v1/tenants",
    "GET /healthz",
  ]);
  expect(routes.filter((route) => route.guard === "operatorToken").map((route) => route.name)).toEqual([
    "GET /v1/operator/incidents",
    "GET /metrics",
    "GET /v1/operator/networks/{id}",
    "POST /v1/operator/networks/{id}/resume",
  ]);
});

describe.each(guarded)("$name: without a valid key", (route) => {
  const forged = API_KEY.slice(0, -1) + (API_KEY.endsWith("0") ? "1" : "0");
  const foreign = mintApiKey(newId("ten", new Uint8Array(16)), new Uint8Array(20), `${PEPPER}!`).secret;
  const other = route.guard === "apiKey" ? OPERATOR_TOKEN : API_KEY;
  test.each([
    ["none", undefined],
    ["empty", ""],
    ["no scheme", API_KEY],
    ["another scheme", `Basic ${API_KEY}`],
    ["forged", `Bearer ${forged}`],
    ["of another pepper", `Bearer ${foreign}`],
    ["cut", `Bearer ${API_KEY.slice(0, 40)}`],
    ["two keys", `Bearer ${API_KEY}, Bearer ${API_KEY}`],
    ["the other kind", `Bearer ${other}`],
    ["an object's name", "Bearer __proto__"],
  ])("%s: 401, one body for all", async (_, authorization) => {
    const headers = authorization === undefined ? {} : { Authorization: authorization };
    const { response, problem } = await expectRefusal(route, { method: route.method, headers }, "unauthorized");
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    const { request_id: _id, ...rest } = problem;
    expect(rest).toEqual({
      type: "/docs#problem-unauthorized",
      title: "No valid API key",
      status: 401,
      detail: "Send a valid API key: Authorization: Bearer sk_...",
      code: "unauthorized",
      retryable: false,
    });
  });
});

describe.each(withBody)("$name: a body that is not what it should be (B127)", (route) => {
  const type = (of: string) => ({ "Content-Type": of });
  test.each([
    ["text/plain", "{}", type("text/plain"), "unsupported_media_type"],
    ["a form", "a=1", type("application/x-www-form-urlencoded"), "unsupported_media_type"],
    ["UTF-16", "{}", type("application/json; charset=utf-16"), "unsupported_media_type"],
    ["not JSON", '{"a":1', {}, "malformed_json"],
    ["a list", "[{}]", {}, "malformed_json"],
    ["a byte order mark", "\uFEFF{}", {}, "malformed_json"],
    ["a field twice", '{"name":"a","name":"b"}', {}, "malformed_json"],
    ["too deep", `{"a":${"[".repeat(16)}${"]".repeat(16)}}`, {}, "malformed_json"],
    ["too large", `{"a":"${"x".repeat(65_536)}"}`, {}, "payload_too_large"],
  ])("%s", async (_, body, headers, code) => {
    await expectRefusal(route, open(route, body, headers), code);
  });

  test("invalid UTF-8", async () => {
    const bytes = new Uint8Array([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc3, 0x28, 0x22, 0x7d]);
    await expectRefusal(route, { ...open(route, "{}"), body: bytes }, "malformed_json");
  });

  test("an unknown field is named", async () => {
    const { problem } = await expectRefusal(route, open(route, '{"no_such_field":1}'), "invalid_fields");
    expect(problem.status).toBe(422);
    expect(problem.errors).toContainEqual({ path: "no_such_field", message: "unknown field" });
  });

  if (route.body === "required") {
    test("an empty one", async () => {
      await expectRefusal(route, open(route, ""), "malformed_json");
      await expectRefusal(route, open(route), "unsupported_media_type");
    });
  }
});

describe.each(routes.filter((route) => route.method === "POST"))("$name: Idempotency-Key (B81)", (route) => {
  const é = String.fromCharCode(0xe9);
  test.each([
    ["empty", ""],
    ["blank", " "],
    ["256 characters", "k".repeat(256)],
    ["a tab inside", "a\tb"],
    ["not ASCII", é],
    ["e and a combining accent, as bytes of UTF-8", "e\u00cc\u0081"],
    ["Cyrillic, as bytes of UTF-8", "\u00d0\u00ba\u00d0\u00bb"],
    ["DEL", "a\u007f"],
  ])("%s", async (_, key) => {
    await expectRefusal(route, open(route, "{}", { "Idempotency-Key": key }), "invalid_idempotency_key");
  });
});

test("B78: the withdrawal alone cannot do without an Idempotency-Key, whatever its body is like", async () => {
  const once = routes.filter((route) => route.once);
  expect(once.map(({ name }) => name)).toEqual(["POST /v1/withdrawals"]);
  for (const route of once) {
    const good = { network: "local", asset: "ETH", destination: "0xab", amount: "1" };
    for (const body of [JSON.stringify(good), "{}", "", "{", "[]", "x".repeat(70_000)]) {
      const { problem } = await expectRefusal(route, keyed("POST", body), "idempotency_key_missing");
      expect(problem).toMatchObject({ status: 400, retryable: false });
    }
    await expectRefusal(route, keyed("POST", "{", { "Content-Type": "text/plain" }), "idempotency_key_missing");
    // The key of the API still comes first, and its absence says nothing of the other.
    await expectRefusal(route, { method: "POST" }, "unauthorized");
  }
});

describe.each(routes)("$name", (route) => {
  test("an unknown query parameter is named", async () => {
    const body = route.body === "none" ? undefined : "{}";
    const { problem } = await expectRefusal(route, open(route, body), "invalid_fields", `${route.path}?no_such=1`);
    expect(problem.errors).toContainEqual({ path: "no_such", message: "unknown field" });
  });

  test("another method", async () => {
    const known = routes.filter(({ path }) => path === route.path).map(({ method }) => method);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      // GET reads the last part as an id, and there is no withdrawal of this one.
      const code = route.path === "/v1/withdrawals/estimate" && method === "GET" ? "not_found" : "method_not_allowed";
      if (known.includes(method)) continue;
      const { response } = await expectRefusal(route, { ...open(route), method }, code);
      if (code === "not_found") continue;
      const allowed = response.headers
        .get("allow")
        ?.split(", ")
        .filter((one) => one !== "HEAD");
      expect(allowed?.sort()).toEqual(known.sort());
    }
  });

  if (route.path.includes(ID)) {
    test.each(["x", "1", ID, `evil_${ID}`, `${ID}%0a`, "__proto__", "%2e%2e", "%00", "x".repeat(2000)])(
      "the id %j is unknown",
      async (id) => {
        const path = route.path.replace(/[a-z]+_01h455vb4pex5vsknk084sn02q/, id);
        await expectRefusal(route, open(route, route.body === "none" ? undefined : "{}"), "not_found", path);
      },
    );
  }
});

test.each(["/", "/v1", "/v1/", "/v1/tenant/", "/v2/tenant", "//v1/tenant", "/v1/tenant%2f", "/v1/addresses/a/b"])(
  "%s is unknown",
  async (path) => {
    expect((await problemOf(await app.request(`http://test${path}`, keyed("GET")))).code).toBe("not_found");
    expect(calls).toEqual([]);
  },
);

test("a request id from outside is not taken over", async () => {
  const response = await app.request("/v1/tenant", { headers: { "X-Request-Id": "mine" } });
  expect(response.headers.get("x-request-id")).toMatch(/^req_/);
});
