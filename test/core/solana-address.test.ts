/** Solana addresses: one spelling each, and no guess about one that is none. */

import { base58 } from "@scure/base";
import { address, getProgramDerivedAddress, isOffCurveAddress } from "@solana/kit";
import { findAssociatedTokenPda } from "@solana-program/token";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { associatedAccount, isOnCurve, programAddress } from "../../src/chains/solana/program-address.ts";
import { addressProblem, parseAddress } from "../../src/core/address.ts";
import {
  parseSolanaAddress,
  SYSTEM_PROGRAM,
  solanaKeyBytes,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from "../../src/core/solana-address.ts";

const USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
const keys = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe("an address of Solana", () => {
  it.each([
    USDC,
    // Off the curve: a program signs for it.
    "5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1",
    // The mint of wrapped coins: it may be listed.
    "So11111111111111111111111111111111111111112",
  ])("%s is taken as it is", (text) => {
    expect(parseSolanaAddress(text)).toEqual({ ok: true, address: text });
    expect(parseAddress({ family: "solana" }, text)).toEqual({ ok: true, address: text });
  });

  it.each([
    ["nothing", ""],
    ["space around it", ` ${USDC}`],
    ["two characters too few", USDC.slice(2)],
    ["a character too many", `${USDC}1`],
    ["a leading 1 too many", `1${USDC}`],
    ["lower case", USDC.toLowerCase()],
    ["0, O, I or l", USDC.replace("E", "0")],
    ["an address of Ethereum", "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf"],
    ["an address of TRON", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"],
    ["a signature", base58.encode(new Uint8Array(64).fill(9))],
    ["33 bytes", base58.encode(new Uint8Array(33).fill(9))],
    ["the largest number of 44 characters", "z".repeat(44)],
  ])("%s is malformed", (_, text) => {
    expect(parseSolanaAddress(text)).toEqual({ ok: false, reason: "malformed" });
  });

  it.each([
    SYSTEM_PROGRAM,
    TOKEN_PROGRAM,
    TOKEN_2022_PROGRAM,
    "SysvarRent111111111111111111111111111111111",
    "Vote111111111111111111111111111111111111111",
    "1nc1nerator11111111111111111111111111111111",
  ])("%s belongs to nobody", (text) => {
    expect(parseSolanaAddress(text)).toEqual({ ok: false, reason: "not_payable" });
    expect(addressProblem({ family: "solana" }, "not_payable")).not.toBe("");
  });

  it("stands for 32 bytes, and those for it", () => {
    fc.assert(
      fc.property(keys, (bytes) => {
        const text = base58.encode(bytes);
        expect(solanaKeyBytes(text)).toEqual(bytes);
        expect(() => address(text)).not.toThrow();
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii", maxLength: 50 }), (text) => {
        const bytes = solanaKeyBytes(text);
        if (bytes !== null) expect(base58.encode(bytes)).toBe(text);
      }),
    );
  });
});

describe("an address that only a program signs for", () => {
  it("is the one that Solana's own library finds", async () => {
    await fc.assert(
      fc.asyncProperty(keys, keys, fc.boolean(), async (owner, mint, isNew) => {
        const program = address(isNew ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM);
        const [who, what] = [address(base58.encode(owner)), address(base58.encode(mint))];
        const [found] = await findAssociatedTokenPda({ owner: who, mint: what, tokenProgram: program });
        expect(associatedAccount(who, program, what)).toBe(found);
        const [other] = await getProgramDerivedAddress({ programAddress: program, seeds: [owner] });
        expect(programAddress([owner], program)).toBe(other);
        expect(isOnCurve(owner)).toBe(!isOffCurveAddress(who));
      }),
      { numRuns: 30 },
    );
  });
});
