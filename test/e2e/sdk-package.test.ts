/** The package as a merchant gets it: packed, installed into an empty project without a network, compiled, run. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PROJECT } from "../../scripts/install.mjs";
import { buildSdk, packSdk } from "../../scripts/pack-sdk.mjs";
import { VERSION } from "../../src/sdk/index.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-package-"));
const merchant = join(folder, "merchant");
const installed = join(merchant, "node_modules", "sluice");
let tarball = "";

beforeAll(async () => {
  await buildSdk(join(folder, "sdk"));
  tarball = packSdk(join(folder, "sdk"), folder);
  mkdirSync(merchant);
  writeFileSync(join(merchant, "package.json"), JSON.stringify({ name: "merchant", private: true, type: "module" }));
  run("npm", ["install", tarball, "--offline", "--no-audit", "--no-fund", "--cache", join(folder, "npm")]);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(command: string, args: readonly string[], more: Readonly<Record<string, string>> = {}): string {
  const env = { ...process.env, ...more };
  try {
    return execFileSync(command, args, { cwd: merchant, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")} failed:\n${stdout ?? ""}${stderr ?? String(error)}`);
  }
}

/** Strict, and without skipping the package's own declarations. */
function compile(name: string, files: Readonly<Record<string, string>>, options: object): string {
  const home = join(merchant, name);
  mkdirSync(home, { recursive: true });
  for (const [path, source] of Object.entries(files)) writeFileSync(join(home, path), source);
  const compilerOptions = {
    target: "ES2022",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    types: [],
    outDir: "out",
    rootDir: ".",
    ...options,
  };
  writeFileSync(join(home, "tsconfig.json"), JSON.stringify({ compilerOptions, files: Object.keys(files) }));
  run(process.execPath, [join(PROJECT, "node_modules", "typescript", "bin", "tsc"), "-p", home]);
  return join(home, "out");
}

const PROGRAM = `
import { Inbox, memoryStorage, Sluice, SluiceError, VERSION, Webhooks, type Deposit, type SluiceEvent, type WithdrawalRules } from "sluice";

const sent: string[] = [];
let attempt = 0;
const sluice = new Sluice({
  apiKey: "sk_test",
  baseUrl: "https://sluice.example",
  sleep: async () => {},
  fetch: async (url, { method, headers }) => {
    sent.push(method + " " + new URL(url).pathname + " " + headers["Idempotency-Key"]);
    if (attempt++ === 0) throw new Error("lost");
    const body = '{"id":"wd_1","state":"funds_reserved"}';
    return { status: 201, headers: { get: (name) => (name === "x-request-id" ? "req_1" : null) }, text: async () => body };
  },
});

const { data, answer } = await sluice.withdrawals
  .create({ network: "local", asset: "ETH", destination: "0x0", amount: "1" }, { idempotencyKey: "payout-1" })
  .withAnswer();
const state: "funds_reserved" | string = data.state;
const rules: Partial<WithdrawalRules> = { allow_list: null };

const body = '{"id":"evt_1","type":"deposit.confirmed","sequence":1,"subject":"dep_1","subject_sequence":1,"data":{"id":"dep_1","epoch":1}}';
const secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const refused = await Webhooks.verify(body, { "webhook-id": "evt_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA" }, secret).catch(
  (error: unknown) => (error instanceof SluiceError ? error.code : "none"),
);
const seen: string[] = [];
const inbox = new Inbox({
  storage: memoryStorage(),
  apply: (event: SluiceEvent) => {
    if (event.type !== "deposit.confirmed") return;
    const deposit: Deposit = event.data;
    seen.push(deposit.id);
  },
});
const event = JSON.parse(body) as SluiceEvent;
const outcomes = [await inbox.receive(event), await inbox.receive(event)].map(({ outcome }) => outcome);
// @ts-expect-error the package's types are its own: nothing of it is any
const wrong: number = data.id;
export const said = JSON.stringify({ version: VERSION, sent, state, rules, refused, seen, outcomes, requestId: answer.requestId, wrong: typeof wrong });
`;
/** A chain of one payment in block 11, followed by way of a state that went through JSON. */
const WATCHER = `
import {
  type ChainNode, DepositWatcher, evmSource, type Interest, nodeSource, type PollResult, type Reading, type Transfer, type WatcherState,
} from "sluice/watcher";

const PAYEE = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";
const network = evmSource({ urls: ["http://127.0.0.1:1/key"], network: { id: "mine", chainId: 7 } }).network;
let head = 10;
const hash = (height: number) => "0x" + height.toString(16).padStart(64, "0");
const block = (height: number) => ({ height, hash: hash(height + 1), parentHash: hash(height), timestamp: 1_700_000_000 + height });
const blocks = (from: number, to: number) => Array.from({ length: Math.max(0, Math.min(to, head) - from + 1) }, (_, i) => block(from + i));
const payment: Transfer = {
  txId: hash(99), transferIndex: "value", address: PAYEE.toLowerCase(), asset: "native", amountUnits: 2n ** 70n, height: 11, blockHash: hash(12),
};
const node: ChainNode = {
  name: "mine",
  chain: async () => "eip155:7",
  tip: async () => ({ head: block(head), finalized: null }),
  headers: async (from, to) => blocks(from, to),
  readBlocks: async (from: number, to: number, interest: Interest): Promise<Reading> => ({
    blocks: blocks(from, to),
    transfers: from <= 11 && 11 <= Math.min(to, head) && interest.watched(new Set([payment.address])).size > 0 ? [payment] : [],
    stopped: null, internal: "untraced", shortTransfers: 0, unweighedTransfers: 0, irregularLogs: 0,
  }),
  readRange: (from, to, interest) => node.readBlocks(from, to, interest),
  token: async () => null,
};
const said: string[] = [];
let state: WatcherState | null = null;
async function poll(): Promise<PollResult> {
  const watcher = new DepositWatcher(nodeSource(network, [node]), [PAYEE], { policy: { default: 2 }, reorgDepth: 5, state });
  return watcher.poll(({ pending, confirmed, settled, state: next }) => {
    for (const [kind, list] of Object.entries({ pending, confirmed, settled }))
      for (const { asset, amountUnits } of list) said.push(kind + " " + amountUnits + " " + asset);
    state = JSON.parse(JSON.stringify(next));
  });
}
for (head of [10, 11, 12, 30]) await poll();
// @ts-expect-error the package's types are its own: nothing of it is any
const wrong: number = (await poll()).state.network;
let refused = "";
try {
  new DepositWatcher(nodeSource(network, [node]), [PAYEE.replace("dA6", "Da6")], { policy: { default: 2 }, reorgDepth: 5 });
} catch (error) {
  refused = error instanceof Error ? error.message : "";
}
console.log(JSON.stringify({ said, wrong, refused: refused.includes("is no address of mine") }));
`;
const WATCHED = {
  said: [`pending ${2n ** 70n} ETH`, `confirmed ${2n ** 70n} ETH`, `settled ${2n ** 70n} ETH`],
  wrong: "mine",
  refused: true,
};
const MAIN = `import { said } from "./program.js";\nconsole.log(said);\n`;
const SAID = {
  version: VERSION,
  sent: ["POST /v1/withdrawals payout-1", "POST /v1/withdrawals payout-1"],
  state: "funds_reserved",
  rules: { allow_list: null },
  refused: "webhook_refused",
  seen: ["dep_1"],
  outcomes: ["applied", "duplicate"],
  requestId: "req_1",
  wrong: "string",
};

