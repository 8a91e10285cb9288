/**
 * One tenant as its own program sees it: an account at the service, watched addresses, listed tokens, and a
 * consumer that takes its webhooks. It remembers what it asked for, so that it can be compared with a chain.
 */

import { createHash } from "node:crypto";
import {
  type AddressView,
  type AssetView,
  type BackfillView,
  type BalanceView,
  type DeliveryView,
  type DepositView,
  type EndpointView,
  EVENT_TYPES,
  type EventView,
  type LedgerEntryView,
  type Page,
} from "../../src/core/views.ts";
import { type Consumer, startConsumer } from "./consumer.ts";
import type { ApiAnswer, Service } from "./service.ts";

export interface Watched extends AddressView {
  /** Base units of the native coin it received and was not to be credited with: they came before the watch. */
  held: bigint;
}

export interface WatchRequest {
  readonly network: string;
  /** By default a fresh one, in lower case. */
  readonly address?: string;
  readonly account?: string;
  readonly startHeight?: number;
  readonly held?: bigint;
}

export interface Merchant {
  readonly tenantId: string;
  readonly key: string;
  readonly endpointId: string;
  readonly webhookSecret: string;
  readonly consumer: Consumer;
  readonly watched: readonly Watched[];
  readonly listed: readonly AssetView[];
  /** The answer as it came, refusals included. */
  ask<Body>(method: string, path: string, body?: unknown): Promise<ApiAnswer<Body>>;
  /** @throws Error when the answer is not 2xx */
  call<Body>(method: string, path: string, body?: unknown): Promise<Body>;
  watch(request: WatchRequest): Promise<Watched>;
  list(network: string, contract: string, symbol?: string): Promise<AssetView>;
  deposits(filter?: Readonly<Record<string, string>>): Promise<DepositView[]>;
  /** Oldest first. */
  events(): Promise<EventView[]>;
  balances(): Promise<BalanceView[]>;
  entries(): Promise<LedgerEntryView[]>;
  deliveries(): Promise<DeliveryView[]>;
  /** Asks for a backfill and waits for its report. */
  backfill(network: string, fromHeight: number, toHeight: number): Promise<BackfillView>;
  close(): Promise<void>;
}

/** Small pages, so that what is compared has crossed many of their borders. */
const PAGE = 50;
const BACKFILL_WITHIN_MS = 60_000;

export async function openMerchant(service: Service, name: string): Promise<Merchant> {
  const consumer = await startConsumer();
  const { tenantId, key } = await service.signUp(name);
  const watched: Watched[] = [];
  const listed: AssetView[] = [];

  const ask = <Body>(method: string, path: string, body?: unknown) =>
    service.api<Body>(method, path, body === undefined ? { key } : { key, body });

  async function call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await ask<Body>(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async function all<Row>(
    path: string,
    query: Readonly<Record<string, string>> = {},
    after = "cursor",
  ): Promise<Row[]> {
    const rows: Row[] = [];
    for (let cursor: string | null = null; ; ) {
      const at: Record<string, string> = cursor === null ? {} : { [after]: cursor };
      const page: Page<Row> = await call(
        "GET",
        `${path}?${new URLSearchParams({ ...query, ...at, limit: String(PAGE) })}`,
      );
      rows.push(...page.data);
      cursor = page.next_cursor;
      if (cursor === null) return rows;
    }
  }

  const endpoint = await call<EndpointView>("POST", "/v1/webhook-endpoints", {
    url: consumer.url,
    events: EVENT_TYPES,
  });
  if (endpoint.secret === undefined) throw new Error("a new endpoint did not show its secret");
  consumer.setSecret(endpoint.secret);

  async function watch(request: WatchRequest): Promise<Watched> {
    const { network, address = freshAddress(), account, startHeight, held = 0n } = request;
    const body = {
      network,
      address,
      ...(account && { account }),
      ...(startHeight !== undefined && { start_height: startHeight }),
    };
    const made = { ...(await call<AddressView>("POST", "/v1/addresses", body)), held };
    watched.push(made);
    return made;
  }

  async function list(network: string, contract: string, symbol?: string): Promise<AssetView> {
    const asset = await call<AssetView>("POST", "/v1/assets", { network, contract, ...(symbol && { symbol }) });
    listed.push(asset);
    return asset;
  }

  async function backfill(network: string, fromHeight: number, toHeight: number): Promise<BackfillView> {
    const { id } = await call<BackfillView>("POST", "/v1/backfills", {
      network,
      from_height: fromHeight,
      to_height: toHeight,
    });
    const until = Date.now() + BACKFILL_WITHIN_MS;
    for (;;) {
      const report = await call<BackfillView>("GET", `/v1/backfills/${id}`);
      if (report.status === "done") return report;
      if (report.status === "failed" || Date.now() > until)
        throw new Error(`the backfill does not end: ${JSON.stringify(report)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  return {
    tenantId,
    key,
    endpointId: endpoint.id,
    webhookSecret: endpoint.secret,
    consumer,
    watched,
    listed,
    ask,
    call,
    watch,
    list,
    deposits: (filter) => all("/v1/deposits", filter),
    events: () => all("/v1/events", {}, "after"),
    balances: () => all("/v1/balances"),
    entries: () => all("/v1/ledger/entries"),
    deliveries: () => all(`/v1/webhook-endpoints/${endpoint.id}/deliveries`),
    backfill,
    close: () => consumer.close(),
  };
}

let addresses = 0;

/** Lower case; never given out before in this process, and the same ones in each run. */
export function freshAddress(): string {
  addresses += 1;
  return `0x${createHash("sha256").update(`address ${addresses}`).digest("hex").slice(0, 40)}`;
}
