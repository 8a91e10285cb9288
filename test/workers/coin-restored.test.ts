/** An object that came back from an older copy, and tenants that meet: an output is for one spend, a withdrawal for one output. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { claimSpend, readSpend, releaseOutputs } from "../../src/store/d1/spends.ts";
import { chain, NETWORK, node, poll } from "./bitcoin-line.ts";
import { checkCoinPayouts, expectStrangers, receivedBy } from "./coin-checks.ts";
import { BTC, CoinMerchant, newBitcoinAddress, startCoins } from "./coin-line.ts";
import { DB, quiet } from "./line.ts";
import { halt, statusAndCode } from "./payout-line.ts";

const TABLES = [
  "withdrawals",
  "withdrawal_transitions",
  "wallets",
  "wallet_addresses",
  "coins",
  "spends",
  "spend_members",
  "spend_inputs",
  "spend_attempts",
  "balances",
  "networks",
  "deposits",
  "transfers",
  "ledger_entries",
  "events",
  "deposit_events",
] as const;

beforeEach(async () => {
  expectStrangers();
  await startCoins();
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** @returns how to put the object's rows back to what they are now */
async function copyOf(merchant: CoinMerchant): Promise<() => Promise<void>> {
  const rows = await merchant.inside((_, sql) => TABLES.map((table) => sql.exec(`SELECT * FROM ${table}`).toArray()));
  return () =>
    merchant.inside((_, sql) => {
      for (const [i, table] of TABLES.entries()) {
        sql.exec(`DELETE FROM ${table}`);
        for (const row of rows[i] ?? []) {
          const columns = Object.keys(row).map((name) => `"${name}"`);
          sql.exec(
            `INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => "?").join()})`,
            ...Object.values(row),
          );
        }
      }
    });
}

describe("an object that was restored from an older copy", () => {
  it("does not pay again what D1 knows a coin of: 409, and nothing is reserved", async () => {
    const merchant = await CoinMerchant.start();
    const restore = await copyOf(merchant);
    const destination = newBitcoinAddress();
    await merchant.withdraw({ destination }, "restored-1");
    await restore();
    expect(await statusAndCode(await merchant.ask({ destination }, "restored-1"))).toBe("409 state_conflict");
    expect(await merchant.withdrawals()).toEqual([]);
    chain.mine(4);
    expect(receivedBy(destination)).toEqual([BTC]);
  });

  it.each([
    ["is mined", true],
    ["is forgotten by the pools", false],
  ])("I6: keeps the coin of what had one in the lost copy, whose payment %s", async (_where, isMined) => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    const halted = halt();
    const destination = newBitcoinAddress();
    const { id } = await merchant.withdraw({ destination });
    const restore = await copyOf(merchant);
    halted.mockRestore();
    await merchant.drive(1, 16_000);
    const lost = await merchant.last();
    if (isMined) chain.mine();
    else chain.forget();
    await restore();
    expect(await merchant.state(id)).toBe("funds_reserved");
    // What is signed now has other bytes than the lost copy's.
    node.facts.estimate = 20_000n;
    for (let i = 0; i < 12; i++) {
      await merchant.drive(1, 16_000);
      chain.mine();
      await poll(1);
    }
    expect(receivedBy(destination)).toEqual([BTC]);
    expect(await merchant.state(id)).toBe(isMined ? "manual_review" : "confirmed");
    const [{ pin } = { pin: "" }] = await merchant.rows<{ pin: string }>(
      "SELECT pin_tx_id || ':' || pin_vout AS pin FROM spends AS s JOIN spend_members AS m ON m.number = s.number",
    );
    expect(lost.inputs.map(({ txid, vout }) => `${txid}:${vout}`)).toContain(pin);
    await merchant.call("POST", `/v1/wallets/${NETWORK}/resume`);
    const next = await merchant.withdraw();
    await merchant.rest();
    expect(await merchant.state(next.id)).toBe("confirmed");
    expect(receivedBy(destination)).toEqual([BTC]);
  });

  it("I7: a coin of the lost copy's spend is that spend's; it is used up, and the next withdrawal has another", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start({ coins: [BTC, BTC, 5n * BTC] });
    const restore = await copyOf(merchant);
    const lost = newBitcoinAddress();
    // Both small coins, one of them pinned.
    await merchant.withdraw({ destination: lost, amount: "1.9" });
    const { inputs } = await merchant.last();
    await restore();
    chain.forget();
    const destination = newBitcoinAddress();
    const { id } = await merchant.withdraw({ destination, amount: "6.5" });
    await merchant.drive(10, 16_000);
    await merchant.rest();
    expect(inputs.length).toBeGreaterThan(0);
    expect(await merchant.state(id)).toBe("confirmed");
    expect([receivedBy(lost), receivedBy(destination)]).toEqual([[], [(13n * BTC) / 2n]]);
    await checkCoinPayouts(merchant);
  });

  it("I7: gives back a coin that the lost copy added to a spend that is final without it", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start({ coins: [BTC + 2_000n, BTC / 2n] });
    node.facts.estimate = 10_000n;
    const { id } = await merchant.withdraw({ amount: "1" });
    const first = await merchant.last();
    const restore = await copyOf(merchant);
    node.facts.estimate = 100_000n;
    await merchant.act(id, "speed-up");
    await merchant.drive(3, 16_000);
    expect((await merchant.last()).inputs).toHaveLength(2);
    await restore();
    chain.mine(1, { include: [first] });
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    const next = await merchant.withdraw({ amount: "0.25" });
    await merchant.rest();
    expect(await merchant.state(next.id)).toBe("confirmed");
    await checkCoinPayouts(merchant);
  });

  it("finds the change of spends that it has forgotten, and goes on beyond their numbers", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start({ coins: [5n * BTC] });
    const restore = await copyOf(merchant);
    await merchant.withdraw();
    await merchant.mineAndDrive(4);
    await merchant.withdraw();
    await restore();
    chain.mine();
    await poll(2);
    await merchant.mineAndPoll(4);
    expect(await merchant.rows("SELECT path FROM wallet_addresses ORDER BY path")).toEqual([
      { path: "0/0" },
      { path: "1/0" },
      { path: "1/1" },
    ]);
    const { id } = await merchant.withdraw();
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    expect((await merchant.rows("SELECT number FROM spends")).map(({ number }) => number)).toEqual([2]);
  });
});

