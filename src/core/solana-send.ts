/**
 * What an answer to Solana's sendTransaction means. Sent without preflight, a node takes whatever it can decode; a
 * provider's own gateway may look at it first, and then says what simulating it would. No answer proves that bytes
 * are not on their way: what is not understood is `unknown`.
 *
 * Names are those of `TransactionError` (Agave), sentences its own words for them.
 */

import type { SendMeaning, SendReply } from "./send-answer.ts";

/** The first line with a contained text decides. Lower case. */
const TEXTS: readonly (readonly [SendMeaning, readonly string[]])[] = [
  ["already_known", ["alreadyprocessed", "already been processed", "already processed"]],
  [
    "wallet_short",
    [
      "insufficientfundsforfee",
      "insufficient funds",
      "insufficientfundsforrent",
      "insufficient lamports",
      "no record of a prior credit",
    ],
  ],
  [
    "setup_fault",
    [
      "signature verification failure",
      "signaturefailure",
      "did not pass signature verification",
      "failed to deserialize",
      "failed to sanitize",
      "sanitizefailure",
      "invalid base64",
      "too large",
      "wrong chain",
    ],
  ],
  [
    "pool_full",
    ["wouldexceedmax", "would exceed max", "accountinuse", "account in use", "too many account locks", "queue is full"],
  ],
  [
    "provider_unavailable",
    [
      "node is behind",
      "node is unhealthy",
      "not healthy",
      "rate limit",
      "too many requests",
      "request limit",
      // Too old, or of a block that this node does not have yet: the chain decides, not this answer.
      "blockhashnotfound",
      "blockhash not found",
    ],
  ],
];

/** Of both programs that these transactions use: too few coins or tokens. Not 0x11, a frozen account. */
const TOO_FEW = /custom program error: 0x1(?![0-9a-f])/;
/** Node behind or unhealthy, and limits of the provider's own. */
const LIMIT_CODES: readonly number[] = [429, -32005];

/** @param txId the first signature of the bytes that were sent, base58 */
export function solanaMeaningOf(reply: SendReply, txId: string): SendMeaning {
  switch (reply.kind) {
    case "hash":
      // Bytes have one signature. Whoever names another one has not said that it took these.
      return reply.hash === txId ? "accepted" : "unknown";
    case "error": {
      const text = reply.text.toLowerCase();
      if (TOO_FEW.test(text)) return "wallet_short";
      const meaning = TEXTS.find(([, texts]) => texts.some((contained) => text.includes(contained)))?.[0];
      return meaning ?? (LIMIT_CODES.includes(reply.code) ? "provider_unavailable" : "unknown");
    }
    case "no_answer":
      return reply.status === 429 ? "provider_unavailable" : "unknown";
  }
}
