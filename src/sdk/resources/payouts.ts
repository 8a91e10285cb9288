/** What is paid out, from where, and what is allowed: withdrawals, wallets, policies. */

import type { PoliciesView } from "../../core/policy-view.ts";
import type { EstimateView, WalletView, WithdrawalView } from "../../core/views.ts";
import type { Call } from "../call.ts";
import type { List } from "../pages.ts";
import { type CallOptions, type PostOptions, pathOf, type Transport } from "../transport.ts";
import type {
  NewConfirmationRules,
  NewWithdrawal,
  NewWithdrawalRules,
  Paged,
  Rejection,
  Resolution,
  SignerChoice,
  WithdrawalFilter,
} from "../types.ts";

export interface WithdrawalOptions extends CallOptions {
  /**
   * What keeps this payment from being made twice: 1 to 255 printable ASCII characters that name it for ever,
   * such as your own id of the payout. Store it before you call; after a crash, call again with the stored one.
   */
  readonly idempotencyKey: string;
}

export class WithdrawalCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Pays something out, at most once for each idempotency key.
   *
   * The key is required, and none is made up here: a program that ends between the call and its answer must
   * find the same key when it starts again, or it pays a second time. So store the key first, in the same commit
   * as your own record of the payout. Until a call with it answers, repeat it; on any error with
   * `outcomeUnknown`, never take a new key. The same key with another request is refused (`idempotency_key_reused`).
   *
   * @throws SluiceError with code `insufficient_funds`, `invalid_destination`, `destination_not_allowed`,
   *   `limit_exceeded`, `account_frozen`, ...: nothing was reserved
   */
  create(withdrawal: NewWithdrawal, options: WithdrawalOptions): Call<WithdrawalView> {
    if (typeof options?.idempotencyKey !== "string" || options.idempotencyKey === "") {
      throw new TypeError("expected an idempotencyKey that you have stored: without one this could be paid twice");
    }
    return this.#transport.call({ method: "POST", path: "/v1/withdrawals", body: withdrawal }, options);
  }

  /** What it would cost, and whether it would be accepted. Records nothing. */
  estimate(withdrawal: NewWithdrawal, options?: CallOptions): Call<EstimateView> {
    return this.#transport.call({ method: "POST", path: "/v1/withdrawals/estimate", body: withdrawal }, options);
  }

  /** Newest first. With `idempotency_key` it finds the one that a key named. */
  list(filter: WithdrawalFilter = {}, options?: CallOptions): List<WithdrawalView> {
    return this.#transport.list("/v1/withdrawals", { ...filter }, options);
  }

  get(id: string, options?: CallOptions): Call<WithdrawalView> {
    return this.#transport.call({ method: "GET", path: pathOf("/v1/withdrawals/", id) }, options);
  }

  /** Calls it off. Refused (`illegal_transition`) once anything is signed. */
  cancel(id: string, options?: PostOptions): Call<WithdrawalView> {
    return this.#act(id, "/cancel", undefined, options);
  }

  /** With another API key than the one that asked for it. */
  approve(id: string, options?: PostOptions): Call<WithdrawalView> {
    return this.#act(id, "/approve", undefined, options);
  }

  reject(id: string, rejection: Rejection = {}, options?: PostOptions): Call<WithdrawalView> {
    return this.#act(id, "/reject", rejection, options);
  }

  /** Replaces its latest attempt with one that offers more: same nonce or coin, same payment, never two. */
  speedUp(id: string, options?: PostOptions): Call<WithdrawalView> {
    return this.#act(id, "/speed-up", undefined, options);
  }

  /** A person's decision about one in `manual_review`. */
  resolve(id: string, resolution: Resolution, options?: PostOptions): Call<WithdrawalView> {
    return this.#act(id, "/resolve", resolution, options);
  }

  #act(id: string, action: string, body: object | undefined, options?: PostOptions): Call<WithdrawalView> {
    return this.#transport.call({ method: "POST", path: pathOf("/v1/withdrawals/", id, action), body }, options);
  }
}

export class WalletCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The hot wallets, one for each network. Keep them topped up. */
  list(filter: Paged = {}, options?: CallOptions): List<WalletView> {
    return this.#transport.list("/v1/wallets", { ...filter }, options);
  }

  /** Another signer is another wallet. Refused while anything is in flight from the present one. */
  chooseSigner(network: string, signer: SignerChoice, options?: CallOptions): Call<WalletView> {
    const path = pathOf("/v1/wallets/", network, "/signer");
    return this.#transport.call({ method: "PUT", path, body: signer }, options);
  }

  /** Lets a stopped wallet go on: says that a person has looked. */
  resume(network: string, options?: PostOptions): Call<WalletView> {
    return this.#transport.call({ method: "POST", path: pathOf("/v1/wallets/", network, "/resume") }, options);
  }
}

export class PolicyCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get(options?: CallOptions): Call<PoliciesView> {
    return this.#transport.call({ method: "GET", path: "/v1/policies" }, options);
  }

  /** When payments on a network count. Replaces its rules; payments seen already keep theirs. */
  setConfirmations(network: string, rules: NewConfirmationRules, options?: CallOptions): Call<PoliciesView> {
    const path = pathOf("/v1/policies/confirmations/", network);
    return this.#transport.call({ method: "PUT", path, body: rules }, options);
  }

  /** What may be paid out. Replaces all of it; what is looser waits for the cool-down. */
  setWithdrawals(rules: NewWithdrawalRules, options?: CallOptions): Call<PoliciesView> {
    return this.#transport.call({ method: "PUT", path: "/v1/policies/withdrawals", body: rules }, options);
  }
}
