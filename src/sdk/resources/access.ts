/** Who calls and what may be called: the tenant, its API keys, a browser's session. */

import type { ApiKeyView, SessionView, TenantView } from "../../core/views.ts";
import type { Call } from "../call.ts";
import type { List } from "../pages.ts";
import { type CallOptions, type PostOptions, pathOf, type Transport } from "../transport.ts";
import type { NewApiKey, Overlap, Paged, SignUp } from "../types.ts";

export class SignUpCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Signs up. Needs no API key. `api_key.secret` is shown here and nowhere else. */
  create(tenant: SignUp, options?: PostOptions): Call<{ tenant: TenantView; api_key: ApiKeyView }> {
    return this.#transport.call({ method: "POST", path: "/v1/tenants", body: tenant, open: true }, options);
  }
}

export class TenantCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The caller's own. */
  get(options?: CallOptions): Call<TenantView> {
    return this.#transport.call({ method: "GET", path: "/v1/tenant" }, options);
  }
}

export class ApiKeyCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * `secret` is in this answer alone. When that answer was lost and the call repeated, the key is there without
   * its secret: revoke it and make another.
   */
  create(key: NewApiKey, options?: PostOptions): Call<ApiKeyView> {
    return this.#transport.call({ method: "POST", path: "/v1/api-keys", body: key }, options);
  }

  /** Newest first, without secrets. */
  list(filter: Paged = {}, options?: CallOptions): List<ApiKeyView> {
    return this.#transport.list("/v1/api-keys", { ...filter }, options);
  }

  /** Ends a key at once. */
  revoke(id: string, options?: CallOptions): Call<void> {
    return this.#transport.call({ method: "DELETE", path: pathOf("/v1/api-keys/", id) }, options);
  }

  /** A new key with the same name, scopes and expiry; the old one ends after the overlap. See `create` on the secret. */
  rotate(id: string, overlap: Overlap = {}, options?: PostOptions): Call<ApiKeyView> {
    const path = pathOf("/v1/api-keys/", id, "/rotate");
    return this.#transport.call({ method: "POST", path, body: overlap }, options);
  }
}

/** For pages of the service's own origin: the browser keeps the cookie, and sends it with every call. */
export class SessionCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Signs in with this client's API key. From then on a client without a key calls as that key, so drop this one. */
  create(options?: PostOptions): Call<SessionView> {
    return this.#transport.call({ method: "POST", path: "/v1/session" }, options);
  }

  /** Who is signed in; rejects with an `AuthenticationError` when nobody is. */
  get(options?: CallOptions): Call<SessionView> {
    return this.#transport.call({ method: "GET", path: "/v1/session", open: true }, options);
  }

  /** Signs out. */
  end(options?: CallOptions): Call<void> {
    return this.#transport.call({ method: "DELETE", path: "/v1/session", open: true }, options);
  }
}
