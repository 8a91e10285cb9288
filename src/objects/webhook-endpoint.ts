/**
 * One webhook endpoint: keeps its queue of deliveries and sends them.
 *
 * Invariants:
 * - a delivery leaves the queue only by an acknowledgement or visibly given up;
 * - of one subject one delivery is under way at a time, the earliest; other subjects do not wait for it;
 * - no secret lies in storage as plain text, and none is shown but to the request that made it.
 *
 * These are the calls from outside; what sends is endpoint/base.ts.
 */

import { type Outcome, refuse } from "../core/refusal.ts";
import type { DeliveryView, Page } from "../core/views.ts";
import { decodeCursor, toPage } from "../store/cursor.ts";
import { disableEndpoint, type EndpointRow, enableEndpoint } from "../store/endpoint/config.ts";
import { deliveryView, entriesAt, listDeliveries, type StatusFilter } from "../store/endpoint/history.ts";
import * as queue from "../store/endpoint/queue.ts";
import type { EndpointApi, EndpointConfig, EndpointKeyMade, EndpointState, PageRequest, QueuedEvent } from "./api.ts";
import { EndpointBase } from "./endpoint/base.ts";
import { configureEndpoint, keyOfRotation, rotateEndpointKey } from "./endpoint/configure.ts";

export class WebhookEndpoint extends EndpointBase implements EndpointApi {
  // ---- what it is -----------------------------------------------------------------------------------

  async configure(target: EndpointConfig): Promise<EndpointKeyMade> {
    this.#assertOpen(target.endpointId);
    // Sealed before anything is read to decide on: the commit below looks again.
    const made = this.endpoint() === null ? await this.keys.mint(target.signature, target) : null;
    this.#assertOpen(target.endpointId);
    const now = this.clock();
    const isFirst = this.storage.transactionSync(() =>
      configureEndpoint(this.db, target, made === null ? null : made.row, now),
    );
    this.advance();
    return { secret: isFirst && made !== null ? made.secret : null, state: this.stateOf(this.configured()) };
  }

  async rotateSecret(overlapS: number, requestId: string): Promise<EndpointKeyMade> {
    const endpoint = this.configured();
    const earlier = keyOfRotation(this.db, requestId);
    if (earlier !== undefined) return this.#keyMade(endpoint, await this.keys.shown(earlier, endpoint));
    const made = await this.keys.mint(endpoint.signature, endpoint);
    this.configured();
    const now = this.clock();
    const row = this.storage.transactionSync(() => rotateEndpointKey(this.db, made.row, overlapS, requestId, now));
    this.advance();
    // The same request was under way twice: the key of the one that came first is the key of both.
    const secret = row === made.row ? made.secret : await this.keys.shown(row, endpoint);
    return this.#keyMade(endpoint, secret);
  }

  #keyMade(endpoint: EndpointRow, secret: string | null): EndpointKeyMade {
    return { secret, state: this.stateOf(this.endpoint() ?? endpoint) };
  }

  async enable(): Promise<{ before: EndpointState; state: EndpointState }> {
    const before = this.stateOf(this.configured());
    if (before.status === "disabled") {
      const now = this.clock();
      this.storage.transactionSync(() => {
        enableEndpoint(this.db, now);
        queue.makeHeadsDue(this.db, now);
      });
      this.sending.pace.beginSlowly();
    }
    this.advance();
    return { before, state: this.stateOf(this.configured()) };
  }

  async disable(): Promise<EndpointState> {
    if (this.configured().status === "enabled") {
      const now = this.clock();
      this.storage.transactionSync(() => disableEndpoint(this.db, "by_request", now));
    }
    this.advance();
    return this.stateOf(this.configured());
  }

  // ---- its deliveries -------------------------------------------------------------------------------

  async enqueue(events: readonly QueuedEvent[], options: { readonly replay: boolean }): Promise<void> {
    this.configured();
    const now = this.clock();
    const inFlight = new Set(this.sending.inFlight.values());
    this.storage.transactionSync(() => {
      for (const event of events) {
        if (options.replay) queue.enqueueAgain(this.db, event, inFlight, now);
        else queue.enqueueOnce(this.db, event, now);
      }
    });
    this.advance();
  }

  async resend(deliveryId: string): Promise<Outcome<DeliveryView>> {
    const endpoint = this.configured();
    const row = queue.deliveryNamed(this.db, endpoint.endpointId, deliveryId);
    if (row === null) return NO_DELIVERY;
    const now = this.clock();
    const inFlight = new Set(this.sending.inFlight.values());
    const position = this.storage.transactionSync(() => {
      // One that is still to be sent is not sent twice: its wait is over.
      const again = row.status === "pending" ? row.position : queue.enqueueAgain(this.db, eventOf(row), inFlight, now);
      if (!inFlight.has(again)) queue.makeDue(this.db, again, now);
      return again;
    });
    this.advance();
    return this.#view(endpoint, position);
  }

  async delivery(deliveryId: string): Promise<Outcome<DeliveryView>> {
    const endpoint = this.configured();
    const row = queue.deliveryNamed(this.db, endpoint.endpointId, deliveryId);
    return row === null ? NO_DELIVERY : this.#view(endpoint, row.position);
  }

  #view(endpoint: EndpointRow, position: number): Outcome<DeliveryView> {
    const [entry] = entriesAt(this.db, [position]);
    return entry === undefined ? NO_DELIVERY : { ok: true, value: deliveryView(endpoint, entry) };
  }

  async deliveries(
    filter: { readonly status?: Exclude<StatusFilter, null> },
    page: PageRequest,
  ): Promise<Outcome<Page<DeliveryView>>> {
    const endpoint = this.endpoint();
    if (endpoint === null) return refuse("not_found", "There is no such webhook endpoint.");
    const before = page.cursor === null ? null : decodeCursor(page.cursor);
    if (page.cursor !== null && before === null) {
      return refuse("invalid_cursor", "Pass a next_cursor of this list as it came.");
    }
    const rows = listDeliveries(this.db, filter.status ?? null, before, page.limit + 1);
    const value = toPage(
      rows,
      page.limit,
      (row) => row.position,
      (row) => deliveryView(endpoint, row),
    );
    return { ok: true, value };
  }

  #assertOpen(endpointId: string): void {
    if (this.isClosed) throw new Error(`endpoint ${endpointId} was deleted; its id is not used again`);
  }
}

const NO_DELIVERY = refuse("not_found", "There is no such delivery, or it ended more than 30 days ago.");

function eventOf(row: queue.DeliveryRow): QueuedEvent {
  const { eventId: id, eventType: type, sequence, subject, subjectSequence, body } = row;
  return { id, type, sequence, subject, subjectSequence, body };
}
