/**
 * Withdrawals from the request to the last block, against nodes that lie, lose answers and fall behind: paid once,
 * released on proof alone, and a person asked when the chain does not say.
 */

import { getAddress } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deriveSigner } from "../../src/chains/evm/derived-signer.ts";
import { type Signer, SignerFault } from "../../src/chains/payout.ts";
import { ChainScanner } from "../../src/index.ts";
import type { TenantContext } from "../../src/objects/tenant/context.ts";
import { newAddress, pay, quantity } from "../support/model-chain.ts";
import { chain, DB, poll, quiet } from "./line.ts";
import {
  breakBatch,
  checkPayouts,
  claimsOf,
  ETH,
  FINAL_BLOCKS,
  nodes,
  PayingMerchant,
  provider,
  startPayouts,
  statusAndCode,
  type Wanted,
  wallets,
} from "./payout-line.ts";

const TOK = newAddress();
const HOUR_MS = 3_600_000;

beforeEach(() => startPayouts());
afterEach(() => {
  vi.restoreAllMocks();
});

/** Payments to a receiver on the best chain: `units` each. */
const received = (merchant: PayingMerchant, to: string) =>
  wallets.paidBy(merchant.wallet).flatMap((paid) => (paid.to === to && paid.success ? [paid.units] : []));

/** The scanner says that the network is halted, until it is restored. */
const halt = () =>
  vi.spyOn(ChainScanner.prototype, "status").mockImplementation((async () => ({ status: "halted" })) as never);

