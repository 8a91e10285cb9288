/**
 * The wire format of protocol buffers, as much of it as TRON's messages take. Written: fields in the order given, and
 * none that has its default, which is how every client of TRON writes them. Read: as java-tron's parser reads, since
 * what it makes of odd bytes is what the chain does: the last value of a field counts, a message that comes in pieces
 * is one, and what is not known is skipped.
 */

import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { MalformedAnswer } from "../rpc/malformed.ts";

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;
/** java-tron's parser goes so deep as well. */
const MAX_DEPTH = 100;

export class ProtobufWriter {
  readonly #parts: string[] = [];

  /** int32, int64, an enum. */
  number(field: number, value: number | bigint): this {
    if (BigInt(value) !== 0n) this.#parts.push(varint(BigInt(field << 3)), varint(BigInt.asUintN(64, BigInt(value))));
    return this;
  }

  /** Bytes, a text, a message within this one. @param hex lower case */
  bytes(field: number, hex: string): this {
    return hex === "" ? this : this.always(field, hex);
  }

  /** Bytes that are written though they are empty: one of a list, a message. */
  always(field: number, hex: string): this {
    this.#parts.push(varint(BigInt((field << 3) | BYTES)), varint(BigInt(hex.length / 2)), hex);
    return this;
  }

  hex(): string {
    return this.#parts.join("");
  }
}

function varint(value: bigint): string {
  let hex = "";
  let left = value;
  while (left > 0x7fn) {
    hex += Number((left & 0x7fn) | 0x80n).toString(16);
    left >>= 7n;
  }
  return hex + Number(left).toString(16).padStart(2, "0");
}

interface Field {
  readonly field: number;
  /** A varint, or the place of bytes. Other forms have no use here and are skipped. */
  readonly value: bigint | Uint8Array;
}

export class ProtobufMessage {
  readonly #fields: readonly Field[];

  /** @param what it is, for messages @throws MalformedAnswer */
  constructor(bytes: Uint8Array, what: string) {
    this.#fields = new Reader(bytes, what).fields();
  }

  /** Of lower-case hex. @throws MalformedAnswer */
  static ofHex(hex: string, what: string): ProtobufMessage {
    return new ProtobufMessage(hexToBytes(hex), what);
  }

  /** An int64, an enum; 0 when absent. */
  number(field: number): bigint {
    let found = 0n;
    for (const one of this.#fields)
      if (one.field === field && typeof one.value === "bigint") found = BigInt.asIntN(64, one.value);
    return found;
  }

  /** Lower-case hex; empty when absent. */
  hex(field: number): string {
    return bytesToHex(this.list(field).at(-1) ?? new Uint8Array());
  }

  /** A message within this one, its pieces put together; empty when absent. */
  message(field: number): Uint8Array {
    const pieces = this.list(field);
    const [first = new Uint8Array()] = pieces;
    return pieces.length < 2 ? first : hexToBytes(pieces.map(bytesToHex).join(""));
  }

  /** Every value of a list of messages or bytes. */
  list(field: number): readonly Uint8Array[] {
    return this.#fields.flatMap((one) => (one.field === field && typeof one.value !== "bigint" ? [one.value] : []));
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #what: string;
  #at = 0;

  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  fields(): Field[] {
    const fields: Field[] = [];
    while (this.#at < this.#bytes.length) {
      const { field, type } = this.#tag();
      const value = this.#value(field, type, 0);
      if (value !== null) fields.push({ field, value });
    }
    return fields;
  }

  #tag(): { readonly field: number; readonly type: number } {
    const tag = Number(BigInt.asUintN(32, this.#varint()));
    if (tag >>> 3 === 0) throw this.#broken("a field without a number");
    return { field: tag >>> 3, type: tag & 7 };
  }

  #value(field: number, type: number, depth: number): bigint | Uint8Array | null {
    switch (type) {
      case VARINT:
        return this.#varint();
      case BYTES:
        return this.#take(Number(BigInt.asUintN(32, this.#varint())));
      case FIXED64:
        this.#take(8);
        return null;
      case FIXED32:
        this.#take(4);
        return null;
      case GROUP:
        this.#skipGroup(field, depth + 1);
        return null;
      default:
        throw this.#broken(`a field of type ${type}`);
    }
  }

  #skipGroup(group: number, depth: number): void {
    if (depth > MAX_DEPTH) throw this.#broken(`groups in groups, more than ${MAX_DEPTH}`);
    for (;;) {
      const { field, type } = this.#tag();
      if (type !== END_GROUP) this.#value(field, type, depth);
      else if (field === group) return;
      else throw this.#broken("the end of another group");
    }
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#take(1)[0] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw this.#broken("a number of more than ten bytes");
  }

  #take(length: number): Uint8Array {
    const start = this.#at;
    if (length > this.#bytes.length - start) throw this.#broken(`an end at byte ${this.#bytes.length}`);
    this.#at = start + length;
    return this.#bytes.subarray(start, this.#at);
  }

  #broken(got: string): MalformedAnswer {
    return new MalformedAnswer(this.#what, "a whole protobuf message", `${got} (at byte ${this.#at})`);
  }
}
