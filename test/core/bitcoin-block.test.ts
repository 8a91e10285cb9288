/** Blocks and transactions from their bytes: what a provider could hide, add or alter, and what is found out. */

import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRawBlock, readRawHeader, statedHeight } from "../../src/chains/bitcoin/block.ts";
import { merkleRoot } from "../../src/chains/bitcoin/merkle-root.ts";
import { isCoinbase, readRawTransaction } from "../../src/chains/bitcoin/transaction.ts";
import { MalformedAnswer } from "../../src/chains/rpc/malformed.ts";
import { type BitcoinBlock, blockHex, GENESIS } from "../support/bitcoin-block.ts";
import { BitcoinChain } from "../support/bitcoin-chain.ts";
import { FAUCET, testKey } from "../support/bitcoin-faucet.ts";
import { doubleSha, hashBytes, shownHash } from "../support/bitcoin-tx.ts";

/** Block 100,000 of the main chain. */
const HEADER_100K =
  "0100000050120119172a610421a6c3011dd330d9df07b63616c2cc1f1cd00200000000006657a9252aacd5c0b2940996ecff952228c3067cc38d4885efb5a4ac4247e9f337221b4d4c86041b0f2b5710";
const TXIDS_100K = [
  "8c14f0db3df150123e6f3dbbf30f8b955a8249b62ac1d1ff16284aefa3d06d87",
  "fff2525b8931402dd09222c50775608f75787bd2b87e56995a7bdd30f79702c4",
  "6359f0868171b1d194cbee1af2f16ea598ae8fad666d9b012c8ed2b79a236ec4",
  "e9a66845e05d5abc0ad04ec80f774a7e585c6e8db975962d069a522137b80c1d",
];
const ROOT_100K = "f3e94742aca4b5ef85488dc37c06c3282295ffec960994b2c0d5ac2a25a95766";

const chain = BitcoinChain.grown(108);
/** A block with witnesses, and inputs that have none. */
function fullBlock(payments: number): BitcoinBlock {
  const own = chain.fork();
  const key = testKey("merchant");
  for (let i = 0; i < payments; i++) {
    const to = [key.address, key.legacyAddress, key.taprootAddress][i % 3] ?? "";
    own.pay(to, 10_000n + BigInt(i), { legacy: i === 1, outputs: [{ to: FAUCET.taprootScript, amount: 5_000n }] });
  }
  return own.mine();
}

/** The header with the root of these transactions, and their bytes behind it. */
function withTransactions(block: BitcoinBlock, raws: readonly string[], root?: string): string {
  const made = root ?? merkleRoot(raws.map((raw) => readRawTransaction(raw).txId)).root;
  const header = `${block.header.slice(0, 72)}${bytesToHex(hashBytes(made))}${block.header.slice(136)}`;
  return `${header}${raws.length.toString(16).padStart(2, "0")}${raws.join("")}`;
}

describe("a header", () => {
  it("says what the main chain's block 100,000 says", () => {
    expect(readRawHeader(HEADER_100K)).toEqual({
      hash: "000000000003ba27aa200b1cecaad478d2b00432346c3f1f3986da1afd33e506",
      parentHash: "000000000002d01c1fccc21636b607dfd930d31d01c3a62104612a1719011250",
      merkleRoot: ROOT_100K,
      timestamp: 1_293_623_863,
      version: 1,
    });
    expect(readRawHeader(HEADER_100K.toUpperCase()).hash).toBe(readRawHeader(HEADER_100K).hash);
  });

  it.each([HEADER_100K.slice(2), `${HEADER_100K}00`, `${HEADER_100K}0`, "", "zz", null, 5, {}])(
    "is 80 bytes in hex, not %j",
    (raw) => {
      expect(() => readRawHeader(raw)).toThrow(MalformedAnswer);
    },
  );
});

describe("a merkle root", () => {
  it("is that of the main chain's block 100,000", () => {
    expect(merkleRoot(TXIDS_100K)).toEqual({ root: ROOT_100K, repeats: false });
  });

  it("of one transaction is its id", () => {
    expect(merkleRoot(TXIDS_100K.slice(0, 1))).toEqual({ root: TXIDS_100K[0], repeats: false });
  });

  it.each([
    [3, 1],
    [5, 1],
    [6, 2],
    [7, 1],
    [9, 1],
    [10, 2],
    [12, 4],
  ])(
    "CVE-2012-2459: of %i ids is also that of a list whose last %i are there twice, which is noticed",
    (count, end) => {
      const ids = Array.from({ length: count }, (_, i) => shownHash(doubleSha(Uint8Array.of(i))));
      const plain = merkleRoot(ids);
      const repeated = merkleRoot([...ids, ...ids.slice(-end)]);
      expect(repeated.root).toBe(plain.root);
      expect([plain.repeats, repeated.repeats]).toEqual([false, true]);
    },
  );
});

