/**
 * What providers say about a wallet's coins, and what of it holds when they are taken together. One look is one
 * provider's answers to one question. As with wallets that count nonces (`wallet-look.ts`): where two providers
 * exist, more than half of them, and two at least, must say the same thing before it is believed, and how deep a
 * transaction stands is said by those alone that have it.
 */

import { type CoinRef, coinText } from "./coins.ts";
import { quorumOf } from "./wallet-look.ts";

export interface CoinQuestion {
  /** Pinned inputs whose spender is wanted. */
  readonly pins: readonly CoinPin[];
  /** Heights whose block hash is wanted: where attempts were seen mined. */
  readonly heights: readonly number[];
}

export interface CoinPin {
  readonly ref: CoinRef;
  /** No spender stands below this height: the search begins here. */
  readonly from: number;
}

/** A transaction that spends an input, as a block has it. */
export interface Spender {
  readonly txId: string;
  readonly height: number;
  readonly blockHash: string;
  readonly inputs: readonly CoinRef[];
  /** Script in hex, satoshi. */
  readonly outputs: readonly { readonly script: string; readonly amountUnits: bigint }[];
}

/** One provider's answers to one question, all of one moment: its head did not move while they were given. */
export interface CoinLook {
  readonly head: number;
  readonly headHash: string;
  /**
   * By `coinText` of the pin: who spends it on this provider's best chain; null: nobody, and it is there to be
   * spent; `"missing"`: it neither exists there nor was it spent from the pin's height on. Absent: it cannot tell.
   */
  readonly spenders: ReadonlyMap<string, Spender | "missing" | null>;
  /** By `coinText` of the pin: nothing up to this height spends it. Absent: not known of any height. */
  readonly searched: ReadonlyMap<string, number>;
  /** Hash of the block at each height asked for; absent where it has none. */
  readonly blocks: ReadonlyMap<number, string>;
}

export interface UnspentCoin {
  readonly amountUnits: bigint;
  /** Hex. */
  readonly script: string;
  /** 1: in the head block. 0: it waits to be mined. */
  readonly depth: number;
}

/** What enough providers say. */
export interface AgreedCoins {
  /** The highest that enough of them reach. */
  readonly head: number;
  /** As in one look; absent as well where too few say the same. */
  readonly spenders: ReadonlyMap<string, Spender | "missing" | null>;
  /** How deep a spender of `spenders` stands for those who have it: its own block is 1; below 1 they do not reach it. */
  depthOf(pin: CoinRef, spender: Spender): number;
  /** The highest up to which enough providers say that nothing spends the pin; null: too few say so of any. */
  searchedTo(pin: CoinRef): number | null;
  /** Whether enough providers have, at a height, a block other than this one. */
  isReplaced(height: number, blockHash: string): boolean;
  /**
   * Whether enough providers have, at this depth at least, a transaction other than these as the one that spends
   * the pin. Each may name another: what is proven is that it is none of these.
   */
  isSpentByAnother(pin: CoinRef, txIds: ReadonlySet<string>, depth: number): boolean;
}

/**
 * @param providers how many the network has, answering or not
 * @returns null when too few looked
 */
export function agreeOnCoins(looks: readonly CoinLook[], providers: number): AgreedCoins | null {
  const quorum = quorumOf(providers);
  if (looks.length < quorum || quorum === 0) return null;
  const enough = (holds: (look: CoinLook) => boolean) => looks.filter(holds).length >= quorum;
  return {
    head:
      reached(
        looks.map(({ head }) => head),
        quorum,
      ) ?? -1,
    spenders: agreedSpenders(looks, quorum),
    depthOf: (pin, spender) => {
      const holders = looks.filter((look) => isSame(look.spenders.get(coinText(pin)), spender));
      return (
        (reached(
          holders.map(({ head }) => head),
          quorum,
        ) ?? -1) -
        spender.height +
        1
      );
    },
    searchedTo: (pin) =>
      reached(
        looks.flatMap(({ searched }) => searched.get(coinText(pin)) ?? []),
        quorum,
      ),
    isReplaced: (height, blockHash) =>
      enough(({ blocks }) => {
        const found = blocks.get(height);
        return found !== undefined && found !== blockHash;
      }),
    isSpentByAnother: (pin, txIds, depth) =>
      enough(({ head, spenders }) => {
        const said = spenders.get(coinText(pin));
        if (said === undefined || said === null || said === "missing") return false;
        return !txIds.has(said.txId) && head - said.height + 1 >= depth;
      }),
  };
}

