/** Reads whole numbers that were typed: pure. */

/** @returns null: nothing was entered. undefined: no whole number */
export function readWhole(text: string): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return /^(0|[1-9][0-9]{0,14})$/.test(trimmed) ? Number(trimmed) : undefined;
}
