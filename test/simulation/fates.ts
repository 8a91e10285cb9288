/**
 * How often things go wrong in one run. Each seed draws its own rates: in some worlds nothing breaks but now
 * and then, in others everything does, and most have a few troubles of their own. Every fault that strikes is
 * counted by what it struck, so that a night can be asked what it never tried.
 */

import type { ServiceFates } from "./service.ts";
import type { D1Fate } from "./world/d1.ts";
import type { Dice } from "./world/dice.ts";
import type { AlarmFate, CallFate } from "./world/objects.ts";

/** Probabilities per occasion. */
export interface Rates {
  readonly callLost: number;
  readonly callAnswerLost: number;
  readonly calleeCrash: number;
  readonly callerCrash: number;
  readonly alarmLate: number;
  readonly alarmTwice: number;
  readonly alarmLost: number;
  readonly d1Failed: number;
  readonly d1AnswerLost: number;
  readonly d1Silent: number;
  readonly cronSkipped: number;
  readonly nodeFault: number;
  readonly nodeLag: number;
  readonly sendFault: number;
  readonly reorg: number;
  readonly eviction: number;
  /** A receiver begins to refuse, a token to move nothing, gas to cost many times as much. */
  readonly revert: number;
  readonly silentToken: number;
  readonly feeSpike: number;
  /** A provider follows a branch of its own for a while. */
  readonly ownFork: number;
  readonly webhookFault: number;
  readonly clientAnswerLost: number;
  readonly deploy: number;
  /** Hours pass in one moment, with nobody at work. */
  readonly clockJump: number;
  /** No miner takes a payment for a while, or ever. */
  readonly censored: number;
  /** For some blocks no miner takes anything of a hot wallet. */
  readonly idleMiners: number;
  /** Of everything that was ever signed for a nonce, a miner takes any one. */
  readonly olderMined: number;
  /** Somebody else signs with a hot wallet's key. */
  readonly foreignSpend: number;
  /** For some blocks all providers do the same to everything that is sent. */
  readonly sendOutage: number;
  /** For some blocks a provider lies to whoever looks at a wallet, or is not there at all. */
  readonly lyingSpell: number;
  readonly nodeDown: number;
}

/** Troubles of the withdrawal line that are at their worst together. */
const PAYOUT_TROUBLES: readonly (keyof Rates)[] = [
  "reorg",
  "eviction",
  "revert",
  "feeSpike",
  "ownFork",
  "censored",
  "idleMiners",
  "olderMined",
  "foreignSpend",
  "sendOutage",
  "lyingSpell",
  "nodeDown",
];

const MOST: Rates = {
  callLost: 0.06,
  callAnswerLost: 0.06,
  calleeCrash: 0.03,
  callerCrash: 0.02,
  alarmLate: 0.1,
  alarmTwice: 0.1,
  alarmLost: 0.05,
  d1Failed: 0.15,
  d1AnswerLost: 0.15,
  d1Silent: 0.02,
  cronSkipped: 0.3,
  nodeFault: 0.2,
  nodeLag: 0.3,
  sendFault: 0.4,
  reorg: 0.3,
  eviction: 0.25,
  revert: 0.2,
  silentToken: 0.15,
  feeSpike: 0.15,
  ownFork: 0.12,
  webhookFault: 0.5,
  clientAnswerLost: 0.2,
  deploy: 0.2,
  clockJump: 0.4,
  censored: 0.15,
  idleMiners: 0.1,
  olderMined: 0.6,
  foreignSpend: 0.06,
  sendOutage: 0.15,
  lyingSpell: 0.12,
  nodeDown: 0.08,
};

/**
 * A tenth of all worlds is calm, a tenth is hell; in the others each trouble is on or off by itself. A fourth of
 * them is hard on payments.
 */
export function drawRates(dice: Dice): Rates {
  const mood = dice.fraction();
  const isHardOnPayments = dice.chance(0.25);
  const entries = Object.entries(MOST).map(([name, most]) => {
    const strength = dice.fraction();
    const isOn = dice.chance(0.5);
    if (mood < 0.1) return [name, 0];
    if (mood > 0.9) return [name, most];
    if (isHardOnPayments && PAYOUT_TROUBLES.includes(name as keyof Rates)) return [name, most * (1 + strength) * 0.5];
    return [name, isOn ? most * strength : 0];
  });
  return Object.fromEntries(entries) as unknown as Rates;
}

/** What struck how often. */
export class Reach {
  readonly counts = new Map<string, number>();

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

/** Fates that are drawn as long as the world is not healed. */
export class DrawnFates implements ServiceFates {
  readonly rates: Rates;
  readonly reach: Reach;
  readonly #dice: Dice;
  isHealed = false;
  /** In which states withdrawals are that may still change. */
  statesNow: () => readonly string[] = () => [];

  constructor(rates: Rates, dice: Dice, reach: Reach) {
    this.rates = rates;
    this.#dice = dice;
    this.reach = reach;
  }

  strikes(rate: keyof Rates, what: string): boolean {
    // Always drawn: what is switched off by healing does not shift what comes after.
    const struck = this.#dice.chance(this.rates[rate]);
    if (!struck || this.isHealed) return false;
    this.reach.count(`${rate} ${what}`);
    for (const state of this.statesNow()) this.reach.count(`cell ${rate} at ${state}`);
    return true;
  }

  call(object: string, method: string): CallFate {
    const what = `${kindOf(object)}.${method}`;
    if (this.strikes("callLost", what)) return "lost";
    if (this.strikes("callAnswerLost", what)) return "answer_lost";
    if (this.strikes("calleeCrash", what)) return this.#dice.chance(0.5) ? "crash_before" : "crash_after";
    return "delivered";
  }

  alarm(object: string): AlarmFate {
    const what = kindOf(object);
    if (this.strikes("alarmLost", what)) return "lost";
    if (this.strikes("alarmTwice", what)) return "twice";
    return this.strikes("alarmLate", what) ? "late" : "on_time";
  }

  callerCrash(object: string, what: string): "no" | "kept" | "unkept" {
    if (!this.strikes("callerCrash", `${kindOf(object)} at ${what.replace(/\/[^.]*/, "")}`)) return "no";
    return this.#dice.chance(0.5) ? "kept" : "unkept";
  }

  d1(statements: string): D1Fate {
    if (this.strikes("d1Failed", statements)) return "failed";
    if (this.strikes("d1AnswerLost", statements)) return "answer_lost";
    return this.strikes("d1Silent", statements) ? "silent" : "answered";
  }

  cron(): "runs" | "skipped" {
    return this.strikes("cronSkipped", "cron") ? "skipped" : "runs";
  }

  latencyMs(): number {
    return this.#dice.chance(0.02) ? this.#dice.roll(400) : this.#dice.roll(5);
  }
}

function kindOf(object: string): string {
  return object.slice(0, object.indexOf("/"));
}
