/**
 * Requests that come while others are at D1 are claimed, judged and committed together. Each is answered as if it had come
 * alone, after those before it and before those behind it.
 */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { derivedId } from "../../src/core/ids.ts";
import type { TenantContext } from "../../src/objects/tenant/context.ts";
import { MAX_IN_ROUND } from "../../src/objects/tenant/rounds.ts";
import { onSteps } from "../../src/steps.ts";
import { newAddress } from "../support/model-chain.ts";
import { DB, quiet, time } from "./line.ts";
import {
  checkPayouts,
  claimsOf,
  ETH,
  halt,
  PayingMerchant,
  received,
  startPayouts,
  statusAndCode,
  type Wanted,
} from "./payout-line.ts";

beforeEach(() => startPayouts());
afterEach(() => {
  onSteps(null);
  vi.restoreAllMocks();
});

const CLAIM = "d1 claim withdrawal key";
const RELEASE = "d1 release withdrawal key";

/** What the next call of a step meets. */
interface Held {
  /** The calls that were made so far, and the commits of rounds. */
  readonly calls: string[];
  readonly commits: string[];
  letGo(): void;
}

/** Keeps the first claim at D1, unmade, until it is let go; the second one meets `second`. */
function holdClaims(second: <T>(call: () => Promise<T>) => Promise<T> = (call) => call()): Held {
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const calls: string[] = [];
  const commits: string[] = [];
  onSteps({
    async call(name, call) {
      calls.push(name);
      const claims = calls.filter((one) => one === CLAIM).length;
      if (name === CLAIM && claims === 1) await held;
      return name === CLAIM && claims === 2 ? second(call) : call();
    },
    commit(name, work) {
      // A wallet that is driven meanwhile commits as well.
      if (new Error().stack?.includes("at reserve ")) commits.push(name);
      return work();
    },
  });
  return { calls, commits, letGo };
}

type Asked = readonly [key: string, wanted: Wanted];

/** One request by itself at D1, and all of these in the round behind it. @returns their answers, and the first one's */
async function askTogether(
  merchant: PayingMerchant,
  asked: readonly Asked[],
  second?: <T>(call: () => Promise<T>) => Promise<T>,
): Promise<{ readonly first: string; readonly answers: readonly string[]; readonly held: Held }> {
  const held = holdClaims(second);
  const first = merchant.ask({ amount: "0.5" }, "first");
  await underWay(merchant, "first");
  const waiting: Promise<Response>[] = [];
  for (const [key, wanted] of asked) {
    waiting.push(merchant.ask(wanted, key));
    // One after the other, so that the order they come in is known.
    await underWay(merchant, key, wanted.account);
  }
  held.letGo();
  const answers = await Promise.all(waiting.map(async (one) => statusAndCode(await one)));
  return { first: await statusAndCode(await first), answers, held };
}

/** Waits until a request with this key has come so far that D1 is asked next. */
function underWay(merchant: PayingMerchant, key: string, account = "default"): Promise<void> {
  return vi.waitFor(
    async () => {
      const isThere = await merchant.inside((object) =>
        (object as unknown as { c: TenantContext }).c.turns.isBusy(`key/${account}/${key}`),
      );
      expect(isThere).toBe(true);
    },
    { interval: 1 },
  );
}

const keysOf = async (merchant: PayingMerchant) =>
  (await merchant.withdrawals()).map(({ idempotency_key: key }) => key).reverse();
const idOf = (merchant: PayingMerchant, key: string) => derivedId("wd", merchant.id, "default", key);

describe("a round", () => {
  it("B79: funds for nine of thirty are for the first nine, by one claim, one commit and one giving back", async () => {
    const merchant = await PayingMerchant.start({ coins: 95n * (ETH / 10n) });
    const halted = halt();
    const asked = Array.from({ length: 30 }, (_, i): Asked => [`k${i}`, { amount: "1" }]);
    const { first, answers, held } = await askTogether(merchant, asked);
    expect(first).toBe("201");
    expect(answers).toEqual([...Array(9).fill("201"), ...Array(21).fill("422 insufficient_funds")]);
    expect(held.calls.filter((name) => name === CLAIM)).toHaveLength(2);
    expect(held.calls.filter((name) => name === RELEASE)).toHaveLength(1);
    expect(held.commits).toHaveLength(2);
    onSteps(null);
    expect(await keysOf(merchant)).toEqual(["first", ...asked.slice(0, 9).map(([key]) => key)]);
    expect(await claimsOf(merchant, "withdrawal_keys")).toBe(10);
    expect(await merchant.funds()).toBe("0 9.5 0");
    halted.mockRestore();
    await merchant.rest();
    await checkPayouts(merchant);
  });

  it("each is judged by what those before it left: what is too much is passed over, what fits is taken", async () => {
    const merchant = await PayingMerchant.start({ coins: 10n * ETH });
    const { answers } = await askTogether(merchant, [
      ["six", { amount: "6" }],
      ["six-more", { amount: "6" }],
      ["three", { amount: "3" }],
    ]);
    expect(answers).toEqual(["201", "422 insufficient_funds", "201"]);
    expect(await keysOf(merchant)).toEqual(["first", "six", "three"]);
    await merchant.rest();
    await checkPayouts(merchant);
  });

  it("the day's limit counts those of the same round", async () => {
    const merchant = await PayingMerchant.start({ coins: 10n * ETH });
    await merchant.call("PUT", "/v1/policies/withdrawals", {
      body: { limits: [{ network: "local", asset: "ETH", per_day: "3" }] },
    });
    const asked = Array.from({ length: 4 }, (_, i): Asked => [`k${i}`, { amount: "1" }]);
    const { answers } = await askTogether(merchant, asked);
    expect(answers).toEqual(["201", "201", "422 limit_exceeded", "422 limit_exceeded"]);
    expect(await claimsOf(merchant, "withdrawal_keys")).toBe(3);
  });

  it("is bounded, and what is above the bound goes with the next", async () => {
    const merchant = await PayingMerchant.start({ coins: 10n * ETH });
    halt();
    const held = holdClaims();
    const count = MAX_IN_ROUND + 5;
    const answers = Array.from({ length: count }, (_, i) => merchant.ask({ amount: "0.001" }, `k${i}`));
    await underWay(merchant, `k${count - 1}`);
    held.letGo();
    const codes = await Promise.all(answers.map(async (one) => (await one).status));
    expect(codes).toEqual(Array(count).fill(201));
    expect(held.calls.filter((name) => name === CLAIM)).toHaveLength(3);
    expect(await merchant.funds()).toBe("9.795 0.205 0");
  });
});

