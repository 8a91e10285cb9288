/** The audit log: what your keys and sessions did and tried. Checked with `verifyAuditLog`. */

import { List } from "../pages.ts";
import type { CallOptions, Transport } from "../transport.ts";
import type { AuditEntry, AuditFilter } from "../types.ts";

export class AuditLogCalls {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Oldest first. Needs a key with the scope `admin`. */
  list(filter: AuditFilter = {}, options?: CallOptions): List<AuditEntry> {
    // `next_cursor` is a sequence, and goes in the place of `after`.
    return new List((cursor) => {
      const query = { ...filter, after: cursor ?? filter.after };
      return this.#transport.page<AuditEntry>("/v1/audit-log", query, options);
    });
  }
}
