/** The calls under /sandbox at the edge: there with the binding alone, for callers that the tenant's object knows. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { API_KEY, fakeApp, given, type Options, TENANT_ID } from "../support/http-app.ts";

const tenant = { getTenant: async () => given({ id: TENANT_ID, name: "A shop", created_at: "" }) };
const session = {
  tenant: { id: TENANT_ID, name: "A shop", email: null, created_at: "" },
  api_key: { id: "key_1", name: "default", scopes: ["admin"], created_at: "", expires_at: null, revoked_at: null },
  expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  event_sequence: 0,
};
const enterable = { ...tenant, createSession: async () => given(session, { created: true }) };
const keyed = { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" };
const PATHS = ["", "/deliveries", "/enter", "/pay", "/mine", "/reorg", "/rpc", "/receiver", "/receiver/keys", "/fees"];

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly tenant: string | null;
  readonly body: string;
}

function sandboxed(answer: () => Response, own: NonNullable<Options["tenant"]> = tenant) {
  const seen: Seen[] = [];
  const sandbox = async (request: Request) => {
    const { method, url, headers } = request;
    seen.push({ method, url, tenant: headers.get("x-sluice-tenant"), body: await request.text() });
    return answer();
  };
  return { seen, ...fakeApp({ tenant: own, sandbox }) };
}

describe("a Worker without the binding", () => {
  it.each(PATHS)("has no /sandbox%s, by any method, with a key or without", async (path) => {
    const { app, calls } = fakeApp({ tenant });
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const body = method === "POST" ? { body: '{"blocks":1}' } : {};
      const answer = await app.request(`/sandbox${path}`, { method, headers: keyed, ...body });
      const plain = await app.request(`/nothing${path}`, { method, headers: keyed, ...body });
      expect([method, answer.status, plain.status]).toEqual([method, 404, 404]);
      if (method !== "HEAD") expect(await codeOf(answer)).toEqual(await codeOf(plain));
    }
    expect(calls).toEqual([]);
  });

  it("is every one that is deployed", () => {
    const settings = readFileSync("wrangler.toml", "utf8");
    expect(settings).not.toMatch(/sandbox|\bservices\b|service_binding/i);
    expect(settings).toContain("[[d1_databases]]");
  });
});

describe("a Worker with it", () => {
  it("hands on who calls and what was sent, and streams the answer", async () => {
    const { app, seen } = sandboxed(() => Response.json({ height: 41 }));
    const answer = await app.request("/sandbox/mine", {
      method: "POST",
      headers: { ...keyed, "x-sluice-tenant": "ten_other" },
      body: '{"blocks":1}',
    });
    expect([answer.status, await answer.json()]).toEqual([200, { height: 41 }]);
    expect(answer.headers.get("x-request-id")).toMatch(/^req_/);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    await app.request("/sandbox/deliveries?after=3", { headers: keyed });
    await app.request("/sandbox", { headers: keyed });
    expect(seen.map(({ method, url, tenant, body }) => [method, url, tenant, body])).toEqual([
      ["POST", "http://sandbox/mine", TENANT_ID, '{"blocks":1}'],
      ["GET", "http://sandbox/deliveries?after=3", TENANT_ID, ""],
      ["GET", "http://sandbox/", TENANT_ID, ""],
    ]);
  });

  it("asks it nothing for a caller whom nobody knows, nor with a body that is no JSON object", async () => {
    const { app, seen } = sandboxed(() => Response.json({}));
    for (const path of PATHS.filter((one) => one !== "/enter")) {
      const method = ["", "/deliveries"].includes(path) ? "GET" : "POST";
      expect((await app.request(`/sandbox${path}`, { method, headers: { authorization: "Bearer sk_x" } })).status).toBe(
        401,
      );
    }
    expect((await app.request("/sandbox/mine", { method: "POST", headers: keyed, body: "[]" })).status).toBe(400);
    expect(
      (
        await app.request("/sandbox/mine", {
          method: "POST",
          headers: { authorization: keyed.authorization },
          body: "{}",
        })
      ).status,
    ).toBe(415);
    expect((await app.request("/sandbox/mine", { headers: keyed })).status).toBe(405);
    expect(seen).toEqual([]);
    const ended = sandboxed(() => Response.json({}), {
      getTenant: async () => ({ ok: false, refusal: { code: "unauthorized", detail: "" }, rate: null }),
    } as never);
    expect((await ended.app.request("/sandbox", { headers: keyed })).status).toBe(401);
    expect(ended.seen).toEqual([]);
  });

  it("says its refusals as the API does, and calls a broken one out of reach", async () => {
    const refusal = {
      code: "invalid_fields",
      detail: "The call has fields that do not fit.",
      errors: [{ path: "blocks", message: "too many" }],
    };
    const answers = [
      Response.json(refusal, { status: 422 }),
      new Response("oops", { status: 500 }),
      new Response(null, { status: 204 }),
    ];
    const { app } = sandboxed(() => answers.shift() ?? Response.error());
    const post = () => app.request("/sandbox/mine", { method: "POST", headers: keyed, body: "{}" });
    const refused = await post();
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect(await refused.json()).toMatchObject({ ...refusal, status: 422, title: "Fields do not fit" });
    const broken = await post();
    expect([broken.status, (await codeOf(broken)).code]).toEqual([503, "store_unavailable"]);
    expect((await post()).status).toBe(204);
  });

  it("lets whoever has the start's link in with the shop's key, and nobody else", async () => {
    const { app, seen, calls } = sandboxed(() => Response.json({ key: API_KEY }), enterable);
    const entered = await app.request("/sandbox/enter?code=a%26b");
    expect([entered.status, entered.headers.get("location")]).toEqual([303, "/?entered"]);
    expect(await entered.text()).not.toContain(API_KEY);
    const cookie = entered.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^__Host-sluice=ses_[^;]+; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
    expect(cookie).not.toContain(API_KEY);
    expect(seen).toMatchObject([{ url: "http://sandbox/enter?code=a%26b", tenant: null }]);
    expect(calls.length).toBeGreaterThan(0);
    const stranger = sandboxed(() => Response.json({ code: "not_found", detail: "" }, { status: 404 }));
    expect((await stranger.app.request("/sandbox/enter?code=x")).status).toBe(404);
    expect(stranger.calls).toEqual([]);
  });
});

async function codeOf(answer: Response): Promise<{ code: string; detail: string }> {
  const { code, detail } = (await answer.json()) as { code: string; detail: string };
  return { code, detail };
}
