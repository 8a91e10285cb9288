/** What nodes answer to a send, and what they do not answer: nothing is released, and nothing is paid twice. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type BitcoinNodeDouble, CoreError } from "../support/bitcoin-double.ts";
import { chain, node } from "./bitcoin-line.ts";
import { checkCoinPayouts, expectStrangers } from "./coin-checks.ts";
import { BTC, CoinMerchant, newBitcoinAddress, nodes, startCoins } from "./coin-line.ts";
import { quiet } from "./line.ts";

beforeEach(async () => {
  expectStrangers();
  await startCoins();
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("what a node says to a send", () => {
  it.each([
    [-25, "bad-txns-inputs-missingorspent", "nonce_consumed"],
    [-26, "min relay fee not met, 10 < 141", "fee_too_low"],
    [-26, "some policy nobody knows", "unknown"],
    [-27, "Transaction outputs already in utxo set", "already_known"],
    [-28, "Loading block index…", "provider_unavailable"],
  ])("%i %s releases nothing, and is paid once in the end", async (code, text, outcome) => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    node.next("sendrawtransaction", 1, () => {
      throw new CoreError(code, text);
    });
    const { id } = await merchant.withdraw();
    expect((await merchant.withdrawal(id)).attempts[0]?.outcome).toBe(outcome);
    expect((await merchant.funds()).split(" ")[1]).toBe(BTC.toString());
    await merchant.drive(3, 31_000);
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    await checkCoinPayouts(merchant);
  });

  it("no answer: the same bytes again, and no second payment", async () => {
    quiet("warn", "error");
    const merchant = await CoinMerchant.start();
    node.loseAnswers("sendrawtransaction", 1);
    const { id } = await merchant.withdraw();
    expect(await merchant.state(id)).toBe("broadcast_pending");
    await merchant.drive(1, 31_000);
    expect(await merchant.steps(id)).toBe("coins_chosen accepted");
    expect(await merchant.signed()).toHaveLength(1);
    await merchant.rest();
    await checkCoinPayouts(merchant);
  });

  it("a second provider that knows nothing holds the confirmation back, and nothing else", async () => {
    quiet("warn", "error");
    await startCoins(2);
    const merchant = await CoinMerchant.start();
    const { id } = await merchant.withdraw();
    const other = nodes[1] as BitcoinNodeDouble;
    other.chain = chain.fork();
    await merchant.mineAndDrive(3);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    other.chain = chain;
    await merchant.drive(1, 16_000);
    expect(await merchant.state(id)).toBe("confirmed");
    await merchant.rest();
    await checkCoinPayouts(merchant);
  });

  it("an amount that no node relays is refused", async () => {
    const merchant = await CoinMerchant.start();
    const answer = await merchant.ask({ amount: "0.00000200", destination: newBitcoinAddress() });
    expect(answer.status).toBe(422);
  });
});
