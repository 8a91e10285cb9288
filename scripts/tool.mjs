/** Owns: running one of the project's tools to its end, with everything it says, and what wrangler is told of its surroundings. */

import { spawn } from "node:child_process";
import { PROJECT, toolEnvironment, toolNode } from "./install.mjs";

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

/** For wrangler: nobody outside this machine is asked, and no account's settings are read. */
export function quietEnvironment() {
  const environment = {
    ...toolEnvironment(),
    CI: "true",
    NO_COLOR: "1",
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_WRITE_LOGS: "false",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
  };
  for (const name of ["CLOUDFLARE_ENV", "CLOUDFLARE_INCLUDE_PROCESS_ENV", "FORCE_COLOR"]) delete environment[name];
  return environment;
}
