/** TRON's messages byte for byte: against tronweb where it writes them, against headers of the real chains otherwise. */

import fc from "fast-check";
import { TronWeb, utils } from "tronweb";
import { describe, expect, it } from "vitest";
import { ProtobufMessage, ProtobufWriter } from "../../src/chains/tron/protobuf.ts";
import { decodeRawData, encodeRawData, type RawData, txIdOf } from "../../src/chains/tron/raw-data.ts";
import { tronAddress } from "../../src/core/tron-address.ts";

const OWNER = `41${"d1".repeat(20)}`;
const OTHER = `41${"0e".repeat(20)}`;
const USDT = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c";

const transfer: RawData = {
  refBlockBytes: "14d4",
  refBlockHash: "487b929e2595a20c",
  expiration: 1785490827000,
  data: "",
  contract: { kind: "transfer", owner: OWNER, to: OTHER, amountUnits: 1_500_000n },
  permissionId: 0,
  timestamp: 1785490767123,
  feeLimitUnits: 0n,
};
const trigger: RawData = {
  ...transfer,
  contract: {
    kind: "trigger",
    owner: OWNER,
    contract: USDT,
    callValueUnits: 0n,
    data: `a9059cbb${OTHER.slice(2).padStart(64, "0")}${(50_000_000).toString(16).padStart(64, "0")}`,
    tokenId: 0n,
    callTokenUnits: 0n,
  },
  feeLimitUnits: 100_000_000n,
};

/** As an answer of a node says it; tronweb makes bytes of it. */
function jsonOf({ contract, ...raw }: RawData): unknown {
  const name = contract.kind === "transfer" ? "TransferContract" : "TriggerSmartContract";
  const value =
    contract.kind === "transfer"
      ? { owner_address: contract.owner, to_address: contract.to, amount: Number(contract.amountUnits) }
      : contract.kind === "trigger"
        ? {
            owner_address: contract.owner,
            contract_address: contract.contract,
            data: contract.data,
            ...(contract.callValueUnits > 0n ? { call_value: Number(contract.callValueUnits) } : {}),
          }
        : {};
  return {
    visible: false,
    txID: "",
    raw_data_hex: "",
    raw_data: {
      contract: [
        {
          parameter: { value, type_url: `type.googleapis.com/protocol.${name}` },
          type: name,
          ...(raw.permissionId > 0 ? { Permission_id: raw.permissionId } : {}),
        },
      ],
      ref_block_bytes: raw.refBlockBytes,
      ref_block_hash: raw.refBlockHash,
      expiration: raw.expiration,
      timestamp: raw.timestamp,
      ...(raw.data === "" ? {} : { data: raw.data }),
      ...(raw.feeLimitUnits > 0n ? { fee_limit: Number(raw.feeLimitUnits) } : {}),
    },
  };
}

function tronwebs(raw: RawData): { readonly hex: string; readonly txId: string } {
  const message = utils.transaction.txJsonToPb(jsonOf(raw) as never);
  return {
    hex: utils.transaction.txPbToRawDataHex(message).toLowerCase(),
    txId: utils.transaction.txPbToTxID(message).replace(/^0x/, ""),
  };
}

