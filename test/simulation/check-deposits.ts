/** I5: what was credited is what the best chain pays to watched addresses: the same keys, the same units. */

import type { Tx } from "../support/model-chain.ts";
import type { ChainLife } from "./chain-life.ts";
import type { Fail, Rows } from "./check-books.ts";
import type { Service } from "./service.ts";

export interface Paying {
  readonly txId: string;
  readonly transferIndex: string;
  readonly to: string;
  readonly asset: string;
  readonly units: bigint;
}

/** Everything one transaction pays, under the key that each payment has for ever. */
export function paymentsOf(tx: Tx): Paying[] {
  if (tx.status === 0) return [];
  const found: Paying[] = [];
  const add = (transferIndex: string, to: string, asset: string, units: bigint) => {
    if (units > 0n) found.push({ txId: tx.hash, transferIndex, to, asset, units });
  };
  add("value", tx.to, "native", tx.value);
  for (const [i, call] of tx.calls.entries()) add(`call:${i}`, call.to, "native", call.value);
  for (const [i, log] of tx.logs.entries())
    add(`log:${i}`, `0x${log.topics[2]?.slice(26)}`, log.address, BigInt(log.data));
  return found;
}

export const keyOf = ({ txId, transferIndex }: Pick<Paying, "txId" | "transferIndex">) => `${txId}/${transferIndex}`;

interface Owed {
  readonly account: string;
  readonly asset: string;
  readonly units: bigint;
  /** Mined before its watch began, as forks may bring about: who has it may keep it, and nobody must. */
  readonly isOptional: boolean;
}

/** By key, what the chain pays to this tenant. @param foreign keys that somebody else claimed before */
function owedTo(life: ChainLife, rows: Rows, foreign: ReadonlySet<string>): Map<string, Owed> {
  const watches = new Map(
    rows("SELECT address, account, watched_from FROM addresses").map((row) => [row.address, row]),
  );
  const owed = new Map<string, Owed>();
  for (let height = 0; height <= life.chain.head; height++) {
    for (const paying of (life.chain.at(height)?.txs ?? []).flatMap(paymentsOf)) {
      const watch = watches.get(paying.to);
      if (watch === undefined || foreign.has(keyOf(paying))) continue;
      const isOptional = height < Number(watch.watched_from);
      owed.set(keyOf(paying), { ...paying, account: String(watch.account), isOptional });
    }
  }
  return owed;
}

interface Credit {
  name: string;
  units: bigint;
}

export function checkDeposits(life: ChainLife, foreign: ReadonlySet<string>, rows: Rows, fail: Fail): void {
  const owed = owedTo(life, rows, foreign);
  const credited = new Map<string, Credit>();
  for (const row of rows(
    `SELECT d.tx_id, d.transfer_index, e.account, e.asset, e.from_bucket, e.amount_units
     FROM ledger_entries AS e JOIN deposits AS d ON d.id = e.cause_id WHERE e.cause_type LIKE 'deposit.%'`,
  )) {
    const key = `${row.tx_id}/${row.transfer_index}`;
    const credit = credited.get(key) ?? { name: `${row.account}/${row.asset}`, units: 0n };
    credit.units += (row.from_bucket === "chain" ? 1n : -1n) * BigInt(String(row.amount_units));
    credited.set(key, credit);
  }
  for (const key of new Set([...owed.keys(), ...credited.keys()])) {
    const [due, is] = [owed.get(key), credited.get(key)];
    const units = is?.units ?? 0n;
    if (due?.isOptional === true && units === 0n) continue;
    if (units !== (due?.units ?? 0n)) fail(`I5 ${key}: the chain paid ${due?.units ?? 0n}, ${units} was credited`);
    else if (due !== undefined && is !== undefined && is.name !== `${due.account}/${due.asset}`)
      fail(`I5 ${key}: it was paid to ${due.account}/${due.asset}, ${is.name} was credited`);
  }
}

/** Every key that was told is claimed for whom it was told to. */
export function checkClaims(keys: ReadonlyMap<string, unknown>, tenantId: string, rows: Rows, fail: Fail): void {
  for (const { tx_id, transfer_index } of rows("SELECT tx_id, transfer_index FROM deposits")) {
    const owner = keys.get(`${tx_id}/${transfer_index}`);
    if (owner !== tenantId) fail(`I5 ${tx_id}/${transfer_index} was told, and its key is ${String(owner)}'s`);
  }
}

/** Nothing is told, not even as pending, before it is claimed. Holds in every moment. */
export function checkPending(service: Service, tenantId: string, rows: Rows, fail: Fail): void {
  const claim = "SELECT tenant_id FROM deposit_keys WHERE tx_id = ? AND transfer_index = ?";
  for (const { tx_id, transfer_index } of rows("SELECT tx_id, transfer_index FROM deposits WHERE status = 'pending'")) {
    const owner = service.d1.rows(claim, tx_id, transfer_index)[0]?.tenant_id;
    if (owner !== tenantId) fail(`I5 ${tx_id}/${transfer_index} is pending, and its key is ${String(owner)}'s`);
  }
}
