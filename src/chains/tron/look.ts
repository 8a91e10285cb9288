/**
 * What became of signed transactions, by final blocks alone.
 *
 * Absent is proven by reading: a node that does not find an id may be a backend that lags behind the one that named the
 * head. A block may hold a transaction when its parent's time is before the expiration (`validateCommon` compares with
 * the head that a block is put on), so the last one that can is the first whose own time is not. All blocks from the
 * signing up to there are read, each the parent of the next; only then a transaction is said to be in none of them.
 * A block whose root does not come out counts as read all the same, since any stranger can make one: what hides a
 * transaction from the index of ids and from its block alike is for other providers to show.
 */

import { NATIVE } from "../../core/transfer.ts";
import { tronAddress } from "../../core/tron-address.ts";
import type { ExpiringLook, ExpiringQuestion, Landed } from "../expiring-payout.ts";
import { inParallel } from "../rpc/parallel.ts";
import { addressOf, ContradictedAnswer } from "./answers.ts";
import type { TronApi } from "./api.ts";
import { readBlock, type TronBlock } from "./block.ts";
import { readInfo, type TronInfo } from "./info.ts";
import { readSolidHeader } from "./node.ts";
import { endOf } from "./payments.ts";
import { decodeRawData, type TronContract } from "./raw-data.ts";
import { isTransfer, moveIn } from "./token-log.ts";

type Attempt = ExpiringQuestion["attempts"][number];
type Found = Landed | "pending" | null | "cannot_tell";

const BLOCKS_AT_ONCE = 4;
/** As long as a transaction may live, as many that were not solid when it was signed, and some to spare. */
const MAX_BLOCKS_SEARCHED = 400;

/** @throws ChainFault, MalformedAnswer */
export async function look(api: TronApi, { attempts }: ExpiringQuestion): Promise<ExpiringLook> {
  // Before anything is looked for: what is missing then is missing up to here.
  const { ref, timeMs } = await readSolidHeader(api, null);
  const found = new Map<string, Landed | "pending" | null>();
  const read = new SearchedBlocks(api);
  for (const attempt of attempts) {
    const one = await find(read, attempt, timeMs);
    if (one !== "cannot_tell") found.set(attempt.txId, one);
  }
  // One that became final meanwhile shows that more is.
  const heights = [...found.values()].flatMap((one) => (one === null || one === "pending" ? [] : [one.height]));
  return { finalHeight: Math.max(ref.height, ...heights), finalPoint: timeMs, found };
}

/** Transactions that were signed together are searched for in the same blocks: each is asked for once in a look. */
class SearchedBlocks {
  readonly api: TronApi;
  readonly #read = new Map<number, Promise<SearchedBlock | null>>();

  constructor(api: TronApi) {
    this.api = api;
  }

  at(height: number): Promise<SearchedBlock | null> {
    const known = this.#read.get(height);
    if (known !== undefined) return known;
    const read = this.#searched(height);
    this.#read.set(height, read);
    return read;
  }

  async #searched(height: number): Promise<SearchedBlock | null> {
    const block = await blockAt(this.api, height);
    if (block === null) return null;
    const { ref, timeMs, transactions } = block;
    return { ref, timeMs, txIds: new Set(transactions.map(({ txId }) => txId)) };
  }
}

interface SearchedBlock extends Pick<TronBlock, "ref" | "timeMs"> {
  readonly txIds: ReadonlySet<string>;
}

async function find(read: SearchedBlocks, attempt: Attempt, finalPoint: number): Promise<Found> {
  const { api } = read;
  try {
    const info = await infoOf(api, attempt.txId);
    if (info !== null) return await landedIn(api, attempt, info.height, info);
    if (finalPoint > attempt.expiresAt) return await search(read, attempt);
    return (await isSeen(api, attempt.txId)) ? "pending" : "cannot_tell";
  } catch (error) {
    // It stands against itself: what it says of this one is not to be used.
    if (error instanceof ContradictedAnswer) return "cannot_tell";
    throw error;
  }
}

/** Through all blocks that could hold it. */
async function search(read: SearchedBlocks, attempt: Attempt): Promise<Found> {
  const first = attempt.signedAbove + 1;
  let parent: SearchedBlock | null = null;
  for (let next = first; next < first + MAX_BLOCKS_SEARCHED; next += BLOCKS_AT_ONCE) {
    const heights = Array.from({ length: BLOCKS_AT_ONCE }, (_, i) => next + i);
    const blocks = await inParallel(BLOCKS_AT_ONCE, heights, (height) => read.at(height));
    for (const block of blocks) {
      if (block === null || (parent !== null && block.ref.parentHash !== parent.ref.hash)) return "cannot_tell";
      if (block.txIds.has(attempt.txId))
        return landedIn(read.api, attempt, block.ref.height, await infoOf(read.api, attempt.txId));
      if (block.timeMs >= attempt.expiresAt) return null;
      parent = block;
    }
  }
  return "cannot_tell";
}

/** Beyond the last that is needed a block may well be missing: null. */
async function blockAt(api: TronApi, height: number): Promise<TronBlock | null> {
  const block = readBlock(await api.ask("walletsolidity/getblock", { id_or_num: String(height), detail: true }));
  return block !== null && block.ref.height === height ? block : null;
}

async function infoOf(api: TronApi, txId: string): Promise<TronInfo | null> {
  const info = readInfo(await api.ask("walletsolidity/gettransactioninfobyid", { value: txId }));
  return info !== null && info.txId === txId ? info : null;
}

async function landedIn(api: TronApi, attempt: Attempt, height: number, info: TronInfo | null): Promise<Found> {
  const block = info === null || height <= attempt.signedAbove ? null : await blockAt(api, height);
  const tx = block?.transactions.find(({ txId }) => txId === attempt.txId);
  if (block === null || info === null || info.height !== height || tx === undefined) return "cannot_tell";
  const contract = decodeRawData(tx.raw)?.contract ?? { kind: "other" };
  const end = endOf(tx, info, contract);
  // What is not known to have failed may have paid.
  if (end === "unsaid") return "cannot_tell";
  const moves = end === "succeeded" ? movesOf(contract, info) : [];
  return {
    txId: tx.txId,
    height,
    blockHash: block.ref.hash,
    success: end === "succeeded",
    feeUnits: info.feeUnits,
    moves,
  };
}

/** TRX by the transaction's own value, tokens of any contract by their logs. */
function movesOf(contract: TronContract, { logs }: TronInfo): Landed["moves"] {
  const own = contract.kind === "transfer" ? [contract] : [];
  const native = own.flatMap(({ owner, to, amountUnits }) => {
    const [from, receiver] = [addressOf(owner), addressOf(to)];
    return from === null || receiver === null ? [] : [{ asset: NATIVE, from, to: receiver, amountUnits }];
  });
  const tokens = logs.filter(isTransfer).flatMap((log) => {
    const move = moveIn(log);
    return typeof move === "string" ? [] : [{ asset: tronAddress(log.contract), ...move }];
  });
  return [...native, ...tokens];
}

/** In a block that is not solid, or waiting for one. */
async function isSeen(api: TronApi, txId: string): Promise<boolean> {
  for (const path of ["wallet/gettransactionbyid", "wallet/gettransactionfrompending"]) {
    // A node without a list of what waits has not seen it, as far as anybody knows.
    const answer = await api.tell(path, { value: txId });
    if (answer.ok && typeof answer.body === "object" && answer.body !== null && "txID" in answer.body)
      if (answer.body.txID === txId) return true;
  }
  return false;
}
