/** What a look at the chain says about one nonce: mined, gone again, taken by somebody else, or nothing yet. */

import { describe, expect, it } from "vitest";
import { newsOf, type SignedAttempt, type Slot } from "../../src/core/slot.ts";
import { agree, type MinedReceipt, type WalletLook } from "../../src/core/wallet-look.ts";

const NONCE = 7;
const attempt = (txId: string, kind: SignedAttempt["kind"] = "payment"): SignedAttempt => ({ txId, kind });
const A = attempt("0xa");
const B = attempt("0xb");
const BURN = attempt("0xc", "burn");

const receipt = (txId: string, height: number, parts: Partial<MinedReceipt> = {}): MinedReceipt => ({
  txId,
  height,
  blockHash: `0x${height}`,
  success: true,
  feeUnits: 1n,
  logs: [],
  ...parts,
});
const slot = (attempts: readonly SignedAttempt[], mined: Slot["mined"] = null): Slot => ({
  nonce: NONCE,
  attempts,
  mined,
});
const seen = (txId: string, height: number) => ({ txId, height, blockHash: `0x${height}` });
const look = (parts: Partial<WalletLook> & { readonly has?: readonly MinedReceipt[] } = {}): WalletLook => ({
  head: 100,
  finalHeight: 80,
  nonceLatest: NONCE,
  noncePending: NONCE,
  nonceFinal: NONCE,
  receipts: new Map(parts.has?.map((r) => [r.txId, r])),
  blocks: new Map(),
  ...parts,
});
const news = (given: Slot, ...looks: readonly WalletLook[]) => {
  const agreed = agree(looks, looks.length);
  if (agreed === null) throw new Error("too few looked");
  return newsOf(given, agreed);
};

describe("an attempt that is mined", () => {
  it.each([
    ["in the head's block", 100, 1, false],
    ["one below the head", 99, 2, false],
    ["just not final", 81, 20, false],
    ["just final", 80, 21, true],
    ["in block zero", 0, 101, true],
  ])("%s", (_name, height, depth, isFinal) => {
    const found = receipt("0xa", height);
    expect(news(slot([A]), look({ has: [found] }))).toEqual({
      kind: "mined",
      attempt: A,
      receipt: found,
      depth,
      isFinal,
    });
  });

  it("B90: is found when it is an older one", () => {
    const found = receipt("0xa", 90);
    expect(news(slot([A, B, BURN]), look({ has: [found] }))).toMatchObject({
      kind: "mined",
      attempt: A,
      receipt: found,
    });
  });

  it("B90: is found when it is a later one, though an older one was seen mined before", () => {
    const found = receipt("0xb", 91);
    const blocks = new Map([[90, "0xf"]]);
    expect(news(slot([A, B], seen("0xa", 90)), look({ has: [found], blocks }))).toMatchObject({
      kind: "mined",
      attempt: B,
    });
  });

  it("B104: is found in another block after a reorganisation, without being gone in between", () => {
    const found = receipt("0xa", 92, { blockHash: "0xf92" });
    const blocks = new Map([[90, "0xf90"]]);
    expect(news(slot([A], seen("0xa", 90)), look({ has: [found], blocks }))).toMatchObject({
      kind: "mined",
      receipt: found,
      depth: 9,
    });
  });

  it("B96: is news when it failed, too", () => {
    const found = receipt("0xa", 70, { success: false });
    expect(news(slot([A]), look({ has: [found] }))).toMatchObject({
      kind: "mined",
      receipt: { success: false },
      isFinal: true,
    });
  });

  it("is told apart from a payment when it is the burn", () => {
    expect(news(slot([A, BURN]), look({ has: [receipt("0xc", 90)] }))).toMatchObject({ kind: "mined", attempt: BURN });
  });

  it("counts its depth from the head that enough providers reach", () => {
    const has = [receipt("0xa", 90)];
    const behind = look({ has, head: 92, finalHeight: 72 });
    const ahead = look({ has, head: 130, finalHeight: 110 });
    expect(news(slot([A]), behind, ahead)).toMatchObject({ kind: "mined", depth: 3, isFinal: false });
    expect(news(slot([A]), behind, ahead, ahead)).toMatchObject({ kind: "mined", depth: 41, isFinal: true });
  });

  it("is no news while the heads stand behind its block", () => {
    const has = [receipt("0xa", 100)];
    expect(news(slot([A]), look({ has, head: 100 }), look({ has, head: 99 }))).toEqual({ kind: "waiting" });
    expect(news(slot([A]), look({ has, head: 100 }), look({ has, head: 100 }))).toMatchObject({ depth: 1 });
  });

  it("is no news on one provider's word", () => {
    expect(news(slot([A]), look({ has: [receipt("0xa", 50)] }), look())).toEqual({ kind: "waiting" });
  });

  it("is none of ours when the receipt is another transaction's", () => {
    expect(news(slot([A]), look({ has: [receipt("0xd", 50)] }))).toEqual({ kind: "waiting" });
  });
});

