/** Withdrawals whose transactions expire: signed, claimed, sent, landed; and what is never signed anew. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Landed } from "../../src/core/expiring-look.ts";
import { tronHex } from "../../src/core/tron-address.ts";
import { FEE, LIFE, newTronAddress, paymentIn, txIdOf } from "../support/expiring-chain.ts";
import {
  chain,
  checkExpiring,
  ExpiringMerchant,
  firstNode,
  NETWORK,
  nodes,
  startExpiring,
  TRX,
  USDT,
  watched,
} from "./expiring-line.ts";
import { DB, quiet, time } from "./line.ts";
import { statusAndCode } from "./payout-line.ts";

beforeEach(() => startExpiring());
afterEach(() => {
  vi.restoreAllMocks();
});

describe("a withdrawal", () => {
  it("is paid once, confirmed when final, its fee booked", async () => {
    const merchant = await ExpiringMerchant.start();
    const { id, destination } = await merchant.withdraw({ amount: "1.5" });
    expect(await merchant.steps(id)).toBe("transaction_signed accepted");
    await merchant.mineAndDrive();
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    await merchant.mineAndDrive(3);
    expect(await merchant.steps(id)).toBe("transaction_signed accepted confirmed_on_chain");
    expect(await merchant.attempts(id)).toBe("mined");
    const { fee_units, tx_id } = await merchant.withdrawal(id);
    expect([fee_units, tx_id]).toEqual([FEE.toString(), txIdOf(await merchant.lastSigned())]);
    expect(chain.paidTo(destination)).toEqual([1_500_000n]);
    expect(await merchant.funds()).toBe("98.5 0 1.5");
    const fees = (await merchant.balances()).find(({ account }) => account === "sluice:fees");
    expect(fees?.settled).toBe("0.0011");
    await checkExpiring(merchant);
  });

  it("of a token pays the token, and the fee in coins", async () => {
    const merchant = await ExpiringMerchant.start({ asset: USDT });
    const { id, destination } = await merchant.withdraw({ asset: "USDT", amount: "2" });
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    expect(paymentIn(await merchant.lastSigned())).toMatchObject({ asset: USDT, to: destination, amount: "2000000" });
    await checkExpiring(merchant);
  });

  it("is found by its transaction's id, in which case matters", async () => {
    const merchant = await ExpiringMerchant.start();
    const { id } = await merchant.withdraw();
    const txId = txIdOf(await merchant.lastSigned());
    const page = (query: string) => merchant.get<{ data: { id: string }[] }>(`/v1/withdrawals?tx_id=${query}`);
    expect((await page(txId)).data.map((one) => one.id)).toEqual([id]);
    expect((await page(txId.toLowerCase())).data).toEqual([]);
  });

  it("cannot be cancelled from its first signature on", async () => {
    const merchant = await ExpiringMerchant.start();
    firstNode().down = true;
    quiet("warn");
    const first = await merchant.withdraw();
    expect(await merchant.act(first.id, "cancel")).toBe("200");
    firstNode().down = false;
    const second = await merchant.withdraw();
    expect(await merchant.act(second.id, "cancel")).toBe("409 illegal_transition");
    await merchant.rest();
    expect(await merchant.signed()).toHaveLength(1);
    await checkExpiring(merchant);
  });

  it("that is cancelled while it is being signed is not signed for", async () => {
    const merchant = await ExpiringMerchant.start();
    const prepare = firstNode().prepare.bind(firstNode());
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    vi.spyOn(firstNode(), "prepare").mockImplementation(async (intent) => {
      const prepared = await prepare(intent);
      reached.resolve();
      await gate.promise;
      return prepared;
    });
    const { id } = (await (await merchant.ask()).json()) as { id: string };
    await reached.promise;
    const cancelled = await merchant.call("POST", `/v1/withdrawals/${id}/cancel`);
    gate.resolve();
    await merchant.settle();
    expect([cancelled.status, await merchant.state(id), await merchant.signed()]).toEqual([200, "cancelled", []]);
    await checkExpiring(merchant);
  });

  it("is not kept when it took long to prepare: where to search for it would not be known", async () => {
    const merchant = await ExpiringMerchant.start();
    const prepare = firstNode().prepare.bind(firstNode());
    const slow = vi.spyOn(firstNode(), "prepare").mockImplementation(async (intent) => {
      time.now += 30_000;
      return prepare(intent);
    });
    const { id } = await merchant.withdraw();
    expect([await merchant.state(id), await merchant.signed()]).toEqual(["funds_reserved", []]);
    slow.mockRestore();
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
  });

  it("B77: two at once, and many, are paid once each, 16 in flight at most", async () => {
    const merchant = await ExpiringMerchant.start();
    const asked = await Promise.all(Array.from({ length: 20 }, () => merchant.ask()));
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([201]));
    await merchant.settle();
    await merchant.drive();
    expect(await merchant.signed()).toHaveLength(16);
    await merchant.rest();
    const all = await merchant.withdrawals();
    expect(all.map(({ state }) => state)).toEqual(Array(20).fill("confirmed"));
    await checkExpiring(merchant);
  });

  it("B78 B79 B82: equal requests make one withdrawal and one payment", async () => {
    const merchant = await ExpiringMerchant.start();
    const destination = newTronAddress();
    const asked = await Promise.all(Array.from({ length: 10 }, () => merchant.ask({ destination }, "twice")));
    const ids = await Promise.all(asked.map(async (response) => ((await response.json()) as { id: string }).id));
    expect(new Set(ids).size).toBe(1);
    await merchant.settle();
    await merchant.rest();
    expect((await merchant.ask({ destination }, "twice")).status).toBe(200);
    expect(await statusAndCode(await merchant.ask({ destination, amount: "2" }, "twice"))).toBe(
      "422 idempotency_key_reused",
    );
    expect(chain.paidTo(destination)).toEqual([TRX]);
    await checkExpiring(merchant);
  });

  it("B80: of one key with another meaning is refused without effect, and with another spelling is the same", async () => {
    const [merchant, other] = [await ExpiringMerchant.start(), await ExpiringMerchant.start()];
    const destination = newTronAddress();
    const first = await merchant.withdraw({ destination, amount: "10" }, "k1");
    const before = [await merchant.funds(), await merchant.signed(), (await merchant.events()).length];
    const same = { destination, amount: "10" };
    const others = [{ amount: "11" }, { destination: newTronAddress() }, { asset: "USDT" }];
    const answers = others.map((one) => merchant.ask({ ...same, ...one }, "k1"));
    for (const answer of await Promise.all(answers))
      expect(await statusAndCode(answer)).toBe("422 idempotency_key_reused");
    const address = { body: { network: NETWORK, address: destination }, headers: { "Idempotency-Key": "k1" } };
    const route = await merchant.call("POST", "/v1/addresses", address);
    expect(await statusAndCode(route)).toBe("422 idempotency_key_reused");
    const spellings = [
      { amount: "10.0" },
      { destination: `41${tronHex(destination)}` },
      { destination: `0x${tronHex(destination)}` },
    ];
    for (const spelling of spellings) {
      const again = await merchant.ask({ ...same, ...spelling }, "k1");
      expect([again.status, ((await again.json()) as { id: string }).id]).toEqual([200, first.id]);
    }
    expect([await merchant.funds(), await merchant.signed(), (await merchant.events()).length]).toEqual(before);
    // Of another tenant it is another one.
    expect((await other.withdraw(same, "k1")).id).not.toBe(first.id);
    for (const one of [merchant, other]) await one.rest();
    expect(chain.paidTo(destination)).toEqual([10n * TRX, 10n * TRX]);
    expect((await merchant.withdrawals()).length + (await other.withdrawals()).length).toBe(2);
  });

  it("B81: of an odd key is refused before any effect, or is known by it byte for byte", async () => {
    const merchant = await ExpiringMerchant.start();
    const destination = newTronAddress();
    const odd = ["", " ", "k".repeat(256), "a\tb", "a\u007f"];
    for (const key of odd) expect((await merchant.ask({ destination }, key)).status).toBe(400);
    expect([await merchant.withdrawals(), await merchant.funds()]).toEqual([[], "100 0 0"]);
    const keys = ["k".repeat(255), "k".repeat(254), "a, b", "a,b", "A", "a"];
    const ids = [];
    for (const key of keys) ids.push((await merchant.withdraw({ destination }, key)).id);
    expect(new Set(ids).size).toBe(keys.length);
    for (const [i, key] of keys.entries()) {
      const again = await merchant.ask({ destination }, key);
      expect([again.status, ((await again.json()) as { id: string }).id]).toEqual([200, ids[i]]);
    }
  });

  it("B88: waits for a top-up, oldest first, and passes over what the wallet cannot cover", async () => {
    const merchant = await ExpiringMerchant.start({ inWallet: 3n * TRX });
    const ids = [];
    for (const amount of ["2", "50", "0.5"]) ids.push((await merchant.withdraw({ amount })).id);
    const states = await Promise.all(ids.map((id) => merchant.withdrawal(id)));
    expect(states.map(({ waiting_for }) => waiting_for)).toEqual([null, "wallet_top_up", null]);
    chain.fund(merchant.wallet, "native", 100n * TRX);
    await merchant.rest();
    for (const id of ids) expect(await merchant.state(id)).toBe("confirmed");
    await checkExpiring(merchant);
  });

  it("B88: seventy that cost more than is allowed do not hide a later one, and each has its turn", async () => {
    const merchant = await ExpiringMerchant.start();
    const turns = new Map<string, number>();
    const prepare = firstNode().prepare.bind(firstNode());
    const dear = new Set(Array.from({ length: 70 }, newTronAddress));
    vi.spyOn(firstNode(), "prepare").mockImplementation(async (intent) => {
      turns.set(intent.destination, (turns.get(intent.destination) ?? 0) + 1);
      if (dear.has(intent.destination)) return { ok: false, reason: "fee_above_cap", detail: "it is dear" };
      return prepare(intent);
    });
    watched("halted");
    const [first = "", ...others] = dear;
    await merchant.withdraw({ destination: first });
    await merchant.inside((_, sql) => {
      const columns = sql
        .exec("SELECT * FROM withdrawals LIMIT 0")
        .columnNames.filter((name) => !["seq", "id", "idempotency_key", "destination"].includes(name))
        .join();
      for (const to of others) {
        const copy = `INSERT INTO withdrawals (id, idempotency_key, destination, ${columns}) SELECT ?1, ?1, ?1, ${columns}`;
        sql.exec(`${copy} FROM withdrawals WHERE destination = ?2`, to, first);
      }
    });
    time.now++;
    const { id, destination } = await merchant.withdraw();
    watched();
    await merchant.drive(2);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    expect([...dear].filter((one) => !turns.has(one))).toEqual([]);
    expect(turns.get(destination)).toBe(1);
    // Nobody lost the place that the others gained: the next round begins with whom the last one did not get to.
    turns.clear();
    await merchant.drive(2);
    expect([...dear].filter((one) => !turns.has(one))).toEqual([]);
  });

  it("one that nobody can prepare in time gives its turn to the others", async () => {
    quiet("warn");
    const merchant = await ExpiringMerchant.start();
    const slow = newTronAddress();
    const prepare = firstNode().prepare.bind(firstNode());
    vi.spyOn(firstNode(), "prepare").mockImplementation(async (intent) => {
      if (intent.destination === slow) time.now += 31_000;
      return prepare(intent);
    });
    watched("halted");
    expect((await merchant.ask({ destination: slow })).status).toBe(201);
    time.now++;
    const { id } = await merchant.withdraw();
    watched();
    await merchant.drive();
    expect(await merchant.state(id)).toBe("funds_reserved");
    await merchant.drive();
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    expect(chain.paidTo(slow)).toEqual([]);
  });

  it("B88: counts what may still land as spent", async () => {
    const merchant = await ExpiringMerchant.start({ inWallet: 3n * TRX });
    firstNode().sending = "drops";
    await merchant.withdraw({ amount: "2" });
    const { id } = await merchant.withdraw({ amount: "2" });
    expect((await merchant.withdrawal(id)).waiting_for).toBe("wallet_top_up");
    expect(await merchant.signed()).toHaveLength(1);
  });

  it("waits while its network is halted", async () => {
    const merchant = await ExpiringMerchant.start();
    watched("halted");
    const { id } = await merchant.withdraw();
    await merchant.drive(3);
    expect([await merchant.state(id), chain.sent.length]).toEqual(["funds_reserved", 0]);
    watched();
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
  });

  it("says what it would cost, and shows its wallet", async () => {
    const merchant = await ExpiringMerchant.start();
    const body = { network: NETWORK, asset: "TRX", amount: "1", destination: newTronAddress() };
    const response = await merchant.call("POST", "/v1/withdrawals/estimate", { body });
    expect(await response.json()).toMatchObject({
      fee: "0.0011",
      max_fee: "0.0022",
      fee_parts: [{ kind: "bandwidth", quantity: 268, fee: "0.0011" }],
      fee_asset: "TRX",
      accepted: true,
    });
    const wallet = await merchant.hotWallet();
    expect(wallet).toMatchObject({ address: merchant.wallet, next_nonce: null, in_flight: 0, status: "active" });
    expect(wallet.balances?.[0]).toEqual({ asset: "TRX", amount: "1000", amount_units: "1000000000" });
    const remote = { type: "remote", url: "https://signer.example", address: merchant.wallet, token: null };
    const refused = await merchant.call("PUT", `/v1/wallets/${NETWORK}/signer`, { body: remote });
    expect(await statusAndCode(refused)).toBe("422 invalid_fields");
    expect(await statusAndCode(await merchant.ask({ destination: merchant.wallet }))).toBe("422 invalid_destination");
  });
});

describe("what is not signed anew", () => {
  it("B98: lost answers lead to the same bytes again, and to nothing else", async () => {
    quiet("warn");
    const merchant = await ExpiringMerchant.start();
    firstNode().sending = "lost";
    const { id, destination } = await merchant.withdraw();
    expect(await merchant.state(id)).toBe("broadcast_pending");
    await merchant.drive(4);
    expect(await merchant.signed()).toHaveLength(1);
    expect(new Set(chain.sent).size).toBe(1);
    expect(chain.sent.length).toBeGreaterThan(2);
    chain.mine();
    await merchant.drive();
    await merchant.rest();
    expect(chain.paidTo(destination)).toEqual([TRX]);
    await checkExpiring(merchant);
  });

  it("B98: an exception of every provider, at any call, signs nothing anew", async () => {
    quiet("warn");
    const merchant = await ExpiringMerchant.start();
    const { id } = await merchant.withdraw();
    firstNode().down = true;
    chain.pool.clear();
    for (let i = 0; i < 20; i++) await merchant.mineAndDrive();
    expect(await merchant.signed()).toHaveLength(1);
    firstNode().down = false;
    await merchant.rest();
    // Expired by now: another one, which lands.
    expect(await merchant.attempts(id)).toBe("void mined");
    await checkExpiring(merchant);
  });

  it("B99: the first may still land as long as final blocks are not past its expiry", async () => {
    const merchant = await ExpiringMerchant.start();
    firstNode().sending = "drops";
    const { id, destination } = await merchant.withdraw();
    const first = await merchant.lastSigned();
    const { expiresAt } = paymentIn(first);
    while (chain.head < expiresAt - 1) await merchant.mineAndDrive();
    // Kept by somebody until its last block.
    chain.land(first);
    expect(chain.head).toBe(expiresAt);
    await merchant.drive(3);
    expect(await merchant.signed()).toEqual([first]);
    await merchant.rest();
    expect(await merchant.attempts(id)).toBe("mined");
    expect(chain.paidTo(destination)).toEqual([TRX]);
    await checkExpiring(merchant);
  });

  it("B99: it is signed anew with final blocks past its expiry, and not one block before", async () => {
    const merchant = await ExpiringMerchant.start();
    firstNode().sending = "drops";
    const { id } = await merchant.withdraw();
    const { expiresAt } = paymentIn(await merchant.lastSigned());
    while (chain.finalHeight < expiresAt) await merchant.mineAndDrive();
    expect(await merchant.signed()).toHaveLength(1);
    firstNode().sending = "takes";
    await merchant.mineAndDrive();
    expect(await merchant.signed()).toHaveLength(2);
    await merchant.rest();
    expect(await merchant.attempts(id)).toBe("void mined");
    expect(await merchant.steps(id)).toBe("transaction_signed accepted confirmed_on_chain");
    await checkExpiring(merchant);
  });

  it("B101 B135: keeps the bytes that were stored when it starts again", async () => {
    const merchant = await ExpiringMerchant.start();
    firstNode().sending = "drops";
    for (let i = 0; i < 5; i++) await merchant.withdraw();
    const before = await merchant.signed();
    await merchant.abort();
    await merchant.drive(2);
    firstNode().sending = "takes";
    await merchant.drive(1);
    expect(await merchant.signed()).toEqual(before);
    await merchant.rest();
    expect(await merchant.signed()).toEqual(before);
    await checkExpiring(merchant);
  });
});

describe("providers", () => {
  const three = async () => {
    startExpiring(3);
    quiet("warn", "error");
    const merchant = await ExpiringMerchant.start();
    for (const node of nodes) node.sending = "drops";
    const { id } = await merchant.withdraw();
    const first = await merchant.lastSigned();
    return { merchant, id, first };
  };
  const expire = async (merchant: ExpiringMerchant) => {
    for (let i = 0; i < LIFE + 6; i++) await merchant.mineAndDrive();
  };

  it("one that has it in no block is not enough to call it dead", async () => {
    const { merchant } = await three();
    for (const node of nodes.slice(1)) node.says = () => "unsaid";
    await expire(merchant);
    expect(await merchant.signed()).toHaveLength(1);
    for (const node of nodes.slice(2)) node.says = null;
    await merchant.mineAndDrive();
    expect(await merchant.signed()).toHaveLength(2);
  });

  it("those whose final blocks are before its expiry say nothing of it", async () => {
    const { merchant } = await three();
    for (const node of nodes.slice(1)) {
      node.lag = LIFE + 20;
      node.says = () => null;
    }
    await expire(merchant);
    expect(await merchant.signed()).toHaveLength(1);
  });

  it("one that has it in a block keeps it from being called dead", async () => {
    const { merchant, id, first } = await three();
    chain.land(first);
    // The others have lost it.
    for (const node of nodes.slice(1)) node.says = () => null;
    await expire(merchant);
    expect([(await merchant.signed()).length, await merchant.state(id)]).toEqual([1, "confirmation_tracking"]);
    for (const node of nodes.slice(1)) node.says = null;
    await merchant.rest();
    expect(await merchant.attempts(id)).toBe("mined");
    await checkExpiring(merchant);
  });

  it("one that makes a landing up confirms nothing", async () => {
    const { merchant, id, first } = await three();
    const { sender, to, amount, asset } = paymentIn(first);
    const moves = [{ asset, from: sender, to, amountUnits: BigInt(amount) }];
    const lie = (txId: string): Landed => ({ txId, height: 101, blockHash: "b", success: true, feeUnits: 1n, moves });
    const [liar] = nodes;
    if (liar !== undefined) liar.says = lie;
    await expire(merchant);
    expect([(await merchant.signed()).length, await merchant.state(id)]).toEqual([1, "confirmation_tracking"]);
    time.now += 3_600_000;
    await merchant.drive();
    expect(await merchant.state(id)).toBe("manual_review");
  });

  it("with two of them and one gone nothing is decided, and what is stored goes out", async () => {
    startExpiring(2);
    quiet("warn", "error");
    const merchant = await ExpiringMerchant.start();
    const { id } = await merchant.withdraw();
    const [, second] = nodes;
    if (second === undefined) throw new Error("no second");
    second.down = true;
    await merchant.mineAndDrive(8);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
    second.down = false;
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    await checkExpiring(merchant);
  });

  it("one that is wrong about the chain's height, and about an expiry that no bytes state, has nothing signed twice", async () => {
    startExpiring(2);
    chain.statesExpiry = false;
    const [wrong] = nodes;
    if (wrong === undefined) throw new Error("the chain has no provider");
    const merchant = await ExpiringMerchant.start();
    for (const node of nodes) node.sending = "drops";
    const prepare = wrong.prepare.bind(wrong);
    wrong.lag = 50;
    vi.spyOn(wrong, "prepare").mockImplementation(async (intent) => {
      const prepared = await prepare(intent);
      if (!prepared.ok) return prepared;
      return { ok: true, unsigned: { ...prepared.unsigned, expiresAt: prepared.unsigned.expiresAt - LIFE + 1 } };
    });
    const { id, destination } = await merchant.withdraw();
    wrong.lag = 0;
    await merchant.mineAndDrive(LIFE);
    expect(await merchant.attempts(id)).toBe("sent");
    for (const node of nodes) node.sending = "takes";
    await merchant.rest();
    expect(chain.paidTo(destination)).toHaveLength(1);
    expect(await merchant.state(id)).toBe("confirmed");
  });

  it("what one prepares that pays something else is not kept: the next one's is", async () => {
    startExpiring(2);
    quiet("warn", "error");
    const merchant = await ExpiringMerchant.start();
    const thief = newTronAddress();
    firstNode().preparing = (intent) => ({ ...intent, destination: thief });
    const { id } = await merchant.withdraw();
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    expect(chain.paidTo(thief)).toEqual([]);
    const [, second] = nodes;
    if (second !== undefined) second.preparing = firstNode().preparing;
    await merchant.withdraw();
    expect(await merchant.hotWallet()).toMatchObject({ status: "stopped" });
    expect(await merchant.signed()).toHaveLength(1);
  });

  it("what one dates far beyond what it can know is not kept: it could not be called dead for as long", async () => {
    startExpiring(3);
    quiet("warn");
    const merchant = await ExpiringMerchant.start();
    const prepare = firstNode().prepare.bind(firstNode());
    vi.spyOn(firstNode(), "prepare").mockImplementation((intent) => {
      chain.head += 100;
      const made = prepare(intent);
      chain.head -= 100;
      return made;
    });
    const { id } = await merchant.withdraw();
    const [attempt] = await merchant.rows<{ expires_at: number }>("SELECT expires_at FROM expiring_attempts");
    expect(attempt?.expires_at).toBe(chain.head + LIFE);
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
  });

  it("one whose transactions never land makes every third of them at most", async () => {
    startExpiring(3);
    quiet("warn");
    const merchant = await ExpiringMerchant.start();
    const made: string[] = [];
    for (const node of nodes) {
      const prepare = node.prepare.bind(node);
      vi.spyOn(node, "prepare").mockImplementation((intent) => {
        made.push(node.name);
        return prepare(intent);
      });
      node.sending = "drops";
    }
    const { id } = await merchant.withdraw();
    await merchant.mineAndDrive(3 * (LIFE + 4));
    expect(made.slice(0, 3)).toEqual(["model-0", "model-1", "model-2"]);
    for (const node of nodes) node.sending = "takes";
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
    await checkExpiring(merchant);
  });

  it.each([
    ["fee_above_cap", "lower_fee"],
    ["wallet_short", "wallet_top_up"],
  ] as const)("%s makes it wait: %s", async (reason, waitingFor) => {
    const merchant = await ExpiringMerchant.start();
    firstNode().preparing = { ok: false, reason, detail: "so it is" };
    const { id } = await merchant.withdraw();
    expect(await merchant.withdrawal(id)).toMatchObject({ state: "funds_reserved", waiting_for: waitingFor });
    firstNode().preparing = null;
    await merchant.rest();
    expect(await merchant.state(id)).toBe("confirmed");
  });

  it("B88: what enough of them refuse fails, and its amount is available again", async () => {
    startExpiring(3);
    const merchant = await ExpiringMerchant.start();
    const refused = { ok: false, reason: "refused", detail: "no such receiver" } as const;
    for (const node of nodes.slice(1)) node.down = true;
    quiet("warn");
    firstNode().preparing = refused;
    const { id } = await merchant.withdraw();
    await merchant.drive(2);
    expect(await merchant.state(id)).toBe("funds_reserved");
    for (const node of nodes) Object.assign(node, { down: false, preparing: refused });
    await merchant.drive();
    expect([await merchant.steps(id), await merchant.funds()]).toEqual(["would_revert", "100 0 0"]);
    await checkExpiring(merchant);
  });
});

describe("before the first send", () => {
  it("B102 B133: D1 knows it: without D1 nothing is sent, and what was stored goes out when it is back", async () => {
    quiet("warn");
    const merchant = await ExpiringMerchant.start();
    watched("halted");
    const { id } = await merchant.withdraw();
    watched();
    const broken = vi.spyOn(Object.getPrototypeOf(DB), "batch").mockRejectedValue(new Error("gone"));
    await merchant.drive(2);
    expect([await merchant.attempts(id), chain.sent.length]).toEqual(["signed", 0]);
    broken.mockRestore();
    await merchant.drive();
    expect([await merchant.attempts(id), chain.sent.length]).toEqual(["sent", 1]);
    await checkExpiring(merchant);
  });

  it.each([
    ["paid by another transaction", "confirmed"],
    ["given up", "failed"],
  ])("D1 knew it without our knowing, until it was dead: it is %s", async (_, end) => {
    quiet("warn");
    const merchant = await ExpiringMerchant.start();
    watched("halted");
    const { id, destination } = await merchant.withdraw();
    watched();
    const { batch } = Object.getPrototypeOf(DB);
    const answers = vi.spyOn(Object.getPrototypeOf(DB), "batch").mockImplementation(async function (...args) {
      await batch.apply(this, args);
      throw new Error("the answer is lost");
    });
    await merchant.drive();
    if (end === "failed") {
      time.now += 3_600_000;
      await merchant.drive();
      await merchant.act(id, "resolve", { outcome: "failed", evidence: "called off" });
    }
    await merchant.mineAndDrive(LIFE + 5);
    expect(chain.sent).toEqual([]);
    answers.mockRestore();
    await merchant.rest();
    const paid = end === "confirmed" ? [TRX] : [];
    expect([await merchant.state(id), chain.paidTo(destination)]).toEqual([end, paid]);
    expect((await merchant.signed()).length).toBeLessThan(5);
    await checkExpiring(merchant);
  });

  it("what nodes refuse when they try it is not sent, and made anew when it has expired", async () => {
    quiet("warn");
    const merchant = await ExpiringMerchant.start();
    firstNode().simulating = { ok: false, detail: "insufficient rent" };
    const { id } = await merchant.withdraw();
    await merchant.mineAndDrive(LIFE + 2);
    expect([chain.sent.length, await merchant.attempts(id)]).toEqual([0, "signed"]);
    firstNode().simulating = { ok: true };
    await merchant.rest();
    expect(await merchant.attempts(id)).toBe("void mined");
    await checkExpiring(merchant);
  });

  it("what cannot be tried is sent", async () => {
    quiet("warn");
    const merchant = await ExpiringMerchant.start();
    const simulate = vi.spyOn(firstNode(), "simulate").mockRejectedValue(new Error("no such method"));
    const { id } = await merchant.withdraw();
    expect(simulate).toHaveBeenCalledTimes(1);
    expect(await merchant.state(id)).toBe("confirmation_tracking");
  });
});

describe("what landed", () => {
  it("B96: and failed is failed for good, its amount released, its fee booked", async () => {
    const merchant = await ExpiringMerchant.start();
    chain.fate = "fails";
    const { id } = await merchant.withdraw();
    await merchant.mineAndDrive();
    expect(await merchant.funds()).toBe("99 1 0");
    await merchant.rest();
    expect(await merchant.steps(id)).toBe("transaction_signed accepted reverted_on_chain");
    expect([await merchant.funds(), await merchant.signed()]).toEqual(["100 0 0", [expect.anything()]]);
    expect((await merchant.withdrawal(id)).fee_units).toBe(FEE.toString());
    await checkExpiring(merchant);
  });

  it("and shows another amount asks for a person", async () => {
    const merchant = await ExpiringMerchant.start();
    chain.fate = "moves less";
    const { id } = await merchant.withdraw();
    await merchant.mineAndDrive(6);
    expect(await merchant.steps(id)).toBe("transaction_signed accepted transfer_log_missing");
    expect(await merchant.funds()).toBe("99 1 0");
    await merchant.mineAndDrive(LIFE + 6);
    expect(await merchant.signed()).toHaveLength(1);
  });
});
