/**
 * Decides what a QR code of an address holds. A payment link is offered only where wallets agree on one, and is the
 * first choice only where they all read it; the bare address is read by everything that can pay.
 */

export type CodeKind = "address" | "link";

export interface CodeNetwork {
  readonly family: string;
  readonly caip2: string;
}

/** @returns null: there is no link that wallets of this network agree on */
export function paymentLink({ family, caip2 }: CodeNetwork, address: string): string | null {
  switch (family) {
    case "bitcoin":
      return `bitcoin:${address}`;
    case "evm": {
      const chainId = /^eip155:([1-9][0-9]*)$/.exec(caip2)?.[1];
      return chainId === undefined ? null : `ethereum:${address}@${chainId}`;
    }
    case "solana":
      return `solana:${address}`;
    default:
      return null;
  }
}

/**
 * On Bitcoin networks every wallet and exchange reads BIP-21. Elsewhere a link without a token means the native coin to
 * a wallet, while the address takes tokens as well.
 */
export function preferredCode({ family }: CodeNetwork): CodeKind {
  return family === "bitcoin" ? "link" : "address";
}

const CONVENTIONS: Record<string, string> = {
  bitcoin: "The link is BIP-21, which Bitcoin wallets and exchanges read.",
  evm:
    "The link is EIP-681 and names the chain, so a wallet does not pay on another one; it means the native coin, and " +
    "exchanges often do not read it. The address alone suits tokens, too.",
  solana: "The link is Solana Pay. It means SOL; the address alone suits tokens, too.",
};

/** Why there is a choice, or none, in words. */
export function codeMeaning({ family }: CodeNetwork): string {
  return (
    CONVENTIONS[family] ?? "Wallets of this network agree on no payment link, so the code holds the address alone."
  );
}
