/** TRON deposits: what counts, what never does, and when a block is read at all. Contracts run in an anvil. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readHeader } from "../../src/chains/tron/block.ts";
import { readInfo } from "../../src/chains/tron/info.ts";
import { memoOf } from "../../src/chains/tron/memo.ts";
import { TronNode } from "../../src/chains/tron/node.ts";
import { decodeRawData, txIdOf } from "../../src/chains/tron/raw-data.ts";
import { InternalSight } from "../../src/chains/tron/read-blocks.ts";
import { tronAddress } from "../../src/core/tron-address.ts";
import { interestIn } from "../support/chain-worlds.ts";
import type { Contract } from "../support/tokens.ts";
import { type Execution, Wallet } from "../support/tron-block.ts";
import { TronChain } from "../support/tron-chain.ts";
import { type Json, TronNodeDouble } from "../support/tron-double.ts";
import { startTronVm, type TronVm } from "../support/tron-vm.ts";

const ann = new Wallet("ann");
const bob = new Wallet("bob");
const payer = new Wallet("payer");

let vm: TronVm;
let token: Contract;
let chain: TronChain;
let double: TronNodeDouble;
let node: TronNode;

beforeAll(async () => {
  vm = await startTronVm();
  token = await vm.deploy("Token", ["Dollar", "USDX", 6]);
  await token.send("mint", [`0x${payer.hex}`, 10n ** 15n]);
}, 60_000);
afterAll(() => vm.stop());

beforeEach(() => {
  chain = new TronChain();
  chain.pay(payer.address, 10n ** 12n);
  chain.mine(25);
  chain.unsolid = 18;
  double = new TronNodeDouble(chain, vm);
  node = new TronNode({ url: "http://node.test", fetch: double.fetch, timeoutMs: 5_000 });
});

const listed = () => tronAddress(token.address.slice(2));
const data = (name: string, args: readonly unknown[], of = token) => of.encode(name, args).slice(2);
const everything = (watched: readonly string[]) =>
  interestIn(watched, { contracts: new Set([listed()]), internal: true }).interest;

/** The solid blocks from this height on. */
async function read(from: number, watched = [ann.address, bob.address]) {
  return node.readBlocks(from, chain.solid.height, everything(watched));
}

/** Read as often as it takes for a block to be taken whose root does not come out of what the double makes of it. */
async function insist(at: number, watched: readonly string[]) {
  for (let i = 0; i < 3; i++) {
    const { stopped } = await node.readBlocks(at, at, everything(watched));
    expect(stopped).toMatchObject({ reason: "inconsistent", height: at });
  }
  return node.readBlocks(at, at, everything(watched));
}

async function settle() {
  await chain.mineWith(vm);
  const at = chain.head.height;
  chain.mine(chain.unsolid);
  return at;
}

const paid = (transfers: readonly { asset: string; address: string; transferIndex: string; amountUnits: bigint }[]) =>
  transfers.map(({ transferIndex, address, asset, amountUnits }) => [transferIndex, address, asset, amountUnits]);

