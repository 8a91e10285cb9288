/** How many things are in each state, kept by difference beside the commit that moves them. */

import type { DepositStatus } from "./views.ts";
import type { WithdrawalState } from "./withdrawal.ts";

export interface Tallies {
  readonly deposits: Tally<DepositStatus>;
  /** Those that have ended: open ones are few enough to be counted. */
  readonly withdrawals: Tally<WithdrawalState>;
}

/** A state that is missing has none. */
export type Tally<State extends string> = { readonly [S in State]?: number };

export interface Moved<State extends string> {
  /** Null: it came to be. */
  readonly from: State | null;
  /** Null: it is counted no more. */
  readonly to: State | null;
}

export function tallied<State extends string>(tally: Tally<State>, moves: readonly Moved<State>[]): Tally<State> {
  const next: Partial<Record<State, number>> = { ...tally };
  for (const { from, to } of moves) {
    if (from === to) continue;
    if (from !== null) next[from] = (next[from] ?? 0) - 1;
    if (to !== null) next[to] = (next[to] ?? 0) + 1;
  }
  return next;
}
