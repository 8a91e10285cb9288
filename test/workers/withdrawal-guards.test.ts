/**
 * What keeps a withdrawal from being paid twice, released too early or left lying, when people decide at the wrong
 * moment, older copies come back, signers and stores fail, and nodes say what suits nobody. The provider is one
 * that says just what a test wants of it, and shows only the receipts it is asked for.
 */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deriveSigner } from "../../src/chains/evm/derived-signer.ts";
import { type GasEstimate, type Intent, type PayoutNode, type Signer, SignerFault } from "../../src/chains/payout.ts";
import type { FeeQuote } from "../../src/core/fees.ts";
import type { SendReply } from "../../src/core/send-answer.ts";
import type { WithdrawalView } from "../../src/core/views.ts";
import { agree, type MinedReceipt, type WalletLook, type WalletQuestion } from "../../src/core/wallet-look.ts";
import { isOpen, WITHDRAWAL_STATES, type WithdrawalState } from "../../src/core/withdrawal.ts";
import type { Tenant } from "../../src/index.ts";
import type { TenantContext } from "../../src/objects/tenant/context.ts";
import { follow } from "../../src/objects/tenant/withdrawals/nonces/follow.ts";
import { payerOf } from "../../src/objects/tenant/withdrawals/nonces/payer.ts";
import { MAX_ATTEMPTS } from "../../src/objects/tenant/withdrawals/nonces/sign.ts";
import { a, dnsAnswer, type Zone } from "../support/dns.ts";
import { Gate, newAddress, pay } from "../support/model-chain.ts";
import { decodeSigned, type Signed } from "../support/wallet-chain.ts";
import { chain, checkBooks, DB, poll, quiet, switchOff } from "./line.ts";
import { breakBatch, checkPayouts, ETH, PayingMerchant, startPayouts, statusAndCode } from "./payout-line.ts";

const GWEI = 10n ** 9n;
const HOUR_MS = 3_600_000;
/** Longer than any pause of the line. */
const ROUND_MS = 16_000;
const TOK = newAddress();
const TAKEN: SendReply = { kind: "error", code: -32000, text: "already known" };
const NO_ANSWER: SendReply = { kind: "no_answer", text: "timeout", status: null };
const UNDERPRICED: SendReply = { kind: "error", code: -32000, text: "replacement transaction underpriced" };
const TOO_LITTLE_GAS: SendReply = { kind: "error", code: -32000, text: "intrinsic gas too low" };

beforeEach(async () => {
  quiet("warn", "error");
  await startPayouts();
});
afterEach(() => {
  vi.restoreAllMocks();
});

class ScriptedNode implements PayoutNode {
  readonly name = "scripted";
  head = 1_000;
  finalHeight = 900;
  /** Transactions of the wallet in blocks, and in final ones. */
  used = 0;
  usedFinal = 0;
  reply: SendReply = TAKEN;
  /** Instead of `reply`, by nonce. */
  readonly replies = new Map<number, SendReply>();
  gas = 21_000n;
  fees: FeeQuote = { kind: "eip1559", baseFee: GWEI, priorityFee: GWEI };
  coins = 10_000n * ETH;
  /** Of every token; null: the contract does not say. */
  tokens: bigint | null = 10n ** 30n;
  beforeBalances: Gate | null = null;
  readonly sent: Signed[] = [];
  readonly receipts = new Map<string, MinedReceipt>();

  async look({ hashes, heights }: WalletQuestion): Promise<WalletLook> {
    return {
      head: this.head,
      finalHeight: this.finalHeight,
      nonceLatest: this.used,
      noncePending: this.used,
      nonceFinal: this.usedFinal,
      receipts: new Map(hashes.flatMap((hash) => this.receiptOf(hash))),
      blocks: new Map(heights.map((height) => [height, `0xb${height}`])),
    };
  }

  async send(raw: string): Promise<SendReply> {
    const sent = await decodeSigned(raw);
    this.sent.push(sent);
    return this.replies.get(sent.nonce) ?? this.reply;
  }

  async quote(): Promise<FeeQuote> {
    return this.fees;
  }

  async estimate(): Promise<GasEstimate> {
    return { ok: true, gas: this.gas };
  }

  async balances(_owner: string, contracts: readonly string[]): Promise<readonly (bigint | null)[]> {
    await this.beforeBalances?.pass();
    return [this.coins, ...contracts.map(() => this.tokens)];
  }

  async consumerOf(): Promise<null> {
    return null;
  }

  /** In the newest block, or in one that stays. */
  mine({ hash, nonce }: Signed, where: "newest" | "final"): void {
    const height = where === "final" ? this.finalHeight : this.head;
    const block = { height, blockHash: `0xb${height}`, success: true, feeUnits: 21_000n, logs: [] };
    this.receipts.set(hash, { txId: hash, ...block });
    this.used = Math.max(this.used, nonce + 1);
    if (where === "final") this.usedFinal = this.used;
  }

  /** What the wallet's nonces below this one carried is final, and none of it is known here. */
  spendBelow(nonce: number): void {
    this.used = nonce;
    this.usedFinal = nonce;
  }

  private receiptOf(hash: string): [string, MinedReceipt][] {
    const receipt = this.receipts.get(hash);
    return receipt === undefined ? [] : [[hash, receipt]];
  }
}

const contextOf = (object: Tenant) => (object as unknown as { c: TenantContext }).c;

/** A merchant with 1,000 coins in the account whose wallet is seen through these providers alone. */
async function start(nodes: readonly PayoutNode[], token: string | null = null): Promise<PayingMerchant> {
  const merchant = await PayingMerchant.start({ coins: 1_000n * ETH, token });
  await merchant.inside((object) => {
    contextOf(object).payers.nodes.set("local", nodes);
  });
  return merchant;
}

async function startOne(): Promise<{ merchant: PayingMerchant; node: ScriptedNode }> {
  const node = new ScriptedNode();
  return { merchant: await start([node]), node };
}

const signerPrototype = Object.getPrototypeOf(deriveSigner("11".repeat(32), "anybody", { id: "local" })) as Signer;
const honestSign = signerPrototype.sign;
/** Until it is restored. */
const signerDown = () => vi.spyOn(signerPrototype, "sign").mockRejectedValue(new SignerFault("out of reach", true));

