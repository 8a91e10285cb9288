/** What the network asks for gas now, in the model that the operator set for it. Wei per gas. */

import type { FeeQuote } from "../../core/fees.ts";
import type { EvmNetwork } from "../../core/network.ts";
import { ChainFault } from "../port.ts";
import type { RpcClient } from "../rpc/client.ts";
import { isMethodMissing } from "../rpc/rpc-failure.ts";
import { MalformedAnswer, parseAmountHex, parseList, parseObject } from "./parse.ts";

/** 1 gwei: what clients offered before there was a method to ask. */
const LEAST_TIP = 1_000_000_000n;
/** Blocks whose tips are looked at, and the share of their gas that paid less, in percent. */
const HISTORY_BLOCKS = 5;
const HISTORY_PERCENTILE = 50;

/** @throws ChainFault, MalformedAnswer */
export async function readFeeQuote(rpc: RpcClient, network: Pick<EvmNetwork, "id" | "payout">): Promise<FeeQuote> {
  switch (network.payout.feeModel) {
    case "eip1559":
      return readMarket(rpc, network.id);
    case "legacy": {
      const answer = await rpc.call("eth_gasPrice", []);
      if (!answer.ok) throw rpc.fault("gas price", answer.failure);
      return { kind: "legacy", gasPrice: BigInt(parseAmountHex(answer.result, "gas price")) };
    }
  }
}

async function readMarket(rpc: RpcClient, networkId: string): Promise<FeeQuote> {
  const { answers } = await rpc.batch([
    { method: "eth_getBlockByNumber", params: ["latest", false] },
    { method: "eth_maxPriorityFeePerGas", params: [] },
  ]);
  const [latest, tip] = answers;
  if (latest === undefined || tip === undefined) throw new Error("two calls have two answers");
  if (!latest.ok) throw rpc.fault("latest block", latest.failure);
  const { baseFeePerGas } = parseObject(latest.result, "latest block");
  if (baseFeePerGas === undefined || baseFeePerGas === null) {
    const message = `${rpc.name}: blocks of network ${networkId} have no base fee; its fee_model must be "legacy"`;
    throw new ChainFault(message, false, rpc.name);
  }
  if (!tip.ok && !isMethodMissing(tip.failure)) throw rpc.fault("priority fee", tip.failure);
  return {
    kind: "eip1559",
    baseFee: BigInt(parseAmountHex(baseFeePerGas, "base fee")),
    priorityFee: tip.ok ? BigInt(parseAmountHex(tip.result, "priority fee")) : await recentTip(rpc),
  };
}

/** The middle one of the tips paid in the latest blocks, for nodes that suggest none. */
async function recentTip(rpc: RpcClient): Promise<bigint> {
  const answer = await rpc.call("eth_feeHistory", [`0x${HISTORY_BLOCKS.toString(16)}`, "latest", [HISTORY_PERCENTILE]]);
  if (!answer.ok && isMethodMissing(answer.failure)) return LEAST_TIP;
  if (!answer.ok) throw rpc.fault("fee history", answer.failure);
  const { reward } = parseObject(answer.result, "fee history");
  if (reward === undefined || reward === null) return LEAST_TIP;
  const tips = parseList(reward, "fee history reward").map((block) => {
    const [tip] = parseList(block, "rewards of a block");
    if (tip === undefined) throw new MalformedAnswer("rewards of a block", "one percentile", block);
    return BigInt(parseAmountHex(tip, "reward"));
  });
  // Blocks without a transaction show a tip of zero, which pools do not take.
  const paid = tips.filter((tip) => tip > 0n).sort((a, b) => (a < b ? -1 : 1));
  return paid[Math.floor(paid.length / 2)] ?? LEAST_TIP;
}
