/**
 * A Bitcoin chain in memory (regtest), with real bytes: transactions, blocks and signatures that a real node takes.
 * One `BitcoinChain` is what one node believes: its best branch, the coins there, its pool. Its forks share all
 * blocks ever made and move apart from there. Nothing is random, and time is the chain's own.
 *
 *   const chain = BitcoinChain.grown();             110 blocks; ten of them pay coins that can be spent
 *   const tx = chain.pay(address, 50_000n);         from the faucet, into the pool; `outputs`, `feeRate`, `coins`, `legacy`
 *   chain.mine();                                   everything in the pool; `mine(n, { coinbaseTo, include })`
 *   chain.reorg(2, { keep: [tx] });                 two blocks off, three others on; what came off waits again
 *   const raised = chain.replace(tx, { feeRate: 20n });   the same inputs, a higher fee; `outputs` for a double spend
 *   const other = chain.fork(1);                    another node's belief, one block behind; other.mine(3)
 *   chain.join(other);                              the longer branch wins on both sides, pools are exchanged
 *   chain.invalidate(hash);                         as `invalidateblock`
 *   chain.spend({ inputs, outputs });               any signed transaction, not sent; malleate(tx) of bitcoin-tx.ts
 *   chain.submit(tx); chain.put(tx); chain.forget(txid);  as a node would / past all policy / out of the pool
 *
 * Nodes that show it over JSON-RPC: bitcoin-double.ts.
 */

import { type BitcoinBlock, CoinView, GENESIS, sealBlock } from "./bitcoin-block.ts";
import { FAUCET, type KeyedCoin, type Spend, signTx } from "./bitcoin-faucet.ts";
import { BitcoinPool, type Verdict } from "./bitcoin-pool.ts";
import { type BitcoinTx, type Coin, outPointText, scriptOf } from "./bitcoin-tx.ts";

const FIRST_TIME = 1_700_000_000;
const SECONDS_PER_BLOCK = 600;
const MATURE = 100;
/** Satoshi per virtual byte. */
const FEE_RATE = 5n;
const RBF = 0xfffffffd;
const SIGNED_INPUT_BYTES = { wpkh: 68n, pkh: 148n };
const LEAST_CHANGE = 1_000n;

/** Known to all that have a common genesis: a block is looked up by its hash whoever made it. */
interface Shared {
  readonly blocks: Map<string, BitcoinBlock>;
  coinbases: number;
}

export interface Paid {
  /** Address of regtest, or a script in hex. */
  readonly to: string;
  /** Satoshi. */
  readonly amount: bigint;
}

export interface PayOptions {
  /** More outputs after the first. */
  readonly outputs?: readonly Paid[];
  /** Satoshi per virtual byte. */
  readonly feeRate?: bigint;
  readonly sequence?: number;
  /** What to spend, in place of the first coins that suffice. */
  readonly coins?: readonly KeyedCoin[];
  /** Spends a P2PKH coin, so that the txid is malleable. */
  readonly legacy?: boolean;
  /** Do not put it into the pool. */
  readonly keepBack?: boolean;
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

export class BitcoinChain {
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

  constructor(from?: BitcoinChain) {
    this.#shared = from === undefined ? { blocks: new Map([[GENESIS.hash, GENESIS]]), coinbases: 0 } : from.#shared;
    this.#branch = from === undefined ? [GENESIS] : [...from.#branch];
    this.#known = new Set(from === undefined ? [GENESIS.hash] : from.#known);
    this.#invalid = new Set(from === undefined ? [] : from.#invalid);
    this.#view = from === undefined ? new CoinView() : from.#view.copy();
    this.#pool = from === undefined ? new BitcoinPool() : from.#pool.copy();
    if (from !== undefined) this.time = from.time;
  }

