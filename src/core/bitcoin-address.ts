/**
 * Bitcoin's address forms and the scripts behind them. An output is matched by its script alone; an address is
 * how people spell the script. The five forms here (P2PKH, P2SH, P2WPKH, P2WSH, P2TR) have one canonical
 * spelling each, so script and address stand for each other.
 */

import { hexToBytes } from "@noble/hashes/utils";
import { Address, OutScript } from "@scure/btc-signer";
import type { BitcoinAddressForm } from "./network.ts";
import type { ParsedAddress } from "./parsed-address.ts";

const PAYABLE: ReadonlySet<string> = new Set(["pkh", "sh", "wpkh", "wsh", "tr"]);
/** No address is longer than a bech32 string (BIP-173). */
const MAX_CHARS = 90;

export function parseBitcoinAddress(form: BitcoinAddressForm, text: string): ParsedAddress {
  if (text.length > MAX_CHARS || form.bech32 === "") return { ok: false, reason: "malformed" };
  return { ok: false, reason: "malformed" };
}

/** The address of an output's script, or null when it is none of the five forms. @param script hex */
export function addressOfScript(form: BitcoinAddressForm, script: string): string | null {
  try {
    const decoded = OutScript.decode(hexToBytes(script));
    return PAYABLE.has(decoded.type) ? Address(codecOf(form)).encode(decoded) : null;
  } catch {
    return null;
  }
}

function codecOf({ bech32, pubKeyHash, scriptHash }: BitcoinAddressForm) {
  return { bech32, pubKeyHash, scriptHash, wif: 0 };
}
