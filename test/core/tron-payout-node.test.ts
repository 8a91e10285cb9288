/** TRON payouts over one node: what is made, what a send's answer means, and what became of it. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ExpiringIntent, Landed, Prepared, Unsigned } from "../../src/chains/expiring-payout.ts";
import { TronPayoutNode, tronPayouts } from "../../src/chains/tron/payout-node.ts";
import { decodeRawData } from "../../src/chains/tron/raw-data.ts";
import type { TronNetwork } from "../../src/core/network.ts";
import { BUILT_IN_NETWORKS } from "../../src/core/networks.ts";
import { tronAddress, tronHex } from "../../src/core/tron-address.ts";
import type { Contract } from "../support/tokens.ts";
import { parseTx, Wallet } from "../support/tron-block.ts";
import { BLOCK_MS, TronChain } from "../support/tron-chain.ts";
import { type Json, NodeError, TronNodeDouble } from "../support/tron-double.ts";
import { startTronVm, type TronVm } from "../support/tron-vm.ts";

const SEED = "07".repeat(32);
const ann = new Wallet("ann");
const builtIn = BUILT_IN_NETWORKS.find(({ id }) => id === "tron") as TronNetwork;

let vm: TronVm;
let token: Contract;
let chain: TronChain;
let double: TronNodeDouble;
let node: TronPayoutNode;
let network: TronNetwork;
let payouts: ReturnType<typeof tronPayouts>;
let chances: number;

const signer = tronPayouts([], builtIn).signer(SEED, "t_one");
const hotHex = tronHex(signer.address);

beforeAll(async () => {
  vm = await startTronVm();
  token = await vm.deploy("MoodyToken", ["Dollar", "USDX", 6]);
  await token.send("mint", [`0x${hotHex}`, 10n ** 12n]);
}, 60_000);
afterAll(() => vm.stop());

beforeEach(() => {
  chain = new TronChain();
  chain.pay(signer.address, 1_000_000_000n);
  chain.pay(ann.address, 1_000_000n);
  chain.mine(30);
  chain.unsolid = 18;
  double = new TronNodeDouble(chain, vm);
  network = { ...builtIn, caip2: `tron:0x${chain.at(0).id.slice(-8)}` };
  chances = 0;
  const provider = { url: "http://user:pa55word@node.test/some-k3y", fetch: double.fetch, timeoutMs: 5_000 };
  node = new TronPayoutNode(provider, network, () => ++chances);
  payouts = tronPayouts([provider], network);
});

const trx = (over: Partial<ExpiringIntent> = {}): ExpiringIntent => ({
  sender: signer.address,
  asset: "native",
  decimals: 6,
  destination: ann.address,
  amountUnits: 5_000_000n,
  maxFeeUnits: 100_000_000n,
  ...over,
});
const usdx = (over: Partial<ExpiringIntent> = {}) => trx({ asset: tronAddress(token.address.slice(2)), ...over });

function made(prepared: Prepared): Unsigned {
  if (!prepared.ok) throw new Error(`${prepared.reason}: ${prepared.detail}`);
  return prepared.unsigned;
}

/** Made, signed, read back and sent. */
async function pay(intent: ExpiringIntent) {
  const unsigned = made(await node.prepare(intent));
  const read = payouts.read(await signer.sign(unsigned), unsigned, intent);
  if (!read.ok) throw new Error(read.problem);
  const { signed } = read;
  const attempt = { txId: signed.txId, expiresAt: unsigned.expiresAt, signedAbove: chain.solid.height };
  return { unsigned, signed, attempt, answer: await node.send(signed.raw, signed.txId) };
}

const found = async (attempt: Awaited<ReturnType<typeof pay>>["attempt"]) => {
  const look = await node.look({ attempts: [attempt] });
  return look.found.has(attempt.txId) ? look.found.get(attempt.txId) : "cannot tell";
};

