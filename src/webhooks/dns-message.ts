/**
 * Owns the bytes of a DNS question and of its answer (RFC 1035, section 4), as far as addresses go.
 *
 * The answer comes from outside: whatever does not add up to the last byte that is read is no answer at all,
 * and so is one that was cut short, since the record that matters may be the one that is missing.
 */

/** Resource record types (RFC 1035, RFC 3596). */
export const TYPE_A = 1;
export const TYPE_AAAA = 28;
export type AddressType = typeof TYPE_A | typeof TYPE_AAAA;

/** Response codes (RFC 1035, 4.1.1). */
export const NO_ERROR = 0;
export const NAME_ERROR = 3;

const CLASS_IN = 1;
const HEADER_BYTES = 12;
const RECURSION_DESIRED = 0x0100;
const IS_RESPONSE = 0x8000;
const OPCODE = 0x7800;
const TRUNCATED = 0x0200;
const RESPONSE_CODE = 0x000f;

export interface DnsAnswer {
  readonly code: number;
  /**
   * Every address in the answer section, as `addressScope` takes it. A resolver that follows aliases puts the
   * whole chain into its answer, so these are the addresses at the end of it.
   */
  readonly addresses: readonly string[];
}

/** @param name ASCII, no dot at the end, labels of 1 to 63 characters; id 0, as RFC 8484, 4.1 has it */
export function encodeQuestion(name: string, type: AddressType): Uint8Array<ArrayBuffer> {
  const question = questionBytes(name, type);
  const message = new Uint8Array(HEADER_BYTES + question.length);
  const view = new DataView(message.buffer);
  view.setUint16(2, RECURSION_DESIRED);
  view.setUint16(4, 1);
  message.set(question, HEADER_BYTES);
  return message;
}

/** @returns null when this is not a whole answer to this question */
export function parseAnswer(message: Uint8Array, name: string, type: AddressType): DnsAnswer | null {
  try {
    return readAnswer(new Reader(message), questionBytes(name, type));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** @throws RangeError past the end of the message */
function readAnswer(reader: Reader, question: Uint8Array): DnsAnswer | null {
  const id = reader.uint16();
  const flags = reader.uint16();
  const questions = reader.uint16();
  const answers = reader.uint16();
  reader.skip(4);
  if (id !== 0 || (flags & IS_RESPONSE) === 0 || (flags & (OPCODE | TRUNCATED)) !== 0) return null;
  if (questions !== 1 || !sameName(reader.bytes(question.length), question)) return null;

  const addresses: string[] = [];
  for (let i = 0; i < answers; i++) {
    reader.skipName();
    const type = reader.uint16();
    const isInternet = reader.uint16() === CLASS_IN;
    reader.skip(4);
    const data = reader.bytes(reader.uint16());
    if (!isInternet || (type !== TYPE_A && type !== TYPE_AAAA)) continue;
    if (data.length !== (type === TYPE_A ? 4 : 16)) return null;
    addresses.push(type === TYPE_A ? data.join(".") : groups(data));
  }
  return { code: flags & RESPONSE_CODE, addresses };
}

function questionBytes(name: string, type: AddressType): Uint8Array {
  const labels = name.split(".").flatMap((label) => [label.length, ...new TextEncoder().encode(label)]);
  return Uint8Array.from([...labels, 0, 0, type, 0, CLASS_IN]);
}

/** Names are the same in any case (RFC 4343); a resolver may play with it. */
function sameName(a: Uint8Array, b: Uint8Array): boolean {
  const lower = (byte: number) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);
  return a.every((byte, i) => lower(byte) === lower(b[i] ?? -1));
}

function groups(data: Uint8Array): string {
  return Array.from({ length: 8 }, (_, i) => (((data[2 * i] ?? 0) << 8) | (data[2 * i + 1] ?? 0)).toString(16)).join(
    ":",
  );
}

/** Reads on from where it stands. @throws RangeError past the end */
class Reader {
  readonly #message: Uint8Array;
  #at = 0;

  constructor(message: Uint8Array) {
    this.#message = message;
  }

  uint16(): number {
    const [high, low] = this.bytes(2);
    return ((high ?? 0) << 8) | (low ?? 0);
  }

  bytes(length: number): Uint8Array {
    this.skip(length);
    return this.#message.subarray(this.#at - length, this.#at);
  }

  skip(length: number): void {
    this.#at += length;
    if (this.#at > this.#message.length) throw new RangeError("past the end of the message");
  }

  /** Labels up to the root, or up to a pointer, which ends a name (RFC 1035, 4.1.4) and is not followed. */
  skipName(): void {
    for (;;) {
      const length = this.bytes(1)[0] ?? 0;
      if (length === 0) return;
      if (length >= 0xc0) {
        this.skip(1);
        return;
      }
      if (length >= 0x40) throw new RangeError(`a label of ${length} bytes`);
      this.skip(length);
    }
  }
}
