/** The project's own text files: what a checkout has, without what is installed, built or stored beside it. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const PROJECT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const NOT_OURS = new Set(["node_modules", ".git", ".wrangler", ".sluice", "dist"]);
const TEXT = /\.(ts|mts|js|mjs|json|jsonc|toml|md|sql|sol|yml|yaml)$|^(\.gitignore|\.npmrc|run)$/;

/** Path from the root, with slashes, to content. */
export function projectFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const read = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (NOT_OURS.has(entry.name)) continue;
      if (entry.isDirectory()) read(path);
      else if (entry.isFile() && TEXT.test(entry.name))
        files.set(relative(PROJECT, path).replaceAll("\\", "/"), readFileSync(path, "utf8"));
    }
  };
  read(PROJECT);
  return files;
}
