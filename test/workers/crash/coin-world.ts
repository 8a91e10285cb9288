/** Withdrawals of coins that are asked for by a client who repeats itself, driven by alarms to the end, and paid once. */

import { runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import type { WithdrawalView } from "../../../src/core/views.ts";
import { parseTx } from "../../support/bitcoin-tx.ts";
import { chain, node, poll } from "../bitcoin-line.ts";
import { checkCoinPayouts, expectStrangers, receivedBy } from "../coin-checks.ts";
import { BTC, CoinMerchant, newBitcoinAddress, startCoins } from "../coin-line.ts";
import { quiet } from "../line.ts";
import { insist, machine, type Run, until } from "./scenario.ts";

/** Shorter than a pause after a round that broke off: looks that have to be repeated are. */
const STEP_MS = 16_000;

let runs = 0;

export class CoinPayouts {
  readonly merchant: CoinMerchant;

  private constructor(merchant: CoinMerchant) {
    this.merchant = merchant;
  }

  static async start(): Promise<CoinPayouts> {
    quiet("warn", "error");
    expectStrangers();
    await startCoins();
    const merchant = await CoinMerchant.start({ coins: [5n * BTC] });
    // Whatever is signed after a crash has other bytes.
    let estimate = 5_000n;
    machine.onCrash = () => {
      estimate += 10n;
      node.facts.estimate = estimate;
    };
    return new CoinPayouts(merchant);
  }

  /** A withdrawal from its request to the final block of its transaction. */
  pay = async ({ mayBeReplaced = false } = {}): Promise<Run> => {
    const destination = newBitcoinAddress();
    await this.#restAndForget();
    const key = `coin-crash-${++runs}`;
    let id = "";
    return {
      act: async () => {
        id = await this.#ask(destination, key);
        await this.#untilFinal(id);
      },
      check: () => this.#checkPaid(id, destination, mayBeReplaced),
    };
  };

  /** One that is replaced. */
  replace = async (): Promise<Run> => {
    const destination = newBitcoinAddress();
    await this.#restAndForget();
    const id = await this.#ask(destination, `coin-crash-${++runs}`);
    await this.#until(async () => (await this.#state(id)) === "confirmation_tracking", false);
    return {
      act: async () => {
        await insist(() => this.#hurry(id));
        await this.#until(async () => (await this.#attempts(id)) > 1, false);
        await this.#untilFinal(id);
      },
      check: () => this.#checkPaid(id, destination, true),
    };
  };

  /** One whose change does not cover the dearer fee: a further coin is added, and given back since the first is mined. */
  extend = async (): Promise<Run> => {
    const destination = newBitcoinAddress();
    chain.pay(this.merchant.wallet, 102_000n);
    await this.#restAndForget();
    node.facts.estimate = 5_000n;
    const id = await this.#ask(destination, `coin-crash-${++runs}`);
    await this.#until(async () => (await this.#state(id)) === "confirmation_tracking", false);
    const first = await this.merchant.last();
    if (first.inputs.length !== 1 || first.outputs.length > 2) throw new Error("expected one small coin to be spent");
    return {
      act: async () => {
        node.facts.estimate = 60_000n;
        await insist(() => this.#hurry(id));
        await this.#until(async () => (await this.#attempts(id)) > 1, false);
        chain.mine(1, { include: [first] });
        await this.#untilFinal(id);
        await this.#until(
          async () => (await this.merchant.rows("SELECT 1 AS n FROM spend_inputs WHERE status = 'freed'")).length === 0,
        );
      },
      check: () => this.#checkPaid(id, destination, true),
    };
  };

  checkAll(): Promise<void> {
    return checkCoinPayouts(this.merchant);
  }

  /** The change of earlier runs is deep enough again, and there is no alarm of them. */
  async #restAndForget(): Promise<void> {
    const { merchant } = this;
    await merchant.evict();
    for (let i = 0; i < 3; i++) {
      chain.mine();
      await poll(1);
    }
    await poll(1);
    await runInDurableObject(merchant.stub, (_, { storage }) => storage.deleteAlarm());
  }

  #hurry(id: string): Promise<Response> {
    return this.merchant.call("POST", `/v1/withdrawals/${id}/speed-up`, {
      headers: { "Idempotency-Key": `hurry-${id}` },
    });
  }

  async #ask(destination: string, key: string): Promise<string> {
    const asked = await insist(() => this.merchant.ask({ destination, amount: "0.001" }, key));
    return (asked as WithdrawalView).id;
  }

  #untilFinal(id: string): Promise<void> {
    return this.#until(async () => (await this.#state(id)) === "confirmed" && (await this.#isFinal(id)));
  }

  async #checkPaid(id: string, destination: string, mayBeReplaced: boolean): Promise<void> {
    const { merchant } = this;
    expect(receivedBy(destination)).toEqual([100_000n]);
    const { attempts, state } = await merchant.withdrawal(id);
    expect(state).toBe("confirmed");
    // What takes long may be offered more for, and is not signed for anew otherwise.
    if (!mayBeReplaced) expect(attempts).toHaveLength(1);
    // I8: nothing came to any node that is not written down.
    const stored = await merchant.rows<{ tx_id: string }>("SELECT tx_id FROM spend_attempts");
    const known = new Set(stored.map(({ tx_id }) => tx_id));
    expect(node.sent.map((raw) => parseTx(raw).txid).filter((txid) => !known.has(txid))).toEqual([]);
  }

  #until(isSo: () => Promise<boolean>, isMining = true): Promise<void> {
    const between = () => {
      // Deep enough at once: looks that change nothing are no new places to end at.
      if (isMining) chain.mine(3);
    };
    return until(isSo, [() => this.merchant.stub as never], { stepMs: STEP_MS, between });
  }

  #state(id: string): Promise<unknown> {
    return this.merchant.inside((_, sql) => sql.exec("SELECT state FROM withdrawals WHERE id = ?", id).one().state);
  }

  async #attempts(id: string): Promise<number> {
    const query = `SELECT 1 AS n FROM spend_attempts AS a JOIN spend_members AS m ON m.number = a.number WHERE m.withdrawal_id = '${id}'`;
    return (await this.merchant.rows(query)).length;
  }

  async #isFinal(id: string): Promise<boolean> {
    const query = `SELECT 1 AS n FROM spends AS s JOIN spend_members AS m ON m.number = s.number
      WHERE s.status = 'open' AND m.withdrawal_id = '${id}'`;
    return (await this.merchant.rows(query)).length === 0;
  }
}