describe("one key, one withdrawal", () => {
  it("B78 B79: 50 equal requests at once with funds for one are one withdrawal, 49 replays, one payment", async () => {
    const merchant = await PayingMerchant.start({ coins: ETH });
    const destination = newAddress();
    const answers = await Promise.all(Array.from({ length: 50 }, () => merchant.ask({ destination }, "payout-1")));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array.from({ length: 49 }, () => 200), 201]);
    const replays = answers.filter(({ headers }) => headers.get("Idempotent-Replayed") === "true");
    expect(replays.map(({ status }) => status)).toEqual(Array.from({ length: 49 }, () => 200));
    const ids = await Promise.all(answers.map(async (answer) => ((await answer.json()) as { id: string }).id));
    expect(new Set(ids).size).toBe(1);
    expect(await claimsOf(merchant, "withdrawal_keys")).toBe(1);
    expect(await merchant.funds()).toBe("0 1 0");
    await merchant.rest();
    expect(received(merchant, destination)).toEqual([ETH]);
    expect(await merchant.funds()).toBe("0 0 1");
    await checkPayouts(merchant);
  });

  it("B79: of 50 requests at once against funds for 10, exactly 10 are accepted and paid", async () => {
    const merchant = await PayingMerchant.start({ coins: 10n * ETH });
    const answers = await Promise.all(Array.from({ length: 50 }, () => merchant.ask()));
    const codes = await Promise.all(answers.map(statusAndCode));
    expect(codes.filter((code) => code === "201")).toHaveLength(10);
    expect(codes.filter((code) => code === "422 insufficient_funds")).toHaveLength(40);
    expect(await merchant.funds()).toBe("0 10 0");
    // Those that were refused gave their keys back.
    expect(await claimsOf(merchant, "withdrawal_keys")).toBe(10);
    await merchant.rest();
    expect(await merchant.funds()).toBe("0 0 10");
    expect(wallets.paidBy(merchant.wallet)).toHaveLength(10);
    await checkPayouts(merchant);
  });

  const DESTINATION = `0x${"ab".repeat(20)}`;
  const OTHERS: [string, Wanted][] = [
    ["amount", { amount: "2" }],
    ["destination", { destination: `0x${"ac".repeat(20)}` }],
    ["asset", { asset: "TOK" }],
    ["network", { network: "nowhere" }],
    ["unlisted asset", { asset: "NONE" }],
    ["malformed destination", { destination: "nonsense" }],
  ];
  it.each(OTHERS)("B80: the same key with another %s is refused and changes nothing", async (_what, other) => {
    const merchant = await PayingMerchant.start({ token: TOK });
    const same = { destination: DESTINATION };
    const first = await merchant.withdraw(same, "k1");
    const before = [await merchant.withdrawal(first.id), await merchant.balances(), await merchant.events()];
    expect(await statusAndCode(await merchant.ask({ ...same, ...other }, "k1"))).toBe("422 idempotency_key_reused");
    expect([await merchant.withdrawal(first.id), await merchant.balances(), await merchant.events()]).toEqual(before);
    expect(await merchant.withdrawals()).toHaveLength(1);
  });

  const SPELLINGS: [string, Wanted][] = [
    ["the amount with a decimal", { amount: "1.0" }],
    ["the amount with many decimals", { amount: "1.000000000000000000" }],
    ["the destination with its checksum", { destination: getAddress(DESTINATION) }],
    ["the destination in upper case", { destination: `0x${"AB".repeat(20)}` }],
    ["another external_id", { external_id: "other" }],
    ["other metadata", { metadata: { a: "b" } }],
  ];
  it.each(SPELLINGS)("B80: the same key with %s is the same request", async (_what, spelling) => {
    const merchant = await PayingMerchant.start();
    const first = await merchant.withdraw({ destination: DESTINATION, external_id: "mine" }, "k1");
    const again = await merchant.ask({ destination: DESTINATION, ...spelling }, "k1");
    expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
    expect(await again.json()).toMatchObject({ id: first.id, amount: "1", external_id: "mine", metadata: {} });
    expect(await merchant.funds()).toBe("9 1 0");
  });

  it("B80: the same key of another account, and of another tenant, is another withdrawal", async () => {
    const merchant = await PayingMerchant.start();
    const other = await PayingMerchant.start();
    const deposit = newAddress();
    await merchant.watch(deposit, { account: "customer-2" });
    wallets.mine(pay(deposit, 3n * ETH));
    chain.grow(3);
    await poll(2);
    const ids = [
      (await merchant.withdraw({}, "k1")).id,
      (await merchant.withdraw({ account: "customer-2" }, "k1")).id,
      (await other.withdraw({}, "k1")).id,
    ];
    expect(new Set(ids).size).toBe(3);
    await merchant.rest();
    await other.rest();
    for (const one of [merchant, other]) await checkPayouts(one);
  });

  it("B80: a key is not used on two routes, whichever came first", async () => {
    const merchant = await PayingMerchant.start();
    const addAddress = (key: string) =>
      merchant.call("POST", "/v1/addresses", {
        body: { network: "local", address: newAddress() },
        headers: { "Idempotency-Key": key },
      });
    await merchant.withdraw({}, "first-a-withdrawal");
    expect(await statusAndCode(await addAddress("first-a-withdrawal"))).toBe("422 idempotency_key_reused");
    expect(await statusAndCode(await addAddress("first-an-address"))).toBe("201");
    expect(await statusAndCode(await merchant.ask({}, "first-an-address"))).toBe("422 idempotency_key_reused");
    expect(await merchant.funds()).toBe("9 1 0");
  });

  it.each([
    ["before it applied", false],
    ["after it applied", true],
  ])("B82: D1 lost %s at the key leaves no trace, and the retry makes it once", async (_when, applies) => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const destination = newAddress();
    const events = await merchant.events();
    breakBatch(1, applies);
    const failed = await merchant.ask({ destination }, "k1");
    expect(Number(failed.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect(await statusAndCode(failed)).toBe("503 store_unavailable");
    expect([await merchant.withdrawals(), await merchant.funds()]).toEqual([[], "10 0 0"]);
    expect(await merchant.events()).toEqual(events);
    const retry = await merchant.ask({ destination }, "k1");
    expect(retry.status).toBe(201);
    expect((await merchant.ask({ destination }, "k1")).status).toBe(200);
    await merchant.rest();
    expect(received(merchant, destination)).toEqual([ETH]);
    await checkPayouts(merchant);
  });

  it.each([
    ["before it applied", false],
    ["after it applied", true],
  ])("B82: D1 lost %s at the nonce signs nothing, and the nonce is used all the same", async (_when, applies) => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const destination = newAddress();
    breakBatch(2, applies);
    const { id } = await merchant.withdraw({ destination });
    expect(await merchant.state(id)).toBe("funds_reserved");
    expect([await merchant.signed(), wallets.received.size]).toEqual([[], 0]);
    await merchant.rest();
    expect(received(merchant, destination)).toEqual([ETH]);
    expect(await claimsOf(merchant, "wallet_nonces")).toBe(1);
    expect((await merchant.withdrawal(id)).attempts.map(({ nonce }) => nonce)).toEqual([0]);
    await checkPayouts(merchant);
  });

  it("a refusal leaves the key free, for the same body and for another", async () => {
    const merchant = await PayingMerchant.start();
    await merchant.call("PUT", "/v1/policies/withdrawals", {
      body: { limits: [{ network: "local", asset: "ETH", per_withdrawal: "5" }] },
    });
    const refused: [string, Wanted][] = [
      ["422 insufficient_funds", { account: "empty" }],
      ["422 invalid_destination", { destination: "0x0000000000000000000000000000000000000000" }],
      ["422 invalid_destination", { destination: merchant.wallet }],
      ["422 limit_exceeded", { amount: "6" }],
    ];
    for (const [code, wanted] of refused) expect(await statusAndCode(await merchant.ask(wanted, "k1"))).toBe(code);
    expect(await claimsOf(merchant, "withdrawal_keys")).toBe(0);
    expect(await statusAndCode(await merchant.ask({ amount: "4" }, "k1"))).toBe("201");
  });
});

