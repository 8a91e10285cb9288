/** Withdrawals that are asked for by a client who repeats itself, driven by alarms to the end, and paid once. */

import { runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import type { WithdrawalView } from "../../../src/core/views.ts";
import { newAddress } from "../../support/model-chain.ts";
import { chain, quiet } from "../line.ts";
import { checkPayouts, PayingMerchant, startPayouts, wallets } from "../payout-line.ts";
import { insist, machine, type Run, until } from "./scenario.ts";

export const TOK = newAddress();
/** Shorter than a pause after a round that broke off: looks that have to be repeated are. */
const STEP_MS = 16_000;

let runs = 0;

export class Payouts {
  readonly merchant: PayingMerchant;

  private constructor(merchant: PayingMerchant) {
    this.merchant = merchant;
  }

  static async start(): Promise<Payouts> {
    quiet("warn", "error");
    await startPayouts();
    const merchant = await PayingMerchant.start({ token: TOK });
    // Whatever is signed after a crash has other bytes.
    machine.onCrash = () => {
      wallets.baseFee += 1n;
    };
    return new Payouts(merchant);
  }

  /** A withdrawal from its request to the final block of its transaction. */
  pay = async (asset: "ETH" | "TOK", { mayBeReplaced = false } = {}): Promise<Run> => {
    const destination = newAddress();
    await this.#restAndForget();
    const key = `crash-${++runs}`;
    let id = "";
    return {
      act: async () => {
        id = await this.#ask({ asset, destination }, key);
        await this.#untilFinal(id);
      },
      check: () => this.#checkPaid(id, destination, mayBeReplaced),
    };
  };

  /** One whose block is replaced after it was confirmed, and which the pools have forgotten. */
  payAgain = async (): Promise<Run> => {
    const destination = newAddress();
    await this.#restAndForget();
    const id = await this.#ask({ asset: "ETH", destination }, `crash-${++runs}`);
    await this.#until(async () => (await this.#state(id)) === "confirmed");
    return {
      act: async () => {
        wallets.reorg(3, { keep: false });
        await this.#until(async () => (await this.#reasons(id)).includes("reorganised"), false);
        await this.#untilFinal(id);
      },
      check: () => this.#checkPaid(id, destination, true),
    };
  };

  checkAll(): Promise<void> {
    return checkPayouts(this.merchant);
  }

  /** As on the wallet's first day, so that its first look is among the steps, and with no alarm of earlier ones. */
  async #restAndForget(): Promise<void> {
    const { merchant } = this;
    await merchant.evict();
    await merchant.inside((_, sql) => sql.exec("UPDATE wallets SET used_below = -1"));
    await runInDurableObject(merchant.stub, (_, { storage }) => storage.deleteAlarm());
  }

  async #ask(wanted: { asset: string; destination: string }, key: string): Promise<string> {
    const asked = await insist(() => this.merchant.ask({ ...wanted, amount: "0.01" }, key));
    return (asked as WithdrawalView).id;
  }

  #untilFinal(id: string): Promise<void> {
    return this.#until(async () => (await this.#state(id)) === "confirmed" && (await this.#isFinal(id)));
  }

  async #checkPaid(id: string, destination: string, mayBeReplaced: boolean): Promise<void> {
    const { merchant } = this;
    const paid = wallets.paidBy(merchant.wallet).filter(({ to, success }) => success && to === destination);
    expect(paid).toHaveLength(1);
    const { attempts, state } = await merchant.withdrawal(id);
    expect([state, new Set(attempts.map(({ nonce }) => nonce)).size]).toEqual(["confirmed", 1]);
    // What takes long may be offered more for, and is not signed for anew otherwise.
    if (!mayBeReplaced) expect(attempts).toHaveLength(1);
    // It was asked for once, in the commit that reserved for it, and whoever asked again was told so.
    const asked = await merchant.inside((_, sql) =>
      sql
        .exec<{ outcome: string }>("SELECT outcome FROM audit_log WHERE call = 'createWithdrawal' AND subject = ?", id)
        .toArray(),
    );
    expect(asked.map(({ outcome }) => outcome)).toEqual(["ok", ...asked.slice(1).map(() => "replayed")]);
    // I8: nothing came to any node that is not written down.
    const stored = await merchant.inside((_, sql) =>
      sql.exec<{ hash: string }>("SELECT tx_id AS hash FROM attempts").toArray(),
    );
    const hashes = new Set(stored.map(({ hash }) => hash));
    expect([...wallets.received.keys()].filter((hash) => !hashes.has(hash))).toEqual([]);
  }

  #until(isSo: () => Promise<boolean>, isMining = true): Promise<void> {
    const between = () => {
      if (!isMining) return;
      wallets.mine();
      // Deep enough at once: looks that change nothing are no new places to end at.
      chain.grow(2);
    };
    return until(isSo, [() => this.merchant.stub as never], { stepMs: STEP_MS, between });
  }

  #state(id: string): Promise<unknown> {
    return this.merchant.inside((_, sql) => sql.exec("SELECT state FROM withdrawals WHERE id = ?", id).one().state);
  }

  #reasons(id: string): Promise<unknown[]> {
    return this.merchant.inside((_, sql) =>
      sql
        .exec("SELECT reason FROM withdrawal_transitions WHERE withdrawal_id = ?", id)
        .toArray()
        .map(({ reason }) => reason),
    );
  }

  #isFinal(id: string): Promise<boolean> {
    return this.merchant.inside((_, sql) => {
      const open = sql.exec("SELECT 1 FROM slots WHERE status = 'open' AND withdrawal_id = ?", id).toArray();
      return open.length === 0;
    });
  }
}
