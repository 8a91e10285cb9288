/** What is watched, and what was seen: networks, assets, addresses, extended public keys, deposits, backfills. */

import type { AddressView, AssetView, BackfillView, DepositView, NetworkView, XpubView } from "../../core/views.ts";
import type { Call } from "../call.ts";
import type { List } from "../pages.ts";
import { type CallOptions, type PostOptions, pathOf, type Transport } from "../transport.ts";
import type {
  AddressFilter,
  AssetFilter,
  DepositFilter,
  NewAddress,
  NewAsset,
  NewBackfill,
  NewXpub,
  Paged,
} from "../types.ts";

export class NetworkCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** How far each one has been read, and what counts there. */
  list(filter: Paged = {}, options?: CallOptions): List<NetworkView> {
    return this.#transport.list("/v1/networks", { ...filter }, options);
  }
}

export class AssetCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lets a token count. Symbol and decimals are read from the chain; payments are matched by contract. */
  create(asset: NewAsset, options?: PostOptions): Call<AssetView> {
    return this.#transport.call({ method: "POST", path: "/v1/assets", body: asset }, options);
  }

  list(filter: AssetFilter = {}, options?: CallOptions): List<AssetView> {
    return this.#transport.list("/v1/assets", { ...filter }, options);
  }
}

export class AddressCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Watches an address from now on. One that you watch already is given as it is; another tenant's: `address_taken`.
   * With `xpub_id` in the place of `address`: the next one below that key, another one for every call. Give
   * `idempotencyKey` your order's id, and the order has one address however often you ask.
   */
  create(address: NewAddress, options?: PostOptions): Call<AddressView> {
    return this.#transport.call({ method: "POST", path: "/v1/addresses", body: address }, options);
  }

  /** Newest first. */
  list(filter: AddressFilter = {}, options?: CallOptions): List<AddressView> {
    return this.#transport.list("/v1/addresses", { ...filter }, options);
  }

  get(id: string, options?: CallOptions): Call<AddressView> {
    return this.#transport.call({ method: "GET", path: pathOf("/v1/addresses/", id) }, options);
  }

  /** Stops watching it. */
  delete(id: string, options?: CallOptions): Call<void> {
    return this.#transport.call({ method: "DELETE", path: pathOf("/v1/addresses/", id) }, options);
  }
}

export class XpubCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Registers an account's extended public key, to derive addresses from. Compare `first_address` with your wallet's
   * first one. A key that is registered already is given as it is.
   */
  create(xpub: NewXpub, options?: PostOptions): Call<XpubView> {
    return this.#transport.call({ method: "POST", path: "/v1/xpubs", body: xpub }, options);
  }

  /** Newest first. */
  list(filter: Paged = {}, options?: CallOptions): List<XpubView> {
    return this.#transport.list("/v1/xpubs", { ...filter }, options);
  }

  get(id: string, options?: CallOptions): Call<XpubView> {
    return this.#transport.call({ method: "GET", path: pathOf("/v1/xpubs/", id) }, options);
  }
}

export class DepositCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first. To hear of each exactly once, read events instead. */
  list(filter: DepositFilter = {}, options?: CallOptions): List<DepositView> {
    return this.#transport.list("/v1/deposits", { ...filter }, options);
  }

  get(id: string, options?: CallOptions): Call<DepositView> {
    return this.#transport.call({ method: "GET", path: pathOf("/v1/deposits/", id) }, options);
  }
}

export class BackfillCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Reads past heights again: adds what is missing, removes nothing, and changes nothing the second time. */
  create(backfill: NewBackfill, options?: PostOptions): Call<BackfillView> {
    return this.#transport.call({ method: "POST", path: "/v1/backfills", body: backfill }, options);
  }

  get(id: string, options?: CallOptions): Call<BackfillView> {
    return this.#transport.call({ method: "GET", path: pathOf("/v1/backfills/", id) }, options);
  }
}
