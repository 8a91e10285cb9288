/** What the console's pages decide without asking anybody: what a code holds, what is private, when a key ends. */

import { describe, expect, it } from "vitest";
import { codeMeaning, paymentLink, preferredCode } from "../../src/console/pages/addresses/payment-code.ts";
import { privateKeyIn } from "../../src/console/pages/addresses/private-key.ts";
import { EXPIRIES, expiryOf, keyStatus, SCOPES } from "../../src/console/pages/api-keys/keys.ts";
import { randomEvmAddress } from "../../src/console/pages/sandbox/random-address.ts";
import { KEPT, withPage } from "../../src/console/pages/sandbox/received-pages.ts";
import { EVENTS, outcomeInWords, pageOfSubject, readable } from "../../src/console/pages/webhooks/events.ts";
import { replayFrom } from "../../src/console/pages/webhooks/replay-from.ts";
import { readWhole } from "../../src/console/pages/whole.ts";
import type { ReceivedDelivery } from "../../src/console/sandbox.ts";
import { parseEvmAddress } from "../../src/core/evm-address.ts";
import { SCOPES as ALL_SCOPES, EVENT_TYPES } from "../../src/core/views.ts";
import type { ApiKey } from "../../src/sdk/types.ts";

const NOW = Date.parse("2026-01-31T12:00:00.000Z");

describe("the code of an address", () => {
  const evm = { family: "evm", caip2: "eip155:8453" };

  it("offers a link where wallets agree on one, with the chain where one address is on many", () => {
    expect(paymentLink({ family: "bitcoin", caip2: "bip122:000000000019d6689c085ae165831e93" }, "bc1qx")).toBe(
      "bitcoin:bc1qx",
    );
    expect(paymentLink(evm, "0xab")).toBe("ethereum:0xab@8453");
    expect(paymentLink({ family: "solana", caip2: "solana:x" }, "So1")).toBe("solana:So1");
  });

  it("offers none where they do not, nor for a chain it cannot name", () => {
    expect(paymentLink({ family: "tron", caip2: "tron:x" }, "T1")).toBeNull();
    expect(paymentLink({ family: "evm", caip2: "elsewhere:1" }, "0xab")).toBeNull();
  });

  it("begins with the link on Bitcoin alone, where it leaves out nothing that can be paid", () => {
    expect(preferredCode({ family: "bitcoin", caip2: "" })).toBe("link");
    for (const family of ["evm", "solana", "tron", ""]) expect(preferredCode({ family, caip2: "" })).toBe("address");
    expect(codeMeaning(evm)).toContain("EIP-681");
    expect(codeMeaning({ family: "tron", caip2: "" })).toContain("no payment link");
  });
});

describe("what is private", () => {
  it.each([
    "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi",
    " zprvAWgYBBk7JR8Gjrh4UJQ2uJdG1r3WNRRfURiABBE3RvMXYSrRJL62XuezvGdPvG6GFBZduosCc1YP5wixPox7zhZLfiUm8aunE96BBa4Kei5 ",
    "Tprv1",
    "L1aW4aubDFB7yfras2S1mN3bqg9nwySY8nkoLmJebSLD5BWv3ENZ",
    "0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
    "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
  ])("is known before it is sent: %s", (text) => {
    expect(privateKeyIn(text)).not.toBeNull();
  });

  it.each([
    "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs",
    "0x00000000000000000000000000000000000a11ce",
    "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
    "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T",
    "",
  ])("is not seen in what is public: %s", (text) => {
    expect(privateKeyIn(text)).toBeNull();
  });
});

