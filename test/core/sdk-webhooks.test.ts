/** What the SDK believes of a webhook: what the service signs, what the reference library signs, and nothing else. */

import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { runInNewContext } from "node:vm";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { type WebhookHeaders, Webhooks, WebhookVerificationError } from "../../src/sdk/index.ts";
import { importPrivateKey, mintKeyPair } from "../../src/webhooks/key-pair.ts";
import { mintSecret, signatureHeader } from "../../src/webhooks/signature.ts";

const NOW = Date.parse("2026-06-01T00:00:00.000Z");
const NOW_S = NOW / 1_000;
const at = { now: NOW };
const bytes = (text: string) => new TextEncoder().encode(text);
const secretOf = (fill: number) => mintSecret(new Uint8Array(32).fill(fill));
const [OURS, OLD, FOREIGN] = [secretOf(1), secretOf(2), secretOf(3)] as const;

const EVENT = {
  id: "evt_1",
  type: "webhook.test",
  api_version: "2026-11-01",
  sequence: 7,
  subject: "endpoint:we_1",
  subject_sequence: 1,
  created_at: "2026-06-01T00:00:00.000Z",
  data: { endpoint_id: "we_1", message: "A test event." },
};
const BODY = JSON.stringify(EVENT);

/** As the specification has it, apart from the service: that the service does the same is a test of its own. */
function signed(secrets: readonly string[], body = BODY, timestampS = NOW_S): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return `v1,${createHmac("sha256", key).update(`evt_1.${timestampS}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": "evt_1", "webhook-timestamp": String(timestampS), "webhook-signature": signatures.join(" ") };
}

async function reasonOf(verified: Promise<unknown>): Promise<string> {
  try {
    await verified;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason;
    throw error;
  }
  return "accepted";
}

describe("accepted", () => {
  test("is what the service signs, with a secret and with a key pair", async () => {
    const { publicKey, privateKey } = await mintKeyPair(new Uint8Array(32).fill(9));
    const key = await importPrivateKey(privateKey);
    const message = { id: "evt_1", timestampS: NOW_S, body: bytes(BODY) };
    const signature = await signatureHeader(
      [
        { scheme: "v1", secret: OURS },
        { scheme: "v1a", key },
      ],
      message,
    );
    expect(signature.split(" ").map((one) => one.split(",")[0])).toEqual(["v1", "v1a"]);
    const headers = { ...signed([OURS]), "webhook-signature": signature };
    for (const known of [OURS, publicKey]) expect(await Webhooks.verify(BODY, headers, known, at)).toEqual(EVENT);
    expect(signed([OURS])["webhook-signature"]).toBe(signature.split(" ")[0]);
  });

  test("is a typed event", async () => {
    const event = await Webhooks.verify(BODY, signed([OURS]), OURS, at);
    expect(event).toEqual(EVENT);
    if (event.type !== "webhook.test") throw new Error("expected a test event");
    expect(event.data.message).toBe("A test event.");
  });

  test("is what the reference library signs, and it accepts what the service signs", async () => {
    const reference = new Webhook(OURS);
    const headers = { ...signed([OURS]), "webhook-signature": reference.sign("evt_1", new Date(NOW), BODY) };
    expect(await Webhooks.verify(BODY, headers, OURS, at)).toEqual(EVENT);
    const nowS = Math.floor(Date.now() / 1_000);
    const fresh = signed([OURS], BODY, nowS);
    expect(reference.verify(BODY, fresh)).toEqual(EVENT);
    expect(await Webhooks.verify(BODY, fresh, OURS)).toEqual(EVENT);
  });

  test("is text that parsing and writing again would change, over its raw bytes (B108)", async () => {
    const data = '{"z":"\\u001B\u2028","n":1.0,"two":  "spaces","a":"\u00e9\u{1F600}"}';
    const body = BODY.replace(JSON.stringify(EVENT.data), data);
    expect(JSON.stringify(JSON.parse(body))).not.toBe(body);
    for (const raw of [body, bytes(body), bytes(body).buffer as ArrayBuffer, Buffer.from(body)]) {
      expect((await Webhooks.verify(raw, signed([OURS], body), OURS, at)).data).toEqual(JSON.parse(data));
    }
    const again = JSON.stringify(JSON.parse(body));
    expect(await reasonOf(Webhooks.verify(again, signed([OURS], body), OURS, at))).toBe("no_matching_signature");
  });

  test.each<[string, (headers: Record<string, string>) => WebhookHeaders]>([
    ["Headers", (headers) => new Headers(headers)],
    ["a plain object", (headers) => headers],
    [
      "names in capitals",
      (headers) => Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toUpperCase(), v])),
    ],
    ["lists of values", (headers) => Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, [v]]))],
    ["a Map", (headers) => new Map(Object.entries(headers)) as unknown as WebhookHeaders],
  ])("are headers as %s", async (_, form) => {
    expect(await Webhooks.verify(BODY, form(signed([OURS])), OURS, at)).toEqual(EVENT);
  });

  test.each(["new Uint8Array(bytes)", "new Uint8Array(bytes).buffer", "new DataView(new Uint8Array(bytes).buffer)"])(
    "are bytes of another realm, such as a test runner's: %s",
    async (made) => {
      const body = runInNewContext(made, { bytes: [...bytes(BODY)] }) as Uint8Array;
      expect(await Webhooks.verify(body, signed([OURS]), OURS, at)).toEqual(EVENT);
    },
  );

  test("is one of several signatures, by one of several secrets (B113)", async () => {
    const both = signed([OLD, OURS]);
    for (const secrets of [OURS, OLD, [OURS], [FOREIGN, OURS], [OURS, OLD]]) {
      expect(await Webhooks.verify(BODY, both, secrets, at)).toEqual(EVENT);
    }
    const future = { ...both, "webhook-signature": `v9,AAAA ${both["webhook-signature"]} nonsense` };
    expect(await Webhooks.verify(BODY, future, OURS, at)).toEqual(EVENT);
    const lines = new Headers(both);
    lines.delete("webhook-signature");
    for (const one of signed([OLD, OURS])["webhook-signature"]?.split(" ") ?? [])
      lines.append("webhook-signature", one);
    expect(await Webhooks.verify(BODY, lines, OURS, at)).toEqual(EVENT);
  });

  test("is a secret without its prefix, which is base64 all the same (B113)", async () => {
    expect(await Webhooks.verify(BODY, signed([OURS]), OURS.slice("whsec_".length), at)).toEqual(EVENT);
  });

  test.each([-300, -299, 0, 300])("is a time stamp %d s from now (B112)", async (awayS) => {
    expect(await Webhooks.verify(BODY, signed([OURS], BODY, NOW_S + awayS), OURS, at)).toEqual(EVENT);
  });

  test("is what is within a tolerance of one's own", async () => {
    const headers = signed([OURS], BODY, NOW_S - 3_600);
    expect(await Webhooks.verify(BODY, headers, OURS, { ...at, toleranceS: 3_600 })).toEqual(EVENT);
  });
});

