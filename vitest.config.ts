/**
 * Four projects, so that a fast failure is seen first. Three files at a time of those that wait for workerd, for blocks and
 * for webhooks: on two cores they leave none idle, and the heavy ones of the others do not fight over them:
 *
 * - `node`: pure code, properties and the house's own rules, on plain Node;
 * - `simulation`: the product in worlds in which everything fails, in processes of its own;
 * - `workers`: inside workerd, with real D1 and real objects, storage apart for each file;
 * - `e2e`: the whole service as `npm start` runs it, after the others, with time to wait for blocks.
 *
 * `npm test` sets SLUICE_TEST_REPORT to get the counts as JSON beside the readable report.
 */

import { fileURLToPath } from "node:url";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const report = process.env.SLUICE_TEST_REPORT;

/**
 * Bundled once for the run: read module by module these cost about a second in each test file. `hono/route` with hono: it
 * reads what hono keeps under a symbol of its own, and another copy has another one.
 */
const LARGE_LIBRARIES = [
  "viem",
  "hono",
  "hono/route",
  "@hono/zod-openapi",
  "zod",
  "drizzle-orm",
  "drizzle-orm/durable-sqlite",
];

/** Files that take a minute by themselves though they are short: begun last, they would be waited for alone. */
const LONG = /test\/(workers\/crash\/|e2e\/(start|sandbox|console|crashes|bitcoin-|solana-|tron|withdrawal-crashes))/;

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...Map.groupBy(sorted, ({ project }) => project.name).values()].flatMap((own) => [
      ...own.filter(({ moduleId }) => LONG.test(moduleId)),
      ...own.filter(({ moduleId }) => !LONG.test(moduleId)),
    ]);
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    // The product's own log of what went well, a line for each request, would bury what a test says.
    onConsoleLog: (text) => !text.startsWith('{"level":"info"'),
    reporters: report === undefined ? ["default"] : ["default", ["json", { outputFile: report }]],
    projects: [
      {
        test: {
          name: "node",
          include: ["test/{core,property,house}/**/*.test.ts"],
          testTimeout: 30_000,
          hookTimeout: 30_000,
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "simulation",
          include: ["test/simulation/**/*.test.ts"],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        plugins: [
          cloudflareTest(async () => ({
            wrangler: { configPath: fileURLToPath(new URL("wrangler.toml", import.meta.url)) },
            remoteBindings: false,
            miniflare: {
              bindings: {
                KEY_PEPPER: "a pepper for tests alone, 40 characters.",
                OPERATOR_TOKEN: "an operator token for tests alone, 46 signs...",
                WALLET_SEED: "5c1d0f9a7be3428665b0a4c7d9e8f162b347a8b9c0d1e2f3a4f60718293a4b5d",
                SECRETS_KEY:
                  "2:sr9KEZbX+EZIPlA36BeBm/sPf/EvLz88/bac7gdJUXM=,1:AHQFc9VYm1aVbTSYvBqMxGGLxJ7liC+ODqgXdtAvEMI=",
                RPC_LOCAL: "http://127.0.0.1:1",
                ALLOW_LOCAL_WEBHOOKS: "true",
                // "1": every crash point and every pair of them is played.
                SLUICE_ALL_CRASHES: process.env.SLUICE_ALL_CRASHES ?? "",
                TEST_MIGRATIONS: await readD1Migrations(fileURLToPath(new URL("migrations", import.meta.url))),
              },
            },
          })),
        ],
        test: {
          name: "workers",
          include: ["test/workers/**/*.test.ts"],
          setupFiles: ["test/workers/setup.ts"],
          globalSetup: ["test/workers/solana-setup.ts"],
          testTimeout: 30_000,
          hookTimeout: 30_000,
          maxWorkers: 3,
          deps: { optimizer: { ssr: { enabled: true, include: LARGE_LIBRARIES } } },
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/support/e2e-setup.ts"],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          maxWorkers: 3,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
