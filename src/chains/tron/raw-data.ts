/**
 * The part of a transaction that is signed, as its bytes say (`Transaction.raw` in TRON's protocol). Its SHA-256 is
 * the transaction's id, so bytes that give the id are the transaction itself. The numbers are those of the fields.
 */

import { sha256 } from "@noble/hashes/sha2";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { ProtobufMessage, ProtobufWriter } from "./protobuf.ts";

/** Hex here is lower case; addresses are 21 bytes with the 41. */
export type TronContract =
  | { readonly kind: "transfer"; readonly owner: string; readonly to: string; readonly amountUnits: bigint }
  | {
      readonly kind: "trigger";
      readonly owner: string;
      readonly contract: string;
      /** TRX sent along, sun. */
      readonly callValueUnits: bigint;
      readonly data: string;
      /** A TRC-10 token sent along; 0: none. */
      readonly tokenId: bigint;
      readonly callTokenUnits: bigint;
    }
  /** A TRC-10 token. */
  | { readonly kind: "trc10"; readonly owner: string; readonly to: string }
  /** Of a contract: what its constructor does shows in the info, as with a call. */
  | { readonly kind: "deploy"; readonly owner: string }
  | { readonly kind: "other" };

export interface RawData {
  /** Low two bytes of the reference block's height, and eight bytes out of its id. */
  readonly refBlockBytes: string;
  readonly refBlockHash: string;
  /** Milliseconds. */
  readonly expiration: number;
  /** Memo, as bytes; empty: none. */
  readonly data: string;
  readonly contract: TronContract;
  /** Which of the owner's permissions signs; 0: the owner's own. */
  readonly permissionId: number;
  /** Milliseconds, by whoever made it: no node looks at it. */
  readonly timestamp: number;
  /** Most TRX that its energy may cost, sun; energy that was staked for counts at the same price. */
  readonly feeLimitUnits: bigint;
}

const TYPES = { transfer: 1, trc10: 2, deploy: 30, trigger: 31 } as const;
const NAMES = { transfer: "TransferContract", trigger: "TriggerSmartContract" } as const;

/** The transaction's id. @param raw hex */
export function txIdOf(raw: string): string {
  return bytesToHex(sha256(hexToBytes(raw)));
}

/** Null when it has not exactly one contract, which no block holds. @throws MalformedAnswer */
export function decodeRawData(hex: string): RawData | null {
  const raw = ProtobufMessage.ofHex(hex, "raw_data");
  const [bytes, ...others] = raw.list(11);
  if (bytes === undefined || others.length > 0) return null;
  const contract = new ProtobufMessage(bytes, "contract");
  const parameter = new ProtobufMessage(contract.message(2), "contract's parameter");
  return {
    refBlockBytes: raw.hex(1),
    refBlockHash: raw.hex(4),
    expiration: Number(raw.number(8)),
    data: raw.hex(10),
    contract: decodeContract(Number(contract.number(1)), parameter),
    permissionId: Number(contract.number(5)),
    timestamp: Number(raw.number(14)),
    feeLimitUnits: raw.number(18),
  };
}

function decodeContract(type: number, parameter: ProtobufMessage): TronContract {
  // Plain bytes to the parser, in which a message is found later: of several the last counts, and none is put together.
  const value = () => ProtobufMessage.ofHex(parameter.hex(2), "contract's value");
  switch (type) {
    case TYPES.transfer: {
      const fields = value();
      return { kind: "transfer", owner: fields.hex(1), to: fields.hex(2), amountUnits: fields.number(3) };
    }
    case TYPES.trigger: {
      const fields = value();
      return {
        kind: "trigger",
        owner: fields.hex(1),
        contract: fields.hex(2),
        callValueUnits: fields.number(3),
        data: fields.hex(4),
        callTokenUnits: fields.number(5),
        tokenId: fields.number(6),
      };
    }
    case TYPES.trc10: {
      const fields = value();
      return { kind: "trc10", owner: fields.hex(2), to: fields.hex(3) };
    }
    case TYPES.deploy:
      return { kind: "deploy", owner: value().hex(1) };
    default:
      return { kind: "other" };
  }
}

/** Hex. @throws Error for a contract that this program never makes */
export function encodeRawData(data: RawData): string {
  const { contract } = data;
  if (contract.kind !== "transfer" && contract.kind !== "trigger")
    throw new Error(`a contract of kind ${contract.kind} is not made here`);
  const parameter = new ProtobufWriter()
    .bytes(1, textHex(`type.googleapis.com/protocol.${NAMES[contract.kind]}`))
    .bytes(2, encodeContract(contract));
  const one = new ProtobufWriter()
    .number(1, TYPES[contract.kind])
    .always(2, parameter.hex())
    .number(5, data.permissionId);
  return new ProtobufWriter()
    .bytes(1, data.refBlockBytes)
    .bytes(4, data.refBlockHash)
    .number(8, data.expiration)
    .bytes(10, data.data)
    .always(11, one.hex())
    .number(14, data.timestamp)
    .number(18, data.feeLimitUnits)
    .hex();
}

function encodeContract(contract: Extract<TronContract, { kind: "transfer" | "trigger" }>): string {
  const writer = new ProtobufWriter().bytes(1, contract.owner);
  if (contract.kind === "transfer") return writer.bytes(2, contract.to).number(3, contract.amountUnits).hex();
  return writer
    .bytes(2, contract.contract)
    .number(3, contract.callValueUnits)
    .bytes(4, contract.data)
    .number(5, contract.callTokenUnits)
    .number(6, contract.tokenId)
    .hex();
}

function textHex(text: string): string {
  return bytesToHex(new TextEncoder().encode(text));
}
