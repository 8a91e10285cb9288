/** Hot wallets: the one address per network that a tenant's withdrawals are paid from, and who signs for it. */

import { z } from "@hono/zod-openapi";
import { EXAMPLE } from "./examples.ts";
import { AddressText, Decimal, line, maybe, Units } from "./fields.ts";
import { pageOf } from "./page.ts";

/** A token that travels in a header (RFC 6750): printable, without blanks. */
const Token = z.string().regex(/^[\x21-\x7e]{1,1024}$/, "expected 1 to 1024 printable ASCII characters without blanks");

/** Whether the address is acceptable (https, not inside) is decided where it is called. */
const SignerUrl = line(2048)
  .refine(isSignerUrl, "expected a URL such as https://signer.example/, without user, password or fragment")
  .openapi({
    format: "uri",
    description: "Where the remote signer answers. https, and nothing inside.",
    example: "https://signer.example/",
  });

function isSignerUrl(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { username, password, hash } = new URL(text);
  return username === "" && password === "" && hash === "";
}

export const SignerBody = z
  .strictObject({
    type: z.enum(["derived", "remote"]).openapi({
      description: "derived: from the service's own seed. remote: a Web3Signer of yours, asked for each signature.",
    }),
    url: maybe(SignerUrl),
    address: maybe(AddressText).openapi({
      description: "The address that the remote signer signs for. Only with remote.",
    }),
    token: Token.nullable()
      .default(null)
      .openapi({ description: "Sent to the remote signer as a bearer token, never shown again. Only with remote." }),
  })
  .transform(({ type, url, address, token }, context) => {
    const refuse = (field: string, message: string) => {
      context.issues.push({ code: "custom", message, path: [field], input: type });
      return z.NEVER;
    };
    if (type === "remote") {
      if (url === undefined) return refuse("url", "expected the remote signer's URL");
      if (address === undefined) return refuse("address", "expected the address that the remote signer signs for");
      return { type, url, address, token };
    }
    if (url !== undefined) return refuse("url", "a derived signer has none");
    if (address !== undefined) return refuse("address", "a derived signer's follows from the seed");
    if (token !== null) return refuse("token", "a derived signer has none");
    return { type };
  })
  .openapi("Signer", {
    example: { type: "remote", url: "https://signer.example/", address: EXAMPLE.wallet, token: "signer-token" },
  });

export const Wallet = z
  .object({
    network: z.string().openapi({ description: "The network's id." }),
    address: z.string().openapi({ description: "Where to top it up, in canonical spelling." }),
    signer: z
      .union([
        z.object({
          type: z.literal("derived"),
          path: z.string().openapi({ description: "Derivation path (BIP 32) from the service's seed." }),
        }),
        z.object({ type: z.literal("remote"), url: z.string().openapi({ description: "The Web3Signer of yours." }) }),
      ])
      .openapi({ description: "Who signs for it." }),
    balances: z
      .array(
        z.object({
          asset: z.string().openapi({ description: "The asset's symbol." }),
          amount: Decimal,
          amount_units: Units,
        }),
      )
      .nullable()
      .openapi({
        description:
          "What the chain says it holds now; where wallets are sets of coins, those that are deep enough and in no transaction of a block. null: the chain is out of reach.",
      }),
    next_nonce: z.int().nullable().openapi({
      description: "The nonce of the next transaction; null: not known yet, or wallets there have none.",
    }),
    in_flight: z.int().openapi({ description: "Withdrawals that are signed and not final." }),
    status: z.enum(["active", "stopped"]).openapi({
      description: "stopped: nothing is signed until a person lets it go on.",
    }),
    incident: z.string().nullable().openapi({ description: "Why it is stopped; null: it is not." }),
  })
  .openapi("Wallet", {
    example: {
      network: "ethereum",
      address: EXAMPLE.wallet.toLowerCase(),
      signer: { type: "derived", path: "m/44'/60'/0'/0/0" },
      balances: [{ asset: "ETH", amount: "1.25", amount_units: "1250000000000000000" }],
      next_nonce: 18,
      in_flight: 1,
      status: "active",
      incident: null,
    },
  });

export const WalletPage = pageOf(Wallet, "Wallet");
