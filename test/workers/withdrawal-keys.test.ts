/** One key, one withdrawal: equal requests at once, misuse, and an object that came back from an older copy. */

import { getAddress } from "viem";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newAddress, pay } from "../support/model-chain.ts";
import { chain, DB, poll, quiet } from "./line.ts";
import {
  breakBatch,
  checkPayouts,
  claimsOf,
  ETH,
  FINAL_BLOCKS,
  halt,
  PayingMerchant,
  received,
  startPayouts,
  statusAndCode,
  type Wanted,
  wallets,
} from "./payout-line.ts";

const TOK = newAddress();

beforeEach(() => startPayouts());
afterEach(() => {
  vi.restoreAllMocks();
});

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