describe("equal keys while a round is under way", () => {
  it("B79 B80: the same request is a replay, another one is refused, and one withdrawal is made", async () => {
    const merchant = await PayingMerchant.start();
    const destination = newAddress();
    const { answers } = await askTogether(merchant, [
      ["k", { amount: "1", destination }],
      ["other", { amount: "1" }],
      ["k", { amount: "1.0", destination }],
      ["k", { amount: "2", destination }],
    ]);
    expect(answers).toEqual(["201", "201", "200", "422 idempotency_key_reused"]);
    expect(await keysOf(merchant)).toEqual(["first", "k", "other"]);
    await merchant.rest();
    expect(received(merchant, destination)).toEqual([ETH]);
    await checkPayouts(merchant);
  });

  it("a refusal frees the key for the one behind it, which has another meaning", async () => {
    const merchant = await PayingMerchant.start();
    const { answers } = await askTogether(merchant, [
      ["eight", { amount: "8" }],
      ["k", { amount: "9" }],
      ["k", { amount: "1" }],
    ]);
    expect(answers).toEqual(["201", "422 insufficient_funds", "201"]);
    expect(await claimsOf(merchant, "withdrawal_keys")).toBe(3);
  });
});

describe("what goes wrong in a round", () => {
  it("one that cannot be written leaves nothing of it and takes nobody with it", async () => {
    quiet("error");
    const merchant = await PayingMerchant.start();
    // The last row that is written for it is there already.
    const journal = derivedId("jrn", idOf(merchant, "k1"), "reserved", 2);
    await merchant.inside((_, sql) =>
      sql.exec(
        `INSERT INTO ledger_entries (journal_id, line, account, network, asset, from_bucket, to_bucket, amount_units,
           cause_type, cause_id, created_at) VALUES (?, 0, 'x', 'local', 'native', 'chain', 'available', '1', 'x', 'x', 0)`,
        journal,
      ),
    );
    const asked = ["k0", "k1", "k2", "k3"].map((key): Asked => [key, { amount: "1" }]);
    const { answers } = await askTogether(merchant, asked);
    expect(answers).toEqual(["201", expect.stringMatching(/^50[03] /), "201", "201"]);
    await merchant.inside((_, sql) => sql.exec("DELETE FROM ledger_entries WHERE journal_id = ?", journal));
    expect(await keysOf(merchant)).toEqual(["first", "k0", "k2", "k3"]);
    expect(await merchant.funds()).toBe("6.5 3.5 0");
    // Its key is still its own.
    expect(await statusAndCode(await merchant.ask({ amount: "2" }, "k1"))).toBe("422 idempotency_key_reused");
    await merchant.rest();
    await checkPayouts(merchant);
  });

  it("one whose balance cannot be read takes nobody with it", async () => {
    quiet("error");
    const merchant = await PayingMerchant.start();
    await merchant.inside((_, sql) =>
      sql.exec(
        "INSERT INTO balances (account, network, asset, available, reserved, settled, debt) VALUES ('ill', 'local', 'native', 'x', '0', '0', '0')",
      ),
    );
    const { answers } = await askTogether(merchant, [
      ["k0", { amount: "1" }],
      ["k1", { amount: "1", account: "ill" }],
      ["k2", { amount: "1" }],
    ]);
    expect(answers).toEqual(["201", expect.stringMatching(/^500 /), "201"]);
    expect(await claimsOf(merchant, "withdrawal_keys")).toBe(3);
  });

  it("while D1 hangs nobody waits for round after round, and what was sent away takes no key", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    halt();
    const held = holdClaims();
    const first = merchant.ask({ amount: "0.5" }, "first");
    await underWay(merchant, "first");
    const behind = ["k0", "k1"].map((key) => merchant.ask({ amount: "1" }, key));
    await underWay(merchant, "k1");
    time.now += 10_001;
    held.letGo();
    expect(await statusAndCode(await first)).toBe("201");
    for (const one of behind) expect(await statusAndCode(await one)).toBe("503 store_unavailable");
    expect(held.calls.filter((name) => name === CLAIM)).toHaveLength(1);
    expect(await claimsOf(merchant, "withdrawal_keys")).toBe(1);
    expect(await statusAndCode(await merchant.ask({ amount: "2" }, "k0"))).toBe("201");
  });

  it.each([
    ["before it applied", false],
    ["after it applied", true],
  ])("B82: D1 lost %s leaves no trace of any of them, and all may be asked again", async (_when, applies) => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const halted = halt();
    const destinations = Array.from({ length: 5 }, () => newAddress());
    const asked = destinations.map((destination, i): Asked => [`k${i}`, { amount: "1", destination }]);
    const { first, answers } = await askTogether(merchant, asked, async (call) => {
      if (applies) await call();
      throw new Error("Network connection lost.");
    });
    expect([first, ...answers]).toEqual(["201", ...Array(5).fill("503 store_unavailable")]);
    onSteps(null);
    expect(await keysOf(merchant)).toEqual(["first"]);
    expect(await merchant.funds()).toBe("9.5 0.5 0");
    expect(await claimsOf(merchant, "withdrawal_keys")).toBe(applies ? 6 : 1);
    for (const [key, wanted] of asked) expect((await merchant.ask(wanted, key)).status).toBe(201);
    halted.mockRestore();
    await merchant.rest();
    for (const destination of destinations) expect(received(merchant, destination)).toEqual([ETH]);
    await checkPayouts(merchant);
  });

  it("D1 out of reach when keys are given back answers 503, and the requests behind go on", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    halt();
    const run = DB.prepare("SELECT 1");
    const statement = Object.getPrototypeOf(run) as D1PreparedStatement;
    const honest = statement.run;
    vi.spyOn(statement, "run").mockImplementation(async function (this: D1PreparedStatement) {
      vi.mocked(statement.run).mockImplementation(honest as never);
      throw new Error("Network connection lost.");
    } as never);
    const { answers } = await askTogether(merchant, [
      ["nine", { amount: "9" }],
      ["k", { amount: "9" }],
    ]);
    expect(answers).toEqual(["201", "503 store_unavailable"]);
    expect(await statusAndCode(await merchant.ask({ amount: "9" }, "k"))).toBe("422 insufficient_funds");
    expect(await statusAndCode(await merchant.ask({ amount: "0.1" }, "after"))).toBe("201");
  });

  it("the object ends between the claim and the commit: nothing is reserved, and each is made once when asked again", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const destinations = Array.from({ length: 5 }, () => newAddress());
    const asked = destinations.map((destination, i): Asked => [`k${i}`, { amount: "1", destination }]);
    const machine = await merchant.inside((object) => (object as unknown as { ctx: DurableObjectState }).ctx);
    const { answers } = await askTogether(merchant, asked, async (call) => {
      await call();
      machine.abort("the machine went away");
      return new Promise(() => {});
    });
    expect(answers).toEqual(Array(5).fill(expect.stringMatching(/^50[03] /)));
    onSteps(null);
    await merchant.useNodes();
    await merchant.takeTime();
    expect(await claimsOf(merchant, "withdrawal_keys")).toBe(6);
    expect(await keysOf(merchant)).toEqual(["first"]);
    // Theirs they stay: another request cannot have them.
    expect(await statusAndCode(await merchant.ask({ amount: "2" }, "k0"))).toBe("422 idempotency_key_reused");
    const again = asked.flatMap(([key, wanted]) => [merchant.ask(wanted, key), merchant.ask(wanted, key)]);
    const statuses = await Promise.all(again.map(async (one) => (await one).status));
    expect(statuses.toSorted()).toEqual([...Array(5).fill(200), ...Array(5).fill(201)]);
    await merchant.rest();
    for (const destination of destinations) expect(received(merchant, destination)).toEqual([ETH]);
    await checkPayouts(merchant);
  });

  it("an older copy of the object pays nothing again that D1 knows a payment of, and what is new goes on", async () => {
    const merchant = await PayingMerchant.start();
    halt();
    const insert = "INSERT INTO wallet_nonces VALUES ('local', ?1, 7, ?2, ?3, 0)";
    await DB.prepare(insert).bind(merchant.wallet, merchant.id, idOf(merchant, "k1")).run();
    const asked = ["k0", "k1", "k2"].map((key): Asked => [key, { amount: "1" }]);
    const { answers } = await askTogether(merchant, asked);
    expect(answers).toEqual(["201", "409 state_conflict", "201"]);
    expect(await keysOf(merchant)).toEqual(["first", "k0", "k2"]);
    expect(await merchant.funds()).toBe("7.5 2.5 0");
  });
});