describe("headers of the real chains", () => {
  // TRON's developer documentation of getblock (Nile), tron-docker's README and tronweb's reference (main chain).
  it.each([
    [
      "0000000003fe262d52bfa4b2814f816fd2e57af5b98a33d60d8630a03a908e0e",
      {
        number: 66987565,
        txTrieRoot: "faf8fe3858339ead25cc892461c82a59b84dca4a51c45b026676bf3f45a352a2",
        witness_address: "41b2f713d57dbcec679d93a8849fa0cd0e4db594ba",
        parentHash: "0000000003fe262c85cd6b02033f4c3e5c1efa35de256a17bd906dc61fb1aeed",
        version: 34,
        timestamp: 1777445121000,
      },
    ],
    [
      "0000000000000a611841e6cd79f99249d7e974e41c0f5b016eb3c64e43fcb01c",
      {
        number: 2657,
        txTrieRoot: "0".repeat(64),
        witness_address: "411661f25387370c9cd3a9a5d97e60ca90f4844e7e",
        parentHash: "0000000000000a6023d563b1a2e1e0eb49cb40226eb553e6dc006e723395d588",
        timestamp: 1529899509000,
      },
    ],
    [
      "00000000051014e80dbf5923643f955ca7b09253e84c13b59f19e347fb9ea95e",
      {
        timestamp: 1785490773000,
        txTrieRoot: "5360b488069bf1f3643c8d0504052aea2e5f7a71a51901cf69ebe57e950336fa",
        parentHash: "00000000051014e793a715af1fa52f8e4dfd1bed8aea07f41e11c9e831ef5022",
        number: 84940008,
        witness_address: "4114f2c09d3de3fe82a71960da65d4935a30b24e1f",
        version: 36,
      },
    ],
  ])("%s is proven by its bytes", (blockID, raw_data) => {
    const answer = { blockID, block_header: { raw_data, witness_signature: "00" } };
    expect(readHeader(answer)).toMatchObject({
      ref: { height: raw_data.number, hash: blockID, parentHash: raw_data.parentHash },
      timeMs: raw_data.timestamp,
      isEmpty: raw_data.number === 2657,
    });
    const altered = { ...raw_data, number: raw_data.number + 1 };
    expect(() => readHeader({ blockID, block_header: { raw_data: altered } })).toThrow(/its header has the id/);
  });
});

describe("memos", () => {
  const hexOf = (text: string) => Buffer.from(text).toString("hex");

  it("belong to every payment of their transaction", async () => {
    const memo = hexOf("order 17 — ünï");
    chain.pay(ann.address, 5n, { data: memo });
    chain.trigger(payer, token.address.slice(2), data("transfer", [`0x${bob.hex}`, 9n]), { data: memo });
    chain.pay(bob.address, 6n);
    const { transfers } = await read(await settle());
    expect(transfers.map(({ address, amountUnits, memo }) => [address, amountUnits, memo])).toEqual([
      [ann.address, 5n, "order 17 — ünï"],
      [bob.address, 9n, "order 17 — ünï"],
      [bob.address, 6n, undefined],
    ]);
  });

  it.each([
    ["", null],
    ["31", "1"],
    ["0a1b7f", "\n\u001b\u007f"],
    ["efbbbf31", "\ufeff1"],
    ["ff00", "0xff00"],
    ["3100", "0x3100"],
    ["eda080", "0xeda080"],
    ["c3", "0xc3"],
    [hexOf("ü").repeat(256), "ü".repeat(256)],
    [hexOf(`a${"ü".repeat(300)}`), `a${"ü".repeat(255)}`],
    [hexOf(`aa${"€".repeat(300)}`), `aa${"€".repeat(170)}`],
    [hexOf(`a${"€".repeat(300)}`), `a${"€".repeat(170)}`],
    [hexOf(`a${"😀".repeat(300)}`), `a${"😀".repeat(127)}`],
    [hexOf("a".repeat(600)), "a".repeat(512)],
    ["80".repeat(600), `0x${"80".repeat(512)}`],
    [`${"61".repeat(511)}ff${"61".repeat(100)}`, `${"a".repeat(511)}`],
  ])("are kept as text, or as hex where they are none: case %#", (hex, memo) => {
    expect(memoOf(hex)).toBe(memo);
  });
});

