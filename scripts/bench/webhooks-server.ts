/** The benchmark's Worker in workerd, bundled as the product is and with its settings, on a folder that goes with it; and the sink. */

import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { atExit } from "../../test/support/at-exit.ts";
import { freePort } from "../../test/support/ports.ts";
import { PROJECT } from "../install.mjs";
import { bundle, compatibility } from "./bundled.ts";

const FOLDER = join(PROJECT, "scripts", "bench");

export interface WorkerServer {
  /** @throws Error when it answers with anything but 200 */
  ask<Answer>(path: string, query: Readonly<Record<string, string | number>>): Promise<Answer>;
  stop(): Promise<void>;
}

export async function startWorker(): Promise<WorkerServer> {
  const persist = realpathSync(mkdtempSync(join(tmpdir(), "sluice-bench-")));
  const sweep = () => rmSync(persist, { recursive: true, force: true, maxRetries: 5 });
  const forget = atExit(sweep);
  const port = await freePort();
  const server = new Miniflare(
    convertV4MiniflareOptions({
      ...{ host: "127.0.0.1", port, cf: false, telemetry: { enabled: false } },
      ...{ unsafeLocalExplorer: false, unsafeObservability: false, logRequests: false },
      log: new Log(LogLevel.WARN),
      resourcePersistencePath: join(persist, "v3"),
      workers: [
        {
          name: "bench",
          ...compatibility(),
          modules: [{ type: "ESModule", path: "index.js", contents: await bundle("webhooks-worker.ts") }],
          durableObjects: { WEBHOOK_ENDPOINT: { className: "WebhookEndpoint", useSQLite: true } },
          d1Databases: ["DB"],
          bindings: {
            ALLOW_LOCAL_WEBHOOKS: "true",
            KEY_PEPPER: randomBytes(32).toString("hex"),
            OPERATOR_TOKEN: randomBytes(32).toString("hex"),
            WALLET_SEED: randomBytes(32).toString("hex"),
            SECRETS_KEY: `1:${randomBytes(32).toString("base64")}`,
          },
        },
      ],
    }),
  );
  await server.ready;
  return {
    async ask<Answer>(path: string, query: Readonly<Record<string, string | number>>) {
      const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
      const answer = await fetch(`http://127.0.0.1:${port}${path}?${text}`, { method: "POST" });
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
      return (await answer.json()) as Answer;
    },
    async stop() {
      await server.dispose();
      forget();
      sweep();
    },
  };
}

export interface Arrived {
  /** Unix ms, as the following ones. */
  readonly firstAt: number;
  /** When answers were no longer held back; 0: they never were. */
  readonly releasedAt: number;
  readonly lastAt: number;
  /** Events that came before the one before them. */
  readonly disorder: number;
  /** Events that came twice in a row. */
  readonly again: number;
  readonly checked: number;
  /** Of those checked, with a signature that does not fit. */
  readonly forged: number;
}

export interface Sink {
  readonly port: number;
  /** From now on counts anew. Gives what came, once all of it has. @param secrets by path */
  expect(count: number, secrets: Readonly<Record<string, string>>, held: boolean): Promise<Arrived>;
  release(): void;
  stop(): void;
}

export async function startSink(): Promise<Sink> {
  const child = fork(join(FOLDER, "webhooks-sink.mjs"), { stdio: "inherit" });
  const forget = atExit(() => child.kill("SIGKILL"));
  const { port } = await nextMessage<{ port: number }>(child);
  return {
    port,
    async expect(expected, secrets, held) {
      child.send({ begin: { expected, secrets, held } });
      return (await nextMessage<{ done: Arrived }>(child)).done;
    },
    release: () => child.send("release"),
    stop() {
      forget();
      child.kill("SIGKILL");
    },
  };
}

function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    child.once("message", (message) => resolve(message as Message));
    child.once("exit", (code) => reject(new Error(`the sink ended with ${code}`)));
  });
}
