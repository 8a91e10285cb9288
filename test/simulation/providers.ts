/**
 * Providers of the model chain, and the ways in which they fail: each request draws what befalls it, and
 * some providers stand behind the head or on another fork for a while.
 */

import { EMPTY_BLOOM } from "../../src/chains/evm/bloom.ts";
import { type ModelChain, quantity } from "../support/model-chain.ts";
import { decodeSigned, type Signed, WalletChain, WalletNode } from "../support/wallet-chain.ts";
import type { DrawnFates } from "./fates.ts";
import type { Network, Reply } from "./network.ts";
import {
  LIES,
  type Lie,
  LONGEST_SPELL,
  type Outage,
  READ_FAULTS,
  SEND_FAULTS,
  type SendFault,
} from "./provider-faults.ts";
import type { World } from "./world/world.ts";

const MAX_LAG = 4;
/** A provider's own branch leaves the best one so many blocks below its head, and lasts so long. */
const MAX_FORK = 3;
const MAX_FORK_BLOCKS = 4;
/** The finalized tag stays so far behind: further than any branch is deep. */
export const FINALIZED_BEHIND = 10;

export class Provider {
  readonly node: WalletNode;
  readonly #name: string;
  readonly #isTrue: boolean;
  readonly #fates: DrawnFates;
  readonly #world: World;
  readonly #best: ModelChain;
  /** Called with every signed transaction that reaches a provider, before anything becomes of it. */
  onSend: (raw: string) => void = () => {};
  /** Called with what it says, a little later: whoever listens may pass it on. */
  onHeard: (tx: Signed) => void = () => {};
  readonly #outage: Outage;
  #spell: { readonly kind: Lie | "down"; blocksLeft: number } | null = null;
  #fork: { readonly node: WalletNode; blocksLeft: number } | null = null;

