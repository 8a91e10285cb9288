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
import { provenReceipts } from "./receipts.ts";
import type { Block } from "./records.ts";
import { readingOf, settle } from "./settle.ts";

/** @throws ChainFault, MalformedAnswer */
export async function readBlocks(access: NodeAccess, from: number, to: number, interest: Interest): Promise<Reading> {
  const cut = new Cut();
  const full = interest.native;
  const blocks = await readChain(access, { from, to, full }, cut, (block) => block);
  const needy = blocks.filter((block) => mustReadReceipts(block, interest.contracts));
  const [evidence, internal] = await bothOf(
    evidenceOf(access, needy, interest.contracts, cut),
    interest.internal ? readInternal(access, blocks, false, cut) : Promise.resolve(null),
  );
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
  const transfers = await settle(findings, interest, fetchFacts, cut);
  return readingOf(findings, await weighBlocks(access, { ...findings, transfers, cut }), cut);
}

/**
 * An empty bloom over transactions denies all logs, which is common on a quiet chain, and universal on one
 * that does not fill its blooms: the receipts tell the two apart.
 */
function mustReadReceipts(block: Block, contracts: ReadonlySet<string>): boolean {
  if (contracts.size === 0 || block.txHashes.length === 0) return false;
  return block.bloom === EMPTY_BLOOM || bloomMayHoldTransfer(block.bloom, contracts);
}
