/**
 * The chain's own life: blocks come, forks replace them, strangers pay, pools forget. Payments to merchants are
 * put into blocks here and nowhere else, so that the chain as it stands is what the books must agree with.
 */

import { ModelChain, newAddress, pay, payThrough, payTokens, type Tx } from "../support/model-chain.ts";
import { WalletChain } from "../support/wallet-chain.ts";
import type { DrawnFates } from "./fates.ts";
import type { World } from "./world/world.ts";

const BLOCK_MS = 4_000;
const START_BLOCKS = 24;
/** The window is 20 blocks: no fork that a person would have to judge. */
const MAX_REORG = 8;
export const TOKEN = `0x${"70".repeat(20)}`;

export class ChainLife {
  readonly wallets: WalletChain;
  /** Strangers' payments that are not in a block of the best chain. */
  #waiting: Tx[] = [];
  readonly #world: World;
  readonly #fates: DrawnFates;
  /** Whom strangers pay. */
  readonly payees: string[] = [];
  onBlock: () => void = () => {};

  constructor(world: World, fates: DrawnFates) {
    this.#world = world;
    this.#fates = fates;
    this.wallets = new WalletChain(new ModelChain());
    this.wallets.chain.grow(START_BLOCKS);
    this.#nextBlock();
  }

  get chain(): ModelChain {
    return this.wallets.chain;
  }

  /** Tops a hot wallet up, by a block of its own that is never replaced: the test is not about poverty. */
  fund(wallet: string, units: bigint): void {
    this.#waiting.push(pay(wallet, units), payTokens(TOKEN, [wallet, units]));
  }

  /** Somebody pays somebody who is watched, in one of the ways there are. */
  payment(): void {
    if (this.payees.length === 0) return;
    const { dice } = this.#world;
    const to = dice.pick(this.payees);
    const units = BigInt(dice.between(1, 5)) * 10n ** 17n;
    switch (dice.roll(5)) {
      case 0:
      case 1:
        this.#waiting.push(pay(to, units));
        break;
      case 2:
        this.#waiting.push(payTokens(TOKEN, [to, units]));
        break;
      case 3:
        // Two transfers of one transaction, the same to the unit.
        this.#waiting.push(
          payTokens(TOKEN, [to, units], [newAddress(), 1n], [to, units], [dice.pick(this.payees), units]),
        );
        break;
      default:
        this.#waiting.push(payThrough(newAddress(), { to, value: units }));
    }
  }

  #nextBlock(): void {
    const { dice } = this.#world;
    this.#world.later(BLOCK_MS / 2 + dice.roll(BLOCK_MS), "block", () => {
      this.#nextBlock();
      if (this.#fates.strikes("reorg", "chain")) this.#reorganise();
      else this.#mine();
      if (this.#fates.strikes("eviction", "pool")) this.wallets.forget();
      this.onBlock();
    });
  }

  #mine(): void {
    const { dice } = this.#world;
    // In any order, and not all of them at once.
    const taken = this.#waiting.filter(() => this.#fates.isHealed || dice.chance(0.7));
    this.#waiting = this.#waiting.filter((tx) => !taken.includes(tx));
    if (dice.chance(0.5)) taken.reverse();
    const { height } = this.wallets.mine(...taken);
    this.#world.note(`block ${height} with ${taken.length} payments`);
  }

  /** Strangers' payments fall out and come back in another block, in another order, or much later. */
  #reorganise(): void {
    const { dice } = this.#world;
    const depth = Math.min(dice.between(1, MAX_REORG), this.chain.head - START_BLOCKS);
    if (depth < 1) {
      this.#mine();
      return;
    }
    const gone: Tx[] = [];
    for (let height = this.chain.head - depth + 1; height <= this.chain.head; height++)
      gone.push(...(this.chain.at(height)?.txs ?? []));
    this.wallets.reorg(depth, { keep: dice.chance(0.6) });
    this.#world.note(`reorganisation of ${depth} blocks with ${gone.length} transactions`);
    this.#fates.reach.count(`reorganisation ${depth}`);
  }
}
