/** An object that came back from an older copy: what it does not remember is waited for, and followed when it landed. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type AttemptClaim, claimAttempt } from "../../src/store/d1/live-attempts.ts";
import { LIFE, newTronAddress, txIdOf } from "../support/expiring-chain.ts";
import { chain, checkExpiring, ExpiringMerchant, firstNode, startExpiring, TRX, watched } from "./expiring-line.ts";
import { DB, quiet, time } from "./line.ts";
import { copyOf } from "./older-copy.ts";
import { statusAndCode } from "./payout-line.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => {
  startExpiring();
  quiet("warn", "error");
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** One whose funds are reserved in the copy, and which the copy's successor has signed and sent. */
async function forgotten(sending: "takes" | "drops" = "drops") {
  const merchant = await ExpiringMerchant.start();
  watched("halted");
  const { id, destination } = await merchant.withdraw();
  const restore = await copyOf(merchant);
  watched();
  firstNode().sending = sending;
  await merchant.drive();
  const lost = await merchant.lastSigned();
  await restore();
  expect(await merchant.state(id)).toBe("funds_reserved");
  // What is signed now has other bytes.
  chain.head++;
  return { merchant, id, destination, lost };
}

describe("an object that was restored from an older copy", () => {
  it("does not pay again what D1 knows a transaction of: 409, and nothing is reserved", async () => {
    const merchant = await ExpiringMerchant.start();
    const restore = await copyOf(merchant);
    const destination = newTronAddress();
    await merchant.withdraw({ destination }, "restored");
    await restore();
    expect(await statusAndCode(await merchant.ask({ destination }, "restored"))).toBe("409 state_conflict");
    expect(await merchant.withdrawals()).toEqual([]);
    chain.mine(4);
    expect(chain.paidTo(destination)).toEqual([TRX]);
  });

  it("I6: waits for the transaction of the lost copy, and makes another one when that is dead", async () => {
    const { merchant, id, destination, lost } = await forgotten();
    const before = chain.sent.length;
    await merchant.drive();
    const { attempts, state } = await merchant.withdrawal(id);
    expect(attempts.map(({ tx_id, status }) => [tx_id === txIdOf(lost), status])).toEqual(
      expect.arrayContaining([
        [true, "sent"],
        [false, "void"],
      ]),
    );
    expect([state, chain.sent.length]).toEqual(["broadcast_pending", before]);
    firstNode().sending = "takes";
    await merchant.mineAndDrive(LIFE);
    expect(chain.sent.length).toBe(before);
    await merchant.rest();
    expect([await merchant.state(id), chain.paidTo(destination)]).toEqual(["confirmed", [TRX]]);
    expect(chain.landed.has(txIdOf(lost))).toBe(false);
    await checkExpiring(merchant);
  });

  it("I6: follows the transaction of the lost copy that has landed", async () => {
    const { merchant, id, destination, lost } = await forgotten("takes");
    await merchant.rest();
    expect([await merchant.state(id), (await merchant.withdrawal(id)).tx_id]).toEqual(["confirmed", txIdOf(lost)]);
    expect(chain.paidTo(destination)).toEqual([TRX]);
    expect(await merchant.funds()).toBe("99 0 1");
  });

  it("I6: follows one of the lost copy that lands at the last moment", async () => {
    const { merchant, destination, lost } = await forgotten();
    await merchant.drive();
    while (chain.head < 109) await merchant.mineAndDrive();
    chain.land(lost);
    await merchant.rest();
    expect(chain.paidTo(destination)).toEqual([TRX]);
  });

  it("knows an earlier attempt and not the one after it: that one is waited for", async () => {
    const merchant = await ExpiringMerchant.start();
    firstNode().sending = "drops";
    const { id, destination } = await merchant.withdraw();
    const restore = await copyOf(merchant);
    await merchant.mineAndDrive(LIFE + 4);
    const second = await merchant.lastSigned();
    expect(await merchant.signed()).toHaveLength(2);
    await restore();
    chain.head++;
    await merchant.drive(2);
    expect(await merchant.attempts(id)).toMatch(/^void (sent void|void sent)$/);
    chain.land(second);
    firstNode().sending = "takes";
    await merchant.rest();
    expect([await merchant.state(id), chain.paidTo(destination)]).toEqual(["confirmed", [TRX]]);
  });

  it("I9: gives nothing up while a transaction of the lost copy may land", async () => {
    const merchant = await ExpiringMerchant.start();
    firstNode().sending = "drops";
    const { id, destination } = await merchant.withdraw();
    const restore = await copyOf(merchant);
    await merchant.mineAndDrive(LIFE + 4);
    const second = await merchant.lastSigned();
    await restore();
    time.now += HOUR_MS;
    await merchant.drive();
    expect(await merchant.state(id)).toBe("manual_review");
    await merchant.act(id, "resolve", { outcome: "failed", evidence: "no" });
    await merchant.drive(2);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmation_tracking", "99 1 0"]);
    chain.land(second);
    await merchant.rest();
    expect([await merchant.state(id), chain.paidTo(destination)]).toEqual(["confirmed", [TRX]]);
  });

  it("signs nothing for what the lost copy had given up and released", async () => {
    const merchant = await ExpiringMerchant.start();
    firstNode().sending = "drops";
    const { id, destination } = await merchant.withdraw();
    const restore = await copyOf(merchant);
    time.now += HOUR_MS;
    await merchant.drive();
    await merchant.act(id, "resolve", { outcome: "failed", evidence: "no" });
    await merchant.rest();
    expect(await merchant.state(id)).toBe("failed");
    await restore();
    firstNode().sending = "takes";
    // Its deadline is over in the copy as well; somebody wants it paid there.
    await merchant.drive(2);
    await merchant.act(id, "speed-up");
    await merchant.drive(2);
    await merchant.rest();
    expect([await merchant.state(id), chain.paidTo(destination)]).toEqual(["failed", []]);
    expect(await merchant.funds()).toBe("100 0 0");
  });

  it("does not release as refused what the lost copy has paid", async () => {
    const { merchant, id, destination } = await forgotten("takes");
    firstNode().preparing = { ok: false, reason: "refused", detail: "it has everything" };
    await merchant.drive();
    expect(await merchant.funds()).toBe("99 1 0");
    await merchant.rest();
    expect([await merchant.state(id), chain.paidTo(destination)]).toEqual(["confirmed", [TRX]]);
  });

  it("goes on with what the copy had signed and not yet claimed", async () => {
    const merchant = await ExpiringMerchant.start();
    const broken = vi.spyOn(Object.getPrototypeOf(DB), "batch");
    const { id, destination } = await merchant.withdraw();
    await merchant.inside((_, sql) => sql.exec("UPDATE expiring_attempts SET claimed = 0"));
    await merchant.rest();
    expect(broken).toHaveBeenCalled();
    expect([await merchant.attempts(id), chain.paidTo(destination)]).toEqual(["mined", [TRX]]);
    await checkExpiring(merchant);
  });
});

