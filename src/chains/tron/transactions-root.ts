/**
 * The root over a block's transactions (`txTrieRoot`): a tree of SHA-256 over each one's whole bytes, as far as JSON
 * shows them. A field that nobody knows, which a stranger may have added to the envelope of a transaction, is in the
 * bytes and not in the JSON: then the root does not come out, though the node hides and invents nothing.
 */

import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { parseObject } from "../rpc/malformed.ts";
import { parseCount, parseHex, parseItems, parseText } from "./answers.ts";
import { ProtobufWriter } from "./protobuf.ts";

/** `Transaction.Result.contractResult`, by number. */
const OUTCOMES = [
  "DEFAULT",
  "SUCCESS",
  "REVERT",
  "BAD_JUMP_DESTINATION",
  "OUT_OF_MEMORY",
  "PRECOMPILED_CONTRACT",
  "STACK_TOO_SMALL",
  "STACK_TOO_LARGE",
  "ILLEGAL_OPERATION",
  "STACK_OVERFLOW",
  "OUT_OF_ENERGY",
  "OUT_OF_TIME",
  "JVM_STACK_OVER_FLOW",
  "UNKNOWN",
  "TRANSFER_FAILED",
  "INVALID_CODE",
];

/** Hash of a transaction's bytes: a leaf. @param item as a block's JSON has it @throws MalformedAnswer */
export function leafOf(item: Readonly<Record<string, unknown>>): string {
  const writer = new ProtobufWriter().always(1, parseHex(item.raw_data_hex, null, "raw_data_hex"));
  for (const signature of parseItems(item.signature, "signatures"))
    writer.always(2, parseHex(signature, null, "signature"));
  for (const ret of parseItems(item.ret, "ret")) {
    const { fee, ret: code, contractRet } = parseObject(ret, "ret");
    const result = new ProtobufWriter()
      .number(1, parseCount(fee, "ret's fee"))
      .number(2, code === "FAILED" ? 1 : 0)
      .number(3, Math.max(0, OUTCOMES.indexOf(parseText(contractRet, "contractRet"))));
    writer.always(5, result.hex());
  }
  return hashOf(writer.hex());
}

/** A leaf without a neighbour goes up as it is. */
export function rootOf(leaves: readonly string[]): string {
  let row = leaves;
  while (row.length > 1) {
    const above: string[] = [];
    for (let i = 0; i < row.length; i += 2) {
      const [left = "", right] = row.slice(i, i + 2);
      above.push(right === undefined ? left : hashOf(left + right));
    }
    row = above;
  }
  return row[0] ?? "";
}

function hashOf(hex: string): string {
  return bytesToHex(sha256(hexToBytes(hex)));
}
