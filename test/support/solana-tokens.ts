/** Tokens on the Solana chain of tests: mints put there as they are, everything else by the real programs. */

import { base58 } from "@scure/base";
import { type AccountMeta, type Address, address, type Instruction } from "@solana/kit";
import {
  getCreateAssociatedTokenIdempotentInstruction,
  getMintToInstruction,
  getTransferCheckedInstruction,
  getTransferInstruction,
} from "@solana-program/token";
import { associatedAccount, bytesOf } from "../../src/chains/solana/program-address.ts";
import { TOKEN_PROGRAM } from "../../src/core/solana-address.ts";
import type { SolanaChain } from "./solana-chain.ts";
import { type SolanaKey, solanaKey } from "./solana-keys.ts";

export const WRAPPED_SOL = "So11111111111111111111111111111111111111112";

export interface TestToken {
  readonly mint: Address;
  readonly program: Address;
  readonly decimals: number;
}

export interface MintFacts {
  readonly program?: string;
  readonly decimals?: number;
  /** Hundredths of a percent that a Token-2022 mint keeps of each transfer. */
  readonly feeBasisPoints?: number;
  /** In the metadata extension. */
  readonly symbol?: string;
  /** Other extensions of a Token-2022 mint, by type. */
  readonly extensions?: readonly (readonly [type: number, content: Uint8Array])[];
}

/** The faucet may mint it. */
export function putMint(chain: SolanaChain, name: string, facts: MintFacts = {}): TestToken {
  const { program = TOKEN_PROGRAM, decimals = 6, feeBasisPoints, symbol, extensions = [] } = facts;
  const mint = solanaKey(`mint ${name}`).address;
  const base = new Uint8Array(82);
  base.set([1, 0, 0, 0, ...bytesOf(chain.faucet.address)]);
  base[44] = decimals;
  base[45] = 1;
  const entries = [
    ...(feeBasisPoints === undefined ? [] : [entry(1, feeConfig(feeBasisPoints))]),
    ...extensions.map(([type, content]) => entry(type, content)),
    ...(symbol === undefined ? [] : [entry(18, new Uint8Array(64)), entry(19, metadata(mint, name, symbol))]),
  ];
  const data = entries.length === 0 ? base : joined(base, new Uint8Array(83), Uint8Array.of(1), ...entries);
  const lamports = chain.svm.minimumBalanceForRentExemption(BigInt(data.length));
  chain.put(mint, { owner: program, data, lamports, executable: false });
  return { mint, program: address(program), decimals };
}

export const holding = (token: TestToken, owner: string): Address =>
  address(associatedAccount(owner, token.program, token.mint));

/** Who pays: the chain's faucet unless another is given. */
type Faucet = Pick<SolanaChain, "faucet">;

export function openHolding(chain: Faucet, token: TestToken, owner: string, payer = chain.faucet): Instruction {
  return getCreateAssociatedTokenIdempotentInstruction({
    payer: payer.signer,
    ata: holding(token, owner),
    owner: address(owner),
    mint: token.mint,
    tokenProgram: token.program,
  });
}

export function mintTo(chain: Faucet, token: TestToken, account: string, amount: bigint): Instruction {
  const accounts = { mint: token.mint, token: address(account), mintAuthority: chain.faucet.signer };
  return getMintToInstruction({ ...accounts, amount }, { programAddress: token.program });
}

/** Opens the owner's account and mints into it, in a block of its own. */
export function giveTokens(chain: SolanaChain, token: TestToken, owner: string, amount: bigint): Address {
  const account = holding(token, owner);
  chain.transact({ instructions: [openHolding(chain, token, owner), mintTo(chain, token, account, amount)] });
  chain.mine();
  return account;
}

/** Transfer (3): no mint named. */
export function plainTransfer(token: TestToken, from: SolanaKey, to: string, amount: bigint): Instruction {
  const accounts = { source: holding(token, from.address), destination: address(to), authority: from.signer };
  return getTransferInstruction({ ...accounts, amount }, { programAddress: token.program });
}

/** TransferChecked (12). */
export function checkedTransfer(token: TestToken, from: SolanaKey, to: string, amount: bigint): Instruction {
  const { mint, decimals, program } = token;
  const accounts = { source: holding(token, from.address), mint, destination: address(to), authority: from.signer };
  return getTransferCheckedInstruction({ ...accounts, amount, decimals }, { programAddress: program });
}

/** TransferCheckedWithFee (26, 1). */
export function feeTransfer(token: TestToken, from: SolanaKey, to: string, amount: bigint, fee: bigint): Instruction {
  const checked = checkedTransfer(token, from, to, amount);
  const data = joined(Uint8Array.of(26, 1), u64(amount), Uint8Array.of(token.decimals), u64(fee));
  return { ...checked, data };
}

/** One instruction with the data and accounts of several (255). */
export function batched(...parts: readonly Instruction[]): Instruction {
  const [first] = parts;
  if (first === undefined) throw new Error("a batch has one entry at least");
  const accounts = parts.flatMap((part) => [...(part.accounts ?? [])]) as AccountMeta[];
  const entries = parts.map(({ accounts: used = [], data = new Uint8Array(0) }) =>
    joined(Uint8Array.of(used.length, data.length), Uint8Array.from(data)),
  );
  return { programAddress: first.programAddress, accounts, data: joined(Uint8Array.of(255), ...entries) };
}

/** A lookup table as the chain keeps it, put there. */
export function putLookupTable(chain: SolanaChain, name: string, addresses: readonly Address[]): Address {
  const table = solanaKey(`table ${name}`).address;
  const data = new Uint8Array(56 + 32 * addresses.length);
  const view = new DataView(data.buffer);
  // A table in use: never deactivated, extended long ago, with an authority (21 bytes of head, 1, 32, 2 of padding).
  view.setUint32(0, 1, true);
  view.setBigUint64(4, 2n ** 64n - 1n, true);
  data[21] = 1;
  data.set(bytesOf(chain.faucet.address), 22);
  for (const [i, entry] of addresses.entries()) data.set(base58.decode(entry), 56 + 32 * i);
  const lamports = chain.svm.minimumBalanceForRentExemption(BigInt(data.length));
  chain.put(table, { owner: "AddressLookupTab1e1111111111111111111111111", data, lamports, executable: false });
  return table;
}

function feeConfig(basisPoints: number): Uint8Array {
  const config = new Uint8Array(108);
  const view = new DataView(config.buffer);
  for (const at of [72, 90]) {
    view.setBigUint64(at + 8, 2n ** 63n, true);
    view.setUint16(at + 16, basisPoints, true);
  }
  return config;
}

function metadata(mint: string, name: string, symbol: string): Uint8Array {
  const text = (value: string) => joined(u32(value.length), new TextEncoder().encode(value));
  return joined(new Uint8Array(32), bytesOf(mint), text(name), text(symbol), text(""), u32(0));
}

function entry(type: number, content: Uint8Array): Uint8Array {
  return joined(u16(type), u16(content.length), content);
}

const u16 = (value: number) => Uint8Array.of(value & 255, value >> 8);
const u32 = (value: number) => joined(u16(value & 0xffff), u16(value >>> 16));

export function u64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytes;
}

export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
