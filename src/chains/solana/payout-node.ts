/**
 * One Solana provider as the withdrawal line sees it: the calls of `ExpiringNode`, over JSON-RPC. No answer is used and
 * nothing is sent before the provider has shown that it serves the right chain, and a send is exactly one request.
 */

import { hexToBytes } from "@noble/hashes/utils";
import { toBase64 } from "../../core/base64.ts";
import type { SolanaNetwork } from "../../core/network.ts";
import type { SendMeaning, SendReply } from "../../core/send-answer.ts";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../../core/solana-address.ts";
import { solanaMeaningOf } from "../../core/solana-send.ts";
import { ChainCheck } from "../chain-check.ts";
import type {
  ExpiringChain,
  ExpiringCost,
  ExpiringIntent,
  ExpiringLook,
  ExpiringNode,
  ExpiringQuestion,
  Prepared,
} from "../expiring-payout.ts";
import type { ChainNodesSettings } from "../nodes.ts";
import { RpcClient } from "../rpc/client.ts";
import type { ProviderSettings } from "../rpc/http-exchange.ts";
import { guarded } from "../rpc/malformed.ts";
import { chunked } from "../rpc/parallel.ts";
import { replyOf } from "../rpc/send-reply.ts";
import { FINALIZED } from "./answers.ts";
import { LATEST_LANDING_BLOCKS, lookForAttempts } from "./look.ts";
import { readAccounts, readMint, readTokenAccount } from "./mint.ts";
import { shownChain } from "./node.ts";
import { readPayment } from "./payment.ts";
import { destinationRefusal, estimateCost, prepare, simulateOn } from "./prepare.ts";
import { associatedAccount } from "./program-address.ts";
import { deriveSolanaSigner } from "./signer.ts";
import { Slots } from "./slots.ts";

export type PayoutNetwork = Pick<SolanaNetwork, "id" | "caip2" | "genesis">;

/** A blockhash is good for 150 blocks. Finality may stand still for three minutes more. */
const LONGEST_LIFE_BLOCKS = 600;
/** `getMultipleAccounts` takes 100: a mint, and the owner's account of it under either program. */
const CONTRACTS_PER_CALL = 33;

export class SolanaPayoutNode implements ExpiringNode {
  readonly name: string;
  readonly #rpc: RpcClient;
  readonly #slots: Slots;
  readonly #chain: ChainCheck;

  /** @throws Error when the URL is none; the message does not show it. */
  constructor(provider: ProviderSettings, network: PayoutNetwork) {
    this.#rpc = new RpcClient(provider);
    this.name = this.#rpc.name;
    this.#slots = new Slots(this.#rpc);
    this.#chain = new ChainCheck(network, this.name, () => shownChain(this.#rpc, network));
  }

  look(question: ExpiringQuestion): Promise<ExpiringLook> {
    return this.#guarded(() => lookForAttempts(this.#rpc, this.#slots, question));
  }

  prepare(intent: ExpiringIntent): Promise<Prepared> {
    return this.#guarded(() => prepare(this.#rpc, intent));
  }

  cost(intent: ExpiringIntent): Promise<ExpiringCost> {
    return this.#guarded(() => estimateCost(this.#rpc, intent));
  }

  destinationProblem(intent: ExpiringIntent): Promise<string | null> {
    return this.#guarded(() => destinationRefusal(this.#rpc, intent));
  }

  simulate(raw: string): ReturnType<ExpiringNode["simulate"]> {
    return this.#guarded(async () => {
      const simulated = await simulateOn(this.#rpc, toBase64(hexToBytes(raw)), { sigVerify: true });
      return simulated?.ok ? { ok: true } : simulated;
    });
  }

  /** Without preflight, and never repeated by the node on its own: who sends again is decided here. */
  async send(raw: string, txId: string): Promise<{ readonly meaning: SendMeaning; readonly text: string }> {
    const reply = await this.#reply(raw);
    const text = reply.kind === "hash" ? reply.hash : reply.text;
    return { meaning: solanaMeaningOf(reply, txId), text };
  }

  /** Of tokens, what lies in the owner's associated account: nothing else is paid from. */
  balances(owner: string, contracts: readonly string[]): Promise<readonly (bigint | null)[]> {
    return this.#guarded(async () => {
      const { accounts } = await readAccounts(this.#rpc, [owner], FINALIZED);
      const balances: (bigint | null)[] = [accounts[0]?.units ?? 0n];
      for (const some of chunked(contracts, CONTRACTS_PER_CALL)) balances.push(...(await this.#tokens(owner, some)));
      return balances;
    });
  }

  async #tokens(owner: string, contracts: readonly string[]): Promise<(bigint | null)[]> {
    const programs = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM];
    const asked = contracts.flatMap((mint) => [mint, ...programs.map((one) => associatedAccount(owner, one, mint))]);
    const { accounts } = await readAccounts(this.#rpc, asked, FINALIZED);
    return contracts.map((_, i) => {
      const [mint, ...holdings] = accounts.slice(3 * i, 3 * i + 3);
      const program = mint == null ? undefined : readMint(mint)?.program;
      if (program === undefined) return null;
      const holding = holdings[programs.indexOf(program)] ?? null;
      return holding === null ? 0n : (readTokenAccount(holding)?.units ?? 0n);
    });
  }

  async #reply(raw: string): Promise<SendReply> {
    try {
      await this.#chain.passed();
      const config = { encoding: "base64", skipPreflight: true, maxRetries: 0 };
      const answer = await this.#rpc.call("sendTransaction", [toBase64(hexToBytes(raw)), config]);
      if (!answer.ok) return replyOf(answer.failure);
      if (typeof answer.result === "string") return { kind: "hash", hash: this.#rpc.clean(answer.result) };
      const got = this.#rpc.clean(JSON.stringify(answer.result) ?? "nothing");
      return { kind: "no_answer", text: `expected a signature, got ${got}`, status: null };
    } catch (error) {
      if (this.#chain.refusal !== null) return { kind: "error", code: 0, text: `wrong chain: ${this.#chain.refusal}` };
      return { kind: "no_answer", text: error instanceof Error ? error.message : String(error), status: null };
    }
  }

  #guarded<T>(run: () => Promise<T>): Promise<T> {
    return guarded(this.#rpc, async () => {
      await this.#chain.passed();
      return run();
    });
  }
}

/** @throws Error for a URL that is none; the message does not show it. */
export function createSolanaChain({ settings, urls, fetch, timeoutMs }: ChainNodesSettings): ExpiringChain {
  if (settings.family !== "solana") throw new Error(`${settings.id} is no network of Solana`);
  return {
    nodes: urls.map((url) => new SolanaPayoutNode({ url, fetch, timeoutMs }, settings)),
    longestLife: LONGEST_LIFE_BLOCKS,
    signer: (seedHex, tenantId) => deriveSolanaSigner(seedHex, tenantId, settings.id),
    landsUntil: (finalHeight) => finalHeight + LATEST_LANDING_BLOCKS,
    read: readPayment,
  };
}
