/** Paying out on Solana by one provider: what is made, what is signed, what a provider's answers are taken for. */

import { ed25519 } from "@noble/curves/ed25519";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils";
import { base58 } from "@scure/base";
import { AuthorityType, getSetAuthorityInstruction } from "@solana-program/token";
import { describe, expect, it } from "vitest";
import type { ExpiringIntent, SignedExpiring, Unsigned } from "../../src/chains/expiring-payout.ts";
import { readPayment } from "../../src/chains/solana/payment.ts";
import { SolanaPayoutNode } from "../../src/chains/solana/payout-node.ts";
import { deriveSolanaSigner, ed25519KeyBelow } from "../../src/chains/solana/signer.ts";
import { readTransaction } from "../../src/chains/solana/transaction.ts";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../../src/core/solana-address.ts";
import { NATIVE } from "../../src/core/transfer.ts";
import { SolanaChain } from "../support/solana-chain.ts";
import { SolanaNodeDouble } from "../support/solana-double.ts";
import { RpcError } from "../support/solana-json.ts";
import { solanaKey } from "../support/solana-keys.ts";
import { giveTokens, putMint, type TestToken } from "../support/solana-tokens.ts";

const NETWORK = { id: "solana-local", caip2: "solana:local", genesis: null };
const SEED = "5c1d0f9a7be3428665b0a4c7d9e8f162b347a8b9c0d1e2f3a4f60718293a4b5d";
const SIGNER = deriveSolanaSigner(SEED, "ten_one", NETWORK.id);
const RENT = 2_039_280n;
const EMPTY = 890_880n;
const RECEIVER = solanaKey("receiver").address;

function world() {
  const chain = new SolanaChain();
  const double = new SolanaNodeDouble(chain);
  const node = new SolanaPayoutNode({ url: "http://node.test", fetch: double.fetch, timeoutMs: 5_000 }, NETWORK);
  chain.fund(SIGNER.address, 10_000_000_000n);
  chain.mine(40);
  chain.unfinal = 3;
  const token = putMint(chain, "TOK");
  giveTokens(chain, token, SIGNER.address, 1_000_000n);
  chain.mine(3);
  const coins = (over: Partial<ExpiringIntent> = {}): ExpiringIntent => ({
    sender: SIGNER.address,
    asset: NATIVE,
    decimals: 9,
    destination: RECEIVER,
    amountUnits: 5_000_000n,
    maxFeeUnits: 10_000_000n,
    ...over,
  });
  const tokens = (over: Partial<ExpiringIntent> = {}): ExpiringIntent =>
    coins({ asset: token.mint, decimals: 6, amountUnits: 400n, ...over });
  const made = async (intent: ExpiringIntent): Promise<Unsigned> => {
    const prepared = await node.prepare(intent);
    if (!prepared.ok) throw new Error(`${prepared.reason}: ${prepared.detail}`);
    return prepared.unsigned;
  };
  const signed = async (
    intent: ExpiringIntent,
  ): Promise<SignedExpiring & { unsigned: Unsigned; signedAbove: number }> => {
    const unsigned = await made(intent);
    const read = readPayment(await SIGNER.sign(unsigned), unsigned, intent);
    if (!read.ok) throw new Error(read.problem);
    return { ...read.signed, unsigned, signedAbove: chain.head - chain.unfinal };
  };
  const look = async (...attempts: Awaited<ReturnType<typeof signed>>[]) =>
    node.look({
      attempts: attempts.map(({ txId, unsigned, signedAbove }) => ({
        txId,
        expiresAt: unsigned.expiresAt,
        signedAbove,
      })),
    });
  const balance = (who: string) => chain.accountAt(who, chain.head)?.lamports ?? 0n;
  return { chain, double, node, token, coins, tokens, made, signed, look, balance };
}

