/**
 * What an answer to sendrawtransaction means. Core's codes (rpc/protocol.h) say less than its words: -26 is every
 * refusal of the pool. The words are the names in validation.cpp and policy.cpp, with details behind them; Knots has
 * names of its own beside them. No answer proves that bytes are not on their way: what is not understood is `unknown`.
 */

import type { SendMeaning, SendReply } from "./send-answer.ts";

/** RPC_VERIFY_ALREADY_IN_UTXO_SET: outputs of this id are in the chain and not yet spent. */
const IN_CHAIN = -27;
const WARMING_UP = -28;
const NOT_DECODED = -22;
const METHOD_NOT_FOUND = -32601;

/** The first line with a contained text decides. Lower case, as the answer is made before it is compared. */
const TEXTS: readonly (readonly [SendMeaning, readonly string[]])[] = [
  [
    "already_known",
    [
      "already in utxo set",
      "already in block chain",
      "txn-already-in-mempool",
      "txn-already-known",
      // The same transaction with another witness: its id and all that it does are the same.
      "txn-same-nonwitness-data-in-mempool",
    ],
  ],
  // An input is spent, by this very transaction perhaps, or not known to this node. The chain decides.
  ["nonce_consumed", ["missingorspent", "missing-inputs", "missing inputs", "inputs missing or spent"]],
  [
    "replacement_underpriced",
    [
      // All of BIP-125's refusals; "does not improve feerate diagram" is one of them.
      "insufficient fee",
      "rejecting replacement",
      "replacement-failed",
      "txn-mempool-conflict",
      "replacement-disallowed",
      "too many potential replacements",
      "too many conflicting clusters",
      "replacement-adds-unconfirmed",
    ],
  ],
  ["fee_too_low", ["min relay fee not met", "mempool min fee not met", "min fee not met"]],
  ["pool_full", ["mempool full", "too-long-mempool-chain", "too-large-cluster"]],
  [
    "provider_unavailable",
    [
      // Our coins were deep enough when they were chosen: this node has not got so far.
      "premature-spend-of-coinbase",
      "input-immature",
      "initial block download",
      "shutting down",
      "rate limit",
      "too many requests",
    ],
  ],
  [
    "setup_fault",
    [
      // What no other fee and no waiting would change, with this node.
      "dust",
      "scriptpubkey",
      "tx-size",
      "non-final",
      "non-bip68-final",
      "script-verify-flag",
      "bad-txns",
      "bad-witness",
      "fee exceeds maximum",
      "max-fee-exceeded",
      "maxburnamount",
      "decode failed",
      "method not found",
    ],
  ],
];

/** @param txId of the bytes that were sent */
export function meaningOfCoinSend(reply: SendReply, txId: string): SendMeaning {
  switch (reply.kind) {
    case "hash":
      // Bytes have one id. Whoever names another one has not said that it took these.
      return reply.hash.toLowerCase() === txId ? "accepted" : "unknown";
    case "error":
      return meaningOfCode(reply.code) ?? meaningOfText(reply.text.toLowerCase()) ?? "unknown";
    case "no_answer":
      // Any other status may come from a proxy in front of a node that has the bytes by now.
      return reply.status === 429 ? "provider_unavailable" : "unknown";
  }
}

function meaningOfCode(code: number): SendMeaning | null {
  switch (code) {
    case IN_CHAIN:
      return "already_known";
    case WARMING_UP:
      return "provider_unavailable";
    case NOT_DECODED:
    case METHOD_NOT_FOUND:
      return "setup_fault";
    default:
      return null;
  }
}

function meaningOfText(text: string): SendMeaning | null {
  return TEXTS.find(([, texts]) => texts.some((contained) => text.includes(contained)))?.[0] ?? null;
}
