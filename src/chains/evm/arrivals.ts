/**
 * What really arrived. A token may take a fee of its own: its log names 100 and 98 arrive. So the receiver's
 * balance is weighed before and after, and when it grew by less than the logs say, the growth is what
 * counts, shared among the logs in proportion. It never counts for more than the logs.
 *
 * The logs are proven by the header, balances are a node's word alone. So a shortfall counts only when a second
 * asking gives the same; a contradiction, or growth of nothing at all, leaves the block unread for some
 * attempts, and then the log stands. No payment is dropped on the word of a balance.
 *
 * Weighing needs the state of the blocks, which many nodes keep for recent ones alone. Where it is gone the
 * log stands. Each payment that a log alone vouches for is counted as not weighed.
 */

import type { Transfer } from "../../core/transfer.ts";
import type { Cut } from "../cut.ts";
import type { BlockRef, Reading } from "../port.ts";
import type { RpcAnswer, RpcCall } from "../rpc/client.ts";
import { chunked } from "../rpc/parallel.ts";
import type { NodeAccess } from "./access.ts";
import type { Log } from "./records.ts";
import { amountOf, formOf, senderOf } from "./transfer-log.ts";

export interface Unweighed {
  /** Ascending and linked. */
  readonly refs: readonly BlockRef[];
  readonly transfers: readonly Transfer[];
  /** Every Transfer of the listed contracts in these blocks. */
  readonly logs: readonly Log[];
  readonly cut: Cut;
}

export type Weighed = Pick<Reading, "transfers" | "shortTransfers" | "unweighedTransfers">;

/** One receiver of one token over some adjacent blocks. */
interface Scale {
  readonly contract: string;
  readonly holder: string;
  readonly transfers: Transfer[];
  /** Hash of the block before the first, and of the last. */
  readonly before: string;
  readonly after: string;
  /** Heights covered, both inclusive. */
  readonly from: number;
  readonly to: number;
}

/** balanceOf(address) */
const BALANCE_OF = "0x70a08231";
const SCALES_PER_BATCH = 64;
/** Far behind the head a fee shows on any receiver: so many of each token are weighed, then all if one is short. */
const SAMPLE_PER_TOKEN = 64;
/** A block whose balances contradict its logs is left unread so often. */
const MAX_DOUBTED_READINGS = 3;

/** Near the head: each receiver of a token, block by block. */
export async function weighBlocks(access: NodeAccess, found: Unweighed): Promise<Weighed> {
  const { refs, transfers, logs } = found;
  return judged(access, found, await weighTwice(access, logs, perBlock(refs, transfers)));
}

/** Over a long range: each receiver once over the whole, and block by block only where that fell short. */
export async function weighRange(access: NodeAccess, found: Unweighed): Promise<Weighed> {
  const { refs, transfers, logs, cut } = found;
  const scales = overAll(
    refs.filter((ref) => cut.keeps(ref.height)),
    transfers,
  );
  const sampled = await weigh(access, logs, sampleOf(scales));
  const suspects = new Set(sampled.filter(isShort).map((r) => r.scale.contract));
  const doubtful = transfers.filter((transfer) => suspects.has(transfer.asset));
  const exact = await weighTwice(access, logs, perBlock(refs, doubtful));
  return judged(access, found, [...sampled.filter((r) => !suspects.has(r.scale.contract)), ...exact]);
}

interface Result {
  readonly scale: Scale;
  readonly logged: bigint;
  /** null: the balances could not be asked. */
  readonly arrived: bigint | null;
  /** Whether a second asking did not bear out that it was short. */
  readonly contradicted: boolean;
}

function isShort({ arrived, logged }: Result): boolean {
  return arrived !== null && arrived < logged;
}

