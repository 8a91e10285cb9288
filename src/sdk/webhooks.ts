/**
 * Whether a webhook is to be believed: Standard Webhooks 1.0.0, by `v1` (HMAC-SHA256) and `v1a` (ed25519).
 *
 * What is signed are the bytes that came over the wire. Parsing and writing JSON again changes them, so nothing
 * but raw text or bytes is taken here.
 */

import { readObject } from "./answer.ts";
import { WebhookVerificationError } from "./errors.ts";
import type { SluiceEvent } from "./types.ts";

const TOLERANCE_S = 5 * 60;
const SECRET_PREFIX = "whsec_";
const PUBLIC_KEY_PREFIX = "whpk_";
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;
const PUBLIC_KEY_BYTES = 32;
const MAX_SIGNATURES = 20;
/** Those of both kinds are shorter: 47 and 92 characters with version and blank. */
const MAX_SIGNATURE_CHARS = 100;

/** `Headers`, Node's `IncomingHttpHeaders`, or any object with the headers' names in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far the time stamp may be from now, in both directions; 300 seconds when left out. */
  readonly toleranceS?: number | undefined;
  /** Unix ms; the clock's when left out. */
  readonly now?: number | undefined;
}

interface Key {
  readonly version: "v1" | "v1a";
  readonly bytes: Uint8Array<ArrayBuffer>;
}

interface Signature {
  readonly version: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Gives the event when one of the signatures was made with one of the secrets, at most five minutes ago.
 *
 * @param rawBody as it came: `await request.text()`, `await request.arrayBuffer()`, or the Buffer of `express.raw()`.
 *   Never an object that a body parser made.
 * @param secrets the endpoint's `whsec_...`, the prefix being optional, or its public key `whpk_...`; while a secret
 *   is being replaced, both the old and the new one
 * @throws WebhookVerificationError with a `reason`. Answer such a request with 400, and do nothing of what it says.
 */
async function verify(
  rawBody: string | ArrayBuffer | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceS = TOLERANCE_S, now = Date.now() }: VerifyOptions = {},
): Promise<SluiceEvent> {
  const body = bytesOf(rawBody);
  const keys = [secrets].flat().map(readKey);
  if (keys.length === 0) throw new WebhookVerificationError("invalid_secret", "expected at least one secret, got none");

  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  const signatures = readSignatures(header(headers, "webhook-signature"));
  checkTime(timestamp, now, toleranceS);

  const signed = join(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  if (!(await anyMatches(keys, signatures, signed))) {
    throw new WebhookVerificationError(
      "no_matching_signature",
      `none of ${signatures.length} signatures was made over these bytes with one of ${keys.length} secrets`,
    );
  }
  return readEvent(body);
}

export const Webhooks = { verify } as const;

function bytesOf(body: unknown): Uint8Array {
  if (typeof body === "string") return new TextEncoder().encode(body);
  // Not by `instanceof`: test runners and the like have classes of their own.
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(body as ArrayBuffer);
  const got =
    body === null ? "null" : Array.isArray(body) ? "an array" : typeof body === "object" ? nameOf(body) : typeof body;
  throw new WebhookVerificationError(
    "body_not_raw",
    `expected the raw body as text or bytes, got ${got}. The signature is over the bytes as they came: read them with ` +
      "request.text() or express.raw(), before anything parses them",
  );
}

function nameOf(body: object): string {
  const name = body.constructor?.name ?? "Object";
  return name === "Object" ? "a parsed object" : `a ${name}`;
}

/** The prefix is optional, the rest is always base64. No message carries any of it. */
function readKey(secret: string): Key {
  const wrong = (what: string) => new WebhookVerificationError("invalid_secret", what);
  if (typeof secret !== "string") throw wrong(`expected a secret such as whsec_..., got ${typeof secret}`);
  if (secret.startsWith("whsk_")) throw wrong("expected the public key whpk_..., got a private one");
  const isPublic = secret.startsWith(PUBLIC_KEY_PREFIX);
  const prefix = [PUBLIC_KEY_PREFIX, SECRET_PREFIX].find((one) => secret.startsWith(one)) ?? "";
  const bytes = fromBase64(secret.slice(prefix.length));
  if (bytes === null) throw wrong("expected a secret in base64, as the service gave it");
  if (isPublic) {
    if (bytes.length === PUBLIC_KEY_BYTES) return { version: "v1a", bytes };
    throw wrong(`expected a public key of ${PUBLIC_KEY_BYTES} bytes, got ${bytes.length}`);
  }
  if (bytes.length >= MIN_SECRET_BYTES && bytes.length <= MAX_SECRET_BYTES) return { version: "v1", bytes };
  throw wrong(`expected a secret of ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes, got ${bytes.length}`);
}

function header(headers: WebhookHeaders, name: string): string {
  let value: string | readonly string[] | null | undefined;
  if (typeof headers?.get === "function") {
    value = (headers as { get(name: string): string | null }).get(name);
  } else {
    const found = Object.entries((headers ?? {}) as Record<string, string | readonly string[] | undefined>).filter(
      ([key, text]) => key.toLowerCase() === name && text !== undefined,
    );
    value = found.flatMap(([, text]) => text ?? []).join(" ");
  }
  const text = typeof value === "string" ? value.trim() : "";
  if (text === "") throw new WebhookVerificationError("missing_header", `expected the header ${name}, got none`);
  return text;
}

/** `v1,<base64>` separated by blanks. What is in no version that is known here is passed over. */
function readSignatures(text: string): readonly Signature[] {
  return text
    .slice(0, MAX_SIGNATURES * MAX_SIGNATURE_CHARS)
    .split(/[\s]+/)
    .slice(0, MAX_SIGNATURES)
    .flatMap((part) => {
      const [version = "", encoded = ""] = part.split(",");
      const bytes = fromBase64(encoded);
      return bytes === null ? [] : [{ version, bytes }];
    });
}

function checkTime(timestamp: string, now: number, toleranceS: number): void {
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError("invalid_timestamp", "expected unix seconds in webhook-timestamp");
  }
  const aheadS = Number(timestamp) - Math.floor(now / 1_000);
  const [reason, is] = aheadS < 0 ? (["timestamp_too_old", "old"] as const) : (["timestamp_too_new", "ahead"] as const);
  if (Math.abs(aheadS) <= toleranceS) return;
  throw new WebhookVerificationError(
    reason,
    `the time stamp is ${Math.abs(aheadS)} s ${is}, expected ${toleranceS} s at most: is this machine's clock right?`,
  );
}

