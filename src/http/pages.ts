/** Pages: what a list call asks of an object, and pages over lists that are short enough to be held whole. */

import type { Outcome } from "../core/refusal.ts";
import { refuse } from "../core/refusal.ts";
import type { Page } from "../core/views.ts";
import type { PageRequest } from "../objects/api.ts";

/** Splits a list call's query into what is looked for and which page of it. */
export function filterAndPage<Q extends { readonly limit: number; readonly cursor?: string }>(
  query: Q,
): { filter: Omit<Q, "limit" | "cursor">; page: PageRequest } {
  const { limit, cursor, ...filter } = query;
  return { filter, page: { limit, cursor: cursor ?? null } };
}

/**
 * One page of a whole list. The cursor names the last item given, not a position, so items that are
 * added meanwhile shift nothing. Refuses `invalid_cursor` when it names none.
 */
export function slicePage<T>(all: readonly T[], nameOf: (item: T) => string, page: PageRequest): Outcome<Page<T>> {
  let start = 0;
  if (page.cursor !== null) {
    start = all.findIndex((item) => encode(nameOf(item)) === page.cursor) + 1;
    if (start === 0) return refuse("invalid_cursor", "Pass a next_cursor of this list as it came.");
  }
  const data = all.slice(start, start + page.limit);
  const last = data.at(-1);
  const more = start + data.length < all.length;
  return { ok: true, value: { data, next_cursor: more && last !== undefined ? encode(nameOf(last)) : null } };
}

/** Base64url of an ASCII name. */
function encode(name: string): string {
  return btoa(name).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
