/**
 * One small world for each family of chains: a chain that can be made, paid on and reorganised, and a node that shows it
 * and can be made to fail. What every `ChainNode` must do is tested over all of them alike.
 */

import { bytesToHex } from "@noble/hashes/utils";
import { BitcoinNode } from "../../src/chains/bitcoin/node.ts";
import { EvmNode } from "../../src/chains/evm/node.ts";
import type { ChainNode, Interest } from "../../src/chains/port.ts";
import { SolanaNode } from "../../src/chains/solana/node.ts";
import { TronNode } from "../../src/chains/tron/node.ts";
import { addressOfScript } from "../../src/core/bitcoin-address.ts";
import { tronAddress } from "../../src/core/tron-address.ts";
import { BitcoinChain } from "./bitcoin-chain.ts";
import { BitcoinNodeDouble, CoreError } from "./bitcoin-double.ts";
import { FAUCET } from "./bitcoin-faucet.ts";
import { type BitcoinTx, REGTEST } from "./bitcoin-tx.ts";
import { FakeChain, FakeNode, type FakeTx, type Json, quantity, RpcRefusal } from "./fake-rpc.ts";
import { SolanaChain } from "./solana-chain.ts";
import { SolanaNodeDouble } from "./solana-double.ts";
import { RpcError } from "./solana-json.ts";
import { solanaKey } from "./solana-keys.ts";
import type { SignedTx } from "./tron-block.ts";
import { TronChain } from "./tron-chain.ts";
import { NodeError, TronNodeDouble } from "./tron-double.ts";

/** A payment that was made and may be mined again elsewhere. */
export interface WorldPayment {
  readonly txId: string;
}

export interface ChainWorld {
  readonly caip2: string;
  readonly node: ChainNode;
  /** What the node was asked, one name a call. */
  readonly asked: readonly string[];
  head(): number;
  /** Hash of the block at this height. */
  hashAt(height: number): string;
  /** A receiver nobody had before. */
  address(): string;
  /** One transaction, for the next block. */
  pay(to: string, units: bigint): WorldPayment;
  /** So many blocks; the first holds what was paid. */
  mine(count?: number): void;
  /** Takes blocks off and mines one more than these in their place, the first with the payments to keep. */
  reorg(depth: number, keep?: readonly WorldPayment[]): void;
  /** The node behaves as if it did not have this block, though it has those above. Null: as usual. */
  hide(height: number | null): void;
  /** Blocks at the top that the node does not have. */
  lag(blocks: number): void;
  /** Ways in which an answer about this block can be wrong; each leaves the blocks below it good. */
  readonly corruptions: Readonly<Record<string, (height: number) => void>>;
  /** From now on every HTTP request is answered so. */
  answerWith(respond: () => Response | Promise<Response>): void;
  /** Every call is refused with this error. */
  refuse(code: number, message: string): void;
  /** From now on the node shows another chain. */
  moveToAnotherChain(): void;
}

export const WORLDS: readonly (readonly [family: string, begin: (url?: string) => ChainWorld])[] = [
  ["evm", evmWorld],
  ["bitcoin", bitcoinWorld],
  ["tron", tronWorld],
  ["solana", solanaWorld],
];

const URL = "http://user:pa55word@node.test/some-k3y-in-the-path";

/** Whoever is watched; writes down each question. */
export function interestIn(watched: readonly string[], over: Partial<Interest> = {}) {
  const questions: ReadonlySet<string>[] = [];
  const interest: Interest = {
    contracts: new Set(),
    native: true,
    internal: false,
    watched(addresses) {
      questions.push(addresses);
      return new Set(watched.filter((address) => addresses.has(address)));
    },
    ...over,
  };
  return { interest, questions };
}

let addresses = 0;

