/** The payout adapter for coins before real nodes: what it signs is taken, and what they say is understood. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BitcoinCoinNode } from "../../src/chains/bitcoin/coin-node.ts";
import { readSigned } from "../../src/chains/bitcoin/signed-spend.ts";
import { type Coin, coinText, type SignedSpend, type SpendIntent } from "../../src/chains/coin-payout.ts";
import { scriptOfAddress } from "../../src/core/bitcoin-address.ts";
import { agreeOnCoins } from "../../src/core/coin-look.ts";
import { selectCoins } from "../../src/core/coin-selection.ts";
import { type FeeDemand, feeRateLimits, firstDemand, replacementDemand } from "../../src/core/fee-rate.ts";
import type { SendMeaning } from "../../src/core/send-answer.ts";
import { type Bitcoind, noBitcoind, startBitcoind } from "../support/bitcoind.ts";
import { coinWallet, PAYEES, REGTEST } from "../support/coin-wallet.ts";

interface Decoded {
  readonly txid: string;
  readonly vsize: number;
  readonly vout: readonly { readonly n: number; readonly scriptPubKey: { readonly hex: string } }[];
}

const wallet = coinWallet();
const LIMITS = feeRateLimits(REGTEST.payout);
let home: Bitcoind;
let away: Bitcoind;
const nodeOf = ({ url }: Bitcoind) => new BitcoinCoinNode({ url, fetch, timeoutMs: 30_000 }, REGTEST);

/** Mined at the home node. */
async function topUp(btc: string, path = "0/0"): Promise<Coin> {
  const address = wallet.addressAt(path);
  const txId = await home.pay(address, btc);
  await home.mine();
  const decoded = await home.rpc<Decoded>("getrawtransaction", txId, 1, await home.tip());
  const vout = decoded.vout.find(
    ({ scriptPubKey }) => scriptPubKey.hex === scriptOfAddress(REGTEST.addresses, address),
  );
  if (vout === undefined) throw new Error(`${txId} does not pay ${address}`);
  return { txId, vout: vout.n, amountUnits: BigInt(btc.replace(/^0\./, "").padEnd(8, "0")), address, path };
}

/** Chosen, signed and read back as the line does it. */
async function spend(
  pinned: readonly Coin[],
  demand: FeeDemand,
  {
    payments = [{ address: PAYEES.p2wpkh, amountUnits: 100_000n }],
    coins = [],
  }: { payments?: SpendIntent["payments"]; coins?: readonly Coin[] } = {},
): Promise<SignedSpend & { readonly feeUnits: bigint; readonly planned: number }> {
  const selection = selectCoins({ addresses: REGTEST.addresses, payments, pinned, coins, demand });
  if (!selection.ok) throw new Error(`refused: ${selection.reason}`);
  const { inputs, changeUnits, feeUnits, vsize } = selection.plan;
  const change =
    changeUnits === null ? null : { address: wallet.addressAt("1/0"), path: "1/0", amountUnits: changeUnits };
  const intent: SpendIntent = { inputs, payments, change };
  const { replacedUnits } = demand;
  const read = readSigned(await wallet.sign(intent), intent, { network: REGTEST, replacedUnits });
  if (!read.ok) throw new Error(read.problem);
  return { ...read.signed, feeUnits, planned: vsize };
}

async function first(node: BitcoinCoinNode): Promise<FeeDemand> {
  const priced = firstDemand(await node.quote(), LIMITS);
  if (!priced.ok) throw new Error("beyond the cap");
  return priced.demand;
}

async function raised(
  node: BitcoinCoinNode,
  earlier: readonly SignedSpend[],
  fees: readonly bigint[],
): Promise<FeeDemand> {
  const offered = earlier.map(({ vsize }, i) => ({ vsize, feeUnits: fees[i] ?? 0n }));
  const priced = replacementDemand(offered, await node.quote(), LIMITS, "replacement");
  if (!priced.ok) throw new Error("beyond the cap");
  return priced.demand;
}

const pinOf = async (coin: Coin) => ({ ref: { txId: coin.txId, vout: coin.vout }, from: await home.height() });
const mempool = (node: Bitcoind) => node.rpc<string[]>("getrawmempool");

