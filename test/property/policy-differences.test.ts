/**
 * What the console tells a person before they change the rules is what the service then does: a change is called looser
 * exactly when the service makes it wait, and named exactly when there is one.
 */

import fc from "fast-check";
import { expect, it } from "vitest";
import { compareDecimals, withdrawalDifferences } from "../../src/console/pages/policies/differences.ts";
import { draftOf, rulesFrom } from "../../src/console/pages/policies/drafts.ts";
import { formatAmount, parseAmount } from "../../src/core/amount.ts";
import type { WithdrawalRulesView } from "../../src/core/policy-view.ts";
import { type WithdrawalRules, withRules } from "../../src/core/withdrawal-policy.ts";

const DECIMALS = 3;
const units = fc.bigInt({ min: 0n, max: 3_000n });
const amount = units.map((value) => formatAmount(value, DECIMALS));
const place = fc.constantFrom(...["a", "b"].flatMap((network) => ["X", "Y"].map((asset) => ({ network, asset }))));
const nameOf = ({ network, asset }: { network: string; asset: string }) => `${network} ${asset}`;
const destination = fc.constantFrom("p", "q", "r").map((address) => ({ network: "a", address }));

const rules: fc.Arbitrary<WithdrawalRulesView> = fc.record({
  cool_down_seconds: fc.constantFrom(0, 60, 86_400),
  allow_list: fc.option(fc.uniqueArray(destination, { selector: ({ address }) => address })),
  limits: fc.uniqueArray(
    fc
      .record({ at: place, per_withdrawal: fc.option(amount), per_day: fc.option(amount) })
      .map(({ at, ...limit }) => ({ ...at, ...limit }))
      .filter((limit) => limit.per_withdrawal !== null || limit.per_day !== null),
    { selector: nameOf },
  ),
  approvals: fc.uniqueArray(
    fc.record({ at: place, above: amount }).map(({ at, above }) => ({ ...at, above })),
    { selector: nameOf },
  ),
});

function inside(view: WithdrawalRulesView): WithdrawalRules {
  const unitsOf = (text: string) => {
    const parsed = parseAmount(text, DECIMALS);
    if (!parsed.ok) throw new Error(`no amount: ${text}`);
    return parsed.units;
  };
  return {
    coolDownS: view.cool_down_seconds,
    allowList: view.allow_list,
    limits: view.limits.map(({ per_withdrawal: one, per_day: day, ...at }) => ({
      ...at,
      perWithdrawalUnits: one === null ? null : unitsOf(one),
      perDayUnits: day === null ? null : unitsOf(day),
    })),
    approvals: view.approvals.map(({ above, ...at }) => ({ ...at, aboveUnits: unitsOf(above) })),
  };
}

it("a change is called looser exactly when the service makes it wait", () => {
  fc.assert(
    fc.property(rules, rules, (before, after) => {
      const waits = withRules({ current: inside(before), pending: null }, inside(after), 0).pending !== null;
      expect(withdrawalDifferences(before, after).some(({ looser }) => looser)).toBe(waits);
    }),
    { numRuns: 1_000 },
  );
});

it("rules are without a difference to themselves, also after a form has held them, and each thing is named once", () => {
  fc.assert(
    fc.property(rules, rules, (before, after) => {
      expect(rulesFrom(draftOf(before))).toEqual({ ok: true, value: before });
      expect(withdrawalDifferences(before, before)).toEqual([]);
      const named = withdrawalDifferences(before, after).map(({ what }) => what);
      expect(new Set(named).size).toBe(named.length);
    }),
  );
});

it("decimals are compared exactly, however they are written", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.bigInt({ min: 0n, max: 10n ** 30n }), (a, b) => {
      const sign = a === b ? 0 : a > b ? 1 : -1;
      expect(compareDecimals(formatAmount(a, 18), formatAmount(b, 18))).toBe(sign);
    }),
  );
  expect(compareDecimals("10", "10.000")).toBe(0);
  expect(compareDecimals("9007199254740993", "9007199254740992")).toBe(1);
});