describe("B104: an attempt that was mined and is not found", () => {
  const was = slot([A], seen("0xa", 90));
  const at = (hash: string | null) => look({ blocks: hash === null ? new Map() : new Map([[90, hash]]) });

  it.each([
    ["its block is replaced", [at("0xf90")], "unmined"],
    ["its block is there: the receipt lags", [at("0x90")], "waiting"],
    ["no block at its height: a shorter chain proves nothing", [at(null)], "waiting"],
    ["one of two says replaced", [at("0xf90"), at("0x90")], "waiting"],
    ["both say replaced", [at("0xf90"), at("0xf90")], "unmined"],
    ["both say replaced, by other blocks", [at("0xf90"), at("0xe90")], "unmined"],
    ["the receipt is found by one of two only", [at("0x90"), look({ has: [receipt("0xa", 90)] })], "waiting"],
  ])("%s: %s", (_name, looks, kind) => {
    expect(news(was, ...looks)).toEqual({ kind });
  });

  it("is taken back before its nonce counts as somebody else's, in two looks", () => {
    const foreign = look({ nonceFinal: 8, blocks: new Map([[90, "0xf90"]]) });
    expect(news(was, foreign)).toEqual({ kind: "unmined" });
    expect(news(slot([A]), foreign)).toEqual({ kind: "foreign" });
  });

  it("is not somebody else's while its block stands, whatever the nonces say", () => {
    expect(news(was, look({ nonceFinal: 8, blocks: new Map([[90, "0x90"]]) }))).toEqual({ kind: "waiting" });
  });
});

describe("a nonce that is used up", () => {
  it.each([
    ["by a final transaction that is not ours", slot([A, B]), [look({ nonceFinal: 8 })], "foreign"],
    ["by one that is not final yet", slot([A]), [look({ nonceLatest: 8, noncePending: 8 })], "waiting"],
    ["with finality that a provider cannot tell", slot([A]), [look({ nonceLatest: 8, nonceFinal: null })], "waiting"],
    ["on one of two providers", slot([A]), [look({ nonceFinal: 8 }), look()], "waiting"],
    ["on both", slot([A]), [look({ nonceFinal: 8 }), look({ nonceFinal: 9 })], "foreign"],
    ["before anything was signed", slot([]), [look({ nonceFinal: 8 })], "foreign"],
    ["not at all, with nothing signed", slot([]), [look()], "waiting"],
  ] as const)("%s: %s", (_name, given, looks, kind) => {
    expect(news(given, ...looks)).toEqual({ kind });
  });

  it("B84: by our own lost send is no loss: any attempt's receipt comes first", () => {
    const own = look({ nonceFinal: 8, has: [receipt("0xa", 70)] });
    expect(news(slot([A, B]), own)).toMatchObject({ kind: "mined", attempt: A, isFinal: true });
  });

  it("B84: is not somebody else's as long as one of two has our receipt", () => {
    const own = look({ nonceFinal: 8, has: [receipt("0xa", 70)] });
    expect(news(slot([A]), own, look({ nonceFinal: 8 }))).toEqual({ kind: "waiting" });
  });
});
