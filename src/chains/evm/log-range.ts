/**
 * Transfers of listed contracts over a long range of known headers. Every height of the range is answered for
 * exactly once: a refused range is halved, down to one block, which then is read in ever smaller questions.
 * What a vendor suggests instead is not looked at.
 */

import type { Cut } from "../cut.ts";
import type { BlockRef } from "../port.ts";
import type { RpcAnswer } from "../rpc/client.ts";
import { chunked, inParallel } from "../rpc/parallel.ts";
import { isUnknownBlock, mayHelpToAskLess, type RpcFailure } from "../rpc/rpc-failure.ts";
import { type NodeAccess, PARALLEL_REQUESTS } from "./access.ts";
import { keepListed, listedLogs, MAX_CONTRACTS_PER_FILTER, transferFilter } from "./block-evidence.ts";
import { bloomMayHold } from "./bloom.ts";
import { parseObject, toQuantity } from "./parse.ts";
import { provenReceiptsOf } from "./receipts.ts";
import { type Log, parseRef } from "./records.ts";
import type { TxFacts } from "./tx-facts.ts";

/** What is kept of a header while its range is read. */
export interface RangeHeader {
  readonly ref: BlockRef;
  readonly bloom: string;
}

export interface LogRange {
  readonly access: NodeAccess;
  /** Ascending, consecutive, linked. */
  readonly headers: readonly RangeHeader[];
  readonly contracts: ReadonlySet<string>;
  /** Filled with receipts that were read on the way. */
  readonly facts: Map<string, TxFacts>;
  readonly cut: Cut;
}

/** A single block is not asked for more contracts than this one by one; receipts are cheaper then. */
const MAX_SINGLE_CONTRACTS = 64;

/** All listed Transfers by height. Heights that the node cannot show are cut. @throws ChainFault, MalformedAnswer */
export async function readLogRange(range: LogRange): Promise<Map<number, Log[]>> {
  const found = new Map<number, Log[]>();
  const [first] = range.headers;
  const last = range.headers.at(-1);
  if (first === undefined || last === undefined || range.contracts.size === 0) return found;
  let next = first.ref.height;
  const worker = async () => {
    while (next <= last.ref.height && range.cut.keeps(next)) {
      const from = next;
      const to = Math.min(last.ref.height, from + range.access.logSpan.blocks - 1);
      next = to + 1;
      for (const log of await askRange(range, from, to)) {
        const ofBlock = found.get(log.height);
        if (ofBlock) ofBlock.push(log);
        else found.set(log.height, [log]);
      }
    }
  };
  await inParallel(
    PARALLEL_REQUESTS,
    Array.from({ length: PARALLEL_REQUESTS }, () => worker),
    (run) => run(),
  );
  for (const [height, logs] of found) found.set(height, inOrderOnce(logs));
  return found;
}

/** By log index; a log that was told twice counts once. */
function inOrderOnce(logs: Log[]): Log[] {
  logs.sort((a, b) => a.logIndex - b.logIndex);
  return logs.filter((log, i) => log.logIndex !== logs[i - 1]?.logIndex);
}

async function askRange(range: LogRange, from: number, to: number): Promise<Log[]> {
  const { access, cut } = range;
  if (!cut.keeps(from)) return [];
  const filters = filtersOf(range.contracts);
  const last = headerAt(range, to);
  // The header of the range's end in the same request: an empty answer proves nothing unless the backend
  // that gave it also has the block up to which it claims to have looked.
  const { answers, bytes } = await access.rpc.together([
    ...filters.map((filter) => ({
      method: "eth_getLogs",
      params: [{ fromBlock: toQuantity(from), toBlock: toQuantity(to), ...filter }],
    })),
    { method: "eth_getBlockByNumber", params: [toQuantity(to), false] },
  ]);
  const logAnswers = answers.slice(0, filters.length);
  const refusal = firstFailure(logAnswers);
  if (refusal) return askLess(range, from, to, refusal);
  if (!(await showsBlock(range, answers[filters.length], last.ref, from))) return [];
  access.logSpan.answered(to - from + 1, bytes);
  const logs: Log[] = [];
  for (const answer of logAnswers) {
    for (const log of answer.ok ? listedLogs(answer.result, range.contracts) : []) {
      if (log.height < from || log.height > to) {
        cut.at(
          "inconsistent",
          from,
          `${access.rpc.name} was asked for logs of ${from}..${to} and gave one of ${log.height}`,
        );
        return [];
      }
      const own = headerAt(range, log.height).ref;
      if (log.blockHash !== own.hash) {
        const detail = `${access.rpc.name}: a log at ${log.height} is of block ${log.blockHash}, the header is ${own.hash}`;
        cut.at("inconsistent", log.height, detail);
        continue;
      }
      logs.push(log);
    }
  }
  return logs;
}

