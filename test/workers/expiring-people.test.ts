/** Deadlines, and what people decide about withdrawals whose transactions expire. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LIFE, newTronAddress, txIdOf } from "../support/expiring-chain.ts";
import { chain, checkExpiring, ExpiringMerchant, firstNode, NETWORK, startExpiring, TRX } from "./expiring-line.ts";
import { DB, quiet, time } from "./line.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => startExpiring());
afterEach(() => {
  vi.restoreAllMocks();
});

/** One that nodes say they took, and did not, and whose deadline is over. */
async function late() {
  const merchant = await ExpiringMerchant.start();
  firstNode().sending = "drops";
  const { id, destination } = await merchant.withdraw();
  time.now += HOUR_MS;
  await merchant.drive();
  expect(await merchant.state(id)).toBe("manual_review");
  return { merchant, id, destination };
}

const expire = (merchant: ExpiringMerchant) => merchant.mineAndDrive(LIFE + 5);

describe("at the deadline", () => {
  it("a person is asked, nothing is released, what is signed is still sent, and nothing is signed anew", async () => {
    const { merchant, id } = await late();
    expect(await merchant.funds()).toBe("99 1 0");
    const sends = chain.sent.length;
    await merchant.drive();
    expect(chain.sent.length).toBe(sends + 1);
    await expire(merchant);
    expect([await merchant.attempts(id), await merchant.steps(id)]).toEqual([
      "void",
      "transaction_signed accepted deadline",
    ]);
    await checkExpiring(merchant);
  });

  it("what lands after all is paid, and leaves the person's hands", async () => {
    const { merchant, id } = await late();
    chain.land(await merchant.lastSigned());
    await merchant.rest();
    expect(await merchant.steps(id)).toBe("transaction_signed accepted deadline seen_in_block confirmed_on_chain");
    await checkExpiring(merchant);
  });

  it("what expires again and again asks for a person in time", async () => {
    const merchant = await ExpiringMerchant.start();
    firstNode().sending = "drops";
    const { id } = await merchant.withdraw();
    for (let i = 0; i < 4; i++) await expire(merchant);
    expect((await merchant.attempts(id)).split(" ").length).toBeGreaterThan(2);
    time.now += HOUR_MS;
    await expire(merchant);
    const before = (await merchant.signed()).length;
    await expire(merchant);
    expect([await merchant.state(id), (await merchant.signed()).length]).toEqual(["manual_review", before]);
    await checkExpiring(merchant);
  });
});

describe("speed-up", () => {
  it("is refused while one is live: nothing can replace it", async () => {
    const merchant = await ExpiringMerchant.start();
    const { id } = await merchant.withdraw();
    const response = await merchant.call("POST", `/v1/withdrawals/${id}/speed-up`);
    const { detail } = (await response.json()) as { detail: string };
    expect([response.status, detail]).toEqual([409, expect.stringContaining("nothing can replace it")]);
    expect(await merchant.signed()).toHaveLength(1);
  });

  it("makes another one when all are dead and a person had been asked", async () => {
    const { merchant, id, destination } = await late();
    await expire(merchant);
    firstNode().sending = "takes";
    expect(await merchant.act(id, "speed-up")).toBe("200");
    expect(await merchant.attempts(id)).toBe("void sent");
    expect(await merchant.act(id, "speed-up")).toBe("409 illegal_transition");
    await merchant.rest();
    expect([await merchant.state(id), chain.paidTo(destination)]).toEqual(["confirmed", [TRX]]);
    await checkExpiring(merchant);
  });
});

describe("resolve", () => {
  const failed = { outcome: "failed", evidence: "called off by phone" };

  it("I9: failed releases nothing while a transaction may land, and signs nothing more", async () => {
    const { merchant, id } = await late();
    expect(await merchant.act(id, "resolve", failed)).toBe("200");
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmation_tracking", "99 1 0"]);
    for (let i = 0; i < LIFE + 3; i++) {
      await merchant.mineAndDrive();
      if (chain.finalHeight <= 110) expect(await merchant.funds()).toBe("99 1 0");
    }
    await merchant.rest();
    expect(await merchant.steps(id)).toBe("transaction_signed accepted deadline awaiting_expiry expired");
    expect([await merchant.funds(), (await merchant.signed()).length]).toEqual(["100 0 0", 1]);
    await checkExpiring(merchant);
  });

  it("failed, and landed meanwhile, was paid", async () => {
    const { merchant, id, destination } = await late();
    await merchant.act(id, "resolve", failed);
    chain.land(await merchant.lastSigned());
    await merchant.rest();
    expect([await merchant.state(id), chain.paidTo(destination)]).toEqual(["confirmed", [TRX]]);
    await checkExpiring(merchant);
  });

  it("failed with everything dead is released in the same round", async () => {
    const { merchant, id } = await late();
    await expire(merchant);
    await merchant.act(id, "resolve", failed);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["failed", "100 0 0"]);
    await checkExpiring(merchant);
  });

  it("failed is not released while D1 is out of reach", async () => {
    quiet("warn");
    const { merchant, id } = await late();
    await expire(merchant);
    const broken = vi.spyOn(Object.getPrototypeOf(DB), "batch").mockRejectedValue(new Error("gone"));
    await merchant.act(id, "resolve", failed);
    await merchant.drive(2);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmation_tracking", "99 1 0"]);
    broken.mockRestore();
    await merchant.drive();
    expect(await merchant.funds()).toBe("100 0 0");
    await checkExpiring(merchant);
  });

  it("confirmed must name what may have paid it, in its own case, and ends when nothing is live", async () => {
    const { merchant, id } = await late();
    const txId = txIdOf(await merchant.lastSigned());
    const paid = (evidence: string) => merchant.act(id, "resolve", { outcome: "confirmed", evidence });
    expect(await paid("paid by hand")).toBe("409 illegal_transition");
    expect(await paid(txId.toLowerCase())).toBe("409 illegal_transition");
    expect(await paid(`the explorer shows ${txId}`)).toBe("200");
    await expire(merchant);
    expect([await merchant.state(id), await merchant.attempts(id), await merchant.funds()]).toEqual([
      "confirmed",
      "void",
      "99 0 1",
    ]);
    expect(await merchant.rows("SELECT status FROM expiring_payments")).toEqual([{ status: "final" }]);
    await checkExpiring(merchant);
  });
});

