/**
 * One tenant: its keys, addresses, deposits, ledger and event log.
 *
 * Owns its SQLite. Credit, what was told, ledger entry and event are one synchronous commit; whatever
 * leaves this object (events to endpoints, claims given back) leaves after its commit, from rows that say
 * it is still to be done, and may be repeated.
 */

import { type ConfirmationRules, checkRules } from "../core/policy.ts";
import type { PoliciesView } from "../core/policy-view.ts";
import { refuse } from "../core/refusal.ts";
import { failBackfill } from "../store/tenant/backfill-store.ts";
import { EventAppender } from "../store/tenant/event-store.ts";
import { apiKeyById, insertApiKey, insertTenantRow, tenantRow, toApiKeyView } from "../store/tenant/key-store.ts";
import { duplicatesByNetwork } from "../store/tenant/network-store.ts";
import { markTold, wasTold } from "../store/tenant/notice-store.ts";
import { putConfirmationRules } from "../store/tenant/policy-store.ts";
import { deleteSession, sessionByHash } from "../store/tenant/session-store.ts";
import type {
  Answer,
  AuditFilter,
  BackfillSlice,
  Caller,
  DepositFilter,
  Idempotency,
  IncidentFilter,
  KeyCaller,
  NetworkNotice,
  NewKey,
  Observation,
  Observed,
  PageRequest,
  SessionCaller,
  SignUp,
  TenantApi,
  TenantPeerApi,
} from "./api.ts";
import { createAddress, deleteAddress, getAddress, pageOfAddresses, unknownNetwork } from "./tenant/addresses.ts";
import { createAsset, pageOfAssets } from "./tenant/assets.ts";
import { AuditedCall } from "./tenant/audited-call.ts";
import { createBackfill, oneBackfill } from "./tenant/backfills.ts";
import { allAssets, assetsNamed, mustFindAsset } from "./tenant/context.ts";
import { iso } from "./tenant/deposit-view.ts";
import { deriveAddress } from "./tenant/derive.ts";
import { TenantEndpoints } from "./tenant/endpoint-calls.ts";
import { awaitEvents } from "./tenant/event-waits.ts";
import { hasToHandOff } from "./tenant/hand-off.ts";
import { haltSight } from "./tenant/incidents/halt.ts";
import { oneIncident, pageOfIncidents } from "./tenant/incidents/lists.ts";
import { recordSight } from "./tenant/incidents/record.ts";
import { createKey, pageOfKeys, revokeKey, rotateKey } from "./tenant/keys.ts";
import { observe, observeBackfill } from "./tenant/observe.ts";
import * as reads from "./tenant/reads.ts";
import { createSession, oneSession } from "./tenant/sessions.ts";
import { createXpub, oneXpub, pageOfXpubs } from "./tenant/xpubs.ts";

export class Tenant extends TenantEndpoints implements TenantApi, TenantPeerApi {
  // ---- the scanner's calls ----------------------------------------------------------------------

  async observe(observation: Observation): Promise<Observed> {
    const { observed, wroteEvents } = observe(this.c, this.tenantId(), observation);
    // Also when nothing was written: whatever an earlier follow-up left, or a lost alarm, is looked after here.
    if (wroteEvents || hasToHandOff(this.c)) this.followUpSoon();
    return observed;
  }

  async backfillSlice(slice: BackfillSlice): Promise<{ nextHeight: number | null }> {
    const { nextHeight, wroteEvents } = observeBackfill(this.c, this.tenantId(), slice);
    if (wroteEvents) this.followUpSoon();
    return { nextHeight };
  }

  async backfillFailed(backfillId: string, error: string): Promise<void> {
    failBackfill(this.c.db, backfillId, error, this.clock());
  }

  async noticeNetwork(notice: NetworkNotice): Promise<void> {
    const c = this.c;
    const tenantId = this.tenantId();
    if (wasTold(c.db, notice.id, notice.type)) return;
    c.storage.transactionSync(() => {
      const events = new EventAppender(c.db, tenantId, c.now());
      const event = events.append(notice.type, `network:${notice.network}`, notice.data);
      markTold(c.db, notice.id, notice.type, event.id);
      recordSight(c, events, tenantId, haltSight(notice));
    });
    this.followUpSoon();
  }

  // ---- sign-up and the tenant itself --------------------------------------------------------------