/** The next signature is under way until the gate opens. */
function holdSignature(): Gate {
  const gate = new Gate();
  vi.spyOn(signerPrototype, "sign").mockImplementationOnce(async function (this: Signer, intent: Intent) {
    await gate.pass();
    return honestSign.call(this, intent);
  });
  return gate;
}

const resolve = (merchant: PayingMerchant, id: string, outcome: "confirmed" | "failed", evidence = "looked at it") =>
  merchant.act(id, "resolve", { outcome, evidence });

const isBurn = ({ from, to, value }: Signed) => to === from && value === 0n;
const kindsOf = ({ attempts }: WithdrawalView) => attempts.map(({ kind }) => kind).join(" ");
const ofNonce = async (merchant: PayingMerchant, nonce: number) =>
  (await merchant.signed()).filter((signed) => signed.nonce === nonce);

/** @throws Error when there is none */
function lastOf<T>(list: readonly T[]): T {
  const last = list.at(-1);
  if (last === undefined) throw new Error("expected one at least");
  return last;
}

const walletRow = (merchant: PayingMerchant) =>
  merchant.inside((_, sql) =>
    sql.exec<{ status: string; incident: string | null }>("SELECT status, incident FROM wallets").one(),
  );

const claimed = async (merchant: PayingMerchant) =>
  (
    await DB.prepare("SELECT nonce, subject FROM wallet_nonces WHERE sender = ?1 ORDER BY nonce")
      .bind(merchant.wallet)
      .all<{ nonce: number; subject: string }>()
  ).results;

/** A copy of the object that is no longer there claimed a nonce. */
const claimForCopy = (merchant: PayingMerchant, nonce: number, subject: string) =>
  DB.prepare("INSERT INTO wallet_nonces VALUES ('local', ?1, ?2, ?3, ?4, 1)")
    .bind(merchant.wallet, nonce, merchant.id, subject)
    .run();

describe("a nonce that is open and carries nothing signed", () => {
  /** Its nonce is claimed, its signer out of reach, its deadline past. */
  async function unsigned() {
    const { merchant, node } = await startOne();
    const sign = signerDown();
    const { id } = await merchant.withdraw();
    await merchant.drive(1, HOUR_MS);
    expect(await merchant.steps(id)).toBe("nonce_assigned deadline");
    return { merchant, node, id, restore: () => sign.mockRestore() };
  }

  it("I6: cannot be called paid, whatever the evidence", async () => {
    const { merchant, id, node, restore } = await unsigned();
    expect(await resolve(merchant, id, "confirmed", "paid by hand from the treasury")).toBe("409 illegal_transition");
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["manual_review", "999 1 0"]);
    restore();
    await merchant.drive(1, ROUND_MS);
    // Nobody decided, so it is still to be paid.
    expect(await merchant.signed()).toMatchObject([{ nonce: 0, value: ETH }]);
    expect(node.sent).toHaveLength(1);
  });

  it("I6 I9: called failed it is burnt and nothing else, and released when the burn is final", async () => {
    const { merchant, node, id, restore } = await unsigned();
    expect(await resolve(merchant, id, "failed")).toBe("200");
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmation_tracking", "999 1 0"]);
    await merchant.drive(3, ROUND_MS);
    expect(await merchant.funds()).toBe("999 1 0");
    restore();
    await merchant.drive(3, ROUND_MS);
    node.head += 20;
    await merchant.drive(3, ROUND_MS);
    const signed = await merchant.signed();
    expect(signed.length).toBeGreaterThan(1);
    expect(signed.every(isBurn)).toBe(true);
    expect([...new Set(node.sent.map(({ nonce }) => nonce))]).toEqual([0]);

    node.mine(lastOf(signed), "newest");
    await merchant.drive(1, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmation_tracking", "999 1 0"]);
    node.finalHeight = node.head;
    node.usedFinal = 1;
    await merchant.drive(1, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["failed", "1000 0 0"]);
    expect(await merchant.steps(id)).toBe("nonce_assigned deadline burning_nonce nonce_burnt");
    await checkBooks(merchant);
  });

  it("I6: a payment that was being signed when a person called it failed is thrown away", async () => {
    const { merchant, node, id, restore } = await unsigned();
    restore();
    const gate = holdSignature();
    const round = merchant.drive(1, ROUND_MS);
    await gate.reached();
    const body = { outcome: "failed", evidence: "gave up" };
    expect((await merchant.call("POST", `/v1/withdrawals/${id}/resolve`, { body })).status).toBe(200);
    gate.open();
    await round;
    await merchant.settle();
    await merchant.drive(2, ROUND_MS);
    const signed = await merchant.signed();
    expect(signed.map(isBurn)).toEqual([true]);
    expect(node.sent.every(isBurn)).toBe(true);
    expect(kindsOf(await merchant.withdrawal(id))).toBe("burn");
  });
});

describe("a person's word about what is signed", () => {
  async function overdue() {
    const { merchant, node } = await startOne();
    const { id } = await merchant.withdraw();
    await merchant.drive(1, HOUR_MS);
    expect(await merchant.steps(id)).toBe("nonce_assigned already_known deadline");
    return { merchant, node, id };
  }

  it("I6: a replacement that was being signed when a person called it paid is thrown away", async () => {
    const { merchant, node, id } = await overdue();
    const [payment] = await merchant.signed();
    const gate = holdSignature();
    node.head += 10;
    const round = merchant.drive(1, ROUND_MS);
    await gate.reached();
    const body = { outcome: "confirmed", evidence: `it is ${payment?.hash}` };
    expect((await merchant.call("POST", `/v1/withdrawals/${id}/resolve`, { body })).status).toBe(200);
    gate.open();
    await round;
    node.head += 10;
    await merchant.drive(3, ROUND_MS);
    expect(await merchant.signed()).toEqual([payment]);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "999 0 1"]);
  });

  it("I6: while its nonce is being burnt nothing calls it paid, neither the burn's id nor a payment's", async () => {
    const { merchant, node, id } = await overdue();
    expect(await resolve(merchant, id, "failed")).toBe("200");
    await merchant.drive(1, HOUR_MS + ROUND_MS);
    expect(await merchant.state(id)).toBe("manual_review");
    const [payment, burn] = await merchant.signed();
    if (payment === undefined || burn === undefined) throw new Error("expected a payment and a burn");
    expect(isBurn(burn)).toBe(true);
    for (const { hash } of [burn, payment]) {
      expect(await resolve(merchant, id, "confirmed", `see ${hash}`)).toBe("409 illegal_transition");
    }
    expect(await merchant.funds()).toBe("999 1 0");
    node.mine(burn, "final");
    await merchant.drive(1, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["failed", "1000 0 0"]);
    await checkBooks(merchant);
  });
});

