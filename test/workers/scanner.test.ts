/** The scanner in workerd: halts and their end, long ranges, alarms, watches and past heights. */

import { createScheduledController, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { BackfillView } from "../../src/core/views.ts";
import type { Env } from "../../src/env.ts";
import service, { Tenant } from "../../src/index.ts";
import { claimDeposits } from "../../src/store/d1/claims.ts";
import { StoreFault, withDeadline } from "../../src/store/d1/deadline.ts";
import { Gate, ModelNode, newAddress, pay, payTokens, shown, type Tx } from "../support/model-chain.ts";
import {
  call,
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
  OPERATOR_TOKEN,
  poll,
  quiet,
  scanner,
  serveFrom,
  startLine,
  status,
  switchOff,
  time,
} from "./line.ts";

let merchant: Merchant;
let address: string;
const ETH = 10n ** 18n;

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

const resume = (body?: object) =>
  call("POST", "/v1/operator/networks/local/resume", { key: OPERATOR_TOKEN, ...(body === undefined ? {} : { body }) });

/** The chain is replaced from 35 blocks below its head on; the scanner has looked three times. */
async function halt(...blocks: readonly (readonly Tx[])[]): Promise<void> {
  chain.reorg(35, ...blocks, ...empty(36 - blocks.length));
  await poll(3);
  expect((await merchant.network()).status).toBe("halted");
}

const available = async (of = merchant) =>
  (await of.inside((_, sql) => sql.exec("SELECT available FROM balances").toArray()))[0]?.available;

describe("B09 B10 a reorganisation deeper than the window", () => {
  /** Events before the halt. */
  const SAID = 8;
  let gone: Tx;
  let moved: Tx;
  let young: Tx;

  /** Two settled payments and one that is confirmed, in a chain of 78. */
  beforeEach(async () => {
    quiet("error", "warn");
    [gone, moved, young] = [pay(address, 1n), pay(address, 10n), pay(address, 100n)];
    await merchant.watch(address);
    chain.mine([], [], [], [gone], [moved], ...empty(25));
    await poll();
    chain.mine([young], ...empty(7));
    await poll();
    expect(await merchant.told()).toBe("pending confirmed pending confirmed settled settled pending confirmed");
  });

  it("halts after the third sight, tells each tenant once, and credits nothing", async () => {
    const other = await Merchant.signUp();
    await other.watch(newAddress());
    const idle = await Merchant.signUp();
    chain.reorg(35, ...empty(36));
    await poll(2);
    expect((await status()).status).toBe("ok");
    await poll();
    expect((await status()).incident?.reason).toContain("deeper than the window of 20 blocks");
    await mineAndPoll([pay(address, 1_000n)], ...empty(4));
    await evictScanner();
    await poll(2);
    expect((await merchant.network()).status).toBe("halted");
    expect((await merchant.told()).split(" ").slice(SAID)).toEqual(["halted"]);
    expect(await other.told()).toBe("halted");
    expect(await idle.told()).toBe("");
    expect(await available()).toBe("111");
    expect(await inScanner((_, __, state) => state.storage.getAlarm())).toBe(time.now + local.pollMs);
  });

  it("goes on at an operator's word: reverted once what is gone, nothing for what was mined again", async () => {
    await halt([], [moved], [], [young]);
    const answer = await resume();
    expect([answer.status, await answer.json()]).toEqual([202, { from_height: 33 }]);
    expect((await resume()).status).toBe(409);
    await poll(3);
    expect((await merchant.told()).split(" ").slice(SAID).sort()).toEqual(["halted", "resumed", "reverted"]);
    expect(await available()).toBe("110");
    expect((await merchant.network()).status).toBe("ok");
    await evictScanner();
    chain.grow(30);
    await poll();
    await mineAndPoll([]);
    // The one that was not settled yet settles; the one that was, says nothing twice.
    expect((await merchant.told()).split(" ").slice(SAID + 3)).toEqual(["settled"]);
    expect((await merchant.deposits()).map((d) => d.status)).toEqual(["settled", "settled", "reverted"]);
  });

  it("goes on from a height that the operator names", async () => {
    await halt([moved], [young]);
    // The branch that a person accepts may be shorter than ours was.
    node.chain = chain.fork(5);
    expect((await resume({ from_height: 70 })).status).toBe(422);
    expect((await resume({ from_height: 0 })).status).toBe(422);
    expect((await resume({ from_height: 40 })).status).toBe(202);
    await poll(2);
    expect((await status()).scannedTo).toBe(74);
    expect((await merchant.deposits()).map((d) => d.status)).toEqual(["confirmed", "confirmed", "reverted"]);
    expect(await available()).toBe("110");
  });

  it("asks the next node when the first does not answer the operator", async () => {
    await halt();
    const down = new ModelNode(chain);
    down.down = true;
    await serveFrom(down, node);
    expect((await resume()).status).toBe(202);
    await poll(2);
    expect(await available()).toBe("0");
  });

  it("can be ended when the nodes were wrong and our own branch goes on", async () => {
    const ours = chain.fork(0);
    await halt();
    ours.grow(5);
    node.chain = ours;
    expect((await resume()).status).toBe(202);
    await poll(2);
    expect((await merchant.network()).status).toBe("ok");
    expect((await status()).scannedTo).toBe(83);
    expect(await available()).toBe("111");
    expect((await merchant.told()).split(" ").slice(SAID).sort()).toEqual(["halted", "resumed"]);
  });

  it("does not halt while another node has our block", async () => {
    const strayed = chain.fork(35);
    strayed.grow(40);
    await serveFrom(new ModelNode(strayed), node);
    await poll(5);
    await mineAndPoll([], []);
    expect((await status()).status).toBe("ok");
    expect((await status()).scannedTo).toBe(chain.head);
    expect((await merchant.told()).split(" ")).toHaveLength(SAID);
  });

  it("a payment that waited for D1 is not credited by a network that has halted", async () => {
    const batch = vi.spyOn(Object.getPrototypeOf(DB), "batch").mockRejectedValue(new Error("away"));
    await mineAndPoll([pay(address, 1_000n)], [], []);
    await halt();
    batch.mockRestore();
    await poll(2);
    expect(await available()).toBe("111");
    expect((await resume()).status).toBe(202);
    await poll(2);
    expect(await available()).toBe("11");
    expect(await merchant.deposits()).toHaveLength(3);
  });

  it("a tenant that could not be told of a removal before the halt hears of it after", async () => {
    const last = pay(address, 1_000n);
    await mineAndPoll([last], [], []);
    const observe = vi.spyOn(Tenant.prototype, "observe").mockRejectedValue(new Error("broken"));
    chain.reorg(3, ...empty(4));
    await poll();
    // The window moves past it while nobody hears; then the chain breaks above it.
    chain.grow(60);
    await poll();
    chain.reorg(35, ...empty(36));
    await poll(3);
    observe.mockRestore();
    expect((await resume()).status).toBe(202);
    await poll(3);
    expect((await merchant.deposits()).find((d) => d.tx_id === last.hash)?.status).toBe("reverted");
    expect(await available()).toBe("111");
  });

  it("what waits for its claim below the accepted height still waits for it", async () => {
    const batch = vi.spyOn(Object.getPrototypeOf(DB), "batch").mockRejectedValue(new Error("away"));
    const late = pay(address, 1_000n);
    await mineAndPoll([late]);
    chain.grow(60);
    await poll();
    chain.reorg(35, ...empty(36));
    await poll(3);
    expect((await resume()).status).toBe(202);
    await poll(3);
    expect(await available()).toBe("111");
    batch.mockRestore();
    await poll(2);
    expect(await available()).toBe("1111");
  });
});

describe("windows of any size", () => {
  it("B13 157 blocks replaced: of 40 payments 35 are mined again elsewhere, 5 never", async () => {
    Object.assign(local, { reorgWindow: 300, confirmations: 128 });
    await merchant.watch(address);
    const payments = Array.from({ length: 40 }, (_, i) => pay(address, 1n << BigInt(i)));
    const blocks = (list: Tx[], size: number) =>
      Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size));
    chain.mine(...blocks(payments, 2), ...empty(137));
    await poll();
    expect(await available()).toBe(String((1n << 40n) - 1n));
    const again = payments.slice(5).reverse();
    chain.reorg(157, ...blocks(again, 4), ...empty(149));
    await poll();
    const told = (await merchant.told()).split(" ");
    expect(told.filter((type) => type === "reverted")).toHaveLength(5);
    expect(told.filter((type) => type === "confirmed")).toHaveLength(40);
    expect(await available()).toBe(String((1n << 40n) - (1n << 5n)));
  });

  it("a window of more headers than one range holds", async () => {
    Object.assign(local, { reorgWindow: 3_000 });
    chain.grow(3_100);
    await merchant.watch(address);
    expect((await status()).windowFrom).toBe(chain.head - 3_000 + 1);
    await mineAndPoll([pay(address, ETH)], [], []);
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("far behind: a long range is read as final, the window near the head block by block", async () => {
    await merchant.watch(address);
    await poll();
    const payments = Array.from({ length: 30 }, () => pay(address, 1n));
    chain.mine(...payments.flatMap((tx) => [[tx], [], []]));
    await poll();
    expect(await status()).toMatchObject({ scannedTo: 130, windowFrom: 111 });
    const statuses = (await merchant.deposits()).map((d) => d.status);
    expect(statuses.filter((s) => s === "settled")).toHaveLength(24);
    expect(statuses.filter((s) => s === "confirmed")).toHaveLength(6);
    expect(await available()).toBe("30");
  });

  it("a node that claims a head far away costs a question, and is forgotten with its claim", async () => {
    await merchant.watch(address);
    const liar = new ModelNode(chain);
    liar.on("eth_getBlockByNumber", ([tag, full], honest) => {
      const block = shown(chain.at(chain.head), false);
      if (tag === "latest") return { ...block, number: "0x3b9aca00" };
      return full === true ? null : honest();
    });
    await serveFrom(liar, node);
    await mineAndPoll([pay(address, ETH)], [], []);
    expect(await merchant.told()).toBe("pending confirmed");
    expect(await status()).toMatchObject({ scannedTo: 43, windowFrom: 24 });
    const body = { network: "local", address: newAddress(), start_height: 5_000 };
    liar.on("eth_getBlockByNumber", null);
    await poll(30);
    expect(await status()).toMatchObject({ head: 43, status: "ok" });
    expect((await merchant.call("POST", "/v1/addresses", { body })).status).toBe(422);
  });

  it("B02 far behind, a filter that answers with nothing is not believed against the blooms", async () => {
    const token = newAddress();
    node.tokens.set(token, { symbol: "TOK", decimals: 6 });
    expect((await merchant.call("POST", "/v1/assets", { body: { network: "local", contract: token } })).status).toBe(
      201,
    );
    await merchant.watch(address);
    node.on("eth_getLogs", () => []);
    chain.mine([payTokens(token, [address, 5n], [address, 5n])], ...empty(50));
    await poll();
    expect((await merchant.deposits()).map((d) => `${d.transfer_index} ${d.status}`).sort()).toEqual([
      "log:0 settled",
      "log:1 settled",
    ]);
  });

  it("B01 a head from one backend does not make another one's last blocks final", async () => {
    await merchant.watch(address);
    await poll();
    chain.mine(...empty(59), [pay(address, ETH)]);
    const ahead = chain.fork(2);
    ahead.grow(100);
    // Behind one URL: the head of the one, and everything else from another that is behind, on a branch of its own.
    node.on("eth_getBlockByNumber", (params, honest) => {
      const head = ahead.at(ahead.head);
      if (params[0] !== "latest") return honest();
      return shown(head, false);
    });
    await poll();
    expect((await status()).scannedTo).toBe(100);
    node.on("eth_getBlockByNumber", null);
    node.chain = ahead;
    await poll(3);
    expect(await status()).toMatchObject({ status: "ok", scannedTo: 198 });
    expect(await merchant.told()).not.toContain("settled");
  });
});

describe("the alarm", () => {
  it("B134 run twice, early, and lost: nothing is doubled, nothing stops", async () => {
    await merchant.watch(address);
    chain.mine([pay(address, ETH)], [], []);
    await Promise.all([poll(), inScanner((object) => object.alarm()), inScanner((object) => object.alarm())]);
    expect(await merchant.told()).toBe("pending confirmed");
    // In the middle of the first one's claim a second one reads on, and its own claim fails.
    quiet("warn");
    const second = pay(address, 2n);
    const prototype = Object.getPrototypeOf(DB) as D1Database;
    const honest = prototype.batch;
    let calls = 0;
    vi.spyOn(prototype, "batch").mockImplementation(async function (this: D1Database, list) {
      if (++calls !== 1) throw new Error("away");
      chain.mine([second]);
      await inScanner((object) => object.alarm());
      return honest.call(this, list) as never;
    });
    await mineAndPoll([pay(address, 1n)]);
    expect(await merchant.deposits()).toHaveLength(1);
    vi.mocked(prototype.batch).mockRestore();
    await mineAndPoll([], []);
    expect((await merchant.deposits()).map((d) => d.status)).toEqual(["confirmed", "confirmed", "confirmed"]);
    // Lost: cron's look arms it again.
    await inScanner((_, __, state) => state.storage.deleteAlarm());
    expect(await runDurableObjectAlarm(scanner())).toBe(false);
    const controller = createScheduledController({ cron: "* * * * *" });
    await service.scheduled(controller, env as unknown as Env);
    chain.reorg(7, ...empty(8));
    await poll();
    expect((await merchant.deposits()).map((d) => d.status)).toEqual(["reverted", "reverted", "reverted"]);
  });

  it("cron leaves an alarm in time alone, and moves one that is overdue", async () => {
    await merchant.watch(address);
    await poll();
    const alarmAt = () => inScanner((_, __, state) => state.storage.getAlarm());
    const before = await alarmAt();
    await scanner().patrol();
    expect(await alarmAt()).toBe(before);
    time.now += 60_000;
    await scanner().patrol();
    expect(await alarmAt()).toBe(time.now);
  });

  it("B134 a fault of our own in a poll is logged, and the next poll comes", async () => {
    quiet("warn", "error");
    await merchant.watch(address);
    chain.mine([pay(address, ETH)], [], []);
    await inScanner((_, sql) => sql.exec("ALTER TABLE counters RENAME TO away"));
    await poll(3);
    expect(await merchant.told()).toBe("");
    await inScanner((_, sql) => sql.exec("ALTER TABLE away RENAME TO counters"));
    await poll();
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("a network that nobody watches is not polled, and starts again at its head", async () => {
    const { id } = await merchant.watch(address);
    await poll();
    expect((await merchant.call("DELETE", `/v1/addresses/${id}`)).status).toBe(204);
    await mineAndPoll(...empty(20));
    expect(await runDurableObjectAlarm(scanner())).toBe(false);
    await scanner().patrol();
    expect(await runDurableObjectAlarm(scanner())).toBe(false);
    chain.grow(500);
    expect((await merchant.watch(address)).watched_from).toBe(chain.head + 1);
    await mineAndPoll([pay(address, ETH)], [], []);
    expect(await merchant.told()).toBe("pending confirmed");
  });

  it("a backfill that waits for the end of a halt does not spin", async () => {
    quiet("error");
    await merchant.watch(address);
    await mineAndPoll(...empty(30));
    await poll();
    const body = { network: "local", from_height: 41, to_height: 50 };
    expect((await merchant.call("POST", "/v1/backfills", { body })).status).toBe(202);
    await inScanner((_, sql) => sql.exec("UPDATE scanner SET status = 'halted', incident_id = 'inc_1'"));
    await poll(2);
    expect(await inScanner((_, __, state) => state.storage.getAlarm())).toBe(time.now + local.pollMs);
  });
});

describe("watches", () => {
  const register = (of: Merchant, body: object, headers = {}) =>
    of.call("POST", "/v1/addresses", { body: { network: "local", ...body }, headers });

  it("B38 an address has one owner, whatever its spelling", async () => {
    const mixed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    const other = await Merchant.signUp();
    const first = await merchant.watch(mixed);
    const again = await register(merchant, { address: mixed.toLowerCase() });
    expect([again.status, ((await again.json()) as { id: string }).id]).toEqual([200, first.id]);
    const upper = await register(merchant, { address: `0x${mixed.slice(2).toUpperCase()}` });
    expect(upper.status).toBe(200);
    const theirs = await register(other, { address: mixed });
    expect([theirs.status, ((await theirs.json()) as { code: string }).code]).toEqual([409, "address_taken"]);
    expect((await status()).watchedAddresses).toBe(1);
  });

  it("after a delete the first owner is paid inside the window, the next owner from its end on", async () => {
    const { id } = await merchant.watch(address);
    await poll();
    await merchant.call("DELETE", `/v1/addresses/${id}`);
    const other = await Merchant.signUp();
    const { watched_from } = await other.watch(address);
    expect(watched_from).toBe(40 + 20 + 1);
    await mineAndPoll([pay(address, 1n)], ...empty(18), [pay(address, 10n)], [pay(address, 100n)], [], []);
    expect((await merchant.deposits()).map((d) => d.amount_units)).toEqual(["10", "1"]);
    expect((await other.deposit()).amount_units).toBe("100");
    await checkBooks(other);
  });

  it("a watch that was given back before it began leaves its place to the next owner", async () => {
    await merchant.watch(newAddress());
    await poll();
    chain.grow(100);
    const start_height = chain.head;
    // What is asked for lies further above what was read than an ended watch counts.
    const { id } = await merchant.watch(address, { start_height });
    expect((await merchant.call("DELETE", `/v1/addresses/${id}`)).status).toBe(204);
    const other = await Merchant.signUp();
    expect((await other.watch(address, { start_height })).watched_from).toBe(start_height);
    await mineAndPoll([pay(address, 1n)], [], []);
    expect((await other.deposit()).amount_units).toBe("1");
    expect(await merchant.deposits()).toEqual([]);
    await checkBooks(other);
  });

  it("a payment that a reorganisation moves over the boundary of two owners stays with the first", async () => {
    const { id } = await merchant.watch(address);
    await poll();
    await merchant.call("DELETE", `/v1/addresses/${id}`);
    const other = await Merchant.signUp();
    await other.watch(address);
    const paid = pay(address, 1n);
    await mineAndPoll(...empty(19), [paid], [], []);
    expect(await merchant.told()).toBe("pending confirmed");
    chain.reorg(3, [], [paid], [], []);
    await poll();
    expect(await merchant.told()).toBe("pending confirmed");
    expect(await other.told()).toBe("");
  });

  it("taken back at once after a delete: no block is missed, and nothing is given back later", async () => {
    const { id } = await merchant.watch(address);
    await poll();
    const [gone, again] = await Promise.all([
      merchant.call("DELETE", `/v1/addresses/${id}`),
      merchant.call("POST", "/v1/addresses", { body: { network: "local", address } }),
    ]);
    expect(gone.status).toBe(204);
    expect([200, 201]).toContain(again.status);
    const back = await register(merchant, { address });
    expect([200, 201]).toContain(back.status);
    await mineAndPoll(...empty(30), [pay(address, ETH)], [], []);
    expect(await merchant.told()).toBe("pending confirmed");
    const claim = await DB.prepare("SELECT tenant_id FROM addresses WHERE address = ?")
      .bind(address)
      .first("tenant_id");
    expect(claim).toBe(merchant.id);
  });

  it("taken back at once after a delete: the past that was still to be read is read", async () => {
    chain.mine([pay(address, 1n)], ...empty(40));
    const { id } = await merchant.watch(address, { start_height: 41 });
    expect((await merchant.call("DELETE", `/v1/addresses/${id}`)).status).toBe(204);
    await merchant.watch(address, { start_height: 41 });
    await poll(4);
    expect((await merchant.deposits()).map((d) => d.amount_units)).toEqual(["1"]);
  });

  it("a release that hangs in D1 does not take a new claim of the same address", async () => {
    const { id } = await merchant.watch(address);
    await poll();
    // The delete's statement is sent, and applied only after the address was asked for again.
    const prototype = Object.getPrototypeOf(DB.prepare("SELECT 1")) as D1PreparedStatement;
    const honest = prototype.run;
    const gate = new Gate();
    vi.spyOn(prototype, "run").mockImplementationOnce(async function (this: D1PreparedStatement) {
      await gate.pass();
      return honest.call(this);
    } as typeof honest);
    const gone = merchant.call("DELETE", `/v1/addresses/${id}`);
    await gate.reached();
    const back = register(merchant, { address });
    await new Promise((resolve) => setTimeout(resolve, 50));
    gate.open();
    expect((await gone).status).toBe(204);
    expect((await back).status).toBe(201);
    const claim = await DB.prepare("SELECT tenant_id FROM addresses WHERE address = ?")
      .bind(address)
      .first("tenant_id");
    expect(claim).toBe(merchant.id);
    await mineAndPoll(...empty(25), [pay(address, ETH)]);
    expect(await merchant.told()).toBe("pending");
  });

  it("a watch that is taken while blocks are being read begins above them, and misses none after", async () => {
    const known = newAddress();
    await merchant.watch(known);
    // Asked for when the reading has learned already whose payments it is looking for.
    const receipts = node.hold("eth_getBlockReceipts");
    chain.mine([pay(known, 1n), pay(address, 10n)], [pay(address, 100n)]);
    const polled = poll();
    await receipts.reached();
    expect((await merchant.watch(address)).watched_from).toBe(43);
    receipts.open();
    await polled;
    await mineAndPoll([pay(address, 1_000n)], [], []);
    expect((await merchant.deposits()).map((d) => d.amount_units)).toEqual(["1000", "1"]);
  });

  it("an address given back while its network is switched off is free when it is on again", async () => {
    const { id } = await merchant.watch(address);
    await poll();
    const other = await Merchant.signUp();
    const on = await switchOff();
    expect((await merchant.call("DELETE", `/v1/addresses/${id}`)).status).toBe(204);
    await on();
    expect((await other.watch(address)).watched_from).toBe(61);
  });

  it("what the chain's own tag has not reached is inside the window from the start", async () => {
    Object.assign(local, { finality: "tag", reorgWindow: 10 });
    node.finalized = 5;
    chain.reorg(20, [pay(address, ETH)], ...empty(19));
    await merchant.watch(address, { start_height: 15 });
    await poll(2);
    expect(await merchant.told()).toBe("pending");
    node.finalized = 21;
    await mineAndPoll([]);
    expect(await merchant.told()).toBe("pending confirmed settled");
  });

  it("a start height above the head leaves nothing behind", async () => {
    const refused = await register(merchant, { address, start_height: 4_000 });
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([422, "invalid_range"]);
    expect(await DB.prepare("SELECT count(*) AS n FROM addresses WHERE address = ?").bind(address).first("n")).toBe(0);
    expect((await status()).watchedAddresses).toBe(0);
    const other = await Merchant.signUp();
    await other.watch(address);
  });

  it("a start height in the past is caught up, below the window and inside it", async () => {
    const [old, recent] = [pay(address, 1n), pay(address, 10n)];
    chain.mine([old], ...empty(40), [recent], [], []);
    const before = (await merchant.watch(address, { start_height: 41 })) as { id: string; watched_from: number };
    expect(before).toMatchObject({ watched_from: 41, scanned_to: 40 });
    await poll(4);
    expect((await merchant.deposits()).map((d) => `${d.amount_units} ${d.status}`).sort()).toEqual([
      "1 settled",
      "10 confirmed",
    ]);
    expect(await merchant.get(`/v1/addresses/${before.id}`)).toMatchObject({ scanned_to: 84 });
    // What was found inside the window is subject to reorganisations like anything else.
    chain.reorg(3, ...empty(4));
    await poll();
    expect(await available()).toBe("1");
  });

  it("past heights of an address are never given up, however long the node cannot show them", async () => {
    quiet("warn");
    chain.mine([pay(address, 1n)], ...empty(40));
    node.on("eth_getBlockByNumber", (params, honest) => (params[0] === "0x29" && params[1] ? null : honest()));
    const { id } = await merchant.watch(address, { start_height: 41 });
    for (let i = 0; i < 45; i++) {
      time.now += 300_000;
      await poll();
    }
    expect(await merchant.get(`/v1/addresses/${id}`)).toMatchObject({ scanned_to: 40 });
    node.on("eth_getBlockByNumber", null);
    time.now += 300_000;
    await poll(3);
    expect(await merchant.told()).toBe("pending confirmed settled");
  });
});

describe("I17 backfills", () => {
  let payments: Tx[];

  /** Ten payments below the window and two inside it, all told. */
  beforeEach(async () => {
    quiet("warn");
    payments = Array.from({ length: 12 }, () => pay(address, 1n));
    await merchant.watch(address);
    await poll();
    chain.mine(
      ...payments.slice(0, 10).map((tx) => [tx]),
      ...empty(30),
      ...payments.slice(10).map((tx) => [tx]),
      [],
      [],
    );
    await poll();
    expect(await available()).toBe("12");
  });

  async function backfill(from: number, to: number, polls = 3): Promise<BackfillView> {
    const body = { network: "local", from_height: from, to_height: to };
    const response = await merchant.call("POST", "/v1/backfills", { body });
    expect(response.status).toBe(202);
    const { id } = (await response.json()) as BackfillView;
    await poll(polls);
    return merchant.get(`/v1/backfills/${id}`);
  }

  /** As if these had never been heard of, here and in D1. */
  async function forget(list: readonly Tx[]): Promise<void> {
    const hashes = JSON.stringify(list.map((tx) => tx.hash));
    await merchant.inside((_, sql) => {
      for (const table of ["transfers", "deposits"]) {
        sql.exec(`DELETE FROM ${table} WHERE tx_id IN (SELECT value FROM json_each(?))`, hashes);
      }
    });
    await DB.prepare("DELETE FROM deposit_keys WHERE tx_id IN (SELECT value FROM json_each(?))").bind(hashes).run();
  }

  it("over what is known: numbers, and not a word", async () => {
    const before = await merchant.events();
    for (let run = 0; run < 2; run++) {
      const report = await backfill(0, chain.head);
      expect(report).toMatchObject({
        status: "done",
        found: 12,
        already_known: 12,
        added: 0,
        conflicts: 0,
        error: null,
      });
      expect(report.progress).toEqual({ scanned_to: chain.head, of: chain.head + 1 });
    }
    expect(await merchant.events()).toEqual(before);
    expect((await merchant.network()).duplicates_met).toBe(24);
  });

  it("over nothing", async () => {
    expect(await backfill(1, 30)).toMatchObject({ status: "done", found: 0, already_known: 0, added: 0 });
  });

  it("what was missing is added once, and the next run knows it", async () => {
    await forget(payments.slice(3, 5));
    await merchant.inside((_, sql) =>
      sql.exec("DELETE FROM ledger_entries WHERE cause_id NOT IN (SELECT id FROM deposits)"),
    );
    await merchant.inside((_, sql) => sql.exec("UPDATE balances SET available = '10'"));
    await merchant.inside((_, sql) => {
      sql.exec("DELETE FROM events");
      sql.exec("DELETE FROM deposit_events");
    });
    expect(await backfill(0, chain.head)).toMatchObject({ found: 12, already_known: 10, added: 2 });
    expect(await merchant.told()).toBe("pending confirmed settled pending confirmed settled");
    expect(await available()).toBe("12");
    expect(await backfill(0, chain.head)).toMatchObject({ found: 12, already_known: 12, added: 0 });
    expect(await available()).toBe("12");
  });

  it("a token that was listed later, below the window and inside it", async () => {
    const token = newAddress();
    node.tokens.set(token, { symbol: "NEW", decimals: 6 });
    const [old, recent] = [payTokens(token, [address, 5n]), payTokens(token, [address, 7n])];
    chain.mine([old], ...empty(30), [recent], [], []);
    await poll();
    expect((await merchant.call("POST", "/v1/assets", { body: { network: "local", contract: token } })).status).toBe(
      201,
    );
    expect(await backfill(85, chain.head)).toMatchObject({ found: 2, already_known: 0, added: 2 });
    await poll();
    const ofToken = (await merchant.deposits()).filter((d) => d.asset === "NEW");
    expect(ofToken.map((d) => `${d.amount_units} ${d.status}`).sort()).toEqual(["5 settled", "7 confirmed"]);
    chain.reorg(3, ...empty(4));
    await poll();
    const after = (await merchant.deposits()).filter((d) => d.asset === "NEW");
    expect(after.map((d) => `${d.amount_units} ${d.status}`).sort()).toEqual(["5 settled", "7 reverted"]);
  });

  it("another tenant's key is not added, and counted", async () => {
    await forget(payments.slice(3, 4));
    await merchant.inside((_, sql) =>
      sql.exec("DELETE FROM ledger_entries WHERE cause_id NOT IN (SELECT id FROM deposits)"),
    );
    await merchant.inside((_, sql) => sql.exec("UPDATE balances SET available = '11'"));
    await DB.prepare(
      "INSERT INTO deposit_keys (network, tx_id, transfer_index, tenant_id) VALUES ('local', ?, 'value', 'ten_x')",
    )
      .bind(payments[3]?.hash)
      .run();
    expect(await backfill(0, chain.head)).toMatchObject({ found: 11, already_known: 11, added: 0, conflicts: 1 });
  });

  it("a slice whose answer was lost counts once, also when the next one would be longer", async () => {
    const honest = Tenant.prototype.backfillSlice;
    vi.spyOn(Tenant.prototype, "backfillSlice").mockImplementationOnce(async function (this: Tenant, slice) {
      await honest.call(this, slice);
      throw new Error("Network connection lost.");
    });
    const body = { network: "local", from_height: 0, to_height: chain.head };
    const { id } = (await (await merchant.call("POST", "/v1/backfills", { body })).json()) as BackfillView;
    await poll();
    // The window moves on, so that the range that is final has grown.
    await mineAndPoll(...empty(7));
    time.now += 10_000;
    await poll(4);
    const report = await merchant.get<BackfillView>(`/v1/backfills/${id}`);
    expect(report).toMatchObject({ status: "done", found: 12, already_known: 12, added: 0 });
  });

  it("a tenant that cannot be reached holds up neither the network nor other backfills", async () => {
    quiet("error");
    const other = await Merchant.signUp();
    const theirs = newAddress();
    await other.watch(theirs);
    const honest = Tenant.prototype.backfillSlice;
    const broken = merchant.id;
    const slices = vi.spyOn(Tenant.prototype, "backfillSlice").mockImplementation(async function (this: Tenant, slice) {
      if (slice.transfers.some((t) => t.address === address)) throw new Error(`${broken} is broken`);
      return honest.call(this, slice);
    });
    const body = { network: "local", from_height: 41, to_height: 60 };
    const ours = (await (await merchant.call("POST", "/v1/backfills", { body })).json()) as BackfillView;
    const ended = (await (await other.call("POST", "/v1/backfills", { body })).json()) as BackfillView;
    await mineAndPoll([pay(theirs, 5n)], [], []);
    expect(await other.told()).toBe("pending confirmed");
    expect(await other.get(`/v1/backfills/${ended.id}`)).toMatchObject({ status: "done" });
    expect((await status()).lastError).toContain("broken");
    slices.mockRestore();
    time.now += 60_000;
    await poll(2);
    expect(await merchant.get(`/v1/backfills/${ours.id}`)).toMatchObject({ status: "done", already_known: 10 });
  });

  it("a node that was left behind on a dead branch is not believed about heights whose hashes are forgotten", async () => {
    const dead = chain.fork(chain.head - 5);
    dead.mine([pay(address, 99n)], ...empty(chain.head));
    await serveFrom(new ModelNode(dead), node);
    const report = await backfill(6, 12, 8);
    expect(report).toMatchObject({ status: "done", added: 0, conflicts: 0 });
    expect((await merchant.deposits()).map((d) => d.amount_units)).not.toContain("99");
    expect(await available()).toBe("12");
  });

  it("a range that no node can show is given up visibly", async () => {
    node.on("eth_getBlockByNumber", (params, honest) => (params[0] === "0x5" && params[1] ? null : honest()));
    const body = { network: "local", from_height: 0, to_height: 20 };
    const { id } = (await (await merchant.call("POST", "/v1/backfills", { body })).json()) as BackfillView;
    for (let i = 0; i < 45; i++) {
      time.now += 300_000;
      await poll();
    }
    const report = await merchant.get<BackfillView>(`/v1/backfills/${id}`);
    expect(report).toMatchObject({ status: "failed", progress: { scanned_to: 4 } });
    expect(report.error).toContain("block 5");
  });
});

describe("an object restored from an older copy", () => {
  it("the scanner: what it reads next still reaches the tenant", async () => {
    quiet("warn");
    await merchant.watch(address);
    await mineAndPoll([pay(address, 1n)], [], []);
    // The scanner's versions begin anew below those that the tenant has acknowledged.
    await inScanner((_, sql) => {
      sql.exec("UPDATE scanner SET version = 1, claimed_version = 1");
      sql.exec("UPDATE transfers SET added_version = 1");
      sql.exec("UPDATE tenants SET acked_version = 1");
    });
    await evictScanner();
    await mineAndPoll([pay(address, 10n)], [], []);
    expect(await available()).toBe("11");
    chain.reorg(6, ...empty(7));
    await poll();
    expect(await available()).toBe("0");
  });

  it("a tenant: it gets the whole, and what fell below the window since is set aside", async () => {
    quiet("warn");
    await merchant.watch(address);
    await mineAndPoll([pay(address, 1n)], [pay(address, 10n)], []);
    const copy = await merchant.inside((_, sql) =>
      ["networks", "transfers", "deposits", "ledger_entries", "balances", "events", "deposit_events"].map((table) => ({
        table,
        rows: sql.exec(`SELECT * FROM ${table}`).toArray(),
      })),
    );
    // After the copy: the second payment is taken back, a third one comes.
    chain.reorg(2, [], [pay(address, 100n)], []);
    await poll();
    await mineAndPoll([], []);
    expect(await available()).toBe("101");
    await mineAndPoll(...empty(13));
    await merchant.inside((_, sql) => {
      for (const { table, rows } of copy) {
        sql.exec(`DELETE FROM ${table}`);
        for (const row of rows) {
          const names = Object.keys(row);
          const marks = names.map(() => "?").join();
          sql.exec(`INSERT INTO ${table} (${names.join()}) VALUES (${marks})`, ...Object.values(row));
        }
      }
    });
    await merchant.evict();
    await mineAndPoll(...empty(10));
    const standing = (await merchant.deposits()).map((d) => `${d.amount_units} ${d.status}`).sort();
    expect(standing).toEqual(["1 confirmed", "10 dropped", "100 settled"]);
    // A backfill tells.
    const body = { network: "local", from_height: 41, to_height: 41 };
    expect((await merchant.call("POST", "/v1/backfills", { body })).status).toBe(202);
    await poll();
    expect((await merchant.deposits()).map((d) => d.status).sort()).toEqual(["dropped", "settled", "settled"]);
    expect(await available()).toBe("101");
  });
});

describe("claims in D1", () => {
  it("more than one call holds: each conflict is found, each fresh key counted once", async () => {
    const claims = Array.from({ length: 2_500 }, (_, i) => ({
      txId: `${address}${i}`,
      transferIndex: "value",
      tenantId: "ten_a",
    }));
    expect(await claimDeposits(DB, "local", claims)).toEqual({ conflicts: [], fresh: 2_500 });
    const theirs = claims.map((claim, i) => (i % 1_000 === 7 ? { ...claim, tenantId: "ten_b" } : claim));
    const again = await claimDeposits(DB, "local", theirs);
    expect(again.fresh).toBe(0);
    expect(again.conflicts).toEqual([theirs[7], theirs[1_007], theirs[2_007]]);
    expect(await claimDeposits(DB, "base", claims.slice(0, 1))).toEqual({ conflicts: [], fresh: 1 });
  });

  it("B133 an answer that does not come in ten seconds is unknown, and may be asked for again", async () => {
    vi.useFakeTimers();
    const late = withDeadline("claim deposits", () => new Promise<never>(() => {})).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(10_000);
    vi.useRealTimers();
    const fault = await late;
    expect(fault).toBeInstanceOf(StoreFault);
    expect(fault).toMatchObject({ retryable: true, message: expect.stringContaining("no answer from D1") });
  });
});
