/**
 * What a request means, as one short text: two requests with the same fingerprint ask for the same thing.
 *
 * It is taken over the parsed meaning, not over the bytes: order of fields, white space, escapes and
 * left-out defaults do not count.
 */

import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";

export interface Meaning {
  readonly method: string;
  /** With the ids in it: the same body sent to another thing means something else. */
  readonly path: string;
  /** As parsed: defaults filled in, amounts in canonical form. JSON values only. */
  readonly body: unknown;
}

/** Hex SHA-256. */
export function fingerprint(meaning: Meaning): string {
  return bytesToHex(sha256(utf8ToBytes(canonicalJson(meaning))));
}

/** JSON with sorted names and nothing between tokens. Absent and `undefined` are the same. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`);
    return `{${fields.join(",")}}`;
  }
  // A value without a JSON form (bigint, function, undefined in a list) must not become "null" by accident.
  if (value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) {
    return JSON.stringify(value);
  }
  throw new Error(`not a JSON value: ${typeof value}`);
}
