/**
 * The counting Worker in workerd, over a chain in memory that is moved by hand, with one receiver that answers at once.
 * What is counted does not depend on the machine: the same blocks give the same rows.
 */

import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, Response as WorkerResponse } from "miniflare";
import { atExit } from "../../test/support/at-exit.ts";
import { ModelChain } from "../../test/support/model-chain.ts";
import { freePort } from "../../test/support/ports.ts";
import { WalletChain, WalletNode } from "../../test/support/wallet-chain.ts";
import { PROJECT } from "../install.mjs";
import { bundle, compatibility } from "./bundled.ts";

const NODE = "http://node.bench";
export const RECEIVER = "https://receiver.bench-shop.com/hook";
/** A window that a few blocks fill. */
const WINDOW = { reorg_window: 6, confirmations: 3 };

export type Counts = Readonly<Record<string, number>>;

export interface CountedService {
  readonly wallets: WalletChain;
  /** Rows, alarms and calls since the start, by name. */
  counts(): Promise<Counts>;
  /** @throws Error when it refuses */
  api<Body>(
    method: string,
    path: string,
    options?: { key?: string; body?: unknown; idempotency?: string },
  ): Promise<Body>;
  /** Webhooks that came so far. */
  received(): number;
  /** One poll of the scanner, whose own alarm may be an hour away. */
  poll(): Promise<void>;
  /** Ends the runtime, lets somebody work on the databases of the objects, and begins again. */
  whileStopped(work: (databases: readonly string[]) => void): Promise<void>;
  stop(): Promise<void>;
}

export async function startCounted({ pollMs }: { readonly pollMs: number }): Promise<CountedService> {
  const chain = new ModelChain();
  chain.grow(40);
  const wallets = new WalletChain(chain);
  const node = new WalletNode(wallets);
  let received = 0;

  const persist = realpathSync(mkdtempSync(join(tmpdir(), "sluice-bench-")));
  const sweep = () => rmSync(persist, { recursive: true, force: true, maxRetries: 5 });
  const forget = atExit(sweep);
  const port = await freePort();
  const code = await bundle("counted-worker.mjs");
  const secrets = {
    KEY_PEPPER: randomBytes(32).toString("hex"),
    OPERATOR_TOKEN: randomBytes(32).toString("hex"),
    WALLET_SEED: randomBytes(32).toString("hex"),
    SECRETS_KEY: `1:${randomBytes(32).toString("base64")}`,
  };
  const options = convertV4MiniflareOptions({
    ...{ host: "127.0.0.1", port, cf: false, telemetry: { enabled: false } },
    ...{ unsafeLocalExplorer: false, unsafeObservability: false, logRequests: false },
    log: new Log(LogLevel.ERROR),
    resourcePersistencePath: join(persist, "v3"),
    workers: [
      {
        name: "bench",
        ...compatibility(),
        modules: [{ type: "ESModule", path: "index.js", contents: code }],
        durableObjects: {
          CHAIN_SCANNER: { className: "ChainScanner", useSQLite: true },
          TENANT: { className: "Tenant", useSQLite: true },
          WEBHOOK_ENDPOINT: { className: "WebhookEndpoint", useSQLite: true },
        },
        d1Databases: ["DB"],
        ratelimits: {
          SIGNUP_LIMITER: {
            type: "ratelimit",
            name: "SIGNUP_LIMITER",
            namespace_id: "1001",
            simple: { limit: 60, period: 60 },
          },
        },
        bindings: {
          ALLOW_LOCAL_WEBHOOKS: "true",
          LOG_LEVEL: "error",
          RPC_LOCAL: NODE,
          NETWORKS: JSON.stringify({ local: { ...WINDOW, poll_ms: pollMs } }),
          ...secrets,
        },
        outboundService: async (request: { url: string; text(): Promise<string> }) => {
          if (request.url.startsWith(NODE)) {
            const answer = await node.answer(await request.text());
            return new WorkerResponse(await answer.text(), { headers: { "content-type": "application/json" } });
          }
          received++;
          return new WorkerResponse(null, { status: 204 });
        },
      },
    ],
  } as never);
  let server = new Miniflare(options);
  await server.ready;
  await migrate(server);
  const url = `http://127.0.0.1:${port}`;

  return {
    wallets,
    counts: async () => (await (await fetch(`${url}/counted`)).json()) as Counts,
    async api<Body>(
      method: string,
      path: string,
      { key, body, idempotency }: { key?: string; body?: unknown; idempotency?: string } = {},
    ) {
      const headers = new Headers({ "content-type": "application/json" });
      if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
      if (idempotency !== undefined) headers.set("idempotency-key", idempotency);
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await fetch(`${url}${path}`, { method, headers, ...sent });
      if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
      return (await answer.json()) as Body;
    },
    received: () => received,
    async poll() {
      const answer = await fetch(`${url}/poll`, { method: "POST" });
      if (!answer.ok) throw new Error(`a poll ended with ${answer.status}: ${await answer.text()}`);
    },
    async whileStopped(work) {
      await server.dispose();
      const files = readdirSync(persist, { recursive: true, withFileTypes: true });
      work(files.filter((file) => file.name.endsWith(".sqlite")).map((file) => join(file.parentPath, file.name)));
      server = new Miniflare(options);
      await server.ready;
    },
    async stop() {
      await server.dispose();
      forget();
      sweep();
    },
  };
}

async function migrate(server: Miniflare): Promise<void> {
  const db = await server.getD1Database("DB");
  for (const name of readdirSync(join(PROJECT, "migrations")).sort()) {
    if (!name.endsWith(".sql")) continue;
    const text = readFileSync(join(PROJECT, "migrations", name), "utf8");
    const statements = text.split("--> statement-breakpoint").filter((statement) => statement.trim() !== "");
    for (const statement of statements) await db.prepare(statement).run();
  }
}
