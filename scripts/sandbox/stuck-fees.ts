/**
 * A miner who asks for more than is offered. While fees are stuck, the first transaction of each nonce is taken and
 * left lying, as a pool does with what pays too little; one that replaces it, with a tenth more in both fees, is let
 * through and the first one forgotten. When fees are released, everything that lies there goes on in its order.
 *
 * What lies here is in memory: it is lost with this process, as a pool's content is. Whoever sent it sends it again.
 */

import { type Call, type Node, quantity, type Reply } from "./rpc.ts";

interface Lying {
  readonly raw: string;
  readonly hash: string;
  readonly sender: string;
  readonly nonce: number;
  readonly most: bigint;
  readonly tip: bigint;
}

export type Ruling = { readonly kind: "pass" } | { readonly kind: "answer"; readonly reply: Reply };

const PASS: Ruling = { kind: "pass" };
const LYING_AT_MOST = 200;
const UNDERPRICED: Reply = { error: { code: -32_000, message: "replacement transaction underpriced" } };

export class StuckFees {
  readonly #lying = new Map<string, Lying>();
  /** The last transaction of each nonce that was let through: it may be sent again. */
  readonly #passed = new Map<string, string>();
  #stuck = false;

  get stuck(): boolean {
    return this.#stuck;
  }

  /** @param node takes what was lying when fees are released */
  async set(stuck: boolean, node: Node): Promise<void> {
    this.#stuck = stuck;
    if (stuck) return;
    const waiting = [...this.#lying.values()].sort((a, b) => a.nonce - b.nonce);
    this.#lying.clear();
    this.#passed.clear();
    for (const { raw } of waiting) {
      // Refused: its nonce was used meanwhile. Whoever sent it learns so from the chain.
      await node("eth_sendRawTransaction", raw).catch(() => {});
    }
  }

  /** What becomes of a raw transaction. Bytes that are none are for the node to refuse. */
  async rule(raw: string): Promise<Ruling> {
    const offered = await read(raw);
    if (offered === null) return PASS;
    const place = `${offered.sender} ${offered.nonce}`;
    const earlier = this.#lying.get(place);
    if (this.#passed.get(place) === offered.hash) return PASS;
    if (earlier === undefined && this.#passed.has(place)) return PASS;
    if (earlier === undefined || earlier.hash === offered.hash) {
      if (this.#lying.size >= LYING_AT_MOST)
        return { kind: "answer", reply: { error: { code: -32_000, message: "txpool is full" } } };
      this.#lying.set(place, offered);
      return { kind: "answer", reply: { result: offered.hash } };
    }
    if (!isTenthMore(offered.most, earlier.most) || !isTenthMore(offered.tip, earlier.tip))
      return { kind: "answer", reply: UNDERPRICED };
    this.#lying.delete(place);
    this.#passed.set(place, offered.hash);
    return PASS;
  }

  /** What lies here counts as pending, as it does for a node that has it in its pool. */
  amend({ method, params }: Call, reply: Reply): Reply {
    if (method !== "eth_getTransactionCount" || params[1] !== "pending" || "error" in reply) return reply;
    const sender = String(params[0]).toLowerCase();
    let next = Number(reply.result);
    while (this.#lying.has(`${sender} ${next}`)) next++;
    return { result: quantity(next) };
  }
}

function isTenthMore(now: bigint, before: bigint): boolean {
  return now * 10n >= before * 11n;
}

async function read(raw: string): Promise<Lying | null> {
  // Only whoever sticks fees needs to read transactions.
  const { keccak256, parseTransaction, recoverTransactionAddress } = await import("viem");
  try {
    const serialized = raw as Parameters<typeof recoverTransactionAddress>[0]["serializedTransaction"];
    const { nonce = 0, maxFeePerGas, maxPriorityFeePerGas, gasPrice } = parseTransaction(serialized);
    const sender = (await recoverTransactionAddress({ serializedTransaction: serialized })).toLowerCase();
    const most = maxFeePerGas ?? gasPrice ?? 0n;
    return { raw, hash: keccak256(serialized), sender, nonce, most, tip: maxPriorityFeePerGas ?? most };
  } catch {
    return null;
  }
}
