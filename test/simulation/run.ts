/**
 * One run: a world from a seed, in three phases. First everything happens and breaks at once; then what breaks
 * is healed; then the world comes to rest, and the books must be the chain.
 */

import { resetFresh } from "../support/model-chain.ts";
import { ChainLife, TOKEN } from "./chain-life.ts";
import { keyOf, paymentsOf, Watches } from "./check-deposits.ts";
import { unminedNonce } from "./check-withdrawals.ts";
import { Complaints } from "./client.ts";
import { countReached, statesOf } from "./count-reach.ts";
import { DrawnFates, drawRates, type Rates, Reach } from "./fates.ts";
import { checkAtRest, checkNow, checkSend, nextDelivery, whatIsLeft, whatIsUndecided } from "./invariants.ts";
import { Merchant } from "./merchants.ts";
import { Network } from "./network.ts";
import type { Wish } from "./payouts.ts";
import { Outage } from "./provider-faults.ts";
import { FINALIZED_BEHIND, Provider } from "./providers.ts";
import { readAgain } from "./read-again.ts";
import { REORG_WINDOW } from "./receiver.ts";
import { Service } from "./service.ts";
import { swindle } from "./swindles.ts";
import { World } from "./world/world.ts";

export interface RunSettings {
  readonly seed: number;
  /** Things that happen before healing begins. */
  readonly events: number;
}

export interface RunResult {
  readonly seed: number;
  readonly events: number;
  readonly digest: string;
  readonly rates: Rates;
  readonly violations: readonly string[];
  readonly story: readonly string[];
  readonly reach: ReadonlyMap<string, number>;
  readonly virtualMs: number;
}

const NETWORK = {
  poll_ms: 2_000,
  confirmations: 3,
  reorg_window: REORG_WINDOW,
};
const PROVIDERS = ["node-0.test", "node-1.test"];
const MOST_EVENTS_TO_REST = 60_000;
const REST_LOOK_MS = 20_000;
/** Bytes are sent again every half minute, and a gap is filled after a minute. */
const PAID_LOOK_MS = 10_000;
const MOST_PAID_LOOKS = 24;

export async function simulate({ seed, events }: RunSettings): Promise<RunResult> {
  resetFresh();
  const world = new World(seed);
  const reach = new Reach();
  const rates = drawRates(world.dice.split());
  const fates = new DrawnFates(rates, world.dice.split(), reach);
  const network = new Network(world, fates);
  const complaints = new Complaints();
  const life = new ChainLife(world, fates);
  const outage = new Outage();
  const providers = PROVIDERS.map(
    (name, i) => new Provider(world, network, fates, life.wallets, { name, isTrue: i === 0, outage }),
  );
  const rpc = { RPC_LOCAL: PROVIDERS.map((name) => `http://${name}`).join(",") };
  // One chain in three has a finality of its own.
  const finality = world.dice.chance(0.3) ? "tag" : "depth";
  // A block is final when it stands so many below the head; its own depth is one more.
  life.depths.final = (finality === "tag" ? FINALIZED_BEHIND : REORG_WINDOW) + 1;
  life.depths.paid = finality === "tag" ? life.depths.final : NETWORK.confirmations;
  const settings = {
    ...NETWORK,
    finality,
    replace_after_blocks: world.dice.pick([2, 4]),
    withdrawal_deadline_s: world.dice.pick([10, 30, 90]),
  };
  const networks = JSON.stringify({ local: settings });
  // Where no alarm is ever forgotten nothing needs cron; where nothing fails at all, least of all.
  const isCalm = Object.values(rates).every((rate) => rate === 0);
  const isCronAway = world.dice.chance(0.5) || isCalm;
  const service = new Service(world, fates, { networks, rpc, hasCron: rates.alarmLost > 0 || !isCronAway });
  const merchants = ["one", "two"].map((name) => new Merchant(world, service, fates, network, complaints, life, name));
  for (const provider of providers) {
    provider.onSend = (raw) => checkSend(service, raw, complaints);
    provider.onHeard = (tx) => life.adversary.hear(tx);
  }
  const people = { merchants, providers, complaints, foreign: new Set<string>(), watches: new Watches() };
  const town: Town = { world, service, fates, life, ...people };
  life.isSplit = () => providers.some(({ isForked }) => isForked);
  life.onBlock = () => {
    outage.drift(world, fates);
    for (const provider of providers) provider.drift();
    checkNow(town);
  };
  fates.statesNow = () => statesOf(service);

  const failed = (error: unknown) => complaints.add(`the world broke: ${error instanceof Error ? error.stack : error}`);
  let isOpen = false;
  world.later(0, "opening", () => {
    void openTown(town).then(() => {
      isOpen = true;
    }, failed);
  });
  await world.run(() => isOpen || complaints.all.length > 0, MOST_EVENTS_TO_REST);
  if (!isOpen && complaints.all.length === 0) complaints.add("the town never opened");

  bustle(town);
  const until = world.happened + events;
  await world.run(() => world.happened >= until, events + MOST_EVENTS_TO_REST);

  fates.isHealed = true;
  for (const provider of providers) provider.heal();
  let isAtRest = false;
  world.later(0, "healing", () => {
    void comeToRest(town)
      .then(() => checkAtRest(town))
      .then(() => (complaints.all.length === 0 ? readAgain(town) : undefined))
      .then(() => {
        isAtRest = true;
      }, failed);
  });
  await world.run(() => isAtRest || complaints.all.length > 0, MOST_EVENTS_TO_REST);
  if (!isAtRest && complaints.all.length === 0) complaints.add("the world never came to rest");
  countReached(service, reach);
  return {
    seed,
    events: world.happened,
    digest: world.digest(),
    rates: fates.rates,
    violations: complaints.all,
    story: world.story,
    reach: reach.counts,
    virtualMs: world.now,
  };
}

