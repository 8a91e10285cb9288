/** What is compared, as tables: both sides, and the difference that is named. */

import { describe, expect, it } from "vitest";
import { EMPTY_BALANCE } from "../../src/core/ledger.ts";
import {
  compareBalance,
  compareJournals,
  compareKey,
  compareMined,
  compareNonceClaim,
  compareReserved,
  difference,
  foldOf,
  foreignNonces,
  type JournalLine,
  type MinedSlot,
  statusOf,
} from "../../src/core/reconciliation.ts";
import type { MinedReceipt } from "../../src/core/wallet-look.ts";
import type { WithdrawalState } from "../../src/core/withdrawal.ts";

const BIG = 2n ** 200n;
const kinds = (found: readonly { kind: string }[] | null) => found?.map(({ kind }) => kind).join(" ") ?? "not compared";

describe("balances", () => {
  it.each([
    ["nothing moved", [], {}],
    ["a deposit", [["chain", "available", BIG]], { available: BIG }],
    ["debt grows when units leave it", [["debt", "chain", 7n]], { debt: 7n }],
    [
      "debt is repaid",
      [
        ["debt", "chain", 7n],
        ["chain", "debt", 5n],
      ],
      { debt: 2n },
    ],
    [
      "reserved, settled",
      [
        ["chain", "available", 9n],
        ["available", "reserved", 6n],
        ["reserved", "settled", 4n],
      ],
      { available: 3n, reserved: 2n, settled: 4n },
    ],
    ["wrong entries are shown below zero", [["available", "chain", 1n]], { available: -1n }],
  ] as const)("the fold of entries: %s", (_name, lines, expected) => {
    const movements = lines.map(([from, to, units]) => ({ from, to, units }));
    expect(foldOf(movements)).toEqual({ ...EMPTY_BALANCE, ...expected });
  });

  it.each(["available", "reserved", "settled", "debt"] as const)("%s that is off by one is named", (bucket) => {
    const held = { available: BIG, reserved: BIG, settled: BIG, debt: BIG };
    expect(compareBalance("a/local/native", held, held)).toEqual([]);
    const found = compareBalance("a/local/native", held, { ...held, [bucket]: BIG + 1n });
    expect(found).toMatchObject([{ kind: "balance_differs", subject: "a/local/native" }]);
    expect(found[0]?.expected).toContain(`${bucket} ${BIG + 1n}`);
    expect(found[0]?.found).toContain(`${bucket} ${BIG}`);
  });

  it("what is reserved is what is open, to the unit", () => {
    expect(compareReserved("x", { ...EMPTY_BALANCE, reserved: BIG }, BIG)).toEqual([]);
    expect(compareReserved("x", { ...EMPTY_BALANCE, reserved: BIG }, BIG + 1n)).toEqual([
      { kind: "reserved_differs", subject: "x", expected: String(BIG + 1n), found: String(BIG) },
    ]);
  });
});

describe("journals fit the state", () => {
  const base = { account: "a", network: "local", asset: "native" };
  let journals = 0;
  const line = (what: string, from: string, to: string, units = 5n, parts: Partial<JournalLine> = {}): JournalLine => ({
    ...base,
    journalId: `jrn_${++journals}`,
    cause: `withdrawal.${what}`,
    from,
    to,
    units,
    ...parts,
  });
  const reserved = line("reserved", "available", "reserved");
  const confirmed = line("confirmed", "reserved", "settled");
  const reopened = line("reopened", "settled", "reserved");
  const again = line("confirmed", "reserved", "settled");
  const released = line("released", "reserved", "available");
  const repaid = line("released", "available", "debt", 2n, { journalId: released.journalId });

  it.each<[WithdrawalState, readonly JournalLine[], boolean]>([
    ["funds_reserved", [reserved], true],
    ["manual_review", [reserved], true],
    ["confirmed", [reserved, confirmed], true],
    ["confirmed", [reserved, confirmed, reopened, again], true],
    ["confirmation_tracking", [reserved, confirmed, reopened], true],
    ["failed", [reserved, released], true],
    ["cancelled", [reserved, released, repaid], true],
    ["rejected", [reserved, released], true],
    ["funds_reserved", [], false],
    ["funds_reserved", [reserved, line("reserved", "available", "reserved")], false],
    ["funds_reserved", [line("reserved", "available", "reserved", 4n)], false],
    ["funds_reserved", [reserved, released], false],
    ["confirmation_tracking", [reserved, confirmed], false],
    ["confirmed", [reserved], false],
    ["confirmed", [reserved, confirmed, again], false],
    ["confirmed", [reserved, confirmed, line("confirmed", "available", "settled", 1n)], false],
    ["confirmed", [reserved, released], false],
    ["failed", [reserved], false],
    ["failed", [reserved, released, line("released", "reserved", "available")], false],
    ["failed", [reserved, confirmed], false],
    ["funds_reserved", [{ ...reserved, asset: "0xother" }], false],
    ["funds_reserved", [reserved, line("reserved", "available", "reserved", 5n, { network: "base" })], false],
  ])("%s %#", (state, lines, fits) => {
    const found = compareJournals({ id: "wd_1", ...base, amountUnits: 5n, state }, lines);
    expect(kinds(found)).toBe(fits ? "" : "journal_differs");
  });
});

