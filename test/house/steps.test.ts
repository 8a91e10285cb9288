/** No way out of `src/` without a named step; and each rule catches what it is there for. */

import { describe, expect, it } from "vitest";
import { projectFiles } from "./project-files.ts";
import type { Sources } from "./source-rules.ts";
import { stepViolations } from "./step-rules.ts";

const sources: Sources = new Map([...projectFiles()].filter(([path]) => path.startsWith("src/")));
const check = (path: string, source: string) => stepViolations(new Map([[path, source]]));

describe("src/", () => {
  it("goes out through named steps only", () => expect(stepViolations(sources)).toEqual([]));

  it("makes a step of each boundary", () => {
    for (const [path, call] of [
      ["src/store/d1/deadline.ts", "step(`d1 "],
      ["src/chains/rpc/http-exchange.ts", "step(`rpc "],
      ["src/webhooks/delivery.ts", 'step("webhook"'],
      ["src/objects/tenant/withdrawals/nonces/sign.ts", 'step("sign"'],
      ["src/http/worker.ts", 'step("sign-up limit"'],
      ["src/objects/stepped-storage.ts", "commitStep(`"],
    ] as const) {
      expect([path, sources.get(path)?.includes(call)]).toEqual([path, true]);
    }
  });
});

describe("the rules catch", () => {
  it.each([
    ["src/objects/b.ts", 'const x = await fetch("https://a");'],
    ["src/chains/b.ts", "const send: typeof fetch = (input, init) => fetch(input, init);"],
    ["src/objects/chain-scanner.ts", 'const x = async () => (await fetch("https://a")).text();'],
    ["src/webhooks/b.ts", "export const x = (world: World) => world.fetch(url, init);"],
    ["src/store/b.ts", "export const x = { send: fetch };"],
    ["src/watcher/b.ts", "const send: typeof fetch = (input, init) => fetch(input, init);"],
    ["src/objects/b.ts", "export const x = globalThis.fetch;"],
    ["src/chains/b.ts", 'const socket = new WebSocket("wss://a");'],
    ["src/chains/b.ts", 'import { connect } from "cloudflare:sockets";'],
    ["src/chains/b.ts", 'import { request } from "node:https";'],
    ["src/store/d1/b.ts", 'export const x = (db: D1Database) => db.prepare("SELECT 1").first();'],
    ["src/store/d1/b.ts", 'const all = db.prepare("SELECT 1"); await withDeadline("x", () => all.run());'],
    ["src/objects/b.ts", "await c.env.DB.batch(statements);"],
    ["src/http/b.ts", 'await env.DB.exec("DELETE FROM tenants");'],
    ["src/objects/b.ts", "const id = namespace.idFromName(name);"],
    ["src/http/b.ts", "const id = namespace.getByName(name);"],
    ["src/patrol.ts", "const all = env.TENANT;"],
    ["src/objects/b.ts", "this.ctx.storage.transactionSync(() => 1);"],
    ["src/objects/b.ts", "await this.ctx.storage.setAlarm(1);"],
    ["src/objects/b.ts", "const { storage } = this.ctx;"],
    ["src/objects/b.ts", "const x = { storage: ctx.storage };"],
    ["src/objects/b.ts", "c.db.transaction(() => 1);"],
    ["src/env.ts", "export interface Env { readonly QUEUE: Queue }"],
  ])("%s: %s", (path, source) => {
    const violations = check(path, source);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toContain(path);
  });

  it.each([
    ["src/webhooks/b.ts", 'const sent = step("webhook", () => world.fetch(url, init));'],
    ["src/objects/chain-scanner.ts", "const x = { fetch: (input, init) => fetch(input, init) };"],
    ["src/watcher/evm-source.ts", "const send = options.fetch ?? ((input, init) => fetch(input, init));"],
    ["src/store/d1/b.ts", 'await withDeadline("x", () => db.batch([db.prepare("SELECT 1").bind(1)]));'],
    ["src/store/tenant/b.ts", "const x = (db: TenantDb) => db.select().from(events).prepare();"],
    ["src/chains/b.ts", "const { answers } = await rpc.batch(calls);"],
    ["src/http/b.ts", 'const x = objectOf("Tenant", env.TENANT, id);'],
    [
      "src/objects/b.ts",
      'const x = { storage: steppedStorage("Tenant", ctx.storage), db: openTenantDb(ctx.storage) };',
    ],
    ["src/objects/b.ts", "c.storage.transactionSync(() => 1);"],
    ["src/env.ts", "export interface Env { readonly DB: D1Database; readonly KEY: string }"],
    ["src/http/b.ts", "const x = await app.fetch(request); // env.DB.exec()"],
  ])("nothing in %s: %s", (path, source) => expect(check(path, source)).toEqual([]));
});
