/** Extended public keys: which are taken, what they are told, and the official addresses of BIP-44, 49, 84 and 86. */

import { sha256 } from "@noble/hashes/sha256";
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils";
import { createBase58check } from "@scure/base";
import { HDKey } from "@scure/bip32";
import fc from "fast-check";
import { privateKeyToAddress } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { parseAddress } from "../../src/core/address.ts";
import {
  type Account,
  accountFingerprint,
  accountHash,
  accountOf,
  addressAt,
  derivationPath,
  MAX_INDEX,
  packAccount,
  unpackAccount,
} from "../../src/core/derived-address.ts";
import { type AddressType, extendedKeyProblem, readExtendedKey } from "../../src/core/extended-key.ts";
import type { NetworkSettings } from "../../src/core/network.ts";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";

const base58check = createBase58check(sha256);
/** Version bytes of public and private keys (BIP-32, SLIP-132). */
const VERSIONS = {
  xpub: { public: 0x0488b21e, private: 0x0488ade4 },
  ypub: { public: 0x049d7cb2, private: 0x049d7878 },
  zpub: { public: 0x04b24746, private: 0x04b2430c },
  tpub: { public: 0x043587cf, private: 0x04358394 },
  upub: { public: 0x044a5262, private: 0x044a4e28 },
  vpub: { public: 0x045f1cf6, private: 0x045f18bc },
  Zpub: { public: 0x02aa7ed3, private: 0x02aa7a99 },
  Ltub: { public: 0x019da462, private: 0x019d9cfe },
} as const;
type Prefix = keyof typeof VERSIONS;

/** BIP-39 seed of "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about". */
const SEED = hexToBytes(
  "5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4",
);

function keyAt(path: string, prefix: Prefix = "xpub"): HDKey {
  return HDKey.fromMasterSeed(SEED, VERSIONS[prefix]).derive(path);
}
const publicAt = (path: string, prefix: Prefix = "xpub") => keyAt(path, prefix).publicExtendedKey;

function networkOf(id: string): NetworkSettings {
  const found = BUILT_IN_NETWORKS.find((network) => network.id === id);
  if (found === undefined) throw new Error(`${id} is not built in`);
  return found;
}

function account(text: string, id: string, type: AddressType | null = null): Account {
  const read = readExtendedKey(text);
  if (!read.ok) throw new Error(extendedKeyProblem(read));
  const checked = accountOf(networkOf(id), read.key, type);
  if (!checked.ok) throw new Error(`${checked.field}: ${checked.message}`);
  return checked.account;
}

function refusal(text: string, id = "bitcoin", type: AddressType | null = null): string {
  const read = readExtendedKey(text);
  if (!read.ok) return extendedKeyProblem(read);
  const checked = accountOf(networkOf(id), read.key, type);
  return checked.ok ? "taken" : `${checked.field}: ${checked.message}`;
}

