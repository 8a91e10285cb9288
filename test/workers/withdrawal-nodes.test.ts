/** Withdrawals against nodes that lie, lose answers and fall behind: paid once, and released on proof alone. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newAddress, pay, quantity } from "../support/model-chain.ts";
import { chain, quiet } from "./line.ts";
import {
  checkPayouts,
  ETH,
  FINAL_BLOCKS,
  nodes,
  PayingMerchant,
  provider,
  startPayouts,
  wallets,
} from "./payout-line.ts";

const TOK = newAddress();
const HOUR_MS = 3_600_000;

beforeEach(() => startPayouts());
afterEach(() => {
  vi.restoreAllMocks();
});

describe("what nodes answer, and what they do not", () => {
  it("B83: bytes whose answer was lost are sent again, and already known is success", async () => {
    quiet("warn");
    const merchant = await PayingMerchant.start();
    provider().loseAnswers("eth_sendRawTransaction");
    const { id } = await merchant.withdraw();
    expect(await merchant.withdrawal(id)).toMatchObject({
      state: "broadcast_pending",
      attempts: [{ status: "sent", outcome: "unknown" }],
    });
    await merchant.drive(1, 31_000);
    expect(await merchant.steps(id)).toBe("nonce_assigned already_known");
    await merchant.rest();
    expect(await merchant.signed()).toHaveLength(1);
    await checkPayouts(merchant);
  });

  it("B84: nonce too low after a lost answer waits for the receipt of our own transaction", async () => {
    quiet("warn");
    const merchant = await PayingMerchant.start();
    provider().loseAnswers("eth_sendRawTransaction");
    const { id } = await merchant.withdraw();
    wallets.mine();
    provider().on("eth_getTransactionReceipt", () => null);
    await merchant.drive(2, 31_000);
    expect(await merchant.withdrawal(id)).toMatchObject({
      state: "broadcast_pending",
      attempts: [{ nonce: 0, outcome: "nonce_consumed" }],
    });
    provider().on("eth_getTransactionReceipt", null);
    await merchant.rest();
    expect(await merchant.steps(id)).toBe("nonce_assigned seen_in_block confirmed_on_chain");
    expect(await merchant.signed()).toHaveLength(1);
    await checkPayouts(merchant);
  });

  const DEAF: [string, () => void, string][] = [
    ["HTTP 429", () => provider().turnAway("eth_sendRawTransaction", 429), "provider_unavailable"],
    ["HTTP 502", () => provider().turnAway("eth_sendRawTransaction", 502), "unknown"],
    [
      "an error in words nobody knows",
      () =>
        provider().next("eth_sendRawTransaction", 1, () => {
          throw new Error("the moon is full");
        }),
      "unknown",
    ],
    ["another hash", () => provider().next("eth_sendRawTransaction", 1, () => `0x${"11".repeat(32)}`), "unknown"],
  ];
  it.each(DEAF)("a send answered with %s keeps the reservation, and the same bytes go out again", async (...deaf) => {
    quiet("warn");
    const [, breaks, outcome] = deaf;
    const merchant = await PayingMerchant.start();
    breaks();
    const { id } = await merchant.withdraw();
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "broadcast_pending", attempts: [{ outcome }] });
    expect([wallets.received.size, await merchant.funds()]).toEqual([0, "9 1 0"]);
    await merchant.rest();
    expect(await merchant.steps(id)).toMatch(/accepted confirmed_on_chain$/);
    expect(await merchant.signed()).toHaveLength(1);
    await checkPayouts(merchant);
  });

  it("a node that hangs is given up at its deadline, and what it took counts", async () => {
    quiet("warn");
    const merchant = await PayingMerchant.start();
    const wait = globalThis.setTimeout;
    // Ten seconds are less than half a second here.
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms = 0) =>
      wait(work, ms === 10_000 ? 400 : ms)) as never);
    let hangs = true;
    provider().http = async (methods, honest) => {
      const answer = await honest();
      if (!hangs || !methods.includes("eth_sendRawTransaction")) return answer;
      hangs = false;
      return new Promise(() => {});
    };
    const { id } = await merchant.withdraw();
    expect(await merchant.withdrawal(id)).toMatchObject({ attempts: [{ outcome: "unknown" }] });
    await merchant.rest();
    expect(await merchant.steps(id)).toBe("nonce_assigned seen_in_block confirmed_on_chain");
    await checkPayouts(merchant);
  });

  it("B84: a node that has lost our final receipt does not make our own transaction a stranger's", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    provider().on("eth_getTransactionReceipt", () => null);
    await merchant.mineAndDrive(FINAL_BLOCKS + 3);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmation_tracking", "9 1 0"]);
    expect(await merchant.hotWallet()).toMatchObject({ status: "active" });
    // And while it cannot even say who has the nonce.
    provider().on("eth_getBlockByNumber", ([, full], honest) => {
      if (full === true) throw new Error("internal error");
      return honest();
    });
    await merchant.mineAndDrive(2);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    expect(await merchant.hotWallet()).toMatchObject({ status: "active" });
    // For longer than a person wants to wait.
    await merchant.drive(1, HOUR_MS);
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted deadline");
    provider().on("eth_getTransactionReceipt", null);
    provider().on("eth_getBlockByNumber", null);
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    await checkPayouts(merchant);
  });

  it("B94: a head that falls back proves nothing", async () => {
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    await merchant.mineAndDrive(3);
    provider().lag = 3;
    await merchant.drive(3, 5_000);
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted confirmed_on_chain");
    provider().lag = 0;
    await merchant.rest();
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted confirmed_on_chain");
    await checkPayouts(merchant);
  });

  it("B86: a counter that ran ahead of the chain finds the gap and fills it after the grace", async () => {
    const merchant = await PayingMerchant.start();
    provider().next("eth_getTransactionCount", 3, ([, tag], honest) => (tag === "pending" ? "0x4" : honest()));
    const { id } = await merchant.withdraw();
    expect((await merchant.signed()).map(({ nonce }) => nonce)).toEqual([4]);
    await merchant.drive(5, 11_000);
    expect(await merchant.signed()).toHaveLength(1);
    // A minute after it was found, whoever waits takes the lowest, and the rest is filled with nothing.
    const second = await merchant.withdraw();
    await merchant.drive(10, 11_000);
    await merchant.rest();
    const paid = wallets.paidBy(merchant.wallet);
    expect(paid.map(({ nonce }) => nonce)).toEqual([0, 1, 2, 3, 4, 5].slice(0, paid.length));
    expect([await merchant.state(id), await merchant.state(second.id)]).toEqual(["confirmed", "confirmed"]);
    expect(paid.filter(({ units }) => units > 0n)).toHaveLength(2);
    await checkPayouts(merchant);
  });

  it("B88: what the wallet cannot cover waits, lets others pass, and pays after the top-up", async () => {
    const merchant = await PayingMerchant.start({ inWallet: ETH / 2n });
    const large = await merchant.withdraw({ amount: "1" });
    const small = await merchant.withdraw({ amount: "0.1" });
    expect(await merchant.withdrawal(large.id)).toMatchObject({
      state: "funds_reserved",
      waiting_for: "wallet_top_up",
      attempts: [],
    });
    await merchant.mineAndDrive(5);
    expect([await merchant.state(large.id), await merchant.state(small.id)]).toEqual(["funds_reserved", "confirmed"]);
    wallets.mine(pay(merchant.wallet, 2n * ETH));
    await merchant.rest();
    expect(await merchant.withdrawal(large.id)).toMatchObject({ state: "confirmed", waiting_for: null });
    await checkPayouts(merchant);
  });

  it("B88: what is promised to one withdrawal is not promised to another", async () => {
    const merchant = await PayingMerchant.start({ inWallet: (3n * ETH) / 2n });
    const first = await merchant.withdraw();
    const second = await merchant.withdraw();
    await merchant.drive(2, 16_000);
    expect((await merchant.signed()).map(({ nonce }) => nonce)).toEqual([0]);
    expect(await merchant.withdrawal(second.id)).toMatchObject({ waiting_for: "wallet_top_up", attempts: [] });
    wallets.mine(pay(merchant.wallet, 2n * ETH));
    await merchant.rest();
    for (const { id } of [first, second]) expect(await merchant.state(id)).toBe("confirmed");
    await checkPayouts(merchant);
  });

  it("fees above the cap are waited out, and nothing is signed meanwhile", async () => {
    const merchant = await PayingMerchant.start();
    wallets.baseFee = 1_000n * 10n ** 9n;
    const { id } = await merchant.withdraw();
    await merchant.drive(2, 16_000);
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "funds_reserved", waiting_for: "lower_fee" });
    wallets.baseFee = 10n ** 9n;
    await merchant.rest();
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "confirmed", waiting_for: null });
    await checkPayouts(merchant);
  });

  it("B88: what would revert fails in the node's words: nothing signed, no nonce, released once", async () => {
    const merchant = await PayingMerchant.start({ token: TOK });
    const blocked = newAddress();
    wallets.reverting.add(blocked);
    const { id } = await merchant.withdraw({ asset: "TOK", amount: "5", destination: blocked });
    const after = await merchant.withdraw({ asset: "TOK", amount: "7" });
    const failed = await merchant.withdrawal(id);
    expect(failed).toMatchObject({ state: "failed", attempts: [] });
    expect(failed.transitions.at(-1)).toMatchObject({
      reason: "would_revert",
      evidence: expect.stringContaining("the receiver is blocked"),
    });
    await merchant.rest();
    expect((await merchant.signed()).map(({ nonce }) => nonce)).toEqual([0]);
    expect(await merchant.state(after.id)).toBe("confirmed");
    expect(await merchant.funds("TOK")).toBe("993 0 7");
    await checkPayouts(merchant);
  });

  it("B94: a replica that has not seen our nonce does not make it be used twice", async () => {
    const merchant = await PayingMerchant.start();
    await merchant.withdraw();
    await merchant.rest();
    provider().on("eth_getTransactionCount", () => "0x0");
    await merchant.withdraw();
    expect((await merchant.signed()).map(({ nonce }) => nonce)).toEqual([0, 1]);
    provider().on("eth_getTransactionCount", null);
    await merchant.rest();
    await checkPayouts(merchant);
  });
});

describe("two providers, of which one lies", () => {
  beforeEach(() => startPayouts(2));
  const liar = () => nodes[1] ?? provider();

  it("a receipt that is not there confirms nothing", async () => {
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    wallets.forget();
    const block = chain.grow(1);
    liar().on("eth_getTransactionReceipt", ([hash]) => ({
      transactionHash: hash,
      blockHash: block.hash,
      blockNumber: quantity(block.height),
      transactionIndex: "0x0",
      status: "0x1",
      type: "0x2",
      gasUsed: "0x5208",
      cumulativeGasUsed: "0x5208",
      effectiveGasPrice: "0x1",
      logs: [],
    }));
    for (let i = 0; i < 4; i++) {
      chain.grow(1);
      await merchant.drive();
    }
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted");
    liar().on("eth_getTransactionReceipt", null);
    await merchant.rest();
    await checkPayouts(merchant);
  });

  it("a status 1 for 0 neither confirms nor fails, until both say the same", async () => {
    const merchant = await PayingMerchant.start({ token: TOK });
    const destination = newAddress();
    const { id } = await merchant.withdraw({ asset: "TOK", amount: "5", destination });
    wallets.reverting.add(destination);
    liar().on("eth_getTransactionReceipt", (_params, honest) => {
      const receipt = honest() as Record<string, unknown> | null;
      return receipt === null ? null : { ...receipt, status: "0x1" };
    });
    await merchant.mineAndDrive(FINAL_BLOCKS + 2);
    expect([await merchant.steps(id), await merchant.funds("TOK")]).toEqual(["nonce_assigned accepted", "995 5 0"]);
    liar().on("eth_getTransactionReceipt", null);
    await merchant.rest();
    expect(await merchant.state(id)).toBe("failed");
    await checkPayouts(merchant);
  });

  it("a head that is not there makes nothing deeper", async () => {
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    wallets.mine();
    liar().on("eth_getBlockByNumber", ([tag], honest) => {
      const block = honest() as Record<string, unknown> | null;
      return tag === "latest" ? { ...block, number: quantity(chain.head + 50), hash: `0x${"99".repeat(32)}` } : block;
    });
    await merchant.drive(2);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    chain.grow(1);
    await merchant.drive();
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    chain.grow(1);
    await merchant.drive();
    expect(await merchant.state(id)).toBe("confirmed");
  });

  it("one that is alone confirms nothing and assigns nothing", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    liar().down = true;
    await merchant.mineAndDrive(4);
    const later = await merchant.withdraw();
    expect([await merchant.state(id), await merchant.state(later.id)]).toEqual([
      "confirmation_tracking",
      "funds_reserved",
    ]);
    liar().down = false;
    await merchant.rest();
    await checkPayouts(merchant);
  });

  it("bytes that one provider took and the other one refused are on their way", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    liar().on("eth_sendRawTransaction", () => {
      throw new Error("invalid chain id for signer");
    });
    const { id } = await merchant.withdraw();
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.rest();
    expect(await merchant.hotWallet()).toMatchObject({ status: "active" });
    await checkPayouts(merchant);
  });
});
