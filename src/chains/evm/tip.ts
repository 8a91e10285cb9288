/**
 * Where a node's chain stands: one request, and in it what is likely to be asked for next. Near the head most polls
 * find no block or one, so the next block comes along with the head, instead of in a request of its own.
 */

import type { AskedWithTip, BlockRef, ChainTip } from "../port.ts";
import type { RpcAnswer } from "../rpc/client.ts";
import { isUnknownBlock } from "../rpc/rpc-failure.ts";
import type { NodeAccess } from "./access.ts";
import { blockCall } from "./headers.ts";
import { parseObject } from "./parse.ts";
import { parseRef } from "./records.ts";

/** @throws ChainFault, MalformedAnswer */
export async function readTip(access: NodeAccess, also?: AskedWithTip): Promise<ChainTip> {
  const { rpc } = access;
  // What came along with an earlier head may be of another branch by now.
  access.ahead = null;
  const next = access.takesAhead ? (also?.next ?? null) : null;
  const calls = [
    { method: "eth_getBlockByNumber", params: ["latest", false] },
    ...(next === null ? [] : [blockCall(next, also?.native ?? false)]),
    ...(also?.finalized === false ? [] : [{ method: "eth_getBlockByNumber", params: ["finalized", false] }]),
  ];
  const { answers } = await rpc.batch(calls);
  const [latest] = answers;
  if (latest === undefined) throw new Error("a call has an answer");
  if (!latest.ok) throw rpc.fault("latest block", latest.failure);
  const shown = parseRef(parseObject(latest.result, "latest block"));
  const head = next === null ? shown : (keepAhead(access, answers[1], next, also?.native ?? false, shown) ?? shown);
  const finalized = also?.finalized === false ? undefined : answers.at(-1);
  if (!finalized?.ok || finalized.result === null) return { head, finalized: null };
  const { height, hash } = parseRef(parseObject(finalized.result, "finalized block"));
  // Final beyond the head, or another block at its height: said by two backends that do not agree.
  const believable = height < head.height || (height === head.height && hash === head.hash);
  return { head, finalized: believable ? { height, hash } : null };
}

/** Keeps the block for whoever reads it. @returns it as the head when it was mined between two answers of the request */
function keepAhead(
  access: NodeAccess,
  answer: RpcAnswer | undefined,
  height: number,
  full: boolean,
  shown: BlockRef,
): BlockRef | null {
  if (answer?.ok === false && isUnknownBlock(answer.failure)) access.takesAhead = false;
  if (answer?.ok !== true || answer.result === null) return null;
  access.ahead = { height, full, block: answer.result };
  const ref = parseRef(parseObject(answer.result, `block ${height}`));
  return ref.height === shown.height + 1 && ref.parentHash === shown.hash ? ref : null;
}
