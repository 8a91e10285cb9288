/**
 * The reconciliation of one tenant, whose rows and claims are written as the line writes them. Then one thing after
 * the other is broken, and the report names it.
 */

import { env as bindings } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { transferCall } from "../../src/chains/evm/intent.ts";
import { readSigned } from "../../src/chains/evm/signed-transaction.ts";
import type { Intent, PayoutNode } from "../../src/chains/payout.ts";
import { derivedId } from "../../src/core/ids.ts";
import { depositConfirmed, post } from "../../src/core/ledger.ts";
import type { ReconciliationView } from "../../src/core/views.ts";
import type { MinedReceipt, WalletLook, WalletQuestion } from "../../src/core/wallet-look.ts";
import type { Env } from "../../src/env.ts";
import type { Tenant } from "../../src/index.ts";
import { MONITOR_NAME, type MonitorApi } from "../../src/objects/monitor-api.ts";
import type { TenantContext } from "../../src/objects/tenant/context.ts";
import { WithdrawalCommit } from "../../src/objects/tenant/withdrawals/commit.ts";
import { signerOf } from "../../src/objects/tenant/withdrawals/nonces/signing.ts";
import { Reservations } from "../../src/objects/tenant/withdrawals/reservations.ts";
import { Standing } from "../../src/objects/tenant/withdrawals/standing.ts";
import { patrol } from "../../src/patrol.ts";
import { claimNonce, claimWithdrawalKeys, type KeyClaim } from "../../src/store/d1/withdrawals.ts";
import { insertDeposits } from "../../src/store/tenant/deposit-write.ts";
import { appendEntries, movementsOf, readBalance, writeBalances } from "../../src/store/tenant/ledger-store.ts";
import { insertReport, REPORTS_KEPT, storedReports } from "../../src/store/tenant/report-store.ts";
import { insertAttempt, insertSlot } from "../../src/store/tenant/slot-store.ts";
import { insertWallet, raiseWallet } from "../../src/store/tenant/wallet-store.ts";
import { withdrawalById } from "../../src/store/tenant/withdrawal-store.ts";
import { DAY_MS, DB, Merchant, quiet, TENANT, time } from "./line.ts";

/** More than a number holds. */
const ETH = 10n ** 18n;
const HOUR_MS = 3_600_000;
const PAYEE = `0x${"9a".repeat(20)}`;
const FIRST_NONCE = 5;

const contextOf = (object: Tenant) => (object as unknown as { c: TenantContext }).c;

/** What the one provider says. */
class FakeChain {
  head = 100;
  finalHeight = 80;
  nonceLatest = FIRST_NONCE + 2;
  isAway = false;
  /** Runs while a look is under way. */
  meanwhile: () => void = () => {};
  readonly receipts = new Map<string, MinedReceipt>();

  look = async ({ hashes }: WalletQuestion): Promise<WalletLook> => {
    this.meanwhile();
    if (this.isAway) throw new Error("away");
    const { head, finalHeight, nonceLatest } = this;
    const found = hashes.flatMap((hash) => this.receipts.get(hash) ?? []);
    return {
      head,
      finalHeight,
      nonceLatest,
      noncePending: nonceLatest,
      nonceFinal: nonceLatest,
      receipts: new Map(found.map((receipt) => [receipt.txId, receipt])),
      blocks: new Map(),
    };
  };
}

interface Line {
  readonly merchant: Merchant;
  readonly chain: FakeChain;
  readonly sender: string;
  /** Confirmed, reverted, in flight, and not begun. */
  readonly ids: { readonly paid: string; readonly reverted: string; readonly sent: string; readonly waiting: string };
}
let line: Line;