  /** A chain of so many blocks: every fifth pays the faucet's P2PKH script, the others its P2WPKH script. */
  static grown(blocks = 110, { time }: { time?: (height: number) => number } = {}): BitcoinChain {
    const chain = new BitcoinChain();
    if (time !== undefined) chain.time = time;
    for (let height = 1; height <= blocks; height++)
      chain.mine(1, { coinbaseTo: height % 5 === 0 ? FAUCET.legacyScript : FAUCET.script });
    return chain;
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

  /** What a node believes that has not got the top `depth` blocks yet; what they hold waits in its pool. */
  fork(depth = 0): BitcoinChain {
    const other = new BitcoinChain(this);
    for (const { hash } of this.#branch.slice(this.#branch.length - depth)) other.#known.delete(hash);
    if (depth > 0) other.#pool.settle(other.#view, other.#disconnect(depth));
    return other;
  }

  /** Both sides hear all of each other: the longer branch wins, and pools take what they can. */
  join(other: BitcoinChain): void {
    const [mine, theirs] = [[...this.#branch], [...other.#branch]];
    const [myPool, theirPool] = [this.#pool.txs, other.#pool.txs];
    this.#hear(theirs, theirPool);
    other.#hear(mine, myPool);
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

  /** Pays from the faucet, and puts the transaction into the pool. */
  pay(to: string, amount: bigint, options: PayOptions = {}): BitcoinTx {
    const { feeRate = FEE_RATE, sequence = RBF, legacy = false } = options;
    const outputs = [{ to, amount }, ...(options.outputs ?? [])].map((paid) => ({
      script: scriptOf(paid.to),
      amount: paid.amount,
    }));
    const wanted = outputs.reduce((sum, output) => sum + output.amount, 0n);
    const bytes = 11n + outputs.reduce((sum, { script }) => sum + 9n + BigInt(script.length / 2), 31n);
    const inputs: (KeyedCoin & { sequence: number })[] = [];
    let left = -wanted - bytes * feeRate;
    for (const coin of options.coins ?? this.faucetCoins(legacy)) {
      if (left >= 0n && options.coins === undefined) break;
      inputs.push({ ...coin, sequence });
      left += coin.amount - feeRate * SIGNED_INPUT_BYTES[coin.script === FAUCET.legacyScript ? "pkh" : "wpkh"];
    }
    if (left < 0n) throw new Error(`the faucet lacks ${-left} satoshi: a coinbase can be spent after ${MATURE} blocks`);
    if (left >= LEAST_CHANGE) outputs.push({ script: FAUCET.script, amount: left });
    const tx = signTx({ inputs, outputs });
    if (options.keepBack !== true) this.submit(tx);
    return tx;
  }

  /** A transaction with the same inputs. Unless `outputs` are given, it pays the same, less by what the fee grows. */
  replace(
    tx: BitcoinTx,
    { feeRate, outputs, keepBack }: { feeRate?: bigint; outputs?: readonly Paid[]; keepBack?: boolean },
  ): BitcoinTx {
    const coins = tx.inputs.map((input) => {
      const coin = this.#pool.coin(input, this.#view) ?? this.#spentCoin(outPointText(input));
      if (coin === undefined) throw new Error(`nobody knows what ${outPointText(input)} holds`);
      return { ...input, ...coin };
    });
    const paid = coins.reduce((sum, coin) => sum + coin.amount, 0n);
    const to = (outputs ?? tx.outputs.map(({ script, amount }) => ({ to: script, amount }))).map((one) => ({
      script: scriptOf(one.to),
      amount: one.amount,
    }));
    const spare = to.findLastIndex(({ script }) => script === FAUCET.script);
    const last = to[spare === -1 ? to.length - 1 : spare];
    if (last === undefined) throw new Error("a transaction pays somebody");
    if (feeRate !== undefined) {
      const others = to.reduce((sum, output) => sum + output.amount, 0n) - last.amount;
      last.amount = paid - others - feeRate * BigInt(tx.vsize + 1);
    }
    const other = signTx({ inputs: coins, outputs: to });
    if (keepBack !== true) this.submit(other);
    return other;
  }

  /** Any transaction of coins whose keys are at hand, signed and not sent. */
  spend(spend: Omit<Spend, "outputs"> & { readonly outputs: readonly Paid[] }): BitcoinTx {
    return signTx({ ...spend, outputs: spend.outputs.map(({ to, amount }) => ({ script: scriptOf(to), amount })) });
  }

  /** What the faucet can spend now, the oldest first; what is not mined yet comes last. */
  faucetCoins(legacy = false): KeyedCoin[] {
    const script = legacy ? FAUCET.legacyScript : FAUCET.script;
    const found: KeyedCoin[] = [];
    for (const [place, coin] of this.#view.entries()) {
      if (coin.script !== script || (coin.coinbase && this.head + 1 - coin.height < MATURE)) continue;
      found.push({ ...splitPlace(place), ...coin });
    }
    found.sort((a, b) => heightOf(a) - heightOf(b));
    for (const { txid, outputs } of this.#pool.txs)
      for (const [vout, output] of outputs.entries())
        if (output.script === script) found.push({ txid, vout, ...output });
    return found.filter((coin) => this.#pool.spender(coin) === undefined);
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

  #hear(branch: readonly BitcoinBlock[], pool: readonly BitcoinTx[]): void {
    const bad = branch.findIndex(({ hash }) => this.#invalid.has(hash));
    const valid = bad === -1 ? branch : branch.slice(0, bad);
    for (const { hash } of valid) this.#known.add(hash);
    const top = valid.at(-1);
    if (top !== undefined && top.height > this.head) this.follow(top.hash);
    for (const tx of pool) if (this.#pool.entry(tx.txid) === undefined) this.offer(tx);
  }

  #parent({ parentHash }: BitcoinBlock): BitcoinBlock {
    const parent = this.#shared.blocks.get(parentHash);
    if (parent === undefined) throw new Error(`there is no block ${parentHash}`);
    return parent;
  }

  #spentCoin(place: string) {
    for (const block of this.#shared.blocks.values()) {
      const coin = block.spent.get(place);
      if (coin !== undefined) return coin;
    }
    return undefined;
  }
}

function splitPlace(place: string) {
  const [txid = "", vout = ""] = place.split(":");
  return { txid, vout: Number(vout) };
}

function heightOf(coin: object): number {
  return "height" in coin ? Number(coin.height) : Number.POSITIVE_INFINITY;
}