describe("a wallet", () => {
  it("that every provider refuses as wrongly set up stops, follows what is out, and goes on when resumed", async () => {
    quiet("warn", "error");
    const merchant = await ExpiringMerchant.start();
    Object.assign(firstNode(), { sending: "refuses", meaning: "setup_fault" });
    const { id } = await merchant.withdraw();
    expect((await merchant.hotWallet()).status).toBe("stopped");
    await expire(merchant);
    expect([await merchant.attempts(id), chain.sent.length]).toEqual(["void", 1]);
    firstNode().sending = "takes";
    await merchant.call("POST", `/v1/wallets/${NETWORK}/resume`);
    await merchant.settle();
    await merchant.rest();
    expect([await merchant.state(id), await merchant.attempts(id)]).toEqual(["confirmed", "void mined"]);
    await checkExpiring(merchant);
  });

  it("holds back what a stricter rule would refuse, also between two transactions of one withdrawal", async () => {
    const merchant = await ExpiringMerchant.start();
    firstNode().sending = "drops";
    const { id } = await merchant.withdraw();
    const rules = { allow_list: [{ network: NETWORK, address: newTronAddress() }], limits: [], approvals: [] };
    const put = await merchant.call("PUT", "/v1/policies/withdrawals", { body: { ...rules, cool_down_seconds: 60 } });
    expect(put.status).toBe(200);
    await expire(merchant);
    expect(await merchant.signed()).toHaveLength(1);
    expect((await merchant.withdrawal(id)).waiting_for).toBe("policy");
  });
});

describe("reconciliation", () => {
  const reconcile = async (merchant: ExpiringMerchant) => {
    const response = await merchant.call("POST", "/v1/reconciliation");
    return (await response.json()) as {
      status: string;
      differences: { kind: string }[];
      compared: Record<string, number>;
    };
  };

  it("matches what was paid, what is under way, and what was given up", async () => {
    const { merchant, id } = await late();
    await merchant.act(id, "resolve", { outcome: "failed", evidence: "no" });
    await expire(merchant);
    firstNode().sending = "takes";
    const paid = await merchant.withdraw();
    await merchant.rest();
    await merchant.withdraw();
    expect(await merchant.state(paid.id)).toBe("confirmed");
    const report = await reconcile(merchant);
    expect(report.differences).toEqual([]);
    expect(report).toMatchObject({ status: "matched", compared: { open_transactions: 1, attempts: 3, receipts: 2 } });
  });

  it("names what the chain, D1 and the rows do not agree on", async () => {
    const { merchant } = await late();
    const dead = await merchant.lastSigned();
    await expire(merchant);
    firstNode().sending = "takes";
    const { id } = await merchant.withdraw();
    await merchant.mineAndDrive(6);
    expect(await merchant.state(id)).toBe("confirmed");
    // The chain changed its mind about both.
    chain.landed.clear();
    chain.head = 105;
    chain.land(dead);
    chain.head = 400;
    await merchant.inside((_, sql) =>
      sql.exec(
        "UPDATE expiring_attempts SET raw = (SELECT raw FROM expiring_attempts WHERE withdrawal_id <> ?1) WHERE withdrawal_id = ?1",
        id,
      ),
    );
    await DB.prepare("DELETE FROM live_attempts WHERE withdrawal_id = ?1").bind(id).run();
    await DB.prepare("INSERT INTO live_attempts VALUES (?1, 7, ?2, 'tron', 'T', 'SomebodyElses', 500, 100, 1)")
      .bind(id, merchant.id)
      .run();
    const kinds = (await reconcile(merchant)).differences.map(({ kind }) => kind);
    expect(kinds.sort()).toEqual([
      "attempt_claim_missing",
      "attempt_differs",
      "attempt_unknown",
      "receipt_differs",
      "receipt_missing",
    ]);
  });
});
