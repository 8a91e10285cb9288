/**
 * Owns: the running Worker: wrangler's own local server in one process, on the project's own Node. Started
 * by start.mjs, which hands over the settings on the channel between them; so no secret is on a command
 * line, in an environment or in a file. When that channel closes, whatever the reason, this process ends
 * and takes the runtime with it.
 *
 * In:  { host, port, persist, bindings, chain }, later "stop".
 * Out: "ready", { log }.
 */

import { unstable_startWorker } from "wrangler";
import { PROJECT } from "./install.mjs";
import { endAbandonedChain } from "./local-chain.mjs";

process.once("message", (settings) =>
  serve(settings).catch((error) => {
    console.error((error.cause ?? error).message);
    process.exit(1);
  }),
);

async function serve({ host, port, persist, bindings, chain }) {
  let worker = null;
  async function end() {
    await worker?.dispose().catch(() => {});
    process.exit(0);
  }
  process.once("message", end);
  process.once("disconnect", async () => {
    // The parent was killed. The chain has no channel of its own.
    if (chain !== null) await endAbandonedChain(chain);
    await end();
  });

  worker = await unstable_startWorker({
    config: `${PROJECT}/wrangler.toml`,
    // An empty file, so that no .dev.vars or .env of the project is read beside the settings given.
    envFiles: ["/dev/null"],
    bindings: Object.fromEntries(
      Object.entries(bindings).map(([name, value]) => [name, { type: "secret_text", value }]),
    ),
    dev: {
      remote: false,
      // A checkout under a running service must not restart it.
      watch: false,
      server: { hostname: host, port },
      inspector: false,
      persist,
      logLevel: "warn",
      structuredLogsHandler: ({ message }) => process.send?.({ log: message }),
    },
  });
  await worker.ready;
  process.send?.("ready");
}
