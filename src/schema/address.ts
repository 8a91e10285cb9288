/** Watched addresses. */

import { z } from "@hono/zod-openapi";
import { Account, AddressText, Height, line, Metadata, maybe, NetworkId, OwnAccount, Time } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

export const NewAddressBody = z
  .strictObject({
    network: NetworkId,
    address: AddressText,
    account: OwnAccount.default("default"),
    label: line(200).nullable().default(null),
    metadata: Metadata.default({}),
    start_height: Height.nullable().default(null).openapi({
      description: "Read from this height on, by way of a backfill. Left out: from the next block on.",
    }),
  })
  .openapi("NewAddress");

export const Address = z
  .object({
    id: z.string(),
    network: z.string(),
    address: z.string(),
    account: z.string(),
    label: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    watched_from: z.int().openapi({ description: "First height whose payments count." }),
    scanned_to: z.int().openapi({ description: "Every height from watched_from up to here has been read." }),
    created_at: Time,
  })
  .openapi("Address");

export const AddressPage = pageOf(Address, "Address");
export const AddressQuery = z.strictObject({
  network: maybe(NetworkId),
  account: maybe(Account),
  limit: Limit,
  cursor: maybe(Cursor),
});
