/** The script that an output to an address has. */

import { bytesToHex } from "@noble/hashes/utils";
import { Address, OutScript } from "@scure/btc-signer";
import type { BitcoinAddressForm } from "./network.ts";

/** @param address canonical, of this network: anything else is a bug. @returns hex */
export function scriptOfAddress({ bech32, pubKeyHash, scriptHash }: BitcoinAddressForm, address: string): string {
  const decoded = Address({ bech32, pubKeyHash, scriptHash, wif: 0 }).decode(address);
  return bytesToHex(OutScript.encode(decoded));
}
