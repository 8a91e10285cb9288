import { utils } from "tronweb";
import { describe, expect, it } from "vitest";
import { addressProblem, parseAddress } from "../../src/core/address.ts";
import { tronAddress, tronHex } from "../../src/core/tron-address.ts";

const parse = (text: string) => parseAddress({ family: "tron" }, text);

/** As tronweb's documentation and TRON's explorer show them. */
const USDT = { base58: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", hex: "a614f803b6fd780986a42c78ec9c7f77e6ded13c" };
const BLACK_HOLE = { base58: "TLsV52sRDL79HXGGm9yzwKibb6BeruhUzy", hex: "77944d19c052b73ee2286823aa83f8138cb7032f" };

describe("B50: every spelling of one address is one address", () => {
  it.each([
    USDT.base58,
    `41${USDT.hex}`,
    `41${USDT.hex.toUpperCase()}`,
    `0x41${USDT.hex}`,
    `0X41${USDT.hex.toUpperCase()}`,
    `0x${USDT.hex}`,
    `0X${USDT.hex.toUpperCase()}`,
    "0xa614f803B6FD780986A42c78Ec9c7f77e6DeD13C",
  ])("%s", (text) => {
    expect(parse(text)).toEqual({ ok: true, address: USDT.base58 });
  });

  it("is written and read as tronweb does", () => {
    for (let i = 0; i < 200; i++) {
      const hex = (BigInt(i) ** 17n * 0x1f3a5n + BigInt(i)).toString(16).padStart(40, "0").slice(-40);
      const address = tronAddress(hex);
      expect(address).toBe(utils.address.fromHex(`41${hex}`));
      expect(address).toHaveLength(34);
      expect(tronHex(address)).toBe(hex);
      expect(utils.address.toHex(address)).toBe(`41${hex}`);
    }
  });

  it("keeps an address apart whose 20 bytes begin with 41", () => {
    const hex = `41${"22".repeat(19)}`;
    expect(parse(`0x${hex}`)).toEqual({ ok: true, address: tronAddress(hex) });
    expect(parse(`41${hex}`)).toEqual({ ok: true, address: tronAddress(hex) });
    expect(parse(hex)).toEqual({ ok: false, reason: "malformed" });
  });
});

describe("what is refused", () => {
  it("a TRC-10 token in place of a contract, with a word about it", () => {
    const parsed = parse("1002000");
    expect(parsed.ok ? "" : addressProblem({ family: "tron" }, parsed.reason)).toContain("TRC-10");
  });

  it("a wrong character anywhere", () => {
    for (let i = 1; i < 34; i++) {
      const other = USDT.base58.charAt(i) === "x" ? "y" : "x";
      const wrong = `${USDT.base58.slice(0, i)}${other}${USDT.base58.slice(i + 1)}`;
      const { ok, reason } = { reason: null, ...parse(wrong) };
      expect(ok, wrong).toBe(false);
      expect(["bad_checksum", "malformed"], wrong).toContain(reason);
      if (i > 2) expect(reason, wrong).toBe("bad_checksum");
    }
  });

  it("an EVM spelling whose case is wrong", () => {
    expect(parse("0xa614f803B6FD780986A42c78Ec9c7f77e6DeD13c")).toEqual({ ok: false, reason: "bad_checksum" });
  });

  it.each([
    ["the zero address", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"],
    ["the zero address in hex", `41${"0".repeat(40)}`],
    ["the zero address as the EVM writes it", `0x${"0".repeat(40)}`],
    ["the account that destroys coins", BLACK_HOLE.base58],
    ["the same in hex", `41${BLACK_HOLE.hex}`],
  ])("%s, which nobody has the key of", (_, text) => {
    expect(parse(text)).toEqual({ ok: false, reason: "not_payable" });
  });

  it.each([
    "",
    "T",
    USDT.base58.slice(0, -1),
    `${USDT.base58}a`,
    ` ${USDT.base58}`,
    `${USDT.base58}\n`,
    USDT.base58.toLowerCase(),
    USDT.hex,
    `42${USDT.hex}`,
    `0x42${USDT.hex}`,
    `41${USDT.hex}00`,
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
    "1000001",
  ])("malformed: %j", (text) => {
    expect(parse(text)).toEqual({ ok: false, reason: "malformed" });
  });
});
