/**
 * The real service on a folder that is kept, killed with kill -9 every few seconds for as long as wanted: its chain
 * reorganises, its provider cuts connections, its merchants are paid, pay out and repeat themselves. Then all of it
 * is left alone until it rests, and the chain, the books and what was told must say the same.
 *
 *   npm run soak -- --minutes 30 [--seed 1]
 *
 * A line every half minute, then a summary as JSON; exit code 1 if something does not hold. A seed makes the same
 * choices again, but the machine decides what they meet. Not a test: it never runs by itself.
 */

import { parseArgs } from "node:util";
import { Dice } from "../test/simulation/world/dice.ts";
import { DEV_ACCOUNTS, type Hex, hex } from "../test/support/anvil.ts";
import type { Stage } from "../test/support/stage.ts";
import { askRepeatedly } from "./soak-requests.ts";
import { rest, violationsAtRest } from "./soak-rest.ts";
import { DEEPEST_REORGANISATION, NETWORK, openScene, pause, type Soak } from "./soak-scene.ts";

/** What was being sent when a reorganisation begins has arrived by then. */
const SENT_WITHIN_MS = 150;
const PROGRESS_EVERY_MS = 30_000;
const STARTS_BEFORE_GIVING_UP = 3;

/** Whether it goes on. */
type Going = () => boolean;

/** The chain: blocks, payments to whoever is watched, and blocks that are replaced. One after the other. */
async function live(soak: Soak, dice: Dice, going: Going): Promise<void> {
  const { network, coin, watchers, payers, counts } = soak;
  const { chain } = network;
  const recent: Hex[] = [];
  while (going()) {
    await pause(dice.between(50, 500));
    const [what, merchant, from] = [dice.roll(20), dice.pick([...watchers, ...payers]), dice.pick(DEV_ACCOUNTS)];
    const to = dice.pick(merchant.watched).address as Hex;
    const units = BigInt(dice.between(1, 1_000_000));
    const again = dice.chance(0.5);
    const depth = dice.between(1, DEEPEST_REORGANISATION);
    if (what < 8) recent.push(await chain.send({ from, to, value: units * 10n ** 9n }));
    else if (what < 11)
      recent.push(await chain.send({ from, to: coin.address, data: coin.encode("mint", [to, units]), gas: 200_000n }));
    if (what < 11) counts.payments++;
    else if (what < 18) await chain.mine(dice.between(1, 3));
    else await reorganise(soak, depth, again ? (recent.at(-1) ?? null) : null);
  }
}

/** @param kept is mined again in the new blocks, if it was in the old ones */
async function reorganise({ network, weather, counts }: Soak, depth: number, kept: Hex | null): Promise<void> {
  const { chain } = network;
  counts.reorganisations++;
  weather.isReorganising = true;
  await pause(SENT_WITHIN_MS);
  const raw = kept === null ? null : await chain.rawTransaction(kept).catch(() => null);
  // It may stand lower than that, or be nobody's any more: then the blocks are replaced without it.
  const replaced = raw === null ? Promise.reject() : chain.reorg(depth, [[raw, 0]]);
  await replaced.catch(() => chain.reorg(depth));
  await chain.mine(1);
  weather.isReorganising = false;
  const height = await chain.height();
  for (let at = height - 2 * DEEPEST_REORGANISATION; at <= height; at++) {
    const block = await chain.rpc("eth_getBlockByNumber", [hex(at), false]);
    if (block === null)
      throw new Error(`anvil lost its block ${at} in a reorganisation, which says nothing of the service`);
  }
}

/** The provider: fine for a while, then bad in one of several ways for a moment. */
async function disturb({ weather, counts }: Soak, dice: Dice, going: Going): Promise<void> {
  while (going()) {
    await pause(dice.between(2_000, 12_000));
    const [kind, odds] = [dice.roll(4), dice.split()];
    counts.cuts++;
    if (kind < 2) weather.faults = { refuse: () => ({ status: kind === 0 ? 503 : 429, body: "not now" }) };
    else weather.faults = { lose: () => (odds.chance(0.4) ? (kind === 2 ? "request" : "answer") : null) };
    await pause(dice.between(200, 3_000));
    weather.faults = {};
  }
}

/** Ends the service with kill -9, all of it or its first process alone, also while it starts. */
async function killOften({ stage, counts }: Soak, dice: Dice, going: Going): Promise<void> {
  while (going()) {
    await pause(dice.between(300, 15_000));
    const [alone, early, earlyMs] = [dice.chance(0.15), dice.chance(0.2), dice.between(100, 3_000)];
    if (alone) await stage.service.killParent();
    else await stage.kill();
    counts.kills++;
    if (early) {
      const starting = stage.restart().catch(() => {});
      await pause(earlyMs);
      await stage.kill();
      await starting;
      counts.kills++;
    }
    await startAgain(stage);
    counts.restarts++;
  }
}

