/**
 * Amounts: bigint in base units inside, decimal strings in the asset's unit outside. Nothing is rounded.
 */

/** `0|[1-9][0-9]*`, optional fraction, ASCII digits only. */
const GRAMMAR = /^(0|[1-9][0-9]*)(?:\.([0-9]+))?$/;
/** Longest amount text: 78 digits hold 2^256, with a point and a fraction beside them. */
const MAX_CHARS = 160;

export type ParsedAmount =
  | { readonly ok: true; readonly units: bigint }
  | { readonly ok: false; readonly reason: "not_decimal" | "too_many_decimals" | "too_large" };

/** Reads "1.5" with 6 decimals as 1500000. Digits past the asset's decimals are refused, zeros as well. */
export function parseAmount(text: string, decimals: number): ParsedAmount {
  if (text.length > MAX_CHARS) return { ok: false, reason: "too_large" };
  const match = GRAMMAR.exec(text);
  if (!match) return { ok: false, reason: "not_decimal" };
  const fraction = match[2] ?? "";
  if (fraction.length > decimals) return { ok: false, reason: "too_many_decimals" };
  const units = BigInt((match[1] ?? "") + fraction.padEnd(decimals, "0"));
  return units < 1n << 256n ? { ok: true, units } : { ok: false, reason: "too_large" };
}

/** Writes 1500000 with 6 decimals as "1.5". No exponent, no trailing zeros. */
export function formatAmount(units: bigint, decimals: number): string {
  if (units < 0n) throw new Error(`an amount is never negative, got ${units}`);
  const digits = units.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = decimals === 0 ? "" : digits.slice(-decimals).replace(/0+$/, "");
  return fraction === "" ? whole : `${whole}.${fraction}`;
}

/** Base units as stored and sent: a canonical non-negative integer. A row that is not one is a bug. */
export function unitsFromText(text: string): bigint {
  if (!/^(0|[1-9][0-9]*)$/.test(text))
    throw new Error(`stored amount is not a canonical integer: ${JSON.stringify(text)}`);
  return BigInt(text);
}

export function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
