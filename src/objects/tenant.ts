/**
 * One tenant: its keys, addresses, deposits, ledger and event log.
 *
 * Owns its SQLite. Credit, what was told, ledger entry and event are one synchronous commit; whatever
 * leaves this object (events to endpoints, claims given back) leaves after its commit, from rows that say
 * it is still to be done, and may be repeated.
 */

import { DurableObject } from "cloudflare:workers";
import { type ConfirmationRules, checkRules } from "../core/policy.ts";
import { refuse } from "../core/refusal.ts";
import type { EventType, Scope } from "../core/views.ts";
import { type Env, readSettings } from "../env.ts";
import { failBackfill } from "../store/tenant/backfill-store.ts";
import { migrateTenantDb, openTenantDb } from "../store/tenant/database.ts";
import { updateEndpoint } from "../store/tenant/endpoint-store.ts";
import { EventAppender } from "../store/tenant/event-store.ts";
import { apiKeyById, insertApiKey, insertTenantRow, tenantRow, toApiKeyView } from "../store/tenant/key-store.ts";
import { duplicatesByNetwork } from "../store/tenant/network-store.ts";
import { markTold, wasTold } from "../store/tenant/notice-store.ts";
import { allConfirmationRules, putConfirmationRules } from "../store/tenant/policy-store.ts";
import type {
  Answer,
  BackfillSlice,
  Caller,
  DepositFilter,
  Idempotency,
  NetworkNotice,
  NewKey,
  Observation,
  Observed,
  PageRequest,
  PoliciesView,
  SignUp,
  TenantApi,
  TenantPeerApi,
} from "./api.ts";
import {
  createAddress,
  deleteAddress,
  getAddress,
  pageOfAddresses,
  releaseDeleted,
  unknownNetwork,
} from "./tenant/addresses.ts";
import { createAsset, pageOfAssets } from "./tenant/assets.ts";
import { answer, authorize, type Done, RequestRates } from "./tenant/authorize.ts";
import { createBackfill, handOverBackfills, oneBackfill } from "./tenant/backfills.ts";
import { allAssets, assetsNamed, mustFindAsset, type TenantContext } from "./tenant/context.ts";
import { iso } from "./tenant/deposit-view.ts";
import * as endpoints from "./tenant/endpoints.ts";
import { handOff, hasToHandOff } from "./tenant/hand-off.ts";
import { createKey, pageOfKeys, revokeKey, rotateKey } from "./tenant/keys.ts";
import { observe, observeBackfill } from "./tenant/observe.ts";
import * as reads from "./tenant/reads.ts";
import { Turns } from "./tenant/turns.ts";

/** How long after a commit the alarm looks whether its follow-up was done. */
const FOLLOW_UP_MS = 2_000;
const RETRY_MS = 15_000;

