/**
 * What an answer to `broadcasthex` means (`Return.response_code` of java-tron). No answer proves that bytes are not on
 * their way: they may have gone out with an earlier answer, or to another backend behind the same host. So what is
 * refused here is refused by this node, and only the transaction's expiry ends it.
 */

import type { SendMeaning } from "../../core/send-answer.ts";
import { parseObject } from "../rpc/malformed.ts";
import { readable } from "./answers.ts";

const MEANINGS: Readonly<Record<string, SendMeaning>> = {
  SUCCESS: "accepted",
  // The id is kept before anything is checked: it was sent here before, and may have been refused then.
  DUP_TRANSACTION_ERROR: "unknown",
  SERVER_BUSY: "unknown",
  NO_CONNECTION: "unknown",
  NOT_ENOUGH_EFFECTIVE_CONNECTION: "unknown",
  BLOCK_UNSOLIDIFIED: "unknown",
  OTHER_ERROR: "unknown",
  CONTRACT_EXE_ERROR: "unknown",
  // Decided by state that changes, but for a wallet that is short: see below.
  CONTRACT_VALIDATE_ERROR: "unknown",
  // The wallet has neither bandwidth nor the TRX to burn for it.
  BANDWITH_ERROR: "wallet_short",
  // This node does not have the reference block, which is solid: it lags, or serves another chain.
  TAPOS_ERROR: "provider_unavailable",
  // Expired by this node's newest block, or a day ahead of it: it lags, or the time is up, which solid blocks will show.
  TRANSACTION_EXPIRATION_ERROR: "unknown",
  // The signature was checked before anything was sent: the account's permissions are not the wallet's, or the chain is another.
  SIGERROR: "setup_fault",
  TOO_BIG_TRANSACTION_ERROR: "setup_fault",
};
const SHORT = /balance is not sufficient|no OwnerAccount|account (does )?not exist/i;

/** @throws MalformedAnswer for what is no answer to a send */
export function readSendAnswer(body: unknown, txId: string): { readonly meaning: SendMeaning; readonly text: string } {
  const { result, code, message, txid } = parseObject(body, "answer to a send");
  const text = readable(message);
  const name = typeof code === "string" ? code : result === true ? "SUCCESS" : "";
  // Bytes have one id. Whoever names another one has not said that it took these.
  const isOwn = txid === undefined || txid === txId;
  if (name === "SUCCESS") {
    const meaning = result === true && isOwn ? "accepted" : "unknown";
    return { meaning, text: meaning === "accepted" ? "" : `a success of ${String(txid)}` };
  }
  const known = Object.hasOwn(MEANINGS, name) ? MEANINGS[name] : undefined;
  const meaning = name === "CONTRACT_VALIDATE_ERROR" && SHORT.test(text) ? "wallet_short" : (known ?? "unknown");
  return { meaning, text: `${name || "no code"}${text === "" ? "" : `: ${text}`}` };
}
