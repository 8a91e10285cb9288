/** The deposit line in workerd, from sign-up to the books, over a chain that reorganises and nodes that err. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Tenant } from "../../src/index.ts";
import { ModelNode, newAddress, pay, payThrough, payTokens, type Tx } from "../support/model-chain.ts";
import {
  chain,
  checkBooks,
  checkClaims,
  DB,
  empty,
  evictScanner,
  inScanner,
  local,
  Merchant,
  mineAndPoll,
  node,
  poll,
  quiet,
  serveFrom,
  startLine,
  status,
  time,
} from "./line.ts";

let merchant: Merchant;
let address: string;
const ETH = 10n ** 18n;
const TOK = newAddress();

beforeEach(async () => {
  await startLine();
  merchant = await Merchant.signUp();
  address = newAddress();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await checkBooks(merchant);
  await checkClaims(merchant);
});

async function listToken(of: Merchant, contract = TOK, symbol = "TOK"): Promise<void> {
  node.tokens.set(contract, { symbol, decimals: 6 });
  const response = await of.call("POST", "/v1/assets", { body: { network: "local", contract } });
  expect(response.status).toBe(201);
}

/** A payment that was confirmed in the block it was mined in, three deep now. */
async function confirmed(tx: Tx = pay(address, ETH)): Promise<Tx> {
  await merchant.watch(address);
  await mineAndPoll([tx], [], []);
  expect(await merchant.told()).toBe("pending confirmed");
  return tx;
}

async function versionOf(): Promise<number> {
  return Number((await inScanner((_, sql) => sql.exec("SELECT version FROM scanner").one())).version);
}

