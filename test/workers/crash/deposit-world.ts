/** A merchant with a webhook endpoint that writes down what comes, and what one payment must have led to. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import type { EventView, Page } from "../../../src/core/views.ts";
import type { Env } from "../../../src/env.ts";
import { EVENT_LOG } from "../../support/event-log.ts";
import { newAddress, pay, type Tx } from "../../support/model-chain.ts";
import {
  chain,
  checkBooks,
  checkClaims,
  inScanner,
  local,
  Merchant,
  poll,
  quiet,
  scanner,
  startLine,
} from "../line.ts";
import { type FreshStub, ringAll, until } from "./scenario.ts";

const HOOK = "http://127.0.0.1:9";
export const FINAL_BLOCKS = 6;

export interface Payment {
  readonly address: string;
  readonly account: string;
  readonly tx: Tx;
  readonly units: bigint;
  /** Everything that is told of it has a higher sequence. */
  readonly after: number;
}

let payments = 0;

export class HookedMerchant extends Merchant {
  /** Ids of the events in the order in which they came, as often as they came. */
  readonly received: string[] = [];
  #endpointId = "";

  static async start(): Promise<HookedMerchant> {
    quiet("warn", "error");
    await startLine();
    local.reorgWindow = FINAL_BLOCKS;
    const { id, keyId, key } = await Merchant.signUp();
    const merchant = new HookedMerchant(id, keyId, key);
    merchant.#listen();
    const made = await merchant.call("POST", "/v1/webhook-endpoints", { body: { url: `${HOOK}/${id}` } });
    if (made.status !== 201) throw new Error(`endpoint: ${made.status} ${await made.text()}`);
    merchant.#endpointId = ((await made.json()) as { id: string }).id;
    // Whoever is watched keeps the scanner at work.
    await merchant.watch(newAddress());
    chain.grow(3);
    await poll(2);
    return merchant;
  }

  #listen(): void {
    const nodes = vi.mocked(fetch).getMockImplementation();
    vi.mocked(fetch).mockImplementation(async (input, init) => {
      if (!String(input).startsWith(HOOK)) return nodes?.(input, init) as Promise<Response>;
      this.received.push(new Headers(init?.headers).get("webhook-id") ?? "");
      return new Response(null, { status: 204 });
    });
  }

  objects: readonly FreshStub[] = [() => scanner() as never, () => this.stub as never, () => this.endpoint];

  get endpoint(): DurableObjectStub {
    const { WEBHOOK_ENDPOINT } = env as unknown as Env;
    return WEBHOOK_ENDPOINT.get(WEBHOOK_ENDPOINT.idFromName(this.#endpointId)) as never;
  }

  /** Rings what earlier payments left, so that each run begins alike. */
  async rest(): Promise<void> {
    await ringAll(this.objects, 60_000);
  }

  /** A payment that is to come, to an address of an account of its own. */
  async expectPayment({ isWatched }: { isWatched: boolean }): Promise<Payment> {
    const address = newAddress();
    const account = `customer-${++payments}`;
    const units = 10n ** 15n + BigInt(payments);
    if (isWatched) await this.watch(address, { account });
    const after = await this.inside(
      (_, sql) => sql.exec<{ last: number }>(`SELECT coalesce(max(sequence), 0) AS last FROM ${EVENT_LOG}`).one().last,
    );
    return { address, account, tx: pay(address, units), units, after };
  }

  /** The status of a payment's deposit, or null when nothing was told of it. */
  status({ tx }: Payment): Promise<string | null> {
    return this.inside((_, sql) => {
      const [row] = sql.exec<{ status: string }>("SELECT status FROM deposits WHERE tx_id = ?", tx.hash).toArray();
      return row?.status ?? null;
    });
  }

  /** Whether every event is where it shall go. */
  async isDelivered(): Promise<boolean> {
    const { handed, last } = await this.inside((_, sql) =>
      sql
        .exec<{ handed: number; last: number }>(
          `SELECT (SELECT max(handed_to) FROM endpoints) AS handed, (SELECT max(sequence) FROM ${EVENT_LOG}) AS last`,
        )
        .one(),
    );
    if (handed !== last) return false;
    const waiting = await runInDurableObject(this.endpoint, (_, { storage }) =>
      storage.sql.exec("SELECT 1 FROM deliveries WHERE status = 'pending'").toArray(),
    );
    return waiting.length === 0;
  }

  /** Rings and mines until a payment has come so far; with `delivered`, the merchant has heard it too. */
  until(payment: Payment, status: string, { delivered = false } = {}): Promise<void> {
    const isSo = async () => (await this.status(payment)) === status && (!delivered || (await this.isDelivered()));
    return until(isSo, this.objects);
  }

  async hasRead(height: number): Promise<boolean> {
    return (await inScanner((_, sql) => sql.exec("SELECT scanned_to AS height FROM scanner").one())).height === height;
  }

  /** Whether a backfill has ended. */
  hasBackfilled(backfillId: string): Promise<boolean> {
    return this.inside(
      (_, sql) => sql.exec("SELECT status FROM backfills WHERE id = ?", backfillId).one().status === "done",
    );
  }

  /** What was told of a payment, once each and in order, and what it did to the books. */
  async checkPayment(payment: Payment, told: string): Promise<void> {
    const since = await this.get<Page<EventView>>(`/v1/events?limit=200&after=${payment.after}`);
    const events = since.data.filter(({ data }) => (data as { tx_id?: string }).tx_id === payment.tx.hash);
    expect(events.map(({ type }) => type.replace("deposit.", "")).join(" ")).toBe(told);
    const loud = events.filter(({ type }) => !/pending|dropped/.test(type)).map(({ id }) => id);
    // Repeated perhaps, never left out, and never before what came earlier.
    const first = [...new Set(this.received)].filter((id) => loud.includes(id));
    expect(first).toEqual(loud);
    const held = await this.inside((_, sql) =>
      sql
        .exec<{ available: string; debt: string }>("SELECT * FROM balances WHERE account = ?", payment.account)
        .toArray()
        .map(({ available, debt }) => `${available} ${debt}`),
    );
    expect(held).toEqual([`${payment.units} 0`]);
  }

  async checkAll(): Promise<void> {
    await checkBooks(this);
    await checkClaims(this);
    const ids = (await this.events())
      .filter(({ type }) => !/pending|dropped/.test(type))
      .map(({ id }: EventView) => id);
    expect([...new Set(this.received)].sort()).toEqual(ids.sort());
  }
}
