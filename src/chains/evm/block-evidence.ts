/**
 * The listed Transfers of blocks near the head. What stands in receipts that are proven against the header is
 * complete; where a node has no `eth_getBlockReceipts`, logs by the block's hash have to do, and an empty answer
 * that the header's bloom contradicts is settled by the receipts of every transaction.
 */

import { TRANSFER_TOPIC } from "../../core/transfer-log.ts";
import type { Cut } from "../cut.ts";
import type { RpcAnswer } from "../rpc/client.ts";
import { chunked } from "../rpc/parallel.ts";
import { isUnknownBlock } from "../rpc/rpc-failure.ts";
import type { NodeAccess } from "./access.ts";
import { bloomMayHold, bloomMayHoldTransfer } from "./bloom.ts";
import { parseList } from "./parse.ts";
import { BLOCK_RECEIPTS, blockReceipts, provenOrCut, provenReceiptsSingly } from "./receipts.ts";
import { type Block, type Log, parseLog, type Receipt } from "./records.ts";
import { isListedTransfer } from "./transfer-log.ts";
import { factsOf, type TxFacts } from "./tx-facts.ts";

/** Contracts in one filter. Vendors refuse longer lists at various lengths. */
export const MAX_CONTRACTS_PER_FILTER = 500;

export interface BlockEvidence {
  /** Every Transfer of a listed contract, in chain order. */
  readonly logs: Log[];
  /** By transaction hash. All transactions with a log above, unless they came from a filter. */
  readonly facts: Map<string, TxFacts>;
}

/** Heights that cannot be settled are cut. @throws ChainFault, MalformedAnswer */
export async function evidenceOf(
  access: NodeAccess,
  blocks: readonly Block[],
  contracts: ReadonlySet<string>,
  cut: Cut,
): Promise<BlockEvidence> {
  const byHeight = new Map<number, readonly Log[]>();
  const facts = new Map<string, TxFacts>();
  const keep = (height: number, receipts: readonly Receipt[]) => {
    byHeight.set(height, keepListed(receipts, contracts, facts));
  };
  const given = access.missing.has(BLOCK_RECEIPTS) ? new Map() : await blockReceipts(access, blocks, cut);
  const rest: Block[] = [];
  for (const block of blocks) {
    const receipts = given.get(block.ref.height);
    if (receipts === undefined) {
      if (cut.keeps(block.ref.height)) rest.push(block);
      continue;
    }
    const proven = provenOrCut(access, block, receipts, cut);
    if (proven) keep(block.ref.height, proven);
  }
  const filtered = await logsByHash(access, rest, contracts, cut);
  for (const block of rest) {
    const logs = filtered.get(block.ref.height);
    if (!cut.keeps(block.ref.height)) continue;
    const denied = logs?.find((log) => !bloomMayHold(block.bloom, log.address));
    const contradicts = denied !== undefined || (logs?.length === 0 && bloomMayHoldTransfer(block.bloom, contracts));
    if (logs !== undefined && !contradicts) {
      byHeight.set(block.ref.height, logs);
      continue;
    }
    const receipts = await provenReceiptsSingly(access, block, cut);
    if (receipts) keep(block.ref.height, receipts);
  }
  return { logs: blocks.flatMap((block) => byHeight.get(block.ref.height) ?? []), facts };
}

/** Remembers what matters of each receipt with listed Transfers, and gives those Transfers in chain order. */
export function keepListed(
  receipts: readonly Receipt[],
  contracts: ReadonlySet<string>,
  facts: Map<string, TxFacts>,
): Log[] {
  const logs: Log[] = [];
  for (const receipt of receipts) {
    const known = factsOf(receipt, contracts);
    facts.set(receipt.txHash, known);
    logs.push(...known.transfers.values());
  }
  return logs;
}

export function transferFilter(contracts: readonly string[]): {
  address: readonly string[];
  topics: readonly string[][];
} {
  // An empty list means "nothing" to one client and "everything" to another.
  if (contracts.length === 0) throw new Error("a log filter names at least one contract");
  return { address: contracts, topics: [[TRANSFER_TOPIC]] };
}

/** Listed Transfers of an answer to `eth_getLogs`, by log index; whatever was not asked for is left out. */
export function listedLogs(answer: unknown, contracts: ReadonlySet<string>): Log[] {
  return parseList(answer, "logs")
    .map(parseLog)
    .filter((log) => isListedTransfer(log, contracts));
}

/** By height; a height is absent when the node refused the filter. */
async function logsByHash(
  access: NodeAccess,
  blocks: readonly Block[],
  contracts: ReadonlySet<string>,
  cut: Cut,
): Promise<Map<number, readonly Log[]>> {
  const filters = chunked([...contracts], MAX_CONTRACTS_PER_FILTER).map(transferFilter);
  const asked = blocks.flatMap((block) => filters.map((filter) => ({ block, filter })));
  const calls = asked.map(({ block, filter }) => ({
    method: "eth_getLogs",
    params: [{ blockHash: block.ref.hash, ...filter }],
  }));
  const { answers } = await access.rpc.batch(calls);
  const found = new Map<number, Log[]>(blocks.map((block) => [block.ref.height, []]));
  for (const [i, { block }] of asked.entries()) {
    const { height, hash } = block.ref;
    const logs = readFiltered(answers[i], contracts);
    if (logs === "unknown_block") cut.at("not_known", height, `${access.rpc.name} does not have block ${hash}`);
    else if (logs === "refused") found.delete(height);
    else {
      const foreign = logs.find((log) => log.blockHash !== hash || log.height !== height);
      if (foreign) {
        cut.at(
          "inconsistent",
          height,
          `${access.rpc.name} was asked for logs of ${hash} and gave one of ${foreign.blockHash}`,
        );
      }
      found.get(height)?.push(...logs);
    }
  }
  for (const logs of found.values()) logs.sort((a, b) => a.logIndex - b.logIndex);
  return found;
}

function readFiltered(
  answer: RpcAnswer | undefined,
  contracts: ReadonlySet<string>,
): Log[] | "unknown_block" | "refused" {
  if (answer?.ok) return listedLogs(answer.result, contracts);
  return answer && isUnknownBlock(answer.failure) ? "unknown_block" : "refused";
}