describe.skipIf(noBitcoind)("coins before a real node", { timeout: 60_000 }, () => {
  beforeAll(async () => {
    [home, away] = await Promise.all([startBitcoind(), startBitcoind()]);
    await home.mine(110);
    await home.connect(away);
  }, 90_000);
  afterAll(() => Promise.all([home?.stop(), away?.stop()]));

  it("quotes a floor and no estimate on a young chain", async () => {
    const { estimate, floor } = await nodeOf(home).quote();
    expect(estimate).toBeNull();
    expect([100n, 1_000n]).toContain(floor);
  });

  it("what is signed for every form of address is taken, and has the id and size that were read", async () => {
    const node = nodeOf(home);
    const coin = await topUp("0.01");
    const pin = await pinOf(coin);
    const payments = Object.values(PAYEES).map((address) => ({ address, amountUnits: 50_000n }));
    const signed = await spend([coin], await first(node), { payments });
    const decoded = await home.rpc<Decoded>("decoderawtransaction", signed.raw);
    expect({ txId: decoded.txid, vsize: decoded.vsize }).toEqual({ txId: signed.txId, vsize: signed.vsize });
    expect([signed.planned - 1, signed.planned]).toContain(signed.vsize);
    expect(await node.send(signed.raw, signed.txId)).toEqual({ meaning: "accepted", text: signed.txId });
    const { fees } = await home.rpc<{ fees: { base: number } }>("getmempoolentry", signed.txId);
    expect(BigInt(Math.round(fees.base * 1e8))).toBe(signed.feeUnits);
    expect((await node.look({ pins: [pin], heights: [] })).spenders.get(coinText(coin))).toBeNull();
    expect((await node.unspent([coin])).get(coinText(coin))).toBeNull();
    const [block = ""] = await home.mine();
    const look = await node.look({ pins: [pin], heights: [pin.from] });
    const spender = look.spenders.get(coinText(coin));
    expect(spender).toMatchObject({ txId: signed.txId, blockHash: block, height: look.head });
    expect(spender).toHaveProperty("outputs.length", 6);
    const change = { txId: signed.txId, vout: 5 };
    expect((await node.unspent([change])).get(coinText(change))).toMatchObject({
      depth: 1,
      script: scriptOfAddress(REGTEST.addresses, wallet.addressAt("1/0")),
    });
    expect(await node.send(signed.raw, signed.txId)).toMatchObject({ meaning: "already_known" });
  });

  it("many inputs: none is larger than was reckoned", async () => {
    const node = nodeOf(home);
    const coins: Coin[] = [];
    for (let n = 0; n < 12; n++) coins.push(await topUp("0.0001", `1/${n}`));
    const signed = await spend([], await first(node), {
      payments: [{ address: PAYEES.p2tr, amountUnits: 115_000n }],
      coins,
    });
    expect(signed.vsize).toBeLessThanOrEqual(signed.planned);
    expect(await node.send(signed.raw, signed.txId)).toMatchObject({ meaning: "accepted" });
    await home.mine();
  });

  it("a chain of replacements is taken, each by its own reckoning; a lower offer is not", async () => {
    const node = nodeOf(home);
    const coin = await topUp("0.02");
    const demand = await first(node);
    const attempts = [await spend([coin], demand)];
    expect(await node.send(attempts[0]?.raw ?? "", attempts[0]?.txId ?? "")).toMatchObject({ meaning: "accepted" });
    for (let n = 0; n < 5; n++) {
      const fees = attempts.map(({ feeUnits }) => feeUnits);
      const next = await spend([coin], await raised(node, attempts, fees));
      expect(await node.send(next.raw, next.txId)).toMatchObject({ meaning: "accepted" });
      expect(await mempool(home)).toEqual([next.txId]);
      attempts.push(next);
    }
    const [earliest, last] = [attempts[0], attempts.at(-1)];
    if (earliest === undefined || last === undefined) throw new Error("no attempts");
    const refused = await node.send(earliest.raw, earliest.txId);
    expect(refused.meaning).toBe("replacement_underpriced");
    expect(refused.text).toMatch(/^insufficient fee.* \(code -26\)$/);
    // One that pays nobody, and has less to carry.
    const priced = replacementDemand(attempts, await node.quote(), LIMITS, "burn");
    if (!priced.ok) throw new Error("beyond the cap");
    const burn = await spend([coin], priced.demand, { payments: [] });
    expect(await node.send(burn.raw, burn.txId)).toMatchObject({ meaning: "accepted" });
    expect(await mempool(home)).toEqual([burn.txId]);
    await home.mine();
    expect(await node.send(last.raw, last.txId)).toMatchObject({ meaning: "nonce_consumed" });
  });

  it("a burn in place of a large batch pays what the batch offered", async () => {
    const node = nodeOf(home);
    const coin = await topUp("0.09");
    const payments = Array.from({ length: 100 }, () => ({ address: PAYEES.p2wsh, amountUnits: 50_000n }));
    const batch = await spend([coin], await first(node), { payments });
    expect(await node.send(batch.raw, batch.txId)).toMatchObject({ meaning: "accepted" });
    const priced = replacementDemand([batch], await node.quote(), LIMITS, "burn");
    if (!priced.ok) throw new Error("beyond the cap");
    const burn = await spend([coin], priced.demand, { payments: [] });
    expect(burn.feeUnits).toBe(batch.feeUnits + BigInt(burn.planned));
    expect(await node.send(burn.raw, burn.txId)).toMatchObject({ meaning: "accepted" });
    expect(await mempool(home)).toEqual([burn.txId]);
    await home.mine();
  });

  it.each<[string, (signed: SignedSpend) => string, SendMeaning]>([
    ["no transaction", ({ raw }) => raw.slice(0, -8), "setup_fault"],
    ["no hex", () => "xyz", "setup_fault"],
    ["an input that nobody knows", ({ raw }) => raw.replace(raw.slice(14, 22), "deadbeef"), "nonce_consumed"],
    ["a signature that does not fit", ({ raw }) => raw.replace(/fdffffff/, "feffffff"), "setup_fault"],
  ])("refuses %s", async (_name, broken, meaning) => {
    const node = nodeOf(home);
    const signed = await spend([await topUp("0.01")], await first(node));
    expect((await node.send(broken(signed), signed.txId)).meaning).toBe(meaning);
  });

  it("refuses less than its floor, and dust", async () => {
    const node = nodeOf(home);
    const coin = await topUp("0.01");
    const cheap = await wallet.sign({
      inputs: [coin],
      payments: [{ address: PAYEES.p2wpkh, amountUnits: 999_999n }],
      change: null,
    });
    expect(await node.send(cheap, "00".repeat(32))).toMatchObject({ meaning: "fee_too_low" });
    const dusty = await wallet.sign({
      inputs: [coin],
      payments: [
        { address: PAYEES.p2wpkh, amountUnits: 293n },
        { address: PAYEES.p2tr, amountUnits: 900_000n },
      ],
      change: null,
    });
    expect(await node.send(dusty, "00".repeat(32))).toMatchObject({ meaning: "setup_fault" });
    // Exactly what is no dust any more, for each form.
    const least = [546n, 540n, 294n, 330n, 330n];
    const signed = await spend([coin], await first(node), {
      payments: Object.values(PAYEES).map((address, n) => ({ address, amountUnits: least[n] ?? 0n })),
    });
    expect(await node.send(signed.raw, signed.txId)).toMatchObject({ meaning: "accepted" });
    await home.mine();
  });

  it("a block taken back and given again; a pin whose own transaction went away is missing", async () => {
    const node = nodeOf(home);
    const coin = await topUp("0.03");
    const funded = await home.tip();
    const pin = await pinOf(coin);
    const said = async () => (await node.look({ pins: [pin], heights: [] })).spenders.get(coinText(coin));
    const signed = await spend([coin], await first(node));
    await node.send(signed.raw, signed.txId);
    const [block = ""] = await home.mine();
    expect(await said()).toMatchObject({ txId: signed.txId, blockHash: block });
    await home.rpc("invalidateblock", block);
    expect(await said()).toBeNull();
    await home.rpc("reconsiderblock", block);
    expect(await said()).toMatchObject({ txId: signed.txId, blockHash: block });
    await home.rpc("invalidateblock", funded);
    expect(await said()).toBeUndefined();
    await home.rpc("generateblock", await home.newAddress(), []);
    expect(await said()).toBe("missing");
    await home.rpc("reconsiderblock", funded);
    expect(await said()).toMatchObject({ txId: signed.txId, blockHash: block });
  });

  it("two nodes cut apart: a double spend wins, and both say so when they are joined again", async () => {
    await home.connect(away);
    const coin = await topUp("0.04");
    await home.connect(away);
    const pin = await pinOf(coin);
    const nodes = [nodeOf(home), nodeOf(away)] as const;
    const looks = async () =>
      agreeOnCoins(await Promise.all(nodes.map((node) => node.look({ pins: [pin], heights: [pin.from + 1] }))), 2);
    const demand = await first(nodes[0]);
    const ours = await spend([coin], demand);
    // Whoever else has the key.
    const theirs = await spend([coin], demand, { payments: [{ address: PAYEES.p2pkh, amountUnits: 3_900_000n }] });
    await home.disconnect(away);
    expect(await nodes[0].send(ours.raw, ours.txId)).toMatchObject({ meaning: "accepted" });
    expect(await nodes[1].send(theirs.raw, theirs.txId)).toMatchObject({ meaning: "accepted" });
    const [block = ""] = await home.mine(2);
    await away.mine(3, await home.newAddress());
    const apart = await looks();
    expect(apart?.spenders.get(coinText(coin))).toBeUndefined();
    expect(apart?.isSpentByAnother(coin, new Set([ours.txId]), 1)).toBe(false);
    await home.connect(away);
    const joined = await looks();
    const spender = joined?.spenders.get(coinText(coin));
    expect(spender).toMatchObject({ txId: theirs.txId });
    expect(joined?.isReplaced(pin.from + 1, block)).toBe(true);
    expect(joined?.isSpentByAnother(coin, new Set([ours.txId]), 3)).toBe(true);
    expect(joined?.isSpentByAnother(coin, new Set([ours.txId]), 4)).toBe(false);
    expect(await nodes[0].send(ours.raw, ours.txId)).toMatchObject({ meaning: "nonce_consumed" });
    await home.disconnect(away);
  });

  it("a node that ends and starts again never says more than it knows", async () => {
    const node = nodeOf(home);
    const signed = await spend([await topUp("0.05")], await first(node));
    await home.flush();
    let isBack = false;
    const restarted = home.restart().then(() => {
      isBack = true;
    });
    const meanings = new Set<SendMeaning>();
    while (!isBack) meanings.add((await node.send(signed.raw, signed.txId)).meaning);
    await restarted;
    expect(["accepted", "provider_unavailable", "unknown"]).toEqual(expect.arrayContaining([...meanings]));
    expect(await node.send(signed.raw, signed.txId)).toMatchObject({ meaning: "accepted" });
  });
});
