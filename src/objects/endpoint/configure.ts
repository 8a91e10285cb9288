/**
 * Owns the first and later configurations of an endpoint, and the replacement of its secret. Both may be
 * repeated. A secret is given to the caller that made it and to a repetition of the same request alone.
 */

import {
  insertEndpoint,
  readEndpoint,
  replaceSecret,
  secretOfRequest,
  updateTarget,
} from "../../store/endpoint/config.ts";
import type { EndpointDb } from "../../store/endpoint/database.ts";
import type { EndpointConfig } from "../api.ts";

/** @param secret used when this is the first configuration @returns the secret, or null when there was one before */
export function configureEndpoint(db: EndpointDb, target: EndpointConfig, secret: string, now: number): string | null {
  const { tenantId, endpointId, url, apiVersion } = target;
  const known = readEndpoint(db);
  if (known === null) {
    insertEndpoint(db, { tenantId, endpointId, url, apiVersion }, now);
    replaceSecret(db, secret, "configure", now, now);
    return secret;
  }
  if (known.endpointId !== endpointId || known.tenantId !== tenantId) {
    throw new Error(
      `this object is ${known.endpointId} of ${known.tenantId}, was told it is ${endpointId} of ${tenantId}`,
    );
  }
  updateTarget(db, { url, apiVersion });
  return null;
}

/** @param secret used when this request was not met before @returns the secret that this request made */
export function rotateEndpointSecret(
  db: EndpointDb,
  secret: string,
  overlapS: number,
  requestId: string,
  now: number,
): string {
  // A name of its own: a merchant may choose any request id, "configure" too.
  const request = `rotate:${requestId}`;
  const earlier = secretOfRequest(db, request);
  if (earlier !== null) return earlier;
  replaceSecret(db, secret, request, now + overlapS * 1_000, now);
  return secret;
}
