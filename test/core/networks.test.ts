import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MAX_BLOCKS_PER_READ } from "../../src/chains/port.ts";
import { parseAddress } from "../../src/core/address.ts";
import { parseAmount } from "../../src/core/amount.ts";
import { expiresByItself, type NetworkSettings } from "../../src/core/network.ts";
import { networksFrom } from "../../src/core/network-settings.ts";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";

const NEW = {
  family: "evm",
  chain_id: 7777,
  native_asset: { symbol: "FOO", decimals: 18 },
  confirmations: 30,
  reorg_window: 600,
  poll_ms: 2_000,
  finality: "depth",
};
const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const LOCAL_PAYOUT = {
  kind: "nonces",
  maxFeeGwei: 1_000,
  feeModel: "eip1559",
  replaceAfterBlocks: 5,
  deadlineS: 3_600,
};
const OTHER = "0x1111111111111111111111111111111111111111";

function applied(settings: object): Map<string, NetworkSettings> {
  const parsed = networksFrom(JSON.stringify(settings));
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.networks;
}

function network(settings: object, id: string): NetworkSettings {
  const found = applied(settings).get(id);
  if (found === undefined) throw new Error(`${id} is not there`);
  return found;
}

function refusal(json: string | object): string[] {
  const parsed = networksFrom(typeof json === "string" ? json : JSON.stringify(json));
  if (parsed.ok) throw new Error("expected a refusal");
  return parsed.detail.split("\n").map((line) => line.replace(/^NETWORKS: /, ""));
}

const EVM_NETWORKS = BUILT_IN_NETWORKS.filter((built) => built.family === "evm");
const BITCOIN_NETWORKS = BUILT_IN_NETWORKS.filter((built) => built.family === "bitcoin");
const EXPIRING_NETWORKS = BUILT_IN_NETWORKS.filter(expiresByItself);

