/**
 * Branch and bound for coins that pay without change (M. Erhardt, "An Evaluation of Coin Selection Strategies",
 * 2016; Core's SelectCoinsBnB): of the subsets whose worth falls into a window, the one that wastes least.
 * Deterministic. Worths are in thousandths of a satoshi, so that rates do not round.
 */

/** Subsets looked at, as in Core. */
const MAX_TRIES = 100_000;

export interface ExactQuestion {
  /** What each coin adds once its own input is paid for; above zero, descending. */
  readonly worths: readonly bigint[];
  readonly target: bigint;
  /** Excess from which on change would be made. */
  readonly window: bigint;
  /** What one input costs now above what it would cost in calm times; negative when now is calmer. */
  readonly inputPenalty: bigint;
  readonly maxInputs: number;
}

/** @returns places in `worths`, ascending; null when no subset was found */
export function exactCoins({ worths, target, window, inputPenalty, maxInputs }: ExactQuestion): number[] | null {
  const rests = restsOf(worths);
  const picked: number[] = [];
  let best: { readonly places: number[]; readonly waste: bigint } | null = null;
  let tries = 0;

  const record = (worth: bigint) => {
    const waste = BigInt(picked.length) * inputPenalty + (worth - target);
    if (best === null || waste < best.waste) best = { places: [...picked], waste };
  };
  const search = (from: number, worth: bigint) => {
    for (let place = from; place < worths.length; place++) {
      const own = worths[place] ?? 0n;
      if (worth + (rests[place] ?? 0n) < target || tries >= MAX_TRIES) return;
      // Its twin was tried and left out: the same sums would come again.
      if (place > from && own === worths[place - 1]) continue;
      tries += 1;
      if (worth + own >= target + window) continue;
      picked.push(place);
      if (worth + own >= target) record(worth + own);
      else if (picked.length < maxInputs) search(place + 1, worth + own);
      picked.pop();
    }
  };
  search(0, 0n);
  return (best as { readonly places: number[] } | null)?.places ?? null;
}

/** At each place, what it and everything after it is worth. */
function restsOf(worths: readonly bigint[]): bigint[] {
  const rests = new Array<bigint>(worths.length);
  let rest = 0n;
  for (let place = worths.length - 1; place >= 0; place--) {
    rest += worths[place] ?? 0n;
    rests[place] = rest;
  }
  return rests;
}