describe("a withdrawal whose nonce an earlier copy of the object claimed", () => {
  it("I6 I7: keeps that nonce when it is spent; no second one, and the provisional one is burnt", async () => {
    const { merchant, node } = await startOne();
    node.coins = 0n;
    const { id } = await merchant.withdraw();
    await claimForCopy(merchant, 0, id);
    // That copy's payment is final.
    node.coins = 100n * ETH;
    node.spendBelow(1);
    node.replies.set(0, { kind: "error", code: -32000, text: "nonce too low" });
    await merchant.drive(3, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["manual_review", "999 1 0"]);
    expect((await walletRow(merchant)).status).toBe("stopped");
    expect(await statusAndCode(await merchant.call("POST", "/v1/wallets/local/resume"))).toBe("200");
    await merchant.drive(3, ROUND_MS);

    // Whatever was signed to pay excludes what that copy sent.
    const signed = await merchant.signed();
    expect(signed.filter((one) => !isBurn(one) && one.nonce !== 0)).toEqual([]);
    expect((await ofNonce(merchant, 1)).map(isBurn)).toEqual([true]);
    expect((await claimed(merchant)).map(({ nonce, subject }) => [nonce, subject === id])).toEqual([
      [0, true],
      [1, false],
    ]);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["manual_review", "999 1 0"]);
  });

  it("I6: asks a person at once when that nonce is used up already, and a person can end it", async () => {
    const { merchant, node } = await startOne();
    node.coins = 0n;
    const { id } = await merchant.withdraw();
    await claimForCopy(merchant, 0, id);
    // Its nonce was met here before, as one that somebody else used up.
    await merchant.inside((_, sql) => {
      sql.exec(
        `INSERT INTO slots (network, sender, nonce, status, claimed, burn, speed_up, created_at, deadline_at)
         SELECT network, sender, 0, 'final', 1, 1, 0, 0, 0 FROM wallets`,
      );
      sql.exec("UPDATE wallets SET next_nonce = 1, used_below = 1");
    });
    node.coins = 100n * ETH;
    node.spendBelow(1);
    await merchant.drive(2, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["manual_review", "999 1 0"]);
    const signed = await merchant.signed();
    expect(signed.filter((one) => !isBurn(one))).toEqual([]);
    expect(await resolve(merchant, id, "failed")).toBe("200");
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["failed", "1000 0 0"]);
  });

  it("I6 I7: is paid with that nonce when it is free, once the provisional one before it is burnt", async () => {
    const { merchant, node } = await startOne();
    node.coins = 0n;
    const { id } = await merchant.withdraw();
    await claimForCopy(merchant, 1, id);
    node.coins = 100n * ETH;
    await merchant.drive(3, ROUND_MS);
    const signed = await merchant.signed();
    expect(signed).toMatchObject([{ nonce: 0 }, { nonce: 1, value: ETH }]);
    expect(signed.map(isBurn)).toEqual([true, false]);
    expect((await claimed(merchant)).map(({ nonce, subject }) => [nonce, subject === id])).toEqual([
      [0, false],
      [1, true],
    ]);
    for (const one of signed) node.mine(one, "final");
    await merchant.drive(2, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "999 0 1"]);
    await checkBooks(merchant);
  });
});

describe("attempts", () => {
  it("answers that call for another one are heeded every three seconds, up to the most there may be", async () => {
    const { merchant, node } = await startOne();
    node.reply = TOO_LITTLE_GAS;
    await merchant.withdraw();
    await merchant.drive(2, 1_000);
    expect(await merchant.signed()).toHaveLength(1);
    await merchant.drive(1, 1_000);
    expect(await merchant.signed()).toHaveLength(2);
    await merchant.drive(MAX_ATTEMPTS + 5, 3_000);
    expect(await merchant.signed()).toHaveLength(MAX_ATTEMPTS);
  });

  it("I9: when there are no more payments a burn is still signed, and ends it", async () => {
    const { merchant, node } = await startOne();
    node.reply = TOO_LITTLE_GAS;
    const { id } = await merchant.withdraw();
    await merchant.drive(MAX_ATTEMPTS + 2, 3_000);
    await merchant.drive(1, HOUR_MS);
    expect(await merchant.act(id, "speed-up")).toBe("409 illegal_transition");
    expect(await resolve(merchant, id, "failed")).toBe("200");
    await merchant.drive(MAX_ATTEMPTS + 5, 3_000);
    const signed = await merchant.signed();
    const burns = signed.filter(isBurn);
    expect([signed.length - burns.length, burns.length]).toEqual([MAX_ATTEMPTS, MAX_ATTEMPTS]);
    expect(signed.slice(0, MAX_ATTEMPTS).some(isBurn)).toBe(false);
    node.mine(lastOf(burns), "final");
    await merchant.drive(1, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["failed", "1000 0 0"]);
    await checkBooks(merchant);
  });

  it("a gas limit that was corrected is kept by every later one", async () => {
    const { merchant, node } = await startOne();
    node.reply = TOO_LITTLE_GAS;
    const { id } = await merchant.withdraw();
    node.gas = 50_000n;
    node.reply = TAKEN;
    await merchant.drive(1, 3_000);
    node.gas = 21_000n;
    expect(await merchant.act(id, "speed-up")).toBe("200");
    node.head += 20;
    await merchant.drive(1, 3_000);
    expect((await merchant.signed()).map(({ gas }) => gas)).toEqual([21_000n, 62_500n, 62_500n, 62_500n]);
  });

  const CAP = 1_000n * GWEI;
  const basedOn = (baseFee: bigint): FeeQuote => ({ kind: "eip1559", baseFee, priorityFee: GWEI });

  it("B93: a first one takes two thirds of the cap at most, which leaves room for three more", async () => {
    const { merchant, node } = await startOne();
    node.fees = basedOn((CAP * 2n) / 3n);
    const { id } = await merchant.withdraw();
    expect([await merchant.signed(), (await merchant.withdrawal(id)).waiting_for]).toEqual([[], "lower_fee"]);
    node.fees = basedOn((CAP * 6n) / 10n);
    await merchant.drive(1, ROUND_MS);
    node.fees = basedOn(GWEI);
    for (let i = 0; i < 5; i++) await merchant.act(id, "speed-up");
    const fees = (await merchant.signed()).map(({ maxFee }) => maxFee);
    expect([fees.length, fees[0]]).toEqual([4, (CAP * 2n) / 3n]);
    expect(fees.every((fee) => fee <= CAP)).toBe(true);
    expect((await merchant.withdrawal(id)).waiting_for).toBe("lower_fee");
  });

  it("I9: a burn may go beyond the cap, to twice", async () => {
    const { merchant, node } = await startOne();
    node.fees = basedOn((CAP * 6n) / 10n);
    const { id } = await merchant.withdraw();
    for (let i = 0; i < 3; i++) await merchant.act(id, "speed-up");
    const payments = await merchant.signed();
    expect(lastOf(payments).maxFee).toBeGreaterThan((CAP * 9n) / 10n);
    await merchant.drive(1, HOUR_MS);
    expect(await resolve(merchant, id, "failed")).toBe("200");
    for (let i = 0; i < MAX_ATTEMPTS; i++) {
      node.head += 20;
      await merchant.drive(1, ROUND_MS);
    }
    const burns = (await merchant.signed()).slice(payments.length);
    expect(burns.length).toBeGreaterThan(1);
    expect(burns.every((burn) => isBurn(burn) && burn.maxFee > CAP && burn.maxFee <= 2n * CAP)).toBe(true);
  });
});

