import { createPublicKey, verify } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { importPrivateKey, mintKeyPair } from "../../src/webhooks/key-pair.ts";
import { mintSecret, signatureHeader } from "../../src/webhooks/signature.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const secretOf = (fill: number, length = 32) => mintSecret(new Uint8Array(length).fill(fill));
type Sent = Record<string, string>;
const nowS = () => Math.floor(Date.now() / 1_000);

/** B108: what re-serialising would change. */
const AWKWARD = '{"z":"\\u001B\u2028","n":1.0,"two":  "spaces","a":"\u00e9\u{1F600}"}';

const keysOf = (secrets: readonly string[]) => secrets.map((secret) => ({ scheme: "v1" as const, secret }));

async function headers(secrets: readonly string[], body: string, timestampS = nowS()): Promise<Record<string, string>> {
  const signature = await signatureHeader(keysOf(secrets), { id: "evt_1", timestampS, body: bytes(body) });
  return { "webhook-id": "evt_1", "webhook-timestamp": String(timestampS), "webhook-signature": signature };
}

describe("signatures (Standard Webhooks 1.0.0)", () => {
  it("are accepted by the reference library, over the raw bytes (B108)", async () => {
    const secret = secretOf(7);
    expect(new Webhook(secret).verify(AWKWARD, await headers([secret], AWKWARD))).toEqual(JSON.parse(AWKWARD));
  });

  it("are byte for byte those of the reference library", async () => {
    const secret = secretOf(9);
    const at = new Date(1_700_000_000_000);
    const ours = await signatureHeader(keysOf([secret]), {
      id: "evt_1",
      timestampS: 1_700_000_000,
      body: bytes(AWKWARD),
    });
    expect(ours).toBe(new Webhook(secret).sign("evt_1", at, AWKWARD));
  });

  it("are those of the example in the specification's reference test", async () => {
    const signature = await signatureHeader(keysOf(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]), {
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      timestampS: 1_614_265_330,
      body: bytes('{"test": 2432232314}'),
    });
    expect(signature).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });

  const changes: { name: string; change: (h: Sent) => Sent | Promise<Sent>; body?: string }[] = [
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
  it.each(changes)("are refused after a change of $name", async ({ change, body }) => {
    const secret = secretOf(7);
    const changed = await change(await headers([secret], AWKWARD));
    expect(() => new Webhook(secret).verify(body ?? AWKWARD, changed)).toThrow();
  });

  it("stand side by side while a secret is replaced: each one alone is enough (B113)", async () => {
    const [fresh, old] = [secretOf(1), secretOf(2)];
    const sent = await headers([fresh, old], AWKWARD);
    expect(sent["webhook-signature"]).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
    for (const secret of [fresh, old]) expect(() => new Webhook(secret).verify(AWKWARD, sent)).not.toThrow();
    expect(() => new Webhook(secretOf(3)).verify(AWKWARD, sent)).toThrow();
  });

  it("do not depend on the prefix of the secret (B113)", async () => {
    const secret = secretOf(5);
    const bare = secret.slice("whsec_".length);
    expect(await headers([bare], AWKWARD, 1)).toEqual(await headers([secret], AWKWARD, 1));
  });
});

/** As a receiver does that knows nothing but `whpk_...`, with another implementation of Ed25519. */
function isVerified(publicKey: string, signature: string, signed: string): boolean {
  const x = Buffer.from(publicKey.slice("whpk_".length), "base64").toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return verify(null, Buffer.from(signed), key, Buffer.from(signature.slice("v1a,".length), "base64"));
}

describe("asymmetric signatures (Standard Webhooks 1.0.0, v1a)", () => {
  const seed = (fill: number) => new Uint8Array(32).fill(fill);
  const keyOf = async (privateKey: string) => ({ scheme: "v1a" as const, key: await importPrivateKey(privateKey) });
  const message = { id: "evt_1", timestampS: 1_700_000_000, body: bytes(AWKWARD) };

  it("have keys as the standard writes them: those of RFC 8032, 7.1, test 1", async () => {
    const hex = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    const pair = await mintKeyPair(Uint8Array.from(Buffer.from(hex, "hex")));
    expect(pair).toEqual({
      privateKey: `whsk_${Buffer.from(hex, "hex").toString("base64")}`,
      publicKey: "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    });
  });

  it("are verified by Node's crypto over id, time and the raw bytes, and by nothing else", async () => {
    const [pair, other] = [await mintKeyPair(seed(0xfb)), await mintKeyPair(seed(2))];
    const header = await signatureHeader([await keyOf(pair.privateKey)], message);
    expect(header).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
    expect(isVerified(pair.publicKey, header, `evt_1.1700000000.${AWKWARD}`)).toBe(true);
    expect(isVerified(pair.publicKey, header, `evt_2.1700000000.${AWKWARD}`)).toBe(false);
    expect(isVerified(pair.publicKey, header, `evt_1.1700000001.${AWKWARD}`)).toBe(false);
    expect(isVerified(pair.publicKey, header, `evt_1.1700000000.${AWKWARD} `)).toBe(false);
    expect(isVerified(other.publicKey, header, `evt_1.1700000000.${AWKWARD}`)).toBe(false);
  });

  it("stand side by side while a key is replaced, the new one first (B113)", async () => {
    const [fresh, old] = [await mintKeyPair(seed(1)), await mintKeyPair(seed(2))];
    const keys = [await keyOf(fresh.privateKey), await keyOf(old.privateKey)];
    const [first = "", second = "", ...more] = (await signatureHeader(keys, message)).split(" ");
    expect(more).toEqual([]);
    expect(isVerified(fresh.publicKey, first, `evt_1.1700000000.${AWKWARD}`)).toBe(true);
    expect(isVerified(old.publicKey, second, `evt_1.1700000000.${AWKWARD}`)).toBe(true);
  });

  it("of a key that is none are a bug, which does not show it", async () => {
    await expect(mintKeyPair(new Uint8Array(31))).rejects.toThrow("an Ed25519 key has 32 bytes, got 31");
    for (const bad of ["c2VjcmV0", "whsk_c2VjcmV0", "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="]) {
      const fault = await importPrivateKey(bad).catch(String);
      expect(fault).toMatch(/Error/);
      expect(fault).not.toContain(bad);
      expect(fault).not.toContain("c2VjcmV0");
    }
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

  it("never appear in an error", async () => {
    for (const bad of ["whsec_c2hvcnQtc2VjcmV0", "whsec_!!!!not-base64!!!!"]) {
      let message = "";
      try {
        await headers([bad], "{}");
      } catch (error) {
        message = String(error);
      }
      expect(message).not.toBe("");
      expect(message).not.toContain(bad.slice(6));
    }
  });

  it("are needed to sign", async () => {
    await expect(headers([], "{}")).rejects.toThrow("at least one key");
  });
});