describe("a block", () => {
  const full = fullBlock(5);
  const raw = blockHex(full);

  it("says what each transaction spends and pays, by ids that its own bytes give", () => {
    const block = readRawBlock(raw);
    expect(block.header).toMatchObject({ hash: full.hash, parentHash: full.parentHash, timestamp: full.time });
    expect(
      block.transactions.map(({ txId, inputs, outputs }) => ({
        txid: txId,
        inputs: inputs.map(({ txId: txid, vout, script, sequence }) => ({ txid, vout, scriptSig: script, sequence })),
        outputs: outputs.map(({ amountUnits, script }) => ({ amount: amountUnits, script })),
      })),
    ).toEqual(
      full.txs.map(({ txid, inputs, outputs }) => ({
        txid,
        inputs: inputs.map(({ witness: _, ...input }) => input),
        outputs: outputs.map(({ amount, script }) => ({ amount, script })),
      })),
    );
    expect(block.transactions.map(isCoinbase)).toEqual([true, false, false, false, false, false]);
  });

  it("is read back from every size of list", () => {
    for (const payments of [0, 1, 2, 3, 8]) {
      const block = fullBlock(payments);
      expect(readRawBlock(blockHex(block)).transactions).toHaveLength(payments + 1);
    }
  });

  it("states its height, as one opcode, in one byte or in two, and not before BIP-34", () => {
    const own = new BitcoinChain();
    own.mine(300);
    for (const height of [1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 300]) {
      const block = own.at(height);
      if (block === undefined) throw new Error(`no block ${height}`);
      expect(statedHeight(readRawBlock(blockHex(block)))).toBe(height);
    }
    expect(statedHeight(readRawBlock(blockHex(GENESIS)))).toBeNull();
  });

  it("cannot lose, gain, swap or alter a transaction", () => {
    const raws = full.txs.map((tx) => tx.raw);
    const stranger = chain.pay(testKey("stranger").address, 77_777n, { keepBack: true }).raw;
    const [coinbase = "", first = "", second = "", ...rest] = raws;
    const cases = [
      [coinbase, first, ...rest],
      [...raws, stranger],
      [coinbase, second, first, ...rest],
      [coinbase, stranger, second, ...rest],
      [coinbase],
    ];
    for (const list of cases) {
      const altered = withTransactions(full, list, full.merkleRoot);
      expect(() => readRawBlock(altered)).toThrow(/merkle root/);
      // With a root of its own it is another block.
      expect(readRawBlock(withTransactions(full, list)).header.hash).not.toBe(full.hash);
    }
    expect(readRawBlock(withTransactions(full, raws)).header.hash).toBe(full.hash);
  });

  it("CVE-2012-2459: cannot have the end of its list twice", () => {
    const raws = full.txs.map((tx) => tx.raw);
    const doubled = withTransactions(full, [...raws, ...raws.slice(-2)], full.merkleRoot);
    expect(() => readRawBlock(doubled)).toThrow(/each transaction once/);
  });

  it("has one coinbase, at its place", () => {
    const raws = full.txs.map((tx) => tx.raw);
    const [coinbase = "", ...payments] = raws;
    for (const list of [payments, [...payments, coinbase], [coinbase, ...payments, chain.tip.txs[0]?.raw ?? ""]]) {
      expect(() => readRawBlock(withTransactions(full, list))).toThrow(/coinbase first and alone/);
    }
  });

  it("cannot be given as the inner nodes of its own tree, 64 bytes each", () => {
    const ids = full.txs.map((tx) => bytesToHex(hashBytes(tx.txid)));
    const pairs = [0, 2, 4].map((i) => `${ids[i]}${ids[i + 1]}`);
    const forged = `${full.header}03${pairs.join("")}`;
    expect(() => readRawBlock(forged)).toThrow(MalformedAnswer);
  });

  it("has no bit that could be changed unnoticed, but for the witnesses", () => {
    const bytes = hexToBytes(raw);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const other = bytes.slice();
        other[at] = (other[at] ?? 0) ^ mask;
        let read: ReturnType<typeof readRawBlock> | null = null;
        try {
          read = readRawBlock(bytesToHex(other));
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedAnswer);
        }
        if (read === null || read.header.hash !== full.hash) return;
        expect(read.transactions).toEqual(readRawBlock(raw).transactions);
      }),
      { numRuns: 3_000 },
    );
  });

  it("is whole: no shorter and no longer", () => {
    fc.assert(
      fc.property(fc.nat(raw.length / 2 - 1), (length) => {
        expect(() => readRawBlock(raw.slice(0, 2 * length))).toThrow(MalformedAnswer);
      }),
    );
    expect(() => readRawBlock(`${raw}00`)).toThrow(/1 bytes after the end/);
  });

  it.each([
    ["no transaction", `${full.header}00`],
    ["more transactions than it has bytes", `${full.header}feffffffff`],
    ["a count of 2^32 and more", `${full.header}ffffffffffffffffff`],
    ["a count in a longer spelling", `${full.header}fd0600${raw.slice(162)}`],
    ["another answer", "null"],
  ])("is refused with %s", (_, text) => {
    expect(() => readRawBlock(text)).toThrow(MalformedAnswer);
  });
});

describe("a transaction", () => {
  const tx = chain.pay(testKey("merchant").address, 12_345n, { keepBack: true });

  it("has the id of its bytes without witnesses", () => {
    expect(readRawTransaction(tx.raw).txId).toBe(tx.txid);
    expect(tx.wtxid).not.toBe(tx.txid);
  });

  it("has no amount above all the coins there are", () => {
    const amount = tx.raw.indexOf(bytesToHex(Uint8Array.of(0x39, 0x30, 0, 0, 0, 0, 0, 0)));
    const paying = (hex: string) => `${tx.raw.slice(0, amount)}${hex}${tx.raw.slice(amount + 16)}`;
    // 21 million coins, and one satoshi more.
    expect(readRawTransaction(paying("0040075af0750700")).outputs[0]?.amountUnits).toBe(2_100_000_000_000_000n);
    expect(() => readRawTransaction(paying("0140075af0750700"))).toThrow(/at most 2100000000000000 satoshi/);
    expect(() => readRawTransaction(paying("ffffffffffffffff"))).toThrow(MalformedAnswer);
  });

  it.each([null, "", "00", `${tx.raw}00`, tx.raw.slice(2), `02000000${"00".repeat(60)}`])("is not %j", (raw) => {
    expect(() => readRawTransaction(raw)).toThrow(MalformedAnswer);
  });
});
