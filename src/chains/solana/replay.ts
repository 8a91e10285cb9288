/**
 * One transaction played again from its effects: where its balances should stand afterwards, and what was paid to
 * whom on the way. Where they stand elsewhere, something happened that the effects do not show.
 *
 * A watched address owns itself and the token accounts that name it as owner; what moves between these is nobody's
 * payment. An account that begins and ends within the transaction is a passage: it keeps nothing, so for tokens it
 * counts as a stranger, and closing it pays out what others put into it. What its owner put in itself goes back to it
 * unpaid.
 */

import { smaller } from "../../core/amount.ts";
import type { Effect } from "./effects.ts";
import type { ExecutedTransaction, TokenBalance } from "./status.ts";

/** Coins paid to an account by somebody else. */
export interface CoinPayment {
  readonly path: string;
  readonly to: number;
  readonly units: bigint;
  /** Whether the receiver can spend it. */
  readonly isPayment: boolean;
}

/** Tokens that changed their owner. */
export interface TokenMove {
  readonly path: string;
  readonly mint: string;
  readonly program: string;
  /** Owners; null: minted, burned, or an account nobody knows. */
  readonly from: string | null;
  readonly to: string | null;
  readonly units: bigint;
  /** The fee that the instruction states; null: none stated. */
  readonly fee: bigint | null;
  /** The owner's own: coins that were wrapped or unwrapped, tokens back from a passage. Its tokens change, and nobody paid. */
  readonly isOwn: boolean;
}

export interface Replay {
  readonly coins: readonly CoinPayment[];
  readonly tokens: readonly TokenMove[];
  /** Lamports by account as the effects leave them; null: unknown. */
  readonly after: readonly (bigint | null)[];
}

/** Mints whose tokens are coins in an account: of the token program, and of Token-2022. */
const WRAPPED_COINS: ReadonlySet<string> = new Set([
  "So11111111111111111111111111111111111111112",
  "9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXej9",
]);

interface TokenAccount {
  readonly mint: string;
  readonly program: string;
  owner: string;
  units: bigint;
  /** Of a passage: what its owner put in itself and has not taken out. */
  own: bigint;
  /** Lamports that are no tokens: what the account must hold to exist; null: unknown. */
  readonly reserve: bigint | null;
}

/** Coins that went into an account within the transaction, and whose they were; null: nobody can say. */
interface Paid {
  readonly by: string | null;
  readonly units: bigint;
}

export function replay(tx: ExecutedTransaction, effects: readonly Effect[]): Replay {
  const player = new Player(tx);
  for (const effect of effects) player.play(effect);
  return player;
}

class Player implements Replay {
  readonly coins: CoinPayment[] = [];
  readonly tokens: TokenMove[] = [];
  readonly after: (bigint | null)[];
  readonly #tx: ExecutedTransaction;
  readonly #accounts = new Map<number, TokenAccount>();
  readonly #paidInto = new Map<number, Paid[]>();

  constructor(tx: ExecutedTransaction) {
    this.#tx = tx;
    this.after = [...tx.before];
    // The fee is taken first, from whoever signs first.
    this.#add(0, -tx.feeUnits);
    for (const [place, balance] of tx.tokensBefore) this.#accounts.set(place, this.#begun(place, balance));
  }

  play(effect: Effect): void {
    switch (effect.kind) {
      case "lamports":
        this.#coinsMove(effect);
        return;
      case "tokens":
        this.#tokensMove(effect);
        return;
      case "opened": {
        const { account, mint, owner, program } = effect;
        const reserve = this.#reserveAfter(account, mint);
        const own = WRAPPED_COINS.has(mint) ? this.#paidBy(owner, account) : 0n;
        this.#accounts.set(account, { mint, program, owner, units: 0n, own, reserve });
        this.#sync(effect.path, account);
        return;
      }
      case "given": {
        const account = this.#accounts.get(effect.account);
        if (account !== undefined) Object.assign(account, { owner: effect.owner, own: 0n });
        return;
      }
      case "closed":
        this.#close(effect);
        return;
      case "unwrapped":
        this.#unwrap(effect);
        return;
      case "synced":
        this.#sync(effect.path, effect.account);
    }
  }