describe("a payment is made", () => {
  it("with a solid block for reference and the time of the newest one", async () => {
    const { bytes, expiresAt } = made(await node.prepare(trx()));
    const data = decodeRawData(bytes);
    expect(data).toMatchObject({
      refBlockBytes: chain.solid.height.toString(16).padStart(4, "0"),
      refBlockHash: chain.solid.id.slice(16, 32),
      expiration: chain.head.timeMs + 60_000,
      data: "",
      permissionId: 0,
      feeLimitUnits: 0n,
      contract: { kind: "transfer", owner: `41${hotHex}`, to: `41${ann.hex}`, amountUnits: 5_000_000n },
    });
    expect(expiresAt).toBe(chain.head.timeMs + 60_000);
  });

  it("as another transaction than the one before, though all of it is alike", async () => {
    const [one, two] = [made(await node.prepare(trx())), made(await node.prepare(trx()))];
    expect(one.bytes).not.toBe(two.bytes);
    const provider = { url: "http://node.test", fetch: double.fetch, timeoutMs: 5_000 };
    const real = new TronPayoutNode(provider, network);
    expect(made(await real.prepare(trx())).bytes).not.toBe(made(await real.prepare(trx())).bytes);
  });

  it("and costs what was said", async () => {
    const before = chain.account(hotHex).balance;
    // The free bytes go to the first two.
    for (const [i, fee] of [0n, 0n, 330_000n].entries()) {
      const { nowUnits, mostUnits } = await node.cost(trx());
      const { signed } = await pay(trx());
      await chain.mineWith(vm);
      const paid = chain.find(signed.txId)?.tx.fee.netFee ?? -1n;
      expect(paid === nowUnits, `payment ${i}: ${paid} and ${nowUnits}`).toBe(true);
      expect(paid === 0n).toBe(fee === 0n);
      expect(mostUnits).toBeGreaterThanOrEqual(paid);
    }
    expect(before - chain.account(hotHex).balance).toBeGreaterThan(15_000_000n);
  });

  it("with the fee for a new account, which takes the place of that for its bytes", async () => {
    const intent = trx({ destination: new Wallet("nobody yet").address });
    expect(await node.cost(intent)).toEqual({
      nowUnits: 1_100_000n,
      mostUnits: 1_100_000n,
      parts: [{ kind: "account", quantity: null, units: 1_100_000n }],
      warning: null,
    });
    const { signed, unsigned } = await pay(intent);
    await chain.mineWith(vm);
    const fee = chain.find(signed.txId)?.tx.fee;
    expect((fee?.netFee ?? 0n) + (fee?.createFee ?? 0n)).toBe(1_100_000n);
    expect(unsigned.feeMostUnits).toBe(1_100_000n);
  });

  it("of a token with a fee limit that leaves room and stays below the cap", async () => {
    const { bytes, feeMostUnits } = made(await node.prepare(usdx()));
    const data = decodeRawData(bytes);
    const trial = await vm.call({ from: hotHex, to: token.address.slice(2), value: 0n, data: dataOf(bytes) });
    expect(Number(data?.feeLimitUnits)).toBe(2 * trial.energy * 100);
    expect(feeMostUnits).toBeGreaterThan(data?.feeLimitUnits ?? 0n);
    const capped = made(
      await node.prepare(usdx({ maxFeeUnits: BigInt(Math.ceil(1.3 * trial.energy * 100)) + 500_000n })),
    );
    expect(capped.feeMostUnits).toBe(BigInt(Math.ceil(1.3 * trial.energy * 100)) + 500_000n);
    expect(decodeRawData(capped.bytes)?.feeLimitUnits).toBeLessThan(data?.feeLimitUnits ?? 0n);
  });

  it("cheaper with staked energy, under the same limit", async () => {
    const dear = await node.cost(usdx());
    const accounts = chain.head.accounts.get(hotHex);
    if (accounts !== undefined) accounts.energy = 1_000_000;
    const cheap = await node.cost(usdx());
    expect([dear.nowUnits > 0n, cheap.nowUnits, cheap.mostUnits]).toEqual([true, 0n, dear.mostUnits]);
    const data = dataOf(made(await node.prepare(usdx())).bytes);
    const { energy } = await vm.call({ from: hotHex, to: token.address.slice(2), value: 0n, data });
    const bandwidth = { kind: "bandwidth", quantity: expect.any(Number), units: 0n };
    expect(dear.parts).toEqual([bandwidth, { kind: "energy", quantity: energy, units: dear.nowUnits }]);
    expect(cheap.parts).toEqual([bandwidth, { kind: "energy", quantity: energy, units: 0n }]);
  });

  it.each<readonly [string, () => ExpiringIntent, string, RegExp]>([
    ["fees above the cap", () => usdx({ maxFeeUnits: 1_000_000n }), "fee_above_cap", /at most 1000000/],
    [
      "a new account above the cap",
      () => trx({ destination: new Wallet("x").address, maxFeeUnits: 1_000_000n }),
      "fee_above_cap",
      /1100000/,
    ],
    [
      "more TRX than there is",
      () => trx({ amountUnits: 1_000_000_001n }),
      "wallet_short",
      /the wallet has 1000000000 sun/,
    ],
    [
      "nothing left for fees",
      () => trx({ destination: new Wallet("x").address, amountUnits: 1_000_000_000n }),
      "wallet_short",
      /1100000/,
    ],
    ["more tokens than there are", () => usdx({ amountUnits: 10n ** 13n }), "wallet_short", /of the token/],
    ["a contract that there is not", () => trx({ asset: ann.address }), "refused", /Smart contract is not exist/],
  ])("not with %s", async (_, intent, reason, detail) => {
    expect(await node.prepare(intent())).toMatchObject({ ok: false, reason, detail: expect.stringMatching(detail) });
    expect((await node.cost(intent())).warning).toMatch(detail);
  });

  it("not when the token refuses the receiver", async () => {
    const refused = new Wallet("refused");
    await token.send("refuse", [`0x${refused.hex}`, true]);
    const intent = usdx({ destination: refused.address });
    expect(await node.prepare(intent)).toMatchObject({
      ok: false,
      reason: "refused",
      detail: expect.stringContaining("REVERT"),
    });
  });

  it("not with TRX for a contract, where the chain forbids that", async () => {
    double.on("wallet/getaccount", async (body, honest) => ({
      ...((await honest()) as Json),
      ...(body.address === `41${ann.hex}` ? { type: "Contract" } : {}),
    }));
    expect(await node.prepare(trx())).toMatchObject({
      ok: false,
      reason: "refused",
      detail: expect.stringMatching(/is a contract/),
    });
    expect(await node.prepare(usdx())).toMatchObject({ ok: true });
    chain.parameters.getForbidTransferToContract = 0;
    expect(await node.prepare(trx())).toMatchObject({ ok: true });
  });

  it("not with a fee limit that is known beforehand to be too low", async () => {
    chain.parameters.getMaxFeeLimit = 1_000;
    expect(await node.prepare(usdx())).toMatchObject({ ok: false, reason: "fee_above_cap" });
    expect(await node.prepare(trx())).toMatchObject({ ok: true });
    double.on("wallet/triggerconstantcontract", async (_, honest) => {
      const { energy_used, ...rest } = (await honest()) as Json;
      return rest;
    });
    await expect(node.prepare(usdx())).rejects.toMatchObject({
      name: "ChainFault",
      message: expect.stringMatching(/energy_used/),
    });
  });

  it("not by prices that were not told", async () => {
    double.on("wallet/getchainparameters", () => ({}));
    await expect(node.prepare(trx())).rejects.toMatchObject({
      name: "ChainFault",
      message: expect.stringMatching(/getEnergyFee/),
    });
    await expect(node.prepare(usdx())).rejects.toMatchObject({
      name: "ChainFault",
      message: expect.stringMatching(/getEnergyFee/),
    });
  });

  it("not on a network that makes no solid blocks", async () => {
    chain.unsolid = 20;
    chain.mine(120);
    chain.unsolid = 120;
    await expect(node.prepare(trx())).rejects.toMatchObject({ name: "ChainFault", retryable: true });
  });
});

