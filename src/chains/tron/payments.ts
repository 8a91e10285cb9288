/**
 * The payments in one transaction of a block. A payment counts only where neither the block nor the info says otherwise
 * than that the transaction succeeded. A token's log is taken at its word: no node has balances of the past to weigh it by, and what
 * the contract's function returned says nothing (USDT's `transfer` returns false when it has paid).
 */

import { NATIVE, type Transfer } from "../../core/transfer.ts";
import type { BlockRef } from "../port.ts";
import { MalformedAnswer } from "../rpc/malformed.ts";
import { addressOf, ContradictedAnswer } from "./answers.ts";
import type { TronTransaction } from "./block.ts";
import type { TronInfo } from "./info.ts";
import { memoOf } from "./memo.ts";
import { decodeRawData, type RawData, type TronContract } from "./raw-data.ts";
import { isTransfer, moveIn } from "./token-log.ts";

/** What is looked for. */
export interface Wanted {
  readonly native: boolean;
  readonly internal: boolean;
  /** Listed tokens: 20 bytes in hex, as logs have them, to canonical addresses. */
  readonly contracts: ReadonlyMap<string, string>;
}

export interface Payments {
  /** To anybody, in order: the transaction's own value, its logs, what contracts sent on. */
  readonly transfers: readonly Transfer[];
  /** Transfers of TRC-10 tokens, which are never credited: their receivers. */
  readonly trc10: readonly string[];
  /** Transfer-like logs of listed contracts that are not of the standard form, and bytes that cannot be read. */
  readonly irregular: number;
}

const NONE: Payments = { transfers: [], trc10: [], irregular: 0 };

/** @throws ContradictedAnswer */
export function paymentsIn(tx: TronTransaction, info: TronInfo, block: BlockRef, wanted: Wanted): Payments {
  const data = dataOf(tx.raw);
  if (data === null) return { ...NONE, irregular: 1 };
  const { contract } = data;
  if (contract.kind === "other" || endOf(tx, info, contract) !== "succeeded") return NONE;
  const found = new Found(tx.txId, block, memoOf(data.data));
  if (wanted.native && contract.kind === "transfer") found.pay("value", addressOf(contract.to), contract.amountUnits);
  if (wanted.native && contract.kind === "trc10") found.note(addressOf(contract.to));
  if (contract.kind === "trigger") {
    if (wanted.native) found.pay("value", addressOf(contract.contract), contract.callValueUnits);
    if (wanted.native && contract.callTokenUnits > 0n) found.note(addressOf(contract.contract));
  }
  // What a new contract is given goes to an address that nobody can know before.
  if (isExecuted(contract)) {
    found.readLogs(info, wanted);
    if (wanted.internal) found.readInternal(info);
  }
  return found;
}

class Found implements Payments {
  readonly transfers: Transfer[] = [];
  readonly trc10: string[] = [];
  irregular = 0;
  readonly #txId: string;
  readonly #block: BlockRef;
  /** Of the transaction, so of each payment in it. */
  readonly #memo: { readonly memo?: string };

  constructor(txId: string, block: BlockRef, memo: string | null) {
    this.#txId = txId;
    this.#block = block;
    this.#memo = memo === null ? {} : { memo };
  }

  pay(transferIndex: string, address: string | null, amountUnits: bigint, asset = NATIVE): void {
    if (address === null || amountUnits <= 0n) return;
    const [txId, { height, hash: blockHash }] = [this.#txId, this.#block];
    this.transfers.push({ txId, transferIndex, address, asset, amountUnits, height, blockHash, ...this.#memo });
  }

  note(receiver: string | null): void {
    if (receiver !== null) this.trc10.push(receiver);
  }

  readLogs({ logs }: TronInfo, { contracts }: Wanted): void {
    for (const [n, log] of logs.entries()) {
      const asset = contracts.get(log.contract);
      if (asset === undefined || !isTransfer(log)) continue;
      const move = moveIn(log);
      if (move === "irregular") this.irregular += 1;
      else if (move !== "void") this.pay(`log:${n}`, move.to, move.amountUnits, asset);
    }
  }

  readInternal({ internal }: TronInfo): void {
    for (const { place, to, amountUnits, hasTrc10 } of internal) {
      this.pay(`call:${place}`, addressOf(to), amountUnits);
      if (hasTrc10) this.note(addressOf(to));
    }
  }
}

/** Null for bytes that no parser would take. */
function dataOf(raw: string): RawData | null {
  try {
    return decodeRawData(raw);
  } catch (error) {
    if (error instanceof MalformedAnswer) return null;
    throw error;
  }
}

/** By the virtual machine. */
function isExecuted({ kind }: TronContract): boolean {
  return kind === "trigger" || kind === "deploy";
}

/**
 * `unsaid`: the block does not tell how an execution ended, as in the first months of the chain. What is carried out
 * without the virtual machine is in a block only when it was carried out. Its outcome there is the word of whoever made
 * the block, which no witness compares with anything (`TransactionTrace.check`): a missing one takes nothing back.
 * @throws ContradictedAnswer when the block and the info do not say the same
 */
export function endOf(
  { txId, outcome }: TronTransaction,
  info: TronInfo,
  contract: TronContract,
): "succeeded" | "failed" | "unsaid" {
  const { isFailed, execution } = info;
  // An execution says how it ended; what has none says nothing.
  const isDone = !isFailed && (execution === "SUCCESS" || (execution === "" && !isExecuted(contract)));
  if (outcome === "") return isDone && !isExecuted(contract) ? "succeeded" : "unsaid";
  if (isDone === (outcome === "SUCCESS")) return isDone ? "succeeded" : "failed";
  const said = `${isFailed ? "FAILED" : "not failed"}, execution ${execution || "none"}`;
  throw new ContradictedAnswer(`transaction ${txId}: ended with ${outcome} by its block, by its info: ${said}`);
}