beforeEach(async () => {
  time.now = Date.now() + 365 * DAY_MS;
  // Only this test's tenant is on cron's list.
  await DB.prepare("DELETE FROM tenant_work").run();
  const merchant = await Merchant.signUp();
  const chain = new FakeChain();
  const sender = await merchant.inside((object) => {
    const c = contextOf(object);
    c.payers.nodes.set("local", [{ name: "fake", look: chain.look } as unknown as PayoutNode]);
    return signerOf(c, merchant.id, "local").address;
  });
  await deposit(merchant, 100n * ETH + 1n);
  line = {
    merchant,
    chain,
    sender,
    ids: {
      paid: await withdraw(merchant, "paid"),
      reverted: await withdraw(merchant, "reverted"),
      sent: await withdraw(merchant, "sent"),
      waiting: await withdraw(merchant, "waiting"),
    },
  };
  await settle(0, line.ids.paid, "confirmed", 70);
  await settle(1, line.ids.reverted, "failed", 75);
  await settle(2, line.ids.sent, "confirmation_tracking", null);
  await merchant.inside((object) => {
    const { db } = contextOf(object);
    insertWallet(db, "local", sender);
    raiseWallet(db, { network: "local", sender }, { nextNonce: FIRST_NONCE + 3, usedBelow: FIRST_NONCE });
  });
  time.now += 1_000;
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function deposit(merchant: Merchant, units: bigint): Promise<void> {
  const txId = `0x${"d0".repeat(32)}${merchant.id}`;
  await DB.prepare("INSERT INTO deposit_keys (network, tx_id, transfer_index, tenant_id) VALUES (?1, ?2, ?3, ?4)")
    .bind("local", txId, "value", merchant.id)
    .run();
  await merchant.inside((object) => {
    const { db } = contextOf(object);
    const row = { id: derivedId("dep", txId), network: "local", txId, transferIndex: "value", account: "a" } as const;
    const key = { account: "a", network: "local", asset: "native" };
    const standing = {
      status: "confirmed",
      epoch: 1,
      rule: "3",
      leastDepth: 1,
      height: 50,
      blockHash: "0x50",
      timestampS: 1,
      memo: null,
    } as const;
    const times = { createdAt: time.now, confirmedAt: time.now, revertedAt: null, settledAt: null, backfillId: null };
    const rest = { address: PAYEE, asset: "native", amountUnits: String(units), dueHeight: null, dueFinalized: null };
    insertDeposits(db, [{ ...row, ...standing, ...times, ...rest, events: [] }]);
    const journal = { id: `jrn_${txId}`, causeType: "deposit.confirmed", causeId: row.id, eventId: null, at: time.now };
    const before = readBalance(db, key);
    const lines = depositConfirmed(before, units);
    appendEntries(db, [{ journal: { ...key, ...journal }, postings: lines }]);
    writeBalances(db, [{ key: key, balance: post(before, lines) }]);
  });
}

async function claimKey(tenantId: string, claim: KeyClaim): Promise<void> {
  await claimWithdrawalKeys(DB, tenantId, [claim], { now: time.now, workDueAt: time.now });
}

async function withdraw(merchant: Merchant, key: string): Promise<string> {
  const id = derivedId("wd", merchant.id, "a", key);
  const fingerprint = `f-${key}`;
  await claimKey(merchant.id, { account: "a", key, fingerprint, withdrawalId: id });
  await merchant.inside((object) => {
    const c = contextOf(object);
    const paid = { network: "local", asset: "native", destination: PAYEE, amountUnits: String(10n * ETH + 1n) };
    const none = { sender: null, nonce: null, txId: null, feeUnits: null, waitingFor: null };
    const by = { externalId: null, metadata: {}, creatorKeyId: "key_1" };
    const row = { id, account: "a", idempotencyKey: key, fingerprint, ...paid, ...none, ...by };
    c.storage.transactionSync(() => {
      const reservations = new Reservations(c, merchant.id, new Standing(c));
      reservations.add(row, false, { done: () => {}, begun: () => {} });
      reservations.finish();
    });
  });
  return id;
}

/** Gives a withdrawal the nonce so far above the first, signs it, and takes it to a state. */
async function settle(
  above: number,
  id: string,
  state: "confirmed" | "failed" | "confirmation_tracking",
  height: number | null,
): Promise<void> {
  const { merchant, chain, sender } = line;
  const nonce = FIRST_NONCE + above;
  await claimNonce(DB, { network: "local", sender, nonce, tenantId: merchant.id, subject: id, now: time.now });
  const txId = await merchant.inside(async (object) => {
    const c = contextOf(object);
    const fees = { kind: "eip1559", maxFeePerGas: 7n, maxPriorityFeePerGas: 1n } as const;
    const call = transferCall("native", sender, PAYEE, 10n * ETH + 1n);
    const intent: Intent = { ...call, chainId: 31_337, nonce, gasLimit: 21_000n, fees };
    const raw = await signerOf(c, merchant.id, "local").sign(intent);
    const read = await readSigned(raw, intent);
    if (!read.ok) throw new Error(read.problem);
    const key = { network: "local", sender, nonce };
    c.storage.transactionSync(() => {
      insertSlot(c.db, {
        ...key,
        withdrawalId: id,
        status: height === null ? "open" : "final",
        claimed: 1,
        burn: 0,
        speedUp: 0,
        gasLimit: "21000",
        minedTxId: height === null ? null : read.signed.txId,
        minedHeight: height,
        minedBlockHash: height === null ? null : `0x${height}`,
        createdAt: time.now,
        deadlineAt: time.now + DAY_MS,
      });
      const fee = { gasLimit: "21000", feeKind: "eip1559", mostPerGas: "7", tipPerGas: "1" } as const;
      const sent = { firstSentAt: time.now, lastSentAt: time.now, sends: 1, outcome: "accepted" } as const;
      const signed = { txId: read.signed.txId, kind: "payment", raw, signedAt: time.now, signedHeight: 60 } as const;
      insertAttempt(c.db, { ...key, number: 1, ...signed, ...fee, ...sent });
      const commit = new WithdrawalCommit(c, merchant.id);
      const found = withdrawalById(c.db, id);
      if (found === undefined) throw new Error(`no withdrawal ${id}`);
      let row = commit.move(found, { to: "broadcast_pending", reason: "nonce_assigned", changes: { sender, nonce } });
      row = commit.move(row, { to: "confirmation_tracking", reason: "accepted" });
      const reason = state === "failed" ? "reverted_on_chain" : "confirmed_on_chain";
      if (state !== "confirmation_tracking") commit.move(row, { to: state, reason });
      if (height !== null) commit.bookFee(key, id, 21_000n * 7n);
    });
    return read.signed.txId;
  });
  if (height === null) return;
  const success = state === "confirmed";
  chain.receipts.set(txId, { txId, height, blockHash: `0x${height}`, success, feeUnits: 147_000n, logs: [] });
}

async function report(key?: string): Promise<ReconciliationView> {
  const headers = key === undefined ? {} : { headers: { "Idempotency-Key": key } };
  const response = await line.merchant.call("POST", "/v1/reconciliation", headers);
  if (response.status !== 200) throw new Error(`POST /v1/reconciliation: ${response.status} ${await response.text()}`);
  return response.json();
}

const change = (query: string, ...values: unknown[]) =>
  line.merchant.inside((_, sql) => {
    expect(sql.exec(query, ...values).rowsWritten).toBeGreaterThan(0);
  });
const changeD1 = async (query: string, ...values: unknown[]) => {
  const { meta } = await DB.prepare(query)
    .bind(...values)
    .run();
  expect(meta.changes).toBeGreaterThan(0);
};
const told = (found: ReconciliationView) => found.differences.map(({ kind, subject }) => `${kind} ${subject}`);
const nonceName = (above: number) => `local/${line.sender}/${FIRST_NONCE + above}`;
const receiptOf = (above: number): MinedReceipt => {
  const receipt = [...line.chain.receipts.values()][above];
  if (receipt === undefined) throw new Error(`no receipt ${above}`);
  return receipt;
};

describe("a report", () => {
  it("matches when all is well, and says how much was compared", async () => {
    await change("INSERT INTO counters (name, value) VALUES ('withdrawal_key_replays', 4)");
    const found = await report();
    expect(found).toMatchObject({ status: "matched", differences: [], unreachable: [] });
    expect(found.compared).toEqual({
      attempts: 3,
      reservations: 2,
      balances: 2,
      journals: 4,
      receipts: 2,
      keys: 4,
      unused_keys: 0,
      nonces: 3,
      deposits: 1,
      used_nonces: 2,
      open_withdrawals: 2,
      open_nonces: 1,
      open_spends: 0,
      open_transactions: 0,
    });
    expect(found.counters).toEqual({ withdrawal_key_replays: 4, unresolved_withdrawals: 0, mismatches: 0 });
    expect(await line.merchant.get("/v1/reconciliation")).toEqual(found);
    expect((await line.merchant.events()).some(({ type }) => !type.startsWith("withdrawal."))).toBe(false);
  });

  it.each<[string, () => unknown, () => readonly string[]]>([
    [
      "a reservation that no open withdrawal explains",
      async () => {
        await change(
          "UPDATE balances SET reserved = '25000000000000000002', available = '74999999999999999999' WHERE account = 'a'",
        );
      },
      () => ["reserved_differs a/local/native", "balance_differs a/local/native"],
    ],
    [
      "a balance that is off by one unit in 10^20",
      () => change("UPDATE balances SET settled = '10000000000000000002' WHERE account = 'a'"),
      () => ["balance_differs a/local/native"],
    ],
    [
      "a balance of an account that is at rest, whose name has slashes",
      async () => {
        await change("UPDATE ledger_entries SET account = 'x/y/z' WHERE account = 'sluice:fees'");
        await change("UPDATE balances SET account = 'x/y/z', settled = '1' WHERE account = 'sluice:fees'");
      },
      () => ["balance_differs x/y/z/local/native"],
    ],
    [
      "a release that was posted twice",
      () =>
        change(
          `INSERT INTO ledger_entries (journal_id, line, account, network, asset, from_bucket, to_bucket, amount_units,
             cause_type, cause_id, created_at)
           SELECT 'jrn_twice', 0, account, network, asset, from_bucket, to_bucket, amount_units, cause_type, cause_id, created_at
           FROM ledger_entries WHERE cause_type = 'withdrawal.released'`,
        ),
      () => ["balance_differs a/local/native", `journal_differs ${line.ids.reverted}`],
    ],
    [
      "a withdrawal that is confirmed with its amount still reserved",
      () =>
        change(
          "UPDATE withdrawals SET state = 'confirmed', sender = NULL, nonce = NULL WHERE id = ?",
          line.ids.waiting,
        ),
      () => [
        "reserved_differs a/local/native",
        `journal_differs ${line.ids.waiting}`,
        `receipt_missing ${line.ids.waiting}`,
      ],
    ],
    [
      "a key that D1 lost",
      () => changeD1("DELETE FROM withdrawal_keys WHERE withdrawal_id = ?1", line.ids.sent),
      () => [`key_missing ${line.ids.sent}`],
    ],
    [
      "a key that names another request",
      () => changeD1("UPDATE withdrawal_keys SET fingerprint = 'x' WHERE withdrawal_id = ?1", line.ids.paid),
      () => [`key_differs ${line.ids.paid}`],
    ],
    [
      "a nonce that D1 lost",
      () => changeD1("DELETE FROM wallet_nonces WHERE subject = ?1", line.ids.sent),
      () => [`nonce_claim_missing ${nonceName(2)}`],
    ],
    [
      "a nonce that D1 has for something else of this tenant",
      () => changeD1("UPDATE wallet_nonces SET subject = ?2 WHERE subject = ?1", line.ids.sent, line.ids.waiting),
      () => [`nonce_claim_differs ${nonceName(2)}`],
    ],
    [
      "a nonce that D1 has for another tenant",
      () => changeD1("UPDATE wallet_nonces SET tenant_id = 'ten_other' WHERE subject = ?1", line.ids.sent),
      () => [`nonce_claim_differs ${nonceName(2)}`],
    ],
    [
      "B101: a withdrawal and its nonce that a restored copy has forgotten",
      () =>
        claimNonce(DB, {
          network: "local",
          sender: line.sender,
          nonce: FIRST_NONCE + 3,
          tenantId: line.merchant.id,
          subject: "wd_gone",
          now: 1,
        }),
      () => [`nonce_without_slot ${nonceName(3)}`, "payment_without_withdrawal wd_gone"],
    ],
    [
      "B101: a nonce that a lost copy claimed for a withdrawal, and that only fills a gap here",
      async () => {
        const { merchant, sender, ids } = line;
        const nonce = FIRST_NONCE + 3;
        const claim = { network: "local", sender, nonce, tenantId: merchant.id, subject: ids.waiting, now: 1 };
        await claimNonce(DB, claim);
        await change(
          `INSERT INTO slots (network, sender, nonce, withdrawal_id, status, claimed, burn, speed_up, created_at, deadline_at)
           VALUES ('local', ?, ?, NULL, 'open', 1, 1, 0, 1, 1)`,
          sender,
          nonce,
        );
      },
      () => [`nonce_claim_differs ${nonceName(3)}`],
    ],
    [
      "a final transaction that is not on the chain",
      () => void line.chain.receipts.delete(receiptOf(0).txId),
      () => [`receipt_missing ${line.ids.paid}`],
    ],
    [
      "a confirmed payment that the chain says reverted",
      () => void line.chain.receipts.set(receiptOf(0).txId, { ...receiptOf(0), success: false }),
      () => [`receipt_differs ${line.ids.paid}`],
    ],
    [
      "a failed withdrawal that the chain paid",
      () => void line.chain.receipts.set(receiptOf(1).txId, { ...receiptOf(1), success: true }),
      () => [`receipt_differs ${line.ids.reverted}`],
    ],
    [
      "a nonce that somebody else spent",
      () => {
        line.chain.nonceLatest = FIRST_NONCE + 5;
      },
      () => [`foreign_nonce ${nonceName(3)}-${FIRST_NONCE + 4}`],
    ],
    [
      "I16: signed bytes that pay another amount than was approved",
      () =>
        change(
          "UPDATE attempts SET raw = (SELECT raw FROM attempts WHERE nonce = ?) WHERE nonce = ?",
          FIRST_NONCE,
          FIRST_NONCE + 2,
        ),
      () => [`attempt_differs ${line.ids.sent}`],
    ],
    [
      "an attempt under another hash than its bytes have",
      () => change("UPDATE attempts SET tx_id = '0x0' WHERE nonce = ?", FIRST_NONCE + 2),
      () => [`attempt_differs ${line.ids.sent}`],
    ],
    [
      "a deposit whose claim another tenant has",
      () => changeD1("UPDATE deposit_keys SET tenant_id = 'ten_other' WHERE tenant_id = ?1", line.merchant.id),
      () => [`deposit_claim_missing ${derivedId("dep", `0x${"d0".repeat(32)}${line.merchant.id}`)}`],
    ],
  ])("names %s", async (_name, breakIt, expected) => {
    await breakIt();
    time.now += HOUR_MS;
    const found = await report();
    expect(told(found).sort()).toEqual([...expected()].sort());
    expect(found.status).toBe("mismatched");
    expect(found.counters.mismatches).toBe(expected().length);
    // It goes on being named while it lasts, also when nothing has moved since.
    time.now += 2 * HOUR_MS;
    expect(told(await report()).sort()).toEqual([...expected()].sort());
  });

  it("a refused request that broke off leaves a key, which is counted and no difference", async () => {
    const claim = { account: "a", key: "broken-off", fingerprint: "f", withdrawalId: "wd_none" };
    await claimKey(line.merchant.id, claim);
    expect(await report()).toMatchObject({ status: "matched", compared: { unused_keys: 1 } });
  });

  it("a nonce that another tenant claimed is not taken for a stranger's", async () => {
    line.chain.nonceLatest = FIRST_NONCE + 4;
    const nonce = FIRST_NONCE + 3;
    await claimNonce(DB, {
      network: "local",
      sender: line.sender,
      nonce,
      tenantId: "ten_other",
      subject: "wd_x",
      now: 1,
    });
    expect(told(await report())).toEqual([]);
  });

  it("a nonce that a lost copy claimed and that our own transaction has used up is settled", async () => {
    const claimed = "UPDATE wallet_nonces SET subject = ?2 WHERE subject = ?1";
    await changeD1(claimed, line.ids.reverted, line.ids.waiting);
    await change("UPDATE slots SET withdrawal_id = NULL WHERE nonce = ?", FIRST_NONCE + 1);
    await change("UPDATE withdrawals SET sender = NULL, nonce = NULL WHERE id = ?", line.ids.reverted);
    expect(told(await report())).toEqual([]);
  });

  it("what a person confirmed needs no receipt", async () => {
    await change("UPDATE withdrawal_transitions SET reason = 'resolved_by_person' WHERE to_state = 'confirmed'");
    await change("UPDATE slots SET mined_tx_id = NULL WHERE nonce = ?", FIRST_NONCE);
    expect(told(await report())).toEqual([]);
  });

  it("what is settled while the chain answers is left to the next report", async () => {
    const { chain, ids, merchant } = line;
    chain.receipts.delete(receiptOf(0).txId);
    const object = await merchant.inside((tenant) => tenant);
    chain.meanwhile = () => {
      chain.meanwhile = () => {};
      const c = contextOf(object);
      const row = withdrawalById(c.db, ids.paid);
      if (row === undefined) throw new Error("it is there");
      c.storage.transactionSync(() =>
        new WithdrawalCommit(c, merchant.id).move(row, { to: "confirmation_tracking", reason: "reorganised" }),
      );
    };
    expect(await report()).toMatchObject({ status: "matched", compared: { receipts: 1 } });
  });

  it("a second report looks only at what is open and what moved since", async () => {
    time.now += HOUR_MS;
    await report();
    time.now += 2 * HOUR_MS;
    expect((await report()).compared).toMatchObject({ keys: 2, journals: 2, balances: 1, attempts: 1 });
  });
});

describe("sources out of reach", () => {
  it("a chain that does not answer leaves the report incomplete, and what it missed is looked at again", async () => {
    quiet("warn");
    line.chain.isAway = true;
    time.now += HOUR_MS;
    expect(await report()).toMatchObject({ status: "incomplete", unreachable: ["chain:local"] });
    time.now += 2 * HOUR_MS;
    line.chain.isAway = false;
    expect(await report()).toMatchObject({ status: "matched", compared: { receipts: 2, keys: 4 } });
  });

  it("the network's real provider is away", async () => {
    quiet("warn");
    await line.merchant.inside((object) => contextOf(object).payers.nodes.clear());
    expect(await report()).toMatchObject({ status: "incomplete", unreachable: ["chain:local"] });
  });

  it("B133: D1 is away: ledger and chain are compared all the same", async () => {
    quiet("warn");
    await change("UPDATE balances SET settled = '1' WHERE account = 'a'");
    vi.spyOn(Object.getPrototypeOf(DB.prepare("SELECT 1")), "all").mockRejectedValue(new Error("away"));
    const found = await report();
    expect(found).toMatchObject({ status: "mismatched", unreachable: ["d1"], compared: { receipts: 2 } });
    expect(told(found)).toEqual(["balance_differs a/local/native"]);
    expect(found.compared.keys).toBeUndefined();
  });
});

describe("reports are kept", () => {
  it("there is none at first", async () => {
    expect((await line.merchant.call("GET", "/v1/reconciliation")).status).toBe(404);
  });

  it("one key, one report", async () => {
    const [first, second] = await Promise.all([report("once"), report("once")]);
    expect(second).toEqual(first);
    expect((await report()).id).not.toBe(first?.id);
    expect(await report("once")).toEqual(first);
    const other = await line.merchant.call("POST", "/v1/withdrawals", {
      headers: { "Idempotency-Key": "once" },
      body: { network: "local", asset: "ETH", destination: PAYEE, amount: "1", account: "a" },
    });
    expect(other.status).toBe(422);
  });

  it("the last ones are", async () => {
    const view = await report();
    await line.merchant.inside((object) => {
      const { db } = contextOf(object);
      for (let i = 0; i < REPORTS_KEPT + 5; i++) insertReport(db, { at: i, report: { ...view, id: `rec_${i}` } });
      const kept = storedReports(db).map(({ report: { id } }) => id);
      expect(kept).toHaveLength(REPORTS_KEPT);
      expect(kept[0]).toBe(`rec_${REPORTS_KEPT + 4}`);
      expect(kept.at(-1)).toBe("rec_5");
    });
  });
});

describe("cron", () => {
  const { MONITOR } = bindings as unknown as Env;
  const env = { DB, TENANT, MONITOR } as unknown as Env;
  const round = () => {
    const scanner = { idFromName: (name: string) => name, get: () => ({ patrol: async () => {} }) };
    const all = { ...env, ...settings, CHAIN_SCANNER: scanner } as unknown as Env;
    return patrol(all, time.now);
  };
  const settings = {
    KEY_PEPPER: "a pepper for tests alone, 40 characters.",
    OPERATOR_TOKEN: "an operator token for tests alone, 46 signs...",
    WALLET_SEED: "5c1d0f9a7be3428665b0a4c7d9e8f162b347a8b9c0d1e2f3a4f60718293a4b5d",
    SECRETS_KEY: "1:AHQFc9VYm1aVbTSYvBqMxGGLxJ7liC+ODqgXdtAvEMI=",
  };
  const work = () =>
    DB.prepare("SELECT due_at FROM tenant_work WHERE tenant_id = ?1")
      .bind(line.merchant.id)
      .first<{ due_at: number }>();
  const told = async (name: string) => {
    const monitor = MONITOR?.get(MONITOR.idFromName(MONITOR_NAME)) as unknown as MonitorApi;
    return (await monitor.figures()).find((one) => one.name === name)?.value ?? 0;
  };
  const reports = () =>
    line.merchant.inside((_, sql) => Number(sql.exec("SELECT count(*) AS n FROM reconciliations").one().n));
  const endAll = async () => {
    const { merchant, ids } = line;
    await merchant.inside((object) => {
      const c = contextOf(object);
      c.storage.transactionSync(() => {
        for (const [id, to] of [
          [ids.sent, "confirmed"],
          [ids.waiting, "cancelled"],
        ] as const) {
          const row = withdrawalById(c.db, id);
          if (row !== undefined) new WithdrawalCommit(c, merchant.id).move(row, { to, reason: "resolved_by_person" });
        }
      });
    });
    await change("UPDATE slots SET status = 'final'");
  };

  it("looks after a tenant with withdrawals under way, and compares once an hour", async () => {
    await round();
    expect(await work()).toEqual({ due_at: time.now + 300_000 });
    expect(await reports()).toBe(1);
    time.now += 299_000;
    await round();
    expect((await work())?.due_at).toBe(time.now + 1_000);
    time.now += 1_000;
    await round();
    expect(await reports()).toBe(1);
    time.now += HOUR_MS;
    await round();
    expect(await reports()).toBe(2);
  });

  it("compares once more when the tenant comes to rest, then lets it be", async () => {
    await round();
    time.now += 300_000;
    await endAll();
    await round();
    expect(await reports()).toBe(2);
    expect(await work()).toBeNull();
  });

  it("an idle tenant with a difference stays on the list, for the metric", async () => {
    await endAll();
    await changeD1("DELETE FROM withdrawal_keys WHERE withdrawal_id = ?1", line.ids.paid);
    const before = await told("sluice_reconciliation_mismatches");
    await round();
    expect(await work()).toEqual({ due_at: time.now + HOUR_MS });
    expect(await told("sluice_reconciliation_mismatches")).toBe(before + 1);
  });

  it("an idle tenant whose last report missed something is not let go", async () => {
    await endAll();
    quiet("warn");
    line.chain.isAway = true;
    await round();
    expect(await work()).toMatchObject({ due_at: time.now + 300_000 });
  });

  it("a withdrawal that waits for a person is counted", async () => {
    await change("UPDATE withdrawals SET state = 'manual_review' WHERE id = ?", line.ids.sent);
    const before = await told("sluice_withdrawals_unresolved");
    await round();
    expect(await told("sluice_withdrawals_unresolved")).toBe(before + 1);
  });

  it("a tenant that fails is asked again later, and holds up nobody", async () => {
    quiet("error");
    const other = "ten_never_signed_up";
    await changeD1("INSERT INTO tenant_work (tenant_id, due_at, unresolved, mismatches) VALUES (?1, 1, 0, 0)", other);
    await round();
    expect(await reports()).toBe(1);
    expect(
      await DB.prepare("SELECT tenant_id, due_at FROM tenant_work WHERE tenant_id = ?1").bind(other).first(),
    ).toEqual({
      tenant_id: other,
      due_at: time.now + 300_000,
    });
  });

  it("a withdrawal that is asked for during the look keeps the tenant on the list", async () => {
    await endAll();
    const { merchant } = line;
    const stub = {
      patrol: async () => {
        await claimKey(merchant.id, { account: "a", key: "late", fingerprint: "f", withdrawalId: "wd_late" });
        return { isIdle: true, unresolved: 0, mismatches: 0 };
      },
    };
    const scanner = { idFromName: (name: string) => name, get: () => ({ patrol: async () => {} }) };
    const tenant = { idFromName: (name: string) => name, get: () => stub };
    await patrol({ ...settings, DB, CHAIN_SCANNER: scanner, TENANT: tenant } as unknown as Env, time.now);
    expect(await work()).not.toBeNull();
  });
});

it("entries are summed to the unit, far above what a number holds", async () => {
  const most = 2n ** 256n - 1n;
  await line.merchant.inside((object) => {
    const { db } = contextOf(object);
    const key = { account: "big", network: "local", asset: "native" };
    const journal = { causeType: "deposit.confirmed", causeId: "dep_big", eventId: null, at: 1 };
    const amounts = [most, most, 1n, 10n ** 12n, 10n ** 12n - 1n];
    for (const [i, amountUnits] of amounts.entries()) {
      const postings = [{ from: "chain", to: "available", amountUnits }] as const;
      appendEntries(db, [{ journal: { ...key, ...journal, id: `jrn_big_${i}` }, postings }]);
    }
    const reserved = [{ from: "available", to: "reserved", amountUnits: most }] as const;
    appendEntries(db, [{ journal: { ...key, ...journal, id: "jrn_b" }, postings: reserved }]);
    expect(movementsOf(db, key, 6)).toEqual([
      { from: "available", to: "reserved", units: most },
      { from: "chain", to: "available", units: amounts.reduce((sum, units) => sum + units, 0n) },
    ]);
    expect(movementsOf(db, key, 5)).toBeNull();
  });
});
