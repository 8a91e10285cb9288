/**
 * Owns: the local sandbox as a child of start.mjs: its process, what it may do to the chain, and the secrets of this
 * start, which never are on a command line, in an environment or in a file.
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { PROJECT, Stop, toolEnvironment, toolNode } from "./install.mjs";

const READY_WITHIN_MS = 20_000;

/**
 * Whether there is to be one. By itself where this machine alone reaches the service: it opens to every tenant, and whoever
 * reaches the service can sign up for one.
 * @param {string | undefined} asked SANDBOX
 * @param {string} host what the service listens on
 */
export function wantsSandbox(asked, host) {
  if (asked === "on" || asked === "off") return asked === "on";
  return host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/**
 * @param {{ path: string, environment: Record<string, string> }} folder
 * @param {{ url: string, alone: (work: () => Promise<unknown>) => Promise<unknown> }} chain
 * @param {string} serviceUrl
 * @returns {Promise<{ rpcUrl: string, control: { url: string, token: string }, enterUrl: string, openShop: () => void, ended: Promise<Error>, stop: () => void }>}
 *   `ended` resolves when it ends without having been stopped
 * @throws Stop
 */
export async function startSandbox(folder, chain, serviceUrl) {
  const child = spawn(toolNode(), ["--no-warnings", join(PROJECT, "scripts", "sandbox", "main.ts")], {
    cwd: PROJECT,
    env: { ...toolEnvironment(), ...folder.environment },
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const token = randomBytes(32).toString("hex");
  const code = randomBytes(32).toString("base64url");
  let stopping = false;
  let lastWords = "";
  child.stderr.on("data", (chunk) => {
    lastWords = String(chunk).trim().slice(-1_000);
    if (!stopping) console.error(lastWords);
  });
  const ended = new Promise((resolve) => {
    const over = (why) =>
      !stopping && resolve(new Stop(`The sandbox ended unexpectedly (${why}). ${lastWords}`.trim()));
    child.once("error", (error) => over(error.message));
    child.once("exit", (status, signal) => over(signal ?? status));
  });
  const stop = () => {
    stopping = true;
    child.kill("SIGKILL");
  };

  const ready = new Promise((resolve) => {
    let release = () => {};
    child.on("message", (message) => {
      if (message === "hold") void hold();
      else if (message === "release") release();
      else if ("log" in message) console.error(message.log);
      else if ("ready" in message) resolve(message.ready);
    });
    async function hold() {
      await chain.alone(
        () =>
          new Promise((done) => {
            release = done;
            tell("held");
          }),
      );
      tell("kept");
    }
  });
  const tell = (message) => child.connected && child.send(message);
  tell({ folder: folder.path, chainUrl: chain.url, serviceUrl, token, code });

  const late = new Promise((resolve) => setTimeout(resolve, READY_WITHIN_MS).unref()).then(() => null);
  const given = await Promise.race([ready, ended, late]);
  if (given === null || given instanceof Error) {
    stop();
    throw given ?? new Stop(`The sandbox did not start within ${READY_WITHIN_MS / 1_000} s. ${lastWords}`);
  }
  return {
    rpcUrl: given.rpcUrl,
    control: { url: given.controlUrl, token },
    enterUrl: `${serviceUrl}/sandbox/enter?code=${code}`,
    openShop: () => tell("healthy"),
    ended,
    stop,
  };
}
