/**
 * Owns: the running Worker: miniflare, the local server of Cloudflare's own tools, on the project's own Node. Started
 * by start.mjs, which hands over the settings on the channel between them; so no secret is on a command
 * line, in an environment or in a file. When that channel closes, whatever the reason, this process ends
 * and takes the runtime with it.
 *
 * In:  { host, port, build, persist, bindings, chain }, later "stop".
 * Out: "ready", { log }.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { CONSOLE_FOLDER, OPTIONS_FILE } from "./build.mjs";
import { endAbandonedChain } from "./local-chain.mjs";

process.once("message", (settings) =>
  serve(settings).catch((error) => {
    console.error((error.cause ?? error).message);
    process.exit(1);
  }),
);

async function serve({ host, port, build, persist, bindings, chain }) {
  let server = null;
  async function end() {
    await server?.dispose().catch(() => {});
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
      handleStructuredLogs: ({ message }) => process.send?.({ log: message }),
      // Where wrangler keeps the databases, so that its own commands find the same ones.
      resourcePersistencePath: join(persist, "v3"),
      // The scheduled handler is called by hand: nothing else fires it here.
      unsafeTriggerHandlers: true,
      workers: [{ name: "sluice", ...optionsIn(build), modulesRoot: build, modules: modulesIn(build), bindings }],
    }),
  );
  await server.ready;
  process.send?.("ready");
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
