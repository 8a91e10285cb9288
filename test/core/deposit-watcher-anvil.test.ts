/** The watcher against a real node: native, token and internal transfers, through a real reorganisation. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keyText } from "../../src/core/transfer.ts";
import { DepositWatcher, evmSource, type PollResult } from "../../src/watcher/index.ts";
import { type Anvil, type Hex, startAnvil } from "../support/anvil.ts";
import { type Contract, deploy } from "../support/tokens.ts";
import { Store } from "../support/watcher-world.ts";

const SHOP = "0x00000000000000000000000000000000000a11ce";

let anvil: Anvil;
let coin: Contract;
let payer: Contract;

beforeAll(async () => {
  anvil = await startAnvil();
  coin = await deploy(anvil, "Token", ["Coin", "COIN", 6]);
  payer = await deploy(anvil, "Payer", []);
}, 60_000);
afterAll(() => anvil?.stop());

describe("a real chain", () => {
  it("is read and followed through a reorganisation, with providers that are not there", async () => {
    const source = evmSource({
      urls: ["http://127.0.0.1:1", anvil.url],
      network: "local",
      tokens: [{ symbol: "COIN", contract: coin.address, decimals: 6 }],
    });
    const store = new Store();
    const poll = async (): Promise<PollResult> => {
      // Each poll in a program of its own.
      const { state } = store;
      const watcher = new DepositWatcher(source, [SHOP], { policy: { default: 2 }, reorgDepth: 10, state });
      return watcher.poll((result) => store.commit(result));
    };
    await poll();
    const native = (await anvil.pay(SHOP, 11n)).transactionHash;
    const token = (await coin.send("mint", [SHOP, 22n])).transactionHash;
    const internal = (await payer.send("pay", [[SHOP, SHOP], 3n], 6n)).transactionHash;
    const lost = (await anvil.pay(SHOP, 44n)).transactionHash;
    await anvil.mine(2);
    const first = await poll();
    const told = (list: PollResult["confirmed"]) =>
      list.map((d) => `${d.txId} ${d.transferIndex} ${d.asset} ${d.amountUnits}`).sort();
    const kept = [
      `${native} value ETH 11`,
      `${token} log:0 COIN 22`,
      `${internal} call:0 ETH 3`,
      `${internal} call:1 ETH 3`,
    ];
    expect(told(first.confirmed)).toEqual([...kept, `${lost} value ETH 44`].sort());
    expect(first).toMatchObject({ internal: "traced", reverted: [] });

    const raw = async (hash: Hex, offset: number) => [await anvil.rawTransaction(hash), offset] as const;
    await anvil.reorg(6, [await raw(native, 1), await raw(token, 2), await raw(internal, 5)]);
    await anvil.mine(1);
    const second = await poll();
    expect(told(second.reverted)).toEqual([`${lost} value ETH 44`]);
    // Where it is mined now, at the old head, it is two deep again, and nothing was to be told of it.
    expect(second).toMatchObject({ confirmed: [], pending: [], readTo: await anvil.height() });
    expect([...store.books.keys()].sort()).toEqual(
      kept.map((line) => keyText({ txId: line.split(" ")[0] ?? "", transferIndex: line.split(" ")[1] ?? "" })).sort(),
    );
  });
});
