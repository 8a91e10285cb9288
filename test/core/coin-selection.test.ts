/** Which coins pay for what: to the satoshi, never twice, never a coin that costs more than it holds. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSigned } from "../../src/chains/bitcoin/signed-spend.ts";
import type { SpendIntent } from "../../src/chains/coin-payout.ts";
import { scriptOfAddress } from "../../src/core/bitcoin-address.ts";
import { type CoinPlan, type Selection, type SelectionQuestion, selectCoins } from "../../src/core/coin-selection.ts";
import { type Coin, coinText, type Payment } from "../../src/core/coins.ts";
import { type FeeDemand, feeOf, leastChange } from "../../src/core/fee-rate.ts";
import { CHANGE_VSIZE, dustThreshold, INPUT_VSIZE, vsizeOf, weightOf } from "../../src/core/tx-size.ts";
import { coinOf, coinWallet, PAYEES, REGTEST } from "../support/coin-wallet.ts";

const wallet = coinWallet();
/** For tables, where keys do not matter. */
const coin = (n: number, amountUnits: bigint): Coin => ({
  txId: n.toString(16).padStart(64, "0"),
  vout: 0,
  amountUnits,
  address: wallet.address,
  path: "0/0",
});
const rate = (ratePerKvb: bigint, replacedUnits: bigint | null = null): FeeDemand => ({ ratePerKvb, replacedUnits });
const pay = (amountUnits: bigint, address = PAYEES.p2wpkh): Payment => ({ address, amountUnits });
const ask = (question: Partial<SelectionQuestion>): Selection =>
  selectCoins({
    addresses: REGTEST.addresses,
    payments: [pay(10_000n)],
    pinned: [],
    coins: [],
    demand: rate(2_000n),
    ...question,
  });
const planOf = (selection: Selection): CoinPlan => {
  if (!selection.ok) throw new Error(`refused: ${selection.reason}`);
  return selection.plan;
};
const amounts = ({ inputs }: CoinPlan) => inputs.map(({ amountUnits }) => amountUnits);
const sum = (values: readonly { readonly amountUnits: bigint }[]) =>
  values.reduce((total, { amountUnits }) => total + amountUnits, 0n);

describe("sizes", () => {
  it.each([
    ["one input, one output to P2WPKH", 1, [22], 110],
    ["one input, P2WPKH and change", 1, [22, 22], 141],
    ["two inputs, P2PKH and change", 2, [25, 22], 212],
    ["one input, P2SH", 1, [23], 111],
    ["one input, P2TR", 1, [34], 122],
    ["253 inputs need three bytes to be counted", 253, [22], 17248],
  ])("%s: %i, %j", (_name, inputs, scripts, vsize) => {
    expect(vsizeOf(weightOf(inputs, scripts))).toBe(vsize);
  });

  it.each([
    ["p2pkh", 546n],
    ["p2sh", 540n],
    ["p2wpkh", 294n],
    ["p2wsh", 330n],
    ["p2tr", 330n],
  ] as const)("dust of %s is below %i, as Core has it", (form, least) => {
    expect(dustThreshold(scriptOfAddress(REGTEST.addresses, PAYEES[form]))).toBe(least);
    expect(ask({ payments: [pay(50_000n), pay(least - 1n, PAYEES[form])], coins: [coin(1, 10n ** 8n)] })).toEqual({
      ok: false,
      reason: "dust",
      place: 1,
      leastUnits: least,
    });
    expect(ask({ payments: [pay(least, PAYEES[form])], coins: [coin(1, 10n ** 8n)] }).ok).toBe(true);
  });
});

