/** Bitcoin's addresses: the vectors of the BIPs, and what must hold for every script and every slip of the pen. */

import { bytesToHex } from "@noble/hashes/utils";
import { bech32, bech32m } from "@scure/base";
import { Address, OutScript } from "@scure/btc-signer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAddress } from "../../src/core/address.ts";
import { addressOfScript, parseBitcoinAddress, scriptOfAddress } from "../../src/core/bitcoin-address.ts";
import type { BitcoinAddressForm } from "../../src/core/network.ts";

const MAIN = { bech32: "bc", pubKeyHash: 0x00, scriptHash: 0x05, coinType: 0 };
const TEST = { bech32: "tb", pubKeyHash: 0x6f, scriptHash: 0xc4, coinType: 1 };
const REGTEST = { ...TEST, bech32: "bcrt" };
const FORMS = [MAIN, TEST, REGTEST];

const reasonOf = (form: BitcoinAddressForm, text: string) => {
  const parsed = parseBitcoinAddress(form, text);
  return parsed.ok ? parsed.address : parsed.reason;
};

/** Address and script that stand for each other. */
const PAIRS: readonly (readonly [string, BitcoinAddressForm, string, string])[] = [
  ["BIP-173", MAIN, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "0014751e76e8199196d454941c45d1b3a323f1433bd6"],
  [
    "BIP-173",
    TEST,
    "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7",
    "00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262",
  ],
  [
    "BIP-350",
    TEST,
    "tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy",
    "0020000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433",
  ],
  [
    "BIP-350",
    TEST,
    "tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c",
    "5120000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433",
  ],
  [
    "BIP-350",
    MAIN,
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
    "512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
  ],
  [
    "BIP-341",
    MAIN,
    "bc1p2wsldez5mud2yam29q22wgfh9439spgduvct83k3pm50fcxa5dps59h4z5",
    "512053a1f6e454df1aa2776a2814a721372d6258050de330b3c6d10ee8f4e0dda343",
  ],
  [
    "BIP-341",
    MAIN,
    "bc1pz37fc4cn9ah8anwm4xqqhvxygjf9rjf2resrw8h8w4tmvcs0863sa2e586",
    "5120147c9c57132f6e7ecddba9800bb0c4449251c92a1e60371ee77557b6620f3ea3",
  ],
  ["the first block", MAIN, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac"],
  ["P2SH", MAIN, "3P14159f73E4gFr7JterCCQh9QjiTjiZrG", "a914e9c3dd0c07aac76179ebc76a6c78d4d67c6c160a87"],
];

describe("an address and its script", () => {
  it.each(PAIRS)("%s: stand for each other", (_, form, address, script) => {
    expect(parseBitcoinAddress(form, address)).toEqual({ ok: true, address });
    expect(scriptOfAddress(form, address)).toBe(script);
    expect(addressOfScript(form, script)).toBe(address);
  });

  it.each(PAIRS.filter(([, { bech32: part }, address]) => address.startsWith(`${part}1`)))(
    "%s: in upper case is the same address, in both cases none",
    (_, form, address) => {
      expect(parseBitcoinAddress(form, address.toUpperCase())).toEqual({ ok: true, address });
      const head = `${form.bech32.toUpperCase()}${address.slice(form.bech32.length)}`;
      expect(reasonOf(form, head)).toBe("malformed");
      expect(reasonOf(form, `${address.slice(0, -1)}${address.slice(-1).toUpperCase()}`)).toBe(
        /[a-z]$/.test(address) ? "malformed" : address,
      );
    },
  );

  it("is refused where it must be good already", () => {
    expect(() => scriptOfAddress(REGTEST, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")).toThrow(
      /of this chain.*other_network/,
    );
  });
});

describe("what is refused, and why", () => {
  it.each<readonly [string, BitcoinAddressForm, string]>([
    // BIP-350's list.
    ["tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut", MAIN, "malformed"],
    ["bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", MAIN, "bad_checksum"],
    ["tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf", TEST, "bad_checksum"],
    ["BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL", MAIN, "bad_checksum"],
    ["bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh", MAIN, "bad_checksum"],
    ["tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47", TEST, "bad_checksum"],
    ["bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4", MAIN, "malformed"],
    ["BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R", MAIN, "malformed"],
    ["bc1pw5dgrnzv", MAIN, "malformed"],
    ["bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav", MAIN, "malformed"],
    ["BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P", MAIN, "malformed"],
    ["tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq", TEST, "malformed"],
    ["bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf", MAIN, "malformed"],
    ["tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j", TEST, "malformed"],
    ["bc1gmk9yu", MAIN, "malformed"],
    // BIP-350's good addresses whose version has no meaning yet, or whose length has none.
    ["bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y", MAIN, "not_payable"],
    ["BC1SW50QGDZ25J", MAIN, "not_payable"],
    ["bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs", MAIN, "not_payable"],
    // Pay to anchor.
    ["bc1pfeessrawgf", MAIN, "not_payable"],
    // An x that no point has: nobody could ever sign for it.
    [bech32m.encode("bc", [1, ...bech32m.toWords(new Uint8Array(32).fill(0xff))]), MAIN, "not_payable"],
    // Other chains.
    ["bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", REGTEST, "other_network"],
    ["tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7", REGTEST, "other_network"],
    ["tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7", MAIN, "other_network"],
    ["bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs", REGTEST, "other_network"],
    ["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", REGTEST, "other_network"],
    ["3P14159f73E4gFr7JterCCQh9QjiTjiZrG", TEST, "other_network"],
    ["mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", MAIN, "other_network"],
    // Litecoin's spelling of a hash.
    ["LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1", MAIN, "other_network"],
    // Slips and other things.
    ["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", MAIN, "bad_checksum"],
    ["1a1zp1ep5qgefi2dmptftl5slmv7divfna", MAIN, "malformed"],
    ["bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", MAIN, "bad_checksum"],
    ["", MAIN, "malformed"],
    ["1", MAIN, "malformed"],
    ["bc1", MAIN, "malformed"],
    [" bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", MAIN, "malformed"],
    ["bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4\n", MAIN, "malformed"],
    ["bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", MAIN, "malformed"],
    ["0x52908400098527886E0F7030069857D2E4169EE7", MAIN, "malformed"],
    [`bc1${"q".repeat(88)}`, MAIN, "malformed"],
    ["1".repeat(36), MAIN, "malformed"],
    // A key, which has the form of an address and is none.
    ["5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ", MAIN, "malformed"],
    ["\u0131A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", MAIN, "malformed"],
    ["\u212aC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", MAIN, "malformed"],
  ])("%j", (text, form, reason) => {
    expect(reasonOf(form, text)).toBe(reason);
  });

  it("reaches the callers of parseAddress", () => {
    const rules = { family: "bitcoin", addresses: REGTEST } as const;
    expect(parseAddress(rules, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")).toEqual({ ok: false, reason: "other_network" });
  });
});

const isPoint = (text: string) => {
  try {
    return OutScript.decode(Buffer.from(text, "hex")).type === "tr";
  } catch {
    return false;
  }
};
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map(bytesToHex);
const form = fc.constantFrom(...FORMS);
/** A script of one of the five forms. P2TR: only keys that are points. */
const script = fc.oneof(
  bytes(20).map((hash) => `76a914${hash}88ac`),
  bytes(20).map((hash) => `a914${hash}87`),
  bytes(20).map((hash) => `0014${hash}`),
  bytes(32).map((hash) => `0020${hash}`),
  bytes(32)
    .map((key) => `5120${key}`)
    .filter(isPoint),
);

describe("for every script", () => {
  it("address and script stand for each other, and a second implementation agrees", () => {
    fc.assert(
      fc.property(form, script, (rules, text) => {
        const address = addressOfScript(rules, text);
        if (address === null) throw new Error("one of the five forms has an address");
        expect(parseBitcoinAddress(rules, address)).toEqual({ ok: true, address });
        expect(scriptOfAddress(rules, address)).toBe(text);
        const theirs = Address({ ...rules, wif: 0 });
        expect(theirs.encode(OutScript.decode(Buffer.from(text, "hex")))).toBe(address);
        expect(bytesToHex(OutScript.encode(theirs.decode(address)))).toBe(text);
        for (const other of FORMS.filter(({ bech32: part }) => part !== rules.bech32)) {
          // The two test chains share their base58 form.
          const shared = other.pubKeyHash === rules.pubKeyHash && !address.startsWith(`${rules.bech32}1`);
          expect(reasonOf(other, address)).toBe(shared ? address : "other_network");
        }
      }),
      { numRuns: 300 },
    );
  });

  it("one wrong character anywhere is found", () => {
    const char = fc.constantFrom(..."0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ -");
    fc.assert(
      fc.property(form, script, fc.nat(), char, (rules, text, at, other) => {
        const address = addressOfScript(rules, text) ?? "";
        const place = at % address.length;
        const changed = `${address.slice(0, place)}${other}${address.slice(place + 1)}`;
        const parsed = parseBitcoinAddress(rules, changed);
        expect(parsed.ok).toBe(changed === address);
      }),
      { numRuns: 2_000 },
    );
  });

  it("no text is read as two addresses, and whatever is read has the canonical spelling", () => {
    const alphabet = fc.constantFrom(..."qpzry9x8gf2tvdw0s3jn54khce6mua7l1bcQPZ");
    fc.assert(
      fc.property(form, fc.string({ unit: alphabet, maxLength: 90 }), (rules, text) => {
        const parsed = parseBitcoinAddress(rules, text);
        if (parsed.ok) expect(addressOfScript(rules, scriptOfAddress(rules, parsed.address))).toBe(parsed.address);
      }),
      { numRuns: 2_000 },
    );
  });

  it("every version and length of a program has its answer", () => {
    for (let version = 0; version <= 31; version++) {
      for (const length of [0, 1, 2, 19, 20, 21, 31, 32, 33, 40, 41]) {
        const words = [version, ...bech32.toWords(new Uint8Array(length).fill(2))];
        const address = (version === 0 ? bech32 : bech32m).encode("bc", words);
        const isProgram =
          version <= 16 && length >= 2 && length <= 40 && (version > 0 || length === 20 || length === 32);
        const isForm = version === 0 || (version === 1 && length === 32 && reasonOf(MAIN, address) === address);
        expect(reasonOf(MAIN, address), `${version}/${length}`).toBe(
          !isProgram ? "malformed" : isForm ? address : "not_payable",
        );
      }
    }
  });
});

describe("a script that is none of the five", () => {
  it.each([
    ["", "nothing"],
    ["6a0b68656c6c6f20776f726c64", "OP_RETURN"],
    [`2102${"11".repeat(32)}ac`, "P2PK"],
    [`5121${"02".repeat(33)}51ae`, "bare multisig"],
    ["51024e73", "an anchor"],
    [`5220${"11".repeat(32)}`, "version 2"],
    [`5114${"11".repeat(20)}`, "version 1 with 20 bytes"],
    [`76a914${"11".repeat(20)}88ad`, "almost P2PKH"],
    [`76a815${"11".repeat(20)}88ac`, "almost P2PKH"],
    [`a914${"11".repeat(20)}88`, "almost P2SH"],
    [`0013${"11".repeat(20)}`, "almost P2WPKH"],
    [`0014${"11".repeat(19)}`, "too short"],
    [`0014${"11".repeat(20)}00`, "too long"],
    [`4c14${"11".repeat(20)}`, "another push"],
  ])("%s (%s)", (text) => {
    expect(addressOfScript(MAIN, text)).toBeNull();
  });
});