describe("what counts", () => {
  it("B53: a token and the native coin, each by itself", async () => {
    chain.trigger(payer, token.address.slice(2), data("transfer", [`0x${ann.hex}`, 9_000_000n]));
    chain.pay(ann.address, 1n);
    const at = await settle();
    const reading = await read(at);
    expect(reading.stopped).toBeNull();
    expect(paid(reading.transfers)).toEqual([
      ["log:0", ann.address, listed(), 9_000_000n],
      ["value", ann.address, "native", 1n],
    ]);
    expect(reading.unweighedTransfers).toBe(1);
  });

  it("B47: every one of many in one transaction, by its place in the transaction's own logs", async () => {
    const to = [ann, bob, ann, payer].map(({ hex }) => `0x${hex}`);
    chain.trigger(payer, token.address.slice(2), data("batch", [to, [5n, 6n, 7n, 8n]]));
    const at = await settle();
    expect(paid((await read(at)).transfers)).toEqual([
      ["log:0", ann.address, listed(), 5n],
      ["log:1", bob.address, listed(), 6n],
      ["log:2", ann.address, listed(), 7n],
    ]);
  });

  it("B54: a token whose transfer returns false, if its log is there", async () => {
    const tx = chain.trigger(payer, token.address.slice(2), "a9059cbb");
    const log = transferLog(token.address.slice(2), payer.hex, ann.hex, 50n);
    chain.mine(1, new Map([[tx.txId, execution({ logs: [log], returned: "0".repeat(64) })]]));
    const at = chain.head.height;
    chain.mine(18);
    expect(paid((await read(at)).transfers)).toEqual([["log:0", ann.address, listed(), 50n]]);
  });

  it("nothing of a quiet token that returns false and moves nothing", async () => {
    const quiet = await vm.deploy("QuietToken", ["Quiet", "Q", 6]);
    chain.trigger(payer, quiet.address.slice(2), data("transfer", [`0x${ann.hex}`, 5n], quiet));
    const at = await settle();
    const contracts = new Set([tronAddress(quiet.address.slice(2))]);
    const reading = await node.readBlocks(at, at, interestIn([ann.address], { contracts }).interest);
    expect([reading.transfers, reading.irregularLogs]).toEqual([[], 0]);
  });

  it("TRX that a contract sends on, by its place among the internal transactions", async () => {
    const contract = await vm.deploy("Payer", []);
    const to = [`0x${ann.hex}`, `0x${bob.hex}`];
    chain.trigger(payer, contract.address.slice(2), data("pay", [to, 40n], contract), {}, 80n);
    chain.trigger(payer, contract.address.slice(2), data("payNested", [to, 30n], contract), {}, 60n);
    chain.trigger(payer, contract.address.slice(2), data("payInFailedFrame", [to, 20n], contract), {}, 40n);
    const at = await settle();
    const reading = await read(at);
    expect(paid(reading.transfers)).toEqual([
      ["call:0", ann.address, "native", 40n],
      ["call:1", bob.address, "native", 40n],
      ["call:1", ann.address, "native", 30n],
      ["call:2", bob.address, "native", 30n],
    ]);
    expect(reading.internal).toBe("traced");
    const { interest } = interestIn([ann.address]);
    expect(await node.readBlocks(at, at, interest)).toMatchObject({ transfers: [], internal: "off" });
  });

  it("TRX sent along with a call to a watched contract", async () => {
    const contract = await vm.deploy("Payer", []);
    const address = tronAddress(contract.address.slice(2));
    chain.trigger(payer, contract.address.slice(2), "", {}, 77n);
    const at = await settle();
    expect(paid((await read(at, [address])).transfers)).toEqual([["value", address, "native", 77n]]);
  });

  it("what the constructor of a new contract pays, in tokens and in TRX", async () => {
    const deploy = { ...chain.rawData({ kind: "deploy", owner: `41${payer.hex}` }), feeLimitUnits: 1_000_000n };
    const raw = lengthened("5a", `081e${lengthened("12", lengthened("12", lengthened("0a", `41${payer.hex}`)))}`);
    expect(decodeRawData(raw)?.contract).toEqual(deploy.contract);
    const logs = [transferLog(token.address.slice(2), payer.hex, ann.hex, 50n)];
    chain.trigger(payer, token.address.slice(2), "00");
    const [waiting] = chain.pool;
    const done = execution({ logs, internal: [internal(bob.hex, { callValue: 5 })] });
    chain.mine(19, new Map([[waiting?.txId ?? "", done]]));
    double.on("walletsolidity/getblock", async (_, honest) => replaced((await honest()) as Json, raw, null));
    double.on("walletsolidity/gettransactioninfobyblocknum", async (_, honest) =>
      ((await honest()) as Json[]).map((info) => ({ ...info, id: txIdOf(raw) })),
    );
    const { transfers } = await insist(chain.solid.height, [ann.address, bob.address]);
    expect(paid(transfers)).toEqual([
      ["log:0", ann.address, listed(), 50n],
      ["call:0", bob.address, "native", 5n],
    ]);
  });

  it("TRX sent on, under one key from nodes that save more kinds of internal transactions and fewer", async () => {
    const tx = chain.trigger(payer, token.address.slice(2), "00");
    const list = [
      internal(bob.hex, {}, { note: hex("freezeBalanceV2ForEnergy") }),
      internal(bob.hex, { callValue: 1 }, { rejected: true }),
      internal(bob.hex, { callValue: 9 }, { note: hex("withdrawExpireUnfreezeWhileSuiciding") }),
      internal(ann.hex, { callValue: 7 }),
    ];
    chain.mine(19, new Map([[tx.txId, execution({ internal: list })]]));
    const at = chain.solid.height;
    const all = paid((await read(at)).transfers);
    double.on("walletsolidity/gettransactioninfobyblocknum", async (_, honest) =>
      ((await honest()) as Json[]).map((info) => ({ ...info, internal_transactions: [list[1], list[3]] })),
    );
    expect(all).toEqual([["call:1", ann.address, "native", 7n]]);
    expect(paid((await read(at)).transfers)).toEqual(all);
  });

  it("a token's log whose address comes with the 41, and none of an address that is none", async () => {
    const tx = chain.trigger(payer, token.address.slice(2), "00");
    const log = transferLog(token.address.slice(2), payer.hex, ann.hex, 50n);
    chain.mine(19, new Map([[tx.txId, execution({ logs: [log] })]]));
    const at = chain.solid.height;
    const shown = (address: string) =>
      double.on("walletsolidity/gettransactioninfobyblocknum", async (_, honest) =>
        ((await honest()) as Json[]).map((info) => ({ ...info, log: [{ ...log, address }] })),
      );
    shown(`41${log.address}`);
    expect(paid((await read(at)).transfers)).toEqual([["log:0", ann.address, listed(), 50n]]);
    shown(pad(log.address));
    await expect(read(at)).rejects.toMatchObject({ name: "ChainFault" });
  });

  it("TRX in a block that does not say how its transfer ended, since no witness compares that, and no token there", async () => {
    chain.pay(ann.address, 5n);
    chain.trigger(payer, token.address.slice(2), data("transfer", [`0x${ann.hex}`, 9n]));
    const at = await settle();
    double.on("walletsolidity/getblock", async (_, honest) => {
      const block = (await honest()) as Json;
      return { ...block, transactions: (block.transactions as Json[]).map((one) => ({ ...one, ret: [] })) };
    });
    const { transfers } = await insist(at, [ann.address]);
    expect(paid(transfers)).toEqual([["value", ann.address, "native", 5n]]);
  });

  it("a payment under the same key in whatever block it is mined", async () => {
    const tx = chain.trigger(payer, token.address.slice(2), data("transfer", [`0x${ann.hex}`, 3n]));
    const at = await settle();
    const before = (await read(at)).transfers[0];
    chain.reorg(19, [tx]);
    const after = (await node.readBlocks(at, at, everything([ann.address]))).transfers[0];
    expect(before).toBeDefined();
    expect(after?.blockHash).not.toBe(before?.blockHash);
    expect({ ...after, blockHash: "" }).toEqual({ ...before, blockHash: "" });
  });
});

