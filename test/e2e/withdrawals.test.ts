/**
 * Withdrawals from the request to the last block, on real nodes: what the recipient has, what the ledger says and
 * what the merchant is told, while fees rise, tokens refuse, providers lose answers, signers lie and chains turn.
 */

import { type Hex as Bytes, parseTransaction, type TransactionSerializableEIP1559 } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EstimateView, WalletView, WithdrawalView } from "../../src/core/views.ts";
import { type Anvil, DEV_ACCOUNTS, type Hex, hex } from "../support/anvil.ts";
import { freshAddress, type Merchant } from "../support/merchant.ts";
import { expectAgreed, holding, REORG_WINDOW, untilState, untilToldState, untilView } from "../support/payouts.ts";
import { type RemoteSigner, type SignerMood, startRemoteSigner } from "../support/remote-signer.ts";
import { isSend } from "../support/rpc-proxy.ts";
import { leaked } from "../support/served.ts";
import { type Network, type Stage, startStage } from "../support/stage.ts";
import { type Contract, deploy } from "../support/tokens.ts";

const GWEI = 10n ** 9n;
const ETHER = 10n ** 18n;
const HALF = ETHER / 2n;

let stage: Stage;
let local: Network;

/** Begun at the start of the file and looked at again at its end: what takes seconds to happen. */
interface Begun {
  readonly network: Network;
  readonly shop: Merchant;
  readonly asked: WithdrawalView;
}
let unanswered: Begun;
let unmined: Begun;

beforeAll(async () => {
  stage = await startStage({
    drops: {},
    slow: { withdrawal_deadline_s: 10 },
    stuck: { replace_after_blocks: 3, max_fee_gwei: 500 },
    priced: { fee_model: "legacy", max_fee_gwei: 500 },
    foreign: {},
    // As many as it takes to be confirmed: what was confirmed is old enough to be replaced.
    turns: { replace_after_blocks: 3 },
  });
  local = await stage.open("local");
});
afterAll(() => stage?.stop());

const stopMining = (chain: Anvil) => chain.rpc("evm_setAutomine", [false]);

/** In steps, so that the service sees the depths on the way. */
async function mineToFinal({ chain }: Network): Promise<void> {
  await chain.mine(REORG_WINDOW / 2);
  await chain.mine(REORG_WINDOW / 2);
}

async function balanceOf(shop: Merchant, network: string, asset = "ETH", account = "default") {
  const found = (await shop.balances()).find(
    (b) => b.network === network && b.asset === asset && b.account === account,
  );
  return found && { available: found.available, reserved: found.reserved, settled: found.settled };
}

function stepsOf({ transitions }: WithdrawalView): string[] {
  return transitions.map(({ to, reason }) => `${to}: ${reason}`);
}

const decoded = (raw: string | undefined) => parseTransaction((raw ?? "0x") as Bytes) as TransactionSerializableEIP1559;

async function resolve(
  shop: Merchant,
  { id }: WithdrawalView,
  outcome: "confirmed" | "failed",
): Promise<WithdrawalView> {
  return shop.call("POST", `/v1/withdrawals/${id}/resolve`, { outcome, evidence: "looked at the chain" });
}

const resume = (shop: Merchant, network: string) => shop.call<WalletView>("POST", `/v1/wallets/${network}/resume`);

describe("B83: an answer that is lost on its way back", () => {
  it("leaves open whether the bytes arrived: nothing is released, nothing else is signed", async () => {
    const drops = await stage.open("drops");
    const shop = await stage.merchant("Drops");
    await shop.fund(drops);
    await stopMining(drops.chain);
    drops.proxy.setFaults({ lose: (call) => (isSend(call) ? "answer" : null) });
    const asked = await shop.withdraw({ network: "drops", amount: "0.5" });
    const view = await untilView(shop, asked.id, ({ attempts }) => attempts[0]?.outcome === "unknown");
    expect(view).toMatchObject({ state: "broadcast_pending", attempts: [{ status: "sent" }] });
    expect(await drops.chain.rpc("eth_getTransactionByHash", [view.tx_id])).toMatchObject({ blockHash: null });
    expect(await balanceOf(shop, "drops")).toEqual({ available: "1.5", reserved: "0.5", settled: "0" });
    drops.proxy.setFaults({});
    expect(drops.proxy.sent).toHaveLength(1);
    unanswered = { network: drops, shop, asked };
  });
});

