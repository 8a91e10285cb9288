/**
 * What Cloudflare bills for a deposit and for a withdrawal: rows written, requests to objects, statements of D1. Counted by
 * the platform's own cursors in workerd, never by hand. What the same blocks cost without them is taken off.
 */

import { newAddress, pay } from "../../test/support/model-chain.ts";
import { type CountedService, type Counts, RECEIVER, startCounted } from "./counted-service.ts";
import type { Bench, BenchResult, Row } from "./result.ts";

const ETH = 10n ** 18n;
const PER_BLOCK = [1, 10, 100];
const AT_ONCE = [1, 10];
const POLL_MS = 100;
/** So long between two looks at a wallet that each of them finds what it waits for. */
const LOOK_MS = 3_000;
const STILL_MS = 600;
/** Longer than the follow-up's alarm behind a commit, which fires and finds nothing left to do. */
const AFTERWARDS_MS = 3_000;
const GOAL_ROWS = 10;
/** Cloudflare's list prices beyond what is included (Workers Paid, 2026). */
const USD_PER_ROW_MILLION = 1;
const USD_PER_REQUEST_MILLION = 0.15;

export const bench: Bench = {
  about: "rows written, requests to objects and statements of D1, for each deposit and each withdrawal",
  async run({ quick, say }): Promise<BenchResult> {
    const rows: Row[] = [];
    const deposits = new Map<number, number>();
    await withMerchant(POLL_MS, async (merchant) => {
      say("the same blocks without a deposit");
      const idle = await merchant.deposits(0);
      for (const count of quick ? PER_BLOCK.slice(0, 2) : PER_BLOCK) {
        say(`${count} in a block`);
        const figures = figuresOf(less(await merchant.deposits(count), idle), count);
        deposits.set(count, figures.rows_written ?? Number.NaN);
        const variant = `deposit, ${count === 1 ? "alone" : `one of ${count}`} in its block`;
        rows.push({ variant, subject: "sluice", figures });
      }
    });
    await withMerchant(LOOK_MS, async (merchant) => {
      const idle = await merchant.deposits(0);
      for (const count of quick ? AT_ONCE.slice(0, 1) : AT_ONCE) {
        say(`${count} withdrawals at once`);
        const variant = `withdrawal, ${count === 1 ? "alone" : `one of ${count} at once`}`;
        rows.push({
          variant,
          subject: "sluice",
          figures: figuresOf(less(await merchant.withdrawals(count), idle), count),
        });
      }
    });
    return {
      rows,
      goals: [...deposits].map(([count, measured]) => ({
        name: `rows written for a deposit, ${count} in a block`,
        ...{ measured, relation: "<=" as const, bound: GOAL_ROWS },
      })),
      notes: [
        "From pending to settled, with one webhook endpoint of default types whose receiver answers at once. An alarm set is a row.",
        "Of a withdrawal three looks at its wallet are in the figures, each of which finds something; the scanner's polls are not.",
        "Not in here: what is written when deliveries are forgotten after 30 days.",
      ],
    };
  },
};

async function withMerchant(pollMs: number, work: (merchant: Merchant) => Promise<void>): Promise<void> {
  const service = await startCounted({ pollMs });
  try {
    await work(await Merchant.start(service));
  } finally {
    await service.stop();
  }
}

class Merchant {
  readonly #service: CountedService;
  readonly #key: string;
  #keys = 0;

  constructor(service: CountedService, key: string) {
    this.#service = service;
    this.#key = key;
  }

  static async start(service: CountedService): Promise<Merchant> {
    const made = await service.api<{ api_key: { secret: string } }>("POST", "/v1/tenants", {
      body: { name: "Counted" },
    });
    const merchant = new Merchant(service, made.api_key.secret);
    await merchant.#post("/v1/webhook-endpoints", { url: RECEIVER });
    const [funded] = await merchant.#watch(1);
    const wallet = (await merchant.#get<{ data: { network: string; address: string }[] }>("/v1/wallets")).data.find(
      ({ network }) => network === "local",
    );
    service.wallets.mine(pay(funded ?? "", 1_000n * ETH), pay(wallet?.address ?? "", 1_000n * ETH));
    await merchant.#mine(3);
    await merchant.#mine(7);
    await merchant.#untilStill();
    return merchant;
  }

