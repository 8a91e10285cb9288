/** I16: bytes that are kept decode to the intent that was approved, in every field, and are signed by its coins' keys. */

import { secp256k1 } from "@noble/curves/secp256k1";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { HDKey } from "@scure/bip32";
import { RawTx, Transaction } from "@scure/btc-signer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSigned } from "../../src/chains/bitcoin/signed-spend.ts";
import { scriptCodeOf } from "../../src/chains/bitcoin/spend-form.ts";
import type { SpendIntent } from "../../src/chains/coin-payout.ts";
import { scriptOfAddress } from "../../src/core/bitcoin-address.ts";
import { coinOf, coinWallet, PAYEES, REGTEST, SEED } from "../support/coin-wallet.ts";

type Raw = ReturnType<typeof RawTx.decode>;
type Input = Raw["inputs"][number];

const ORDER = secp256k1.CURVE.n;
const wallet = coinWallet();
const stranger = coinWallet("stranger");
const rules = { network: REGTEST, replacedUnits: null };
const [first, second] = [coinOf(wallet, 1, 70_000n), coinOf(wallet, 2, 50_000n)];
const intent: SpendIntent = {
  inputs: [first, second],
  payments: [
    { address: PAYEES.p2tr, amountUnits: 60_000n },
    { address: PAYEES.p2pkh, amountUnits: 30_000n },
  ],
  change: { address: wallet.addressAt("1/3"), path: "1/3", amountUnits: 29_000n },
};
const raw = await wallet.sign(intent);
const problemOf = (text: string, wanted = intent, by: Parameters<typeof readSigned>[2] = rules) => {
  const read = readSigned(text, wanted, by);
  return read.ok ? "none" : read.problem;
};

/** The signed transaction with something changed, and its signatures as they were. */
function altered(change: (tx: Raw) => Raw): string {
  return bytesToHex(RawTx.encode(change(RawTx.decode(hexToBytes(raw)))));
}

/** The same with all signatures made anew by the coins' own keys: only the fields themselves are wrong then. */
function resigned(change: (tx: Raw) => Raw, sighash = 1): string {
  const tx = Transaction.fromRaw(hexToBytes(altered(change)), { allowUnknownOutputs: true });
  const account = HDKey.fromMasterSeed(hexToBytes(SEED)).derive(wallet.path);
  return altered((decoded) => ({
    ...change(decoded),
    segwitFlag: true,
    witnesses: intent.inputs.slice(0, tx.inputsLength).map(({ path, address, amountUnits }, place) => {
      const { privateKey, publicKey } = account.derive(`m/${path}`);
      if (privateKey === null || publicKey === null) throw new Error("no key");
      const script = scriptCodeOf(scriptOfAddress(REGTEST.addresses, address));
      const hash = tx.preimageWitnessV0(place, script, sighash, amountUnits);
      const der = secp256k1.sign(hash, privateKey).toDERRawBytes();
      return [new Uint8Array([...der, sighash]), publicKey];
    }),
  }));
}

const input = (place: number, change: Partial<Input>) => (tx: Raw) => ({
  ...tx,
  inputs: tx.inputs.map((one, n) => (n === place ? { ...one, ...change } : one)),
});
const output = (place: number, change: { amount?: bigint; script?: Uint8Array }) => (tx: Raw) => ({
  ...tx,
  outputs: tx.outputs.map((one, n) => (n === place ? { ...one, ...change } : one)),
});
const witness = (place: number, change: (items: readonly Uint8Array[]) => Uint8Array[]) => (tx: Raw) => ({
  ...tx,
  witnesses: (tx.witnesses ?? []).map((items, n) => (n === place ? change(items) : items)),
});
const at = (items: readonly Uint8Array[], place: number) => items[place] ?? new Uint8Array();
const script = (address: string) => hexToBytes(scriptOfAddress(REGTEST.addresses, address));

