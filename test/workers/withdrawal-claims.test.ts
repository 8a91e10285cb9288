/**
 * D1 as the fence of the withdrawal line: a key names one withdrawal and a nonce carries one, whoever asks at the
 * same time and whatever answer is lost.
 */

import { afterEach, describe, expect, it, vi } from "vitest";
import { StoreFault } from "../../src/store/d1/deadline.ts";
import { clearTenantWork, overdueTenantWork, postponeTenantWork } from "../../src/store/d1/tenant-work.ts";
import {
  type ClaimedKey,
  type ClaimedNonce,
  claimNonce,
  claimWithdrawalKeys,
  type KeyClaim,
  type NonceClaim,
  nextUnclaimedNonce,
  releaseWithdrawalKeys,
} from "../../src/store/d1/withdrawals.ts";
import { DB } from "./line.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const AT_ONCE = 50;
let made = 0;
/** A tenant that no other test has. */
const newTenant = () => `ten_${++made}`;
interface OneClaim extends KeyClaim {
  readonly tenantId: string;
  readonly now: number;
  readonly workDueAt: number;
}
const keyClaim = (tenantId: string, parts: Partial<OneClaim> = {}): OneClaim => ({
  tenantId,
  account: "a",
  key: "k",
  fingerprint: "f",
  withdrawalId: `wd_${tenantId}`,
  now: 1,
  workDueAt: 100,
  ...parts,
});
const nonceClaim = (tenantId: string, parts: Partial<NonceClaim> = {}): NonceClaim => ({
  network: "local",
  sender: `0x${tenantId}`,
  nonce: 0,
  tenantId,
  subject: `wd_${tenantId}`,
  now: 1,
  ...parts,
});
const claimWithdrawalKey = async (db: D1Database, claim: OneClaim): Promise<ClaimedKey> => {
  const [claimed] = await claimWithdrawalKeys(db, claim.tenantId, [claim], claim);
  if (claimed === undefined) throw new Error("no answer for the one claim");
  return claimed;
};
const releaseWithdrawalKey = (db: D1Database, claim: OneClaim) => releaseWithdrawalKeys(db, claim.tenantId, [claim]);
const keysOf = async (tenantId: string) =>
  (
    await DB.prepare("SELECT account, idempotency_key AS key, fingerprint FROM withdrawal_keys WHERE tenant_id = ?1")
      .bind(tenantId)
      .all()
  ).results;
const dueOf = (tenantId: string) =>
  DB.prepare("SELECT due_at FROM tenant_work WHERE tenant_id = ?1").bind(tenantId).first<number>("due_at");

/** The next batch fails, applied or not. */
function failNextBatch(applies: boolean): void {
  const database = Object.getPrototypeOf(DB) as D1Database;
  const honest = database.batch;
  vi.spyOn(database, "batch").mockImplementationOnce(async function (this: D1Database, list) {
    if (applies) await honest.call(this, list);
    throw new Error("D1_ERROR: Network connection lost.");
  });
}
const CASES = [
  ["before it applied", false],
  ["after it applied", true],
] as const;