/**
 * Which coins are unspent, as enough providers say: amount and script are the same for them, and the depth is the
 * greatest that enough of them reach. Null: enough of them say that it is not. Absent: too few say the same.
 * @param answers one for each provider that answered, by `coinText`
 * @param providers how many the network has, answering or not
 */
export function agreeOnUnspent(
  answers: readonly ReadonlyMap<string, UnspentCoin | null>[],
  providers: number,
): ReadonlyMap<string, UnspentCoin | null> {
  const quorum = quorumOf(providers);
  const agreed = new Map<string, UnspentCoin | null>();
  if (answers.length < quorum || quorum === 0) return agreed;
  for (const text of new Set(answers.flatMap((answer) => [...answer.keys()]))) {
    const said = answers.flatMap((answer) => {
      const coin = answer.get(text);
      return coin === undefined ? [] : [coin];
    });
    const holding = believed(said, quorum, (a, b) => coinFacts(a) === coinFacts(b));
    if (holding === undefined) continue;
    const depths = said.flatMap((coin) => (coinFacts(coin) === coinFacts(holding) ? (coin?.depth ?? []) : []));
    const depth = reached(depths, quorum);
    agreed.set(text, holding === null || depth === null ? null : { ...holding, depth });
  }
  return agreed;
}

function agreedSpenders(looks: readonly CoinLook[], quorum: number): AgreedCoins["spenders"] {
  const agreed = new Map<string, Spender | "missing" | null>();
  for (const text of new Set(looks.flatMap(({ spenders }) => [...spenders.keys()]))) {
    const said = looks.flatMap(({ spenders }) => {
      const spender = spenders.get(text);
      return spender === undefined ? [] : [spender];
    });
    const holding = believed(said, quorum, isSame);
    if (holding !== undefined) agreed.set(text, holding);
  }
  return agreed;
}

/** So many blocks one provider may be ahead of another before it says something against either. */
const SPREAD_BLOCKS = 2;

/**
 * What two providers say that cannot both be so on one chain, in words; null: nothing. A fork at the head is among it,
 * and passes.
 */
export function contradictionIn(looks: readonly CoinLook[]): string | null {
  for (const { spenders } of looks) {
    for (const [pin, spender] of spenders) {
      if (spender === null || spender === "missing") continue;
      for (const other of looks) {
        const said = other.spenders.get(pin);
        if (said === undefined || isSame(said, spender)) continue;
        if (said !== null && said !== "missing") return `two accounts of what spends ${pin}`;
        if (other.head >= spender.height + SPREAD_BLOCKS)
          return `${pin} is spent in block ${spender.height} for one, and not up to ${other.head} for another`;
      }
    }
  }
  return null;
}

/** The word that enough gave: more than half, so there is one at most. */
function believed<T>(said: readonly T[], quorum: number, same: (a: T, b: T) => boolean): T | undefined {
  return said.find((one) => said.filter((other) => same(one, other)).length >= quorum);
}

/** The `quorum`-th highest: so many reach it. */
function reached(values: readonly number[], quorum: number): number | null {
  return [...values].sort((a, b) => b - a)[quorum - 1] ?? null;
}

type Said = Spender | "missing" | null | undefined;

/** All of it: who is paid is read from the outputs, and which coins are gone from the inputs. */
function isSame(a: Said, b: Said): boolean {
  return spenderFacts(a) === spenderFacts(b);
}

function spenderFacts(said: Said): string {
  if (said === undefined || said === null || said === "missing") return String(said);
  const { txId, height, blockHash, inputs, outputs } = said;
  return [
    txId,
    height,
    blockHash,
    ...inputs.map(coinText),
    ...outputs.map(({ script, amountUnits }) => `${script}=${amountUnits}`),
  ].join(" ");
}

function coinFacts(coin: UnspentCoin | null): string {
  return coin === null ? "none" : `${coin.script}=${coin.amountUnits}`;
}
