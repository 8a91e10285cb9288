/**
 * The audit log with the real objects: whatever changes something, or tries to, leaves its entry, and nothing that
 * happened to the log afterwards goes unseen.
 */

import { exports } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AUDITED_CALLS } from "../../src/core/audit-entry.ts";
import type { AuditEntryView } from "../../src/core/views.ts";
import type { Env } from "../../src/env.ts";
import { type ApiDocument, type Operation, parametersOf } from "../../src/http/description/document.ts";
import { exampleOf } from "../../src/http/description/example.ts";
import { verifyAuditLog } from "../../src/sdk/audit-log.ts";
import { call, Merchant, quiet, startLine } from "./line.ts";

const { default: worker } = exports as unknown as { default: Fetcher };
const document = (await (await worker.fetch("https://sluice.test/openapi.json")).json()) as ApiDocument;

/** They change nothing of a tenant: the one only reckons, the other is the operator's. */
const UNAUDITED = ["estimateWithdrawal", "resumeNetwork"];

interface Changing {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}
const changing: Changing[] = Object.entries(document.paths).flatMap(([template, item]) =>
  Object.entries(item)
    .filter(([method, { operationId }]) => method !== "get" && !UNAUDITED.includes(operationId))
    .map(([method, operation]) => {
      const parameters = parametersOf(operation, document);
      const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
        const parameter = parameters.find((one) => one.in === "path" && one.name === name);
        return name === "network" ? "local" : String(exampleOf(parameter?.schema ?? {}, document));
      });
      return { name: operation.operationId, method: method.toUpperCase(), path, operation };
    }),
);
/** What can be called with any key: sign-up needs none, and only a session signs out. */
const keyed = changing.filter(({ name }) => name !== "signUp" && name !== "endSession");

let merchant: Merchant;
beforeEach(async () => {
  await startLine(5);
  merchant = await Merchant.signUp();
  vi.restoreAllMocks();
});

const log = () => merchant.get<{ data: AuditEntryView[] }>("/v1/audit-log?limit=200").then(({ data }) => data);
const verdict = async () => verifyAuditLog(await log(), { tenantId: merchant.id });
const since = (count: number) => log().then((entries) => entries.slice(count));

async function keyWith(...scopes: string[]): Promise<{ id: string; secret: string }> {
  const response = await merchant.call("POST", "/v1/api-keys", { body: { name: "k", scopes } });
  expect(response.status).toBe(201);
  return response.json();
}

const ask = ({ method, path, operation }: Changing, key: string) => {
  const media = operation.requestBody?.content["application/json"];
  const headers = { "Idempotency-Key": `audit-${operation.operationId}` };
  return call(method, path, { key, headers, ...(media === undefined ? {} : { body: media.example }) });
};

it("the calls of the log are those of the API that change something", () => {
  expect(changing.map(({ name }) => name).sort()).toEqual([...AUDITED_CALLS].sort());
});

describe("every call that changes something", () => {
  it("leaves an entry when the key lacks the scope for it", async () => {
    const { id, secret } = await keyWith("read");
    const before = (await log()).length;
    const asked: unknown[] = [];
    for (const one of keyed) {
      const response = await ask(one, secret);
      // Whoever may read may sign in.
      const outcome = one.name === "createSession" ? "ok" : "forbidden";
      expect([one.name, response.status]).toEqual([one.name, outcome === "ok" ? 201 : 403]);
      const subject = one.path.match(/(?<=\/)((?:key|addr|wd|we|del)_\w+|local)(?!.*_\w{26})/)?.[0] ?? null;
      asked.push([one.name, outcome, response.headers.get("x-request-id"), id, subject ?? expect.anything()]);
    }
    const told = (await since(before)).map((e) => [e.call, e.outcome, e.request_id, e.api_key_id, e.subject ?? "-"]);
    expect(told).toEqual(asked);
    expect(await verdict()).toMatchObject({ ok: true });
  });

  it("leaves one that says how it ended", { timeout: 30_000 }, async () => {
    quiet("warn", "error");
    const { secret } = await keyWith("admin");
    for (const one of keyed) {
      const before = (await log()).length;
      const response = await ask(one, secret);
      const code = response.ok ? "ok" : ((await response.json()) as { code: string }).code;
      const told = await since(before);
      const requestId = response.headers.get("x-request-id");
      expect([one.name, told.map(({ call, request_id }) => [call, request_id])]).toEqual([
        one.name,
        told.map(() => [one.name, requestId]),
      ]);
      expect([one.name, told.at(-1)?.outcome]).toEqual([one.name, code]);
    }
    expect(await verdict()).toMatchObject({ ok: true });
  });
});

