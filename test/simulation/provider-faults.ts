/** The ways in which a provider fails: at one request, at one send, and all of them together for a while. */

import type { DrawnFates } from "./fates.ts";
import type { World } from "./world/world.ts";

/** Blocks. */
export const LONGEST_SPELL = 10;

/** What one provider does to one request that is not a send. */
export type ReadFault =
  | "unreachable"
  | "silent"
  | "status_500"
  | "status_429"
  | "malformed"
  | "limit_error"
  | "null_results"
  | "cut_lists"
  | "one_missing"
  | Lie;
/** About a hot wallet: payments that failed, or that were never mined, a nonce of some time ago, or of later. */
export type Lie = "wrong_receipts" | "invented_receipts" | "stale_nonces" | "early_nonces";
export const LIES: readonly Lie[] = ["wrong_receipts", "invented_receipts", "stale_nonces", "early_nonces"];
export const READ_FAULTS: readonly ReadFault[] = [
  "unreachable",
  "silent",
  "status_500",
  "status_429",
  "malformed",
  "limit_error",
  "null_results",
  "cut_lists",
  "one_missing",
  ...LIES,
];

/** What one provider does to one send. */
export type SendFault =
  | "taken_then_silent"
  | "taken_then_unreachable"
  | "taken_then_error"
  | "not_taken_silent"
  | "not_taken_hash"
  | "not_taken_nonce_too_low"
  | "turned_away_429"
  | "pool_full";
export const SEND_FAULTS: readonly SendFault[] = [
  "taken_then_silent",
  "taken_then_unreachable",
  "taken_then_error",
  "not_taken_silent",
  "not_taken_hash",
  "not_taken_nonce_too_low",
  "turned_away_429",
  "pool_full",
];

/** What all providers do to whatever is sent, for some blocks. */
export class Outage {
  fault: SendFault | null = null;
  #blocksLeft = 0;

  /** Called as blocks come. */
  drift({ dice }: World, fates: DrawnFates): void {
    if (--this.#blocksLeft <= 0) this.fault = null;
    if (this.fault !== null || !fates.strikes("sendOutage", "providers")) return;
    this.fault = dice.pick(SEND_FAULTS);
    this.#blocksLeft = dice.between(2, LONGEST_SPELL);
  }
}
