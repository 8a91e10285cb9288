/** An address that nobody has the key of, for the local chain: pure but for the bytes that it is given. */

/** @param bytes 20 random ones */
export function randomEvmAddress(bytes: Uint8Array): string {
  return `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