describe("an object that was restored from an older copy", () => {
  const TABLES = ["withdrawals", "withdrawal_transitions", "wallets", "slots", "attempts", "balances"] as const;
  const LOGS = ["ledger_entries", "events"] as const;

  /** @returns how to put the object's rows back to what they are now */
  async function copyOf(merchant: PayingMerchant): Promise<() => Promise<void>> {
    const all = [...TABLES, ...LOGS];
    const rows = await merchant.inside((_, sql) => all.map((table) => sql.exec(`SELECT * FROM ${table}`).toArray()));
    return () =>
      merchant.inside((_, sql) => {
        for (const [i, table] of all.entries()) {
          sql.exec(`DELETE FROM ${table}`);
          for (const row of rows[i] ?? []) {
            const columns = Object.keys(row).map((name) => `"${name}"`);
            const marks = columns.map(() => "?");
            sql.exec(`INSERT INTO ${table} (${columns.join()}) VALUES (${marks.join()})`, ...Object.values(row));
          }
        }
      });
  }

  it("does not pay again what D1 knows a nonce of: 409, and nothing is reserved", async () => {
    const merchant = await PayingMerchant.start();
    const restore = await copyOf(merchant);
    const destination = newAddress();
    await merchant.withdraw({ destination }, "k1");
    await restore();
    expect(await statusAndCode(await merchant.ask({ destination }, "k1"))).toBe("409 state_conflict");
    expect([await merchant.withdrawals(), await merchant.funds()]).toEqual([[], "10 0 0"]);
    wallets.mine();
    await merchant.drive(5, 20_000);
    expect(received(merchant, destination)).toEqual([ETH]);
  });

  it.each([
    ["and never used the wallet before", false],
    ["and had paid before", true],
  ])("I7: a nonce of the lost copy is burnt, and the next withdrawal has another one: %s", async (_when, isUsed) => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    if (isUsed) {
      await merchant.withdraw();
      await merchant.rest();
    }
    const restore = await copyOf(merchant);
    const lost = newAddress();
    await merchant.withdraw({ destination: lost });
    await restore();
    wallets.forget();
    const destination = newAddress();
    const { id } = await merchant.withdraw({ destination });
    await merchant.drive(8, 16_000);
    await merchant.rest();
    const first = isUsed ? 1 : 0;
    expect((await merchant.withdrawal(id)).attempts.map(({ nonce }) => nonce)).toEqual([first + 1]);
    const [burn] = wallets.paidBy(merchant.wallet).filter(({ nonce }) => nonce === first);
    expect(burn).toMatchObject({ to: merchant.wallet, units: 0n });
    expect([received(merchant, lost), received(merchant, destination)]).toEqual([[], [ETH]]);
    await checkPayouts(merchant);
  });

  it.each([
    ["is mined", true],
    ["is in the pools", false],
  ])("I6: does not give a second nonce to what had one in the lost copy, whose payment %s", async (_where, isMined) => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const halted = halt();
    const destination = newAddress();
    const { id } = await merchant.withdraw({ destination });
    const restore = await copyOf(merchant);
    halted.mockRestore();
    await merchant.drive(1, 16_000);
    expect(await merchant.signed()).toHaveLength(1);
    if (isMined) wallets.mine();
    await restore();
    expect((await merchant.withdrawal(id)).state).toBe("funds_reserved");
    // What is signed now has other bytes than the lost copy's.
    wallets.baseFee *= 2n;
    wallets.tip *= 2n;
    for (let i = 0; i < 12; i++) {
      await merchant.drive(1, 16_000);
      wallets.mine();
    }
    expect(received(merchant, destination)).toEqual([ETH]);
    expect((await merchant.withdrawal(id)).attempts.map(({ nonce }) => nonce)).toEqual([0]);
    // Ours took its place in the pools, or the chain has one that a person has to look at.
    expect(await merchant.state(id)).toBe(isMined ? "manual_review" : "confirmed");
    expect(await merchant.funds()).toBe(isMined ? "9 1 0" : "9 0 1");
    await merchant.call("POST", "/v1/wallets/local/resume");
    const next = await merchant.withdraw();
    await merchant.rest();
    expect(await merchant.state(next.id)).toBe("confirmed");
    expect(received(merchant, destination)).toEqual([ETH]);
  });

  it("I6: that does not know the attempt that was mined asks a person, and signs nothing more for it", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const destination = newAddress();
    const { id } = await merchant.withdraw({ destination });
    const restore = await copyOf(merchant);
    await merchant.act(id, "speed-up");
    await merchant.drive();
    wallets.mine();
    await restore();
    chain.grow(FINAL_BLOCKS + 1);
    await merchant.drive(4, 16_000);
    expect(received(merchant, destination)).toEqual([ETH]);
    expect(await merchant.steps(id)).toMatch(/nonce_spent_by_another$/);
    expect(await merchant.funds()).toBe("9 1 0");
  });

  it("I7: a nonce that D1 gave to another tenant stays theirs, and the withdrawal has the next", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    await merchant.withdraw();
    await merchant.rest();
    await DB.prepare("INSERT INTO wallet_nonces VALUES ('local', ?1, 1, 'ten_other', 'wd_other', 0)")
      .bind(merchant.wallet)
      .run();
    const { id } = await merchant.withdraw();
    await merchant.drive(2, 16_000);
    expect((await merchant.signed()).map(({ nonce }) => nonce)).toEqual([0, 2]);
    wallets.mineOnly(await merchant.foreign(1));
    await merchant.rest();
    expect((await merchant.withdrawal(id)).attempts.map(({ nonce }) => nonce)).toEqual([2]);
    expect(await merchant.state(id)).toBe("confirmed");
    await checkPayouts(merchant);
  });
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

