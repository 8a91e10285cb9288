/** What a reading keeps of a receipt: whether the transaction took effect, and where its listed Transfers stand. */

import type { Log, Receipt } from "./records.ts";
import { isListedTransfer } from "./transfer-log.ts";

export interface TxFacts {
  readonly txIndex: number;
  /** null before Byzantium, where a receipt does not say. */
  readonly status: 0 | 1 | null;
  /** Listed Transfers, by ordinal inside the receipt. */
  readonly transfers: ReadonlyMap<number, Log>;
}

export function factsOf(receipt: Receipt, contracts: ReadonlySet<string>): TxFacts {
  const transfers = new Map<number, Log>();
  for (const [ordinal, log] of receipt.logs.entries())
    if (isListedTransfer(log, contracts)) transfers.set(ordinal, log);
  return { txIndex: receipt.txIndex, status: receipt.status, transfers };
}