describe("keys", () => {
  it("B79: of fifty requests at once with one key, all with one meaning, each has it and there is one row", async () => {
    const tenant = newTenant();
    const claims = await Promise.all(Array.from({ length: AT_ONCE }, () => claimWithdrawalKey(DB, keyClaim(tenant))));
    expect(claims).toEqual(Array(AT_ONCE).fill({ kind: "own", had: null }));
    expect(await keysOf(tenant)).toEqual([{ account: "a", key: "k", fingerprint: "f" }]);
  });

  it("B80: of fifty requests at once with one key and fifty meanings, one has it", async () => {
    const tenant = newTenant();
    const claims = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) => claimWithdrawalKey(DB, keyClaim(tenant, { fingerprint: `f${i}` }))),
    );
    expect(claims.filter(({ kind }) => kind === "own")).toHaveLength(1);
    const winner = claims.findIndex(({ kind }) => kind === "own");
    expect(await keysOf(tenant)).toMatchObject([{ fingerprint: `f${winner}` }]);
  });

  it("a key is one per tenant and account", async () => {
    const [one, two] = [newTenant(), newTenant()];
    const other = { fingerprint: "g" };
    expect(await claimWithdrawalKey(DB, keyClaim(one))).toMatchObject({ kind: "own" });
    expect(await claimWithdrawalKey(DB, keyClaim(two, other))).toMatchObject({ kind: "own" });
    expect(await claimWithdrawalKey(DB, keyClaim(one, { ...other, account: "b" }))).toMatchObject({ kind: "own" });
    expect(await claimWithdrawalKey(DB, keyClaim(one, { ...other, key: "K" }))).toMatchObject({ kind: "own" });
    expect(await claimWithdrawalKey(DB, keyClaim(one, other))).toEqual({ kind: "other_request" });
  });

  it.each(CASES)("B133: D1 fails %s, and the same claim again is one's own", async (_name, applies) => {
    const tenant = newTenant();
    failNextBatch(applies);
    await expect(claimWithdrawalKey(DB, keyClaim(tenant))).rejects.toThrow(StoreFault);
    expect(await keysOf(tenant)).toHaveLength(applies ? 1 : 0);
    // Tenant and key are listed together or not at all.
    expect(await dueOf(tenant)).toBe(applies ? 100 : null);
    expect(await claimWithdrawalKey(DB, keyClaim(tenant))).toEqual({ kind: "own", had: null });
    expect(await keysOf(tenant)).toHaveLength(1);
  });

  it("B101: a key whose withdrawal was given a nonce says so", async () => {
    const tenant = newTenant();
    await claimWithdrawalKey(DB, keyClaim(tenant));
    await claimNonce(DB, nonceClaim(tenant, { nonce: 7 }));
    await claimNonce(DB, nonceClaim(tenant, { nonce: 11, subject: `wd_else_${tenant}` }));
    expect(await claimWithdrawalKey(DB, keyClaim(tenant))).toEqual({ kind: "own", had: "nonce 7" });
  });

  it("a key that is given back may be claimed with another meaning", async () => {
    const tenant = newTenant();
    await claimWithdrawalKey(DB, keyClaim(tenant));
    await claimWithdrawalKey(DB, keyClaim(tenant, { key: "other" }));
    await releaseWithdrawalKey(DB, keyClaim(tenant));
    await releaseWithdrawalKey(DB, keyClaim(tenant));
    expect(await keysOf(tenant)).toMatchObject([{ key: "other" }]);
    expect(await claimWithdrawalKey(DB, keyClaim(tenant, { fingerprint: "g" }))).toMatchObject({ kind: "own" });
  });

  it("a key is given back only by the request that has it", async () => {
    const tenant = newTenant();
    await claimWithdrawalKey(DB, keyClaim(tenant));
    await releaseWithdrawalKey(DB, keyClaim(tenant, { fingerprint: "g" }));
    await releaseWithdrawalKey(DB, keyClaim(tenant, { account: "b" }));
    await releaseWithdrawalKey(DB, keyClaim(newTenant()));
    expect(await keysOf(tenant)).toHaveLength(1);
  });

  it("a key whose withdrawal has a nonce is never given back", async () => {
    const tenant = newTenant();
    await claimWithdrawalKey(DB, keyClaim(tenant));
    await claimNonce(DB, nonceClaim(tenant));
    await releaseWithdrawalKey(DB, keyClaim(tenant));
    expect(await keysOf(tenant)).toHaveLength(1);
  });
});

describe("nonces", () => {
  const tally = (claims: readonly ClaimedNonce[], what: ClaimedNonce["kind"]) =>
    claims.filter(({ kind }) => kind === what).length;

  it("of fifty withdrawals that want one nonce at once, one gets it", async () => {
    const tenant = newTenant();
    const subjects = Array.from({ length: AT_ONCE }, (_, i) => `wd_${tenant}_${i}`);
    const claims = await Promise.all(subjects.map((subject) => claimNonce(DB, nonceClaim(tenant, { subject }))));
    expect([tally(claims, "own"), tally(claims, "lost")]).toEqual([1, AT_ONCE - 1]);
    // Whoever has it has it again.
    const winner = claims.findIndex(({ kind }) => kind === "own");
    expect(await claimNonce(DB, nonceClaim(tenant, { subject: subjects[winner] ?? "" }))).toEqual({ kind: "own" });
  });

  it.each([
    ["withdrawals of their own", (tenant: string) => `wd_${tenant}`],
    ["the name of one gap", () => "gap:local:0xshared:0"],
  ])("of fifty tenants with one wallet and %s, one gets the nonce", async (_name, subjectOf) => {
    const sender = `0x${newTenant()}`;
    const tenants = Array.from({ length: AT_ONCE }, newTenant);
    const claims = await Promise.all(
      tenants.map((tenant) => claimNonce(DB, nonceClaim(tenant, { sender, subject: subjectOf(tenant) }))),
    );
    expect([tally(claims, "own"), tally(claims, "taken")]).toEqual([1, AT_ONCE - 1]);
  });

  it("B101: a withdrawal that wants fifty nonces at once gets one, and is told which whenever it asks", async () => {
    const tenant = newTenant();
    const claims = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, nonce) => claimNonce(DB, nonceClaim(tenant, { nonce }))),
    );
    expect([tally(claims, "own"), tally(claims, "elsewhere")]).toEqual([1, AT_ONCE - 1]);
    const nonce = claims.findIndex(({ kind }) => kind === "own");
    const elsewhere = { kind: "elsewhere", sender: `0x${tenant}`, nonce };
    expect(claims.filter(({ kind }) => kind === "elsewhere")).toEqual(Array(AT_ONCE - 1).fill(elsewhere));
    expect(await claimNonce(DB, nonceClaim(tenant, { nonce: AT_ONCE }))).toEqual(elsewhere);
    expect(await claimNonce(DB, nonceClaim(tenant, { sender: "0xnew", nonce }))).toEqual(elsewhere);
    // The nonces that it was refused are still free.
    const other = nonceClaim(tenant, { nonce: AT_ONCE, subject: `wd_other_${tenant}` });
    expect(await claimNonce(DB, other)).toEqual({ kind: "own" });
  });

  it("B101: a withdrawal with a nonce that wants one which another has is told its own", async () => {
    const tenant = newTenant();
    await claimNonce(DB, nonceClaim(tenant, { nonce: 3 }));
    await claimNonce(DB, nonceClaim(tenant, { nonce: 1, subject: `wd_other_${tenant}` }));
    const elsewhere = { kind: "elsewhere", sender: `0x${tenant}`, nonce: 3 };
    expect(await claimNonce(DB, nonceClaim(tenant, { nonce: 1 }))).toEqual(elsewhere);
  });

  it.each(CASES)("B133: D1 fails %s, and the same claim again is one's own", async (_name, applies) => {
    const tenant = newTenant();
    failNextBatch(applies);
    await expect(claimNonce(DB, nonceClaim(tenant))).rejects.toThrow(StoreFault);
    expect(await nextUnclaimedNonce(DB, "local", `0x${tenant}`)).toBe(applies ? 1 : 0);
    expect(await claimNonce(DB, nonceClaim(tenant))).toEqual({ kind: "own" });
    expect(await claimNonce(DB, nonceClaim(tenant, { subject: `wd_else_${tenant}` }))).toEqual({ kind: "lost" });
  });

  it("a nonce is one per network and wallet", async () => {
    const tenant = newTenant();
    const places = [{}, { network: "base" }, { sender: `0xother_${tenant}` }, { nonce: 1 }];
    for (const [i, place] of places.entries()) {
      const claim = nonceClaim(tenant, { ...place, subject: `wd_${tenant}_${i}` });
      expect(await claimNonce(DB, claim)).toEqual({ kind: "own" });
    }
  });

  it("the next one is above every claimed one, gaps or not", async () => {
    const tenant = newTenant();
    const sender = `0x${tenant}`;
    expect(await nextUnclaimedNonce(DB, "local", sender)).toBe(0);
    for (const nonce of [2, 40, 7])
      await claimNonce(DB, nonceClaim(tenant, { nonce, subject: `wd_${tenant}_${nonce}` }));
    await claimNonce(DB, nonceClaim(tenant, { network: "base", nonce: 90, subject: `wd_${tenant}_90` }));
    expect(await nextUnclaimedNonce(DB, "local", sender)).toBe(41);
  });
});

