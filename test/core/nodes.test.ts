/** Several providers of one network: who is asked first, and who never again. */

import { describe, expect, it } from "vitest";
import { ChainNodes, createChainNodes } from "../../src/chains/nodes.ts";
import { ChainFault, type ChainNode } from "../../src/chains/port.ts";
import { afterOutcome, type NodeHealth, newHealth, penalty, ranking } from "../../src/core/health.ts";
import type { NetworkSettings } from "../../src/core/network.ts";
import { FakeChain, FakeNode, STRANGER } from "../support/fake-rpc.ts";

const LOCAL = { id: "local", caip2: "eip155:31337", internal: true };
const T0 = 1_700_000_000_000;

function stub(name: string, chain: () => Promise<string> = async () => "eip155:31337") {
  const calls: string[] = [];
  const reading = {
    blocks: [],
    transfers: [],
    stopped: null,
    internal: "off" as const,
    irregularLogs: 0,
    shortTransfers: 0,
    unweighedTransfers: 0,
  };
  const node: ChainNode = {
    name,
    async tip() {
      calls.push("tip");
      return { head: { height: 1, hash: "0x1", parentHash: "0x0", timestamp: 0 }, finalized: null };
    },
    async headers() {
      calls.push("headers");
      return [];
    },
    async readBlocks() {
      calls.push("readBlocks");
      return reading;
    },
    async readRange() {
      calls.push("readRange");
      return reading;
    },
    async token() {
      calls.push("token");
      return null;
    },
    chain() {
      calls.push("chain");
      return chain();
    },
  };
  return { node, calls };
}

const names = (nodes: ChainNodes, now: number) => nodes.candidates(now).map((node) => node.name);
const answered = (head: number | null, latencyMs = 20) => ({ kind: "answered", latencyMs, head }) as const;
const failed = { kind: "failed", latencyMs: 20 } as const;

function at(nodes: ChainNodes, name: string, now: number): ChainNode {
  const node = nodes.candidates(now).find((candidate) => candidate.name === name);
  if (node === undefined) throw new Error(`${name} is not a candidate`);
  return node;
}

describe("candidates", () => {
  it("keep the configured order while all do equally well", () => {
    const nodes = new ChainNodes(
      LOCAL,
      ["a", "b", "c"].map((name) => stub(name).node),
    );
    expect(names(nodes, T0)).toEqual(["a", "b", "c"]);
    for (const [name, latencyMs] of [
      ["a", 90],
      ["b", 5],
      ["c", 40],
    ] as const) {
      nodes.report(at(nodes, name, T0), answered(100, latencyMs), T0);
    }
    expect(names(nodes, T0)).toEqual(["a", "b", "c"]);
  });

  it("put a failing node last, and let it come back with time", () => {
    const nodes = new ChainNodes(
      LOCAL,
      ["a", "b"].map((name) => stub(name).node),
    );
    nodes.report(at(nodes, "a", T0), failed, T0);
    expect(names(nodes, T0)).toEqual(["b", "a"]);
    expect(names(nodes, T0 + 60_000)).toEqual(["b", "a"]);
    expect(names(nodes, T0 + 600_000)).toEqual(["a", "b"]);
  });

  it("put a node that lags behind the others, and a slow one after a quick one", () => {
    const nodes = new ChainNodes(
      LOCAL,
      ["a", "b", "c"].map((name) => stub(name).node),
    );
    nodes.report(at(nodes, "c", T0), answered(200), T0);
    nodes.report(at(nodes, "a", T0), answered(190), T0);
    nodes.report(at(nodes, "b", T0), answered(200, 3_000), T0);
    expect(names(nodes, T0)[0]).toBe("c");
    nodes.report(at(nodes, "a", T0), answered(199), T0 + 1);
    expect(names(nodes, T0 + 1)[0]).toBe("a");
  });

  it("do not follow a node that claims an absurd head and has nothing to show for it", () => {
    const nodes = new ChainNodes(
      LOCAL,
      ["honest", "liar"].map((name) => stub(name).node),
    );
    let now = T0;
    for (let poll = 0; poll < 60; poll++) {
      now += 12_000;
      nodes.report(at(nodes, "honest", now), answered(100 + poll), now);
      nodes.report(at(nodes, "liar", now), answered(10 ** 12), now);
      nodes.report(at(nodes, "liar", now), { kind: "stopped", reason: "not_known", latencyMs: 20 }, now);
    }
    expect(names(nodes, now)).toEqual(["honest", "liar"]);
  });

  it("put a node without traces after one that may have them, where they are asked for", () => {
    const inOrder = (internal: boolean) =>
      new ChainNodes({ ...LOCAL, internal }, [{ ...stub("a").node, lacksTraces: true }, stub("b").node]);
    expect(names(inOrder(true), T0)).toEqual(["b", "a"]);
    expect(names(inOrder(false), T0)).toEqual(["a", "b"]);
    // One slip does not bring it forward; a node that fails again and again is no help.
    const nodes = inOrder(true);
    nodes.report(at(nodes, "b", T0), failed, T0);
    expect(names(nodes, T0)).toEqual(["b", "a"]);
    nodes.report(at(nodes, "b", T0), failed, T0);
    expect(names(nodes, T0)).toEqual(["a", "b"]);
  });

  it("refuses a report about a node that is not its own", () => {
    const nodes = new ChainNodes(LOCAL, [stub("a").node]);
    expect(() => nodes.report(stub("a").node, failed, T0)).toThrow(/not one of this network/);
  });
});

