import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { mintSecret, signatureHeader } from "../../src/webhooks/signature.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const secretOf = (fill: number, length = 32) => mintSecret(new Uint8Array(length).fill(fill));
const nowS = () => Math.floor(Date.now() / 1_000);

/** B108: what re-serialising would change. */
const AWKWARD = '{"z":"\\u001B\u2028","n":1.0,"two":  "spaces","a":"\u00e9\u{1F600}"}';

function headers(secrets: readonly string[], body: string, timestampS = nowS()): Record<string, string> {
  const signature = signatureHeader(secrets, { id: "evt_1", timestampS, body: bytes(body) });
  return { "webhook-id": "evt_1", "webhook-timestamp": String(timestampS), "webhook-signature": signature };
}

describe("signatures (Standard Webhooks 1.0.0)", () => {
  it("are accepted by the reference library, over the raw bytes (B108)", () => {
    const secret = secretOf(7);
    expect(new Webhook(secret).verify(AWKWARD, headers([secret], AWKWARD))).toEqual(JSON.parse(AWKWARD));
  });

  it("are byte for byte those of the reference library", () => {
    const secret = secretOf(9);
    const at = new Date(1_700_000_000_000);
    const ours = signatureHeader([secret], { id: "evt_1", timestampS: 1_700_000_000, body: bytes(AWKWARD) });
    expect(ours).toBe(new Webhook(secret).sign("evt_1", at, AWKWARD));
  });

  it("are those of the example in the specification's reference test", () => {
    const signature = signatureHeader(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], {
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      timestampS: 1_614_265_330,
      body: bytes('{"test": 2432232314}'),
    });
    expect(signature).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });

  const changes: { name: string; change: (h: Record<string, string>) => Record<string, string>; body?: string }[] = [
    { name: "one byte of the body", change: (h) => h, body: AWKWARD.replace("spaces", "spacez") },
    { name: "the body re-serialised", change: (h) => h, body: JSON.stringify(JSON.parse(AWKWARD)) },
    { name: "the id", change: (h) => ({ ...h, "webhook-id": "evt_2" }) },
    { name: "the time", change: (h) => ({ ...h, "webhook-timestamp": String(Number(h["webhook-timestamp"]) + 1) }) },
    { name: "the secret", change: () => headers([secretOf(8)], AWKWARD) },
    {
      name: "a time stamp outside the tolerance (B112)",
      change: () => headers([secretOf(7)], AWKWARD, nowS() - 7_200),
    },
  ];
  it.each(changes)("are refused after a change of $name", ({ change, body }) => {
    const secret = secretOf(7);
    const sent = headers([secret], AWKWARD);
    expect(() => new Webhook(secret).verify(body ?? AWKWARD, change(sent))).toThrow();
  });

  it("stand side by side while a secret is replaced: each one alone is enough (B113)", () => {
    const [fresh, old] = [secretOf(1), secretOf(2)];
    const sent = headers([fresh, old], AWKWARD);
    expect(sent["webhook-signature"]).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
    for (const secret of [fresh, old]) expect(() => new Webhook(secret).verify(AWKWARD, sent)).not.toThrow();
    expect(() => new Webhook(secretOf(3)).verify(AWKWARD, sent)).toThrow();
  });

  it("do not depend on the prefix of the secret (B113)", () => {
    const secret = secretOf(5);
    const bare = secret.slice("whsec_".length);
    expect(headers([bare], AWKWARD, 1)).toEqual(headers([secret], AWKWARD, 1));
  });
});

describe("secrets", () => {
  it.each([24, 32, 64])("of %d bytes: whsec_ and base64", (length) => {
    const secret = secretOf(0xfb, length);
    expect(secret.startsWith("whsec_")).toBe(true);
    expect(Buffer.from(secret.slice(6), "base64")).toEqual(Buffer.alloc(length, 0xfb));
  });

  it.each([0, 16, 23, 65])("of %d bytes are a bug", (length) => {
    expect(() => secretOf(1, length)).toThrow(`24 to 64 bytes, got ${length}`);
  });

  it("never appear in an error", () => {
    for (const bad of ["whsec_c2hvcnQtc2VjcmV0", "whsec_!!!!not-base64!!!!"]) {
      let message = "";
      try {
        headers([bad], "{}");
      } catch (error) {
        message = String(error);
      }
      expect(message).not.toBe("");
      expect(message).not.toContain(bad.slice(6));
    }
  });

  it("are needed to sign", () => {
    expect(() => headers([], "{}")).toThrow("at least one secret");
  });
});