describe("built-in networks", () => {
  // Measured by others, see docs/networks.md: what a network's blocks take.
  const BLOCK_MS: Record<string, number> = {
    ethereum: 12_000,
    base: 2_000,
    arbitrum: 250,
    optimism: 2_000,
    polygon: 2_000,
    bsc: 450,
    sepolia: 12_000,
    local: 1_000,
    bitcoin: 600_000,
    "bitcoin-regtest": 1_000,
    tron: 3_000,
    "tron-nile": 3_000,
    solana: 400,
    "solana-devnet": 400,
    "solana-local": 400,
  };
  // How many minutes the finalized tag is usually behind, plus the worst stall seen.
  const TAG_MINUTES: Record<string, number> = {
    ethereum: 20 + 60,
    base: 30 + 60,
    arbitrum: 20 + 60,
    optimism: 30 + 60,
    polygon: 1 + 15,
    bsc: 1 + 15,
    // Only final blocks are read: none is behind.
    tron: 0,
    "tron-nile": 0,
    solana: 0,
    "solana-devnet": 0,
    "solana-local": 0,
  };

  it("has every network of the contract, once, on its own chain", () => {
    const ids = BUILT_IN_NETWORKS.map(({ id, caip2, nativeAsset }) => `${id} ${caip2} ${nativeAsset.symbol}`);
    expect(ids).toEqual([
      "ethereum eip155:1 ETH",
      "base eip155:8453 ETH",
      "arbitrum eip155:42161 ETH",
      "optimism eip155:10 ETH",
      "polygon eip155:137 POL",
      "bsc eip155:56 BNB",
      "sepolia eip155:11155111 ETH",
      "local eip155:31337 ETH",
      "bitcoin bip122:000000000019d6689c085ae165831e93 BTC",
      "bitcoin-regtest bip122:0f9188f13cb7b2c71f2a335e3a4fc328 BTC",
      "tron tron:0x2b6653dc TRX",
      "tron-nile tron:0xcd8690dc TRX",
      "solana solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp SOL",
      "solana-devnet solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1 SOL",
      "solana-local solana:local SOL",
    ]);
    for (const { caip2, chainId } of EVM_NETWORKS) expect(caip2).toBe(`eip155:${chainId}`);
  });

  it("keeps the numbers of the contract for local", () => {
    expect(network({}, "local")).toMatchObject({
      confirmations: 3,
      reorgWindow: 20,
      pollMs: 1_000,
      finality: "depth",
      minConfirmSeconds: 0,
      native: true,
      internal: true,
      tokens: [],
      payout: LOCAL_PAYOUT,
    });
  });

  describe.each(BUILT_IN_NETWORKS)("$id", (built) => {
    const blockMs = BLOCK_MS[built.id] ?? Number.NaN;

    it("keeps a window with room above its depth, within what is allowed", () => {
      expect(built.reorgWindow).toBeGreaterThanOrEqual(2 * built.confirmations);
      expect(built.reorgWindow).toBeLessThanOrEqual(20_000);
    });

    it("reads at most half of one reading in each poll", () => {
      expect(built.pollMs / blockMs).toBeLessThanOrEqual(MAX_BLOCKS_PER_READ / 2);
      expect(built.pollMs).toBeGreaterThanOrEqual(1_000);
    });

    it("B12: does not confirm by a count of blocks alone, unless a block is work", () => {
      if (built.family === "bitcoin") return expect([built.finality, built.minConfirmSeconds]).toEqual(["depth", 0]);
      if (built.id === "local") return expect(built.finality).toBe("depth");
      if (built.id === "solana-local") return expect([built.finality, built.minConfirmSeconds]).toEqual(["tag", 0]);
      expect(built.minConfirmSeconds).toBeGreaterThanOrEqual(12);
      // The floor is under what the depth takes anyway: it bites for depths that a merchant chose.
      expect(built.minConfirmSeconds * 1_000).toBeLessThanOrEqual(built.confirmations * blockMs);
    });

    it("B13: its window outlives a stall of the finalized tag", () => {
      const minutes = (built.reorgWindow * blockMs) / 60_000;
      expect(minutes).toBeGreaterThanOrEqual(built.finality === "tag" ? (TAG_MINUTES[built.id] ?? Number.NaN) : 0);
    });

    it("lists canonical tokens, each symbol and contract once", () => {
      const symbols = [built.nativeAsset, ...built.tokens].map(({ symbol }) => symbol.toLowerCase());
      const contracts = built.tokens.map(({ contract }) => contract);
      expect(new Set(symbols).size).toBe(symbols.length);
      expect(new Set(contracts).size).toBe(contracts.length);
      for (const contract of contracts) expect(parseAddress(built, contract)).toEqual({ ok: true, address: contract });
    });
  });

  describe.each(EVM_NETWORKS)("$id", (built) => {
    const blockMs = BLOCK_MS[built.id] ?? Number.NaN;

    it("replaces a payment after one to three minutes, often enough before a person is asked", () => {
      const { replaceAfterBlocks, deadlineS } = built.payout;
      const afterS = (replaceAfterBlocks * blockMs) / 1_000;
      expect(afterS).toBeLessThanOrEqual(180);
      expect(deadlineS).toBeGreaterThanOrEqual(10 * afterS);
      // Where somebody mines by hand, it is after the payment could have been confirmed.
      if (built.id === "local") return expect(replaceAfterBlocks).toBeGreaterThan(built.confirmations);
      expect(afterS).toBeGreaterThanOrEqual(90);
    });

    it("caps what a fee may be: a plain transfer of 21,000 gas costs at most a hundredth of a coin", () => {
      const coins = (built.payout.maxFeeGwei * 21_000) / 1e9;
      expect(built.payout.maxFeeGwei).toBeGreaterThan(0);
      expect(coins).toBeLessThanOrEqual(["polygon", "local"].includes(built.id) ? 0.04 : 0.01);
      expect(built.payout.feeModel).toBe("eip1559");
      expect(built.pool).toBe(false);
    });
  });

  describe.each(BITCOIN_NETWORKS)("$id", (built) => {
    it("B73: keeps the blocks that a coinbase output waits for inside the window", () => {
      expect(built.reorgWindow).toBeGreaterThanOrEqual(101);
    });

    it("has several chances to replace a payment before a person is asked, after it could have been confirmed", () => {
      const { replaceAfterBlocks, deadlineS } = built.payout;
      expect(replaceAfterBlocks).toBeGreaterThanOrEqual(built.confirmations);
      expect(deadlineS).toBeGreaterThanOrEqual((6 * replaceAfterBlocks * (BLOCK_MS[built.id] ?? Number.NaN)) / 1_000);
    });

    it("caps what a fee may be: one input and two outputs, 150 bytes, cost at most a thousandth of a coin", () => {
      expect((built.payout.maxFeeRate * 150) / 1e8).toBeLessThanOrEqual(0.001);
      expect(built.payout.minFeeRate).toBeGreaterThanOrEqual(1);
      expect(built.payout.minFeeRate).toBeLessThan(built.payout.maxFeeRate);
    });

    it("reads neither traces nor tokens", () => {
      expect([built.native, built.internal, built.tokens]).toEqual([true, false, []]);
    });
  });

  describe.each(EXPIRING_NETWORKS)("$id", (built) => {
    it("reads final blocks alone", () => {
      expect([built.finality, built.pool]).toEqual(["tag", false]);
    });

    it("makes a payment again after a minute, often enough before a person is asked", () => {
      const { replaceAfterBlocks, deadlineS } = built.payout;
      const lifeS = (replaceAfterBlocks * (BLOCK_MS[built.id] ?? Number.NaN)) / 1_000;
      expect(lifeS).toBe(60);
      expect(deadlineS).toBeGreaterThanOrEqual(10 * lifeS);
    });

    it("caps what a fee may be, in whole base units of its coin", () => {
      const cap = parseAmount(built.payout.maxFee, built.nativeAsset.decimals);
      expect(cap).toEqual({ ok: true, units: built.family === "tron" ? 100_000_000n : 10_000_000n });
    });
  });

  it("reads the pool only where it is small", () => {
    expect(BITCOIN_NETWORKS.map(({ id, pool }) => [id, pool])).toEqual([
      ["bitcoin", false],
      ["bitcoin-regtest", true],
    ]);
  });

  it("B13: polygon survives a reorganisation of 157 blocks without asking a person", () => {
    const polygon = network({}, "polygon");
    expect(polygon.reorgWindow).toBeGreaterThan(10 * 157);
    expect(polygon.confirmations).toBeGreaterThan(157);
  });

  it.each(["base", "arbitrum", "optimism"])("%s waits for the tag: a sequencer's block is soft", (id) => {
    expect(network({}, id).finality).toBe("tag");
  });

  it("knows that dollars have 18 decimals on BSC and 6 elsewhere", () => {
    for (const { id, tokens } of BUILT_IN_NETWORKS) {
      for (const { symbol, decimals } of tokens) {
        if (/^USD[CT]/.test(symbol)) expect([id, symbol, decimals]).toEqual([id, symbol, id === "bsc" ? 18 : 6]);
      }
    }
  });

  it("has its numbers in docs/networks.md", () => {
    const page = readFileSync(new URL("../../docs/networks.md", import.meta.url), "utf8");
    for (const built of BUILT_IN_NETWORKS) {
      const numbers = [
        built.finality === "tag" ? "finalized tag" : "depth",
        built.confirmations.toLocaleString("en-US"),
        `${built.minConfirmSeconds} s`,
        built.reorgWindow.toLocaleString("en-US"),
        `${built.pollMs / 1_000} s`,
        built.internal ? "traced" : "off",
      ];
      expect(page).toContain(`| ${built.id} | ${built.nativeAsset.symbol} | ${numbers.join(" | ")} |`);
    }
  });

  it("has its payout numbers in docs/networks.md", () => {
    const page = readFileSync(new URL("../../docs/networks.md", import.meta.url), "utf8");
    for (const { id, payout } of EVM_NETWORKS) {
      const numbers = [payout.maxFeeGwei, payout.replaceAfterBlocks, payout.deadlineS].map((n) =>
        n.toLocaleString("en-US"),
      );
      const [fee, blocks, deadline] = numbers;
      expect(page).toContain(`| ${id} | ${payout.feeModel} | ${fee} gwei | ${blocks} blocks | ${deadline} s |`);
    }
    for (const { id, pool, payout } of BITCOIN_NETWORKS) {
      const { minFeeRate, maxFeeRate, feeTargetBlocks, maxBatch, replaceAfterBlocks, deadlineS } = payout;
      const fees = `${minFeeRate} to ${maxFeeRate} sat/vB | ${feeTargetBlocks} blocks`;
      const pace = `${replaceAfterBlocks} blocks | ${deadlineS.toLocaleString("en-US")} s`;
      expect(page).toContain(`| ${id} | ${fees} | ${maxBatch} | ${pace} | ${pool ? "read" : "off"} |`);
    }
    for (const { id, nativeAsset, payout } of EXPIRING_NETWORKS) {
      const pace = `${payout.replaceAfterBlocks} blocks | ${payout.deadlineS.toLocaleString("en-US")} s`;
      expect(page).toContain(`| ${id} | ${payout.maxFee} ${nativeAsset.symbol} | ${pace} |`);
    }
  });

  it("has each token in docs/networks.md with its checksum, decimals and two sources, and no other", () => {
    const page = readFileSync(new URL("../../docs/networks.md", import.meta.url), "utf8");
    const rows = page
      .split("\n")
      .map((line) => line.split("|").map((cell) => cell.trim()))
      .filter((cells) => /^`(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})`$/.test(cells[3] ?? ""));
    const documented = rows.map(([, id, symbol, contract, decimals, first, second]) => {
      expect(first && second, `${id} ${symbol} needs two sources`).toBeTruthy();
      expect(first, `${id} ${symbol} has one source twice`).not.toBe(second);
      // parseAddress refuses mixed case with a wrong checksum, so this checks the spelling as well.
      const parsed = parseAddress(network({}, id ?? ""), (contract ?? "").slice(1, -1));
      return [id, symbol, parsed.ok ? parsed.address : parsed.reason, Number(decimals)];
    });
    const built = BUILT_IN_NETWORKS.flatMap(({ id, tokens }) =>
      tokens.map(({ symbol, contract, decimals }) => [id, symbol, contract, decimals]),
    );
    expect(documented).toEqual(built);
  });
});

