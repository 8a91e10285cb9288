/**
 * One node's pool of transactions that wait, with the rules and words of Core 29: what it refuses, and what it lets
 * be replaced (every transaction, by one that pays more). Invariant: all of it could be mined in its order.
 */

import { type CoinView, coinsOf } from "./bitcoin-block.ts";
import {
  type BitcoinTx,
  type Coin,
  isCoinbase,
  isDust,
  type OutPoint,
  outPointText,
  scriptFault,
  scriptType,
} from "./bitcoin-tx.ts";

const COINBASE_MATURITY = 100;
const MAX_REPLACED = 100;
/** Of one transaction in the pool: ancestors, and descendants, itself included. */
const MAX_CHAIN = 25;
const MIN_BASE_SIZE = 65;
/** One is let through, for a child that spends it at once (ephemeral dust). */
const MAX_DUST = 1;
const MAX_MONEY = 2_100_000_000_000_000n;
const TIME_LOCK = 500_000_000;
const FINAL = 0xffffffff;

/** Whose scripts were found good: they say so for the same coins ever after. */
const signed = new WeakSet<BitcoinTx>();

export interface PoolEntry {
  readonly tx: BitcoinTx;
  readonly fee: bigint;
  /** Unix seconds, and the tip's height, when it came. */
  readonly time: number;
  readonly height: number;
}

export type Verdict =
  | { readonly ok: true; readonly fee: bigint; readonly replaced: ReadonlySet<string> }
  | { readonly ok: false; readonly reason: string; readonly isMissing: boolean };

/** Satoshi per 1,000 virtual bytes. */
export interface PoolPolicy {
  minRelayFeeRate: bigint;
  /** What a full pool asks at least. */
  mempoolMinFeeRate: bigint;
  incrementalFeeRate: bigint;
}

export class BitcoinPool {
  readonly policy: PoolPolicy = { minRelayFeeRate: 100n, mempoolMinFeeRate: 0n, incrementalFeeRate: 100n };
  readonly #entries = new Map<string, PoolEntry>();
  readonly #spenders = new Map<string, string>();