it("a deadline of ten seconds begins for a withdrawal that a node has and nobody mines", async () => {
  const slow = await stage.open("slow");
  const shop = await stage.merchant("Slow");
  await shop.fund(slow);
  await stopMining(slow.chain);
  const { id } = await shop.withdraw({ network: "slow", amount: "0.5" });
  unmined = { network: slow, shop, asked: await untilState(shop, id, "confirmation_tracking") };
});

describe("a payment", () => {
  let shop: Merchant;
  let coin: Contract;
  beforeAll(async () => {
    coin = await deploy(local.chain, "Token", ["Coin", "COIN", 6]);
    shop = await stage.merchant("Shop");
    await shop.list("local", coin.address);
    await shop.fund(local, { token: { contract: coin, units: 10_000_000n } });
  });

  it("of native coin is reserved, tracked, confirmed and final, and its fee is the wallet's", async () => {
    const destination = freshAddress();
    const wallet = await shop.wallet("local");
    expect(wallet).toMatchObject({ next_nonce: null, in_flight: 0, status: "active", incident: null });
    expect(wallet.balances).toContainEqual({ asset: "ETH", amount: "2", amount_units: String(2n * ETHER) });
    const body = { network: "local", asset: "ETH", destination, amount: "0.5" };
    const estimate = await shop.call<EstimateView>("POST", "/v1/withdrawals/estimate", body);
    expect(estimate).toMatchObject({ accepted: true, needs_approval: false, refusal: null, fee_asset: "ETH" });
    expect(await shop.withdrawals()).toEqual([]);

    const asked = await shop.withdraw({ ...body, externalId: "order 17", key: "first" });
    expect(asked).toMatchObject({ state: "funds_reserved", tx_id: null, fee: null, attempts: [] });
    expect(await balanceOf(shop, "local")).toEqual({ available: "1.5", reserved: "0.5", settled: "0" });
    const mined = await untilView(shop, asked.id, ({ fee_units }) => fee_units !== null);
    await local.chain.mine();
    expect((await untilView(shop, asked.id, () => true)).state).toBe("confirmation_tracking");
    expect(await balanceOf(shop, "local")).toEqual({ available: "1.5", reserved: "0.5", settled: "0" });
    await local.chain.mine();
    const confirmed = await untilToldState(shop, asked.id, "confirmed");
    expect(stepsOf(confirmed)).toEqual([
      "request_received: requested",
      "funds_reserved: reserved",
      "broadcast_pending: nonce_assigned",
      "confirmation_tracking: accepted",
      "confirmed: confirmed_on_chain",
    ]);
    expect(await balanceOf(shop, "local")).toEqual({ available: "1.5", reserved: "0", settled: "0.5" });
    expect(await balanceOf(shop, "local", "ETH", "sluice:fees")).toBeUndefined();
    expect(await holding(shop, local, "ETH", destination)).toBe(HALF);
    await expectAgreed(local, [shop]);

    await mineToFinal(local);
    await expectAgreed(local, [shop]);
    expect(await balanceOf(shop, "local", "ETH", "sluice:fees")).toMatchObject({ available: "0", settled: mined.fee });
    const fee = BigInt(mined.fee_units ?? 0);
    expect(Number(mined.fee)).toBeLessThanOrEqual(Number(estimate.max_fee));
    expect(await holding(shop, local, "ETH", wallet.address)).toBe(2n * ETHER - HALF - fee);
    expect(await shop.wallet("local")).toMatchObject({ next_nonce: 1, in_flight: 0, status: "active" });
    // B140: whoever has lost the key finds the withdrawal by what it is for.
    for (const filter of [{ external_id: "order 17" }, { idempotency_key: "first" }, { tx_id: mined.tx_id ?? "" }])
      expect((await shop.withdrawals(filter)).map(({ id }) => id)).toEqual([asked.id]);
    for (const filter of [{ external_id: "order 1" }, { idempotency_key: "First" }, { state: "failed" }])
      expect(await shop.withdrawals(filter)).toEqual([]);
  });

  it("of a token moves the token alone", async () => {
    const destination = freshAddress();
    const { address } = await shop.wallet("local");
    const coinBefore = await holding(shop, local, "COIN", address);
    const { id } = await shop.withdraw({ network: "local", asset: "COIN", destination, amount: "2.5" });
    await untilView(shop, id, ({ fee_units }) => fee_units !== null);
    expect(await balanceOf(shop, "local", "COIN")).toEqual({ available: "7.5", reserved: "2.5", settled: "0" });
    await local.chain.mine(2);
    expect(await untilToldState(shop, id, "confirmed")).toMatchObject({ asset: "COIN", amount_units: "2500000" });
    expect(await balanceOf(shop, "local", "COIN")).toEqual({ available: "7.5", reserved: "0", settled: "2.5" });
    expect(await holding(shop, local, "COIN", destination)).toBe(2_500_000n);
    expect(await holding(shop, local, "ETH", destination)).toBe(0n);
    expect(await holding(shop, local, "COIN", address)).toBe(coinBefore - 2_500_000n);
    await mineToFinal(local);
    await expectAgreed(local, [shop]);
  });

  it("B80: that is refused leaves its key free, and one that is not keeps it for ever", async () => {
    const destination = freshAddress();
    const body = { network: "local", asset: "ETH", destination, amount: "3" };
    const estimate = await shop.call<EstimateView>("POST", "/v1/withdrawals/estimate", body);
    expect(estimate).toMatchObject({ accepted: false, refusal: { code: "insufficient_funds" } });
    const refused = await shop.ask("POST", "/v1/withdrawals", body, "too much");
    expect([refused.status, refused.body]).toMatchObject([422, { code: "insufficient_funds" }]);
    const { id } = await shop.withdraw({ ...body, amount: "0.25", key: "too much" });
    const other = await shop.ask("POST", "/v1/withdrawals", { ...body, amount: "0.26" }, "too much");
    expect([other.status, other.body]).toMatchObject([422, { code: "idempotency_key_reused" }]);
    expect((await shop.withdraw({ ...body, amount: "0.250", key: "too much" })).id).toBe(id);
    await untilView(shop, id, ({ fee_units }) => fee_units !== null);
    await local.chain.mine(2);
    await untilToldState(shop, id, "confirmed");
    await expectAgreed(local, [shop]);
    expect(await holding(shop, local, "ETH", destination)).toBe(ETHER / 4n);
  });
});

