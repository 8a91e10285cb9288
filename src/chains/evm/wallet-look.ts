/**
 * One provider's look at one hot wallet, in two requests. Each of them is answered by one backend as far as the
 * provider keeps a batch together: a nonce of one backend beside the receipts of another would make our own
 * transaction look like a stranger's.
 *
 * A receipt counts only when the header at its height, asked for afterwards, is the block that it names.
 */

import type { NetworkSettings } from "../../core/network.ts";
import type { MinedReceipt, WalletLook, WalletQuestion } from "../../core/wallet-look.ts";
import type { BlockRef } from "../port.ts";
import type { RpcAnswer, RpcCall, RpcClient } from "../rpc/client.ts";
import { isUnknownBlock } from "../rpc/rpc-failure.ts";
import { MalformedAnswer, parseAmountHex, parseObject, parseQuantity, toQuantity } from "./parse.ts";
import { parseReceipt, parseRef } from "./records.ts";

type LookNetwork = Pick<NetworkSettings, "finality" | "reorgWindow">;

/** What the first request says. Receipts are as given, on the best chain or not. */
interface Standing {
  readonly head: number;
  readonly finalHeight: number;
  readonly nonceLatest: number;
  readonly noncePending: number;
  readonly receipts: readonly MinedReceipt[];
}

/** @throws ChainFault, MalformedAnswer */
export async function readWalletLook(
  rpc: RpcClient,
  network: LookNetwork,
  question: WalletQuestion,
): Promise<WalletLook> {
  const standing = await readStanding(rpc, network, question);
  const { head, finalHeight, nonceLatest, noncePending, receipts } = standing;
  const heights = new Set([...receipts.map(({ height }) => height), ...question.heights]);
  // Above the head of this look nothing is asked for, and so no receipt from there counts.
  const asked = [...heights].filter((height) => height <= head);
  const { blocks, nonceFinal } = await readGround(rpc, question.sender, asked, finalHeight);
  const isOnChain = ({ height, blockHash }: MinedReceipt) => blocks.get(height) === blockHash;
  // A receipt of a final block that the headers do not know: the two requests speak of two chains, and the
  // nonce of one with the missing receipt of the other must not meet.
  const isTorn = receipts.some((receipt) => receipt.height <= finalHeight && !isOnChain(receipt));
  return {
    head,
    finalHeight,
    nonceLatest,
    noncePending,
    nonceFinal: isTorn ? null : nonceFinal,
    receipts: new Map(receipts.filter(isOnChain).map((receipt) => [receipt.txId, receipt])),
    blocks,
  };
}

/**
 * The head is asked for first and what is final last: everything in a block up to the head, and so everything
 * final, was there to be seen when the receipts were read.
 */
async function readStanding(
  rpc: RpcClient,
  network: LookNetwork,
  { sender, hashes }: WalletQuestion,
): Promise<Standing> {
  const calls: RpcCall[] = [
    blockCall("latest"),
    { method: "eth_getTransactionCount", params: [sender, "latest"] },
    { method: "eth_getTransactionCount", params: [sender, "pending"] },
    ...hashes.map((hash) => ({ method: "eth_getTransactionReceipt", params: [hash] })),
  ];
  if (network.finality === "tag") calls.push(blockCall("finalized"));
  const { answers } = await rpc.together(calls);
  const head = parseHeader(resultOf(rpc, "latest block", answers[0]));
  const nonceLatest = parseQuantity(resultOf(rpc, "nonce", answers[1]), "nonce");
  const pending = answers[2];
  // Without its pool a provider knows of no more than is mined.
  const noncePending = pending?.ok ? parseQuantity(pending.result, "pending nonce") : nonceLatest;
  return {
    head: head.height,
    finalHeight: network.finality === "tag" ? finalizedBelow(head, answers.at(-1)) : depthFinal(head, network),
    nonceLatest,
    noncePending: Math.max(nonceLatest, noncePending),
    receipts: hashes.flatMap((hash, i) => parseMined(resultOf(rpc, `receipt of ${hash}`, answers[3 + i]), hash) ?? []),
  };
}

