/** Orders to a chain in a process of its own, from wherever fetch is: nothing here needs the chain itself. */

/** What is done to the chain, a node or its tokens: a method and what it takes. Whole numbers above 2^53 as `"12n"`. */
export interface Order {
  readonly on: "chain" | "tokens" | number;
  readonly call: string;
  readonly with: readonly unknown[];
}

/** @throws Error with the words of what went wrong there */
export async function orderAt(control: string, order: Order): Promise<unknown> {
  const response = await fetch(control, { method: "POST", body: JSON.stringify(order, written) });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text === "" ? undefined : JSON.parse(text, restored);
}

export function written(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  return value instanceof Uint8Array ? Array.from(value) : value;
}

export function restored(_key: string, value: unknown): unknown {
  return typeof value === "string" && /^-?\d+n$/.test(value) ? BigInt(value.slice(0, -1)) : value;
}