describe("a reorganisation", () => {
  it("B104: that takes a confirmed payment away brings it back with the same bytes, however old they are", async () => {
    const turns = await stage.open("turns");
    const shop = await stage.merchant("Turns");
    const destination = freshAddress();
    await shop.fund(turns);
    const { id } = await shop.withdraw({ network: "turns", destination, amount: "0.5" });
    await untilView(shop, id, ({ fee_units }) => fee_units !== null);
    await turns.chain.mine(2);
    const before = await untilToldState(shop, id, "confirmed");
    const held = turns.proxy.hold(isSend);
    await turns.chain.reorg(3);
    const request = await held;
    const back = await untilState(shop, id, "confirmation_tracking");
    expect(stepsOf(back).slice(-2)).toEqual(["confirmed: confirmed_on_chain", "confirmation_tracking: reorganised"]);
    expect(back.fee_units).toBeNull();
    expect(await balanceOf(shop, "turns")).toEqual({ available: "1.5", reserved: "0.5", settled: "0" });
    expect(await holding(shop, turns, "ETH", destination)).toBe(0n);
    request.release();
    await untilView(shop, id, ({ fee_units }) => fee_units !== null);
    await turns.chain.mine(2);
    const after = await untilState(shop, id, "confirmed");
    expect([after.tx_id, after.attempts.length]).toEqual([before.tx_id, 1]);
    const [first] = turns.proxy.sent;
    expect(turns.proxy.sent).toEqual([first, first]);
    expect(await holding(shop, turns, "ETH", destination)).toBe(HALF);
    await mineToFinal(turns);
    await expectAgreed(turns, [shop]);
    expect(await balanceOf(shop, "turns")).toEqual({ available: "1.5", reserved: "0", settled: "0.5" });
  });
});

