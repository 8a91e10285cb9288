/**
 * One call that changes something, or tries to, and what the audit log says of it.
 *
 * No change without its entry: what a call writes and the entry that tells of it are durable together or not at
 * all. A call that waits for others after its commit says `done` in that commit; one whose change another object
 * makes says `begun` before it asks, for what was written leaves the machine before the question does. Every other
 * call is in the turn of its last write when it ends.
 */

import type { AuditedCall as CallName } from "../../core/audit-entry.ts";
import { appendAuditEntry } from "../../store/tenant/audit-store.ts";
import type { Caller } from "../api.ts";
import type { Done } from "./authorize.ts";
import type { TenantContext } from "./context.ts";

export interface Audited {
  /** The entry of a change, where the change is made. @param subject what it made or changed; left out: what was named */
  done(subject?: string): void;
  /** The entry of a change that is asked of another object next. */
  begun(): void;
}

export class AuditedCall implements Audited {
  readonly #c: TenantContext;
  readonly #caller: Caller;
  readonly #keyId: string;
  readonly #call: CallName;
  #subject: string | null;
  #said: string | null = null;

  constructor(c: TenantContext, caller: Caller, keyId: string, call: CallName, subject: string | null) {
    this.#c = c;
    this.#caller = caller;
    this.#keyId = keyId;
    this.#call = call;
    this.#subject = subject;
  }

  done(subject?: string): void {
    this.#subject = subject ?? this.#subject;
    this.#append("ok");
  }

  begun(): void {
    this.#append("begun");
  }

  /** How it ended, unless its last entry says so already. @param mayTell whether a refusal is still worth a row */
  end<T>(done: Done<T>, mayTell: () => boolean): void {
    const outcome = done.ok ? (done.replayed ? "replayed" : "ok") : done.refusal.code;
    if (outcome === this.#said) return;
    if (done.ok && this.#subject === null) this.#subject = idOf(done.value);
    if (outcome === "ok" || this.#said !== null || mayTell()) this.#append(outcome);
  }

  #append(outcome: string): void {
    const { requestId, client } = this.#caller;
    appendAuditEntry(this.#c.db, this.#caller.tenantId, {
      at: this.#c.now(),
      keyId: this.#keyId,
      via: "sessionHash" in this.#caller ? "session" : "api_key",
      requestId,
      call: this.#call,
      subject: this.#subject,
      outcome,
      clientAddress: client?.address ?? null,
      userAgent: client?.userAgent ?? null,
    });
    this.#said = outcome;
  }
}

/** What a call made says what it is called. */
function idOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  return typeof value.id === "string" ? value.id : null;
}
