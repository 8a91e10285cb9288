/**
 * What really arrived. A token may take a fee of its own: its log names 100 and 98 arrive. So the receiver's
 * balance is weighed before and after, and when it grew by less than the logs say, the growth is what
 * counts, shared among the logs in proportion. It never counts for more than the logs.
 *
 * Weighing needs the state of the blocks, which many nodes keep for recent ones alone. Where it is gone the
 * log stands, and the payment is counted as not weighed.
 */

import type { Transfer } from "../../core/transfer.ts";
import type { BlockRef, Reading } from "../port.ts";
import type { NodeAccess } from "./access.ts";
import { chunked } from "./parallel.ts";
import type { Log } from "./records.ts";
import type { RpcAnswer } from "./rpc.ts";
import { amountOf, formOf, senderOf } from "./transfer-log.ts";

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
const SCALES_PER_BATCH = 40;
/** Far behind the head a fee shows on any receiver: so many of each token are weighed, then all if one is short. */
const SAMPLE_PER_TOKEN = 64;

/**
 * Near the head: each receiver of a token, block by block.
 * @param logs every Transfer of the listed contracts in the reading's blocks
 */
export async function weighBlocks(access: NodeAccess, reading: Reading, logs: readonly Log[]): Promise<Reading> {
  const { blocks, transfers } = reading;
  return apply(reading, await weigh(access, logs, perBlock(blocks, transfers)));
}

/** Over a long range: each receiver once over the whole, and block by block only where that fell short. */
export async function weighRange(access: NodeAccess, reading: Reading, logs: readonly Log[]): Promise<Reading> {
  const { blocks, transfers } = reading;
  const scales = overAll(blocks, transfers);
  const sampled = await weigh(access, logs, sampleOf(scales));
  const suspects = new Set(
    sampled.filter((r) => r.arrived !== null && r.arrived < r.logged).map((r) => r.scale.contract),
  );
  const doubtful = transfers.filter((transfer) => suspects.has(transfer.asset));
  const exact = doubtful.length === 0 ? [] : await weigh(access, logs, perBlock(blocks, doubtful));
  return apply(reading, [...sampled.filter((r) => !suspects.has(r.scale.contract)), ...exact]);
}

interface Result {
  readonly scale: Scale;
  readonly logged: bigint;
  /** null: the balances could not be asked. */
  readonly arrived: bigint | null;
}

async function weigh(access: NodeAccess, logs: readonly Log[], scales: readonly Scale[]): Promise<Result[]> {
  const results: Result[] = [];
  if (scales.length === 0) return results;
  const sent = sentBy(logs, scales);
  for (const batch of chunked(scales, SCALES_PER_BATCH)) {
    const calls = batch.flatMap(({ contract, holder, before, after }) =>
      [before, after].map((blockHash) => ({
        method: "eth_call",
        params: [{ to: contract, data: `${BALANCE_OF}${holder.slice(2).padStart(64, "0")}` }, { blockHash }],
      })),
    );
    const { answers } = await access.rpc.batch(calls);
    for (const [i, scale] of batch.entries()) {
      const [before, after] = [balanceIn(answers[2 * i]), balanceIn(answers[2 * i + 1])];
      const left = sent.get(scale) ?? 0n;
      const logged = scale.transfers.reduce((sum, transfer) => sum + transfer.amountUnits, 0n);
      results.push({ scale, logged, arrived: before === null || after === null ? null : after - before + left });
    }
  }
  return results;
}

/** Whatever is not one word is no balance: a contract without code, a revert, state that is gone. */
function balanceIn(answer: RpcAnswer | undefined): bigint | null {
  if (answer === undefined || !answer.ok) return null;
  return typeof answer.result === "string" && /^0x[0-9a-f]{64}$/i.test(answer.result) ? BigInt(answer.result) : null;
}

/** Units each holder sent on inside its scale's blocks. */
function sentBy(logs: readonly Log[], scales: readonly Scale[]): Map<Scale, bigint> {
  const byHolder = new Map<string, Scale[]>();
  for (const scale of scales) {
    const name = `${scale.contract}/${scale.holder}`;
    byHolder.set(name, [...(byHolder.get(name) ?? []), scale]);
  }
  const sent = new Map<Scale, bigint>();
  for (const log of logs) {
    if (formOf(log) !== "payment") continue;
    for (const scale of byHolder.get(`${log.address}/${senderOf(log)}`) ?? []) {
      if (scale.from <= log.height && log.height <= scale.to) sent.set(scale, (sent.get(scale) ?? 0n) + amountOf(log));
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

function apply(reading: Reading, results: readonly Result[]): Reading {
  const shares = new Map<Transfer, bigint>();
  let unweighed = 0;
  for (const { scale, logged, arrived } of results) {
    if (arrived === null) unweighed += scale.transfers.length;
    else if (arrived < logged) share(scale.transfers, logged, arrived < 0n ? 0n : arrived, shares);
  }
  const transfers = reading.transfers
    .map((transfer) => ({ ...transfer, amountUnits: shares.get(transfer) ?? transfer.amountUnits }))
    .filter((transfer) => transfer.amountUnits > 0n);
  return { ...reading, transfers, shortTransfers: shares.size, unweighedTransfers: unweighed };
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