export class Tenant extends DurableObject<Env> implements TenantApi, TenantPeerApi {
  /** Set by tests; unix milliseconds. */
  clock: () => number = Date.now;
  readonly #c: TenantContext;
  readonly #rates = new RequestRates();
  #followUp: Promise<boolean> | null = null;
  #followAgain = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const db = openTenantDb(ctx.storage);
    this.#c = {
      storage: ctx.storage,
      db,
      env,
      // Read when needed: settings that are refused must not keep the alarm from re-arming.
      get settings() {
        return readSettings(env);
      },
      now: () => this.clock(),
      random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
      addressTurns: new Turns(),
    };
    ctx.blockConcurrencyWhile(() => migrateTenantDb(db));
  }

  // ---- the scanner's calls ----------------------------------------------------------------------

  async observe(observation: Observation): Promise<Observed> {
    const { observed, wroteEvents } = observe(this.#c, this.#id(), observation);
    // Also when nothing was written: whatever an earlier follow-up left, or a lost alarm, is looked after here.
    if (wroteEvents || hasToHandOff(this.#c)) this.#followUpSoon();
    return observed;
  }

  async backfillSlice(slice: BackfillSlice): Promise<{ nextHeight: number | null }> {
    const { nextHeight, wroteEvents } = observeBackfill(this.#c, this.#id(), slice);
    if (wroteEvents) this.#followUpSoon();
    return { nextHeight };
  }

  async backfillFailed(backfillId: string, error: string): Promise<void> {
    failBackfill(this.#c.db, backfillId, error, this.clock());
  }

  async noticeNetwork(notice: NetworkNotice): Promise<void> {
    const c = this.#c;
    const tenantId = this.#id();
    if (wasTold(c.db, notice.id, notice.type)) return;
    c.storage.transactionSync(() => {
      const events = new EventAppender(c.db, tenantId, c.now());
      const event = events.append(notice.type, `network:${notice.network}`, notice.data);
      markTold(c.db, notice.id, notice.type, event.id);
    });
    this.#followUpSoon();
  }

  async endpointStatus(endpointId: string, status: "enabled" | "disabled", reason: string | null): Promise<void> {
    updateEndpoint(this.#c.db, endpointId, { status, disabledReason: reason });
  }

  // ---- sign-up and the tenant itself --------------------------------------------------------------

  async signUp(input: SignUp) {
    const { db, storage } = this.#c;
    const createdAt = input.now;
    if (tenantRow(db) === undefined) {
      storage.transactionSync(() => {
        insertTenantRow(db, { ...input.tenant, createdAt });
        insertApiKey(db, {
          ...input.key,
          name: "default",
          scopes: [...input.key.scopes],
          createdAt,
          expiresAt: null,
          revokedAt: null,
          replacedAt: null,
        });
      });
    }
    const key = apiKeyById(db, input.key.id);
    if (key === undefined) throw new Error(`tenant ${input.tenant.id} exists with another first key`);
    return { tenant: this.#view(), key: toApiKeyView(key) };
  }

  async getTenant(caller: Caller) {
    return this.#serve(caller, "read", () => ({ ok: true, value: this.#view() }));
  }

  async networkFacts(caller: Caller) {
    return this.#serve(caller, "read", () => ({
      ok: true,
      value: { assets: allAssets(this.#c, null), duplicatesMet: duplicatesByNetwork(this.#c.db) },
    }));
  }

  // ---- keys ---------------------------------------------------------------------------------------

  async createApiKey(caller: Caller, key: NewKey, idempotency: Idempotency) {
    return this.#serve(caller, "admin", () => createKey(this.#c, caller.tenantId, key, idempotency));
  }

  async listApiKeys(caller: Caller, page: PageRequest) {
    return this.#serve(caller, "admin", () => pageOfKeys(this.#c, page));
  }

  async revokeApiKey(caller: Caller, id: string) {
    return this.#serve(caller, "admin", () => revokeKey(this.#c, id));
  }

  async rotateApiKey(
    caller: Caller,
    id: string,
    key: { readonly id: string; readonly hash: string },
    overlapS: number,
    idempotency: Idempotency,
  ) {
    return this.#serve(caller, "admin", () => rotateKey(this.#c, caller.tenantId, id, key, overlapS, idempotency));
  }

  // ---- assets and addresses -----------------------------------------------------------------------

  async createAsset(caller: Caller, input: Parameters<TenantApi["createAsset"]>[1], idempotency: Idempotency) {
    return this.#serve(caller, "addresses:write", () => createAsset(this.#c, caller.tenantId, input, idempotency));
  }

  async listAssets(caller: Caller, network: string | null) {
    return this.#serve(caller, "read", () => pageOfAssets(this.#c, network));
  }

  async createAddress(caller: Caller, input: Parameters<TenantApi["createAddress"]>[1], idempotency: Idempotency) {
    return this.#serve(caller, "addresses:write", () => createAddress(this.#c, caller.tenantId, input, idempotency));
  }

  async listAddresses(caller: Caller, filter: { network?: string; account?: string }, page: PageRequest) {
    return this.#serve(caller, "read", () => pageOfAddresses(this.#c, caller.tenantId, filter, page));
  }

  async getAddress(caller: Caller, id: string) {
    return this.#serve(caller, "read", () => getAddress(this.#c, caller.tenantId, id));
  }

  async deleteAddress(caller: Caller, id: string) {
    return this.#serve(caller, "addresses:write", () => {
      this.#followUpLater();
      return deleteAddress(this.#c, caller.tenantId, id);
    });
  }

  // ---- reads --------------------------------------------------------------------------------------

  async listDeposits(caller: Caller, filter: DepositFilter, page: PageRequest) {
    return this.#serve(caller, "read", () => reads.pageOfDeposits(this.#c, filter, page));
  }

  async getDeposit(caller: Caller, id: string) {
    return this.#serve(caller, "read", () => reads.oneDeposit(this.#c, id));
  }

  async listBalances(caller: Caller, filter: Parameters<TenantApi["listBalances"]>[1], page: PageRequest) {
    return this.#serve(caller, "read", () => reads.pageOfBalances(this.#c, filter, page));
  }

  async listLedgerEntries(caller: Caller, filter: Parameters<TenantApi["listLedgerEntries"]>[1], page: PageRequest) {
    return this.#serve(caller, "read", () => reads.pageOfEntries(this.#c, filter, page));
  }

  async listEvents(
    caller: Caller,
    filter: { readonly after: number; readonly types: readonly EventType[] | null },
    limit: number,
  ) {
    return this.#serve(caller, "read", () => reads.pageOfEvents(this.#c, filter, limit));
  }

  async getEvent(caller: Caller, id: string) {
    return this.#serve(caller, "read", () => reads.oneEvent(this.#c, id));
  }

  // ---- webhook endpoints --------------------------------------------------------------------------

  async createEndpoint(caller: Caller, input: Parameters<TenantApi["createEndpoint"]>[1], idempotency: Idempotency) {
    return this.#serve(caller, "webhooks:write", () =>
      endpoints.createEndpoint(this.#c, caller.tenantId, input, idempotency),
    );
  }

  async listEndpoints(caller: Caller, page: PageRequest) {
    return this.#serve(caller, "read", () => endpoints.pageOfEndpoints(this.#c, page));
  }

  async getEndpoint(caller: Caller, id: string) {
    return this.#serve(caller, "read", () => endpoints.oneEndpoint(this.#c, id));
  }

  async updateEndpoint(caller: Caller, id: string, patch: Parameters<TenantApi["updateEndpoint"]>[2]) {
    return this.#serve(caller, "webhooks:write", () => endpoints.patchEndpoint(this.#c, caller.tenantId, id, patch));
  }

  async deleteEndpoint(caller: Caller, id: string) {
    return this.#serve(caller, "webhooks:write", () => {
      this.#followUpLater();
      return endpoints.deleteEndpoint(this.#c, id);
    });
  }

  async rotateEndpointSecret(caller: Caller, id: string, overlapS: number, idempotency: Idempotency) {
    return this.#serve(caller, "webhooks:write", () =>
      endpoints.rotateSecret(this.#c, id, overlapS, idempotency, caller.requestId),
    );
  }

  async enableEndpoint(caller: Caller, id: string) {
    return this.#serve(caller, "webhooks:write", () => endpoints.enableEndpoint(this.#c, id));
  }

  async testEndpoint(caller: Caller, id: string, idempotency: Idempotency) {
    return this.#serve(caller, "webhooks:write", () =>
      endpoints.testEndpoint(this.#c, caller.tenantId, id, idempotency),
    );
  }

  async replayEvents(
    caller: Caller,
    id: string,
    from: { readonly afterSequence: number } | { readonly since: number },
    idempotency: Idempotency,
  ) {
    return this.#serve(caller, "webhooks:write", () => endpoints.replayEvents(this.#c, id, from, idempotency));
  }

  async listDeliveries(
    caller: Caller,
    id: string,
    filter: { readonly status?: "pending" | "delivered" | "given_up" },
    page: PageRequest,
  ) {
    return this.#serve(caller, "read", () => endpoints.pageOfDeliveries(this.#c, id, filter, page));
  }

  // ---- backfills and policies ---------------------------------------------------------------------

  async createBackfill(caller: Caller, input: Parameters<TenantApi["createBackfill"]>[1], idempotency: Idempotency) {
    return this.#serve(caller, "addresses:write", () => {
      this.#followUpLater();
      return createBackfill(this.#c, caller.tenantId, input, idempotency);
    });
  }

  async getBackfill(caller: Caller, id: string) {
    return this.#serve(caller, "read", () => oneBackfill(this.#c, id));
  }

  async getPolicies(caller: Caller) {
    return this.#serve(caller, "read", () => ({ ok: true, value: this.#policies() }));
  }

  async putConfirmations(caller: Caller, network: string, rules: ConfirmationRules): Promise<Answer<PoliciesView>> {
    return this.#serve(caller, "admin", () => {
      const settings = this.#c.settings.networks.get(network)?.settings;
      if (settings === undefined) return unknownNetwork(network);
      const errors = checkRules(settings, rules, (symbol) => {
        const named = assetsNamed(this.#c, symbol, network)[0];
        return named === undefined ? null : mustFindAsset(this.#c, network, named.asset).decimals;
      });
      if (errors.length > 0) return refuse("invalid_fields", "The rules cannot be kept on this network.", { errors });
      putConfirmationRules(this.#c.db, network, rules);
      return { ok: true, value: this.#policies() };
    });
  }

  // ---- what follows a commit ------------------------------------------------------------------------

  /** Wakes when something may be left to do. Whatever fails is tried again; nothing is thrown out of here. */
  override async alarm(): Promise<void> {
    let complete = false;
    try {
      complete = await this.#follow();
    } catch (error) {
      console.warn(JSON.stringify({ at: "tenant alarm", error: String(error) }));
    }
    if (!complete) await this.ctx.storage.setAlarm(this.clock() + RETRY_MS);
  }

  /** The alarm is set in the commit's own turn, so it is as durable as the commit; the work starts at once. */
  #followUpSoon(): void {
    if (!hasToHandOff(this.#c)) return;
    this.#followUpLater();
    this.ctx.waitUntil(
      this.#follow().then(
        () => undefined,
        () => undefined,
      ),
    );
  }

  #followUpLater(): void {
    void this.ctx.storage.setAlarm(this.clock() + FOLLOW_UP_MS);
  }

  /** One run at a time; whoever asks while it goes on makes it look once more at its end. */
  #follow(): Promise<boolean> {
    this.#followAgain = true;
    this.#followUp ??= this.#followAll();
    return this.#followUp;
  }

  async #followAll(): Promise<boolean> {
    let complete = false;
    while (this.#followAgain) {
      this.#followAgain = false;
      complete = await this.#followOnce();
    }
    // In the turn of the last look: nobody can ask in between and go unheard.
    this.#followUp = null;
    return complete;
  }

  /** Each step by itself: one that cannot be done now does not keep the others from being done. */
  async #followOnce(): Promise<boolean> {
    const c = this.#c;
    const steps = [
      () => handOff(c),
      () => releaseDeleted(c, this.#id()),
      () => endpoints.closeDeleted(c),
      () => handOverBackfills(c, this.#id()),
    ];
    let complete = true;
    for (const step of steps) {
      try {
        if ((await step()) === false) complete = false;
      } catch (error) {
        complete = false;
        console.warn(JSON.stringify({ at: "tenant follow-up", error: String(error) }));
      }
    }
    return complete;
  }

  async #serve<T>(caller: Caller, scope: Scope, work: () => Done<T> | Promise<Done<T>>): Promise<Answer<T>> {
    const authorized = authorize(this.#c, this.#rates, caller, scope);
    if (!authorized.ok) return authorized;
    if (this.#id() !== caller.tenantId) throw new Error("a caller reached the object of another tenant");
    return answer(await work(), authorized.rate);
  }

  #id(): string {
    const row = tenantRow(this.#c.db);
    if (row === undefined) throw new Error("this tenant was never signed up");
    return row.id;
  }

  #view() {
    const row = tenantRow(this.#c.db);
    if (row === undefined) throw new Error("this tenant was never signed up");
    return { id: row.id, name: row.name, email: row.email, created_at: iso(row.createdAt) };
  }

  #policies(): PoliciesView {
    return { confirmations: allConfirmationRules(this.#c.db) };
  }
}
