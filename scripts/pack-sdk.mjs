/**
 * Owns: `npm run sdk:pack`, from `src/sdk` and `src/watcher` to `dist/sluice-<version>.tgz`, which is all that a
 * merchant installs: `sluice`, file by file, and `sluice/watcher`, one file with what it needs inside.
 *
 * The package has a manifest of its own, `src/sdk/package.json`: what the service needs to run is in the project's
 * and does not come along.
 */

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "vite";
import { PROJECT, toolEnvironment, toolNode } from "./install.mjs";
import { flattenTypes } from "./sdk-types.mjs";

/** Every file of the package, and no other, is written by this. */
export async function buildSdk(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const built = mkdtempSync(join(tmpdir(), "sluice-sdk-"));
  try {
    tool("typescript/bin/tsc", ["-p", join(PROJECT, "tsconfig.sdk.json"), "--outDir", built]);
    const isCode = (name) => name.endsWith(".js");
    for (const name of readdirSync(join(built, "sdk"), { recursive: true }).filter(isCode)) {
      const code = readFileSync(join(built, "sdk", name), "utf8");
      // A file of types alone: nothing imports it when it runs.
      if (code.replace(/\/\*[\s\S]*?\*\//g, "").trim() !== "export {};")
        cpSync(join(built, "sdk", name), join(folder, name));
    }
    writeFileSync(join(folder, "index.d.ts"), formatted(flattenTypes(join(built, "sdk", "index.d.ts"))));
    writeFileSync(join(folder, "watcher.d.ts"), formatted(flattenTypes(join(built, "watcher", "index.d.ts"))));
    await bundle(join(PROJECT, "src", "watcher", "index.ts"), folder, "watcher.js");
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
  cpSync(join(PROJECT, "src", "sdk", "package.json"), join(folder, "package.json"));
  cpSync(join(PROJECT, "docs", "sdk.md"), join(folder, "README.md"));
  cpSync(join(PROJECT, "docs", "watcher.md"), join(folder, "watcher.md"));
  cpSync(join(PROJECT, "node_modules", "@noble", "hashes", "LICENSE"), join(folder, "LICENSE-noble-hashes"));
}

/** The watcher's hash function comes from a package, which goes into the file: whoever installs ours installs no other. */
async function bundle(entry, folder, name) {
  await build({
    root: PROJECT,
    configFile: false,
    logLevel: "warn",
    ssr: { noExternal: true, target: "webworker" },
    build: {
      ssr: entry,
      outDir: folder,
      emptyOutDir: false,
      target: "es2022",
      minify: false,
      rollupOptions: { output: { entryFileNames: name, codeSplitting: false } },
    },
  });
}

/**
 * @param {string} folder what `buildSdk` wrote
 * @param {string} destination folder of the tarball
 * @returns {string} path of the tarball
 */
export function packSdk(folder, destination) {
  const listing = execFileSync("npm", ["pack", folder, "--pack-destination", destination, "--json"], {
    cwd: PROJECT,
    env: toolEnvironment(),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const packed = JSON.parse(listing);
  // Older versions of npm give a list, newer ones an object by name.
  const { filename } = Array.isArray(packed) ? packed[0] : Object.values(packed)[0];
  return join(destination, filename);
}

function formatted(types) {
  return tool("@biomejs/biome/bin/biome", ["format", "--stdin-file-path=index.d.ts"], types);
}

function tool(path, args, input = "") {
  return execFileSync(toolNode(), [join(PROJECT, "node_modules", path), ...args], {
    cwd: PROJECT,
    env: toolEnvironment(),
    input,
    encoding: "utf8",
    stdio: ["pipe", "pipe", "inherit"],
  });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const dist = join(PROJECT, "dist");
  await buildSdk(join(dist, "sdk"));
  console.log(packSdk(join(dist, "sdk"), dist));
}