describe("claims", () => {
  const row = { id: "wd_1", fingerprint: "f" };
  it.each([
    ["as it should be", { withdrawalId: "wd_1", fingerprint: "f" }, ""],
    ["missing", undefined, "key_missing"],
    ["of another withdrawal", { withdrawalId: "wd_2", fingerprint: "f" }, "key_differs"],
    ["of another request", { withdrawalId: "wd_1", fingerprint: "g" }, "key_differs"],
  ])("a key that is %s", (_name, claim, expected) => {
    expect(kinds(compareKey(row, claim))).toBe(expected);
  });

  const claim = (tenantId: string, subject: string) => ({ nonce: 3, tenantId, subject });
  it.each([
    ["its withdrawal's", "wd_1", claim("ten_1", "wd_1"), ""],
    ["missing", "wd_1", undefined, "nonce_claim_missing"],
    ["missing for a gap", null, undefined, "nonce_claim_missing"],
    ["another withdrawal's", "wd_1", claim("ten_1", "wd_2"), "nonce_claim_differs"],
    ["another tenant's", "wd_1", claim("ten_2", "wd_1"), "nonce_claim_differs"],
    ["a gap's", null, claim("ten_1", "gap:local:0xs:3"), ""],
    ["that of a payment of an older copy, which a burn voids", null, claim("ten_1", "wd_9"), ""],
    ["a gap's, of another tenant", null, claim("ten_2", "gap:local:0xs:3"), "nonce_claim_differs"],
  ])("a nonce's claim that is %s", (_name, withdrawalId, held, expected) => {
    expect(kinds(compareNonceClaim("local/0xs/3", "ten_1", { nonce: 3, withdrawalId }, held))).toBe(expected);
  });
});

describe("nonces that somebody else used", () => {
  it.each<[string, number, number, readonly number[], readonly string[]]>([
    ["all known", 3, 6, [3, 4, 5], []],
    ["nothing used", 3, 3, [], []],
    ["used below the first", 3, 2, [], []],
    ["one in between", 3, 6, [3, 5], ["w/4"]],
    ["a run at the end", 3, 7, [3, 4], ["w/5-6"]],
    ["a run at the start, and one later", 3, 9, [5, 6, 8], ["w/3-4", "w/7"]],
    ["what is known but not used is no end of a run", 0, 2, [2, 3], ["w/0-1"]],
  ])("%s", (_name, first, used, known, expected) => {
    const found = foreignNonces("w", first, used, (nonce) => known.includes(nonce));
    expect(found.map(({ subject }) => subject)).toEqual(expected);
    expect(found.every(({ kind }) => kind === "foreign_nonce")).toBe(true);
  });
});

describe("receipts", () => {
  const mined = { txId: "0xa", height: 80, blockHash: "0x80" };
  const high = { txId: "0xa", height: 81, blockHash: "0x81" };
  const receipt = (parts: Partial<MinedReceipt> = {}): MinedReceipt => ({
    ...mined,
    success: true,
    feeUnits: 1n,
    logs: [],
    ...parts,
  });
  const look = (...found: MinedReceipt[]) => ({
    head: 100,
    finalHeight: 80,
    receipts: new Map(found.map((r) => [r.txId, r])),
  });
  const slot = (parts: Partial<MinedSlot> = {}): MinedSlot => ({
    subject: "wd_1",
    mined,
    kind: "payment",
    claims: "paid",
    ...parts,
  });

  it.each<[string, MinedSlot, ReturnType<typeof look>, string]>([
    ["paid as recorded", slot(), look(receipt()), ""],
    ["reverted as recorded", slot({ claims: "not_paid" }), look(receipt({ success: false })), ""],
    ["burnt as recorded", slot({ claims: "not_paid", kind: "burn" }), look(receipt()), ""],
    ["open, mined as recorded", slot({ claims: null }), look(receipt()), ""],
    ["confirmed, and the chain reverted it", slot(), look(receipt({ success: false })), "receipt_differs"],
    ["confirmed, and the nonce was burnt", slot({ kind: "burn" }), look(receipt()), "receipt_differs"],
    ["failed, and the chain paid it", slot({ claims: "not_paid" }), look(receipt()), "receipt_differs"],
    ["a final receipt that is not there", slot(), look(), "receipt_missing"],
    ["of a burn, not there", slot({ claims: null, kind: "burn" }), look(), "receipt_missing"],
    ["in another block than recorded", slot(), look(receipt({ blockHash: "0xb" })), "receipt_differs"],
    ["in a block that may be replaced, gone", slot({ mined: high }), look(), "not compared"],
    [
      "in a block that may be replaced, in another",
      slot({ mined: high }),
      look(receipt({ height: 81, blockHash: "0xb" })),
      "not compared",
    ],
    [
      "in a block that may be replaced, and reverted there",
      slot({ mined: high }),
      look(receipt({ ...high, success: false })),
      "receipt_differs",
    ],
    ["above the head", slot(), { ...look(), head: 79, finalHeight: 79 }, "not compared"],
    ["at the head", slot(), { ...look(receipt()), head: 80 }, ""],
    ["confirmed, with nothing mined on record", slot({ mined: null }), look(), "receipt_missing"],
    ["open, with nothing mined on record", slot({ mined: null, claims: null }), look(), "not compared"],
  ])("%s", (_name, given, seen, expected) => {
    expect(kinds(compareMined(given, seen))).toBe(expected);
  });
});

it.each([
  [0, 0, "matched"],
  [0, 1, "incomplete"],
  [1, 0, "mismatched"],
  [1, 1, "mismatched"],
] as const)("%i differences and %i sources out of reach: %s", (differences, unreachable, status) => {
  expect(statusOf(differences, unreachable)).toBe(status);
});

it("equal sides are no difference", () => {
  expect(difference("k", "s", "a", "a")).toEqual([]);
  expect(difference("k", "s", "a", "b")).toEqual([{ kind: "k", subject: "s", expected: "a", found: "b" }]);
});