describe("the line", () => {
  it("a payment is seen, counted and settled, and the tenant hears of nothing in between", async () => {
    const watched = await merchant.watch(address, { account: "alice" });
    expect(watched.watched_from).toBe(chain.head + 1);
    const observe = vi.spyOn(Tenant.prototype, "observe");
    await mineAndPoll([pay(address, ETH)]);
    expect(await merchant.told()).toBe("pending");
    expect(await merchant.balances()).toEqual([]);
    await mineAndPoll([], []);
    expect(await merchant.told()).toBe("pending confirmed");
    expect(await merchant.balances()).toEqual([
      { account: "alice", network: "local", asset: "ETH", available: "1", reserved: "0", settled: "0", debt: "0" },
    ]);
    await mineAndPoll(...empty(17));
    expect(await merchant.told()).toBe("pending confirmed");
    await mineAndPoll([], [], []);
    expect(await merchant.told()).toBe("pending confirmed settled");
    // Once for each thing that was told: twenty-two other blocks did not touch the tenant.
    expect(observe).toHaveBeenCalledTimes(3);
    expect(await merchant.deposit()).toMatchObject({
      account: "alice",
      amount: "1",
      amount_units: ETH.toString(),
      status: "settled",
      epoch: 1,
      confirmations: 23,
      confirmations_required: 3,
      transfer_index: "value",
      block_height: 41,
    });
  });

  it("every event is found by its sequence, its id, its type and its deposit, and a deposit by its transaction, also a gone one", async () => {
    await merchant.watch(address);
    const [stays, goes] = [pay(address, 1n), pay(address, 2n)];
    await mineAndPoll([stays, goes, payThrough(newAddress(), { to: address, value: 3n })], [], []);
    // An event of another kind lies between those of two commits.
    await merchant.call("POST", "/v1/webhook-endpoints", { body: { url: "https://shop.example.com/hook" } });
    const [endpoint] = (await merchant.get<{ data: { id: string }[] }>("/v1/webhook-endpoints")).data;
    await merchant.call("POST", `/v1/webhook-endpoints/${endpoint?.id}/test`, { headers: { "Idempotency-Key": "t" } });
    chain.reorg(3, [stays], [], [], []);
    await poll();

    const events = await merchant.events();
    const types = events.map(({ type }) => type);
    expect(types.slice(0, 6).sort()).toEqual([
      ...Array(3).fill("deposit.confirmed"),
      ...Array(3).fill("deposit.pending"),
    ]);
    expect(types.slice(6)).toEqual(["webhook.test", "deposit.reverted", "deposit.reverted"]);
    const found = (query: string) => merchant.get<{ data: typeof events }>(`/v1/events?limit=200&after=${query}`);
    for (const [i, event] of events.entries()) {
      expect(await merchant.get(`/v1/events/${event.id}`)).toEqual(event);
      expect((await found(`${i}`)).data).toEqual(events.slice(i));
      const own = events.filter(({ subject, sequence }) => subject === event.subject && sequence > i);
      expect((await found(`${i}&subject=${event.subject}`)).data).toEqual(own);
    }
    for (const type of new Set(types)) {
      expect((await found(`0&types=${type}`)).data).toEqual(events.filter((event) => event.type === type));
    }
    const nobodys = await merchant.call("GET", `/v1/events/${events[0]?.id.slice(0, -1)}z`);
    expect(nobodys.status).toBe(404);
    for (const [tx, status] of [
      [stays, "confirmed"],
      [goes, "reverted"],
    ] as const) {
      const { data } = await merchant.get<{ data: unknown[] }>(`/v1/deposits?tx_id=${tx.hash}`);
      expect(data).toEqual([expect.objectContaining({ tx_id: tx.hash, status })]);
    }
  });

  it("B42 a head that stays is read again without a trace", async () => {
    await confirmed();
    const written = () => inScanner((_, sql) => sql.exec("SELECT * FROM scanner").one());
    const before = await written();
    const observe = vi.spyOn(Tenant.prototype, "observe");
    await poll(5);
    expect(await written()).toEqual(before);
    expect(observe).not.toHaveBeenCalled();
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed");
    expect(observe).not.toHaveBeenCalled();
  });

  it("B18 B20 B23 B29 every kind of payment in one block, and what is none", async () => {
    await listToken(merchant);
    const nft = payTokens(TOK, [address, 1n]);
    const fourTopics = {
      ...nft,
      logs: nft.logs.map((log) => ({ ...log, topics: [...log.topics, log.data], data: "0x" })),
    };
    await merchant.watch(address);
    await mineAndPoll([
      payTokens(TOK, [address, 1_000_000n], [address, 1_000_000n]),
      payThrough(newAddress(), { to: newAddress(), value: 1n }, { to: address, value: 5n }),
      pay(address, 7n, { status: 0 }),
      payTokens(TOK, [address, 0n]),
      fourTopics,
    ]);
    const found = (await merchant.deposits()).map((d) => `${d.transfer_index} ${d.amount_units} ${d.asset}`);
    expect(found.sort()).toEqual(["call:1 5 ETH", "log:0 1000000 TOK", "log:1 1000000 TOK"]);
    expect((await status()).counters.irregular_logs).toBe(1);
  });

  it("B40 a token credits only who listed it, whatever it is called", async () => {
    const other = await Merchant.signUp();
    const theirs = newAddress();
    const fake = newAddress();
    await listToken(merchant);
    await listToken(other, fake, "TOK");
    await merchant.watch(address);
    await other.watch(theirs);
    await mineAndPoll(
      [payTokens(TOK, [address, 5n], [theirs, 6n]), payTokens(fake, [address, 7n], [theirs, 8n])],
      [],
      [],
    );
    expect((await merchant.deposit()).amount_units).toBe("5");
    expect((await other.deposit()).amount_units).toBe("8");
    const keys = await DB.prepare("SELECT count(*) AS n FROM deposit_keys WHERE tenant_id IN (?1, ?2)")
      .bind(merchant.id, other.id)
      .first("n");
    expect(keys).toBe(2);
    await checkBooks(other);
  });

  it("B28 a node without traces: what contracts send is not seen, and the network says so", async () => {
    node.on("debug_traceBlockByHash", () => {
      throw new Error("the method debug_traceBlockByHash does not exist/is not available");
    });
    await merchant.watch(address);
    expect((await merchant.network()).native_transfers.internal).toBe("unknown");
    await mineAndPoll([payThrough(newAddress(), { to: address, value: 5n }), pay(address, 7n)]);
    expect((await merchant.deposit()).amount_units).toBe("7");
    expect((await merchant.network()).native_transfers).toEqual({ own_value: true, internal: "untraced" });
  });

  it("a branch read without traces takes back nothing that only a trace shows", async () => {
    await merchant.watch(address);
    const internal = payThrough(newAddress(), { to: address, value: 5n });
    await mineAndPoll([internal], [], []);
    expect(await merchant.told()).toBe("pending confirmed");
    node.on("debug_traceBlockByHash", () => {
      throw new Error("the method debug_traceBlockByHash does not exist/is not available");
    });
    chain.reorg(3, [], [internal], [], []);
    await poll(3);
    expect(await merchant.told()).toBe("pending confirmed");
    // It has them again, or another node has.
    node.on("debug_traceBlockByHash", null);
    await evictScanner();
    await mineAndPoll([], []);
    expect(await merchant.told()).toBe("pending confirmed");
    expect(await merchant.deposit()).toMatchObject({ status: "confirmed", amount_units: "5", block_height: 42 });
  });

  it("the chain's own tag: confirmed and settled when it says so, and reading waits for one that stands still", async () => {
    Object.assign(local, { finality: "tag", reorgWindow: 10 });
    node.finalized = 38;
    await merchant.watch(address);
    await mineAndPoll([pay(address, ETH)], ...empty(6));
    expect(await merchant.told()).toBe("pending");
    expect(await merchant.deposit()).toMatchObject({ confirmations: 7, confirmations_required: null });
    node.finalized = 40;
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending");
    node.finalized = 41;
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed settled");
    expect((await merchant.network()).finalized).toBe(41);
    // Nothing above the tag is let go of: the window holds up to four times its length, and no more.
    chain.grow(60);
    await poll(3);
    expect(await status()).toMatchObject({ windowFrom: 42, scannedTo: 81, status: "lagging" });
    node.finalized = 100;
    await poll(2);
    expect(await status()).toMatchObject({ windowFrom: 101, scannedTo: chain.head, status: "ok" });
  });

  it("B125 amounts above 2^53 stay exact through a thousand rows and their sum", async () => {
    await merchant.watch(address);
    const units = Array.from({ length: 1_000 }, (_, i) => 1_254_071_346_418_286_654n + BigInt(i));
    await mineAndPoll(
      units.slice(0, 500).map((value) => pay(address, value)),
      units.slice(500).map((value) => pay(address, value)),
      [],
      [],
    );
    const sum = units.reduce((a, b) => a + b);
    const [balance] = await merchant.inside((_, sql) => sql.exec("SELECT available FROM balances").toArray());
    expect(balance?.available).toBe(sum.toString());
    const [shown] = await merchant.balances();
    expect(shown?.available.replace(".", "")).toBe(sum.toString().replace(/0+$/, ""));
    const stored = await merchant.inside((_, sql) => sql.exec("SELECT amount_units FROM deposits").toArray());
    expect(stored.map((row) => row.amount_units).sort()).toEqual(units.map(String).sort());
  });
});

