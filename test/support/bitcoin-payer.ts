/** A node's own wallet as somebody who pays us, and who may take it back. */

import { unitsOf } from "./bitcoin-book.ts";
import type { Bitcoind } from "./bitcoind.ts";

/** Decimal amounts by address. `data` (hex) is an output that nobody can spend. */
export type Payments = readonly Readonly<Record<string, string>>[];

interface Coin {
  readonly txid: string;
  readonly vout: number;
  readonly amount: number;
}

const FEE = 10_000n;

/**
 * Signed transactions that all spend one coin of the payer, so that only one of them is ever mined. What is left goes
 * back to the payer. Each offers more than the one before, so that it may replace it. Nothing is sent.
 */
export async function rivals(node: Bitcoind, ...alternatives: readonly Payments[]): Promise<string[]> {
  const coins = await node.rpc<Coin[]>("listunspent", 1);
  const [coin] = coins.sort((a, b) => b.amount - a.amount);
  if (coin === undefined) throw new Error("the payer has no coin");
  const raws: string[] = [];
  for (const [i, payments] of alternatives.entries())
    raws.push(await spend(node, coin, payments, FEE * BigInt(1 + 3 * i)));
  return raws;
}

async function spend(node: Bitcoind, coin: Coin, payments: Payments, fee: bigint): Promise<string> {
  const paid = payments.flatMap((one) => Object.entries(one).filter(([to]) => to !== "data"));
  const left = unitsOf(coin.amount) - paid.reduce((sum, [, btc]) => sum + unitsOf(Number(btc)), 0n) - fee;
  const outputs = [...payments, { [await node.newAddress()]: btcOf(left) }];
  const { txid, vout } = coin;
  return sign(node, await node.rpc<string>("createrawtransaction", [{ txid, vout }], outputs));
}

export async function sign(node: Bitcoind, raw: string): Promise<string> {
  const { hex, complete } = await node.rpc<{ hex: string; complete: boolean }>("signrawtransactionwithwallet", raw);
  if (!complete) throw new Error("the payer cannot sign all of it");
  return hex;
}

/** Gives the txid. */
export const send = (node: Bitcoind, raw: string) => node.rpc<string>("sendrawtransaction", raw);

export async function txIdOf(node: Bitcoind, raw: string): Promise<string> {
  return (await node.rpc<{ txid: string }>("decoderawtransaction", raw)).txid;
}

/** Decimal text of eight places. */
export function btcOf(units: bigint): string {
  const digits = units.toString().padStart(9, "0");
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`;
}

/**
 * The addresses that a wallet with this key shows, as the node derives them. `wpkh` is BIP-84's form, `tr` BIP-86's.
 * @param branch 0 receives, 1 takes change
 */
export async function derivedBy(
  node: Bitcoind,
  form: "wpkh" | "tr",
  xpub: string,
  upTo: number,
  branch: 0 | 1 = 0,
): Promise<string[]> {
  const { descriptor } = await node.rpc<{ descriptor: string }>("getdescriptorinfo", `${form}(${xpub}/${branch}/*)`);
  return node.rpc<string[]>("deriveaddresses", descriptor, [0, upTo]);
}
