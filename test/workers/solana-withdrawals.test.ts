/** Withdrawals of SOL and of a token through the chain's own adapter, over two nodes of a chain that carries transactions out. */

import { afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { associatedAccount } from "../../src/chains/solana/program-address.ts";
import { deriveSolanaSigner } from "../../src/chains/solana/signer.ts";
import type { SolanaNetwork } from "../../src/core/network.ts";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";
import { type Order, orderAt } from "../support/solana-orders.ts";
import { ExpiringMerchant, others, watched } from "./expiring-line.ts";
import { checkBooks, DAY_MS, quiet, time } from "./line.ts";

const { urls, control } = inject("solana");
const ID = "solana-local";
const local = BUILT_IN_NETWORKS.find(({ id }) => id === ID) as SolanaNetwork;
const SOL = 10n ** 9n;
/** Blocks after its signing beyond which no transaction can land, whatever anybody said of its expiry. */
const LIFE = 301;
const order = (call: string, ...given: readonly unknown[]) => orderAt(control, { on: "chain", call, with: given });
const onNode = (on: Order["on"], call: string, ...given: readonly unknown[]) =>
  orderAt(control, { on, call, with: given });
const onTokens = (call: string, ...given: readonly unknown[]) => orderAt(control, { on: "tokens", call, with: given });
let receivers = 0;
const newReceiver = () => deriveSolanaSigner("77".repeat(32), `receiver ${++receivers}`, ID).address;

interface Token {
  readonly mint: string;
  readonly program: string;
}
let usd: Token;
beforeAll(async () => {
  usd = (await onTokens("putMint", "usd of withdrawals")) as Token;
});
beforeEach(() => {
  time.now = Date.now() + 365 * DAY_MS;
  Object.assign(local, { tokens: [{ symbol: "USD", contract: usd.mint, decimals: 6 }] });
  others.set(ID, { settings: local, urls });
  watched();
});
afterEach(() => {
  Object.assign(local, { tokens: [] });
  others.clear();
  vi.restoreAllMocks();
});

async function startMerchant(): Promise<ExpiringMerchant> {
  const merchant = await ExpiringMerchant.opened(ID);
  await order("fund", merchant.wallet, 10n * SOL);
  await order("mine", 3);
  await merchant.credit("native", SOL);
  return merchant;
}

const wanted = () => ({ asset: "SOL", amount: "0.5", destination: newReceiver() });

async function mineAndDrive(merchant: ExpiringMerchant, times: number, blocks = 1): Promise<void> {
  for (let i = 0; i < times; i++) {
    await order("mine", blocks);
    await merchant.drive();
  }
}

describe("SOL", () => {
  it("is paid once, confirmed when final, its fee booked, and found by its signature", async () => {
    const merchant = await startMerchant();
    const { id } = await merchant.withdraw(wanted());
    expect(await merchant.steps(id)).toBe("transaction_signed accepted");
    await mineAndDrive(merchant, 3);
    expect(await merchant.steps(id)).toBe("transaction_signed accepted confirmed_on_chain");
    const { tx_id, fee_units, attempts } = await merchant.withdrawal(id);
    expect([Number(fee_units) >= 5_000, attempts.map(({ status }) => status)]).toEqual([true, ["mined"]]);
    const found = await merchant.get<{ data: { id: string }[] }>(`/v1/withdrawals?tx_id=${tx_id}`);
    expect(found.data.map((one) => one.id)).toEqual([id]);
    const fees = (await merchant.balances()).find(({ account }) => account === "sluice:fees");
    expect(fees?.asset).toBe("SOL");
    const report = await (await merchant.call("POST", "/v1/reconciliation")).json();
    expect(report).toMatchObject({ status: "matched", differences: [], compared: { attempts: 1, receipts: 1 } });
  });

  it("B77: of one amount, to one receiver, at one moment are one payment on the chain each", async () => {
    const merchant = await startMerchant();
    const wish = { ...wanted(), amount: "0.25" };
    const asked = await Promise.all([merchant.ask(wish), merchant.ask(wish)]);
    expect(asked.map(({ status }) => status)).toEqual([201, 201]);
    await merchant.settle();
    await merchant.drive(2);
    // On one blockhash they have the same bytes: one of them waits for the next.
    expect(await merchant.signed()).toHaveLength(1);
    await mineAndDrive(merchant, 5);
    const all = await merchant.withdrawals();
    expect(all.map(({ state }) => state)).toEqual(["confirmed", "confirmed"]);
    const ids = all.map(({ tx_id }) => tx_id ?? "");
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(await order("find", id)).toMatchObject({ tx: { signature: id, err: null } });
    expect(await order("accountAt", wish.destination, await order("head"))).toMatchObject({ lamports: SOL / 2n });
    for (const id of ids) {
      const found = await merchant.get<{ data: { id: string }[] }>(`/v1/withdrawals?tx_id=${id}`);
      expect(found.data).toHaveLength(1);
    }
    const told = (await merchant.events()).map(({ data }) => data as { id: string; state: string });
    const confirmed = told.flatMap(({ id, state }) => (state === "confirmed" ? [id] : []));
    expect(confirmed.sort()).toEqual(all.map(({ id }) => id).sort());
    expect(await merchant.funds("SOL")).toBe("0.5 0 0.5");
    await checkBooks(merchant);
  });

  it("B100: to a token account, which is no owner, is refused before anything is reserved", async () => {
    const merchant = await startMerchant();
    const mint = await orderAt(control, { on: "tokens", call: "putMint", with: ["another"] });
    const given = [mint, newReceiver(), 1n];
    const destination = (await orderAt(control, { on: "tokens", call: "giveTokens", with: given })) as string;
    await order("mine", 3);
    const body = { network: ID, asset: "SOL", amount: "0.5", destination };
    const estimate = (await (await merchant.call("POST", "/v1/withdrawals/estimate", { body })).json()) as object;
    expect(estimate).toMatchObject({ warning: expect.stringContaining("is a token account, and no owner") });
    const refused = await merchant.ask(body);
    expect(await refused.json()).toMatchObject({
      status: 422,
      code: "invalid_destination",
      errors: [{ path: "destination", message: `${destination} is a token account, and no owner` }],
    });
    expect([await merchant.withdrawals(), await merchant.funds("SOL")]).toEqual([[], "1 0 0"]);
  });

  it("B100: to a token account while no node says what it is, fails with nothing signed, and all of it is released", async () => {
    quiet("warn");
    const merchant = await startMerchant();
    const mint = await orderAt(control, { on: "tokens", call: "putMint", with: ["a third"] });
    const given = [mint, newReceiver(), 1n];
    const destination = (await orderAt(control, { on: "tokens", call: "giveTokens", with: given })) as string;
    await order("mine", 3);
    const down = vi.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("no way there"));
    const { id } = await merchant.withdraw({ asset: "SOL", amount: "0.5", destination });
    expect(await merchant.steps(id)).toBe("");
    down.mockRestore();
    await merchant.drive(2, 60_000);
    expect([await merchant.steps(id), await merchant.signed()]).toEqual(["would_revert", []]);
    expect(await merchant.funds("SOL")).toBe("1 0 0");
  });

  it("B99: is signed anew only when final blocks past its last one do not have it", async () => {
    quiet("warn");
    const merchant = await startMerchant();
    const { id } = await merchant.withdraw(wanted());
    const empty = { include: [] };
    await order("mine", LIFE, empty);
    await merchant.drive(2);
    expect([(await merchant.signed()).length, await merchant.attempts(id)]).toEqual([1, "sent"]);
    await order("mine", 1, empty);
    await merchant.drive();
    expect(await merchant.attempts(id)).toBe("void sent");
    await mineAndDrive(merchant, 3);
    expect([await merchant.state(id), await merchant.attempts(id)]).toEqual(["confirmed", "void mined"]);
  });

  it("waits while its providers are gone", async () => {
    quiet("warn");
    const merchant = await startMerchant();
    for (const on of [0, 1]) await onNode(on, "down", true);
    const { id } = await merchant.withdraw(wanted());
    expect([await merchant.state(id), (await merchant.signed()).length]).toEqual(["funds_reserved", 0]);
    for (const on of [0, 1]) await onNode(on, "down", false);
    await merchant.drive();
    await mineAndDrive(merchant, 3);
    expect(await merchant.state(id)).toBe("confirmed");
  });
});

