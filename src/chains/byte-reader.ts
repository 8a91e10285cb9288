/** Bytes read one field after the other, little-endian. Nothing is read past the end. */

import { MalformedAnswer } from "./rpc/malformed.ts";

export class ByteReader {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  readonly #what: string;
  #at = 0;

  /** @param what it is, for messages */
  constructor(bytes: Uint8Array, what: string) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#what = what;
  }

  get offset(): number {
    return this.#at;
  }

  get left(): number {
    return this.bytes.length - this.#at;
  }

  /** A view of the next bytes, not a copy. */
  take(length: number): Uint8Array {
    const start = this.advance(length);
    return this.bytes.subarray(start, start + length);
  }

  byte(): number {
    return this.#view.getUint8(this.advance(1));
  }

  /** The byte so many places ahead, unread. */
  peek(ahead = 0): number | undefined {
    return this.bytes[this.#at + ahead];
  }

  uint16(): number {
    return this.#view.getUint16(this.advance(2), true);
  }

  int32(): number {
    return this.#view.getInt32(this.advance(4), true);
  }

  uint32(): number {
    return this.#view.getUint32(this.advance(4), true);
  }

  uint64(): bigint {
    return this.#view.getBigUint64(this.advance(8), true);
  }

  skip(length: number): void {
    this.advance(length);
  }

  /** @throws MalformedAnswer when bytes are left */
  end(): void {
    if (this.left > 0) throw this.broken(`${this.left} bytes after the end`);
  }

  /** Where the next bytes began, now that they are passed. @throws MalformedAnswer when there are not so many */
  protected advance(length: number): number {
    const start = this.#at;
    if (length > this.bytes.length - start) throw this.broken(`an end at byte ${this.bytes.length}`);
    this.#at = start + length;
    return start;
  }

  protected broken(got: string): MalformedAnswer {
    return new MalformedAnswer(this.#what, "whole and nothing else", `${got} (at byte ${this.#at})`);
  }
}
