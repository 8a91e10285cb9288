/** What counts as a payment on Solana: real transactions, carried out by the validators' own runtime. */

import { base58 } from "@scure/base";
import { type AccountRole, address, type Instruction } from "@solana/kit";
import { getCreateAccountInstruction, getTransferSolInstruction, SYSTEM_PROGRAM_ADDRESS } from "@solana-program/system";
import {
  AuthorityType,
  getBurnInstruction,
  getCloseAccountInstruction,
  getInitializeAccount3Instruction,
  getSetAuthorityInstruction,
  getSyncNativeInstruction,
  getTransferInstruction,
  getUnwrapLamportsInstruction,
} from "@solana-program/token";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fromBase58 } from "../../src/chains/solana/base58.ts";
import { SolanaNode } from "../../src/chains/solana/node.ts";
import { bytesOf } from "../../src/chains/solana/program-address.ts";
import { STAKE_PROGRAM, TOKEN_2022_PROGRAM } from "../../src/core/solana-address.ts";
import { interestIn } from "../support/chain-worlds.ts";
import type { Json } from "../support/model-chain.ts";
import { SolanaChain } from "../support/solana-chain.ts";
import { SolanaNodeDouble } from "../support/solana-double.ts";
import { type SolanaKey, signedTransaction, solanaKey } from "../support/solana-keys.ts";
import {
  batched,
  checkedTransfer,
  feeTransfer,
  giveTokens,
  holding,
  joined,
  mintTo,
  openHolding,
  plainTransfer,
  putLookupTable,
  putMint,
  type TestToken,
  u64,
  WRAPPED_SOL,
} from "../support/solana-tokens.ts";

const NETWORK = { caip2: "solana:local", genesis: null };
const ANN = solanaKey("ann");
const BOB = solanaKey("bob");
const EVE = solanaKey("eve");
const WRAPPED: TestToken = {
  mint: address(WRAPPED_SOL),
  program: address("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"),
  decimals: 9,
};

let warned: string[];
beforeEach(() => {
  warned = [];
  vi.spyOn(console, "warn").mockImplementation((line) => void warned.push(String(line)));
});
afterEach(() => {
  vi.restoreAllMocks();
});

function world() {
  const chain = new SolanaChain();
  const double = new SolanaNodeDouble(chain);
  const node = new SolanaNode({ url: "http://node.test", fetch: double.fetch, timeoutMs: 5_000 }, NETWORK);
  for (const { address: who } of [ANN, BOB, EVE]) chain.fund(who, 10_000_000_000n);
  const token = putMint(chain, "TOK");
  giveTokens(chain, token, EVE.address, 1_000_000n);
  /** Of the next block, to these two. */
  const read = async (contracts: readonly string[] = [token.mint], at = chain.mine().height) => {
    const { interest } = interestIn([ANN.address, BOB.address], { contracts: new Set(contracts) });
    return node.readBlocks(at, at, interest);
  };
  const told = async (contracts?: readonly string[]) => {
    const reading = await read(contracts);
    expect(reading.stopped).toBeNull();
    const names = new Map<string, string>([
      [ANN.address, "ann"],
      [BOB.address, "bob"],
      [token.mint, "TOK"],
      [WRAPPED_SOL, "WSOL"],
    ]);
    const name = (text: string) => names.get(text) ?? text;
    const paid = reading.transfers.map(
      (t) => `${name(t.address)} ${t.amountUnits} ${name(t.asset)} ${t.transferIndex}`,
    );
    return reading.irregularLogs === 0 ? paid : [...paid, `${reading.irregularLogs} irregular`];
  };
  const send = (...instructions: readonly Instruction[]) =>
    chain.transact({ instructions, signers: [ANN, BOB, EVE, solanaKey("temporary"), solanaKey("other")] });
  return { chain, double, node, token, read, told, send };
}

const sol = (from: SolanaKey, to: string, amount: bigint) =>
  getTransferSolInstruction({ source: from.signer, destination: address(to), amount });

