/** Lists: `limit` and `cursor` in, `data` and `next_cursor` out. */

import { z } from "@hono/zod-openapi";
import { maybe } from "./fields.ts";

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;

export const Limit = z
  .string()
  .refine((text) => /^[1-9][0-9]{0,2}$/.test(text) && Number(text) <= MAX_LIMIT, `expected 1 to ${MAX_LIMIT}`)
  .transform(Number)
  .default(DEFAULT_LIMIT)
  .openapi({
    type: "integer",
    minimum: 1,
    maximum: MAX_LIMIT,
    default: DEFAULT_LIMIT,
    description: "Items of one page at most.",
  });

/** A sequence number as it stands in a query: canonical, and a safe integer. */
export const Sequence = z
  .string()
  .refine((text) => /^(0|[1-9][0-9]{0,15})$/.test(text) && Number.isSafeInteger(Number(text)), "expected a sequence")
  .transform(Number)
  .openapi({ type: "integer", minimum: 0 });

/** Opaque here: whoever made it checks it. */
export const Cursor = z
  .string()
  .regex(/^[\x21-\x7e]{1,512}$/)
  .openapi({ description: "next_cursor of the page before, as it came. Left out: the first page." });

export const PageQuery = z.strictObject({ limit: Limit, cursor: maybe(Cursor) });

/** For calls that take no query at all. */
export const NoQuery = z.strictObject({});

export function pageOf<T extends z.ZodType>(item: T, name: string) {
  return z
    .object({
      data: z.array(item).openapi({ description: "The items of this page." }),
      next_cursor: z.string().nullable().openapi({ description: "Pass it as cursor; null: this was the last page." }),
    })
    .openapi(`${name}Page`);
}
