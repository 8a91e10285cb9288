/**
 * What every withdrawal keeps, however its wallet pays: it is paid once or released, never both, and nothing is
 * released but on what the chain shows for good.
 */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { quiet, time } from "./line.ts";
import { statusAndCode } from "./payout-line.ts";
import { copyOf, fundsOf, PAYOUT_WORLDS, type PayoutMerchant } from "./payout-worlds.ts";

/** Longer than any network waits for a payment. */
const LATE_MS = 7 * 3_600_000;

afterEach(() => {
  vi.restoreAllMocks();
});

/** A point of the contract that has a meaning in some worlds alone: in the others it is no test. */
function whereIt(applies: boolean): (name: string, test: () => Promise<void>) => void {
  return applies ? it : () => {};
}

describe.each(PAYOUT_WORLDS)("a wallet %s", (_wallet, world) => {
  const { oneCoin } = world;
  let merchant: PayoutMerchant;

  beforeEach(async () => {
    quiet("warn", "error");
    await world.start();
    merchant = await world.merchant();
  });

  /** What the receiver has of it, and where its money is, once everything has come to rest. */
  async function outcome(id: string) {
    await merchant.rest();
    await world.check(merchant);
    const { state, destination } = await merchant.withdrawal(id);
    return [state, await world.received(merchant, destination), await fundsOf(merchant)];
  }
  const paidOnce = ["confirmed", [oneCoin], "9 0 1"];

  /** One that is not mined until a person is asked. */
  async function late() {
    const asked = await merchant.withdraw();
    time.now += LATE_MS;
    await merchant.drive(1, 16_000);
    expect(await merchant.steps(asked.id)).toMatch(/ deadline$/);
    return asked;
  }
  const callOff = (id: string) => merchant.act(id, "resolve", { outcome: "failed", evidence: "called off" });

  it("B78 B79 B80: pays once what is asked for several times at once", async () => {
    const destination = world.address();
    const answers = await Promise.all(Array.from({ length: 5 }, () => merchant.ask({ destination }, "at-once")));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 201]);
    const [only, ...others] = await merchant.withdrawals();
    expect(others).toEqual([]);
    expect(await outcome(only?.id ?? "")).toEqual(paidOnce);
    expect(await statusAndCode(await merchant.ask({ destination }, "at-once"))).toBe("200");
    expect(await statusAndCode(await merchant.ask({ destination, amount: "2" }, "at-once"))).toBe(
      "422 idempotency_key_reused",
    );
  });

  it("pays two withdrawals once each", async () => {
    const ids = [await merchant.withdraw(), await merchant.withdraw()].map(({ id }) => id);
    await merchant.rest();
    await world.check(merchant);
    for (const { id, state, destination } of await merchant.withdrawals())
      expect([ids.includes(id), state, await world.received(merchant, destination)]).toEqual([
        true,
        "confirmed",
        [oneCoin],
      ]);
    expect(await fundsOf(merchant)).toBe("8 0 2");
  });

  it("B83: sends the same bytes again when the answer to a send is lost", async () => {
    await world.loseAnswer();
    const { id } = await merchant.withdraw();
    expect([await merchant.state(id), await fundsOf(merchant)]).toEqual(["broadcast_pending", "9 1 0"]);
    await merchant.drive(1, 31_000);
    // What is said of bytes that a pool has is the node's own way.
    expect((await merchant.steps(id)).split(" ")).toEqual([
      world.assigned,
      expect.stringMatching(/^(already_known|accepted|seen_in_block)$/),
    ]);
    expect(await outcome(id)).toEqual(paidOnce);
    expect((await merchant.withdrawal(id)).attempts).toHaveLength(1);
  });

  it(`releases nothing for an answer that says little: ${Object.keys(world.answers).join(" · ")}`, async () => {
    const answers = Object.values(world.answers);
    for (const [i, answer] of answers.entries()) {
      await answer();
      const { id } = await merchant.withdraw();
      expect([await merchant.steps(id), await fundsOf(merchant)]).toEqual([world.assigned, `${9 - i} ${i + 1} 0`]);
    }
    await world.honestAgain();
    await merchant.rest();
    await world.check(merchant);
    for (const { destination } of await merchant.withdrawals())
      expect(await world.received(merchant, destination)).toEqual([oneCoin]);
    expect(await fundsOf(merchant)).toBe(`${10 - answers.length} 0 ${answers.length}`);
  });

  whereIt(world.replaces)("B90: is paid by whichever attempt is mined, the oldest too", async () => {
    const { id } = await merchant.withdraw();
    expect(await merchant.act(id, "speed-up")).toBe("200");
    await merchant.drive();
    const [first, second] = (await merchant.withdrawal(id)).attempts;
    expect(second).toBeDefined();
    await world.mineOnly(merchant, first?.tx_id ?? "");
    expect(await outcome(id)).toEqual(paidOnce);
    const { tx_id, attempts } = await merchant.withdrawal(id);
    expect([tx_id, ...attempts.map(({ status }) => status)]).toEqual([first?.tx_id, "mined", "void"]);
  });

  whereIt(!world.replaces)("is not replaced while its payment may land, and is paid by it", async () => {
    const { id } = await merchant.withdraw();
    expect(await merchant.act(id, "speed-up")).toBe("409 illegal_transition");
    await merchant.drive();
    expect(await outcome(id)).toEqual(paidOnce);
    expect((await merchant.withdrawal(id)).attempts.map(({ status }) => status)).toEqual(["mined"]);
  });

  whereIt(!world.replaces)(
    "B98 B99: is signed anew when its payment has expired in final blocks, and not before",
    async () => {
      const { id } = await merchant.withdraw();
      await world.strand();
      await merchant.mineAndDrive(world.final - 1);
      expect([(await merchant.withdrawal(id)).attempts.length, await fundsOf(merchant)]).toEqual([1, "9 1 0"]);
      await world.honestAgain();
      expect(await outcome(id)).toEqual(paidOnce);
      expect((await merchant.withdrawal(id)).attempts.map(({ status }) => status)).toEqual(["void", "mined"]);
    },
  );

  whereIt(world.confirmsFinal)(
    "B104: believes no block that is not final, and is mined again with the same bytes",
    async () => {
      const { id, destination } = await merchant.withdraw();
      await merchant.mineAndDrive(world.deep - 1);
      expect([await merchant.state(id), await fundsOf(merchant)]).toEqual(["confirmation_tracking", "9 1 0"]);
      await world.reorg(world.deep - 1);
      await merchant.drive(2, 16_000);
      expect([await world.received(merchant, destination), await fundsOf(merchant)]).toEqual([[], "9 1 0"]);
      expect(await outcome(id)).toEqual(paidOnce);
      expect((await merchant.withdrawal(id)).attempts).toHaveLength(1);
    },
  );

  whereIt(!world.confirmsFinal)(
    "B104: takes a confirmation back with its block, and is mined again with the same bytes",
    async () => {
      const { id, destination } = await merchant.withdraw();
      await merchant.mineAndDrive(world.deep);
      expect([await merchant.state(id), await fundsOf(merchant)]).toEqual(["confirmed", "9 0 1"]);
      await world.reorg(world.deep);
      await merchant.drive(2, 16_000);
      expect(await merchant.steps(id)).toMatch(/ reorganised$/);
      expect([await world.received(merchant, destination), await fundsOf(merchant)]).toEqual([[], "9 1 0"]);
      expect(await outcome(id)).toEqual(paidOnce);
      expect((await merchant.withdrawal(id)).attempts).toHaveLength(1);
    },
  );

  it("is called off before it has what its payment needs, and not after", async () => {
    const goOn = world.halt();
    const [gone, kept] = [await merchant.withdraw(), await merchant.withdraw()];
    expect(await merchant.state(gone.id)).toBe("funds_reserved");
    expect(await merchant.act(gone.id, "cancel")).toBe("200");
    goOn();
    await merchant.drive(1, 16_000);
    expect(await merchant.steps(kept.id)).toBe(`${world.assigned} accepted`);
    expect(await merchant.act(kept.id, "cancel")).toBe("409 illegal_transition");
    expect(await outcome(kept.id)).toEqual(paidOnce);
    expect(await outcome(gone.id)).toEqual(["cancelled", [], "9 0 1"]);
  });

  it("asks a person at the deadline, releases nothing, and is paid all the same when it is mined", async () => {
    const { id } = await late();
    expect([await merchant.state(id), await fundsOf(merchant)]).toEqual(["manual_review", "9 1 0"]);
    expect((await merchant.withdrawal(id)).waiting_for).toBe("person");
    await merchant.mineAndDrive(world.deep);
    expect(await outcome(id)).toEqual(paidOnce);
  });

  it("resolved as failed, gives nothing back before what excludes its payment is final", async () => {
    const { id } = await late();
    await world.strand();
    expect(await callOff(id)).toBe("200");
    for (let depth = 0; depth < world.final; depth++) {
      expect([depth, await merchant.state(id), await fundsOf(merchant)]).toEqual([
        depth,
        "confirmation_tracking",
        "9 1 0",
      ]);
      await merchant.mineAndDrive();
    }
    expect(await outcome(id)).toEqual(["failed", [], "10 0 0"]);
  });

  it("resolved as failed, was paid when its payment is mined instead", async () => {
    const { id } = await late();
    const [payment] = (await merchant.withdrawal(id)).attempts;
    expect(await callOff(id)).toBe("200");
    await merchant.drive(1, 16_000);
    await world.mineOnly(merchant, payment?.tx_id ?? "");
    expect(await outcome(id)).toEqual(paidOnce);
  });

  whereIt(world.takeAway !== null)(
    "stops for a stranger, and gives back when that is final and a person says so",
    async () => {
      const { id } = await merchant.withdraw();
      await world.takeAway?.(merchant);
      await merchant.drive(2, 16_000);
      await merchant.mineAndDrive(world.final);
      expect((await merchant.hotWallet()).status).toBe("stopped");
      expect([await merchant.state(id), await fundsOf(merchant)]).toEqual(["manual_review", "9 1 0"]);
      expect(await callOff(id)).toBe("200");
      expect(await outcome(id)).toEqual(["failed", [], "10 0 0"]);
    },
  );

  it.each([
    ["is mined", true],
    ["is forgotten by the pools", false],
  ])("restored from an older copy, pays no second time: the lost copy's payment %s", async (_where, isMined) => {
    const goOn = world.halt();
    const { id, destination } = await merchant.withdraw();
    const restore = await copyOf(merchant);
    goOn();
    await merchant.drive(1, 16_000);
    const [lost] = (await merchant.withdrawal(id)).attempts;
    if (isMined) await world.mineOnly(merchant, lost?.tx_id ?? "");
    await world.forget();
    await restore();
    expect([await merchant.state(id), await fundsOf(merchant)]).toEqual(["funds_reserved", "9 1 0"]);
    // It looks untouched, and may have been paid: nothing is given back for the asking.
    expect(await merchant.act(id, "cancel")).toBe("409 illegal_transition");
    // So that other bytes are signed than the lost copy's.
    await world.raiseFees();
    await merchant.mineAndDrive(world.final + 4);
    expect(await world.received(merchant, destination)).toEqual([oneCoin]);
    const [state, funds] = isMined && !world.recovers ? ["manual_review", "9 1 0"] : ["confirmed", "9 0 1"];
    expect([await merchant.state(id), await fundsOf(merchant)]).toEqual([state, funds]);
  });

  it("restored from a copy without it, refuses it under the same key", async () => {
    const restore = await copyOf(merchant);
    const destination = world.address();
    await merchant.withdraw({ destination }, "lost");
    await restore();
    expect(await statusAndCode(await merchant.ask({ destination }, "lost"))).toBe("409 state_conflict");
    await merchant.mineAndDrive(2);
    expect([await world.received(merchant, destination), await merchant.withdrawals()]).toEqual([[oneCoin], []]);
  });

  it("B130: is nobody's but its tenant's", async () => {
    const other = await world.merchant();
    const { id } = await merchant.withdraw({}, "shared");
    const theirs = await other.withdraw({}, "shared");
    expect((await other.hotWallet()).address).not.toBe((await merchant.hotWallet()).address);
    expect((await other.withdrawals()).map((one) => one.id)).toEqual([theirs.id]);
    expect((await other.call("GET", `/v1/withdrawals/${id}`)).status).toBe(404);
    for (const action of ["cancel", "speed-up"]) expect(await other.act(id, action)).toBe("404 not_found");
    const { tx_id } = await merchant.withdrawal(id);
    const found = await other.call("GET", `/v1/withdrawals?tx_id=${tx_id}`);
    expect(((await found.json()) as { data: unknown[] }).data).toEqual([]);
    await other.rest();
    expect(await outcome(id)).toEqual(paidOnce);
    expect(await fundsOf(other)).toBe("9 0 1");
    expect(await world.received(other, theirs.destination)).toEqual([oneCoin]);
  });
});
