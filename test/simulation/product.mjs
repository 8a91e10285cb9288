// The product as it is deployed, and its D1 migrations in order. Its types want the platform's, which do not
// live beside Node's: what is used of it here is stated in product.d.mts.

import worker, { ChainScanner, Tenant, WebhookEndpoint } from "../../src/index.ts";

export const objects = { tenant: Tenant, scanner: ChainScanner, endpoint: WebhookEndpoint };
export const fetchHandler = worker.fetch;
export const scheduledHandler = worker.scheduled;

const files = import.meta.glob("../../migrations/*.sql", { eager: true, import: "default" });
export const migrations = Object.keys(files)
  .sort()
  .map((path) => files[path]);
