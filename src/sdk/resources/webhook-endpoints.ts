/** Where webhooks go, and what became of them. */

import type { DeliveryView, EndpointView } from "../../core/views.ts";
import type { Call } from "../call.ts";
import type { List } from "../pages.ts";
import { type CallOptions, type PostOptions, pathOf, type Transport } from "../transport.ts";
import type {
  DeliveryFilter,
  NewWebhookEndpoint,
  Overlap,
  Paged,
  Replay,
  Replayed,
  SluiceEvent,
  WebhookEndpointPatch,
} from "../types.ts";

const PATH = "/v1/webhook-endpoints/";

export class WebhookEndpointCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** `secret`, which `Webhooks.verify` needs, is in this answer and in that of a rotation. */
  create(endpoint: NewWebhookEndpoint, options?: PostOptions): Call<EndpointView> {
    return this.#transport.call({ method: "POST", path: "/v1/webhook-endpoints", body: endpoint }, options);
  }

  /** Newest first. */
  list(filter: Paged = {}, options?: CallOptions): List<EndpointView> {
    return this.#transport.list("/v1/webhook-endpoints", { ...filter }, options);
  }

  get(id: string, options?: CallOptions): Call<EndpointView> {
    return this.#transport.call({ method: "GET", path: pathOf(PATH, id) }, options);
  }

  update(id: string, patch: WebhookEndpointPatch, options?: CallOptions): Call<EndpointView> {
    return this.#transport.call({ method: "PATCH", path: pathOf(PATH, id), body: patch }, options);
  }

  /** Removes it with its queue. */
  delete(id: string, options?: CallOptions): Call<void> {
    return this.#transport.call({ method: "DELETE", path: pathOf(PATH, id) }, options);
  }

  /** The old secret keeps signing beside the new one until the overlap ends: give `verify` both meanwhile. */
  rotateSecret(id: string, overlap: Overlap = {}, options?: PostOptions): Call<EndpointView> {
    const path = pathOf(PATH, id, "/rotate-secret");
    return this.#transport.call({ method: "POST", path, body: overlap }, options);
  }

  /** Sends a `webhook.test`. */
  test(id: string, options?: PostOptions): Call<SluiceEvent> {
    return this.#transport.call({ method: "POST", path: pathOf(PATH, id, "/test") }, options);
  }

  /** Delivers again after it was disabled. */
  enable(id: string, options?: PostOptions): Call<EndpointView> {
    return this.#transport.call({ method: "POST", path: pathOf(PATH, id, "/enable") }, options);
  }

  /** Delivers nothing until it is enabled again. Events wait, none is lost. */
  disable(id: string, options?: PostOptions): Call<EndpointView> {
    return this.#transport.call({ method: "POST", path: pathOf(PATH, id, "/disable") }, options);
  }

  /** Newest first, each with its attempts. */
  deliveries(id: string, filter: DeliveryFilter = {}, options?: CallOptions): List<DeliveryView> {
    return this.#transport.list(pathOf(PATH, id, "/deliveries"), { ...filter }, options);
  }

  /** Sends one delivery again, whatever became of it: the same id and body, freshly signed. */
  resend(id: string, deliveryId: string, options?: PostOptions): Call<DeliveryView> {
    const path = pathOf(pathOf(PATH, id, "/deliveries/"), deliveryId, "/resend");
    return this.#transport.call({ method: "POST", path }, options);
  }

  /** Sends past events again: the same ids and bodies, freshly signed. */
  replay(id: string, from: Replay, options?: PostOptions): Call<Replayed> {
    return this.#transport.call({ method: "POST", path: pathOf(PATH, id, "/replay"), body: from }, options);
  }
}
