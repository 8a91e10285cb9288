/** Extended keys of wallets that exist for tests alone, and the addresses that such a wallet shows. */

import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils";
import { HDKey } from "@scure/bip32";
import { privateKeyToAddress } from "viem/accounts";

const PATH = "m/44'/60'/0'";

/** A merchant's own wallet of an EVM chain: what it gives away, and what it keeps. */
export class MerchantWallet {
  readonly xpub: string;
  readonly xprv: string;
  readonly #account: HDKey;

  constructor(name: string) {
    this.#account = HDKey.fromMasterSeed(sha256(utf8ToBytes(name))).derive(PATH);
    this.xpub = this.#account.publicExtendedKey;
    this.xprv = this.#account.privateExtendedKey;
  }

  /** From the private key, the way that the merchant's wallet takes. */
  address(index: number): string {
    const { privateKey } = this.#account.derive(`m/0/${index}`);
    return privateKeyToAddress(`0x${bytesToHex(privateKey ?? new Uint8Array())}`).toLowerCase();
  }
}
