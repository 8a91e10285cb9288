/**
 * What must hold of the withdrawal line whatever comes: a change of rules never lets more through at once, the
 * ledger of any history sums to zero, and no set of honest laggards with one liar among three makes a slot
 * believe what the chain does not say.
 */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Balance,
  depositConfirmed,
  depositReverted,
  EMPTY_BALANCE,
  networkFeePaid,
  type Posting,
  post,
  withdrawalConfirmed,
  withdrawalReleased,
  withdrawalReopened,
  withdrawalReserved,
} from "../../src/core/ledger.ts";
import { newsOf, type SignedAttempt, type Slot } from "../../src/core/slot.ts";
import { agree, type MinedReceipt, type WalletLook } from "../../src/core/wallet-look.ts";
import {
  type HeldRules,
  type JudgedWithdrawal,
  judge,
  NO_WITHDRAWAL_RULES,
  rulesAt,
  rulesFromText,
  rulesToText,
  type WithdrawalRules,
  withRules,
} from "../../src/core/withdrawal-policy.ts";

const network = fc.constantFrom("n1", "n2");
const asset = fc.constantFrom("native", "0xt");
const units = fc.bigInt(0n, 6n);
const address = fc.constantFrom("0xa", "0xb", "0xc");

const rules: fc.Arbitrary<WithdrawalRules> = fc.record({
  coolDownS: fc.integer({ min: 1, max: 5 }),
  allowList: fc.option(fc.array(fc.record({ network, address }), { maxLength: 4 })),
  limits: fc.array(fc.record({ network, asset, perWithdrawalUnits: fc.option(units), perDayUnits: fc.option(units) }), {
    maxLength: 4,
  }),
  approvals: fc.array(fc.record({ network, asset, aboveUnits: units }), { maxLength: 4 }),
});
const change = fc.record({ next: rules, waitMs: fc.integer({ min: 0, max: 6_000 }) });
const changes = fc.array(change, { maxLength: 5 });
const withdrawal: fc.Arbitrary<JudgedWithdrawal> = fc.record({
  network,
  asset,
  destination: address,
  amountUnits: fc.bigInt(1n, 7n),
  lastDayUnits: units,
});
const withdrawals = fc.array(withdrawal, { minLength: 1, maxLength: 20 });

/** 0: goes through; 1: wants a person; 2: refused. */
function strictness(given: WithdrawalRules, asked: JudgedWithdrawal): number {
  const judgement = judge(given, asked);
  return judgement.ok ? Number(judgement.needsApproval) : 2;
}

/** Changes one after the other, each `waitMs` after the one before. */
function heldAfter(list: readonly { next: WithdrawalRules; waitMs: number }[]): { held: HeldRules; now: number } {
  let held = NO_WITHDRAWAL_RULES;
  let now = 0;
  for (const { next, waitMs } of list) {
    now += waitMs;
    held = withRules(held, next, now);
  }
  return { held, now };
}

