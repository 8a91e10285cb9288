/**
 * Reading near the head: few blocks, each by its own hash, nothing believed that its header does not bear out.
 */

import { Cut } from "../cut.ts";
import type { Interest, Reading } from "../port.ts";
import { bothOf } from "../rpc/parallel.ts";
import type { NodeAccess } from "./access.ts";
import { weighBlocks } from "./arrivals.ts";
import { evidenceOf, keepListed } from "./block-evidence.ts";
import { bloomMayHoldTransfer, EMPTY_BLOOM } from "./bloom.ts";
import { readChain } from "./headers.ts";
import { readInternal } from "./internal.ts";
import { BLOCK_RECEIPTS, provenReceipts } from "./receipts.ts";
import type { Block } from "./records.ts";
import { readingOf, settle } from "./settle.ts";

/** Receipts and traces of more than this are too much to be lost together. */
const MAX_JOINED_TRANSACTIONS = 32;

/** @throws ChainFault, MalformedAnswer */
export async function readBlocks(access: NodeAccess, from: number, to: number, interest: Interest): Promise<Reading> {
  const cut = new Cut();
  const full = interest.native;
  const blocks = await readChain(access, { from, to, full }, cut, (block) => block);
  const asking = askingOnce(interest);
  const needy = blocksOfInterest(access, blocks, asking);
  const evidenceAndTraces = () =>
    bothOf(
      evidenceOf(access, needy, interest.contracts, cut),
      interest.internal ? readInternal(access, blocks, false, cut) : Promise.resolve(null),
    );
  const isSmall = blocks.reduce((sum, { txHashes }) => sum + txHashes.length, 0) <= MAX_JOINED_TRANSACTIONS;
  const [evidence, internal] = await (isSmall ? access.rpc.joined(evidenceAndTraces) : evidenceAndTraces());
  const findings = {
    refs: blocks.map((block) => block.ref),
    logs: evidence.logs,
    payments: blocks.flatMap((block) => block.payments.map((payment) => ({ ...payment, height: block.ref.height }))),
    internal: internal?.payments ?? [],
    facts: evidence.facts,
    traced: internal?.traced ?? ("off" as const),
  };
  const fetchFacts = async (wanted: ReadonlyMap<number, readonly string[]>) => {
    const owed = blocks.filter((block) => wanted.has(block.ref.height));
    for (const [height, receipts] of await provenReceipts(access, owed, cut)) {
      const listed = keepListed(receipts, interest.contracts, evidence.facts);
      const known = evidence.logs.filter((log) => log.height === height);
      if (listed.length === known.length) continue;
      cut.at("inconsistent", height, `${access.rpc.name}: ${known.length} logs by hash, ${listed.length} in receipts`);
    }
  };
  const transfers = await settle(findings, asking, fetchFacts, cut);
  return readingOf(findings, await weighBlocks(access, { ...findings, transfers, cut }), cut);
}

/** Blocks whose receipts are wanted: logs may be in them, or a payment to somebody watched is, which they must bear out. */
function blocksOfInterest(access: NodeAccess, blocks: readonly Block[], asking: Interest): Block[] {
  const receivers = new Set(blocks.flatMap(({ payments }) => payments.map(({ to }) => to)));
  const watched = receivers.size === 0 ? receivers : asking.watched(receivers);
  // One by one they are asked for when all is known that is wanted of them.
  const comeWhole = !access.missing.has(BLOCK_RECEIPTS);
  return blocks.filter(
    (block) =>
      mustReadReceipts(block, asking.contracts) || (comeWhole && block.payments.some(({ to }) => watched.has(to))),
  );
}

/** Remembers the answers, so that nobody is asked about twice. */
function askingOnce(interest: Interest): Interest {
  const asked = new Set<string>();
  const watched = new Set<string>();
  return {
    ...interest,
    watched: (receivers) => {
      const fresh = new Set([...receivers].filter((receiver) => !asked.has(receiver)));
      for (const receiver of fresh.size === 0 ? fresh : interest.watched(fresh)) watched.add(receiver);
      for (const receiver of fresh) asked.add(receiver);
      return new Set([...receivers].filter((receiver) => watched.has(receiver)));
    },
  };
}

/**
 * An empty bloom over transactions denies all logs, which is common on a quiet chain, and universal on one
 * that does not fill its blooms: the receipts tell the two apart.
 */
function mustReadReceipts(block: Block, contracts: ReadonlySet<string>): boolean {
  if (contracts.size === 0 || block.txHashes.length === 0) return false;
  return block.bloom === EMPTY_BLOOM || bloomMayHoldTransfer(block.bloom, contracts);
}
