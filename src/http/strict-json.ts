/**
 * Reads a request body as one strict JSON object, or says why not.
 *
 * What passes has exactly one meaning: valid UTF-8 without a byte order mark, an object at the top, no
 * name twice in one object, no deeper than `MAX_DEPTH`, no more than `MAX_BODY_BYTES`. Two parsers that
 * disagree on a body (first name wins, last name wins) therefore never meet one here.
 */

import { type Refusal, refuse } from "../core/refusal.ts";

export const MAX_BODY_BYTES = 64 * 1024;
/** The object itself is the first level. */
export const MAX_DEPTH = 16;

export type StrictText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * The body's text, proven strict; "{}" when there is no body and the call can do without one.
 * Refuses `unsupported_media_type`, `payload_too_large` or `malformed_json`; nothing of the body is echoed.
 */
export async function readStrictJson(request: Request, body: "required" | "optional"): Promise<StrictText> {
  const type = request.headers.get("content-type");
  if (type !== null || body === "required") {
    const refused = refusedMediaType(type, request.headers.get("content-encoding"));
    if (refused !== null) return refuse("unsupported_media_type", refused);
  }
  const bytes = await readCapped(request);
  if (bytes === null) return refuse("payload_too_large", `The body is larger than ${MAX_BODY_BYTES} bytes.`);
  if (bytes.length === 0 && body === "optional") return { ok: true, text: "{}" };
  if (type === null) return refuse("unsupported_media_type", "Send a body with Content-Type: application/json.");
  return checkStrictJson(bytes);
}

/** Why this media type is not read, or null. The only parameter understood is `charset=utf-8`. */
function refusedMediaType(type: string | null, encoding: string | null): string | null {
  if (encoding !== null && encoding.trim().toLowerCase() !== "identity") {
    return "The body must be sent without a Content-Encoding.";
  }
  const match = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-?8"?[ \t]*)?$/i.exec(type ?? "");
  return match ? null : "Send JSON with Content-Type: application/json, in UTF-8.";
}

/** All bytes, or null past the cap. Reading stops there: a body of unknown length is never held whole. */
async function readCapped(request: Request): Promise<Uint8Array | null> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > MAX_BODY_BYTES) return null;
  if (request.body === null) return new Uint8Array(0);
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > MAX_BODY_BYTES) {
      await reader.cancel();
      return null;
    }
    chunks.push(value);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

export function checkStrictJson(bytes: Uint8Array): StrictText {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse("malformed_json", "The body is not valid UTF-8.");
  }
  if (text.startsWith("\uFEFF")) return refuse("malformed_json", "The body begins with a byte order mark.");
  let top: unknown;
  try {
    top = JSON.parse(text);
  } catch {
    // The engine's message quotes the body, which may hold a secret.
    return refuse("malformed_json", "The body is not valid JSON.");
  }
  if (typeof top !== "object" || top === null || Array.isArray(top)) {
    return refuse("malformed_json", "The body must be a JSON object.");
  }
  const fault = faultIn(text);
  return fault === null ? { ok: true, text } : refuse("malformed_json", fault);
}

/** What `JSON.parse` lets pass and we do not. `text` is valid JSON: only strings and brackets matter here. */
function faultIn(text: string): string | null {
  // Names met in each open object; null stands for an open array.
  const open: (Set<string> | null)[] = [];
  let nameExpected = false;
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case "{":
      case "[":
        open.push(text[i] === "{" ? new Set() : null);
        if (open.length > MAX_DEPTH) return `The body is nested deeper than ${MAX_DEPTH} levels.`;
        nameExpected = text[i] === "{";
        break;
      case "}":
      case "]":
        open.pop();
        nameExpected = false;
        break;
      case ",":
        nameExpected = open.at(-1) !== null;
        break;
      case '"': {
        const end = endOfString(text, i);
        const string: string = JSON.parse(text.slice(i, end + 1));
        // A lone surrogate has no UTF-8 form: storing it would put U+FFFD in its place.
        if (/\p{Surrogate}/u.test(string)) return "The body has a string that is not valid Unicode.";
        const names = open.at(-1);
        if (nameExpected && names) {
          // An object cannot carry this name as plain data, and no field of ours is called so.
          if (string === "__proto__") return "The body has a field named __proto__.";
          if (names.has(string)) return "The body has the same field twice in one object.";
          names.add(string);
          nameExpected = false;
        }
        i = end;
        break;
      }
    }
  }
  return null;
}

/** Index of the quote that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
  return i;
}
