/**
 * What a transaction paid to each address that it may have paid to. A payment counts when the balances bear it out:
 * for each address and asset, what came less what went must be the difference between the balances before and after.
 *
 * One difference has a known reason: a Token-2022 mint may keep a fee, so that less arrives than was sent. Then what
 * arrived counts. Any other one is an irregularity: nothing of that asset counts for that address, and it says so.
 */

import { TOKEN_2022_PROGRAM } from "../../core/solana-address.ts";
import { NATIVE } from "../../core/transfer.ts";
import { effectsOf } from "./effects.ts";
import { type CoinPayment, type Replay, replay, type TokenMove } from "./replay.ts";
import type { ExecutedTransaction, TokenBalance } from "./status.ts";

export interface Credit {
  readonly address: string;
  readonly asset: string;
  /** `ix:<i>`, `ix:<i>.<j>`, and `/<b>` in a batch. */
  readonly transferIndex: string;
  readonly amountUnits: bigint;
  /** Whether less counts than was sent. */
  readonly isShort: boolean;
}

/** Balances that grew, or payments that were made, and that do not explain each other. */
export interface Irregularity {
  readonly address: string;
  readonly asset: string;
  /** By the instructions; null: they do not say. */
  readonly expected: bigint | null;
  /** By the balances; null: too large a number to be told exactly. */
  readonly arrived: bigint | null;
}

export interface Arrivals {
  /** In the order of the instructions. */
  readonly credits: readonly Credit[];
  readonly irregular: readonly Irregularity[];
}

export interface Wanted {
  readonly native: boolean;
  /** Listed mints. */
  readonly contracts: ReadonlySet<string>;
}

/** For everybody who may have been paid. @param tx one that succeeded */
export function arrivalsOf(tx: ExecutedTransaction, wanted: Wanted): Arrivals {
  if (!mayPay(tx, wanted)) return NOTHING;
  const effects = effectsOf(tx);
  const played = replay(tx, effects);
  const parts: Arrivals[] = [];
  if (wanted.native) for (let place = 0; place < tx.accounts.length; place++) parts.push(coinsTo(tx, played, place));
  for (const mint of wanted.contracts) {
    const moves = played.tokens.filter((move) => move.mint === mint);
    for (const owner of ownersOf(tx, moves, mint)) parts.push(tokensTo(tx, moves, mint, owner));
  }
  const order = new Map(effects.map(({ path }, i) => [path, i]));
  const placeOf = ({ transferIndex }: Credit) => order.get(transferIndex) ?? 0;
  return {
    credits: parts.flatMap(({ credits }) => credits).sort((a, b) => placeOf(a) - placeOf(b)),
    irregular: parts.flatMap(({ irregular }) => irregular),
  };
}

const NOTHING: Arrivals = { credits: [], irregular: [] };

/** Cheap: most transactions of a block are votes, which only cost somebody a fee. */
function mayPay(tx: ExecutedTransaction, { native, contracts }: Wanted): boolean {
  const feePayer = (place: number) => (place === 0 ? tx.feeUnits : 0n);
  const beforeFee = (units: bigint | null, place: number) => (units === null ? null : units + feePayer(place));
  if (native && tx.after.some((units, place) => grew(tx.before[place] ?? null, beforeFee(units, place)))) return true;
  // What was paid and passed on in one go leaves no balance grown.
  if (native && tx.wire.instructions.length + tx.inner.size > 1) return true;
  const isListed = ({ mint }: TokenBalance) => contracts.has(mint);
  return [...tx.tokensBefore.values()].some(isListed) || [...tx.tokensAfter.values()].some(isListed);
}

function coinsTo(tx: ExecutedTransaction, { coins, after }: Replay, place: number): Arrivals {
  const paid = coins.filter(({ to }) => to === place);
  const [before, shown, played] = [tx.before[place] ?? null, tx.after[place] ?? null, after[place] ?? null];
  if (paid.length === 0 && !grew(before, shown)) return NOTHING;
  const isProven = shown !== null && shown === played && paid.every(({ isPayment }) => isPayment);
  if (isProven) return { credits: paid.map((payment) => coinCredit(tx, payment)), irregular: [] };
  const difference = (units: bigint | null) => (units === null || before === null ? null : units - before);
  const evidence = { expected: difference(played), arrived: difference(shown) };
  return {
    credits: [],
    irregular: [{ address: tx.accounts.address(place), asset: NATIVE, ...evidence }],
  };
}

/** A balance that is too large to be told exactly may have grown. */
function grew(before: bigint | null, after: bigint | null): boolean {
  return before === null || after === null || after > before;
}

function coinCredit(tx: ExecutedTransaction, { path, to, units }: CoinPayment): Credit {
  const address = tx.accounts.address(to);
  return { address, asset: NATIVE, transferIndex: path, amountUnits: units, isShort: false };
}

function ownersOf(tx: ExecutedTransaction, moves: readonly TokenMove[], mint: string): ReadonlySet<string> {
  const owners = new Set(moves.flatMap(({ to }) => to ?? []));
  for (const balance of tx.tokensAfter.values()) if (balance.mint === mint) owners.add(balance.owner);
  return owners;
}

function tokensTo(tx: ExecutedTransaction, moves: readonly TokenMove[], mint: string, owner: string): Arrivals {
  const came = moves.filter(({ from, to, isOwn }) => to === owner && from !== owner && !isOwn);
  const went = moves.filter(({ from, to }) => from === owner && to !== owner);
  const wrapped = moves.filter(({ to, isOwn }) => to === owner && isOwn);
  const held = (balances: ReadonlyMap<number, TokenBalance>) =>
    sum(
      [...balances.values()].map((balance) => (balance.mint === mint && balance.owner === owner ? balance.units : 0n)),
    );
  const arrived = held(tx.tokensAfter) - held(tx.tokensBefore);
  if (came.length === 0 && arrived <= 0n) return NOTHING;
  const expected = sum([...came, ...wrapped].map(received)) - sum(went.map(({ units }) => units));
  const credit = (move: TokenMove, amountUnits: bigint, isShort: boolean): Credit => ({
    address: owner,
    asset: mint,
    transferIndex: move.path,
    amountUnits,
    isShort,
  });
  if (expected === arrived) {
    const whole = came.map((move) => credit(move, received(move), received(move) < move.units));
    return { credits: whole.filter(({ amountUnits }) => amountUnits > 0n), irregular: [] };
  }
  const [first] = came;
  // A fee that the instruction does not state. Of several payments nobody can say what each one lost: their sum counts.
  const mayHaveFee =
    came.some(({ fee }) => fee === null) && came.every(({ program }) => program === TOKEN_2022_PROGRAM);
  if (first !== undefined && mayHaveFee && went.length + wrapped.length === 0 && arrived > 0n && arrived < expected) {
    return { credits: [credit(first, arrived, true)], irregular: [] };
  }
  return { credits: [], irregular: [{ address: owner, asset: mint, expected, arrived }] };
}

function received({ units, fee }: TokenMove): bigint {
  return units - (fee ?? 0n);
}

function sum(units: readonly bigint[]): bigint {
  return units.reduce((total, one) => total + one, 0n);
}