describe("reorganisations", () => {
  it("a moved log index is the same payment", async () => {
    await listToken(merchant);
    const paid = payTokens(TOK, [address, 5n]);
    const other = payTokens(TOK, [newAddress(), 1n], [newAddress(), 1n]);
    await merchant.watch(address);
    await mineAndPoll([other, paid], [], []);
    const before = await merchant.deposit();
    chain.reorg(3, [paid, other], [], [], []);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed");
    const after = await merchant.deposit();
    expect(after.id).toBe(before.id);
    expect(after.block_hash).not.toBe(before.block_hash);
    expect((await status()).counters).toMatchObject({ reorganisations: 1, transfers_replaced: 1 });
  });

  it("a dropped payment is reverted once", async () => {
    await confirmed();
    chain.reorg(3, ...empty(4));
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted");
    expect((await merchant.balances())[0]).toMatchObject({ available: "0", debt: "0" });
    chain.grow(25);
    await poll(2);
    expect(await merchant.told()).toBe("pending confirmed reverted");
  });

  it("a pending payment that vanishes is dropped, and comes back", async () => {
    const paid = pay(address, ETH);
    await merchant.watch(address);
    await mineAndPoll([paid], []);
    chain.reorg(2, ...empty(3));
    await poll();
    expect(await merchant.told()).toBe("pending dropped");
    await mineAndPoll([paid], [], []);
    expect(await merchant.told()).toBe("pending dropped pending confirmed");
  });

  it("B08 orphaned and mined one block later: one revert, one new confirmation", async () => {
    const paid = await confirmed();
    chain.reorg(3, [], [], [paid], []);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted pending");
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed reverted pending confirmed");
    expect(await merchant.deposit()).toMatchObject({ status: "confirmed", epoch: 2, block_height: 43 });
    expect((await merchant.balances())[0]).toMatchObject({ available: "1" });
  });

  it("B16 a block replaced without a word about the log that is gone", async () => {
    await merchant.watch(address);
    await mineAndPoll([pay(address, ETH)]);
    chain.reorg(1, []);
    await poll();
    expect(await merchant.told()).toBe("pending dropped");
  });

  it("A-B-A: the key's story alternates and ends where the chain ends", async () => {
    await confirmed();
    const without = chain.fork(3);
    without.grow(4);
    node.chain = without;
    await poll();
    chain.grow(2);
    node.chain = chain;
    await poll();
    without.grow(2);
    node.chain = without;
    await poll();
    chain.grow(2);
    node.chain = chain;
    await poll();
    const round = "confirmed reverted pending";
    expect(await merchant.told()).toBe(`pending ${round} ${round} confirmed`);
    expect((await merchant.balances())[0]).toMatchObject({ available: "1" });
  });

  it("the same key with another amount is a reversal and a new deposit", async () => {
    const paid = await confirmed();
    chain.reorg(3, [{ ...paid, value: 3n * ETH }], [], [], []);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted pending confirmed");
    expect((await merchant.balances())[0]).toMatchObject({ available: "3" });
    expect(await merchant.deposit()).toMatchObject({ epoch: 2, amount: "3" });
  });

  it("the same key with another receiver is taken back from the first tenant and credited to nobody", async () => {
    quiet("warn", "error");
    const other = await Merchant.signUp();
    const theirs = newAddress();
    await other.watch(theirs);
    const paid = await confirmed();
    chain.reorg(3, [{ ...paid, to: theirs }], [], [], []);
    await poll(2);
    // The key belongs to whom it was credited first: the other tenant is not paid by it, and it is counted.
    expect(await merchant.told()).toBe("pending confirmed reverted");
    expect(await other.told()).toBe("");
    expect((await status()).counters.claims_refused).toBe(1);
  });

  it("a longer branch is followed in one commit", async () => {
    await confirmed();
    const version = await versionOf();
    chain.reorg(3, ...empty(4));
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted");
    expect(await versionOf()).toBe(version + 1);
  });

  it("a branch as high as ours, on the node that we read from, is followed with the next poll, in one commit", async () => {
    const paid = await confirmed();
    const version = await versionOf();
    chain.reorg(3, [], [paid], []);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted pending");
    expect(await status()).toMatchObject({ scannedTo: 43, counters: { reorganisations: 1, blocks_replaced: 3 } });
    expect(await versionOf()).toBe(version + 1);
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed reverted pending confirmed");
  });

  it("so is one at the height where reading began", async () => {
    await merchant.watch(address);
    chain.reorg(1, []);
    await poll();
    expect(await status()).toMatchObject({ scannedTo: 40, counters: { reorganisations: 1, blocks_replaced: 1 } });
  });

  it("a shorter one is not", async () => {
    await confirmed();
    chain.reorg(3, ...empty(2));
    await poll(3);
    expect(await merchant.told()).toBe("pending confirmed");
    expect((await status()).scannedTo).toBe(43);
  });

  it("a node that goes back and forth between two branches of one height takes a payment back once", async () => {
    await confirmed();
    const [first, second] = [chain, chain.fork(3)];
    second.mine([], [], []);
    for (let round = 0; round < 3; round++) {
      for (const shown of [second, first]) {
        node.chain = shown;
        await poll();
      }
    }
    expect(await merchant.told()).toBe("pending confirmed reverted");
    chain.grow(1);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted pending confirmed");
  });

  it("nor does a new start of the object make it take one back again", async () => {
    await confirmed();
    const [first, second] = [chain, chain.fork(3)];
    second.mine([], [], []);
    for (const shown of [second, first, second]) {
      await evictScanner();
      node.chain = shown;
      await poll();
    }
    expect(await merchant.told()).toBe("pending confirmed");
    second.grow(1);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted");
  });

  it("below what is final a branch must be longer", async () => {
    await confirmed();
    await inScanner((_, sql) => sql.exec("UPDATE scanner SET finalized = 42"));
    chain.reorg(3, ...empty(3));
    await poll(2);
    expect(await merchant.told()).toBe("pending confirmed");
    expect((await status()).lastError).toContain("final");
    chain.grow(1);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted");
  });

  it("a node whose backends stand on two branches of one height takes nothing back", async () => {
    await confirmed();
    const [first, second] = [chain, chain.fork(3)];
    second.mine([], [], []);
    let asked = 0;
    node.on("eth_getBlockByNumber", (params, honest) => {
      if (params[0] === "latest") node.chain = asked++ % 2 === 0 ? second : first;
      return honest();
    });
    await poll(6);
    expect(asked).toBeGreaterThan(6);
    expect(await merchant.told()).toBe("pending confirmed");
    expect((await status()).lastError).toContain("and then another block");
    node.on("eth_getBlockByNumber", null);
    node.chain = first;
  });

  it("a branch that ends before it is longer leaves everything as it was", async () => {
    await confirmed();
    chain.reorg(3, ...empty(5));
    // The head is announced, its block and the one before cannot be had yet.
    node.on("eth_getBlockByNumber", ([tag, full], honest) => {
      if (full === true && Number(tag) >= chain.head - 1) return null;
      return honest();
    });
    await poll(3);
    expect(await merchant.told()).toBe("pending confirmed");
    expect((await status()).scannedTo).toBe(43);
    node.on("eth_getBlockByNumber", null);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted");
  });

  it("I4 what was spent already becomes debt, and the next deposit pays it first", async () => {
    await listToken(merchant);
    await confirmed(payTokens(TOK, [address, 5_000_000n]));
    // A withdrawal of 3, as the ledger will know it.
    await merchant.inside((_, sql) => {
      sql.exec(
        `INSERT INTO ledger_entries (journal_id, line, account, network, asset, from_bucket, to_bucket,
        amount_units, cause_type, cause_id, created_at)
        VALUES ('jrn_w', 0, 'default', 'local', ?, 'available', 'settled', '3000000', 'withdrawal', 'wd_1', 0)`,
        TOK,
      );
      sql.exec("UPDATE balances SET available = '2000000', settled = '3000000'");
    });
    chain.reorg(3, ...empty(4));
    await poll();
    expect(await merchant.told()).toBe("pending confirmed reverted debt_opened");
    expect((await merchant.balances())[0]).toMatchObject({ available: "0", settled: "3", debt: "3" });
    const opened = (await merchant.events()).at(-1);
    expect(opened).toMatchObject({ subject: "account:default", data: { debt: "3", available: "0" } });

    await mineAndPoll([payTokens(TOK, [address, 1_000_000n]), payTokens(TOK, [address, 4_000_000n])], [], []);
    expect(await merchant.told()).toBe(
      "pending confirmed reverted debt_opened pending pending confirmed confirmed debt_cleared",
    );
    expect((await merchant.balances())[0]).toMatchObject({ available: "2", debt: "0" });
  });
});

