/** Keys for the chain in memory, and signing with them: the faucet's, and any that a test makes. */

import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils";
import { p2pkh, p2tr, p2wpkh, Transaction } from "@scure/btc-signer";
import { pubECDSA, pubSchnorr } from "@scure/btc-signer/utils";
import { type BitcoinTx, buildTx, type OutPoint, push, REGTEST, type TxOutput } from "./bitcoin-tx.ts";

const RBF = 0xfffffffd;

/** A key and where it is paid, in three of the five forms. */
export interface TestKey {
  readonly secret: Uint8Array;
  readonly address: string;
  readonly script: string;
  readonly legacyAddress: string;
  readonly legacyScript: string;
  readonly taprootAddress: string;
  readonly taprootScript: string;
}

/** An output and the key that spends it: the faucet's unless given. */
export interface KeyedCoin extends OutPoint, TxOutput {
  readonly key?: TestKey;
}

export interface Spend {
  readonly inputs: readonly (KeyedCoin & { readonly sequence?: number })[];
  readonly outputs: readonly TxOutput[];
  readonly lockTime?: number;
  readonly version?: number;
}

/** The same key for the same name. */
export function testKey(name: string): TestKey {
  const secret = sha256(utf8ToBytes(`a key for tests: ${name}`));
  const segwit = p2wpkh(pubECDSA(secret), REGTEST);
  const legacy = p2pkh(pubECDSA(secret), REGTEST);
  const taproot = p2tr(pubSchnorr(secret), undefined, REGTEST);
  return {
    secret,
    address: segwit.address ?? "",
    script: bytesToHex(segwit.script),
    legacyAddress: legacy.address ?? "",
    legacyScript: bytesToHex(legacy.script),
    taprootAddress: taproot.address ?? "",
    taprootScript: bytesToHex(taproot.script),
  };
}

export const FAUCET = testKey("faucet");

export function signTx({ inputs, outputs, lockTime = 0, version = 2 }: Spend): BitcoinTx {
  const tx = new Transaction({
    version,
    lockTime,
    allowUnknownOutputs: true,
    disableScriptCheck: true,
    allowLegacyWitnessUtxo: true,
  });
  for (const { txid, vout, amount, script, key = FAUCET, sequence = RBF } of inputs) {
    const isTaproot = script === key.taprootScript;
    tx.addInput({
      txid,
      index: vout,
      sequence,
      witnessUtxo: { amount, script: hexToBytes(script) },
      ...(isTaproot ? { tapInternalKey: pubSchnorr(key.secret) } : {}),
    });
  }
  for (const { script, amount } of outputs) tx.addOutput({ script: hexToBytes(script), amount });
  // Put together here, since the library refuses to finish what no node would take.
  const signed = inputs.map(({ txid, vout, sequence = RBF, script, key = FAUCET }, at) => {
    tx.signIdx(key.secret, at, undefined, new Uint8Array(32));
    const { partialSig, tapKeySig } = tx.getInput(at);
    const signature = bytesToHex(tapKeySig ?? partialSig?.[0]?.[1] ?? new Uint8Array());
    const pushed = [signature, ...(tapKeySig === undefined ? [bytesToHex(pubECDSA(key.secret))] : [])];
    const isLegacy = script === key.legacyScript;
    return {
      txid,
      vout,
      sequence,
      scriptSig: isLegacy ? pushed.map(push).join("") : "",
      witness: isLegacy ? [] : pushed,
    };
  });
  return buildTx({ version, lockTime, inputs: signed, outputs });
}
