/** A Worker of a benchmark's own, as the product's is built: one file, with the runtime's settings of wrangler.toml. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { PROJECT } from "../install.mjs";
import { onNode } from "../simulation-build.mjs";

export function compatibility(): { compatibilityDate: string; compatibilityFlags: string[] } {
  const text = readFileSync(join(PROJECT, "wrangler.toml"), "utf8");
  const compatibilityDate = /^compatibility_date = "(.*)"/m.exec(text)?.[1];
  const flags = /^compatibility_flags = (\[.*\])/m.exec(text)?.[1];
  if (compatibilityDate === undefined || flags === undefined) throw new Error("wrangler.toml says no compatibility");
  return { compatibilityDate, compatibilityFlags: JSON.parse(flags) };
}

/** @param entry a file of this folder @returns its text with all that it imports */
export async function bundle(entry: string): Promise<string> {
  const built: unknown = await build({
    plugins: onNode.plugins,
    root: PROJECT,
    configFile: false,
    logLevel: "warn",
    ssr: { noExternal: true, target: "webworker" },
    build: {
      ssr: join(PROJECT, "scripts", "bench", entry),
      write: false,
      target: "es2024",
      minify: false,
      rollupOptions: { external: [/^cloudflare:/, /^node:/], output: { codeSplitting: false } },
    },
  });
  return (built as { output: [{ code: string }] }).output[0].code;
}
