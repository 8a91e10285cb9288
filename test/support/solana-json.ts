/** What the chain in memory holds, as Agave's JSON-RPC shows it. */

import { base58, base64 } from "@scure/base";
import type { Json } from "./model-chain.ts";
import type { ChainAccount, ChainTx } from "./solana-chain.ts";

/** An answer with this code. Written out, and not model-chain's: a process runs this whose Node strips types and no more. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** @param most `maxSupportedTransactionVersion` of the call @throws RpcError */
export function transactionJson(tx: ChainTx, most: unknown): Json {
  const { version } = tx.wire;
  if (version !== "legacy" && (typeof most !== "number" || version > most)) {
    throw new RpcError(
      -32015,
      `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
    );
  }
  return {
    transaction: [base64.encode(tx.raw), "base64"],
    version,
    meta: {
      err: tx.err,
      status: outcomeOf(tx.err),
      fee: Number(tx.fee),
      preBalances: tx.before.map(Number),
      postBalances: tx.after.map(Number),
      preTokenBalances: tx.tokensBefore,
      postTokenBalances: tx.tokensAfter,
      innerInstructions: tx.inner,
      loadedAddresses: tx.loaded,
      logMessages: [],
      rewards: null,
      computeUnitsConsumed: Number(tx.units),
    },
  };
}

/** As `getSignatureStatuses` shows it. */
export function statusJson({ err }: ChainTx, slot: number, isFinal: boolean): Json {
  const confirmationStatus = isFinal ? "finalized" : "confirmed";
  return { slot, confirmations: isFinal ? null : 1, err, status: outcomeOf(err), confirmationStatus };
}

function outcomeOf(err: ChainTx["err"]): Json {
  return err === null ? { Ok: null } : { Err: err };
}

/** As `transactionDetails: "accounts"` shows it, but for what is not looked at here. */
export function accountsJson(tx: ChainTx): Json {
  const { err, status, fee, preBalances, postBalances, preTokenBalances, postTokenBalances } = transactionJson(tx, 1)
    .meta as Json;
  const keys = [...tx.wire.keys.map((key) => base58.encode(key)), ...tx.loaded.writable, ...tx.loaded.readonly];
  const accountKeys = keys.map((pubkey) => ({ pubkey, signer: false, source: "transaction", writable: true }));
  const meta = { err, status, fee, preBalances, postBalances, preTokenBalances, postTokenBalances };
  return { transaction: { signatures: [tx.signature], accountKeys }, meta };
}

export function accountJson({ lamports, owner, data, executable }: ChainAccount): Json {
  return {
    lamports: Number(lamports),
    owner,
    data: [base64.encode(data), "base64"],
    executable,
    rentEpoch: 18_446_744_073_709_552_000,
    space: data.length,
  };
}
