import { describe, expect, test } from "vitest";
import { parseAddress } from "../../src/core/address.ts";

/** The examples of EIP-55. */
const CHECKSUMMED = [
  "0x52908400098527886E0F7030069857D2E4169EE7",
  "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
  "0xde709f2102306220921060314715629080e2fb77",
  "0x27b1fdb04752bbc536007a920d24acb045561c26",
  "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
  "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
  "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
];

describe("B38: every spelling of one address is one address", () => {
  test.each(CHECKSUMMED)("%s", (text) => {
    const address = text.toLowerCase();
    const spellings = [
      text,
      address,
      `0x${text.slice(2).toUpperCase()}`,
      `0X${text.slice(2).toUpperCase()}`,
      `0X${text.slice(2)}`,
    ];
    for (const spelling of spellings) expect(parseAddress({ family: "evm" }, spelling)).toEqual({ ok: true, address });
  });

  test.each([
    "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5D359",
    "0XDbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
  ])("a mixed-case address with a wrong checksum is refused: %s", (text) => {
    expect(parseAddress({ family: "evm" }, text)).toEqual({ ok: false, reason: "bad_checksum" });
  });

  test("one wrong case anywhere is found", () => {
    const right = "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    for (let i = 0; i < right.length; i++) {
      const char = right.charAt(i);
      if (!/[a-z]/i.test(char)) continue;
      const other = char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase();
      const wrong = `0x${right.slice(0, i)}${other}${right.slice(i + 1)}`;
      expect(parseAddress({ family: "evm" }, wrong), wrong).toEqual({ ok: false, reason: "bad_checksum" });
    }
  });
});

describe("what is no address", () => {
  const digits = "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
  test.each([
    "",
    "0x",
    digits,
    `0x${digits.slice(1)}`,
    `0x${digits}0`,
    `0x${digits}\n`,
    ` 0x${digits}`,
    `0x${digits} `,
    `x${digits}`,
    `0x${digits.slice(0, 39)}g`,
    `0x${digits.slice(0, 39)}\u0430`,
    `1x${digits}`,
    `0x0x${digits.slice(2)}`,
    "vitalik.eth",
    `ICAP${digits}`,
    `0x${"0".repeat(64)}`,
  ])("%j", (text) => {
    expect(parseAddress({ family: "evm" }, text)).toEqual({ ok: false, reason: "malformed" });
  });

  test("digits without letters need no checksum", () => {
    expect(parseAddress({ family: "evm" }, `0x${"1".repeat(40)}`)).toEqual({
      ok: true,
      address: `0x${"1".repeat(40)}`,
    });
  });
});