describe("the wallet's key", () => {
  it("is SLIP-0010's for its path", () => {
    // Test vector 1 for ed25519.
    const key = ed25519KeyBelow(hexToBytes("000102030405060708090a0b0c0d0e0f"), "m/0'/1'/2'/2'/1000000000'");
    expect(bytesToHex(key)).toBe("8f94d394a8e8fd6b1bc2f3f49f5c47e385281d5c17e65324b0f62483e37e8793");
    expect(bytesToHex(ed25519.getPublicKey(key))).toBe(
      "3c24da049451555d51a7014a37337aa4e12d41e485abccfa46b47dfb2af54b7a",
    );
    expect(() => ed25519KeyBelow(new Uint8Array(32), "m/44'/501")).toThrow(/hardened/);
  });

  it("is another one for each tenant and network, and nothing of it can be printed", () => {
    const others = [
      ["ten_two", NETWORK.id],
      ["ten_one", "solana"],
    ].map(([who = "", where = ""]) => deriveSolanaSigner(SEED, who, where));
    expect(new Set([SIGNER, ...others].map((signer) => signer.address)).size).toBe(3);
    expect(SIGNER.path).toMatch(/^m\/44'\/501'(\/\d+'){4}$/);
    expect(JSON.stringify(SIGNER)).toBe(JSON.stringify({ address: SIGNER.address, path: SIGNER.path }));
    expect(() => deriveSolanaSigner("not hex", "a", "b")).toThrow(/32 to 64 bytes of hex/);
  });

  it("signs for itself alone", async () => {
    const { made, coins } = world();
    const unsigned = await made(coins());
    const other = deriveSolanaSigner(SEED, "ten_two", NETWORK.id);
    await expect(other.sign(unsigned)).rejects.toThrow(/was asked to sign for/);
  });
});

describe("a payment", () => {
  it("in coins lands, costs what was said, and is told as the chain shows it", async () => {
    const { chain, node, coins, signed, look, balance } = world();
    const one = await signed(coins());
    expect(await node.simulate(one.raw)).toEqual({ ok: true });
    expect(await node.send(one.raw, one.txId)).toEqual({ meaning: "accepted", text: one.txId });
    const at = chain.mine();
    expect((await look(one)).found.get(one.txId)).toBe("pending");
    chain.mine(3);
    const { found, finalHeight } = await look(one);
    expect(finalHeight).toBe(at.height);
    expect(found.get(one.txId)).toEqual({
      txId: one.txId,
      height: at.height,
      blockHash: at.hash,
      success: true,
      feeUnits: one.unsigned.feeMostUnits,
      moves: [{ asset: NATIVE, from: SIGNER.address, to: RECEIVER, amountUnits: 5_000_000n }],
    });
    expect(balance(RECEIVER)).toBe(5_000_000n);
    expect(balance(SIGNER.address)).toBe(10_000_000_000n - 5_000_000n - one.unsigned.feeMostUnits);
  });

  it.each([TOKEN_PROGRAM, TOKEN_2022_PROGRAM])(
    "B100: in tokens of %s opens the receiver's account, once",
    async (program) => {
      const { chain, node, coins, signed, look } = world();
      const token: TestToken = putMint(chain, "other", { program, decimals: 2 });
      giveTokens(chain, token, SIGNER.address, 1_000n);
      const intent = coins({ asset: token.mint, decimals: 2, amountUnits: 400n });
      const cost = await node.cost(intent);
      expect(cost.nowUnits).toBeGreaterThanOrEqual(RENT);
      expect(cost).toMatchObject({ mostUnits: 10_000_000n, warning: null });
      expect(cost.parts.map(({ kind }) => kind)).toEqual(["signature", "priority", "token_account"]);
      expect(cost.parts.at(-1)?.units).toBeGreaterThanOrEqual(RENT);
      expect(cost.parts.reduce((sum, { units }) => sum + units, 0n)).toBe(cost.nowUnits);
      const first = await signed(intent);
      expect(first.unsigned.feeMostUnits).toBeGreaterThanOrEqual(RENT);
      await node.send(first.raw, first.txId);
      chain.mine(4);
      const landed = (await look(first)).found.get(first.txId);
      expect(landed).toMatchObject({
        success: true,
        moves: [{ asset: token.mint, from: SIGNER.address, to: RECEIVER, amountUnits: 400n }],
      });
      const fee = landed !== null && typeof landed === "object" ? landed.feeUnits : 0n;
      expect(fee).toBeLessThanOrEqual(first.unsigned.feeMostUnits);
      expect(fee).toBeGreaterThan(RENT);
      const second = await signed(intent);
      expect(second.unsigned.feeMostUnits).toBeLessThan(RENT);
      await node.send(second.raw, second.txId);
      chain.mine(4);
      expect((await look(second)).found.get(second.txId)).toMatchObject({ success: true });
      expect(await node.balances(RECEIVER, [token.mint])).toEqual([0n, 800n]);
    },
  );

  it("B100: in tokens of a mint that keeps fees, a program and a pause possible costs what was said", async () => {
    const { chain, node, coins, signed, look } = world();
    const hook = (program: number) => [14, new Uint8Array(64).fill(program, 32)] as const;
    const facts = { program: TOKEN_2022_PROGRAM, decimals: 2, feeBasisPoints: 0 };
    const token = putMint(chain, "possible", { ...facts, extensions: [hook(0), [26, new Uint8Array(33)]] });
    giveTokens(chain, token, SIGNER.address, 1_000n);
    const one = await signed(coins({ asset: token.mint, decimals: 2, amountUnits: 400n }));
    await node.send(one.raw, one.txId);
    chain.mine(4);
    const landed = (await look(one)).found.get(one.txId);
    const moves = [{ asset: token.mint, from: SIGNER.address, to: RECEIVER, amountUnits: 400n }];
    expect(landed).toMatchObject({ success: true, moves, feeUnits: one.unsigned.feeMostUnits });
    const hooked = putMint(chain, "hooked", { ...facts, extensions: [hook(7)] });
    giveTokens(chain, hooked, SIGNER.address, 1_000n);
    const refused = await node.prepare(coins({ asset: hooked.mint, decimals: 2, amountUnits: 400n }));
    expect(refused).toMatchObject({ reason: "refused", detail: expect.stringContaining("calls a program") });
  });

  it("that the chain refuses is final, unpaid, and costs its fee", async () => {
    const { chain, node, token, tokens, signed, look } = world();
    giveTokens(chain, token, RECEIVER, 0n);
    const [one, other] = [
      await signed(tokens({ amountUnits: 600_000n })),
      await signed(tokens({ amountUnits: 600_001n })),
    ];
    for (const { raw, txId } of [one, other]) await node.send(raw, txId);
    chain.mine(4);
    const { found } = await look(one, other);
    expect(found.get(one.txId)).toMatchObject({ success: true });
    expect(found.get(other.txId)).toMatchObject({ success: false, moves: [], feeUnits: other.unsigned.feeMostUnits });
  });

  it("offers what others pay, and never more than is allowed", async () => {
    const { double, made, coins } = world();
    double.priorityFees = [50_000, 90_000, 10_000, 70_000, 80_000];
    const high = await made(coins({ maxFeeUnits: 10_000_000n }));
    expect(high.feeMostUnits).toBeGreaterThan(5_000n + 80n);
    double.priorityFees = [4_000_000_000_000];
    const capped = await made(coins({ maxFeeUnits: 20_000n }));
    expect(capped.feeMostUnits).toBeLessThanOrEqual(20_000n);
    expect(capped.feeMostUnits).toBeGreaterThan(19_000n);
  });
});

describe("is refused before it is signed", () => {
  const refusal = async (prepared: ReturnType<SolanaPayoutNode["prepare"]>) => {
    const answer = await prepared;
    return answer.ok ? "made" : `${answer.reason}: ${answer.detail}`;
  };

  it("coins that would leave the receiver below what an account must hold", async () => {
    const { chain, node, coins } = world();
    expect(await refusal(node.prepare(coins({ amountUnits: EMPTY - 1n })))).toMatch(/^refused: .*rent-exempt minimum/);
    expect(await refusal(node.prepare(coins({ amountUnits: EMPTY })))).toBe("made");
    chain.fund(RECEIVER, EMPTY);
    expect(await refusal(node.prepare(coins({ amountUnits: 1n })))).toBe("made");
  });

  it("a wallet that is short, or would be left with too little to exist", async () => {
    const { chain, node, coins, tokens } = world();
    chain.fund(SIGNER.address, 6_000_000n);
    expect(await refusal(node.prepare(coins({ amountUnits: 6_000_000n })))).toMatch(/^wallet_short/);
    expect(await refusal(node.prepare(coins({ amountUnits: 5_900_000n })))).toMatch(/^wallet_short/);
    expect(await refusal(node.prepare(coins({ amountUnits: 2n ** 70n })))).toMatch(/^wallet_short/);
    expect(await refusal(node.prepare(tokens({ amountUnits: 1_000_001n })))).toMatch(/^wallet_short/);
    chain.fund(SIGNER.address, 1_000_000n);
    expect(await refusal(node.prepare(tokens()))).toMatch(/^wallet_short/);
    expect((await node.cost(tokens())).warning).toMatch(/the wallet has 1000000 lamports/);
  });

  it("B100: a destination that is a token account, a mint, a program or the wallet itself", async () => {
    const { chain, node, token, tokens, coins } = world();
    const other = putMint(chain, "another");
    const account = giveTokens(chain, other, RECEIVER, 1n);
    expect(await refusal(node.prepare(tokens({ destination: account })))).toMatch(/^refused: .*is a token account/);
    expect(await refusal(node.prepare(coins({ destination: account })))).toMatch(/^refused: .*is a token account/);
    expect(await refusal(node.prepare(tokens({ destination: token.mint })))).toMatch(/^refused: .*mint/);
    expect(await refusal(node.prepare(coins({ destination: TOKEN_PROGRAM })))).toMatch(/^refused: .*program/);
    expect(await refusal(node.prepare(coins({ destination: SIGNER.address })))).toMatch(/^refused: .*wallet itself/);
    expect((await node.cost(coins({ destination: account }))).warning).toMatch(/token account/);
  });

  it("a token that keeps a fee, has other decimals, or is none", async () => {
    const { chain, node, tokens } = world();
    const fee = putMint(chain, "FEE", { program: TOKEN_2022_PROGRAM, feeBasisPoints: 100 });
    giveTokens(chain, fee, SIGNER.address, 1_000n);
    expect(await refusal(node.prepare(tokens({ asset: fee.mint })))).toMatch(/^refused: .*fee of each transfer/);
    expect(await refusal(node.prepare(tokens({ decimals: 7 })))).toMatch(/^refused: .*decimals/);
    expect(await refusal(node.prepare(tokens({ asset: RECEIVER })))).toMatch(/^refused: .*no token's mint/);
  });

  it("a receiver whose associated account was given to somebody else", async () => {
    const { chain, node, token, tokens } = world();
    const receiver = solanaKey("receiver");
    chain.fund(receiver.address, 10n ** 9n);
    const account = giveTokens(chain, token, RECEIVER, 1n);
    const given = { owned: account, owner: receiver.signer, authorityType: AuthorityType.AccountOwner };
    chain.transact({
      signers: [receiver],
      instructions: [getSetAuthorityInstruction({ ...given, newAuthority: solanaKey("thief").address })],
    });
    chain.mine();
    expect(await refusal(node.prepare(tokens()))).toMatch(/^refused: .*belongs to somebody else/);
  });

  it("fees that not even the least is allowed for", async () => {
    const { node, coins, tokens } = world();
    expect(await refusal(node.prepare(coins({ maxFeeUnits: 4_999n })))).toMatch(/^fee_above_cap/);
    expect(await refusal(node.prepare(tokens({ maxFeeUnits: RENT })))).toMatch(/^fee_above_cap/);
  });

  it("what a simulation says would fail", async () => {
    const { double, node, coins } = world();
    const failing = {
      context: { slot: 1 },
      value: { err: { InstructionError: [2, "Custom"] }, logs: ["Program says no"] },
    };
    double.on("simulateTransaction", () => failing);
    expect(await refusal(node.prepare(coins()))).toMatch(/^refused: .*Program says no/);
    double.on("simulateTransaction", () => ({ context: { slot: 1 }, value: { err: "BlockhashNotFound", logs: [] } }));
    await expect(node.prepare(coins())).rejects.toMatchObject({ name: "ChainFault", retryable: true });
  });
});

describe("signed bytes are read", () => {
  const cases = (): readonly (readonly [string, Partial<ExpiringIntent>])[] => [
    ["another receiver", { destination: solanaKey("thief").address }],
    ["another amount", { amountUnits: 401n }],
    ["another token", { asset: solanaKey("mint of nothing").address }],
    ["coins instead", { asset: NATIVE }],
    ["other decimals", { decimals: 7 }],
    ["another sender", { sender: solanaKey("thief").address }],
    ["a lower cap", { maxFeeUnits: 5_000n }],
  ];

  it.each(cases())("and refused for %s", async (_, over) => {
    const { made, tokens } = world();
    const unsigned = await made(tokens());
    const raw = await SIGNER.sign(unsigned);
    expect(readPayment(raw, unsigned, tokens())).toMatchObject({ ok: true });
    expect(readPayment(raw, unsigned, tokens(over))).toMatchObject({ ok: false });
  });

  it("and refused with any byte changed, cut off or added", async () => {
    const { made, coins } = world();
    const unsigned = await made(coins());
    const raw = await SIGNER.sign(unsigned);
    for (let at = 0; at < raw.length; at += 2) {
      const byte = (Number.parseInt(raw.slice(at, at + 2), 16) ^ 1).toString(16).padStart(2, "0");
      expect(readPayment(`${raw.slice(0, at)}${byte}${raw.slice(at + 2)}`, unsigned, coins()).ok).toBe(false);
    }
    expect(readPayment(raw.slice(0, -2), unsigned, coins()).ok).toBe(false);
    expect(readPayment(`${raw}00`, unsigned, coins()).ok).toBe(false);
    expect(readPayment("no hex", unsigned, coins()).ok).toBe(false);
  });

  it("and refused when they are another payment's, though it is the same in everything but its blockhash", async () => {
    const { chain, made, coins } = world();
    const first = await made(coins());
    chain.mine(5);
    const second = await made(coins());
    expect(second.bytes).not.toBe(first.bytes);
    expect(readPayment(await SIGNER.sign(second), second, coins())).toMatchObject({ ok: true });
    expect(readPayment(await SIGNER.sign(second), first, coins())).toMatchObject({ ok: false });
  });

  it("and refused when the message itself says something else, whoever made it", async () => {
    const { made, coins } = world();
    const honest = await made(coins());
    const swapped = honest.bytes.replace(
      bytesToHex(base58.decode(RECEIVER)),
      bytesToHex(base58.decode(solanaKey("thief").address)),
    );
    const unsigned = { ...honest, bytes: swapped };
    expect(readPayment(await SIGNER.sign(unsigned), unsigned, coins())).toMatchObject({ ok: false });
    expect(readPayment(await SIGNER.sign(honest), { ...honest, feeMostUnits: 5_000n }, coins())).toMatchObject({
      ok: false,
    });
  });
});

describe("B99: until when it can land", () => {
  it("is the provider's word or what its blocks say, whichever is later", async () => {
    const { chain, double, made, coins } = world();
    expect((await made(coins())).expiresAt).toBe(chain.head + 151);
    double.on("getLatestBlockhash", (_, honest) => {
      const answer = honest() as { value: { lastValidBlockHeight: number } };
      return { ...answer, value: { ...answer.value, lastValidBlockHeight: 3 } };
    });
    expect((await made(coins())).expiresAt).toBe(chain.head + 151);
    double.on("getLatestBlockhash", (_, honest) => {
      const answer = honest() as { value: { lastValidBlockHeight: number } };
      return { ...answer, value: { ...answer.value, lastValidBlockHeight: 10 ** 6 } };
    });
    await expect(made(coins())).rejects.toMatchObject({ name: "ChainFault" });
    // Its blocks are asked of another machine, which is behind.
    double.on("getLatestBlockhash", null);
    double.on("getBlockHeight", () => 7);
    expect((await made(coins())).expiresAt).toBe(chain.head - chain.unfinal + 151);
  });

  it("never is it dead while it may still land: at no height up to its expiry, on any node", async () => {
    const { chain, node, coins, signed, look } = world();
    const one = await signed(coins());
    const { lifetime } = readTransaction(hexToBytes(one.raw));
    while (chain.isGoodHash(base58.encode(lifetime))) {
      expect((await look(one)).found.has(one.txId)).toBe(false);
      chain.mine(10);
    }
    const last = one.signedAbove + 301;
    expect(last).toBeGreaterThan(one.unsigned.expiresAt);
    chain.mine(last - (chain.head - chain.unfinal));
    expect((await look(one)).found.has(one.txId)).toBe(false);
    chain.mine();
    const { found, finalPoint } = await look(one);
    expect(finalPoint).toBe(last + 1);
    expect(found.get(one.txId)).toBeNull();
    // And it cannot land any more.
    await node.send(one.raw, one.txId);
    expect(chain.mine().txs).toEqual([]);
  });

  it("is not believed for earlier than it can be, whatever was stored", async () => {
    const { chain, node, double, coins, signed, look } = world();
    double.on("getLatestBlockhash", (_, honest) => {
      const answer = honest() as { value: object };
      return { ...answer, value: { ...answer.value, lastValidBlockHeight: 1 } };
    });
    double.on("getBlockHeight", () => 1);
    const one = await signed(coins());
    expect(one.unsigned.expiresAt).toBe(152);
    chain.mine(120);
    expect((await look(one)).found.has(one.txId)).toBe(false);
    await node.send(one.raw, one.txId);
    chain.mine(4);
    expect((await look(one)).found.get(one.txId)).toMatchObject({ success: true });
    const forever = {
      ...one,
      unsigned: { ...one.unsigned, expiresAt: one.signedAbove + 400 },
      txId: base58.encode(new Uint8Array(64)),
    };
    chain.mine(230);
    expect((await look(forever)).found.has(forever.txId)).toBe(false);
    chain.mine(60);
    expect((await look(forever)).found.get(forever.txId)).toBeNull();
  });

  it("is not said by a node whose search stands behind its height, or that misses blocks, or that keeps no history", async () => {
    const { chain, double, coins, signed, look } = world();
    const one = await signed(coins());
    chain.mine(320);
    expect((await look(one)).found.get(one.txId)).toBeNull();
    double.on("getSignatureStatuses", (_, honest) => ({ ...(honest() as object), context: { slot: 5 } }));
    expect((await look(one)).found.has(one.txId)).toBe(false);
    double.on("getSignatureStatuses", null);
    double.hide(chain.at(100).slot);
    expect((await look(one)).found.has(one.txId)).toBe(false);
    double.hide(null);
    double.on("getSignatureStatuses", () => {
      throw new RpcError(-32011, "Transaction history is not available from this node");
    });
    await expect(look(one)).rejects.toMatchObject({ name: "ChainFault" });
  });

  it("a landed one is found however late it is asked for, and one whose record is held back is not told", async () => {
    const { chain, double, node, coins, signed, look } = world();
    const one = await signed(coins());
    await node.send(one.raw, one.txId);
    const at = chain.mine();
    chain.mine(300);
    expect((await look(one)).found.get(one.txId)).toMatchObject({ success: true, height: at.height });
    double.on("getTransaction", () => null);
    expect((await look(one)).found.has(one.txId)).toBe(false);
    double.on("getTransaction", null);
    const other = await signed(coins({ amountUnits: 6_000_000n }));
    await node.send(other.raw, other.txId);
    chain.mine(4);
    double.on("getTransaction", (_, honest) => {
      void honest;
      return double.honest("getTransaction", [
        other.txId,
        { commitment: "finalized", maxSupportedTransactionVersion: 1 },
      ]);
    });
    await expect(look(one)).rejects.toThrow(/expected/);
  });
});

describe("what a provider says to a send", () => {
  it.each<readonly [string, number, string, string]>([
    [
      "already there",
      -32002,
      "Transaction simulation failed: This transaction has already been processed",
      "already_known",
    ],
    ["an old blockhash", -32002, "Transaction simulation failed: Blockhash not found", "provider_unavailable"],
    ["a poor wallet", -32002, "Transaction simulation failed: InsufficientFundsForFee", "wallet_short"],
    ["a poor account", -32002, "Error processing Instruction 2: custom program error: 0x1", "wallet_short"],
    ["a frozen account", -32002, "Error processing Instruction 2: custom program error: 0x11", "unknown"],
    ["a node behind", -32005, "Node is behind by 42 slots", "provider_unavailable"],
    ["a bad signature", -32003, "Transaction signature verification failure", "setup_fault"],
    ["a limit", 429, "Too many requests for a specific RPC call", "provider_unavailable"],
    ["a riddle", -32603, "Internal error", "unknown"],
  ])("%s", async (_, code, text, meaning) => {
    const { double, node, coins, signed } = world();
    const one = await signed(coins());
    double.on("sendTransaction", () => {
      throw new RpcError(code, text);
    });
    expect(await node.send(one.raw, one.txId)).toEqual({ meaning, text });
  });

  it("no answer, another signature, or another chain", async () => {
    const { chain, double, node, coins, signed } = world();
    const one = await signed(coins());
    double.loseAnswers("sendTransaction");
    expect((await node.send(one.raw, one.txId)).meaning).toBe("unknown");
    expect(chain.mine().txs.map(({ signature }) => signature)).toEqual([one.txId]);
    double.http = null;
    double.on("sendTransaction", () => base58.encode(new Uint8Array(64).fill(7)));
    expect((await node.send(one.raw, one.txId)).meaning).toBe("unknown");
    const elsewhere = new SolanaPayoutNode(
      { url: "http://other.test", fetch: double.fetch, timeoutMs: 5_000 },
      {
        ...NETWORK,
        caip2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
        genesis: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
      },
    );
    const before = double.sent.length;
    expect((await elsewhere.send(one.raw, one.txId)).meaning).toBe("setup_fault");
    expect(double.sent.length).toBe(before);
  });

  it("is asked for once, without preflight and without the node's own repeating", async () => {
    const { double, node, coins, signed } = world();
    const one = await signed(coins());
    await node.send(one.raw, one.txId);
    const sends = double.calls.filter(({ method }) => method === "sendTransaction");
    expect(sends.map(({ params }) => params?.[1])).toEqual([
      { encoding: "base64", skipPreflight: true, maxRetries: 0 },
    ]);
  });
});

describe("balances", () => {
  it("are final ones, of the associated account alone; null for what is no token", async () => {
    const { chain, node, token } = world();
    const unknown = solanaKey("no mint").address;
    expect(await node.balances(SIGNER.address, [token.mint, unknown])).toEqual([10_000_000_000n, 1_000_000n, null]);
    chain.pay(SIGNER.address, 5n);
    chain.mine();
    expect((await node.balances(SIGNER.address, []))[0]).toBe(10_000_000_000n);
    chain.mine(3);
    expect((await node.balances(SIGNER.address, []))[0]).toBe(10_000_000_005n);
    expect(await node.balances(solanaKey("nobody").address, [token.mint])).toEqual([0n, 0n]);
  });
});