describe("nonces and the wallet", () => {
  it("I7: a nonce that is spent for good before D1 knows it is given up, and the withdrawal paid with another", async () => {
    const { merchant, node } = await startOne();
    breakBatch(2, false);
    const { id } = await merchant.withdraw();
    expect([await merchant.state(id), await claimed(merchant)]).toEqual(["funds_reserved", []]);
    node.spendBelow(1);
    await merchant.drive(2, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["funds_reserved", "999 1 0"]);
    expect(await walletRow(merchant)).toMatchObject({
      status: "stopped",
      incident: expect.stringContaining("nonce 0"),
    });
    expect(await merchant.signed()).toEqual([]);

    await merchant.call("POST", "/v1/wallets/local/resume");
    await merchant.settle();
    const signed = await merchant.signed();
    expect(signed).toMatchObject([{ nonce: 1, value: ETH }]);
    node.mine(lastOf(signed), "final");
    await merchant.drive(2, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "999 0 1"]);
    await checkBooks(merchant);
  });

  it("B88: seventy that wait for a top-up do not hide a later one that the wallet can pay", async () => {
    const { merchant, node } = await startOne();
    node.coins = ETH;
    for (let i = 0; i < 70; i++) expect((await merchant.ask({ amount: "5" })).status).toBe(201);
    const { id } = await merchant.withdraw({ amount: "0.001" });
    await merchant.drive(1, ROUND_MS);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    expect(await merchant.signed()).toMatchObject([{ nonce: 0, value: ETH / 1_000n }]);
    const others = (await merchant.withdrawals()).filter((withdrawal) => withdrawal.id !== id);
    expect(others).toHaveLength(70);
    expect(new Set(others.map(({ waiting_for }) => waiting_for))).toEqual(new Set(["wallet_top_up"]));
  });

  it("B86: a gap whose burn is underpriced stops the wallet, and resume gets it out with a higher fee", async () => {
    const { merchant, node } = await startOne();
    await claimForCopy(merchant, 0, "wd_lost");
    node.replies.set(0, UNDERPRICED);
    const { id } = await merchant.withdraw();
    await merchant.drive(6, ROUND_MS);
    const first = await ofNonce(merchant, 0);
    expect(first.map(isBurn)).toEqual([true]);
    expect(await walletRow(merchant)).toMatchObject({
      status: "stopped",
      incident: expect.stringContaining("nonce 0"),
    });
    await merchant.drive(2, ROUND_MS);
    expect(await ofNonce(merchant, 0)).toEqual(first);

    await merchant.call("POST", "/v1/wallets/local/resume");
    await merchant.settle();
    const [one, two, ...more] = await ofNonce(merchant, 0);
    if (one === undefined || two === undefined) throw new Error("expected a second burn");
    expect([isBurn(two), two.maxFee > one.maxFee, two.tip > one.tip, more]).toEqual([true, true, true, []]);
    expect((await walletRow(merchant)).status).toBe("active");
    // One that still offers too little is followed by the next without another word.
    await merchant.drive(1, 3_000);
    const burns = await ofNonce(merchant, 0);
    expect(burns).toHaveLength(3);

    node.mine(lastOf(burns), "final");
    node.mine(lastOf(await ofNonce(merchant, 1)), "final");
    await merchant.drive(2, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "999 0 1"]);
  });

  it("one token whose balance cannot be read keeps nobody else from being paid", async () => {
    const node = new ScriptedNode();
    const merchant = await start([node], TOK);
    node.tokens = null;
    const token = await merchant.withdraw({ asset: "TOK" });
    const coin = await merchant.withdraw();
    await merchant.drive(1, ROUND_MS);
    expect(await merchant.withdrawal(token.id)).toMatchObject({
      state: "funds_reserved",
      waiting_for: "wallet_top_up",
    });
    expect(await merchant.state(coin.id)).toBe("confirmation_tracking");
    expect(node.sent).toMatchObject([{ nonce: 0, value: ETH }]);
    // Once it says what the wallet has.
    node.tokens = 10n ** 30n;
    await merchant.drive(1, ROUND_MS);
    expect(node.sent.at(-1)).toMatchObject({ nonce: 1, to: TOK, value: 0n });
  });

  it("R0: a claim that D1 fails keeps no stored bytes of others from being sent again", async () => {
    const { merchant, node } = await startOne();
    node.reply = NO_ANSWER;
    await merchant.withdraw();
    const [bytes] = node.sent;
    expect(node.sent).toHaveLength(1);
    breakBatch(2, false);
    const later = await merchant.withdraw({ amount: "2" });
    breakBatch(1, false);
    await merchant.drive(1, 31_000);
    expect(await merchant.state(later.id)).toBe("funds_reserved");
    expect(node.sent).toEqual([bytes, bytes]);
    await merchant.drive(1, ROUND_MS);
    expect(node.sent.at(-1)).toMatchObject({ nonce: 1, value: 2n * ETH });
  });
});

