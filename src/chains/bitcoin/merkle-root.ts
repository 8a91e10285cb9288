/** The root over a block's transaction ids, as its header states it. */

import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";

export interface MerkleRoot {
  /** In the order people write a hash. */
  readonly root: string;
  /** Two neighbours of one pair are equal: the same root belongs to a shorter list (CVE-2012-2459). */
  readonly repeats: boolean;
}

/** @param txIds one at least, in the block's order */
export function merkleRoot(txIds: readonly string[]): MerkleRoot {
  let level = txIds.map((txId) => hexToBytes(txId).reverse());
  let repeats = false;
  const pair = new Uint8Array(64);
  while (level.length > 1) {
    const above: Uint8Array[] = [];
    for (let i = 0; i < level.length; i += 2) {
      const left = at(level, i);
      // The last of an odd number is paired with itself.
      const right = level[i + 1] ?? left;
      if (i + 1 < level.length && areEqual(left, right)) repeats = true;
      pair.set(left, 0);
      pair.set(right, 32);
      above.push(sha256(sha256(pair)));
    }
    level = above;
  }
  return { root: bytesToHex(at(level, 0).slice().reverse()), repeats };
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.every((byte, i) => byte === b[i]);
}

function at(level: readonly Uint8Array[], index: number): Uint8Array {
  const hash = level[index];
  if (hash === undefined) throw new Error(`a tree over ${level.length} hashes has no place ${index}`);
  return hash;
}