describe("the choice", () => {
  // At 2 sat/vB: 1 in 1 out 220, 1 in 2 out 282, 2 in 1 out 356, 2 in 2 out 418; an input 136.
  it.each<[string, Partial<SelectionQuestion>, bigint[], bigint | null]>([
    ["one that fits exactly", { coins: [coin(1, 50_000n), coin(2, 10_220n)] }, [10_220n], null],
    ["two that fit exactly", { coins: [coin(1, 50_000n), coin(2, 6_000n), coin(3, 4_356n)] }, [6_000n, 4_356n], null],
    ["nearly exact: the rest is too little for change", { coins: [coin(1, 10_400n)] }, [10_400n], null],
    [
      "the smallest that is enough",
      { coins: [coin(1, 50_000n), coin(2, 20_000n), coin(3, 90_000n)] },
      [20_000n],
      9_718n,
    ],
    [
      "the largest, and the smallest beside it",
      { coins: [coin(1, 7_000n), coin(2, 6_000n), coin(3, 5_000n)] },
      [7_000n, 5_000n],
      1_582n,
    ],
    ["change from the least amount on", { coins: [coin(1, 10_000n + 282n + 294n)] }, [10_576n], 294n],
    ["no change one below", { coins: [coin(1, 10_000n + 282n + 293n)] }, [10_575n], null],
    [
      "what is pinned, first and alone when it is enough",
      { pinned: [coin(9, 30_000n)], coins: [coin(1, 10_220n)] },
      [30_000n],
      19_718n,
    ],
    [
      "what is pinned, though it costs more than it holds",
      { pinned: [coin(9, 100n)], coins: [coin(1, 50_000n)] },
      [100n, 50_000n],
      39_682n,
    ],
    [
      "pinned and exact",
      { pinned: [coin(9, 6_000n)], coins: [coin(1, 50_000n), coin(2, 4_356n)] },
      [6_000n, 4_356n],
      null,
    ],
    ["nobody is paid: all of it back", { payments: [], pinned: [coin(9, 5_000n)] }, [5_000n], 4_780n],
    [
      "nobody is paid, and what is pinned is too little",
      { payments: [], pinned: [coin(9, 300n)], coins: [coin(1, 5_000n)] },
      [300n, 5_000n],
      4_944n,
    ],
    [
      "a replacement pays for what it replaces",
      { demand: rate(2_000n, 5_000n), pinned: [coin(9, 30_000n)] },
      [30_000n],
      14_859n,
    ],
  ])("%s", (_name, question, inputs, change) => {
    const plan = planOf(ask(question));
    expect({ inputs: amounts(plan), change: plan.changeUnits }).toEqual({ inputs, change });
  });

  it("a calm hour wastes little on more inputs, a dear one takes few", () => {
    const many = [coin(1, 5_000n), coin(2, 5_100n)];
    const exact = (perVb: bigint, n: bigint) => 10_000n + perVb * (42n + 68n * n);
    const at = (perVb: bigint) => {
      const single = coin(3, exact(perVb, 1n) + 40n);
      const pair = [coin(1, 5_000n), coin(2, exact(perVb, 2n) - 5_000n)];
      return amounts(planOf(ask({ demand: rate(perVb * 1_000n), coins: [single, ...pair] }))).length;
    };
    expect(many.length).toBe(2);
    expect(at(1n)).toBe(2);
    expect(at(50n)).toBe(1);
  });

  it("a coin that costs more than it holds is left", () => {
    expect(ask({ coins: [coin(1, 10_084n), coin(2, 136n)] })).toMatchObject({ ok: false, reason: "short" });
    expect(amounts(planOf(ask({ coins: [coin(1, 10_219n), coin(2, 137n)] })))).toEqual([10_219n, 137n]);
  });

  it("says by how much the wallet is short", () => {
    // Two inputs and one payment: 356.
    expect(ask({ coins: [coin(1, 8_000n)] })).toEqual({ ok: false, reason: "short", shortUnits: 2_356n });
    expect(ask({})).toEqual({ ok: false, reason: "short", shortUnits: 10_220n });
  });

  it("says that the coins are too small for one transaction", () => {
    const coins = Array.from({ length: 2_000 }, (_, n) => coin(n + 1, 1_000n + BigInt(n % 7)));
    const refused = ask({ payments: [pay(1_000_000n)], coins });
    expect(refused).toMatchObject({ ok: false, reason: "too_heavy", maxInputs: 881 });
    expect(planOf(ask({ payments: [pay(700_000n)], coins })).inputs.length).toBeLessThanOrEqual(881);
  });

  it("refuses a coin that is pinned twice", () => {
    expect(() => ask({ pinned: [coin(1, 5_000n), coin(1, 5_000n)] })).toThrow("a coin is pinned twice");
  });
});

