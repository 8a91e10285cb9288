/** A wallet of coins on regtest, and addresses of every form to pay to. */

import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { Address, OutScript, p2tr, utils } from "@scure/btc-signer";
import { deriveCoinSigner } from "../../src/chains/bitcoin/coin-signer.ts";
import type { CoinSigner } from "../../src/chains/coin-payout.ts";
import type { Coin } from "../../src/core/coins.ts";
import type { BitcoinNetwork } from "../../src/core/network.ts";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";

export const SEED = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
export const TENANT = "ten_01jz0000000000000000000000";
export const REGTEST = bitcoinNetwork("bitcoin-regtest");
export const MAINNET = bitcoinNetwork("bitcoin");

/** One address of each form that can be paid, by the name of the form. */
export const PAYEES: Readonly<Record<"p2pkh" | "p2sh" | "p2wpkh" | "p2wsh" | "p2tr", string>> = {
  p2pkh: addressOf({ type: "pkh", hash: filled(20, 0x11) }),
  p2sh: addressOf({ type: "sh", hash: filled(20, 0x22) }),
  p2wpkh: addressOf({ type: "wpkh", hash: filled(20, 0x33) }),
  p2wsh: addressOf({ type: "wsh", hash: filled(32, 0x44) }),
  p2tr: addressOf(OutScript.decode(p2tr(utils.pubSchnorr(filled(32, 1))).script)),
};

export function coinWallet(tenantId = TENANT): CoinSigner {
  return deriveCoinSigner(SEED, tenantId, REGTEST);
}

/** The n-th coin of a wallet; each has a name of its own. */
export function coinOf(wallet: CoinSigner, n: number, amountUnits: bigint, path = `1/${n}`): Coin {
  const txId = bytesToHex(sha256(hexToBytes(n.toString(16).padStart(8, "0"))));
  return { txId, vout: n % 3, amountUnits, address: wallet.addressAt(path), path };
}

function bitcoinNetwork(id: string): BitcoinNetwork {
  const network = BUILT_IN_NETWORKS.find((candidate) => candidate.id === id);
  if (network?.family !== "bitcoin") throw new Error(`${id} is no Bitcoin network`);
  return network;
}

function addressOf(script: Parameters<ReturnType<typeof Address>["encode"]>[0]): string {
  return Address({ ...REGTEST.addresses, wif: 0 }).encode(script);
}

function filled(bytes: number, value: number): Uint8Array {
  return new Uint8Array(bytes).fill(value);
}
