/** TRON's signer, and signed bytes read back against what was approved. */

import { HDKey } from "@scure/bip32";
import { utils } from "tronweb";
import { describe, expect, it } from "vitest";
import type { ExpiringIntent, Unsigned } from "../../src/chains/expiring-payout.ts";
import { deriveTronSigner } from "../../src/chains/tron/derived-signer.ts";
import { ProtobufWriter } from "../../src/chains/tron/protobuf.ts";
import { encodeRawData, type RawData, txIdOf } from "../../src/chains/tron/raw-data.ts";
import { contractOf, readSigned, signedBytes } from "../../src/chains/tron/signed-transaction.ts";
import { tronAddress } from "../../src/core/tron-address.ts";

const SEED = "07".repeat(32);
const signer = deriveTronSigner(SEED, "t_one", { id: "tron" });
const stranger = deriveTronSigner(SEED, "t_two", { id: "tron" });
const USDT = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
const EXPIRES_AT = 1785490827000;

const trx: ExpiringIntent = {
  sender: signer.address,
  asset: "native",
  decimals: 6,
  destination: tronAddress("0e".repeat(20)),
  amountUnits: 1_500_000n,
  maxFeeUnits: 30_000_000n,
};
const usdt: ExpiringIntent = { ...trx, asset: USDT };

function rawOf(intent: ExpiringIntent, over: Partial<RawData> = {}): RawData {
  return {
    refBlockBytes: "14d4",
    refBlockHash: "487b929e2595a20c",
    expiration: EXPIRES_AT,
    data: "",
    contract: contractOf(intent),
    permissionId: 0,
    timestamp: 1785490767123,
    feeLimitUnits: intent.asset === "native" ? 0n : 20_000_000n,
    ...over,
  };
}

function unsignedOf(bytes: string, expiresAt = EXPIRES_AT): Unsigned {
  return { bytes, expiresAt, feeMostUnits: 30_000_000n };
}

/** Bytes that the signer was tricked into: it signs whatever is the wallet's own. */
async function read(intent: ExpiringIntent, data: RawData, by = signer) {
  const unsigned = unsignedOf(encodeRawData(data));
  return readSigned(await by.sign(unsigned), unsigned, intent);
}

