/** How far back the transaction that spends an old coin is looked for, by an object that remembers nothing. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { chain, poll, regtest } from "./bitcoin-line.ts";
import { checkCoinPayouts, expectStrangers, receivedBy } from "./coin-checks.ts";
import { BTC, CoinMerchant, startCoins } from "./coin-line.ts";
import { quiet } from "./line.ts";

/** More than one look reads. */
const OLD = 120;

beforeEach(async () => {
  expectStrangers();
  await startCoins();
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** The object has forgotten everything between two looks. */
async function driveAnew(merchant: CoinMerchant, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await merchant.evict();
    await merchant.useNodes();
    await merchant.drive(1, 16_000);
  }
}

async function grow(blocks: number): Promise<void> {
  for (let left = blocks; left > 0; left -= 20) {
    chain.mine(Math.min(left, 20), { include: [] });
    await poll(2);
  }
}

describe("the payment with an old coin", () => {
  it("is found by an object that was started anew before every look", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    await grow(OLD);
    const { id, destination } = await merchant.withdraw();
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    chain.mine();
    await poll(2);
    chain.mine(2);
    await poll(2);
    await driveAnew(merchant, 2);
    expect([await merchant.state(id), receivedBy(destination)]).toEqual(["confirmed", [BTC]]);
    await merchant.rest();
    await checkCoinPayouts(merchant);
  });

  it("is found after more blocks than one look reads, also by an object that forgets every look", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    await grow(OLD);
    const { id } = await merchant.withdraw();
    chain.mine();
    await grow(OLD);
    await driveAnew(merchant, 8);
    expect(await merchant.state(id)).toBe("confirmed");
    await merchant.rest();
    await checkCoinPayouts(merchant);
  });

  it("is found below where the search began when more blocks than that were replaced", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    Object.assign(regtest, { reorgWindow: 60 });
    await grow(OLD);
    const { id } = await merchant.withdraw();
    chain.reorg(30, { newBlocks: 31, keep: [await merchant.last()] });
    await poll(3);
    await driveAnew(merchant, 8);
    expect(await merchant.state(id)).toBe("confirmed");
    await checkCoinPayouts(merchant);
  });

  it("is found when the search began above the head", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.withdraw();
    await merchant.rows("UPDATE spend_inputs SET height = 1000000");
    await merchant.mineAndDrive(4);
    expect(await merchant.state(id)).toBe("confirmed");
    await checkCoinPayouts(merchant);
  });
});
