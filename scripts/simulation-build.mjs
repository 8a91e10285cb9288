/**
 * Owns: the simulator as one file that Node runs. The product's own modules go into it as they are; only
 * what the platform gives (`cloudflare:workers`) is the simulation's, and SQL files become text.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { PROJECT } from "./install.mjs";

const SIMULATION = join(PROJECT, "test", "simulation");

/** Plugins and aliases under which the objects run on Node. */
export const onNode = {
  resolve: { alias: { "cloudflare:workers": join(SIMULATION, "world", "cloudflare-workers.ts") } },
  plugins: [
    {
      name: "sql-as-text",
      enforce: /** @type {"pre"} */ ("pre"),
      load(id) {
        if (!id.endsWith(".sql")) return null;
        return `export default ${JSON.stringify(readFileSync(id, "utf8"))};`;
      },
    },
  ],
};

/** @returns path of the built file */
export async function buildSimulation(outDir = join(PROJECT, "node_modules", ".cache", "sluice-simulation")) {
  await build({
    ...onNode,
    root: PROJECT,
    configFile: false,
    logLevel: "warn",
    ssr: { noExternal: true },
    build: {
      ssr: join(SIMULATION, "main.ts"),
      outDir,
      emptyOutDir: true,
      target: "node24",
      minify: false,
      sourcemap: "inline",
      rollupOptions: { output: { entryFileNames: "main.mjs", codeSplitting: false } },
    },
  });
  return join(outDir, "main.mjs");
}
