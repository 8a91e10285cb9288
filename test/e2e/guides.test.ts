/**
 * The guides as a newcomer follows them: their TypeScript compiles as it stands, and the first of them, put together
 * in the order of the page, runs against the started service until money came in and went out.
 */

import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PROJECT } from "../../scripts/install.mjs";
import { atExit } from "../support/at-exit.ts";
import { type Service, startService } from "../support/service.ts";
import { snippets } from "../support/snippets.ts";

const HALF_ETHER = 5n * 10n ** 17n;

const folder = mkdtempSync(join(tmpdir(), "sluice-guides-"));
const guide = snippets("getting-started.md", "ts").join("\n");
const webhooks = snippets("webhooks.md", "ts").map((code, i) => [`webhooks-${i}.ts`, code] as const);
const pages = [
  ["shop.ts", guide] as const,
  ["once.ts", snippets("exactly-once.md", "ts").join("\n")] as const,
  ["addresses.ts", snippets("addresses.md", "ts").join("\n")] as const,
];
const files = [...pages, ...webhooks];
let service: Service | undefined;

beforeAll(() => {
  mkdirSync(join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "shop", private: true, type: "module" }));
  for (const [name, code] of files) writeFileSync(join(folder, name), code);
  // Under its name, as if it were installed.
  symlinkSync(PROJECT, join(folder, "node_modules", "sluice"));
  symlinkSync(join(PROJECT, "node_modules", "standardwebhooks"), join(folder, "node_modules", "standardwebhooks"));
});

afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it.concurrent("compile as they stand", async () => {
  const compilerOptions = {
    target: "ES2023",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noUnusedLocals: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
    lib: ["ES2023", "DOM", "DOM.Iterable"],
    types: ["node"],
    typeRoots: [join(PROJECT, "node_modules", "@types")],
  };
  const config = { compilerOptions, files: files.map(([name]) => name) };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = [join(PROJECT, "node_modules", "typescript", "bin", "tsc"), "-p", folder];
  expect(await run(process.execPath, tsc)).toBe("");
});

/** All that was printed, however it ended. */
async function run(command: string, args: readonly string[], more: Record<string, string> = {}): Promise<string> {
  const printed = ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`;
  return promisify(execFile)(command, args, { env: { ...process.env, ...more } }).then(printed, printed);
}

it.concurrent("examples/worker-receiver bundles with its own wrangler.toml", async () => {
  const config = join(PROJECT, "examples", "worker-receiver", "wrangler.toml");
  const wrangler = join(PROJECT, "node_modules", "wrangler", "bin", "wrangler.js");
  const args = [wrangler, "deploy", "--dry-run", "--config", config, "--outdir", join(folder, "worker")];
  expect(await run(process.execPath, args, { WRANGLER_SEND_METRICS: "false" })).toMatch(
    /env\.DB \(shop\)\s+D1 Database/,
  );
  expect(existsSync(join(folder, "worker", "worker.js"))).toBe(true);
});

it.concurrent("getting-started: a deposit is confirmed, told and credited, and a withdrawal is confirmed", async () => {
  service = await startService();
  const { url, chainUrl } = service;
  const env = { ...process.env, SLUICE_URL: url, LOCAL_CHAIN: chainUrl ?? "" };
  const program = spawn(process.execPath, ["--no-warnings", "shop.ts"], { cwd: folder, env, stdio: "pipe" });
  const forget = atExit(() => program.kill("SIGKILL"));
  let output = "";
  for (const stream of [program.stdout, program.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk));
  const code = await new Promise((resolve) => program.once("close", resolve));
  forget();

  expect([code, output]).toEqual([0, expect.stringMatching(/withdrawal: confirmed\n/)]);
  expect(output).toMatch(/event \d+: deposit\.confirmed\n/);
  expect(output).toMatch(/credited dep_\w+\nbalance: 1 ETH\n/);
  const [, id = "", destination = ""] = /withdrawal (wd_\w+) to (0x[0-9a-f]{40})/.exec(output) ?? [];
  expect(id).not.toBe("");
  const asked = { jsonrpc: "2.0", id: 1, method: "eth_getBalance", params: [destination, "latest"] };
  const answer = await fetch(chainUrl ?? "", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(asked),
  });
  const { result } = (await answer.json()) as { result: string };
  expect(BigInt(result)).toBe(HALF_ETHER);
});
