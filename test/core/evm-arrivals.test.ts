/** B24: what counts is what arrived, on a real node with tokens that keep a part of each transfer. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EvmNode } from "../../src/chains/evm/node.ts";
import type { Interest, Reading } from "../../src/chains/port.ts";
import { type Anvil, DEV_ACCOUNTS, type Hex, startAnvil } from "../support/anvil.ts";
import { type Contract, deploy } from "../support/tokens.ts";

const W: Hex = `0x${"a1".repeat(20)}`;
const V: Hex = `0x${"b2".repeat(20)}`;

let anvil: Anvil;
let plain: Contract;
let fee: Contract;

beforeAll(async () => {
  anvil = await startAnvil();
  plain = await deploy(anvil, "Token", ["Plain", "PLN", 6]);
  fee = await deploy(anvil, "FeeToken", ["Fee", "FEE", 6, true]);
  for (const token of [plain, fee]) await token.send("mint", [DEV_ACCOUNTS[0], 1_000_000n]);
});
afterAll(() => anvil.stop());

const interest = (watched: readonly string[]): Interest => ({
  contracts: new Set([plain.address, fee.address]),
  native: false,
  internal: false,
  watched: (candidates) => new Set(watched.filter((address) => candidates.has(address))),
});

/** Mines what `act` sends and reads those blocks both ways. */
async function both(act: () => Promise<unknown>, watched = [W, V], through: typeof fetch = fetch) {
  const from = (await anvil.height()) + 1;
  await act();
  const to = await anvil.height();
  const node = () => new EvmNode({ url: anvil.url, fetch: through, timeoutMs: 5_000 });
  const near = await node().readBlocks(from, to, interest(watched));
  const far = await node().readRange(from, to, interest(watched));
  return { near, far };
}

const amounts = (reading: Reading) => reading.transfers.map((t) => `${t.address.slice(2, 4)} ${t.amountUnits}`);

describe("B24 a token that takes a fee", () => {
  it("counts what arrived, near the head and far behind it", async () => {
    const { near, far } = await both(() => fee.send("transfer", [W, 100n]));
    for (const reading of [near, far]) {
      expect(amounts(reading)).toEqual(["a1 98"]);
      expect(reading).toMatchObject({ shortTransfers: 1, unweighedTransfers: 0, stopped: null });
    }
  });

  it("counts each block of a range by itself", async () => {
    const { near, far } = await both(async () => {
      await fee.send("transfer", [W, 100n]);
      await fee.send("transfer", [V, 50n]);
      await fee.send("transfer", [W, 200n]);
    });
    for (const reading of [near, far]) expect(amounts(reading)).toEqual(["a1 98", "b2 49", "a1 196"]);
  });

  it("leaves an honest token as its log says, also when the receiver pays out in the same blocks", async () => {
    const { near, far } = await both(async () => {
      await plain.send("transfer", [W, 100n]);
      await anvil.rpc("anvil_setBalance", [W, "0xde0b6b3a7640000"]);
      await anvil.rpc("anvil_impersonateAccount", [W]);
      await anvil.receipt(
        await anvil.send({ from: W, to: plain.address, data: plain.encode("transfer", [V, 70n]), gas: 200_000n }),
      );
    });
    for (const reading of [near, far]) {
      expect(amounts(reading)).toEqual(["a1 100", "b2 70"]);
      expect(reading).toMatchObject({ shortTransfers: 0, unweighedTransfers: 0 });
    }
  });

  it("takes the log's word where the node has no state of those blocks, and says how often", async () => {
    const stateless: typeof fetch = async (input, init) => {
      const body = String(init?.body);
      return fetch(input, { ...init, body: body.replaceAll('"eth_call"', '"eth_call_of_pruned_state"') });
    };
    const { near, far } = await both(() => fee.send("transfer", [W, 100n]), [W], stateless);
    for (const reading of [near, far]) {
      expect(amounts(reading)).toEqual(["a1 100"]);
      expect(reading).toMatchObject({ shortTransfers: 0, unweighedTransfers: 1 });
    }
  });
});