describe("replacements", () => {
  it("B90 B93: every attempt is followed; the oldest is mined and completes it with its own fee", async () => {
    const merchant = await PayingMerchant.start();
    // 2 * 5 + 1: a maximum of 11 wei and a tip of 1, where an integer eighth is nothing.
    Object.assign(wallets, { baseFee: 5n, tip: 1n });
    const { id } = await merchant.withdraw();
    for (let i = 0; i < 10; i++) {
      chain.grow(1);
      await merchant.drive();
    }
    const [first, second, third, ...more] = await merchant.signed();
    expect(more).toEqual([]);
    if (first === undefined || third === undefined) throw new Error("expected three attempts");
    expect([first, second].map((tx) => [tx?.maxFee, tx?.tip])).toEqual([
      [11n, 1n],
      [13n, 2n],
    ]);
    expect(third.maxFee * 10n >= 13n * 11n && third.tip * 10n >= 2n * 11n).toBe(true);
    for (const tx of [second, third]) {
      expect(tx).toMatchObject({ nonce: first.nonce, to: first.to, value: first.value, data: first.data });
    }
    wallets.mineOnly(first);
    await merchant.rest();
    const done = await merchant.withdrawal(id);
    expect(done).toMatchObject({ state: "confirmed", tx_id: first.hash, fee_units: String(21_000 * 6) });
    expect(done.attempts.map(({ status }) => status)).toEqual(["mined", "void", "void"]);
    await checkPayouts(merchant);
  });

  it("speed-up signs one more at once, of the same nonce, and either may be mined", async () => {
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    expect(await merchant.act(id, "speed-up")).toBe("200");
    await merchant.drive();
    const signed = await merchant.signed();
    expect(signed.map(({ nonce }) => nonce)).toEqual([0, 0]);
    await merchant.rest();
    expect((await merchant.withdrawal(id)).tx_id).toBe(signed[1]?.hash);
    await checkPayouts(merchant);
  });

  it("B93: a replacement that is underpriced all the same is followed by one that offers more", async () => {
    quiet("warn");
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    provider().next("eth_sendRawTransaction", 1, () => {
      throw new Error("replacement transaction underpriced");
    });
    await merchant.act(id, "speed-up");
    await merchant.drive(2, 4_000);
    const [, second, third] = await merchant.signed();
    expect((third?.maxFee ?? 0n) > (second?.maxFee ?? 0n)).toBe(true);
    expect(await merchant.hotWallet()).toMatchObject({ status: "active" });
    await merchant.rest();
    expect((await merchant.withdrawal(id)).tx_id).toBe(third?.hash);
    await checkPayouts(merchant);
  });

  it("B90 B104: confirmed by one attempt, reorganised, mined by the other: still one payment and one fee", async () => {
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    await merchant.act(id, "speed-up");
    await merchant.drive();
    const [first, second] = await merchant.signed();
    if (first === undefined || second === undefined) throw new Error("expected two attempts");
    wallets.mineOnly(first);
    chain.grow(2);
    await merchant.drive(1, 5_000);
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "confirmed", tx_id: first.hash });
    wallets.reorg(3, { keep: false });
    wallets.mineOnly(second);
    await merchant.drive(1, 5_000);
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "confirmation_tracking", tx_id: second.hash });
    await merchant.rest();
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "confirmed", tx_id: second.hash });
    expect((await merchant.entries()).filter(({ account }) => account === "sluice:fees")).toHaveLength(1);
    await checkPayouts(merchant);
  });

  it("at most 16 are in flight; the rest wait their turn and all are paid", async () => {
    const merchant = await PayingMerchant.start({ coins: 30n * ETH });
    const answers = await Promise.all(Array.from({ length: 20 }, () => merchant.ask()));
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    await merchant.drive(3);
    expect(await merchant.hotWallet()).toMatchObject({ in_flight: 16 });
    expect([wallets.pool.length, (await merchant.signed()).length]).toEqual([16, 16]);
    await merchant.rest();
    expect(wallets.paidBy(merchant.wallet).map(({ nonce }) => nonce)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    await checkPayouts(merchant);
  });
});

