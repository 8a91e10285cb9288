/** The chain of tests as a process of its own: real HTTP, real execution, from wherever fetch is. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { SolanaNode } from "../../src/chains/solana/node.ts";
import { interestIn } from "../support/chain-worlds.ts";
import { solanaKey } from "../support/solana-keys.ts";
import { type SolanaProcess, startSolana } from "../support/solana-server.ts";

let solana: SolanaProcess;
beforeAll(async () => {
  solana = await startSolana(2);
});
afterAll(() => solana.stop());

it("takes orders, and each node shows what is done", async () => {
  const ann = solanaKey("ann").address;
  await solana.order({ on: "chain", call: "fund", with: [ann, 10n ** 9n] });
  const txId = await solana.order({ on: "chain", call: "pay", with: [ann, 7n] });
  await solana.order({ on: "chain", call: "mine", with: [3] });
  await solana.order({ on: 1, call: "lag", with: [2] });
  const heads: number[] = [];
  for (const url of solana.urls) {
    const node = new SolanaNode({ url, fetch, timeoutMs: 5_000 }, { caip2: "solana:local", genesis: null });
    heads.push((await node.tip()).head.height);
    const { transfers } = await node.readBlocks(1, 1, interestIn([ann]).interest);
    expect(transfers.map((transfer) => [transfer.txId, transfer.amountUnits])).toEqual([[txId, 7n]]);
  }
  expect(heads).toEqual([3, 1]);
  await expect(solana.order({ on: "chain", call: "at", with: [99] })).rejects.toThrow("the chain has no block 99");
});
