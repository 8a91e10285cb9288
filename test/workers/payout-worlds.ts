/**
 * One small world for each way to pay out: a wallet whose transactions count nonces, one that is a set of coins, and
 * those whose transactions expire. Amounts of one coin, accounts of ten. What every withdrawal must keep is tested over
 * all of them alike.
 */

import type { BalanceView, WalletView, WithdrawalView } from "../../src/core/views.ts";
import type { WithdrawalState } from "../../src/core/withdrawal.ts";
import type { Tenant } from "../../src/index.ts";
import { CoreError } from "../support/bitcoin-double.ts";
import { newAddress } from "../support/model-chain.ts";
import * as bitcoin from "./bitcoin-line.ts";
import { checkCoinPayouts, expectStrangers, receivedBy } from "./coin-checks.ts";
import { BTC, CoinMerchant, newBitcoinAddress, startCoins, WINDOW } from "./coin-line.ts";
import { expiringWorld, tronWorld } from "./expiring-worlds.ts";
import * as nonces from "./payout-line.ts";

/** What merchants of every world can do. */
export interface PayoutMerchant {
  readonly id: string;
  readonly key: string;
  call(method: string, path: string, options?: { readonly body?: unknown }): Promise<Response>;
  inside<T>(work: (object: Tenant, sql: SqlStorage) => T | Promise<T>): Promise<T>;
  balances(): Promise<BalanceView[]>;
  /** A request for one coin as it is sent; the key is a new one unless given. */
  ask(wanted?: { readonly destination?: string; readonly amount?: string }, key?: string): Promise<Response>;
  /** One that is accepted, and the round it set off. */
  withdraw(wanted?: { readonly destination?: string }, key?: string): Promise<WithdrawalView>;
  withdrawal(id: string): Promise<WithdrawalView>;
  withdrawals(): Promise<WithdrawalView[]>;
  state(id: string): Promise<WithdrawalState>;
  /** The reasons of its steps so far, from the reservation on. */
  steps(id: string): Promise<string>;
  /** What a person does with one: status and code. */
  act(id: string, action: string, body?: unknown): Promise<string>;
  hotWallet(): Promise<WalletView>;
  drive(times?: number, stepMs?: number): Promise<void>;
  mineAndDrive(times?: number): Promise<void>;
  /** Until nothing is under way any more. */
  rest(): Promise<void>;
}

export interface PayoutWorld {
  readonly network: string;
  /** In base units. */
  readonly oneCoin: bigint;
  /** Blocks from the first on after which a payment counts. */
  readonly deep: number;
  /** Blocks from the first on after which nothing is replaced. */
  readonly final: number;
  /** Reason of the step with which a withdrawal gets what its payment needs. */
  readonly assigned: string;
  /** Signed payments of one withdrawal exclude each other, and one takes another's place. Otherwise one lives until it expires. */
  readonly replaces: boolean;
  /** Nothing counts before it is final, so nothing is ever taken back. */
  readonly confirmsFinal: boolean;
  /** An object restored from an older copy takes in what the lost copy has paid, and asks nobody. */
  readonly recovers: boolean;
  /** A new chain with one provider. */
  start(): Promise<void>;
  /** Somebody with ten coins in an account, and enough in the wallet for as many payments at once. */
  merchant(): Promise<PayoutMerchant>;
  address(): string;
  /** Payments to a receiver on the best chain. */
  received(merchant: PayoutMerchant, to: string): bigint[] | Promise<bigint[]>;
  /** What must hold whenever everything has come to rest. */
  check(merchant: PayoutMerchant): Promise<void>;
  /** The next send does what it shall, and its answer is lost. */
  loseAnswer(): void | Promise<void>;
  /** Ways in which the next send can be answered without anybody knowing what became of the bytes. */
  readonly answers: Readonly<Record<string, () => void | Promise<void>>>;
  honestAgain(): void | Promise<void>;
  /** What is signed from now on offers more. */
  raiseFees(): void | Promise<void>;
  /** A block with this attempt alone, whatever the pools hold. */
  mineOnly(merchant: PayoutMerchant, txId: string): Promise<void>;
  /** Takes the top blocks off and puts more empty ones in their place; the pools take nothing back. */
  reorg(depth: number): void | Promise<void>;
  /** The pools forget everything. */
  forget(): void | Promise<void>;
  /** The scanner says that the network is halted. @returns how to go on */
  halt(): () => void;
  /** What was signed lands no more, but by `mineOnly`: where nothing replaces it, it has to expire. */
  strand(): void | Promise<void>;
  /**
   * Somebody else's transaction, in a block, that takes what the latest payment needs. Null where nobody else can:
   * then what cannot be mined any more is shown otherwise.
   */
  readonly takeAway: ((merchant: PayoutMerchant) => Promise<void>) | null;
}

const excludes = {
  replaces: true,
  confirmsFinal: false,
  recovers: false,
  halt() {
    const halted = nonces.halt();
    return () => void halted.mockRestore();
  },
  strand: () => {},
};