async function startAgain(stage: Stage): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await stage.restart();
    } catch (error) {
      if (tries === STARTS_BEFORE_GIVING_UP) throw error;
      console.log(`a start failed: ${String(error).slice(0, 500)}`);
    }
  }
}

/** Merchants' programs refuse, and cut, some of what comes for the first time; now and then an address is added. */
async function receive({ watchers, payers }: Soak, dice: Dice, going: Going): Promise<void> {
  const all = [...watchers, ...payers];
  for (const { consumer } of all) {
    const own = dice.split();
    consumer.setMood((_, times) => {
      if (!going() || times > 1 || !own.chance(0.05)) return { kind: "answer", status: 200 };
      return own.chance(0.5) ? { kind: "cut" } : { kind: "answer", status: 503 };
    });
  }
  while (going()) {
    await pause(dice.between(3_000, 15_000));
    // Nobody pays an address whose answer was lost.
    await dice
      .pick(all)
      .watch({ network: NETWORK })
      .catch(() => {});
  }
}

function progress({ counts, asked, watchers, payers }: Soak, begun: number): void {
  const withdrawals = [...asked.values()].reduce((sum, own) => sum + own.size, 0);
  const told = [...watchers, ...payers].reduce((sum, { consumer }) => sum + consumer.events.length, 0);
  console.log(JSON.stringify({ seconds: Math.round((Date.now() - begun) / 1_000), ...counts, withdrawals, told }));
}

async function summary(soak: Soak, seed: number, begun: number) {
  const { watchers, payers, asked, network, counts, violations } = soak;
  const all = [...watchers, ...payers];
  const deposits = (await Promise.all(all.map((merchant) => merchant.deposits()))).flat();
  const withdrawals = (await Promise.all(payers.map((payer) => payer.withdrawals()))).flat();
  const requests = [...asked.values()].flatMap((own) => [...own.values()]);
  const webhooks = all.flatMap(({ consumer }) => consumer.events.map(({ id }) => consumer.timesSeen(id) - 1));
  const { counters } = await network.view();
  return {
    seed,
    seconds: Math.round((Date.now() - begun) / 1_000),
    ...counts,
    depositsCredited: deposits.filter(({ status }) => status === "confirmed" || status === "settled").length,
    depositsTakenBack: all
      .flatMap(({ consumer }) => consumer.events)
      .filter(({ type }) => type === "deposit.reverted" || type === "deposit.dropped").length,
    withdrawals: withdrawals.length,
    withdrawalsPaid: withdrawals.filter(({ state }) => state === "confirmed").length,
    withdrawalRequestsRefused: requests.filter(({ refusals }) => refusals.length > 0).length,
    duplicatesMet: {
      requests: requests.reduce((sum, { replays }) => sum + replays, 0),
      webhooks: webhooks.reduce((sum, times) => sum + times, 0),
      claims: counters.claims_met_again ?? 0,
    },
    violations,
  };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { minutes: { type: "string", default: "10" }, seed: { type: "string", default: "1" } },
  });
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (!(minutes > 0)) throw new Error(`--minutes: expected a number above 0, got ${values.minutes}`);
  if (!Number.isSafeInteger(seed)) throw new Error(`--seed: expected a whole number, got ${values.seed}`);
  const begun = Date.now();
  const soak = await openScene();
  const until = Date.now() + minutes * 60_000;
  const ticker = setInterval(() => progress(soak, begun), PROGRESS_EVERY_MS);
  let broken: unknown = null;
  const going = () => broken === null && Date.now() < until;
  const stop = (error: unknown) => {
    broken ??= error;
  };
  const dice = new Dice(seed);
  try {
    const actors = [live, disturb, killOften, receive].map((act) => act(soak, dice.split(), going).catch(stop));
    const shoppers = soak.payers.map((payer) =>
      askRepeatedly(payer, soak.asked.get(payer) ?? new Map(), dice.split(), going).catch(stop),
    );
    await Promise.all([...actors, ...shoppers]);
    if (broken !== null) throw broken;
    console.log("left alone until it rests");
    soak.violations.push(...(await rest(soak)), ...(await violationsAtRest(soak)));
  } catch (error) {
    soak.violations.push(`it broke: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    clearInterval(ticker);
  }
  const told = await summary(soak, seed, begun).catch((error) => ({
    ...soak.counts,
    seed,
    summary: String(error),
    violations: soak.violations,
  }));
  console.log(JSON.stringify(told, null, 1));
  await soak.stage.stop();
  return soak.violations.length > 0 ? 1 : 0;
}

process.exit(await main());
