/**
 * One Bitcoin provider as the withdrawal line sees it: the calls of `CoinNode`, over Core's JSON-RPC. No answer is used
 * and nothing is sent before the provider has shown that it serves the right chain, and a send is exactly one request.
 * Neither an index of transactions nor a wallet is asked of the node.
 */

import { larger } from "../../core/amount.ts";
import { meaningOfCoinSend } from "../../core/coin-send-answer.ts";
import type { BitcoinNetwork } from "../../core/network.ts";
import type { SendReply } from "../../core/send-answer.ts";
import { ChainCheck } from "../chain-check.ts";
import {
  type CoinLook,
  type CoinNode,
  type CoinQuestion,
  type CoinRef,
  coinText,
  type SendAnswer,
  type UnspentCoin,
} from "../coin-payout.ts";
import { RpcClient } from "../rpc/client.ts";
import type { ProviderSettings } from "../rpc/http-exchange.ts";
import { guarded, MalformedAnswer, parseObject } from "../rpc/malformed.ts";
import type { RpcFailure } from "../rpc/rpc-failure.ts";
import { replyOf } from "../rpc/send-reply.ts";
import { parseHash, parseHeight } from "./answers.ts";
import { parseBtc } from "./btc-amount.ts";
import { coinCall, readCoinLook, resultOf } from "./coin-look.ts";
import { SpendSearch } from "./spend-search.ts";

export type CoinPayoutNetwork = Pick<BitcoinNetwork, "id" | "caip2" | "payout">;

/** A block of 4 MB, the largest there may be, is 8 MB of hex; what is longer is no answer to anything asked here. */
const MAX_ANSWER_BYTES = 9 * 1024 * 1024;
/** Digits of the genesis block's hash in a CAIP-2 name of bip122. */
const CHAIN_DIGITS = 32;
const TXID = /^[0-9a-fA-F]{64}$/;
const SCRIPT = /^([0-9a-f]{2})*$/;
/**
 * What a fee may be is settled when a transaction is made and when its signature is read back. Core's own limit (0.10
 * BTC per 1,000 vbytes unless given, 0: none) would refuse what was decided here. `maxburnamount` keeps its default of
 * nothing: no output of ours is unspendable.
 */
const NO_MAX_FEE_RATE = 0;
/**
 * Of Core's two ways to estimate, the one that heeds when fees fall: an attempt that offers too little is replaced,
 * what was paid too much is gone.
 */
const ESTIMATE_MODE = "economical";

export class BitcoinCoinNode implements CoinNode {
  readonly name: string;
  readonly #rpc: RpcClient;
  readonly #network: CoinPayoutNetwork;
  readonly #chain: ChainCheck;
  readonly #search = new SpendSearch();

  /** @throws Error when the URL is none; the message does not show it. */
  constructor(provider: ProviderSettings, network: CoinPayoutNetwork) {
    this.#rpc = new RpcClient({ ...provider, maxBodyBytes: MAX_ANSWER_BYTES });
    this.name = this.#rpc.name;
    this.#network = network;
    this.#chain = new ChainCheck(network, this.name, () => this.#askChain());
  }

  look(question: CoinQuestion): Promise<CoinLook> {
    return this.#guarded(() => readCoinLook(this.#rpc, this.#search, question));
  }

  unspent(refs: readonly CoinRef[]): Promise<ReadonlyMap<string, UnspentCoin | null>> {
    return this.#guarded(async () => {
      if (refs.length === 0) return new Map();
      const { answers } = await this.#rpc.batch(refs.map((ref) => coinCall(ref, true)));
      return new Map(
        refs.map((ref, i) => {
          const what = `coin ${coinText(ref)}`;
          return [coinText(ref), parseCoin(resultOf(this.#rpc, what, answers[i]), what)];
        }),
      );
    });
  }

  async send(raw: string, txId: string): Promise<SendAnswer> {
    try {
      await this.#chain.passed();
    } catch (error) {
      // Nothing was sent.
      const meaning = this.#chain.refusal === null ? "provider_unavailable" : "setup_fault";
      return { meaning, text: error instanceof Error ? error.message : String(error) };
    }
    const reply = await this.#sent(raw);
    return { meaning: meaningOfCoinSend(reply, txId), text: textOf(reply) };
  }

  quote(): ReturnType<CoinNode["quote"]> {
    return this.#guarded(async () => {
      const { answers } = await this.#rpc.together([
        { method: "estimatesmartfee", params: [this.#network.payout.feeTargetBlocks, ESTIMATE_MODE] },
        { method: "getmempoolinfo", params: [] },
      ]);
      const [estimated, pool] = answers;
      const info = parseObject(resultOf(this.#rpc, "pool info", pool), "pool info");
      return {
        estimate:
          estimated?.ok === false && isWithoutEstimates(estimated.failure)
            ? null
            : parseEstimate(resultOf(this.#rpc, "fee estimate", estimated)),
        floor: larger(parseBtc(info.mempoolminfee, "mempoolminfee"), parseBtc(info.minrelaytxfee, "minrelaytxfee")),
      };
    });
  }

  async #sent(raw: string): Promise<SendReply> {
    try {
      const answer = await this.#rpc.call("sendrawtransaction", [raw, NO_MAX_FEE_RATE]);
      if (!answer.ok) return replyOf(answer.failure);
      const { result } = answer;
      if (typeof result === "string" && TXID.test(result)) return { kind: "hash", hash: result };
      const got = this.#rpc.clean(JSON.stringify(result) ?? "nothing");
      return { kind: "no_answer", text: `expected a transaction id, got ${got}`, status: null };
    } catch (error) {
      return { kind: "no_answer", text: error instanceof Error ? error.message : String(error), status: null };
    }
  }

  async #askChain(): Promise<string> {
    const genesis = resultOf(this.#rpc, "genesis block", await this.#rpc.call("getblockhash", [0]));
    return `bip122:${parseHash(genesis, "genesis block").slice(0, CHAIN_DIGITS)}`;
  }

  #guarded<T>(run: () => Promise<T>): Promise<T> {
    return guarded(this.#rpc, async () => {
      await this.#chain.passed();
      return run();
    });
  }
}

function parseCoin(value: unknown, what: string): UnspentCoin | null {
  if (value === null) return null;
  const { value: amount, confirmations, scriptPubKey } = parseObject(value, what);
  const { hex } = parseObject(scriptPubKey, `${what} scriptPubKey`);
  if (typeof hex !== "string" || !SCRIPT.test(hex)) throw new MalformedAnswer(`${what} script`, "bytes in hex", hex);
  return {
    amountUnits: parseBtc(amount, `${what} value`),
    script: hex,
    depth: parseHeight(confirmations, `${what} confirmations`),
  };
}

/** Errors alone, and no rate: too few blocks were seen to say anything. */
function parseEstimate(value: unknown): bigint | null {
  const { feerate } = parseObject(value, "fee estimate");
  if (feerate === undefined || feerate === null) return null;
  const rate = parseBtc(feerate, "feerate");
  return rate > 0n ? rate : null;
}

/** A node that keeps no estimates at all (-blocksonly) says so in an error. */
function isWithoutEstimates({ kind, message }: RpcFailure): boolean {
  return kind === "rpc" && /fee estimation disabled/i.test(message);
}

function textOf(reply: SendReply): string {
  switch (reply.kind) {
    case "hash":
      return reply.hash;
    case "error":
      return `${reply.text} (code ${reply.code})`;
    case "no_answer":
      return reply.text;
  }
}
