/**
 * A Bitcoin chain in memory (regtest), with real bytes: transactions, blocks and signatures that a real node takes.
 * One `BitcoinChain` is what one node believes: its best branch, the coins there, its pool. Its forks share all
 * blocks ever made and move apart from there. Nothing is random, and time is the chain's own.
 *
 *   const chain = BitcoinChain.grown();             110 blocks; ten of them pay coins that can be spent
 *   const tx = chain.pay(address, 50_000n);         into the pool; `from`, `outputs`, `feeRate`, `coins`, `legacy`
 *   chain.mine();                                   everything in the pool; `mine(n, { coinbaseTo, include })`
 *   chain.reorg(2, { keep: [tx] });                 two blocks off, three others on; what came off waits again
 *   const raised = chain.replace(tx, { feeRate: 20n });   the same inputs, another fee; `outputs` for a double spend
 *   const other = chain.fork(1);                    another node's belief, one block behind; other.mine(3)
 *   chain.join(other);                              the longer branch wins on both sides; chain.relay(other): pools too
 *   chain.invalidate(hash);                         as `invalidateblock`
 *   chain.spend({ inputs: [chain.coinOf(tx, 0, key)], outputs: [{ to, amount }] });   any transaction, not sent
 *   malleate(tx), testKey(name)                     of bitcoin-tx.ts and bitcoin-faucet.ts
 *   chain.submit(tx); chain.put(tx); chain.forget(txid);  as a node would / past all policy / out of the pool
 *
 * Nodes that show it over JSON-RPC: bitcoin-double.ts.
 */

import { BitcoinBranch } from "./bitcoin-branch.ts";
import { FAUCET, type KeyedCoin, type Spend, signTx, type TestKey } from "./bitcoin-faucet.ts";
import { type BitcoinTx, type Coin, outPointText, scriptOf, scriptType } from "./bitcoin-tx.ts";

const MATURE = 100;
/** Satoshi per virtual byte. */
const FEE_RATE = 5n;
const RAISED_FEE_RATE = 20n;
const RBF = 0xfffffffd;
const INPUT_BYTES = 68n;
const LEGACY_INPUT_BYTES = 148n;
const LEAST_CHANGE = 1_000n;

export interface Paid {
  /** Address of regtest, or a script in hex. */
  readonly to: string;
  /** Satoshi. */
  readonly amount: bigint;
}

export interface PayOptions {
  /** More outputs after the first. */
  readonly outputs?: readonly Paid[];
  /** Satoshi per virtual byte. */
  readonly feeRate?: bigint;
  readonly sequence?: number;
  /** What to spend, in place of the first coins that suffice. */
  readonly coins?: readonly KeyedCoin[];
  /** Who pays; the faucet unless given. */
  readonly from?: TestKey;
  /** Spends a P2PKH coin, so that the txid is malleable. */
  readonly legacy?: boolean;
  /** Do not put it into the pool. */
  readonly keepBack?: boolean;
}

export interface ReplaceOptions {
  /** Satoshi per virtual byte. */
  readonly feeRate?: bigint;
  readonly outputs?: readonly Paid[];
  /** Whose coins are spent; the faucet's unless given. */
  readonly keys?: readonly TestKey[];
  readonly keepBack?: boolean;
}

export class BitcoinChain extends BitcoinBranch {
  /** A chain of so many blocks: every fifth pays the faucet's P2PKH script, the others its P2WPKH script. */
  static grown(blocks = 110, { time }: { time?: (height: number) => number } = {}): BitcoinChain {
    const chain = new BitcoinChain();
    if (time !== undefined) chain.time = time;
    for (let height = 1; height <= blocks; height++)
      chain.mine(1, { coinbaseTo: height % 5 === 0 ? FAUCET.legacyScript : FAUCET.script });
    return chain;
  }

  /** What a node believes that has not got the top `depth` blocks yet; what they hold waits in its pool. */
  fork(depth = 0): BitcoinChain {
    const other = new BitcoinChain(this);
    other.stepBack(depth);
    return other;
  }

