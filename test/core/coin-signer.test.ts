/** Wallets of coins derived from the seed, and what they sign. */

import { createHash } from "node:crypto";
import { inspect } from "node:util";
import { HDKey } from "@scure/bip32";
import { p2wpkh, Transaction } from "@scure/btc-signer";
import { describe, expect, it } from "vitest";
import { deriveCoinSigner } from "../../src/chains/bitcoin/coin-signer.ts";
import type { SpendIntent } from "../../src/chains/coin-payout.ts";
import { deriveSigner } from "../../src/chains/evm/derived-signer.ts";
import { coinOf, coinWallet, MAINNET, PAYEES, REGTEST, SEED, TENANT } from "../support/coin-wallet.ts";

const signer = coinWallet();
const intent: SpendIntent = {
  inputs: [coinOf(signer, 1, 70_000n), coinOf(signer, 2, 50_000n, "0/0")],
  payments: [
    { address: PAYEES.p2tr, amountUnits: 60_000n },
    { address: PAYEES.p2pkh, amountUnits: 30_000n },
  ],
  change: { address: signer.addressAt("1/3"), path: "1/3", amountUnits: 29_000n },
};

describe("a wallet of coins", () => {
  it("has the path and addresses that the documented rule gives, found by other means", () => {
    const digest = createHash("sha256").update(`sluice hot wallet v1\n${TENANT}\nbitcoin-regtest`).digest();
    const pieces = [0, 4, 8, 12].map((offset) => `${digest.readUInt32BE(offset) % 2 ** 31}'`);
    const path = `m/84'/1'/${pieces.join("/")}`;
    const master = HDKey.fromMasterSeed(Buffer.from(SEED, "hex"));
    expect(signer.path).toBe(path);
    for (const below of ["0/0", "0/7", "1/0", "1/2147483647"]) {
      const { publicKey } = master.derive(`${path}/${below}`);
      const network = { bech32: "bcrt", pubKeyHash: 0x6f, scriptHash: 0xc4, wif: 0xef };
      expect(signer.addressAt(below)).toBe(p2wpkh(publicKey ?? new Uint8Array(), network).address);
    }
    expect(signer.address).toBe(signer.addressAt("0/0"));
  });

  it.each([
    [
      TENANT,
      REGTEST,
      "m/84'/1'/1407373202'/759737982'/916357748'/377362645'",
      "bcrt1qpx9fnxz2huklwvp6rekq30h8d705ghjfsrnpmq",
    ],
    [
      TENANT,
      MAINNET,
      "m/84'/0'/1966712375'/1783692888'/976976975'/1410780491'",
      "bc1qt48jcf0qypsqlm8w0sl4a3clqv8clmzx49kvlj",
    ],
  ])("of %s stays where it was: %#", (tenantId, network, path, address) => {
    const found = deriveCoinSigner(SEED, tenantId, network);
    expect({ path: found.path, address: found.address }).toEqual({ path, address });
  });

  it("depends on the seed, the tenant and the network, and on where one ends and the next begins", () => {
    const of = (seed: string, tenantId: string, id: string) => deriveCoinSigner(seed, tenantId, { ...REGTEST, id });
    const wallets = [
      of(SEED, "a", "b"),
      of(SEED.replace("00", "01"), "a", "b"),
      of(SEED, "ab", ""),
      of(SEED, "", "ab"),
      of(SEED, "b", "a"),
    ];
    expect(new Set(wallets.map(({ address }) => address)).size).toBe(5);
    expect(of(SEED, "a", "b").path.split("/").slice(3)).toEqual(
      deriveSigner(SEED, "a", { id: "b" }).path.split("/").slice(3),
    );
  });

  it.each(["", "0", "2/0", "0/0'", "0/01", "0/-1", "0/2147483648", "0/0/0", "m/0/0", "1/9999999999"])(
    "has no address at %j",
    (path) => {
      expect(() => signer.addressAt(path)).toThrow(`a key of the wallet stands at 0/i or 1/i, asked for ${path}`);
    },
  );

  it.each([
    ["no hex", `zz${SEED.slice(2)}`, "text that is not hex"],
    ["too short", SEED.slice(2), "31 bytes"],
    ["too long", SEED.repeat(3), "96 bytes"],
  ])("refuses a seed that is %s, and does not show it", (_name, seed, got) => {
    expect(() => deriveCoinSigner(seed, TENANT, REGTEST)).toThrow(`a wallet seed is 32 to 64 bytes of hex, got ${got}`);
  });

  it("shows no key", async () => {
    const shown = [inspect(signer, { depth: 9, showHidden: true }), JSON.stringify(signer), String(signer)].join(" ");
    const account = HDKey.fromMasterSeed(Buffer.from(SEED, "hex")).derive(signer.path);
    const secrets = [SEED, account.privateExtendedKey, account.publicExtendedKey];
    for (const below of ["0", "0/0", "1"]) {
      const key = account.derive(`m/${below}`);
      secrets.push(Buffer.from(key.privateKey ?? []).toString("hex"), key.privateExtendedKey, key.publicExtendedKey);
    }
    for (const secret of secrets) expect(shown).not.toContain(secret);
    expect(shown).toContain(signer.address);
  });
});

describe("what it signs", () => {
  it("spends the coins in their order and pays in the intent's, change last", async () => {
    const tx = Transaction.fromRaw(Buffer.from(await signer.sign(intent), "hex"));
    expect({ version: tx.version, lockTime: tx.lockTime }).toEqual({ version: 2, lockTime: 0 });
    const inputs = intent.inputs.map((_, n) => tx.getInput(n));
    expect(inputs.map(({ txid, index }) => [Buffer.from(txid ?? []).toString("hex"), index])).toEqual(
      intent.inputs.map(({ txId, vout }) => [txId, vout]),
    );
    expect(inputs.map(({ sequence }) => sequence)).toEqual([0xfffffffd, 0xfffffffd]);
    const network = { ...REGTEST.addresses, wif: 0 };
    expect([0, 1, 2].map((n) => [tx.getOutputAddress(n, network), tx.getOutput(n).amount])).toEqual([
      [PAYEES.p2tr, 60_000n],
      [PAYEES.p2pkh, 30_000n],
      [signer.addressAt("1/3"), 29_000n],
    ]);
    expect(tx.outputsLength).toBe(3);
  });

  it("is the same whenever it is signed (RFC 6979)", async () => {
    const raw = await signer.sign(intent);
    expect(await coinWallet().sign(intent)).toBe(raw);
    expect(createHash("sha256").update(raw).digest("hex")).toBe(
      "fa51d81a57d5f6c67935356b44172bc024d6814bad7c5d219122494b49799242",
    );
  });

  it.each<[string, Partial<SpendIntent>]>([
    ["a coin of another wallet", { inputs: [coinOf(coinWallet("another"), 1, 70_000n)] }],
    ["a coin at another path", { inputs: [{ ...coinOf(signer, 1, 70_000n), path: "1/2" }] }],
    ["change to somebody else", { change: { address: PAYEES.p2wpkh, path: "1/3", amountUnits: 29_000n } }],
  ])("refuses %s", async (_name, change) => {
    await expect(signer.sign({ ...intent, ...change })).rejects.toThrow(
      /^the signer of bcrt1\w+ has bcrt1\w+ at 1\/\d, not bcrt1\w+$/,
    );
  });
});