describe("claims of transactions", () => {
  let place = 0;
  beforeEach(() => {
    place++;
  });
  const claim = (number: number, txId: string | null, known: readonly string[] = []): AttemptClaim => ({
    withdrawalId: `wd_claims_${place}`,
    number,
    tenantId: "ten_a",
    network: "tron",
    sender: "T",
    attempt: txId === null ? null : { txId, expiresAt: 110, signedAbove: 97 },
    known,
    now: 1,
  });
  const ids = async (one: AttemptClaim) => (await claimAttempt(DB, one)).map(({ number, txId }) => `${number} ${txId}`);

  it("may be repeated, and give what was claimed", async () => {
    for (let i = 0; i < 2; i++) expect(await ids(claim(1, "A"))).toEqual(["1 A"]);
  });

  it("are made only by who knows all that was claimed before", async () => {
    await ids(claim(1, "A"));
    expect(await ids(claim(1, "B"))).toEqual(["1 A"]);
    expect(await ids(claim(2, "B"))).toEqual(["1 A"]);
    expect(await ids(claim(2, "B", ["A"]))).toEqual(["1 A", "2 B"]);
    expect(await ids(claim(2, "C", ["A", "B"]))).toEqual(["1 A", "2 B"]);
  });

  it("end for ever", async () => {
    await ids(claim(1, "A"));
    expect(await ids(claim(2, null))).toEqual(["1 A"]);
    expect(await ids(claim(2, null, ["A"]))).toEqual(["1 A", "2 null"]);
    expect(await ids(claim(3, "B", ["A"]))).toEqual(["1 A", "2 null"]);
  });

  it("of equal claims at once one gets the number", async () => {
    await Promise.all(["A", "B", "C", "D"].map((txId) => claimAttempt(DB, claim(1, txId))));
    expect(await claimAttempt(DB, claim(1, "E"))).toHaveLength(1);
  });
});