function evmWorld(url = URL): ChainWorld {
  let chain = new FakeChain();
  chain.mine([]);
  let waiting: FakeTx[] = [];
  let made = 0;
  let salt = 0;
  const paid = new Map<string, FakeTx>();
  const fake = new FakeNode(chain);
  const node = new EvmNode({ url, fetch: fake.fetch, timeoutMs: 2_000 });
  const show = (next: FakeChain) => {
    chain = next;
    fake.chain = next;
  };
  const onBlock = (height: number, change: (block: Json) => unknown) =>
    fake.on("eth_getBlockByNumber", ([tag], honest) => {
      const block = honest() as Json | null;
      return block !== null && Number(tag) === height ? change(block) : block;
    });
  return {
    caip2: "eip155:31337",
    node,
    get asked() {
      return fake.calls.map(({ method }) => method);
    },
    head: () => chain.head.height,
    hashAt: (height) => chain.at(height).hash,
    address: () => `0x${(++addresses).toString(16).padStart(40, "a")}`,
    pay(to, value) {
      const tx = { hash: `0x${(++made).toString(16).padStart(64, "7")}`, to, value };
      paid.set(tx.hash, tx);
      waiting.push(tx);
      return { txId: tx.hash };
    },
    mine(count = 1) {
      for (let i = 0; i < count; i++) chain.mine(waiting.splice(0));
    },
    reorg(depth, keep = []) {
      const fork = chain.fork(chain.head.height - depth);
      const kept = keep.map(({ txId }) => paid.get(txId) ?? {});
      for (let i = 0; i <= depth; i++) fork.mine(i === 0 ? kept : [], `reorg ${++salt}`);
      waiting = [];
      show(fork);
    },
    hide(height) {
      if (height === null) fake.on("eth_getBlockByNumber", (_, honest) => honest());
      else onBlock(height, () => null);
    },
    lag(blocks) {
      fake.chain = blocks === 0 ? chain : chain.fork(chain.head.height - blocks);
    },
    corruptions: {
      "a block with another parent": (height) => {
        onBlock(height, (block) => ({ ...block, parentHash: `0x${"12".repeat(32)}` }));
      },
      "the block below it": (height) => {
        onBlock(height, () => chain.answer("eth_getBlockByNumber", [quantity(height - 1), true]));
      },
    },
    answerWith(respond) {
      fake.raw = () => respond();
    },
    refuse(code, message) {
      for (const method of ["eth_getBlockByNumber", "eth_chainId"])
        fake.on(method, () => {
          throw new RpcRefusal(code, message);
        });
    },
    moveToAnotherChain() {
      fake.on("eth_chainId", () => "0x1");
    },
  };
}

