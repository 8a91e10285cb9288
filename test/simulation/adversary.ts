/**
 * Whoever may use what was signed, and does: miners that take any attempt they ever heard of, or none of a
 * payment, and a stranger who has a hot wallet's key. All of it is allowed to them: a signature does not expire.
 */

import { newAddress, pay } from "../support/model-chain.ts";
import { receiverOf, type Signed, type WalletChain } from "../support/wallet-chain.ts";
import type { DrawnFates } from "./fates.ts";
import type { World } from "./world/world.ts";

const GWEI = 10n ** 9n;
const GAS = 21_000n;
const CHAIN_ID = 31_337;
/** What a stranger offers: less than we do, more, or more than we ever may. */
const OFFERS = [2n, 50n, 3_000n];
/** Of what no miner takes, some is never taken. */
const FOR_EVER = 0.3;
const LIFTED_PER_BLOCK = 0.06;
/** Blocks: bytes are sent again after ten of them. */
const LONGEST_IDLE = 20;

export class Adversary {
  readonly #world: World;
  readonly #fates: DrawnFates;
  readonly #wallets: WalletChain;
  /** Hot wallets, whose key somebody else has. */
  readonly keys: string[] = [];
  /** Hashes of what somebody else signed. */
  readonly foreign = new Set<string>();
  /** By sender and nonce, everything that was ever sent to a provider, taken or not. */
  readonly #heard = new Map<string, Map<string, Signed>>();
  #idleBlocks = 0;
  /** Receivers that no miner will ever pay. */
  readonly #barred = new Set<string>();

  constructor(world: World, fates: DrawnFates, wallets: WalletChain) {
    this.#world = world;
    this.#fates = fates;
    this.#wallets = wallets;
  }

  hear(tx: Signed): void {
    const place = `${tx.from}/${tx.nonce}`;
    const known = this.#heard.get(place) ?? new Map<string, Signed>();
    this.#heard.set(place, known.set(tx.hash, tx));
  }

  /** Any one of what was signed for a nonce, if anything was. */
  anyOf(from: string, nonce: number): Signed | null {
    const known = [...(this.#heard.get(`${from}/${nonce}`)?.values() ?? [])];
    return known.length === 0 ? null : this.#world.dice.pick(known);
  }

  /** Whether the next block has nothing of a hot wallet. */
  get isIdle(): boolean {
    return this.#idleBlocks > 0 && !this.#fates.isHealed;
  }

  /** Before a block is made. */
  interfere(): void {
    this.#censor();
    if (this.#idleBlocks > 0) this.#idleBlocks--;
    else if (this.#fates.strikes("idleMiners", "block")) this.#idleBlocks = this.#world.dice.between(2, LONGEST_IDLE);
    if (this.#fates.isHealed) return;
    for (const from of this.keys) {
      if (this.#fates.strikes("foreignSpend", "wallet")) this.#spend(from);
      if (this.#fates.strikes("olderMined", "pool")) this.#takeAny(from);
    }
  }

  #takeAny(from: string): void {
    const wallets = this.#wallets;
    const tx = this.anyOf(from, wallets.nonceAt(from, wallets.chain.head));
    const isPaid = tx !== null && wallets.coins(from, wallets.chain.head) >= tx.gas * tx.maxFee + tx.value;
    if (tx === null || !isPaid || tx.maxFee <= wallets.baseFee) return;
    wallets.put(tx);
  }

  #spend(from: string): void {
    const { dice } = this.#world;
    const wallets = this.#wallets;
    const { head } = wallets.chain;
    const isNext = dice.chance(0.5);
    const nonce = isNext ? wallets.nonceAt(from, head) : wallets.pendingNonce(from, head);
    const offer = dice.pick(OFFERS) * GWEI;
    const to = newAddress();
    const { hash } = pay(to, 1n);
    this.foreign.add(hash);
    // Some of it only holds its nonce in the pools.
    if (dice.chance(0.5)) wallets.censored.add(to);
    this.#world.note(`somebody else spends nonce ${nonce} of ${from.slice(-6)}`);
    const common = { hash, from, nonce, chainId: CHAIN_ID, to, data: "0x", gas: GAS };
    wallets.put({ ...common, value: 1n, maxFee: offer, tip: offer });
  }

  #censor(): void {
    const { dice } = this.#world;
    const { censored, pool } = this.#wallets;
    for (const receiver of censored) {
      const isOver = this.#fates.isHealed || dice.chance(LIFTED_PER_BLOCK);
      if (isOver && !this.#barred.has(receiver)) censored.delete(receiver);
    }
    const payment = pool.find((tx) => tx.to !== tx.from && !this.foreign.has(tx.hash));
    if (payment === undefined || !this.#fates.strikes("censored", "payment")) return;
    const receiver = receiverOf(payment);
    censored.add(receiver);
    if (dice.chance(FOR_EVER)) this.#barred.add(receiver);
    this.#world.note(`nobody mines what pays ${receiver.slice(-6)}`);
  }
}