describe("what a provider says about gas", () => {
  it("is not believed when one of two says that it is too much", async () => {
    const nodes = [new ScriptedNode(), new ScriptedNode()] as const;
    nodes[1].gas = 10_000_000n;
    const merchant = await start(nodes);
    const { id } = await merchant.withdraw();
    expect(await merchant.steps(id)).toBe("nonce_assigned already_known");
    const signed = lastOf(await merchant.signed());
    expect(signed.gas).toBe(21_000n);
    for (const node of nodes) node.mine(signed, "final");
    await merchant.drive(2, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "999 0 1"]);
  });

  it("fails it when both say so: no nonce, nothing signed, released", async () => {
    const nodes = [new ScriptedNode(), new ScriptedNode()];
    for (const node of nodes) node.gas = 10_000_000n;
    const merchant = await start(nodes);
    const { id } = await merchant.withdraw();
    expect([await merchant.state(id), await merchant.steps(id)]).toEqual(["failed", "too_much_gas"]);
    expect([await merchant.signed(), await claimed(merchant), await merchant.funds()]).toEqual([[], [], "1000 0 0"]);
    await checkBooks(merchant);
  });
});

describe("another signer", () => {
  const URL_OF_SIGNER = "https://signer.example.com";
  const theirs = deriveSigner("22".repeat(32), "somebody", { id: "local" });
  const choose = (merchant: PayingMerchant, address: string) =>
    merchant.call("PUT", "/v1/wallets/local/signer", {
      body: { type: "remote", url: `${URL_OF_SIGNER}/`, address, token: null },
    });

  /** Serves a signer that signs for its own key whatever it is asked. @returns how often it was asked */
  function serve(): { asked: number } {
    const others = vi.mocked(fetch).getMockImplementation();
    const seen = { asked: 0 };
    vi.mocked(fetch).mockImplementation(async (input, init) => {
      if (new URL(String(input)).origin !== URL_OF_SIGNER) {
        if (others === undefined) throw new TypeError("fetch failed");
        return others(input, init);
      }
      seen.asked++;
      const { id, params } = JSON.parse(String(init?.body)) as { id: number; params: [Record<string, string>] };
      return Response.json({ jsonrpc: "2.0", id, result: await theirs.sign(intentOf(params[0])) });
    });
    return seen;
  }

  function intentOf(asked: Record<string, string>): Intent {
    const { chainId, nonce, to = "", value, data = "0x", gas, maxFeePerGas, maxPriorityFeePerGas } = asked;
    return {
      chainId: Number(chainId),
      sender: theirs.address,
      nonce: Number(nonce),
      to,
      valueUnits: BigInt(value ?? 0),
      data,
      gasLimit: BigInt(gas ?? 0),
      fees: {
        kind: "eip1559",
        maxFeePerGas: BigInt(maxFeePerGas ?? 0),
        maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas ?? 0),
      },
    };
  }

  it("waits for the round under way, and is refused while anything of the present one is open", async () => {
    const { merchant, node } = await startOne();
    const seen = serve();
    const gate = new Gate();
    node.beforeBalances = gate;
    const { id } = (await (await merchant.ask()).json()) as WithdrawalView;
    await gate.reached();
    let answered = false;
    const choice = choose(merchant, theirs.address).then((response) => {
      answered = true;
      return response;
    });
    // Time enough for the answer, if it did not wait.
    await new Promise((resolved) => setTimeout(resolved, 100));
    expect([answered, seen.asked]).toEqual([false, 0]);
    gate.open();
    expect(await statusAndCode(await choice)).toBe("409 state_conflict");
    await merchant.settle();
    const signed = lastOf(await merchant.signed());
    expect([signed.from, node.sent.length]).toEqual([merchant.wallet, 1]);

    node.mine(signed, "newest");
    await merchant.drive(1, ROUND_MS);
    expect(await statusAndCode(await choose(merchant, theirs.address))).toBe("409 state_conflict");
    node.finalHeight = node.head;
    node.usedFinal = 1;
    await merchant.drive(2, ROUND_MS);
    expect(await merchant.state(id)).toBe("confirmed");
    expect(await statusAndCode(await choose(merchant, theirs.address))).toBe("200");
  });

  it("that shows the key is taken, and pays the next withdrawal", async () => {
    const { merchant, node } = await startOne();
    const seen = serve();
    expect(await statusAndCode(await choose(merchant, theirs.address))).toBe("200");
    expect(seen.asked).toBe(1);
    expect((await merchant.hotWallet()).address).toBe(theirs.address);
    await merchant.withdraw();
    expect(node.sent).toMatchObject([{ from: theirs.address, nonce: 0, value: ETH }]);
  });

  it("I7: that cannot show the key of the address it is named for is refused, and takes none of its nonces", async () => {
    const { merchant: owner } = await startOne();
    const { merchant: other, node } = await startOne();
    serve();
    expect(await statusAndCode(await choose(other, owner.wallet))).toBe("422 invalid_fields");
    expect((await other.hotWallet()).address).toBe(other.wallet);
    await other.withdraw();
    expect(node.sent.map(({ from }) => from)).toEqual([other.wallet]);
    expect(await claimed(owner)).toEqual([]);
    await owner.withdraw();
    expect((await owner.signed()).map(({ nonce }) => nonce)).toEqual([0]);
  });

  it("has a token that no row holds, no answer shows, and no other wallet's row opens", async () => {
    const { merchant, node } = await startOne();
    serve();
    const token = "t0k3n-0f.the_signers-own~4711";
    const bearers: (string | null)[] = [];
    const served = vi.mocked(fetch).getMockImplementation();
    vi.mocked(fetch).mockImplementation((input, init) => {
      if (String(input).startsWith(URL_OF_SIGNER)) bearers.push(new Headers(init?.headers).get("authorization"));
      return served?.(input, init) ?? Promise.reject(new TypeError("fetch failed"));
    });
    const body = { type: "remote", url: `${URL_OF_SIGNER}/`, address: theirs.address, token };
    const chosen = await merchant.call("PUT", "/v1/wallets/local/signer", { body });
    expect(chosen.status).toBe(200);
    expect(await chosen.text()).not.toContain(token);
    const rows = () => merchant.inside((_, sql) => JSON.stringify(sql.exec("SELECT * FROM signers").toArray()));
    const versions = () => merchant.inside((_, sql) => sql.exec("SELECT key_version FROM signers").one().key_version);
    expect(await rows()).not.toContain(token);
    expect(await versions()).toBe("2");
    await merchant.withdraw();
    expect(node.sent.map(({ from }) => from)).toEqual([theirs.address]);

    // As an older version left it.
    await merchant.inside((_, sql) => sql.exec("UPDATE signers SET token = ?, key_version = NULL", token));
    await merchant.withdraw();
    expect(node.sent.map(({ from }) => from)).toEqual([theirs.address, theirs.address]);
    expect(await rows()).not.toContain(token);
    expect(await versions()).toBe("2");
    expect(new Set(bearers)).toEqual(new Set([`Bearer ${token}`]));

    const { merchant: other } = await startOne();
    const row = await merchant.inside((_, sql) => sql.exec("SELECT * FROM signers").one());
    await other.inside((_, sql) => {
      const copy = "INSERT INTO signers (network, url, address, token, key_version) VALUES (?, ?, ?, ?, ?)";
      sql.exec(copy, row.network, row.url, row.address, row.token, row.key_version);
    });
    const asked = bearers.length;
    const { id } = (await (await other.ask()).json()) as WithdrawalView;
    await other.settle();
    expect(await other.withdrawal(id)).toMatchObject({ waiting_for: "signer" });
    expect(bearers).toHaveLength(asked);
  });

  it("whose name leads inside is asked nothing: not when it is chosen, and not for a signature", async () => {
    const { merchant } = await startOne();
    const seen = serve();
    const others = vi.mocked(fetch).getMockImplementation();
    let zone: Zone = { A: [a("10.0.0.1")] };
    vi.mocked(fetch).mockImplementation(async (input, init) => {
      if (String(input) !== "https://doh.test/") return (others ?? fetch)(input, init);
      const headers = { "content-type": "application/dns-message" };
      return new Response(dnsAnswer(init?.body as Uint8Array, zone), { headers });
    });
    const lookNamesUp = (dnsResolver: string | null) =>
      merchant.inside((object) => {
        Object.assign((object as unknown as { c: TenantContext }).c.settings, { dnsResolver });
      });
    await lookNamesUp("https://doh.test/");
    try {
      expect(await statusAndCode(await choose(merchant, theirs.address))).toBe("422 invalid_fields");
      zone = { code: 2 };
      expect(await statusAndCode(await choose(merchant, theirs.address))).toBe("422 invalid_fields");
      expect(seen.asked).toBe(0);
      zone = { A: [a("93.184.216.34")] };
      expect(await statusAndCode(await choose(merchant, theirs.address))).toBe("200");
      expect(seen.asked).toBe(1);

      zone = { code: 2 };
      const { id } = await merchant.withdraw();
      expect([seen.asked, await merchant.signed(), await merchant.state(id)]).toEqual([1, [], "broadcast_pending"]);
      zone = { A: [a("93.184.216.34"), a("10.0.0.1")] };
      await merchant.drive(2, ROUND_MS);
      expect([seen.asked, await merchant.signed(), await merchant.state(id)]).toEqual([1, [], "broadcast_pending"]);
    } finally {
      await lookNamesUp(null);
    }
  });

  it("that does not answer is refused", async () => {
    const { merchant } = await startOne();
    expect(await statusAndCode(await choose(merchant, theirs.address))).toBe("422 invalid_fields");
    expect((await merchant.hotWallet()).address).toBe(merchant.wallet);
  });
});