function bitcoinWorld(url = URL): ChainWorld {
  const chain = BitcoinChain.grown(104);
  const double = new BitcoinNodeDouble(chain);
  const paid = new Map<string, BitcoinTx>();
  let respond: (() => Response | Promise<Response>) | null = null;
  const through: typeof fetch = async (input, init) => (respond === null ? double.fetch(input, init) : respond());
  const network = { addresses: { ...REGTEST, coinType: 1 }, pool: false };
  const node = new BitcoinNode({ url, fetch: through, timeoutMs: 2_000 }, network);
  const at = (height: number) => {
    const block = chain.at(height);
    if (block === undefined) throw new Error(`the chain has no block ${height}`);
    return block;
  };
  return {
    caip2: "bip122:0f9188f13cb7b2c71f2a335e3a4fc328",
    node,
    asked: double.asked,
    head: () => chain.head,
    hashAt: (height) => at(height).hash,
    address() {
      const hash = (++addresses).toString(16).padStart(40, "a");
      return addressOfScript(network.addresses, `0014${hash}`) ?? "";
    },
    pay(to, units) {
      // No pool takes an output of nothing, and miners may.
      const outputs = [{ to, amount: 0n }];
      const tx =
        units > 0n ? chain.pay(to, units) : chain.put(chain.pay(FAUCET.script, 1_000n, { outputs, keepBack: true }));
      paid.set(tx.txid, tx);
      return { txId: tx.txid };
    },
    mine: (count = 1) => void chain.mine(count),
    reorg(depth, keep = []) {
      chain.reorg(depth, { keep: keep.flatMap(({ txId }) => paid.get(txId) ?? []), pool: "drop" });
    },
    hide(height) {
      const hidden = height === null ? null : at(height).hash;
      const missing = (code: number, message: string, isHidden: (param: unknown) => boolean) =>
        hidden === null
          ? null
          : ([param]: readonly unknown[], honest: () => unknown) => {
              if (isHidden(param)) throw new CoreError(code, message);
              return honest();
            };
      const isHash = (param: unknown) => param === hidden;
      double.on("getblock", missing(-1, "Block not available (pruned data)", isHash));
      double.on("getblockheader", missing(-5, "Block not found", isHash));
    },
    lag(blocks) {
      double.lag = blocks;
    },
    corruptions: {
      "a block of another branch": (height) => {
        const other = chain.fork(chain.head - height + 2);
        other.mine(2, { include: [] });
        const stranger = other.tip;
        double.on("getblockhash", ([n], honest) => (n === height ? stranger.hash : honest()));
        for (const method of ["getblock", "getblockheader"])
          double.on(method, (params, honest) =>
            params[0] === stranger.hash ? new BitcoinNodeDouble(other).honest(method, params) : honest(),
          );
      },
      "the block below it": (height) => {
        double.on("getblockhash", ([n], honest) => (n === height ? at(height - 1).hash : honest()));
      },
      "bytes that have another hash": (height) => {
        for (const method of ["getblock", "getblockheader"])
          double.on(method, ([hash, form], honest) => {
            const raw = String(honest());
            return hash === at(height).hash && form !== true ? `${raw.slice(0, 150)}00${raw.slice(152)}` : raw;
          });
      },
    },
    answerWith(answer) {
      respond = answer;
    },
    refuse(code, message) {
      for (const method of ["getblockchaininfo", "getblockhash", "getblockheader", "getblock"])
        double.on(method, () => {
          throw new CoreError(code, message);
        });
    },
    moveToAnotherChain() {
      double.on("getblockhash", () => bytesToHex(new Uint8Array(32).fill(9)));
    },
  };
}

/** Every block is solid at once: what a reorganisation does here, no real chain would, and a reader is not to break of it. */
function tronWorld(url = URL): ChainWorld {
  const chain = TronChain.grown(40);
  const double = new TronNodeDouble(chain);
  const paid = new Map<string, SignedTx>();
  const node = new TronNode({ url, fetch: double.fetch, timeoutMs: 2_000 });
  const onBlock = (height: number, change: (honest: () => Promise<Json>) => unknown) =>
    double.on("walletsolidity/getblock", (body, honest) =>
      body.id_or_num === String(height) ? change(honest as () => Promise<Json>) : honest(),
    );
  return {
    caip2: `tron:0x${chain.at(0).id.slice(-8)}`,
    node,
    asked: double.asked,
    head: () => chain.head.height,
    hashAt: (height) => chain.at(height).id,
    address: () => tronAddress((++addresses).toString(16).padStart(40, "a")),
    pay(to, units) {
      const tx = chain.pay(to, units);
      paid.set(tx.txId, tx);
      return { txId: tx.txId };
    },
    mine: (count = 1) => chain.mine(count),
    reorg: (depth, keep = []) =>
      chain.reorg(
        depth,
        keep.flatMap(({ txId }) => paid.get(txId) ?? []),
      ),
    hide(height) {
      if (height === null) double.on("walletsolidity/getblock", null);
      else onBlock(height, () => ({}));
    },
    lag(blocks) {
      double.lag = blocks;
    },
    corruptions: {
      "a block of another branch": (height) => {
        const other = chain.fork(chain.head.height - height + 2);
        other.mine(2);
        const stranger = new TronNodeDouble(other);
        onBlock(height, () => stranger.honest("walletsolidity/getblock", { id_or_num: String(height), detail: true }));
      },
      "the block below it": (height) => {
        const below = { id_or_num: String(height - 1), detail: true };
        onBlock(height, () => double.honest("walletsolidity/getblock", below));
      },
      "a header that has another id": (height) => {
        onBlock(height, async (honest) => {
          const block = await honest();
          const header = block.block_header as Json;
          const raw = header.raw_data as Json;
          return { ...block, block_header: { ...header, raw_data: { ...raw, timestamp: Number(raw.timestamp) + 1 } } };
        });
      },
    },
    answerWith(respond) {
      double.respond = () => respond();
    },
    refuse(_code, message) {
      for (const path of ["getblock", "gettransactioninfobyblocknum"])
        double.on(`walletsolidity/${path}`, () => {
          throw new NodeError(`class java.lang.RuntimeException : ${message}`);
        });
    },
    moveToAnotherChain() {
      double.chain = new TronChain("another one");
    },
  };
}