/** The project's own Node, and the machine's where there is another. */
function nodes(): string[] {
  return [process.execPath, "/usr/bin/node", "/usr/local/bin/node"].filter((path) => existsSync(path));
}

describe("the tarball", () => {
  it("has the SDK and the watcher with their pages, and nothing else", () => {
    const listed = execFileSync("tar", ["tzf", tarball], { encoding: "utf8" }).trim().split("\n").sort();
    const others = listed.filter((path) => !/^package\/(resources\/)?[a-z-]+\.js$/.test(path));
    expect(others.map((path) => path.replace("package/", ""))).toEqual([
      "LICENSE-noble-hashes",
      "README.md",
      "index.d.ts",
      "package.json",
      "watcher.d.ts",
      "watcher.md",
    ]);
    expect(listed.length).toBeGreaterThan(15);
  });

  it("depends on nothing, and is as new as the service", () => {
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
    for (const field of ["dependencies", "optionalDependencies", "peerDependencies", "scripts", "private"])
      expect(manifest).not.toHaveProperty(field);
    const service = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as Record<string, unknown>;
    expect([manifest.name, manifest.version, VERSION]).toEqual([service.name, service.version, service.version]);
    expect(readdirSync(join(merchant, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["sluice"]);
  });

  it("imports nothing but its own files, neither code nor types", () => {
    const files = readdirSync(installed, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.(js|ts)$/.test(name),
    );
    for (const name of files) {
      const text = readFileSync(join(installed, name), "utf8");
      const imported = [
        ...text.matchAll(/^(?:import|export)\b[^;]*?\bfrom\s*"([^"]+)"/gm),
        ...text.matchAll(/\bimport\s*\(?\s*"([^"]+)"/g),
      ].map(([, specifier]) => specifier ?? "");
      expect(imported.length > 0 || name !== "index.js").toBe(true);
      expect(imported.filter((specifier) => !/^\.\.?\/[a-z./-]+\.js$/.test(specifier))).toEqual([]);
    }
    for (const name of ["index.d.ts", "watcher.d.ts"])
      expect(readFileSync(join(installed, name), "utf8")).not.toMatch(/\bimport\b|\bzod\b|View\b|Cloudflare/);
    // Built twice, it is the same: no folder of this machine is in it.
    expect(readFileSync(join(installed, "watcher.js"), "utf8")).not.toContain(tmpdir());
  });
});

describe("a merchant's program", () => {
  const platforms = [
    ["on Node", { lib: ["ES2023", "DOM", "DOM.Iterable"] }],
    // Neither Node's nor a browser's declarations: the package brings what it needs.
    ["anywhere", { lib: ["ES2023"], types: ["./platform"] }],
  ] as const;
  const modules = [
    ["nodenext", { module: "nodenext", moduleResolution: "nodenext" }],
    ["bundler", { module: "esnext", moduleResolution: "bundler" }],
  ] as const;

  it.each(platforms.flatMap(([place, lib]) => modules.map(([name, module]) => ({ name, place, lib, module }))))(
    "compiles with moduleResolution $name $place, and runs on every Node there is",
    ({ name, place, lib, module }) => {
      const bare = place === "anywhere";
      const files = {
        "program.ts": PROGRAM,
        "main.ts": MAIN,
        "watch.ts": WATCHER,
        // What the program itself uses.
        ...(bare
          ? {
              "platform.d.ts":
                "declare const console: { log(text: string): void };\ndeclare class URL { constructor(text: string); readonly pathname: string }\n",
            }
          : {}),
      };
      const out = compile(`${name}-${bare ? "bare" : "dom"}`, files, { ...lib, types: [], ...module });
      for (const node of nodes()) {
        expect(JSON.parse(run(node, [join(out, "main.js")]))).toEqual(SAID);
        expect(JSON.parse(run(node, [join(out, "watch.js")]))).toEqual(WATCHED);
      }
    },
  );
});

describe("docs/sdk.md", () => {
  it("has snippets that compile as they stand, and an inbox that holds any amount", () => {
    const page = readFileSync(join(PROJECT, "docs", "sdk.md"), "utf8");
    const snippets = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? "");
    expect(snippets.length).toBeGreaterThan(6);
    // The first one makes the client, and the one with the SQLite inbox makes the inbox, that others import.
    const nameOf = (code: string, index: number) =>
      index === 0 ? "client" : code.includes("export const inbox =") ? "inbox" : `snippet-${index}`;
    const files = Object.fromEntries(snippets.map((code, index) => [`${nameOf(code, index)}.ts`, code]));
    expect(Object.keys(files)).toContain("inbox.ts");
    const typeRoots = [join(PROJECT, "node_modules", "@types")];
    for (const moduleResolution of ["nodenext", "bundler"]) {
      const module = moduleResolution === "nodenext" ? "nodenext" : "esnext";
      compile(`docs-${moduleResolution}`, files, {
        lib: ["ES2023"],
        types: ["node"],
        typeRoots,
        module,
        moduleResolution,
      });
    }
    const keepsBooks = `
import { DatabaseSync } from "node:sqlite";
// The page's client registers an address as it is made.
globalThis.fetch = async () => Response.json({ id: "addr_1" });
const { inbox } = await import("./docs-nodenext/out/inbox.js");
const units = (10n ** 20n).toString();
const data = { id: "dep_1", epoch: 1, account: "customer", network: "ethereum", asset: "ETH", amount_units: units };
const event = (type, n) => ({ id: "evt_" + n, type, sequence: n, subject: "dep_1", subject_sequence: n, data });
for (const one of [event("deposit.confirmed", 1), event("deposit.confirmed", 1), event("deposit.reverted", 2)]) await inbox.receive(one);
console.log(JSON.stringify(new DatabaseSync("shop.sqlite").prepare("SELECT kind, units FROM entries ORDER BY kind").all()));
`;
    writeFileSync(join(merchant, "keeps-books.js"), keepsBooks);
    const units = (10n ** 20n).toString();
    const books = run(process.execPath, ["--no-warnings", "keeps-books.js"], { SLUICE_API_KEY: "sk_test" });
    expect(JSON.parse(books)).toEqual([
      { kind: "deposit.confirmed", units },
      { kind: "deposit.reverted", units },
    ]);
  });
});

describe("docs/watcher.md", () => {
  it("has a loop that compiles as it stands, and so does the example with the import of whoever installs it", () => {
    const page = readFileSync(join(PROJECT, "docs", "watcher.md"), "utf8");
    const [, loop = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
    expect(loop).toContain('from "sluice/watcher"');
    const store = `import type { PollResult, WatcherState } from "sluice/watcher";
export declare function addresses(): string[];
export declare function storedState(): WatcherState | null;
export declare function commit(result: PollResult): Promise<void>;
`;
    const example = readFileSync(join(PROJECT, "examples", "watcher-sqlite", "watch.ts"), "utf8");
    const files = {
      "loop.ts": loop,
      "store.ts": store,
      "example.ts": example.replace("../../src/watcher/index.ts", "sluice/watcher"),
    };
    compile("docs-watcher", files, {
      lib: ["ES2023"],
      types: ["node"],
      typeRoots: [join(PROJECT, "node_modules", "@types")],
      module: "nodenext",
      moduleResolution: "nodenext",
    });
  });
});