describe("an entry", () => {
  it("of the sign-up is the first one", async () => {
    expect(await log()).toMatchObject([
      { sequence: 1, call: "signUp", subject: merchant.id, api_key_id: merchant.keyId, outcome: "ok", via: "api_key" },
    ]);
  });

  it("says from where, as the platform does, and believes no other header", async () => {
    const headers = { "CF-Connecting-IP": "198.51.100.9", "X-Forwarded-For": "203.0.113.5", "User-Agent": "shop/1" };
    await merchant.call("POST", "/v1/reconciliation", { headers });
    await merchant.call("POST", "/v1/reconciliation", { headers: { "X-Forwarded-For": "203.0.113.5" } });
    expect((await since(1)).map((entry) => entry.client_address)).toEqual(["198.51.100.9", null]);
    expect((await since(1))[0]?.user_agent).toBe("shop/1");
  });

  it("of a session names its key; signing in and out are among them, and out only once", async () => {
    const signedIn = await merchant.call("POST", "/v1/session");
    const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
    const headers = { Cookie: cookie, Origin: "https://sluice.test" };
    await call("POST", "/v1/reconciliation", { headers });
    for (let i = 0; i < 2; i++) expect((await call("DELETE", "/v1/session", { headers })).status).toBe(204);
    const told = (await since(1)).map(({ call, via, api_key_id }) => [call, via, api_key_id]);
    expect(told).toEqual([
      ["createSession", "api_key", merchant.keyId],
      ["runReconciliation", "session", merchant.keyId],
      ["endSession", "session", merchant.keyId],
    ]);
    expect(JSON.stringify(await log())).not.toContain(cookie.split("=")[1]);
  });

  it("of a repeat says replayed, and names what the first one made", async () => {
    const make = () =>
      merchant.call("POST", "/v1/api-keys", {
        body: { name: "k", scopes: ["read"] },
        headers: { "Idempotency-Key": "one" },
      });
    const { id } = (await (await make()).json()) as { id: string };
    await make();
    expect((await since(1)).map(({ outcome, subject }) => [outcome, subject])).toEqual([
      ["ok", id],
      ["replayed", id],
    ]);
  });

  it("is there when its change is, also when the answer is a fault", async () => {
    quiet("warn", "error");
    const { id } = await keyWith("read");
    const before = (await log()).length;
    await merchant.inside((object) => {
      const own = (object as unknown as { env: Env }).env.DB;
      vi.spyOn(own, "prepare").mockImplementation(() => {
        throw new Error("D1_ERROR: Network connection lost.");
      });
    });
    expect((await merchant.call("DELETE", `/v1/api-keys/${id}`)).status).toBe(503);
    vi.restoreAllMocks();
    expect((await since(before)).map(({ call, outcome, subject }) => [call, outcome, subject])).toEqual([
      ["revokeApiKey", "ok", id],
    ]);
  });

  it("is written before another object is asked to make the change", async () => {
    quiet("warn", "error");
    const made = await merchant.call("POST", "/v1/webhook-endpoints", { body: { url: "https://shop.example/hook" } });
    const { id } = (await made.json()) as { id: string };
    const before = (await log()).length;
    await merchant.inside((object) => {
      vi.spyOn((object as unknown as { env: Env }).env.WEBHOOK_ENDPOINT, "get").mockImplementation(() => {
        throw new Error("Network connection lost.");
      });
    });
    expect((await merchant.call("POST", `/v1/webhook-endpoints/${id}/rotate-secret`)).status).toBe(503);
    vi.restoreAllMocks();
    expect((await since(before)).map(({ outcome }) => outcome)).toEqual(["begun"]);
    expect((await merchant.call("POST", `/v1/webhook-endpoints/${id}/rotate-secret`)).status).toBe(200);
    expect((await since(before)).map(({ outcome }) => outcome)).toEqual(["begun", "begun", "ok"]);
  });

  it("is not left by a read, nor by a stranger", async () => {
    await merchant.get("/v1/balances");
    const { secret } = await keyWith("read");
    await merchant.call("DELETE", `/v1/api-keys/${(await log()).at(-1)?.subject}`);
    const before = (await log()).length;
    expect((await call("POST", "/v1/reconciliation", { key: secret })).status).toBe(401);
    expect((await call("GET", "/v1/audit-log", { key: secret })).status).toBe(401);
    expect(await since(before)).toEqual([]);
  });
});