describe("what never counts", () => {
  it("B45: a token payment that reverted or ran out of energy", async () => {
    const to = [`0x${ann.hex}`, 50n];
    const reverted = chain.trigger(payer, token.address.slice(2), data("transferThenRevert", to));
    const starved = chain.trigger(payer, token.address.slice(2), data("transfer", to), { feeLimitUnits: 100n });
    const at = await settle();
    expect(chain.find(reverted.txId)?.tx.outcome).toBe("REVERT");
    expect(chain.find(starved.txId)?.tx.outcome).toBe("OUT_OF_ENERGY");
    const reading = await read(at);
    expect([reading.stopped, reading.transfers]).toEqual([null, []]);
  });

  it("B45: logs and calls of a transaction that failed, though a node should show them", async () => {
    const tx = chain.trigger(payer, token.address.slice(2), "a9059cbb");
    const log = transferLog(token.address.slice(2), payer.hex, ann.hex, 50n);
    const failed = execution({ outcome: "REVERT", logs: [log], internal: [internal(ann.hex, { callValue: 5 })] });
    chain.mine(19, new Map([[tx.txId, failed]]));
    double.on("walletsolidity/gettransactioninfobyblocknum", async (_, honest) =>
      ((await honest()) as Json[]).map((info) => ({ ...info, log: [log] })),
    );
    expect((await read(chain.solid.height)).transfers).toEqual([]);
  });

  it("TRX that was to be sent and was not", async () => {
    const tx = chain.pay(ann.address, 5n);
    const at = await settle();
    double.on("walletsolidity/getblock", async (_, honest) => {
      const block = (await honest()) as Json;
      const transactions = (block.transactions as Json[]).map((one) => ({ ...one, ret: [{ contractRet: "REVERT" }] }));
      return { ...block, transactions };
    });
    double.on("walletsolidity/gettransactioninfobyblocknum", async (_, honest) =>
      ((await honest()) as Json[]).map((info) => ({ ...info, result: "FAILED" })),
    );
    expect(tx.txId).not.toBe("");
    const { stopped, transfers } = await insist(at, [ann.address]);
    expect([stopped, transfers]).toEqual([null, []]);
  });

  it("a log with a topic too many, though all else of it is a payment", async () => {
    const tx = chain.trigger(payer, token.address.slice(2), "00");
    const log = transferLog(token.address.slice(2), payer.hex, ann.hex, 50n);
    const more = { ...log, topics: [...log.topics, pad("07")] };
    chain.mine(19, new Map([[tx.txId, execution({ logs: [more] })]]));
    expect(await read(chain.solid.height)).toMatchObject({ transfers: [], irregularLogs: 1 });
  });

  it("logs of a contract that is not listed, and logs that are not of the standard form", async () => {
    const odd = await vm.deploy("OddToken", ["Odd", "ODD", 6]);
    const other = await vm.deploy("Token", ["Dollar", "USDX", 6]);
    await other.send("mint", [`0x${payer.hex}`, 100n]);
    chain.trigger(payer, other.address.slice(2), data("transfer", [`0x${ann.hex}`, 5n], other));
    const forms = ["unindexed", "halfIndexed", "longData", "shortData", "dirtyTopic", "nft"];
    for (const form of forms) chain.trigger(payer, odd.address.slice(2), data(form, [`0x${ann.hex}`, 5n], odd));
    const at = await settle();
    const contracts = new Set([tronAddress(odd.address.slice(2))]);
    const reading = await node.readBlocks(at, at, interestIn([ann.address], { contracts }).interest);
    expect(reading).toMatchObject({ stopped: null, transfers: [], irregularLogs: forms.length });
  });

  it("TRC-10 tokens: counted where somebody watched was to receive them", async () => {
    const trc10 = trc10Raw(ann.hex);
    double.on("walletsolidity/getblock", async (_, honest) =>
      replaced((await honest()) as Json, trc10.raw, trc10.txId),
    );
    double.on("walletsolidity/gettransactioninfobyblocknum", async (_, honest) =>
      ((await honest()) as Json[]).map((info) => ({ ...info, id: trc10.txId })),
    );
    chain.pay(bob.address, 5n);
    const at = await settle();
    expect(await insist(at, [ann.address])).toMatchObject({ stopped: null, transfers: [], irregularLogs: 1 });
    expect(await node.readBlocks(at, at, everything([bob.address]))).toMatchObject({ transfers: [], irregularLogs: 0 });
  });

  it("internal transactions that were rejected, carry a TRC-10 token, or move nothing to their receiver", async () => {
    const tx = chain.trigger(payer, token.address.slice(2), "00");
    const list = [
      internal(ann.hex, { callValue: 1 }, { rejected: true }),
      internal(ann.hex, { callValue: 2, tokenId: "1000001" }),
      internal(ann.hex, { callValue: 3 }, { note: hex("delegateResourceOfEnergy") }),
      internal(ann.hex, { callValue: 4 }, { note: hex("freezeForEnergy") }),
      internal(ann.hex, {}),
      internal(ann.hex, { callValue: 6 }, { caller_address: `41${ann.hex}` }),
      internal(ann.hex, { callValue: 7 }, { note: hex("suicide") }),
    ];
    chain.mine(1, new Map([[tx.txId, execution({ internal: list })]]));
    const at = chain.head.height;
    chain.mine(18);
    const reading = await read(at);
    expect(paid(reading.transfers)).toEqual([["call:4", ann.address, "native", 7n]]);
    expect(reading.irregularLogs).toBe(1);
  });

  it("B46: what is not solid, also when it is gone later", async () => {
    chain.pay(ann.address, 5n);
    chain.mine(3);
    const at = chain.head.height - 2;
    expect((await node.tip()).head.height).toBe(chain.solid.height);
    expect(await node.readBlocks(at, at, everything([ann.address]))).toMatchObject({
      blocks: [],
      transfers: [],
      stopped: { reason: "not_known", height: at },
    });
    expect(await node.headers(at, at)).toEqual([]);
    chain.reorg(3);
    chain.mine(20);
    expect((await read(at)).transfers).toEqual([]);
  });
});