describe("fees", () => {
  let stuck: Network;
  let shop: Merchant;
  beforeAll(async () => {
    stuck = await stage.open("stuck");
    shop = await stage.merchant("Stuck");
    await shop.fund(stuck);
    await stopMining(stuck.chain);
  });

  /** A withdrawal that lies in the node's pool. */
  async function pooled(destination = freshAddress()): Promise<WithdrawalView> {
    const { id } = await shop.withdraw({ network: "stuck", amount: "0.25", destination });
    return untilState(shop, id, "confirmation_tracking");
  }

  function expectRaised(first: string | undefined, second: string | undefined): void {
    const [before, after] = [decoded(first), decoded(second)];
    const { maxFeePerGas, maxPriorityFeePerGas, ...same } = before;
    expect(after).toMatchObject({ nonce: same.nonce, to: same.to, value: same.value, chainId: same.chainId });
    for (const [low, high] of [
      [maxFeePerGas, after.maxFeePerGas],
      [maxPriorityFeePerGas, after.maxPriorityFeePerGas],
    ])
      expect((high ?? 0n) * 1000n).toBeGreaterThanOrEqual((low ?? 0n) * 1125n);
  }

  it("B93: speed-up replaces an attempt once, an eighth higher or more in both fees", async () => {
    const sent = stuck.proxy.sent.length;
    const { id, attempts } = await pooled();
    const path = `/v1/withdrawals/${id}/speed-up`;
    for (const _ of ["asked", "asked again"]) expect((await shop.ask("POST", path, {}, "hurry")).status).toBe(200);
    const hurried = await untilView(shop, id, (view) => view.attempts[1]?.outcome === "accepted");
    expect(hurried.attempts[0]?.tx_id).toBe(attempts[0]?.tx_id);
    expectRaised(stuck.proxy.sent[sent], stuck.proxy.sent[sent + 1]);
    await stuck.chain.mine(3);
    const done = await untilToldState(shop, id, "confirmed");
    expect(done.tx_id).toBe(hurried.attempts[1]?.tx_id);
    await mineToFinal(stuck);
    await expectAgreed(stuck, [shop]);
    expect((await shop.withdrawal(id)).attempts.map(({ status }) => status)).toEqual(["void", "mined"]);
    expect(stuck.proxy.sent).toHaveLength(sent + 2);
    const late = await shop.ask("POST", path, {}, "too late");
    expect([late.status, late.body]).toMatchObject([409, { code: "illegal_transition" }]);
  });

  it("an attempt that is not mined for three blocks is replaced by itself, at what the chain asks now", async () => {
    const sent = stuck.proxy.sent.length;
    const destination = freshAddress();
    const { id } = await pooled(destination);
    await stuck.chain.rpc("anvil_setNextBlockBaseFeePerGas", [hex(50n * GWEI)]);
    await stuck.chain.mine(2);
    await expect.poll(() => shop.withdrawal(id), { timeout: 2_000 }).toMatchObject({ attempts: [{ status: "sent" }] });
    expect(stuck.proxy.sent).toHaveLength(sent + 1);
    await stuck.chain.mine(1);
    const replaced = await untilView(shop, id, (view) => view.attempts[1]?.outcome === "accepted");
    expectRaised(stuck.proxy.sent[sent], stuck.proxy.sent[sent + 1]);
    expect(decoded(stuck.proxy.sent[sent]).maxFeePerGas).toBeLessThan(10n * GWEI);
    await stuck.chain.mine(3);
    expect((await untilToldState(shop, id, "confirmed")).tx_id).toBe(replaced.attempts[1]?.tx_id);
    await mineToFinal(stuck);
    await expectAgreed(stuck, [shop]);
    expect(await holding(shop, stuck, "ETH", destination)).toBe(ETHER / 4n);
  });

  it("B90: an older attempt that is mined completes the withdrawal, with its own hash and fee", async () => {
    const { id, attempts } = await pooled();
    // A provider that says yes and passes nothing on.
    stuck.proxy.setFaults({ lose: (call) => (isSend(call) ? "request" : null) });
    await shop.call("POST", `/v1/withdrawals/${id}/speed-up`, {});
    const hurried = await untilView(shop, id, (view) => view.attempts[1]?.outcome === "unknown");
    expect(hurried.tx_id).toBe(hurried.attempts[1]?.tx_id);
    await stuck.chain.mine(1);
    stuck.proxy.setFaults({});
    await stuck.chain.mine(2);
    const done = await untilToldState(shop, id, "confirmed");
    expect(done.tx_id).toBe(attempts[0]?.tx_id);
    await mineToFinal(stuck);
    // That the fee shown and booked is that of the transaction which was mined is looked at there.
    await expectAgreed(stuck, [shop]);
    expect((await shop.withdrawal(id)).attempts.map(({ status }) => status)).toEqual(["mined", "void"]);
  });
});