describe("claims of spends", () => {
  const ref = (n: number) => ({ txId: `${n}`.padStart(64, "a"), vout: n });
  const pin = (n: number) => `${ref(n).txId}:${n}`;
  let place = 0;
  const claimOf = (tenantId: string, inputs: readonly number[], members: readonly string[], network = `n${place}`) => ({
    network,
    tenantId,
    pin: pin(inputs[0] ?? 0),
    inputs: inputs.map(ref),
    members,
    now: 1,
  });
  beforeEach(() => {
    place++;
  });
  const named = (...names: string[]) => names.map((name) => `wd_${place}_${name}`);

  it("may be repeated, and give what was claimed", async () => {
    const claim = claimOf("ten_a", [1, 2], named("x", "y"));
    for (let i = 0; i < 2; i++) expect(await claimSpend(DB, claim)).toEqual({ kind: "own", elsewhere: [] });
    expect(await readSpend(DB, claim)).toEqual({ inputs: [ref(1), ref(2)], members: named("x", "y") });
  });

  it("take all inputs or none, and no members with none", async () => {
    await claimSpend(DB, claimOf("ten_a", [1, 2], named("x")));
    const other = claimOf("ten_b", [3, 2], named("z"));
    const held = { ...ref(2), tenantId: "ten_a", pin: pin(1) };
    expect(await claimSpend(DB, other)).toEqual({ kind: "held", holders: [held] });
    expect(await readSpend(DB, other)).toEqual({ inputs: [], members: [] });
    expect(await claimSpend(DB, { ...other, tenantId: "ten_a" })).toEqual({ kind: "held", holders: [held] });
  });

  it("keep a withdrawal with the output that it has", async () => {
    await claimSpend(DB, claimOf("ten_a", [1], named("x")));
    const [x = "", y = ""] = named("x", "y");
    const elsewhere = [expect.objectContaining({ withdrawalId: x, pin: pin(1) })];
    expect(await claimSpend(DB, claimOf("ten_a", [2], [x, y]))).toEqual({ kind: "own", elsewhere });
    expect((await readSpend(DB, claimOf("ten_a", [2], []))).members).toEqual([y]);
  });

  it("of equal claims at once one gets the output", async () => {
    const claims = await Promise.all([1, 2, 3, 4].map((n) => claimSpend(DB, claimOf(`ten_${n}`, [1], named(`${n}`)))));
    expect(claims.filter(({ kind }) => kind === "own")).toHaveLength(1);
  });

  it("are given back, but for the pinned output of what withdrawals are named for", async () => {
    const claim = claimOf("ten_a", [1, 2], named("x"));
    await claimSpend(DB, claim);
    await releaseOutputs(DB, { ...claim, tenantId: "ten_b" });
    expect((await readSpend(DB, claim)).inputs).toHaveLength(2);
    await releaseOutputs(DB, claim);
    expect((await readSpend(DB, claim)).inputs).toEqual([ref(1)]);
    const empty = claimOf("ten_a", [3], []);
    await claimSpend(DB, empty);
    await releaseOutputs(DB, empty);
    expect((await readSpend(DB, empty)).inputs).toEqual([]);
  });
});