describe("a send's answer", () => {
  it("is accepted, and unknown when the same bytes come again", async () => {
    const { answer, signed } = await pay(trx());
    expect(answer).toEqual({ meaning: "accepted", text: "" });
    expect(double.sent).toEqual([signed.raw]);
    expect(await node.send(signed.raw, signed.txId)).toEqual({
      meaning: "unknown",
      text: "DUP_TRANSACTION_ERROR: Transaction already exists.",
    });
  });

  it.each([
    ["DUP_TRANSACTION_ERROR", "Transaction already exists.", "unknown"],
    ["SERVER_BUSY", "Server busy.", "unknown"],
    ["NO_CONNECTION", "No connection.", "unknown"],
    ["NOT_ENOUGH_EFFECTIVE_CONNECTION", "Effective connection:0 lt minEffectiveConnection:1", "unknown"],
    ["BLOCK_UNSOLIDIFIED", "Block unsolidified.", "unknown"],
    ["OTHER_ERROR", "Error: null", "unknown"],
    ["CONTRACT_EXE_ERROR", "Contract execute error : x", "unknown"],
    [
      "CONTRACT_VALIDATE_ERROR",
      "Contract validate error : Validate TransferContract error, balance is not sufficient.",
      "wallet_short",
    ],
    [
      "CONTRACT_VALIDATE_ERROR",
      "Contract validate error : Validate TransferContract error, no OwnerAccount.",
      "wallet_short",
    ],
    ["CONTRACT_VALIDATE_ERROR", "Contract validate error : Cannot transfer TRX to a smartContract.", "unknown"],
    ["BANDWITH_ERROR", "Account resource insufficient error.", "wallet_short"],
    ["TAPOS_ERROR", "Tapos check error.", "provider_unavailable"],
    ["TRANSACTION_EXPIRATION_ERROR", "Transaction expired", "unknown"],
    ["SIGERROR", "Validate signature error: x", "setup_fault"],
    ["TOO_BIG_TRANSACTION_ERROR", "Transaction size is too big.", "setup_fault"],
    ["A_CODE_OF_TOMORROW", "who knows", "unknown"],
    ["toString", "who knows", "unknown"],
  ])("%s (%s) means %s", async (code, message, meaning) => {
    for (const said of [message, Buffer.from(message).toString("hex")]) {
      double.on("wallet/broadcasthex", () => ({ result: false, code, message: said }));
      const { answer } = await pay(trx());
      expect(answer).toEqual({ meaning, text: `${code}: ${message}` });
    }
  });

  it("is unknown when it names other bytes, is none, or never comes", async () => {
    double.on("wallet/broadcasthex", () => ({ result: true, code: "SUCCESS", txid: "ab".repeat(32) }));
    expect((await pay(trx())).answer.meaning).toBe("unknown");
    for (const answer of [[], {}, "text", null]) {
      double.on("wallet/broadcasthex", () => answer);
      expect((await pay(trx())).answer.meaning).toBe("unknown");
    }
    double.on("wallet/broadcasthex", () => {
      throw new NodeError("class java.lang.NullPointerException : pa55word");
    });
    const { answer } = await pay(trx());
    expect(answer).toEqual({ meaning: "unknown", text: "class java.lang.NullPointerException : ***" });
    double.on("wallet/broadcasthex", null);
    const statuses: readonly (readonly [number, string])[] = [
      [502, "unknown"],
      [429, "provider_unavailable"],
    ];
    for (const [status, meaning] of statuses) {
      double.respond = (path, honest) => (path === "wallet/broadcasthex" ? new Response("no", { status }) : honest());
      expect((await pay(trx())).answer.meaning).toBe(meaning);
    }
  });

  it("is asked for once, and not at all of a node of another chain", async () => {
    const { signed } = await pay(trx());
    expect(double.sent).toHaveLength(1);
    const elsewhere = new TronNodeDouble(new TronChain("another"));
    const stray = new TronPayoutNode({ url: "http://stray.test", fetch: elsewhere.fetch, timeoutMs: 5_000 }, network);
    expect(await stray.send(signed.raw, signed.txId)).toMatchObject({ meaning: "setup_fault" });
    expect(elsewhere.sent).toEqual([]);
    await expect(stray.prepare(trx())).rejects.toMatchObject({ name: "ChainFault", retryable: false });
    double.on("walletsolidity/getblock", () => ({ blockID: "some-k3y" }));
    const url = "http://user:pa55word@odd.test/some-k3y";
    const odd = new TronPayoutNode({ url, fetch: double.fetch, timeoutMs: 5_000 }, network);
    const fault = { name: "ChainFault", retryable: true, message: expect.stringMatching(/^odd\.test: (?!.*some-k3y)/) };
    await expect(odd.prepare(trx())).rejects.toMatchObject(fault);
    double.on("walletsolidity/getblock", null);
    elsewhere.down = true;
    const away = new TronPayoutNode({ url: "http://away.test", fetch: elsewhere.fetch, timeoutMs: 5_000 }, network);
    expect(await away.send(signed.raw, signed.txId)).toMatchObject({ meaning: "unknown" });
  });
});

