/** What must hold of withdrawals, their nonces and their bytes, read from rows and from the chain. */

import { readSigned } from "../../src/chains/evm/signed-transaction.ts";
import { mayBecome, type WithdrawalState } from "../../src/core/withdrawal.ts";
import { type ChainLife, TOKEN } from "./chain-life.ts";
import type { Fail, Rows } from "./check-books.ts";
import type { Complaints } from "./client.ts";
import { isTenant, type Service } from "./service.ts";

/** Of one nonce and kind, as `docs/withdrawals.md` says. */
const MAX_ATTEMPTS = 12;

/** I12: every step is one there is, and begins where the one before it ended. */
export function checkSteps(rows: Rows, fail: Fail): void {
  const last = new Map<string, WithdrawalState | null>();
  for (const row of rows("SELECT * FROM withdrawal_transitions ORDER BY withdrawal_id, number")) {
    const id = String(row.withdrawal_id);
    const before = last.get(id) ?? null;
    const [from, to] = [row.from_state as WithdrawalState | null, row.to_state as WithdrawalState];
    if (from !== before) fail(`I12 ${id}: a step from ${from} after ${before}`);
    if (from !== null && !mayBecome(from, to)) fail(`I12 ${id}: ${from} became ${to}`);
    last.set(id, to);
  }
  for (const { id, state } of rows("SELECT id, state FROM withdrawals")) {
    if (last.get(String(id)) !== state) fail(`I12 ${id} is ${state}, its last step led to ${last.get(String(id))}`);
  }
}

/** I6, I9: a withdrawal is on the chain once when it is confirmed, and not at all when it was given back. */
export function checkPayments(life: ChainLife, wallet: string, rows: Rows, fail: Fail): void {
  const { foreign } = life.adversary;
  const paid = life.wallets
    .paidBy(wallet)
    .filter(({ hash, success, units }) => success && units > 0n && !foreign.has(hash));
  const wanted = new Set<string>();
  for (const row of rows("SELECT id, destination, asset, amount_units, state FROM withdrawals")) {
    wanted.add(String(row.destination));
    const own = paid.filter(({ to }) => to === row.destination);
    const times = row.state === "confirmed" ? 1 : 0;
    if (own.length !== times) fail(`I6 ${row.id} is ${row.state} and was paid ${own.length} times`);
    for (const { asset, units } of own) {
      const right = row.asset === "native" ? asset === "native" : asset === TOKEN;
      if (!right || units !== BigInt(String(row.amount_units))) fail(`I6 ${row.id} was paid ${units} of ${asset}`);
    }
  }
  for (const { to, hash } of paid) if (!wanted.has(to)) fail(`I6 ${hash} pays ${to}, which nobody asked for`);
}

/** I16: signed bytes decode to what was approved. I6: one nonce for each withdrawal. */
export async function checkIntents(rows: Rows, fail: Fail): Promise<void> {
  const attempts = rows(
    `SELECT a.*, w.destination, w.asset, w.amount_units FROM attempts AS a
     JOIN slots AS s ON s.network = a.network AND s.sender = a.sender AND s.nonce = a.nonce
     LEFT JOIN withdrawals AS w ON w.id = s.withdrawal_id`,
  );
  for (const row of attempts) {
    const isToken = row.kind === "payment" && row.asset !== "native";
    const units = BigInt(String(row.amount_units ?? "0"));
    const data = `0xa9059cbb${String(row.destination).slice(2).padStart(64, "0")}${units.toString(16).padStart(64, "0")}`;
    const read = await readSigned(String(row.raw), {
      chainId: 31_337,
      sender: String(row.sender),
      nonce: Number(row.nonce),
      to: row.kind === "burn" ? String(row.sender) : isToken ? String(row.asset) : String(row.destination),
      valueUnits: row.kind === "burn" || isToken ? 0n : units,
      data: isToken ? data : "0x",
      gasLimit: BigInt(String(row.gas_limit)),
      fees: {
        kind: "eip1559",
        maxFeePerGas: BigInt(String(row.most_per_gas)),
        maxPriorityFeePerGas: BigInt(String(row.tip_per_gas)),
      },
    });
    if (!read.ok) fail(`I16 ${row.tx_id}: ${read.problem}`);
  }
}

/** I7: D1 and the tenants agree on what every nonce carries. */
export function checkNonces(service: Service, complaints: Complaints): void {
  const claims = new Map(
    service.d1.rows("SELECT * FROM wallet_nonces").map((row) => [`${row.network}/${row.sender}/${row.nonce}`, row]),
  );
  for (const { name, disk } of service.objects.filter(isTenant)) {
    const carried = new Set<unknown>();
    for (const slot of disk.rows("SELECT * FROM slots WHERE claimed = 1")) {
      const place = `${slot.network}/${slot.sender}/${slot.nonce}`;
      if (claims.get(place) === undefined) complaints.add(`I7 ${name}: nobody claimed ${place}`);
      if (slot.withdrawal_id === null) continue;
      if (claims.get(place)?.subject !== slot.withdrawal_id)
        complaints.add(`I7 ${place} carries ${slot.withdrawal_id}`);
      if (carried.has(slot.withdrawal_id)) complaints.add(`I6 ${slot.withdrawal_id} has two nonces`);
      carried.add(slot.withdrawal_id);
    }
  }
}