describe("tenants with work", () => {
  it("are listed with their first claim, and a later one moves the row by a millisecond", async () => {
    const tenant = newTenant();
    await claimWithdrawalKey(DB, keyClaim(tenant));
    expect(await dueOf(tenant)).toBe(100);
    await claimWithdrawalKey(DB, keyClaim(tenant, { key: "l", workDueAt: 9_999 }));
    expect(await dueOf(tenant)).toBe(101);
  });

  it.each([
    ["after", true],
    ["before", false],
  ])("a request %s cron saw the row decides whether cron takes it away", async (_name, isAfter) => {
    const tenant = newTenant();
    await claimWithdrawalKey(DB, keyClaim(tenant));
    if (!isAfter) await claimWithdrawalKey(DB, keyClaim(tenant, { key: "l" }));
    const seen = (await overdueTenantWork(DB, 1_000, 1_000)).find(({ tenantId }) => tenantId === tenant);
    if (seen === undefined) throw new Error("the tenant is not listed");
    if (isAfter) await claimWithdrawalKey(DB, keyClaim(tenant, { key: "l" }));
    await clearTenantWork(DB, seen);
    expect(await dueOf(tenant)).toBe(isAfter ? 101 : null);
  });

  it("fifty requests and cron at once: whoever claimed after the look is listed", async () => {
    const tenant = newTenant();
    await claimWithdrawalKey(DB, keyClaim(tenant));
    const seen = { tenantId: tenant, dueAt: 100 };
    await Promise.all([
      ...Array.from({ length: AT_ONCE }, (_, i) => claimWithdrawalKey(DB, keyClaim(tenant, { key: `k${i}` }))),
      clearTenantWork(DB, seen),
    ]);
    // Taken away before the first of them, or not at all: then it was made anew, or touched by every one.
    expect(await dueOf(tenant)).not.toBeNull();
    expect(await keysOf(tenant)).toHaveLength(AT_ONCE + 1);
  });

  it("are given longest due first, up to a limit, and not before they are due", async () => {
    await DB.prepare("DELETE FROM tenant_work").run();
    const [late, soon, early] = [newTenant(), newTenant(), newTenant()];
    await claimWithdrawalKey(DB, keyClaim(late, { workDueAt: 301 }));
    await claimWithdrawalKey(DB, keyClaim(soon, { workDueAt: 300 }));
    await claimWithdrawalKey(DB, keyClaim(early, { workDueAt: 200 }));
    const due = async (now: number, limit: number) =>
      (await overdueTenantWork(DB, now, limit)).map(({ tenantId }) => tenantId);
    expect(await due(300, 10)).toEqual([early, soon]);
    expect(await due(300, 1)).toEqual([early]);
    expect(await due(199, 10)).toEqual([]);
    await postponeTenantWork(DB, early, 302);
    expect(await due(302, 10)).toEqual([soon, late, early]);
  });
});