describe("an API key", () => {
  const key: ApiKey = { id: "key_1", name: "a", scopes: ["read"], created_at: "", expires_at: null, revoked_at: null };

  it("is over from its expiry on, and revoked whatever that says", () => {
    const expires_at = new Date(NOW).toISOString();
    expect(keyStatus(key, NOW)).toBe("active");
    expect(keyStatus({ ...key, expires_at }, NOW - 1)).toBe("active");
    expect(keyStatus({ ...key, expires_at }, NOW)).toBe("expired");
    expect(keyStatus({ ...key, expires_at, revoked_at: expires_at }, NOW - 1)).toBe("revoked");
  });

  it("ends when it was chosen to", () => {
    expect(expiryOf("never", "", NOW)).toBeNull();
    expect(expiryOf("30", "", NOW)).toBe("2026-03-02T12:00:00.000Z");
    expect(expiryOf("at", "2026-02-01T00:00", NOW)).toBe(new Date("2026-02-01T00:00").toISOString());
    expect(expiryOf("at", "", NOW)).toBeUndefined();
    for (const { value } of EXPIRIES.slice(1, -1)) expect(expiryOf(value, "", NOW)).toEqual(expect.any(String));
  });

  it("can be given every scope that there is", () => {
    expect(SCOPES.map(({ value }) => value)).toEqual(ALL_SCOPES);
  });
});

describe("webhooks", () => {
  it("have every type of event to choose from", () => {
    expect(EVENTS.map(({ value }) => value).toSorted()).toEqual(EVENT_TYPES.toSorted());
  });

  it("lead from an event to what it is about", () => {
    expect(pageOfSubject("dep_1")).toBe("/deposits/dep_1");
    expect(pageOfSubject("wd_1")).toBe("/withdrawals/wd_1");
    expect(pageOfSubject("account:a&b")).toBe("/ledger?account=a%26b");
    expect(pageOfSubject("endpoint:we_1")).toBe("/webhooks/we_1");
    expect(pageOfSubject("network:local")).toBeNull();
  });

  it("are replayed from a sequence or a moment, and from nothing else", () => {
    expect(replayFrom("sequence", " 41 ")).toEqual({ after_sequence: 41 });
    expect(replayFrom("sequence", "0")).toEqual({ after_sequence: 0 });
    for (const text of ["", "-1", "1.5", "01", "1e3"]) expect(replayFrom("sequence", text)).toBeNull();
    expect(replayFrom("time", "2026-01-31T12:00")).toEqual({ since: new Date("2026-01-31T12:00").toISOString() });
    expect(replayFrom("time", "")).toBeNull();
  });

  it("show a body that is no JSON as it came, and outcomes that are not known by their name", () => {
    expect(readable('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(readable("<html>")).toBe("<html>");
    expect(outcomeInWords("timeout")).toBe("No answer in time");
    expect(outcomeInWords("some_thing")).toBe("some thing");
  });
});

describe("the sandbox", () => {
  const delivery = (n: number): ReceivedDelivery => ({
    n,
    at: "",
    endpoint_id: null,
    event_id: null,
    type: null,
    subject: null,
    sequence: null,
    verified: false,
    problem: null,
    duplicate: false,
    answered: 204,
    body: "",
  });
  const page = (...ns: number[]) => ({ data: ns.map(delivery), next: ns.at(-1) ?? 0 });

  it("lists what came newest first, each once, however often it is told", () => {
    const first = withPage({ latest: [], next: 0 }, page(1, 2));
    const then = withPage(withPage(first, page(2, 3)), page(2, 3));
    expect(then.latest.map(({ n }) => n)).toEqual([3, 2, 1]);
    expect(then.next).toBe(3);
    expect(withPage(then, { data: [], next: 3 }).latest).toBe(then.latest);
  });

  it("keeps no more than the receiver does", () => {
    const many = Array.from({ length: KEPT }, (_, i) => i + 1);
    const { latest } = withPage(withPage({ latest: [], next: 0 }, page(...many)), page(KEPT + 1));
    expect(latest.length).toBe(KEPT);
    expect(latest[0]?.n).toBe(KEPT + 1);
  });

  it("makes up addresses that the local network takes", () => {
    const address = randomEvmAddress(new Uint8Array(20).fill(7));
    expect(parseEvmAddress(address).ok).toBe(true);
  });
});

describe("whole numbers", () => {
  it("are told apart from nothing and from anything else", () => {
    expect(readWhole(" 12 ")).toBe(12);
    expect(readWhole("  ")).toBeNull();
    for (const text of ["1.0", "-3", "0x1", "1 2", "99999999999999999"]) expect(readWhole(text)).toBeUndefined();
  });
});