describe("coins", () => {
  it("by a transfer, and not by one that failed (B57)", async () => {
    const { chain, told, send, token } = world();
    send(sol(EVE, ANN.address, 5n));
    send(sol(EVE, ANN.address, 7n), plainTransfer(token, EVE, holding(token, EVE.address), 10n ** 12n));
    const paid = await told();
    expect(paid).toEqual(["ann 5 native ix:0"]);
    expect(chain.tip.txs.map(({ err }) => err === null)).toEqual([true, false]);
  });

  it("to and fro in one transaction: what came counts, whatever went on", async () => {
    const { told, send } = world();
    send(sol(EVE, ANN.address, 500n), sol(ANN, BOB.address, 700n), sol(BOB, BOB.address, 9n));
    expect(await told()).toEqual(["ann 500 native ix:0", "bob 700 native ix:1"]);
  });

  it("to whoever pays the fee itself", async () => {
    const { chain, told } = world();
    chain.transact({ payer: ANN, signers: [EVE], instructions: [sol(EVE, ANN.address, 500n)] });
    expect(await told()).toEqual(["ann 500 native ix:0"]);
  });

  it("by creating the account that is watched, unless a program has it then", async () => {
    const { chain, read } = world();
    for (const [name, programAddress, counts] of [
      ["plain", SYSTEM_PROGRAM_ADDRESS, 1],
      ["owned", address(TOKEN_2022_PROGRAM), 0],
    ] as const) {
      const fresh = solanaKey(`fresh ${name}`);
      const amount = 3_000_000n;
      const created = {
        payer: chain.faucet.signer,
        newAccount: fresh.signer,
        lamports: amount,
        space: 0,
        programAddress,
      };
      chain.transact({ signers: [fresh], instructions: [getCreateAccountInstruction(created)] });
      const at = chain.mine().height;
      const { interest } = interestIn([fresh.address]);
      const node = new SolanaNode(
        { url: "http://node.test", fetch: new SolanaNodeDouble(chain).fetch, timeoutMs: 5_000 },
        NETWORK,
      );
      const reading = await node.readBlocks(at, at, interest);
      expect(reading.transfers.map((t) => t.amountUnits)).toEqual(counts === 1 ? [amount] : []);
      expect(reading.irregularLogs).toBe(1 - counts);
    }
    expect((await read()).transfers).toEqual([]);
  });

  it("smaller than the fee that the receiver pays for it, in a transaction of that one instruction", async () => {
    const { chain, told } = world();
    const raw = signedTransaction({
      payer: ANN,
      signers: [EVE],
      instructions: [sol(EVE, ANN.address, 5n)],
      blockhash: chain.blockhash(),
    });
    chain.send(raw);
    expect(await told()).toEqual(["ann 5 native ix:0"]);
  });

  it("withdrawn from a stake: its owner's own are nobody's payment", async () => {
    const { chain, told, send } = world();
    const stake = solanaKey("other").address;
    const sysvars = ["SysvarC1ock11111111111111111111111111111111", "SysvarStakeHistory1111111111111111111111111"];
    const withdrawn = (to: SolanaKey, by: SolanaKey, amount: bigint): Instruction => {
      // One that is set up and not delegated: what it must hold, who stakes, who withdraws, no lockup.
      const data = new Uint8Array(200);
      data.set(joined(Uint8Array.of(1, 0, 0, 0), u64(2_282_880n), bytesOf(by.address), bytesOf(by.address)));
      chain.put(stake, { owner: STAKE_PROGRAM, data, lamports: 10_000_000_000n, executable: false });
      const accounts = [
        { address: stake, role: 1 },
        { address: to.address, role: 1 },
        ...sysvars.map((one) => ({ address: address(one), role: 0 })),
        { address: by.address, role: 2 },
      ];
      return { programAddress: address(STAKE_PROGRAM), accounts, data: joined(Uint8Array.of(4, 0, 0, 0), u64(amount)) };
    };
    send(withdrawn(ANN, EVE, 700n));
    expect(await told()).toEqual(["ann 700 native ix:0"]);
    expect(chain.tip.txs[0]?.err).toBeNull();
    send(withdrawn(ANN, ANN, 800n));
    expect(await told()).toEqual([]);
    expect(chain.tip.txs[0]?.err).toBeNull();
  });

  it("that no instruction explains are counted as irregular, with their evidence, and credited never", async () => {
    const { chain, double, told, send } = world();
    const txId = send(sol(EVE, ANN.address, 500n), sol(EVE, BOB.address, 40n));
    double.on("getBlock", (_, honest) => {
      const block = honest() as { transactions?: { meta: { postBalances: number[] }; transaction: [string] }[] };
      for (const { meta } of block.transactions ?? []) {
        const place = meta.postBalances.indexOf(10_000_000_500);
        if (place >= 0) meta.postBalances[place] = 10_000_000_501;
      }
      return block;
    });
    expect(await told()).toEqual(["bob 40 native ix:1", "1 irregular"]);
    expect(JSON.parse(warned[0] ?? "")).toEqual({
      level: "warn",
      time: expect.any(String),
      event: "irregular_payment",
      node: "node.test",
      height: chain.head,
      tx_id: txId,
      address: ANN.address,
      asset: "native",
      expected: "500",
      arrived: "501",
    });
  });

  it("are proven by exact numbers only: a balance above 2^53 proves nothing", async () => {
    const { chain, told, send } = world();
    chain.fund(ANN.address, 2n ** 53n + 1n);
    send(sol(EVE, ANN.address, 500n));
    expect(await told()).toEqual(["1 irregular"]);
  });
});

