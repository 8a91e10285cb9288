/** Watched addresses. */

import { z } from "@hono/zod-openapi";
import { isId } from "../core/ids.ts";
import { EXAMPLE } from "./examples.ts";
import { Account, AddressText, Height, line, Metadata, maybe, NetworkId, OwnAccount, timeOf } from "./fields.ts";
import { Cursor, Limit, pageOf } from "./page.ts";

interface Named {
  readonly network: string;
  readonly account: string;
  readonly label: string | null;
  readonly metadata: Record<string, string>;
}
export interface GivenAddress extends Named {
  readonly address: string;
  readonly startHeight: number | null;
}
export interface DerivedAddress extends Named {
  readonly xpubId: string;
}

const XpubId = z.string().refine((text) => isId("xpub", text), "expected an id of GET /v1/xpubs");

export const NewAddressBody = z
  .strictObject({
    network: NetworkId,
    address: maybe(AddressText).openapi({
      description: "An address of yours, in any spelling of its network. Either this or xpub_id.",
    }),
    xpub_id: maybe(XpubId).openapi({
      description: "The next address below this extended public key is derived and watched. Either this or address.",
    }),
    account: OwnAccount.default("default"),
    label: line(200).nullable().default(null).openapi({ description: "A text for people." }),
    metadata: Metadata.default({}),
    start_height: Height.nullable().default(null).openapi({
      description:
        "Read from this height on, by way of a backfill. Only with address. Left out: from the next block on.",
    }),
  })
  .transform(
    ({ address, xpub_id: xpubId, start_height: startHeight, ...rest }, context): GivenAddress | DerivedAddress => {
      const refuse = (field: string, message: string) => {
        context.issues.push({ code: "custom", message, path: [field], input: undefined });
        return z.NEVER;
      };
      if (address !== undefined && xpubId === undefined) return { ...rest, address, startHeight };
      if (xpubId === undefined) return refuse("address", "expected either address or xpub_id");
      if (address !== undefined) return refuse("xpub_id", "expected either address or xpub_id");
      // It is handed out by this request: nobody can have paid it before.
      if (startHeight !== null) return refuse("start_height", "only with address");
      return { ...rest, xpubId };
    },
  )
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
    xpub_id: z.string().nullable().openapi({
      description: "The extended public key that it was derived from; null: it was given by hand.",
    }),
    derivation_path: z.string().nullable().openapi({
      description: "Where it stands below the account's key, such as 0/17; null: it was given by hand.",
    }),
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
      xpub_id: null,
      derivation_path: null,
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
