/**
 * The chain's own life: blocks come, forks replace them, strangers pay, pools forget. Payments to merchants are
 * put into blocks here and nowhere else, so that the chain as it stands is what the books must agree with.
 */

import { ModelChain, newAddress, pay, payThrough, payTokens, type Tx } from "../support/model-chain.ts";
import { receiverOf, type Signed, WalletChain } from "../support/wallet-chain.ts";
import { Adversary } from "./adversary.ts";
import type { DrawnFates } from "./fates.ts";
import { submitQuietly } from "./providers.ts";
import type { World } from "./world/world.ts";

const BLOCK_MS = 3_000;
const START_BLOCKS = 24;
/** The window is 12 blocks: no fork that a person would have to judge. */
const MAX_REORG = 8;
/** Blocks looked at again for what stands deep enough: more than a reorganisation changes. */
const DEEP_SPAN = 2 * MAX_REORG;
const GWEI = 10n ** 9n;
/** Base fees in wei: within the cap of a first attempt, above that of a payment and not of a burn, above every cap. */
const SPIKES = [3n, 10n, 40n, 1_300n, 5_000n].map((gwei) => gwei * GWEI);
const PAYABLE = 40n * GWEI;
export const TOKEN = `0x${"70".repeat(20)}`;

export class ChainLife {
  readonly wallets: WalletChain;
  readonly adversary: Adversary;
  /** Blocks that a transaction stands deep when it may be called paid, and when it is final. Its own is 1. */
  depths = { paid: 1, final: 1 };
  /** Payments of hot wallets that moved something and stood so deep that they might be called paid, at any time. */
  readonly everPaid = new Set<string>();
  /** Strangers' payments that are not in a block of the best chain. */
  #waiting: Tx[] = [];
  readonly #world: World;
  readonly #fates: DrawnFates;
  /** Whom strangers pay. */
  readonly payees: string[] = [];
  onBlock: () => void = () => {};
  /** Whether somebody shows a branch of its own: then the best one stays as it is, and no window is too short. */
  isSplit: () => boolean = () => false;
  /** Transactions that come back from every fork. */
  readonly #lasting = new Set<string>();
  /** Payments that come back from none. */
  readonly #spentTwice = new Set<string>();
  /** Receivers that refuse now and may take it on another branch. */
  readonly #fickle = new Set<string>();
  /** Fees stay where the last spike took them, as far as the cap allows to pay them. */
  readonly #staysDear: boolean;

  constructor(world: World, fates: DrawnFates) {
    this.#world = world;
    this.#fates = fates;
    this.wallets = new WalletChain(new ModelChain());
    this.wallets.chain.grow(START_BLOCKS);
    this.adversary = new Adversary(world, fates, this.wallets);
    this.#staysDear = world.dice.chance(0.5);
    this.#nextBlock();
  }

  get chain(): ModelChain {
    return this.wallets.chain;
  }

  /** The highest block that no fork replaces any more. */
  get finalHeight(): number {
    return this.chain.head - this.depths.final + 1;
  }

  /** Tops a hot wallet up. It comes back from every fork: the test is not about poverty. */
  fund(wallet: string, units: bigint): void {
    const funds = [pay(wallet, units), payTokens(TOKEN, [wallet, units])];
    this.adversary.keys.push(wallet);
    for (const { hash } of funds) this.#lasting.add(hash);
    this.#waiting.push(...funds);
  }

  /** A payment that somebody is sure to make. */
  give(to: string, asset: string, units: bigint): Tx {
    const tx = asset === "native" ? pay(to, units) : payTokens(asset, [to, units]);
    this.#waiting.push(tx);
    return tx;
  }

  /** A payer takes a payment back: a fork replaces its block, and no fork has it any more. @returns whether it did */
  spendTwice({ hash }: Tx): boolean {
    const depth = this.#depthOf(hash);
    if (depth === null || this.isSplit()) return false;
    this.#spentTwice.add(hash);
    this.#reorganise(depth);
    this.#notePaid();
    this.onBlock();
    return true;
  }

  /** Many blocks at once, as they are there when nobody has looked for a while. */
  leap(blocks: number): void {
    if (this.isSplit()) return;
    for (let i = 0; i < blocks; i++) {
      this.#mine();
      this.#notePaid();
    }
    this.onBlock();
  }

