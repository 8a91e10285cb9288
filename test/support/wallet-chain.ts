/**
 * Hot wallets on the chain in memory: a pool with the rules of geth's, blocks made from it, and nodes that
 * answer what the withdrawal line asks. All nodes share the pool; each one has faults of its own.
 */

import { type Hex, keccak256, parseTransaction, recoverTransactionAddress } from "viem";
import { smaller } from "../../src/core/amount.ts";
import { TRANSFER_TOPIC } from "../../src/core/transfer-log.ts";
import { type Block, type Json, type ModelChain, ModelNode, quantity, RpcError, type Tx, word } from "./model-chain.ts";

const TRANSFER = "0xa9059cbb";
const GWEI = 10n ** 9n;
const PLAIN_GAS = 21_000n;
const TOKEN_GAS = 50_000n;
/** Percent by which a replacement must raise both fields (geth's default). */
const PRICE_BUMP = 110n;

/** A transaction as it was signed. */
export interface Signed {
  readonly hash: string;
  readonly from: string;
  readonly nonce: number;
  readonly chainId: number;
  readonly to: string;
  readonly value: bigint;
  readonly data: string;
  readonly gas: bigint;
  readonly maxFee: bigint;
  readonly tip: bigint;
}

/** What a payment moves: the coin, or a token by its contract. */
export interface Paid {
  readonly hash: string;
  readonly from: string;
  readonly nonce: number;
  readonly asset: string;
  readonly to: string;
  readonly units: bigint;
  readonly success: boolean;
}

export async function decodeSigned(raw: string): Promise<Signed> {
  const tx = parseTransaction(raw as Hex);
  const from = await recoverTransactionAddress({ serializedTransaction: raw as never });
  return {
    hash: keccak256(raw as Hex),
    from: from.toLowerCase(),
    nonce: tx.nonce ?? 0,
    chainId: tx.chainId ?? 0,
    to: (tx.to ?? "").toLowerCase(),
    value: tx.value ?? 0n,
    data: tx.data ?? "0x",
    gas: tx.gas ?? 0n,
    maxFee: tx.maxFeePerGas ?? tx.gasPrice ?? 0n,
    tip: tx.maxPriorityFeePerGas ?? tx.gasPrice ?? 0n,
  };
}

export class WalletChain {
  readonly chain: ModelChain;
  baseFee = GWEI;
  tip = GWEI;
  /** Receivers, or tokens, whose calls revert: when they are mined, and when they are estimated. */
  readonly reverting = new Set<string>();
  /** Tokens whose transfer says success and moves nothing. */
  readonly silent = new Set<string>();
  /** Receivers whose payments no miner takes, whatever they offer. */
  readonly censored = new Set<string>();
  /** Every transaction that ever came to any node, by hash. */
  readonly received = new Map<string, Signed>();
  readonly #pool = new Map<string, Signed>();

  constructor(chain: ModelChain) {
    this.chain = chain;
  }