describe("by ed25519 (v1a)", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const whpk = `whpk_${raw.toString("base64")}`;
  const signature = `v1a,${sign(null, Buffer.from(`evt_1.${NOW_S}.${BODY}`), privateKey).toString("base64")}`;
  const headers = { ...signed([FOREIGN]), "webhook-signature": signature };

  test("is accepted by the public key, alone or beside others", async () => {
    expect(await Webhooks.verify(BODY, headers, whpk, at)).toEqual(EVENT);
    const both = { ...headers, "webhook-signature": `${signed([OURS])["webhook-signature"]} ${signature}` };
    for (const secrets of [whpk, OURS, [FOREIGN, whpk]])
      expect(await Webhooks.verify(BODY, both, secrets, at)).toEqual(EVENT);
  });

  test("is the one in the specification's own test", async () => {
    // libraries/go/webhook_asymmetric_test.go: the public key follows from its seed.
    const spec = "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==";
    const sent = {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": spec,
    };
    const key = publicKeyOfSeed("VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=");
    const verified = Webhooks.verify('{"test": 2432232314}', sent, key, { now: 1_614_265_330_000 });
    // The signature holds; the body is none of our events.
    expect(await reasonOf(verified)).toBe("invalid_payload");
  });

  test("is refused for other bytes, another key, and a signature of the other kind", async () => {
    const other = `whpk_${Buffer.from(generateKeyPairSync("ed25519").publicKey.export({ format: "der", type: "spki" }))
      .subarray(-32)
      .toString("base64")}`;
    expect(await reasonOf(Webhooks.verify(`${BODY} `, headers, whpk, at))).toBe("no_matching_signature");
    expect(await reasonOf(Webhooks.verify(BODY, headers, other, at))).toBe("no_matching_signature");
    const renamed = { ...headers, "webhook-signature": signature.replace("v1a", "v1") };
    expect(await reasonOf(Webhooks.verify(BODY, renamed, [whpk, OURS], at))).toBe("no_matching_signature");
    // A public key is no shared secret: whoever knows it must not be able to sign with it.
    const forged = signed([`whsec_${raw.toString("base64")}`]);
    expect(await reasonOf(Webhooks.verify(BODY, forged, whpk, at))).toBe("no_matching_signature");
  });
});

function publicKeyOfSeed(seed: string): string {
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from(seed, "base64")]);
  const { createPrivateKey, createPublicKey } = process.getBuiltinModule("node:crypto");
  const key = createPublicKey(createPrivateKey({ key: der, format: "der", type: "pkcs8" }));
  return `whpk_${key.export({ format: "der", type: "spki" }).subarray(-32).toString("base64")}`;
}