const nonceWorld: PayoutWorld = {
  ...excludes,
  network: "local",
  oneCoin: nonces.ETH,
  deep: 3,
  final: nonces.FINAL_BLOCKS + 1,
  assigned: "nonce_assigned",
  start: () => nonces.startPayouts(),
  merchant: () => nonces.PayingMerchant.start(),
  address: newAddress,
  received: (merchant, to) => nonces.received(merchant as nonces.PayingMerchant, to),
  check: (merchant) => nonces.checkPayouts(merchant as nonces.PayingMerchant),
  loseAnswer: () => nonces.provider().loseAnswers("eth_sendRawTransaction"),
  answers: {
    "HTTP 429": () => nonces.provider().turnAway("eth_sendRawTransaction", 429),
    "HTTP 502": () => nonces.provider().turnAway("eth_sendRawTransaction", 502),
    "words nobody knows": () =>
      nonces.provider().next("eth_sendRawTransaction", 1, () => {
        throw new Error("the moon is full");
      }),
    "another id": () => nonces.provider().next("eth_sendRawTransaction", 1, () => `0x${"11".repeat(32)}`),
  },
  honestAgain: () => {
    nonces.provider().http = null;
  },
  raiseFees: () => {
    nonces.wallets.baseFee *= 2n;
    nonces.wallets.tip *= 2n;
  },
  async mineOnly(merchant, txId) {
    const signed = await (merchant as nonces.PayingMerchant).signed();
    nonces.wallets.mineOnly(...signed.filter(({ hash }) => hash === txId));
  },
  reorg: (depth) => nonces.wallets.reorg(depth, { keep: false }),
  forget: () => nonces.wallets.forget(),
  async takeAway(merchant) {
    const own = merchant as nonces.PayingMerchant;
    const nonce = (await own.signed()).at(-1)?.nonce ?? 0;
    nonces.wallets.forget();
    nonces.wallets.mineOnly(await own.foreign(nonce));
  },
};

const failSend = (code: number, text: string) => () =>
  bitcoin.node.next("sendrawtransaction", 1, () => {
    throw new CoreError(code, text);
  });

const coinWorld: PayoutWorld = {
  ...excludes,
  network: bitcoin.NETWORK,
  oneCoin: BTC,
  deep: 3,
  final: WINDOW + 1,
  assigned: "coins_chosen",
  start: async () => {
    expectStrangers();
    await startCoins();
  },
  merchant: () => CoinMerchant.start({ coins: Array.from({ length: 6 }, () => 2n * BTC) }),
  address: newBitcoinAddress,
  received: (_, to) => receivedBy(to),
  check: (merchant) => checkCoinPayouts(merchant as CoinMerchant),
  loseAnswer: () => bitcoin.node.loseAnswers("sendrawtransaction"),
  answers: {
    "HTTP 503": () => bitcoin.node.turnAway("sendrawtransaction", 503),
    "-25, for an input that is gone": failSend(-25, "bad-txns-inputs-missingorspent"),
    "-26, in words nobody knows": failSend(-26, "the moon is full"),
    "-28": failSend(-28, "Loading block index…"),
    "another id": () => bitcoin.node.next("sendrawtransaction", 1, () => "11".repeat(32)),
  },
  honestAgain: () => bitcoin.node.honestAgain(),
  raiseFees: () => {
    bitcoin.node.facts.estimate = 20_000n;
  },
  async mineOnly(merchant, txId) {
    const signed = await (merchant as CoinMerchant).signed();
    bitcoin.chain.mine(1, { include: signed.filter(({ txid }) => txid === txId) });
  },
  reorg: (depth) => void bitcoin.chain.reorg(depth, { pool: "drop" }),
  forget: () => bitcoin.chain.forget(),
  async takeAway(merchant) {
    const own = merchant as CoinMerchant;
    const theirs = await own.foreign((await own.last()).inputs.slice(0, 1), BTC / 2n);
    bitcoin.chain.forget();
    bitcoin.chain.mine(1, { include: [theirs] });
    expectStrangers(theirs.txid);
  },
};

export const PAYOUT_WORLDS: readonly (readonly [wallet: string, world: PayoutWorld])[] = [
  ["that counts nonces", nonceWorld],
  ["of coins", coinWorld],
  ["whose transactions expire", expiringWorld],
  ["of TRON", tronWorld],
];

/** Available, reserved and settled of the account, in whole coins. */
export async function fundsOf(merchant: PayoutMerchant): Promise<string> {
  const balance = (await merchant.balances()).find(({ account }) => account === "default");
  return [balance?.available, balance?.reserved, balance?.settled].map(Number).join(" ");
}

/** Takes a copy of all that the object has. @returns how to put it back */
export async function copyOf(merchant: PayoutMerchant): Promise<() => Promise<void>> {
  const copy = await merchant.inside((_, sql) => {
    const own =
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_*' AND name NOT GLOB 'sqlite_*'";
    const names = sql.exec<{ name: string }>(own).toArray();
    return names.map(({ name }) => ({ name, rows: sql.exec(`SELECT * FROM "${name}"`).toArray() }));
  });
  return () =>
    merchant.inside((_, sql) => {
      for (const { name, rows } of copy) {
        sql.exec(`DELETE FROM "${name}"`);
        for (const row of rows) {
          const columns = Object.keys(row).map((column) => `"${column}"`);
          const marks = columns.map(() => "?");
          sql.exec(`INSERT INTO "${name}" (${columns.join()}) VALUES (${marks.join()})`, ...Object.values(row));
        }
      }
    });
}