  get pool(): Signed[] {
    return [...this.#pool.values()];
  }

  /** Takes a transaction as a node would. @throws Error in geth's words */
  submit(tx: Signed): string {
    const held = this.#pool.get(placeOf(tx));
    if (held?.hash === tx.hash) throw new Error("already known");
    const nonce = this.nonceAt(tx.from, this.chain.head);
    if (tx.nonce < nonce) throw new Error(`nonce too low: next nonce ${nonce}, tx nonce ${tx.nonce}`);
    if (tx.gas < PLAIN_GAS) throw new Error(`intrinsic gas too low: gas ${tx.gas}, minimum needed ${PLAIN_GAS}`);
    const cost = tx.gas * tx.maxFee + tx.value;
    const balance = this.coins(tx.from, this.chain.head);
    if (balance < cost)
      throw new Error(`insufficient funds for gas * price + value: balance ${balance}, tx cost ${cost}`);
    const isRaised =
      held === undefined || (tx.maxFee * 100n >= held.maxFee * PRICE_BUMP && tx.tip * 100n >= held.tip * PRICE_BUMP);
    if (!isRaised) throw new Error("replacement transaction underpriced");
    this.received.set(tx.hash, tx);
    this.#pool.set(placeOf(tx), tx);
    return tx.hash;
  }

  /** What a miner takes of its own will, whatever the pools hold or ask. */
  put(tx: Signed): void {
    this.received.set(tx.hash, tx);
    this.#pool.set(placeOf(tx), tx);
  }

  /** The pools forget a transaction, or all of them. */
  forget(hash?: string): void {
    for (const [place, tx] of this.#pool) if (hash === undefined || tx.hash === hash) this.#pool.delete(place);
  }

  /** A block of everything in the pool that can be mined now, and of these. */
  mine(...others: Tx[]): Block {
    const txs = [...others];
    for (const from of new Set(this.pool.map((tx) => tx.from))) {
      for (let nonce = this.nonceAt(from, this.chain.head); ; nonce++) {
        const tx = this.#pool.get(placeOf({ from, nonce }));
        if (tx === undefined || tx.maxFee < this.baseFee + 1n || this.censored.has(receiverOf(tx))) break;
        txs.push(this.#executed(tx));
        this.#pool.delete(placeOf(tx));
      }
    }
    return this.chain.mine(txs);
  }

  /** A block with exactly these signed transactions, whatever the pool holds. */
  mineOnly(...signed: Signed[]): Block {
    for (const tx of signed) this.#pool.delete(placeOf(tx));
    return this.chain.mine(signed.map((tx) => this.#executed(tx)));
  }

  /** Takes the top blocks off and puts as many empty ones and one more in their place. `keep`: pools take back. */
  reorg(depth: number, { keep }: { keep: boolean }): void {
    const gone: Tx[] = [];
    for (let height = this.chain.head - depth + 1; height <= this.chain.head; height++)
      gone.push(...(this.chain.at(height)?.txs ?? []));
    const strangers = gone.filter((tx) => tx.sent === undefined);
    this.chain.reorg(depth, strangers, ...Array.from({ length: depth }, () => []));
    for (const { hash } of keep ? gone : []) {
      const tx = this.received.get(hash);
      if (tx !== undefined) this.#pool.set(placeOf(tx), tx);
    }
  }

  /** Transactions of a sender in blocks up to this height. */
  nonceAt(sender: string, height: number): number {
    return this.#upTo(height).filter((tx) => tx.sent?.from === sender).length;
  }

  pendingNonce(sender: string, height: number): number {
    let nonce = this.nonceAt(sender, height);
    while (this.#pool.has(placeOf({ from: sender, nonce }))) nonce++;
    return nonce;
  }

  /** The native coin, in wei. */
  coins(owner: string, height: number): bigint {
    let units = 0n;
    for (const { to, value, status, sent } of this.#upTo(height)) {
      if (to === owner && status === 1) units += value;
      if (sent?.from !== owner) continue;
      units -= sent.gasUsed * sent.gasPrice + (status === 1 ? value : 0n);
    }
    return units;
  }

  tokens(contract: string, owner: string, height: number): bigint {
    let units = 0n;
    for (const log of this.#upTo(height).flatMap(({ logs }) => logs)) {
      if (log.address !== contract) continue;
      if (log.topics[2] === word(owner)) units += BigInt(log.data);
      if (log.topics[1] === word(owner)) units -= BigInt(log.data);
    }
    return units;
  }

  /** What a wallet sent, as the best chain has it. */
  paidBy(sender: string): Paid[] {
    return this.#upTo(this.chain.head).flatMap((tx) => {
      if (tx.sent?.from !== sender) return [];
      const { hash, status } = tx;
      const common = { hash, from: sender, nonce: tx.sent.nonce, success: status === 1 };
      const moved = tx.logs.map((log) => ({
        ...common,
        asset: log.address,
        to: `0x${log.topics[2]?.slice(26)}`,
        units: BigInt(log.data),
      }));
      return moved.length > 0 ? moved : [{ ...common, asset: "native", to: tx.to, units: tx.value }];
    });
  }

  #upTo(height: number): Tx[] {
    const txs: Tx[] = [];
    for (let at = 0; at <= height; at++) txs.push(...(this.chain.at(at)?.txs ?? []));
    return txs;
  }

  #executed(tx: Signed): Tx {
    const { hash, from, to, value, nonce } = tx;
    const isToken = tx.data.startsWith(TRANSFER);
    const receiver = receiverOf(tx);
    const units = isToken ? BigInt(`0x${tx.data.slice(74)}`) : 0n;
    const isShort = isToken && this.tokens(to, from, this.chain.head) < units;
    const status = this.reverting.has(to) || this.reverting.has(receiver) || isShort ? 0 : 1;
    const topics = [TRANSFER_TOPIC, word(from), word(receiver)];
    const isLogged = isToken && status === 1 && !this.silent.has(to);
    const logs = isLogged ? [{ address: to, topics, data: word(quantity(units)) }] : [];
    const gasPrice = this.baseFee + smaller(tx.tip, tx.maxFee - this.baseFee);
    const sent = { from, nonce, gasUsed: isToken ? TOKEN_GAS : PLAIN_GAS, gasPrice };
    return { hash, to, value, logs, status, calls: [], sent };
  }
}

/** Whom a transaction pays: the token's receiver, or its own. */
export function receiverOf({ to, data }: Pick<Signed, "to" | "data">): string {
  return data.startsWith(TRANSFER) ? `0x${data.slice(34, 74)}` : to;
}

function placeOf({ from, nonce }: Pick<Signed, "from" | "nonce">): string {
  return `${from}/${nonce}`;
}

/** Changes one exchange. `methods`: what the request asks for; `honest` answers it, with all its effects. */
export type HttpFault = (methods: readonly string[], honest: () => Promise<Response>) => Promise<Response>;

export class WalletNode extends ModelNode {
  readonly wallets: WalletChain;
  /** Methods asked for, in order. */
  readonly asked: string[] = [];
  http: HttpFault | null = null;
  readonly #decoded = new Map<string, Signed>();

  constructor(wallets: WalletChain) {
    super(wallets.chain);
    this.wallets = wallets;
  }

  /** Applies the next `times` requests with this method, and their answers never arrive. */
  loseAnswers(method: string, times = 1): void {
    this.#nextHttp(method, times, async (honest) => {
      await honest();
      throw new TypeError("fetch failed");
    });
  }

