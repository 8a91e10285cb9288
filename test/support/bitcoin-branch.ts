/**
 * What one node believes, without any wallet: its best branch, the coins there, its pool. All branches that come from
 * one share every block ever made; which of them it knows is its own. Invariant: the coins are those of the
 * branch's last block, and the pool could be mined on it.
 */

import { type BitcoinBlock, CoinView, GENESIS, sealBlock } from "./bitcoin-block.ts";
import { FAUCET } from "./bitcoin-faucet.ts";
import { BitcoinPool, type Verdict } from "./bitcoin-pool.ts";
import { type BitcoinTx, type Coin, outPointText, scriptOf } from "./bitcoin-tx.ts";

const FIRST_TIME = 1_700_000_000;
const SECONDS_PER_BLOCK = 600;

interface Shared {
  readonly blocks: Map<string, BitcoinBlock>;
  coinbases: number;
}

export interface MineOptions {
  /** Address, or script in hex; the faucet unless given. */
  readonly coinbaseTo?: string;
  /** Exactly these, whatever the pool holds; all of the pool unless given. */
  readonly include?: readonly BitcoinTx[];
}

export interface ReorgOptions {
  /** How many in place of those taken off: one more than these unless given. */
  readonly newBlocks?: number;
  /** Mined in the first of the new blocks: some of what came off, or others that spend the same. */
  readonly keep?: readonly BitcoinTx[];
  /** `drop`: what came off is forgotten, as by nodes with a full pool. */
  readonly pool?: "return" | "drop";
}

export class BitcoinBranch {
  readonly #shared: Shared;
  /** The best branch by height. */
  readonly #branch: BitcoinBlock[];
  readonly #known: Set<string>;
  readonly #invalid: Set<string>;
  readonly #view: CoinView;
  #pool: BitcoinPool;
  /** Counts every change, for whoever keeps something derived. */
  version = 0;
  /** Unix seconds of the next block. At least one above its parent's, whatever it says. */
  time: (height: number) => number = (height) => FIRST_TIME + SECONDS_PER_BLOCK * height;

  constructor(from?: BitcoinBranch) {
    this.#shared = from === undefined ? { blocks: new Map([[GENESIS.hash, GENESIS]]), coinbases: 0 } : from.#shared;
    this.#branch = from === undefined ? [GENESIS] : [...from.#branch];
    this.#known = new Set(from === undefined ? [GENESIS.hash] : from.#known);
    this.#invalid = new Set(from === undefined ? [] : from.#invalid);
    this.#view = from === undefined ? new CoinView() : from.#view.copy();
    this.#pool = from === undefined ? new BitcoinPool() : from.#pool.copy();
    if (from !== undefined) this.time = from.time;
  }

  get head(): number {
    return this.#branch.length - 1;
  }

  get tip(): BitcoinBlock {
    return this.#view.tip;
  }

  get pool(): BitcoinPool {
    return this.#pool;
  }

  get view(): CoinView {
    return this.#view;
  }

  at(height: number): BitcoinBlock | undefined {
    return this.#branch[height];
  }

  /** Also one that is not on the best branch, if it ever was. */
  byHash(hash: unknown): BitcoinBlock | undefined {
    return typeof hash === "string" && this.#known.has(hash) ? this.#shared.blocks.get(hash) : undefined;
  }

  isActive({ height, hash }: BitcoinBlock): boolean {
    return this.#branch[height]?.hash === hash;
  }

  /** Where a transaction stands on the best branch. */
  blockOf(txid: string): BitcoinBlock | undefined {
    return this.#branch.findLast(({ txs }) => txs.some((tx) => tx.txid === txid));
  }

  /** So many blocks; the first takes all of the pool. @returns the last one */
  mine(count = 1, { coinbaseTo = FAUCET.script, include }: MineOptions = {}): BitcoinBlock {
    for (let made = 0; made < count; made++) {
      const txs = include === undefined ? this.#pool.txs : made === 0 ? include : [];
      this.#connect(this.#seal(txs, scriptOf(coinbaseTo)));
      this.#pool.settle(this.#view, []);
    }
    this.version += 1;
    return this.tip;
  }

  /** Takes the top `depth` blocks off and mines others in their place. @returns the transactions that came off */
  reorg(depth: number, { newBlocks = depth + 1, keep = [], pool = "return" }: ReorgOptions = {}): BitcoinTx[] {
    const gone = this.#disconnect(depth);
    for (let made = 0; made < newBlocks; made++) this.#connect(this.#seal(made === 0 ? keep : [], FAUCET.script));
    this.#pool.settle(this.#view, pool === "return" ? gone : []);
    this.version += 1;
    return gone;
  }

  /** As Core's `invalidateblock`: the branch ends below this block, and never again goes through it. */
  invalidate(hash: string): void {
    const block = this.byHash(hash);
    if (block === undefined) throw new Error(`there is no block ${hash}`);
    this.#invalid.add(hash);
    if (this.isActive(block)) this.#pool.settle(this.#view, this.#disconnect(this.head - block.height + 1));
    this.version += 1;
  }

  reconsider(hash: string): void {
    this.#invalid.delete(hash);
  }