describe("between two steps", () => {
  it("B41 a crash after the scanner's commit: claimed and told by the next instance", async () => {
    quiet("warn");
    await merchant.watch(address);
    const batch = vi.spyOn(Object.getPrototypeOf(DB), "batch").mockRejectedValue(new Error("away"));
    await mineAndPoll([pay(address, ETH)], [], []);
    expect(await merchant.told()).toBe("");
    batch.mockRestore();
    await evictScanner();
    await poll();
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("B41 a crash after the claim, before the tenant heard", async () => {
    quiet("warn");
    await merchant.watch(address);
    const observe = vi.spyOn(Tenant.prototype, "observe").mockRejectedValue(new Error("Network connection lost."));
    await mineAndPoll([pay(address, ETH)], [], []);
    expect(observe).toHaveBeenCalled();
    observe.mockRestore();
    await evictScanner();
    await merchant.evict();
    await poll();
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("B41 the tenant committed and the answer was lost: told again, nothing doubled", async () => {
    quiet("warn");
    await merchant.watch(address);
    const honest = Tenant.prototype.observe;
    let lost = 0;
    vi.spyOn(Tenant.prototype, "observe").mockImplementation(async function (this: Tenant, observation) {
      const observed = await honest.call(this, observation);
      if (lost++ % 2 === 0) throw new Error("Network connection lost.");
      return observed;
    });
    await mineAndPoll([pay(address, ETH)], [], []);
    await poll(2);
    expect(await merchant.told()).toBe("pending confirmed");
    expect(lost).toBe(4);
  });

  it("B41 the lost answer was to a call for what was due, and the window moves on meanwhile", async () => {
    quiet("warn");
    await merchant.watch(address);
    await mineAndPoll([pay(address, 1n)], [pay(address, 2n)], [], []);
    chain.grow(16);
    await poll();
    const honest = Tenant.prototype.observe;
    const observe = vi.spyOn(Tenant.prototype, "observe").mockImplementation(async function (this: Tenant, o) {
      await honest.call(this, o);
      throw new Error("Network connection lost.");
    });
    // The first one settles, and the scanner does not know; the second one leaves the window with the next block.
    await mineAndPoll([]);
    observe.mockRestore();
    await mineAndPoll([], []);
    expect((await merchant.deposits()).map((d) => d.status)).toEqual(["settled", "settled"]);
  });

  it.each([
    ["before it applied", false],
    ["after it applied", true],
  ])("B133 D1 fails %s: deposits wait, and none is lost or doubled", async (_, applies) => {
    quiet("warn");
    await merchant.watch(address);
    const prototype = Object.getPrototypeOf(DB) as D1Database;
    const honest = prototype.batch;
    const batch = vi.spyOn(prototype, "batch").mockImplementation(async function (this: D1Database, list) {
      if (applies) await honest.call(this, list);
      throw new Error("D1_ERROR: Network connection lost.");
    });
    await mineAndPoll([pay(address, ETH), pay(address, ETH)], [pay(address, ETH)], []);
    expect(await merchant.told()).toBe("");
    expect((await status()).lastError).toContain("Network connection lost");
    batch.mockRestore();
    await poll();
    expect(await merchant.told()).toBe("pending confirmed pending confirmed pending");
    await mineAndPoll([]);
    expect((await merchant.balances())[0]).toMatchObject({ available: "3" });
  });

  it("a payment that D1 never heard of and a reorganisation took away was never told", async () => {
    quiet("warn");
    await merchant.watch(address);
    const batch = vi.spyOn(Object.getPrototypeOf(DB), "batch").mockRejectedValue(new Error("away"));
    const [gone, moved] = [pay(address, 1n), pay(address, 2n)];
    await mineAndPoll([gone, moved], []);
    chain.reorg(2, [], [moved], []);
    await poll();
    batch.mockRestore();
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed");
    expect(await merchant.deposit()).toMatchObject({ amount_units: "2", block_height: 42 });
  });

  it("while D1 is away a payment that was told before still comes of age", async () => {
    quiet("warn");
    await merchant.watch(address);
    await mineAndPoll([pay(address, ETH)]);
    const other = await Merchant.signUp();
    const theirs = newAddress();
    await other.watch(theirs);
    const batch = vi.spyOn(Object.getPrototypeOf(DB), "batch").mockRejectedValue(new Error("away"));
    await mineAndPoll([pay(theirs, 1n)], []);
    expect(await merchant.told()).toBe("pending confirmed");
    expect(await other.told()).toBe("");
    batch.mockRestore();
    await poll();
    expect(await other.told()).toBe("pending");
  });

  it("a key that another tenant holds in D1 is not credited, and counted", async () => {
    quiet("warn", "error");
    const [ours, theirs] = [pay(address, ETH), pay(address, 2n * ETH)];
    await merchant.watch(address);
    await DB.prepare(
      "INSERT INTO deposit_keys (network, tx_id, transfer_index, tenant_id) VALUES ('local', ?, 'value', 'ten_x')",
    )
      .bind(theirs.hash)
      .run();
    await mineAndPoll([ours, theirs], [], []);
    expect(await merchant.deposit()).toMatchObject({ tx_id: ours.hash });
    expect((await status()).counters).toMatchObject({ claims_new: 1, claims_refused: 1 });
    await mineAndPoll(...empty(20));
    expect(await merchant.told()).toBe("pending confirmed settled");
  });

  it("one tenant that cannot be told delays nobody else, and is told when it is back", async () => {
    quiet("warn");
    const other = await Merchant.signUp();
    const theirs = newAddress();
    await other.watch(theirs);
    await merchant.watch(address);
    const honest = Tenant.prototype.observe;
    const observe = vi.spyOn(Tenant.prototype, "observe").mockImplementation(async function (
      this: Tenant,
      observation,
    ) {
      if (observation.added.some((transfer) => transfer.address === theirs)) throw new Error("broken");
      return honest.call(this, observation);
    });
    await mineAndPoll([pay(address, ETH), pay(theirs, ETH)], [], []);
    expect(await merchant.told()).toBe("pending confirmed");
    // The alarm keeps its pace.
    expect(await inScanner((_, __, state) => state.storage.getAlarm())).toBe(time.now + local.pollMs);
    // Even when what it has to hear falls out of the window meanwhile.
    chain.grow(22);
    await poll();
    observe.mockRestore();
    // It is left alone for a while, a minute at the most.
    await mineAndPoll([], []);
    expect(await other.told()).toBe("");
    time.now += 60_000;
    await mineAndPoll([], []);
    expect(await other.told()).toBe("pending confirmed settled");
    await checkBooks(other);
  });
});

describe("nodes that err", () => {
  it("a head that steps back proves nothing", async () => {
    await confirmed();
    node.lag = 3;
    await poll(3);
    expect(await merchant.told()).toBe("pending confirmed");
    expect((await status()).scannedTo).toBe(43);
    node.lag = 0;
    await mineAndPoll([]);
    expect((await status()).scannedTo).toBe(44);
  });

  it("B01 a head that is announced before its blocks can be had", async () => {
    await merchant.watch(address);
    chain.mine([pay(address, ETH)], [], []);
    node.on("eth_getBlockByNumber", ([tag, full], honest) => (full === true && Number(tag) > 41 ? null : honest()));
    await poll(3);
    expect((await status()).scannedTo).toBe(41);
    expect(await merchant.told()).toBe("pending");
    node.on("eth_getBlockByNumber", null);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it.each([
    ["B02 empty receipts", "eth_getBlockReceipts", () => []],
    ["B32 null receipts", "eth_getBlockReceipts", () => null],
    ["a trace that is not there", "debug_traceBlockByHash", () => []],
    [
      "an error",
      "eth_getBlockByNumber",
      () => {
        throw new Error("internal error");
      },
    ],
  ])("%s: the block waits, and counts once", async (_, method, fault) => {
    await listToken(merchant);
    await merchant.watch(address);
    node.next(method, 4, fault);
    await mineAndPoll([payTokens(TOK, [address, 5n])]);
    expect((await status()).scannedTo).toBe(40);
    expect(await merchant.told()).toBe("");
    await poll(4);
    await mineAndPoll([], []);
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("two nodes, one behind: whichever is further is read, and nothing is taken back", async () => {
    const late = new ModelNode(chain);
    late.lag = 2;
    await serveFrom(node, late);
    await confirmed();
    node.down = true;
    await mineAndPoll([], []);
    expect((await status()).scannedTo).toBe(43);
    await mineAndPoll([]);
    expect((await status()).scannedTo).toBe(44);
    node.down = false;
    late.down = true;
    await mineAndPoll([]);
    expect((await status()).scannedTo).toBe(47);
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("two nodes on two branches of one height: nothing is taken back before both are on the other one", async () => {
    await confirmed();
    const other = chain.fork(3);
    other.mine([], [], []);
    const second = new ModelNode(chain);
    await serveFrom(node, second);
    await poll();
    // Ours alone changes its mind; then ours is back, and the other one has changed.
    node.chain = other;
    await poll(3);
    expect(await merchant.told()).toBe("pending confirmed");
    node.chain = chain;
    second.chain = other;
    await poll(3);
    node.down = true;
    await poll(3);
    expect(await merchant.told()).toBe("pending confirmed");
    node.down = false;
    node.chain = other;
    await poll(3);
    expect(await merchant.told()).toBe("pending confirmed reverted");
    second.chain = chain;
    node.chain = chain;
    chain.grow(1);
  });

  it("two nodes on two forks, in turn longer: the books are those of the last one", async () => {
    await merchant.watch(address);
    const other = chain.fork(0);
    await serveFrom(node, new ModelNode(other));
    const [both, onlyHere, onlyThere] = [pay(address, 1n), pay(address, 10n), pay(address, 100n)];
    chain.mine([both, onlyHere], [], []);
    other.mine([], [onlyThere, both], [], []);
    for (let round = 0; round < 4; round++) {
      (round % 2 === 0 ? chain : other).grow(2);
      // A node with nothing new is believed for ten polls before the other one is asked as well.
      await poll(12);
    }
    expect(other.head).toBeGreaterThan(chain.head);
    const standing = (await merchant.deposits()).filter((d) => d.status === "confirmed").map((d) => d.amount_units);
    expect(standing.sort()).toEqual(["1", "100"]);
    const [balance] = await merchant.inside((_, sql) => sql.exec("SELECT available FROM balances").toArray());
    expect(balance?.available).toBe("101");
  });

  it("B134 a poll in which everything throws arms the next one", async () => {
    quiet("warn", "error");
    await merchant.watch(address);
    node.down = true;
    await mineAndPoll([pay(address, ETH)]);
    vi.spyOn(console, "error");
    await poll(2);
    expect((await status()).lastError).toContain("fetch failed");
    node.down = false;
    await mineAndPoll([], []);
    expect(await merchant.told()).toBe("pending confirmed");
  });
});
