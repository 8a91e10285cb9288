/** How many heights one call to a node may ask for. */

/** @throws Error for a range that no caller may ask for: a bug */
export function assertRange(from: number, to: number, max: number): void {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || to < from || to - from >= max) {
    throw new Error(`a reading covers 1 to ${max} heights, asked for ${from}..${to}`);
  }
}
