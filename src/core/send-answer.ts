/**
 * What an answer to eth_sendRawTransaction means. Clients agree neither on codes nor on wording, and append
 * details to what they say, so an answer is read by the texts it contains. No answer proves that bytes are not
 * on their way: what is not understood is `unknown`.
 */

export type SendMeaning =
  /** A provider took the bytes, or has them already. */
  | "accepted"
  | "already_known"
  /**
   * The nonce is used up: by one of our attempts, or by somebody else. The chain decides. In a wallet of coins: an
   * input is spent, by these very bytes perhaps, or the node does not know it.
   */
  | "nonce_consumed"
  /** Another transaction holds the nonce, or an input, in the pool, and what it offers is not outbid. */
  | "replacement_underpriced"
  | "nonce_gap"
  | "fee_too_low"
  | "pool_full"
  | "wallet_short"
  | "wrong_gas_limit"
  | "setup_fault"
  | "provider_unavailable"
  | "unknown";

export type SendReply =
  | { readonly kind: "hash"; readonly hash: string }
  | { readonly kind: "error"; readonly code: number; readonly text: string }
  /** Timeout, connection lost, HTTP status, malformed body: the bytes may have arrived. */
  | { readonly kind: "no_answer"; readonly text: string; readonly status: number | null };

/**
 * The first line with a contained text decides. The order settles overlaps: "replacement fee too low" is about
 * the holder of the nonce, "insufficient funds for gas * price + value" about the wallet and not about gas,
 * and what would stop a wallet comes last. Lower case, as the answer is made before it is compared; words
 * written together are the names that Nethermind, Erigon and Substrate chains send instead of a sentence.
 */
const TEXTS: readonly (readonly [SendMeaning, readonly string[]])[] = [
  [
    "already_known",
    [
      "already known",
      "alreadyknown",
      "existing tx with same hash",
      "existing txn with same hash",
      "already imported",
      "already exists in cache",
      "already in mempool",
    ],
  ],
  ["nonce_consumed", ["nonce too low", "nonce is too low", "oldnonce", "pool(stale)", "invalid transaction nonce"]],
  [
    "replacement_underpriced",
    [
      "replacement transaction underpriced",
      "replacement fee too low",
      "could not replace existing",
      "to replace existing transaction",
      "replaced by transaction with higher tip",
      "another transaction with same nonce",
      "replacementnotallowed",
      "ownnoncealreadyused",
    ],
  ],
  [
    "nonce_gap",
    [
      "nonce too high",
      "noncegap",
      "too far in the future",
      "noncetoofarinfuture",
      "gapped-nonce",
      "too distant",
      "future transaction tries to replace pending",
    ],
  ],
  [
    "wallet_short",
    [
      "insufficient funds",
      "exceeds account balance",
      "insufficientfunds",
      "insufficient balance",
      "not enough balance",
    ],
  ],
  [
    "fee_too_low",
    [
      "underpriced",
      "fee too low",
      "feetoolow",
      "gas price below",
      "gas price too low",
      "gas price is too low",
      "less than block base fee",
      "priority fee below",
    ],
  ],
  [
    "pool_full",
    [
      "txpool is full",
      "sub-pool is full",
      "queue full",
      "account limit exceeded",
      "in-flight transaction limit",
      "too many transactions",
      "pool size constraints",
      "spammer",
    ],
  ],
  ["wrong_gas_limit", ["intrinsic gas", "intrinsicgas", "gas limit", "gaslimitexceeded", "floor data gas"]],
  [
    "provider_unavailable",
    ["syncing", "sync is still in progress", "not available", "rate limit", "too many requests", "request limit"],
  ],
  [
    "setup_fault",
    [
      "invalid chain id",
      "invalid chainid",
      "wrong chainid",
      "wrong chain id",
      "invalid sender",
      "invalid signature",
      "failedtoresolvesender",
      "not supported",
      "notsupported",
    ],
  ],
];

/** "Known transaction", but not "unknown transaction type". */
const KNOWN_TRANSACTION = /(?<![a-z])known transaction/;

/** A limit of the provider's own, unless the text says something about the transaction: Besu's -32005 does. */
const LIMIT_CODES: readonly number[] = [429, -32005];

/** @param txId the hash of the bytes that were sent, hex in any case */
export function meaningOf(reply: SendReply, txId: string): SendMeaning {
  switch (reply.kind) {
    case "hash":
      // Bytes have one hash. Whoever names another one has not said that it took these.
      return reply.hash.toLowerCase() === txId.toLowerCase() ? "accepted" : "unknown";
    case "error":
      return (
        meaningOfText(reply.text.toLowerCase()) ??
        (LIMIT_CODES.includes(reply.code) ? "provider_unavailable" : "unknown")
      );
    case "no_answer":
      // Any other status may come from a proxy in front of a node that has the bytes by now.
      return reply.status === 429 ? "provider_unavailable" : "unknown";
  }
}

function meaningOfText(text: string): SendMeaning | null {
  if (KNOWN_TRANSACTION.test(text)) return "already_known";
  return TEXTS.find(([, texts]) => texts.some((contained) => text.includes(contained)))?.[0] ?? null;
}

/**
 * What matters most for the next step comes first:
 *
 * - bytes that one provider has are on their way, whatever the others say;
 * - a nonce that is used up or held by a better offer is a fact of the chain or of a pool, and sending the same
 *   bytes again cannot change it;
 * - `unknown` comes before every definite refusal, since the bytes may be where nobody answered;
 * - then what must be done before anything else helps: the predecessor, the wallet's balance (a raised fee asks
 *   a short wallet for more), the fee, the gas limit;
 * - then what only needs time.
 *
 * `setup_fault` is not in this order: one provider of another chain must not stop a wallet.
 */
const BY_WEIGHT: readonly SendMeaning[] = [
  "accepted",
  "already_known",
  "nonce_consumed",
  "replacement_underpriced",
  "unknown",
  "nonce_gap",
  "wallet_short",
  "fee_too_low",
  "wrong_gas_limit",
  "pool_full",
  "provider_unavailable",
];

/** What the answers of all providers to one attempt mean together. `setup_fault` only when every one says so. */
export function together(meanings: readonly SendMeaning[]): SendMeaning {
  const heaviest = BY_WEIGHT.find((meaning) => meanings.includes(meaning));
  if (heaviest !== undefined) return heaviest;
  return meanings.length > 0 ? "setup_fault" : "unknown";
}
