/** Recursive length prefix encoding (yellow paper, appendix B). Encoding only, on bytes that are encoded inside out. */

const EMPTY = new Uint8Array(0);

/** A byte string. */
export function encodeBytes(bytes: Uint8Array): Uint8Array {
  const [first] = bytes;
  if (bytes.length === 1 && first !== undefined && first < 0x80) return bytes;
  return joinBytes([prefix(0x80, bytes.length), bytes]);
}

/** A non-negative safe integer: big-endian without leading zeros, zero being the empty string. */
export function encodeNumber(value: number): Uint8Array {
  return encodeBytes(bigEndian(value));
}

/** A list of items that are encoded already. */
export function encodeList(items: readonly Uint8Array[]): Uint8Array {
  const length = items.reduce((sum, item) => sum + item.length, 0);
  return joinBytes([prefix(0xc0, length), ...items]);
}

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

function prefix(base: number, length: number): Uint8Array {
  if (length <= 55) return Uint8Array.of(base + length);
  const bytes = bigEndian(length);
  return Uint8Array.of(base + 55 + bytes.length, ...bytes);
}

function bigEndian(value: number): Uint8Array {
  if (value === 0) return EMPTY;
  const digits = value.toString(16);
  const even = digits.length % 2 === 0 ? digits : `0${digits}`;
  return Uint8Array.from(even.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
