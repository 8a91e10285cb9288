/**
 * The whole service as `npm start` runs it, on a port and a data folder of its own, for tests that cross
 * process boundaries. Nothing is left behind when the test process ends.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processesOn } from "../../scripts/data-folder.mjs";
import { PROJECT } from "../../scripts/install.mjs";
import { atExit } from "./at-exit.ts";
import { type ActualAnswer, type Contract, contractOf } from "./contract.ts";
import { fakeApp } from "./http-app.ts";
import { freePort } from "./ports.ts";

const START = join(PROJECT, "scripts", "start.mjs");
const START_WITHIN_MS = 90_000;

/** Names a data folder whose D1 has the schema and nothing else: applying it takes longer than all the rest. */
export const TEMPLATE = "SLUICE_TEST_TEMPLATE";

/** Settings of the shell that runs the tests must not reach the service. */
const SETTINGS =
  /^(RPC_.*|NETWORKS|PORT|HOST|DATA_DIR|KEY_PEPPER|OPERATOR_TOKEN|WALLET_SEED|SECRETS_KEY|ALLOW_LOCAL_WEBHOOKS|DNS_RESOLVER|LOG_LEVEL|OPERATOR_WEBHOOK_URL|OPERATOR_WEBHOOK_SECRET|SANDBOX|SLUICE_.*)$/;

export type Environment = Readonly<Record<string, string>>;

/** `Body` is the caller's claim about the JSON that comes back; text that is not JSON comes as a string. */
export interface ApiAnswer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface ApiOptions {
  readonly key?: string;
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** The service's own local chain; null when `RPC_LOCAL` was given. */
  readonly chainUrl: string | null;
  readonly operatorToken: string;
  readonly walletSeed: string;
  /** All that was printed since the last start. */
  output(): string;
  /** All that was logged, by every start on this folder. Lines come a moment after what they tell of. */
  log(): string;
  /** Every process that works for this service, the start script first. */
  processes(): number[];
  api<Body = unknown>(method: string, path: string, options?: ApiOptions): Promise<ApiAnswer<Body>>;
  signUp(name?: string): Promise<{ readonly tenantId: string; readonly key: string }>;
  /** kill -9 of the command alone. What it runs may live a moment longer. */
  killParent(): Promise<void>;
  /** kill -9 of every process, in no order. */
  kill9(): Promise<void>;
  /** SIGTERM, and wait. Gives the exit code. Keeps the data. */
  terminate(): Promise<number | null>;
  /** Ctrl-C in a terminal: SIGINT to the command and all it runs. Gives the exit code. Keeps the data. */
  interrupt(): Promise<number | null>;
  /** Waits until it has ended by itself. Gives the exit code. */
  exited(): Promise<number | null>;
  /** Ends what runs and starts again on the same port and data, with other settings if given. */
  restart(environment?: Environment): Promise<void>;
  /** Ends everything and removes the data. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly environment?: Environment;
  readonly port?: number;
  /** Begin with an empty folder, as a newcomer does, rather than with D1's schema already in place. */
  readonly fromNothing?: boolean;
  /** What is run instead of the start script itself: `["npm", "start"]`. */
  readonly command?: Command;
}

export type Command = readonly [string, ...string[]];

let contract: Promise<Contract> | undefined;
const UNDESCRIBED = /^\/(openapi\.json|docs|sandbox(\/.*)?)$/;

/** Whatever a test is about: what the whole service answers is what the API's description says. @throws Error */
async function refuseUndescribed(method: string, path: string, answer: ActualAnswer): Promise<void> {
  const [place = path] = path.split("?");
  // Without our mark it was somebody in between who answered.
  if (UNDESCRIBED.test(place) || !answer.headers.has("x-request-id")) return;
  contract ??= (async () => contractOf(await (await fakeApp().app.request("/openapi.json")).json()))();
  const violations = (await contract).violations(method, place, answer);
  if (violations.length > 0) throw new Error(violations.join("\n"));
}

