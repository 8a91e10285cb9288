/**
 * The fields that several nouns share, as they are read from requests. What passes is stored and sent
 * again as it is, so nothing with a control character or without a canonical form passes.
 */

import { z } from "@hono/zod-openapi";
import { parseAmount } from "../core/amount.ts";
import { type IdPrefix, isId } from "../core/ids.ts";
import { EXAMPLE } from "./examples.ts";

/**
 * A field that may be left out. JSON and queries have no `undefined`, so at run time this is zod's own
 * optional, which the OpenAPI generator understands; the type says that the field is there or is not.
 */
export function maybe<T extends z.ZodType>(schema: T): z.ZodExactOptional<T> {
  return schema.optional() as unknown as z.ZodExactOptional<T>;
}

/** One line of text: no control characters, no line or paragraph separators. */
export function line(max: number) {
  return z
    .string()
    .min(1)
    .max(max)
    .refine((text) => !/[\p{Cc}\u2028\u2029]/u.test(text), "expected one line of text without control characters");
}

const RESERVED_PREFIX = "sluice:";

/** The merchant's own name of a customer. Compared byte for byte, so blank ends are refused, not cut. */
export const Account = line(64)
  .refine((text) => text === text.trim(), "expected no blank at either end")
  .openapi({ description: "Your own name of the customer.", example: "customer-17" });

/** An account that a request names as its own. What begins with `sluice:` is the service's. */
export const OwnAccount = Account.refine(
  (text) => !text.startsWith(RESERVED_PREFIX),
  `expected another beginning than ${RESERVED_PREFIX}, which is reserved`,
).openapi({ description: "Your own name of the customer.", example: "customer-17" });

const MAX_METADATA_KEYS = 20;
/** What the merchant keeps beside a thing: stored and sent again, never looked into. */
export const Metadata = z
  .record(line(40), z.string().max(500))
  .refine((metadata) => Object.keys(metadata).length <= MAX_METADATA_KEYS, `at most ${MAX_METADATA_KEYS} keys`)
  .openapi({
    type: "object",
    additionalProperties: { type: "string", maxLength: 500 },
    maxProperties: 20,
    description: "Text of your own by name: kept and sent again as it is. At most 20 names of 40 characters.",
    example: { order: "1042" },
  });

/** 1 to 255 printable ASCII characters, spaces only inside, compared byte for byte. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

export const NetworkId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, "expected a network id such as ethereum")
  .openapi({ description: "A network's id, as GET /v1/networks lists it.", example: "ethereum" });

/** A symbol that an asset may have already: a token's own, read from the chain, can be of any form. */
export const ListedSymbol = line(100).openapi({
  description: "An asset's symbol, as GET /v1/assets lists it.",
  example: "USDC",
});

/** A symbol that is given here. */
export const AssetSymbol = z
  .string()
  .min(1)
  .max(20)
  .refine((text) => !/[\p{C}\p{Z}]/u.test(text), "expected no blanks and no control characters")
  .openapi({ description: "A symbol of your own choice, unique on its network.", example: "USDC" });

/** As written by the caller; its one canonical spelling is found where the network's family is known. */
export const AddressText = line(128).openapi({
  description: "An address in any spelling of its network; a mixed-case one must have the right checksum.",
  example: EXAMPLE.watched,
});

export const Height = z.int().min(0).openapi({ description: "Block height.", example: 21000000 });

/** The `{id}` of a path. */
export function idOf(prefix: IdPrefix) {
  const id = z.string().refine((text) => isId(prefix, text));
  const description = `An id that begins with ${prefix}_, as an answer gave it.`;
  return z.object({ id: id.openapi({ description, example: `${prefix}_01h455vb4pex5vsknk084sn02q` }) });
}

/** Unix milliseconds inside, RFC 3339 with an offset outside. */
export const Instant = z.iso
  .datetime({ offset: true, error: "expected a time such as 2026-01-31T12:00:00.000Z" })
  .transform((text) => Date.parse(text))
  .openapi({
    type: "string",
    format: "date-time",
    description: "RFC 3339, with an offset or Z.",
    example: "2026-12-31T00:00:00.000Z",
  });

const MAX_OVERLAP_S = 7 * 24 * 60 * 60;
export const DEFAULT_OVERLAP_S = 24 * 60 * 60;
export const Overlap = z
  .strictObject({
    overlap_seconds: z.int().min(0).max(MAX_OVERLAP_S).default(DEFAULT_OVERLAP_S).openapi({
      description: "Seconds that the old secret stays valid beside the new one. At most 7 days.",
    }),
  })
  .openapi("Overlap", { example: { overlap_seconds: 3600 } });

/** A body that may be left out, and has no fields. */
export const NoFields = z.strictObject({});

/**
 * A decimal amount by its grammar alone: how many decimals it may have depends on the asset, which is
 * known later. Numbers, signs, exponents, blanks and other digits are refused here.
 */
export const AmountText = z
  .string({ error: 'expected a decimal string such as "1.5"' })
  .refine((text) => {
    const parsed = parseAmount(text, 0);
    return parsed.ok || parsed.reason === "too_many_decimals";
  }, 'expected a decimal string such as "1.5"')
  .openapi({
    pattern: "^(0|[1-9][0-9]*)(\\.[0-9]+)?$",
    description: "Decimal text in the asset's unit, with at most its decimals.",
    example: "1.5",
  });

/** An amount that moves something. */
export const PositiveAmountText = AmountText.refine((text) => /[1-9]/.test(text), "expected more than 0").openapi({
  pattern: "^(0|[1-9][0-9]*)(\\.[0-9]+)?$",
  description: "Decimal text above zero in the asset's unit, with at most its decimals.",
  example: "1.5",
});

// ---- answers ----------------------------------------------------------------------------------

export const Time = z.string().openapi({
  format: "date-time",
  description: "RFC 3339 in UTC, with milliseconds.",
  example: "2026-01-31T12:00:00.000Z",
});
export function timeOf(description: string) {
  return Time.openapi({ description });
}
export const Decimal = z.string().openapi({ description: "Decimal, in the asset's unit.", example: "1.5" });
export const Units = z.string().openapi({ description: "Whole number of base units.", example: "1500000" });