  /** So many payments in one block, to an address each; then blocks until they are confirmed, and until they are settled. */
  async deposits(count: number): Promise<Counts> {
    const addresses = await this.#watch(count);
    await this.#untilStill();
    const before = await this.#service.counts();
    this.#service.wallets.mine(...addresses.map((address) => pay(address, ETH)));
    await this.#scanned();
    await this.#untilStill();
    await this.#mine(2);
    await this.#untilStill();
    await this.#mine(7);
    await this.#untilStill();
    if (count > 0) await this.#mustBeSettled(addresses);
    return less(await this.#service.counts(), before);
  }

  /** So many asked for at once; then a block that holds them, and blocks until they are final. */
  async withdrawals(count: number): Promise<Counts> {
    await this.#untilStill();
    const before = await this.#service.counts();
    const made = await Promise.all(
      Array.from({ length: count }, () =>
        this.#post<{ id: string }>(
          "/v1/withdrawals",
          { network: "local", asset: "ETH", amount: "1", destination: newAddress() },
          `cost-${++this.#keys}`,
        ),
      ),
    );
    await until(() => this.#service.wallets.pool.length === count);
    this.#service.wallets.mine();
    await until(async () => (await this.#withdrawals(made)).every(({ fee_units }) => fee_units !== null));
    this.#service.wallets.chain.grow(2);
    await until(async () => (await this.#withdrawals(made)).every(({ state }) => state === "confirmed"));
    this.#service.wallets.chain.grow(7);
    await until(async () => (await this.#inFlight()) === 0);
    await this.#untilStill();
    return less(await this.#service.counts(), before);
  }

  #withdrawals(made: readonly { id: string }[]): Promise<{ state: string; fee_units: string | null }[]> {
    return Promise.all(
      made.map(({ id }) => this.#get<{ state: string; fee_units: string | null }>(`/v1/withdrawals/${id}`)),
    );
  }

  async #inFlight(): Promise<number> {
    const { data } = await this.#get<{ data: { network: string; in_flight: number }[] }>("/v1/wallets");
    return data.find(({ network }) => network === "local")?.in_flight ?? Number.NaN;
  }

  async #mustBeSettled(addresses: readonly string[]): Promise<void> {
    for (const address of [addresses[0], addresses.at(-1)]) {
      const { data } = await this.#get<{ data: { status: string }[] }>(`/v1/deposits?address=${address}`);
      if (data[0]?.status !== "settled") throw new Error(`a deposit is ${data[0]?.status}, not settled`);
    }
  }

  async #watch(count: number): Promise<string[]> {
    const addresses = Array.from({ length: count }, newAddress);
    for (const address of addresses) await this.#post("/v1/addresses", { network: "local", address });
    return addresses;
  }

  async #mine(blocks: number): Promise<void> {
    this.#service.wallets.chain.grow(blocks);
    await this.#scanned();
  }

  async #scanned(): Promise<void> {
    const { head } = this.#service.wallets.chain;
    await until(async () => {
      const { data } = await this.#get<{ data: { id: string; scanned_to: number }[] }>("/v1/networks");
      return data.some(({ id, scanned_to }) => id === "local" && scanned_to === head);
    });
  }

  /** Until nothing is written or called any more but what each poll does. */
  async #untilStill(): Promise<void> {
    await pause(AFTERWARDS_MS);
    for (let last = ""; ; await pause(STILL_MS)) {
      const now = JSON.stringify(Object.entries(await this.#service.counts()).filter(([name]) => !isPoll(name)));
      if (now === last) return;
      last = now;
    }
  }

  #get<Body>(path: string): Promise<Body> {
    return this.#service.api("GET", path, { key: this.#key });
  }

  #post<Body>(path: string, body: unknown, idempotency?: string): Promise<Body> {
    return this.#service.api("POST", path, {
      key: this.#key,
      body,
      ...(idempotency === undefined ? {} : { idempotency }),
    });
  }
}

/** What every poll of the scanner does, and what the reading of states by this benchmark does. */
function isPoll(name: string): boolean {
  return /^(set|fired) ChainScanner$|^call (ChainScanner\.status|Tenant\.(list|get|networkFacts)\w*)$/.test(name);
}

function figuresOf(counts: Counts, items: number): Record<string, number> {
  const sum = (pattern: RegExp) =>
    Object.entries(counts).reduce(
      (total, [name, value]) => total + (pattern.test(name) && !isPoll(name) ? value : 0),
      0,
    ) / items;
  const rows = {
    // Its headers belong to the blocks, whoever is paid in them.
    scanner_rows: sum(/^rows ChainScanner (?!blocks)/),
    tenant_rows: sum(/^rows Tenant /),
    endpoint_rows: sum(/^rows WebhookEndpoint /),
    alarm_rows: sum(/^set /),
    d1_rows: sum(/^D1 rows$/),
  };
  const rowsWritten = Object.values(rows).reduce((total, value) => total + value, 0);
  const requests = sum(/^(call|fired) /);
  return {
    rows_written: rowsWritten,
    ...rows,
    object_requests: requests,
    usd_per_million: rowsWritten * USD_PER_ROW_MILLION + requests * USD_PER_REQUEST_MILLION,
    d1_statements: sum(/^D1 statements$/),
  };
}

function less(counts: Counts, before: Counts): Counts {
  const names = [...new Set([...Object.keys(counts), ...Object.keys(before)])];
  return Object.fromEntries(names.map((name) => [name, (counts[name] ?? 0) - (before[name] ?? 0)]));
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const started = Date.now(); !(await holds()); await pause(100)) {
    if (Date.now() - started > 60_000) throw new Error("what was waited for did not come in a minute");
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