it("a key that is refused without end fills no log, and hides no change", async () => {
  const { secret } = await keyWith("read");
  const before = (await log()).length;
  for (let i = 0; i < 70; i++) await call("POST", "/v1/reconciliation", { key: secret });
  await call("POST", "/v1/session", { key: secret });
  const told = await since(before);
  expect(told.map(({ outcome }) => outcome)).toEqual([...Array(60).fill("forbidden"), "ok"]);
});

it("the list is read by pages, narrowed, and by whoever may do everything", async () => {
  const { id, secret } = await keyWith("read", "withdrawals:write");
  for (let i = 0; i < 3; i++) await call("POST", "/v1/reconciliation", { key: secret });
  expect((await call("GET", "/v1/audit-log", { key: secret })).status).toBe(403);
  const page = await merchant.get<{ data: AuditEntryView[]; next_cursor: string }>("/v1/audit-log?limit=2&after=1");
  expect([page.data.map(({ sequence }) => sequence), page.next_cursor]).toEqual([[2, 3], "3"]);
  const sequences = async (query: string) =>
    (await merchant.get<{ data: AuditEntryView[] }>(`/v1/audit-log?${query}`)).data.map(({ sequence }) => sequence);
  expect(await sequences("call=runReconciliation")).toEqual([3, 4, 5]);
  expect(await sequences(`api_key_id=${id}&after=3`)).toEqual([4, 5]);
  expect(await sequences(`api_key_id=${merchant.keyId}`)).toEqual([1, 2]);
});

describe("whoever writes to the database is found out", () => {
  it.each([
    ["a changed outcome", "UPDATE audit_log SET outcome = 'ok' WHERE seq = 3", 3],
    ["a changed key", "UPDATE audit_log SET key_id = 'key_x' WHERE seq = 2", 2],
    ["a changed time", "UPDATE audit_log SET at = at + 1 WHERE seq = 4", 4],
    ["an entry taken out", "DELETE FROM audit_log WHERE seq = 2", 2],
  ])("%s", async (_, statement, at) => {
    for (let i = 0; i < 4; i++) await merchant.call("DELETE", `/v1/addresses/addr_${"0".repeat(26)}`);
    expect(await verdict()).toMatchObject({ ok: true, entries: 5 });
    await merchant.inside((_object, sql) => void sql.exec(statement));
    expect(await verdict()).toMatchObject({ ok: false, sequence: at });
  });

  it("an older copy that went on from there is another log", async () => {
    await merchant.call("POST", "/v1/reconciliation");
    const whole = await verdict();
    if (!whole.ok) throw new Error("it is whole");
    await merchant.inside((_, sql) => void sql.exec("DELETE FROM audit_log WHERE seq = 2"));
    const entries = await log();
    const cut = await verifyAuditLog(entries, { tenantId: merchant.id }, [whole.head]);
    expect(cut).toMatchObject({ ok: false, sequence: 2, reason: "cut_off" });
    await merchant.call("POST", "/v1/reconciliation");
    expect(await verdict()).toMatchObject({ ok: true, entries: 2 });
    const other = await verifyAuditLog(await log(), { tenantId: merchant.id }, [whole.head]);
    expect(other).toMatchObject({ ok: false, sequence: 2, reason: "rewritten" });
  });
});
