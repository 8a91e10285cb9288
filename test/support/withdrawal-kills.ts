/**
 * What the tests that kill the service while it pays have in common, whatever the chain: the kills, the requests under
 * them and after them, and what must be true of these in the end. Where each payment stands when it dies is a file's own.
 */

import { expect } from "vitest";
import type { WithdrawalView } from "../../src/core/views.ts";
import type { Merchant } from "./merchant.ts";
import { untilToldState } from "./payouts.ts";
import type { Served } from "./served.ts";
import type { ApiAnswer } from "./service.ts";

const AGAIN_MS = 20;
/** At most so long from one start to the next kill: the first soon, the second when more is under way. */
const KILLED_WITHIN_MS = [80, 400];

/** Where a withdrawal was when the service died. */
export interface Reached {
  readonly withdrawal: WithdrawalView;
  /** Ids of what was stored before; empty: nothing was, as far as anybody outside knows. */
  readonly stored: readonly string[];
}

export async function reachedBy(shop: Merchant, id: string): Promise<Reached> {
  const withdrawal = await shop.withdrawal(id);
  return { withdrawal, stored: withdrawal.attempts.map(({ tx_id }) => tx_id) };
}

export interface Crowd {
  readonly shop: Merchant;
  /** Paid once, however many ask. */
  readonly equal: string;
  readonly equalRequests: number;
  readonly others: readonly string[];
  /** What each of them is to get. */
  readonly payout: { readonly network: string; readonly asset: string; readonly amount: string };
}

type Cases = ReadonlyMap<string, Pick<Reached, "withdrawal"> & { readonly shop: Merchant }>;

/**
 * The service dies twice while a crowd asks it. Then each case whose name says so is asked for again, and there is one.
 * @returns the answers to the equal requests
 */
export async function killUnderCrowd(stage: Served, crowd: Crowd, cases: Cases): Promise<ApiAnswer<WithdrawalView>[]> {
  const requests = askInCrowd(crowd);
  await killTwice(stage);
  const answers = await requests;
  await askThoseAgain(cases);
  return answers;
}

/** Equal requests and others beside them, all at a time, each repeated until it is answered. */
async function askInCrowd(crowd: Crowd): Promise<ApiAnswer<WithdrawalView>[]> {
  const { shop, equal, equalRequests, others, payout } = crowd;
  const askFor = (destination: string, key: string) => askUntilAnswered(shop, { ...payout, destination }, key);
  const clicked = Array.from({ length: equalRequests }, () => askFor(equal, "equal"));
  const beside = others.map((to, i) => askFor(to, `other ${i}`));
  const [answers] = await Promise.all([Promise.all(clicked), Promise.all(beside)]);
  return answers;
}

/** As a client does it that follows the documents: the same request with the same key until it answers. */
async function askUntilAnswered(shop: Merchant, body: object, key: string): Promise<ApiAnswer<WithdrawalView>> {
  for (;;) {
    const answer = await shop.ask<WithdrawalView>("POST", "/v1/withdrawals", body, key).catch(() => null);
    if (answer !== null && answer.status < 500 && answer.status !== 429) return answer;
    await pause(AGAIN_MS);
  }
}

async function killTwice(stage: Served): Promise<void> {
  for (const withinMs of KILLED_WITHIN_MS) {
    const delayMs = Math.random() * withinMs;
    await pause(delayMs);
    await stage.kill();
    console.log(`killed after ${Math.round(delayMs)} ms`);
    await stage.restart();
  }
}

async function askThoseAgain(cases: Cases): Promise<void> {
  for (const [name, { shop, withdrawal }] of cases) {
    if (!name.endsWith("asked again")) continue;
    const again = await shop.askAgain(withdrawal);
    expect([again.status, again.body.id]).toEqual([200, withdrawal.id]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  }
}

/** The equal ones are one withdrawal, made at most once, and with the others all are paid. */
export async function expectOneEach(
  { shop, others }: Crowd,
  equal: readonly ApiAnswer<WithdrawalView>[],
): Promise<void> {
  expect(new Set(equal.map(({ body }) => body.id)).size).toBe(1);
  expect(equal.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
  expect(equal.every(({ status }) => status === 200 || status === 201)).toBe(true);
  const all = await shop.withdrawals();
  expect(all).toHaveLength(1 + others.length);
  for (const { id } of all) await untilToldState(shop, id, "confirmed");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
