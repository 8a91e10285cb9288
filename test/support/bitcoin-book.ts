/**
 * What a real Bitcoin node's best chain and pool pay, read block by block through the node's own decoding, without
 * anything of the product's: the other side of every comparison.
 */

import type { DepositView } from "../../src/core/views.ts";
import { REGTEST } from "./bitcoin-stage.ts";
import type { Bitcoind } from "./bitcoind.ts";
import type { Merchant } from "./merchant.ts";
import { isLive, type Judged } from "./oracle.ts";

export interface Output {
  readonly txId: string;
  readonly vout: number;
  /** In hex. */
  readonly script: string;
  readonly units: bigint;
  /** null: it waits in the pool. */
  readonly block: { readonly height: number; readonly hash: string } | null;
}

export interface Transaction {
  readonly txId: string;
  /** `txid:vout`; none of a coinbase. */
  readonly spends: readonly string[];
  readonly outputs: readonly Output[];
}

interface RawTransaction {
  readonly txid: string;
  readonly vin: readonly { readonly txid?: string; readonly vout?: number }[];
  readonly vout: readonly {
    readonly n: number;
    readonly value: number;
    readonly scriptPubKey: { readonly hex: string };
  }[];
}

interface RawBlock {
  readonly hash: string;
  readonly height: number;
  readonly previousblockhash?: string;
  readonly tx: readonly RawTransaction[];
}

/** Everything that a best chain holds. */
export interface Ledger {
  readonly height: number;
  readonly transactions: readonly Transaction[];
  readonly byId: ReadonlyMap<string, Transaction>;
  /** By `txid:vout`. */
  readonly outputs: ReadonlyMap<string, Output>;
  readonly byScript: ReadonlyMap<string, readonly Output[]>;
  /** `txid:vout` of all that was spent. */
  readonly spent: ReadonlySet<string>;
}

export class BitcoinBook {
  readonly node: Bitcoind;
  readonly #blocks = new Map<string, RawBlock>();
  readonly #scripts = new Map<string, string>();
  #read: { readonly tip: string; readonly ledger: Ledger } | null = null;

  constructor(node: Bitcoind) {
    this.node = node;
  }

  /** The best chain from its first block on. */
  async ledger(): Promise<Ledger> {
    const tip = await this.node.tip();
    if (this.#read?.tip === tip) return this.#read.ledger;
    const chain: RawBlock[] = [];
    for (let hash: string | undefined = tip; hash !== undefined; ) {
      const block: RawBlock = this.#blocks.get(hash) ?? (await this.node.rpc<RawBlock>("getblock", hash, 2));
      this.#blocks.set(hash, block);
      chain.push(block);
      hash = block.previousblockhash;
    }
    chain.reverse();
    const transactions = chain.flatMap(({ height, hash, tx }) => tx.map((one) => transactionOf(one, { height, hash })));
    const outputs = transactions.flatMap((transaction) => transaction.outputs);
    const ledger: Ledger = {
      height: chain.length - 1,
      transactions,
      byId: new Map(transactions.map((transaction) => [transaction.txId, transaction])),
      outputs: new Map(outputs.map((output) => [`${output.txId}:${output.vout}`, output])),
      byScript: Map.groupBy(outputs, ({ script }) => script),
      spent: new Set(transactions.flatMap(({ spends }) => spends)),
    };
    this.#read = { tip, ledger };
    return ledger;
  }

  async waiting(): Promise<Transaction[]> {
    const pool: Transaction[] = [];
    for (const txId of await this.node.rpc<string[]>("getrawmempool"))
      pool.push(transactionOf(await this.node.rpc<RawTransaction>("getrawtransaction", txId, 1), null));
    return pool;
  }

  /** As the node reads the address. */
  async scriptOf(address: string): Promise<string> {
    const known = this.#scripts.get(address);
    if (known !== undefined) return known;
    const { scriptPubKey } = await this.node.rpc<{ scriptPubKey: string }>("validateaddress", address);
    this.#scripts.set(address, scriptPubKey);
    return scriptPubKey;
  }

  /** Base units that the best chain paid to an address, one for each output. */
  async paidTo(address: string): Promise<readonly bigint[]> {
    const { byScript } = await this.ledger();
    return (byScript.get(await this.scriptOf(address)) ?? []).map(({ units }) => units);
  }
}

/** The chain and the pool as this node has them. */
export function judgedBy(book: BitcoinBook, scannedTo: () => Promise<number | null>): Judged {
  return {
    id: REGTEST,
    height: () => book.node.height(),
    scannedTo,
    differences: (merchant, deposits) => differences(book, merchant, deposits),
  };
}

/** Every output above nothing to a watched address is a deposit that counts, and the other way round. */
async function differences(book: BitcoinBook, merchant: Merchant, deposits: readonly DepositView[]): Promise<string[]> {
  const watched = merchant.watched.filter(({ network }) => network === REGTEST);
  const byScript = new Map<string, string>();
  const from = new Map<string, number>();
  for (const { address, watched_from } of watched) {
    byScript.set(await book.scriptOf(address), address);
    from.set(address, watched_from);
  }
  const paid = new Set<string>();
  const { transactions } = await book.ledger();
  for (const { txId, outputs } of [...transactions, ...(await book.waiting())]) {
    for (const { vout, script, units, block } of outputs) {
      const address = byScript.get(script);
      if (address === undefined || units === 0n || (block !== null && block.height < (from.get(address) ?? 0)))
        continue;
      paid.add(`${txId} out:${vout} ${address} ${units} in ${block?.height ?? null} ${block?.hash ?? null}`);
    }
  }
  const told = deposits
    .filter((deposit) => deposit.network === REGTEST && isLive(deposit))
    .map(
      ({ tx_id, transfer_index, address, amount_units, block_height, block_hash }) =>
        `${tx_id} ${transfer_index} ${address} ${amount_units} in ${block_height} ${block_hash}`,
    );
  const problems = told.filter((one) => !paid.has(one)).map((one) => `told and not so: ${one}`);
  const known = new Set(told);
  if (known.size !== told.length) problems.push(`${told.length} deposits under ${known.size} keys`);
  for (const one of paid) if (!known.has(one)) problems.push(`paid and not told: ${one}`);
  return problems;
}

function transactionOf({ txid: txId, vin, vout }: RawTransaction, block: Output["block"]): Transaction {
  return {
    txId,
    spends: vin.flatMap((input) => (input.txid === undefined ? [] : [`${input.txid}:${input.vout}`])),
    outputs: vout.map(({ n, value, scriptPubKey }) => ({
      txId,
      vout: n,
      script: scriptPubKey.hex,
      units: unitsOf(value),
      block,
    })),
  };
}

/** Nodes write eight decimals; as a number each of their amounts is exact to far less than half of the last one. */
export function unitsOf(btc: number): bigint {
  return BigInt(Math.round(btc * 1e8));
}