describe("a token", () => {
  const UNITS = 10n ** 6n;
  /** What an account of it must hold to exist. */
  const RENT = 2_039_280;

  /** With ten of it in the account, and in the wallet. */
  async function startHolder(inWallet = 10n * UNITS): Promise<ExpiringMerchant> {
    const merchant = await startMerchant();
    await onTokens("giveTokens", usd, merchant.wallet, inWallet);
    await order("mine", 3);
    await merchant.credit(usd.mint, 10n * UNITS);
    return merchant;
  }

  async function unitsOf(owner: string): Promise<bigint> {
    const account = await order("accountAt", associatedAccount(owner, usd.program, usd.mint), await order("head"));
    if (account === null) return -1n;
    const { data } = account as { readonly data: readonly number[] };
    return new DataView(Uint8Array.from(data).buffer).getBigUint64(64, true);
  }

  const wantedUsd = (amount: string, destination = newReceiver()) => ({ asset: "USD", amount, destination });

  it("is paid once into an account opened for the receiver, who pays nothing, and the next time into that one", async () => {
    const merchant = await startHolder();
    const request = wantedUsd("2.5");
    expect(await unitsOf(request.destination)).toBe(-1n);
    const fees: number[] = [];
    for (const paid of [2_500_000n, 5_000_000n]) {
      const { id } = await merchant.withdraw(request);
      expect(await merchant.steps(id)).toBe("transaction_signed accepted");
      await mineAndDrive(merchant, 3);
      expect(await merchant.steps(id)).toBe("transaction_signed accepted confirmed_on_chain");
      expect(await unitsOf(request.destination)).toBe(paid);
      fees.push(Number((await merchant.withdrawal(id)).fee_units));
    }
    const [opening = 0, plain = 0] = fees;
    expect([opening - RENT > 5_000, opening - RENT < 10_000, plain > 5_000, plain < 10_000]).toEqual(
      Array(4).fill(true),
    );
    expect([await merchant.funds("USD"), await unitsOf(merchant.wallet)]).toEqual(["5 0 5", 5_000_000n]);
    const report = await (await merchant.call("POST", "/v1/reconciliation")).json();
    expect(report).toMatchObject({ status: "matched", differences: [], compared: { attempts: 2, receipts: 2 } });
  });

  it("waits for a wallet that has too little of it, and is paid when it has enough", async () => {
    quiet("warn");
    const merchant = await startHolder(UNITS);
    const request = wantedUsd("2.5");
    const { id } = await merchant.withdraw(request);
    expect((await merchant.withdrawal(id)).waiting_for).toBe("wallet_top_up");
    await onTokens("giveTokens", usd, merchant.wallet, 2n * UNITS);
    await mineAndDrive(merchant, 4);
    expect([await merchant.state(id), await unitsOf(request.destination)]).toEqual(["confirmed", 2_500_000n]);
  });

  it("to a token account in its owner's place is refused before anything is reserved", async () => {
    const merchant = await startHolder();
    const owner = newReceiver();
    await onTokens("giveTokens", usd, owner, 0n);
    await order("mine", 3);
    const refused = await merchant.ask(wantedUsd("2.5", associatedAccount(owner, usd.program, usd.mint)));
    expect(await refused.json()).toMatchObject({ status: 422, code: "invalid_destination" });
    expect([await merchant.withdrawals(), await unitsOf(owner), await merchant.funds("USD")]).toEqual([
      [],
      0n,
      "10 0 0",
    ]);
  });
});