describe("official addresses", () => {
  test.each<[string, string, string, AddressType, string, string, string]>([
    // BIP-84, "Test vectors".
    [
      "BIP-84",
      "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs",
      "bitcoin",
      "p2wpkh",
      "m/84'/0'/0'",
      "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
      "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g",
    ],
    // BIP-86, "Test vectors".
    [
      "BIP-86",
      "xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49yfdDEHGCtMMj92pReUsQ",
      "bitcoin",
      "p2tr",
      "m/86'/0'/0'",
      "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr",
      "bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh",
    ],
  ])("%s on the main chain, from the key as the proposal prints it", (_, text, id, type, path, first, second) => {
    const own = account(text, id, type);
    expect(own.path).toBe(path);
    expect(publicAt(path, type === "p2wpkh" ? "zpub" : "xpub")).toBe(text);
    expect([0, 1].map((index) => addressAt(networkOf(id), own, index))).toEqual([first, second]);
  });

  test("BIP-49 on a test chain: the key, and its address with the prefix of its script hash", () => {
    const text =
      "upub5EFU65HtV5TeiSHmZZm7FUffBGy8UKeqp7vw43jYbvZPpoVsgU93oac7Wk3u6moKegAEWtGNF8DehrnHtv21XXEMYRUocHqguyjknFHYfgY";
    const own = account(text, "bitcoin-regtest");
    expect([own.type, own.path]).toEqual(["p2sh-p2wpkh", "m/49'/1'/0'"]);
    expect(addressAt(networkOf("bitcoin-regtest"), own, 0)).toBe("2Mww8dCYPUpKHofjgcXcBCEGmniw9CoaiD2");
  });

  /** Of the same mnemonic, as several wallets and their documents give them. */
  test.each<[AddressType, Prefix, string, string, string]>([
    ["p2pkh", "xpub", "bitcoin", "m/44'/0'/0'", "1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA"],
    ["p2sh-p2wpkh", "ypub", "bitcoin", "m/49'/0'/0'", "37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf"],
    ["p2wpkh", "zpub", "bitcoin", "m/84'/0'/0'", "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"],
    ["p2tr", "xpub", "bitcoin", "m/86'/0'/0'", "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr"],
    ["p2pkh", "tpub", "bitcoin-regtest", "m/44'/1'/0'", "mkpZhYtJu2r87Js3pDiWJDmPte2NRZ8bJV"],
    ["p2sh-p2wpkh", "upub", "bitcoin-regtest", "m/49'/1'/0'", "2Mww8dCYPUpKHofjgcXcBCEGmniw9CoaiD2"],
    ["p2wpkh", "vpub", "bitcoin-regtest", "m/84'/1'/0'", "bcrt1q6rz28mcfaxtmd6v789l9rrlrusdprr9pz3cppk"],
    [
      "p2tr",
      "tpub",
      "bitcoin-regtest",
      "m/86'/1'/0'",
      "bcrt1p8wpt9v4frpf3tkn0srd97pksgsxc5hs52lafxwru9kgeephvs7rqjeprhg",
    ],
    ["evm", "xpub", "ethereum", "m/44'/60'/0'", "0x9858effd232b4033e47d90003d41ec34ecaeda94"],
    ["tron", "xpub", "tron", "m/44'/195'/0'", "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH"],
  ])("%s of %s on %s", (type, prefix, id, path, first) => {
    const own = account(publicAt(path, prefix), id, type);
    expect(own.path).toBe(path);
    expect(addressAt(networkOf(id), own, 0)).toBe(first);
    // What is derived is spelt as what is given by hand, so that both are one watch.
    for (const index of [0, 1, 2]) {
      const address = addressAt(networkOf(id), own, index) ?? "";
      expect(parseAddress(networkOf(id), address)).toEqual({ ok: true, address });
    }
  });

  test("TRON's next ones, without being told the type", () => {
    const own = account(publicAt("m/44'/195'/0'"), "tron");
    expect([1, 2].map((index) => addressAt(networkOf("tron"), own, index))).toEqual([
      "TSeJkUh4Qv67VNFwY8LaAxERygNdy6NQZK",
      "TYJPRrdB5APNeRs4R7fYZSwW3TcrTKw2gx",
    ]);
    expect(accountHash(own)).not.toBe(accountHash(account(publicAt("m/44'/195'/0'"), "ethereum")));
  });

  test("whatever the index: the public side gives the key that the private side has", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_INDEX }), fc.integer({ min: 0, max: 50 }), (index, number) => {
        const path = `m/44'/60'/${number}'`;
        const own = account(publicAt(path), "base");
        const { privateKey } = keyAt(`${path}/0/${index}`);
        const held = privateKeyToAddress(`0x${bytesToHex(privateKey ?? new Uint8Array())}`);
        expect(addressAt(networkOf("base"), own, index)).toBe(held.toLowerCase());
      }),
      { numRuns: 20 },
    );
  });
});