  /** @param isTrue false: it may lie and follow branches of its own. Where two do, nobody can be believed */
  constructor(
    world: World,
    network: Network,
    fates: DrawnFates,
    wallets: WalletChain,
    { name, isTrue, outage }: { readonly name: string; readonly isTrue: boolean; readonly outage: Outage },
  ) {
    this.node = nodeOf(wallets);
    this.#name = name;
    this.#isTrue = isTrue;
    this.#outage = outage;
    this.#world = world;
    this.#fates = fates;
    this.#best = wallets.chain;
    network.serve(name, ({ body }) => this.#answer(body));
  }

  /** Whether it shows another branch than the best one. */
  get isForked(): boolean {
    return this.#fork !== null;
  }

  /** Falls behind the head, or catches up; leaves the best branch, or comes back. Called as blocks come. */
  drift(): void {
    const { node } = this;
    node.finalized = Math.max(node.finalized ?? 0, this.#best.head - FINALIZED_BEHIND);
    this.#driftApart();
    this.#changeSpell();
    if (node.lag > 0) node.lag = this.#world.dice.chance(0.5) ? 0 : node.lag - 1;
    else if (this.#fates.strikes("nodeLag", this.#name)) node.lag = this.#world.dice.between(1, MAX_LAG);
    node.lag = Math.min(node.lag, this.#best.head);
  }

  heal(): void {
    this.node.lag = 0;
    this.#fork = null;
    this.#spell = null;
    this.#outage.fault = null;
  }

  #changeSpell(): void {
    const { dice } = this.#world;
    if (this.#spell !== null) {
      if (--this.#spell.blocksLeft <= 0) this.#spell = null;
      return;
    }
    const blocksLeft = dice.between(2, LONGEST_SPELL);
    const lie = dice.pick(LIES);
    if (!this.#isTrue && this.#fates.strikes("lyingSpell", this.#name)) this.#spell = { kind: lie, blocksLeft };
    else if (this.#fates.strikes("nodeDown", this.#name)) this.#spell = { kind: "down", blocksLeft };
  }

  #driftApart(): void {
    const { dice } = this.#world;
    if (this.#fork !== null) {
      if (--this.#fork.blocksLeft > 0) this.#fork.node.wallets.mine();
      else this.#fork = null;
      return;
    }
    if (this.#isTrue || !this.#fates.strikes("ownFork", this.#name)) return;
    const depth = dice.between(1, MAX_FORK);
    const wallets = new WalletChain(this.#best.fork(depth));
    const node = nodeOf(wallets);
    node.finalized = this.node.finalized;
    for (const [contract, facts] of this.node.tokens) node.tokens.set(contract, facts);
    const gone = Array.from({ length: depth }, (_, i) => this.#best.at(this.#best.head - i)?.txs ?? []).flat();
    // What was in the blocks is on this branch in others, or not at all; so is what the pools hold.
    wallets.mine(...gone.filter((tx) => tx.sent === undefined && dice.chance(0.5)));
    for (const tx of this.node.wallets.pool) {
      if (dice.chance(0.5)) submitQuietly(wallets, tx);
    }
    for (let i = 1; i < depth; i++) wallets.mine();
    this.#fork = { node, blocksLeft: dice.between(2, MAX_FORK_BLOCKS) };
    this.#world.note(`${this.#name} leaves the best branch ${depth} blocks below its head`);
  }

  async #answer(body: string): Promise<Reply> {
    const raw = /"eth_sendRawTransaction","params":\["(0x[0-9a-f]+)"/.exec(body)?.[1];
    if (raw !== undefined) {
      this.onSend(raw);
      this.onHeard(await decodeSigned(raw));
      if (this.#outage.fault !== null) return this.#mistreatSend(body, this.#outage.fault);
      if (this.#spell?.kind === "down") return { kind: "unreachable" };
      return this.#fates.strikes("sendFault", this.#name)
        ? this.#mistreatSend(body, this.#world.dice.pick(SEND_FAULTS))
        : this.#honest(body);
    }
    if (this.#spell?.kind === "down") return { kind: "unreachable" };
    if (this.#spell !== null) return this.#lie(body, this.#spell.kind);
    return this.#fates.strikes("nodeFault", this.#name) ? this.#mistreat(body) : this.#honest(body);
  }

  /** What is sent goes to everybody's pool, whatever branch the provider shows. */
  #shown(body: string): WalletNode {
    return body.includes("eth_sendRawTransaction") ? this.node : (this.#fork?.node ?? this.node);
  }

  async #honest(body: string): Promise<Reply> {
    return { kind: "answer", status: 200, body: await (await this.#shown(body).answer(body)).text() };
  }

  async #mistreatSend(body: string, fault: SendFault): Promise<Reply> {
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
      case "not_taken_nonce_too_low":
        return this.#rpcError(body, -32000, "nonce too low");
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
      default:
        return this.#lie(body, fault);
    }
  }

  #lie(body: string, lie: Lie): Promise<Reply> {
    switch (lie) {
      case "wrong_receipts":
        return this.#lied(body, "eth_getTransactionReceipt", (result) => {
          return isReceipt(result) ? { ...result, status: result.status === "0x1" ? "0x0" : "0x1" } : result;
        });
      case "invented_receipts":
        return this.#lied(body, "eth_getTransactionReceipt", (result, hash) => result ?? this.#invented(hash));
      case "stale_nonces":
        return this.#lied(body, "eth_getTransactionCount", (result) => quantity(Math.max(0, Number(result) - 2)));
      case "early_nonces":
        return this.#lied(body, "eth_getTransactionCount", (result) => quantity(Number(result) + 2));
    }
  }

  /** In a block that there is, as deep as anybody could wish. */
  #invented(transactionHash: unknown): object | null {
    const { head } = this.#best;
    const block = this.#best.at(Math.max(0, head - FINALIZED_BEHIND - MAX_LAG));
    if (block === undefined) return null;
    const place = { blockHash: block.hash, blockNumber: quantity(block.height), transactionIndex: "0x0" };
    const gas = { cumulativeGasUsed: "0x5208", gasUsed: "0x5208", effectiveGasPrice: "0x1" };
    const status = this.#world.dice.chance(0.5) ? "0x1" : "0x0";
    return { ...place, ...gas, transactionHash, type: "0x2", status, logsBloom: EMPTY_BLOOM, logs: [] };
  }

  /** One of the results is another than the provider's honest one. */
  async #changed(body: string, change: (result: unknown) => unknown): Promise<Reply> {
    const answers = await this.#answers(body);
    const victim = this.#world.dice.pick(answers);
    if ("result" in victim) victim.result = change(victim.result);
    return this.#reply(body, answers);
  }

  /** Every answer to one method is changed, where a wallet is looked at. */
  async #lied(body: string, method: string, change: (result: unknown, about: unknown) => unknown): Promise<Reply> {
    const answers = await this.#answers(body);
    const calls = [JSON.parse(body)].flat() as { id: number; method: string; params: unknown[] }[];
    if (this.#isTrue || !calls.some((call) => call.method === "eth_getTransactionCount"))
      return this.#reply(body, answers);
    for (const answer of answers) {
      const asked = calls.find(({ id }) => id === answer.id);
      if (asked?.method === method && "result" in answer) answer.result = change(answer.result, asked.params[0]);
    }
    return this.#reply(body, answers);
  }

  async #withoutOne(body: string): Promise<Reply> {
    const answers = await this.#answers(body);
    if (answers.length > 1) answers.splice(this.#world.dice.roll(answers.length), 1);
    return this.#reply(body, answers);
  }

  async #answers(body: string): Promise<Record<string, unknown>[]> {
    return [JSON.parse(await (await this.#shown(body).answer(body)).text())].flat();
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

/** In every transaction that calls others, one call fails before the others do their work. */
function nodeOf(wallets: WalletChain): WalletNode {
  const node = new WalletNode(wallets);
  node.on("debug_traceBlockByHash", (_params, honest) => {
    const traces = honest() as { result: { calls: object[] } }[];
    for (const { result } of traces) {
      const [first] = result.calls;
      if (first !== undefined) result.calls.unshift({ ...first, error: "execution reverted" });
    }
    return traces;
  });
  return node;
}

function isReceipt(result: unknown): result is { readonly status: string } {
  return typeof result === "object" && result !== null && "status" in result;
}

/** Puts a transaction into a pool, if the pool takes it. */
export function submitQuietly(wallets: WalletChain, tx: Parameters<WalletChain["submit"]>[0]): void {
  try {
    wallets.submit(tx);
  } catch {
    // Its nonce is used up there, or its wallet has nothing there.
  }
}
