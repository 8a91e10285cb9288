/**
 * Whether a poll and its commit take longer once there is much: ten million watched addresses of a hundred thousand
 * idle tenants, a million past deposits of the tenant that is paid. The same blocks are read beside a service that has
 * neither, in turn.
 */

import { randomBytes } from "node:crypto";
import { newAddress, pay } from "../../test/support/model-chain.ts";
import { type CountedService, type Counts, startCounted } from "./counted-service.ts";
import { seedDeposits, seedWatches } from "./growth-seed.ts";
import { type Bench, type BenchResult, inTurns, median } from "./result.ts";

/** No poll comes by itself. */
const NEVER_MS = 3_600_000;
const STRANGERS_PER_BLOCK = 100;
const POLLS_PER_TURN = 4;
const FEW_ADDRESSES = 1_000;
const MOST_GROWTH = 1.2;

interface Size {
  readonly addresses: number;
  readonly tenants: number;
  readonly deposits: number;
}

export const bench: Bench = {
  about: "one poll and its commit, with little and with much that is watched, told and idle",
  async run({ rounds, quick, say }): Promise<BenchResult> {
    const scale = quick ? 10 : 1;
    const sizes: Readonly<Record<string, Size>> = {
      little: { addresses: FEW_ADDRESSES, tenants: 0, deposits: 0 },
      "many addresses": { addresses: 10_000_000 / scale, tenants: 100_000 / scale, deposits: 0 },
      "many deposits": { addresses: FEW_ADDRESSES, tenants: 0, deposits: 1_000_000 / scale },
    };
    const grown = new Map<string, Grown>();
    try {
      for (const [name, size] of Object.entries(sizes)) {
        say(`${name}: ${JSON.stringify(size)}`);
        grown.set(name, await Grown.start(size));
      }
      say("polls in turn");
      const contestants = Object.fromEntries([...grown].map(([name, one]) => [name, () => one.turn()]));
      await inTurns(1, contestants);
      const turns = await inTurns(rounds, contestants);
      const calls = Object.fromEntries(
        await Promise.all([...grown].map(async ([name, one]) => [name, await one.strangersCalled()])),
      );
      const figures = (name: string) => ({
        paid_ms: median((turns[name] ?? []).flatMap(({ paid }) => paid)),
        empty_ms: median((turns[name] ?? []).flatMap(({ empty }) => empty)),
        calls_of_idle_tenants: Number(calls[name]),
      });
      const ratio = (name: string, of: "paid_ms" | "empty_ms") => figures(name)[of] / figures("little")[of];
      return {
        rows: Object.keys(sizes).map((variant) => ({ variant, subject: "sluice", figures: figures(variant) })),
        goals: [
          ...["many addresses", "many deposits"].flatMap((name) =>
            (["paid_ms", "empty_ms"] as const).map((of) => ({
              name: `${name}: a poll with ${of === "paid_ms" ? "a payment" : "a block that holds none"}, against little`,
              ...{ measured: ratio(name, of), relation: "<=" as const, bound: MOST_GROWTH },
            })),
          ),
          {
            name: `calls to ${sizes["many addresses"]?.tenants ?? 0} idle tenants`,
            ...{ measured: Number(calls["many addresses"]), relation: "<=" as const, bound: 0 },
          },
        ],
        notes: [
          Object.entries(sizes)
            .map(
              ([name, { addresses, tenants, deposits }]) =>
                `${name}: ${addresses} addresses, ${tenants} idle tenants, ${deposits} past deposits`,
            )
            .join("; "),
          `A poll reads one block with ${STRANGERS_PER_BLOCK} payments to strangers, claims, tells the tenant and waits for its commit.`,
        ],
      };
    } finally {
      for (const one of grown.values()) await one.stop();
    }
  },
};

interface Turn {
  readonly paid: readonly number[];
  readonly empty: readonly number[];
}

/** A service that holds so much, and one tenant that is paid. */
class Grown {
  readonly #service: CountedService;
  readonly #address: string;
  #observed = 0;
  #paid = 0;
  #before: Counts = {};

  constructor(service: CountedService, address: string) {
    this.#service = service;
    this.#address = address;
  }

  static async start(size: Size): Promise<Grown> {
    const service = await startCounted({ pollMs: NEVER_MS });
    const { api_key } = await service.api<{ api_key: { secret: string } }>("POST", "/v1/tenants", {
      body: { name: "Paid" },
    });
    const address = newAddress();
    await service.api("POST", "/v1/addresses", { key: api_key.secret, body: { network: "local", address } });
    const grown = new Grown(service, address);
    await grown.#poll([pay(address, 1n)]);
    for (let i = 0; i < 10; i++) await grown.#poll([]);
    await service.whileStopped((databases) => {
      seedWatches(databases, size);
      if (size.deposits > 0) seedDeposits(databases, size.deposits);
    });
    for (let i = 0; i < 10; i++) await grown.#poll([]);
    grown.#before = await service.counts();
    grown.#paid = 0;
    return grown;
  }

  async turn(): Promise<Turn> {
    const [paid, empty]: [number[], number[]] = [[], []];
    for (let i = 0; i < POLLS_PER_TURN; i++) {
      paid.push(await this.#poll([pay(this.#address, 1n)]));
      this.#paid++;
      // Until it is settled: with nothing due, the tenant is not called.
      for (let blocks = 0; blocks < 8; blocks++) await this.#poll([]);
      empty.push(await this.#poll([]));
    }
    return { paid, empty };
  }

  /** How often somebody else was told than the one that is paid: three times for each payment. */
  async strangersCalled(): Promise<number> {
    const now = await this.#service.counts();
    this.#observed = (now["call Tenant.observe"] ?? 0) - (this.#before["call Tenant.observe"] ?? 0);
    return this.#observed - 3 * this.#paid;
  }

  stop(): Promise<void> {
    return this.#service.stop();
  }

  async #poll(payments: readonly ReturnType<typeof pay>[]): Promise<number> {
    const strangers = Array.from({ length: STRANGERS_PER_BLOCK }, () =>
      pay(`0x${randomBytes(20).toString("hex")}`, 1n),
    );
    this.#service.wallets.chain.mine([...strangers, ...payments]);
    const from = performance.now();
    await this.#service.poll();
    return performance.now() - from;
  }
}