/** I10: D1 names each withdrawal under its key, with what was asked for. */
export function checkKeys(service: Service, tenantId: string, rows: Rows, fail: Fail): void {
  const held = new Map(
    service.d1
      .rows("SELECT * FROM withdrawal_keys WHERE tenant_id = ?", tenantId)
      .map((row) => [`${row.account}/${row.idempotency_key}`, row]),
  );
  for (const row of rows("SELECT id, account, idempotency_key, fingerprint FROM withdrawals")) {
    const key = held.get(`${row.account}/${row.idempotency_key}`);
    if (key?.withdrawal_id !== row.id) fail(`I10 D1 has ${String(key?.withdrawal_id)} under the key of ${row.id}`);
    else if (key?.fingerprint !== row.fingerprint) fail(`I10 D1 has another request under the key of ${row.id}`);
  }
}

/** What is above the limit was approved before anything of it was signed. @param above base units */
export function checkApprovals(above: bigint, rows: Rows, fail: Fail): void {
  const signed = new Set(
    rows("SELECT s.withdrawal_id FROM slots AS s JOIN attempts AS a USING (network, sender, nonce)").map(
      (row) => row.withdrawal_id,
    ),
  );
  const approved = rows("SELECT withdrawal_id FROM withdrawal_transitions WHERE reason = 'approved'");
  const byPerson = new Set(approved.map((row) => row.withdrawal_id));
  for (const { id, amount_units } of rows("SELECT id, amount_units FROM withdrawals")) {
    if (BigInt(String(amount_units)) > above && signed.has(id) && !byPerson.has(id))
      fail(`approval ${id} of ${amount_units} was signed and nobody approved it`);
  }
}

/** I6: what is confirmed is in a block, as far as anybody here knows, or it is not called so. Holds in every moment. */
export function checkConfirmed(rows: Rows, fail: Fail): void {
  for (const { id } of rows(
    `SELECT w.id FROM withdrawals AS w JOIN slots AS s ON s.withdrawal_id = w.id
     WHERE w.state = 'confirmed' AND s.status = 'open' AND s.mined_tx_id IS NULL
       AND NOT EXISTS (SELECT 1 FROM withdrawal_transitions
                       WHERE withdrawal_id = w.id AND reason = 'resolved_by_person')`,
  ))
    fail(`I6 ${id} is confirmed and in no block`);
}

/** I9: what is given back, or closed, has its nonce used up by a final transaction. Holds in every moment. */
export function checkReleased(life: ChainLife, rows: Rows, fail: Fail): void {
  for (const { id, state, nonce } of rows(
    `SELECT w.id, w.state, s.nonce FROM withdrawals AS w JOIN slots AS s ON s.withdrawal_id = w.id
     WHERE w.state IN ('failed', 'cancelled', 'rejected') AND s.status = 'open'`,
  ))
    fail(`I9 ${id} is ${state}, and its nonce ${nonce} can still be used`);
  const used = new Map<unknown, number>();
  for (const { sender, nonce } of rows("SELECT sender, nonce FROM slots WHERE status = 'final'")) {
    const below = used.get(sender) ?? life.wallets.nonceAt(String(sender), life.finalHeight);
    used.set(sender, below);
    if (Number(nonce) >= below) fail(`I9 nonce ${nonce} is closed, and the chain has used up those below ${below}`);
  }
}

/** I6: what is confirmed stood on the chain once, as deep as it must. A person may know better. Holds in every moment. */
export function checkEverPaid(life: ChainLife, rows: Rows, fail: Fail): void {
  const paid = new Map<string, boolean>();
  for (const { id, tx_id } of rows(
    `SELECT w.id, a.tx_id FROM withdrawals AS w
     JOIN slots AS s ON s.withdrawal_id = w.id
     JOIN attempts AS a ON a.network = s.network AND a.sender = s.sender AND a.nonce = s.nonce
     WHERE w.state = 'confirmed'
       AND NOT EXISTS (SELECT 1 FROM withdrawal_transitions
                       WHERE withdrawal_id = w.id AND reason = 'resolved_by_person')`,
  ))
    paid.set(String(id), paid.get(String(id)) === true || life.everPaid.has(String(tx_id)));
  for (const [id, isPaid] of paid) if (!isPaid) fail(`I6 ${id} is confirmed, and was never paid`);
}

/**
 * What was signed and is still not mined, of wallets that are not stopped. Behind what no miner takes, or what was
 * replaced as often as it may be and still offers too little, nothing can be mined. @returns the first of them, or null
 */
export function unminedNonce(life: ChainLife, rows: Rows): string | null {
  const barred = new Set<unknown>();
  for (const { sender, nonce, burn, destination, signed } of rows(
    `SELECT s.sender, s.nonce, s.burn, w.destination,
       (SELECT count(*) FROM attempts AS a WHERE a.network = s.network AND a.sender = s.sender AND a.nonce = s.nonce) AS signed
     FROM slots AS s LEFT JOIN withdrawals AS w ON w.id = s.withdrawal_id
     JOIN wallets AS h ON h.network = s.network AND h.sender = s.sender
     WHERE s.status = 'open' AND s.mined_tx_id IS NULL AND h.status != 'stopped'
     ORDER BY s.sender, s.nonce`,
  )) {
    const isCensored = burn === 0 && life.wallets.censored.has(String(destination));
    if (isCensored || Number(signed) >= MAX_ATTEMPTS) barred.add(sender);
    if (Number(signed) > 0 && !barred.has(sender)) return `nonce ${nonce} of ${String(sender)}`;
  }
  return null;
}
