/** What a chain makes of a spend: by the output that all its attempts spend, whatever they are called. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { agreeOnCoins, type CoinLook, type Spender } from "../../src/core/coin-look.ts";
import { coinText } from "../../src/core/coins.ts";
import { isSameTransaction, newsOfSpend, type Spend, shareOf } from "../../src/core/spend.ts";

const WINDOW = 6;
const hash = (digit: string) => digit.repeat(64);
const pin = { txId: hash("a"), vout: 1 };
const attemptOf = (attempt: number, txId: string, paid = "100") => ({
  attempt,
  txId,
  inputs: [coinText(pin)],
  outputs: [["0014aa", paid]] as [string, string][],
});
const spenderOf = (txId: string, height: number, paid = 100n): Spender => ({
  txId,
  height,
  blockHash: `block ${height}`,
  inputs: [pin],
  outputs: [{ script: "0014aa", amountUnits: paid }],
});
const spend: Spend = { pin, attempts: [attemptOf(1, hash("1")), attemptOf(2, hash("2"), "90")], mined: null };

function lookOf(spender: Spender | "missing" | null | undefined, head = 100, blocks: [number, string][] = []) {
  const look: CoinLook = {
    head,
    headHash: `block ${head}`,
    spenders: new Map(spender === undefined ? [] : [[coinText(pin), spender]]),
    searched: new Map(),
    blocks: new Map(blocks),
  };
  const agreed = agreeOnCoins([look], 1);
  if (agreed === null) throw new Error("one look of one is enough");
  return agreed;
}

describe("newsOfSpend", () => {
  it("names the attempt that is in a block, and how deep it stands", () => {
    expect(newsOfSpend(spend, lookOf(spenderOf(hash("2"), 98, 90n)), WINDOW)).toMatchObject({
      kind: "mined",
      attempt: 2,
      depth: 3,
      isFinal: false,
    });
  });

  it.each([
    [94, true],
    [95, false],
  ])("is final below the window: block %i of 100", (height, isFinal) => {
    expect(newsOfSpend(spend, lookOf(spenderOf(hash("1"), height)), WINDOW)).toMatchObject({ kind: "mined", isFinal });
  });

  it("knows an attempt under another id", () => {
    expect(newsOfSpend(spend, lookOf(spenderOf(hash("f"), 100)), WINDOW)).toMatchObject({ kind: "mined", attempt: 1 });
  });

  it("takes a transaction that pays otherwise for somebody else's", () => {
    expect(newsOfSpend(spend, lookOf(spenderOf(hash("f"), 100, 99n)), WINDOW)).toMatchObject({
      kind: "foreign",
      depth: 1,
    });
  });

  it.each([[null], ["missing"], [undefined]] as const)("waits when the output is %s", (said) => {
    expect(newsOfSpend(spend, lookOf(said), WINDOW)).toEqual({ kind: "waiting" });
  });

  it("waits for heads that stand above the block", () => {
    expect(newsOfSpend(spend, lookOf(spenderOf(hash("1"), 101)), WINDOW)).toEqual({ kind: "waiting" });
  });

  describe("once mined", () => {
    const mined = { ...spend, mined: { height: 98, blockHash: "block 98" } };
    it.each([[null], ["missing"], [undefined]] as const)(
      "is unmined when its block is replaced, and it is %s",
      (said) => {
        expect(newsOfSpend(mined, lookOf(said, 100, [[98, "another"]]), WINDOW)).toEqual({ kind: "unmined" });
        expect(newsOfSpend(mined, lookOf(said, 100, [[98, "block 98"]]), WINDOW)).toEqual({ kind: "waiting" });
      },
    );
    it("is somebody else's only when its block is replaced", () => {
      const other = spenderOf(hash("f"), 99, 1n);
      expect(newsOfSpend(mined, lookOf(other, 100, [[98, "another"]]), WINDOW)).toMatchObject({ kind: "foreign" });
      expect(newsOfSpend(mined, lookOf(other, 100, [[98, "block 98"]]), WINDOW)).toEqual({ kind: "waiting" });
    });
  });
});

describe("isSameTransaction", () => {
  it.each([
    ["another input", { inputs: [{ txId: hash("b"), vout: 1 }] }],
    ["one more input", { inputs: [pin, { txId: hash("b"), vout: 1 }] }],
    ["another output of the same transaction", { inputs: [{ ...pin, vout: 2 }] }],
    ["another script", { outputs: [{ script: "0014ab", amountUnits: 100n }] }],
    ["one more output", { outputs: [...spenderOf("", 1).outputs, { script: "0014ab", amountUnits: 1n }] }],
  ])("is false with %s", (_what, change) => {
    expect(isSameTransaction(attemptOf(1, hash("1")), { ...spenderOf(hash("f"), 1), ...change })).toBe(false);
  });
});

describe("shareOf", () => {
  it("leaves nothing and gives nothing twice", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 9n }), fc.integer({ min: 1, max: 100 }), (fee, of) => {
        const shares = Array.from({ length: of }, (_, place) => shareOf(fee, place, of));
        expect(shares.reduce((sum, share) => sum + share, 0n)).toBe(fee);
        const [least = 0n, most = 0n] = [shares.at(-1), shares[0]];
        expect(most - least <= 1n).toBe(true);
      }),
    );
  });
});
