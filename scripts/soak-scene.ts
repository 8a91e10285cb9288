/** Who and what takes part in a soak: a service, a chain behind a proxy, merchants with money. */

import type { Merchant } from "../test/support/merchant.ts";
import { type Faults, isSend } from "../test/support/rpc-proxy.ts";
import { type Network, type Stage, startStage } from "../test/support/stage.ts";
import { type Contract, deploy } from "../test/support/tokens.ts";

export const NETWORK = "soak";
const ETHER = 10n ** 18n;
/** Enough for some ten thousand withdrawals each. */
const FUNDS = { wei: 400n * ETHER, tokenUnits: 10n ** 12n };
export const DEEPEST_REORGANISATION = 8;

export interface Counts {
  kills: number;
  restarts: number;
  payments: number;
  reorganisations: number;
  cuts: number;
}

/** What the provider does at the moment. */
export interface Weather {
  faults: Faults;
  /** anvil loses a block for good when something is mined while it replaces blocks: nothing is sent meanwhile. */
  isReorganising: boolean;
}

export interface Soak {
  readonly stage: Stage;
  readonly network: Network;
  readonly coin: Contract;
  /** Deposits alone. */
  readonly watchers: readonly Merchant[];
  /** Deposits and withdrawals. */
  readonly payers: readonly Merchant[];
  readonly asked: Map<Merchant, Map<string, Asked>>;
  readonly weather: Weather;
  readonly counts: Counts;
  readonly violations: string[];
}

/** One idempotency key, and all that was ever answered to it. */
export interface Asked {
  readonly body: Readonly<Record<string, string>>;
  readonly ids: Set<string>;
  /** `status code` of each answer that made no withdrawal. */
  readonly refusals: string[];
  replays: number;
}

export async function openScene(): Promise<Soak> {
  const stage = await startStage({ [NETWORK]: {} });
  const network = await stage.open(NETWORK);
  const coin = await deploy(network.chain, "Token", ["Coin", "COIN", 6]);
  const merchants: Merchant[] = [];
  for (const name of ["Watcher", "Other watcher", "Payer", "Other payer"]) {
    const merchant = await stage.merchant(name);
    await merchant.list(NETWORK, coin.address);
    for (let i = 0; i < 4; i++) await merchant.watch({ network: NETWORK });
    merchants.push(merchant);
  }
  const [watchers, payers] = [merchants.slice(0, 2), merchants.slice(2)];
  for (const payer of payers)
    await payer.fund(network, { wei: FUNDS.wei, token: { contract: coin, units: FUNDS.tokenUnits } });
  // No reorganisation takes back what all of it stands on.
  await network.chain.mine(2 * DEEPEST_REORGANISATION);
  const counts = { kills: 0, restarts: 0, payments: 0, reorganisations: 0, cuts: 0 };
  const asked = new Map(payers.map((payer) => [payer, new Map<string, Asked>()]));
  const weather: Weather = { faults: {}, isReorganising: false };
  network.proxy.setFaults({
    refuse: (calls) =>
      weather.isReorganising && calls.some(isSend)
        ? { status: 503, body: "not now" }
        : (weather.faults.refuse?.(calls) ?? null),
    lose: (call) => weather.faults.lose?.(call) ?? null,
  });
  return { stage, network, coin, watchers, payers, asked, weather, counts, violations: [] };
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
