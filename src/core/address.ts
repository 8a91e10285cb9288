/**
 * One canonical spelling per receiver. Everything inside compares canonical forms, so two spellings of one
 * address can never become two watches.
 */

import { parseBitcoinAddress } from "./bitcoin-address.ts";
import { parseEvmAddress } from "./evm-address.ts";
import type { BitcoinNetwork, EvmNetwork, SolanaNetwork, TronNetwork } from "./network.ts";
import type { BadAddress, ParsedAddress } from "./parsed-address.ts";
import { parseSolanaAddress } from "./solana-address.ts";
import { parseTronAddress } from "./tron-address.ts";

/** What decides how a network spells its addresses. */
export type AddressRules =
  | Pick<EvmNetwork | TronNetwork | SolanaNetwork, "family">
  | Pick<BitcoinNetwork, "family" | "addresses">;

export function parseAddress(rules: AddressRules, text: string): ParsedAddress {
  switch (rules.family) {
    case "evm":
      return parseEvmAddress(text);
    case "bitcoin":
      return parseBitcoinAddress(rules.addresses, text);
    case "tron":
      return parseTronAddress(text);
    case "solana":
      return parseSolanaAddress(text);
  }
}

/** Why an address is refused, for people. */
export function addressProblem({ family }: AddressRules, reason: BadAddress): string {
  switch (reason) {
    case "malformed":
      return family === "tron"
        ? "not an address of the tron family (TRC-10 tokens, which have numbers, are not supported)"
        : `not an address of the ${family} family`;
    case "bad_checksum":
      return family === "evm"
        ? "the checksum does not match; copy the address again, or send it in lower case"
        : "the checksum does not match; copy the address again";
    case "other_network":
      return "an address of another network of the same family";
    case "not_payable":
      return "an address form that this service does not pay to or watch";
  }
}
