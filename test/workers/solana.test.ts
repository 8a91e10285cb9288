/** Solana from inside workerd: its library, its curve and its answers, against a chain in a process of its own. */

import { expect, inject, it } from "vitest";
import { SolanaNode } from "../../src/chains/solana/node.ts";
import { createSolanaChain } from "../../src/chains/solana/payout-node.ts";
import { EXPIRING_NETWORKS } from "../../src/core/expiring-networks.ts";
import { type Order, orderAt } from "../support/solana-orders.ts";

const { urls, control } = inject("solana");
const SEED = "5c1d0f9a7be3428665b0a4c7d9e8f162b347a8b9c0d1e2f3a4f60718293a4b5d";
const order = (on: Order["on"], call: string, ...given: readonly unknown[]) =>
  orderAt(control, { on, call, with: given });

it("pays out and sees what was paid", async () => {
  const settings = EXPIRING_NETWORKS.find(({ id }) => id === "solana-local");
  if (settings?.family !== "solana") throw new Error("the local network is one of Solana");
  const chain = createSolanaChain({ settings, urls, fetch, timeoutMs: 10_000 });
  const signer = chain.signer(SEED, "ten_one");
  const receiver = chain.signer(SEED, "ten_two").address;
  await order("chain", "fund", signer.address, 10n ** 10n);
  await order("chain", "mine", 3);
  const [node] = chain.nodes;
  if (node === undefined) throw new Error("two nodes are there");
  const intent = {
    sender: signer.address,
    asset: "native",
    decimals: 9,
    destination: receiver,
    amountUnits: 1_500_000n,
    maxFeeUnits: 1_000_000n,
  };
  const prepared = await node.prepare(intent);
  if (!prepared.ok) throw new Error(prepared.detail);
  const read = chain.read(await signer.sign(prepared.unsigned), prepared.unsigned, intent);
  if (!read.ok) throw new Error(read.problem);
  const { raw, txId } = read.signed;
  expect(await node.simulate(raw)).toEqual({ ok: true });
  expect((await node.send(raw, txId)).meaning).toBe("accepted");
  const { height } = (await order("chain", "mine", 1)) as { readonly height: number };
  const attempts = [{ txId, expiresAt: prepared.unsigned.expiresAt, signedAbove: height - 1 }];
  for (const one of chain.nodes) {
    expect((await one.look({ attempts })).found.get(txId)).toMatchObject({ height, success: true });
  }
  const reader = new SolanaNode({ url: urls[1] ?? "", fetch, timeoutMs: 10_000 }, settings);
  const interest = { contracts: new Set<string>(), native: true, internal: false, watched: () => new Set([receiver]) };
  const { transfers } = await reader.readBlocks(height, height, interest);
  expect(transfers).toMatchObject([{ txId, address: receiver, amountUnits: 1_500_000n, transferIndex: "ix:2" }]);
});
