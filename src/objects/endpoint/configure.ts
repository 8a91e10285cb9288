/**
 * Owns the first and later configurations of an endpoint, and the replacement of its key. Both run inside the
 * caller's transaction and may be repeated.
 */

import { hasFailedLong } from "../../core/webhook-schedule.ts";
import { insertEndpoint, noteNews, readEndpoint, updateTarget } from "../../store/endpoint/config.ts";
import type { EndpointDb } from "../../store/endpoint/database.ts";
import { type KeyRow, keyOfRequest, type NewKeyRow, replaceKey } from "../../store/endpoint/key-store.ts";
import type { EndpointConfig } from "../api.ts";

/**
 * @param key made for this call; null: there was an endpoint when it began
 * @returns whether it was the first configuration, which took the key
 */
export function configureEndpoint(db: EndpointDb, target: EndpointConfig, key: NewKeyRow | null, now: number): boolean {
  const { tenantId, endpointId, url, apiVersion, signature } = target;
  const known = readEndpoint(db);
  if (known === null) {
    if (key === null) throw new Error(`${endpointId} vanished while it was being configured`);
    insertEndpoint(db, { tenantId, endpointId, url, apiVersion, signature }, now);
    replaceKey(db, key, "configure", now, now);
    return true;
  }
  if (known.endpointId !== endpointId || known.tenantId !== tenantId) {
    throw new Error(
      `this object is ${known.endpointId} of ${known.tenantId}, was told it is ${endpointId} of ${tenantId}`,
    );
  }
  updateTarget(db, { url, apiVersion });
  // It was told that the former target fails.
  if (url !== known.url && hasFailedLong(known.failingSince, now)) noteNews(db, now);
  return false;
}

/** A name of its own: a merchant may choose any request id, "configure" too. */
function rotationOf(requestId: string): string {
  return `rotate:${requestId}`;
}

export function keyOfRotation(db: EndpointDb, requestId: string): KeyRow | undefined {
  return keyOfRequest(db, rotationOf(requestId));
}

/** @param key used when this request was not met before @returns the key that this request made */
export function rotateEndpointKey(
  db: EndpointDb,
  key: NewKeyRow,
  overlapS: number,
  requestId: string,
  now: number,
): NewKeyRow {
  const earlier = keyOfRotation(db, requestId);
  if (earlier !== undefined) return earlier;
  replaceKey(db, key, rotationOf(requestId), now + overlapS * 1_000, now);
  if (key.publicKey !== null) noteNews(db, now);
  return key;
}
