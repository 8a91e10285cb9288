/**
 * What `NETWORKS` may say about one network: the keys, their bounds, and which family has them. A value that
 * does not fit is a problem that says where it stands, what came and what was expected.
 */

import { z } from "zod";
import type { NetworkFamily, NetworkSettings } from "./network.ts";

const FAMILIES = ["evm", "bitcoin", "tron", "solana"] as const satisfies readonly NetworkFamily[];
const MAX_REORG_WINDOW = 20_000;
const MIN_POLL_MS = 100;
const MAX_POLL_MS = 3_600_000;
export const MAX_CONFIRM_SECONDS = 86_400;
const MAX_DECIMALS = 77;
/** One wei, in gwei. */
const MIN_FEE_GWEI = 0.000000001;
const MAX_FEE_GWEI = 1_000_000;
/** Satoshi per virtual byte: the least that any node relays, and beyond every fee that was ever paid. */
const MIN_FEE_RATE = 0.1;
const MAX_FEE_RATE = 10_000;
const MAX_FEE_TARGET = 1_008;
/** Payments of one transaction: with one input for each it stays under the 100 kB that pools take. */
const MAX_BATCH = 500;
export const MAX_REPLACE_BLOCKS = 20_000;
const MIN_DEADLINE_S = 10;
const MAX_DEADLINE_S = 604_800;
const MAX_SHOWN_CHARS = 60;

// Every message of the schema says what was expected; what came is read from the input beside it.
const SYMBOL = z.string({ error: "a symbol" }).regex(/^[A-Za-z0-9][A-Za-z0-9.+_-]{0,19}$/, {
  error: "1 to 20 of A-Z a-z 0-9 . + _ -, beginning with a letter or digit",
});
const DECIMALS = integer(0, MAX_DECIMALS);
const NATIVE_ASSET = z.strictObject({ symbol: SYMBOL, decimals: DECIMALS }, { error: "an object {symbol, decimals}" });
const TOKEN = z.strictObject(
  { symbol: SYMBOL, contract: z.string({ error: "a contract address" }), decimals: DECIMALS },
  { error: "an object {symbol, contract, decimals}" },
);

