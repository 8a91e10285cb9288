/**
 * From what was found in blocks to the transfers of a reading. Asks once which receivers are watched, fetches
 * receipts only for their transactions, and counts a payment only when its own receipt bears it out.
 */

import { NATIVE, type Transfer } from "../../core/transfer.ts";
import type { Cut } from "../cut.ts";
import type { BlockRef, Interest, Reading } from "../port.ts";
import type { Weighed } from "./arrivals.ts";
import type { InternalPayment } from "./call-traces.ts";
import type { Log, NativePayment } from "./records.ts";
import { amountOf, formOf, receiverOf } from "./transfer-log.ts";
import type { TxFacts } from "./tx-facts.ts";

export interface Findings {
  /** Ascending and linked. */
  readonly refs: readonly BlockRef[];
  /** Every Transfer of a listed contract in these blocks, in chain order. */
  readonly logs: readonly Log[];
  readonly payments: readonly (NativePayment & { readonly height: number })[];
  readonly internal: readonly (InternalPayment & { readonly height: number })[];
  /** Checked to be of these blocks; filled up by `FetchFacts`. */
  readonly facts: Map<string, TxFacts>;
  readonly traced: Reading["internal"];
}

/** Fills `facts` for these transactions by height; a height whose receipts cannot be had is cut. */
export type FetchFacts = (wanted: ReadonlyMap<number, readonly string[]>) => Promise<void>;

/** One possible transfer to a watched receiver. `place` orders it inside its transaction. */
interface Candidate {
  readonly height: number;
  readonly txHash: string;
  readonly to: string;
  readonly place: number;
  readonly source: { readonly log: Log } | { readonly index: string; readonly value: string };
}

/** In chain order, each by what its log or its value says. */
export async function settle(
  findings: Findings,
  interest: Interest,
  fetchFacts: FetchFacts,
  cut: Cut,
): Promise<Transfer[]> {
  const hits = hitsAmong(findings, interest, cut);
  await fetchFacts(missingFacts(hits, findings.facts));

  const refs = new Map(findings.refs.map((ref) => [ref.height, ref]));
  const logsPerTx = countLogs(findings.logs, new Set(hits.map((hit) => hit.txHash)));
  const found: { transfer: Transfer; txIndex: number; place: number }[] = [];
  for (const hit of hits) {
    const ref = refs.get(hit.height);
    if (ref === undefined || !cut.keeps(hit.height)) continue;
    const facts = findings.facts.get(hit.txHash);
    if (facts === undefined) throw new Error(`no receipt of ${hit.txHash}, and block ${hit.height} was not left out`);
    const transfer = confirmed(hit, facts, ref, logsPerTx.get(hit.txHash) ?? 0, cut);
    if (transfer) found.push({ transfer, txIndex: facts.txIndex, place: hit.place });
  }
  found.sort((a, b) => a.transfer.height - b.transfer.height || a.txIndex - b.txIndex || a.place - b.place);
  return found.map(({ transfer }) => transfer).filter((transfer) => cut.keeps(transfer.height));
}

/** What is left of it all below the cut. */
export function readingOf(findings: Findings, weighed: Weighed, cut: Cut): Reading {
  return {
    blocks: findings.refs.filter((ref) => cut.keeps(ref.height)),
    ...weighed,
    stopped: cut.stopped,
    internal: findings.traced,
    irregularLogs: findings.logs.filter((log) => cut.keeps(log.height) && formOf(log) === "irregular").length,
  };
}

/** Possible transfers to watched receivers. One question for all receivers of the reading. */
function hitsAmong(findings: Findings, interest: Interest, cut: Cut): Candidate[] {
  const receivers = new Set<string>();
  // Most logs pay nobody watched: nothing is made of them but their receiver.
  const ofLogs = findings.logs.map((log) =>
    cut.keeps(log.height) && formOf(log) === "payment" ? receiverOf(log) : null,
  );
  for (const receiver of ofLogs) if (receiver !== null) receivers.add(receiver);
  for (const { height, to } of findings.payments) if (cut.keeps(height)) receivers.add(to);
  for (const { height, to } of findings.internal) if (cut.keeps(height)) receivers.add(to);
  const watched = receivers.size === 0 ? receivers : interest.watched(receivers);

  const hits: Candidate[] = [];
  for (const { height, txHash, to, value } of findings.payments) {
    if (watched.has(to)) hits.push({ height, txHash, to, place: 0, source: { index: "value", value } });
  }
  for (const [order, { height, txHash, to, value, path }] of findings.internal.entries()) {
    if (watched.has(to)) hits.push({ height, txHash, to, place: 1 + order, source: { index: `call:${path}`, value } });
  }
  const afterCalls = 1 + findings.internal.length;
  for (const [i, log] of findings.logs.entries()) {
    const to = ofLogs[i] ?? null;
    if (to === null || !watched.has(to)) continue;
    hits.push({ height: log.height, txHash: log.txHash, to, place: afterCalls + log.logIndex, source: { log } });
  }
  return hits.filter((hit) => cut.keeps(hit.height));
}

function missingFacts(hits: readonly Candidate[], facts: ReadonlyMap<string, TxFacts>): Map<number, string[]> {
  const missing = new Map<number, Set<string>>();
  for (const { height, txHash } of hits) {
    if (facts.has(txHash)) continue;
    const ofBlock = missing.get(height) ?? new Set();
    missing.set(height, ofBlock.add(txHash));
  }
  return new Map([...missing].map(([height, hashes]) => [height, [...hashes]]));
}

/** The transfer, or null when the receipt says that it took no effect or contradicts what was found. */
function confirmed(hit: Candidate, facts: TxFacts, ref: BlockRef, logsFound: number, cut: Cut): Transfer | null {
  const at = { txId: hit.txHash, address: hit.to, height: ref.height, blockHash: ref.hash };
  if ("index" in hit.source) {
    // A failed transaction keeps its value on paper and moved nothing.
    if (facts.status !== 1) return null;
    return { ...at, transferIndex: hit.source.index, asset: NATIVE, amountUnits: BigInt(hit.source.value) };
  }
  const { log } = hit.source;
  if (facts.status === 0) {
    cut.at("inconsistent", ref.height, `${hit.txHash} failed and yet has logs`);
    return null;
  }
  const ordinal = ordinalOf(log, facts);
  if (ordinal === null || logsFound !== facts.transfers.size) {
    cut.at("inconsistent", ref.height, `logs found of ${hit.txHash} are not those of its receipt`);
    return null;
  }
  return { ...at, transferIndex: `log:${ordinal}`, asset: log.address, amountUnits: amountOf(log) };
}

/** Where the log stands in its receipt. Null when it does not stand there word for word. */
function ordinalOf(log: Log, facts: TxFacts): number | null {
  for (const [ordinal, own] of facts.transfers) {
    if (own.logIndex === log.logIndex) return own === log || saysSame(own, log) ? ordinal : null;
  }
  return null;
}

function saysSame(a: Log, b: Log): boolean {
  if (a.address !== b.address || a.data !== b.data || a.topics.length !== b.topics.length) return false;
  return a.topics.every((topic, i) => topic === b.topics[i]);
}

/** How many logs were found of each of these transactions. */
function countLogs(logs: readonly Log[], txHashes: ReadonlySet<string>): Map<string, number> {
  const counts = new Map<string, number>();
  if (txHashes.size === 0) return counts;
  for (const { txHash } of logs) if (txHashes.has(txHash)) counts.set(txHash, (counts.get(txHash) ?? 0) + 1);
  return counts;
}
