/** Keys and transactions for tests of Solana, made by the libraries that wallets use: the product's own code reads them. */

import { ed25519 } from "@noble/curves/ed25519";
import { sha256 } from "@noble/hashes/sha2";
import { utf8ToBytes } from "@noble/hashes/utils";
import { base58 } from "@scure/base";
import {
  type Address,
  type AddressesByLookupTableAddress,
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  compressTransactionMessageUsingAddressLookupTables,
  createNoopSigner,
  createTransactionMessage,
  getTransactionEncoder,
  type Instruction,
  pipe,
  setTransactionMessageConfig,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type TransactionSigner,
} from "@solana/kit";

export interface SolanaKey {
  readonly secret: Uint8Array;
  readonly address: Address;
  /** For instructions that want a signer; signing is `signed`'s. */
  readonly signer: TransactionSigner;
}

/** The same for the same name. */
export function solanaKey(name: string): SolanaKey {
  const secret = sha256(utf8ToBytes(`a key of tests: ${name}`));
  const own = address(base58.encode(ed25519.getPublicKey(secret)));
  return { secret, address: own, signer: createNoopSigner(own) };
}

export interface TransactionParts {
  readonly payer: SolanaKey;
  /** Beside the payer. */
  readonly signers?: readonly SolanaKey[];
  readonly instructions: readonly Instruction[];
  readonly blockhash: string;
  readonly version?: "legacy" | 0 | 1;
  readonly tables?: AddressesByLookupTableAddress;
}

const LIMITS = { computeUnitLimit: 200_000, loadedAccountsDataSizeLimit: 1_000_000 };

/** As it is sent. */
export function signedTransaction({ payer, signers = [], tables, ...parts }: TransactionParts): Uint8Array {
  const lifetime = { blockhash: parts.blockhash as Blockhash, lastValidBlockHeight: 2n ** 63n };
  const build = (version: "legacy" | 0 | 1) =>
    pipe(
      createTransactionMessage({ version: version as 0 }),
      (message) => setTransactionMessageFeePayer(payer.address, message),
      (message) => setTransactionMessageLifetimeUsingBlockhash(lifetime, message),
      (message) => appendTransactionMessageInstructions(parts.instructions, message),
      // Version 1 says so in the message, and has no limits by itself.
      (message) =>
        version === 1 ? (setTransactionMessageConfig(LIMITS, message as never) as typeof message) : message,
    );
  const plain = build(parts.version ?? "legacy");
  const message = tables === undefined ? plain : compressTransactionMessageUsingAddressLookupTables(plain, tables);
  const compiled = compileTransaction(message);
  const signatures = Object.fromEntries(
    Object.keys(compiled.signatures).map((who) => {
      const key = [payer, ...signers].find((candidate) => candidate.address === who);
      if (key === undefined) throw new Error(`nobody signs for ${who}`);
      return [who, ed25519.sign(Uint8Array.from(compiled.messageBytes), key.secret)];
    }),
  );
  return Uint8Array.from(getTransactionEncoder().encode({ ...compiled, signatures } as typeof compiled));
}