const IDENTITY = {
  family: z.enum(FAMILIES, { error: oneOf(FAMILIES) }),
  chain_id: integer(1, Number.MAX_SAFE_INTEGER),
  native_asset: NATIVE_ASSET,
};
/** What decides when a payment counts: a new network must state all of it. */
const PACE = {
  confirmations: integer(1, MAX_REORG_WINDOW),
  reorg_window: integer(1, MAX_REORG_WINDOW),
  poll_ms: integer(MIN_POLL_MS, MAX_POLL_MS),
  finality: z.enum(["depth", "tag"], { error: oneOf(["depth", "tag"]) }),
};
const OPTIONAL = {
  min_confirm_seconds: integer(0, MAX_CONFIRM_SECONDS).optional(),
  native: z.boolean({ error: "true or false" }).optional(),
  internal: z.boolean({ error: "true or false" }).optional(),
  tokens: z.array(TOKEN, { error: "an array of {symbol, contract, decimals}" }).optional(),
  pool: z.boolean({ error: "true or false" }).optional(),
  replace_after_blocks: integer(1, MAX_REPLACE_BLOCKS).optional(),
  withdrawal_deadline_s: integer(MIN_DEADLINE_S, MAX_DEADLINE_S).optional(),
};
/** What a fee is, by family. */
const EVM_FEES = {
  max_fee_gwei: number(MIN_FEE_GWEI, MAX_FEE_GWEI).optional(),
  fee_model: z.enum(["eip1559", "legacy"], { error: oneOf(["eip1559", "legacy"]) }).optional(),
};
const BITCOIN_FEES = {
  min_fee_rate: number(MIN_FEE_RATE, MAX_FEE_RATE).optional(),
  max_fee_rate: number(MIN_FEE_RATE, MAX_FEE_RATE).optional(),
  fee_target_blocks: integer(1, MAX_FEE_TARGET).optional(),
  max_batch: integer(1, MAX_BATCH).optional(),
};
const EXPIRING_FEES = {
  max_fee: z
    .string({ error: "a decimal amount" })
    .regex(/^(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?$/, { error: "a decimal amount" })
    .optional(),
};
const FEES = { ...EVM_FEES, ...BITCOIN_FEES, ...EXPIRING_FEES };
/** Keys that say something about the networks of one family alone. */
const FAMILIES_OF_KEY: Readonly<Record<string, readonly NetworkFamily[]>> = {
  chain_id: ["evm"],
  internal: ["evm", "tron"],
  tokens: ["evm", "tron", "solana"],
  pool: ["bitcoin"],
  ...Object.fromEntries(Object.keys(EVM_FEES).map((key) => [key, ["evm"]])),
  ...Object.fromEntries(Object.keys(BITCOIN_FEES).map((key) => [key, ["bitcoin"]])),
  ...Object.fromEntries(Object.keys(EXPIRING_FEES).map((key) => [key, ["tron", "solana"]])),
};
const KEYS = Object.keys({ ...PACE, ...OPTIONAL, ...FEES, ...IDENTITY });

/** Every key of a network that is not built in. */
const ADDITION = z.strictObject({ ...IDENTITY, ...PACE, ...OPTIONAL, ...FEES }, { error: "an object" });
const OVERRIDE = ADDITION.partial();
/** Keys that change a network which is known already. */
export type Override = z.output<typeof OVERRIDE>;
/** What a new network states of itself. */
export type Addition = z.output<typeof ADDITION>;

export type ParsedKeys<Keys> =
  | { readonly ok: true; readonly keys: Keys }
  | { readonly ok: false; readonly problems: readonly string[] };

/** @param id of the network, which every problem begins with */
export function overrideFrom(id: string, value: unknown): ParsedKeys<Override> {
  return parsed(OVERRIDE, id, value);
}

/** @param id of the network, which every problem begins with */
export function additionFrom(id: string, value: unknown): ParsedKeys<Addition> {
  return parsed(ADDITION, id, value);
}

function parsed<Keys>(schema: z.ZodType<Keys>, id: string, value: unknown): ParsedKeys<Keys> {
  const result = schema.safeParse(value);
  if (!result.success) return { ok: false, problems: problemsOf(id, value, result.error.issues) };
  return { ok: true, keys: result.data };
}

/** A key that does nothing here would be believed to do something. */
export function keysOfOthers(
  { id, family }: Pick<NetworkSettings, "id" | "family">,
  given: Override,
): readonly string[] {
  return Object.keys(given).flatMap((key) => {
    const others = FAMILIES_OF_KEY[key];
    return others === undefined || others.includes(family)
      ? []
      : [`${id}.${key}: only networks of the ${others.join(" or ")} family have it`];
  });
}

function problemsOf(id: string, value: unknown, issues: readonly z.core.$ZodIssue[]): readonly string[] {
  return issues.flatMap((issue) => {
    const where = [id, ...issue.path].join(".");
    if (issue.code === "unrecognized_keys") {
      const expected = issue.path.length === 0 ? `; expected one of ${KEYS.join(", ")}` : "";
      return issue.keys.map((key) => `${where}: unknown key ${shown(key)}${expected}`);
    }
    return [`${where}: expected ${issue.message}, got ${shown(at(value, issue.path))}`];
  });
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (isObject(inner) || Array.isArray(inner) ? Reflect.get(inner, key) : undefined),
    value,
  );
}

/** A value as a message shows it. */
export function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? typeof value;
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}...`;
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function integer(least: number, most: number) {
  const error = `an integer from ${least} to ${most}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
}

function number(least: number, most: number) {
  const error = `a number from ${least < 1e-6 ? least.toFixed(9) : least} to ${most}`;
  return z.number({ error }).min(least, { error }).max(most, { error });
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? `${shown(values[0])}` : `one of ${values.map(shown).join(", ")}`;
}
