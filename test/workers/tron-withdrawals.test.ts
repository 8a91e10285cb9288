/** Withdrawals of TRX and of a token through the chain's own adapter, over a node whose chain checks signature, reference block and expiration. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { tronHex } from "../../src/core/tron-address.ts";
import { newTronAddress } from "../support/expiring-chain.ts";
import { TronChain } from "../support/tron-chain.ts";
import { TronNodeDouble } from "../support/tron-double.ts";
import { TronToken } from "../support/tron-token.ts";
import { ExpiringMerchant, TRX, tron, USDT, watched } from "./expiring-line.ts";
import { DAY_MS, quiet, time } from "./line.ts";

const UNSOLID = 18;
const asShipped = tron.caip2;

let chain: TronChain;
let double: TronNodeDouble;
let usdt: TronToken;

beforeEach(() => {
  time.now = Date.now() + 365 * DAY_MS;
  chain = new TronChain();
  chain.mine(30);
  chain.unsolid = UNSOLID;
  usdt = new TronToken(tronHex(USDT));
  double = new TronNodeDouble(chain, usdt);
  Object.assign(tron, { caip2: `tron:0x${chain.at(0).id.slice(-8)}` });
  vi.spyOn(globalThis, "fetch").mockImplementation(double.fetch);
  watched();
});
afterEach(() => {
  Object.assign(tron, { caip2: asShipped });
  vi.restoreAllMocks();
});

/** With a thousand TRX in its wallet. */
async function startMerchant(): Promise<ExpiringMerchant> {
  const merchant = await ExpiringMerchant.opened();
  chain.pay(merchant.wallet, 1_000n * TRX);
  chain.mine(UNSOLID + 1);
  await merchant.credit("native", 100n * TRX);
  return merchant;
}

const balanceOf = (address: string) => chain.account(tronHex(address)).balance;

async function mineAndDrive(merchant: ExpiringMerchant, blocks: number): Promise<void> {
  for (let i = 0; i < blocks; i++) {
    await chain.mineWith(usdt);
    await merchant.drive();
  }
}

describe("TRX", () => {
  it("is paid once, confirmed when solid, and its fee booked", async () => {
    const merchant = await startMerchant();
    const { id, destination } = await merchant.withdraw({ amount: "2.5" });
    expect(await merchant.steps(id)).toBe("transaction_signed accepted");
    await mineAndDrive(merchant, UNSOLID);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await mineAndDrive(merchant, 2);
    expect(await merchant.steps(id)).toBe("transaction_signed accepted confirmed_on_chain");
    expect(balanceOf(destination)).toBe(2_500_000n);
    const { tx_id, fee_units } = await merchant.withdrawal(id);
    const left = 1_000n * TRX - 2_500_000n - BigInt(fee_units ?? 0);
    expect([chain.find(tx_id ?? "") === null, balanceOf(merchant.wallet)]).toEqual([false, left]);
    const report = await (await merchant.call("POST", "/v1/reconciliation")).json();
    expect(report).toMatchObject({ status: "matched", differences: [], compared: { attempts: 1, receipts: 1 } });
  });

  it("B98: whose sends are never answered is signed anew only when solid blocks past its expiration do not have it", async () => {
    quiet("warn");
    const merchant = await startMerchant();
    let isTaken = false;
    double.on("wallet/broadcasthex", async (_, honest) => {
      if (isTaken) await honest();
      throw new Error("timeout");
    });
    const { id, destination } = await merchant.withdraw();
    const expiry = 20;
    await mineAndDrive(merchant, expiry + UNSOLID);
    expect(await merchant.signed()).toHaveLength(1);
    isTaken = true;
    await mineAndDrive(merchant, 4);
    expect(await merchant.signed()).toHaveLength(2);
    await mineAndDrive(merchant, UNSOLID + 4);
    expect([await merchant.state(id), await merchant.attempts(id)]).toEqual(["confirmed", "void mined"]);
    expect(balanceOf(destination)).toBe(TRX);
  });

  it("shows its wallet and what a payment costs", async () => {
    const merchant = await startMerchant();
    expect(await merchant.hotWallet()).toMatchObject({
      address: expect.stringMatching(/^T/),
      signer: { type: "derived", path: expect.stringMatching(/^m\/44'\/195'/) },
    });
    const body = { network: "tron", asset: "TRX", amount: "1", destination: newTronAddress() };
    const estimate = (await (await merchant.call("POST", "/v1/withdrawals/estimate", { body })).json()) as {
      fee: string;
    };
    expect(Number(estimate.fee)).toBeGreaterThan(0);
  });
});