describe("tokens", () => {
  it("B56: to the owner of the token account, which the transaction does not name", async () => {
    const { chain, token, told, send } = world();
    giveTokens(chain, token, ANN.address, 1n);
    send(checkedTransfer(token, EVE, holding(token, ANN.address), 250n));
    const keys = chain.waiting.size;
    expect(await told()).toEqual(["ann 250 TOK ix:0"]);
    expect(keys).toBe(1);
    const named = chain.tip.txs.flatMap(({ wire }) => wire.keys.length);
    expect(named.length).toBe(1);
  });

  it("to an account that the same transaction opened, associated or not", async () => {
    const { chain, token, told, send } = world();
    const other = solanaKey("other");
    const size = chain.svm.minimumBalanceForRentExemption(165n);
    send(
      openHolding(chain, token, ANN.address),
      checkedTransfer(token, EVE, holding(token, ANN.address), 250n),
      getCreateAccountInstruction({
        payer: chain.faucet.signer,
        newAccount: other.signer,
        lamports: size,
        space: 165,
        programAddress: token.program,
      }),
      getInitializeAccount3Instruction({ account: other.address, mint: token.mint, owner: BOB.address }),
      plainTransfer(token, EVE, other.address, 30n),
    );
    expect(await told()).toEqual(["ann 250 TOK ix:1", "bob 30 TOK ix:4"]);
  });

  it("B66: several in one transaction, plain, checked and minted, each with its own key", async () => {
    const { chain, token, told, send } = world();
    const [a, b] = [giveTokens(chain, token, ANN.address, 1n), giveTokens(chain, token, BOB.address, 1n)];
    send(
      checkedTransfer(token, EVE, a, 5n),
      plainTransfer(token, EVE, a, 7n),
      plainTransfer(token, EVE, b, 3n),
      mintTo(chain, token, b, 11n),
      plainTransfer(token, EVE, b, 0n),
    );
    expect(await told()).toEqual(["ann 5 TOK ix:0", "ann 7 TOK ix:1", "bob 3 TOK ix:2", "bob 11 TOK ix:3"]);
  });

  it("in one batch, each entry with its place in it", async () => {
    const { chain, token, told, send } = world();
    const [a, b] = [giveTokens(chain, token, ANN.address, 1n), giveTokens(chain, token, BOB.address, 1n)];
    send(
      batched(plainTransfer(token, EVE, a, 5n), checkedTransfer(token, EVE, b, 6n), plainTransfer(token, EVE, a, 7n)),
    );
    expect(await told()).toEqual(["ann 5 TOK ix:0/0", "bob 6 TOK ix:0/1", "ann 7 TOK ix:0/2"]);
    expect(chain.tip.txs[0]?.err).toBeNull();
  });

  it("of unlisted mints never, whatever they call themselves", async () => {
    const { chain, told, send } = world();
    const fake = putMint(chain, "fake TOK");
    giveTokens(chain, fake, EVE.address, 1_000n);
    giveTokens(chain, fake, ANN.address, 1n);
    send(checkedTransfer(fake, EVE, holding(fake, ANN.address), 250n));
    expect(await told()).toEqual([]);
  });

  it("between accounts of one owner are no deposit; burned ones lessen nothing that came", async () => {
    const { chain, token, told, send } = world();
    const [a, other] = [giveTokens(chain, token, ANN.address, 100n), solanaKey("other")];
    const size = chain.svm.minimumBalanceForRentExemption(165n);
    const opened = { payer: chain.faucet.signer, newAccount: other.signer, lamports: size, space: 165 };
    send(
      getCreateAccountInstruction({ ...opened, programAddress: token.program }),
      getInitializeAccount3Instruction({ account: other.address, mint: token.mint, owner: ANN.address }),
      plainTransfer(token, ANN, other.address, 40n),
    );
    expect(await told()).toEqual([]);
    send(
      plainTransfer(token, EVE, a, 50n),
      getBurnInstruction({ account: a, mint: token.mint, authority: ANN.signer, amount: 80n }),
    );
    expect(await told()).toEqual(["ann 50 TOK ix:0"]);
  });

  it("back from an account of its own that lived for one transaction are nobody's payment; what others put in is", async () => {
    const { chain, token, told, send } = world();
    const a = giveTokens(chain, token, ANN.address, 1_000n);
    const temporary = solanaKey("temporary");
    const lamports = chain.svm.minimumBalanceForRentExemption(165n);
    const opened = { payer: chain.faucet.signer, newAccount: temporary.signer, lamports, space: 165 };
    const passing = (...inner: readonly Instruction[]) =>
      send(
        getCreateAccountInstruction({ ...opened, programAddress: token.program }),
        getInitializeAccount3Instruction({ account: temporary.address, mint: token.mint, owner: ANN.address }),
        ...inner,
        getCloseAccountInstruction({ account: temporary.address, destination: EVE.address, owner: ANN.signer }),
      );
    const back = (amount: bigint) =>
      getTransferInstruction({ source: temporary.address, destination: a, authority: ANN.signer, amount });
    passing(plainTransfer(token, ANN, temporary.address, 40n), back(40n));
    expect(await told()).toEqual([]);
    passing(
      plainTransfer(token, ANN, temporary.address, 40n),
      plainTransfer(token, EVE, temporary.address, 7n),
      back(45n),
      back(2n),
    );
    expect(await told()).toEqual(["ann 5 TOK ix:4", "ann 2 TOK ix:5"]);
    expect(chain.tip.txs[0]?.err).toBeNull();
  });

  it("in an account that changes hands are irregular: nobody was paid by an instruction", async () => {
    const { chain, token, told, send } = world();
    const e = holding(token, EVE.address);
    send(
      getSetAuthorityInstruction({
        owned: e,
        owner: EVE.signer,
        authorityType: AuthorityType.AccountOwner,
        newAuthority: ANN.address,
      }),
    );
    expect(await told()).toEqual(["1 irregular"]);
    expect(chain.tip.txs[0]?.err).toBeNull();
  });

  it("by a program that calls the token program: the path says where", async () => {
    const { chain, token, told, send } = world();
    // RecoverNested of the associated token program: what lies in an account of an account goes to its owner.
    const outer = giveTokens(chain, token, ANN.address, 1n);
    const nested = giveTokens(chain, token, outer, 77n);
    const accounts = [nested, token.mint, outer, outer, token.mint, ANN.address, token.program];
    const roles = [1, 0, 1, 0, 0, 3, 0];
    send({
      programAddress: address("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"),
      accounts: accounts.map((who, i) => ({ address: address(who), role: (roles[i] ?? 0) as AccountRole })),
      data: Uint8Array.of(2),
    });
    const paid = await told();
    expect(chain.tip.txs[0]?.err).toBeNull();
    expect(paid.filter((line) => line.includes("TOK"))).toEqual([expect.stringMatching(/^ann 77 TOK ix:0\.\d$/)]);
  });
});