it("a chain with one gas price is paid on, and its price raised by an eighth or more to hurry", async () => {
  const priced = await stage.open("priced");
  const shop = await stage.merchant("Priced");
  await shop.fund(priced);
  await stopMining(priced.chain);
  const destination = freshAddress();
  const { id } = await shop.withdraw({ network: "priced", amount: "0.5", destination });
  await untilView(shop, id, (view) => view.attempts[0]?.outcome === "accepted");
  await shop.call("POST", `/v1/withdrawals/${id}/speed-up`);
  await untilView(shop, id, (view) => view.attempts[1]?.outcome === "accepted");
  const [first, second] = priced.proxy.sent.map((raw) => parseTransaction(raw as Bytes));
  expect([first?.type, second?.type, first?.nonce, second?.nonce]).toEqual(["legacy", "legacy", 0, 0]);
  expect((second?.gasPrice ?? 0n) * 1_000n).toBeGreaterThanOrEqual((first?.gasPrice ?? 0n) * 1_125n);
  await priced.chain.mine(3);
  await untilToldState(shop, id, "confirmed");
  expect(await holding(shop, priced, "ETH", destination)).toBe(HALF);
  await mineToFinal(priced);
  await expectAgreed(priced, [shop]);
});

describe("a nonce that somebody else spends", () => {
  let foreign: Network;
  beforeAll(async () => {
    foreign = await stage.open("foreign");
  });

  async function shopWithWallet(name: string): Promise<{ shop: Merchant; wallet: Hex }> {
    const shop = await stage.merchant(name);
    await shop.fund(foreign);
    const wallet = (await shop.wallet("foreign")).address as Hex;
    await foreign.chain.rpc("anvil_impersonateAccount", [wallet]);
    return { shop, wallet };
  }

  it("stops the wallet and asks a person, who finds it was not paid; the next one is", async () => {
    const { shop, wallet } = await shopWithWallet("Robbed");
    const destination = freshAddress();
    const held = foreign.proxy.hold(isSend);
    const { id } = await shop.withdraw({ network: "foreign", amount: "0.5", destination });
    const request = await held;
    const theft = await foreign.chain.send({ from: wallet, to: DEV_ACCOUNTS[1], value: 1n });
    await foreign.chain.receipt(theft);
    request.release();
    await untilView(shop, id, ({ attempts }) => attempts[0]?.outcome === "nonce_consumed");
    expect((await shop.withdrawal(id)).state).toBe("broadcast_pending");
    await mineToFinal(foreign);
    const review = await untilToldState(shop, id, "manual_review");
    expect(review.waiting_for).toBe("person");
    expect(review.transitions.at(-1)).toMatchObject({ reason: "nonce_spent_by_another", evidence: theft });
    const stopped = await shop.wallet("foreign");
    expect(stopped.status).toBe("stopped");
    expect(stopped.incident).toContain(theft);
    expect(await balanceOf(shop, "foreign")).toEqual({ available: "1.5", reserved: "0.5", settled: "0" });
    await expectAgreed(foreign, [shop]);

    const next = await shop.withdraw({ network: "foreign", amount: "0.25" });
    const failed = await resolve(shop, review, "failed");
    expect(failed).toMatchObject({ state: "failed", waiting_for: null });
    expect(await balanceOf(shop, "foreign")).toEqual({ available: "1.75", reserved: "0.25", settled: "0" });
    expect((await shop.withdrawal(next.id)).state).toBe("funds_reserved");
    expect(await resume(shop, "foreign")).toMatchObject({ status: "active", incident: null });
    await untilView(shop, next.id, ({ fee_units }) => fee_units !== null);
    await mineToFinal(foreign);
    expect((await untilToldState(shop, next.id, "confirmed")).attempts).toMatchObject([{ nonce: 1 }]);
    await mineToFinal(foreign);
    await expectAgreed(foreign, [shop]);
    expect(await holding(shop, foreign, "ETH", destination)).toBe(0n);
  });

  it("or holds in the pool: the signed bytes are made void before anything is released", async () => {
    const { shop, wallet } = await shopWithWallet("Held");
    const destination = freshAddress();
    await stopMining(foreign.chain);
    const held = foreign.proxy.hold(isSend);
    const { id } = await shop.withdraw({ network: "foreign", amount: "0.5", destination });
    const request = await held;
    const fees = { maxFeePerGas: hex(300n * GWEI), maxPriorityFeePerGas: hex(200n * GWEI) };
    const theft = await foreign.chain.rpc<Hex>("eth_sendTransaction", [
      { from: wallet, to: DEV_ACCOUNTS[1], value: "0x1", nonce: "0x0", gas: hex(21_000), ...fees },
    ]);
    request.release();
    const review = await untilToldState(shop, id, "manual_review");
    expect(review.transitions.at(-1)?.reason).toBe("nonce_held_by_another");
    expect((await shop.wallet("foreign")).status).toBe("stopped");
    await foreign.chain.rpc("anvil_dropTransaction", [theft]);
    // Whoever has our bytes may still send them.
    const burning = await resolve(shop, review, "failed");
    expect(burning.state).toBe("confirmation_tracking");
    expect(await balanceOf(shop, "foreign")).toEqual({ available: "1.5", reserved: "0.5", settled: "0" });
    await resume(shop, "foreign");
    const burnt = await untilView(shop, id, (view) => view.attempts[1]?.outcome === "accepted");
    expect(burnt.attempts.map(({ kind, nonce }) => [kind, nonce])).toEqual([
      ["payment", 0],
      ["burn", 0],
    ]);
    await foreign.chain.mine(REORG_WINDOW);
    const mined = await untilView(shop, id, ({ attempts }) => attempts[1]?.status === "mined");
    // The burn is neither its transaction nor its fee.
    expect([mined.state, mined.tx_id, mined.fee]).toEqual(["confirmation_tracking", mined.attempts[0]?.tx_id, null]);
    await foreign.chain.mine(1);
    const failed = await untilToldState(shop, id, "failed");
    expect(failed.transitions.at(-1)?.reason).toBe("nonce_burnt");
    await expectAgreed(foreign, [shop]);
    expect(await balanceOf(shop, "foreign")).toEqual({ available: "2", reserved: "0", settled: "0" });
    const late = foreign.chain.rpc("eth_sendRawTransaction", [foreign.proxy.sent.at(-2)]);
    await expect(late).rejects.toThrow(/nonce too low/);
  });
});

