/** Watched addresses. */

import { z } from "@hono/zod-openapi";
import { EXAMPLE } from "./examples.ts";
import { Account, AddressText, Height, line, Metadata, maybe, NetworkId, OwnAccount, timeOf } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

export const NewAddressBody = z
  .strictObject({
    network: NetworkId,
    address: AddressText,
    account: OwnAccount.default("default"),
    label: line(200).nullable().default(null).openapi({ description: "A text for people." }),
    metadata: Metadata.default({}),
    start_height: Height.nullable().default(null).openapi({
      description: "Read from this height on, by way of a backfill. Left out: from the next block on.",
    }),
  })
  .openapi("NewAddress", {
    example: { network: "ethereum", address: EXAMPLE.watched, account: EXAMPLE.account, metadata: { order: "1042" } },
  });

export const Address = z
  .object({
    id: z.string(),
    network: z.string().openapi({ description: "The network's id." }),
    address: z.string().openapi({ description: "In the network's canonical spelling." }),
    account: z.string().openapi({ description: "Your name of the customer that its deposits are booked to." }),
    label: z.string().nullable().openapi({ description: "A text for people." }),
    metadata: z.record(z.string(), z.string()).openapi({ description: "What you gave, unchanged." }),
    watched_from: z.int().openapi({ description: "First block height whose payments count." }),
    scanned_to: z.int().openapi({ description: "Every block height from watched_from up to here has been read." }),
    created_at: timeOf("When it was first asked for."),
  })
  .openapi("Address", {
    example: {
      id: EXAMPLE.address,
      network: "ethereum",
      address: EXAMPLE.watched.toLowerCase(),
      account: EXAMPLE.account,
      label: null,
      metadata: { order: "1042" },
      watched_from: 21_000_001,
      scanned_to: 21_000_044,
      created_at: "2026-01-31T12:00:00.000Z",
    },
  });

export const AddressPage = pageOf(Address, "Address");
export const AddressQuery = z.strictObject({
  network: maybe(NetworkId),
  account: maybe(Account),
  limit: Limit,
  cursor: maybe(Cursor),
});
