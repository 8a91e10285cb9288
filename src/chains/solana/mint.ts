/**
 * What a token's mint says about itself, read as bytes that a stranger wrote.
 *
 * Mint of the token program: 82 bytes, decimals at 44, "is initialized" at 45. Token-2022: the same 82, and with
 * extensions zeros up to 165, the kind of account (1: mint), then entries of type, length and content. A symbol is in
 * the metadata extension (19), or in Metaplex's account of the mint.
 */

import { utf8ToBytes } from "@noble/hashes/utils";
import { fromBase64 } from "../../core/base64.ts";
import type { TokenFacts } from "../../core/network.ts";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../../core/solana-address.ts";
import type { RpcClient } from "../rpc/client.ts";
import { MalformedAnswer, parseList, parseObject } from "../rpc/malformed.ts";
import { ask, FINALIZED, parseContext, parseLamports } from "./answers.ts";
import { bytesOf, programAddress } from "./program-address.ts";

export interface AccountFacts {
  /** The program that it belongs to. */
  readonly program: string;
  readonly units: bigint;
  readonly data: Uint8Array;
  readonly isExecutable: boolean;
}

export interface Mint {
  readonly program: string;
  readonly decimals: number;
  /** A transfer fee is configured, now or from a coming epoch on. */
  readonly takesFee: boolean;
  /** The mint's own extensions, type to content. */
  readonly extensions: ReadonlyMap<number, Uint8Array>;
}

const METAPLEX = "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s";
const MINT_BYTES = 82;
const TOKEN_BYTES = 165;
const TRANSFER_FEE = 1;
export const TRANSFER_HOOK = 14;
const PAUSABLE = 26;
const METADATA = 19;
const MAX_SYMBOL_CHARS = 20;

/** Null for an address that is no mint. A token that states no symbol is called by the ends of its mint. @throws ChainFault, MalformedAnswer */
export async function readToken(rpc: RpcClient, contract: string): Promise<TokenFacts | null> {
  const metaplex = programAddress([utf8ToBytes("metadata"), bytesOf(METAPLEX), bytesOf(contract)], METAPLEX);
  const { accounts } = await readAccounts(rpc, [contract, metaplex], FINALIZED);
  const [account, described] = accounts;
  const mint = account === null || account === undefined ? null : readMint(account);
  if (mint === null) return null;
  const own = symbolIn(mint.extensions.get(METADATA), 64);
  const symbol = own ?? (described?.program === METAPLEX ? symbolIn(described.data, 65) : null);
  return { symbol: symbol ?? `${contract.slice(0, 4)}-${contract.slice(-4)}`, contract, decimals: mint.decimals };
}

/** Null: no such account. In the order asked. @throws ChainFault, MalformedAnswer */
export async function readAccounts(
  rpc: RpcClient,
  addresses: readonly string[],
  commitment: string,
): Promise<{ readonly slot: number; readonly accounts: readonly (AccountFacts | null)[] }> {
  const params = [addresses, { commitment, encoding: "base64" }];
  const { slot, value } = parseContext(await ask(rpc, "getMultipleAccounts", params), "accounts");
  const accounts = parseList(value, "accounts").map((item) => (item === null ? null : parseAccount(item)));
  if (accounts.length !== addresses.length) {
    throw new MalformedAnswer("accounts", `${addresses.length} accounts`, accounts.length);
  }
  return { slot, accounts };
}

function parseAccount(item: unknown): AccountFacts {
  const { owner, lamports, data, executable } = parseObject(item, "account");
  const [text, encoding] = parseList(data, "data of an account");
  if (typeof owner !== "string" || typeof text !== "string" || encoding !== "base64") {
    throw new MalformedAnswer("account", "owner and data in base64", encoding);
  }
  return {
    program: owner,
    units: parseLamports(lamports, "lamports of an account"),
    data: fromBase64(text),
    isExecutable: executable === true,
  };
}

