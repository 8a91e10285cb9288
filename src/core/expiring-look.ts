/**
 * What providers say about signed transactions that expire by themselves, and what of it holds when they are taken
 * together. As with wallets that count nonces (`wallet-look.ts`): where two providers exist, more than half of them,
 * and two at least, must say the same thing before it is believed.
 *
 * Two signed transactions of one payment exclude each other by nothing. So dead is the one word that may cost money
 * when it is wrong: it needs as many voices as a landing, each from beyond the expiry, and nobody who says otherwise.
 */

import { quorumOf } from "./wallet-look.ts";

export interface ExpiringQuestion {
  readonly attempts: readonly AskedAttempt[];
}

export interface AskedAttempt {
  readonly txId: string;
  /** The last point at which it can land, in the chain's own measure. */
  readonly expiresAt: number;
  /** Final height when it was signed: it stands in no block at or below this one. */
  readonly signedAbove: number;
}

/** A transaction in a final block. */
export interface Landed {
  readonly txId: string;
  readonly height: number;
  readonly blockHash: string;
  readonly success: boolean;
  /** Everything that the sender paid beside the amount, base units of the native coin. */
  readonly feeUnits: bigint;
  /** What it moved, as the chain shows it and not as it was asked for. Empty when it did not succeed. */
  readonly moves: readonly LandedMove[];
}

export interface LandedMove {
  readonly asset: string;
  readonly from: string;
  readonly to: string;
  readonly amountUnits: bigint;
}

/** One provider's answers to one question. */
export interface ExpiringLook {
  /** Highest final height, and the point that final blocks have reached, in the measure of `expiresAt`. */
  readonly finalHeight: number;
  readonly finalPoint: number;
  /**
   * By id: where it landed; `"pending"`: seen, and not final; null: in no final block up to `finalPoint`, by a search
   * that would have found it. Absent: this provider cannot tell.
   */
  readonly found: ReadonlyMap<string, Landed | "pending" | null>;
}

export type AttemptNews =
  /** In a final block, by the same account of enough providers. */
  | { readonly kind: "landed"; readonly landed: Landed }
  /** Somebody has it, in a block or waiting for one, and too few agree where. */
  | { readonly kind: "seen" }
  /** It can never land: enough providers, past its expiry, have it in no final block, and nobody has it in one. */
  | { readonly kind: "dead" }
  /** The chain does not say yet. */
  | { readonly kind: "waiting" };

/** What enough providers say. The numbers are the highest that enough of them reach. */
export interface AgreedExpiring {
  readonly finalHeight: number;
  readonly finalPoint: number;
  /** Final blocks have reached this, unless as many are wrong as it takes to call something dead. Where all are right, the highest that most say. */
  readonly newestPoint: number;
  newsOf(attempt: AskedAttempt): AttemptNews;
}

/**
 * @param providers how many the network has, answering or not
 * @returns null when too few looked
 */
export function agreeOnExpiring(looks: readonly ExpiringLook[], providers: number): AgreedExpiring | null {
  const quorum = quorumOf(providers);
  if (looks.length < quorum || quorum === 0) return null;
  return {
    finalHeight:
      reached(
        looks.map(({ finalHeight }) => finalHeight),
        quorum,
      ) ?? -1,
    finalPoint:
      reached(
        looks.map(({ finalPoint }) => finalPoint),
        quorum,
      ) ?? -1,
    newestPoint:
      reached(
        looks.map(({ finalPoint }) => finalPoint),
        looks.length - quorum + 1,
      ) ?? -1,
    newsOf: (attempt) => newsOf(attempt, looks, quorum),
  };
}

function newsOf(
  { txId, expiresAt, signedAbove }: AskedAttempt,
  looks: readonly ExpiringLook[],
  quorum: number,
): AttemptNews {
  const landings = looks.flatMap(({ found, finalHeight }) => {
    const said = found.get(txId);
    return isLanded(said) ? [{ said, isFinal: said.height > signedAbove && said.height <= finalHeight }] : [];
  });
  const final = landings.flatMap(({ said, isFinal }) => (isFinal && said.txId === txId ? [said] : []));
  const landed = final.find((one) => final.filter((other) => factsOf(other) === factsOf(one)).length >= quorum);
  if (landed !== undefined) return { kind: "landed", landed };
  // One who has it in a block, and be it alone, may be the only one who is right.
  if (landings.length > 0) return { kind: "seen" };
  const without = looks.filter(({ found, finalPoint }) => finalPoint > expiresAt && found.get(txId) === null);
  if (without.length >= quorum) return { kind: "dead" };
  return looks.some(({ found }) => found.get(txId) === "pending") ? { kind: "seen" } : { kind: "waiting" };
}

/** What two providers say that cannot both be so on one chain, in words; null: nothing. */
export function contradictionIn(looks: readonly ExpiringLook[]): string | null {
  for (const { found } of looks) {
    for (const [txId, landed] of found) {
      if (!isLanded(landed)) continue;
      for (const other of looks) {
        const said = other.found.get(txId);
        if (isLanded(said) && factsOf(said) !== factsOf(landed)) return `two accounts of ${txId}`;
        if (said === null && other.finalHeight >= landed.height)
          return `${txId} is in block ${landed.height} for one, and in no final block up to ${other.finalHeight} for another`;
      }
    }
  }
  return null;
}

/** Whether it moved exactly this, as the chain shows it. */
export function showsMove({ moves }: Landed, wanted: LandedMove): boolean {
  return moves.some(
    ({ asset, from, to, amountUnits }) =>
      asset === wanted.asset && from === wanted.from && to === wanted.to && amountUnits === wanted.amountUnits,
  );
}

function isLanded(said: Landed | "pending" | null | undefined): said is Landed {
  return said !== undefined && said !== null && said !== "pending";
}

/** All of it: what is paid is read from the moves, and the fee is booked, so neither may be one provider's word. */
function factsOf({ txId, height, blockHash, success, feeUnits, moves }: Landed): string {
  const moved = moves.map(({ asset, from, to, amountUnits }) => [asset, from, to, amountUnits.toString()]);
  return JSON.stringify([txId, height, blockHash, success, feeUnits.toString(), moved]);
}

/** The `quorum`-th highest: so many reach it. */
function reached(values: readonly number[], quorum: number): number | null {
  return [...values].sort((a, b) => b - a)[quorum - 1] ?? null;
}