  /** In an order in which they can be mined. */
  get txs(): BitcoinTx[] {
    return [...this.#entries.values()].map(({ tx }) => tx);
  }

  get size(): number {
    return this.#entries.size;
  }

  entry(txid: string): PoolEntry | undefined {
    return this.#entries.get(txid);
  }

  /** Who in the pool spends this output. */
  spender(place: OutPoint): string | undefined {
    return this.#spenders.get(outPointText(place));
  }

  parents({ inputs }: BitcoinTx): string[] {
    return [...new Set(inputs.map(({ txid }) => txid))].filter((txid) => this.#entries.has(txid));
  }

  children({ txid, outputs }: BitcoinTx): string[] {
    const found = outputs.map((_, vout) => this.spender({ txid, vout }));
    return [...new Set(found.filter((one) => one !== undefined))];
  }

  /** A transaction, and all of the pool that stands on it. */
  family(txid: string, next: (tx: BitcoinTx) => readonly string[] = (tx) => this.children(tx)): Set<string> {
    const all = new Set([txid]);
    for (const one of all) {
      const entry = this.#entries.get(one);
      if (entry !== undefined) for (const other of next(entry.tx)) all.add(other);
    }
    return all;
  }

  /** What one of these outputs holds, in the chain or in the pool, whether or not the pool spends it. */
  coin(place: OutPoint, view: CoinView): Coin | undefined {
    const output = this.#entries.get(place.txid)?.tx.outputs[place.vout];
    if (output !== undefined) return { ...output, height: view.tip.height + 1, coinbase: false };
    return view.get(outPointText(place));
  }

  /** What a node would say to this transaction. `policy: false`: only what every block must keep. */
  judge(tx: BitcoinTx, view: CoinView, policy = true): Verdict {
    const shape = faultOfShape(tx, view, policy);
    if (shape !== null) return refused(shape);
    const conflicts = new Set(tx.inputs.map((input) => this.spender(input)).filter((one) => one !== undefined));
    const spent: Coin[] = [];
    for (const input of tx.inputs) {
      const coin = this.coin(input, view);
      if (coin === undefined) {
        const isKnown = coinsOf(tx, 0, false).some(([place]) => view.get(place) !== undefined);
        return isKnown
          ? refused("txn-already-known")
          : { ...refused("bad-txns-inputs-missingorspent"), isMissing: true };
      }
      const depth = view.tip.height + 1 - coin.height;
      if (coin.coinbase && depth < COINBASE_MATURITY)
        return refused(`bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth ${depth}`);
      spent.push(coin);
    }
    const fee = sum(spent) - sum(tx.outputs);
    if (fee < 0n)
      return refused(`bad-txns-in-belowout, value in (${money(sum(spent))}) < value out (${money(sum(tx.outputs))})`);
    if (policy) {
      if (fee > 0n && tx.outputs.some(isDust)) return refused("dust, tx with dust output must be 0-fee");
      const full = feeAt(this.policy.mempoolMinFeeRate, tx.vsize);
      if (fee < full) return refused(`mempool min fee not met, ${fee} < ${full}`);
      const least = feeAt(this.policy.minRelayFeeRate, tx.vsize);
      if (fee < least) return refused(`min relay fee not met, ${fee} < ${least}`);
      const crowd = this.#faultOfChain(tx);
      if (crowd !== null) return refused(crowd);
      const unpaid = this.#faultOfReplacement(tx, fee, conflicts);
      if (unpaid !== null) return refused(unpaid);
    }
    for (const [at, coin] of signed.has(tx) ? [] : spent.entries()) {
      const fault = scriptFault(tx, at, coin, policy);
      if (fault !== null) return refused(`mempool-script-verify-flag-failed (${fault}), ${inputName(tx, at)}`);
    }
    signed.add(tx);
    const replaced = new Set([...conflicts].flatMap((one) => [...this.family(one)]));
    return { ok: true, fee, replaced };
  }

  add(
    tx: BitcoinTx,
    { fee, replaced }: { fee: bigint; replaced: ReadonlySet<string> },
    time: number,
    height: number,
  ): void {
    for (const one of replaced) this.#drop(one);
    this.#entries.set(tx.txid, { tx, fee, time, height });
    for (const input of tx.inputs) this.#spenders.set(outPointText(input), tx.txid);
  }

  /** Forgets a transaction and all that stands on it. */
  remove(txid: string): void {
    for (const one of this.family(txid)) this.#drop(one);
  }

  /** After the chain has moved: what came off it returns if it can, and what cannot be mined any more goes. */
  settle(view: CoinView, returned: readonly BitcoinTx[]): void {
    const before = [...this.#entries.values()];
    const known = new Map(before.map((entry) => [entry.tx.txid, entry]));
    this.#entries.clear();
    this.#spenders.clear();
    for (const tx of [...returned, ...before.map((entry) => entry.tx)]) {
      if (this.#entries.has(tx.txid)) continue;
      const isSpent = tx.inputs.some((input) => this.spender(input) !== undefined);
      const isMined = coinsOf(tx, 0, false).some(([place]) => view.get(place) !== undefined);
      const fee = isSpent || isMined ? null : this.#feeIfPossible(tx, view);
      const { time, height } = known.get(tx.txid) ?? { time: view.tip.time, height: view.tip.height };
      if (fee !== null) this.add(tx, { fee, replaced: new Set() }, time, height);
    }
  }

  copy(): BitcoinPool {
    const other = new BitcoinPool();
    Object.assign(other.policy, this.policy);
    for (const { tx, fee, time, height } of this.#entries.values())
      other.add(tx, { fee, replaced: new Set() }, time, height);
    return other;
  }

  /** Signatures were looked at when it came first. */
  #feeIfPossible(tx: BitcoinTx, view: CoinView): bigint | null {
    if (faultOfShape(tx, view, false) !== null) return null;
    let paid = 0n;
    for (const input of tx.inputs) {
      const coin = this.coin(input, view);
      if (coin === undefined) return null;
      if (coin.coinbase && view.tip.height + 1 - coin.height < COINBASE_MATURITY) return null;
      paid += coin.amount;
    }
    return paid - sum(tx.outputs);
  }

  #drop(txid: string): void {
    for (const input of this.#entries.get(txid)?.tx.inputs ?? []) this.#spenders.delete(outPointText(input));
    this.#entries.delete(txid);
  }

  #faultOfChain(tx: BitcoinTx): string | null {
    const above = new Set(this.parents(tx).flatMap((parent) => [...this.family(parent, (one) => this.parents(one))]));
    if (above.size >= MAX_CHAIN) return `too-long-mempool-chain, too many unconfirmed ancestors [limit: ${MAX_CHAIN}]`;
    const full = [...above].find((one) => this.family(one).size >= MAX_CHAIN);
    return full === undefined
      ? null
      : `too-long-mempool-chain, too many descendants for tx ${full} [limit: ${MAX_CHAIN}]`;
  }

  #faultOfReplacement(tx: BitcoinTx, fee: bigint, conflicts: ReadonlySet<string>): string | null {
    if (conflicts.size === 0) return null;
    const name = `rejecting replacement ${tx.txid}`;
    const ancestors = this.family(tx.txid, (one) => this.parents(one));
    for (const parent of this.parents(tx))
      for (const one of this.family(parent, (p) => this.parents(p))) ancestors.add(one);
    for (const conflict of conflicts)
      if (ancestors.has(conflict))
        return `bad-txns-spends-conflicting-tx, ${tx.txid} spends conflicting transaction ${conflict}`;
    for (const conflict of conflicts) {
      const held = this.#entries.get(conflict);
      if (held === undefined) continue;
      const [mine, theirs] = [(fee * 1_000n) / BigInt(tx.vsize), (held.fee * 1_000n) / BigInt(held.tx.vsize)];
      if (mine <= theirs)
        return `insufficient fee, ${name}; new feerate ${coins(mine)} BTC/kvB <= old feerate ${coins(theirs)} BTC/kvB`;
    }
    const replaced = new Set([...conflicts].flatMap((one) => [...this.family(one)]));
    if (replaced.size > MAX_REPLACED)
      return `too many potential replacements, ${name}; too many potential replacements (${replaced.size} > ${MAX_REPLACED})`;
    const known = new Set(
      [...conflicts].flatMap((one) => this.#entries.get(one)?.tx.inputs.map(({ txid }) => txid) ?? []),
    );
    const added = tx.inputs.findIndex(({ txid }) => this.#entries.has(txid) && !known.has(txid));
    if (added !== -1)
      return `replacement-adds-unconfirmed, replacement ${tx.txid} adds unconfirmed input, idx ${added}`;
    const old = [...replaced].reduce((all, one) => all + (this.#entries.get(one)?.fee ?? 0n), 0n);
    if (fee < old) return `insufficient fee, ${name}, less fees than conflicting txs; ${money(fee)} < ${money(old)}`;
    const least = feeAt(this.policy.incrementalFeeRate, tx.vsize);
    if (fee - old < least)
      return `insufficient fee, ${name}, not enough additional fees to relay; ${money(fee - old)} < ${money(least)}`;
    return null;
  }
}

function refused(reason: string): Verdict & { ok: false } {
  return { ok: false, reason, isMissing: false };
}

function inputName({ inputs, txid, wtxid }: BitcoinTx, at: number): string {
  const spent = inputs[at];
  return `input ${at} of ${txid} (wtxid ${wtxid}), spending ${spent?.txid}:${spent?.vout}`;
}

function faultOfShape(tx: BitcoinTx, view: CoinView, policy: boolean): string | null {
  if (tx.inputs.length === 0) return "bad-txns-vin-empty";
  if (tx.outputs.length === 0) return "bad-txns-vout-empty";
  if (tx.outputs.some(({ amount }) => amount > MAX_MONEY)) return "bad-txns-vout-toolarge";
  if (new Set(tx.inputs.map(outPointText)).size < tx.inputs.length) return "bad-txns-inputs-duplicate";
  if (isCoinbase(tx)) return "coinbase";
  if (policy) {
    if (tx.version < 1 || tx.version > 3) return "version";
    if (tx.outputs.some(({ script }) => scriptType(script) === "nonstandard")) return "scriptpubkey";
    if (tx.outputs.filter(isDust).length > MAX_DUST) return "dust";
    if ((tx.weight - tx.size) / 3 < MIN_BASE_SIZE) return "tx-size-small";
  }
  const isLocked = tx.lockTime >= (tx.lockTime < TIME_LOCK ? view.tip.height + 1 : view.tip.time);
  return isLocked && tx.inputs.some(({ sequence }) => sequence !== FINAL) ? "non-final" : null;
}

const sum = (outputs: readonly { readonly amount: bigint }[]) => outputs.reduce((all, { amount }) => all + amount, 0n);

/** Rounded up, as Core 29 does. */
export const feeAt = (ratePerKvB: bigint, vsize: number) => (ratePerKvB * BigInt(vsize) + 999n) / 1_000n;

/** Satoshi as coins with eight decimals. */
export function coins(satoshi: bigint): string {
  const digits = (satoshi < 0n ? -satoshi : satoshi).toString().padStart(9, "0");
  return `${satoshi < 0n ? "-" : ""}${digits.slice(0, -8)}.${digits.slice(-8)}`;
}

/** The same with two decimals at least: Core's `FormatMoney`. */
const money = (satoshi: bigint) => coins(satoshi).replace(/(\.\d\d\d*?)0+$/, "$1");