/** Whatever fell short is asked again. */
async function weighTwice(access: NodeAccess, logs: readonly Log[], scales: readonly Scale[]): Promise<Result[]> {
  const first = await weigh(access, logs, scales);
  const short = first.filter(isShort).map(({ scale }) => scale);
  const again = new Map((await weighApart(access, logs, short)).map((result) => [result.scale, result.arrived]));
  return first.map((result) =>
    isShort(result) ? { ...result, contradicted: again.get(result.scale) !== result.arrived } : result,
  );
}

/** Both balances of a scale in one request. */
async function weigh(access: NodeAccess, logs: readonly Log[], scales: readonly Scale[]): Promise<Result[]> {
  const balances: (bigint | null)[] = [];
  for (const batch of chunked(scales, SCALES_PER_BATCH)) {
    const calls = batch.flatMap((scale) => [balanceCall(scale, scale.before), balanceCall(scale, scale.after)]);
    const { answers } = await access.rpc.batch(calls);
    balances.push(...answers.map(balanceIn));
  }
  return compared(logs, scales, (i) => [balances[2 * i] ?? null, balances[2 * i + 1] ?? null]);
}

/** The balances after first and in other requests than those before: one backend's slip is not made twice. */
async function weighApart(access: NodeAccess, logs: readonly Log[], scales: readonly Scale[]): Promise<Result[]> {
  const after: (bigint | null)[] = [];
  const before: (bigint | null)[] = [];
  for (const batch of chunked(scales, 2 * SCALES_PER_BATCH)) {
    after.push(...(await access.rpc.batch(batch.map((s) => balanceCall(s, s.after)))).answers.map(balanceIn));
    before.push(...(await access.rpc.batch(batch.map((s) => balanceCall(s, s.before)))).answers.map(balanceIn));
  }
  return compared(logs, scales, (i) => [before[i] ?? null, after[i] ?? null]);
}

function balanceCall({ contract, holder }: Scale, blockHash: string): RpcCall {
  const data = `${BALANCE_OF}${holder.slice(2).padStart(64, "0")}`;
  return { method: "eth_call", params: [{ to: contract, data }, { blockHash }] };
}

/** @param balancesOf before and after, of the scale at this place */
function compared(
  logs: readonly Log[],
  scales: readonly Scale[],
  balancesOf: (place: number) => readonly [bigint | null, bigint | null],
): Result[] {
  const sent = sentBy(logs, scales);
  return scales.map((scale, i) => {
    const [before, after] = balancesOf(i);
    const logged = scale.transfers.reduce((sum, transfer) => sum + transfer.amountUnits, 0n);
    const arrived = before === null || after === null ? null : after - before + (sent.get(scale) ?? 0n);
    return { scale, logged, arrived, contradicted: false };
  });
}

/** Whatever is not one word is no balance: a contract without code, a revert, state that is gone. */
function balanceIn(answer: RpcAnswer): bigint | null {
  if (!answer.ok) return null;
  return typeof answer.result === "string" && /^0x[0-9a-f]{64}$/i.test(answer.result) ? BigInt(answer.result) : null;
}

/** Units each holder sent on inside its scale's blocks. */
function sentBy(logs: readonly Log[], scales: readonly Scale[]): Map<Scale, bigint> {
  const byHolder = new Map<string, Scale[]>();
  for (const scale of scales) byHolder.set(scale.holder, [...(byHolder.get(scale.holder) ?? []), scale]);
  const sent = new Map<Scale, bigint>();
  if (scales.length === 0) return sent;
  for (const log of logs) {
    if (formOf(log) !== "payment") continue;
    for (const scale of byHolder.get(senderOf(log)) ?? []) {
      const isInside = scale.contract === log.address && scale.from <= log.height && log.height <= scale.to;
      if (isInside) sent.set(scale, (sent.get(scale) ?? 0n) + amountOf(log));
    }
  }
  return sent;
}

function perBlock(refs: readonly BlockRef[], transfers: readonly Transfer[]): Scale[] {
  const byHeight = new Map(refs.map((ref) => [ref.height, ref]));
  return grouped(transfers, (transfer) => {
    const ref = byHeight.get(transfer.height);
    if (ref === undefined) throw new Error(`a transfer at ${transfer.height} is outside its reading`);
    return { before: ref.parentHash, after: ref.hash, from: ref.height, to: ref.height };
  });
}

