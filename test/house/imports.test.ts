/** The house keeps its own rules; and each rule catches what it is there for. */

import { describe, expect, it } from "vitest";
import { projectFiles } from "./project-files.ts";
import {
  cycleViolations,
  directionViolations,
  loggingViolations,
  purityViolations,
  type Sources,
  sdkViolations,
  transactionViolations,
} from "./source-rules.ts";

const sources: Sources = new Map([...projectFiles()].filter(([path]) => path.startsWith("src/")));

describe("src/", () => {
  it("is there", () => {
    for (const folder of ["core", "chains", "objects", "store", "webhooks", "http", "schema", "watcher", "sdk"]) {
      expect([...sources.keys()].filter((path) => path.startsWith(`src/${folder}/`))).not.toEqual([]);
    }
  });
  it("imports in the allowed directions only", () => expect(directionViolations(sources)).toEqual([]));
  it("has no cycle between files", () => expect(cycleViolations(sources)).toEqual([]));
  it("keeps clock, chance, world and waiting out of core", () => expect(purityViolations(sources)).toEqual([]));
  it("publishes an SDK that stands alone", () => expect(sdkViolations(sources)).toEqual([]));
  it("gives no async callback to a transaction", () => expect(transactionViolations(sources)).toEqual([]));
  it("prints in one place", () => expect(loggingViolations(sources)).toEqual([]));
});

