/** The pieces of code in a page of the documentation. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT } from "../../scripts/install.mjs";

/** @param page file in `docs` @param language as the fence names it @throws Error when there are none */
export function snippets(page: string, language: string): string[] {
  const text = readFileSync(join(PROJECT, "docs", page), "utf8");
  const found = text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm"));
  const codes = [...found].map(([, code]) => code ?? "");
  if (codes.length === 0) throw new Error(`docs/${page} has no code in ${language}`);
  return codes;
}
