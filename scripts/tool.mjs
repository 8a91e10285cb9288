/** Owns: running one of the project's tools to its end, with everything it says. */

import { spawn } from "node:child_process";
import { PROJECT, toolNode } from "./install.mjs";

/**
 * @param {readonly string[]} args of the project's own Node
 * @param {NodeJS.ProcessEnv} env
 * @param {AbortSignal} signal
 * @returns {Promise<{ code: number | null, says: string }>}
 */
export async function runTool(args, env, signal) {
  const child = spawn(toolNode(), args, {
    cwd: PROJECT,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  let says = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      says += chunk;
    });
  }
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, says: says.trim() };
}