const anAmount = fc.oneof(fc.bigInt(1n, 3_000n), fc.bigInt(1_000n, 200_000n), fc.bigInt(10n ** 6n, 21n * 10n ** 14n));
const aDemand = fc.record({
  ratePerKvb: fc.oneof(fc.bigInt(100n, 3_000n), fc.bigInt(1_000n, 1_000_000n)),
  replacedUnits: fc.option(fc.bigInt(0n, 200_000n)),
});
const aPayee = fc.constantFrom(...Object.values(PAYEES));
const somePayments = fc.array(
  fc.record({ address: aPayee, amountUnits: fc.oneof(fc.bigInt(546n, 50_000n), fc.bigInt(10_000n, 10n ** 7n)) }),
  { maxLength: 6 },
);
/** Names come twice, and some coins are pinned or locked and offered all the same. */
const aQuestion = fc
  .record({
    payments: somePayments,
    amounts: fc.array(anAmount, { maxLength: 40 }),
    pinned: fc.integer({ min: 0, max: 2 }),
    lockedMask: fc.bigInt(0n, 2n ** 40n),
    twice: fc.boolean(),
    demand: aDemand,
  })
  .map(({ payments, amounts: held, pinned, lockedMask, twice, demand }): SelectionQuestion => {
    const all = held.map((amountUnits, n) => coin(n + 1, amountUnits));
    const locked = new Set(
      all
        .filter((_, n) => (lockedMask >> BigInt(n)) & 1n)
        .slice(0, 10)
        .map(coinText),
    );
    const offered = twice ? [...all, ...all] : all;
    return { addresses: REGTEST.addresses, payments, pinned: all.slice(0, pinned), coins: offered, locked, demand };
  });
/** Everything that may be taken, by the definition. */
const usable = ({ pinned, coins, locked, demand }: SelectionQuestion) => {
  const marginal = demand.replacedUnits !== null && demand.ratePerKvb < 1_000n ? 1_000n : demand.ratePerKvb;
  const seen = new Map<string, Coin>();
  for (const one of coins)
    if (!locked?.has(coinText(one)) && one.amountUnits * 1_000n > marginal * 68n) seen.set(coinText(one), one);
  for (const one of pinned) seen.set(coinText(one), one);
  return [...seen.values()];
};

