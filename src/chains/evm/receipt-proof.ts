/**
 * Whether receipts are those of a block: all of them, in order, nothing left out, nothing made up. Only
 * receipts that pass count as read.
 */

import { bloomMayHold, bloomOf, joinBlooms } from "./bloom.ts";
import { receiptsRoot } from "./receipts-root.ts";
import type { Block, Receipt } from "./records.ts";

export type ReceiptProof =
  | {
      readonly ok: true;
      /** One for each transaction of the block, in order. */
      readonly receipts: readonly Receipt[];
      /** `bloom`: a transaction type whose receipts cannot be encoded here; count, order and bloom agree. */
      readonly by: "root" | "bloom";
    }
  | { readonly ok: false; readonly reason: "not_known" | "inconsistent"; readonly detail: string };

/** Types whose receipts have the standard encoding: legacy, EIP-2930, EIP-1559, EIP-4844, EIP-7702, OP deposit. */
const KNOWN_TYPES: ReadonlySet<number> = new Set([0, 1, 2, 3, 4, 0x7e]);

/**
 * Checks receipts against the header they are said to belong to. Decided by trying: whatever the chain,
 * receipts that give the header's root are proven; a root that differs with known types alone is a
 * contradiction; only with a type unknown here do count, order and bloom have to do.
 */
export function proveReceipts(block: Block, given: readonly Receipt[]): ReceiptProof {
  const name = `block ${block.ref.height} (${block.ref.hash})`;
  const foreign = given.find((receipt) => receipt.blockHash !== block.ref.hash);
  if (foreign)
    return refused("not_known", `receipt of ${foreign.txHash} is of block ${foreign.blockHash}, not of ${name}`);
  if (given.length < block.txHashes.length) {
    return refused("not_known", `${name} has ${block.txHashes.length} transactions, got ${given.length} receipts`);
  }
  const byHash = new Map(given.map((receipt) => [receipt.txHash, receipt]));
  const receipts = block.txHashes.flatMap((hash) => byHash.get(hash) ?? []);
  // Polygon before PIP-74 appends one receipt for the bridge's state sync, which no header commits to.
  if (given.length > block.txHashes.length + 1 || receipts.length !== block.txHashes.length) {
    return refused("inconsistent", `receipts of ${name} are not those of its transactions`);
  }
  const misplaced = receipts.find((receipt, index) => receipt.txIndex !== index);
  if (misplaced)
    return refused("inconsistent", `receipt of ${misplaced.txHash} says position ${misplaced.txIndex} in ${name}`);

  const elsewhere = receipts.flatMap((receipt) => receipt.logs).find((log) => log.height !== block.ref.height);
  if (elsewhere) return refused("inconsistent", `a log of ${name} says height ${elsewhere.height}`);
  const unreported = unreportedLog(block, receipts);
  if (unreported !== null) return refused("inconsistent", `logsBloom of ${name} denies a log of ${unreported}`);
  const root = receiptsRoot(receipts);
  if (root === block.receiptsRoot) return { ok: true, receipts, by: "root" };
  const standard = receipts.every((receipt) => KNOWN_TYPES.has(receipt.type));
  if (standard) {
    return refused("inconsistent", `receiptsRoot of ${name}: header says ${block.receiptsRoot}, receipts give ${root}`);
  }
  const own = bloomOf(receipts.flatMap((receipt) => receipt.logs));
  const extra = bloomOf(
    given.filter((receipt) => !block.txHashes.includes(receipt.txHash)).flatMap((receipt) => receipt.logs),
  );
  if (own === block.bloom || joinBlooms([own, extra]) === block.bloom) return { ok: true, receipts, by: "bloom" };
  return refused("inconsistent", `logsBloom of ${name} is not that of its receipts' logs`);
}

/** A chain that leaves its blooms empty would hide every deposit from whoever trusts them: it is named instead. */
function unreportedLog(block: Block, receipts: readonly Receipt[]): string | null {
  for (const receipt of receipts) {
    for (const log of receipt.logs) if (!bloomMayHold(block.bloom, log.address)) return log.address;
  }
  return null;
}

function refused(reason: "not_known" | "inconsistent", detail: string): ReceiptProof {
  return { ok: false, reason, detail };
}
