/** The chain of the audit log: fixed values that any other program has to compute too, and what it shows. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { auditGenesis, auditHash, clientAddressShown, userAgentShown } from "../../src/core/audit-entry.ts";
import * as sdk from "../../src/sdk/audit-log.ts";
import type { AuditEntry } from "../../src/sdk/types.ts";

const TENANT = "ten_01k5q8x2m3n4p5q6r7s8t9v0wx";
const BARE: Omit<AuditEntry, "hash"> = {
  sequence: 1,
  created_at: "2026-01-31T12:20:11.000Z",
  api_key_id: "key_01k5q8x2m3c7d8e9f0g1h2j3k4",
  via: "api_key",
  request_id: "req_01k5q99j2k3m4n5p6q7r8s9t0v",
  call: "createAsset",
  subject: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
  outcome: "ok",
  client_address: "192.0.2.7",
  user_agent: "curl/8.5.0",
};
const SECOND = {
  ...BARE,
  sequence: 2,
  via: "session",
  subject: null,
  client_address: null,
  user_agent: "é, 3:abc,",
} as const;

/** A whole log of these entries. */
function chained(entries: readonly Omit<AuditEntry, "hash" | "sequence">[], tenantId = TENANT): AuditEntry[] {
  let before = auditGenesis(tenantId);
  return entries.map((bare, i) => {
    const entry = { ...bare, sequence: i + 1 };
    before = auditHash(before, entry);
    return { ...entry, hash: before };
  });
}

describe("the hashes", () => {
  const genesis = "5d2b2b462c3c2f9a46c24f6a4182290f8b3a397366d529b054407875169c4e04";
  const first = "81f91fb3a261de9ad2a410680d80e353fe3a0a0248084d25d82296ddb7a1e3c3";
  const second = "d4dbd689e1780f2834d9f365f0af3c1267095260d4b35c2aaafea893936c963b";
  it("of the service", () => {
    expect(auditGenesis(TENANT)).toBe(genesis);
    expect(auditHash(genesis, BARE)).toBe(first);
    expect(auditHash(first, SECOND)).toBe(second);
  });
  it("of the SDK", async () => {
    expect(await sdk.auditGenesis(TENANT)).toBe(genesis);
    expect(await sdk.auditHash(genesis, { ...BARE, hash: first })).toBe(first);
    expect(await sdk.auditHash(first, { ...SECOND, hash: second })).toBe(second);
  });
});

const text = fc.oneof(
  fc.constant(""),
  fc.constantFrom("-", "1:a,", ",", "0:,-"),
  fc.string({ unit: "binary", maxLength: 12 }),
);
const facts = fc.record({
  created_at: fc.constant("2026-01-31T12:20:11.000Z"),
  api_key_id: text,
  via: fc.constantFrom("api_key", "session"),
  request_id: text,
  call: text,
  subject: fc.option(text),
  outcome: text,
  client_address: fc.option(text),
  user_agent: fc.option(text),
}) as fc.Arbitrary<Omit<AuditEntry, "hash" | "sequence">>;
const log = fc.array(facts, { minLength: 1, maxLength: 8 }).map((entries) => chained(entries));
const verified = (entries: readonly AuditEntry[], expected: readonly sdk.AuditHead[] = []) =>
  sdk.verifyAuditLog(entries, { tenantId: TENANT }, expected);
const headAt = (entries: readonly AuditEntry[], at: number) => {
  const { sequence, hash } = entries[at] as AuditEntry;
  return { sequence, hash };
};
const HEXED = /^[0-9a-f]{64}$/;