describe("any history of rules", () => {
  it("a change lets nothing through at once that was held back, and holds back at once what it wants held back", () => {
    fc.assert(
      fc.property(changes, change, withdrawals, (history, { next, waitMs }, asked) => {
        const before = heldAfter(history);
        const now = before.now + waitMs;
        const base = rulesAt(before.held, now);
        const after = withRules(before.held, next, now);
        for (const at of [now, (after.pending?.effectiveAt ?? now + 1) - 1]) {
          for (const one of asked) {
            expect(strictness(rulesAt(after, at), one)).toBeGreaterThanOrEqual(
              Math.max(strictness(base, one), strictness(next, one)),
            );
          }
          expect(rulesAt(after, at).coolDownS).toBeGreaterThanOrEqual(base.coolDownS);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("holds back no more than the rules before and the rules asked for do together", () => {
    fc.assert(
      fc.property(rules, rules, withdrawals, (base, next, asked) => {
        const { current } = withRules({ current: base, pending: null }, next, 0);
        for (const one of asked) {
          expect(strictness(current, one)).toBe(Math.max(strictness(base, one), strictness(next, one)));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("ends, after the cool-down of the rules it began with, in exactly what was asked for", () => {
    fc.assert(
      fc.property(changes, change, (history, { next, waitMs }) => {
        const before = heldAfter(history);
        const now = before.now + waitMs;
        const after = withRules(before.held, next, now);
        expect(rulesAt(after, now + rulesAt(before.held, now).coolDownS * 1000)).toEqual(next);
      }),
      { numRuns: 1_000 },
    );
  });

  it("comes back from storage as it was", () => {
    fc.assert(
      fc.property(changes, (history) => {
        const { held } = heldAfter(history);
        expect(rulesFromText(rulesToText(held))).toEqual(held);
      }),
    );
  });
});

type Move = {
  readonly what: "deposit" | "revert" | "reserve" | "confirm" | "reopen" | "release" | "fee";
  readonly n: bigint;
};
const move: fc.Arbitrary<Move> = fc.record({
  what: fc.constantFrom("deposit", "revert", "reserve", "confirm", "reopen", "release", "fee"),
  n: fc.bigInt(1n, 9n),
});

interface Books {
  balance: Balance;
  readonly journal: Posting[];
  readonly deposits: bigint[];
  readonly open: bigint[];
  readonly confirmed: bigint[];
  fees: bigint;
}

/** One move, as the states of withdrawals and deposits allow it: what they do not allow is left out. */
function play(books: Books, { what, n }: Move): void {
  const take = (from: bigint[]) => (from.length === 0 ? null : (from.splice(Number(n) % from.length, 1)[0] ?? null));
  const book = (journal: readonly Posting[]) => {
    books.balance = post(books.balance, journal);
    books.journal.push(...journal);
  };
  const moved = (from: bigint[], to: bigint[] | null, journal: (amount: bigint) => readonly Posting[]) => {
    const amount = take(from);
    if (amount === null) return;
    book(journal(amount));
    to?.push(amount);
  };
  switch (what) {
    case "deposit":
      book(depositConfirmed(books.balance, n));
      books.deposits.push(n);
      return;
    case "revert":
      moved(books.deposits, null, (amount) => depositReverted(books.balance, amount));
      return;
    case "reserve":
      if (n > books.balance.available) return;
      book(withdrawalReserved(n));
      books.open.push(n);
      return;
    case "confirm":
      moved(books.open, books.confirmed, withdrawalConfirmed);
      return;
    case "reopen":
      moved(books.confirmed, books.open, withdrawalReopened);
      return;
    case "release":
      moved(books.open, null, (amount) => withdrawalReleased(books.balance, amount));
      return;
    case "fee":
      book(networkFeePaid(n));
      books.fees += n;
  }
}

const sum = (amounts: readonly bigint[]) => amounts.reduce((a, b) => a + b, 0n);

describe("any history of an account", () => {
  it("I3 I4 I11 sums to zero, never below it, and reserves what is open", () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        const books: Books = { balance: EMPTY_BALANCE, journal: [], deposits: [], open: [], confirmed: [], fees: 0n };
        for (const one of moves) {
          play(books, one);
          const { available, reserved, settled, debt } = books.balance;
          expect([available, reserved, settled, debt].every((value) => value >= 0n)).toBe(true);
          expect(reserved).toBe(sum(books.open));
          expect(settled).toBe(sum(books.confirmed) + books.fees);
          // What came in and was not taken back is somewhere; a debtor has nothing available.
          expect(available + reserved + settled - debt).toBe(sum(books.deposits) + books.fees);
          expect(available === 0n || debt === 0n).toBe(true);
        }
        const net = (bucket: Posting["to"]) =>
          sum(
            books.journal.map((p) => (p.to === bucket ? p.amountUnits : 0n) - (p.from === bucket ? p.amountUnits : 0n)),
          );
        const { available, reserved, settled, debt } = books.balance;
        expect([net("available"), net("reserved"), net("settled"), -net("debt")]).toEqual([
          available,
          reserved,
          settled,
          debt,
        ]);
        expect(net("chain") + available + reserved + settled - debt).toBe(0n);
      }),
      { numRuns: 2_000 },
    );
  });
});

const NONCE = 7;
const FINAL_DEPTH = 3;
const ATTEMPTS: readonly SignedAttempt[] = [
  { txId: "0xa", kind: "payment" },
  { txId: "0xb", kind: "payment" },
  { txId: "0xc", kind: "burn" },
];
const HASHES = ATTEMPTS.map(({ txId }) => txId);

/** What the chain really says: `consumer` is mined at `height`; null: nothing has the nonce. */
interface Truth {
  readonly head: number;
  readonly consumer: string | null;
  readonly height: number;
}
const truths: fc.Arbitrary<Truth> = fc
  .record({ head: fc.nat(12), consumer: fc.option(fc.constantFrom(...HASHES, "foreign")), height: fc.nat(12) })
  .map((truth) => ({ ...truth, height: Math.min(truth.height, truth.head) }));

const blockAt = (height: number) => `0x${height}@best`;
const receiptOf = (txId: string, height: number): MinedReceipt => ({
  txId,
  height,
  blockHash: blockAt(height),
  success: true,
  feeUnits: 5n,
  logs: [],
});

/** An honest provider `lag` blocks behind. */
function honestLook({ head, consumer, height }: Truth, lag: number): WalletLook {
  const own = Math.max(0, head - lag);
  const finalHeight = Math.max(-1, own - FINAL_DEPTH);
  const countAt = (top: number) => NONCE + Number(consumer !== null && height <= top);
  const isOurs = consumer !== null && HASHES.includes(consumer);
  return {
    head: own,
    finalHeight,
    nonceLatest: countAt(own),
    noncePending: countAt(own),
    nonceFinal: countAt(finalHeight),
    receipts: new Map(isOurs && height <= own ? [[consumer, receiptOf(consumer, height)]] : []),
    blocks: new Map(Array.from({ length: own + 1 }, (_, i) => [i, blockAt(i)])),
  };
}

const lies: fc.Arbitrary<WalletLook> = fc.record({
  head: fc.nat(40),
  finalHeight: fc.nat(40),
  nonceLatest: fc.nat(40),
  noncePending: fc.nat(40),
  nonceFinal: fc.option(fc.nat(40)),
  receipts: fc
    .array(
      fc.record({
        txId: fc.constantFrom(...HASHES),
        height: fc.nat(12),
        blockHash: fc.nat(12).map(blockAt),
        success: fc.boolean(),
        feeUnits: fc.bigInt(4n, 6n),
        logs: fc.constantFrom([], [{ address: "0xt", topics: [], data: "0x" }]),
      }),
    )
    .map((receipts) => new Map(receipts.map((receipt) => [receipt.txId, receipt]))),
  blocks: fc.array(fc.tuple(fc.nat(12), fc.constantFrom("0xlie", blockAt(3)))).map((pairs) => new Map(pairs)),
});

const before: fc.Arbitrary<Slot["mined"]> = fc.option(
  fc.record({ txId: fc.constantFrom(...HASHES), height: fc.nat(12), isReplaced: fc.boolean() }).map((was) => ({
    txId: was.txId,
    height: was.height,
    blockHash: was.isReplaced ? `0x${was.height}@old` : blockAt(was.height),
  })),
);

const lag = fc.nat(12);
/** One honest provider, two of which one may lie, or three of which one may lie. */
const views = fc.oneof(
  fc.record({ lags: fc.tuple(lag), lie: fc.constant(null) }),
  fc.record({ lags: fc.tuple(lag, lag), lie: fc.constant(null) }),
  fc.record({ lags: fc.tuple(lag), lie: lies }),
  fc.record({ lags: fc.tuple(lag, lag, lag), lie: fc.constant(null) }),
  fc.record({ lags: fc.tuple(lag, lag), lie: lies }),
);

describe("any set of honest providers with at most one liar among two or three", () => {
  it("I6 I9 makes a slot believe only what the chain says", () => {
    fc.assert(
      fc.property(truths, before, views, fc.nat(2), (truth, mined, { lags, lie }, at) => {
        const looks = lags.map((one) => honestLook(truth, one));
        if (lie !== null) looks.splice(at, 0, lie);
        const agreed = agree(looks, looks.length);
        if (agreed === null) throw new Error("all looked");
        expect(agreed.head <= truth.head && agreed.nonceLatest <= NONCE + Number(truth.consumer !== null)).toBe(true);
        const news = newsOf({ nonce: NONCE, attempts: ATTEMPTS, mined }, agreed);
        switch (news.kind) {
          case "mined":
            expect(news.receipt).toEqual(receiptOf(truth.consumer ?? "nobody", truth.height));
            expect(news.attempt.txId).toBe(truth.consumer);
            expect(news.depth >= 1 && news.depth <= truth.head - truth.height + 1).toBe(true);
            if (news.isFinal) expect(truth.height <= truth.head - FINAL_DEPTH).toBe(true);
            return;
          case "unmined":
            expect(mined?.blockHash).toBe(`0x${mined?.height}@old`);
            return;
          case "foreign":
            expect(truth.consumer).toBe("foreign");
            expect(truth.height <= truth.head - FINAL_DEPTH).toBe(true);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it("says all that the chain says once two honest ones have caught up", () => {
    fc.assert(
      fc.property(truths, before, fc.option(lies), fc.nat(2), (truth, mined, lie, at) => {
        const looks = [honestLook(truth, 0), honestLook(truth, 0)];
        if (lie !== null) looks.splice(at, 0, lie);
        const agreed = agree(looks, looks.length);
        if (agreed === null) throw new Error("all looked");
        const { kind } = newsOf({ nonce: NONCE, attempts: ATTEMPTS, mined }, agreed);
        const isReplaced = mined !== null && mined.height <= truth.head && mined.blockHash !== blockAt(mined.height);
        const isFinal = truth.height <= truth.head - FINAL_DEPTH;
        if (truth.consumer !== null && truth.consumer !== "foreign") expect(kind).toBe("mined");
        else if (mined !== null) expect(kind).toBe(isReplaced ? "unmined" : "waiting");
        else expect(kind).toBe(truth.consumer === "foreign" && isFinal ? "foreign" : "waiting");
      }),
      { numRuns: 3_000 },
    );
  });
});
