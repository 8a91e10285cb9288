/** What clients answer to eth_sendRawTransaction, in their own spellings, and what the answers mean together. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { meaningOf, type SendMeaning, together } from "../../src/core/send-answer.ts";

const OURS = `0x${"ab".repeat(32)}`;
const says = (text: string, code = -32000) => meaningOf({ kind: "error", code, text }, OURS);

/** Whoever wrote the text is named first: the software, or the gateway in front of it. */
const ANSWERS: readonly (readonly [SendMeaning, string, string])[] = [
  ["already_known", "geth", "already known"],
  ["already_known", "nethermind", "AlreadyKnown"],
  ["already_known", "besu", "Known transaction"],
  ["already_known", "geth of old", "known transaction: abababab"],
  ["already_known", "erigon", "INTERNAL_ERROR: existing tx with same hash"],
  ["already_known", "erigon", "INTERNAL_ERROR: existing txn with same hash"],
  ["already_known", "anvil", "transaction already imported"],
  ["already_known", "openethereum", "Transaction with the same hash was already imported."],
  ["already_known", "cosmos", "tx already exists in cache"],
  ["already_known", "cosmos", "tx already in mempool"],

  ["nonce_consumed", "geth", "nonce too low: next nonce 14, tx nonce 13"],
  ["nonce_consumed", "reth", "nonce too low: next nonce 14, tx nonce 13"],
  ["nonce_consumed", "besu", "Nonce too low"],
  ["nonce_consumed", "erigon", "INTERNAL_ERROR: nonce too low"],
  ["nonce_consumed", "openethereum", "Transaction nonce is too low. Try incrementing the nonce."],
  ["nonce_consumed", "nethermind", "OldNonce, Current nonce: 14, nonce of rejected tx: 13"],
  ["nonce_consumed", "substrate", "submit transaction to pool failed: Pool(Stale)"],
  ["nonce_consumed", "a rollup", "invalid transaction nonce"],

  ["replacement_underpriced", "geth", "replacement transaction underpriced: new tx gas fee cap 5 <= 5 queued"],
  ["replacement_underpriced", "besu", "Replacement transaction underpriced"],
  ["replacement_underpriced", "reth", "replacement transaction underpriced"],
  ["replacement_underpriced", "reth's pool", "insufficient gas price to replace existing transaction"],
  ["replacement_underpriced", "erigon", "INTERNAL_ERROR: could not replace existing tx"],
  ["replacement_underpriced", "erigon", "replaced by transaction with higher tip"],
  ["replacement_underpriced", "nethermind", "ReplacementNotAllowed, Minimum fee: 11, fee of rejected tx: 10"],
  ["replacement_underpriced", "nethermind", "OwnNonceAlreadyUsed"],
  ["replacement_underpriced", "a gateway", "replacement fee too low"],
  [
    "replacement_underpriced",
    "openethereum",
    "Transaction gas price supplied is too low. There is another transaction with same nonce in the queue.",
  ],

  ["nonce_gap", "geth", "nonce too high: address 0x00, tx: 15 state: 13"],
  ["nonce_gap", "geth", "gapped-nonce tx from delegated accounts"],
  ["nonce_gap", "geth", "future transaction tries to replace pending"],
  ["nonce_gap", "nethermind", "NonceGap, Future nonce. Expected nonce: 13"],
  ["nonce_gap", "nethermind", "NonceTooFarInFuture"],
  ["nonce_gap", "nethermind", "nonce too far in the future"],
  ["nonce_gap", "besu", "Transaction nonce is too distant from current sender nonce"],

  ["wallet_short", "geth", "insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000"],
  ["wallet_short", "reth", "insufficient funds for gas * price + value: have 0 want 21000"],
  ["wallet_short", "geth", "insufficient funds for transfer"],
  ["wallet_short", "geth of old", "insufficient balance for transfer"],
  ["wallet_short", "anvil", "Insufficient funds for gas * price + value"],
  ["wallet_short", "ethers", "insufficient funds for intrinsic transaction cost"],
  ["wallet_short", "erigon", "INTERNAL_ERROR: insufficient funds"],
  ["wallet_short", "nethermind", "InsufficientFunds, Account balance: 0, cumulative cost: 21000"],
  ["wallet_short", "besu", "Upfront cost exceeds account balance"],
  ["wallet_short", "zksync", "not enough balance to cover the fee. gas limit: 21000"],
  ["wallet_short", "openethereum", "Insufficient funds. The account you tried to send transaction from is short."],

  ["fee_too_low", "geth", "transaction underpriced: gas tip cap 0, minimum needed 1"],
  ["fee_too_low", "erigon", "underpriced"],
  ["fee_too_low", "erigon", "INTERNAL_ERROR: fee too low"],
  ["fee_too_low", "nethermind", "FeeTooLow, FeePerGas needs to be higher than 7 to be added to the TxPool"],
  ["fee_too_low", "nethermind", "FeeTooLowToCompete"],
  ["fee_too_low", "besu", "Gas price below configured minimum gas price"],
  ["fee_too_low", "besu", "Gas price below current base fee"],
  ["fee_too_low", "geth", "max fee per gas less than block base fee: address 0x00, maxFeePerGas: 1, baseFee: 8"],
  ["fee_too_low", "geth of old", "fee cap less than block base fee"],
  ["fee_too_low", "optimism of old", "gas price too low: 1 wei, use at least tx.gasPrice = 2 wei"],
  ["fee_too_low", "openethereum", "Transaction gas price is too low. It does not satisfy the minimal gas price."],
  ["fee_too_low", "op-reth", "transaction priority fee below minimum required priority fee 100"],

  ["pool_full", "geth", "txpool is full"],
  ["pool_full", "erigon", "INTERNAL_ERROR: pending sub-pool is full"],
  ["pool_full", "erigon", "baseFee sub-pool is full"],
  ["pool_full", "erigon", "spammer"],
  ["pool_full", "reth", "transaction discarded outright due to pool size constraints"],
  ["pool_full", "a node", "queue full"],
  ["pool_full", "geth", "account limit exceeded: pooled 16 txs"],
  ["pool_full", "geth", "in-flight transaction limit reached for delegated accounts"],
  ["pool_full", "openethereum", "There are too many transactions in the queue. Try increasing the fee."],

  ["wrong_gas_limit", "geth", "intrinsic gas too low: gas 20000, minimum needed 21000"],
  ["wrong_gas_limit", "geth", "insufficient gas for floor data gas cost: gas 21000, minimum needed 21480"],
  ["wrong_gas_limit", "geth", "exceeds block gas limit"],
  ["wrong_gas_limit", "geth", "transaction gas limit too high (cap: 16777216, tx: 20000000)"],
  ["wrong_gas_limit", "besu", "Intrinsic gas exceeds gas limit"],
  ["wrong_gas_limit", "erigon", "IntrinsicGas"],
  ["wrong_gas_limit", "erigon", "gas limit is too high"],
  ["wrong_gas_limit", "nethermind", "GasLimitExceeded"],

  ["setup_fault", "geth", "invalid chain id for signer: have 1 want 5"],
  ["setup_fault", "reth", "invalid chain ID"],
  ["setup_fault", "besu", "Wrong chainId"],
  ["setup_fault", "besu", "ChainId not supported"],
  ["setup_fault", "besu", "Invalid signature"],
  ["setup_fault", "geth", "invalid sender"],
  ["setup_fault", "geth", "transaction type not supported"],
  ["setup_fault", "nethermind", "NotSupportedTxType"],
  ["setup_fault", "nethermind", "FailedToResolveSender"],
  ["setup_fault", "geth", "only replay-protected transactions, invalid chainId"],
  ["setup_fault", "a gateway", "wrong chain id: expected 1"],

  ["provider_unavailable", "a node", "node is syncing"],
  ["provider_unavailable", "nethermind", "Syncing"],
  ["provider_unavailable", "besu", "Initial sync is still in progress"],
  ["provider_unavailable", "geth", "the method eth_sendRawTransaction does not exist/is not available"],
  ["provider_unavailable", "a gateway", "Too Many Requests"],
  ["provider_unavailable", "a gateway", "project ID request rate limit exceeded"],
  ["provider_unavailable", "a gateway", "25/second request limit reached"],

  ["unknown", "a node", "unknown transaction type"],
  ["unknown", "a node", "unknown transaction"],
  ["unknown", "geth", "context deadline exceeded"],
  ["unknown", "geth", "request timed out"],
  ["unknown", "besu", "Incorrect nonce"],
  ["unknown", "cosmos", "invalid nonce; got 5, expected 7: invalid sequence"],
  ["unknown", "geth", "tx fee (1.50 ether) exceeds the configured cap (1.00 ether)"],
  ["unknown", "geth", "address already reserved"],
  ["unknown", "a node", "execution reverted"],
  ["unknown", "a node", "internal error"],
  ["unknown", "a node", ""],
];

