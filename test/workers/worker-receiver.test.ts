/**
 * The Worker example in workerd with a D1 of its own tables, told the same things twice, out of order and several at
 * once, while requests end before their commit, after it, or with its answer lost. Its books end as the chain's.
 */

import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { balanceOf } from "../../examples/worker-receiver/balance.ts";
import schema from "../../examples/worker-receiver/migrations/0001_books.sql";
import receiver, { type Env as ReceiverEnv } from "../../examples/worker-receiver/worker.ts";
import type { Env } from "../../src/env.ts";
import { INBOX_SCHEMA } from "../../src/sdk/index.ts";
import { ASSET, bySubject, SECRET, type SignedRequest, senderOf, signed, type Told, tell } from "../support/shop.ts";

const { DB } = env as unknown as Env;

/** Where a request ends: nothing is done any more, and nobody is answered. */
type Crash = "before the commit" | "after the commit" | "the commit's answer is lost";
const CRASHES: readonly Crash[] = ["before the commit", "after the commit", "the commit's answer is lost"];

beforeAll(async () => {
  const statements = schema
    .replace(/^--.*$/gm, "")
    .split(";")
    .map((sql) => sql.trim())
    .filter((sql) => sql !== "");
  expect(statements[0]).toBe(INBOX_SCHEMA.replace("IF NOT EXISTS ", ""));
  await DB.batch(statements.map((sql) => DB.prepare(sql)));
});

beforeEach(() => DB.batch([DB.prepare("DELETE FROM sluice_inbox"), DB.prepare("DELETE FROM entries")]));

/** A D1 in front of which one request ends. */
function crashing(crash: Crash): D1Database {
  let isGone = false;
  const end = () => {
    isGone = true;
    throw new Error("the request ended here");
  };
  return new Proxy(DB, {
    get(target, name) {
      if (isGone) end();
      if (name !== "batch") return Reflect.get(target, name).bind(target);
      return async (statements: D1PreparedStatement[]) => {
        if (crash === "before the commit") return end();
        const results = await target.batch(statements);
        if (crash === "after the commit") return end();
        if (results.length > 0) throw new Error("Network connection lost.");
        return results;
      };
    },
  });
}

function receive(request: SignedRequest, crash: Crash | null = null): Promise<Response> {
  const its: ReceiverEnv = { DB: crash === null ? DB : crashing(crash), SLUICE_WEBHOOK_SECRET: SECRET };
  return receiver.fetch(new Request("https://shop.test/webhooks", request), its);
}

async function expectRight({ booked, balances }: Told): Promise<void> {
  const { results } = await DB.prepare("SELECT event FROM entries ORDER BY rowid").all<{ event: string }>();
  expect(bySubject(results.map(({ event }) => event))).toEqual(booked);
  for (const [account, units] of Object.entries(balances)) expect(await balanceOf(DB, account, ASSET)).toBe(units);
}

it("credits what the chain says, each event once, wherever requests end", async () => {
  const told = tell(30, Math.random);
  const ended = new Set<Crash>();
  const post = async (request: SignedRequest) => {
    const crash = Math.random() < 0.5 ? (CRASHES[Math.floor(Math.random() * CRASHES.length)] ?? null) : null;
    try {
      return (await receive(request, crash)).status;
    } catch {
      if (crash !== null) ended.add(crash);
      return null;
    }
  };
  await senderOf(told.sent, post, Math.random).sendAll();
  await expectRight(told);
  expect(ended).toContain("before the commit");
  expect(ended).toContain("after the commit");

  const again = async (request: SignedRequest) => (await receive(request)).status;
  await senderOf(told.sent, again, Math.random).sendAll();
  await expectRight(told);
});

it("acknowledges only what is committed", async () => {
  const [event] = tell(1, () => 0).sent;
  if (event === undefined) throw new Error("expected an event");
  const request = await signed(event);
  await expect(receive(request, "before the commit")).rejects.toThrow("ended here");
  expect((await DB.prepare("SELECT count(*) AS n FROM entries").first<{ n: number }>())?.n).toBe(0);
  await expect(receive(request, "after the commit")).rejects.toThrow("ended here");
  expect((await receive(request, "the commit's answer is lost")).status).toBe(204);
  expect((await DB.prepare("SELECT count(*) AS n FROM entries").first<{ n: number }>())?.n).toBe(1);
});

it("refuses what is not signed with its secret, and knows no other path", async () => {
  const [event] = tell(1, () => 0).sent;
  if (event === undefined) throw new Error("expected an event");
  const request = await signed(event);
  expect((await receive({ ...request, body: request.body.replace("ETH", "XTH") })).status).toBe(400);
  expect((await receive(await signed(event, `whsec_${btoa("another secret of 32 bytes......")}`))).status).toBe(400);
  const elsewhere = new Request("https://shop.test/", request);
  expect((await receiver.fetch(elsewhere, { DB, SLUICE_WEBHOOK_SECRET: SECRET })).status).toBe(404);
});

it("tells of a gap, and when to come again", async () => {
  const [, reverted] = tell(1, () => 0.9).sent;
  if (reverted === undefined) throw new Error("expected a reversal to be told");
  const early = await receive(await signed(reverted));
  expect([early.status, early.headers.get("retry-after")]).toEqual([503, "10"]);
});
