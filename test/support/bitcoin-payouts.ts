/**
 * What must hold whenever a Bitcoin chain rests after withdrawals, read from its blocks: each withdrawal that is called
 * paid has one output of its amount, no other has any, and what the wallet has left is what it was given less that.
 */

import { HDKey } from "@scure/bip32";
import { WIF } from "@scure/btc-signer";
import { FEE_ACCOUNT } from "../../src/core/ledger.ts";
import type { LedgerEntryView, WithdrawalView } from "../../src/core/views.ts";
import { isOpen } from "../../src/core/withdrawal.ts";
import type { BitcoinBook, Output, Transaction } from "./bitcoin-book.ts";
import { btcOf, derivedBy } from "./bitcoin-payer.ts";
import { type BitcoinStage, REGTEST, WINDOW } from "./bitcoin-stage.ts";
import type { Merchant } from "./merchant.ts";
import { expectAgreedOn } from "./payouts.ts";

const TEST_KEYS = { public: 0x043587cf, private: 0x04358394 };
const REGTEST_FORM = { bech32: "bcrt", pubKeyHash: 0x6f, scriptHash: 0xc4, wif: 0xef };
/** Change addresses looked at: a wallet here makes fewer transactions. */
const CHANGE = 40;
const FUNDED_WITHIN_MS = 60_000;
const DEEP = 2;

export interface Funding {
  readonly shop: Merchant;
  /** To its account. */
  readonly btc: string;
  /** To its hot wallet, each a coin of its own. */
  readonly coins: readonly string[];
}