async function askLess(range: LogRange, from: number, to: number, refusal: RpcFailure): Promise<Log[]> {
  const { access } = range;
  if (!mayHelpToAskLess(refusal)) throw access.rpc.fault(`logs of ${from}..${to}`, refusal);
  access.logSpan.refused(to - from + 1);
  if (from === to) return askOneBlock(range, headerAt(range, from), refusal);
  const middle = Math.floor((from + to) / 2);
  const lower = await askRange(range, from, middle);
  return [...lower, ...(await askRange(range, middle + 1, to))];
}

/** By the block's hash, then token by token, then from its receipts. One of them answers, or nothing is skipped. */
async function askOneBlock(range: LogRange, header: RangeHeader, refusal: RpcFailure): Promise<Log[]> {
  const { access, contracts, cut } = range;
  const { height, hash } = header.ref;
  const possible = [...contracts].filter((contract) => bloomMayHold(header.bloom, contract));
  const questions = [filtersOf(contracts)];
  if (possible.length <= MAX_SINGLE_CONTRACTS) questions.push(possible.map((contract) => transferFilter([contract])));
  for (const filters of questions) {
    const calls = filters.map((filter) => ({ method: "eth_getLogs", params: [{ blockHash: hash, ...filter }] }));
    const { answers } = await access.rpc.batch(calls);
    if (firstFailure(answers)) continue;
    const logs = answers.flatMap((answer) => (answer.ok ? listedLogs(answer.result, contracts) : []));
    if (logs.every((log) => log.blockHash === hash && log.height === height)) return logs;
    cut.at("inconsistent", height, `${access.rpc.name} was asked for logs of ${hash} and gave some of another block`);
    return [];
  }
  const receipts = (await provenReceiptsOf(access, [header.ref], cut)).get(height);
  if (receipts) return keepListed(receipts, contracts, range.facts);
  if (cut.keeps(height)) throw access.rpc.fault(`logs of block ${height}`, refusal);
  return [];
}

/** Whether the answering backend has the block that the range ends with. */
async function showsBlock(
  range: LogRange,
  answer: RpcAnswer | undefined,
  expected: BlockRef,
  from: number,
): Promise<boolean> {
  const { access, cut } = range;
  let shown = answer;
  if (shown === undefined || (!shown.ok && !isUnknownBlock(shown.failure))) {
    shown = await access.rpc.call("eth_getBlockByNumber", [toQuantity(expected.height), false]);
  }
  if (!shown.ok && !isUnknownBlock(shown.failure)) throw access.rpc.fault(`block ${expected.height}`, shown.failure);
  if (!shown.ok || shown.result === null) {
    const detail = `${access.rpc.name} answered for logs up to ${expected.height} without having that block`;
    cut.at("not_known", from, detail);
    return false;
  }
  const ref = parseRef(parseObject(shown.result, "block"));
  if (ref.hash === expected.hash) return true;
  const detail = `${access.rpc.name}: block ${expected.height} is ${ref.hash} beside the logs, ${expected.hash} before`;
  cut.at("inconsistent", from, detail);
  return false;
}

function filtersOf(contracts: ReadonlySet<string>): ReturnType<typeof transferFilter>[] {
  return chunked([...contracts], MAX_CONTRACTS_PER_FILTER).map(transferFilter);
}

function firstFailure(answers: readonly RpcAnswer[]): RpcFailure | null {
  for (const answer of answers) if (!answer.ok) return answer.failure;
  return null;
}

function headerAt(range: LogRange, height: number): RangeHeader {
  const header = range.headers[height - (range.headers[0]?.ref.height ?? 0)];
  if (header === undefined) throw new Error(`height ${height} is outside the range that was read`);
  return header;
}
