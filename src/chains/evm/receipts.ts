/**
 * Receipts, whole blocks of them proven against the header, or single ones checked to be of the block they are
 * wanted for. A receipt that is not there, or is of another block, says that this node is not ready: the
 * block is not done (never that it holds nothing).
 */

import type { Cut } from "../cut.ts";
import type { BlockRef } from "../port.ts";
import { chunked } from "../rpc/parallel.ts";
import { isMethodMissing, isTimeout, isTooMuch, isUnknownBlock, type RpcFailure } from "../rpc/rpc-failure.ts";
import type { NodeAccess } from "./access.ts";
import { parseList } from "./parse.ts";
import { proveReceipts } from "./receipt-proof.ts";
import { type Block, parseBlock, parseReceipt, type Receipt } from "./records.ts";

/** Not every client has it. */
export const BLOCK_RECEIPTS = "eth_getBlockReceipts";
/** Blocks whose receipts are asked for in one request. */
const BLOCKS_PER_REQUEST = 32;

/**
 * Proven receipts by height; heights that could not be proven are cut. One request for up to 32 blocks
 * where the node has `eth_getBlockReceipts`, otherwise a receipt for each transaction.
 */
export async function provenReceipts(
  access: NodeAccess,
  blocks: readonly Block[],
  cut: Cut,
): Promise<Map<number, readonly Receipt[]>> {
  const proven = new Map<number, readonly Receipt[]>();
  for (const chunk of chunked(blocks, BLOCKS_PER_REQUEST)) {
    const wanted = chunk.filter((block) => cut.keeps(block.ref.height));
    const given = access.missing.has(BLOCK_RECEIPTS) ? null : await blockReceipts(access, wanted, cut);
    for (const block of wanted) {
      if (!cut.keeps(block.ref.height)) continue;
      const whole = given?.get(block.ref.height);
      const receipts = whole ? provenOrCut(access, block, whole, cut) : await provenReceiptsSingly(access, block, cut);
      if (receipts) proven.set(block.ref.height, receipts);
    }
  }
  return proven;
}

/** As `provenReceipts`, for blocks of which only the reference was kept. */
export async function provenReceiptsOf(
  access: NodeAccess,
  refs: readonly BlockRef[],
  cut: Cut,
): Promise<Map<number, readonly Receipt[]>> {
  const calls = refs.map((ref) => ({ method: "eth_getBlockByHash", params: [ref.hash, false] }));
  const { answers } = await access.rpc.batch(calls);
  const blocks: Block[] = [];
  for (const [i, ref] of refs.entries()) {
    const answer = answers[i];
    if (answer?.ok && answer.result !== null) {
      const block = parseBlock(answer.result, false);
      if (block.ref.hash === ref.hash && block.ref.height === ref.height) blocks.push(block);
      else
        cut.at("inconsistent", ref.height, `${access.rpc.name} was asked for ${ref.hash} and gave ${block.ref.hash}`);
    } else if (answer === undefined || answer.ok || isUnknownBlock(answer.failure)) {
      cut.at("not_known", ref.height, `${access.rpc.name} does not have block ${ref.hash}`);
    } else throw access.rpc.fault(`block ${ref.hash}`, answer.failure);
  }
  return provenReceipts(access, blocks, cut);
}

/**
 * Receipts of single transactions, each checked to be of `ref`. Transactions whose receipt is not there cut
 * their block.
 */
export async function receiptsOf(
  access: NodeAccess,
  wanted: readonly { readonly ref: BlockRef; readonly txHash: string }[],
  cut: Cut,
): Promise<Receipt[]> {
  const calls = wanted.map(({ txHash }) => ({ method: "eth_getTransactionReceipt", params: [txHash] }));
  const { answers } = await access.rpc.batch(calls);
  const receipts: Receipt[] = [];
  for (const [i, { ref, txHash }] of wanted.entries()) {
    const answer = answers[i];
    if (answer === undefined)
      throw new Error(`${wanted.length} receipts were asked for, got ${answers.length} answers`);
    if (!answer.ok) throw access.rpc.fault(`receipt of ${txHash}`, answer.failure);
    if (answer.result === null) {
      cut.at("not_known", ref.height, `${access.rpc.name} has no receipt of ${txHash} in block ${ref.hash}`);
      continue;
    }
    const receipt = parseReceipt(answer.result);
    if (receipt.txHash !== txHash) {
      cut.at("inconsistent", ref.height, `${access.rpc.name} was asked for ${txHash} and gave ${receipt.txHash}`);
    } else if (receipt.blockHash !== ref.hash) {
      const detail = `${access.rpc.name}: receipt of ${txHash} is of block ${receipt.blockHash}, not ${ref.hash}`;
      cut.at("not_known", ref.height, detail);
    } else receipts.push(receipt);
  }
  return receipts;
}

/**
 * What `eth_getBlockReceipts` gives, by height, unproven. Heights are absent when the node has the block
 * without receipts (they are cut), has no such method (which is remembered), or does not give a block's in one
 * answer.
 */
export async function blockReceipts(
  access: NodeAccess,
  blocks: readonly { readonly ref: BlockRef }[],
  cut: Cut,
): Promise<Map<number, readonly Receipt[]>> {
  const given = new Map<number, readonly Receipt[]>();
  const calls = blocks.map(({ ref }) => ({ method: BLOCK_RECEIPTS, params: [ref.hash] }));
  const { answers } = await access.rpc.batch(calls);
  for (const [i, { ref }] of blocks.entries()) {
    const answer = answers[i];
    if (answer?.ok && answer.result !== null) {
      given.set(ref.height, parseList(answer.result, `receipts of block ${ref.height}`).map(parseReceipt));
    } else if (answer === undefined || answer.ok || isUnknownBlock(answer.failure)) {
      cut.at("not_known", ref.height, `${access.rpc.name} has no receipts of block ${ref.hash}`);
    } else if (isMethodMissing(answer.failure)) {
      access.missing.add(BLOCK_RECEIPTS);
    } else if (mayComeSingly(answer.failure)) {
      // The receipts come one by one then.
    } else throw access.rpc.fault(`receipts of block ${ref.height}`, answer.failure);
  }
  return given;
}

/** Too much for one answer, or -32602 of older Erigon and Besu, which know the method, but not by hash. */
function mayComeSingly(failure: RpcFailure): boolean {
  return isTooMuch(failure) || isTimeout(failure) || (failure.kind === "rpc" && failure.code === -32602);
}

/** A block's receipts, asked for one transaction at a time, proven together; null when the block was cut. */
export async function provenReceiptsSingly(
  access: NodeAccess,
  block: Block,
  cut: Cut,
): Promise<readonly Receipt[] | null> {
  const wanted = block.txHashes.map((txHash) => ({ ref: block.ref, txHash }));
  const receipts = await receiptsOf(access, wanted, cut);
  return cut.keeps(block.ref.height) ? provenOrCut(access, block, receipts, cut) : null;
}

/** The block's receipts in order when they are proven; otherwise the block is cut. */
export function provenOrCut(
  access: NodeAccess,
  block: Block,
  receipts: readonly Receipt[],
  cut: Cut,
): readonly Receipt[] | null {
  const proof = proveReceipts(block, receipts);
  if (proof.ok) return proof.receipts;
  cut.at(proof.reason, block.ref.height, `${access.rpc.name}: ${proof.detail}`);
  return null;
}
