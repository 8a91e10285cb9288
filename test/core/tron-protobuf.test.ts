/** TRON's messages byte for byte: against tronweb where it writes them, against headers of the real chains otherwise. */

import fc from "fast-check";
import { TronWeb, utils } from "tronweb";
import { describe, expect, it } from "vitest";
import { ProtobufMessage, ProtobufWriter } from "../../src/chains/tron/protobuf.ts";
import { decodeRawData, encodeRawData, type RawData, txIdOf } from "../../src/chains/tron/raw-data.ts";
import { leafOf } from "../../src/chains/tron/transactions-root.ts";
import { tronAddress } from "../../src/core/tron-address.ts";
import { minedBytes, rootOf } from "../support/tron-block.ts";

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

/** Of recorded answers of `getblockbylatestnum` (Tatum's documentation, Nile) and `getblockbylimitnext` (dRPC's, main chain). */
describe("bytes of the real chains", () => {
  const call = {
    raw: "0a02c36222084ddf60f936a910d940f0add4a483315a8e01081f1289010a31747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e54726967676572536d617274436f6e747261637412540a1541fcf7ab2a2fb29362babd41647a22b223f7fbedec121541c3c5115bd3f5cfe5559c634eeb250f339ae3e29c222437383d0e00000000000000000000000000000000000000000000000000000188349354c970b8e0d0a48331900180a3c347",
    txId: "31370141e3345421bdb92eff72f0d69aba8d04e636317ed52745d3f97e9faabb",
    signature:
      "95874b4774ba56125dfd7bf2a99a0652d4abda98c6977e3f417852b7ea6f2b81ff2f260df473d186be9586b6bbeb74b5382d7f058593fd72fb60da5d0f77f77100",
    root: "30fe6502e11e110fa389d5c17e1cf53fa8df93f26297d9f27cd8c07d3558d722",
  };

  it("are read as their node reads them: a call", () => {
    expect(txIdOf(call.raw)).toBe(call.txId);
    const decoded = decodeRawData(call.raw);
    expect(decoded).toEqual({
      refBlockBytes: "c362",
      refBlockHash: "4ddf60f936a910d9",
      expiration: 1684509366000,
      data: "",
      contract: {
        kind: "trigger",
        owner: "41fcf7ab2a2fb29362babd41647a22b223f7fbedec",
        contract: "41c3c5115bd3f5cfe5559c634eeb250f339ae3e29c",
        callValueUnits: 0n,
        data: "37383d0e00000000000000000000000000000000000000000000000000000188349354c9",
        tokenId: 0n,
        callTokenUnits: 0n,
      },
      permissionId: 0,
      timestamp: 1684509306936,
      feeLimitUnits: 150_000_000n,
    });
    expect(decoded === null ? "" : encodeRawData(decoded)).toBe(call.raw);
  });

  it("give the root that the header of their block has, as the chain in memory makes it", () => {
    const bytes = minedBytes({ raw: call.raw, signatures: [call.signature], outcome: "SUCCESS" });
    expect(rootOf([txIdOf(bytes)])).toBe(call.root);
    const item = { raw_data_hex: call.raw, signature: [call.signature], ret: [{ contractRet: "SUCCESS" }] };
    expect(leafOf(item)).toBe(call.root);
    expect(leafOf({ ...item, ret: [{ contractRet: "OUT_OF_ENERGY" }] })).not.toBe(call.root);
  });

  it.each([
    [
      "0a0214e422087749eb97994e08b340e2e5afbcfb335a65080112610a2d747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e5472616e73666572436f6e747261637412300a154199a3cb64a17066fe19bfbce3dc5f0bb1d1220f55121541a61e8fa110c166d65372953c1c43556f56193ccf1808708291acbcfb33",
      "3ec07911c77dcbdf7a75ae0e0486960add2993ac606c6e33fa92011f9f2665cb",
      {
        kind: "transfer",
        owner: "4199a3cb64a17066fe19bfbce3dc5f0bb1d1220f55",
        to: "41a61e8fa110c166d65372953c1c43556f56193ccf",
        amountUnits: 8n,
      },
    ],
    [
      "0a0214d42208487b929e2595a20c40f8cdafbcfb335a74080212700a32747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e5472616e736665724173736574436f6e7472616374123a0a07313030353132351215418bcb819886ee35957958e6207dc2b1fbc36b02921a1541baa5d183152181460478ba83ad37926600e2190e20d00f70da91acbcfb33",
      "357da69180f69b651a4a5a41c628e7969391a81823fb46c57a39bd617dd504f5",
      {
        kind: "trc10",
        owner: "418bcb819886ee35957958e6207dc2b1fbc36b0292",
        to: "41baa5d183152181460478ba83ad37926600e2190e",
      },
    ],
  ])("are read as their node reads them: TRX and a TRC-10 token", (raw, txId, contract) => {
    expect(txIdOf(raw)).toBe(txId);
    expect(decodeRawData(raw)?.contract).toEqual(contract);
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

  it("hold a contract whose value comes twice: the last one counts, and nothing of the first is left in it", () => {
    const rich = { kind: "trigger", owner: "41aa", contract: "41bb", data: "00", tokenId: 0n } as const;
    const valueWith = (callValueUnits: bigint) => {
      const raw = encodeRawData({ ...transfer, contract: { ...rich, callValueUnits, callTokenUnits: 0n } });
      const contract = new ProtobufMessage(ProtobufMessage.ofHex(raw, "m").message(11), "contract");
      return new ProtobufMessage(contract.message(2), "parameter").hex(2);
    };
    const parameter = new ProtobufWriter().always(2, valueWith(9_000_000n)).always(2, valueWith(0n)).hex();
    const contract = new ProtobufWriter().number(1, 31).always(2, parameter).hex();
    const decoded = decodeRawData(new ProtobufWriter().always(11, contract).hex());
    expect(decoded?.contract).toMatchObject({ kind: "trigger", callValueUnits: 0n });
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