describe("a request that came before", () => {
  it("B80: is answered with its withdrawal while the network is switched off", async () => {
    const { merchant } = await startOne();
    const wanted = { destination: newAddress() };
    const first = await merchant.withdraw(wanted, "k1");
    const switchOn = await switchOff();
    try {
      expect(await statusAndCode(await merchant.ask(wanted, "k2"))).toBe("422 unknown_network");
      const again = await merchant.ask(wanted, "k1");
      expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
      expect(await again.json()).toMatchObject({ id: first.id, amount: "1" });
      expect(await statusAndCode(await merchant.ask({ ...wanted, amount: "2" }, "k1"))).toBe(
        "422 idempotency_key_reused",
      );
    } finally {
      await switchOn();
    }
    expect(await merchant.withdrawals()).toHaveLength(1);
  });
});

describe("rules that became stricter, and approvals", () => {
  const approvals = [{ network: "local", asset: "ETH", above: "0" }];
  async function put(merchant: PayingMerchant, rules: object): Promise<void> {
    expect((await merchant.call("PUT", "/v1/policies/withdrawals", { body: rules })).status).toBe(200);
  }
  async function loseDeposit(): Promise<void> {
    chain.reorg(3, [], [], [], []);
    await poll(2);
  }
  const limits = [{ network: "local", asset: "ETH", per_withdrawal: "1", per_day: null }];

  it.each<[string, (merchant: PayingMerchant) => Promise<void>]>([
    ["a debt", loseDeposit],
    ["a stricter allow-list", (merchant) => put(merchant, { approvals, allow_list: [] })],
    ["a lower limit for one withdrawal", (merchant) => put(merchant, { approvals, limits })],
  ])(
    "after the reservation %s holds it back, an approval does not help, and it may be cancelled",
    async (_what, tighten) => {
      const merchant = await PayingMerchant.start();
      await put(merchant, { approvals });
      const deposit = newAddress();
      await merchant.watch(deposit, { account: "debtor" });
      chain.mine([pay(deposit, 2n * ETH)]);
      chain.grow(2);
      await poll(2);
      const { id, state } = await merchant.withdraw({ account: "debtor", amount: "2" });
      expect(state).toBe("pending_approval");
      await tighten(merchant);
      expect(await merchant.act(id, "approve", undefined, await merchant.newKey("withdrawals:approve"))).toBe("200");
      await merchant.drive(3, ROUND_MS);
      expect(await merchant.withdrawal(id)).toMatchObject({ state: "funds_reserved", waiting_for: "policy" });
      expect([await merchant.signed(), await claimed(merchant)]).toEqual([[], []]);
      expect(await merchant.act(id, "cancel")).toBe("200");
      expect(await merchant.state(id)).toBe("cancelled");
      await checkPayouts(merchant);
    },
  );

  it("the key that asked cannot approve after it was rotated, and neither can the one it took the place of", async () => {
    const merchant = await PayingMerchant.start();
    await put(merchant, { approvals });
    const made = async (path: string, body: object) => {
      const response = await merchant.call("POST", path, { body });
      expect(response.status).toBeLessThan(300);
      return (await response.json()) as { id: string; secret: string };
    };
    const scopes = ["withdrawals:write", "withdrawals:approve", "read"];
    const first = await made("/v1/api-keys", { name: "payer", scopes });
    const asked = async (apiKey: string) =>
      ((await (await merchant.ask({}, undefined, apiKey)).json()) as WithdrawalView).id;
    const byFirst = await asked(first.secret);
    const second = await made(`/v1/api-keys/${first.id}/rotate`, { overlap_seconds: 3_600 });
    const third = await made(`/v1/api-keys/${second.id}/rotate`, { overlap_seconds: 3_600 });
    const bySecond = await asked(second.secret);
    for (const id of [byFirst, bySecond]) {
      for (const { secret } of [first, second, third]) {
        expect(await merchant.act(id, "approve", undefined, secret)).toBe("403 forbidden");
      }
      expect(await merchant.state(id)).toBe("pending_approval");
      expect(await merchant.act(id, "approve")).toBe("200");
    }
    await merchant.rest();
    await checkPayouts(merchant);
  });
});