  /** How many blocks from the head on hold it or stand on it; null: none that a fork may replace. */
  #depthOf(hash: string): number | null {
    for (let depth = 1; depth <= Math.min(MAX_REORG, this.chain.head - START_BLOCKS); depth++) {
      if (this.chain.at(this.chain.head - depth + 1)?.txs.some((tx) => tx.hash === hash)) return depth;
    }
    return null;
  }

  /** Somebody pays somebody who is watched, in one of the ways there are. @returns what waits for its block now */
  payment(): Tx | null {
    if (this.payees.length === 0) return null;
    const { dice } = this.#world;
    const to = dice.pick(this.payees);
    const units = BigInt(dice.between(1, 5)) * 10n ** 17n;
    const tx = this.#paymentTo(to, units, dice.roll(7));
    this.#waiting.push(tx);
    return tx;
  }

  #paymentTo(to: string, units: bigint, way: number): Tx {
    const { dice } = this.#world;
    switch (way) {
      case 0:
      case 1:
        return pay(to, units);
      case 2:
        return payTokens(TOKEN, [to, units]);
      case 3:
        // Two transfers of one transaction, the same to the unit.
        return payTokens(TOKEN, [to, units], [newAddress(), 1n], [to, units], [dice.pick(this.payees), units]);
      case 4:
        // Moves nothing: it failed, by itself or inside.
        return dice.chance(0.5)
          ? pay(to, units, { status: 0 })
          : { ...payThrough(newAddress(), { to, value: units }), status: 0 };
      default:
        return payThrough(newAddress(), { to, value: units }, { to, value: units });
    }
  }

  #nextBlock(): void {
    const { dice } = this.#world;
    this.#world.later(BLOCK_MS / 2 + dice.roll(BLOCK_MS), "block", () => {
      this.#nextBlock();
      this.#changeRules();
      this.adversary.interfere();
      if (this.#fates.strikes("reorg", "chain") && !this.isSplit()) this.#reorganise();
      else this.#mine();
      if (this.#fates.strikes("eviction", "pool")) this.wallets.forget();
      this.#notePaid();
      this.onBlock();
    });
  }

  #notePaid(): void {
    const top = this.chain.head - this.depths.paid + 1;
    for (let height = Math.max(0, top - DEEP_SPAN); height <= top; height++) {
      for (const { hash, status, sent, value, logs } of this.chain.at(height)?.txs ?? [])
        if (sent !== undefined && status === 1 && (value > 0n || logs.length > 0)) this.everPaid.add(hash);
    }
  }

  #mine(): void {
    const { dice } = this.#world;
    // In any order, and not all of them at once.
    const taken = this.#waiting.filter(() => this.#fates.isHealed || dice.chance(0.7));
    this.#waiting = this.#waiting.filter((tx) => !taken.includes(tx));
    if (dice.chance(0.5)) taken.reverse();
    const { height } = this.adversary.isIdle ? this.chain.mine(taken) : this.wallets.mine(...taken);
    this.#world.note(`block ${height} with ${taken.length} payments`);
  }

  /** What a payment meets when it is mined: a receiver who refuses, a token that moves nothing, a dear block. */
  #changeRules(): void {
    const { wallets } = this;
    const { dice } = this.#world;
    const isDear = wallets.baseFee > GWEI;
    if (this.#fates.strikes("feeSpike", "gas")) wallets.baseFee = GWEI * dice.pick(SPIKES);
    else if (this.#fates.isHealed ? !this.#staysDear || wallets.baseFee > PAYABLE : isDear && dice.chance(0.2))
      wallets.baseFee = GWEI;
    wallets.silent.clear();
    if (this.#fates.strikes("silentToken", "token")) wallets.silent.add(TOKEN);
    const [waiting] = wallets.pool;
    if (waiting === undefined || !this.#fates.strikes("revert", "receiver")) return;
    const receiver = receiverOf(waiting);
    wallets.reverting.add(receiver);
    this.#fickle.add(receiver);
  }

  /** Payments fall out and come back in another block, in another order, much later, or never. */
  #reorganise(wanted?: number): void {
    const { dice } = this.#world;
    const depth = wanted ?? Math.min(dice.between(1, MAX_REORG), this.chain.head - START_BLOCKS);
    if (depth < 1) {
      this.#mine();
      return;
    }
    const gone: Tx[] = [];
    for (let height = this.chain.head - depth + 1; height <= this.chain.head; height++)
      gone.push(...(this.chain.at(height)?.txs ?? []));
    const blocks: Tx[][] = Array.from({ length: depth + 1 }, () => []);
    for (const tx of gone.filter(({ sent }) => sent === undefined)) {
      const fate = dice.fraction();
      if (this.#spentTwice.has(tx.hash)) this.#world.note(`${tx.hash.slice(-6)} was spent twice`);
      else if (fate < 0.5 || this.#lasting.has(tx.hash)) dice.pick(blocks).unshift(tx);
      else if (fate < 0.85) this.#waiting.push(tx);
      else this.#world.note(`${tx.hash.slice(-6)} is gone for good`);
    }
    this.#relent();
    this.#replaceTop(depth, blocks, gone);
    this.#world.note(`reorganisation of ${depth} blocks with ${gone.length} transactions`);
    this.#fates.reach.count(`reorganisation ${depth}`);
  }

  /** What was refused on one branch may go through on another. */
  #relent(): void {
    for (const receiver of this.#fickle) {
      if (!this.#world.dice.chance(0.6)) continue;
      this.wallets.reverting.delete(receiver);
      this.#fickle.delete(receiver);
    }
  }

  /**
   * What our wallets had in those blocks is in the pools again, or in none, or in the new blocks, perhaps as
   * another attempt; lowest nonce first.
   */
  #replaceTop(depth: number, blocks: readonly Tx[][], gone: readonly Tx[]): void {
    const { dice } = this.#world;
    const own = gone.flatMap(({ hash }) => this.wallets.received.get(hash) ?? []).sort((a, b) => a.nonce - b.nonce);
    const fate = dice.fraction();
    this.chain.reorg(depth);
    for (const txs of blocks) {
      if (fate < 0.4 && dice.chance(0.5)) this.#mineAgain(own, txs);
      else this.chain.mine(txs);
    }
    if (fate < 0.7) for (const tx of own) submitQuietly(this.wallets, tx);
  }

  #mineAgain(own: readonly Signed[], others: readonly Tx[]): void {
    for (const tx of own) {
      if (tx.nonce < this.wallets.nonceAt(tx.from, this.chain.head)) continue;
      const isAny = this.#fates.strikes("olderMined", "fork");
      this.wallets.put((isAny ? this.adversary.anyOf(tx.from, tx.nonce) : null) ?? tx);
    }
    this.wallets.mine(...others);
  }
}
