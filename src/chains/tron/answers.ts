/** Fields of java-tron's JSON. It leaves out whatever has its default: 0, false, an empty text or list. */

import { tronAddress } from "../../core/tron-address.ts";
import { MalformedAnswer } from "../rpc/malformed.ts";

/** What a node says in one place contradicts what it says in another. */
export class ContradictedAnswer extends Error {
  override readonly name = "ContradictedAnswer";
}

/** A number that is not negative; absent: 0. @throws MalformedAnswer, for one that JSON has rounded too */
export function parseCount(value: unknown, what: string): number {
  if (value === undefined) return 0;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new MalformedAnswer(what, "a whole number from 0 to 2^53", value);
}

/** Hex of a length in bytes, lower-cased. @throws MalformedAnswer */
export function parseHex(value: unknown, bytes: number | null, what: string): string {
  const isHex = typeof value === "string" && /^([0-9a-f]{2})*$/i.test(value);
  if (isHex && (bytes === null || value.length === 2 * bytes)) return value.toLowerCase();
  throw new MalformedAnswer(what, `${bytes === null ? "bytes" : `${bytes} bytes`} in hex`, value);
}

/** Absent: empty. @throws MalformedAnswer */
export function parseText(value: unknown, what: string): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  throw new MalformedAnswer(what, "a text", value);
}

/** Absent: empty. @throws MalformedAnswer */
export function parseItems(value: unknown, what: string): readonly unknown[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value;
  throw new MalformedAnswer(what, "an array", value);
}

/** The address of 21 bytes in hex, canonical; null when these are no address. */
export function addressOf(hex: string): string | null {
  return /^41[0-9a-f]{40}$/.test(hex) ? tronAddress(hex.slice(2)) : null;
}

/** A message for people: hex in most answers, text in some. */
export function readable(message: unknown): string {
  if (typeof message !== "string") return "";
  if (!/^([0-9a-f]{2})+$/i.test(message)) return message;
  const bytes = message.match(/../g) ?? [];
  return String.fromCharCode(...bytes.map((byte) => Number.parseInt(byte, 16)));
}
