/**
 * Payers who take back what they paid, after it was spent: a customer's account gets two assets, one of them is
 * asked to be paid out, and then its payment is gone. The account owes; whoever asks from it is to be refused, in
 * the other asset as well, and what comes back to it repays.
 */

import { TOKEN } from "./chain-life.ts";
import type { Merchant } from "./merchants.ts";
import { unitsOf } from "./payouts.ts";
import type { Town } from "./run.ts";

const UNITS = 8n * 10n ** 17n;
/** Above the limit where there is one, so that it waits for a person. */
const SPENT = "0.75";
const OTHER = "0.1";
const LOOK_MS = 1_500;
const MOST_LOOKS = 40;

export async function swindle(town: Town, merchant: Merchant, account: string): Promise<void> {
  const { life, fates, world } = town;
  if (fates.rates.reorg === 0) return;
  await merchant.addresses.watch(account, false);
  const address = merchant.addresses.held.find((held) => held.account === account)?.address;
  if (address === undefined) return;
  // Nobody else pays it: what it owes stays owed until somebody here does something.
  life.payees.splice(life.payees.indexOf(address), 1);
  life.give(address, "native", UNITS);
  const payment = life.give(address, TOKEN, UNITS);
  const has = (asset: string) => availableOf(merchant, account, asset).then((units) => units === UNITS);
  if (!(await until(town, async () => (await has("TOK")) && (await has("ETH"))))) return;

  const spent = merchant.payouts.wish(account, "TOK", SPENT);
  await merchant.payouts.wishFor(spent);
  if (!life.spendTwice(payment)) return;
  fates.reach.count("people payment taken back after it was spent");
  const owes = async () => (await merchant.payouts.balances(account)).some(({ debt }) => unitsOf(debt) > 0n);
  if (!(await until(town, owes))) return;

  // Whoever asks now must be refused: the books are asked about it in the end.
  await merchant.payouts.wishFor(merchant.payouts.wish(account, "ETH", OTHER));
  await world.sleep(world.dice.between(0, 3_000));
  await merchant.payouts.change(spent, world.dice.pick(["cancel", "reject"]));
}

async function until({ world, fates }: Town, isSo: () => Promise<boolean>): Promise<boolean> {
  for (let looks = 0; looks < MOST_LOOKS && !fates.isHealed; looks++) {
    if (await isSo()) return true;
    await world.sleep(LOOK_MS);
  }
  return false;
}

async function availableOf(merchant: Merchant, account: string, asset: string): Promise<bigint> {
  const found = (await merchant.payouts.balances(account)).find((balance) => balance.asset === asset);
  return found === undefined ? 0n : unitsOf(found.available);
}
