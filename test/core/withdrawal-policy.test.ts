/** What a tenant's own rules refuse, which want a person, and when a change to them holds. */

import { describe, expect, it } from "vitest";
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

const NET = "local";
const USDC = `0x${"11".repeat(20)}`;
const ALICE = `0x${"aa".repeat(20)}`;
const BOB = `0x${"bb".repeat(20)}`;
const NOW = 1_000_000;

const NONE = NO_WITHDRAWAL_RULES.current;
const rules = (parts: Partial<WithdrawalRules>): WithdrawalRules => ({ ...NONE, ...parts });
const allow = (...addresses: string[]) => addresses.map((address) => ({ network: NET, address }));
const limit = (perWithdrawalUnits: bigint | null, perDayUnits: bigint | null = null, asset = "native") => ({
  network: NET,
  asset,
  perWithdrawalUnits,
  perDayUnits,
});
const approval = (aboveUnits: bigint, asset = "native") => ({ network: NET, asset, aboveUnits });
const held = (current: WithdrawalRules): HeldRules => ({ current, pending: null });
const pay = (parts: Partial<JudgedWithdrawal> = {}): JudgedWithdrawal => ({
  network: NET,
  asset: "native",
  destination: ALICE,
  amountUnits: 10n,
  lastDayUnits: 0n,
  ...parts,
});

const FREE = { ok: true, needsApproval: false };
const ASK = { ok: true, needsApproval: true };
const ELSEWHERE = { ok: false, reason: "destination_not_allowed" };
const tooMuch = (reason: "per_withdrawal" | "per_day", limitUnits: bigint) => ({ ok: false, reason, limitUnits });

describe("what rules say of a withdrawal", () => {
  it.each([
    ["no rules", NONE, pay(), FREE],
    ["no rules, any amount", NONE, pay({ amountUnits: 10n ** 40n, lastDayUnits: 10n ** 40n }), FREE],
    ["an allowed destination", rules({ allowList: allow(BOB, ALICE) }), pay(), FREE],
    ["another destination", rules({ allowList: allow(BOB) }), pay(), ELSEWHERE],
    ["an empty allow-list", rules({ allowList: [] }), pay(), ELSEWHERE],
    ["allowed on another network", rules({ allowList: allow(ALICE) }), pay({ network: "other" }), ELSEWHERE],
    ["at the limit of one", rules({ limits: [limit(10n)] }), pay(), FREE],
    ["above the limit of one", rules({ limits: [limit(9n)] }), pay(), tooMuch("per_withdrawal", 9n)],
    ["a limit of nothing", rules({ limits: [limit(0n)] }), pay({ amountUnits: 1n }), tooMuch("per_withdrawal", 0n)],
    ["the limit of another asset", rules({ limits: [limit(9n, 9n, USDC)] }), pay(), FREE],
    ["the limit of another network", rules({ limits: [limit(9n, 9n)] }), pay({ network: "other" }), FREE],
    ["at the limit of a day", rules({ limits: [limit(null, 30n)] }), pay({ lastDayUnits: 20n }), FREE],
    [
      "above the limit of a day",
      rules({ limits: [limit(null, 30n)] }),
      pay({ lastDayUnits: 21n }),
      tooMuch("per_day", 30n),
    ],
    ["above both limits", rules({ limits: [limit(9n, 5n)] }), pay(), tooMuch("per_withdrawal", 9n)],
    ["the destination is judged first", rules({ allowList: [], limits: [limit(9n)] }), pay(), ELSEWHERE],
    [
      "listed twice: the lower of each counts",
      rules({ limits: [limit(null, 5n), limit(50n, 60n)] }),
      pay(),
      tooMuch("per_day", 5n),
    ],
    ["up to the approval's amount", rules({ approvals: [approval(10n)] }), pay(), FREE],
    ["above the approval's amount", rules({ approvals: [approval(9n)] }), pay(), ASK],
    ["above nothing: always a person", rules({ approvals: [approval(0n)] }), pay({ amountUnits: 1n }), ASK],
    ["the approval of another asset", rules({ approvals: [approval(9n, USDC)] }), pay(), FREE],
    [
      "a limit is judged before an approval",
      rules({ limits: [limit(9n)], approvals: [approval(1n)] }),
      pay(),
      tooMuch("per_withdrawal", 9n),
    ],
  ] as const)("%s", (_name, given, withdrawal, expected) => {
    expect(judge(given, withdrawal)).toEqual(expected);
  });
});