describe("readSigned takes", () => {
  it.each<[string, SpendIntent]>([
    ["two coins, two payments and change", intent],
    [
      "no change",
      { ...intent, change: null, payments: [...intent.payments, { address: PAYEES.p2wsh, amountUnits: 28_000n }] },
    ],
    [
      "nobody is paid",
      {
        inputs: [first],
        payments: [],
        change: { address: wallet.addressAt("1/9"), path: "1/9", amountUnits: 69_000n },
      },
    ],
    [
      "every form of address",
      {
        inputs: [first, second],
        payments: Object.values(PAYEES).map((address) => ({ address, amountUnits: 20_000n })),
        change: { address: wallet.addressAt("1/3"), path: "1/3", amountUnits: 19_000n },
      },
    ],
    [
      "one address twice",
      {
        ...intent,
        payments: [
          { address: PAYEES.p2tr, amountUnits: 45_000n },
          { address: PAYEES.p2tr, amountUnits: 45_000n },
        ],
      },
    ],
  ])("what was asked for: %s", async (_name, wanted) => {
    const bytes = await wallet.sign(wanted);
    const tx = Transaction.fromRaw(hexToBytes(bytes));
    const signed = { txId: tx.id, raw: bytes, vsize: tx.vsize };
    expect(readSigned(bytes, wanted, rules)).toEqual({ ok: true, signed });
    expect(readSigned(bytes.toUpperCase(), wanted, rules)).toEqual({ ok: true, signed });
  });

  it("what the test signs itself: so what it refuses below is refused for its fields", () => {
    expect(problemOf(resigned((tx) => tx))).toBe("none");
  });
});