/** The comparison itself is the platform's, and takes the same time wherever two signatures differ. */
async function anyMatches(
  keys: readonly Key[],
  signatures: readonly Signature[],
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  for (const { version, bytes } of keys) {
    const key = await importKey(version, bytes);
    for (const signature of signatures) {
      if (signature.version !== version) continue;
      if (await crypto.subtle.verify(key.algorithm.name, key, signature.bytes, signed)) return true;
    }
  }
  return false;
}

async function importKey(version: Key["version"], bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  if (version === "v1") {
    return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  }
  try {
    return await crypto.subtle.importKey("raw", bytes, { name: "Ed25519" }, false, ["verify"]);
  } catch (error) {
    const message = "this platform takes no such ed25519 key: use the endpoint's whsec_ secret";
    throw new WebhookVerificationError("invalid_secret", message, error);
  }
}

function readEvent(body: Uint8Array): SluiceEvent {
  const event = readObject(new TextDecoder().decode(body));
  const isEvent =
    event !== null &&
    typeof event.id === "string" &&
    typeof event.type === "string" &&
    typeof event.subject === "string" &&
    Number.isSafeInteger(event.sequence) &&
    Number.isSafeInteger(event.subject_sequence) &&
    typeof event.data === "object" &&
    event.data !== null;
  if (isEvent) return event as unknown as SluiceEvent;
  throw new WebhookVerificationError(
    "invalid_payload",
    "the signature is right, but the body is not one of Sluice's events",
  );
}

/** null: not base64 (RFC 4648, section 4). */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function join(before: Uint8Array, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(before.length + body.length);
  all.set(before);
  all.set(body, before.length);
  return all;
}
