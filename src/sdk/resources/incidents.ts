/** What a person should look at now, and what was. */

import type { IncidentView } from "../../core/views.ts";
import type { Call } from "../call.ts";
import type { List } from "../pages.ts";
import { type CallOptions, pathOf, type Transport } from "../transport.ts";
import type { IncidentFilter } from "../types.ts";

export class IncidentCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Newest first. `status: "open"` gives what is the matter now. */
  list(filter: IncidentFilter = {}, options?: CallOptions): List<IncidentView> {
    return this.#transport.list("/v1/incidents", { ...filter }, options);
  }

  get(id: string, options?: CallOptions): Call<IncidentView> {
    return this.#transport.call({ method: "GET", path: pathOf("/v1/incidents/", id) }, options);
  }
}