describe("always", () => {
  it("in = out + fee, and the fee is what was asked for and hardly more", () => {
    fc.assert(
      fc.property(aQuestion, (question) => {
        const selection = selectCoins(question);
        fc.pre(selection.ok);
        const { inputs, changeUnits, feeUnits, vsize } = planOf(selection);
        const { payments, pinned, demand } = question;
        expect(sum(inputs)).toBe(sum(payments) + (changeUnits ?? 0n) + feeUnits);
        const scripts = payments.map(({ address }) => scriptOfAddress(REGTEST.addresses, address).length / 2);
        expect(vsize).toBe(vsizeOf(weightOf(inputs.length, changeUnits === null ? scripts : [...scripts, 22])));
        const least = feeOf(demand, vsize);
        if (changeUnits === null) {
          expect(feeUnits).toBeGreaterThanOrEqual(least);
          expect(feeUnits).toBeLessThan(feeOf(demand, vsize + CHANGE_VSIZE) + leastChange(demand));
          expect(payments.length).toBeGreaterThan(0);
        } else {
          expect(feeUnits).toBe(least);
          expect(changeUnits).toBeGreaterThanOrEqual(294n);
        }
        expect(inputs.slice(0, pinned.length)).toEqual(pinned);
        expect(new Set(inputs.map(coinText)).size).toBe(inputs.length);
        const allowed = new Set(usable(question).map(coinText));
        expect(inputs.filter((one) => !allowed.has(coinText(one)))).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  it("it does not matter in which order coins are offered, or how often it is asked", () => {
    fc.assert(
      fc.property(aQuestion, (question) => {
        const first = selectCoins(question);
        expect(selectCoins(question)).toEqual(first);
        expect(selectCoins({ ...question, coins: [...question.coins].reverse() })).toEqual(first);
      }),
      { numRuns: 300 },
    );
  });

  it("refused only when everything that may be taken is not enough; one more coin of what is short is enough", () => {
    fc.assert(
      fc.property(aQuestion, (question) => {
        const selection = selectCoins(question);
        fc.pre(!selection.ok);
        if (selection.ok || selection.reason !== "short") throw new Error("expected to be short");
        const all = usable(question);
        const scripts = question.payments.map(({ address }) => scriptOfAddress(REGTEST.addresses, address).length / 2);
        const outs = scripts.length === 0 ? [22] : scripts;
        const least = scripts.length === 0 ? leastChange(question.demand) : 0n;
        const needed = sum(question.payments) + feeOf(question.demand, vsizeOf(weightOf(all.length, outs))) + least;
        if (all.length > 0) expect(sum(all)).toBeLessThan(needed);
        const more = (units: bigint) => ({ ...question, coins: [...question.coins, coin(1_000_000, units)] });
        expect(selectCoins(more(selection.shortUnits)).ok).toBe(true);
        expect(selectCoins(more(selection.shortUnits - 1n)).ok).toBe(false);
      }),
      { numRuns: 600 },
    );
  });

  it("monotone: more coins, a lower rate or a smaller payment never make what was payable unpayable", () => {
    fc.assert(
      fc.property(aQuestion, anAmount, (question, extra) => {
        fc.pre(selectCoins(question).ok);
        const { demand, coins, payments } = question;
        expect(selectCoins({ ...question, coins: [...coins, coin(1_000_000, extra)] }).ok).toBe(true);
        expect(selectCoins({ ...question, demand: { ...demand, ratePerKvb: demand.ratePerKvb / 2n } }).ok).toBe(true);
        const less = payments.map(({ address }) => pay(546n, address));
        expect(selectCoins({ ...question, payments: less }).ok).toBe(true);
      }),
      { numRuns: 600 },
    );
  });

  it("what is really signed pays its rate, and at most a byte for each input more", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.bigInt(20_000n, 100_000n), { minLength: 1, maxLength: 6 }),
        somePayments.filter((payments) => payments.length > 0),
        fc.bigInt(1_000n, 50_000n),
        async (held, payments, ratePerKvb) => {
          const demand = rate(ratePerKvb);
          const coins = held.map((amountUnits, n) => coinOf(wallet, n, amountUnits));
          const selection = ask({ payments, coins, demand });
          fc.pre(selection.ok);
          const { inputs, changeUnits, feeUnits, vsize } = planOf(selection);
          const change =
            changeUnits === null ? null : { address: wallet.addressAt("1/99"), path: "1/99", amountUnits: changeUnits };
          const intent: SpendIntent = { inputs, payments, change };
          const read = readSigned(await wallet.sign(intent), intent, { network: REGTEST, replacedUnits: null });
          if (!read.ok) throw new Error(read.problem);
          expect(read.signed.vsize).toBeLessThanOrEqual(vsize);
          expect(read.signed.vsize).toBeGreaterThanOrEqual(vsize - inputs.length);
          expect(feeUnits).toBeGreaterThanOrEqual(feeOf(demand, read.signed.vsize));
          const spare = changeUnits === null ? BigInt(CHANGE_VSIZE) * ratePerKvb + 1_000n * leastChange(demand) : 0n;
          const most = (BigInt(read.signed.vsize + inputs.length) * ratePerKvb + spare) / 1_000n + 1n;
          expect(feeUnits).toBeLessThanOrEqual(most);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("ten thousand coins are chosen from in time", () => {
    const coins = Array.from({ length: 10_000 }, (_, n) => coin(n + 1, 5_000n + BigInt((n * 7_919) % 50_021)));
    const payments = Array.from({ length: 100 }, () => pay(12_345n));
    const started = performance.now();
    expect(ask({ payments, coins }).ok).toBe(true);
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(INPUT_VSIZE).toBe(68);
  });
});