describe("what became of it", () => {
  it("is pending until its block is solid, and then says what was moved and what it cost", async () => {
    const { attempt, signed } = await pay(trx());
    expect(await found(attempt)).toBe("pending");
    await chain.mineWith(vm);
    expect(await found(attempt)).toBe("pending");
    const { height } = chain.head;
    chain.mine(18);
    expect(await found(attempt)).toEqual({
      txId: signed.txId,
      height,
      blockHash: chain.at(height).id,
      success: true,
      feeUnits: 0n,
      moves: [{ asset: "native", from: signer.address, to: ann.address, amountUnits: 5_000_000n }],
    });
    expect(await node.look({ attempts: [] })).toMatchObject({
      finalHeight: chain.solid.height,
      finalPoint: chain.solid.timeMs,
    });
  });

  it("is a token's move by its log, with energy and bandwidth in its fee", async () => {
    const intent = usdx({ amountUnits: 7n });
    const { attempt, signed, unsigned } = await pay(intent);
    await chain.mineWith(vm);
    chain.mine(18);
    const landed = (await found(attempt)) as Landed;
    expect(landed).toMatchObject({
      success: true,
      moves: [{ asset: intent.asset, from: signer.address, to: ann.address, amountUnits: 7n }],
    });
    const fee = chain.find(signed.txId)?.tx.fee;
    expect(landed.feeUnits).toBe((fee?.energyFee ?? 0n) + (fee?.netFee ?? 0n));
    expect(landed.feeUnits).toBeGreaterThan(0n);
    expect(landed.feeUnits).toBeLessThanOrEqual(unsigned.feeMostUnits);
  });

  it("B45 B96: is a failure that moved nothing and cost its fee, when it reverted on the way", async () => {
    const fickle = new Wallet("fickle");
    const { attempt } = await pay(usdx({ destination: fickle.address }));
    await token.send("refuse", [`0x${fickle.hex}`, true]);
    await chain.mineWith(vm);
    chain.mine(18);
    const landed = (await found(attempt)) as Landed;
    expect(landed).toMatchObject({ success: false, moves: [] });
    expect(landed.feeUnits).toBeGreaterThan(0n);
  });

  it("is a failure without a move of TRX too", async () => {
    const { attempt } = await pay(trx());
    await chain.mineWith(vm);
    chain.mine(18);
    double.on("walletsolidity/gettransactioninfobyid", async (_, honest) => ({
      ...((await honest()) as Json),
      result: "FAILED",
    }));
    expect(await found(attempt)).toBe("cannot tell");
    double.on("walletsolidity/getblock", async (body, honest) => {
      const block = (await honest()) as Json;
      if (body.detail !== true) return block;
      const transactions = (block.transactions as Json[]).map((tx) => ({ ...tx, ret: [{ contractRet: "REVERT" }] }));
      return { ...block, transactions };
    });
    expect(await found(attempt)).toMatchObject({ success: false, moves: [] });
  });

  it("is no failure where its block does not say how it ended: TRX has moved, and of a token nobody can tell", async () => {
    const sent = [await pay(trx()), await pay(usdx())];
    await chain.mineWith(vm);
    chain.mine(18);
    double.on("walletsolidity/getblock", async (body, honest) => {
      const block = (await honest()) as Json;
      if (body.detail !== true) return block;
      return { ...block, transactions: (block.transactions as Json[]).map((tx) => ({ ...tx, ret: [] })) };
    });
    const [coins, tokens] = await Promise.all(sent.map(({ attempt }) => found(attempt)));
    expect(coins).toMatchObject({ success: true, moves: [{ asset: "native", amountUnits: 5_000_000n }] });
    expect(tokens).toBe("cannot tell");
  });

  it("is a success without a move, when the token did nothing and said so to nobody", async () => {
    const ignored = new Wallet("ignored");
    await token.send("ignore", [`0x${ignored.hex}`, true]);
    const { attempt } = await pay(usdx({ destination: ignored.address }));
    await chain.mineWith(vm);
    chain.mine(18);
    expect(await found(attempt)).toMatchObject({ success: true, moves: [] });
  });
});

