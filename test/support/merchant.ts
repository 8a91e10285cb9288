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
  type WalletView,
  type WithdrawalView,
} from "../../src/core/views.ts";
import type { Chain } from "./anvil.ts";
import { type Consumer, startConsumer } from "./consumer.ts";
import type { ApiAnswer, Service } from "./service.ts";
import type { Contract } from "./tokens.ts";

export interface Watched extends AddressView {
  /** Base units of the native coin it received and was not to be credited with: they came before the watch. */
  held: bigint;
}

export interface WatchRequest {
  readonly network: string;
  /** By default a fresh one, in lower case. */
  readonly address?: string;
  /** In place of an address: the next one below this extended public key. */
  readonly xpubId?: string;
  readonly account?: string;
  readonly startHeight?: number;
  readonly held?: bigint;
}

export interface WithdrawalRequest {
  readonly network: string;
  /** By default ETH. */
  readonly asset?: string;
  /** By default a fresh one. */
  readonly destination?: string;
  readonly amount: string;
  readonly account?: string;
  readonly externalId?: string;
  /** Idempotency-Key, by default one never used before. */
  readonly key?: string;
}

export interface Funding {
  readonly account?: string;
  /** To the account and to the hot wallet, each. */
  readonly wei?: bigint;
  /** Minted to both as well. */
  readonly token?: { readonly contract: Contract; readonly units: bigint };
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
  ask<Body>(method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<ApiAnswer<Body>>;
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
  /** @throws Error when it is refused */
  withdraw(request: WithdrawalRequest): Promise<WithdrawalView>;
  /** The request that made this withdrawal, sent again. */
  askAgain(withdrawal: WithdrawalView): Promise<ApiAnswer<WithdrawalView>>;
  withdrawal(id: string): Promise<WithdrawalView>;
  /** Newest first. */
  withdrawals(filter?: Readonly<Record<string, string>>): Promise<WithdrawalView[]>;
  wallet(network: string): Promise<WalletView>;
  /** Pays an address that it watches until that is confirmed, and tops up its hot wallet. */
  fund(network: { readonly id: string; readonly chain: Chain }, funding?: Funding): Promise<void>;
  close(): Promise<void>;
}

/** Small pages, so that what is compared has crossed many of their borders. */
const PAGE = 50;
const BACKFILL_WITHIN_MS = 60_000;
const FUNDED_WITHIN_MS = 30_000;
const TWO_ETHER = 2n * 10n ** 18n;

export async function openMerchant(service: Service, name: string): Promise<Merchant> {
  const consumer = await startConsumer();
  const { tenantId, key } = await service.signUp(name);
  const watched: Watched[] = [];
  const listed: AssetView[] = [];

  const ask = <Body>(method: string, path: string, body?: unknown, idempotencyKey?: string) =>
    service.api<Body>(method, path, {
      key,
      ...(body !== undefined && { body }),
      ...(idempotencyKey !== undefined && { headers: { "idempotency-key": idempotencyKey } }),
    });

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
    const { network, xpubId, account, startHeight, held = 0n } = request;
    const body = {
      network,
      ...(xpubId === undefined ? { address: request.address ?? freshAddress() } : { xpub_id: xpubId }),
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

  async function withdraw(request: WithdrawalRequest): Promise<WithdrawalView> {
    const { network, asset = "ETH", destination = freshAddress(), amount, account, externalId } = request;
    const body = {
      network,
      asset,
      destination,
      amount,
      ...(account && { account }),
      ...(externalId && { external_id: externalId }),
    };
    const answer = await ask<WithdrawalView>("POST", "/v1/withdrawals", body, request.key ?? freshKey());
    if (answer.status !== 200 && answer.status !== 201)
      throw new Error(`the withdrawal was refused: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  const askAgain = ({ network, asset, destination, amount, account, idempotency_key }: WithdrawalView) =>
    ask<WithdrawalView>("POST", "/v1/withdrawals", { network, asset, destination, amount, account }, idempotency_key);

  async function wallet(network: string): Promise<WalletView> {
    const found = (await all<WalletView>("/v1/wallets")).find((view) => view.network === network);
    if (found === undefined) throw new Error(`there is no hot wallet on ${network}`);
    return found;
  }

  async function fund(network: { readonly id: string; readonly chain: Chain }, funding: Funding = {}): Promise<void> {
    const { account = "default", wei = TWO_ETHER, token } = funding;
    const { id, chain } = network;
    const [{ address }, hot] = [await watch({ network: id, account }), await wallet(id)];
    const hashes = [
      await chain.send({ to: address as `0x${string}`, value: wei }),
      await chain.send({ to: hot.address as `0x${string}`, value: wei }),
    ];
    for (const to of token === undefined ? [] : [address, hot.address])
      hashes.push((await token?.contract.send("mint", [to, token.units]))?.transactionHash ?? "0x");
    for (const hash of hashes) await chain.receipt(hash);
    await chain.mine(2);
    const until = Date.now() + FUNDED_WITHIN_MS;
    for (;;) {
      const paid = await all<DepositView>("/v1/deposits", { address });
      if (paid.length === (token === undefined ? 1 : 2) && paid.every(({ status }) => status === "confirmed")) return;
      if (Date.now() > until) throw new Error(`${address} was not credited: ${JSON.stringify(paid)}`);
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
    withdraw,
    askAgain,
    withdrawal: (id) => call("GET", `/v1/withdrawals/${id}`),
    withdrawals: (filter) => all("/v1/withdrawals", filter),
    wallet,
    fund,
    close: () => consumer.close(),
  };
}

let addresses = 0;

/** Lower case; never given out before in this process, and the same ones in each run. */
export function freshAddress(): string {
  addresses += 1;
  return `0x${createHash("sha256").update(`address ${addresses}`).digest("hex").slice(0, 40)}`;
}

let keys = 0;

function freshKey(): string {
  keys += 1;
  return `payout-${keys}`;
}
