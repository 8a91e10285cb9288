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

/** Somebody had an address over these heights. */
export interface Watch {
  readonly address: string;
  readonly from: number;
  readonly tenantId: string;
  /** Null: it has it still. */
  readonly until: number | null;
}

/** Written by the scanner's own database, in its own transactions: a watch may be taken, ended and let go between two looks. */
const WATCH_LOG = [
  "CREATE TABLE IF NOT EXISTS sim_watches (address, from_height, tenant, until_height, vanished DEFAULT 0, PRIMARY KEY (address, from_height, tenant))",
  "INSERT OR IGNORE INTO sim_watches SELECT address, from_height, tenant, until_height, 0 FROM addresses",
  `CREATE TRIGGER IF NOT EXISTS sim_taken AFTER INSERT ON addresses BEGIN
     INSERT OR REPLACE INTO sim_watches VALUES (new.address, new.from_height, new.tenant, new.until_height, 0);
   END`,
  `CREATE TRIGGER IF NOT EXISTS sim_ended AFTER UPDATE OF until_height ON addresses BEGIN
     UPDATE sim_watches SET until_height = new.until_height
     WHERE address = new.address AND from_height = new.from_height AND tenant = new.tenant;
   END`,
  // One that was given back before its first block was read never counted. No other may go while it is open.
  `CREATE TRIGGER IF NOT EXISTS sim_vanished AFTER DELETE ON addresses WHEN old.until_height IS NULL BEGIN
     UPDATE sim_watches SET until_height = from_height - 1, vanished = old.from_height <= (SELECT scanned_to FROM scanner)
     WHERE address = old.address AND from_height = old.from_height AND tenant = old.tenant;
   END`,
];

/** Every watch there ever was, by address. Scanners let go of what ended below their window: it is kept here. */
export class Watches {
  readonly #all = new Map<string, Watch[]>();

  of(address: string): readonly Watch[] {
    return this.#all.get(address) ?? [];
  }

  /** Takes in what a scanner has now. @returns what cannot be: two who have one address at one height */
  note(rows: Rows): string | null {
    for (const text of WATCH_LOG) rows(text);
    const found = rows(
      "SELECT a.*, t.tenant_id FROM sim_watches AS a JOIN tenants AS t ON t.n = a.tenant ORDER BY a.from_height",
    );
    this.#all.clear();
    for (const { address, from_height, until_height, tenant_id, vanished } of found) {
      const watch = {
        address: String(address),
        from: Number(from_height),
        until: until_height === null ? null : Number(until_height),
        tenantId: String(tenant_id),
      };
      this.#all.set(watch.address, [...(this.#all.get(watch.address) ?? []), watch]);
      if (Number(vanished) === 1) return `I5 the watch of ${address} from ${from_height} on has vanished`;
    }
    const now = rows("SELECT address, from_height FROM addresses").map((row) => `${row.address}/${row.from_height}`);
    return this.#overlap(new Set(now));
  }

  /** Of those that count now: what ended below the window may be asked to be read again, and then the claims decide. */
  #overlap(now: ReadonlySet<string>): string | null {
    for (const [address, all] of this.#all) {
      const own = all.filter(({ from }) => now.has(`${address}/${from}`));
      for (const one of own) {
        const other = own.find((next) => next !== one && isAt(one, next.from));
        if (other !== undefined) return `I5 ${address} has two owners at ${other.from}`;
      }
    }
    return null;
  }
}

function isAt({ from, until }: Watch, height: number): boolean {
  return from <= height && (until === null || height <= until);
}

/** What the check of one tenant's deposits stands on. */
export interface DepositFacts {
  readonly life: ChainLife;
  readonly watches: Watches;
  readonly tenantId: string;
  /** Whose each key is in D1. */
  readonly keys: ReadonlyMap<string, unknown>;
  /** Keys that somebody else was told of before. */
  readonly foreign: ReadonlySet<string>;
}

interface Owed {
  readonly accounts: ReadonlySet<unknown>;
  readonly asset: string;
  readonly units: bigint;
  /** Mined outside its watch, as forks may bring about: who has it may keep it, and nobody must. */
  readonly isOptional: boolean;
}

/** By key, what the chain pays to this tenant. */
function owedTo({ life, watches, tenantId, keys, foreign }: DepositFacts, rows: Rows): Map<string, Owed> {
  const accounts = new Map<string, Set<unknown>>();
  for (const { address, account } of rows("SELECT address, account FROM addresses"))
    accounts.set(String(address), (accounts.get(String(address)) ?? new Set()).add(account));
  const owed = new Map<string, Owed>();
  for (let height = 0; height <= life.chain.head; height++) {
    for (const paying of (life.chain.at(height)?.txs ?? []).flatMap(paymentsOf)) {
      const key = keyOf(paying);
      const all = watches.of(paying.to);
      const own = all.filter((watch) => watch.tenantId === tenantId);
      if (own.length === 0 || foreign.has(key)) continue;
      // Told to another one who had the address, before a fork moved it to where it is now: it is nobody's here.
      const owner = keys.get(key);
      if (owner !== undefined && owner !== tenantId && all.some((watch) => watch.tenantId === owner)) continue;
      const isOptional = !own.some((watch) => isAt(watch, height));
      if (isOptional && owner !== tenantId) continue;
      owed.set(key, { ...paying, accounts: accounts.get(paying.to) ?? new Set(), isOptional });
    }
  }
  return owed;
}

interface Credit {
  account: unknown;
  asset: unknown;
  units: bigint;
}

export function checkDeposits(facts: DepositFacts, rows: Rows, fail: Fail): void {
  const owed = owedTo(facts, rows);
  const credited = new Map<string, Credit>();
  for (const row of rows(
    `SELECT d.tx_id, d.transfer_index, e.account, e.asset, e.from_bucket, e.amount_units
     FROM ledger_entries AS e JOIN deposits AS d ON d.id = e.cause_id WHERE e.cause_type LIKE 'deposit.%'`,
  )) {
    const key = `${row.tx_id}/${row.transfer_index}`;
    const credit = credited.get(key) ?? { account: row.account, asset: row.asset, units: 0n };
    credit.units += (row.from_bucket === "chain" ? 1n : -1n) * BigInt(String(row.amount_units));
    credited.set(key, credit);
  }
  for (const key of new Set([...owed.keys(), ...credited.keys()])) {
    const [due, is] = [owed.get(key), credited.get(key)];
    const units = is?.units ?? 0n;
    if (due?.isOptional === true && units === 0n) continue;
    if (units !== (due?.units ?? 0n)) fail(`I5 ${key}: the chain paid ${due?.units ?? 0n}, ${units} was credited`);
    else if (due !== undefined && is !== undefined && !(due.accounts.has(is.account) && due.asset === is.asset))
      fail(
        `I5 ${key}: ${[...due.accounts].join(" or ")} was paid ${due.asset}, ${is.account}/${is.asset} was credited`,
      );
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