function overAll(refs: readonly BlockRef[], transfers: readonly Transfer[]): Scale[] {
  const [first, last] = [refs[0], refs.at(-1)];
  if (first === undefined || last === undefined) return [];
  const bounds = { before: first.parentHash, after: last.hash, from: first.height, to: last.height };
  return grouped(transfers, () => bounds);
}

function grouped(
  transfers: readonly Transfer[],
  boundsOf: (transfer: Transfer) => Pick<Scale, "before" | "after" | "from" | "to">,
): Scale[] {
  const scales = new Map<string, Scale>();
  for (const transfer of transfers) {
    if (!transfer.transferIndex.startsWith("log:")) continue;
    const bounds = boundsOf(transfer);
    const name = `${transfer.asset}/${transfer.address}/${bounds.after}`;
    const known = scales.get(name);
    if (known !== undefined) known.transfers.push(transfer);
    else scales.set(name, { contract: transfer.asset, holder: transfer.address, transfers: [transfer], ...bounds });
  }
  return [...scales.values()];
}

function sampleOf(scales: readonly Scale[]): Scale[] {
  const taken = new Map<string, number>();
  return scales.filter(({ contract }) => {
    const n = (taken.get(contract) ?? 0) + 1;
    taken.set(contract, n);
    return n <= SAMPLE_PER_TOKEN;
  });
}

/** Cuts at the lowest height whose balances are in doubt; what lies below counts by what arrived. */
function judged(access: NodeAccess, { transfers, cut }: Unweighed, results: readonly Result[]): Weighed {
  const shares = new Map<Transfer, bigint>();
  const unweighed = new Set<Transfer>();
  for (const result of results.toSorted((x, y) => x.scale.from - y.scale.from)) {
    const { scale, logged, arrived, contradicted } = result;
    const isDoubted = isShort(result) && (contradicted || (arrived ?? 0n) <= 0n);
    if (arrived === null || (isDoubted && isSettledByLog(access, result, cut))) {
      for (const transfer of scale.transfers) unweighed.add(transfer);
    } else if (isShort(result) && !isDoubted) share(scale.transfers, logged, arrived, shares);
  }
  const kept = transfers.filter(({ height }) => cut.keeps(height));
  return {
    transfers: kept
      .map((transfer) => ({ ...transfer, amountUnits: shares.get(transfer) ?? transfer.amountUnits }))
      .filter((transfer) => transfer.amountUnits > 0n),
    shortTransfers: kept.filter((transfer) => shares.has(transfer)).length,
    unweighedTransfers: kept.filter((transfer) => unweighed.has(transfer)).length,
  };
}

/** Whether a block in doubt was left unread often enough. If not, it is cut. */
function isSettledByLog(access: NodeAccess, { scale, logged, arrived }: Result, cut: Cut): boolean {
  const { to: height, after: hash, contract, holder } = scale;
  if (!cut.keeps(height)) return false;
  if (access.doubtedArrivals.next(hash) > MAX_DOUBTED_READINGS) return true;
  const detail = `logs of ${contract} pay ${holder} ${logged} in block ${hash}, its balance grew by ${arrived}`;
  cut.at("inconsistent", height, `${access.rpc.name}: ${detail}`);
  access.doubtedHeight = height;
  return false;
}

/** Rounded down, the rest to the last: together exactly what arrived. */
function share(transfers: readonly Transfer[], logged: bigint, arrived: bigint, shares: Map<Transfer, bigint>): void {
  let left = arrived;
  for (const [i, transfer] of transfers.entries()) {
    const part = i === transfers.length - 1 ? left : (transfer.amountUnits * arrived) / logged;
    shares.set(transfer, part);
    left -= part;
  }
}