  async signUp(input: SignUp) {
    const { db, storage } = this.c;
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
          originId: null,
        });
        const caller = { tenantId: input.tenant.id, keyHash: input.key.hash, requestId: input.requestId };
        new AuditedCall(
          this.c,
          input.client === undefined ? caller : { ...caller, client: input.client },
          input.key.id,
          "signUp",
          input.tenant.id,
        ).done();
      });
    }
    const key = apiKeyById(db, input.key.id);
    if (key === undefined) throw new Error(`tenant ${input.tenant.id} exists with another first key`);
    return { tenant: this.#view(), key: toApiKeyView(key) };
  }

  async getTenant(caller: Caller) {
    return this.serve(caller, "read", () => ({ ok: true, value: this.#view() }));
  }

  async networkFacts(caller: Caller) {
    return this.serve(caller, "read", () => ({
      ok: true,
      value: { assets: allAssets(this.c, null), duplicatesMet: duplicatesByNetwork(this.c.db) },
    }));
  }

  // ---- keys ---------------------------------------------------------------------------------------

  async createApiKey(caller: Caller, key: NewKey, idempotency: Idempotency) {
    return this.change(caller, "admin", ["createApiKey", null], (_, audit) =>
      createKey(this.c, caller.tenantId, key, idempotency, audit),
    );
  }

  async listApiKeys(caller: Caller, page: PageRequest) {
    return this.serve(caller, "admin", () => pageOfKeys(this.c, page));
  }

  async revokeApiKey(caller: Caller, id: string) {
    return this.change(caller, "admin", ["revokeApiKey", id], (_, audit) => revokeKey(this.c, id, audit));
  }

  async rotateApiKey(
    caller: Caller,
    id: string,
    key: { readonly id: string; readonly hash: string },
    overlapS: number,
    idempotency: Idempotency,
  ) {
    return this.change(caller, "admin", ["rotateApiKey", id], (_, audit) =>
      rotateKey(this.c, caller.tenantId, id, key, overlapS, idempotency, audit),
    );
  }

  // ---- sessions -----------------------------------------------------------------------------------

  async createSession(caller: KeyCaller, hash: string) {
    return this.change(caller, "read", ["createSession", null], (key) => ({
      ok: true,
      value: createSession(this.c, this.#view(), key, hash),
      created: true,
    }));
  }

  async getSession(caller: SessionCaller) {
    return this.serve(caller, "read", (key) => ({
      ok: true,
      value: oneSession(this.c, this.#view(), key, caller.sessionHash),
    }));
  }

  /** Not served as the others are: signing out needs no scope, and no count of requests stands in its way. */
  async endSession(caller: SessionCaller): Promise<void> {
    const held = sessionByHash(this.c.db, caller.sessionHash);
    if (held === undefined) return;
    deleteSession(this.c.db, caller.sessionHash);
    new AuditedCall(this.c, caller, held.keyId, "endSession", null).done();
  }

  // ---- assets and addresses -----------------------------------------------------------------------

  async createAsset(caller: Caller, input: Parameters<TenantApi["createAsset"]>[1], idempotency: Idempotency) {
    return this.change(caller, "addresses:write", ["createAsset", input.contract], (_, audit) =>
      createAsset(this.c, caller.tenantId, input, idempotency, audit),
    );
  }

  async listAssets(caller: Caller, network: string | null) {
    return this.serve(caller, "read", () => pageOfAssets(this.c, network));
  }

  async createAddress(caller: Caller, input: Parameters<TenantApi["createAddress"]>[1], idempotency: Idempotency) {
    return this.change(caller, "addresses:write", ["createAddress", null], (_, audit) =>
      createAddress(this.c, caller.tenantId, input, idempotency, audit),
    );
  }

  async deriveAddress(caller: Caller, input: Parameters<TenantApi["deriveAddress"]>[1], idempotency: Idempotency) {
    return this.change(caller, "addresses:write", ["createAddress", null], (_, audit) =>
      deriveAddress(this.c, caller.tenantId, input, idempotency, audit),
    );
  }

  async createXpub(caller: Caller, input: Parameters<TenantApi["createXpub"]>[1], idempotency: Idempotency) {
    return this.change(caller, "addresses:write", ["createXpub", null], () =>
      createXpub(this.c, caller.tenantId, input, idempotency),
    );
  }

  async listXpubs(caller: Caller, page: PageRequest) {
    return this.serve(caller, "read", () => pageOfXpubs(this.c, page));
  }

  async getXpub(caller: Caller, id: string) {
    return this.serve(caller, "read", () => oneXpub(this.c, id));
  }

  async listAddresses(caller: Caller, filter: { network?: string; account?: string }, page: PageRequest) {
    return this.serve(caller, "read", () => pageOfAddresses(this.c, caller.tenantId, filter, page));
  }

  async getAddress(caller: Caller, id: string) {
    return this.serve(caller, "read", () => getAddress(this.c, caller.tenantId, id));
  }

  async deleteAddress(caller: Caller, id: string) {
    return this.change(caller, "addresses:write", ["deleteAddress", id], (_, audit) => {
      this.followUpLater();
      return deleteAddress(this.c, caller.tenantId, id, audit);
    });
  }

  // ---- reads --------------------------------------------------------------------------------------

  async listDeposits(caller: Caller, filter: DepositFilter, page: PageRequest) {
    return this.serve(caller, "read", () => reads.pageOfDeposits(this.c, filter, page));
  }

  async getDeposit(caller: Caller, id: string) {
    return this.serve(caller, "read", () => reads.oneDeposit(this.c, id));
  }

  async listBalances(caller: Caller, filter: Parameters<TenantApi["listBalances"]>[1], page: PageRequest) {
    return this.serve(caller, "read", () => reads.pageOfBalances(this.c, filter, page));
  }

  async listLedgerEntries(caller: Caller, filter: Parameters<TenantApi["listLedgerEntries"]>[1], page: PageRequest) {
    return this.serve(caller, "read", () => reads.pageOfEntries(this.c, filter, page));
  }

  async listEvents(caller: Caller, filter: Parameters<TenantApi["listEvents"]>[1], limit: number, waitMs: number) {
    return this.serve(caller, "read", () => awaitEvents(this.c, this.eventWaits, caller, filter, limit, waitMs));
  }

  async listAuditLog(caller: Caller, filter: AuditFilter, limit: number) {
    return this.serve(caller, "admin", () => reads.pageOfAuditLog(this.c, filter, limit));
  }

  async getEvent(caller: Caller, id: string) {
    return this.serve(caller, "read", () => reads.oneEvent(this.c, id));
  }

  async listIncidents(caller: Caller, filter: IncidentFilter, page: PageRequest) {
    return this.serve(caller, "read", () => pageOfIncidents(this.c, filter, page));
  }

  async getIncident(caller: Caller, id: string) {
    return this.serve(caller, "read", () => oneIncident(this.c, id));
  }

  // ---- backfills and policies ---------------------------------------------------------------------

  async createBackfill(caller: Caller, input: Parameters<TenantApi["createBackfill"]>[1], idempotency: Idempotency) {
    return this.change(caller, "addresses:write", ["createBackfill", null], (_, audit) => {
      this.followUpLater();
      return createBackfill(this.c, caller.tenantId, input, idempotency, audit);
    });
  }

  async getBackfill(caller: Caller, id: string) {
    return this.serve(caller, "read", () => oneBackfill(this.c, id));
  }

  async getPolicies(caller: Caller) {
    return this.serve(caller, "read", () => ({ ok: true, value: this.policies() }));
  }

  async putConfirmations(caller: Caller, network: string, rules: ConfirmationRules): Promise<Answer<PoliciesView>> {
    return this.change(caller, "admin", ["putConfirmations", network], () => {
      const settings = this.c.settings.networks.get(network)?.settings;
      if (settings === undefined) return unknownNetwork(network);
      const errors = checkRules(settings, rules, (symbol) => {
        const named = assetsNamed(this.c, symbol, network)[0];
        return named === undefined ? null : mustFindAsset(this.c, network, named.asset).decimals;
      });
      if (errors.length > 0) return refuse("invalid_fields", "The rules cannot be kept on this network.", { errors });
      putConfirmationRules(this.c.db, network, rules);
      return { ok: true, value: this.policies() };
    });
  }

  #view() {
    const row = tenantRow(this.c.db);
    if (row === undefined) throw new Error("this tenant was never signed up");
    return { id: row.id, name: row.name, email: row.email, created_at: iso(row.createdAt) };
  }
}
