/** What a tenant allows itself to pay out: approvals, destinations, limits, and accounts that owe. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PoliciesView } from "../../src/core/policy-view.ts";
import { newAddress, pay } from "../support/model-chain.ts";
import { call, chain, DAY_MS, poll, time } from "./line.ts";
import { checkPayouts, ETH, PayingMerchant, startPayouts, statusAndCode, wallets } from "./payout-line.ts";

const A = `0x${"aa".repeat(20)}`;
const B = `0x${"bb".repeat(20)}`;
const HOUR_S = 3_600;

beforeEach(() => startPayouts());
afterEach(() => {
  vi.restoreAllMocks();
});

async function put(merchant: PayingMerchant, rules: object): Promise<PoliciesView["withdrawals"]> {
  const response = await merchant.call("PUT", "/v1/policies/withdrawals", { body: rules });
  if (response.status !== 200) throw new Error(`rules: ${response.status} ${await response.text()}`);
  return ((await response.json()) as PoliciesView).withdrawals;
}

const ask = async (merchant: PayingMerchant, wanted: object) => statusAndCode(await merchant.ask(wanted));
const limits = (limit: object) => [{ network: "local", asset: "ETH", ...limit }];
const allow = (...addresses: string[]) => addresses.map((address) => ({ network: "local", address }));

describe("approvals", () => {
  let merchant: PayingMerchant;
  beforeEach(async () => {
    merchant = await PayingMerchant.start();
    await put(merchant, { approvals: [{ network: "local", asset: "ETH", above: "1" }] });
  });

  it("waits above the amount, and is paid once another key has approved", async () => {
    const { id, state, waiting_for } = await merchant.withdraw({ amount: "2" });
    expect([state, waiting_for, await merchant.funds()]).toEqual(["pending_approval", "approval", "8 2 0"]);
    await merchant.mineAndDrive(2);
    expect(await merchant.signed()).toEqual([]);

    expect(await merchant.act(id, "approve")).toBe("403 forbidden");
    const unfit = await merchant.newKey("read", "withdrawals:write");
    expect(await merchant.act(id, "approve", undefined, unfit)).toBe("403 forbidden");
    expect(await merchant.act(id, "reject", undefined, unfit)).toBe("403 forbidden");
    expect(await merchant.state(id)).toBe("pending_approval");

    const approver = await merchant.newKey("withdrawals:approve");
    expect(await merchant.act(id, "approve", undefined, approver)).toBe("200");
    expect(await merchant.act(id, "approve", undefined, approver)).toBe("409 illegal_transition");
    await merchant.rest();
    expect(await merchant.steps(id)).toMatch(/^above_approval_limit approved nonce_assigned/);
    expect(await merchant.funds()).toBe("8 0 2");
    await checkPayouts(merchant);
  });

  it("a key that may approve cannot approve what it asked for itself", async () => {
    const both = await merchant.newKey("withdrawals:write", "withdrawals:approve");
    const response = await merchant.ask({ amount: "2" }, "mine", both);
    const { id } = (await response.json()) as { id: string };
    expect(await merchant.act(id, "approve", undefined, both)).toBe("403 forbidden");
    expect(await merchant.act(id, "approve")).toBe("200");
  });

  it("nor can the key that took its place", async () => {
    const body = { name: "asks", scopes: ["withdrawals:write", "withdrawals:approve"] };
    const made = await merchant.call("POST", "/v1/api-keys", { body });
    const asker = (await made.json()) as { id: string; secret: string };
    const asked = await merchant.ask({ amount: "2" }, "mine", asker.secret);
    const { id } = (await asked.json()) as { id: string };
    const rotate = `/v1/api-keys/${asker.id}/rotate`;
    const rotated = await merchant.call("POST", rotate, { body: { overlap_seconds: 0 } });
    const successor = (await rotated.json()) as { secret: string };
    expect(await merchant.act(id, "approve", undefined, successor.secret)).toBe("403 forbidden");
    expect(await merchant.act(id, "approve")).toBe("200");
  });

  it("the amount itself needs nobody", async () => {
    expect((await merchant.withdraw({ amount: "1" })).state).toBe("funds_reserved");
    expect((await merchant.withdraw({ amount: "1.000000000000000001" })).state).toBe("pending_approval");
  });

  it("rejected releases, and is never paid", async () => {
    const { id } = await merchant.withdraw({ amount: "2" });
    const approver = await merchant.newKey("withdrawals:approve");
    expect(await merchant.act(id, "reject", { reason: "not ours" }, approver)).toBe("200");
    expect((await merchant.withdrawal(id)).transitions.at(-1)).toMatchObject({
      to: "rejected",
      evidence: expect.stringContaining("not ours"),
    });
    expect(await merchant.act(id, "approve", undefined, approver)).toBe("409 illegal_transition");
    await merchant.mineAndDrive(3);
    expect([await merchant.funds(), wallets.received.size]).toEqual(["10 0 0", 0]);
    await checkPayouts(merchant);
  });

  it("may be called off while it waits", async () => {
    const { id } = await merchant.withdraw({ amount: "2" });
    expect(await merchant.act(id, "cancel")).toBe("200");
    expect(await merchant.funds()).toBe("10 0 0");
    await checkPayouts(merchant);
  });
});

describe("destinations", () => {
  it("only those on the list; a new one after the cool-down, a removed one at once", async () => {
    const merchant = await PayingMerchant.start();
    await put(merchant, { cool_down_seconds: HOUR_S, allow_list: allow(A) });
    // The cool-down became shorter, so the day of before holds for this change.
    expect(await ask(merchant, { destination: A })).toBe("201");
    expect(await ask(merchant, { destination: B })).toBe("422 destination_not_allowed");
    time.now += DAY_MS;

    const wider = await put(merchant, { cool_down_seconds: HOUR_S, allow_list: allow(A, B) });
    expect(wider.pending?.effective_at).toBe(new Date(time.now + HOUR_S * 1_000).toISOString());
    time.now += HOUR_S * 1_000 - 1;
    expect(await ask(merchant, { destination: B })).toBe("422 destination_not_allowed");
    time.now += 1;
    expect(await ask(merchant, { destination: B })).toBe("201");

    const narrower = await put(merchant, { cool_down_seconds: HOUR_S, allow_list: allow(B) });
    expect(narrower.pending).toBeNull();
    expect(await ask(merchant, { destination: A })).toBe("422 destination_not_allowed");
    await put(merchant, { cool_down_seconds: HOUR_S, allow_list: [] });
    expect(await ask(merchant, { destination: B })).toBe("422 destination_not_allowed");
  });

  it("the default cool-down is a day, and no list at all is the widest", async () => {
    const merchant = await PayingMerchant.start();
    await put(merchant, { allow_list: allow(A) });
    await put(merchant, {});
    time.now += DAY_MS - 1;
    expect(await ask(merchant, { destination: B })).toBe("422 destination_not_allowed");
    time.now += 1;
    expect(await ask(merchant, { destination: B })).toBe("201");
  });
});

describe("limits", () => {
  it("for one withdrawal: the limit itself passes; stricter at once, looser after the cool-down", async () => {
    const merchant = await PayingMerchant.start();
    await put(merchant, { limits: limits({ per_withdrawal: "2" }) });
    expect(await ask(merchant, { amount: "2.000000000000000001" })).toBe("422 limit_exceeded");
    expect(await ask(merchant, { amount: "2" })).toBe("201");
    await put(merchant, { limits: limits({ per_withdrawal: "3" }) });
    expect(await ask(merchant, { amount: "3" })).toBe("422 limit_exceeded");
    time.now += DAY_MS;
    expect(await ask(merchant, { amount: "3" })).toBe("201");
    await put(merchant, { limits: limits({ per_withdrawal: "1" }) });
    expect(await ask(merchant, { amount: "2" })).toBe("422 limit_exceeded");
  });

  it("of a day: what was refused or called off does not count, what is older than a day neither", async () => {
    const merchant = await PayingMerchant.start();
    await put(merchant, {
      limits: limits({ per_day: "3" }),
      approvals: [{ network: "local", asset: "ETH", above: "1" }],
    });
    expect(await ask(merchant, { amount: "1" })).toBe("201");
    const { id } = await merchant.withdraw({ amount: "2" });
    expect(await ask(merchant, { amount: "0.1" })).toBe("422 limit_exceeded");
    await merchant.act(id, "cancel");
    time.now += 1;
    expect(await ask(merchant, { amount: "2" })).toBe("201");
    expect(await ask(merchant, { amount: "0.1" })).toBe("422 limit_exceeded");
    time.now += DAY_MS - 1;
    // The first one is a day and no more old: it counts.
    expect(await ask(merchant, { amount: "0.1" })).toBe("422 limit_exceeded");
    time.now += 1;
    expect(await ask(merchant, { amount: "1" })).toBe("201");
  });

  it("of a day: requests at once do not pass it together", async () => {
    const merchant = await PayingMerchant.start();
    await put(merchant, { limits: limits({ per_day: "3" }) });
    const codes = await Promise.all(Array.from({ length: 10 }, () => ask(merchant, { amount: "1" })));
    expect(codes.filter((code) => code === "201")).toHaveLength(3);
    expect(codes.filter((code) => code === "422 limit_exceeded")).toHaveLength(7);
    await merchant.rest();
    await checkPayouts(merchant);
  });
});

describe("an account that owes", () => {
  it("pays nothing out until its debt is settled, whatever its other balances are", async () => {
    const merchant = await PayingMerchant.start();
    const deposit = newAddress();
    await merchant.watch(deposit, { account: "debtor" });
    const from = { account: "debtor" };
    chain.mine([pay(deposit, 2n * ETH)]);
    chain.grow(2);
    await poll(2);
    expect(await ask(merchant, { ...from, amount: "2" })).toBe("201");
    // The deposit is taken back after it was spent.
    chain.reorg(3, [], [], [], []);
    await poll(2);
    expect((await merchant.balances()).find(({ account }) => account === "debtor")).toMatchObject({ debt: "2" });
    expect(await ask(merchant, { ...from, amount: "1" })).toBe("422 account_frozen");
    expect(await ask(merchant, { amount: "1" })).toBe("201");

    chain.mine([pay(deposit, 3n * ETH)]);
    chain.grow(2);
    await poll(2);
    expect(await ask(merchant, { ...from, amount: "1" })).toBe("201");
    await merchant.rest();
    await checkPayouts(merchant);
  });
});

describe("what became stricter after the reservation", () => {
  it("holds back what is not signed yet while its account owes, and lets it go on after", async () => {
    const merchant = await PayingMerchant.start({ inWallet: 0n });
    const deposit = newAddress();
    await merchant.watch(deposit, { account: "debtor" });
    chain.mine([pay(deposit, 2n * ETH)]);
    chain.grow(2);
    await poll(2);
    const { id } = await merchant.withdraw({ account: "debtor", amount: "2" });
    chain.reorg(3, [], [], [], [pay(merchant.wallet, 100n * ETH)]);
    await poll(2);
    await merchant.drive(2, 16_000);
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "funds_reserved", waiting_for: "policy" });
    expect(await merchant.signed()).toEqual([]);
    chain.mine([pay(deposit, 2n * ETH)]);
    chain.grow(2);
    await poll(2);
    await merchant.rest();
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "confirmed", waiting_for: null });
    await checkPayouts(merchant);
  });

  it("holds back a destination that was taken off the list before anything was signed", async () => {
    const merchant = await PayingMerchant.start({ inWallet: 0n });
    await put(merchant, { allow_list: allow(A, B) });
    const { id } = await merchant.withdraw({ destination: A });
    await put(merchant, { allow_list: allow(B) });
    wallets.mine(pay(merchant.wallet, 100n * ETH));
    await merchant.drive(2, 16_000);
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "funds_reserved", waiting_for: "policy" });
    expect(await merchant.act(id, "cancel")).toBe("200");
    await checkPayouts(merchant);
  });
});

describe("an account that owes, with a withdrawal still reserved", () => {
  it("I4: what a withdrawal gives back repays the debt before it is available", async () => {
    const merchant = await PayingMerchant.start();
    const deposit = newAddress();
    await merchant.watch(deposit, { account: "debtor" });
    chain.mine([pay(deposit, 2n * ETH)]);
    chain.grow(2);
    await poll(2);
    await put(merchant, { approvals: [{ network: "local", asset: "ETH", above: "0" }] });
    const { id } = await merchant.withdraw({ account: "debtor", amount: "2" });
    chain.reorg(3, [], [], [], []);
    await poll(2);
    expect(await merchant.act(id, "cancel")).toBe("200");
    expect((await merchant.balances()).find(({ account }) => account === "debtor")).toMatchObject({
      available: "0",
      reserved: "0",
      debt: "0",
    });
    const told = (await merchant.events()).slice(-2).map(({ type }) => type);
    expect(told).toEqual(["withdrawal.updated", "account.debt_cleared"]);
    await checkPayouts(merchant);
  });
});

describe("rights", () => {
  it("withdrawals need their own scopes, and another tenant's are not there", async () => {
    const merchant = await PayingMerchant.start();
    const other = await PayingMerchant.start();
    const reader = await merchant.newKey("read");
    expect(await statusAndCode(await merchant.ask({}, "k", reader))).toBe("403 forbidden");
    const { id } = await merchant.withdraw();
    for (const action of ["cancel", "approve", "reject", "speed-up"]) {
      expect([action, await other.act(id, action)]).toEqual([action, "404 not_found"]);
    }
    expect((await call("GET", `/v1/withdrawals/${id}`, { key: other.key })).status).toBe(404);
    expect(await other.withdrawals()).toEqual([]);
  });
});
