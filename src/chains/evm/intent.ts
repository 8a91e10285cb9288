/**
 * What a withdrawal does on an EVM chain, as a call and as the fields that are signed. Pure: whoever signs and
 * whoever checks the signed bytes start from the same fields.
 */

import type { TransactionSerializableEIP1559, TransactionSerializableLegacy } from "viem";
import type { Call, Intent } from "../payout.ts";

/** transfer(address,uint256) and balanceOf(address), EIP-20 */
const TRANSFER = "0xa9059cbb";
const BALANCE_OF = "0x70a08231";
const MAX_WORD = 2n ** 256n - 1n;

/** What a transfer of the native coin to a plain account costs, to the unit (yellow paper, appendix G). */
const PLAIN_TRANSFER_GAS = 21_000n;

/** No token's transfer comes near it, a rollup's share for its parent chain included; what wants more is not paid for. */
export const MAX_GAS_LIMIT = 3_000_000n;

/**
 * The call that pays.
 * @param asset `native`, or the token's contract
 * @param amountUnits base units, above zero
 */
export function transferCall(asset: string, sender: string, destination: string, amountUnits: bigint): Call {
  if (amountUnits <= 0n || amountUnits > MAX_WORD)
    throw new Error(`a payment is of 1 to 2^256 - 1 base units, asked for ${amountUnits}`);
  if (asset === "native") return { sender, to: destination, valueUnits: amountUnits, data: "0x" };
  const data = `${TRANSFER}${wordOf(destination.slice(2))}${wordOf(amountUnits.toString(16))}`;
  return { sender, to: asset, valueUnits: 0n, data };
}

/** The call that uses a nonce up and moves nothing: nothing of the native coin, to the wallet itself. */
export function burnCall(sender: string): Call {
  return { sender, to: sender, valueUnits: 0n, data: "0x" };
}

export function balanceOfCall(owner: string): string {
  return `${BALANCE_OF}${wordOf(owner.slice(2))}`;
}

/**
 * A quarter above the estimate, rounded up: what a call needs may grow between the estimate and its block. A plain
 * transfer needs what it needs.
 * @returns null above `MAX_GAS_LIMIT`
 */
export function gasLimitFor(estimate: bigint): bigint | null {
  if (estimate === PLAIN_TRANSFER_GAS) return estimate;
  const limit = (estimate * 5n + 3n) / 4n;
  return limit > MAX_GAS_LIMIT ? null : limit;
}

/** The fields to sign, as viem takes them. */
export function unsignedOf(intent: Intent): TransactionSerializableEIP1559 | TransactionSerializableLegacy {
  const { chainId, nonce, fees } = intent;
  const common = {
    chainId,
    nonce,
    to: intent.to as `0x${string}`,
    value: intent.valueUnits,
    data: intent.data as `0x${string}`,
    gas: intent.gasLimit,
  };
  switch (fees.kind) {
    case "eip1559": {
      const { maxFeePerGas, maxPriorityFeePerGas } = fees;
      return { ...common, type: "eip1559", maxFeePerGas, maxPriorityFeePerGas };
    }
    case "legacy":
      return { ...common, type: "legacy", gasPrice: fees.gasPrice };
  }
}

function wordOf(digits: string): string {
  return digits.padStart(64, "0");
}