describe("a token", () => {
  let shop: Merchant;
  let moody: Contract;
  beforeAll(async () => {
    moody = await deploy(local.chain, "MoodyToken", ["Moody", "MOODY", 6]);
    shop = await stage.merchant("Moody");
    await shop.list("local", moody.address);
    await shop.fund(local, { token: { contract: moody, units: 9_000_000n } });
  });
  const payout = (destination: string) => shop.withdraw({ network: "local", asset: "MOODY", destination, amount: "3" });

  it("that would revert fails the withdrawal before anything is signed", async () => {
    const destination = freshAddress();
    await moody.send("refuse", [destination, true]);
    const sent = local.proxy.sent.length;
    const failed = await untilToldState(shop, (await payout(destination)).id, "failed");
    expect(failed).toMatchObject({ attempts: [], tx_id: null });
    expect(failed.transitions.at(-1)).toMatchObject({ from: "funds_reserved", reason: "would_revert" });
    expect(failed.transitions.at(-1)?.evidence).toContain("not to this one");
    expect(local.proxy.sent).toHaveLength(sent);
    expect(await balanceOf(shop, "local", "MOODY")).toEqual({ available: "9", reserved: "0", settled: "0" });
    await expectAgreed(local, [shop]);
  });

  it("B96: that reverts in its block fails it when that is final, releases once and books the gas", async () => {
    const destination = freshAddress();
    const held = local.proxy.hold(isSend);
    const { id } = await payout(destination);
    const request = await held;
    await moody.send("refuse", [destination, true]);
    request.release();
    const { tx_id } = await untilView(shop, id, ({ fee_units }) => fee_units !== null);
    expect((await local.chain.receipt((tx_id ?? "0x") as Hex)).status).toBe("0x0");
    await local.chain.mine(REORG_WINDOW - 1);
    await new Promise((wake) => setTimeout(wake, 500));
    expect((await shop.withdrawal(id)).state).toBe("confirmation_tracking");
    expect(await balanceOf(shop, "local", "MOODY")).toEqual({ available: "6", reserved: "3", settled: "0" });
    await local.chain.mine(1);
    const failed = await untilToldState(shop, id, "failed");
    expect(failed.transitions.at(-1)?.reason).toBe("reverted_on_chain");
    expect(await balanceOf(shop, "local", "MOODY")).toEqual({ available: "9", reserved: "0", settled: "0" });
    await expectAgreed(local, [shop]);
    expect(await balanceOf(shop, "local", "ETH", "sluice:fees")).toMatchObject({ settled: failed.fee });
  });

  it("that answers false has not paid: a person is asked, and nothing is released", async () => {
    const destination = freshAddress();
    await moody.send("ignore", [destination, true]);
    const { id } = await payout(destination);
    const { tx_id } = await untilView(shop, id, ({ fee_units }) => fee_units !== null);
    expect((await local.chain.receipt((tx_id ?? "0x") as Hex)).status).toBe("0x1");
    await mineToFinal(local);
    const review = await untilToldState(shop, id, "manual_review");
    expect(review.transitions.at(-1)?.reason).toBe("transfer_log_missing");
    expect(review.transitions.map(({ to }) => to)).not.toContain("confirmed");
    expect(await balanceOf(shop, "local", "MOODY")).toEqual({ available: "6", reserved: "3", settled: "0" });
    await expectAgreed(local, [shop]);
    await resolve(shop, review, "failed");
    await expectAgreed(local, [shop]);
    expect(await balanceOf(shop, "local", "MOODY")).toEqual({ available: "9", reserved: "0", settled: "0" });
  });
});