describe("a block is read when all of it is there", () => {
  const blocks = async (at: number) => {
    const { blocks, stopped, transfers } = await node.readBlocks(at - 1, at + 1, everything([ann.address]));
    return [blocks.map(({ height }) => height), stopped?.reason, transfers.length];
  };

  it("not while its infos lag, nor when some of them are missing", async () => {
    chain.pay(ann.address, 5n);
    chain.pay(bob.address, 5n);
    const at = await settle();
    chain.mine(1);
    double.infosLag = 2;
    expect(await blocks(at)).toEqual([[at - 1], "not_known", 0]);
    double.infosLag = 0;
    double.on("walletsolidity/gettransactioninfobyblocknum", async (_, honest) =>
      ((await honest()) as Json[]).slice(1),
    );
    expect(await blocks(at)).toEqual([[at - 1], "not_known", 0]);
    double.on("walletsolidity/gettransactioninfobyblocknum", null);
    expect(await blocks(at)).toEqual([[at - 1, at, at + 1], undefined, 1]);
  });

  it.each<readonly [string, string, (answer: unknown) => unknown]>([
    ["an info twice (B49)", "gettransactioninfobyblocknum", (infos) => [...(infos as Json[]), ...(infos as Json[])]],
    [
      "an info of another block",
      "gettransactioninfobyblocknum",
      (infos) => (infos as Json[]).map((info) => ({ ...info, blockNumber: 7 })),
    ],
    [
      "an info of a transaction that it does not have",
      "gettransactioninfobyblocknum",
      (infos) => [...(infos as Json[]), ...(infos as Json[]).map((info) => ({ ...info, id: "ab".repeat(32) }))],
    ],
    [
      "an info that says it failed where the block says it did not",
      "gettransactioninfobyblocknum",
      (infos) => (infos as Json[]).map((info) => ({ ...info, result: "FAILED" })),
    ],
    [
      "a transaction whose bytes have another id",
      "getblock",
      (block) => replaced(block as Json, trc10Raw(ann.hex).raw),
    ],
    ["no transactions where its header has some", "getblock", (block) => ({ ...(block as Json), transactions: [] })],
  ])("not with %s", async (_, path, change) => {
    chain.pay(ann.address, 5n);
    const at = await settle();
    chain.mine(1);
    double.on(`walletsolidity/${path}`, async (body, honest) =>
      Number(body.num ?? body.id_or_num) === at ? change(await honest()) : honest(),
    );
    expect(await blocks(at)).toEqual([[at - 1], "inconsistent", 0]);
  });

  it("not without a transaction that its root is over, until that has been so for a while", async () => {
    for (const to of [ann, bob, ann]) chain.pay(to.address, 5n);
    const at = await settle();
    double.on("walletsolidity/getblock", async (_, honest) => {
      const block = (await honest()) as Json;
      return { ...block, transactions: (block.transactions as Json[]).slice(1) };
    });
    double.on("walletsolidity/gettransactioninfobyblocknum", async (_, honest) =>
      ((await honest()) as Json[]).slice(1),
    );
    expect((await insist(at, [ann.address])).transfers).toHaveLength(1);
  });

  it("not with a call that does not say how its execution ended", async () => {
    chain.trigger(payer, token.address.slice(2), data("transfer", [`0x${ann.hex}`, 5n]));
    const at = await settle();
    chain.mine(1);
    double.on("walletsolidity/gettransactioninfobyblocknum", async (_, honest) =>
      ((await honest()) as Json[]).map((info) => ({ ...info, receipt: {} })),
    );
    expect(await blocks(at)).toEqual([[at - 1], "inconsistent", 0]);
  });

  it("not with a block of another height in the first place", async () => {
    const at = chain.solid.height - 3;
    const below = await double.honest("walletsolidity/getblock", { id_or_num: String(at - 1), detail: true });
    double.on("walletsolidity/getblock", () => below);
    const { stopped, blocks } = await node.readBlocks(at, at, everything([ann.address]));
    expect([stopped?.reason, blocks]).toEqual(["inconsistent", []]);
  });

  it("though a stranger's bytes in it are odd", async () => {
    const group = "2b0801" + "2c";
    const tx = trc10Raw(ann.hex);
    const odd = { raw: `${group}ff`, txId: "" };
    chain.pay(ann.address, 5n);
    const at = await settle();
    double.on("walletsolidity/getblock", async (_, honest) => replaced((await honest()) as Json, odd.raw, null));
    double.on("walletsolidity/gettransactioninfobyblocknum", async (_, honest) => {
      const block = (await double.honest("walletsolidity/getblock", { id_or_num: String(at), detail: true })) as Json;
      const [shown] = replaced(block, odd.raw, null).transactions as Json[];
      return ((await honest()) as Json[]).map((info) => ({ ...info, id: shown?.txID }));
    });
    expect(tx.raw).not.toBe(odd.raw);
    const reading = await insist(at, [ann.address]);
    expect(reading).toMatchObject({ stopped: null, transfers: [], irregularLogs: 1 });
    expect(reading.blocks).toHaveLength(1);
  });
});