  /** Turns the next `times` requests with this method away before they do anything. */
  turnAway(method: string, status: number, times = 1): void {
    this.#nextHttp(method, times, async () => new Response("no", { status }));
  }

  override async answer(body: string): Promise<Response> {
    const calls = [JSON.parse(body)].flat() as { method: string; params: readonly unknown[] }[];
    for (const { method, params } of calls) {
      this.asked.push(method);
      const raw = String(params[0]);
      if (method === "eth_sendRawTransaction") this.#decoded.set(raw, await decodeSigned(raw));
    }
    const honest = () => super.answer(body);
    const methods = calls.map(({ method }) => method);
    return this.http === null ? honest() : this.http(methods, honest);
  }

  protected override honest(method: string, params: readonly unknown[]): unknown {
    const [first, second] = params;
    const { wallets } = this;
    switch (method) {
      case "eth_getBlockByNumber": {
        const block = super.honest(method, params) as Json | null;
        return block === null ? null : { ...block, baseFeePerGas: quantity(wallets.baseFee) };
      }
      case "eth_getTransactionCount":
        return quantity(this.#count(String(first), second));
      case "eth_sendRawTransaction":
        return this.#send(String(first));
      case "eth_maxPriorityFeePerGas":
        return quantity(wallets.tip);
      case "eth_gasPrice":
        return quantity(wallets.baseFee + wallets.tip);
      case "eth_getBalance":
        return quantity(wallets.coins(String(first), this.#top));
      case "eth_estimateGas":
        return this.#estimate(first as { to: string; data: string; from: string; value: string });
      case "eth_call":
        return super.honest(method, [first, second === "latest" ? { blockHash: this.#topHash } : second]);
      default:
        return super.honest(method, params);
    }
  }

  get #top(): number {
    return this.chain.head - this.lag;
  }

  get #topHash(): string | undefined {
    return this.chain.at(this.#top)?.hash;
  }

  #count(sender: string, tag: unknown): number {
    if (tag === "latest") return this.wallets.nonceAt(sender, this.#top);
    if (tag === "pending") return this.wallets.pendingNonce(sender, this.#top);
    if (Number(tag) > this.#top) throw new Error("header not found");
    return this.wallets.nonceAt(sender, Number(tag));
  }

  #send(raw: string): string {
    const tx = this.#decoded.get(raw);
    if (tx === undefined) throw new Error("rlp: value size exceeds available input length");
    if (tx.chainId !== 31_337) throw new Error("invalid chain id for signer");
    return this.wallets.submit(tx);
  }

  #estimate({ from, to, data, value }: { to: string; data: string; from: string; value: string }): string {
    const isToken = data.startsWith(TRANSFER);
    const receiver = isToken ? `0x${data.slice(34, 74)}` : to;
    if (this.wallets.reverting.has(to) || this.wallets.reverting.has(receiver))
      throw new RpcError(3, "execution reverted: the receiver is blocked");
    if (!isToken && this.wallets.coins(from, this.#top) < BigInt(value))
      throw new Error("insufficient funds for transfer");
    if (isToken && this.wallets.tokens(to, from, this.#top) < BigInt(`0x${data.slice(74)}`))
      throw new RpcError(3, "execution reverted: transfer amount exceeds balance");
    return quantity(isToken ? TOKEN_GAS : PLAIN_GAS);
  }

  #nextHttp(method: string, times: number, fault: (honest: () => Promise<Response>) => Promise<Response>): void {
    let left = times;
    this.http = async (methods, honest) => (methods.includes(method) && left-- > 0 ? fault(honest) : honest());
  }
}
