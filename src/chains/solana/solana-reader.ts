/** Bytes in the order of Solana's serialization. */

import { ByteReader } from "../byte-reader.ts";

export class SolanaReader extends ByteReader {
  /** A length of up to three bytes, seven bits each (compact-u16), in its only allowed spelling. */
  compact(): number {
    let value = 0;
    for (let i = 0; i < 3; i++) {
      const byte = this.byte();
      value |= (byte & 0x7f) << (7 * i);
      if ((byte & 0x80) !== 0) continue;
      if ((byte === 0 && i > 0) || value > 0xffff) break;
      return value;
    }
    throw this.broken("a length in a wrong spelling");
  }
}
