/** What nodes answer to sendrawtransaction, in their own words. */

import { describe, expect, it } from "vitest";
import { meaningOfCoinSend } from "../../src/core/coin-send-answer.ts";
import type { SendMeaning } from "../../src/core/send-answer.ts";

const OURS = "ab".repeat(32);
const says = (code: number, text: string) => meaningOfCoinSend({ kind: "error", code, text }, OURS);

const ANSWERS: readonly (readonly [SendMeaning, number, string])[] = [
  ["already_known", -27, "Transaction outputs already in utxo set"],
  ["already_known", -27, "Transaction already in block chain"],
  ["already_known", -27, "whatever a later version says"],
  ["already_known", -26, "txn-already-in-mempool"],
  ["already_known", -26, "txn-already-known"],
  ["already_known", -26, "txn-same-nonwitness-data-in-mempool"],

  ["nonce_consumed", -25, "bad-txns-inputs-missingorspent"],
  ["nonce_consumed", -25, "Missing inputs"],
  ["nonce_consumed", -25, "Inputs missing or spent"],
  ["nonce_consumed", -26, "missing-inputs"],

  [
    "replacement_underpriced",
    -26,
    `insufficient fee, rejecting replacement ${OURS}; new feerate 0.00001001 BTC/kvB <= old feerate 0.00002 BTC/kvB`,
  ],
  [
    "replacement_underpriced",
    -26,
    `insufficient fee, rejecting replacement ${OURS}, less fees than conflicting txs; 0.00000141 < 0.00000282`,
  ],
  [
    "replacement_underpriced",
    -26,
    `insufficient fee, rejecting replacement ${OURS}, not enough additional fees to relay; 0.00 < 0.00000141`,
  ],
  ["replacement_underpriced", -26, "replacement-failed, insufficient feerate: does not improve feerate diagram"],
  ["replacement_underpriced", -26, "txn-mempool-conflict"],
  ["replacement_underpriced", -26, "bip125-replacement-disallowed"],
  ["replacement_underpriced", -26, `too many potential replacements, rejecting replacement ${OURS}`],
  ["replacement_underpriced", -26, "replacement-adds-unconfirmed, replacement adds unconfirmed input, idx 1"],

  ["fee_too_low", -26, "min relay fee not met, 100 < 141"],
  ["fee_too_low", -26, "mempool min fee not met, 141 < 705"],

  ["pool_full", -26, "mempool full"],
  ["pool_full", -26, "too-long-mempool-chain, too many unconfirmed ancestors [limit: 25]"],
  ["pool_full", -26, "too-large-cluster"],

  ["provider_unavailable", -28, "Loading block index…"],
  ["provider_unavailable", -28, "Verifying blocks…"],
  ["provider_unavailable", -28, "dust"],
  ["provider_unavailable", -26, "bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 99"],
  ["provider_unavailable", -32005, "daily request count exceeded, request rate limited by rate limit"],
  ["provider_unavailable", 429, "Too Many Requests"],

  ["setup_fault", -22, "TX decode failed. Make sure the tx has at least one input."],
  ["setup_fault", -26, "dust, tx with dust output must be 0-fee"],
  ["setup_fault", -26, "dust"],
  ["setup_fault", -26, "scriptpubkey"],
  ["setup_fault", -26, "tx-size"],
  ["setup_fault", -26, "non-final"],
  ["setup_fault", -26, "non-BIP68-final"],
  [
    "setup_fault",
    -26,
    "mempool-script-verify-flag-failed (Signature must be zero for failed CHECK(MULTI)SIG operation)",
  ],
  ["setup_fault", -26, "mandatory-script-verify-flag-failed (Script failed an OP_EQUALVERIFY operation)"],
  ["setup_fault", -26, "bad-txns-in-belowout, value in (0.1) < value out (0.2)"],
  ["setup_fault", -25, "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)"],
  ["setup_fault", -25, "Unspendable output exceeds maximum configured by user (maxburnamount)"],
  ["setup_fault", -32601, "Method not found"],

  ["unknown", -26, "some new policy"],
  ["unknown", -25, "Mempool internal error"],
  ["unknown", -1, ""],
  ["unknown", -32603, "internal error"],
];

describe("an error", () => {
  it.each(ANSWERS)("%s: %i %s", (meaning, code, text) => {
    expect(says(code, text)).toBe(meaning);
    if (code !== -28) expect(says(code, text.toUpperCase())).toBe(meaning);
  });
});

describe("anything else", () => {
  it.each([
    ["accepted", { kind: "hash", hash: OURS }],
    ["accepted", { kind: "hash", hash: OURS.toUpperCase() }],
    ["unknown", { kind: "hash", hash: "cd".repeat(32) }],
    ["provider_unavailable", { kind: "no_answer", text: "HTTP 429", status: 429 }],
    ["unknown", { kind: "no_answer", text: "HTTP 503: Work queue depth exceeded", status: 503 }],
    ["unknown", { kind: "no_answer", text: "HTTP 502", status: 502 }],
    ["unknown", { kind: "no_answer", text: "HTTP 401", status: 401 }],
    ["unknown", { kind: "no_answer", text: "no answer within 10000 ms", status: null }],
    ["unknown", { kind: "no_answer", text: "dust", status: null }],
  ] as const)("%s: %j", (meaning, reply) => {
    expect(meaningOfCoinSend(reply, OURS)).toBe(meaning);
  });
});