/** Pays all of it, and waits until it counts. */
export async function fund({ first: { node } }: BitcoinStage, fundings: readonly Funding[]): Promise<void> {
  for (const { shop, btc, coins } of fundings) {
    const { address } = await shop.watch({ network: REGTEST, address: await node.newAddress() });
    await node.pay(address, btc);
    const wallet = await shop.wallet(REGTEST);
    for (const coin of coins) await node.pay(wallet.address, coin);
    // The node pays out of its own change, and a chain of 25 payments that wait is the longest that it makes.
    await node.mine(1);
  }
  await node.mine(DEEP);
  const until = Date.now() + FUNDED_WITHIN_MS;
  for (const { shop, btc, coins } of fundings) {
    const wanted = coins.reduce((sum, coin) => sum + Math.round(Number(coin) * 1e8), 0);
    for (;;) {
      const [balance] = await shop.balances();
      const held = Number(await walletUnits(shop));
      if (Number(balance?.available) === Number(btc) && held === wanted) break;
      if (Date.now() > until) throw new Error(`${shop.tenantId} has ${balance?.available}, its wallet ${held}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Satoshi of the hot wallet, as it is shown. */
export async function walletUnits(shop: Merchant): Promise<bigint> {
  return BigInt((await shop.wallet(REGTEST)).balances?.find(({ asset }) => asset === "BTC")?.amount_units ?? -1);
}

/** A hot wallet's keys, found from the seed as the documents say. */
export interface WalletKeys {
  /** 0/0, then 1/0, 1/1, ... */
  readonly addresses: readonly string[];
  /** For `signrawtransactionwithkey`, by place in `addresses`. */
  readonly wifs: readonly string[];
}

export function walletKeys(stage: BitcoinStage, shop: Merchant): Promise<WalletKeys> {
  const known = keys.get(shop) ?? deriveKeys(stage, shop);
  keys.set(shop, known);
  return known;
}

const keys = new WeakMap<Merchant, Promise<WalletKeys>>();

async function deriveKeys({ service, first }: BitcoinStage, shop: Merchant): Promise<WalletKeys> {
  const { signer } = await shop.wallet(REGTEST);
  if (signer.type !== "derived") throw new Error("somebody else signs");
  const account = HDKey.fromMasterSeed(Buffer.from(service.walletSeed, "hex"), TEST_KEYS).derive(signer.path);
  const xpub = account.publicExtendedKey;
  const [topUp = ""] = await derivedBy(first.node, "wpkh", xpub, 0);
  const change = await derivedBy(first.node, "wpkh", xpub, CHANGE - 1, 1);
  const paths = ["m/0/0", ...change.map((_, i) => `m/1/${i}`)];
  const wifs = paths.map((path) => WIF(REGTEST_FORM).encode(account.derive(path).privateKey ?? new Uint8Array()));
  return { addresses: [topUp, ...change], wifs };
}

/**
 * A transaction that somebody else makes with the wallet's keys: all of one output, but for a fee, to `to`. Its fee is
 * above any of ours.
 */
export async function foreignSpend(
  stage: BitcoinStage,
  book: BitcoinBook,
  shop: Merchant,
  coin: string,
  to: string,
): Promise<string> {
  const { node } = stage.first;
  const { addresses, wifs } = await walletKeys(stage, shop);
  const output = (await book.ledger()).outputs.get(coin);
  if (output === undefined) throw new Error(`${coin} is in no block`);
  const scripts = await Promise.all(addresses.map((address) => book.scriptOf(address)));
  const wif = wifs[scripts.indexOf(output.script)];
  if (wif === undefined) throw new Error(`${coin} is not the wallet's`);
  const { txId: txid, vout, script: scriptPubKey, units } = output;
  const raw = await node.rpc<string>("createrawtransaction", [{ txid, vout }], [{ [to]: btcOf(units - 100_000n) }]);
  const previous = [{ txid, vout, scriptPubKey, amount: btcOf(units) }];
  return (await node.rpc<{ hex: string }>("signrawtransactionwithkey", raw, [wif], previous)).hex;
}

/** Waits until chain, wallet, ledger, states, feed and webhooks say the same. */
export function expectPaidExactly(
  stage: BitcoinStage,
  book: BitcoinBook,
  merchants: readonly Merchant[],
): Promise<void> {
  return expectAgreedOn({ id: REGTEST, differences: (...of) => againstChain(stage, book, ...of) }, merchants);
}

async function againstChain(
  stage: BitcoinStage,
  book: BitcoinBook,
  merchant: Merchant,
  withdrawals: readonly WithdrawalView[],
  entries: readonly LedgerEntryView[],
): Promise<string[]> {
  const { height, byId, outputs, byScript, spent } = await book.ledger();
  const problems: string[] = [];

  const shares = new Map<string, bigint>();
  const own = new Map<string, Transaction>();
  for (const withdrawal of withdrawals) {
    const { id, state, destination, amount_units, tx_id, fee_units, attempts } = withdrawal;
    const paid = byScript.get(await book.scriptOf(destination)) ?? [];
    const what = paid.map(({ txId, units }) => `${units} by ${txId}`);
    if (paid.length > 1) problems.push(`I6: ${id} was paid ${paid.length} times: ${what}`);
    if (paid.some(({ units }) => units !== BigInt(amount_units))) problems.push(`I6: ${id} got ${what}`);
    if (state === "confirmed" && paid.length !== 1) problems.push(`I6: ${id} is confirmed and not paid`);
    if (paid.length > 0 && paid[0]?.txId !== tx_id) problems.push(`${id} was paid ${what}, shown is ${tx_id}`);
    if (!isOpen(state) && state !== "confirmed" && paid.length > 0) problems.push(`I9: ${id} is ${state} and paid`);
    if ((fee_units === null) !== (paid.length === 0)) problems.push(`${id} was paid ${what}, its fee is ${fee_units}`);
    if (fee_units !== null && tx_id !== null) shares.set(tx_id, (shares.get(tx_id) ?? 0n) + BigInt(fee_units));
    for (const attempt of attempts) {
      const transaction = byId.get(attempt.tx_id);
      if (transaction !== undefined) own.set(attempt.tx_id, transaction);
    }
    problems.push(...(await pinOf(stage, withdrawal)));
  }
  let final = 0n;
  for (const [txId, transaction] of own) {
    const fee = feeOf(transaction, outputs);
    if (shares.has(txId) && shares.get(txId) !== fee) problems.push(`${txId} cost ${fee}, shown: ${shares.get(txId)}`);
    if ((transaction.outputs[0]?.block?.height ?? height) <= height - WINDOW) final += fee;
  }
  const fees = entries.filter(({ account, network }) => account === FEE_ACCOUNT && network === REGTEST);
  const booked = fees.reduce((sum, entry) => sum + BigInt(entry.amount_units), 0n);
  if (booked !== final) problems.push(`fees of ${booked} are booked, ${final} are final`);

  const { addresses } = await walletKeys(stage, merchant);
  let left = 0n;
  for (const address of addresses) {
    for (const { txId, vout, units, block } of byScript.get(await book.scriptOf(address)) ?? []) {
      const isDeep = block !== null && height - block.height + 1 >= DEEP;
      if (isDeep && !spent.has(`${txId}:${vout}`)) left += units;
    }
  }
  const shown = await walletUnits(merchant);
  if (shown !== left) problems.push(`the wallet has ${left}, shown are ${shown}`);
  return problems;
}

/** I6, before anything is mined: all that was ever signed for it excludes one another. */
async function pinOf(stage: BitcoinStage, { id, attempts }: WithdrawalView): Promise<string[]> {
  const signed = await inputsSigned(stage);
  const inputs = attempts.flatMap(({ tx_id }) => {
    const known = signed.get(tx_id);
    return known === undefined ? [] : [known];
  });
  const [first, ...others] = inputs;
  if (first === undefined) return [];
  const shared = first.filter((input) => others.every((other) => other.includes(input)));
  return shared.length > 0 ? [] : [`I6: no input is in all ${inputs.length} transactions of ${id}`];
}

const decoded = new Map<string, { readonly txId: string; readonly inputs: readonly string[] }>();

/** Inputs (`txid:vout`) by txid of all that ever came to be sent. */
export async function inputsSigned({ first, second }: BitcoinStage): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  for (const raw of new Set([...first.proxy.sent, ...second.proxy.sent])) {
    let one = decoded.get(raw);
    if (one === undefined) {
      type Decoded = { txid: string; vin: { txid: string; vout: number }[] };
      const { txid, vin } = await first.node.rpc<Decoded>("decoderawtransaction", raw);
      one = { txId: txid, inputs: vin.map((input) => `${input.txid}:${input.vout}`) };
      decoded.set(raw, one);
    }
    found.set(one.txId, one.inputs);
  }
  return found;
}

function feeOf({ spends, outputs }: Transaction, all: ReadonlyMap<string, Output>): bigint {
  const given = spends.reduce((sum, ref) => sum + (all.get(ref)?.units ?? 0n), 0n);
  return given - outputs.reduce((sum, { units }) => sum + units, 0n);
}
