/**
 * The door of the Worker: one app per environment, and none while the settings are refused. A service
 * that cannot read its settings answers 503 to everything, its health included, and says why in the log.
 */

import { newId } from "../core/ids.ts";
import type { Refusal } from "../core/refusal.ts";
import { type Env, readSettings } from "../env.ts";
import { log } from "../log.ts";
import { MONITOR_NAME } from "../objects/monitor-api.ts";
import { objectIfAny, objectOf, step } from "../steps.ts";
import { claimSignUp, insertTenant, ping } from "../store/d1/tenants.ts";
import { createApp, ON_EVERY_ANSWER } from "./app.ts";
import { problemParts } from "./problem.ts";
import type { App, Services } from "./services.ts";

const apps = new WeakMap<Env, App>();

export async function serve(request: Request, env: Env): Promise<Response> {
  let app = apps.get(env);
  if (app === undefined) {
    try {
      app = createApp(servicesOf(env));
    } catch (thrown) {
      return misconfigured(thrown);
    }
    apps.set(env, app);
  }
  return app.fetch(request);
}

/** @throws SettingsError */
function servicesOf(env: Env): Services {
  const limiter = env.SIGNUP_LIMITER;
  const { SANDBOX: sandbox } = env;
  return {
    settings: readSettings(env),
    tenant: (tenantId) => objectOf("Tenant", env.TENANT, tenantId),
    scanner: (network) => objectOf("ChainScanner", env.CHAIN_SCANNER, network),
    monitor: () => objectIfAny("Monitor", env.MONITOR, MONITOR_NAME),
    store: {
      insertTenant: (tenant, key) => insertTenant(env.DB, tenant, key),
      claimSignUp: (claim) => claimSignUp(env.DB, claim),
      ping: () => ping(env.DB),
    },
    signUpLimit:
      limiter === undefined ? null : async (key) => (await step("sign-up limit", () => limiter.limit({ key }))).success,
    sandbox: sandbox === undefined ? null : (request) => step("sandbox", () => sandbox.fetch(request)),
    now: () => Date.now(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  };
}

const MISCONFIGURED: Refusal = {
  code: "store_unavailable",
  detail: "The service refuses its settings and serves nothing until they are mended. Its log names them.",
  retryAfterS: 60,
};

function misconfigured(thrown: unknown): Response {
  const requestId = newId("req", crypto.getRandomValues(new Uint8Array(16)));
  log("error", "settings_refused", { request_id: requestId }, thrown);
  const { body, status, headers } = problemParts(MISCONFIGURED, requestId, null);
  return Response.json(body, { status, headers: { ...headers, "X-Request-Id": requestId, ...ON_EVERY_ANSWER } });
}