describe("what the chain makes of it", () => {
  it("B96: status 0 is failed only when it is final; released once, the fee booked once", async () => {
    const merchant = await PayingMerchant.start({ token: TOK });
    const destination = newAddress();
    const { id } = await merchant.withdraw({ asset: "TOK", amount: "5", destination });
    wallets.reverting.add(destination);
    wallets.mine();
    for (let depth = 1; depth <= FINAL_BLOCKS; depth++) {
      await merchant.drive(1, 5_000);
      expect([depth, await merchant.state(id), await merchant.funds("TOK")]).toEqual([
        depth,
        "confirmation_tracking",
        "995 5 0",
      ]);
      chain.grow(1);
    }
    await merchant.drive(3, 5_000);
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted reverted_on_chain");
    expect(await merchant.funds("TOK")).toBe("1000 0 0");
    const booked = (await merchant.entries()).filter(({ account }) => account === "sluice:fees");
    expect(booked.map(({ amount_units }) => amount_units)).toEqual([String(50_000n * 2n * 10n ** 9n)]);
    await checkPayouts(merchant);
  });

  it("a token that says success without a Transfer log is not confirmed: a person looks", async () => {
    const merchant = await PayingMerchant.start({ token: TOK });
    const { id } = await merchant.withdraw({ asset: "TOK", amount: "5" });
    wallets.silent.add(TOK);
    await merchant.mineAndDrive(FINAL_BLOCKS);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.mineAndDrive(3);
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted transfer_log_missing");
    expect(await merchant.funds("TOK")).toBe("995 5 0");
  });

  it.each([
    ["forgot it", false],
    ["took it back", true],
  ])(
    "B104: a confirmation that is reorganised away goes back, the same bytes are paid once: pools %s",
    async (...at) => {
      const [, keep] = at;
      const merchant = await PayingMerchant.start({ token: TOK });
      const { id } = await merchant.withdraw({ asset: "TOK", amount: "5" });
      await merchant.mineAndDrive(3);
      expect([await merchant.state(id), await merchant.funds("TOK")]).toEqual(["confirmed", "995 0 5"]);
      wallets.reorg(3, { keep });
      await merchant.drive(1, 5_000);
      expect([await merchant.state(id), await merchant.funds("TOK")]).toEqual(["confirmation_tracking", "995 5 0"]);
      expect((await merchant.withdrawal(id)).fee_units).toBeNull();
      // Sent again at once, not only when it is due.
      expect(wallets.pool.map(({ hash }) => hash)).toEqual((await merchant.signed()).map(({ hash }) => hash));
      await merchant.rest();
      expect(await merchant.steps(id)).toBe(
        "nonce_assigned accepted confirmed_on_chain reorganised confirmed_on_chain",
      );
      expect(await merchant.funds("TOK")).toBe("995 0 5");
      expect(await merchant.signed()).toHaveLength(1);
      expect((await merchant.entries()).filter(({ account }) => account === "sluice:fees")).toHaveLength(1);
      await checkPayouts(merchant);
    },
  );

  it("B104: a block that is replaced by one with the same transaction keeps the confirmation honest", async () => {
    const merchant = await PayingMerchant.start();
    const { id } = await merchant.withdraw();
    await merchant.mineAndDrive(3);
    wallets.reorg(3, { keep: true });
    wallets.mine();
    await merchant.drive(1, 5_000);
    // In its new block it is not deep enough.
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
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

describe("what stops a wallet, and who lets it go on", () => {
  it("a network that is halted signs and sends nothing, and follows what is out", async () => {
    const merchant = await PayingMerchant.start();
    const out = await merchant.withdraw();
    const halted = halt();
    const { id } = await merchant.withdraw();
    const sends = () => provider().asked.filter((method) => method === "eth_sendRawTransaction").length;
    const before = sends();
    for (let i = 0; i < 4; i++) {
      wallets.mine();
      await merchant.drive(1, 31_000);
    }
    expect([await merchant.state(out.id), await merchant.state(id)]).toEqual(["confirmed", "funds_reserved"]);
    expect([(await merchant.signed()).length, sends()]).toEqual([1, before]);
    halted.mockRestore();
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    await checkPayouts(merchant);
  });

  it("a wallet that is resumed has its alarm before any provider has said what it holds", async () => {
    const merchant = await PayingMerchant.start();
    await merchant.drive(2, 5_000);
    const alarm = () => merchant.inside((object) => (object as unknown as { c: TenantContext }).c.storage.getAlarm());
    expect(await alarm()).toBeNull();
    const gate = provider().hold("eth_getBalance");
    const resumed = merchant.call("POST", "/v1/wallets/local/resume");
    await gate.reached();
    // Whoever dies here must wake again by itself.
    expect(await alarm()).not.toBeNull();
    gate.open();
    expect(await statusAndCode(await resumed)).toBe("200");
  });

  it("a nonce that a stranger spent stops the wallet; the rest waits for resume, and is then paid", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const taken = await merchant.withdraw();
    wallets.forget();
    const foreign = await merchant.foreign(0);
    wallets.mineOnly(foreign);
    await merchant.drive(2);
    // Not final: it may still be ours that stays.
    expect(await merchant.state(taken.id)).toBe("confirmation_tracking");
    chain.grow(FINAL_BLOCKS + 1);
    await merchant.drive(2, 5_000);
    expect((await merchant.withdrawal(taken.id)).transitions.at(-1)).toMatchObject({
      to: "manual_review",
      reason: "nonce_spent_by_another",
      evidence: foreign.hash,
    });
    expect(await merchant.hotWallet()).toMatchObject({
      status: "stopped",
      incident: expect.stringContaining("nonce 0"),
    });
    const waiting = await merchant.withdraw();
    await merchant.mineAndDrive(3);
    expect(await merchant.state(waiting.id)).toBe("funds_reserved");
    expect(await merchant.signed()).toHaveLength(1);

    expect(await statusAndCode(await merchant.call("POST", "/v1/wallets/local/resume"))).toBe("200");
    await merchant.rest();
    expect([await merchant.state(taken.id), await merchant.state(waiting.id)]).toEqual(["manual_review", "confirmed"]);
    // Nothing of it can be mined any more, so a person's word is enough.
    expect(await merchant.act(taken.id, "resolve", { outcome: "failed", evidence: "looked" })).toBe("200");
    expect(await merchant.funds()).toBe("9 0 1");
    await checkPayouts(merchant);
  });

  it("a nonce that a stranger holds in the pool stops the wallet and asks a person", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const foreign = await merchant.foreign(0, 900n);
    provider().http = async (methods, honest) => {
      if (methods.includes("eth_sendRawTransaction") && wallets.pool.length === 0) wallets.submit(foreign);
      return honest();
    };
    const { id } = await merchant.withdraw();
    expect(await merchant.steps(id)).toBe("nonce_assigned nonce_held_by_another");
    expect(await merchant.hotWallet()).toMatchObject({ status: "stopped" });
    expect(await merchant.funds()).toBe("9 1 0");
    await merchant.drive(5, 31_000);
    expect(await merchant.signed()).toHaveLength(1);
    // Once the stranger's is final, nothing of ours can be mined any more.
    wallets.mine();
    chain.grow(FINAL_BLOCKS + 1);
    await merchant.drive(2, 16_000);
    expect(await merchant.act(id, "resolve", { outcome: "failed", evidence: foreign.hash })).toBe("200");
    expect(await merchant.funds()).toBe("10 0 0");
    await checkPayouts(merchant);
  });

  it("nonces that were spent beyond the counter stop the wallet before anything is signed", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    await merchant.withdraw();
    await merchant.rest();
    wallets.mineOnly(await merchant.foreign(1), await merchant.foreign(2));
    const { id } = await merchant.withdraw();
    expect([await merchant.state(id), (await merchant.signed()).length]).toEqual(["funds_reserved", 1]);
    expect(await merchant.hotWallet()).toMatchObject({
      status: "stopped",
      incident: expect.stringContaining("spent by somebody else"),
    });
    await merchant.call("POST", "/v1/wallets/local/resume");
    await merchant.rest();
    expect((await merchant.withdrawal(id)).attempts.map(({ nonce }) => nonce)).toEqual([3]);
    await checkPayouts(merchant);
  });
});

describe("a person's turn", () => {
  /** One in manual review whose bytes may still be mined. */
  async function overdue(): Promise<{ merchant: PayingMerchant; id: string; destination: string }> {
    const merchant = await PayingMerchant.start();
    const destination = newAddress();
    const { id } = await merchant.withdraw({ destination });
    wallets.forget();
    await merchant.drive(1, HOUR_MS);
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted deadline");
    expect(await merchant.withdrawal(id)).toMatchObject({ waiting_for: "person" });
    return { merchant, id, destination };
  }

  it("the deadline asks a person and keeps the reservation; the same bytes go on, and are confirmed by themselves", async () => {
    const { merchant, id, destination } = await overdue();
    expect(await merchant.funds()).toBe("9 1 0");
    const [bytes] = await merchant.signed();
    await merchant.drive(2, 31_000);
    expect(wallets.pool.map(({ hash }) => hash)).toEqual([bytes?.hash]);
    await merchant.mineAndDrive(FINAL_BLOCKS + 3);
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted deadline seen_in_block confirmed_on_chain");
    expect(received(merchant, destination)).toEqual([ETH]);
    await checkPayouts(merchant);
  });

  it("resolved as confirmed needs evidence that names an attempt while bytes live", async () => {
    const { merchant, id } = await overdue();
    const [bytes] = await merchant.signed();
    const confirm = (evidence: string) => merchant.act(id, "resolve", { outcome: "confirmed", evidence });
    expect(await confirm("I saw it")).toBe("409 illegal_transition");
    expect(await confirm(`paid in ${`0x${"22".repeat(32)}`}`)).toBe("409 illegal_transition");
    expect(await merchant.funds()).toBe("9 1 0");
    expect(await confirm(`paid in ${bytes?.hash.toUpperCase().replace("0X", "0x")}, I saw it`)).toBe("200");
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "9 0 1"]);
    expect(await confirm("again")).toBe("409 illegal_transition");
    await merchant.rest();
    await checkPayouts(merchant);
  });

  it("resolved as failed burns the nonce first and releases only when the burn is final", async () => {
    const { merchant, id, destination } = await overdue();
    wallets.forget();
    expect(await merchant.act(id, "resolve", { outcome: "failed", evidence: "gave up" })).toBe("200");
    await merchant.drive(1, 5_000);
    const [payment, burn] = await merchant.signed();
    expect(burn).toMatchObject({ nonce: payment?.nonce, to: merchant.wallet, value: 0n });
    for (let depth = 1; depth <= FINAL_BLOCKS; depth++) {
      await merchant.mineAndDrive();
      expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmation_tracking", "9 1 0"]);
    }
    await merchant.mineAndDrive();
    expect(await merchant.steps(id)).toMatch(/deadline burning_nonce nonce_burnt$/);
    expect([await merchant.funds(), received(merchant, destination)]).toEqual(["10 0 0", []]);
    await checkPayouts(merchant);
  });

  it("a signer that is out of reach until the deadline: its nonce is burnt before anything is released", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const signer = Object.getPrototypeOf(deriveSigner("11".repeat(32), "anybody", { id: "local" })) as Signer;
    const sign = vi.spyOn(signer, "sign").mockRejectedValue(new SignerFault("out of reach", true));
    const destination = newAddress();
    const { id } = await merchant.withdraw({ destination });
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "broadcast_pending", waiting_for: "signer" });
    await merchant.drive(1, HOUR_MS);
    expect(await merchant.steps(id)).toBe("nonce_assigned deadline");
    expect(await merchant.act(id, "resolve", { outcome: "failed", evidence: "never signed" })).toBe("200");
    expect(await merchant.funds()).toBe("9 1 0");
    sign.mockRestore();
    const next = await merchant.withdraw();
    await merchant.rest();
    expect([await merchant.state(id), await merchant.state(next.id)]).toEqual(["failed", "confirmed"]);
    expect(wallets.paidBy(merchant.wallet)).toMatchObject([{ to: merchant.wallet, units: 0n }, { units: ETH }]);
    await checkPayouts(merchant);
  });

  it("a payment that is mined after all wins over its burn", async () => {
    const { merchant, id, destination } = await overdue();
    await merchant.act(id, "resolve", { outcome: "failed", evidence: "gave up" });
    await merchant.drive(1, 5_000);
    const [payment, burn] = await merchant.signed();
    expect(burn).toMatchObject({ to: merchant.wallet });
    if (payment === undefined) throw new Error("a payment was signed");
    wallets.mineOnly(payment);
    await merchant.rest();
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "9 0 1"]);
    expect(received(merchant, destination)).toEqual([ETH]);
    await checkPayouts(merchant);
  });

  it("a burn that is reorganised away, and the payment mined in its place: it was paid", async () => {
    const { merchant, id, destination } = await overdue();
    await merchant.act(id, "resolve", { outcome: "failed", evidence: "gave up" });
    await merchant.drive(1, 5_000);
    const [payment, burn] = await merchant.signed();
    if (payment === undefined || burn === undefined) throw new Error("expected a payment and a burn");
    wallets.mineOnly(burn);
    await merchant.mineAndDrive(FINAL_BLOCKS - 2);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmation_tracking", "9 1 0"]);
    wallets.reorg(FINAL_BLOCKS - 1, { keep: false });
    wallets.mineOnly(payment);
    await merchant.rest();
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "9 0 1"]);
    expect(received(merchant, destination)).toEqual([ETH]);
    await checkPayouts(merchant);
  });

  it("cancelled only before a nonce is its own, and released once", async () => {
    const merchant = await PayingMerchant.start();
    const halted = halt();
    const early = await merchant.withdraw();
    expect(await merchant.act(early.id, "cancel")).toBe("200");
    // Once more, after an answer that was lost: it is cancelled, and nothing else happens.
    expect(await merchant.act(early.id, "cancel")).toBe("200");
    expect(await merchant.act(early.id, "speed-up")).toBe("409 illegal_transition");
    expect(await merchant.funds()).toBe("10 0 0");
    halted.mockRestore();
    const late = await merchant.withdraw();
    expect(await merchant.act(late.id, "cancel")).toBe("409 illegal_transition");
    await merchant.rest();
    expect([await merchant.state(early.id), await merchant.state(late.id)]).toEqual(["cancelled", "confirmed"]);
    await checkPayouts(merchant);
  });
});
