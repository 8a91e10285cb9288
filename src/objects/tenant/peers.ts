/** Stubs of the other objects. A stub is made anew for each call: one that failed stays broken. */

import type { Env } from "../../env.ts";
import type { EndpointApi, ScannerApi } from "../api.ts";

export function scannerOf(env: Env, network: string): ScannerApi {
  return env.CHAIN_SCANNER.get(env.CHAIN_SCANNER.idFromName(network)) as unknown as ScannerApi;
}

export function endpointOf(env: Env, endpointId: string): EndpointApi {
  return env.WEBHOOK_ENDPOINT.get(env.WEBHOOK_ENDPOINT.idFromName(endpointId)) as unknown as EndpointApi;
}