describe("the chain", () => {
  it("is asked for once, before anything else is believed", async () => {
    const { node, calls } = stub("a");
    const [candidate] = new ChainNodes(LOCAL, [node]).candidates(T0);
    await Promise.all([candidate?.tip(), candidate?.headers(1, 2)]);
    await candidate?.token("0x");
    expect(calls).toEqual(["chain", "tip", "headers", "token"]);
  });

  it("of another chain bars a node for good, naming both", async () => {
    const wrong = stub("wrong.test", async () => "eip155:1");
    const nodes = new ChainNodes(LOCAL, [wrong.node, stub("right.test").node]);
    const candidate = at(nodes, "wrong.test", T0);
    const message = "node wrong.test serves eip155:1, network local is eip155:31337";
    for (let i = 0; i < 2; i++) {
      await expect(candidate.tip()).rejects.toMatchObject({ name: "ChainFault", retryable: false, message });
    }
    nodes.report(candidate, failed, T0);
    expect(wrong.calls).toEqual(["chain"]);
    expect(names(nodes, T0)).toEqual(["right.test"]);
    expect(names(nodes, T0 + 10 ** 10)).toEqual(["right.test"]);
    expect(nodes.refused).toEqual([{ node: "wrong.test", message }]);
  });

  it("is asked for again when there was no answer", async () => {
    let attempts = 0;
    const flaky = stub("a", async () => {
      attempts += 1;
      if (attempts === 1) throw new ChainFault("a: no answer", true, "a");
      return "eip155:31337";
    });
    const [candidate] = new ChainNodes(LOCAL, [flaky.node]).candidates(T0);
    await expect(candidate?.tip()).rejects.toMatchObject({ retryable: true });
    await candidate?.tip();
    await candidate?.tip();
    expect(attempts).toBe(2);
  });
});

