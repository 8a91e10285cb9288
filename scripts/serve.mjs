/**
 * Owns: the running Worker: miniflare, the local server of Cloudflare's own tools, on the project's own Node. Started
 * by start.mjs, which hands over the settings on the channel between them; so no secret is on a command
 * line, in an environment or in a file. When that channel closes, whatever the reason, this process ends
 * and takes the runtime with it.
 *
 * In:  { host, port, build, persist, logFile, bindings, chain, sandbox }, later "stop".
 * Out: "ready", { log }: a line that somebody should see. Every line is in the log file.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, Response as WorkerResponse } from "miniflare";
import { CONSOLE_FOLDER, OPTIONS_FILE } from "./build.mjs";
import { endAbandonedChain } from "./local-chain.mjs";
import { openLogFile } from "./log-file.mjs";

/** How a line of the log begins that says what happened, and that nothing is wrong. */
const QUIET_LINE = '{"level":"info"';

process.once("message", (settings) =>
  serve(settings).catch((error) => {
    console.error((error.cause ?? error).message);
    process.exit(1);
  }),
);

async function serve({ host, port, build, persist, logFile, bindings, chain, sandbox }) {
  let server = null;
  const lines = openLogFile(logFile);
  async function end() {
    await server?.dispose().catch(() => {});
    lines.flush();
    process.exit(0);
  }
  process.once("message", end);
  process.once("disconnect", async () => {
    // The parent was killed. The chain has no channel of its own.
    if (chain !== null) await endAbandonedChain(chain);
    await end();
  });

  server = new Miniflare(
    convertV4MiniflareOptions({
      host,
      port,
      // Nobody outside this machine is asked or told, and nothing is shown but what the Worker itself offers.
      cf: false,
      telemetry: { enabled: false },
      unsafeLocalExplorer: false,
      unsafeObservability: false,
      logRequests: false,
      log: new Log(LogLevel.WARN),
      handleStructuredLogs: ({ message }) => {
        lines.add(message.replaceAll("\n", " "));
        if (!message.startsWith(QUIET_LINE)) process.send?.({ log: message });
      },
      // Where wrangler keeps the databases, so that its own commands find the same ones.
      resourcePersistencePath: join(persist, "v3"),
      // The scheduled handler is called by hand: nothing else fires it here.
      unsafeTriggerHandlers: true,
      workers: [
        {
          name: "sluice",
          ...optionsIn(build),
          modulesRoot: build,
          modules: modulesIn(build),
          bindings,
          // Nothing that is deployed has this binding: it is made here alone.
          ...(sandbox === null ? {} : { serviceBindings: { SANDBOX: (request) => askSandbox(sandbox, request) } }),
        },
      ],
    }),
  );
  await server.ready;
  process.send?.("ready");
}

/** The Worker's request, with the token that the sandbox knows this process by. */
async function askSandbox({ url, token }, request) {
  const { pathname, search } = new URL(request.url);
  const headers = { "x-sluice-sandbox": token };
  for (const name of ["x-sluice-tenant", "content-type"]) {
    const value = request.headers.get(name);
    if (value !== null) headers[name] = value;
  }
  const body = request.method === "GET" ? null : await request.text();
  const answer = await fetch(`${url}${pathname}${search}`, { method: request.method, headers, body });
  const text = answer.status === 204 ? null : await answer.text();
  return new WorkerResponse(text, { status: answer.status, headers: { "content-type": "application/json" } });
}

/** As wrangler told them; the console's files lie beside them. */
function optionsIn(build) {
  const options = JSON.parse(readFileSync(join(build, OPTIONS_FILE), "utf8"));
  return { ...options, assets: { ...options.assets, directory: join(build, CONSOLE_FOLDER) } };
}

/** The first one is where the Worker begins. */
function modulesIn(build) {
  const texts = readdirSync(build).filter((name) => name.endsWith(".sql"));
  return [
    { type: "ESModule", path: join(build, "index.js"), contents: readFileSync(join(build, "index.js"), "utf8") },
    ...texts.map((name) => ({
      type: "Text",
      path: join(build, name),
      contents: readFileSync(join(build, name), "utf8"),
    })),
  ];
}