export interface Town {
  readonly world: World;
  readonly service: Service;
  readonly fates: DrawnFates;
  readonly life: ChainLife;
  readonly merchants: readonly Merchant[];
  readonly providers: readonly Provider[];
  readonly complaints: Complaints;
  /** Keys of payments that somebody else was told of before. They are credited to nobody here. */
  readonly foreign: Set<string>;
  readonly watches: Watches;
}

async function openTown({ merchants, life, providers }: Town): Promise<void> {
  for (const { node } of providers) node.tokens.set(TOKEN, { symbol: "TOK", decimals: 18 });
  for (const merchant of merchants) await merchant.open(life);
}

/** What people do, at any moment, without waiting for each other. */
function bustle(town: Town): void {
  const { world, fates, merchants } = town;
  world.later(world.dice.between(50, 1_500), "bustle", () => {
    if (fates.isHealed) return;
    bustle(town);
    const merchant = world.dice.pick(merchants);
    const wish = merchant.payouts.wishes.length > 0 ? world.dice.pick(merchant.payouts.wishes) : null;
    const acting = world.dice.chance(0.75) ? act(town, merchant, wish) : keepHouse(town, merchant);
    void acting.catch((error) => town.complaints.add(`somebody was stopped: ${String(error)}`));
  });
}

/** Money comes in and goes out. */
async function act(town: Town, merchant: Merchant, wish: Wish | null): Promise<void> {
  const { world, service, fates } = town;
  const { dice } = world;
  const { payouts } = merchant;
  switch (dice.roll(18)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return pay(town);
    case 4:
    case 5:
    case 6:
      return payouts.wishFor(newWish(town, merchant));
    case 7:
      return wish === null ? undefined : payouts.wishFor(wish);
    case 8:
      return wish === null ? undefined : payouts.misuse(wish);
    case 9:
    case 10:
      return wish === null ? undefined : payouts.change(wish, dice.pick(["cancel", "speed-up", "approve", "reject"]));
    case 11:
      return wish?.id == null ? undefined : payouts.approveOwn(wish.id);
    case 12:
      return payouts.decideAll();
    case 13:
      return payouts.resolveAll();
    case 14:
      return payouts.changeMind();
    case 15:
      return payouts.rush();
    case 16:
      return swindle(town, merchant, `eve ${world.happened}`);
    default:
      return fates.strikes("deploy", "service") ? service.deploy(dice.chance(0.5)) : undefined;
  }
}