describe("readSigned refuses, and names", () => {
  const changes: readonly [string, (tx: Raw) => Raw][] = [
    ["version", (tx) => ({ ...tx, version: 1 })],
    ["lockTime", (tx) => ({ ...tx, lockTime: 1 })],
    ["lockTime", (tx) => ({ ...tx, lockTime: 0xffffffff })],
    ["input 0", input(0, { txid: hexToBytes(second.txId) })],
    ["input 0", input(0, { index: first.vout + 1 })],
    ["input 1", input(1, { txid: hexToBytes("ab".repeat(32)) })],
    ["input 0", (tx) => ({ ...tx, inputs: [...tx.inputs].reverse() })],
    ["input 0 sequence", input(0, { sequence: 0xffffffff })],
    ["input 1 sequence", input(1, { sequence: 0xfffffffe })],
    ["input 1 sequence", input(1, { sequence: 1 })],
    ["input 0 script", input(0, { finalScriptSig: new Uint8Array([0x51]) })],
    ["output 0 amount", output(0, { amount: 60_001n })],
    ["output 1 amount", output(1, { amount: 29_999n })],
    ["output 2 amount", output(2, { amount: 29_001n })],
    ["output 0 script", output(0, { script: script(PAYEES.p2wsh) })],
    ["output 1 script", output(1, { script: script(PAYEES.p2sh) })],
    ["output 2 script", output(2, { script: script(stranger.address) })],
    ["output 2 script", output(2, { script: script(wallet.addressAt("1/4")) })],
    ["output 0 script", (tx) => ({ ...tx, outputs: [...tx.outputs].reverse() })],
    ["outputs", (tx) => ({ ...tx, outputs: tx.outputs.slice(0, 2) })],
    ["outputs", (tx) => ({ ...tx, outputs: [...tx.outputs, { amount: 1n, script: script(stranger.address) }] })],
    ["outputs", (tx) => ({ ...tx, outputs: [...tx.outputs, { amount: 0n, script: new Uint8Array([0x6a]) }] })],
  ];

  it.each(changes)("%s, however it is signed: %#", (field, change) => {
    for (const text of [altered(change), resigned(change)])
      expect(problemOf(text)).toMatch(new RegExp(`^signed transaction: ${field} is .+, expected .+`));
  });

  it.each<[string, (tx: Raw) => Raw]>([
    ["inputs", (tx) => ({ ...tx, inputs: tx.inputs.slice(0, 1), witnesses: tx.witnesses?.slice(0, 1) })],
    [
      "inputs",
      (tx) => ({
        ...tx,
        inputs: [...tx.inputs, ...tx.inputs],
        witnesses: [...(tx.witnesses ?? []), ...(tx.witnesses ?? [])],
      }),
    ],
    ["witnesses", (tx) => ({ ...tx, segwitFlag: false, witnesses: undefined })],
    ["input 0 witness", witness(0, () => [])],
    ["input 1 witness", witness(1, (items) => [at(items, 0)])],
    ["input 0 witness", witness(0, (items) => [...items, new Uint8Array()])],
    ["input 0 key", witness(0, (items) => [at(items, 0), at(items, 0)])],
    ["input 0 key", (tx) => witness(0, (items) => [at(items, 0), at(tx.witnesses?.[1] ?? [], 1)])(tx)],
    ["input 0 sighash type", witness(0, (items) => [at(items, 0).slice(0, -1), at(items, 1)])],
    ["input 0 sighash type", witness(0, (items) => [new Uint8Array(), at(items, 1)])],
    ["input 0 signature", (tx) => witness(0, (items) => [at(tx.witnesses?.[1] ?? [], 0), at(items, 1)])(tx)],
    [
      "input 1 signature",
      witness(1, (items) => [at(items, 0).map((byte, n) => (n === 20 ? byte ^ 1 : byte)), at(items, 1)]),
    ],
  ])("%s: %#", (field, change) => {
    expect(problemOf(altered(change))).toMatch(new RegExp(`^signed transaction: ${field} is .+, expected .+`));
  });

  it.each([0x00, 0x02, 0x03, 0x81, 0x82, 0x83, 0x41])("a signature that does not cover all: type %i", (type) => {
    expect(problemOf(resigned((tx) => tx, type))).toBe(
      `signed transaction: input 0 sighash type is ${type}, expected 1`,
    );
  });

  it("a signature's twin with the upper half of s", () => {
    const text = altered(
      witness(0, (items) => {
        const { r, s } = secp256k1.Signature.fromDER(at(items, 0).slice(0, -1));
        return [new Uint8Array([...new secp256k1.Signature(r, ORDER - s).toDERRawBytes(), 1]), at(items, 1)];
      }),
    );
    expect(problemOf(text)).toMatch(/^signed transaction: input 0 signature is not of this transaction/);
  });

  it("a compact signature in place of DER", () => {
    const text = altered(
      witness(0, (items) => {
        const signature = secp256k1.Signature.fromDER(at(items, 0).slice(0, -1));
        return [new Uint8Array([...signature.toCompactRawBytes(), 1]), at(items, 1)];
      }),
    );
    expect(problemOf(text)).toMatch(/^signed transaction: input 0 signature is not of this transaction/);
  });

  it("a signature over another amount of the coin: the fee would be another", async () => {
    const richer = { ...intent, inputs: [{ ...first, amountUnits: 70_001n }, second] };
    expect(problemOf(await wallet.sign(richer))).toMatch(/^signed transaction: input 0 signature is/);
  });

  it("what another wallet signed", async () => {
    const others = { ...intent, inputs: [coinOf(stranger, 1, 70_000n)], change: null };
    const bytes = await stranger.sign({ ...others, payments: [{ address: PAYEES.p2tr, amountUnits: 60_000n }] });
    const ours = { ...others, inputs: [first], payments: [{ address: PAYEES.p2tr, amountUnits: 60_000n }] };
    expect(problemOf(bytes, ours)).toMatch(/^signed transaction: input 0 key is/);
  });

  it.each([
    ["no hex", "zz"],
    ["nothing", ""],
    ["half a byte", raw.slice(1)],
    ["a prefix", `0x${raw}`],
    ["too much of it", "00".repeat(240_001)],
    ["bytes cut off", raw.slice(0, -2)],
    ["bytes added", `${raw}00`],
    ["no transaction", "00".repeat(60)],
  ])("raw: %s", (_name, text) => {
    expect(problemOf(text)).toMatch(/^signed transaction: raw is .+, expected .+/);
  });

  it.each([
    ["less than the network's least", 1n],
    ["more than twice the cap", 300_000n],
  ])("a fee that is %s", async (_name, feeUnits) => {
    const rich = coinOf(wallet, 1, 1_000_000n);
    const payment = { address: PAYEES.p2wpkh, amountUnits: rich.amountUnits - feeUnits };
    const wanted = { inputs: [rich], payments: [payment], change: null };
    expect(problemOf(await wallet.sign(wanted), wanted)).toMatch(
      new RegExp(`^signed transaction: fee is ${feeUnits}, expected 1\\d\\d to 141\\d\\d\\d$`),
    );
  });

  it("a fee above the cap is right where so much was offered before", async () => {
    const rich = coinOf(wallet, 1, 1_000_000n);
    const wanted = { inputs: [rich], payments: [{ address: PAYEES.p2wpkh, amountUnits: 700_000n }], change: null };
    const text = await wallet.sign(wanted);
    expect(problemOf(text, wanted, { network: REGTEST, replacedUnits: 299_800n })).toBe("none");
  });
});

describe("always", () => {
  it("a flipped bit is never taken", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: raw.length * 4 - 1 }), (bit) => {
        const bytes = hexToBytes(raw);
        const place = bit >> 3;
        bytes[place] = (bytes[place] ?? 0) ^ (1 << (bit & 7));
        expect(readSigned(bytesToHex(bytes), intent, rules).ok).toBe(false);
      }),
      { numRuns: 400 },
    );
  });
});