describe("a node", () => {
  it("that saves no internal transactions is known as one after a while, and never once it has shown some", async () => {
    const sight = new InternalSight();
    const see = (times: number, showsInternal: boolean) => {
      const info = readInfo({
        id: "ab".repeat(32),
        receipt: { result: "SUCCESS" },
        ...(showsInternal ? { internal_transactions: [internal(bob.hex, {})] } : {}),
      });
      for (let i = 0; i < times; i++) if (info !== null) sight.see(info);
      return [sight.isKnown, sight.isLacking];
    };
    expect(see(1_999, false)).toEqual([false, false]);
    expect(see(1, false)).toEqual([false, true]);
    expect(see(1, true)).toEqual([true, false]);
    expect(see(3_000, false)).toEqual([true, false]);
    double.savesInternal = false;
    const contract = await vm.deploy("Payer", []);
    chain.trigger(payer, contract.address.slice(2), data("pay", [[`0x${ann.hex}`], 40n], contract), {}, 40n);
    const at = await settle();
    expect(await read(at)).toMatchObject({ transfers: [], internal: "untraced" });
    expect(node.lacksTraces).toBe(false);
    double.savesInternal = true;
    expect(await read(at)).toMatchObject({ transfers: [{ amountUnits: 40n }], internal: "traced" });
  });

  it("tells a token's symbol and decimals, and that there is none", async () => {
    expect(await node.token(listed())).toEqual({ symbol: "USDX", contract: listed(), decimals: 6 });
    expect(await node.token(ann.address)).toBeNull();
    const payerContract = await vm.deploy("Payer", []);
    expect(await node.token(tronAddress(payerContract.address.slice(2)))).toBeNull();
  });

  it("is asked with its key where the vendor wants it", async () => {
    const ask = async (url: string) => {
      await new TronNode({ url, fetch: double.fetch, timeoutMs: 2_000 }).tip();
      return [double.urls.at(-1), double.headers?.get("tron-pro-api-key"), double.headers?.get("authorization")];
    };
    expect(await ask("https://node.test/some-k3y/")).toEqual([
      "https://node.test/some-k3y/walletsolidity/getblock",
      null,
      null,
    ]);
    expect(await ask("https://TRON-PRO-API-KEY:s3cret@node.test")).toEqual([
      "https://node.test/walletsolidity/getblock",
      "s3cret",
      null,
    ]);
    expect(await ask("https://user:s3cret@node.test?k=1")).toEqual([
      "https://node.test/walletsolidity/getblock?k=1",
      null,
      `Basic ${btoa("user:s3cret")}`,
    ]);
  });

  it("shows no key in its faults", async () => {
    const node = new TronNode({
      url: "https://tron-pro-api-key:s3cret-of-mine@node.test",
      fetch: async () => new Response("key s3cret-of-mine is refused", { status: 401 }),
      timeoutMs: 2_000,
    });
    const fault: unknown = await node.tip().catch((error: unknown) => error);
    expect(fault).toMatchObject({ name: "ChainFault", retryable: false });
    expect(String(fault)).not.toContain("s3cret-of-mine");
  });
});

