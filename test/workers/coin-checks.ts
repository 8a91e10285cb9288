/** What must hold of withdrawals of coins whenever everything has come to rest. */

import { expect } from "vitest";
import { scriptOfAddress } from "../../src/core/bitcoin-address.ts";
import type { WithdrawalView } from "../../src/core/views.ts";
import { isOpen, mayBecome } from "../../src/core/withdrawal.ts";
import { type BitcoinTx, parseTx } from "../support/bitcoin-tx.ts";
import { chain, regtest } from "./bitcoin-line.ts";
import type { CoinMerchant } from "./coin-line.ts";
import { checkBooks, DB } from "./line.ts";

/** Transactions on the best chain that spend outputs of the wallet. */
async function sentBy(merchant: CoinMerchant): Promise<BitcoinTx[]> {
  const rows = await merchant.rows<{ address: string }>("SELECT address FROM wallet_addresses");
  const scripts = new Set(rows.map(({ address }) => scriptOfAddress(regtest.addresses, address)));
  const own = new Set<string>();
  const found: BitcoinTx[] = [];
  for (let height = 0; height <= chain.head; height++) {
    for (const tx of chain.at(height)?.txs ?? []) {
      if (tx.inputs.some(({ txid, vout }) => own.has(`${txid}:${vout}`))) found.push(tx);
      for (const [vout, { script }] of tx.outputs.entries()) if (scripts.has(script)) own.add(`${tx.txid}:${vout}`);
    }
  }
  return found;
}

/** Satoshi of each payment to an address on the best chain. */
export function receivedBy(address: string): bigint[] {
  const script = scriptOfAddress(regtest.addresses, address);
  const found: bigint[] = [];
  for (let height = 0; height <= chain.head; height++) {
    for (const { outputs } of chain.at(height)?.txs ?? [])
      for (const output of outputs) if (output.script === script) found.push(output.amount);
  }
  return found;
}

/**
 * I2 I3 I6 I7 I11 I12 and what the money says. A withdrawal that a person settled follows the chain no more, so its
 * payments are not counted.
 */
export async function checkCoinPayouts(merchant: CoinMerchant): Promise<void> {
  await checkBooks(merchant);
  const all = await merchant.withdrawals();
  for (const { id, transitions, state, destination, amount_units } of all) {
    const tos = transitions.map(({ to }) => to);
    expect([id, transitions.map(({ from }) => from)]).toEqual([id, [null, ...tos.slice(0, -1)]]);
    for (const { from, to } of transitions)
      if (from !== null) expect([from, to, mayBecome(from, to)]).toEqual([from, to, true]);
    expect(tos.at(-1)).toBe(state);
    if (transitions.some(({ reason }) => reason === "resolved_by_person")) continue;
    const paid = receivedBy(destination);
    if (state === "confirmed") expect([id, paid]).toEqual([id, [BigInt(amount_units)]]);
    else if (!isOpen(state)) expect([id, paid]).toEqual([id, []]);
    else expect(paid.length).toBeLessThan(2);
  }
  await checkSpends(merchant, all);
  const open = all.filter(({ state }) => isOpen(state));
  const held = await merchant.rows<{ reserved: string }>("SELECT reserved FROM balances");
  const reserved = held.reduce((sum, balance) => sum + BigInt(balance.reserved), 0n);
  expect(reserved).toBe(open.reduce((sum, { amount_units }) => sum + BigInt(amount_units), 0n));
}

/** Everything of one spend spends its pinned output; a withdrawal has one, here and in D1; all that left is known. */
async function checkSpends(merchant: CoinMerchant, all: readonly WithdrawalView[]): Promise<void> {
  const attempts = await merchant.rows<{ number: number; raw: string; pays: string; pin: string }>(
    `SELECT a.number, a.raw, a.pays, s.pin_tx_id || ':' || s.pin_vout AS pin
     FROM spend_attempts AS a JOIN spends AS s ON s.number = a.number AND s.sender = a.sender`,
  );
  const pins = new Map<string, Set<string>>();
  const known = new Set<string>();
  for (const { raw, pays, pin } of attempts) {
    const tx = parseTx(raw);
    known.add(tx.txid);
    expect(tx.inputs.map(({ txid, vout }) => `${txid}:${vout}`)).toContain(pin);
    for (const id of JSON.parse(pays) as string[]) pins.set(id, (pins.get(id) ?? new Set()).add(pin));
  }
  for (const own of pins.values()) expect(own.size).toBe(1);
  const claims = await DB.prepare("SELECT withdrawal_id AS id, pin FROM spend_members WHERE tenant_id = ?1")
    .bind(merchant.id)
    .all<{ id: string; pin: string }>();
  for (const [id, own] of pins) expect(claims.results.find((claim) => claim.id === id)?.pin).toBe([...own][0]);
  for (const { outputs } of attempts.map(({ raw }) => parseTx(raw))) expect(outputs.length).toBeGreaterThan(0);
  expect(all.length).toBeGreaterThan(0);
  const foreign = (await sentBy(merchant)).filter(({ txid }) => !known.has(txid));
  expect(foreign.map(({ txid }) => txid)).toEqual(strangers);
}

/** Transactions that a test made with the wallet's keys, or changed on their way. */
export let strangers: string[] = [];
export function expectStrangers(...txids: string[]): void {
  strangers = txids;
}