describe("Token-2022", () => {
  const withFee = () => {
    const w = world();
    const fee = putMint(w.chain, "FEE", { program: TOKEN_2022_PROGRAM, feeBasisPoints: 100 });
    giveTokens(w.chain, fee, EVE.address, 1_000_000n);
    const a = giveTokens(w.chain, fee, ANN.address, 0n);
    const lines = async () => {
      const reading = await w.read([fee.mint]);
      return [
        ...reading.transfers.map((t) => `${t.amountUnits} ${t.transferIndex}`),
        reading.shortTransfers,
        reading.irregularLogs,
      ];
    };
    return { ...w, fee, a, lines };
  };

  it("B65: a fee that is stated, and one that is not: what arrived counts", async () => {
    const { fee, a, send, lines, chain } = withFee();
    send(feeTransfer(fee, EVE, a, 1_000n, 10n));
    expect(await lines()).toEqual(["990 ix:0", 1, 0]);
    expect(chain.tip.txs[0]?.err).toBeNull();
    send(checkedTransfer(fee, EVE, a, 1_000n));
    expect(await lines()).toEqual(["990 ix:0", 1, 0]);
  });

  it("of several with fees that are not stated, the sum of what arrived", async () => {
    const { fee, a, send, lines } = withFee();
    send(checkedTransfer(fee, EVE, a, 1_000n), checkedTransfer(fee, EVE, a, 500n));
    expect(await lines()).toEqual(["1485 ix:0", 1, 0]);
  });

  it("of one whose fee is stated and one whose fee is not, the sum of what arrived", async () => {
    const { fee, a, send, lines } = withFee();
    send(feeTransfer(fee, EVE, a, 1_000n, 10n), checkedTransfer(fee, EVE, a, 500n));
    expect(await lines()).toEqual(["1485 ix:0", 1, 0]);
  });

  it("without a fee, as any other token", async () => {
    const { chain, read, send } = world();
    const plain = putMint(chain, "T22", { program: TOKEN_2022_PROGRAM });
    giveTokens(chain, plain, EVE.address, 1_000n);
    const a = giveTokens(chain, plain, ANN.address, 0n);
    send(checkedTransfer(plain, EVE, a, 400n));
    const { transfers } = await read([plain.mint]);
    expect(transfers.map(({ amountUnits, asset }) => [amountUnits, asset])).toEqual([[400n, plain.mint]]);
  });
});

