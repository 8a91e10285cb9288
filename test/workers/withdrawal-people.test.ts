/** What stops a wallet or a withdrawal, and the person who lets it go on. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { deriveSigner } from "../../src/chains/evm/derived-signer.ts";
import { type Signer, SignerFault } from "../../src/chains/payout.ts";
import type { TenantContext } from "../../src/objects/tenant/context.ts";
import { newAddress } from "../support/model-chain.ts";
import { chain, quiet } from "./line.ts";
import {
  checkPayouts,
  ETH,
  FINAL_BLOCKS,
  halt,
  PayingMerchant,
  provider,
  received,
  startPayouts,
  statusAndCode,
  wallets,
} from "./payout-line.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => startPayouts());
afterEach(() => {
  vi.restoreAllMocks();
});

describe("what stops a wallet, and who lets it go on", () => {
  it("a network that is halted signs and sends nothing, and follows what is out", async () => {
    const merchant = await PayingMerchant.start();
    const out = await merchant.withdraw();
    const halted = halt();
    const { id } = await merchant.withdraw();
    const sends = () => provider().asked.filter((method) => method === "eth_sendRawTransaction").length;
    const before = sends();
    for (let i = 0; i < 4; i++) {
      wallets.mine();
      await merchant.drive(1, 31_000);
    }
    expect([await merchant.state(out.id), await merchant.state(id)]).toEqual(["confirmed", "funds_reserved"]);
    expect([(await merchant.signed()).length, sends()]).toEqual([1, before]);
    halted.mockRestore();
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    await checkPayouts(merchant);
  });

  it("a wallet that is resumed has its alarm before any provider has said what it holds", async () => {
    const merchant = await PayingMerchant.start();
    await merchant.drive(2, 5_000);
    const alarm = () => merchant.inside((object) => (object as unknown as { c: TenantContext }).c.storage.getAlarm());
    expect(await alarm()).toBeNull();
    const gate = provider().hold("eth_getBalance");
    const resumed = merchant.call("POST", "/v1/wallets/local/resume");
    await gate.reached();
    // Whoever dies here must wake again by itself.
    expect(await alarm()).not.toBeNull();
    gate.open();
    expect(await statusAndCode(await resumed)).toBe("200");
  });

  it("a nonce that a stranger spent stops the wallet; the rest waits for resume, and is then paid", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const taken = await merchant.withdraw();
    wallets.forget();
    const foreign = await merchant.foreign(0);
    wallets.mineOnly(foreign);
    await merchant.drive(2);
    // Not final: it may still be ours that stays.
    expect(await merchant.state(taken.id)).toBe("confirmation_tracking");
    chain.grow(FINAL_BLOCKS + 1);
    await merchant.drive(2, 5_000);
    expect((await merchant.withdrawal(taken.id)).transitions.at(-1)).toMatchObject({
      to: "manual_review",
      reason: "nonce_spent_by_another",
      evidence: foreign.hash,
    });
    expect(await merchant.hotWallet()).toMatchObject({
      status: "stopped",
      incident: expect.stringContaining("nonce 0"),
    });
    const waiting = await merchant.withdraw();
    await merchant.mineAndDrive(3);
    expect(await merchant.state(waiting.id)).toBe("funds_reserved");
    expect(await merchant.signed()).toHaveLength(1);

    expect(await statusAndCode(await merchant.call("POST", "/v1/wallets/local/resume"))).toBe("200");
    await merchant.rest();
    expect([await merchant.state(taken.id), await merchant.state(waiting.id)]).toEqual(["manual_review", "confirmed"]);
    // Nothing of it can be mined any more, so a person's word is enough.
    expect(await merchant.act(taken.id, "resolve", { outcome: "failed", evidence: "looked" })).toBe("200");
    expect(await merchant.funds()).toBe("9 0 1");
    await checkPayouts(merchant);
  });

  it("a nonce that a stranger holds in the pool stops the wallet and asks a person", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const foreign = await merchant.foreign(0, 900n);
    provider().http = async (methods, honest) => {
      if (methods.includes("eth_sendRawTransaction") && wallets.pool.length === 0) wallets.submit(foreign);
      return honest();
    };
    const { id } = await merchant.withdraw();
    expect(await merchant.steps(id)).toBe("nonce_assigned nonce_held_by_another");
    expect(await merchant.hotWallet()).toMatchObject({ status: "stopped" });
    expect(await merchant.funds()).toBe("9 1 0");
    await merchant.drive(5, 31_000);
    expect(await merchant.signed()).toHaveLength(1);
    // Once the stranger's is final, nothing of ours can be mined any more.
    wallets.mine();
    chain.grow(FINAL_BLOCKS + 1);
    await merchant.drive(2, 16_000);
    expect(await merchant.act(id, "resolve", { outcome: "failed", evidence: foreign.hash })).toBe("200");
    expect(await merchant.funds()).toBe("10 0 0");
    await checkPayouts(merchant);
  });

  it("nonces that were spent beyond the counter stop the wallet before anything is signed", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    await merchant.withdraw();
    await merchant.rest();
    wallets.mineOnly(await merchant.foreign(1), await merchant.foreign(2));
    const { id } = await merchant.withdraw();
    expect([await merchant.state(id), (await merchant.signed()).length]).toEqual(["funds_reserved", 1]);
    expect(await merchant.hotWallet()).toMatchObject({
      status: "stopped",
      incident: expect.stringContaining("spent by somebody else"),
    });
    await merchant.call("POST", "/v1/wallets/local/resume");
    await merchant.rest();
    expect((await merchant.withdrawal(id)).attempts.map(({ nonce }) => nonce)).toEqual([3]);
    await checkPayouts(merchant);
  });
});

describe("a person's turn", () => {
  /** One in manual review whose bytes may still be mined. */
  async function overdue(): Promise<{ merchant: PayingMerchant; id: string; destination: string }> {
    const merchant = await PayingMerchant.start();
    const destination = newAddress();
    const { id } = await merchant.withdraw({ destination });
    wallets.forget();
    await merchant.drive(1, HOUR_MS);
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted deadline");
    expect(await merchant.withdrawal(id)).toMatchObject({ waiting_for: "person" });
    return { merchant, id, destination };
  }

  it("the deadline asks a person and keeps the reservation; the same bytes go on, and are confirmed by themselves", async () => {
    const { merchant, id, destination } = await overdue();
    expect(await merchant.funds()).toBe("9 1 0");
    const [bytes] = await merchant.signed();
    await merchant.drive(2, 31_000);
    expect(wallets.pool.map(({ hash }) => hash)).toEqual([bytes?.hash]);
    await merchant.mineAndDrive(FINAL_BLOCKS + 3);
    expect(await merchant.steps(id)).toBe("nonce_assigned accepted deadline seen_in_block confirmed_on_chain");
    expect(received(merchant, destination)).toEqual([ETH]);
    await checkPayouts(merchant);
  });

  it("resolved as confirmed needs evidence that names an attempt while bytes live", async () => {
    const { merchant, id } = await overdue();
    const [bytes] = await merchant.signed();
    const confirm = (evidence: string) => merchant.act(id, "resolve", { outcome: "confirmed", evidence });
    expect(await confirm("I saw it")).toBe("409 illegal_transition");
    expect(await confirm(`paid in ${`0x${"22".repeat(32)}`}`)).toBe("409 illegal_transition");
    expect(await merchant.funds()).toBe("9 1 0");
    expect(await confirm(`paid in ${bytes?.hash.toUpperCase().replace("0X", "0x")}, I saw it`)).toBe("200");
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "9 0 1"]);
    expect(await confirm("again")).toBe("409 illegal_transition");
    await merchant.rest();
    await checkPayouts(merchant);
  });

  it("resolved as failed burns the nonce first and releases only when the burn is final", async () => {
    const { merchant, id, destination } = await overdue();
    wallets.forget();
    expect(await merchant.act(id, "resolve", { outcome: "failed", evidence: "gave up" })).toBe("200");
    await merchant.drive(1, 5_000);
    const [payment, burn] = await merchant.signed();
    expect(burn).toMatchObject({ nonce: payment?.nonce, to: merchant.wallet, value: 0n });
    for (let depth = 1; depth <= FINAL_BLOCKS; depth++) {
      await merchant.mineAndDrive();
      expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmation_tracking", "9 1 0"]);
    }
    await merchant.mineAndDrive();
    expect(await merchant.steps(id)).toMatch(/deadline burning_nonce nonce_burnt$/);
    expect([await merchant.funds(), received(merchant, destination)]).toEqual(["10 0 0", []]);
    await checkPayouts(merchant);
  });

  it("a signer that is out of reach until the deadline: its nonce is burnt before anything is released", async () => {
    quiet("warn", "error");
    const merchant = await PayingMerchant.start();
    const signer = Object.getPrototypeOf(deriveSigner("11".repeat(32), "anybody", { id: "local" })) as Signer;
    const sign = vi.spyOn(signer, "sign").mockRejectedValue(new SignerFault("out of reach", true));
    const destination = newAddress();
    const { id } = await merchant.withdraw({ destination });
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "broadcast_pending", waiting_for: "signer" });
    await merchant.drive(1, HOUR_MS);
    expect(await merchant.steps(id)).toBe("nonce_assigned deadline");
    expect(await merchant.act(id, "resolve", { outcome: "failed", evidence: "never signed" })).toBe("200");
    expect(await merchant.funds()).toBe("9 1 0");
    sign.mockRestore();
    const next = await merchant.withdraw();
    await merchant.rest();
    expect([await merchant.state(id), await merchant.state(next.id)]).toEqual(["failed", "confirmed"]);
    expect(wallets.paidBy(merchant.wallet)).toMatchObject([{ to: merchant.wallet, units: 0n }, { units: ETH }]);
    await checkPayouts(merchant);
  });

  it("a payment that is mined after all wins over its burn", async () => {
    const { merchant, id, destination } = await overdue();
    await merchant.act(id, "resolve", { outcome: "failed", evidence: "gave up" });
    await merchant.drive(1, 5_000);
    const [payment, burn] = await merchant.signed();
    expect(burn).toMatchObject({ to: merchant.wallet });
    if (payment === undefined) throw new Error("a payment was signed");
    wallets.mineOnly(payment);
    await merchant.rest();
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "9 0 1"]);
    expect(received(merchant, destination)).toEqual([ETH]);
    await checkPayouts(merchant);
  });

  it("a burn that is reorganised away, and the payment mined in its place: it was paid", async () => {
    const { merchant, id, destination } = await overdue();
    await merchant.act(id, "resolve", { outcome: "failed", evidence: "gave up" });
    await merchant.drive(1, 5_000);
    const [payment, burn] = await merchant.signed();
    if (payment === undefined || burn === undefined) throw new Error("expected a payment and a burn");
    wallets.mineOnly(burn);
    await merchant.mineAndDrive(FINAL_BLOCKS - 2);
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmation_tracking", "9 1 0"]);
    wallets.reorg(FINAL_BLOCKS - 1, { keep: false });
    wallets.mineOnly(payment);
    await merchant.rest();
    expect([await merchant.state(id), await merchant.funds()]).toEqual(["confirmed", "9 0 1"]);
    expect(received(merchant, destination)).toEqual([ETH]);
    await checkPayouts(merchant);
  });

  it("cancelled only before a nonce is its own, and released once", async () => {
    const merchant = await PayingMerchant.start();
    const halted = halt();
    const early = await merchant.withdraw();
    expect(await merchant.act(early.id, "cancel")).toBe("200");
    // Once more, after an answer that was lost: it is cancelled, and nothing else happens.
    expect(await merchant.act(early.id, "cancel")).toBe("200");
    expect(await merchant.act(early.id, "speed-up")).toBe("409 illegal_transition");
    expect(await merchant.funds()).toBe("10 0 0");
    halted.mockRestore();
    const late = await merchant.withdraw();
    expect(await merchant.act(late.id, "cancel")).toBe("409 illegal_transition");
    await merchant.rest();
    expect([await merchant.state(early.id), await merchant.state(late.id)]).toEqual(["cancelled", "confirmed"]);
    await checkPayouts(merchant);
  });
});
