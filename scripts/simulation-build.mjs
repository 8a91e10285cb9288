/**
 * Owns: the simulator as one file that Node runs. The product's own modules go into it as they are; only
 * what the platform gives (`cloudflare:workers`) is the simulation's, and SQL files become text. On request a
 * source is changed on its way in: that is how seeded bugs are tried.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { applyEdit } from "../test/simulation/mutants/mutant.ts";
import { PROJECT } from "./install.mjs";
import { speedEdits } from "./simulation-speed.mjs";

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

/**
 * @param {{ outDir?: string, edits?: readonly import("../test/simulation/mutants/mutant.ts").Edit[], isMapped?: boolean }} [wanted]
 *   `isMapped`: with a source map, for a profile
 * @returns path of the built file
 * @throws when an edit does not fit, or is of a file that the simulator does not contain
 */
export async function buildSimulation({ outDir, edits = [], isMapped = false } = {}) {
  const folder = outDir ?? join(PROJECT, "node_modules", ".cache", "sluice-simulation");
  const wanted = [...edits, ...speedEdits.map((edit) => ({ ...edit, file: join("node_modules", edit.file) }))];
  const missing = new Set(wanted.map(({ file }) => file));
  const edited = {
    name: "edited-sources",
    enforce: /** @type {"pre"} */ ("pre"),
    load(id) {
      const own = wanted.filter(({ file }) => id === join(PROJECT, file));
      if (own.length === 0) return null;
      for (const { file } of own) missing.delete(file);
      return own.reduce(applyEdit, readFileSync(id, "utf8"));
    },
  };
  await build({
    ...onNode,
    plugins: [edited, ...onNode.plugins],
    root: PROJECT,
    configFile: false,
    logLevel: "warn",
    ssr: { noExternal: true },
    build: {
      ssr: join(SIMULATION, "main.ts"),
      outDir: folder,
      emptyOutDir: true,
      target: "node24",
      minify: false,
      // Read by nobody while seeds run, and several times as long as the code.
      sourcemap: isMapped ? "inline" : false,
      rollupOptions: { output: { entryFileNames: "main.mjs", codeSplitting: false } },
    },
  });
  if (missing.size > 0) throw new Error(`not part of the simulator: ${[...missing].join(", ")}`);
  return join(folder, "main.mjs");
}
