/**
 * One provider's look at a wallet's coins. The head is asked for first and last, and between them with every batch of
 * coins: what one backend of a provider has of a coin must not meet the blocks of another. A head that moved makes the
 * look again, once.
 */

import { type CoinLook, type CoinPin, type CoinQuestion, type CoinRef, coinText } from "../coin-payout.ts";
import { ChainFault } from "../port.ts";
import type { RpcAnswer, RpcCall, RpcClient } from "../rpc/client.ts";
import { MalformedAnswer, parseObject } from "../rpc/malformed.ts";
import { chunked } from "../rpc/parallel.ts";
import { isUnknownBlock, type RpcFailure } from "../rpc/rpc-failure.ts";
import { faultOf, parseHash, parseHeight } from "./answers.ts";
import { type BitcoinBlock, readRawBlock } from "./block.ts";
import type { ChainView, Place, SpendSearch } from "./spend-search.ts";

/** With the head beside them a batch that every provider takes. */
const COINS_PER_REQUEST = 50;
const TRIES = 2;
/** RPC_MISC_ERROR: what a node says that has thrown old blocks away. */
const NOT_KEPT = { code: -1, text: /pruned|not available|not fully downloaded/i };

/** @throws ChainFault, MalformedAnswer */
export async function readCoinLook(rpc: RpcClient, search: SpendSearch, question: CoinQuestion): Promise<CoinLook> {
  for (let tries = 0; tries < TRIES; tries++) {
    const look = await lookOnce(rpc, search, question);
    if (look !== null) return look;
  }
  throw new ChainFault(`${rpc.name}: the head moved ${TRIES} times while coins were looked at`, true, rpc.name);
}

/** @returns null when the head moved meanwhile */
async function lookOnce(rpc: RpcClient, search: SpendSearch, question: CoinQuestion): Promise<CoinLook | null> {
  const head = await readHead(rpc);
  const there = await unspentAt(rpc, question.pins, head);
  if (there === null) return null;
  const view: ChainView = {
    head,
    hashesAt: (heights) => hashesAt(rpc, heights),
    block: (hash) => readBlock(rpc, hash),
  };
  const gone = question.pins.filter(({ ref }) => !there.has(coinText(ref)));
  const found = await search.find(gone, view);
  const blocks = await hashesAt(
    rpc,
    question.heights.filter((height) => height <= head.height),
  );
  if (found === null || (await bestHash(rpc)) !== head.hash) return null;
  const unspent = question.pins.filter(({ ref }) => there.has(coinText(ref)));
  search.noteUnspent(unspent, head);
  const spenders: CoinLook["spenders"] = new Map([
    ...unspent.map(({ ref }) => [coinText(ref), null] as const),
    ...found,
  ]);
  const searched: CoinLook["searched"] = new Map(
    question.pins.flatMap((pin) => {
      const height = search.searchedTo(pin);
      return height === null ? [] : [[coinText(pin.ref), height] as const];
    }),
  );
  return { head: head.height, headHash: head.hash, spenders, searched, blocks };
}

/** Which of the pins are there to be spent in the chain, whatever the pool says; null: the head moved. */
async function unspentAt(rpc: RpcClient, pins: readonly CoinPin[], head: Place): Promise<ReadonlySet<string> | null> {
  const there = new Set<string>();
  for (const part of chunked(pins, COINS_PER_REQUEST)) {
    const calls = part.map(({ ref }) => coinCall(ref, false));
    const { answers } = await rpc.together([...calls, { method: "getbestblockhash", params: [] }]);
    for (const [i, { ref }] of part.entries()) {
      const coin = resultOf(rpc, `coin ${coinText(ref)}`, answers[i]);
      if (coin === null) continue;
      // Every coin comes with the head that it was seen at.
      if (parseHash(parseObject(coin, "coin").bestblock, "bestblock of a coin") !== head.hash) return null;
      there.add(coinText(ref));
    }
    if (parseHash(resultOf(rpc, "head", answers.at(-1)), "head") !== head.hash) return null;
  }
  return there;
}

export function coinCall({ txId, vout }: CoinRef, withPool: boolean): RpcCall {
  return { method: "gettxout", params: [txId, vout, withPool] };
}

/** @throws ChainFault when the node did not answer */
export function resultOf(rpc: RpcClient, what: string, answer: RpcAnswer | undefined): unknown {
  if (answer === undefined) throw new Error(`${what}: every call has an answer`);
  if (!answer.ok) throw faultOf(rpc, what, answer.failure);
  return answer.result;
}

async function readHead(rpc: RpcClient): Promise<Place> {
  const info = parseObject(resultOf(rpc, "chain info", await rpc.call("getblockchaininfo", [])), "chain info");
  return { height: parseHeight(info.blocks, "blocks"), hash: parseHash(info.bestblockhash, "bestblockhash") };
}

async function bestHash(rpc: RpcClient): Promise<string> {
  return parseHash(resultOf(rpc, "head", await rpc.call("getbestblockhash", [])), "head");
}

/** Absent: the chain has become shorter meanwhile. */
async function hashesAt(rpc: RpcClient, heights: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const hashes = new Map<number, string>();
  if (heights.length === 0) return hashes;
  const { answers } = await rpc.batch(heights.map((height) => ({ method: "getblockhash", params: [height] })));
  for (const [i, height] of heights.entries()) {
    const answer = answers[i];
    if (answer?.ok === false && isAboveHead(answer.failure)) continue;
    hashes.set(height, parseHash(resultOf(rpc, `hash of block ${height}`, answer), `hash of block ${height}`));
  }
  return hashes;
}

function isAboveHead(failure: RpcFailure): boolean {
  return isUnknownBlock(failure) || (failure.kind === "rpc" && /height out of range/i.test(failure.message));
}

async function readBlock(rpc: RpcClient, hash: string): Promise<BitcoinBlock | null> {
  const answer = await rpc.call("getblock", [hash, 0]);
  if (!answer.ok) {
    const { kind, code, message } = answer.failure;
    if (kind === "rpc" && code === NOT_KEPT.code && NOT_KEPT.text.test(message)) return null;
    throw faultOf(rpc, `block ${hash}`, answer.failure);
  }
  const block = readRawBlock(answer.result);
  if (block.header.hash !== hash) throw new MalformedAnswer("block", `block ${hash}`, block.header.hash);
  return block;
}
