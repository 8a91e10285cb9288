/**
 * Owns: the Worker as a child of start.mjs: its D1 schema, its process, when it counts as ready, and its
 * local cron, which nothing else fires.
 */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readIfThere, writeWhole } from "./data-folder.mjs";
import { PROJECT, Stop, toolNode } from "./install.mjs";
import { quietEnvironment, runTool } from "./tool.mjs";

const WRANGLER = join(PROJECT, "node_modules", "wrangler", "bin", "wrangler.js");
const MIGRATIONS = join(PROJECT, "migrations");
const READY_WITHIN_MS = 60_000;
/** A service that answers but refuses to be healthy for this long has a reason that waiting does not cure. */
const UNHEALTHY_FOR_MS = 3_000;
const LOG_LINES_SHOWN = 5;
const STOP_WITHIN_MS = 2_000;
const CRON = "* * * * *";
const CRON_EVERY_MS = 60_000;
/** What miniflare says when workerd has died. It starts another, but the way to it stays cut. */
const RUNTIME_CRASHED = "The Workers runtime crashed unexpectedly";

/** Where D1 and the objects keep their databases. */
function persistFolder(folder) {
  return join(folder.path, "cloudflare");
}

/** Where every line of the Worker's log is. */
export function logFileOf(path) {
  return join(path, "log", "sluice.log");
}

/** Quiet tools that write nothing outside the data folder and ask nobody outside this machine. */
function wranglerEnvironment(folder) {
  const environment = {
    ...quietEnvironment(),
    ...folder.environment,
    WRANGLER_REGISTRY_PATH: join(folder.path, "registry"),
    WRANGLER_CACHE_DIR: join(folder.path, "cache"),
    X_LOCAL_OBSERVABILITY: "false",
    // It would show every database to whoever reaches the port.
    X_LOCAL_EXPLORER: "false",
  };
  for (const name of ["KEY_PEPPER", "OPERATOR_TOKEN", "WALLET_SEED", "SECRETS_KEY"]) delete environment[name];
  return environment;
}

/**
 * Brings D1 to the schema of `migrations/`. Asks wrangler only when these files are not the ones applied
 * last, since that takes seconds.
 * @throws Stop with wrangler's own words
 */
export async function applyMigrations(folder, signal) {
  const stamp = join(folder.path, "migrations.applied");
  const wanted = digestOf(MIGRATIONS);
  if (readIfThere(stamp)?.toString("utf8") === wanted) return;
  const { code, says } = await runTool(
    [WRANGLER, "d1", "migrations", "apply", "DB", "--local", "--persist-to", persistFolder(folder)],
    wranglerEnvironment(folder),
    signal,
  );
  if (code !== 0) throw new Stop(`The database schema could not be applied to ${folder.path}:\n${says}`);
  writeWhole(stamp, wanted);
}

function digestOf(migrations) {
  const digest = createHash("sha256");
  for (const name of readdirSync(migrations)
    .filter((file) => file.endsWith(".sql"))
    .sort()) {
    digest
      .update(`${name}\0`)
      .update(readFileSync(join(migrations, name)))
      .update("\0");
  }
  return digest.digest("hex");
}

/**
 * @param {{ path: string, environment: Record<string, string> }} folder
 * @param {{ host: string, port: number, build: string, bindings: Record<string, string>, chain: import("./local-chain.mjs").RunningChain | null, sandbox: { url: string, token: string } | null }} options
 * @returns {{ url: string, untilHealthy: () => Promise<void>, ended: Promise<Error>, stop: () => Promise<void> }}
 *   `ended` resolves when it ends without having been stopped
 */
