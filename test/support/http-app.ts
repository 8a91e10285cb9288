/**
 * The HTTP app with fakes in the place of the objects. Every call that reaches an object or a store is
 * written down, so that a test can say that nothing was reached.
 */

import { mintApiKey } from "../../src/core/api-key.ts";
import { base32 } from "../../src/core/ids.ts";
import type { NetworkSettings } from "../../src/core/network.ts";
import { mintSessionToken } from "../../src/core/session-token.ts";
import { createApp } from "../../src/http/app.ts";
import type { Sandbox, Services, SignUpClaim } from "../../src/http/services.ts";
import type { Answer, RateState, ScannerApi, TenantApi } from "../../src/objects/api.ts";
import type { MonitorApi } from "../../src/objects/monitor-api.ts";

export const PEPPER = "a pepper that is long enough for tests";
export const OPERATOR_TOKEN = "an-operator-token-for-tests-0123456789";
export const TENANT_ID = `ten_${base32(new Uint8Array(16).fill(7))}`;
export const API_KEY = mintApiKey(TENANT_ID, new Uint8Array(20).fill(9), PEPPER).secret;
/** A session of the tenant, and the headers of a page of the service's own that calls with it. */
export const SESSION_TOKEN = mintSessionToken(TENANT_ID, new Uint8Array(20).fill(11), PEPPER).secret;
export const BY_SESSION = { Cookie: `__Host-sluice=${SESSION_TOKEN}`, Origin: "http://localhost" };
export const RATE: RateState = { limit: 100, windowS: 60, remaining: 41, resetS: 17 };

export const LOCAL: NetworkSettings = {
  id: "local",
  family: "evm",
  caip2: "eip155:31337",
  chainId: 31337,
  nativeAsset: { symbol: "ETH", decimals: 18 },
  confirmations: 3,
  finality: "depth",
  minConfirmSeconds: 0,
  reorgWindow: 20,
  pollMs: 1000,
  native: true,
  internal: true,
  pool: false,
  tokens: [],
  payout: { kind: "nonces", maxFeeGwei: 1000, feeModel: "eip1559", replaceAfterBlocks: 5, deadlineS: 3600 },
};

export interface Call {
  readonly to: "tenant" | "scanner" | "monitor" | "store" | "limiter";
  readonly id: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Fake methods by name; calling one that is not here fails the request. */
type Fakes = Readonly<Record<string, (...args: never[]) => unknown>>;

export interface Options {
  readonly tenant?: Fakes;
  readonly scanner?: Fakes | ((network: string) => Fakes);
  /** null: the service has none. */
  readonly monitor?: Fakes | null;
  readonly store?: Fakes;
  readonly networks?: readonly NetworkSettings[];
  readonly signUpLimit?: (address: string) => Promise<boolean>;
  readonly sandbox?: Sandbox;
  readonly now?: number;
}

export function given<T>(value: T, marks: { created?: boolean; replayed?: boolean } = {}): Answer<T> {
  return { ok: true, value, rate: RATE, created: marks.created ?? false, replayed: marks.replayed ?? false };
}

export function fakeApp(options: Options = {}) {
  const calls: Call[] = [];
  const services: Services = {
    settings: {
      networks: new Map((options.networks ?? [LOCAL]).map((settings) => [settings.id, { settings }])),
      keyPepper: PEPPER,
      operatorToken: OPERATOR_TOKEN,
    },
    tenant: (id) => fake<TenantApi>("tenant", id, options.tenant ?? {}, calls),
    scanner: (id) => {
      const fakes = typeof options.scanner === "function" ? options.scanner(id) : options.scanner;
      return fake<ScannerApi>("scanner", id, fakes ?? {}, calls);
    },
    monitor: () =>
      options.monitor === null
        ? null
        : fake<MonitorApi>("monitor", "monitor", { figures: async () => [], ...options.monitor }, calls),
    store: fake<Services["store"]>(
      "store",
      "d1",
      {
        insertTenant: async () => {},
        claimSignUp: async (): Promise<SignUpClaim> => ({ kind: "claimed" }),
        ...options.store,
      },
      calls,
    ),
    signUpLimit: options.signUpLimit ?? null,
    sandbox: options.sandbox ?? null,
    now: () => options.now ?? Date.parse("2026-06-01T00:00:00.000Z"),
    random: neverTwice,
  };
  return { app: createApp(services), calls, services };
}

let drawn = 0;
function neverTwice(bytes: number): Uint8Array {
  const random = new Uint8Array(bytes);
  drawn += 1;
  new DataView(random.buffer).setUint32(0, drawn);
  return random;
}

function fake<T extends object>(to: Call["to"], id: string, fakes: Fakes, calls: Call[]): T {
  return new Proxy({} as T, {
    get: (_, method) => {
      if (typeof method !== "string" || method === "then") return undefined;
      return async (...args: never[]) => {
        calls.push({ to, id, method, args });
        const call = fakes[method];
        if (call === undefined) throw new Error(`nobody expected ${to}.${method}`);
        return call(...args);
      };
    },
  });
}

/** A request with the test tenant's key. A body makes it JSON unless a header says otherwise. */
export function keyed(method: string, body?: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    method,
    headers: {
      Authorization: `Bearer ${API_KEY}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  };
}

export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly request_id: string;
  readonly retryable: boolean;
  readonly errors?: readonly { path: string; message: string }[];
}

export async function problemOf(response: Response): Promise<ProblemBody> {
  const type = response.headers.get("content-type");
  const text = await response.text();
  if (type !== "application/problem+json")
    throw new Error(`expected a problem, got ${response.status} ${type}: ${text}`);
  return JSON.parse(text);
}