describe("a remote signer", () => {
  let shop: Merchant;
  let signer: RemoteSigner;
  beforeAll(async () => {
    signer = await startRemoteSigner();
    shop = await stage.merchant("Remote");
    const { url, address, token } = signer;
    const chosen = await shop.call<WalletView>("PUT", "/v1/wallets/local/signer", {
      type: "remote",
      url,
      address,
      token,
    });
    expect(chosen).toMatchObject({ address, signer: { type: "remote", url: new URL(url).origin } });
    await shop.fund(local, { wei: 10n * ETHER });
  });
  afterAll(() => signer?.close());

  async function paidOnce({ id, destination }: WithdrawalView): Promise<void> {
    await untilView(shop, id, ({ fee_units }) => fee_units !== null);
    await local.chain.mine(2);
    expect((await untilToldState(shop, id, "confirmed")).attempts).toHaveLength(1);
    expect(await holding(shop, local, "ETH", destination)).toBe(HALF);
    await expectAgreed(local, [shop]);
  }

  const LIES: Readonly<Record<string, SignerMood>> = {
    to: { kind: "amends", amend: (asked) => ({ ...asked, to: DEV_ACCOUNTS[1] }) },
    value: { kind: "amends", amend: (asked) => ({ ...asked, value: (asked.value ?? 0n) + 1n }) },
    nonce: { kind: "amends", amend: (asked) => ({ ...asked, nonce: (asked.nonce ?? 0) + 1 }) },
    chainId: { kind: "amends", amend: (asked) => ({ ...asked, chainId: 1 }) },
    maxFeePerGas: { kind: "amends", amend: (asked) => ({ ...asked, maxFeePerGas: (asked.maxFeePerGas ?? 0n) * 2n }) },
    sender: { kind: "other_key" },
  };

  it.each(Object.entries(LIES))(
    "I16: that signs another %s stops the wallet, and nothing is sent",
    async (field, mood) => {
      signer.setMood(mood);
      const [sent, asked] = [local.proxy.sent.length, signer.asked.length];
      const withdrawal = await shop.withdraw({ network: "local", amount: "0.5" });
      await expect.poll(async () => (await shop.wallet("local")).status, { timeout: 20_000 }).toBe("stopped");
      expect((await shop.wallet("local")).incident).toContain(`signed transaction: ${field} is `);
      const stopped = await shop.withdrawal(withdrawal.id);
      expect(stopped).toMatchObject({ state: "broadcast_pending", waiting_for: "signer", attempts: [], tx_id: null });
      expect((await balanceOf(shop, "local"))?.reserved).toBe("0.5");
      signer.setMood({ kind: "honest" });
      await new Promise((wake) => setTimeout(wake, 400));
      expect([local.proxy.sent.length, signer.asked.length]).toEqual([sent, asked + 1]);
      await resume(shop, "local");
      await paidOnce(withdrawal);
    },
  );

  it.each([
    ["answers 503", { kind: "status", status: 503 }],
    ["cuts the connection", { kind: "cut" }],
  ] as const)("that %s makes a withdrawal wait, and it goes on by itself", async (_, mood) => {
    signer.setMood(mood);
    const sent = local.proxy.sent.length;
    const withdrawal = await shop.withdraw({ network: "local", amount: "0.5" });
    await untilView(shop, withdrawal.id, ({ waiting_for }) => waiting_for === "signer");
    expect(await shop.wallet("local")).toMatchObject({ status: "active", in_flight: 1 });
    expect(local.proxy.sent).toHaveLength(sent);
    signer.setMood({ kind: "honest" });
    await paidOnce(withdrawal);
  });

  it("cannot be changed while its payments are not final", async () => {
    const derived = await shop.ask("PUT", "/v1/wallets/local/signer", { type: "derived" });
    expect([derived.status, derived.body]).toMatchObject([409, { code: "state_conflict" }]);
    await mineToFinal(local);
    await expectAgreed(local, [shop]);
    const back = await shop.call<WalletView>("PUT", "/v1/wallets/local/signer", { type: "derived" });
    expect(back.address).not.toBe(signer.address);
  });

  it("no key, secret, token or path of it is ever printed", () => {
    expect(leaked(stage, signer.secrets)).toEqual([]);
    expect(stage.printed()).toContain("the signer did not sign what was asked");
  });
});