it("B63: many in several blocks are all found, by reading blocks: no list of signatures ends too soon", async () => {
  const { chain, double, node } = world();
  const from = chain.head + 1;
  for (let block = 0; block < 3; block++) {
    for (let i = 1; i <= 20; i++) chain.pay(ANN.address, BigInt(20 * block + i));
    chain.mine();
  }
  const { interest } = interestIn([ANN.address], { contracts: new Set() });
  const { transfers, stopped } = await node.readBlocks(from, chain.head, interest);
  expect(stopped).toBeNull();
  const units = transfers.map(({ amountUnits }) => Number(amountUnits)).sort((a, b) => a - b);
  expect(units).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
  expect(double.asked).not.toContain("getSignaturesForAddress");
});

describe("wrapped coins", () => {
  const rent = 2_039_280n;
  const temporary = solanaKey("temporary");
  const opened = (chain: SolanaChain, owner: SolanaKey, lamports: bigint, payer = chain.faucet): Instruction[] => [
    getCreateAccountInstruction({
      payer: payer.signer,
      newAccount: temporary.signer,
      lamports,
      space: 165,
      programAddress: WRAPPED.program,
    }),
    getInitializeAccount3Instruction({ account: temporary.address, mint: WRAPPED.mint, owner: owner.address }),
  ];
  const closed = (owner: SolanaKey, to: SolanaKey) =>
    getCloseAccountInstruction({ account: temporary.address, destination: to.address, owner: owner.signer });

  it("closed into a watched address are coins, without any transfer", async () => {
    const { chain, told, send } = world();
    send(...opened(chain, EVE, rent + 5_000n));
    chain.mine();
    send(closed(EVE, ANN));
    expect(await told([WRAPPED_SOL])).toEqual([`ann ${rent + 5_000n} native ix:0`]);
  });

  it("through an account of its own that lives for one transaction: coins, once, less what it put in itself", async () => {
    const { chain, told, send } = world();
    send(
      ...opened(chain, ANN, rent, ANN),
      sol(EVE, temporary.address, 700n),
      getSyncNativeInstruction({ account: temporary.address }),
      closed(ANN, ANN),
    );
    expect(await told([WRAPPED_SOL])).toEqual(["ann 700 native ix:4"]);
    send(...opened(chain, ANN, rent + 900n, ANN), closed(ANN, ANN));
    expect(await told([WRAPPED_SOL])).toEqual([]);
  });

  it("in an account of its own count as tokens, and its closing is nobody's payment", async () => {
    const { chain, told, send } = world();
    send(openHolding(chain, WRAPPED, EVE.address));
    send(
      sol(EVE, holding(WRAPPED, EVE.address), 10_000n),
      getSyncNativeInstruction({ account: holding(WRAPPED, EVE.address) }),
    );
    send(...opened(chain, ANN, rent));
    chain.mine();
    send(plainTransfer(WRAPPED, EVE, temporary.address, 600n));
    expect(await told([WRAPPED_SOL])).toEqual(["ann 600 WSOL ix:0"]);
    send(plainTransfer(WRAPPED, EVE, temporary.address, 50n), closed(ANN, ANN));
    expect(await told([WRAPPED_SOL])).toEqual(["ann 50 WSOL ix:0"]);
  });

  it("made from coins in the account: a stranger's count, its own do not", async () => {
    const { chain, told, send } = world();
    send(...opened(chain, ANN, rent));
    chain.mine();
    send(sol(EVE, temporary.address, 300n), getSyncNativeInstruction({ account: temporary.address }));
    expect(await told([WRAPPED_SOL])).toEqual(["ann 300 WSOL ix:1"]);
    send(sol(ANN, temporary.address, 200n), getSyncNativeInstruction({ account: temporary.address }));
    expect(await told([WRAPPED_SOL])).toEqual([]);
  });

  it("of its own that go through an account of one transaction into its own account are nobody's payment", async () => {
    const { chain, told, send } = world();
    const a = holding(WRAPPED, ANN.address);
    send(openHolding(chain, WRAPPED, ANN.address));
    chain.mine();
    const on = (amount: bigint) =>
      getTransferInstruction({ source: temporary.address, destination: a, authority: ANN.signer, amount });
    send(...opened(chain, ANN, rent + 900n, ANN), on(900n), closed(ANN, ANN));
    expect(await told([WRAPPED_SOL])).toEqual([]);
    expect(chain.tip.txs[0]?.err).toBeNull();
    // What a stranger adds comes back by closing it.
    const added = [sol(EVE, temporary.address, 70n), getSyncNativeInstruction({ account: temporary.address })];
    send(...opened(chain, ANN, rent + 900n, ANN), ...added, on(900n), closed(ANN, ANN));
    expect(await told([WRAPPED_SOL])).toEqual(["ann 70 native ix:5"]);
  });

  it("made in an account that somebody else paid for: by whoever paid the coins", async () => {
    const { chain, told, send } = world();
    const a = holding(WRAPPED, ANN.address);
    const sync = getSyncNativeInstruction({ account: a });
    send(openHolding(chain, WRAPPED, ANN.address), sol(EVE, a, 300n), sync, sol(ANN, a, 40n), sync);
    expect(await told([WRAPPED_SOL])).toEqual(["ann 300 WSOL ix:2"]);
  });

  it("unwrapped into a watched address", async () => {
    const { chain, told, send } = world();
    send(...opened(chain, EVE, rent + 5_000n));
    chain.mine();
    const accounts = { source: temporary.address, destination: ANN.address, authority: EVE.signer };
    send(getUnwrapLamportsInstruction({ ...accounts, amount: 1_200n }));
    expect(await told([WRAPPED_SOL])).toEqual(["ann 1200 native ix:0"]);
    expect(chain.tip.txs[0]?.err).toBeNull();
  });
});