/** Null when the account is no mint of the two token programs, or is not initialized. */
export function readMint({ program, data }: AccountFacts): Mint | null {
  if (program !== TOKEN_PROGRAM && program !== TOKEN_2022_PROGRAM) return null;
  const isPlain = data.length === MINT_BYTES;
  const isExtended = program === TOKEN_2022_PROGRAM && data.length > TOKEN_BYTES && data[TOKEN_BYTES] === 1;
  if (!(isPlain || isExtended) || data[45] !== 1) return null;
  const extensions = isExtended ? entriesOf(data.subarray(TOKEN_BYTES + 1)) : new Map<number, Uint8Array>();
  return { program, decimals: data[44] ?? 0, takesFee: hasFee(extensions.get(TRANSFER_FEE)), extensions };
}

export interface TokenAccountFacts {
  readonly mint: Uint8Array;
  readonly owner: Uint8Array;
  readonly units: bigint;
  readonly isFrozen: boolean;
}

/** Null when the account is no token account. */
export function readTokenAccount({ program, data }: AccountFacts): TokenAccountFacts | null {
  if (program !== TOKEN_PROGRAM && program !== TOKEN_2022_PROGRAM) return null;
  const isExtended = program === TOKEN_2022_PROGRAM && data.length > TOKEN_BYTES && data[TOKEN_BYTES] === 2;
  // The state of an account: 0 is none, 1 in use, 2 frozen.
  if (!(data.length === TOKEN_BYTES || isExtended) || data[108] === 0) return null;
  const units = new DataView(data.buffer, data.byteOffset).getBigUint64(64, true);
  return { mint: data.subarray(0, 32), owner: data.subarray(32, 64), units, isFrozen: data[108] === 2 };
}

/**
 * Bytes of an owner's associated account. Of Token-2022 it says what kind it is, that its owner stays, and what the mint's
 * extensions demand of every account: what it withheld, whether a transfer is under way, that it can be paused.
 */
export function associatedAccountBytes(mint: Mint): number {
  if (mint.program !== TOKEN_2022_PROGRAM) return TOKEN_BYTES;
  const entries = [
    [TRANSFER_FEE, 8],
    [TRANSFER_HOOK, 1],
    [PAUSABLE, 0],
  ] as const;
  const demanded = entries.map(([type, bytes]) => (mint.extensions.has(type) ? 4 + bytes : 0));
  return demanded.reduce((sum: number, bytes) => sum + bytes, TOKEN_BYTES + 1 + 4);
}

/** Entries until the first of no type, or one that is cut short. */
function entriesOf(data: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const entries = new Map<number, Uint8Array>();
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at + 4 <= data.length; ) {
    const [type, length] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
    if (type === 0 || at + 4 + length > data.length) break;
    entries.set(type, data.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return entries;
}

/** Two authorities (64), withheld units (8), then two fees, older and newer: epoch (8), maximum (8), basis points (2). */
function hasFee(config: Uint8Array | undefined): boolean {
  if (config === undefined) return false;
  const view = new DataView(config.buffer, config.byteOffset, config.byteLength);
  return config.length < 108 || view.getUint16(88, true) > 0 || view.getUint16(106, true) > 0;
}

/** After a fixed part, a name and a symbol, each with its length (Borsh); Metaplex pads them with zeros. */
function symbolIn(data: Uint8Array | undefined, at: number): string | null {
  if (data === undefined) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (at + 4 > data.length) return null;
  const start = at + 4 + view.getUint32(at, true);
  if (start + 4 > data.length) return null;
  const end = start + 4 + view.getUint32(start, true);
  if (end > data.length) return null;
  const text = String.fromCharCode(...data.subarray(start + 4, Math.min(end, start + 68))).replace(/\0+$/, "");
  return /^[\x21-\x7e]+$/.test(text) && text.length <= MAX_SYMBOL_CHARS ? text : null;
}