describe("events", () => {
  const MAX_EVENT_BYTES = 20_000;
  const MAX_METADATA_BYTES = 4_096;
  const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length;

  it("stay below 20 KB with the largest metadata, every attempt, many steps and people who explain at length", async () => {
    const { merchant, node } = await startOne();
    node.reply = TOO_LITTLE_GAS;
    const metadata = { a: "€".repeat(500), b: "€".repeat(500), c: "" };
    metadata.c = "€".repeat(Math.floor((MAX_METADATA_BYTES - bytesOf(metadata)) / 3));
    expect(bytesOf(metadata)).toBeGreaterThan(MAX_METADATA_BYTES - 3);
    const { id } = await merchant.withdraw({ metadata, external_id: "€".repeat(128) });
    await merchant.drive(MAX_ATTEMPTS + 2, 3_000);
    for (let round = 0; round < 8; round++) {
      await merchant.drive(1, HOUR_MS + ROUND_MS);
      expect(await resolve(merchant, id, "failed", "€".repeat(1_000))).toBe("200");
      await merchant.drive(MAX_ATTEMPTS / 4, 3_000);
    }
    const view = await merchant.withdrawal(id);
    expect([view.attempts.length, view.transitions.length]).toEqual([2 * MAX_ATTEMPTS, 3 + 2 * 8]);
    expect(bytesOf(view)).toBeGreaterThan(MAX_EVENT_BYTES);
    const events = (await merchant.events()).filter(({ subject }) => subject === id);
    for (const event of events)
      expect([event.sequence, bytesOf(event) < MAX_EVENT_BYTES]).toEqual([event.sequence, true]);
    // What is left out are the oldest steps: the state and how it came to it are told.
    const told = lastOf(events).data as WithdrawalView;
    expect(told.transitions.length).toBeGreaterThan(1);
    expect(told.transitions).toEqual(view.transitions.slice(-told.transitions.length));
    expect([told.state, told.metadata]).toEqual([view.state, metadata]);
  });
});

describe("what is mined and never settles", () => {
  it("R0: asks a person six hours after its deadline, and the chain still ends it", async () => {
    const { merchant, node } = await startOne();
    const { id } = await merchant.withdraw();
    node.mine(lastOf(await merchant.signed()), "newest");
    await merchant.drive(1, ROUND_MS);
    await merchant.drive(1, HOUR_MS);
    await merchant.drive(1, 6 * HOUR_MS - 2 * ROUND_MS);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.drive(1, ROUND_MS);
    expect(await merchant.steps(id)).toBe("nonce_assigned already_known deadline");
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "manual_review", waiting_for: "person" });
    expect(await resolve(merchant, id, "failed")).toBe("409 illegal_transition");
    expect(await merchant.funds()).toBe("999 1 0");

    node.head += 2;
    await merchant.drive(1, ROUND_MS);
    expect(await merchant.state(id)).toBe("confirmed");
    node.finalHeight = node.head;
    node.usedFinal = 1;
    await merchant.drive(2, ROUND_MS);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "999 0 1"]);
    await checkBooks(merchant);
  });
});

