/** What a call that hands over signed bytes has come to, when it did not succeed. */

import type { SendReply } from "../../core/send-answer.ts";
import type { RpcFailure } from "./rpc-failure.ts";

/** A JSON-RPC error is the node's own word. Anything else leaves open whether the bytes arrived. */
export function replyOf({ kind, code, message }: RpcFailure): SendReply {
  if (kind === "rpc") return { kind: "error", code, text: message };
  return { kind: "no_answer", text: message, status: kind === "status" || kind === "redirect" ? code : null };
}
