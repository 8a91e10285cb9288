/**
 * Opaque cursors over an ascending integer position. Rows inserted while somebody pages never shift what
 * is still to come: a page continues strictly below (or above) the last row it gave.
 */

const PREFIX = "v1.";

export function encodeCursor(position: number): string {
  return btoa(`${PREFIX}${position}`).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** null when the text was not made by `encodeCursor`. */
export function decodeCursor(cursor: string): number | null {
  let text: string;
  try {
    text = atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return null;
  }
  if (!text.startsWith(PREFIX) || !/^\d{1,16}$/.test(text.slice(PREFIX.length))) return null;
  const position = Number(text.slice(PREFIX.length));
  return Number.isSafeInteger(position) && encodeCursor(position) === cursor ? position : null;
}

/** Cuts a list read with one row more than asked into a page and the cursor of its last row. */
export function toPage<Row, View>(
  rows: readonly Row[],
  limit: number,
  position: (row: Row) => number,
  view: (row: Row) => View,
): { data: View[]; next_cursor: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(view),
    next_cursor: rows.length > limit && last !== undefined ? encodeCursor(position(last)) : null,
  };
}
