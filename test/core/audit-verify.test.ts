/** `npm run audit:verify` as a person runs it: what it says, and what it ends with. */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { PROJECT } from "../../scripts/install.mjs";
import { auditGenesis, auditHash } from "../../src/core/audit-entry.ts";
import type { AuditEntry } from "../../src/sdk/index.ts";

const TENANT = "ten_3v1emn9dvbtc4ar3ptj4at52dh";
const KEY = "sk_for_this_test_alone";
const PAGE = 2;

function written(length: number): AuditEntry[] {
  let hash = auditGenesis(TENANT);
  return Array.from({ length }, (_, i) => {
    const entry = {
      ...{ sequence: i + 1, created_at: "2026-01-31T12:20:11.000Z", api_key_id: "key_1", via: "api_key" as const },
      ...{ request_id: `req_${i}`, call: "createAddress" as const, subject: `addr_${i}`, outcome: "ok" },
      ...{ client_address: "192.0.2.7", user_agent: null },
    };
    hash = auditHash(hash, entry);
    return { ...entry, hash };
  });
}

let served: AuditEntry[];
let server: Server;
let url: string;
const folder = mkdtempSync(join(tmpdir(), "sluice-audit-"));
beforeAll(async () => {
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://service");
    const after = Number(searchParams.get("after") ?? 0);
    const data = served.slice(after, after + PAGE);
    const next_cursor = after + PAGE < served.length ? String(after + PAGE) : null;
    const isKnown = request.headers.authorization === `Bearer ${KEY}`;
    response.writeHead(isKnown ? 200 : 401, { "content-type": "application/json" });
    const body = pathname === "/v1/tenant" ? { id: TENANT } : { data, next_cursor };
    response.end(JSON.stringify(isKnown ? body : { code: "unauthorized", status: 401, title: "No key" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  served = written(5);
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

async function verify(args: readonly string[], key?: string) {
  const { SLUICE_API_KEY: _, ...outside } = process.env;
  const env = { ...outside, ...(key === undefined ? {} : { SLUICE_API_KEY: key }) };
  const child = spawn(process.execPath, ["--no-warnings", join(PROJECT, "scripts", "audit-verify.ts"), ...args], {
    env,
  });
  let said = "";
  child.stdout.on("data", (chunk) => {
    said += chunk;
  });
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  return { code, said };
}
const headAt = (sequence: number) => `${sequence}:${served[sequence - 1]?.hash}`;

it("reads the whole log with a key from the environment or a file, and what it exported without the service", async () => {
  const [keyFile, exported] = [join(folder, "key"), join(folder, "log")];
  writeFileSync(keyFile, `${KEY}\n`);
  const whole = `5 entries of ${TENANT}, whole\nhead: ${headAt(5)}\n`;
  const first = await verify(["--url", url, "--export", exported], KEY);
  expect(first).toEqual({ code: 0, said: expect.stringContaining(whole) });
  expect(readFileSync(exported, "utf8").trim().split("\n")).toHaveLength(5);
  const later = await verify(["--url", url, "--key-file", keyFile, "--expect", headAt(3), "--expect", headAt(5)]);
  expect(later).toEqual({ code: 0, said: whole });
  expect(await verify(["--file", exported, "--tenant", TENANT, "--expect", headAt(5)])).toEqual({
    code: 0,
    said: whole,
  });
});

it("ends with 1 where the log was changed or cut off since", async () => {
  const kept = headAt(5);
  served = served.with(2, { ...(served[2] as AuditEntry), outcome: "forbidden" });
  expect(await verify(["--url", url], KEY)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/^broken at entry 3 \(wrong_hash\)/),
  });
  served = written(4);
  expect(await verify(["--url", url, "--expect", kept], KEY)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/^broken at entry 5 \(cut_off\)/),
  });
});

it("ends with 2 when there is nothing to judge, and shows no key", async () => {
  const asked = [
    verify(["--url", url, "--expects", headAt(5)], KEY),
    verify(["--url", url]),
    verify(["--url", url, "--tenant", "ten_other"], KEY),
  ];
  for (const { code, said } of await Promise.all(asked)) {
    expect([code, said]).toEqual([2, expect.stringMatching(/./)]);
    expect(said).not.toContain(KEY);
    expect(said).not.toMatch(/^\s+at /m);
  }
});