describe("an answer with an error", () => {
  it.each(ANSWERS)("%s: %s says %j", (meaning, _who, text) => {
    expect(says(text)).toBe(meaning);
  });

  it("means the same in any case, with details around it, and with any code that is not a limit", () => {
    for (const [meaning, , text] of ANSWERS) {
      expect(says(text.toUpperCase()), text).toBe(meaning);
      expect(says(`err: ${text}`), text).toBe(meaning);
      expect(says(`${text}: hash 0x12, sender 0x34 (attempt 2)`), text).toBe(meaning);
      for (const code of [-32003, -32010, -32603, 0, 3]) expect(says(text, code), text).toBe(meaning);
    }
  });

  it("knows each meaning by at least one text, except what only a hash says", () => {
    const named = new Set(ANSWERS.map(([meaning]) => meaning));
    expect(EVERY_MEANING.filter((meaning) => !named.has(meaning))).toEqual(["accepted"]);
  });

  it.each([
    [-32005, "limit exceeded", "provider_unavailable"],
    [-32005, "", "provider_unavailable"],
    [429, "your app has exceeded its compute units", "provider_unavailable"],
    [-32005, "Transaction gas limit exceeds block gas limit", "wrong_gas_limit"],
    [-32005, "nonce too low", "nonce_consumed"],
    [429, "already known", "already_known"],
    [-32003, "rejected", "unknown"],
    [-32000, "limit", "unknown"],
  ] as const)("code %i with %j: %s", (code, text, meaning) => {
    expect(says(text, code)).toBe(meaning);
  });
});

