/**
 * What a sender wrote beside its payment (`raw.data`), as text. The transaction's id commits to the bytes, so no node can
 * change them; what they mean is between the sender and whoever is paid.
 */

import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { MAX_MEMO_BYTES } from "../../core/transfer.ts";

/** A byte order mark is part of what was written. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Text where the bytes are UTF-8, else `0x` and hex. Also hex where a NUL is among them: databases cut a text there, or
 * refuse it. Of a longer memo the beginning, at the border of a character.
 * @param hex lower case
 */
export function memoOf(hex: string): string | null {
  if (hex === "") return null;
  const isCut = hex.length > 2 * MAX_MEMO_BYTES;
  const bytes = hexToBytes(hex.slice(0, 2 * MAX_MEMO_BYTES));
  const text = textOf(isCut ? wholeCharacters(bytes) : bytes);
  return text === null || text.includes("\0") ? `0x${bytesToHex(bytes)}` : text;
}

function textOf(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

/** Without the last character where its end was cut off. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  const isContinued = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;
  let start = bytes.length - 1;
  while (start > 0 && bytes.length - start < 4 && isContinued(bytes[start])) start--;
  const lead = bytes[start] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return bytes.length - start < length ? bytes.subarray(0, start) : bytes;
}