describe("every state and whatever the chain may say of its nonce", () => {
  const NEWS = [
    "nothing",
    "late",
    "paid",
    "paid deep",
    "paid final",
    "reverted",
    "reverted final",
    "burnt",
    "burnt final",
    "unmined",
    "foreign",
    "foreign unnamed",
    "foreign not looked for",
  ] as const;
  type News = (typeof NEWS)[number];
  /** Where the attempt was seen before. */
  const SEEN = ["nowhere", "in a block"] as const;
  type Seen = (typeof SEEN)[number];

  const CONSUMERS: Partial<Record<News, ReadonlyMap<number, string | null>>> = {
    foreign: new Map([[0, "0xforeign"]]),
    "foreign unnamed": new Map([[0, null]]),
  };

  function lookOf(news: News, txId: string): WalletLook {
    const height = news.endsWith("final") ? 990 : news.endsWith("deep") ? 998 : 1_000;
    const isInBlock = /^(paid|reverted|burnt)/.test(news);
    const block = { height, blockHash: "0xnew", success: !news.startsWith("reverted"), feeUnits: 5n, logs: [] };
    return {
      head: 1_000,
      finalHeight: 995,
      nonceLatest: 1,
      noncePending: 1,
      nonceFinal: news.startsWith("foreign") || news.endsWith("final") ? 1 : 0,
      receipts: new Map(isInBlock ? [[txId, { txId, ...block }]] : []),
      blocks: new Map(news === "unmined" ? [[800, "0xnew"]] : []),
    };
  }

  /** What becomes of the one withdrawal there is. Undone before it returns. */
  function become(c: TenantContext, sql: SqlStorage, tenantId: string, from: WithdrawalState, seen: Seen, news: News) {
    let end = "";
    const undo = new Error("undone");
    try {
      c.storage.transactionSync(() => {
        const { tx_id: txId } = sql.exec<{ tx_id: string }>("SELECT tx_id FROM attempts").one();
        const mined = seen === "nowhere" ? [null, null, null] : [txId, 800, "0xold"];
        sql.exec("UPDATE withdrawals SET state = ?", from);
        sql.exec("UPDATE balances SET reserved = ?1, settled = ?1", (5n * ETH).toString());
        sql.exec("UPDATE attempts SET kind = ?", news.startsWith("burnt") ? "burn" : "payment");
        sql.exec("UPDATE slots SET mined_tx_id = ?, mined_height = ?, mined_block_hash = ?", ...mined);
        sql.exec("UPDATE slots SET deadline_at = ?", news === "late" ? 0 : c.now() + HOUR_MS);
        const look = agree([lookOf(news, txId)], 1);
        const payer = payerOf(c, tenantId, "local");
        if (look === null || payer === null) throw new Error("the network has a provider");
        follow(payer, look, CONSUMERS[news] ?? new Map());
        end = sql.exec<{ state: string }>("SELECT state FROM withdrawals").one().state;
        throw undo;
      });
    } catch (error) {
      if (error !== undo) end = `thrown: ${error}`;
    }
    return end as WithdrawalState;
  }

  it("I6 I9: nothing is thrown, nothing ended is left, and only what is final releases", async () => {
    const { merchant } = await startOne();
    await merchant.withdraw();
    await merchant.inside((object, sql) => {
      const c = contextOf(object);
      for (const from of WITHDRAWAL_STATES) {
        for (const seen of SEEN) {
          for (const news of NEWS) {
            const to = become(c, sql, merchant.id, from, seen, news);
            const pair = `${from}, seen ${seen}, ${news}`;
            expect([pair, WITHDRAWAL_STATES.includes(to) ? "a state" : to]).toEqual([pair, "a state"]);
            expect([pair, mayEnd(from, to, news)]).toEqual([pair, true]);
          }
        }
      }
    });
  });

  function mayEnd(from: WithdrawalState, to: WithdrawalState, news: News): boolean {
    if (!isOpen(from) && from !== "confirmed") return to === from;
    if (to === from) return true;
    switch (to) {
      case "failed":
        return news === "reverted final" || news === "burnt final";
      case "confirmed":
        return news === "paid deep" || news === "paid final";
      case "manual_review":
        return news === "late" || news.startsWith("foreign");
      case "confirmation_tracking":
        return news !== "late" && !news.startsWith("foreign");
      default:
        return false;
    }
  }

  const STEPS: readonly [from: WithdrawalState, seen: Seen, news: News, to: WithdrawalState][] = [
    ["broadcast_pending", "nowhere", "paid", "confirmation_tracking"],
    ["broadcast_pending", "nowhere", "paid deep", "confirmed"],
    ["broadcast_pending", "nowhere", "burnt final", "failed"],
    ["broadcast_pending", "nowhere", "late", "manual_review"],
    ["confirmation_tracking", "nowhere", "reverted", "confirmation_tracking"],
    ["confirmation_tracking", "nowhere", "reverted final", "failed"],
    ["confirmation_tracking", "nowhere", "foreign", "manual_review"],
    ["confirmation_tracking", "nowhere", "foreign unnamed", "manual_review"],
    ["confirmation_tracking", "nowhere", "foreign not looked for", "confirmation_tracking"],
    ["confirmation_tracking", "in a block", "late", "manual_review"],
    ["manual_review", "nowhere", "paid", "manual_review"],
    ["manual_review", "nowhere", "paid deep", "confirmed"],
    ["manual_review", "nowhere", "paid final", "confirmed"],
    ["manual_review", "nowhere", "burnt final", "failed"],
    ["confirmed", "in a block", "unmined", "confirmation_tracking"],
    ["confirmed", "in a block", "paid", "confirmation_tracking"],
    ["confirmed", "in a block", "paid deep", "confirmed"],
    ["confirmed", "in a block", "burnt final", "failed"],
    ["confirmed", "in a block", "reverted final", "failed"],
  ];

  it("B96 B104: each one goes where the table says", async () => {
    const { merchant } = await startOne();
    await merchant.withdraw();
    const found = await merchant.inside((object, sql) =>
      STEPS.map(([from, seen, news]) => [
        from,
        seen,
        news,
        become(contextOf(object), sql, merchant.id, from, seen, news),
      ]),
    );
    expect(found).toEqual(STEPS);
  });
});

describe("what a person was asked about and the chain has settled", () => {
  it("waits for nobody any more: mined before the person was asked, and confirmed after", async () => {
    const { merchant, node } = await startOne();
    const { id } = await merchant.withdraw();
    node.mine(lastOf(await merchant.signed()), "newest");
    await merchant.drive(1, ROUND_MS);
    await merchant.drive(1, 8 * HOUR_MS);
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "manual_review", waiting_for: "person" });
    node.head += 2;
    await merchant.drive(1, ROUND_MS);
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "confirmed", waiting_for: null });
  });
});