/** @throws Error with all that was printed, when the service does not come up */
export async function startService(options: StartOptions = {}): Promise<Service> {
  const port = options.port ?? (await freePort());
  const dataDir = realpathSync(mkdtempSync(join(tmpdir(), "sluice-data-")));
  const template = process.env[TEMPLATE];
  if (options.fromNothing !== true && template !== undefined) cpSync(template, dataDir, { recursive: true });
  let environment = options.environment ?? {};
  let run = launch(port, dataDir, environment, options.command);
  const url = `http://127.0.0.1:${port}`;

  const killAll = () => {
    run.child.kill("SIGKILL");
    for (const pid of processesOn(dataDir)) killQuietly(pid);
  };
  const sweep = () => {
    killAll();
    rmSync(dataDir, { recursive: true, force: true });
  };
  const forget = atExit(sweep);
  try {
    await run.ready;
  } catch (error) {
    await run.exited;
    forget();
    sweep();
    throw error;
  }

  async function api<Body>(method: string, path: string, request: ApiOptions = {}): Promise<ApiAnswer<Body>> {
    const headers = new Headers(request.headers);
    if (request.key !== undefined) headers.set("authorization", `Bearer ${request.key}`);
    if (request.body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
    const body =
      request.body === undefined || typeof request.body === "string" ? request.body : JSON.stringify(request.body);
    const response = await fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "");
    const { status, headers: answered } = response;
    const answer = { status, headers: answered, body: isJson && text !== "" ? JSON.parse(text) : (text as Body) };
    await refuseUndescribed(method, path, answer);
    return answer;
  }

  async function end(signal: "SIGTERM" | "SIGINT"): Promise<number | null> {
    // A terminal signals the whole group, everybody else one process.
    if (signal === "SIGTERM") run.child.kill(signal);
    else if (run.child.pid !== undefined && !run.ended()) process.kill(-run.child.pid, signal);
    return run.exited;
  }

  async function untilGone(): Promise<void> {
    await run.exited;
    while (processesOn(dataDir).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async function kill9(): Promise<void> {
    killAll();
    await untilGone();
  }

  return {
    url,
    port,
    dataDir,
    get chainUrl() {
      return /local chain\s+(http:\S+)/.exec(run.output())?.[1] ?? null;
    },
    get operatorToken() {
      return environment.OPERATOR_TOKEN ?? readFileSync(join(dataDir, "operator-token"), "utf8").trim();
    },
    get walletSeed() {
      return environment.WALLET_SEED ?? readFileSync(join(dataDir, "wallet-seed"), "utf8").trim();
    },
    output: () => run.output(),
    log: () => readFileSync(join(dataDir, "log", "sluice.log"), "utf8"),
    processes: () => [...(run.child.pid === undefined || run.ended() ? [] : [run.child.pid]), ...processesOn(dataDir)],
    api,
    async signUp(name = "A shop") {
      type SignedUp = { readonly tenant: { readonly id: string }; readonly api_key: { readonly secret: string } };
      const answer = await api<SignedUp>("POST", "/v1/tenants", { body: { name } });
      if (answer.status !== 201)
        throw new Error(`sign-up answered ${answer.status}: ${JSON.stringify(answer.body).slice(0, 500)}`);
      return { tenantId: answer.body.tenant.id, key: answer.body.api_key.secret };
    },
    async killParent() {
      run.child.kill("SIGKILL");
      await run.gone;
    },
    kill9,
    terminate: () => end("SIGTERM"),
    interrupt: () => end("SIGINT"),
    exited: () => run.exited,
    async restart(changed = environment) {
      if (!run.killed()) await end("SIGTERM");
      environment = changed;
      run = launch(port, dataDir, environment, options.command);
      await run.ready;
    },
    async stop() {
      forget();
      await end("SIGTERM");
      sweep();
      await untilGone();
    },
  };
}

interface Run {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  /** All output has been read, too: not before every process that writes to it has ended. */
  readonly exited: Promise<number | null>;
  readonly gone: Promise<void>;
  ended(): boolean;
  killed(): boolean;
  output(): string;
}

/** Runs the start script to its end or until it is ready, whichever comes first. */
export function launch(
  port: number,
  dataDir: string,
  environment: Environment,
  [command, ...args]: Command = [process.execPath, START],
): Run {
  const outside = Object.fromEntries(Object.entries(process.env).filter(([name]) => !SETTINGS.test(name)));
  const child = spawn(command, args, {
    // What a test is about has no other process beside it than it needs.
    env: { ...outside, PORT: String(port), DATA_DIR: dataDir, SANDBOX: "off", ...environment },
    cwd: PROJECT,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let ended = false;
  const exited = new Promise<number | null>((resolve) =>
    child.once("close", (code) => {
      ended = true;
      resolve(code);
    }),
  );
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const ready = new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => {
      child.kill("SIGTERM");
      reject(new Error(`the service did not start within ${START_WITHIN_MS} ms:\n${output}`));
    }, START_WITHIN_MS);
    const listen = (chunk: Buffer) => {
      output += chunk;
      if (!output.includes("Sluice listens on")) return;
      clearTimeout(late);
      resolve();
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    void exited.then((code) => {
      clearTimeout(late);
      reject(new Error(`the service ended with ${code}:\n${output}`));
    });
  });
  ready.catch(() => {});
  return {
    child,
    ready,
    exited,
    gone,
    ended: () => ended,
    killed: () => child.signalCode === "SIGKILL",
    output: () => output,
  };
}

export function killQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
