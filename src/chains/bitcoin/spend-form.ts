/**
 * The fields of a transaction that are the same in every one of ours, and the outputs of an intent. Whoever signs
 * and whoever checks the signed bytes start from here.
 */

import { hexToBytes } from "@noble/hashes/utils";
import { OutScript } from "@scure/btc-signer";
import { scriptOfAddress } from "../../core/bitcoin-address.ts";
import type { BitcoinAddressForm } from "../../core/network.ts";
import type { SpendIntent } from "../coin-payout.ts";

export const VERSION = 2;
export const LOCK_TIME = 0;
/** Opts into replacement (BIP-125) and asks for no relative lock (BIP-68). */
export const SEQUENCE = 0xfffffffd;
/** Every input and every output is signed. */
export const SIGHASH_ALL = 0x01;

export interface SpendOutput {
  /** Hex. */
  readonly script: string;
  readonly amountUnits: bigint;
}

/** The payments in their order, the change last. */
export function outputsOf(addresses: BitcoinAddressForm, { payments, change }: SpendIntent): readonly SpendOutput[] {
  return [...payments, ...(change === null ? [] : [change])].map(({ address, amountUnits }) => ({
    script: scriptOfAddress(addresses, address),
    amountUnits,
  }));
}

/**
 * What a signature of a P2WPKH input covers in place of its script: the P2PKH script of the same hash (BIP-143).
 * @param script hex of the coin's own script
 * @throws Error when the coin is of another form
 */
export function scriptCodeOf(script: string): Uint8Array {
  const decoded = OutScript.decode(hexToBytes(script));
  if (decoded.type !== "wpkh") throw new Error(`a coin of the wallet is P2WPKH, got the script ${script}`);
  return OutScript.encode({ type: "pkh", hash: decoded.hash });
}
