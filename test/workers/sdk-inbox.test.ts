/** The inbox over a real D1 database, as a merchant's Worker uses it: `env.DB` and its own statements fit. */

import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import type { Env } from "../../src/env.ts";
import { d1Storage, INBOX_SCHEMA, Inbox, type SluiceEvent, Webhooks } from "../../src/sdk/index.ts";
import { mintSecret, signatureHeader } from "../../src/webhooks/signature.ts";
import { amountOf, BOOKS, depositEvent } from "../support/sdk-inbox.ts";

const { DB } = env as unknown as Env;
const confirmed = depositEvent("deposit.confirmed", 2);
const reverted = depositEvent("deposit.reverted", 3);

beforeAll(async () => {
  await DB.batch([DB.prepare(INBOX_SCHEMA), DB.prepare(BOOKS)]);
});

function inboxOf(more: readonly D1PreparedStatement[] = []) {
  return new Inbox({
    storage: d1Storage(DB),
    apply: (event: SluiceEvent) => [
      DB.prepare("INSERT INTO books (event, amount) VALUES (?, ?)").bind(event.id, amountOf(event)),
      ...more,
    ],
  });
}

async function books(): Promise<unknown[]> {
  return (await DB.prepare("SELECT event FROM books ORDER BY line").all()).results.map(({ event }) => event);
}

describe("over D1", () => {
  it("writes credit and mark in one commit: a statement that fails leaves neither", async () => {
    const failing = async () => inboxOf([DB.prepare("INSERT INTO books (event) VALUES (NULL)")]).receive(confirmed);
    await expect(failing()).rejects.toThrow();
    expect(await books()).toEqual([]);
  });

  it("applies an event that comes many times at once just once, and the next in its order", async () => {
    const inbox = inboxOf();
    const outcomes = await Promise.all(Array.from({ length: 6 }, async () => (await inbox.receive(confirmed)).outcome));
    expect(outcomes.filter((outcome) => outcome === "applied")).toHaveLength(1);
    const second = await Promise.all([1, 2, 3].map(async () => (await inbox.receive(reverted)).outcome));
    expect(second.filter((outcome) => outcome === "applied")).toHaveLength(1);
    expect((await inbox.receive(confirmed)).outcome).toBe("duplicate");
    expect(await books()).toEqual([confirmed.id, reverted.id]);
  });
});

describe("in workerd", () => {
  it("verifies both kinds of signature", async () => {
    const body = JSON.stringify(confirmed);
    const timestampS = Math.floor(Date.now() / 1_000);
    const secret = mintSecret(crypto.getRandomValues(new Uint8Array(32)));
    const message = { id: confirmed.id, timestampS, body: new TextEncoder().encode(body) };
    const signature = await signatureHeader([{ scheme: "v1", secret }], message);
    const headers = { "webhook-id": confirmed.id, "webhook-timestamp": String(timestampS) };
    const byHmac = { ...headers, "webhook-signature": signature };
    expect(await Webhooks.verify(body, byHmac, secret)).toEqual(confirmed);

    const keys = (await crypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"])) as CryptoKeyPair;
    const text = new TextEncoder().encode(`${confirmed.id}.${timestampS}.${body}`);
    const base64 = (bytes: ArrayBuffer) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
    const made = base64(await crypto.subtle.sign("Ed25519", keys.privateKey, text));
    const whpk = `whpk_${base64((await crypto.subtle.exportKey("raw", keys.publicKey)) as ArrayBuffer)}`;
    const byKey = { ...headers, "webhook-signature": `v1a,${made}` };
    expect(await Webhooks.verify(body, byKey, whpk)).toEqual(confirmed);
  });
});
