/** The other objects that a tenant calls. */

import type { Env } from "../../env.ts";
import { objectOf } from "../../steps.ts";
import type { EndpointApi, ScannerApi } from "../api.ts";

/** How long an endpoint's object may take to answer: one that hangs holds up no follow-up of its tenant. */
export const ENDPOINT_DEADLINE_MS = 10_000;

export function scannerOf(env: Env, network: string): ScannerApi {
  return objectOf("ChainScanner", env.CHAIN_SCANNER, network);
}

export function endpointOf(env: Env, endpointId: string): EndpointApi {
  return objectOf("WebhookEndpoint", env.WEBHOOK_ENDPOINT, endpointId);
}
