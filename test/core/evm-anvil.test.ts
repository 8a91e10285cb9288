/** The EVM adapter against a real node: real blooms, real roots, real traces, real reorganisations. */

import { createRequire } from "node:module";
import { encodeFunctionData, parseAbi } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EvmNode } from "../../src/chains/evm/node.ts";
import { proveReceipts } from "../../src/chains/evm/receipt-proof.ts";
import { receiptsRoot } from "../../src/chains/evm/receipts-root.ts";
import { parseBlock, parseReceipt } from "../../src/chains/evm/records.ts";
import type { Interest, Reading } from "../../src/chains/port.ts";
import { type Anvil, DEV_ACCOUNTS, type Hex, hex, startAnvil } from "../support/anvil.ts";

const STAGE = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Stage {
  event Transfer(address indexed from, address indexed to, uint256 value);
  string public symbol = "STG";
  uint8 public decimals = 6;
  function emits(address to, uint256 value, uint256 times) external {
    for (uint256 i; i < times; i++) emit Transfer(msg.sender, to, value);
  }
  function nft(address to, uint256 id) external {
    bytes32 topic = keccak256("Transfer(address,address,uint256)");
    assembly { log4(0, 0, topic, caller(), to, id) }
  }
  function pays(address payable[] calldata to, uint256 value) external payable {
    for (uint256 i; i < to.length; i++) { (bool ok, ) = to[i].call{value: value}(""); require(ok); }
  }
  // One payment through itself, one inside a call that reverts, one by way of a dying contract.
  function tangled(address payable to, address payable lost, uint256 value) external payable {
    sha256("a call to a precompile comes first");
    this.forwards{value: value}(to);
    try this.paysAndReverts{value: value}(lost) {} catch {}
    new Dying{value: value}(to);
  }
  function forwards(address payable to) external payable { (bool ok, ) = to.call{value: msg.value}(""); require(ok); }
  function paysAndReverts(address payable to) external payable { to.transfer(msg.value); revert("no"); }
  function fails(address payable to) external payable { to.transfer(msg.value); revert("all of it"); }
  function silent() external pure returns (bool) { return false; }
  receive() external payable {}
}
contract Dying { constructor(address payable to) payable { selfdestruct(to); } }
contract OldToken {
  bytes32 public symbol = "OLD";
  uint256 public decimals = 18;
}`;

const ABI = parseAbi([
  "function emits(address to, uint256 value, uint256 times)",
  "function nft(address to, uint256 id)",
  "function pays(address[] to, uint256 value) payable",
  "function tangled(address to, address lost, uint256 value) payable",
  "function fails(address to) payable",
]);

const W = "0x00000000000000000000000000000000000a11ce";
const W2 = "0x0000000000000000000000000000000000b0b000";
const STRANGER = "0x000000000000000000000000000000000005747a";
const LOST = "0x0000000000000000000000000000000000105700";

let anvil: Anvil;
let node: EvmNode;
/** The same chain without `debug_traceBlockByHash`, and without `eth_getBlockReceipts`. */
let bareNode: EvmNode;
let stage: Hex;
let oldToken: Hex;

function compile(): Record<"Stage" | "OldToken", Hex> {
  const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };
  const settings = { optimizer: { enabled: true }, outputSelection: { "*": { "*": ["evm.bytecode.object"] } } };
  const input = { language: "Solidity", sources: { "stage.sol": { content: STAGE } }, settings };
  const { contracts } = JSON.parse(solc.compile(JSON.stringify(input))) as {
    contracts: { "stage.sol": Record<string, { evm: { bytecode: { object: string } } }> };
  };
  const code = (name: string): Hex => `0x${contracts["stage.sol"][name]?.evm.bytecode.object}`;
  return { Stage: code("Stage"), OldToken: code("OldToken") };
}

async function deploy(data: Hex): Promise<Hex> {
  const { contractAddress } = await anvil.receipt(await anvil.send({ data, gas: 5_000_000n }));
  if (contractAddress === null) throw new Error("the contract was not created");
  return contractAddress.toLowerCase() as Hex;
}

beforeAll(async () => {
  anvil = await startAnvil();
  node = new EvmNode({ url: anvil.url, fetch, timeoutMs: 10_000 });
  const bare: typeof fetch = (input, init) => {
    const body = String(init?.body).replaceAll(/debug_traceBlockByHash|eth_getBlockReceipts/g, "no_such_method");
    return fetch(input, { ...init, body });
  };
  bareNode = new EvmNode({ url: anvil.url, fetch: bare, timeoutMs: 10_000 });
  const code = compile();
  stage = await deploy(code.Stage);
  oldToken = await deploy(code.OldToken);
  await anvil.pay(stage, 10n ** 18n);
}, 60_000);

afterAll(() => anvil?.stop());

function interest(over: Partial<Interest> = {}): Interest {
  const watched = new Set([W, W2, LOST]);
  return {
    contracts: new Set([stage]),
    native: true,
    internal: true,
    watched: (asked) => new Set([...asked].filter((address) => watched.has(address))),
    ...over,
  };
}

async function realBlock(height: number | "latest") {
  const tag = height === "latest" ? height : hex(height);
  const block = parseBlock(await anvil.rpc("eth_getBlockByNumber", [tag, false]), false);
  const receipts = (await anvil.rpc<unknown[]>("eth_getBlockReceipts", [block.ref.hash])).map(parseReceipt);
  return { block, receipts };
}

/** What a reading found, short. */
function told({ transfers }: Reading): string[] {
  return transfers.map(
    (t) => `${t.address} ${t.asset === stage ? "STG" : t.asset} ${t.amountUnits} ${t.transferIndex}`,
  );
}

/** Near and far, with and without what a node may lack: all must agree. */
async function readAllWays(from: number, to: number, over: Partial<Interest> = {}): Promise<Reading> {
  const near = await node.readBlocks(from, to, interest(over));
  const far = await node.readRange(from, to, interest(over));
  expect(far).toEqual(near);
  expect(await bareNode.readBlocks(from, to, interest(over))).toEqual(near);
  expect(await bareNode.readRange(from, to, interest(over))).toEqual(near);
  return near;
}

async function mined(hash: Hex): Promise<number> {
  return Number((await anvil.receipt(hash)).blockNumber);
}

describe("receipts of real blocks", () => {
  it("gives the header's root for legacy, 2930 and 1559 receipts, with logs and with a failure", async () => {
    await anvil.rpc("evm_setAutomine", [false]);
    const data = encodeFunctionData({ abi: ABI, functionName: "emits", args: [W, 5n, 3n] });
    const failing = encodeFunctionData({ abi: ABI, functionName: "fails", args: [W] });
    const base = { from: DEV_ACCOUNTS[0], to: stage, gas: hex(300_000) };
    const fees = { maxFeePerGas: hex(10n ** 11n), maxPriorityFeePerGas: hex(1) };
    await anvil.rpc("eth_sendTransaction", [{ ...base, data, gasPrice: hex(10n ** 11n) }]);
    await anvil.rpc("eth_sendTransaction", [
      { ...base, data, gasPrice: hex(10n ** 11n), accessList: [{ address: stage, storageKeys: [] }] },
    ]);
    await anvil.rpc("eth_sendTransaction", [{ ...base, data, ...fees }]);
    await anvil.rpc("eth_sendTransaction", [{ ...base, data: failing, value: hex(7), ...fees }]);
    await anvil.mine();
    await anvil.rpc("evm_setAutomine", [true]);
    const { block, receipts } = await realBlock("latest");
    expect(receipts.map((receipt) => [receipt.type, receipt.status, receipt.logs.length])).toEqual([
      [0, 1, 3],
      [1, 1, 3],
      [2, 1, 3],
      [2, 0, 0],
    ]);
    expect(receiptsRoot(receipts)).toBe(block.receiptsRoot);
    expect(proveReceipts(block, receipts)).toMatchObject({ ok: true, by: "root" });
  });

  it("gives the root of an empty block and of one with more than 128 transactions", async () => {
    await anvil.mine();
    const empty = await realBlock("latest");
    expect(receiptsRoot(empty.receipts)).toBe(empty.block.receiptsRoot);
    await anvil.rpc("evm_setAutomine", [false]);
    const data = encodeFunctionData({ abi: ABI, functionName: "emits", args: [W2, 1n, 1n] });
    for (let i = 0; i < 140; i++)
      await anvil.send(i % 3 === 0 ? { to: stage, data, gas: 60_000n } : { to: W2 as Hex, value: 1n, gas: 21_000n });
    await anvil.mine();
    await anvil.rpc("evm_setAutomine", [true]);
    const { block, receipts } = await realBlock("latest");
    expect(receipts).toHaveLength(140);
    expect(receiptsRoot(receipts)).toBe(block.receiptsRoot);
    const reading = await readAllWays(block.ref.height, block.ref.height, { internal: false });
    expect(reading.transfers).toHaveLength(140);
  });

  it("does not prove a receipt that was changed, left out or swapped", async () => {
    const { block, receipts } = await realBlock(
      await mined(
        await anvil.send({
          to: stage,
          data: encodeFunctionData({ abi: ABI, functionName: "emits", args: [W, 9n, 2n] }),
          gas: 200_000n,
        }),
      ),
    );
    const [only] = receipts;
    if (only === undefined) throw new Error("the block has one receipt");
    const [first, second] = only.logs;
    if (first === undefined || second === undefined) throw new Error("the receipt has two logs");
    for (const logs of [[first], [first, { ...second, data: `0x${"0".repeat(63)}8` }], []]) {
      expect(proveReceipts(block, [{ ...only, logs }])).toMatchObject({ ok: false, reason: "inconsistent" });
    }
    expect(proveReceipts(block, [{ ...only, status: 0 }])).toMatchObject({ ok: false, reason: "inconsistent" });
    expect(proveReceipts(block, [])).toMatchObject({ ok: false, reason: "not_known" });
  });
});

describe("payments on a real node", () => {
  it("finds tokens, native and internal payments of one reading, the same way near and far", async () => {
    const from = (await anvil.height()) + 1;
    await anvil.pay(W, 11n);
    await anvil.send({
      to: stage,
      data: encodeFunctionData({ abi: ABI, functionName: "emits", args: [W, 5n, 2n] }),
      gas: 200_000n,
    });
    await anvil.send({
      to: stage,
      data: encodeFunctionData({ abi: ABI, functionName: "nft", args: [W, 1_000_000_000n] }),
      gas: 200_000n,
    });
    const to = await mined(
      await anvil.send({
        to: stage,
        value: 30n,
        gas: 500_000n,
        data: encodeFunctionData({ abi: ABI, functionName: "pays", args: [[W, W2, W], 10n] }),
      }),
    );
    const reading = await readAllWays(from, to);
    expect(told(reading)).toEqual([
      `${W} native 11 value`,
      `${W} STG 5 log:0`,
      `${W} STG 5 log:1`,
      `${W} native 10 call:0`,
      `${W2} native 10 call:1`,
      `${W} native 10 call:2`,
    ]);
    expect(reading).toMatchObject({ stopped: null, internal: "traced", irregularLogs: 1 });
  });

  it("B28 follows coins through inner calls and dying contracts, B29 not through calls that failed", async () => {
    const data = encodeFunctionData({ abi: ABI, functionName: "tangled", args: [W, LOST, 4n] });
    const at = await mined(await anvil.send({ to: stage, data, value: 12n, gas: 2_000_000n }));
    const reading = await readAllWays(at, at);
    // Positions count neither the precompile before nor the call that reverted in between.
    expect(told(reading)).toEqual([`${W} native 4 call:0.0`, `${W} native 4 call:1.0`]);
    expect(BigInt(await anvil.rpc<Hex>("eth_getBalance", [LOST, "latest"]))).toBe(0n);
  });

  it("B29 credits nothing of a transaction that failed as a whole", async () => {
    const data = encodeFunctionData({ abi: ABI, functionName: "fails", args: [W] });
    const at = await mined(await anvil.send({ to: stage, data, value: 3n, gas: 200_000n }));
    expect(told(await readAllWays(at, at))).toEqual([]);
  });

  it("keeps a payment's key when a reorganisation moves its log inside the block", async () => {
    const emit = (to: string, times: bigint) => ({
      to: stage,
      data: encodeFunctionData({ abi: ABI, functionName: "emits", args: [to as Hex, 6n, times] }),
      gas: 200_000n,
    });
    await anvil.rpc("evm_setAutomine", [false]);
    await anvil.send({ ...emit(STRANGER, 2n), from: DEV_ACCOUNTS[1] });
    const wanted = await anvil.send(emit(W, 1n));
    await anvil.mine();
    const height = await anvil.height();
    const before = await anvil.receipt(wanted);
    const first = await readAllWays(height, height);
    await anvil.reorg(1, [[await anvil.rawTransaction(wanted), 0]]);
    await anvil.rpc("evm_setAutomine", [true]);
    const after = await anvil.receipt(wanted);
    expect([before.logs[0]?.logIndex, after.logs[0]?.logIndex]).toEqual(["0x2", "0x0"]);
    const second = await readAllWays(height, height);
    expect(second.transfers.map(({ txId, transferIndex }) => ({ txId, transferIndex }))).toEqual(
      first.transfers.map(({ txId, transferIndex }) => ({ txId, transferIndex })),
    );
    expect(second.blocks[0]?.hash).not.toBe(first.blocks[0]?.hash);
  });
});

describe("a real node's own account of itself", () => {
  it("shows tip, headers and chain id", async () => {
    const height = await anvil.height();
    const { head, finalized } = await node.tip();
    expect(head.height).toBe(height);
    expect(finalized?.height).toBe(0);
    const headers = await node.headers(height - 2, height + 5);
    expect(headers.map((ref) => ref.height)).toEqual([height - 2, height - 1, height]);
    expect(headers.at(-1)).toEqual(head);
    expect(await node.chain()).toBe("eip155:31337");
  });

  it("reads a token's symbol as string and as bytes32, and null where there is none", async () => {
    expect(await node.token(stage)).toEqual({ symbol: "STG", contract: stage, decimals: 6 });
    expect(await node.token(oldToken)).toEqual({ symbol: "OLD", contract: oldToken, decimals: 18 });
    expect(await node.token(W)).toBeNull();
  });

  it("stops before a height that does not exist yet", async () => {
    const height = await anvil.height();
    for (const reading of [
      await node.readBlocks(height, height + 3, interest()),
      await node.readRange(height, height + 3, interest()),
    ]) {
      expect(reading.blocks.map((ref) => ref.height)).toEqual([height]);
      expect(reading.stopped).toMatchObject({ reason: "not_known", height: height + 1 });
    }
  });
});