describe("B83: half a minute after an answer was lost", () => {
  it("the same bytes go out again, are known already, and pay once", async () => {
    const { network: drops, shop, asked } = unanswered;
    const known = await untilState(shop, asked.id, "confirmation_tracking", 40_000);
    expect(known.transitions.at(-1)?.reason).toBe("already_known");
    expect(known.attempts).toMatchObject([{ outcome: "already_known" }]);
    expect(drops.proxy.sent.length).toBeGreaterThan(1);
    expect(new Set(drops.proxy.sent).size).toBe(1);
    await drops.chain.mine(3);
    await untilToldState(shop, asked.id, "confirmed");
    await mineToFinal(drops);
    await expectAgreed(drops, [shop]);
    expect(await holding(shop, drops, "ETH", asked.destination)).toBe(HALF);
  });
});

describe("a withdrawal whose deadline has passed", () => {
  it("waits for a person with its amount reserved, and cannot be called paid without its transaction", async () => {
    const { shop, asked } = unmined;
    const review = await untilToldState(shop, asked.id, "manual_review");
    const last = review.transitions.at(-1);
    expect(last).toMatchObject({ reason: "deadline", evidence: `${asked.tx_id}: accepted` });
    expect(Date.parse(last?.at ?? "") - Date.parse(asked.created_at)).toBeGreaterThanOrEqual(10_000);
    const body = { outcome: "confirmed", evidence: "the customer says so" };
    const refused = await shop.ask("POST", `/v1/withdrawals/${asked.id}/resolve`, body);
    expect([refused.status, refused.body]).toMatchObject([409, { code: "illegal_transition" }]);
    expect(await balanceOf(shop, "slow")).toEqual({ available: "1.5", reserved: "0.5", settled: "0" });
  });

  it("is paid all the same when it is mined, and leaves the review by itself", async () => {
    const { network, shop, asked } = unmined;
    await network.chain.mine(3);
    const done = await untilToldState(shop, asked.id, "confirmed");
    expect(stepsOf(done).slice(-3)).toEqual([
      "manual_review: deadline",
      "confirmation_tracking: seen_in_block",
      "confirmed: confirmed_on_chain",
    ]);
    expect(done.waiting_for).toBeNull();
    await mineToFinal(network);
    await expectAgreed(network, [shop]);
    expect(await holding(shop, network, "ETH", asked.destination)).toBe(HALF);
  });
});
