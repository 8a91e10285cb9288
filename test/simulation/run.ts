/**
 * One run: a world from a seed, in three phases. First everything happens and breaks at once; then what breaks
 * is healed; then the world comes to rest, and the books must be the chain.
 */

import { resetFresh } from "../support/model-chain.ts";
import { ChainLife, TOKEN } from "./chain-life.ts";
import { DrawnFates, drawRates, type Rates, Reach } from "./fates.ts";
import { checkAtRest, checkSend, whatIsLeft } from "./invariants.ts";
import { Complaints, Merchant } from "./merchants.ts";
import { Network } from "./network.ts";
import { Provider } from "./providers.ts";
import { Service } from "./service.ts";
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

const NETWORKS = JSON.stringify({
  local: { poll_ms: 4_000, confirmations: 3, reorg_window: 12, replace_after_blocks: 4, withdrawal_deadline_s: 240 },
});
const PROVIDERS = ["node-0.test", "node-1.test"];
const MOST_EVENTS_TO_REST = 60_000;
const REST_LOOK_MS = 20_000;

export async function simulate({ seed, events }: RunSettings): Promise<RunResult> {
  resetFresh();
  const world = new World(seed);
  const reach = new Reach();
  const fates = new DrawnFates(drawRates(world.dice.split()), world.dice.split(), reach);
  const network = new Network(world, fates);
  const complaints = new Complaints();
  const life = new ChainLife(world, fates);
  const providers = PROVIDERS.map((name) => new Provider(world, network, fates, life.wallets, name));
  const rpc = { RPC_LOCAL: PROVIDERS.map((name) => `http://${name}`).join(",") };
  const service = new Service(world, fates, { networks: NETWORKS, rpc });
  const merchants = ["one", "two"].map((name) => new Merchant(world, service, fates, network, complaints, name));
  for (const provider of providers) provider.onSend = (raw) => checkSend(service, raw, complaints);
  life.onBlock = () => {
    for (const provider of providers) provider.drift();
  };

  const town = { world, service, fates, life, merchants, providers, complaints };
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
    void comeToRest(town).then(() => {
      isAtRest = true;
    }, failed);
  });
  await world.run(() => isAtRest || complaints.all.length > 0, MOST_EVENTS_TO_REST);
  if (!isAtRest && complaints.all.length === 0) complaints.add("the world never came to rest");
  if (complaints.all.length === 0) await checkAtRest(town);
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
}

async function openTown({ merchants, life, providers }: Town): Promise<void> {
  for (const { node } of providers) node.tokens.set(TOKEN, { symbol: "TOK", decimals: 18 });
  for (const merchant of merchants) await merchant.open(life);
}

/** What people do, at any moment, without waiting for each other. */
function bustle(town: Town): void {
  const { world, service, fates, life, merchants } = town;
  world.later(world.dice.between(50, 1_500), "bustle", () => {
    if (fates.isHealed) return;
    bustle(town);
    const { dice } = world;
    const merchant = dice.pick(merchants);
    const wish = merchant.wishes.length > 0 ? dice.pick(merchant.wishes) : null;
    const act = async () => {
      switch (dice.roll(12)) {
        case 0:
        case 1:
        case 2:
        case 3:
          return life.payment();
        case 4:
        case 5:
        case 6:
          return merchant.wishFor(merchant.newWish());
        case 7:
          return wish === null ? undefined : merchant.wishFor(wish);
        case 8:
          return wish === null ? undefined : merchant.misuse(wish);
        case 9:
          return wish === null ? undefined : merchant.change(wish, dice.pick(["cancel", "speed-up"]));
        case 10:
          return fates.strikes("deploy", "service") ? service.deploy() : undefined;
        default:
          return dice.chance(0.2) ? merchant.watch(dice.pick(["ann", "bob"]), life) : undefined;
      }
    };
    void act().catch((error) => town.complaints.add(`somebody was stopped: ${String(error)}`));
  });
}

/** Waits until nothing is left to do. People decide what waits for them. */
async function comeToRest(town: Town): Promise<void> {
  const { world, merchants, service } = town;
  for (let looks = 0; looks < 200; looks++) {
    await world.sleep(REST_LOOK_MS);
    for (const merchant of merchants) await merchant.resolveAll();
    if (whatIsLeft(service) === null) return;
  }
  throw new Error(`something is never done: ${whatIsLeft(service)}`);
}
