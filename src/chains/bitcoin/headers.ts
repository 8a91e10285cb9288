/**
 * Hashes and headers of consecutive heights. A height's hash is a node's word; the header behind it proves the hash,
 * each header names its parent, and the hash itself proves what the block cost. Lists end before the first height that
 * the node does not have.
 */

import type { LeastWork } from "../../core/network.ts";
import type { Cut } from "../cut.ts";
import type { BlockRef } from "../port.ts";
import type { RpcClient } from "../rpc/client.ts";
import { isUnknownBlock } from "../rpc/rpc-failure.ts";
import { faultOf, parseHash } from "./answers.ts";
import { type BlockHeader, readRawHeader } from "./block.ts";

export interface HeaderAccess {
  readonly rpc: RpcClient;
  readonly leastWork?: LeastWork | undefined;
}

/** Ascending, linked; shorter when the node does not have them all. @throws ChainFault, MalformedAnswer */
export async function readHeaders(access: HeaderAccess, from: number, to: number, cut: Cut): Promise<BlockRef[]> {
  const { rpc } = access;
  const hashes = await blockHashes(rpc, from, to, cut);
  const { answers } = await rpc.batch(hashes.map((hash) => ({ method: "getblockheader", params: [hash, false] })));
  const refs: BlockRef[] = [];
  for (const [i, answer] of answers.entries()) {
    const height = from + i;
    if (!answer.ok && !isUnknownBlock(answer.failure)) throw faultOf(rpc, `header ${height}`, answer.failure);
    if (!answer.ok) {
      cut.at("not_known", height, `${rpc.name} does not have the header of block ${height}`);
      break;
    }
    const ref = linkedRef(access, readRawHeader(answer.result), { height, hash: hashes[i] ?? "" }, refs.at(-1), cut);
    if (ref === null) break;
    refs.push(ref);
  }
  return refs;
}

/** On the node's own best chain. @throws ChainFault, MalformedAnswer */
export async function blockHashes(rpc: RpcClient, from: number, to: number, cut: Cut): Promise<string[]> {
  const calls = Array.from({ length: to - from + 1 }, (_, i) => ({ method: "getblockhash", params: [from + i] }));
  const { answers } = await rpc.batch(calls);
  const hashes: string[] = [];
  for (const [i, answer] of answers.entries()) {
    const height = from + i;
    if (!answer.ok && !isUnknownBlock(answer.failure)) throw faultOf(rpc, `hash of block ${height}`, answer.failure);
    if (!answer.ok) {
      cut.at("not_known", height, `${rpc.name} does not have block ${height}`);
      break;
    }
    hashes.push(parseHash(answer.result, `hash of block ${height}`));
  }
  return hashes;
}

/**
 * The header as a link of the chain; null, and a cut there, when it is not the one asked for, does not go on from
 * `parent`, or cost too little.
 */
export function linkedRef(
  { rpc, leastWork }: HeaderAccess,
  { hash, parentHash, timestamp }: BlockHeader,
  asked: { readonly height: number; readonly hash: string },
  parent: BlockRef | undefined,
  cut: Cut,
): BlockRef | null {
  const { height } = asked;
  if (hash !== asked.hash) {
    cut.at("inconsistent", height, `${rpc.name} was asked for block ${asked.hash} and gave ${hash}`);
    return null;
  }
  if (parent !== undefined && parentHash !== parent.hash) {
    const detail = `${rpc.name}: block ${height} names parent ${parentHash}, block ${height - 1} is ${parent.hash}`;
    cut.at("inconsistent", height, detail);
    return null;
  }
  if (costsTooLittle(leastWork, height, hash)) {
    cut.at("inconsistent", height, `${rpc.name}: block ${height} has the hash ${hash}, which took too little work`);
    return null;
  }
  return { height, hash, parentHash, timestamp };
}

/** Digits of one length and case: their order is that of the numbers. */
export function costsTooLittle(least: LeastWork | undefined, height: number, hash: string): boolean {
  return least !== undefined && height >= least.fromHeight && hash > least.highestHash;
}