describe("a token", () => {
  /** With a hundred of it in the account, and in the wallet. */
  async function startHolder(): Promise<ExpiringMerchant> {
    const merchant = await startMerchant();
    await merchant.credit(USDT, 100n * TRX);
    usdt.units.set(tronHex(merchant.wallet), 100n * TRX);
    return merchant;
  }
  const usdtOf = (address: string) => usdt.units.get(tronHex(address)) ?? 0n;

  it("is paid once, confirmed when solid, and its energy booked in TRX", async () => {
    const merchant = await startHolder();
    const { id, destination } = await merchant.withdraw({ asset: "USDT", amount: "2.5" });
    expect(await merchant.steps(id)).toBe("transaction_signed accepted");
    await mineAndDrive(merchant, UNSOLID + 2);
    expect(await merchant.steps(id)).toBe("transaction_signed accepted confirmed_on_chain");
    expect([usdtOf(destination), usdtOf(merchant.wallet)]).toEqual([2_500_000n, 97_500_000n]);
    const { fee_units } = await merchant.withdrawal(id);
    expect(Number(fee_units)).toBeGreaterThan(6_000_000);
    expect(balanceOf(merchant.wallet)).toBe(1_000n * TRX - BigInt(fee_units ?? 0));
    expect(await merchant.funds("USDT")).toBe("97.5 0 2.5");
    const fees = (await merchant.balances()).find(({ account }) => account === "sluice:fees");
    expect(fees?.asset).toBe("TRX");
    const report = await (await merchant.call("POST", "/v1/reconciliation")).json();
    expect(report).toMatchObject({ status: "matched", differences: [], compared: { attempts: 1, receipts: 1 } });
  });

  it("that its contract would not pay out fails before anything is signed", async () => {
    const merchant = await startHolder();
    const destination = newTronAddress();
    usdt.refused.add(tronHex(destination));
    const { id } = await merchant.withdraw({ asset: "USDT", amount: "2.5", destination });
    expect(await merchant.steps(id)).toBe("would_revert");
    expect([await merchant.signed(), await merchant.funds("USDT")]).toEqual([[], "100 0 0"]);
  });

  it("whose transfer is carried out in a block, and fails there, is available again; its fee was paid", async () => {
    const merchant = await startHolder();
    const { id, destination } = await merchant.withdraw({ asset: "USDT", amount: "2.5" });
    usdt.refused.add(tronHex(destination));
    await mineAndDrive(merchant, UNSOLID + 2);
    expect(await merchant.steps(id)).toBe("transaction_signed accepted reverted_on_chain");
    expect([usdtOf(destination), await merchant.funds("USDT")]).toEqual([0n, "100 0 0"]);
    const { fee_units } = await merchant.withdrawal(id);
    expect(balanceOf(merchant.wallet)).toBe(1_000n * TRX - BigInt(fee_units ?? 0));
    expect(Number(fee_units)).toBeGreaterThan(0);
  });

  it("waits for a wallet that has too little of it, and is paid when it has enough", async () => {
    quiet("warn");
    const merchant = await startHolder();
    usdt.units.set(tronHex(merchant.wallet), TRX);
    const { id, destination } = await merchant.withdraw({ asset: "USDT", amount: "2.5" });
    expect((await merchant.withdrawal(id)).waiting_for).toBe("wallet_top_up");
    usdt.units.set(tronHex(merchant.wallet), 3n * TRX);
    await mineAndDrive(merchant, UNSOLID + 3);
    expect([await merchant.state(id), usdtOf(destination)]).toEqual(["confirmed", 2_500_000n]);
  });
});

it.each([
  ["the address that nobody has the key of", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", "does not pay to or watch"],
  ["a number, as tokens of another kind have", "1002000", "TRC-10"],
  ["a digit that is wrong", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u", "the checksum does not match"],
])("a token is not listed by %s, and the answer says why", async (_what, contract, why) => {
  const { id, keyId, key } = await ExpiringMerchant.signUp();
  const merchant = new ExpiringMerchant(id, keyId, key);
  const refused = await merchant.call("POST", "/v1/assets", { body: { network: "tron", contract } });
  expect(await refused.json()).toMatchObject({
    status: 422,
    code: "invalid_address",
    errors: [{ path: "contract", message: expect.stringContaining(why) }],
  });
});
