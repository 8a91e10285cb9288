/**
 * Providers of the model chain, and the ways in which they fail: each request draws what befalls it, and
 * some providers stand behind the head or on another fork for a while.
 */

import type { ModelChain } from "../support/model-chain.ts";
import { type WalletChain, WalletNode } from "../support/wallet-chain.ts";
import type { DrawnFates } from "./fates.ts";
import type { Network, Reply } from "./network.ts";
import type { World } from "./world/world.ts";

const MAX_LAG = 4;

/** What one provider does to one request that is not a send. */
type ReadFault =
  | "unreachable"
  | "silent"
  | "status_500"
  | "status_429"
  | "malformed"
  | "limit_error"
  | "null_results"
  | "cut_lists"
  | "one_missing";
const READ_FAULTS: readonly ReadFault[] = [
  "unreachable",
  "silent",
  "status_500",
  "status_429",
  "malformed",
  "limit_error",
  "null_results",
  "cut_lists",
  "one_missing",
];

/** What one provider does to one send. */
type SendFault =
  | "taken_then_silent"
  | "taken_then_unreachable"
  | "taken_then_error"
  | "not_taken_silent"
  | "not_taken_hash"
  | "turned_away_429"
  | "pool_full";
const SEND_FAULTS: readonly SendFault[] = [
  "taken_then_silent",
  "taken_then_unreachable",
  "taken_then_error",
  "not_taken_silent",
  "not_taken_hash",
  "turned_away_429",
  "pool_full",
];

export class Provider {
  readonly node: WalletNode;
  readonly #name: string;
  readonly #fates: DrawnFates;
  readonly #world: World;
  readonly #best: ModelChain;
  /** Called with every signed transaction that reaches a provider, before anything becomes of it. */
  onSend: (raw: string) => void = () => {};

  constructor(world: World, network: Network, fates: DrawnFates, wallets: WalletChain, name: string) {
    this.node = new WalletNode(wallets);
    this.#name = name;
    this.#world = world;
    this.#fates = fates;
    this.#best = wallets.chain;
    network.serve(name, ({ body }) => this.#answer(body));
  }

  /** Falls behind the head, or catches up. Called as blocks come. */
  drift(): void {
    const { node } = this;
    if (node.lag > 0) node.lag = this.#world.dice.chance(0.5) ? 0 : node.lag - 1;
    else if (this.#fates.strikes("nodeLag", this.#name)) node.lag = this.#world.dice.between(1, MAX_LAG);
    node.lag = Math.min(node.lag, this.#best.head);
  }

  heal(): void {
    this.node.lag = 0;
  }

  async #answer(body: string): Promise<Reply> {
    const raw = /"eth_sendRawTransaction","params":\["(0x[0-9a-f]+)"/.exec(body)?.[1];
    if (raw !== undefined) {
      this.onSend(raw);
      return this.#fates.strikes("sendFault", this.#name) ? this.#mistreatSend(body) : this.#honest(body);
    }
    return this.#fates.strikes("nodeFault", this.#name) ? this.#mistreat(body) : this.#honest(body);
  }

  async #honest(body: string): Promise<Reply> {
    return { kind: "answer", status: 200, body: await (await this.node.answer(body)).text() };
  }

  async #mistreatSend(body: string): Promise<Reply> {
    const fault = this.#world.dice.pick(SEND_FAULTS);
    this.#fates.reach.count(`send ${fault}`);
    this.#world.note(`${this.#name} ${fault}`);
    switch (fault) {
      case "taken_then_silent":
        await this.#honest(body);
        return { kind: "silent" };
      case "taken_then_unreachable":
        await this.#honest(body);
        return { kind: "unreachable" };
      case "taken_then_error":
        await this.#honest(body);
        return { kind: "answer", status: 502, body: "bad gateway" };
      case "not_taken_silent":
        return { kind: "silent" };
      case "not_taken_hash":
        return this.#forgetful(body);
      case "turned_away_429":
        return { kind: "answer", status: 429, body: "slow down" };
      case "pool_full":
        return this.#rpcError(body, -32000, "txpool is full");
    }
  }

  /** Answers with the hash and keeps nothing. */
  async #forgetful(body: string): Promise<Reply> {
    const reply = await this.#honest(body);
    const hash = /"result":"(0x[0-9a-f]{64})"/.exec(reply.kind === "answer" ? reply.body : "")?.[1];
    if (hash !== undefined) this.node.wallets.forget(hash);
    return reply;
  }

  async #mistreat(body: string): Promise<Reply> {
    const fault = this.#world.dice.pick(READ_FAULTS);
    this.#fates.reach.count(`read ${fault}`);
    switch (fault) {
      case "unreachable":
        return { kind: "unreachable" };
      case "silent":
        return { kind: "silent" };
      case "status_500":
        return { kind: "answer", status: 500, body: "oops" };
      case "status_429":
        return { kind: "answer", status: 429, body: "slow down" };
      case "malformed":
        return { kind: "answer", status: 200, body: '{"jsonrpc":"2.0","id":1,"resu' };
      case "limit_error":
        return this.#rpcError(body, -32005, "query returned more than 10000 results");
      case "null_results":
        return this.#changed(body, () => null);
      case "cut_lists":
        return this.#changed(body, (result) => (Array.isArray(result) ? result.slice(0, -1) : result));
      case "one_missing":
        return this.#withoutOne(body);
    }
  }

  /** One of the results is another than the provider's honest one. */
  async #changed(body: string, change: (result: unknown) => unknown): Promise<Reply> {
    const answers = await this.#answers(body);
    const victim = this.#world.dice.pick(answers);
    if ("result" in victim) victim.result = change(victim.result);
    return this.#reply(body, answers);
  }

  async #withoutOne(body: string): Promise<Reply> {
    const answers = await this.#answers(body);
    if (answers.length > 1) answers.splice(this.#world.dice.roll(answers.length), 1);
    return this.#reply(body, answers);
  }

  async #answers(body: string): Promise<Record<string, unknown>[]> {
    return [JSON.parse(await (await this.node.answer(body)).text())].flat();
  }

  #rpcError(body: string, code: number, message: string): Reply {
    const calls = [JSON.parse(body)].flat() as { id: number }[];
    return this.#reply(
      body,
      calls.map(({ id }) => ({ jsonrpc: "2.0", id, error: { code, message } })),
    );
  }

  #reply(body: string, answers: readonly unknown[]): Reply {
    const whole = body.startsWith("[") ? answers : answers[0];
    return { kind: "answer", status: 200, body: JSON.stringify(whole) };
  }
}