describe("createChainNodes", () => {
  const settings: NetworkSettings = {
    ...LOCAL,
    family: "evm",
    chainId: 31_337,
    nativeAsset: { symbol: "ETH", decimals: 18 },
    confirmations: 3,
    finality: "depth",
    minConfirmSeconds: 0,
    reorgWindow: 20,
    pollMs: 1_000,
    native: true,
    internal: true,
    pool: false,
    tokens: [],
    payout: { kind: "nonces", maxFeeGwei: 1000, feeModel: "eip1559", replaceAfterBlocks: 5, deadlineS: 3600 },
  };

  it("makes a node for each URL, named by its host alone", async () => {
    const fake = new FakeNode(new FakeChain());
    const urls = ["https://key@one.test/v3/secret", "http://two.test:8545/secret"];
    const nodes = createChainNodes({ settings, urls, fetch: fake.fetch, timeoutMs: 1_000 });
    expect(names(nodes, T0)).toEqual(["one.test", "two.test:8545"]);
    expect((await nodes.candidates(T0)[0]?.tip())?.head.height).toBe(0);
    expect(fake.calls[0]?.method).toBe("eth_chainId");
  });

  it("tells how each provider does, by its host alone", async () => {
    const well = new FakeNode(new FakeChain());
    let now = 0;
    const through: typeof fetch = async (input, init) => {
      now += 200;
      if (String(input).includes("two.test")) return new Response("busy", { status: 503 });
      return well.fetch(input, init);
    };
    const urls = ["https://one.test/secret", "https://two.test/secret"];
    const nodes = createChainNodes({ settings, urls, fetch: through, timeoutMs: 1_000, now: () => now });
    const [one, two] = nodes.candidates(T0);
    if (one === undefined || two === undefined) throw new Error("there are two nodes");
    await one.tip();
    nodes.report(one, answered(10), T0);
    await expect(two.tip()).rejects.toThrow();
    nodes.report(two, failed, T0);
    nodes.report(two, { kind: "stopped", reason: "inconsistent", latencyMs: 20 }, T0);
    const [first, second] = nodes.standings(T0);
    expect(first).toMatchObject({ provider: "one.test", isHealthy: true, doubts: new Map() });
    expect(first?.tally).toMatchObject({ latencyMs: 200, failures: new Map() });
    expect(first?.tally?.totalMs).toBe(200 * (first?.tally?.requests ?? 0));
    expect(second).toMatchObject({ provider: "two.test", isHealthy: false, head: null });
    expect(second?.tally).toMatchObject({ requests: 1, failures: new Map([["status", 1]]) });
    expect(second?.doubts).toEqual(
      new Map([
        ["failed", 1],
        ["inconsistent", 1],
      ]),
    );
  });

  it("turns to the second provider once the first is found to have no traces", async () => {
    const chain = new FakeChain();
    chain.mine([{ to: STRANGER }]);
    const [without, having] = [new FakeNode(chain).lacks("debug_traceBlockByHash"), new FakeNode(chain)];
    const through: typeof fetch = (input, init) =>
      (String(input).includes("one.test") ? without : having).fetch(input, init);
    const urls = ["https://one.test", "https://two.test"];
    const nodes = createChainNodes({ settings, urls, fetch: through, timeoutMs: 1_000 });
    const interest = { contracts: new Set<string>(), native: false, internal: true, watched: () => new Set<string>() };
    const read = async () => (await nodes.candidates(T0)[0]?.readBlocks(1, 1, interest))?.internal;
    expect([await read(), await read()]).toEqual(["untraced", "traced"]);
    expect(names(nodes, T0)).toEqual(["two.test", "one.test"]);
  });

  it("refuses a URL that is none without showing it, and a network without nodes", () => {
    const make = (urls: string[]) => () => createChainNodes({ settings, urls, fetch, timeoutMs: 1_000 });
    expect(make(["not a url with a secret"])).toThrow(/could not be parsed/);
    expect(make(["not a url with a secret"])).not.toThrow(/secret/);
    expect(make([])).toThrow(/local has no node/);
  });
});

describe("health", () => {
  const having = (health: NodeHealth, ...kinds: ("answered" | "failed" | "not_known" | "inconsistent")[]) =>
    kinds.reduce<NodeHealth>((state, kind) => {
      if (kind === "answered") return afterOutcome(state, answered(10), 10, T0);
      if (kind === "failed") return afterOutcome(state, failed, 10, T0);
      return afterOutcome(state, { kind: "stopped", reason: kind, latencyMs: 20 }, 10, T0);
    }, health);

  it.each([
    [["answered"], 0],
    [["failed"], 1],
    [["failed", "answered"], 1],
    [["not_known"], 0.25],
    [["inconsistent"], 1],
    [["failed", "failed", "not_known"], 2.25],
  ] as const)("%j weighs %d", (kinds, weight) => {
    expect(penalty(having(newHealth(T0), ...kinds), T0)).toBeCloseTo(weight);
  });

  it("halves every minute, ends at nothing, and never grows when the clock goes back", () => {
    const health = having(newHealth(T0), "failed", "failed");
    expect(penalty(health, T0 + 60_000)).toBeCloseTo(1);
    expect(penalty(health, T0 + 120_000)).toBeCloseTo(0.5);
    expect(penalty(health, T0 + 3_600_000)).toBe(0);
    expect(penalty(health, T0 - 3_600_000)).toBeCloseTo(2);
  });

  it("is bounded, whatever happens", () => {
    const worst = having(newHealth(T0), ...Array.from({ length: 1_000 }, () => "failed" as const));
    expect(penalty(worst, T0)).toBeLessThanOrEqual(25);
    const behind = afterOutcome(newHealth(T0), answered(0, 10 ** 9), 10 ** 12, T0);
    expect(penalty(behind, T0)).toBeLessThanOrEqual(5);
  });

  it("forgives the one block that separates equals", () => {
    expect(penalty(afterOutcome(newHealth(T0), answered(99), 100, T0), T0)).toBe(0);
    expect(penalty(afterOutcome(newHealth(T0), answered(97), 100, T0), T0)).toBeGreaterThan(0);
  });

  it("ranks with equals in their order", () => {
    const good = { health: newHealth(T0), isIncomplete: false };
    const bad = { ...good, health: having(good.health, "failed") };
    expect(ranking([bad, good, good], T0)).toEqual([1, 2, 0]);
    expect(ranking([{ ...good, isIncomplete: true }, bad, good], T0)).toEqual([2, 1, 0]);
    expect(ranking([], T0)).toEqual([]);
  });
});
