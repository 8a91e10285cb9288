/** Bytes in the order of Bitcoin's serialization, given in hex. */

import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { ByteReader } from "../byte-reader.ts";
import { MalformedAnswer } from "../rpc/malformed.ts";

export class BitcoinReader extends ByteReader {
  readonly #hex: string;

  /**
   * @param raw a node's answer: bytes in hex
   * @param what it is, for messages
   * @throws MalformedAnswer
   */
  constructor(raw: unknown, what: string) {
    const hex = typeof raw === "string" ? lowerCase(raw) : null;
    if (hex === null) throw new MalformedAnswer(what, "bytes in hex", raw);
    super(hexToBytes(hex), what);
    this.#hex = hex;
  }

  /** The next bytes in hex. A part of the whole text, which lives as long as any part of it does. */
  hex(length: number): string {
    const start = this.advance(length);
    return this.#hex.slice(2 * start, 2 * (start + length));
  }

  /** 32 bytes as people write a hash: reversed. */
  hash(): string {
    return bytesToHex(this.take(32).slice().reverse());
  }

  /**
   * The length of a list (compact size), in its only allowed spelling.
   * @param least bytes of one item: a list cannot be longer than what is left
   */
  count(least: number): number {
    const first = this.byte();
    const value = first < 0xfd ? first : this.#long(first);
    if (value * least > this.left) throw this.broken(`a list of ${value} items`);
    return value;
  }

  #long(first: number): number {
    if (first === 0xff) {
      this.skip(8);
      throw this.broken("a list of more than 2^32 items");
    }
    const value = first === 0xfd ? this.uint16() : this.uint32();
    if (value < (first === 0xfd ? 0xfd : 0x10000)) throw this.broken(`the number ${value} in a longer spelling`);
    return value;
  }
}

/** Null: not hex. Nearly everything is lower case already: one look, and no copy. */
function lowerCase(hex: string): string | null {
  if (hex.length % 2 !== 0) return null;
  if (/^[0-9a-f]*$/.test(hex)) return hex;
  return /^[0-9a-fA-F]*$/.test(hex) ? hex.toLowerCase() : null;
}