describe("transactions of every form", () => {
  it("B61: version 1 beside legacy ones", async () => {
    const { chain, told, send } = world();
    send(sol(EVE, ANN.address, 5n));
    chain.transact({ version: 1, signers: [EVE], instructions: [sol(EVE, BOB.address, 6n)] });
    expect(await told()).toEqual(["ann 5 native ix:0", "bob 6 native ix:0"]);
  });

  it("B61: a node that wants a newer reader is a fault, and nothing is skipped", async () => {
    const { double, chain, node } = world();
    const { slot } = chain.mine();
    double.refuseBlock(slot, -32015, "Transaction version (2) is not supported by the requesting client.");
    const { interest } = interestIn([]);
    await expect(node.readBlocks(chain.head, chain.head, interest)).rejects.toThrow(/Transaction version \(2\)/);
  });

  it("with accounts from lookup tables, receivers and token accounts among them", async () => {
    const { chain, token, told } = world();
    const a = giveTokens(chain, token, ANN.address, 0n);
    const table = putLookupTable(chain, "all", [BOB.address, a, token.mint, token.program]);
    chain.mine(2);
    chain.transact({
      version: 0,
      signers: [EVE],
      tables: { [table]: [BOB.address, a, token.mint, token.program] },
      instructions: [sol(EVE, BOB.address, 6n), checkedTransfer(token, EVE, a, 9n)],
    });
    const paid = await told();
    expect(chain.tip.txs[0]?.loaded.writable).toHaveLength(2);
    expect(chain.tip.txs[0]?.err).toBeNull();
    expect(paid).toEqual(["bob 6 native ix:0", "ann 9 TOK ix:1"]);
  });
});

