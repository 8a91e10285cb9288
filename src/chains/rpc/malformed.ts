/** What a node's answer must be to be read at all, whatever its family. */

import { ChainFault } from "../port.ts";

/** An answer that does not have the form it must have. Becomes a `ChainFault` where the node is known. */
export class MalformedAnswer extends Error {
  override readonly name = "MalformedAnswer";
  constructor(what: string, expected: string, got: unknown) {
    super(`${what}: expected ${expected}, got ${show(got)}`);
  }
}

/** What does not have the form it must have becomes a fault of this provider. @throws ChainFault */
export async function guarded<T>(
  provider: { readonly name: string; clean(text: string): string },
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof MalformedAnswer)) throw error;
    throw new ChainFault(`${provider.name}: ${provider.clean(error.message)}`, true, provider.name);
  }
}

export function parseList(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new MalformedAnswer(what, "an array", value);
}

export function parseObject(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new MalformedAnswer(what, "an object", value);
}

function show(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  return value.length <= 80
    ? JSON.stringify(value)
    : `${JSON.stringify(value.slice(0, 80))}... (${value.length} characters)`;
}