describe("a log", () => {
  it("that is whole passes, from its beginning and from every head of it", () =>
    fc.assert(
      fc.asyncProperty(log, fc.nat(), async (entries, n) => {
        const at = n % entries.length;
        const whole = await verified(entries, [headAt(entries, at)]);
        expect(whole).toEqual({ ok: true, head: headAt(entries, entries.length - 1), entries: entries.length });
        const rest = await sdk.verifyAuditLog(entries.slice(at + 1), { head: headAt(entries, at) });
        expect(rest).toMatchObject({ ok: true, entries: entries.length - at - 1 });
      }),
    ));

  it("with any field of any entry changed is broken there", () =>
    fc.assert(
      fc.asyncProperty(log, fc.nat(), fc.nat(), text, async (entries, n, m, other) => {
        const at = n % entries.length;
        const entry = entries[at] as AuditEntry;
        const names = Object.keys(entry) as (keyof AuditEntry)[];
        const name = names[m % names.length] as keyof AuditEntry;
        const value = name === "sequence" ? entry.sequence + 1 + other.length : other;
        fc.pre(value !== entry[name]);
        const changed = entries.with(at, { ...entry, [name]: value } as AuditEntry);
        expect(await verified(changed)).toMatchObject({ ok: false, sequence: at + 1 });
      }),
      { numRuns: 300 },
    ));

  it("with null in the place of a text, or the other way round, is broken", async () => {
    const [entry] = chained([{ ...BARE, subject: null }]) as [AuditEntry];
    for (const subject of ["", "-", "null"])
      expect(await verified([{ ...entry, subject }])).toMatchObject({ ok: false });
  });

  it("with a text moved over the border of two fields is broken", async () => {
    const [entry] = chained([{ ...BARE, call: "ab", subject: "c" }]) as [AuditEntry];
    expect(await verified([{ ...entry, call: "a", subject: "bc" }])).toMatchObject({ ok: false });
  });

  it("with an entry taken out, put in twice or moved is broken there", () =>
    fc.assert(
      fc.asyncProperty(log, fc.nat(), async (entries, n) => {
        fc.pre(entries.length > 1);
        const at = n % (entries.length - 1);
        const [one, next] = [entries[at], entries[at + 1]] as [AuditEntry, AuditEntry];
        expect(await verified(entries.toSpliced(at, 1))).toMatchObject({ ok: false, sequence: at + 1 });
        expect(await verified(entries.toSpliced(at, 0, one))).toMatchObject({ ok: false, sequence: at + 2 });
        expect(await verified(entries.with(at, next).with(at + 1, one))).toMatchObject({ ok: false, sequence: at + 1 });
        // Numbered anew, the hashes do not fit.
        const renumbered = entries.toSpliced(at, 1).map((entry, i) => ({ ...entry, sequence: i + 1 }));
        expect(await verified(renumbered)).toMatchObject({ ok: false, sequence: at + 1 });
      }),
    ));

  it("cut off below a head that was kept, or written anew with good hashes, is not the one that was kept", () =>
    fc.assert(
      fc.asyncProperty(log, fc.nat(), fc.nat(), async (entries, n, m) => {
        const kept = n % entries.length;
        const head = headAt(entries, kept);
        const cut = m % (kept + 1);
        expect(await verified(entries.slice(0, cut), [head])).toEqual({
          ok: false,
          sequence: cut + 1,
          reason: "cut_off",
          detail: expect.stringContaining(`${head.sequence} entries`),
        });
        // As whoever can write the database would do it, and a copy restored from before that went another way.
        const forged = chained(
          entries.map((entry, i) => (i < cut ? entry : { ...entry, outcome: `${entry.outcome}!` })),
        );
        expect(await verified(forged)).toMatchObject({ ok: true });
        expect(await verified(forged, [head])).toMatchObject({ ok: false, sequence: kept + 1, reason: "rewritten" });
      }),
    ));

  it("of another tenant is not this one's", async () => {
    expect(await verified(chained([BARE], "ten_other"))).toMatchObject({
      ok: false,
      sequence: 1,
      reason: "wrong_hash",
    });
  });

  it("that is empty passes, unless an entry was kept", async () => {
    const head = { sequence: 0, hash: auditGenesis(TENANT) };
    expect(head.hash).toMatch(HEXED);
    expect(await verified([])).toEqual({ ok: true, head, entries: 0 });
    expect(await verified([], [{ sequence: 1, hash: head.hash }])).toMatchObject({ ok: false, reason: "cut_off" });
  });
});

describe("where a call comes from", () => {
  it.each([
    ["curl/8.5.0", "curl/8.5.0"],
    ["a\nb\u0000c\u{1f600}", "a?b?c??"],
    ["x".repeat(300), "x".repeat(200)],
    ["", null],
    [null, null],
  ])("the client's name: %j is kept as %j", (given, kept) => expect(userAgentShown(given)).toBe(kept));

  it.each([
    ["192.0.2.7", "192.0.2.7"],
    ["2001:db8::ffff:192.0.2.7", "2001:db8::ffff:192.0.2.7"],
    ["192.0.2.7, 198.51.100.1", null],
    ["<script>", null],
    [null, null],
  ])("the address: %j is kept as %j", (given, kept) => expect(clientAddressShown(given)).toBe(kept));
});
