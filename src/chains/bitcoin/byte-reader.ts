/** Bytes read one field after the other, in the order of Bitcoin's serialization. Nothing is read past the end. */

import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { MalformedAnswer } from "../rpc/malformed.ts";

export class ByteReader {
  readonly bytes: Uint8Array;
  readonly #hex: string;
  readonly #view: DataView;
  readonly #what: string;
  #at = 0;

  /**
   * @param raw a node's answer: bytes in hex
   * @param what it is, for messages
   * @throws MalformedAnswer
   */
  constructor(raw: unknown, what: string) {
    const hex = typeof raw === "string" ? lowerCase(raw) : null;
    if (hex === null) throw new MalformedAnswer(what, "bytes in hex", raw);
    this.bytes = hexToBytes(hex);
    this.#hex = hex;
    this.#view = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength);
    this.#what = what;
  }

  get offset(): number {
    return this.#at;
  }

  /** A view of the next bytes, not a copy. */
  take(length: number): Uint8Array {
    const start = this.#advance(length);
    return this.bytes.subarray(start, start + length);
  }

  /** The next bytes in hex. A part of the whole text, which lives as long as any part of it does. */
  hex(length: number): string {
    const start = this.#advance(length);
    return this.#hex.slice(2 * start, 2 * (start + length));
  }

  byte(): number {
    return this.#view.getUint8(this.#advance(1));
  }

  /** The byte so many places ahead, unread. */
  peek(ahead: number): number | undefined {
    return this.bytes[this.#at + ahead];
  }

  int32(): number {
    return this.#view.getInt32(this.#advance(4), true);
  }

  uint32(): number {
    return this.#view.getUint32(this.#advance(4), true);
  }

  uint64(): bigint {
    return this.#view.getBigUint64(this.#advance(8), true);
  }

  /** 32 bytes as people write a hash: reversed. */
  hash(): string {
    return bytesToHex(this.bytes.slice(this.#at, this.#advance(32) + 32).reverse());
  }

  /**
   * The length of a list (compact size), in its only allowed spelling.
   * @param least bytes of one item: a list cannot be longer than what is left
   */
  count(least: number): number {
    const first = this.byte();
    const value = first < 0xfd ? first : this.#long(first);
    if (value * least > this.bytes.length - this.#at) throw this.#broken(`a list of ${value} items`);
    return value;
  }

  skip(length: number): void {
    this.#advance(length);
  }

  /** @throws MalformedAnswer when bytes are left */
  end(): void {
    const left = this.bytes.length - this.#at;
    if (left > 0) throw this.#broken(`${left} bytes after the end`);
  }

  #long(first: number): number {
    const start = this.#advance(first === 0xfd ? 2 : first === 0xfe ? 4 : 8);
    if (first === 0xff) throw this.#broken("a list of more than 2^32 items");
    const value = first === 0xfd ? this.#view.getUint16(start, true) : this.#view.getUint32(start, true);
    if (value < (first === 0xfd ? 0xfd : 0x10000)) throw this.#broken(`the number ${value} in a longer spelling`);
    return value;
  }

  #advance(length: number): number {
    const start = this.#at;
    if (length > this.bytes.length - start) throw this.#broken(`an end at byte ${this.bytes.length}`);
    this.#at = start + length;
    return start;
  }

  #broken(got: string): MalformedAnswer {
    return new MalformedAnswer(this.#what, "whole and nothing else", `${got} (at byte ${this.#at})`);
  }
}

/** Null: not hex. Nearly everything is lower case already: one look, and no copy. */
function lowerCase(hex: string): string | null {
  if (hex.length % 2 !== 0) return null;
  if (/^[0-9a-f]*$/.test(hex)) return hex;
  return /^[0-9a-fA-F]*$/.test(hex) ? hex.toLowerCase() : null;
}
