/** I16: bytes that are kept decode to the intent that was approved, in every field, and are signed by its wallet. */

import {
  concat,
  fromRlp,
  type Hex,
  keccak256,
  numberToHex,
  parseTransaction,
  serializeTransaction,
  type TransactionSerializable,
  toRlp,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { burnCall, gasLimitFor, MAX_GAS_LIMIT, transferCall, unsignedOf } from "../../src/chains/evm/intent.ts";
import { readSigned } from "../../src/chains/evm/signed-transaction.ts";
import type { Intent } from "../../src/chains/payout.ts";

const account = privateKeyToAccount(`0x${"42".repeat(32)}`);
const stranger = privateKeyToAccount(`0x${"43".repeat(32)}`);
const SENDER = account.address.toLowerCase();
const OTHER = `0x${"0d".repeat(20)}` as Hex;
const TOKEN = `0x${"70".repeat(20)}`;
const PAYEE = `0x${"9a".repeat(20)}`;
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const { to, valueUnits, data } = transferCall(TOKEN, SENDER, PAYEE, 25n);
const MARKET: Intent = {
  chainId: 31_337,
  sender: SENDER,
  nonce: 13,
  to,
  valueUnits,
  data,
  gasLimit: 65_000n,
  fees: { kind: "eip1559", maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n },
};
const LEGACY: Intent = { ...MARKET, fees: { kind: "legacy", gasPrice: 20_000_000_000n } };
/** Zeros and nothings are encoded as nothing. */
const EMPTY: Intent = {
  ...MARKET,
  ...burnCall(SENDER),
  nonce: 0,
  fees: { kind: "eip1559", maxFeePerGas: 1n, maxPriorityFeePerGas: 0n },
};

const sign = (tx: TransactionSerializable, by = account): Promise<Hex> => by.signTransaction(tx);

async function problemOf(raw: string, intent: Intent): Promise<string> {
  const read = await readSigned(raw, intent);
  return read.ok ? "none" : read.problem;
}

describe("readSigned takes", () => {
  it.each([
    ["a market fee", MARKET],
    ["a legacy fee", LEGACY],
    ["zeros", EMPTY],
    ["a chain id beyond a byte or two", { ...LEGACY, chainId: 1_313_161_554 }],
    ["a payment of native coin", { ...MARKET, ...transferCall("native", SENDER, PAYEE, 10n ** 18n) }],
  ])("what was asked for: %s", async (_, intent) => {
    const raw = await sign(unsignedOf(intent));
    const signed = { txId: keccak256(raw), raw };
    expect(await readSigned(raw, intent)).toEqual({ ok: true, signed });
    expect(await readSigned(raw.toUpperCase().replace("0X", "0x"), intent)).toEqual({ ok: true, signed });
  });
});

describe("readSigned refuses, and names", () => {
  const changes: readonly [string, Intent, TransactionSerializable][] = [
    ["chainId", MARKET, { chainId: 1 }],
    ["nonce", MARKET, { nonce: 14 }],
    ["nonce", MARKET, { nonce: 0 }],
    ["to", MARKET, { to: OTHER }],
    ["to", MARKET, { to: null }],
    ["value", MARKET, { value: 1n }],
    ["data", MARKET, { data: transferCall(TOKEN, SENDER, PAYEE, 26n).data as Hex }],
    ["data", MARKET, { data: transferCall(TOKEN, SENDER, OTHER, 25n).data as Hex }],
    ["data", MARKET, { data: `${data}00` as Hex }],
    ["data", MARKET, { data: "0x" }],
    ["gas", MARKET, { gas: 65_001n }],
    ["accessList", MARKET, { accessList: [{ address: OTHER, storageKeys: [] }] }],
    ["maxFeePerGas", MARKET, { maxFeePerGas: 30_000_000_001n }],
    ["maxPriorityFeePerGas", MARKET, { maxPriorityFeePerGas: 999_999_999n }],
    ["maxPriorityFeePerGas", MARKET, { maxPriorityFeePerGas: 0n }],
    ["chainId", LEGACY, { chainId: 1 }],
    ["nonce", LEGACY, { nonce: 14 }],
    ["to", LEGACY, { to: OTHER }],
    ["value", LEGACY, { value: 1n }],
    ["data", LEGACY, { data: "0x" }],
    ["gas", LEGACY, { gas: 64_999n }],
    ["gasPrice", LEGACY, { gasPrice: 20_000_000_001n }],
    ["value", EMPTY, { value: 1n }],
  ].map(([field, intent, change]) => [
    field as string,
    intent as Intent,
    { ...unsignedOf(intent as Intent), ...(change as object) } as TransactionSerializable,
  ]);

  it.each(changes)("%s", async (field, intent, tx) => {
    const problem = await problemOf(await sign(tx), intent);
    expect(problem).toMatch(new RegExp(`^signed transaction: ${field} is .+, expected .+`));
  });

  it("what came and what was expected", async () => {
    const raw = await sign({ ...unsignedOf(MARKET), nonce: 14 } as TransactionSerializable);
    expect(await problemOf(raw, MARKET)).toBe("signed transaction: nonce is 14, expected 13");
  });

  it.each<[string, TransactionSerializable]>([
    ["legacy", unsignedOf(LEGACY)],
    ["eip2930", { ...unsignedOf(LEGACY), type: "eip2930" } as TransactionSerializable],
    [
      "eip7702",
      {
        ...unsignedOf(MARKET),
        type: "eip7702",
        authorizationList: [
          { address: OTHER, chainId: 31_337, nonce: 0, r: `0x${"1".repeat(64)}`, s: `0x${"2".repeat(64)}`, yParity: 0 },
        ],
      } as TransactionSerializable,
    ],
    [
      "eip4844",
      {
        ...unsignedOf(MARKET),
        type: "eip4844",
        maxFeePerBlobGas: 1n,
        blobVersionedHashes: [`0x01${"0".repeat(62)}`],
      } as TransactionSerializable,
    ],
  ])("type %s in place of another", async (type, tx) => {
    expect(await problemOf(await sign(tx), MARKET)).toBe(`signed transaction: type is ${type}, expected eip1559`);
    if (type !== "legacy")
      expect(await problemOf(await sign(tx), LEGACY)).toBe(`signed transaction: type is ${type}, expected legacy`);
  });

  it.each([MARKET, LEGACY])("another wallet's signature", async (intent) => {
    const problem = await problemOf(await sign(unsignedOf(intent), stranger), intent);
    expect(problem).toBe(`signed transaction: sender is ${stranger.address.toLowerCase()}, expected ${SENDER}`);
  });

  it("a legacy transaction that any chain would take (EIP-155)", async () => {
    const { chainId: _, ...anywhere } = unsignedOf(LEGACY);
    const raw = await sign(anywhere as TransactionSerializable);
    expect(await problemOf(raw, LEGACY)).toBe("signed transaction: chainId is none, expected 31337");
  });

  it.each([MARKET, LEGACY])("the twin of a signature (EIP-2)", async (intent) => {
    const { r, s, yParity } = parseTransaction((await sign(unsignedOf(intent))) as `0x02${string}`);
    if (r === undefined || s === undefined || yParity === undefined) throw new Error("a signature has three parts");
    const flipped = yParity === 0 ? 1 : 0;
    const twin = { r, s: `0x${(ORDER - BigInt(s)).toString(16).padStart(64, "0")}` as Hex };
    const raw =
      intent.fees.kind === "legacy"
        ? serializeTransaction(unsignedOf(intent), { ...twin, v: BigInt(intent.chainId * 2 + 35 + flipped) })
        : serializeTransaction(unsignedOf(intent), { ...twin, yParity: flipped });
    expect(await problemOf(raw, intent)).toContain("signature s is its upper half");
  });

  it.each([
    ["nothing", async () => "", "raw"],
    ["no bytes", async () => "0x", "raw"],
    ["half a byte", async () => "0x020", "raw"],
    ["other characters", async () => "0x02zz", "raw"],
    ["bytes that are no transaction", async () => "0x02c0", "raw"],
    [
      "a type of tomorrow",
      async () => concat(["0x05", (await sign(unsignedOf(MARKET))).replace("0x02", "0x") as Hex]),
      "raw",
    ],
    ["too many bytes", async () => `0x${"02".repeat(5_000)}`, "raw"],
    ["bytes behind it", async () => concat([await sign(unsignedOf(MARKET)), "0x00"]), "raw"],
    ["no signature", async () => serializeTransaction(unsignedOf(MARKET)), "signature"],
    ["no legacy signature", async () => serializeTransaction(unsignedOf(LEGACY)), "type"],
    [
      "a signature of nobody",
      async () => serializeTransaction(unsignedOf(MARKET), { r: `0x${"f".repeat(64)}`, s: "0x01", yParity: 0 }),
      "sender",
    ],
  ])("%s", async (_, make, field) => {
    expect(await problemOf(await make(), MARKET)).toMatch(new RegExp(`^signed transaction: ${field} is `));
  });

  it.each([
    ["nothing", "0x01", "0x"],
    ["nothing either", "0x", "0x01"],
    ["a list", "0x01", ["0x01"]],
    ["33 bytes", `0x${"01".repeat(33)}`, "0x01"],
  ] as [string, Hex, Hex][])("a signature with %s in it", async (_, r, s) => {
    const { fees } = LEGACY;
    if (fees.kind !== "legacy") throw new Error("a legacy intent has a gas price");
    const numbers = [LEGACY.nonce, fees.gasPrice, LEGACY.gasLimit].map((value) => numberToHex(value));
    const old = toRlp([...numbers, to as Hex, "0x", data as Hex, numberToHex(31_337 * 2 + 35), r, s]);
    expect(await problemOf(old, LEGACY)).toMatch(/^signed transaction: (signature|raw|sender) is /);
    const list = fromRlp(`0x${(await sign(unsignedOf(MARKET))).slice(4)}`, "hex").slice(0, -2) as Hex[];
    const typed = concat(["0x02", toRlp([...list, r, s])]);
    expect(await problemOf(typed, MARKET)).toMatch(/^signed transaction: (signature|raw|sender) is /);
  });

  it.each([
    // A value of zero, as the byte zero in place of nothing; a chain id with a zero before it.
    [`94${TOKEN.slice(2)}80`, `94${TOKEN.slice(2)}00`, 0],
    ["827a69", "83007a69", 1],
  ])("fields in another encoding than the one there is: %s as %s", async (spelled, otherwise, longer) => {
    const raw = await sign(unsignedOf(MARKET));
    expect(raw.slice(2, 6)).toBe("02f8");
    expect(raw.split(spelled)).toHaveLength(2);
    const length = Number.parseInt(raw.slice(6, 8), 16) + longer;
    const respelled = `0x02f8${length.toString(16)}${raw.slice(8).replace(spelled, otherwise)}`;
    expect(await problemOf(respelled, MARKET)).toMatch(/^signed transaction: raw is other bytes/);
  });
});

describe("calls", () => {
  it("pay native coin, or a token through its contract", () => {
    expect(transferCall("native", SENDER, PAYEE, 7n)).toEqual({
      sender: SENDER,
      to: PAYEE,
      valueUnits: 7n,
      data: "0x",
    });
    expect(transferCall(TOKEN, SENDER, PAYEE, 255n)).toEqual({
      sender: SENDER,
      to: TOKEN,
      valueUnits: 0n,
      data: `0xa9059cbb${"0".repeat(24)}${"9a".repeat(20)}${"0".repeat(62)}ff`,
    });
    const most = transferCall(TOKEN, SENDER, PAYEE, 2n ** 256n - 1n).data;
    expect(most.slice(-64)).toBe("f".repeat(64));
  });

  it.each([0n, -1n, 2n ** 256n])("pay no %s", (amountUnits) => {
    expect(() => transferCall(TOKEN, SENDER, PAYEE, amountUnits)).toThrow(`asked for ${amountUnits}`);
  });

  it("burn a nonce and move nothing", () => {
    expect(burnCall(SENDER)).toEqual({ sender: SENDER, to: SENDER, valueUnits: 0n, data: "0x" });
  });

  it.each([
    [21_000n, 21_000n],
    [20_999n, 26_249n],
    [21_001n, 26_252n],
    [40_000n, 50_000n],
    [40_001n, 50_002n],
    [2_400_000n, MAX_GAS_LIMIT],
    [2_400_001n, null],
    [30_000_000n, null],
  ])("get gas for an estimate of %s: %s", (estimate, limit) => expect(gasLimitFor(estimate)).toBe(limit));
});