describe("an account", () => {
  const path = "m/84'/0'/3'";

  test("is one, however its key is spelt; another type is another one", () => {
    const zpub = account(publicAt(path, "zpub"), "bitcoin");
    const xpub = account(publicAt(path, "xpub"), "bitcoin", "p2wpkh");
    expect(xpub).toEqual(zpub);
    expect(accountHash(xpub)).toBe(accountHash(zpub));
    expect(accountHash(account(publicAt(path), "bitcoin", "p2tr"))).not.toBe(accountHash(zpub));
    expect(accountHash(account(publicAt("m/84'/0'/4'"), "bitcoin", "p2wpkh"))).not.toBe(accountHash(zpub));
  });

  test("comes back from what is stored of it, and nothing printable says its hash", () => {
    const own = account(publicAt(path), "bitcoin", "p2tr");
    expect(unpackAccount(packAccount(own), own.type, own.path)).toEqual(own);
    expect(packAccount(own)).not.toContain(accountHash(own));
  });

  test("its fingerprint is BIP-32's", () => {
    expect(accountFingerprint(account(publicAt(path), "bitcoin", "p2tr"))).toBe(
      keyAt(path).fingerprint.toString(16).padStart(8, "0"),
    );
  });

  test("every index has its own address, the last one too, and there is none beyond", () => {
    const own = account(publicAt(path), "bitcoin", "p2wpkh");
    const indexes = [0, 1, 2, 1_000, MAX_INDEX - 1, MAX_INDEX];
    expect(new Set(indexes.map((index) => addressAt(networkOf("bitcoin"), own, index))).size).toBe(indexes.length);
    for (const index of [-1, MAX_INDEX + 1, 0.5, Number.NaN]) {
      expect(() => addressAt(networkOf("bitcoin"), own, index)).toThrow("no index");
    }
    expect(derivationPath(17)).toBe("0/17");
  });

  test("an index for which BIP-32 gives no key has no address, and not its neighbour's", () => {
    const own = account(publicAt(path), "bitcoin", "p2wpkh");
    const library = HDKey.prototype.deriveChild;
    const without = (hole: number, how: "throws" | "goes on") => {
      HDKey.prototype.deriveChild = function (this: HDKey, index: number) {
        if (index !== hole) return library.call(this, index);
        if (how === "throws") throw new Error("Tweak bigger than curve order");
        return library.call(this, index + 1);
      };
    };
    try {
      for (const how of ["throws", "goes on"] as const) {
        without(5, how);
        expect(addressAt(networkOf("bitcoin"), own, 5)).toBeNull();
        expect(addressAt(networkOf("bitcoin"), own, 6)).not.toBeNull();
        without(0, how);
        expect(refusal(publicAt(path, "xpub"), "bitcoin", "p2tr")).toBe(
          "xpub: BIP-32 gives no addresses below this key",
        );
      }
    } finally {
      HDKey.prototype.deriveChild = library;
    }
  });
});

