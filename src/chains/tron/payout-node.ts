/**
 * One TRON provider as the withdrawal line sees it: the calls of `ExpiringNode`, over java-tron's HTTP API. No answer is
 * used and nothing is sent before the provider has shown that it serves the right chain, and a send is exactly one request.
 */

import type { TronNetwork } from "../../core/network.ts";
import type { SendMeaning } from "../../core/send-answer.ts";
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
import type { ProviderSettings } from "../rpc/http-exchange.ts";
import { guarded } from "../rpc/malformed.ts";
import { inParallel } from "../rpc/parallel.ts";
import { addressOf } from "./answers.ts";
import { TronApi } from "./api.ts";
import { callConstant } from "./constant-call.ts";
import { deriveTronSigner } from "./derived-signer.ts";
import { look } from "./look.ts";
import { chainOf } from "./node.ts";
import { longestLife, type MakingAccess, makePayment, prepare } from "./prepare.ts";
import { readAccount } from "./resources.ts";
import { readSendAnswer } from "./send-answer.ts";
import { contractIn, readSigned } from "./signed-transaction.ts";
import { balanceOf } from "./token-balance.ts";

export type PayingNetwork = Pick<TronNetwork, "id" | "caip2" | "payout">;

const BALANCES_AT_ONCE = 4;

/** Everything of a TRON network that paying out takes. @throws Error for a URL that is none; the message does not show it. */
export function tronPayouts(providers: readonly ProviderSettings[], network: PayingNetwork): ExpiringChain {
  return {
    nodes: providers.map((provider) => new TronPayoutNode(provider, network)),
    longestLife: longestLife(network),
    signer: (seedHex, tenantId) => deriveTronSigner(seedHex, tenantId, network),
    read: readSigned,
  };
}

export class TronPayoutNode implements ExpiringNode {
  readonly name: string;
  readonly #api: TronApi;
  readonly #chain: ChainCheck;
  readonly #making: MakingAccess;

  /**
   * @param chance a number below 2^32, another one each time
   * @throws Error when the URL is none; the message does not show it.
   */
  constructor(provider: ProviderSettings, network: PayingNetwork, chance: () => number = anyNumber) {
    this.#api = new TronApi(provider);
    this.name = this.#api.name;
    this.#chain = new ChainCheck(network, this.name, () => chainOf(this.#api));
    this.#making = { api: this.#api, network, chance };
  }

  look(question: ExpiringQuestion): Promise<ExpiringLook> {
    return this.#guarded(() => look(this.#api, question));
  }

  prepare(intent: ExpiringIntent): Promise<Prepared> {
    return this.#guarded(() => prepare(this.#making, intent));
  }

  /** A token's transfer is tried on the newest block; nobody can be asked about TRX. */
  simulate(raw: string): ReturnType<ExpiringNode["simulate"]> {
    return this.#guarded(async () => {
      const contract = contractIn(raw);
      if (contract.kind !== "trigger") return null;
      const [owner, called] = [addressOf(contract.owner), addressOf(contract.contract)];
      if (owner === null || called === null) return { ok: false, detail: "it names no address" };
      const answer = await callConstant(this.#api, "wallet", { owner, contract: called, data: contract.data });
      return answer.ok ? { ok: true } : answer;
    });
  }

  async send(raw: string, txId: string): Promise<{ readonly meaning: SendMeaning; readonly text: string }> {
    try {
      await this.#chain.passed();
      const answer = await this.#api.tell("wallet/broadcasthex", { transaction: raw });
      if (answer.ok) {
        const { meaning, text } = readSendAnswer(answer.body, txId);
        return { meaning, text: this.#api.clean(text) };
      }
      const { kind, code, message } = answer.failure;
      // Any other status may come from a proxy in front of a node that has the bytes by now.
      return { meaning: kind === "status" && code === 429 ? "provider_unavailable" : "unknown", text: message };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return { meaning: this.#chain.refusal === null ? "unknown" : "setup_fault", text: this.#api.clean(text) };
    }
  }

  cost(intent: ExpiringIntent): Promise<ExpiringCost> {
    return this.#guarded(async () => {
      const { fees, problem } = await makePayment(this.#making, intent);
      return {
        nowUnits: fees.nowUnits,
        mostUnits: fees.mostUnits,
        parts: fees.parts,
        warning: problem?.detail ?? null,
      };
    });
  }

  balances(owner: string, contracts: readonly string[]): Promise<readonly (bigint | null)[]> {
    return this.#guarded(async () => {
      const { balanceUnits } = await readAccount(this.#api, "walletsolidity", owner);
      const tokens = await inParallel(BALANCES_AT_ONCE, contracts, (contract) =>
        balanceOf(this.#api, "walletsolidity", owner, contract),
      );
      return [balanceUnits, ...tokens];
    });
  }

  #guarded<T>(run: () => Promise<T>): Promise<T> {
    return guarded(this.#api, async () => {
      await this.#chain.passed();
      return run();
    });
  }
}

function anyNumber(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
}
