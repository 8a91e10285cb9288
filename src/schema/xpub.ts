/** Extended public keys. A private key stops here: what refuses it says nothing of it, and nothing of it goes on. */

import { z } from "@hono/zod-openapi";
import { MAX_INDEX } from "../core/derived-address.ts";
import { ADDRESS_TYPES, extendedKeyProblem, readExtendedKey } from "../core/extended-key.ts";
import { EXAMPLE } from "./examples.ts";
import { line, maybe, NetworkId, timeOf } from "./fields.ts";
import { pageOf } from "./page.ts";

/** BIP-84's own test vector. */
const EXAMPLE_KEY =
  "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";

const XpubText = z
  .string()
  .check((context) => {
    const read = readExtendedKey(context.value);
    // The input of an issue could be shown: it is left out.
    if (!read.ok) context.issues.push({ code: "custom", message: extendedKeyProblem(read), input: undefined });
  })
  .openapi({
    description:
      "An account's extended public key, such as m/84'/0'/0': xpub, ypub or zpub on the main chain, tpub, upub or " +
      "vpub on test chains, xpub on EVM networks and TRON. Solana has none. Private keys are refused.",
    example: EXAMPLE_KEY,
  });

const Type = z.enum(ADDRESS_TYPES);

export const NewXpubBody = z
  .strictObject({
    network: NetworkId,
    xpub: XpubText,
    type: maybe(Type).openapi({
      description:
        "Which addresses the wallet makes. On Bitcoin networks an xpub or tpub does not say it, so it is required; " +
        "where the key or the network says it (ypub, zpub, upub, vpub; evm on EVM networks, tron on TRON) it may be " +
        "left out and must agree.",
    }),
    label: line(200).nullable().default(null).openapi({ description: "A text for people." }),
    next_index: z.int().min(0).max(MAX_INDEX).default(0).openapi({
      description: "The first index to hand out, when addresses of this account were given to customers before.",
    }),
  })
  .openapi("NewXpub", { example: { network: "bitcoin", xpub: EXAMPLE_KEY, label: "shop" } });

export const Xpub = z
  .object({
    id: z.string(),
    network: z.string().openapi({ description: "The network's id." }),
    type: Type.openapi({ description: "Which addresses are derived." }),
    xpub: z.string().openapi({ description: "The key as you gave it, its first and last 8 characters." }),
    path: z.string().openapi({ description: "The account, as its type and its network have it." }),
    fingerprint: z.string().openapi({ description: "First 4 bytes of HASH160 of the account's public key, in hex." }),
    label: z.string().nullable().openapi({ description: "A text for people." }),
    next_index: z.int().openapi({ description: "The next address has this index, or a later one." }),
    first_address: z.string().openapi({ description: "The address at 0/0. Your wallet must show the same one first." }),
    created_at: timeOf("When it was registered."),
  })
  .openapi("Xpub", {
    example: {
      id: EXAMPLE.xpub,
      network: "bitcoin",
      type: "p2wpkh",
      xpub: "zpub6rFR...AGutZYs",
      path: "m/84'/0'/0'",
      fingerprint: "fd13aac9",
      label: "shop",
      next_index: 17,
      first_address: "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
      created_at: "2026-01-31T12:00:00.000Z",
    },
  });

export const XpubPage = pageOf(Xpub, "Xpub");