  #coinsMove({ path, from, to, units, by, isPayment }: Effect & { kind: "lamports" }): void {
    const payer = this.#tx.accounts.address(from);
    this.#add(from, -units);
    this.#add(to, units);
    this.#notePaid(to, payer, units);
    const receiver = this.#tx.accounts.address(to);
    const isOwn = from === to || (by !== null && this.#tx.accounts.address(by) === receiver);
    if (!isOwn && units > 0n) this.coins.push({ path, to, units, isPayment });
  }

  #tokensMove({ path, from, to, mint, units, fee }: Effect & { kind: "tokens" }): void {
    const source = from === null ? undefined : this.#account(from);
    const target = to === null ? undefined : this.#account(to);
    const known = source ?? target;
    const named = mint === null ? known?.mint : this.#tx.accounts.address(mint);
    if (known === undefined || named === undefined) return;
    if (from === to || units === 0n) return;
    if (source !== undefined) source.units -= units;
    if (target !== undefined) target.units += units - (fee ?? 0n);
    const own = from === null || source === undefined ? 0n : this.#takeOwn(from, source, units);
    if (from !== null && to !== null && WRAPPED_COINS.has(named)) {
      this.#add(from, -units);
      this.#add(to, units);
    }
    const isSameOwner = source !== undefined && source.owner === target?.owner;
    if (isSameOwner) target.own += own;
    const ownerOf = (place: number | null, account: TokenAccount | undefined) =>
      place === null || account === undefined || this.#isPassage(place) ? null : account.owner;
    const ends = { from: ownerOf(from, source), to: ownerOf(to, target) };
    const move = { path, mint: named, program: known.program, ...ends };
    const back = isSameOwner && ends.from === null ? own : 0n;
    const others = units - back;
    if (back > 0n) this.tokens.push({ ...move, units: back, fee: others > 0n ? null : fee, isOwn: true });
    if (others > 0n) this.tokens.push({ ...move, units: others, fee, isOwn: false });
  }

  /** How much of what leaves the account is its owner's: all, or of a passage what its owner put in, which leaves first. */
  #takeOwn(place: number, account: TokenAccount, units: bigint): bigint {
    if (!this.#isPassage(place)) return units;
    const own = smaller(account.own, units);
    account.own -= own;
    return own;
  }

  #close({ path, account: place, to }: Effect & { kind: "closed" }): void {
    const units = this.after[place] ?? null;
    const closed = this.#account(place);
    const own = closed === undefined ? 0n : this.#ownCoins(place, closed);
    this.#add(to, units);
    this.after[place] = units === null ? null : 0n;
    this.#accounts.delete(place);
    this.#paidInto.delete(place);
    if (units === null || units === 0n) return;
    // A mint, or what some program made: nobody can say whose coins these were.
    if (closed === undefined) {
      this.#notePaid(to, null, units);
      return void this.coins.push({ path, to, units, isPayment: false });
    }
    // What an account held before is its owner's. Of a passage, others may have filled it.
    const others = this.#isPassage(place) && units > own ? units - own : 0n;
    this.#notePaid(to, closed.owner, units - others);
    this.#notePaid(to, null, others);
    this.#unwrapped(path, place, closed, closed.units);
    const paid = closed.owner === this.#tx.accounts.address(to) ? others : units;
    if (paid > 0n) this.coins.push({ path, to, units: paid, isPayment: true });
  }

  /** What the owner put into an account that it opened in this transaction, and has not taken out. */
  #ownCoins(place: number, { mint, owner, own }: TokenAccount): bigint {
    return WRAPPED_COINS.has(mint) ? own : this.#paidBy(owner, place);
  }

  #unwrap({ path, from, to, units: asked }: Effect & { kind: "unwrapped" }): void {
    const source = this.#account(from);
    const units = asked ?? source?.units ?? null;
    this.#add(from, units === null ? null : -units);
    this.#add(to, units);
    if (source === undefined || units === null || units === 0n) return;
    this.#unwrapped(path, from, source, units);
    source.units -= units;
    const own = this.#takeOwn(from, source, units);
    this.#notePaid(to, source.owner, own);
    this.#notePaid(to, null, units - own);
    const others = this.#isPassage(from) ? units - own : 0n;
    const paid = source.owner === this.#tx.accounts.address(to) ? others : units;
    if (paid > 0n) this.coins.push({ path, to, units: paid, isPayment: true });
  }

  #unwrapped(path: string, place: number, { mint, program, owner }: TokenAccount, units: bigint): void {
    if (units === 0n || !WRAPPED_COINS.has(mint) || this.#isPassage(place)) return;
    this.tokens.push({ path, mint, program, from: owner, to: null, units, fee: null, isOwn: true });
  }

  /** What was paid into a wrapped account as coins, and by whom, becomes its tokens. */
  #sync(path: string, place: number): void {
    const account = this.#account(place);
    const held = this.after[place] ?? null;
    if (account === undefined || held === null || account.reserve === null || !WRAPPED_COINS.has(account.mint)) return;
    const units = held - account.reserve - account.units;
    const payers = new Set((this.#paidInto.get(place) ?? []).map(({ by }) => by));
    // What came up to here is tokens now, or what the account must hold.
    this.#paidInto.delete(place);
    if (units <= 0n) return;
    account.units += units;
    const [payer = null] = payers;
    // Of several payers nobody can say whose coins these are; then it does not add up.
    if (payer === null || payers.size !== 1 || this.#isPassage(place)) return;
    const { mint, program, owner } = account;
    const isOwn = payer === owner;
    this.tokens.push({ path, mint, program, from: isOwn ? null : payer, to: owner, units, fee: null, isOwn });
  }

  /** Known since before, or opened on the way; else as it is afterwards. */
  #account(place: number): TokenAccount | undefined {
    const known = this.#accounts.get(place);
    const later = this.#tx.tokensAfter.get(place);
    if (known !== undefined || later === undefined || this.#tx.tokensBefore.has(place)) return known;
    const account = { ...later, units: 0n, own: 0n, reserve: this.#reserveAfter(place, later.mint) };
    this.#accounts.set(place, account);
    return account;
  }

  #begun(place: number, { mint, owner, program, units }: TokenBalance): TokenAccount {
    const held = this.#tx.before[place] ?? null;
    return { mint, owner, program, units, own: 0n, reserve: held === null ? null : held - units };
  }

  #reserveAfter(place: number, mint: string): bigint | null {
    const [held, later] = [this.#tx.after[place] ?? null, this.#tx.tokensAfter.get(place)];
    return held === null || later === undefined || later.mint !== mint ? null : held - later.units;
  }

  #isPassage(place: number): boolean {
    return !this.#tx.tokensBefore.has(place) && !this.#tx.tokensAfter.has(place);
  }

  #paidBy(who: string, place: number): bigint {
    const paid = this.#paidInto.get(place) ?? [];
    return paid.reduce((sum, { by, units }) => (by === who ? sum + units : sum), 0n);
  }

  #notePaid(place: number, by: string | null, units: bigint): void {
    if (units === 0n) return;
    this.#paidInto.set(place, [...(this.#paidInto.get(place) ?? []), { by, units }]);
    const account = this.#accounts.get(place);
    if (account?.owner === by && WRAPPED_COINS.has(account.mint)) account.own += units;
  }

  #add(place: number, units: bigint | null): void {
    const held = this.after[place] ?? null;
    this.after[place] = held === null || units === null ? null : held + units;
  }
}
