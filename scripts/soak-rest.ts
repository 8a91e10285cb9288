/** How a soak comes to rest, and what must hold then. */

import type { BalanceView } from "../src/core/views.ts";
import { isOpen } from "../src/core/withdrawal.ts";
import type { Merchant } from "../test/support/merchant.ts";
import { expectExact } from "../test/support/oracle.ts";
import { expectAgreed, REORG_WINDOW } from "../test/support/payouts.ts";
import { type Asked, pause, type Soak } from "./soak-scene.ts";

const REST_WITHIN_MS = 10 * 60_000;
const BLOCK_MS = 500;
const AGREED_WITHIN_MS = 120_000;

/** The chain goes on, and nothing else is done. @returns what is still under way when the time is over */
export async function rest(soak: Soak): Promise<string[]> {
  const { chain } = soak.network;
  const until = Date.now() + REST_WITHIN_MS;
  for (;;) {
    for (let i = 0; i < 4; i++) {
      await chain.mine();
      await pause(BLOCK_MS);
    }
    if ((await underWay(soak)).length === 0) break;
    if (Date.now() > until) return (await underWay(soak)).map((what) => `it never rests: ${what}`);
  }
  await chain.mine(REORG_WINDOW + 1);
  while ((await underWay(soak)).length > 0 && Date.now() < until) await pause(BLOCK_MS);
  return (await underWay(soak)).map((what) => `it never rests: ${what}`);
}

async function underWay({ network, watchers, payers }: Soak): Promise<string[]> {
  const left: string[] = [];
  const { scanned_to, status, incident } = await network.view();
  if (scanned_to !== (await network.chain.height()))
    left.push(`read up to ${scanned_to}, ${status} ${incident?.reason}`);
  for (const payer of payers) {
    for (const { id, state } of await payer.withdrawals()) if (isOpen(state)) left.push(`${id} is ${state}`);
    const { status, in_flight, incident } = await payer.wallet(network.id);
    if (in_flight > 0 || status !== "active")
      left.push(`wallet ${status}, ${in_flight} in flight, ${JSON.stringify(incident)}`);
  }
  for (const merchant of [...watchers, ...payers]) {
    const waiting = (await merchant.deliveries()).filter(({ status }) => status !== "delivered");
    if (waiting.length > 0) left.push(`${waiting.length} webhooks, the first ${JSON.stringify(waiting[0])}`);
  }
  return left;
}

export async function violationsAtRest(soak: Soak): Promise<string[]> {
  const { stage, network, watchers, payers, asked } = soak;
  const found: string[] = [];
  const attempt = async (name: string, check: () => Promise<void>) => {
    await check().catch((error: unknown) => {
      found.push(`${name}: ${(error as Error).message}`);
    });
  };
  await attempt("deposits", () => expectExact(network, watchers, { withinMs: AGREED_WITHIN_MS }));
  await attempt("withdrawals", () => expectAgreed(network, payers));
  for (const payer of payers) {
    await attempt("a payer's deposits", async () => void found.push(...(await depositsOf(soak, payer))));
    found.push(...(await keysOf(payer, asked.get(payer) ?? new Map())));
  }
  const printed = stage.printed();
  if (stage.secrets().some((secret) => printed.includes(secret))) found.push("a secret was printed");
  return found;
}

/** I8: one withdrawal for each key that was accepted, and none besides. */
async function keysOf(payer: Merchant, asked: ReadonlyMap<string, Asked>) {
  const found: string[] = [];
  const withdrawals = await payer.withdrawals();
  const accepted = [...asked].filter(([, { ids }]) => ids.size > 0);
  if (withdrawals.length !== accepted.length)
    found.push(`I8: ${withdrawals.length} withdrawals for ${accepted.length} keys that were accepted`);
  for (const [key, { ids, refusals, body }] of asked) {
    if (ids.size > 1) found.push(`I8: ${key} became ${[...ids]}`);
    const own = withdrawals.filter(({ idempotency_key }) => idempotency_key === key);
    if (own.length !== ids.size) found.push(`I8: ${key}: ${own.length} withdrawals, answers named ${ids.size}`);
    const isSame = own.every(({ id, destination }) => ids.has(id) && destination === body.destination);
    if (!isSame) found.push(`I8: ${key} is another withdrawal than was answered`);
    const odd = refusals.filter((refusal) => !refusal.endsWith(" insufficient_funds"));
    if (odd.length > 0) found.push(`${key} was refused: ${odd}`);
  }
  return found;
}

/** I4, I5: what its addresses hold is what it was told of, and what its accounts have, paid out or not. */
async function depositsOf({ network, coin }: Soak, payer: Merchant): Promise<string[]> {
  const found: string[] = [];
  const deposits = await payer.deposits();
  const counted = deposits.filter(
    ({ status }) => status === "confirmed" || status === "settled" || status === "pending",
  );
  for (const asset of ["ETH", "COIN"]) {
    let held = 0n;
    for (const { address } of payer.watched) {
      const told = sumOf(counted.filter((d) => d.address === address && d.asset === asset));
      const has =
        asset === "ETH"
          ? BigInt(await network.chain.rpc<string>("eth_getBalance", [address, "latest"]))
          : await coin.read<bigint>("balanceOf", [address]);
      if (has !== told) found.push(`I5: ${address} has ${has} ${asset}, deposits say ${told}`);
      held += has;
    }
    const balances = (await payer.balances()).filter((b) => b.asset === asset && !b.account.startsWith("sluice:"));
    const booked = balances.reduce((sum, balance) => sum + worthOf(balance, asset === "ETH" ? 18 : 6), 0n);
    if (booked !== held) found.push(`I4: accounts hold ${booked} ${asset}, addresses ${held}`);
  }
  return found;
}

function worthOf({ available, reserved, settled, debt }: BalanceView, decimals: number): bigint {
  const units = (amount: string) => {
    const [whole = "", fraction = ""] = amount.split(".");
    return BigInt(whole + fraction.padEnd(decimals, "0"));
  };
  return units(available) + units(reserved) + units(settled) - units(debt);
}

function sumOf(deposits: readonly { readonly amount_units: string }[]): bigint {
  return deposits.reduce((sum, { amount_units }) => sum + BigInt(amount_units), 0n);
}
