/** Gives the nodes of the local chain a pool each, as an adapter would offer it: a list that the test writes. */

import { vi } from "vitest";
import { ChainNodes } from "../../src/chains/nodes.ts";
import { ChainFault, type Interest, type PoolReading, type PoolTransfer } from "../../src/chains/port.ts";
import type { ModelNode, Tx } from "../support/model-chain.ts";

export class Pool {
  txs: Tx[] = [];
  isWhole = true;
  /** Its list of all that waits, looked at or not; null: it gives none, unless it is whole. */
  listed: readonly Tx[] | null = null;
  down = false;
  /** What it gives as its head; undefined: that of its chain. */
  head: string | null | undefined;
  readings = 0;

  constructor(readonly node: ModelNode) {}

  read({ watched }: Interest): PoolReading {
    this.readings++;
    if (this.down) throw new ChainFault("the pool does not answer", true, "pool");
    const { chain, lag } = this.node;
    const head = this.head === undefined ? chain.at(chain.head - lag)?.hash : this.head;
    const theirs = watched(new Set(this.txs.map((tx) => tx.to)));
    const transfers = this.txs.filter((tx) => theirs.has(tx.to)).map(waiting);
    const listed = this.listed ?? (this.isWhole ? this.txs : null);
    const txIds = listed === null ? null : new Set(listed.map(({ hash }) => hash));
    return { head: head ?? null, transfers, isWhole: this.isWhole, txIds };
  }
}

function waiting({ hash, to, value }: Tx): PoolTransfer {
  return { txId: hash, transferIndex: "value", address: to, asset: "native", amountUnits: value };
}

/** From now on the first node has the first pool, and so on. */
export function servePools(...pools: readonly Pool[]): void {
  const honest = ChainNodes.prototype.candidates;
  vi.spyOn(ChainNodes.prototype, "candidates").mockImplementation(function (this: ChainNodes, now) {
    const nodes = honest.call(this, now);
    for (const node of nodes) {
      const pool = pools[Number(/^node-(\d+)\./.exec(node.name)?.[1])];
      const read = pool === undefined ? undefined : async (interest: Interest) => pool.read(interest);
      Object.defineProperty(node, "pool", { configurable: true, value: read });
    }
    return nodes;
  });
}