describe("B98: it is dead when solid blocks past its expiration do not have it", () => {
  /** Sent, and lost on its way. */
  async function lost() {
    const sent = await pay(trx());
    const empty = chain.fork(0);
    empty.unsolid = 18;
    chain = empty;
    double.chain = empty;
    return sent;
  }

  it("and not a block earlier", async () => {
    const { attempt, signed } = await lost();
    while (chain.solid.timeMs <= attempt.expiresAt) {
      expect(await found(attempt)).toBe("cannot tell");
      chain.mine();
    }
    expect(await found(attempt)).toBeNull();
    // Nor can it land from then on.
    expect(() => chain.push(parseTx(signed.raw))).toThrow(/expiration/);
  });

  it("by the same blocks for all that were signed together", async () => {
    const one = await pay(trx());
    const two = await pay(trx());
    const empty = chain.fork(0);
    empty.unsolid = 18;
    empty.mine(60);
    double.chain = empty;
    double.asked.length = 0;
    const { found: both } = await node.look({ attempts: [one.attempt, two.attempt] });
    expect([...both.values()]).toEqual([null, null]);
    expect(double.asked.filter((path) => path === "walletsolidity/getblock").length).toBeLessThan(50);
  });

  it("not by a clock, nor by blocks that are not solid", async () => {
    const { attempt } = await lost();
    chain.unsolid = 60;
    chain.mine(40);
    expect(chain.head.timeMs).toBeGreaterThan(attempt.expiresAt + 30_000);
    expect(await found(attempt)).toBe("cannot tell");
  });

  it("not when it landed in the last block that could hold it, after missed slots", async () => {
    const { attempt, signed } = await lost();
    const { expiresAt } = attempt;
    while (chain.head.timeMs + BLOCK_MS < expiresAt) chain.mine();
    chain.put(parseTx(signed.raw));
    // Its parent is in time, and it is not.
    chain.mine(1, new Map(), 10);
    expect(chain.head.timeMs).toBeGreaterThan(expiresAt);
    expect(chain.find(signed.txId)?.block.height).toBe(chain.head.height);
    const { height } = chain.head;
    chain.unsolid = 0;
    expect(await found(attempt)).toMatchObject({ height, success: true });
    // The same where the index of ids lags: the blocks are read, and what they hold is not passed over.
    double.on("walletsolidity/gettransactioninfobyid", () => ({}));
    expect(await found(attempt)).toBe("cannot tell");
  });

  it("not by a backend that lags behind the one that told the head", async () => {
    const { attempt, signed } = await lost();
    chain.put(parseTx(signed.raw));
    chain.mine(60);
    expect(chain.find(signed.txId)).not.toBeNull();
    const [behind, none] = [chain.fork(59), new TronNodeDouble(chain.fork(59))];
    behind.unsolid = 18;
    expect(behind.find(signed.txId)).not.toBeNull();
    none.chain = behind;
    for (const path of ["gettransactioninfobyid", "getblock"])
      double.on(`walletsolidity/${path}`, (body, honest) =>
        body.detail === false ? honest() : none.honest(`walletsolidity/${path}`, body),
      );
    expect(await found(attempt)).toBe("cannot tell");
    double.on("walletsolidity/getblock", null);
    // The index lags still, and the blocks are there.
    expect(await found(attempt)).toBe("cannot tell");
    double.on("walletsolidity/gettransactioninfobyid", null);
    expect(await found(attempt)).toMatchObject({ success: true });
  });

  it.each<readonly [string, (block: Json) => unknown]>([
    ["a block is missing", () => ({})],
    ["a block is of another height", () => undefined],
    ["a block does not prove itself", (block) => ({ ...block, blockID: "00".repeat(32) })],
  ])("not when on the way %s", async (_, change) => {
    const { attempt } = await lost();
    chain.mine(60);
    const at = attempt.signedAbove + 5;
    expect(await found(attempt)).toBeNull();
    double.on("walletsolidity/getblock", async (body, honest) => {
      if (body.id_or_num !== String(at)) return honest();
      const other = { id_or_num: String(at + 1), detail: true };
      return change((await honest()) as Json) ?? double.honest("walletsolidity/getblock", other);
    });
    expect(await found(attempt)).toBe("cannot tell");
  });

  it("not by one block of a later time in place of the first", async () => {
    const { attempt } = await lost();
    chain.mine(60);
    const late = { id_or_num: String(chain.solid.height), detail: true };
    double.on("walletsolidity/getblock", (body, honest) =>
      body.id_or_num === String(attempt.signedAbove + 1) ? double.honest("walletsolidity/getblock", late) : honest(),
    );
    expect(await found(attempt)).toBe("cannot tell");
  });

  it("not by blocks of two branches", async () => {
    const { attempt } = await lost();
    const other = chain.fork(0);
    other.mine(3);
    other.pay(ann.address, 1n);
    other.mine(60);
    chain.mine(60);
    const stranger = new TronNodeDouble(other);
    const from = attempt.signedAbove + 25;
    double.on("walletsolidity/getblock", (body, honest) =>
      Number(body.id_or_num) >= from ? stranger.honest("walletsolidity/getblock", body) : honest(),
    );
    expect(await found(attempt)).toBe("cannot tell");
  });

  it("not at or below the height that was final when it was signed", async () => {
    const { attempt } = await pay(trx());
    await chain.mineWith(vm);
    chain.mine(18);
    const signedAbove = chain.solid.height;
    expect(await found({ ...attempt, signedAbove })).toBe("cannot tell");
  });
});