function solanaWorld(url = URL): ChainWorld {
  const chain = new SolanaChain();
  const double = new SolanaNodeDouble(chain);
  let respond: (() => Response | Promise<Response>) | null = null;
  const through: typeof fetch = async (input, init) => (respond === null ? double.fetch(input, init) : respond());
  const node = new SolanaNode({ url, fetch: through, timeoutMs: 2_000 }, { caip2: "solana:local", genesis: null });
  const onBlock = (height: number, change: (block: Json, full: boolean) => unknown) => {
    const { slot } = chain.at(height);
    double.on("getBlock", ([asked, config], honest) => {
      const block = honest() as Json;
      return asked === slot ? change(block, (config as Json).transactionDetails === "full") : block;
    });
  };
  chain.mine(4);
  return {
    caip2: "solana:local",
    node,
    asked: double.asked,
    head: () => chain.head,
    hashAt: (height) => chain.at(height).hash,
    address() {
      const { address } = solanaKey(`receiver ${++addresses}`);
      // An account that holds less than its rent is none: it is there before.
      chain.fund(address, 10_000_000n);
      return address;
    },
    pay: (to, units) => ({ txId: chain.pay(to, units) }),
    mine(count = 1) {
      for (let i = 0; i < count; i++) {
        // Every third block comes late.
        if (chain.head % 3 === 0) chain.skip(2);
        chain.mine();
      }
    },
    reorg(depth, keep = []) {
      chain.reorg(depth, { keep: keep.map(({ txId }) => txId) });
    },
    hide(height) {
      double.hide(height === null ? null : chain.at(height).slot);
    },
    lag(blocks) {
      double.lag = blocks;
    },
    corruptions: {
      "a block with another parent": (height) => {
        onBlock(height, (block) => ({ ...block, previousBlockhash: chain.genesis }));
      },
      "a block with another parent slot": (height) => {
        onBlock(height, (block) => ({ ...block, parentSlot: 1 }));
      },
      "the block below it": (height) => {
        onBlock(height, (_, full) =>
          double.honest("getBlock", [
            chain.at(height - 1).slot,
            { transactionDetails: full ? "full" : "none", maxSupportedTransactionVersion: 1 },
          ]),
        );
      },
      "a transaction that is none": (height) => {
        const transaction = [btoa("no transaction"), "base64"];
        onBlock(height, (block) => ({ ...block, transactions: [{ transaction, meta: { err: null } }] }));
      },
      "a transaction without its inner instructions": (height) => {
        chain.pay(solanaKey("somebody").address, 10_000_000n);
        const { txs } = chain.mine();
        const transaction = [btoa(String.fromCharCode(...(txs[0]?.raw ?? []))), "base64"];
        chain.reorg(1, { keep: [], mine: 0 });
        const balances = {
          preBalances: [3, 3, 3],
          postBalances: [3, 3, 3],
          preTokenBalances: [],
          postTokenBalances: [],
        };
        const meta = { err: null, fee: 0, ...balances, innerInstructions: null };
        onBlock(height, (block) => ({ ...block, transactions: [{ transaction, meta }] }));
      },
    },
    answerWith(answer) {
      respond = answer;
    },
    refuse(code, message) {
      for (const method of ["getSlot", "getBlocks", "getBlocksWithLimit", "getBlock", "getGenesisHash"])
        double.on(method, () => {
          throw new RpcError(code, message);
        });
    },
    moveToAnotherChain() {
      double.genesis = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG";
    },
  };
}