describe("any other answer", () => {
  it("a hash is ours in any case", () => {
    expect(meaningOf({ kind: "hash", hash: OURS }, OURS)).toBe("accepted");
    expect(meaningOf({ kind: "hash", hash: OURS.toUpperCase() }, OURS)).toBe("accepted");
    expect(meaningOf({ kind: "hash", hash: OURS }, OURS.toUpperCase())).toBe("accepted");
  });

  it.each([`0x${"cd".repeat(32)}`, "", "0x", OURS.slice(2), `${OURS}00`])("another hash, %j, is a lie", (hash) => {
    expect(meaningOf({ kind: "hash", hash }, OURS)).toBe("unknown");
  });

  it.each([
    [429, "provider_unavailable"],
    [null, "unknown"],
    [200, "unknown"],
    [400, "unknown"],
    [500, "unknown"],
    [502, "unknown"],
    [503, "unknown"],
    [504, "unknown"],
  ] as const)("no answer with status %s: %s", (status, meaning) => {
    expect(meaningOf({ kind: "no_answer", text: "no answer", status }, OURS)).toBe(meaning);
  });

  it("a text without an answer decides nothing: the bytes may have arrived", () => {
    expect(meaningOf({ kind: "no_answer", text: "insufficient funds", status: 502 }, OURS)).toBe("unknown");
  });
});

const EVERY_MEANING: readonly SendMeaning[] = [
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
  "setup_fault",
];

describe("answers of several providers together", () => {
  it("the earlier of two in the order wins, whoever says it first", () => {
    for (const [i, heavy] of EVERY_MEANING.entries()) {
      for (const light of EVERY_MEANING.slice(i)) {
        expect(together([heavy, light]), `${heavy} and ${light}`).toBe(heavy);
        expect(together([light, heavy]), `${light} and ${heavy}`).toBe(heavy);
      }
    }
  });

  it.each([
    ["nobody was asked", [], "unknown"],
    ["B83: one has the bytes, the others refuse", ["fee_too_low", "already_known", "setup_fault"], "already_known"],
    ["B84: one has mined it already", ["unknown", "nonce_consumed", "provider_unavailable"], "nonce_consumed"],
    ["one did not answer: the bytes may be there", ["wallet_short", "unknown", "fee_too_low"], "unknown"],
    ["a raised fee does not help a short wallet", ["fee_too_low", "wallet_short"], "wallet_short"],
    ["one of another chain does not stop a wallet", ["setup_fault", "setup_fault", "pool_full"], "pool_full"],
    ["a set-up fault that one of two did not see", ["setup_fault", "provider_unavailable"], "provider_unavailable"],
    ["a set-up fault that all see", ["setup_fault", "setup_fault"], "setup_fault"],
  ] as const)("%s", (_name, meanings, expected) => {
    expect(together(meanings)).toBe(expected);
  });

  it("means something that was said, and the same in any order", () => {
    const meanings = fc.array(fc.constantFrom(...EVERY_MEANING), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(meanings, (said) => {
        expect(said).toContain(together(said));
        expect(together([...said].reverse())).toBe(together(said));
      }),
    );
  });
});