/** What has to be looked after beside. */
async function keepHouse(town: Town, merchant: Merchant): Promise<void> {
  const { world, merchants, fates, life } = town;
  const { dice } = world;
  const { addresses, keys, hooks } = merchant;
  switch (dice.roll(12)) {
    case 0:
    case 1:
      return addresses.watch(dice.pick(["ann", "bob"]), dice.chance(0.5));
    case 2:
      return moveAddress(town, merchant);
    case 3:
      return addresses.poach(dice.pick(merchants.filter((other) => other !== merchant)).addresses);
    case 4:
      return keys.rotateOwn();
    case 5:
      return keys.lend();
    case 6:
      return keys.tryRevoked();
    case 7:
      return hooks.rotateSecret();
    case 8:
      return hooks.outage();
    case 9:
      return hooks.replay();
    case 10:
      return hooks.enable();
    default:
      if (!fates.strikes("clockJump", "everybody")) return;
      world.note("hours pass");
      world.now += dice.between(1, 8 * 60) * 60_000;
      if (dice.chance(0.7)) life.leap(dice.between(5, 60));
  }
}

/** An address changes hands: to the other merchant, to another customer of the same one, or back to the same. */
async function moveAddress({ world, merchants, life, fates, complaints }: Town, merchant: Merchant): Promise<void> {
  const { dice } = world;
  const given = await merchant.addresses.giveUp();
  if (given === null) return;
  await world.sleep(dice.chance(0.5) ? 0 : dice.between(0, 40_000));
  const taker = dice.pick(merchants);
  const start = dice.chance(0.3) ? life.chain.head - dice.between(6, 20) : null;
  const told = await taker.addresses.take(given.address, dice.pick(["ann", "bob"]), start);
  fates.reach.count(`people address taken again by ${taker === merchant ? "the same" : "another"}`);
  if (told.status === 409) complaints.add(`address ${given.address} was given up, and ${taker.name} cannot take it`);
}

/** Some destinations will take nothing, and say so at once. */
function newWish({ fates, life }: Town, merchant: Merchant): Wish {
  const wish = merchant.payouts.newWish();
  if (fates.strikes("revert", "destination")) life.wallets.reverting.add(wish.body.destination);
  return wish;
}

/** A stranger pays. Now and then it is a payment that another object was told of, before it was lost. */
function pay({ world, life, service, foreign }: Town): void {
  const tx = life.payment();
  if (tx === null || !world.dice.chance(0.05)) return;
  for (const payment of paymentsOf(tx)) {
    foreign.add(keyOf(payment));
    const claim = "INSERT INTO deposit_keys (network, tx_id, transfer_index, tenant_id) VALUES ('local', ?, ?, ?)";
    service.d1.rows(claim, payment.txId, payment.transferIndex, "ten_that_was_told_before");
  }
}

/** Waits until nothing is left to do. People decide what waits for them. */
async function comeToRest(town: Town): Promise<void> {
  const { world, merchants, service, life } = town;
  await paysByItself(town);
  for (let looks = 0; looks < 200; looks++) {
    await world.sleep(REST_LOOK_MS);
    for (const merchant of merchants) {
      await merchant.payouts.resolveAll();
      await merchant.payouts.decideAll();
      await merchant.hooks.enable();
      repayDebts(town, merchant);
    }
    if (whatIsLeft(service, life.chain.head) === null) break;
    // A receiver that failed for long is tried again after hours: they pass when nothing else is left.
    const due = whatIsUndecided(service, life.chain.head) === null ? nextDelivery(service) : null;
    if (due !== null && due > world.now + REST_LOOK_MS) world.now = due;
  }
  const left = whatIsLeft(service, life.chain.head);
  if (left !== null) throw new Error(`something is never done: ${left}`);
  for (const { keys } of merchants) await keys.tryRevoked();
}

/** Nobody is needed for what was signed to be mined, once everything works. */
async function paysByItself({ world, merchants, service, life, complaints }: Town): Promise<void> {
  const left = () =>
    merchants
      .map(({ id }) => service.object("tenant", id).disk)
      .map((disk) => unminedNonce(life, (sql, ...values) => disk.rows(sql, ...values)))
      .find((nonce) => nonce !== null);
  for (let looks = 0; left() !== undefined && looks < MOST_PAID_LOOKS; looks++) await world.sleep(PAID_LOOK_MS);
  const nonce = left();
  if (nonce !== undefined) complaints.add(`what was signed never came to rest in a block: ${nonce}`);
}

/** What an account owes keeps what it has asked for from being paid. */
function repayDebts({ service, life }: Town, merchant: Merchant): void {
  const { disk } = service.object("tenant", merchant.id);
  for (const { account, asset, debt } of disk.rows("SELECT account, asset, debt FROM balances WHERE debt != '0'")) {
    const to = merchant.addresses.held.find((watched) => watched.account === account)?.address;
    if (to !== undefined) life.give(to, String(asset), BigInt(String(debt)));
  }
}