describe("the rules catch", () => {
  const other = {
    "src/core/a.ts": "",
    "src/store/a.ts": "",
    "src/objects/api.ts": "",
    "src/objects/tenant.ts": "",
    "src/schema/a.ts": "",
    "src/sdk/a.ts": "",
    "src/steps.ts": "",
  };
  const project = (files: Record<string, string>): Sources => new Map(Object.entries({ ...other, ...files }));

  it.each([
    ["src/core/b.ts", 'import { x } from "../store/a.ts";'],
    ["src/core/b.ts", 'import type { X } from "../store/a.ts";'],
    ["src/core/b.ts", 'export { x } from "../store/a.ts";'],
    ["src/core/b.ts", 'export * from "../store/a.ts";'],
    ["src/core/b.ts", 'const x = () => import("../store/a.ts");'],
    ["src/core/b.ts", 'type X = import("../store/a.ts").X;'],
    ["src/core/b.ts", 'const x = require("../store/a.ts");'],
    ["src/http/b.ts", 'import { Tenant } from "../objects/tenant.ts";'],
    ["src/store/d1/b.ts", 'import "../../schema/a.ts";'],
    ["src/webhooks/b.ts", 'import "../store/a.ts";'],
    ["src/watcher/b.ts", 'import "../store/a.ts";'],
    ["src/watcher/b.ts", 'import type { X } from "../objects/api.ts";'],
    ["src/console/b.ts", 'import "../schema/a.ts";'],
    ["src/sdk/b.ts", 'import type { X } from "../schema/a.ts";'],
    ["src/env.ts", 'import "./objects/tenant.ts";'],
    ["src/core/b.ts", 'import "../steps.ts";'],
    ["src/steps.ts", 'import "./core/a.ts";'],
    ["src/core/b.ts", 'import "./missing.ts";'],
    ["src/lib/b.ts", ""],
  ])("a wrong direction: %s with %s", (path, source) => {
    const violations = directionViolations(project({ [path]: source }));
    expect(violations).toHaveLength(1);
    expect(violations[0]).toContain(path);
  });

  it.each([
    [
      "src/http/routes/b.ts",
      'import type { X } from "../../objects/api.ts"; import "../../store/a.ts"; import "../../schema/a.ts"; import "hono";',
    ],
    ["src/objects/b.ts", 'import "../core/a.ts"; import "./tenant.ts"; import "cloudflare:workers";'],
    ["src/index.ts", 'export * from "./objects/tenant.ts";'],
    ["src/watcher/b.ts", 'import "../core/a.ts";'],
    [
      "src/core/b.ts",
      'import { sha256 } from "@noble/hashes/sha256"; // import "../store/a.ts"\nconst x = \'import "../store/a.ts"\';',
    ],
  ])("no right one: %s with %s", (path, source) =>
    expect(directionViolations(project({ [path]: source }))).toEqual([]),
  );

  it("a cycle, also through types and three files", () => {
    const cycle = project({
      "src/core/b.ts": 'import "./c.ts";',
      "src/core/c.ts": 'import type { X } from "./d.ts";',
      "src/core/d.ts": 'export * from "./b.ts";',
    });
    expect(cycleViolations(cycle)).toEqual([
      "src/core/b.ts -> src/core/c.ts -> src/core/d.ts -> src/core/b.ts is a cycle",
    ]);
    expect(cycleViolations(project({ "src/core/b.ts": 'import "./b.ts";' }))).toHaveLength(1);
    expect(
      cycleViolations(
        project({ "src/core/b.ts": 'import "./a.ts";', "src/core/c.ts": 'import "./a.ts"; import "./b.ts";' }),
      ),
    ).toEqual([]);
  });

  it.each([
    'import { x } from "../core/a.ts";',
    'import "../core/a.ts";',
    'import { type X } from "../core/a.ts";',
    'export { x } from "../core/a.ts";',
    'import { z } from "zod";',
    'import type { z } from "zod";',
    'import { createHmac } from "node:crypto";',
    'const x = await import("../core/a.ts");',
  ])("an SDK that does not stand alone: %s", (source) =>
    expect(sdkViolations(project({ "src/sdk/b.ts": source }))).toHaveLength(1),
  );

  it.each([
    'import type { X } from "../core/a.ts";',
    'export type { X } from "../core/a.ts";',
    'import { x } from "./a.ts"; import "../sdk/a.ts";',
  ])("no SDK that does: %s", (source) => expect(sdkViolations(project({ "src/sdk/b.ts": source }))).toEqual([]));

  it.each([
    "export const x = Date.now();",
    "export const x = () => new Date();",
    "export const x = Date();",
    "const D = Date; export const x = D.now();",
    "export const x = Math.random();",
    "const { random } = Math; export const x = random();",
    'export const x = Math["random"]();',
    "export const x = crypto.randomUUID();",
    'export const x = () => fetch("https://a");',
    "export const x = { fetch };",
    "export const x = process.env.A;",
    "export const x = globalThis.fetch;",
    "export const x = performance.now();",
    "setTimeout(() => {}, 1);",
    'console.error("x");',
    "export async function x() {}",
    "export const x = async () => 1;",
    "export class X { async y() {} }",
    "export const x = { async y() {} };",
    'import { randomBytes } from "node:crypto"; export const x = randomBytes(1);',
    'import { env } from "cloudflare:workers"; export const x = env;',
    "await null;",
  ])("an impure core: %s", (source) => expect(purityViolations(project({ "src/core/b.ts": source }))).not.toEqual([]));

  it.each([
    "export const x = (ms: number) => new Date(ms).toISOString();",
    "export const x = Date.UTC(2026, 1) + Date.parse('2026-01-01');",
    "export const x = Math.max(1, 2);",
    "export interface X { fetch(process: string): Promise<Date>; readonly crypto: number }",
    "export const x = (process: { env: string }) => process.env;",
    "export const x = { fetch: 1 }.fetch; // fetch(), Date.now()",
    'export const x = "await fetch(Date.now())";',
  ])("no pure one: %s", (source) => expect(purityViolations(project({ "src/core/b.ts": source }))).toEqual([]));

  it("nothing of the kind outside core", () => {
    expect(
      purityViolations(project({ "src/objects/b.ts": "export const x = async () => fetch(String(Date.now()));" })),
    ).toEqual([]);
  });

  it.each([
    "ctx.storage.transactionSync(async () => {});",
    "this.ctx.storage.transactionSync(async function () {});",
    "db.transaction(async (tx) => { await tx.run(); });",
    "db?.transaction(async () => {});",
    'db["transaction"](async () => {});',
    "const work = async () => {}; db.transaction(work);",
    "async function work() {} db.transaction(work);",
    "class A { async work() {} b() { db.transactionSync(this.work); } }",
    "db.transaction(() => Promise.resolve());",
    "db.transaction(() => { return new Promise(() => {}); });",
  ])("an async transaction: %s", (source) =>
    expect(transactionViolations(project({ "src/objects/b.ts": source }))).toHaveLength(1),
  );

  it.each([
    "ctx.storage.transactionSync(() => 1);",
    "const work = () => 1; db.transaction(work); const other = async () => work();",
    "// db.transaction(async () => {})",
    "later(async () => db.transaction(() => 1));",
  ])("no synchronous one: %s", (source) =>
    expect(transactionViolations(project({ "src/objects/b.ts": source }))).toEqual([]),
  );

  it.each([
    'console.log("x");',
    "console.error(error);",
    'console.warn("a", {});',
    "console.debug(JSON.stringify({}));",
    "const { log } = console;",
    "console.error(JSON.stringify({}), 1);",
  ])("a stray print: %s", (source) => expect(loggingViolations(project({ "src/http/b.ts": source }))).toHaveLength(1));

  it("no line of the module that prints", () =>
    expect(loggingViolations(project({ "src/log.ts": 'console.error("x");', "src/http/b.ts": 'log("x");' }))).toEqual(
      [],
    ));
});
