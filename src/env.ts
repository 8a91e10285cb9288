/**
 * What the runtime hands to the Worker and its objects: bindings, and the operator's settings as text.
 * `readSettings` turns the text into `Settings`, once, or refuses to serve.
 */

import type { EndpointApi, ScannerApi, TenantApi, TenantPeerApi } from "./objects/api.ts";
import type { MonitorApi } from "./objects/monitor-api.ts";
import type { SettingsSource } from "./settings.ts";

export { type RootKey, readSettings, type Settings, SettingsError } from "./settings.ts";

export interface Env extends SettingsSource {
  readonly DB: D1Database;
  readonly CHAIN_SCANNER: DurableObjectNamespace<ScannerApi & Rpc.DurableObjectBranded>;
  readonly TENANT: DurableObjectNamespace<TenantApi & TenantPeerApi & Rpc.DurableObjectBranded>;
  readonly WEBHOOK_ENDPOINT: DurableObjectNamespace<EndpointApi & Rpc.DurableObjectBranded>;
  /** What the operator sees. Nothing that must hold depends on it; where it is absent nothing is reported. */
  readonly MONITOR?: DurableObjectNamespace<MonitorApi & Rpc.DurableObjectBranded>;
  /** Cloudflare's rate limiter for sign-ups; absent where the platform has none. */
  readonly SIGNUP_LIMITER?: RateLimit;
  /** The local sandbox. A start on a developer's machine alone has it; a Worker that is deployed never does. */
  readonly SANDBOX?: Fetcher;
  readonly KEY_PEPPER: string;
  readonly OPERATOR_TOKEN: string;
  readonly WALLET_SEED: string;
  readonly SECRETS_KEY: string;
}
