/**
 * One EVM provider as the withdrawal line sees it: the calls of `PayoutNode`, over JSON-RPC. No answer is used
 * and nothing is sent before the provider has shown that it serves the right chain, and a send is exactly one request.
 */

import type { FeeQuote } from "../../core/fees.ts";
import type { EvmNetwork } from "../../core/network.ts";
import type { SendReply } from "../../core/send-answer.ts";
import type { WalletLook, WalletQuestion } from "../../core/wallet-look.ts";
import { ChainCheck } from "../chain-check.ts";
import type { Call, GasEstimate, PayoutNode } from "../payout.ts";
import { RpcClient } from "../rpc/client.ts";
import type { ProviderSettings } from "../rpc/http-exchange.ts";
import { guarded } from "../rpc/malformed.ts";
import { isExecutionFailure, type RpcFailure } from "../rpc/rpc-failure.ts";
import { replyOf } from "../rpc/send-reply.ts";
import { findConsumer } from "./consumer.ts";
import { readFeeQuote } from "./fee-quote.ts";
import { balanceOfCall } from "./intent.ts";
import { parseAmountHex, parseData, parseQuantity } from "./parse.ts";
import { readWalletLook } from "./wallet-look.ts";

export type PayoutNetwork = Pick<EvmNetwork, "id" | "caip2" | "finality" | "reorgWindow" | "payout">;

const HASH = /^0x[0-9a-fA-F]{64}$/;
/** `0x` and one word of an ABI answer. */
const WORD_CHARS = 66;

export class EvmPayoutNode implements PayoutNode {
  readonly name: string;
  readonly #rpc: RpcClient;
  readonly #network: PayoutNetwork;
  readonly #chain: ChainCheck;

  /** @throws Error when the URL is none; the message does not show it. */
  constructor(provider: ProviderSettings, network: PayoutNetwork) {
    this.#rpc = new RpcClient(provider);
    this.name = this.#rpc.name;
    this.#network = network;
    this.#chain = new ChainCheck(network, this.name, () => this.#askChain());
  }

  look(question: WalletQuestion): Promise<WalletLook> {
    return this.#guarded(() => readWalletLook(this.#rpc, this.#network, question));
  }

  async send(raw: string): Promise<SendReply> {
    try {
      await this.#chain.passed();
      const answer = await this.#rpc.call("eth_sendRawTransaction", [raw]);
      if (!answer.ok) return replyOf(answer.failure);
      const { result } = answer;
      if (typeof result === "string" && HASH.test(result)) return { kind: "hash", hash: result.toLowerCase() };
      const got = this.#rpc.clean(JSON.stringify(result) ?? "nothing");
      return { kind: "no_answer", text: `expected a transaction hash, got ${got}`, status: null };
    } catch (error) {
      if (this.#chain.refusal !== null)
        return { kind: "error", code: 0, text: `wrong chainid: ${this.#chain.refusal}` };
      return { kind: "no_answer", text: error instanceof Error ? error.message : String(error), status: null };
    }
  }

  quote(): Promise<FeeQuote> {
    return this.#guarded(() => readFeeQuote(this.#rpc, this.#network));
  }

  estimate({ sender, to, valueUnits, data }: Call): Promise<GasEstimate> {
    return this.#guarded(async () => {
      const call = { from: sender, to, value: `0x${valueUnits.toString(16)}`, data };
      const answer = await this.#rpc.call("eth_estimateGas", [call, "latest"]);
      if (answer.ok) return { ok: true, gas: BigInt(parseAmountHex(answer.result, "gas estimate")) };
      if (isRevert(answer.failure)) return { ok: false, detail: answer.failure.message };
      throw this.#rpc.fault("gas estimate", answer.failure);
    });
  }

  balances(owner: string, contracts: readonly string[]): Promise<readonly (bigint | null)[]> {
    return this.#guarded(async () => {
      const { answers } = await this.#rpc.batch([
        { method: "eth_getBalance", params: [owner, "latest"] },
        ...contracts.map((to) => ({ method: "eth_call", params: [{ to, data: balanceOfCall(owner) }, "latest"] })),
      ]);
      return answers.map((answer, index) => {
        const what = index === 0 ? `balance of ${owner}` : `balance of ${owner} in ${contracts[index - 1]}`;
        // One contract that is broken must not hide what the others say.
        if (!answer.ok && index > 0 && isExecutionFailure(answer.failure)) return null;
        if (!answer.ok) throw this.#rpc.fault(what, answer.failure);
        if (index === 0) return BigInt(parseAmountHex(answer.result, what));
        const returned = parseData(answer.result, what);
        return returned.length < WORD_CHARS ? null : BigInt(returned.slice(0, WORD_CHARS));
      });
    });
  }

  consumerOf(sender: string, nonce: number, from: number, to: number): ReturnType<PayoutNode["consumerOf"]> {
    return this.#guarded(() => findConsumer(this.#rpc, { sender, nonce, from, to }));
  }

  async #askChain(): Promise<string> {
    const answer = await this.#rpc.call("eth_chainId", []);
    if (!answer.ok) throw this.#rpc.fault("chain id", answer.failure);
    return `eip155:${parseQuantity(answer.result, "chain id")}`;
  }

  #guarded<T>(run: () => Promise<T>): Promise<T> {
    return guarded(this.#rpc, async () => {
      await this.#chain.passed();
      return run();
    });
  }
}

/**
 * Whether the execution itself says no. A wallet that cannot pay for the gas is no such case: it passes with a
 * top-up, and some nodes word it as running out of gas.
 */
function isRevert(failure: RpcFailure): boolean {
  if (failure.code === 3 || /revert/i.test(failure.message)) return isExecutionFailure(failure);
  if (/insufficient (funds|balance|sender balance)|exceeds allowance/i.test(failure.message)) return false;
  return isExecutionFailure(failure);
}
