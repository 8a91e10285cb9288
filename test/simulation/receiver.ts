/**
 * Where a merchant's webhooks arrive: answers as receivers do, or fails as they do, and holds what it is told
 * against what it was told before and against what must be true by then.
 */

import type { DepositView, EventView } from "../../src/core/views.ts";
import type { Complaints } from "./client.ts";
import type { DrawnFates } from "./fates.ts";
import type { Reply } from "./network.ts";
import { Secrets } from "./secrets.ts";
import type { Service } from "./service.ts";
import type { World } from "./world/world.ts";

/** As in the settings of the simulated network. */
export const REORG_WINDOW = 12;
/** What it answers for as long as nobody repairs it. */
export const OUTAGES = ["status_500", "status_410", "silent", "unreachable"] as const;
export type Outage = (typeof OUTAGES)[number];
const FAULTS = ["lost_after_200", "status_500", "status_410", "silent", "redirect", "unreachable"] as const;

export class Receiver {
  readonly secrets: Secrets;
  outage: Outage | null = null;
  /** By subject, the highest sequence that was acknowledged. By event id its body, and when it came last. */
  readonly acknowledged = new Map<string, number>();
  readonly bodies = new Map<string, string>();
  readonly lastCame = new Map<string, number>();
  /** The highest that came. */
  lastSequence = 0;
  readonly #world: World;
  readonly #service: Service;
  readonly #fates: DrawnFates;
  readonly #complaints: Complaints;
  readonly #tenantId: () => string;
  readonly #headNow: () => number;

  /** @param headNow the best chain's height */
  constructor(
    world: World,
    service: Service,
    fates: DrawnFates,
    complaints: Complaints,
    tenantId: () => string,
    headNow: () => number,
  ) {
    this.secrets = new Secrets(world);
    this.#headNow = headNow;
    this.#world = world;
    this.#service = service;
    this.#fates = fates;
    this.#complaints = complaints;
    this.#tenantId = tenantId;
  }

  hook(headers: Headers, body: string): Reply {
    if (this.outage !== null && !this.#fates.isHealed) return this.#fail(this.outage, headers, body);
    if (this.#fates.strikes("webhookFault", "receiver"))
      return this.#fail(this.#world.dice.pick(FAULTS), headers, body);
    this.#receive(headers, body);
    return { kind: "answer", status: 204, body: "" };
  }

  #fail(fault: (typeof FAULTS)[number], headers: Headers, body: string): Reply {
    this.#fates.reach.count(`webhook ${fault}`);
    switch (fault) {
      case "lost_after_200":
        this.#receive(headers, body);
        return { kind: "silent" };
      case "status_500":
        return { kind: "answer", status: 500, body: "no" };
      case "status_410":
        return { kind: "answer", status: 410, body: "gone" };
      case "redirect":
        return { kind: "answer", status: 302, body: "", headers: { location: "https://elsewhere.com/" } };
      case "silent":
      case "unreachable":
        return { kind: fault };
    }
  }

  #receive(headers: Headers, body: string): void {
    const event = JSON.parse(body) as EventView;
    const problem = this.secrets.problemOf(headers, body);
    if (problem !== null) this.#complaints.add(`signature: of event ${event.id} ${problem}`);
    if (headers.get("webhook-id") !== event.id)
      this.#complaints.add(`signature: event ${event.id} came as ${headers.get("webhook-id")}`);
    if (event.type === "deposit.confirmed") this.#checkDeposit(event.data as DepositView);
    const before = this.bodies.get(event.id);
    if (before !== undefined && before !== body) this.#complaints.add(`event ${event.id} came with two bodies`);
    this.bodies.set(event.id, body);
    this.lastCame.set(event.id, this.#world.now);
    this.lastSequence = Math.max(this.lastSequence, event.sequence);
    const last = this.acknowledged.get(event.subject) ?? 0;
    // Types that this endpoint does not want leave gaps; what it gets comes in order.
    if (before === undefined && event.subject_sequence <= last)
      this.#complaints.add(`I2 ${event.subject}: ${event.subject_sequence} came for the first time after ${last}`);
    this.acknowledged.set(event.subject, Math.max(last, event.subject_sequence));
  }

  /** Whoever hears of a payment owns its key, and the payment stands as deep as it must. */
  #checkDeposit(deposit: DepositView): void {
    const { id, tx_id, transfer_index, confirmations, confirmations_required, block_height } = deposit;
    const key = "SELECT tenant_id FROM deposit_keys WHERE network = 'local' AND tx_id = ? AND transfer_index = ?";
    const owner = this.#service.d1.rows(key, tx_id, transfer_index)[0]?.tenant_id;
    if (owner !== this.#tenantId()) this.#complaints.add(`I5 ${id} was told, and its key is ${String(owner)}'s`);
    // What is read long after it was mined is deep enough however far the reading has come.
    const isFinal = block_height !== null && this.#headNow() - block_height >= REORG_WINDOW;
    if (confirmations_required !== null && confirmations < confirmations_required && !isFinal)
      this.#complaints.add(`I5 ${id} was told at ${confirmations} of ${confirmations_required} blocks`);
  }
}