describe("the signer", () => {
  it("has the key at its path, and signs as tronweb does with it", async () => {
    expect(signer.path).toMatch(/^m\/44'\/195'(\/\d+'){4}$/);
    const { privateKey } = HDKey.fromMasterSeed(Buffer.from(SEED, "hex")).derive(signer.path);
    const key = Buffer.from(privateKey ?? []).toString("hex");
    expect(utils.address.fromPrivateKey(key)).toBe(signer.address);
    const raw = encodeRawData(rawOf(trx));
    const signed = utils.crypto.signTransaction(key, { txID: txIdOf(raw), raw_data_hex: raw, raw_data: {} });
    const [signature] = signed.signature as string[];
    expect(await signer.sign(unsignedOf(raw))).toBe(
      signedBytes(raw, (signature ?? "").replace(/^0x/, "").toLowerCase()),
    );
  });

  it("is another one for each tenant and network, and always the same", () => {
    const addresses = [
      signer.address,
      stranger.address,
      deriveTronSigner(SEED, "t_one", { id: "tron-nile" }).address,
      deriveTronSigner("08".repeat(32), "t_one", { id: "tron" }).address,
    ];
    expect(new Set(addresses).size).toBe(4);
    expect(deriveTronSigner(`0x${SEED}`, "t_one", { id: "tron" })).toMatchObject({ address: signer.address });
    expect(JSON.stringify(signer)).not.toMatch(/key/i);
    expect(() => deriveTronSigner("0102secret", "t", { id: "tron" })).toThrow(/32 to 64 bytes/);
  });

  it("signs nothing of another wallet", async () => {
    await expect(stranger.sign(unsignedOf(encodeRawData(rawOf(trx))))).rejects.toThrow(/was asked to sign for/);
  });
});

describe("signed bytes are kept", () => {
  it.each([
    ["TRX", trx],
    ["a token", usdt],
  ])("when they pay %s as approved", async (_, intent) => {
    const unsigned = unsignedOf(encodeRawData(rawOf(intent)));
    const raw = await signer.sign(unsigned);
    expect(readSigned(raw, unsigned, intent)).toEqual({ ok: true, signed: { txId: txIdOf(unsigned.bytes), raw } });
  });

  const other = tronAddress("0f".repeat(20));
  it.each<readonly [string, ExpiringIntent, RawData, RegExp]>([
    ["another receiver of TRX", trx, rawOf({ ...trx, destination: other }), /to is/],
    [
      "another amount of TRX",
      trx,
      rawOf({ ...trx, amountUnits: 1_500_001n }),
      /amountUnits is 1500001, expected 1500000/,
    ],
    ["a token in place of TRX", trx, rawOf(usdt), /kind is trigger, expected transfer/],
    ["TRX in place of a token", usdt, rawOf(trx, { feeLimitUnits: 1n }), /kind is transfer, expected trigger/],
    ["another receiver of the token", usdt, rawOf({ ...usdt, destination: other }), /data is/],
    ["another amount of the token", usdt, rawOf({ ...usdt, amountUnits: 9n }), /data is/],
    ["another token", usdt, rawOf({ ...usdt, asset: other }), /contract is/],
    [
      "another function of the token",
      usdt,
      rawOf(usdt, { contract: { ...contractOf(usdt), data: `095ea7b3${dataOf(usdt).slice(8)}` } as never }),
      /data is/,
    ],
    [
      "TRX sent along",
      usdt,
      rawOf(usdt, { contract: { ...contractOf(usdt), callValueUnits: 1n } as never }),
      /callValueUnits is 1/,
    ],
    [
      "a TRC-10 token sent along",
      usdt,
      rawOf(usdt, { contract: { ...contractOf(usdt), tokenId: 1000001n, callTokenUnits: 5n } as never }),
      /(tokenId|callTokenUnits) is/,
    ],
    ["a memo", trx, rawOf(trx, { data: "6869" }), /memo is 6869, expected none/],
    ["another expiration", trx, rawOf(trx, { expiration: EXPIRES_AT + 1 }), /expiration is/],
    ["another permission", trx, rawOf(trx, { permissionId: 2 }), /permission is 2, expected 0/],
    [
      "a fee limit above the cap",
      usdt,
      rawOf(usdt, { feeLimitUnits: 30_000_001n }),
      /fee_limit is 30000001, expected at most 30000000/,
    ],
    ["a fee limit on TRX", trx, rawOf(trx, { feeLimitUnits: 1n }), /fee_limit is 1, expected 0/],
  ])("not with %s", async (_, intent, data, problem) => {
    const result = await read(intent, data);
    expect(result).toMatchObject({ ok: false });
    expect(JSON.stringify(result)).toMatch(problem);
  });

  it("not by another wallet, though it pays the same", async () => {
    const ofStranger = { ...trx, sender: stranger.address };
    expect(await read(trx, rawOf(ofStranger), stranger)).toMatchObject({ ok: false });
    // The wallet's own bytes under a stranger's signature.
    const unsigned = unsignedOf(encodeRawData(rawOf(trx)));
    const strangers = await stranger.sign(unsignedOf(encodeRawData(rawOf(ofStranger))));
    const grafted = signedBytes(unsigned.bytes, strangers.slice(-130));
    expect(readSigned(grafted, unsigned, trx)).toMatchObject({
      ok: false,
      problem: expect.stringContaining("signer is"),
    });
  });

  it("not with bytes that no field shows, nor with more than one signature, nor other bytes than were to be signed", async () => {
    const plain = encodeRawData(rawOf(trx));
    const unknown = `${plain}${new ProtobufWriter().number(200, 1).hex()}`;
    const signed = await signer.sign(unsignedOf(unknown));
    expect(readSigned(signed, unsignedOf(unknown), trx)).toMatchObject({ ok: false });
    const unsigned = unsignedOf(plain);
    const raw = await signer.sign(unsigned);
    for (const more of [`12${"41"}${"11".repeat(65)}`, "2a021801", "c80c01"])
      expect(readSigned(raw + more, unsigned, trx), more).toMatchObject({ ok: false });
    const later = encodeRawData(rawOf(trx, { timestamp: 1 }));
    expect(readSigned(await signer.sign(unsignedOf(later)), unsigned, trx)).toMatchObject({
      ok: false,
      problem: expect.stringContaining("raw_data is"),
    });
  });

  it("not with the twin of a signature, nor with one of nobody", async () => {
    const unsigned = unsignedOf(encodeRawData(rawOf(trx)));
    const raw = await signer.sign(unsigned);
    const [head, r, s, v] = [raw.slice(0, -130), raw.slice(-130, -66), raw.slice(-66, -2), raw.slice(-2)];
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const twin = (order - BigInt(`0x${s}`)).toString(16).padStart(64, "0");
    for (const signature of [r + twin + (v === "1b" ? "1c" : "1b"), `${r}${s}00`, `${"00".repeat(64)}1b`])
      expect(readSigned(head + signature, unsigned, trx)).toMatchObject({
        ok: false,
        problem: expect.stringContaining("signer is nobody"),
      });
  });

  it.each(["", "zz", "0a", "0aff", "12", "AB"])("not %j", (raw) => {
    expect(readSigned(raw, unsignedOf(encodeRawData(rawOf(trx))), trx)).toMatchObject({ ok: false });
  });
});

function dataOf(intent: ExpiringIntent): string {
  const contract = contractOf(intent);
  return contract.kind === "trigger" ? contract.data : "";
}
