/** Writes what `wrangler.toml` says about running the Worker locally, as miniflare takes it, into the file named. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { unstable_getMiniflareWorkerOptions } from "wrangler";
import { PROJECT } from "./install.mjs";

const { workerOptions, externalWorkers } = unstable_getMiniflareWorkerOptions(
  join(PROJECT, "wrangler.toml"),
  undefined,
  // An empty file, so that no .dev.vars or .env of the project is read: every setting is handed over at the start.
  { envFiles: ["/dev/null"] },
);
if (externalWorkers.length > 0)
  throw new Error(`wrangler.toml needs ${externalWorkers.length} Workers beside this one`);
// The modules are bundled already, and what they are is told by their names.
const { modulesRules: _rules, rootPath: _root, ...options } = workerOptions;
writeFileSync(process.argv[2], JSON.stringify(options));