describe("a block too large to be read whole", () => {
  const large = (chain: SolanaChain) => {
    const memo = { programAddress: address("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr") };
    const words = new TextEncoder().encode("to nobody ".repeat(80));
    for (let i = 0; i < 30; i++) chain.transact({ instructions: [{ ...memo, accounts: [], data: words }] });
  };

  it("is read by whom its transactions touch: what was paid is told, also what went on at once", async () => {
    const { chain, double, token } = world();
    const a = giveTokens(chain, token, ANN.address, 0n);
    large(chain);
    const signers = [ANN, BOB, EVE];
    chain.transact({ signers, instructions: [checkedTransfer(token, EVE, a, 9n)] });
    chain.transact({ signers, instructions: [sol(EVE, BOB.address, 6n), sol(BOB, EVE.address, 6n)] });
    chain.transact({ signers, instructions: [sol(EVE, EVE.address, 1n)] });
    const { height } = chain.mine();
    const { interest } = interestIn([ANN.address, BOB.address], { contracts: new Set([token.mint]) });
    const provider = { url: "http://node.test", fetch: double.fetch, timeoutMs: 5_000, maxBodyBytes: 40_000 };
    const reading = await new SolanaNode(provider, NETWORK).readBlocks(height, height, interest);
    expect(reading.stopped).toBeNull();
    expect(reading.transfers.map(({ amountUnits, transferIndex }) => `${amountUnits} ${transferIndex}`)).toEqual([
      "9 ix:0",
      "6 ix:0",
    ]);
    expect(double.asked.filter((method) => method === "getTransaction")).toHaveLength(2);
    double.on("getTransaction", () => null);
    const without = await new SolanaNode(provider, NETWORK).readBlocks(height, height, interest);
    expect(without).toMatchObject({ blocks: [], stopped: { reason: "not_known", height } });
    double.on("getTransaction", (_, honest) => ({ ...(honest() as Json), slot: 1 }));
    await expect(new SolanaNode(provider, NETWORK).readBlocks(height, height, interest)).rejects.toThrow(/slot of/);
  });

  it("takes little time for what a program was called with, however long it is", () => {
    for (const bytes of [
      new Uint8Array(600).map((_, i) => (i * 7 + 3) & 255),
      joined(new Uint8Array(300), Uint8Array.of(1, 2, 3)),
      new Uint8Array(250),
    ]) {
      expect(fromBase58(base58.encode(bytes))).toEqual(bytes);
    }
    const begun = performance.now();
    expect(fromBase58("z".repeat(13_984))).toHaveLength(10_240);
    // Digit by digit it is a second.
    expect(performance.now() - begun).toBeLessThan(200);
    expect(() => fromBase58(`${"1".repeat(300)}0`)).toThrow();
  });
});