describe("refused", () => {
  const good = signed([OURS]);
  const flipped = (good["webhook-signature"] ?? "").replace(/.(?==$)/, (last) => (last === "A" ? "E" : "A"));

  test.each<[string, string, Record<string, string>, string]>([
    ["another body", BODY.replace("A test", "B test"), good, "no_matching_signature"],
    ["another id", BODY, { ...good, "webhook-id": "evt_2" }, "no_matching_signature"],
    ["another time", BODY, { ...good, "webhook-timestamp": String(NOW_S + 1) }, "no_matching_signature"],
    ["a foreign secret's signature", BODY, signed([FOREIGN]), "no_matching_signature"],
    ["a signature with one bit changed", BODY, { ...good, "webhook-signature": flipped }, "no_matching_signature"],
    ["a signature cut short", BODY, { ...good, "webhook-signature": "v1,AAAA" }, "no_matching_signature"],
    ["an empty signature", BODY, { ...good, "webhook-signature": "v1," }, "no_matching_signature"],
    [
      "a signature without a version",
      BODY,
      { ...good, "webhook-signature": (good["webhook-signature"] ?? "").slice(3) },
      "no_matching_signature",
    ],
    ["no id", BODY, { ...good, "webhook-id": "" }, "missing_header"],
    ["no headers at all", BODY, {}, "missing_header"],
    ["a time that is none", BODY, { ...good, "webhook-timestamp": "1e9" }, "invalid_timestamp"],
    ["a time with a sign", BODY, { ...good, "webhook-timestamp": `+${NOW_S}` }, "invalid_timestamp"],
    ["a time too old (B112)", BODY, signed([OURS], BODY, NOW_S - 301), "timestamp_too_old"],
    ["a time too new (B112)", BODY, signed([OURS], BODY, NOW_S + 301), "timestamp_too_new"],
    ["a right signature over no event", "{}", signed([OURS], "{}"), "invalid_payload"],
    ["a right signature over no JSON", "hello", signed([OURS], "hello"), "invalid_payload"],
  ])("%s", async (_, body, headers, reason) => {
    expect(await reasonOf(Webhooks.verify(body, headers, OURS, at))).toBe(reason);
  });

  test.each([
    ["a parsed object", EVENT, "got a parsed object"],
    ["an array", [EVENT], "got an array"],
    ["null", null, "got null"],
    ["nothing", undefined, "got undefined"],
    ["a promise", Promise.resolve(BODY), "got a Promise"],
  ])("%s in the place of the raw body, with what to do (B108)", async (_, body, said) => {
    const verified = Webhooks.verify(body as unknown as string, good, OURS, at);
    await expect(verified).rejects.toMatchObject({ reason: "body_not_raw", name: "WebhookVerificationError" });
    await expect(verified).rejects.toThrow(said);
    await expect(verified).rejects.toThrow("request.text()");
  });

  test.each([
    ["none", []],
    ["an empty one", ""],
    ["the prefix alone", "whsec_"],
    ["not base64", "whsec_!!!!not-base64-but-long-enough!!!!"],
    ["too short", `whsec_${Buffer.alloc(16).toString("base64")}`],
    ["a private key", `whsk_${Buffer.alloc(32).toString("base64")}`],
    ["a public key of another length", `whpk_${Buffer.alloc(31).toString("base64")}`],
    ["an unset variable", undefined],
    ["one bad beside a good one", [OURS, "whsec_short"]],
  ])("%s as the secret, without telling it", async (_, secrets) => {
    const verified = Webhooks.verify(BODY, good, secrets as string, at);
    await expect(verified).rejects.toThrow();
    const error = await verified.catch((thrown: Error) => thrown);
    expect(error instanceof WebhookVerificationError ? error.reason : String(error)).toBe("invalid_secret");
    if (typeof secrets === "string" && secrets.length > 8) expect(String(error)).not.toContain(secrets.slice(6, 20));
  });
});

describe("hostile headers", () => {
  test.each([undefined, null])("that are none at all are refused: %s", async (none) => {
    const headers = none as unknown as WebhookHeaders;
    expect(await reasonOf(Webhooks.verify(BODY, headers, OURS, at))).toBe("missing_header");
  });

  test.each([
    ["one signature of 20 MB", `v1,${"A".repeat(20_000_000)}`],
    ["ten million blanks", `v1,AAAA${" ".repeat(10_000_000)}v1,AAAA`],
    ["a million signatures", "v1,AAAA ".repeat(1_000_000)],
  ])("cost no time: %s", async (_, signature) => {
    const headers = { ...signed([OURS]), "webhook-signature": signature };
    const began = performance.now();
    expect(await reasonOf(Webhooks.verify(BODY, headers, OURS, at))).toBe("no_matching_signature");
    expect(performance.now() - began).toBeLessThan(500);
  });
});
