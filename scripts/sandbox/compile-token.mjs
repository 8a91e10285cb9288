/**
 * Compiles the sandbox's token. `node scripts/sandbox/compile-token.mjs` writes demo-token.json anew; a test compares the
 * two.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const PINNED = new URL("demo-token.json", import.meta.url);

/** @returns {{ source: string, compiler: string, creationCode: string }} */
export function compileToken() {
  const solc = createRequire(import.meta.url)("solc");
  const content = readFileSync(fileURLToPath(new URL("DemoToken.sol", import.meta.url)), "utf8");
  const settings = {
    evmVersion: "paris",
    optimizer: { enabled: true },
    metadata: { appendCBOR: false, bytecodeHash: "none" },
    outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
  };
  const input = { language: "Solidity", sources: { "DemoToken.sol": { content } }, settings };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const compiled = output.contracts?.["DemoToken.sol"]?.DemoToken;
  if (compiled === undefined) throw new Error(output.errors.map((error) => error.formattedMessage).join("\n"));
  return { source: "DemoToken.sol", compiler: solc.version(), creationCode: `0x${compiled.evm.bytecode.object}` };
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(fileURLToPath(PINNED), `${JSON.stringify(compileToken(), null, 2)}\n`);