describe("B59: slots without a block", () => {
  it.each([-32001, -32004, -32007, -32009, -32014])("are proven by links, never by code %d", async (code) => {
    const { chain, double, node } = world();
    chain.skip(3);
    const from = chain.mine().height;
    chain.skip(1);
    chain.mine(2);
    double.refuseBlock(chain.at(from + 1).slot, code, "no such block");
    const { interest } = interestIn([]);
    const reading = await node.readBlocks(from, from + 2, interest);
    expect(reading.blocks.map(({ height }) => height)).toEqual([from]);
    expect(reading.stopped).toMatchObject({ reason: "not_known", height: from + 1 });
  });

  it("null is no block either", async () => {
    const { chain, double, node } = world();
    double.on("getBlock", ([, config], honest) => ((config as Json).transactionDetails === "full" ? null : honest()));
    const reading = await node.readBlocks(chain.head, chain.head, interestIn([]).interest);
    expect(reading).toMatchObject({ blocks: [], stopped: { reason: "not_known", height: chain.head } });
  });

  it("finds heights far from anything known, over long stretches of empty slots", async () => {
    const { chain, double } = world();
    for (let i = 0; i < 60; i++) {
      chain.skip(i % 7 === 0 ? 400 : 0);
      chain.mine(50);
    }
    for (const height of [1, 40, 1_200, 2_977, chain.head]) {
      const node = new SolanaNode({ url: "http://node.test", fetch: double.fetch, timeoutMs: 5_000 }, NETWORK);
      const before = double.asked.length;
      const [first] = await node.headers(height, Math.min(height + 3, chain.head));
      expect(first?.hash).toBe(chain.at(height).hash);
      expect(double.asked.length - before).toBeLessThan(30);
    }
  });

  it("asks only for what is final", async () => {
    const { chain, double, node } = world();
    chain.mine(10);
    chain.unfinal = 4;
    const { head, finalized } = await node.tip();
    expect([head.height, finalized?.height]).toEqual([chain.head - 4, chain.head - 4]);
    const reading = await node.readBlocks(head.height, head.height + 1, interestIn([]).interest);
    expect(reading.stopped).toMatchObject({ reason: "not_known", height: head.height + 1 });
    const commitments = double.calls.map(({ params = [] }) => (params.at(-1) as Json).commitment);
    expect(new Set(commitments)).toEqual(new Set(["finalized"]));
  });
});

describe("what a token says of itself", () => {
  it("decimals and symbol, or the ends of its mint where it has none", async () => {
    const { chain, node, token } = world();
    const named = putMint(chain, "Named", { program: TOKEN_2022_PROGRAM, decimals: 9, symbol: "NMD" });
    expect(await node.token(named.mint)).toEqual({ symbol: "NMD", contract: named.mint, decimals: 9 });
    const { mint } = token;
    expect(await node.token(mint)).toEqual({
      symbol: `${mint.slice(0, 4)}-${mint.slice(-4)}`,
      contract: mint,
      decimals: 6,
    });
  });

  it("null for what is no mint", async () => {
    const { node, token } = world();
    for (const who of [ANN.address, holding(token, EVE.address), solanaKey("nobody").address]) {
      expect(await node.token(who)).toBeNull();
    }
  });
});
