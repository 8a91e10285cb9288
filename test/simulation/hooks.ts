/**
 * What a merchant does about its webhooks: replaces the secret, lets its receiver fail for hours, has it taken for
 * gone and enabled again, and asks for past events once more.
 */

import type { Client } from "./client.ts";
import type { DrawnFates } from "./fates.ts";
import { OUTAGES, type Outage, type Receiver } from "./receiver.ts";
import type { World } from "./world/world.ts";

const HOUR_MS = 3_600_000;
const MOST_TRIES = 8;

export interface Replay {
  readonly after: number;
  /** The last sequence that it covers; null: it was never answered. */
  upTo: number | null;
  readonly askedAt: number;
  /** How often it was asked for: each may have had its effect. */
  asks: number;
}

export class Hooks {
  endpoint = "";
  readonly replays: Replay[] = [];
  readonly #name: string;
  readonly #world: World;
  readonly #client: Client;
  readonly #receiver: Receiver;
  readonly #fates: DrawnFates;
  #made = 0;
  #isRotating = false;

  constructor(name: string, world: World, client: Client, receiver: Receiver, fates: DrawnFates) {
    this.#name = name;
    this.#world = world;
    this.#client = client;
    this.#receiver = receiver;
    this.#fates = fates;
  }

  async open(): Promise<void> {
    const body = { url: `https://${this.#name}.merchant.com/`, events: null };
    const made = this.#receiver.secrets.replace(0);
    const hook = await this.#client.untilDone("POST", "/v1/webhook-endpoints", body, `endpoint ${this.#name}`);
    // Lost with its answer: then signatures of it cannot be checked here.
    made.isKnown(hook.body.secret);
    this.endpoint = String(hook.body.id);
  }

  /** One after the other: of two at once nobody here could tell which was first. */
  async rotateSecret(): Promise<void> {
    if (this.#isRotating) return;
    this.#isRotating = true;
    const overlapS = this.#world.dice.between(5, 60);
    const made = this.#receiver.secrets.replace(overlapS * 1_000);
    const path = `/v1/webhook-endpoints/${this.endpoint}/rotate-secret`;
    const told = await this.#client.untilDone("POST", path, { overlap_seconds: overlapS }, this.#newKey());
    made.isKnown(told.body.secret);
    this.#fates.reach.count("people secret replaced");
    this.#isRotating = false;
  }

  /** The receiver fails, whatever comes, until somebody repairs it. */
  async outage(): Promise<void> {
    if (this.#receiver.outage !== null || !this.#fates.strikes("webhookFault", "outage")) return;
    const { dice } = this.#world;
    const outage: Outage = dice.pick(OUTAGES);
    this.#receiver.outage = outage;
    this.#world.note(`the receiver of ${this.#name} fails: ${outage}`);
    await this.#world.sleep(dice.chance(0.5) ? dice.between(5_000, 60_000) : dice.between(HOUR_MS, 6 * HOUR_MS));
    this.#receiver.outage = null;
    await this.enable();
    if (!this.#fates.isHealed) this.#fates.reach.count("people receiver repaired");
  }

  /** The endpoint was taken for gone, and is there again. */
  async enable(): Promise<void> {
    await this.#client.ask("POST", `/v1/webhook-endpoints/${this.endpoint}/enable`, undefined, null);
  }

  /** Asks for past events from some point on, as long as nobody answers. */
  async replay(): Promise<void> {
    const { dice } = this.#world;
    const after = dice.roll(this.#receiver.lastSequence + 1);
    const replay: Replay = { after, upTo: null, askedAt: this.#world.now, asks: 0 };
    this.replays.push(replay);
    const key = this.#newKey();
    for (; replay.asks < MOST_TRIES; ) {
      replay.asks++;
      const path = `/v1/webhook-endpoints/${this.endpoint}/replay`;
      const told = await this.#client.ask("POST", path, { after_sequence: after }, key);
      if (told !== null && told.status < 300) {
        replay.upTo = Number(told.body.to_sequence);
        this.#fates.reach.count("people events asked for again");
        return;
      }
      await this.#world.sleep(dice.between(500, 5_000));
    }
  }

  #newKey(): string {
    return `hook ${this.#name} ${++this.#made}`;
  }
}