  /** As if it had not got the top `depth` blocks yet; what they hold waits in its pool. */
  protected stepBack(depth: number): void {
    for (const { hash } of this.#branch.slice(this.#branch.length - depth)) this.#known.delete(hash);
    if (depth > 0) this.#pool.settle(this.#view, this.#disconnect(depth));
  }

  /** Both sides hear of all blocks, and the longer branch wins. As with real nodes, their pools stay apart. */
  join(other: BitcoinBranch): void {
    const [mine, theirs] = [[...this.#branch], [...other.#branch]];
    this.#hear(theirs);
    other.#hear(mine);
  }

  /** Each pool is offered what waits in the other. */
  relay(other: BitcoinBranch): void {
    const [mine, theirs] = [this.#pool.txs, other.#pool.txs];
    for (const tx of theirs) if (this.#pool.entry(tx.txid) === undefined) this.offer(tx);
    for (const tx of mine) if (other.#pool.entry(tx.txid) === undefined) other.offer(tx);
  }

  /** Sits on the branch that ends in this block, longer or not. */
  follow(hash: string): void {
    const target = this.#shared.blocks.get(hash);
    if (target === undefined) throw new Error(`there is no block ${hash}`);
    const path: BitcoinBlock[] = [];
    for (let at = target; !this.isActive(at); at = this.#parent(at)) path.unshift(at);
    const gone = this.#disconnect(this.head - (target.height - path.length));
    for (const block of path) this.#connect(block);
    this.#pool.settle(this.#view, gone);
    this.version += 1;
  }

  /** What a node would do with it. */
  offer(tx: BitcoinTx): Verdict {
    const verdict = this.#pool.judge(tx, this.#view);
    if (verdict.ok) this.#admit(tx, verdict);
    return verdict;
  }

  /** Takes it into the pool. @throws Error in Core's words */
  submit(tx: BitcoinTx): BitcoinTx {
    const verdict = this.offer(tx);
    if (!verdict.ok) throw new Error(verdict.reason);
    return tx;
  }

  /** What a miner takes of its own will: whatever it conflicts with goes, and no policy is asked. @throws Error when no block could hold it */
  put(tx: BitcoinTx): BitcoinTx {
    const verdict = this.#pool.judge(tx, this.#view, false);
    if (!verdict.ok) throw new Error(verdict.reason);
    this.#admit(tx, verdict);
    return tx;
  }

  /** The pool forgets a transaction with all that stands on it, or everything. */
  forget(txid?: string): void {
    if (txid === undefined) {
      const { policy } = this.#pool;
      this.#pool = new BitcoinPool();
      Object.assign(this.#pool.policy, policy);
    } else this.#pool.remove(txid);
    this.version += 1;
  }

  #admit(tx: BitcoinTx, verdict: Verdict & { ok: true }): void {
    this.#pool.add(tx, verdict, this.tip.time + 1, this.head);
    this.version += 1;
  }

  #seal(txs: readonly BitcoinTx[], coinbaseTo: string): BitcoinBlock {
    const parent = this.tip;
    const made = new BitcoinPool();
    const spent = new Map<string, Coin>();
    let fees = 0n;
    for (const tx of txs) {
      const verdict = made.judge(tx, this.#view, false);
      if (!verdict.ok) throw new Error(`${tx.txid} cannot be mined on ${parent.hash}: ${verdict.reason}`);
      if (verdict.replaced.size > 0) throw new Error(`${tx.txid} spends what another one in the same block spends`);
      for (const input of tx.inputs) {
        const place = outPointText(input);
        const coin = this.#view.get(place);
        if (coin !== undefined) spent.set(place, coin);
      }
      made.add(tx, verdict, 0, 0);
      fees += verdict.fee;
    }
    const time = Math.max(this.time(parent.height + 1), parent.time + 1);
    const extra = this.#shared.coinbases++;
    const block = sealBlock({ parent, time, coinbaseTo, extra, txs, fees, spent });
    this.#shared.blocks.set(block.hash, block);
    return block;
  }

  #connect(block: BitcoinBlock): void {
    this.#view.connect(block);
    this.#branch.push(block);
    this.#known.add(block.hash);
  }

  /** @returns the transactions of the top blocks, in their order, without coinbases */
  #disconnect(depth: number): BitcoinTx[] {
    if (depth > this.head) throw new Error(`${depth} blocks cannot come off a chain of ${this.head}`);
    const gone: BitcoinTx[][] = [];
    for (let left = depth; left > 0; left--) {
      const block = this.#branch.pop();
      const parent = this.#branch.at(-1);
      if (block === undefined || parent === undefined) throw new Error("genesis stays");
      gone.unshift(block.txs.slice(1));
      this.#view.disconnect(parent);
    }
    return gone.flat();
  }

  #hear(branch: readonly BitcoinBlock[]): void {
    const bad = branch.findIndex(({ hash }) => this.#invalid.has(hash));
    const valid = bad === -1 ? branch : branch.slice(0, bad);
    for (const { hash } of valid) this.#known.add(hash);
    const top = valid.at(-1);
    if (top !== undefined && top.height > this.head) this.follow(top.hash);
  }

  #parent({ parentHash }: BitcoinBlock): BitcoinBlock {
    const parent = this.#shared.blocks.get(parentHash);
    if (parent === undefined) throw new Error(`there is no block ${parentHash}`);
    return parent;
  }

  /** What an output held that some block of this or another branch spends. */
  protected spentCoin(place: string): Coin | undefined {
    for (const block of this.#shared.blocks.values()) {
      const coin = block.spent.get(place);
      if (coin !== undefined) return coin;
    }
    return undefined;
  }
}
