/** Which confirmation rule applies to a payment, and which rules are refused. */

import { describe, expect, it } from "vitest";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";
import { type ConfirmationRules, checkRules, NO_RULES, ruleFor } from "../../src/core/policy.ts";

const usdc = { symbol: "USDC", decimals: 6 };
const eth = { symbol: "ETH", decimals: 18 };
const depth = { confirmations: 3, finality: "depth" } as const;
const rules: ConfirmationRules = {
  default: 5,
  assets: {
    USDC: {
      default: 2,
      amounts: [
        { from: "1000", confirmations: 12 },
        { from: "100000", confirmations: "finalized" },
        { from: "10", confirmations: 4 },
      ],
    },
  },
};

describe("the rule of a payment", () => {
  it.each([
    ["no rules: the network's depth", NO_RULES, depth, eth, 1n, 3],
    ["no rules: the network's tag", NO_RULES, { confirmations: 3, finality: "tag" } as const, eth, 1n, "finalized"],
    ["the tenant's default", rules, depth, eth, 1n, 5],
    ["the asset's default", rules, depth, usdc, 9_999_999n, 2],
    ["an amount on its step", rules, depth, usdc, 10_000_000n, 4],
    ["an amount between steps", rules, depth, usdc, 999_999_999n, 4],
    ["a large amount", rules, depth, usdc, 1_000_000_000n, 12],
    ["the largest step", rules, depth, usdc, 100_000_000_000n, "finalized"],
  ] as const)("%s", (_name, given, network, asset, units, expected) => {
    expect(ruleFor(network, given, asset, units)).toBe(expected);
  });

  it("is not taken from an object's prototype", () => {
    expect(ruleFor(depth, NO_RULES, { symbol: "constructor", decimals: 0 }, 1n)).toBe(3);
  });
});

describe("rules that cannot be kept are refused", () => {
  const local = BUILT_IN_NETWORKS.find((network) => network.id === "local");
  if (local === undefined) throw new Error("there is no local network");
  const decimalsOf = (symbol: string) => (symbol === "ETH" ? 18 : null);
  const paths = (given: ConfirmationRules) => checkRules(local, given, decimalsOf).map((error) => error.path);
  const ethRules = (from: string, confirmations: number) => ({
    default: null,
    assets: { ETH: { default: null, amounts: [{ from, confirmations }] } },
  });

  it.each([
    ["past the window", { default: 21, assets: {} }, ["default"]],
    ["at the window", { default: 20, assets: {} }, []],
    ["zero", { default: 0, assets: {} }, ["default"]],
    ["a fraction", { default: 1.5, assets: {} }, ["default"]],
    ["an asset that is not listed", { default: null, assets: { NOPE: { default: 1, amounts: [] } } }, ["assets.NOPE"]],
    ["an amount with too many decimals", ethRules("0.0000000000000000001", 2), ["assets.ETH.amounts.0.from"]],
    ["an exponent", ethRules("1e18", 2), ["assets.ETH.amounts.0.from"]],
    ["fine", ethRules("1.5", 2), []],
  ] as const)("%s", (_name, given, expected) => {
    expect(paths(given as ConfirmationRules)).toEqual(expected);
  });

  it("names an amount that is given twice in two spellings", () => {
    const amounts = [
      { from: "1", confirmations: 2 },
      { from: "1.0", confirmations: 3 },
    ];
    expect(paths({ default: null, assets: { ETH: { default: null, amounts } } })).toEqual([
      "assets.ETH.amounts.1.from",
    ]);
  });
});
