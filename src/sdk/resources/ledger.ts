/** What the books say, and whether they agree: balances, entries, reconciliation. */

import type { BalanceView, LedgerEntryView, ReconciliationView } from "../../core/views.ts";
import type { Call } from "../call.ts";
import type { List } from "../pages.ts";
import type { CallOptions, PostOptions, Transport } from "../transport.ts";
import type { LedgerFilter } from "../types.ts";

export class BalanceCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One per account and asset. */
  list(filter: LedgerFilter = {}, options?: CallOptions): List<BalanceView> {
    return this.#transport.list("/v1/balances", { ...filter }, options);
  }
}

export class LedgerEntryCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first, each with its cause. */
  list(filter: LedgerFilter = {}, options?: CallOptions): List<LedgerEntryView> {
    return this.#transport.list("/v1/ledger/entries", { ...filter }, options);
  }
}

export class ReconciliationCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The latest report. `NotFoundError` before the first. */
  get(options?: CallOptions): Call<ReconciliationView> {
    return this.#transport.call({ method: "GET", path: "/v1/reconciliation" }, options);
  }

  /** Compares chain, keys and ledger now. Changes nothing but the report. */
  run(options?: PostOptions): Call<ReconciliationView> {
    return this.#transport.call({ method: "POST", path: "/v1/reconciliation" }, options);
  }
}
