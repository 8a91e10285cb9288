/**
 * What must hold whenever a TRON chain rests after withdrawals, read from its blocks: each withdrawal that is called paid
 * is paid by one transaction, no other by any, and what failed cost what its transaction burned.
 */

import { FEE_ACCOUNT } from "../../src/core/ledger.ts";
import { tronHex } from "../../src/core/tron-address.ts";
import type { LedgerEntryView, WithdrawalView } from "../../src/core/views.ts";
import { isOpen } from "../../src/core/withdrawal.ts";
import type { Merchant } from "./merchant.ts";
import { expectAgreedOn } from "./payouts.ts";
import type { MinedTx } from "./tron-block.ts";
import type { TronChain } from "./tron-chain.ts";
import { TRON, type TronStage, tokensOf } from "./tron-stage.ts";

/** Waits until chain, ledger, states, feed and webhooks say the same. */
export function expectPaidExactly(stage: TronStage, merchants: readonly Merchant[]): Promise<void> {
  const differences = (_: Merchant, withdrawals: readonly WithdrawalView[], entries: readonly LedgerEntryView[]) =>
    againstChain(stage, withdrawals, entries);
  return expectAgreedOn({ id: TRON, differences }, merchants);
}

/** Base units of each TRX transfer in a block that an address was paid by, and the transaction's id. */
export function paidTo(chain: TronChain, address: string): { readonly txId: string; readonly units: bigint }[] {
  const to = `41${tronHex(address)}`;
  return minedIn(chain).flatMap(({ txId, data: { contract } }) =>
    contract.kind === "transfer" && contract.to === to ? [{ txId, units: contract.amountUnits }] : [],
  );
}

function minedIn(chain: TronChain): MinedTx[] {
  return Array.from({ length: chain.head.height }, (_, i) => chain.at(i + 1).txs).flat();
}

async function againstChain(
  stage: TronStage,
  withdrawals: readonly WithdrawalView[],
  entries: readonly LedgerEntryView[],
): Promise<string[]> {
  const { chain } = stage;
  const problems: string[] = [];
  for (const { id, asset, destination, state, amount_units, tx_id, fee_units, attempts } of withdrawals) {
    const mined = attempts.flatMap(({ tx_id }) => chain.find(tx_id)?.tx ?? []);
    const [only] = mined;
    if (mined.length > 1) problems.push(`I6: ${mined.length} transactions of ${id} are in blocks`);
    const isPaid = only?.outcome === "SUCCESS";
    if (state === "confirmed" && !(isPaid && only.txId === tx_id)) problems.push(`I6: ${id} is not paid by ${tx_id}`);
    if (!isOpen(state) && state !== "confirmed" && isPaid) problems.push(`I9: ${id} is ${state} and paid`);
    const has =
      asset === "TRX"
        ? paidTo(chain, destination).reduce((sum, { units }) => sum + units, 0n)
        : await tokensOf(stage, destination);
    const wanted = isPaid ? BigInt(amount_units) : 0n;
    if (has !== wanted) problems.push(`I6: ${destination} has ${has} ${asset}, was to get ${wanted}`);
    const cost = only === undefined ? null : costOf(only).toString();
    if (fee_units !== cost) problems.push(`${id} cost ${cost}, shown is ${fee_units}`);
    const fees = entries.filter(({ cause, account }) => cause.id === id && account === FEE_ACCOUNT);
    const booked = fees.map((entry) => `${entry.from} ${entry.to} ${entry.asset} ${entry.amount_units}`);
    const expected = cost === null || cost === "0" ? "" : `chain settled TRX ${cost}`;
    if (String(booked) !== expected) problems.push(`fee of ${id}: ${booked}, expected ${expected}`);
  }
  return problems;
}

function costOf({ fee: { netFee, createFee, energyFee } }: MinedTx): bigint {
  return netFee + createFee + energyFee;
}