  /** Pays, and puts the transaction into the pool. What is left goes back to who pays. */
  pay(to: string, amount: bigint, options: PayOptions = {}): BitcoinTx {
    const { feeRate = FEE_RATE, sequence = RBF, legacy = false, from = FAUCET } = options;
    const outputs = [{ to, amount }, ...(options.outputs ?? [])].map(scripted);
    const bytes = 11n + outputs.reduce((sum, { script }) => sum + 9n + BigInt(script.length / 2), 31n);
    const inputs: (KeyedCoin & { sequence: number })[] = [];
    let left = -total(outputs) - bytes * feeRate;
    for (const coin of options.coins ?? this.coinsOf(from, legacy ? from.legacyScript : from.script)) {
      if (left >= 0n && options.coins === undefined) break;
      inputs.push({ ...coin, sequence });
      left += coin.amount - feeRate * (scriptType(coin.script) === "pubkeyhash" ? LEGACY_INPUT_BYTES : INPUT_BYTES);
    }
    if (left < 0n) throw new Error(`${-left} satoshi are missing; a coinbase can be spent after ${MATURE} blocks`);
    if (left >= LEAST_CHANGE) outputs.push({ script: from.script, amount: left });
    const tx = signTx({ inputs, outputs });
    if (options.keepBack !== true) this.submit(tx);
    return tx;
  }

  /**
   * A transaction with the same inputs, of the faucet or of `keys`, at another fee. It pays the same, or else these
   * `outputs`; what is left is the payer's change, and where there is none the last output bears the fee.
   */
  replace(tx: BitcoinTx, { feeRate = RAISED_FEE_RATE, outputs, keys = [FAUCET], keepBack }: ReplaceOptions): BitcoinTx {
    const coins = tx.inputs.map((input) => {
      const coin = this.pool.coin(input, this.view) ?? this.spentCoin(outPointText(input));
      if (coin === undefined) throw new Error(`nobody knows what ${outPointText(input)} holds`);
      const { amount, script } = coin;
      const key = keys.find((one) => [one.script, one.legacyScript, one.taprootScript].includes(script));
      if (key === undefined) throw new Error(`no key at hand spends ${outPointText(input)}`);
      return { ...input, amount, script, key };
    });
    const own = keys[0]?.script ?? FAUCET.script;
    const paid = (outputs ?? tx.outputs.map(({ script, amount }) => ({ to: script, amount }))).map(scripted);
    const last = paid.findLast(({ script }) => script === own);
    const change = last ?? (outputs === undefined ? paid.at(-1) : { script: own, amount: 0n });
    if (change === undefined) throw new Error("a transaction pays somebody");
    if (!paid.includes(change)) paid.push(change);
    const { vsize } = signTx({ inputs: coins, outputs: paid });
    change.amount += total(coins) - total(paid) - feeRate * BigInt(vsize + 1);
    if (change.amount < LEAST_CHANGE)
      throw new Error(`only ${change.amount} satoshi would be left of what bears the fee`);
    const other = signTx({ inputs: coins, outputs: paid });
    if (keepBack !== true) this.submit(other);
    return other;
  }

  /** Any transaction of coins whose keys are at hand, signed and not sent. */
  spend(spend: Omit<Spend, "outputs"> & { readonly outputs: readonly Paid[] }): BitcoinTx {
    return signTx({ ...spend, outputs: spend.outputs.map(scripted) });
  }

  /** An output as `spend` wants it, mined or not. */
  coinOf({ txid, outputs }: BitcoinTx, vout = 0, key = FAUCET): KeyedCoin {
    const output = outputs[vout];
    if (output === undefined) throw new Error(`${txid} has no output ${vout}`);
    return { txid, vout, ...output, key };
  }

  faucetCoins(legacy = false): KeyedCoin[] {
    return this.coinsOf(FAUCET, legacy ? FAUCET.legacyScript : FAUCET.script);
  }

  /** What a key can spend now, the oldest first; what is not mined yet comes last. */
  coinsOf(key: TestKey, script = key.script): KeyedCoin[] {
    const mined: (KeyedCoin & Coin)[] = [];
    for (const [place, coin] of this.view.entries()) {
      const isYoung = coin.coinbase && this.head + 1 - coin.height < MATURE;
      const [txid = "", vout = ""] = place.split(":");
      if (coin.script === script && !isYoung) mined.push({ txid, vout: Number(vout), ...coin, key });
    }
    mined.sort((a, b) => a.height - b.height);
    const waiting = this.pool.txs.flatMap((tx) =>
      tx.outputs.flatMap((output, vout) => (output.script === script ? [this.coinOf(tx, vout, key)] : [])),
    );
    return [...mined, ...waiting].filter((coin) => this.pool.spender(coin) === undefined);
  }
}

const total = (outputs: readonly { readonly amount: bigint }[]) =>
  outputs.reduce((sum, { amount }) => sum + amount, 0n);

function scripted({ to, amount }: Paid): { script: string; amount: bigint } {
  return { script: scriptOf(to), amount };
}
