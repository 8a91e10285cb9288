/** Which logs show a token payment, and which only look like it. */

import { describe, expect, it } from "vitest";
import { type EvmLog, showsPayment, type TokenPayment, TRANSFER_TOPIC } from "../../src/core/transfer-log.ts";

const address = (byte: string) => `0x${byte.repeat(20)}`;
const word = (hex: string) => `0x${hex.padStart(64, "0")}`;
const payment: TokenPayment = { contract: address("cc"), from: address("aa"), to: address("bb"), amountUnits: 255n };

const paid: EvmLog = {
  address: address("cc"),
  topics: [TRANSFER_TOPIC, word("aa".repeat(20)), word("bb".repeat(20))],
  data: word("ff"),
};
const withTopics = (...topics: string[]): EvmLog => ({ ...paid, topics });
const [topic, from, to] = [TRANSFER_TOPIC, word("aa".repeat(20)), word("bb".repeat(20))];

describe("the log of a token payment", () => {
  it.each([
    ["the payment", [paid], true],
    ["the payment among others", [{ ...paid, address: address("dd") }, paid, withTopics()], true],
    ["no logs", [], false],
    ["B96: another contract's", [{ ...paid, address: address("dd") }], false],
    ["another sender", [withTopics(topic, word("a1".repeat(20)), to)], false],
    ["another receiver", [withTopics(topic, from, word("b1".repeat(20)))], false],
    ["sender and receiver the other way round", [withTopics(topic, to, from)], false],
    ["one unit less: the token took a fee", [{ ...paid, data: word("fe") }], false],
    ["one unit more", [{ ...paid, data: word("100") }], false],
    [
      "two halves",
      [
        { ...paid, data: word("80") },
        { ...paid, data: word("7f") },
      ],
      false,
    ],
    ["another event", [withTopics(word("1"), from, to)], false],
    ["an NFT: the fourth topic is its number", [withTopics(topic, from, to, word("ff"))], false],
    ["nothing indexed", [{ ...paid, topics: [topic], data: `${from}${to.slice(2)}${word("ff").slice(2)}` }], false],
    ["no data", [{ ...paid, data: "0x" }], false],
    ["short data", [{ ...paid, data: "0xff" }], false],
    ["two words of data", [{ ...paid, data: `${word("ff")}${"0".repeat(64)}` }], false],
    ["data that is no hex", [{ ...paid, data: `0x${"zz".repeat(32)}` }], false],
    ["a topic with dirt above the address", [withTopics(topic, `0x01${from.slice(4)}`, to)], false],
  ] as const)("%s: %s", (_name, logs, shown) => {
    expect(showsPayment(logs, payment)).toBe(shown);
  });

  it("a payment of nothing needs a log, too", () => {
    const nothing = { ...payment, amountUnits: 0n };
    expect(showsPayment([{ ...paid, data: word("0") }], nothing)).toBe(true);
    expect(showsPayment([{ ...paid, data: "0x" }], nothing)).toBe(false);
  });
});