describe("NETWORKS", () => {
  it.each([undefined, "", "  \n"])("is not set (%j): the built-in networks as they are", (json) => {
    const parsed = networksFrom(json);
    expect(parsed.ok && [...parsed.networks.values()]).toEqual([...BUILT_IN_NETWORKS]);
  });

  it.each([
    [{ confirmations: 5 }, { confirmations: 5 }],
    [{ reorg_window: 40 }, { reorgWindow: 40 }],
    [{ poll_ms: 100 }, { pollMs: 100 }],
    [{ finality: "tag" }, { finality: "tag" }],
    [{ native: false }, { native: false }],
    [{ internal: false }, { internal: false }],
    [{ min_confirm_seconds: 7 }, { minConfirmSeconds: 7 }],
    [{ max_fee_gwei: 0.5 }, { payout: { ...LOCAL_PAYOUT, maxFeeGwei: 0.5 } }],
    [{ max_fee_gwei: 0.000000001 }, { payout: { ...LOCAL_PAYOUT, maxFeeGwei: 0.000000001 } }],
    [{ max_fee_gwei: 1_000_000 }, { payout: { ...LOCAL_PAYOUT, maxFeeGwei: 1_000_000 } }],
    [{ fee_model: "legacy" }, { payout: { ...LOCAL_PAYOUT, feeModel: "legacy" } }],
    [{ replace_after_blocks: 1 }, { payout: { ...LOCAL_PAYOUT, replaceAfterBlocks: 1 } }],
    [{ replace_after_blocks: 20_000 }, { payout: { ...LOCAL_PAYOUT, replaceAfterBlocks: 20_000 } }],
    [{ withdrawal_deadline_s: 10 }, { payout: { ...LOCAL_PAYOUT, deadlineS: 10 } }],
    [{ withdrawal_deadline_s: 604_800 }, { payout: { ...LOCAL_PAYOUT, deadlineS: 604_800 } }],
    [{ confirmations: 20 }, { confirmations: 20 }],
    [
      { confirmations: 25, reorg_window: 25 },
      { confirmations: 25, reorgWindow: 25 },
    ],
    [{ family: "evm", chain_id: 31337, native_asset: { symbol: "ETH", decimals: 18 } }, {}],
    [{}, {}],
  ])("changes %j and nothing else", (given, changed) => {
    const before = network({}, "local");
    expect(network({ local: given }, "local")).toEqual({ ...before, ...changed });
    const others = [...applied({ local: given }).values()].filter(({ id }) => id !== "local");
    expect(others).toEqual(BUILT_IN_NETWORKS.filter(({ id }) => id !== "local"));
  });

  it("B38: lists further tokens by their canonical address, behind the built-in ones", () => {
    const local = network(
      { local: { tokens: [{ symbol: "USDC", contract: USDC.replace("0x", "0X"), decimals: 6 }] } },
      "local",
    );
    expect(local.tokens).toEqual([{ symbol: "USDC", contract: USDC.toLowerCase(), decimals: 6 }]);
    const base = network({ base: { tokens: [{ symbol: "FOO", contract: OTHER, decimals: 0 }] } }, "base");
    expect(base.tokens.map(({ symbol }) => symbol)).toEqual(["USDC", "USDbC", "USDT", "DAI", "WETH", "cbBTC", "FOO"]);
  });

  it("adds a network from what its operator states", () => {
    expect(network({ "foo-2": NEW }, "foo-2")).toEqual({
      id: "foo-2",
      family: "evm",
      caip2: "eip155:7777",
      chainId: 7777,
      nativeAsset: { symbol: "FOO", decimals: 18 },
      confirmations: 30,
      reorgWindow: 600,
      pollMs: 2_000,
      finality: "depth",
      minConfirmSeconds: 58,
      native: true,
      internal: true,
      pool: false,
      tokens: [],
      payout: { kind: "nonces", maxFeeGwei: 500, feeModel: "eip1559", replaceAfterBlocks: 90, deadlineS: 3_600 },
    });
    const stated = { ...NEW, native: false, internal: false, min_confirm_seconds: 0 };
    expect(network({ foo: stated }, "foo")).toMatchObject({ native: false, internal: false, minConfirmSeconds: 0 });
  });

  it.each([
    [100, 1_800],
    [7_000, 26],
    [3_600_000, 1],
  ])("replaces on an added network after three minutes at one block per poll of %i ms", (poll_ms, blocks) => {
    expect(network({ foo: { ...NEW, poll_ms } }, "foo").payout.replaceAfterBlocks).toBe(blocks);
    const stated = { max_fee_gwei: 7, fee_model: "legacy", replace_after_blocks: 3, withdrawal_deadline_s: 60 };
    expect(network({ foo: { ...NEW, poll_ms, ...stated } }, "foo").payout).toEqual({
      kind: "nonces",
      maxFeeGwei: 7,
      feeModel: "legacy",
      replaceAfterBlocks: 3,
      deadlineS: 60,
    });
  });

  it("lets development chains share their chain id, and no other", () => {
    expect(network({ "local-b": { ...NEW, chain_id: 31337 } }, "local-b").caip2).toBe("eip155:31337");
    expect(refusal({ mainnet: { ...NEW, chain_id: 1 } })).toEqual(["mainnet.chain_id: 1 is already network ethereum"]);
    expect(refusal({ a: NEW, b: NEW })).toEqual(["b.chain_id: 7777 is already network a"]);
  });

  it.each(["family", "chain_id", "native_asset", "confirmations", "reorg_window", "poll_ms", "finality"])(
    "B12: a new network without %s is refused, there is no default",
    (key) => {
      const problems = refusal({ foo: { ...NEW, [key]: undefined } });
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatch(new RegExp(`^foo\\.${key}: expected .*, got nothing$`));
    },
  );

  const window = "an integer from 1 to 20000";
  const poll = "an integer from 100 to 3600000";
  const symbol = "1 to 20 of A-Z a-z 0-9 . + _ -, beginning with a letter or digit";
  const token = { symbol: "FOO", contract: OTHER, decimals: 6 };
  it.each<[object | string, string]>([
    ["{", "expected a JSON object by network id, got text that is not JSON"],
    ["[]", "expected a JSON object by network id, got []"],
    ["null", "expected a JSON object by network id, got null"],
    [{ base: 1 }, "base: expected an object, got 1"],
    [{ base: null }, "base: expected an object, got null"],
    [{ base: { confirmations: 0 } }, `base.confirmations: expected ${window}, got 0`],
    [{ base: { confirmations: -1 } }, `base.confirmations: expected ${window}, got -1`],
    [{ base: { confirmations: 1.5 } }, `base.confirmations: expected ${window}, got 1.5`],
    [{ base: { confirmations: "3" } }, `base.confirmations: expected ${window}, got "3"`],
    [{ base: { confirmations: null } }, `base.confirmations: expected ${window}, got null`],
    [{ local: { confirmations: 21 } }, "local.confirmations: expected at most reorg_window (20), got 21"],
    [{ base: { reorg_window: 899 } }, "base.confirmations: expected at most reorg_window (899), got 900"],
    [{ base: { reorg_window: 20_001 } }, `base.reorg_window: expected ${window}, got 20001`],
    [{ base: { poll_ms: 99 } }, `base.poll_ms: expected ${poll}, got 99`],
    [{ base: { finality: "safe" } }, 'base.finality: expected one of "depth", "tag", got "safe"'],
    [{ base: { native: 1 } }, "base.native: expected true or false, got 1"],
    [{ base: { internal: "true" } }, 'base.internal: expected true or false, got "true"'],
    [{ base: { min_confirm_seconds: -1 } }, "base.min_confirm_seconds: expected an integer from 0 to 86400, got -1"],
    ...[0, -1, 1_000_001, "300", null].map((given): [object, string] => [
      { base: { max_fee_gwei: given } },
      `base.max_fee_gwei: expected a number from 0.000000001 to 1000000, got ${JSON.stringify(given)}`,
    ]),
    ['{"base":{"max_fee_gwei":1e400}}', "base.max_fee_gwei: expected a number from 0.000000001 to 1000000, got null"],
    [{ base: { fee_model: "eip-1559" } }, 'base.fee_model: expected one of "eip1559", "legacy", got "eip-1559"'],
    ...[0, 20_001, 1.5].map((given): [object, string] => [
      { base: { replace_after_blocks: given } },
      `base.replace_after_blocks: expected ${window}, got ${given}`,
    ]),
    ...[9, 604_801, 60.5].map((given): [object, string] => [
      { base: { withdrawal_deadline_s: given } },
      `base.withdrawal_deadline_s: expected an integer from 10 to 604800, got ${given}`,
    ]),
    [{ base: { family: "cosmos" } }, 'base.family: expected one of "evm", "bitcoin", "tron", "solana", got "cosmos"'],
    [{ base: { family: "solana" } }, 'base.family: a built-in network keeps "evm", got "solana"'],
    [
      { foo: { ...NEW, family: "bitcoin" } },
      'foo.family: expected "evm" for a network that is not built in, got "bitcoin"',
    ],
    [{ base: { chain_id: 8454 } }, "base.chain_id: a built-in network keeps 8453, got 8454"],
    [
      { base: { native_asset: { symbol: "BASE", decimals: 18 } } },
      'base.native_asset.symbol: a built-in network keeps "ETH", got "BASE"',
    ],
    [
      { foo: { ...NEW, native_asset: { symbol: "FOO" } } },
      "foo.native_asset.decimals: expected an integer from 0 to 77, got nothing",
    ],
    [
      { foo: { ...NEW, native_asset: { symbol: "", decimals: 1 } } },
      `foo.native_asset.symbol: expected ${symbol}, got ""`,
    ],
    [{ foo: { ...NEW, native_asset: { ...NEW.native_asset, x: 1 } } }, 'foo.native_asset: unknown key "x"'],
    [{ foo_2: NEW }, '"foo_2": expected a network id of at most 32 of a-z 0-9 -, beginning with a letter or digit'],
    [{ Base: {} }, '"Base": expected a network id of at most 32 of a-z 0-9 -, beginning with a letter or digit'],
    [{ "-a": NEW }, '"-a": expected a network id of at most 32 of a-z 0-9 -, beginning with a letter or digit'],
    [
      '{"__proto__":{}}',
      '"__proto__": expected a network id of at most 32 of a-z 0-9 -, beginning with a letter or digit',
    ],
    ['{"base":{"poll_ms":500,"poll_ms":600}}', "base.poll_ms: this key is named twice"],
    ['{"base":{"poll_ms":500,"poll\\u005fms":600}}', "base.poll_ms: this key is named twice"],
    ['{"base":{},"local":{},"base":{}}', "base: this key is named twice"],
    ['{"base":{"tokens":[{"symbol":"A","symbol":"B"}]}}', "base.tokens.symbol: this key is named twice"],
    [{ base: { tokens: {} } }, "base.tokens: expected an array of {symbol, contract, decimals}, got {}"],
    [
      { base: { tokens: [{ ...token, contract: "0x12" }] } },
      'base.tokens.0.contract: expected an address of this network, got "0x12" (malformed)',
    ],
    [
      { base: { tokens: [{ ...token, contract: USDC.replace("A0b8", "a0b8") }] } },
      'base.tokens.0.contract: expected an address of this network, got "0xa0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48" (bad_checksum)',
    ],
    [{ base: { tokens: [{ ...token, symbol: "usdc" }] } }, 'base.tokens.0.symbol: "usdc" is listed twice'],
    [{ base: { tokens: [{ ...token, symbol: "ETH" }] } }, 'base.tokens.0.symbol: "ETH" is listed twice'],
    [{ base: { tokens: [token, { ...token, symbol: "BAR" }] } }, `base.tokens.1.contract: ${OTHER} is listed twice`],
    [
      { base: { tokens: [{ ...token, decimals: 78 }] } },
      "base.tokens.0.decimals: expected an integer from 0 to 77, got 78",
    ],
  ])("refuses %j", (given, problem) => {
    expect(refusal(given)).toEqual([problem]);
  });

  const COINS = network({}, "bitcoin").payout;
  it.each([
    [{ pool: true }, { pool: true }],
    [{ reorg_window: 101 }, { reorgWindow: 101 }],
    [{ finality: "depth" }, {}],
    [{ family: "bitcoin", native_asset: { symbol: "BTC", decimals: 8 } }, {}],
    [{ min_fee_rate: 0.1 }, { payout: { ...COINS, minFeeRate: 0.1 } }],
    [{ max_fee_rate: 1 }, { payout: { ...COINS, maxFeeRate: 1 } }],
    [{ min_fee_rate: 10_000, max_fee_rate: 10_000 }, { payout: { ...COINS, minFeeRate: 10_000, maxFeeRate: 10_000 } }],
    [{ fee_target_blocks: 1_008 }, { payout: { ...COINS, feeTargetBlocks: 1_008 } }],
    [{ max_batch: 1 }, { payout: { ...COINS, maxBatch: 1 } }],
    [
      { replace_after_blocks: 3, withdrawal_deadline_s: 60 },
      { payout: { ...COINS, replaceAfterBlocks: 3, deadlineS: 60 } },
    ],
  ])("changes a Bitcoin network by %j and nothing else", (given, changed) => {
    expect(network({ bitcoin: given }, "bitcoin")).toEqual({ ...network({}, "bitcoin"), ...changed });
  });

  const rate = "a number from 0.1 to 10000";
  it.each<[object, string]>([
    [{ finality: "tag" }, 'bitcoin.finality: expected "depth", as Bitcoin has no tag, got "tag"'],
    [
      { reorg_window: 100 },
      "bitcoin.reorg_window: expected 101 at least (a coinbase output waits for so many blocks), got 100",
    ],
    [{ min_fee_rate: 501 }, "bitcoin.min_fee_rate: expected at most max_fee_rate (500), got 501"],
    ...[0, 0.09, 10_001, "5", null].flatMap((given): [object, string][] =>
      ["min_fee_rate", "max_fee_rate"].map((key) => [
        { [key]: given },
        `bitcoin.${key}: expected ${rate}, got ${JSON.stringify(given)}`,
      ]),
    ),
    [{ fee_target_blocks: 0 }, "bitcoin.fee_target_blocks: expected an integer from 1 to 1008, got 0"],
    [{ max_batch: 501 }, "bitcoin.max_batch: expected an integer from 1 to 500, got 501"],
    [{ pool: "yes" }, 'bitcoin.pool: expected true or false, got "yes"'],
    [{ chain_id: 1 }, "bitcoin.chain_id: only networks of the evm family have it"],
    [{ family: "evm" }, 'bitcoin.family: a built-in network keeps "bitcoin", got "evm"'],
    [
      { native_asset: { symbol: "XBT", decimals: 8 } },
      'bitcoin.native_asset.symbol: a built-in network keeps "BTC", got "XBT"',
    ],
  ])("refuses %j for a Bitcoin network", (given, problem) => {
    expect(refusal({ bitcoin: given })).toEqual([problem]);
  });

  const TRON = network({}, "tron").payout;
  it.each([
    [{ max_fee: "0.5" }, { payout: { ...TRON, maxFee: "0.5" } }],
    [{ max_fee: "20", withdrawal_deadline_s: 60 }, { payout: { ...TRON, maxFee: "20", deadlineS: 60 } }],
    [
      { internal: false, poll_ms: 3_000 },
      { internal: false, pollMs: 3_000 },
    ],
  ])("changes a TRON network by %j and nothing else", (given, changed) => {
    expect(network({ tron: given }, "tron")).toEqual({ ...network({}, "tron"), ...changed });
  });

  it.each<[string, object, string]>([
    ["tron", { finality: "depth" }, 'tron.finality: expected "tag", as only final blocks are read, got "depth"'],
    ["tron", { max_fee: 5 }, "tron.max_fee: expected a decimal amount, got 5"],
    ["tron", { max_fee: "1e3" }, 'tron.max_fee: expected a decimal amount, got "1e3"'],
    ["tron", { max_fee: "0" }, 'tron.max_fee: expected more than nothing, with at most 6 decimals of TRX, got "0"'],
    [
      "tron",
      { max_fee: "0.0000001" },
      'tron.max_fee: expected more than nothing, with at most 6 decimals of TRX, got "0.0000001"',
    ],
    [
      "tron",
      { replace_after_blocks: 201 },
      "tron.replace_after_blocks: expected 200 at most (all blocks that could hold a payment are read before another is signed), got 201",
    ],
    ["solana", { internal: true }, "solana.internal: only networks of the evm or tron family have it"],
    ["bitcoin", { internal: true }, "bitcoin.internal: only networks of the evm or tron family have it"],
    ["bitcoin", { tokens: [] }, "bitcoin.tokens: only networks of the evm or tron or solana family have it"],
    ["base", { max_fee: "1" }, "base.max_fee: only networks of the tron or solana family have it"],
  ])("refuses, for %s, %j", (id, given, problem) => {
    expect(refusal({ [id]: given })).toEqual([problem]);
  });

  it.each([
    ["bitcoin", { max_fee_gwei: 1, fee_model: "legacy" }, "evm"],
    ["base", { pool: true, min_fee_rate: 1, max_fee_rate: 2, fee_target_blocks: 1, max_batch: 1 }, "bitcoin"],
  ])("refuses, for %s, keys that only another family has", (id, given, family) => {
    const problems = Object.keys(given).map((key) => `${id}.${key}: only networks of the ${family} family have it`);
    expect(refusal({ [id]: given })).toEqual(problems);
  });

  it("refuses an unknown key by its name and says which there are", () => {
    const [problem] = refusal({ base: { confirmation: 3 } });
    expect(problem).toMatch(
      /^base: unknown key "confirmation"; expected one of confirmations, reorg_window, poll_ms, /,
    );
  });

  it("names every problem at once, and shows little of a long value", () => {
    const problems = refusal({ base: { poll_ms: 1, native: "x".repeat(500) }, foo: { ...NEW, confirmations: 601 } });
    expect(problems).toHaveLength(3);
    expect(problems.every((problem) => problem.length < 160)).toBe(true);
  });

  it("reads text that only looks like repeated keys", () => {
    expect(refusal('{"base":{"finality":"{\\"a\\":1,\\"a\\":2}"}}')).toHaveLength(1);
    expect(refusal('{"base":{"finality":"{\\"a\\":1,\\"a\\":2}"}}')[0]).toMatch(/^base\.finality: expected one of/);
    expect(networksFrom('{"base":{"poll_ms":500},"local":{"poll_ms":500}}').ok).toBe(true);
  });
});
