/** Where a network's transactions and addresses can be looked at by anybody. Local networks have no such place. */

const EXPLORERS: Record<string, { readonly tx: string; readonly address: string }> = {
  ethereum: { tx: "https://etherscan.io/tx/", address: "https://etherscan.io/address/" },
  sepolia: { tx: "https://sepolia.etherscan.io/tx/", address: "https://sepolia.etherscan.io/address/" },
  base: { tx: "https://basescan.org/tx/", address: "https://basescan.org/address/" },
  arbitrum: { tx: "https://arbiscan.io/tx/", address: "https://arbiscan.io/address/" },
  optimism: { tx: "https://optimistic.etherscan.io/tx/", address: "https://optimistic.etherscan.io/address/" },
  polygon: { tx: "https://polygonscan.com/tx/", address: "https://polygonscan.com/address/" },
  bsc: { tx: "https://bscscan.com/tx/", address: "https://bscscan.com/address/" },
  bitcoin: { tx: "https://mempool.space/tx/", address: "https://mempool.space/address/" },
  tron: { tx: "https://tronscan.org/#/transaction/", address: "https://tronscan.org/#/address/" },
  "tron-nile": { tx: "https://nile.tronscan.org/#/transaction/", address: "https://nile.tronscan.org/#/address/" },
  solana: { tx: "https://explorer.solana.com/tx/", address: "https://explorer.solana.com/address/" },
};

export function explorerOf(kind: "tx" | "address", network: string, what: string): string | null {
  if (network === "solana-devnet")
    return `https://explorer.solana.com/${kind}/${encodeURIComponent(what)}?cluster=devnet`;
  const explorer = EXPLORERS[network];
  return explorer === undefined ? null : explorer[kind] + encodeURIComponent(what);
}
