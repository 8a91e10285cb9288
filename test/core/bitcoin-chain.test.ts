/**
 * The Bitcoin chain in memory. A real node judges it: it gets every block and transaction of the chain in memory, so
 * that both hold the same, and is asked the same. What the double answers must be what the node answers.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blockHex } from "../support/bitcoin-block.ts";
import { BitcoinChain } from "../support/bitcoin-chain.ts";
import { BitcoinNodeDouble } from "../support/bitcoin-double.ts";
import { FAUCET, testKey } from "../support/bitcoin-faucet.ts";
import { type BitcoinTx, buildTx, malleate } from "../support/bitcoin-tx.ts";
import { type Bitcoind, noBitcoind, startBitcoind } from "../support/bitcoind.ts";

const payee = testKey("payee");
const NOBODY = "11".repeat(32);
/** Never compared: a node's own accounts, its clock, and what only Knots says. */
const OWN =
  /^(asm|desc|size_on_disk|usage|maxmempool|uptime|subversion|version|connections.*|networks|local.*|time_?offset|txcount|header_version|dust.*|rbf_policy|truc_policy|fullrbf|currentpriority|startingpriority|unbroadcast(count)?|verificationprogress|warnings|mempool_sequence)$/;

describe.skipIf(noBitcoind)("a real node, given the same blocks and transactions", () => {
  let real: Bitcoind;
  let chain: BitcoinChain;
  let double: BitcoinNodeDouble;
  const given = new Set<string>();
  const reserved = new Set<string>();

  beforeAll(async () => {
    real = await startBitcoind();
    // A node that is more than a day behind the clock counts as not yet caught up.
    const start = Math.floor(Date.now() / 1_000) - 20_000;
    chain = BitcoinChain.grown(115, { time: (height) => start + 60 * height });
    double = new BitcoinNodeDouble(chain);
    await give();
  });
  afterAll(() => real?.stop());

  /** Gives it all blocks it has not got. */
  async function give(from = chain): Promise<void> {
    for (let height = 1; height <= from.head; height++) {
      const block = from.at(height);
      if (block === undefined || given.has(block.hash)) continue;
      expect([null, "inconclusive"]).toContain(await real.rpc("submitblock", blockHex(block)));
      given.add(block.hash);
    }
    expect(await real.tip()).toBe(chain.tip.hash);
  }

  async function askReal(body: unknown) {
    const { username, password, origin } = new URL(real.url);
    const authorization = `Basic ${btoa(`${username}:${password}`)}`;
    return read(await fetch(origin, { method: "POST", headers: { authorization }, body: JSON.stringify(body) }));
  }

  async function askDouble(body: unknown) {
    return read(await double.answer(JSON.stringify(body)));
  }

  /** When a transaction came is each one's own; `hash` is an old name of Knots. */
  const withoutArrival = ({ result, ...rest }: Record<string, unknown>) => {
    const { time: _, hash: __, ...entry } = (result ?? {}) as Record<string, unknown>;
    return { ...rest, entry };
  };

  /** Asks both, and holds the double's answer against the node's. */
  async function both(method: string, ...params: unknown[]) {
    const [expected, answered] = [await askReal(call(method, params)), await askDouble(call(method, params))];
    const label = `${method} ${JSON.stringify(params).slice(0, 80)}`;
    expect({ label, status: answered.status, body: compared(answered.body) }).toEqual({
      label,
      status: expected.status,
      body: compared(expected.body),
    });
    return answered.body as { result?: unknown; error?: { code: number; message: string } };
  }

  /** Sends it to both. @returns the txid, or what both said against it */
  async function send(tx: BitcoinTx, ...more: unknown[]): Promise<string> {
    const { result, error } = await both("sendrawtransaction", tx.raw, ...more);
    return error === undefined ? String(result) : `${error.code} ${error.message}`;
  }

  async function pool(): Promise<string[]> {
    const held = (await real.rpc<string[]>("getrawmempool")).sort();
    expect(chain.pool.txs.map(({ txid }) => txid).sort()).toEqual(held);
    return held;
  }

  it("takes all blocks, and tells the same of them", async () => {
    await both("getblockchaininfo");
    await both("getblockcount");
    await both("getbestblockhash");
    for (const height of [0, 1, 16, 17, 99, 115]) {
      const { result: hash } = await both("getblockhash", height);
      for (const verbosity of [0, 1, 2, 3]) await both("getblock", hash, verbosity);
      await both("getblockheader", hash);
      await both("getblockheader", hash, false);
    }
    await both("getnetworkinfo");
    await both("getmempoolinfo");
    await both("estimatesmartfee", 6);
  });

  it("refuses with the same words what makes no sense", async () => {
    await both("getblockhash", 116);
    await both("getblockhash", -1);
    await both("getblockhash", "1");
    await both("getblock", NOBODY);
    await both("getblock", "00");
    await both("getblock", "zz".repeat(32));
    await both("getblockheader", NOBODY);
    await both("nosuchmethod");
    await both("getrawtransaction", NOBODY);
    await both("getrawtransaction", NOBODY, true, chain.tip.hash);
    await both("getrawtransaction", NOBODY, true, NOBODY);
    await both("getrawtransaction", chain.at(0)?.merkleRoot);
    await both("getmempoolentry", NOBODY);
    await both("gettxout", NOBODY, 0);
    await both("gettxspendingprevout", [{ txid: NOBODY, vout: 0 }]);
    await both("gettxspendingprevout", []);
    await both("sendrawtransaction", "00");
    await both("sendrawtransaction", "not hex");
    await both("estimatesmartfee", 0);
    await both("estimatesmartfee", 1_009);
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
      const [{ text: _, ...expected }, { text: __, ...answered }] = [await askReal(request), await askDouble(request)];
      expect({ request, ...answered }).toEqual({ request, ...expected });
    }
    const amount = /"value":\s*([\d.]+)/.exec((await askDouble(call("getblock", [chain.tip.hash, 2]))).text)?.[1];
    expect(amount).toBe("50.00000000");
  });

  it("holds the same transaction in its pool, then in a block", async () => {
    const tx = chain.pay(payee.address, 100_000n, {
      keepBack: true,
      outputs: [{ to: payee.taprootAddress, amount: 999n }],
    });
    expect(await send(tx)).toBe(tx.txid);
    expect(await send(tx)).toBe(tx.txid);
    const child = chain.spend({
      inputs: [{ txid: tx.txid, vout: 0, amount: 100_000n, script: payee.script, key: payee }],
      outputs: [{ to: payee.legacyAddress, amount: 99_000n }],
    });
    expect(await send(child)).toBe(child.txid);
    expect(await pool()).toHaveLength(2);
    await asked(tx, child);
    chain.mine();
    await give();
    expect(await pool()).toEqual([]);
    await asked(tx, child);
    expect(await send(tx)).toBe("-27 Transaction outputs already in utxo set");

    async function asked(...txs: BitcoinTx[]) {
      for (const { txid, inputs } of txs) {
        await both("getrawtransaction", txid);
        await both("getrawtransaction", txid, true);
        await both("getrawtransaction", txid, 1, chain.tip.hash);
        const entry = [call("getmempoolentry", [txid])] as const;
        const [expected, answered] = [await askReal(entry[0]), await askDouble(entry[0])];
        expect(withoutArrival(compared(answered.body) as Record<string, unknown>)).toEqual(
          withoutArrival(compared(expected.body) as Record<string, unknown>),
        );
        for (const vout of [0, 1, 2]) {
          await both("gettxout", txid, vout);
          await both("gettxout", txid, vout, false);
        }
        await both(
          "gettxspendingprevout",
          inputs.map(({ txid, vout }) => ({ txid, vout })),
        );
      }
      for (const verbosity of [1, 2, 3]) await both("getblock", chain.tip.hash, verbosity);
      await both("getmempoolinfo");
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
    const said: string[] = [];
    for (const tx of refused) said.push(await send(tx));
    expect(said.map((text) => text.replace(/[0-9a-f]{64}/g, "..."))).toMatchInlineSnapshot(`
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
    expect(await pool()).toEqual([]);
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
    expect(await send(tx)).toBe(tx.txid);
    await both("getrawtransaction", tx.txid, true);
    // Knots' pool refuses a script of 35 bytes, which Core's takes.
    const toKey = chain.pay(`2102${"79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"}ac`, 5_000n);
    chain.mine();
    await give();
    await both("getblock", chain.tip.hash, 3);
    for (const vout of tx.outputs.keys()) await both("gettxout", tx.txid, vout);
    await both("gettxout", toKey.txid, 0);
  });

  it("finds bad signatures as the node does", async () => {
    const good = [paid(10_000n), chain.pay(payee.address, 10_000n, { keepBack: true, legacy: true })];
    const said: string[] = [];
    for (const tx of good) {
      const [input] = tx.inputs;
      if (input === undefined) throw new Error("no input");
      const without = { ...input, witness: [], scriptSig: "" };
      const spoiled = { ...input, witness: input.witness.map(spoil), scriptSig: spoil(input.scriptSig) };
      const swapped = { ...input, witness: [...input.witness].reverse(), scriptSig: input.scriptSig.slice(144) };
      const short = { ...input, witness: input.witness.slice(1), scriptSig: "" };
      for (const one of [without, spoiled, swapped, short]) said.push(await send(buildTx({ ...tx, inputs: [one] })));
    }
    expect(said.map((text) => text.replace(/[0-9a-f]{64}/g, "..."))).toMatchInlineSnapshot(`
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
    for (const tx of good) expect(await send(tx)).toBe(tx.txid);
    chain.mine();
    await give();

    function spoil(hex: string): string {
      return hex === "" ? "" : `${hex.slice(0, 20)}${hex[20] === "0" ? "1" : "0"}${hex.slice(21)}`;
    }
  });

  it("lets a transaction be replaced by one that pays enough more, and by no other", async () => {
    const tx = chain.pay(payee.address, 50_000n, { keepBack: true, feeRate: 10n });
    await send(tx);
    const child = chain.spend({
      inputs: [{ txid: tx.txid, vout: 0, amount: 50_000n, script: payee.script, key: payee }],
      outputs: [{ to: payee.address, amount: 40_000n }],
    });
    await send(child);
    const [coin] = chain.faucetCoins();
    if (coin === undefined) throw new Error("the faucet is empty");
    const [input] = tx.inputs;
    if (input === undefined) throw new Error("no input");
    const pinned = { ...input, ...(chain.view.get(`${input.txid}:${input.vout}`) ?? coin) };
    const paying = (fee: bigint, more: readonly (typeof pinned)[] = []) => {
      const inputs = [pinned, ...more];
      const left = inputs.reduce((sum, { amount }) => sum + amount, 0n) - fee;
      return chain.spend({ inputs, outputs: [{ to: FAUCET.address, amount: left }] });
    };
    const said: string[] = [];
    const unconfirmed = { ...coin, txid: child.txid, vout: 0, amount: 40_000n, key: payee, script: payee.script };
    const other = chain.pay(payee.address, 60_000n, { keepBack: true, coins: [coin] });
    await send(other);
    const fromOther = { ...coin, txid: other.txid, vout: 0, amount: 60_000n, key: payee, script: payee.script };
    for (const refused of [
      paying(1_000n),
      paying(11_000n),
      paying(11_411n),
      paying(11_415n),
      paying(40_000n, [unconfirmed as never]),
      paying(40_000n, [fromOther as never]),
    ])
      said.push(await send(refused));
    expect(said.map((text) => text.replace(/[0-9a-f]{64}/g, "..."))).toMatchInlineSnapshot(`
      [
        "-26 insufficient fee, rejecting replacement ...; new feerate 0.00009090 BTC/kvB <= old feerate 0.00010000 BTC/kvB",
        "-26 insufficient fee, rejecting replacement ..., less fees than conflicting txs; 0.00011 < 0.0001141",
        "-26 insufficient fee, rejecting replacement ..., not enough additional fees to relay; 0.00000001 < 0.00000011",
        "-26 insufficient fee, rejecting replacement ..., not enough additional fees to relay; 0.00000005 < 0.00000011",
        "-26 bad-txns-spends-conflicting-tx, ... spends conflicting transaction ...",
        "-26 replacement-adds-unconfirmed, replacement ... adds unconfirmed input, idx 1",
      ]
    `);
    const raised = paying(12_000n);
    expect(await send(raised)).toBe(raised.txid);
    expect(await pool()).toEqual([raised.txid, other.txid].sort());
    await both("gettxspendingprevout", [{ txid: input.txid, vout: input.vout }]);
    await both("gettxout", input.txid, input.vout);
    await both("gettxout", input.txid, input.vout, false);
    await both("getrawtransaction", tx.txid);
    // What was replaced cannot come back, and its child has no parent any more.
    said.length = 0;
    said.push(await send(tx), await send(child));
    expect(said.map((text) => text.replace(/[0-9a-f]{64}/g, "..."))).toMatchInlineSnapshot(`
      [
        "-26 insufficient fee, rejecting replacement ...; new feerate 0.00010000 BTC/kvB <= old feerate 0.00109090 BTC/kvB",
        "-25 bad-txns-inputs-missingorspent",
      ]
    `);
    chain.mine();
    await give();
    expect(await send(tx)).toBe("-25 bad-txns-inputs-missingorspent");
  });

  it("says -25 to a mined transaction whose outputs are all spent", async () => {
    const tx = chain.spend({
      inputs: [chain.faucetCoins()[0] as never],
      outputs: [{ to: payee.address, amount: 4_999_999_000n }],
    });
    expect(await send(tx)).toBe(tx.txid);
    const child = chain.spend({
      inputs: [{ txid: tx.txid, vout: 0, amount: 4_999_999_000n, script: payee.script, key: payee }],
      outputs: [{ to: FAUCET.address, amount: 4_999_998_000n }],
    });
    expect(await send(child)).toBe(child.txid);
    chain.mine();
    await give();
    expect(await send(tx)).toBe("-25 bad-txns-inputs-missingorspent");
    expect(await send(child)).toBe("-27 Transaction outputs already in utxo set");
  });

  it("mines a malleated transaction in place of the one in its pool", async () => {
    const tx = chain.pay(payee.address, 70_000n, { keepBack: true, legacy: true });
    const other = malleate(tx);
    expect(await send(other)).toMatch(/^-26 .*S value is unnecessarily high/);
    expect(await send(tx)).toBe(tx.txid);
    chain.mine(1, { include: [other] });
    await give();
    expect(await pool()).toEqual([]);
    expect(await send(tx)).toBe("-25 bad-txns-inputs-missingorspent");
    await both("gettxout", other.txid, 0);
    await both("getblock", chain.tip.hash, 3);
  });

  it("moves to a longer branch as the node does, and its pool with it", async () => {
    const [kept, doubled, waiting] = [paid(100_000n), paid(200_000n), paid(300_000n)];
    for (const tx of [kept, doubled, waiting]) await send(tx);
    chain.mine(2);
    await give();
    const stale = chain.tip;
    const child = chain.spend({
      inputs: [{ txid: doubled.txid, vout: 0, amount: 200_000n, script: payee.script, key: payee }],
      outputs: [{ to: payee.address, amount: 150_000n }],
    });
    await send(child);
    const other = chain.replace(doubled, { outputs: [{ to: FAUCET.address, amount: 200_000n }], keepBack: true });
    chain.reorg(2, { keep: [kept, other] });
    await give();
    expect(await pool()).toEqual([waiting.txid]);
    for (const { txid } of [kept, doubled, waiting, other, child]) {
      await both("getrawtransaction", txid, 1);
      await both("getrawtransaction", txid, 1, stale.parentHash);
      await both("gettxout", txid, 0);
      await both("gettxout", txid, 0, false);
    }
    for (const hash of [stale.hash, stale.parentHash]) {
      await both("getblockheader", hash);
      await both("getblock", hash, 2);
    }
    await both("getblockchaininfo");
    expect(await send(doubled)).toBe("-25 bad-txns-inputs-missingorspent");
    expect(await send(kept)).toBe("-27 Transaction outputs already in utxo set");
    chain.mine();
    await give();
  });

  it("gives up a branch when it is told to, and takes it up again", async () => {
    const tx = paid(100_000n);
    await send(tx);
    chain.mine(3);
    await give();
    const first = chain.at(chain.head - 2)?.hash ?? "";
    const top = chain.tip.hash;
    await real.rpc("invalidateblock", first);
    chain.invalidate(first);
    expect(await pool()).toEqual([tx.txid]);
    await both("getblockheader", first);
    await both("getblockchaininfo");
    await real.rpc("reconsiderblock", first);
    chain.reconsider(first);
    chain.follow(top);
    expect(await pool()).toEqual([]);
    await both("getblockheader", first);
  });

  it("lets a coinbase be spent after 100 blocks, and not when a reorganisation makes it younger", async () => {
    const young = chain.at(chain.head - 99)?.txs[0];
    if (young === undefined) throw new Error("a block has a coinbase");
    const [{ amount, script } = { amount: 0n, script: "" }] = young.outputs;
    const tx = chain.spend({
      inputs: [{ txid: young.txid, vout: 0, amount, script }],
      outputs: [{ to: payee.address, amount: amount - 1_000n }],
    });
    expect(await send(tx)).toBe(tx.txid);
    const below = chain.tip.hash;
    await real.rpc("invalidateblock", below);
    chain.invalidate(below);
    expect(await pool()).toEqual([]);
    expect(await send(tx)).toMatch(/tried to spend coinbase at depth 99$/);
    chain.mine(2);
    await give();
  });

  it("lets no more than 25 transactions wait one upon the other", async () => {
    let [coin] = chain.faucetCoins();
    const said: string[] = [];
    for (let made = 0; made < 26 && coin !== undefined; made++) {
      const output = { to: FAUCET.address, amount: coin.amount - 1_000n };
      const tx = chain.spend({ inputs: [coin], outputs: [output] });
      said.push(await send(tx));
      coin = { txid: tx.txid, vout: 0, amount: output.amount, script: FAUCET.script };
    }
    expect(said.at(-1)).toBe("-26 too-long-mempool-chain, too many unconfirmed ancestors [limit: 25]");
    expect(await pool()).toHaveLength(25);
    chain.mine();
    await give();
    expect(await pool()).toEqual([]);
  });

  function paid(amount: bigint): BitcoinTx {
    const busy = new Set([...reserved]);
    const coin = chain.faucetCoins().find(({ txid, vout }) => !busy.has(`${txid}:${vout}`));
    if (coin === undefined) throw new Error("the faucet is empty");
    reserved.add(`${coin.txid}:${coin.vout}`);
    return chain.pay(payee.address, amount, { keepBack: true, coins: [coin] });
  }
});

describe.skipIf(noBitcoind)("two real nodes, cut apart and joined again", () => {
  it("end where two chains in memory end", async () => {
    const [here, there] = [await startBitcoind(), await startBitcoind()];
    try {
      const start = Math.floor(Date.now() / 1_000) - 20_000;
      const chain = BitcoinChain.grown(110, { time: (height) => start + 60 * height });
      await take(here, chain);
      await here.connect(there);
      const shared = chain.pay(payee.address, 100_000n);
      await here.rpc("sendrawtransaction", shared.raw);
      await until(async () => (await pooled(there)).length === 1);
      await here.disconnect(there);

      const far = chain.fork();
      const [coin, other] = chain.faucetCoins();
      if (coin === undefined || other === undefined) throw new Error("the faucet is empty");
      const mine = chain.pay(payee.address, 200_000n, { coins: [coin] });
      const theirs = far.pay(payee.legacyAddress, 200_000n, { coins: [coin] });
      const alone = chain.pay(payee.taprootAddress, 300_000n, { coins: [other] });
      for (const tx of [mine, alone]) await here.rpc("sendrawtransaction", tx.raw);
      await there.rpc("sendrawtransaction", theirs.raw);
      chain.mine();
      await take(here, chain);
      far.mine();
      far.mine(2, { include: [] });
      await take(there, far);
      await agree();

      chain.join(far);
      await here.connect(there);
      await agree();
      expect(chain.tip.hash).toBe(far.tip.hash);
      expect(chain.pool.txs).toEqual([alone]);
      expect(far.pool.txs).toEqual([]);

      async function agree() {
        for (const [node, belief] of [
          [here, chain],
          [there, far],
        ] as const) {
          expect(await node.tip()).toBe(belief.tip.hash);
          expect(await pooled(node)).toEqual(belief.pool.txs.map(({ txid }) => txid).sort());
        }
      }
    } finally {
      await here.stop();
      await there.stop();
    }
  });

  const pooled = async (node: Bitcoind) => (await node.rpc<string[]>("getrawmempool")).sort();

  async function take(node: Bitcoind, chain: BitcoinChain): Promise<void> {
    for (let height = (await node.height()) + 1; height <= chain.head; height++) {
      const block = chain.at(height);
      if (block !== undefined) expect(await node.rpc("submitblock", blockHex(block))).toBeNull();
    }
  }

  async function until(isSo: () => Promise<boolean>): Promise<void> {
    for (const end = Date.now() + 10_000; !(await isSo()); await new Promise((resolve) => setTimeout(resolve, 20)))
      if (Date.now() > end) throw new Error("it has not come in 10 s");
  }
});

const call = (method: string, params: readonly unknown[]) => ({ jsonrpc: "2.0", id: 1, method, params });

async function read(response: Response) {
  const text = await response.text();
  return { status: response.status, text, body: text === "" ? null : (JSON.parse(text) as unknown) };
}

function compared(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compared);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !OWN.test(key))
      .map(([key, item]) => [key, compared(item)]),
  );
}
