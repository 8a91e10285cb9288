/** What the Bitcoin double says of blocks and transactions, and of requests that make no sense: a real node judges. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BitcoinChain } from "../support/bitcoin-chain.ts";
import { FAUCET } from "../support/bitcoin-faucet.ts";
import { BitcoinJudge, call, payee } from "../support/bitcoin-judge.ts";
import { type BitcoinTx, buildTx } from "../support/bitcoin-tx.ts";
import { noBitcoind } from "../support/bitcoind.ts";

const NOBODY = "11".repeat(32);

describe.skipIf(noBitcoind)("a real node, given the same blocks and transactions", () => {
  let judge: BitcoinJudge;
  let chain: BitcoinChain;
  beforeAll(async () => {
    judge = await BitcoinJudge.start();
    chain = judge.chain;
  });
  afterAll(() => judge?.stop());

  it("takes all blocks, and tells the same of them", async () => {
    await judge.both("getblockchaininfo");
    await judge.both("getblockcount");
    await judge.both("getbestblockhash");
    for (const height of [0, 1, 16, 17, 99, 115]) {
      const { result: hash } = await judge.both("getblockhash", height);
      for (const verbosity of [0, 1, 2, 3]) await judge.both("getblock", hash, verbosity);
      await judge.both("getblockheader", hash);
      await judge.both("getblockheader", hash, false);
    }
    await judge.both("getnetworkinfo");
    await judge.both("getmempoolinfo");
    await judge.both("estimatesmartfee", 6);
  });

  it("refuses with the same words what makes no sense", async () => {
    await judge.both("getblockhash", 116);
    await judge.both("getblockhash", -1);
    await judge.both("getblockhash", "1");
    await judge.both("getblock", NOBODY);
    await judge.both("getblock", "00");
    await judge.both("getblock", "zz".repeat(32));
    await judge.both("getblockheader", NOBODY);
    await judge.both("nosuchmethod");
    await judge.both("getrawtransaction", NOBODY);
    await judge.both("getrawtransaction", NOBODY, true, chain.tip.hash);
    await judge.both("getrawtransaction", NOBODY, true, NOBODY);
    await judge.both("getrawtransaction", chain.at(0)?.merkleRoot);
    await judge.both("getmempoolentry", NOBODY);
    await judge.both("gettxout", NOBODY, 0);
    await judge.both("gettxspendingprevout", [{ txid: NOBODY, vout: 0 }]);
    await judge.both("gettxspendingprevout", []);
    await judge.both("sendrawtransaction", "00");
    await judge.both("sendrawtransaction", "not hex");
    await judge.both("estimatesmartfee", 0);
    await judge.both("estimatesmartfee", 1_009);
  });

  it("wraps answers in the same way", async () => {
    const requests = [
      { id: 1, method: "getblockcount", params: [] },
      { id: 1, method: "getblockhash", params: [999] },
      { jsonrpc: "1.0", id: "a", method: "nosuch", params: [] },
      { jsonrpc: "2.0", id: "a", method: "getblockcount" },
      [call("getblockcount", []), call("getblockhash", [999]), { id: 7, method: "nosuch" }],
      [],
    ];
    for (const request of requests) {
      const [{ text: _, ...expected }, { text: __, ...answered }] = [
        await judge.askReal(request),
        await judge.askDouble(request),
      ];
      expect({ request, ...answered }).toEqual({ request, ...expected });
    }
    const amount = /"value":\s*([\d.]+)/.exec((await judge.askDouble(call("getblock", [chain.tip.hash, 2]))).text)?.[1];
    expect(amount).toBe("50.00000000");
  });

  it("lets nobody in without the password", async () => {
    judge.double.credentials = "payer:right";
    const [expected, answered] = [await judge.askReal([], "Basic bm86"), await judge.askDouble([], "Basic bm86")];
    judge.double.credentials = null;
    expect(answered).toEqual(expected);
    expect(answered.status).toBe(401);
  });

  it("holds the same transaction in its pool, then in a block", async () => {
    const tx = chain.pay(payee.address, 100_000n, {
      keepBack: true,
      outputs: [{ to: payee.taprootAddress, amount: 999n }],
    });
    expect(await judge.send(tx)).toBe(tx.txid);
    expect(await judge.send(tx)).toBe(tx.txid);
    const child = chain.spend({
      inputs: [chain.coinOf(tx, 0, payee)],
      outputs: [{ to: payee.legacyAddress, amount: 99_000n }],
    });
    expect(await judge.send(child)).toBe(child.txid);
    expect(await judge.pool()).toHaveLength(2);
    await asked(tx, child);
    await judge.mine();
    expect(await judge.pool()).toEqual([]);
    await asked(tx, child);
    expect(await judge.send(tx)).toBe("-27 Transaction outputs already in utxo set");

    async function asked(...txs: BitcoinTx[]) {
      for (const { txid, inputs } of txs) {
        await judge.both("getrawtransaction", txid);
        await judge.both("getrawtransaction", txid, true);
        await judge.both("getrawtransaction", txid, 1, chain.tip.hash);
        await judge.both("getmempoolentry", txid);
        for (const vout of [0, 1, 2]) {
          await judge.both("gettxout", txid, vout);
          await judge.both("gettxout", txid, vout, false);
        }
        await judge.both(
          "gettxspendingprevout",
          inputs.map(({ txid, vout }) => ({ txid, vout })),
        );
      }
      for (const verbosity of [1, 2, 3]) await judge.both("getblock", chain.tip.hash, verbosity);
      await judge.both("getmempoolinfo");
    }
  });

  it("refuses the same transactions, with the same codes and words", async () => {
    const [coin, other] = chain.faucetCoins();
    const [young] = chain.at(chain.head)?.txs ?? [];
    if (coin === undefined || other === undefined || young === undefined) throw new Error("the faucet is empty");
    const change = { to: FAUCET.address, amount: coin.amount - 10_000n };
    const spend = (outputs: { to: string; amount: bigint }[], more = {}) =>
      chain.spend({ inputs: [{ ...coin, ...more }], outputs });
    const refused = [
      spend([change], { txid: NOBODY }),
      spend([{ ...change, amount: coin.amount + 1n }]),
      spend([{ ...change, amount: coin.amount }]),
      spend([{ ...change, amount: coin.amount - 10n }]),
      spend([{ ...change, amount: coin.amount / 2n }]),
      spend([change, { to: payee.address, amount: 293n }]),
      spend([change, { to: payee.legacyAddress, amount: 545n }]),
      spend([change, { to: payee.taprootAddress, amount: 329n }]),
      spend([change, { to: "6a0411223344", amount: 1_000n }]),
      spend([change, { to: "ac", amount: 1_000n }]),
      spend([]),
      spend([{ to: "6a", amount: 0n }]),
      spend([change], { txid: young.txid, vout: 0 }),
      chain.spend({ inputs: [{ ...coin }], outputs: [change], lockTime: chain.head + 5 }),
      chain.spend({ inputs: [{ ...coin, key: payee, script: payee.script }], outputs: [change] }),
      chain.spend({ inputs: [{ ...coin, amount: coin.amount - 1n }], outputs: [change] }),
    ];
    const said = await judge.sendAll(...refused);
    expect(said).toMatchInlineSnapshot(`
      [
        "-25 bad-txns-inputs-missingorspent",
        "-26 bad-txns-in-belowout, value in (50.00) < value out (50.00000001)",
        "-26 min relay fee not met, 0 < 11",
        "-26 min relay fee not met, 10 < 11",
        "-25 Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)",
        "-26 dust, tx with dust output must be 0-fee",
        "-26 dust, tx with dust output must be 0-fee",
        "-26 dust, tx with dust output must be 0-fee",
        "-25 Unspendable output exceeds maximum configured by user (maxburnamount)",
        "-26 scriptpubkey",
        "-26 bad-txns-vout-empty",
        "-26 tx-size-small",
        "-26 bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 1",
        "-26 non-final",
        "-26 mempool-script-verify-flag-failed (Script failed an OP_EQUALVERIFY operation), input 0 of ... (wtxid ...), spending ...:0",
        "-26 mempool-script-verify-flag-failed (Signature must be zero for failed CHECK(MULTI)SIG operation), input 0 of ... (wtxid ...), spending ...:0",
      ]
    `);
    expect(await judge.pool()).toEqual([]);
  });

  it("names every form of script and its address", async () => {
    const forms = [
      payee.legacyAddress,
      payee.address,
      payee.taprootAddress,
      `a914${"22".repeat(20)}87`,
      `0020${"33".repeat(32)}`,
      "51024e73",
      `5210${"44".repeat(16)}`,
      `5520${"55".repeat(32)}`,
    ];
    const outputs = [...forms.map((to) => ({ to, amount: 10_000n })), { to: "6a0411223344", amount: 0n }];
    const [first, ...rest] = outputs;
    if (first === undefined) throw new Error("no form");
    const tx = chain.pay(first.to, first.amount, { outputs: rest, keepBack: true });
    expect(await judge.send(tx)).toBe(tx.txid);
    await judge.both("getrawtransaction", tx.txid, true);
    // Knots' pool refuses a script of 35 bytes, which Core's takes.
    const toKey = chain.pay(`2102${"79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"}ac`, 5_000n);
    await judge.mine();
    await judge.both("getblock", chain.tip.hash, 3);
    for (const vout of tx.outputs.keys()) await judge.both("gettxout", tx.txid, vout);
    await judge.both("gettxout", toKey.txid, 0);
  });

  it("finds bad signatures as the node does", async () => {
    const good = [judge.payment(10_000n), judge.payment(10_000n, { legacy: true })];
    const said: string[] = [];
    for (const tx of good) {
      const [input] = tx.inputs;
      if (input === undefined) throw new Error("no input");
      const without = { ...input, witness: [], scriptSig: "" };
      const spoiled = { ...input, witness: input.witness.map(spoil), scriptSig: spoil(input.scriptSig) };
      const swapped = { ...input, witness: [...input.witness].reverse(), scriptSig: input.scriptSig.slice(144) };
      const short = { ...input, witness: input.witness.slice(1), scriptSig: "" };
      const bad = [without, spoiled, swapped, short].map((one) => buildTx({ ...tx, inputs: [one] }));
      said.push(...(await judge.sendAll(...bad)));
    }
    expect(said).toMatchInlineSnapshot(`
      [
        "-26 mempool-script-verify-flag-failed (Witness program hash mismatch), input 0 of ... (wtxid ...), spending ...:0",
        "-26 mempool-script-verify-flag-failed (Script failed an OP_EQUALVERIFY operation), input 0 of ... (wtxid ...), spending ...:0",
        "-26 mempool-script-verify-flag-failed (Script failed an OP_EQUALVERIFY operation), input 0 of ... (wtxid ...), spending ...:0",
        "-26 mempool-script-verify-flag-failed (Witness program hash mismatch), input 0 of ... (wtxid ...), spending ...:0",
        "-26 mempool-script-verify-flag-failed (Operation not valid with the current stack size), input 0 of ... (wtxid ...), spending ...:0",
        "-26 mempool-script-verify-flag-failed (Signature must be zero for failed CHECK(MULTI)SIG operation), input 0 of ... (wtxid ...), spending ...:0",
        "-26 mempool-script-verify-flag-failed (Operation not valid with the current stack size), input 0 of ... (wtxid ...), spending ...:0",
        "-26 mempool-script-verify-flag-failed (Operation not valid with the current stack size), input 0 of ... (wtxid ...), spending ...:0",
      ]
    `);
    for (const tx of good) expect(await judge.send(tx)).toBe(tx.txid);
    await judge.mine();

    function spoil(hex: string): string {
      return hex === "" ? "" : `${hex.slice(0, 20)}${hex[20] === "0" ? "1" : "0"}${hex.slice(21)}`;
    }
  });
});
