/**
 * What one look into the database found: the endpoint as it stands, the keys that sign, and the deliveries that may be sent
 * next. Sends go by it, so that not each of them asks anew. Whatever changes the database makes it void.
 */

import { type EndpointRow, readEndpoint } from "../../store/endpoint/config.ts";
import type { EndpointDb } from "../../store/endpoint/database.ts";
import { type KeyRow, signingKeys } from "../../store/endpoint/key-store.ts";
import { type Head, readHeads } from "../../store/endpoint/queue.ts";

/** More than can be under way and can wait for an attempt of their own subject, so that there is one to start if any is due. */
const HEADS_LOOKED_AT = 100;
/** A replaced key signs for so long at most past its end, and a clock that stepped is noticed. */
const LOOK_LASTS_MS = 5_000;

export interface Look {
  /** Unix ms. */
  readonly at: number;
  readonly endpoint: EndpointRow;
  readonly keys: readonly KeyRow[];
  /** First the one that is due first. Those that were started are taken off. */
  readonly heads: Head[];
}

/** null: there is no endpoint. */
export function lookInto(db: EndpointDb, now: number): Look | null {
  const endpoint = readEndpoint(db);
  if (endpoint === null) return null;
  return { at: now, endpoint, keys: signingKeys(db, now), heads: readHeads(db, HEADS_LOOKED_AT) };
}

export function isFresh(look: Look, now: number): boolean {
  return look.at <= now && now < look.at + LOOK_LASTS_MS;
}