export function startWorker(folder, { host, port, build, bindings, chain, sandbox }) {
  const child = spawn(toolNode(), [join(PROJECT, "scripts", "serve.mjs")], {
    cwd: PROJECT,
    env: wranglerEnvironment(folder),
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let stopping = false;
  let lastWords = "";
  // Held back until it is known whether they explain a failure.
  let early = [];
  const show = (line) => (early === null ? console.log(line) : early.push(line));
  const ended = new Promise((resolve) => {
    const over = (reason) => !stopping && resolve(new Stop(reason));
    child.once("error", (error) => over(`The service could not be started: ${error.message}.`));
    child.once("exit", (code, signal) => over(`The service ended unexpectedly (${signal ?? code}). ${lastWords}`));
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    function listen(chunk) {
      lastWords = oneLine(String(chunk));
      if (lastWords.includes(RUNTIME_CRASHED))
        over("The Workers runtime was killed or crashed. Start again: nothing that was committed is lost.");
      else if (!stopping) console.error(lastWords);
    }
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.on("message", (message) => {
    if (typeof message === "object" && "log" in message) show(oneLine(message.log));
  });
  child.send({
    host,
    port,
    build,
    persist: persistFolder(folder),
    logFile: logFileOf(folder.path),
    bindings,
    chain,
    sandbox,
  });

  async function stop() {
    stopping = true;
    if (child.connected) child.send("stop");
    await Promise.race([exited, pause(STOP_WITHIN_MS)]);
    child.kill("SIGKILL");
  }

  /** @throws Stop with what the service answered instead, and what it last logged */
  async function untilHealthy() {
    try {
      await healthy(url);
    } catch (reason) {
      throw new Stop(`The service does not become ready: ${reason.message}\n${lastMessages(early)}`.trim());
    }
    const held = early;
    early = null;
    for (const line of held) show(line);
  }

  const url = urlOf(host, port);
  return { url, untilHealthy, ended, stop };
}

/** Where the Worker is reached. */
export function urlOf(host, port) {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** @throws Error with what came instead of a healthy answer */
async function healthy(url) {
  const from = Date.now();
  let unhealthySince = null;
  let reason = "no answer";
  for (;;) {
    try {
      const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(10_000) });
      const body = await response.text();
      if (response.ok) return;
      reason = `GET /healthz answers ${response.status}. ${detailOf(body)}`;
      unhealthySince ??= Date.now();
    } catch (error) {
      reason = `GET ${url}/healthz: ${error.cause?.message ?? error.message}`;
      unhealthySince = null;
    }
    const now = Date.now();
    if (now - from > READY_WITHIN_MS || (unhealthySince !== null && now - unhealthySince > UNHEALTHY_FOR_MS))
      throw new Error(reason);
    await pause(unhealthySince === null ? 50 : 500);
  }
}

/** The last log lines, each once, as sentences where they are JSON. */
function lastMessages(lines) {
  const messages = lines.map((line) => {
    try {
      return JSON.parse(line).message ?? line;
    } catch {
      return line;
    }
  });
  return [...new Set(messages)].slice(-LOG_LINES_SHOWN).join("\n");
}

/** The problem document's sentence where there is one. */
function detailOf(body) {
  try {
    const problem = JSON.parse(body);
    return problem.detail ?? problem.title ?? body;
  } catch {
    return oneLine(body).slice(0, 500);
  }
}

/** Where miniflare fires the scheduled handler when asked. */
export function scheduledOf(url) {
  return `${url}/cdn-cgi/local/scheduled?cron=${encodeURIComponent(CRON)}&format=json`;
}

/** Fires the Worker's cron now and every minute. Returns what stops it. */
export function startCron(url) {
  const target = scheduledOf(url);
  let stopped = false;
  async function fire() {
    try {
      const response = await fetch(target, { signal: AbortSignal.timeout(CRON_EVERY_MS) });
      const { outcome } = await response.json();
      if (outcome !== "ok") console.error(`cron: the scheduled handler ended with ${outcome}`);
    } catch (error) {
      if (!stopped)
        console.error(`cron: the scheduled handler could not be called: ${error.cause?.message ?? error.message}`);
    }
  }
  void fire();
  const timer = setInterval(fire, CRON_EVERY_MS);
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function oneLine(text) {
  return text.trim().replace(/\s*\n\s*/g, " | ");
}