describe("a node tells", () => {
  it("balances of solid blocks, TRX and then each token; null for one that does not say", async () => {
    const asset = tronAddress(token.address.slice(2));
    chain.pay(ann.address, 5n, {}, chain.faucet);
    chain.mine();
    const [balance, tokens, nothing] = await node.balances(ann.address, [asset, ann.address]);
    expect([balance, nothing]).toEqual([1_000_000n, null]);
    expect(tokens).toBe(await token.read("balanceOf", [`0x${ann.hex}`]));
    chain.mine(18);
    expect((await node.balances(ann.address, []))[0]).toBe(1_000_005n);
    expect(await node.balances(new Wallet("nobody").address, [asset])).toEqual([0n, 0n]);
  });

  it("whether a token would be paid, and nothing about TRX", async () => {
    const { raw } = (await pay(trx())).signed;
    expect(await node.simulate(raw)).toBeNull();
    const late = new Wallet("late");
    const { signed } = await pay(usdx({ destination: late.address }));
    expect(await node.simulate(signed.raw)).toEqual({ ok: true });
    await token.send("refuse", [`0x${late.hex}`, true]);
    expect(await node.simulate(signed.raw)).toEqual({ ok: false, detail: "REVERT opcode executed" });
  });

  it("its host alone, and no key in its faults", async () => {
    expect(node.name).toBe("node.test");
    await node.balances(ann.address, []);
    double.on("walletsolidity/getaccount", () => ({ balance: "pa55word" }));
    const fault: unknown = await node.balances(ann.address, []).catch((error: unknown) => error);
    expect(fault).toMatchObject({ name: "ChainFault", retryable: true });
    expect(String(fault)).not.toMatch(/pa55word|k3y/);
  });
});

function dataOf(bytes: string): string {
  const contract = decodeRawData(bytes)?.contract;
  return contract?.kind === "trigger" ? contract.data : "";
}
