/**
 * A merchant's shop in a soak: it wants withdrawals, each under a key of its own, asks until it is answered, and
 * asks again for what it has asked for before, also several times at once.
 */

import type { WithdrawalView } from "../src/core/views.ts";
import type { Dice } from "../test/simulation/world/dice.ts";
import { freshAddress, type Merchant } from "../test/support/merchant.ts";
import { type Asked, NETWORK, pause } from "./soak-scene.ts";

const AGAIN_AFTER_MS = 100;
/** So long a service that was left alone may not stay without an answer. */
const ANSWERED_WITHIN_MS = 120_000;

export async function askRepeatedly(
  merchant: Merchant,
  asked: Map<string, Asked>,
  dice: Dice,
  going: () => boolean,
): Promise<void> {
  const open = new Set<Promise<void>>();
  let failure: unknown = null;
  while (going() && failure === null) {
    await pause(dice.between(100, 1_500));
    const [isRepeat, times] = [dice.chance(0.3) && asked.size > 0, dice.chance(0.2) ? dice.between(2, 4) : 1];
    const wanted = newWish(dice);
    const key = isRepeat ? dice.pick([...asked.keys()]) : `${merchant.tenantId}-${asked.size + 1}`;
    const one = asked.get(key) ?? { body: wanted, ids: new Set(), refusals: [], replays: 0 };
    asked.set(key, one);
    for (let i = 0; i < times; i++) {
      const answered = askUntilAnswered(merchant, key, one, going)
        .catch((error) => {
          failure = error;
        })
        .finally(() => open.delete(answered));
      open.add(answered);
    }
  }
  await Promise.all(open);
  if (failure !== null) throw failure;
}

function newWish(dice: Dice): Record<string, string> {
  const asset = dice.chance(0.3) ? "COIN" : "ETH";
  // One in fifty is more than there is.
  const thousandths = dice.chance(0.02) ? 10 ** 12 : dice.between(1, 50);
  return { network: NETWORK, asset, destination: freshAddress(), amount: String(thousandths / 1_000) };
}

async function askUntilAnswered(merchant: Merchant, key: string, one: Asked, going: () => boolean): Promise<void> {
  let until = Number.POSITIVE_INFINITY;
  for (;;) {
    const answer = await merchant.ask<WithdrawalView>("POST", "/v1/withdrawals", one.body, key).catch(() => null);
    if (answer !== null && answer.status < 500 && answer.status !== 429) {
      if (answer.headers.get("idempotent-replayed") === "true") one.replays++;
      if (answer.status === 200 || answer.status === 201) one.ids.add(answer.body.id);
      else one.refusals.push(`${answer.status} ${(answer.body as { code?: string }).code}`);
      return;
    }
    if (!going()) until = Math.min(until, Date.now() + ANSWERED_WITHIN_MS);
    if (Date.now() > until)
      throw new Error(`${key} was never answered, at last ${answer?.status} ${JSON.stringify(answer?.body)}`);
    await pause(AGAIN_AFTER_MS);
  }
}
