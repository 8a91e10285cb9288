/**
 * Hot wallets of coins, derived from the service's one seed: one for each tenant and network, found again from the
 * seed and the two names alone. Private keys stay inside the signer and appear in nothing that can be printed.
 */

import { hexToBytes } from "@noble/hashes/utils";
import type { HDKey } from "@scure/bip32";
import { p2wpkh, SigHash, Transaction } from "@scure/btc-signer";
import { scriptOfAddress } from "../../core/bitcoin-address.ts";
import type { BitcoinAddressForm, BitcoinNetwork } from "../../core/network.ts";
import type { CoinSigner, SpendIntent } from "../coin-payout.ts";
import { keyBelowSeed, walletPath } from "../wallet-seed.ts";
import { LOCK_TIME, outputsOf, SEQUENCE, VERSION } from "./spend-form.ts";

const TOP_UP = "0/0";
/** Receiving and change, and an index that is not hardened (BIP-44). */
const PATH = /^([01])\/(0|[1-9][0-9]{0,9})$/;
const MAX_INDEX = 0x7fffffff;

/**
 * BIP-32 at `m/84'/coin'/a'/b'/c'/d'`, where a to d are the wallet's own (`walletPath`).
 * Below it, as in BIP-84, `0/i` receives and `1/i` takes change, each a P2WPKH address.
 * @param seedHex 32 to 64 bytes
 * @throws Error for a seed that is none; the message does not show it
 */
export function deriveCoinSigner(
  seedHex: string,
  tenantId: string,
  network: Pick<BitcoinNetwork, "id" | "addresses">,
): CoinSigner {
  const path = walletPath(`m/84'/${network.addresses.coinType}'`, tenantId, network.id);
  return new SeedCoinSigner(keyBelowSeed(seedHex, path), path, network.addresses);
}

class SeedCoinSigner implements CoinSigner {
  readonly address: string;
  readonly path: string;
  readonly #branches: readonly HDKey[];
  readonly #addresses: BitcoinAddressForm;

  constructor(account: HDKey, path: string, addresses: BitcoinAddressForm) {
    this.#branches = [account.deriveChild(0), account.deriveChild(1)];
    account.wipePrivateData();
    this.#addresses = addresses;
    this.path = path;
    this.address = this.addressAt(TOP_UP);
  }

  addressAt(path: string): string {
    return this.#addressOf(this.#keyAt(path));
  }

  /**
   * Deterministic (RFC 6979, no extra entropy, low s): the same intent has the same bytes, whenever it is signed.
   * @throws Error when a coin or the change is not of this wallet
   */
  async sign(intent: SpendIntent): Promise<string> {
    const { inputs, change } = intent;
    if (change !== null) this.#checked(this.#keyAt(change.path), change);
    const tx = new Transaction({ version: VERSION, lockTime: LOCK_TIME });
    for (const { txId, vout, amountUnits, address } of inputs) {
      const witnessUtxo = { script: hexToBytes(scriptOfAddress(this.#addresses, address)), amount: amountUnits };
      tx.addInput({ txid: txId, index: vout, sequence: SEQUENCE, witnessUtxo, sighashType: SigHash.ALL });
    }
    for (const { script, amountUnits } of outputsOf(this.#addresses, intent))
      tx.addOutput({ script: hexToBytes(script), amount: amountUnits });
    for (const [place, coin] of inputs.entries()) {
      const key = this.#checked(this.#keyAt(coin.path), coin);
      if (key.privateKey === null) throw new Error(`no private key at ${coin.path}`);
      tx.signIdx(key.privateKey, place, [SigHash.ALL]);
      key.wipePrivateData();
    }
    tx.finalize();
    return tx.hex;
  }

  #checked(key: HDKey, { address, path }: { readonly address: string; readonly path: string }): HDKey {
    const own = this.#addressOf(key);
    if (own !== address) throw new Error(`the signer of ${this.address} has ${own} at ${path}, not ${address}`);
    return key;
  }

  #addressOf({ publicKey }: HDKey): string {
    if (publicKey === null) throw new Error("a derived key has no public key");
    const { bech32, pubKeyHash, scriptHash } = this.#addresses;
    const { address } = p2wpkh(publicKey, { bech32, pubKeyHash, scriptHash, wif: 0 });
    if (address === undefined) throw new Error("a derived key has no address");
    return address;
  }

  #keyAt(path: string): HDKey {
    const [, branch, index] = PATH.exec(path) ?? [];
    const parent = this.#branches[Number(branch)];
    if (parent === undefined || Number(index) > MAX_INDEX)
      throw new Error(`a key of the wallet stands at 0/i or 1/i, asked for ${path}`);
    return parent.deriveChild(Number(index));
  }
}
