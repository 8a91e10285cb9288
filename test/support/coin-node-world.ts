/** A chain in memory whose top block pays a wallet of coins, and one provider that shows it to the withdrawal line. */

import { BitcoinCoinNode } from "../../src/chains/bitcoin/coin-node.ts";
import type { Coin, CoinPin } from "../../src/chains/coin-payout.ts";
import { BitcoinChain } from "./bitcoin-chain.ts";
import { BitcoinNodeDouble } from "./bitcoin-double.ts";
import { type BitcoinTx, parseTx } from "./bitcoin-tx.ts";
import { coinWallet, PAYEES, REGTEST } from "./coin-wallet.ts";

export const wallet = coinWallet();
export const GROWN = BitcoinChain.grown();
export const URL = "http://rpcuser:rpcpassword@node.test:8332/path/secret-key";

/** A chain whose top block pays the wallet, and a node that shows it. */
export function world({ coins = 1 } = {}) {
  const chain = GROWN.fork();
  const more = Array.from({ length: coins - 1 }, () => ({ to: wallet.address, amount: 400_000n }));
  const funding = chain.pay(wallet.address, 400_000n, { outputs: more });
  chain.mine();
  const double = new BitcoinNodeDouble(chain);
  const owned: Coin[] = Array.from({ length: coins }, (_, vout) => ({
    txId: funding.txid,
    vout,
    amountUnits: 400_000n,
    address: wallet.address,
    path: "0/0",
  }));
  const from = chain.head;
  const pins: CoinPin[] = owned.map((ref) => ({ ref: { txId: ref.txId, vout: ref.vout }, from }));
  return { chain, double, funding, owned, pins, node: newNode(double) };
}

export function newNode(double: BitcoinNodeDouble, network = REGTEST): BitcoinCoinNode {
  return new BitcoinCoinNode({ url: URL, fetch: double.fetch, timeoutMs: 5_000 }, network);
}

/** Signed by the wallet, not sent. */
export async function spend(inputs: readonly Coin[], feeUnits = 1_000n, to = PAYEES.p2wpkh): Promise<BitcoinTx> {
  const amountUnits = inputs.reduce((sum, coin) => sum + coin.amountUnits, 0n) - feeUnits;
  return parseTx(await wallet.sign({ inputs, payments: [{ address: to, amountUnits }], change: null }));
}

export const spenderOf = (tx: BitcoinTx, chain: BitcoinChain) => {
  const block = chain.blockOf(tx.txid);
  return {
    txId: tx.txid,
    height: block?.height,
    blockHash: block?.hash,
    inputs: tx.inputs.map(({ txid, vout }) => ({ txId: txid, vout })),
    outputs: tx.outputs.map(({ amount, script }) => ({ script, amountUnits: amount })),
  };
};
export const countOf = (double: BitcoinNodeDouble, method: string) =>
  double.asked.filter((one) => one === method).length;
export const at = <T>(items: readonly T[], place: number): T => {
  const item = items[place];
  if (item === undefined) throw new Error(`nothing at ${place}`);
  return item;
};
