/**
 * The Express example as a process of its own, told the same things twice, out of order and several at once, and
 * killed with SIGKILL while it answers. Its books end as the chain's.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PROJECT } from "../../scripts/install.mjs";
import { atExit } from "../support/at-exit.ts";
import { ASSET, bySubject, SECRET, type SignedRequest, senderOf, signed, type Told, tell } from "../support/shop.ts";

const PROGRAM = fileURLToPath(new URL("../../examples/express-receiver/receiver.ts", import.meta.url));
const DEPOSITS = 40;
/** Lives that end by SIGKILL, and after how many acknowledgements at most. */
const LIVES = 8;
const ANSWERS_PER_LIFE = 8;

let folder: string;
let child: ChildProcess | null = null;
let forget = () => {};
let url = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-express-"));
  // Compiled once for all its lives; a program that is killed stores nothing of that.
  const load = 'await import("express"); await import("sluice");';
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") };
  execFileSync(process.execPath, ["--no-warnings", "--input-type=module", "-e", load], { cwd: PROJECT, env });
});

afterAll(async () => {
  await kill();
  rmSync(folder, { recursive: true, force: true });
});

async function start(more: Record<string, string> = {}): Promise<void> {
  const env = {
    ...process.env,
    DATABASE: join(folder, "shop.sqlite"),
    PORT: "0",
    SLUICE_WEBHOOK_SECRET: SECRET,
    NODE_COMPILE_CACHE: join(folder, "compiled"),
    ...more,
  };
  const running = spawn(process.execPath, ["--no-warnings", PROGRAM], { env, stdio: ["ignore", "pipe", "pipe"] });
  forget = atExit(() => running.kill("SIGKILL"));
  child = running;
  let output = "";
  const port = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk;
      const [, found] = /listens on (\d+)/.exec(output) ?? [];
      if (found !== undefined) resolve(found);
    };
    running.stdout.on("data", read);
    running.stderr.on("data", read);
    running.once("exit", (code) => reject(new Error(`the receiver ended with ${code}:\n${output}`)));
  });
  url = `http://127.0.0.1:${port}/webhooks`;
}

async function kill(): Promise<void> {
  const running = child;
  child = null;
  forget();
  if (running === null || running.exitCode !== null) return;
  const gone = new Promise((resolve) => running.once("exit", resolve));
  running.kill("SIGKILL");
  await gone;
}

async function post(request: SignedRequest): Promise<number | null> {
  if (child === null) return null;
  try {
    const answer = await fetch(url, request);
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return null;
  }
}

function books(): { events: string[]; balances: Record<string, bigint> } {
  const db = new DatabaseSync(join(folder, "shop.sqlite"), { readOnly: true });
  try {
    const events = db.prepare("SELECT event FROM entries ORDER BY rowid").all();
    const balances = db.prepare("SELECT account, units FROM balances WHERE asset = ? ORDER BY account").all(ASSET);
    return {
      events: events.map(({ event }) => String(event)),
      balances: Object.fromEntries(balances.map(({ account, units }) => [String(account), BigInt(String(units))])),
    };
  } finally {
    db.close();
  }
}

function expectRight({ booked, balances }: Told): void {
  const is = books();
  expect(bySubject(is.events)).toEqual(booked);
  expect(is.balances).toEqual(balances);
}

/** The service's event feed, as far as the inbox reads it. */
async function serveFeed({ log }: Told) {
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? "", "http://feed").searchParams;
    const after = Number(query.get("after"));
    const data = log.filter(({ sequence }) => sequence > after).slice(0, 20);
    const last = data.at(-1)?.sequence ?? after;
    const next_cursor = last < log.length ? String(last) : null;
    response.setHeader("content-type", "application/json").end(JSON.stringify({ data, next_cursor }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { SLUICE_API_KEY: "sk_of_the_test", SLUICE_URL: `http://127.0.0.1:${port}`, close: () => server.close() };
}

it("credits what the chain says, each event once, however often it is killed", async () => {
  const told = tell(DEPOSITS, Math.random);
  const sender = senderOf(
    told.sent,
    async (request) => {
      const status = await post(request);
      if (status === 204 && --answersLeft === 0) killing = kill();
      return status;
    },
    Math.random,
  );
  let answersLeft = 0;
  let killing: Promise<void> | null = null;

  let lives = 0;
  for (; lives < LIVES && sender.left() > 0; lives++) {
    await start();
    answersLeft = 1 + Math.floor(Math.random() * ANSWERS_PER_LIFE);
    killing = null;
    while (killing === null && sender.left() > 0) await sender.volley();
    await killing;
  }
  expect(lives).toBe(LIVES);
  // By what is sent alone: a feed would bring back what was acknowledged and lost.
  await start();
  await sender.sendAll();
  expectRight(told);

  // All of it once more.
  await senderOf(told.sent, post, Math.random).sendAll();
  expectRight(told);
});

it("closes a gap by the feed, and says when to come again without it", async () => {
  const told = tell(1, () => 0.9);
  const [confirmed, reverted] = told.sent;
  if (confirmed === undefined || reverted === undefined) throw new Error("expected a reversal to be told");
  await kill();
  rmSync(join(folder, "shop.sqlite"));
  await start();
  const early = await fetch(url, await signed(reverted));
  expect([early.status, early.headers.get("retry-after")]).toEqual([503, "10"]);
  expect(books().events).toEqual([]);
  await kill();
  const { close, ...feed } = await serveFeed(told);
  await start(feed);
  expect(await post(await signed(reverted))).toBe(204);
  expectRight(told);
  close();
});

it("refuses what is not signed, or not with its secret, or too large", async () => {
  const [event] = tell(1, () => 0).sent;
  if (event === undefined) throw new Error("expected an event");
  const request = await signed(event);
  expect(await post({ ...request, body: request.body.replace("ETH", "XTH") })).toBe(400);
  expect(await post(await signed(event, `whsec_${btoa("another secret of 32 bytes......")}`))).toBe(400);
  expect(await post({ ...request, headers: { "content-type": "application/json" } })).toBe(400);
  expect(await post({ ...request, body: "x".repeat(70_000) })).toBe(413);
});