describe("a transaction's signed part", () => {
  it.each<readonly [string, RawData]>([
    ["TRX", transfer],
    ["a token", trigger],
    ["a memo", { ...transfer, data: "68656c6c6f" }],
    ["another permission", { ...transfer, permissionId: 2 }],
    ["TRX sent along with a call", { ...trigger, contract: { ...trigger.contract, callValueUnits: 7n } as never }],
    ["the smallest amount", { ...transfer, contract: { ...transfer.contract, amountUnits: 1n } as never }],
  ])("is what tronweb makes of %s", (_, raw) => {
    const { hex, txId } = tronwebs(raw);
    expect(encodeRawData(raw)).toBe(hex);
    expect(txIdOf(hex)).toBe(txId);
    expect(decodeRawData(hex)).toEqual(raw);
  });

  it("is what tronweb's own builder makes, without a node", async () => {
    const tronWeb = new TronWeb({ fullHost: "http://127.0.0.1:9" });
    const { refBlockBytes, refBlockHash, expiration, timestamp } = transfer;
    const blockHeader = { ref_block_bytes: refBlockBytes, ref_block_hash: refBlockHash, expiration, timestamp };
    const [owner, other] = [OWNER, OTHER].map((hex) => tronAddress(hex.slice(2))) as [string, string];
    const trx = await tronWeb.transactionBuilder.sendTrx(other, 1_500_000, owner, { blockHeader });
    expect(trx.raw_data_hex).toBe(encodeRawData(transfer));
    expect(trx.txID).toBe(txIdOf(encodeRawData(transfer)));
    const { transaction } = await tronWeb.transactionBuilder.triggerSmartContract(
      tronAddress(USDT.slice(2)),
      "transfer(address,uint256)",
      { feeLimit: 100_000_000, txLocal: true, blockHeader },
      [
        { type: "address", value: other },
        { type: "uint256", value: 50_000_000 },
      ],
      owner,
    );
    expect(transaction.raw_data_hex).toBe(encodeRawData(trigger));
  });

  it("is read and written back, whatever the amounts and times", () => {
    const hexOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
    const arbitrary = fc.record({
      amountUnits: fc.bigInt(1n, 2n ** 63n - 1n),
      expiration: fc.integer({ min: 1, max: 2 ** 45 }),
      timestamp: fc.integer({ min: 0, max: 2 ** 45 }),
      memo: fc.uint8Array({ maxLength: 200 }),
      hash: hexOf(8),
    });
    fc.assert(
      fc.property(arbitrary, ({ amountUnits, expiration, timestamp, memo, hash }) => {
        const raw: RawData = {
          ...transfer,
          expiration,
          timestamp,
          data: Buffer.from(memo).toString("hex"),
          refBlockHash: Buffer.from(hash).toString("hex"),
          contract: { kind: "transfer", owner: OWNER, to: OTHER, amountUnits },
        };
        expect(decodeRawData(encodeRawData(raw))).toEqual(raw);
      }),
    );
  });
});

describe("bytes that nobody's library writes", () => {
  const hex = encodeRawData(transfer);

  it("count as java-tron's parser reads them: the last value of a field, a message put together", () => {
    const doubled = new ProtobufWriter().number(3, 5).hex() + new ProtobufWriter().number(3, 7).hex();
    expect(ProtobufMessage.ofHex(doubled, "m").number(3)).toBe(7n);
    const pieces = new ProtobufWriter().always(2, "0801").always(2, "1002").hex();
    const inner = new ProtobufMessage(ProtobufMessage.ofHex(pieces, "m").message(2), "inner");
    expect([inner.number(1), inner.number(2)]).toEqual([1n, 2n]);
  });

  it("are skipped where they are not known: another type, a fixed number, a group in a group", () => {
    // Field 200 as a varint, as eight and as four bytes; a group 5 with a group 6 and a number in it.
    const unknown = "c00c01" + "c10c0102030405060708" + "c50c01020304" + "2b33080134" + "2c";
    expect(decodeRawData(`${unknown}${hex}`)).toEqual(decodeRawData(hex));
    // Field 8 as bytes is no expiration.
    expect(decodeRawData(`${hex}4201ff`)?.expiration).toBe(transfer.expiration);
  });

  it.each([
    ["cut off", hex.slice(0, -2)],
    ["a length past the end", "0aff01"],
    ["a number without an end", `08${"ff".repeat(11)}`],
    ["a field without a number", "0001"],
    ["a type that there is not", "0f"],
    ["a group without an end", "2b0801"],
    ["the end of another group", "2b34"],
  ])("are refused: %s", (_, bytes) => {
    expect(() => decodeRawData(bytes)).toThrow(/whole protobuf message/);
  });

  it("have one contract or are no transaction", () => {
    const [one] = ProtobufMessage.ofHex(hex, "m").list(11);
    const again = new ProtobufWriter().always(11, Buffer.from(one ?? []).toString("hex")).hex();
    expect(decodeRawData(hex + again)).toBeNull();
    expect(decodeRawData("")).toBeNull();
  });
});
