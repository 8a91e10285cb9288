/**
 * What the HTTP layer needs from outside. It is handed in whole, so that the app itself has no binding,
 * no clock and no randomness of its own.
 */

import type { OpenAPIHono } from "@hono/zod-openapi";
import type { NetworkSettings } from "../core/network.ts";
import type { Scope } from "../core/views.ts";
import type { Caller, ScannerApi, TenantApi } from "../objects/api.ts";
import type { MonitorApi } from "../objects/monitor-api.ts";

export interface Services {
  readonly settings: {
    /** Networks that are on, by id. */
    readonly networks: ReadonlyMap<string, { readonly settings: NetworkSettings }>;
    readonly keyPepper: string;
    readonly operatorToken: string;
  };
  tenant(tenantId: string): TenantApi;
  scanner(network: string): ScannerApi;
  /** What the operator sees; null where there is none. */
  monitor(): MonitorApi | null;
  readonly store: EdgeStore;
  /** Whether this client may sign up once more now; null where nothing limits. */
  readonly signUpLimit: ((clientAddress: string) => Promise<boolean>) | null;
  /** Who answers the calls under /sandbox; null: there are none. */
  readonly sandbox: Sandbox | null;
  /** Unix milliseconds. */
  now(): number;
  /** Fresh random bytes. */
  random(bytes: number): Uint8Array;
}

/** The local sandbox, by whatever way it is reached. */
export type Sandbox = (request: Request) => Promise<Response>;

/** What the edge itself writes and reads in D1. Every call may be repeated. */
export interface EdgeStore {
  /** Writes the tenant and a key of it; what is there already stays as it is. */
  insertTenant(
    tenant: { readonly id: string; readonly name: string; readonly email: string | null; readonly createdAt: number },
    key: { readonly id: string; readonly hash: string; readonly scopes: readonly Scope[]; readonly createdAt: number },
  ): Promise<void>;
  /** Binds one idempotency key to one tenant id and the id of its first key, for ever. */
  claimSignUp(claim: {
    readonly scopeHash: string;
    readonly fingerprint: string;
    readonly tenantId: string;
    readonly keyId: string;
    readonly now: number;
  }): Promise<SignUpClaim>;
  /** Resolves when the database answers. */
  ping(): Promise<unknown>;
}

export type SignUpClaim =
  | { readonly kind: "claimed" }
  /** The same request came before, and got these ids. */
  | { readonly kind: "known"; readonly tenantId: string; readonly keyId: string }
  | { readonly kind: "other_request" };

/** Every request has these. */
export interface HttpEnv {
  Variables: {
    services: Services;
    requestId: string;
    /** The key that called, or that the session was signed in with, once its tenant's object has told. */
    keyId?: string;
  };
}

export type App = OpenAPIHono<HttpEnv>;

/** Only behind `authenticate` and its like: a route without it cannot name the tenant's object at all. */
export interface TenantEnv<C extends Caller = Caller> {
  Variables: HttpEnv["Variables"] & { caller: C; tenant: TenantApi };
}

/** Only behind `requireIdempotencyKey`. */
export interface KeyedOnceEnv {
  Variables: HttpEnv["Variables"] & { idempotencyKey: string };
}
