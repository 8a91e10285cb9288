/** The client: settings in, one property for each noun of the API. */

import { checkedRetries, checkedTimeout } from "./bounds.ts";
import type { AbortSignalLike, Fetch } from "./platform.ts";
import { ApiKeyCalls, SessionCalls, SignUpCalls, TenantCalls } from "./resources/access.ts";
import { AuditLogCalls } from "./resources/audit-log.ts";
import { AddressCalls, AssetCalls, BackfillCalls, DepositCalls, NetworkCalls, XpubCalls } from "./resources/chain.ts";
import { EventCalls } from "./resources/events.ts";
import { IncidentCalls } from "./resources/incidents.ts";
import { BalanceCalls, LedgerEntryCalls, ReconciliationCalls } from "./resources/ledger.ts";
import { PolicyCalls, WalletCalls, WithdrawalCalls } from "./resources/payouts.ts";
import { WebhookEndpointCalls } from "./resources/webhook-endpoints.ts";
import { Transport } from "./transport.ts";
import { VERSION } from "./version.ts";

const TIMEOUT_MS = 30_000;
const MAX_RETRIES = 3;

export interface SluiceOptions {
  /** null: a client that can sign up (`tenants.create`); in a browser, one that calls by the session signed in to. */
  readonly apiKey: string | null;
  /** Where the service is: `https://sluice.example.com`. */
  readonly baseUrl: string;
  /** For one attempt; 30,000 when left out. */
  readonly timeoutMs?: number | undefined;
  /** Attempts after the first; 3 when left out. */
  readonly maxRetries?: number | undefined;
  /** In the place of the platform's own. */
  readonly fetch?: Fetch | undefined;
  /** The clock, in unix ms. */
  readonly now?: (() => number) | undefined;
  /** Waits between attempts. Must end when the signal does. */
  readonly sleep?: ((ms: number, signal?: AbortSignalLike) => Promise<void>) | undefined;
  /** In [0, 1): spreads the waits. */
  readonly random?: (() => number) | undefined;
}

/**
 * One merchant's client. Every call retries by itself what is worth it, with one idempotency key for all its
 * attempts, and rejects with a `SluiceError` otherwise.
 */
export class Sluice {
  readonly tenants: SignUpCalls;
  readonly tenant: TenantCalls;
  readonly apiKeys: ApiKeyCalls;
  readonly session: SessionCalls;
  readonly networks: NetworkCalls;
  readonly assets: AssetCalls;
  readonly addresses: AddressCalls;
  readonly xpubs: XpubCalls;
  readonly deposits: DepositCalls;
  readonly balances: BalanceCalls;
  readonly ledgerEntries: LedgerEntryCalls;
  readonly withdrawals: WithdrawalCalls;
  readonly wallets: WalletCalls;
  readonly policies: PolicyCalls;
  readonly webhookEndpoints: WebhookEndpointCalls;
  readonly auditLog: AuditLogCalls;
  readonly events: EventCalls;
  readonly incidents: IncidentCalls;
  readonly backfills: BackfillCalls;
  readonly reconciliation: ReconciliationCalls;
  readonly #baseUrl: string;

  /** @throws TypeError when the address, the key or a bound cannot be one. The message does not carry the key. */
  constructor(options: SluiceOptions) {
    this.#baseUrl = readBaseUrl(options.baseUrl);
    const transport = new Transport({
      baseUrl: this.#baseUrl,
      apiKey: readApiKey(options.apiKey),
      mayHaveSession: isBrowser(),
      timeoutMs: checkedTimeout(options.timeoutMs ?? TIMEOUT_MS),
      maxRetries: checkedRetries(options.maxRetries ?? MAX_RETRIES),
      userAgent: isBrowser() ? null : `sluice-js/${VERSION}`,
      // Called without a receiver: platforms refuse their own fetch on another object.
      fetch: options.fetch ?? ((url, init) => fetch(url, init)),
      now: options.now ?? (() => Date.now()),
      sleep: options.sleep ?? sleep,
      random: options.random ?? (() => Math.random()),
      newIdempotencyKey: () => `sdk_${crypto.randomUUID()}`,
    });
    this.tenants = new SignUpCalls(transport);
    this.tenant = new TenantCalls(transport);
    this.apiKeys = new ApiKeyCalls(transport);
    this.session = new SessionCalls(transport);
    this.networks = new NetworkCalls(transport);
    this.assets = new AssetCalls(transport);
    this.addresses = new AddressCalls(transport);
    this.xpubs = new XpubCalls(transport);
    this.deposits = new DepositCalls(transport);
    this.balances = new BalanceCalls(transport);
    this.ledgerEntries = new LedgerEntryCalls(transport);
    this.withdrawals = new WithdrawalCalls(transport);
    this.wallets = new WalletCalls(transport);
    this.policies = new PolicyCalls(transport);
    this.webhookEndpoints = new WebhookEndpointCalls(transport);
    this.auditLog = new AuditLogCalls(transport);
    this.events = new EventCalls(transport);
    this.incidents = new IncidentCalls(transport);
    this.backfills = new BackfillCalls(transport);
    this.reconciliation = new ReconciliationCalls(transport);
  }

  toString(): string {
    return `Sluice(${this.#baseUrl})`;
  }

  /** What JSON and logs show. The key is in neither. */
  toJSON(): { baseUrl: string } {
    return { baseUrl: this.#baseUrl };
  }
}

function readBaseUrl(text: string): string {
  const fits = typeof text === "string" && /^https?:\/\//i.test(text) && URL.canParse(text);
  const url = fits ? new URL(text) : null;
  if (url === null || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new TypeError(
      "expected a baseUrl such as https://sluice.example.com, without user, password, query or fragment",
    );
  }
  return (url.origin + url.pathname).replace(/\/+$/, "");
}

function readApiKey(key: string | null): string | null {
  if (key === null) return null;
  if (typeof key === "string" && /^[\x21-\x7e]+$/.test(key)) return key;
  const got = typeof key === "string" ? `${key.length} characters, blanks or others among them` : typeof key;
  throw new TypeError(`expected an apiKey such as sk_..., got ${got}`);
}

/** There cookies are kept, and the name of the program is the browser's own. */
function isBrowser(): boolean {
  return "document" in globalThis;
}

function sleep(ms: number, signal?: AbortSignalLike): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