function depthFinal(head: BlockRef, { reorgWindow }: LookNetwork): number {
  return Math.max(-1, head.height - reorgWindow);
}

/** -1 when the provider names none, or one beyond the head or beside it: two backends that do not agree. */
function finalizedBelow(head: BlockRef, answer: RpcAnswer | undefined): number {
  if (!answer?.ok || answer.result === null) return -1;
  const { height, hash } = parseHeader(answer.result);
  return height < head.height || (height === head.height && hash === head.hash) ? height : -1;
}

/** Hashes of the best chain at these heights, and the nonce at the final one. */
async function readGround(
  rpc: RpcClient,
  sender: string,
  heights: readonly number[],
  finalHeight: number,
): Promise<Pick<WalletLook, "blocks" | "nonceFinal">> {
  const calls = heights.map((height) => blockCall(toQuantity(height)));
  if (finalHeight >= 0) calls.push({ method: "eth_getTransactionCount", params: [sender, toQuantity(finalHeight)] });
  const { answers } = await rpc.together(calls);
  const blocks = new Map<number, string>();
  for (const [i, height] of heights.entries()) {
    const answer = answers[i];
    if (answer?.ok === false && isUnknownBlock(answer.failure)) continue;
    const result = resultOf(rpc, `block ${height}`, answer);
    if (result === null) continue;
    const header = parseHeader(result);
    if (header.height !== height) throw new MalformedAnswer("block", `block ${height}`, header.height);
    blocks.set(height, header.hash);
  }
  const counted = finalHeight >= 0 ? answers.at(-1) : undefined;
  // Its state may be gone, or out of the plan: this provider cannot tell, and says so.
  return { blocks, nonceFinal: counted?.ok ? parseQuantity(counted.result, "final nonce") : null };
}

/** @returns null when the transaction is in no block */
function parseMined(value: unknown, hash: string): MinedReceipt | null {
  if (value === null) return null;
  const fields = parseObject(value, "receipt");
  // Some nodes give a receipt of what is still in their pool.
  if (fields.blockHash === null) return null;
  const { txHash, blockHash, status, logs } = parseReceipt(fields);
  const what = `receipt ${hash}`;
  if (txHash !== hash) throw new MalformedAnswer(what, `that of ${hash}`, txHash);
  if (status === null) throw new MalformedAnswer(`${what} status`, "0x0 or 0x1", fields.status);
  const gasUsed = BigInt(parseAmountHex(fields.gasUsed, `${what} gasUsed`));
  const gasPrice = BigInt(parseAmountHex(fields.effectiveGasPrice, `${what} effectiveGasPrice`));
  // OP Stack: what the rollup paid to its parent chain comes on top. Elsewhere absent.
  const isRollup = fields.l1Fee !== undefined && fields.l1Fee !== null;
  const parentFee = isRollup ? BigInt(parseAmountHex(fields.l1Fee, `${what} l1Fee`)) : 0n;
  return {
    txId: hash,
    height: parseQuantity(fields.blockNumber, `${what} blockNumber`),
    blockHash,
    success: status === 1,
    feeUnits: gasUsed * gasPrice + parentFee,
    logs: logs.map(({ address, topics, data }) => ({ address, topics, data })),
  };
}

function parseHeader(value: unknown): BlockRef {
  return parseRef(parseObject(value, "block"));
}

function blockCall(tag: string): RpcCall {
  return { method: "eth_getBlockByNumber", params: [tag, false] };
}

function resultOf(rpc: RpcClient, what: string, answer: RpcAnswer | undefined): unknown {
  if (answer === undefined) throw new Error(`${what}: every call has an answer`);
  if (!answer.ok) throw rpc.fault(what, answer.failure);
  return answer.result;
}
