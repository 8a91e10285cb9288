export { ChainScanner } from "./objects/chain-scanner.ts";
export { Monitor } from "./objects/monitor.ts";
export { Tenant } from "./objects/tenant.ts";
export { WebhookEndpoint } from "./objects/webhook-endpoint.ts";

import type { Env } from "./env.ts";
import { serve } from "./http/worker.ts";
import { patrol } from "./patrol.ts";

export default {
  fetch: serve,
  scheduled: (_controller, env) => patrol(env, Date.now()),
} satisfies ExportedHandler<Env>;