describe("what is refused", () => {
  const raw = (text: string, change: (bytes: Uint8Array) => void) => {
    const bytes = base58check.decode(text);
    change(bytes);
    return base58check.encode(bytes);
  };
  const good = publicAt("m/84'/0'/0'");

  test.each<[string, string, string, AddressType | null, string]>([
    ["no type, and the key does not say it", good, "bitcoin", null, "type: xpub does not say"],
    ["the same on a test chain", publicAt("m/84'/1'/0'", "tpub"), "bitcoin-regtest", null, "type: tpub does not say"],
    ["a type against the key", publicAt("m/84'/0'/0'", "zpub"), "bitcoin", "p2tr", "type: zpub is of p2wpkh"],
    ["a type against the key", publicAt("m/49'/0'/0'", "ypub"), "bitcoin", "p2wpkh", "type: ypub is of p2sh-p2wpkh"],
    ["a type of another family", good, "bitcoin", "evm", "type: bitcoin has no such addresses"],
    ["a type of another family", good, "ethereum", "p2wpkh", "type: ethereum has no such addresses"],
    [
      "a test key on the main chain",
      publicAt("m/84'/1'/0'", "tpub"),
      "bitcoin",
      "p2wpkh",
      "xpub: tpub is a key of a test",
    ],
    ["a main key on a test chain", good, "bitcoin-regtest", "p2wpkh", "xpub: xpub is a key of the main chain"],
    ["a main key on a test chain", publicAt("m/84'/0'/0'", "zpub"), "bitcoin-regtest", null, "xpub: zpub is a key of"],
    ["a zpub on an EVM network", publicAt("m/84'/0'/0'", "zpub"), "ethereum", null, "xpub: zpub is a key of Bitcoin's"],
    ["a tpub on an EVM network", publicAt("m/44'/1'/0'", "tpub"), "sepolia", null, "xpub: tpub is a key of Bitcoin's"],
    ["a zpub on TRON", publicAt("m/84'/0'/0'", "zpub"), "tron", null, "xpub: zpub is a key of Bitcoin's"],
    ["a type of another family", good, "tron", "evm", "type: tron has no such addresses"],
    ["a type of another family", good, "ethereum", "tron", "type: ethereum has no such addresses"],
    ["any key on Solana", publicAt("m/44'/501'/0'"), "solana", null, "register it by POST /v1/addresses"],
    ["a master key", publicAt("m"), "bitcoin", "p2wpkh", "xpub: expected an account's key, depth 3"],
    ["a key of an address", publicAt("m/84'/0'/0'/0/7"), "bitcoin", "p2wpkh", "this one is of depth 5, child 7"],
    ["a key of a branch", publicAt("m/84'/0'/0'/0"), "bitcoin", "p2wpkh", "this one is of depth 4, child 0"],
    ["a key above the account", publicAt("m/84'/0'"), "bitcoin", "p2wpkh", "this one is of depth 2, child 0'"],
    ["an account that is not hardened", publicAt("m/84'/0'/0"), "bitcoin", "p2wpkh", "this one is of depth 3, child 0"],
    ["one key of several", publicAt("m/48'/0'/0'", "Zpub"), "bitcoin", null, "a Zpub is one of several keys"],
    ["a key of another coin", publicAt("m/84'/2'/0'", "Ltub"), "bitcoin", null, "its version bytes, 019da462"],
    ["a cut key", good.slice(0, -1), "bitcoin", "p2wpkh", "the checksum does not match"],
    ["two digits swapped", good.replace("6C", "C6"), "bitcoin", "p2wpkh", "the checksum does not match"],
    ["blanks around it", ` ${good}`, "bitcoin", "p2wpkh", "not an extended public key"],
    ["an address", "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", "bitcoin", "p2wpkh", "not an extended public key"],
    ["nothing", "", "bitcoin", "p2wpkh", "not an extended public key"],
    ["something long", "1".repeat(100_000), "bitcoin", "p2wpkh", "not an extended public key"],
    ["a key of the wrong length", base58check.encode(new Uint8Array(40)), "bitcoin", "p2wpkh", "not an extended"],
    [
      "one byte more",
      base58check.encode(concatBytes(base58check.decode(good), new Uint8Array(1))),
      "bitcoin",
      "p2wpkh",
      "not an extended",
    ],
    [
      "a point that is not on the curve",
      raw(good, (b) => b.set(new Uint8Array(32).fill(5), 46)),
      "bitcoin",
      "p2wpkh",
      "not a point",
    ],
    [
      "a coordinate above the field",
      raw(good, (b) => b.set(new Uint8Array(32).fill(255), 46)),
      "bitcoin",
      "p2wpkh",
      "not a point",
    ],
    ["a point with another mark", raw(good, (b) => b.set([4], 45)), "bitcoin", "p2wpkh", "not a point"],
  ])("%s: %s on %s as %s", (_, text, id, type, message) => {
    expect(refusal(text, id, type)).toContain(message);
  });

  describe("a private key, whatever else it is", () => {
    const secrets = (Object.keys(VERSIONS) as Prefix[]).map((prefix) => {
      return { prefix, text: keyAt("m/84'/0'/0'", prefix).privateExtendedKey };
    });
    const xprv = keyAt("m/84'/0'/0'").privateExtendedKey;

    test.each<readonly [string, string]>([
      ...secrets.map(({ prefix, text }) => [`the private side of ${prefix}`, text] as const),
      ["cut", xprv.slice(0, 40)],
      ["with a typing error", `${xprv.slice(0, 60)}l${xprv.slice(61)}`],
      ["in capitals", xprv.toUpperCase()],
      ["with blanks before it", `  ${xprv}`],
      ["of the master", keyAt("m").privateExtendedKey],
      ["below a public key's version", raw(xprv, (b) => b.set([0x04, 0x88, 0xb2, 0x1e]))],
    ])("%s", (_, text) => {
      const message = refusal(text, "bitcoin", "p2wpkh");
      expect(message).toContain("an extended private key");
      for (let at = 0; at + 8 <= text.length; at += 4) expect(message).not.toContain(text.slice(at, at + 8));
    });
  });
});
