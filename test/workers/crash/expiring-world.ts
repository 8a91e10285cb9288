/** Withdrawals whose transactions expire, asked for by a client who repeats itself, driven by alarms to the end, and paid once. */

import { runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import type { WithdrawalView } from "../../../src/core/views.ts";
import { LIFE, newTronAddress, txIdOf } from "../../support/expiring-chain.ts";
import { chain, checkExpiring, ExpiringMerchant, firstNode, startExpiring, TRX } from "../expiring-line.ts";
import { quiet, time } from "../line.ts";
import { insist, machine, type Run, until } from "./scenario.ts";

/** Longer than a pause after a round that broke off. */
const STEP_MS = 16_000;
const HOUR_MS = 3_600_000;

let runs = 0;

export class ExpiringPayouts {
  readonly merchant: ExpiringMerchant;

  private constructor(merchant: ExpiringMerchant) {
    this.merchant = merchant;
  }

  static async start(): Promise<ExpiringPayouts> {
    quiet("warn", "error");
    startExpiring();
    const merchant = await ExpiringMerchant.start({ funds: 1_000n * TRX, inWallet: 100_000n * TRX });
    // Whatever is signed after a crash has other bytes.
    machine.onCrash = () => {
      chain.head++;
    };
    return new ExpiringPayouts(merchant);
  }

  /** A withdrawal from its request to the final block of its transaction. */
  pay = async (): Promise<Run> => {
    const destination = newTronAddress();
    await this.#restAndForget();
    const key = `expiring-crash-${++runs}`;
    let id = "";
    return {
      act: async () => {
        id = await this.#ask(destination, key);
        await this.#untilSettled(id);
      },
      check: () => this.#checkPaid(id, destination),
    };
  };

  /** One whose first transaction expires, and that is paid by the second. */
  payAnew = async (): Promise<Run> => {
    const destination = newTronAddress();
    await this.#restAndForget();
    firstNode().sending = "drops";
    const id = await this.#ask(destination, `expiring-crash-${++runs}`);
    await this.#until(async () => (await this.#state(id)) === "confirmation_tracking", 0);
    chain.mine(LIFE);
    return {
      act: async () => {
        firstNode().sending = "takes";
        chain.mine(5);
        await this.#untilSettled(id);
      },
      check: () => this.#checkPaid(id, destination, 2),
    };
  };

  /** One that a person gives up, and that is released when nothing of it can land. */
  giveUp = async (): Promise<Run> => {
    const destination = newTronAddress();
    await this.#restAndForget();
    firstNode().sending = "drops";
    const id = await this.#ask(destination, `expiring-crash-${++runs}`);
    await this.#until(async () => (await this.#state(id)) === "confirmation_tracking", 0);
    time.now += HOUR_MS;
    await this.#until(async () => (await this.#state(id)) === "manual_review", 0);
    return {
      act: async () => {
        const body = { outcome: "failed", evidence: "called off" };
        const headers = { "Idempotency-Key": `give-up-${id}` };
        await insist(() => this.merchant.call("POST", `/v1/withdrawals/${id}/resolve`, { body, headers }));
        await this.#until(async () => (await this.#state(id)) === "failed", 8);
        await this.#until(() => this.#isFinal(id), 1);
      },
      check: async () => {
        firstNode().sending = "takes";
        expect(chain.paidTo(destination)).toEqual([]);
        expect((await this.merchant.withdrawal(id)).attempts).toHaveLength(1);
      },
    };
  };

  checkAll(): Promise<void> {
    return checkExpiring(this.merchant);
  }

  async #restAndForget(): Promise<void> {
    const { merchant } = this;
    firstNode().sending = "takes";
    await merchant.evict();
    chain.mine(5);
    await runInDurableObject(merchant.stub, (_, { storage }) => storage.deleteAlarm());
  }

  async #ask(destination: string, key: string): Promise<string> {
    const asked = await insist(() => this.merchant.ask({ destination, amount: "0.001" }, key));
    return (asked as WithdrawalView).id;
  }

  async #untilSettled(id: string): Promise<void> {
    await this.#until(async () => (await this.#state(id)) === "confirmed" && (await this.#isFinal(id)), 4);
  }

  async #checkPaid(id: string, destination: string, attempts = 1): Promise<void> {
    expect(chain.paidTo(destination)).toEqual([1_000n]);
    const withdrawal = await this.merchant.withdrawal(id);
    expect(withdrawal.state).toBe("confirmed");
    const own = withdrawal.attempts.map(({ tx_id }) => tx_id);
    expect(own.length).toBeLessThanOrEqual(attempts);
    // I8: nothing came to any node that is not written down.
    const stored = await this.merchant.rows<{ tx_id: string }>("SELECT tx_id FROM expiring_attempts");
    const known = new Set(stored.map(({ tx_id }) => tx_id));
    expect(chain.sent.map(txIdOf).filter((txId) => !known.has(txId))).toEqual([]);
  }

  #until(isSo: () => Promise<boolean>, blocks: number): Promise<void> {
    const between = () => chain.mine(blocks);
    return until(isSo, [() => this.merchant.stub as never], { stepMs: STEP_MS, between });
  }

  #state(id: string): Promise<unknown> {
    return this.merchant.inside((_, sql) => sql.exec("SELECT state FROM withdrawals WHERE id = ?", id).one().state);
  }

  async #isFinal(id: string): Promise<boolean> {
    const query = `SELECT 1 AS n FROM expiring_payments WHERE status = 'open' AND withdrawal_id = '${id}'`;
    return (await this.merchant.rows(query)).length === 0;
  }
}