function execution(over: Partial<Execution>): Execution {
  return { outcome: "SUCCESS", energy: 1_000, returned: "", logs: [], ...over };
}

function transferLog(address: string, from: string, to: string, units: bigint) {
  const topics = ["ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", pad(from), pad(to)];
  return { address, topics, data: units.toString(16).padStart(64, "0") };
}

function pad(address: string): string {
  return address.padStart(64, "0");
}

function internal(to: string, value: Json, over: Json = {}): Json {
  return {
    hash: "5c".repeat(32),
    caller_address: `41${payer.hex}`,
    transferTo_address: `41${to}`,
    callValueInfo: [value],
    note: hex("call"),
    ...over,
  };
}

function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}

/** A TransferAssetContract, which nobody here makes: type 2, token, owner, receiver, amount. */
function trc10Raw(to: string): { readonly raw: string; readonly txId: string } {
  const value = `0a0731303030303031${"1215"}41${payer.hex}${"1a15"}41${to}2005`;
  const url = hex("type.googleapis.com/protocol.TransferAssetContract");
  const parameter = lengthened("0a", url) + lengthened("12", value);
  const raw = lengthened("5a", `0802${lengthened("12", parameter)}`);
  return { raw, txId: txIdOf(raw) };
}

function lengthened(tag: string, content: string): string {
  const length = content.length / 2;
  const low =
    length > 127
      ? `${((length & 127) | 128).toString(16)}${(length >> 7).toString(16).padStart(2, "0")}`
      : length.toString(16).padStart(2, "0");
  return tag + low + content;
}

/** The block with its first transaction in other bytes. @param txId null: the bytes' own; left out: as it was */
function replaced(block: Json, raw: string, txId?: string | null): Json {
  if (!Array.isArray(block.transactions)) return block;
  const transactions = (block.transactions as Json[]).map((tx) => ({
    ...tx,
    raw_data_hex: raw,
    txID: txId === undefined ? tx.txID : (txId ?? txIdOf(raw)),
  }));
  return { ...block, transactions };
}