describe("a change to the rules", () => {
  const base = rules({
    coolDownS: 100,
    allowList: allow(ALICE, BOB),
    limits: [limit(10n, 100n)],
    approvals: [approval(5n)],
  });

  it.each([
    ["the same rules", base],
    ["a shorter allow-list", { ...base, allowList: allow(BOB) }],
    ["an empty allow-list", { ...base, allowList: [] }],
    ["a lower limit of one", { ...base, limits: [limit(9n, 100n)] }],
    ["a lower limit of a day", { ...base, limits: [limit(10n, 99n)] }],
    ["a limit of another asset more", { ...base, limits: [limit(10n, 100n), limit(1n, null, USDC)] }],
    ["an earlier approval", { ...base, approvals: [approval(4n)] }],
    ["an approval of another asset more", { ...base, approvals: [approval(5n), approval(1n, USDC)] }],
    ["a longer cool-down", { ...base, coolDownS: 101 }],
  ] as const)("%s holds at once", (_name, next) => {
    expect(withRules(held(base), next, NOW)).toEqual({ current: next, pending: null });
  });

  it.each([
    ["no allow-list", { ...base, allowList: null }],
    ["one destination more", { ...base, allowList: allow(ALICE, BOB, USDC) }],
    ["another network's destination", { ...base, allowList: [{ network: "other", address: ALICE }] }],
    ["a higher limit of one", { ...base, limits: [limit(11n, 100n)] }],
    ["a higher limit of a day", { ...base, limits: [limit(10n, 101n)] }],
    ["no limit of one", { ...base, limits: [limit(null, 100n)] }],
    ["no limit of a day", { ...base, limits: [limit(10n, null)] }],
    ["no limits", { ...base, limits: [] }],
    ["a limit of another asset instead", { ...base, limits: [limit(10n, 100n, USDC)] }],
    ["a later approval", { ...base, approvals: [approval(6n)] }],
    ["no approval", { ...base, approvals: [] }],
    ["a shorter cool-down", { ...base, coolDownS: 99 }],
    [
      "looser in one thing, stricter in all others",
      { ...rules({ allowList: [], limits: [limit(0n, 0n)] }), coolDownS: 1 },
    ],
  ] as const)("%s waits for the cool-down", (_name, next) => {
    const after = withRules(held(base), next, NOW);
    expect(after.pending).toEqual({ rules: next, effectiveAt: NOW + 100_000 });
    expect(rulesAt(after, NOW + 99_999)).toBe(after.current);
    expect(rulesAt(after, NOW + 100_000)).toBe(next);
  });

  it("until then the stricter of both holds, part by part", () => {
    const next = rules({
      coolDownS: 50,
      allowList: [...allow(BOB, USDC), { network: "other", address: ALICE }],
      limits: [limit(20n, 50n), limit(7n, null, USDC)],
      approvals: [approval(2n), approval(3n, USDC)],
    });
    expect(withRules(held(base), next, NOW).current).toEqual({
      coolDownS: 100,
      allowList: allow(BOB),
      limits: [limit(10n, 50n), limit(7n, null, USDC)],
      approvals: [approval(2n), approval(3n, USDC)],
    });
  });

  it("an allow-list that comes with something looser holds at once", () => {
    const after = withRules(held({ ...base, allowList: null }), { ...base, allowList: allow(BOB), limits: [] }, NOW);
    expect(after.current.allowList).toEqual(allow(BOB));
    expect(after.current.limits).toEqual(base.limits);
  });

  it("a later change replaces the one that waits, and waits anew", () => {
    const first = withRules(held(base), { ...base, limits: [] }, NOW);
    const looser = { ...base, limits: [limit(50n, 100n)] };
    const second = withRules(first, looser, NOW + 60_000);
    expect(second.pending).toEqual({ rules: looser, effectiveAt: NOW + 160_000 });
    expect(rulesAt(second, NOW + 100_000).limits).toEqual(base.limits);
  });

  it("a change that is taken back in time never holds", () => {
    const waiting = withRules(held(base), { ...base, limits: [] }, NOW);
    expect(withRules(waiting, base, NOW + 99_999)).toEqual({ current: base, pending: null });
  });

  it("is measured against rules whose time has come, also when nobody has looked since", () => {
    const open = { ...base, limits: [] };
    const due = withRules(held(base), open, NOW);
    expect(withRules(due, { ...open, allowList: [] }, NOW + 100_000)).toEqual({
      current: { ...open, allowList: [] },
      pending: null,
    });
  });

  it("a longer cool-down counts for the next change, a shorter one only once it holds", () => {
    const longer = withRules(held(base), { ...base, coolDownS: 1_000 }, NOW);
    expect(withRules(longer, NONE, NOW).pending?.effectiveAt).toBe(NOW + 1_000_000);
    const shorter = withRules(held(base), { ...base, coolDownS: 1 }, NOW);
    expect(withRules(shorter, NONE, NOW + 99_999).pending?.effectiveAt).toBe(NOW + 199_999);
    expect(withRules(shorter, { ...base, coolDownS: 1, limits: [] }, NOW + 100_000).pending?.effectiveAt).toBe(
      NOW + 101_000,
    );
  });

  it("a cool-down of nothing waits for nothing", () => {
    expect(rulesAt(withRules(held({ ...base, coolDownS: 0 }), NONE, NOW), NOW)).toEqual(NONE);
    expect(rulesAt(withRules(held({ ...base, coolDownS: 0 }), { ...NONE, coolDownS: 0 }, NOW), NOW).limits).toEqual([]);
  });

  it("without rules, what is stricter holds at once and waits a day to be lifted", () => {
    const after = withRules(NO_WITHDRAWAL_RULES, rules({ allowList: allow(ALICE) }), NOW);
    expect(after.pending).toBeNull();
    expect(withRules(after, NONE, NOW).pending).toEqual({ rules: NONE, effectiveAt: NOW + 86_400_000 });
  });
});

describe("rules in storage", () => {
  const full = rules({
    allowList: allow(ALICE),
    limits: [limit(2n ** 200n, null), limit(null, 0n, USDC)],
    approvals: [approval(10n ** 30n)],
  });

  it.each([
    ["none", NO_WITHDRAWAL_RULES],
    ["everything", { current: full, pending: { rules: { ...full, allowList: null }, effectiveAt: NOW } }],
  ] as const)("come back as they were: %s", (_name, given) => {
    expect(rulesFromText(rulesToText(given))).toEqual(given);
  });

  it("keep amounts as decimal strings", () => {
    expect(JSON.parse(rulesToText(held(full))).current.limits[0]).toEqual({
      network: NET,
      asset: "native",
      perWithdrawalUnits: (2n ** 200n).toString(),
      perDayUnits: null,
    });
  });

  it.each([['"-1"'], ['"0x10"'], ['""'], ['"1.5"'], ["5"], ["true"]])("an amount of %s is refused", (amount) => {
    const text = rulesToText(held(rules({ approvals: [approval(7n)] }))).replace('"7"', amount);
    expect(() => rulesFromText(text)).toThrow(/aboveUnits/);
  });
});
