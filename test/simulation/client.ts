/**
 * How a merchant's program talks to the product: over HTTP, with answers that get lost, and with the same key
 * until it knows. It changes its own API key now and then; the earlier ones are kept, to see how long they work.
 */

import type { DrawnFates } from "./fates.ts";
import type { Service } from "./service.ts";
import type { World } from "./world/world.ts";

const CLIENT_PAUSE_MS = 2_000;
const MOST_TRIES = 200;

export interface Told {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** What went wrong with what somebody was told. Collected, and judged in the end. */
export class Complaints {
  readonly all: string[] = [];
  add(text: string): void {
    this.all.push(text);
  }
}

export class Client {
  key = "";
  readonly #world: World;
  readonly #service: Service;
  readonly #fates: DrawnFates;
  readonly #complaints: Complaints;

  constructor(world: World, service: Service, fates: DrawnFates, complaints: Complaints) {
    this.#world = world;
    this.#service = service;
    this.#fates = fates;
    this.#complaints = complaints;
  }

  /** One request. Null: no answer came, or one that says to come back later. */
  async ask(method: string, path: string, body: unknown, key: string | null, as = this.key): Promise<Told | null> {
    const headers: Record<string, string> = {};
    if (as !== "") headers.authorization = `Bearer ${as}`;
    if (key !== null) headers["idempotency-key"] = key;
    if (body !== undefined) headers["content-type"] = "application/json";
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const isLost = this.#fates.strikes("clientAnswerLost", `${method} ${path.replace(/[a-z]+_[0-9a-z]{26}/, "*")}`);
    const response = await this.#service.fetch(new Request(`https://sluice.test${path}`, { method, headers, ...text }));
    const answer = await response.text();
    if (isLost || response.status >= 500) {
      if (response.status === 500) this.#complaints.add(`500 for ${method} ${path}: ${answer}`);
      return null;
    }
    return { status: response.status, body: answer === "" ? {} : JSON.parse(answer) };
  }

  /** Asks until it is answered, whatever the answer is. */
  async untilTold(method: string, path: string, body: unknown, key: string | null, as?: string): Promise<Told> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const told = await this.ask(method, path, body, key, as);
      if (told !== null && told.status !== 429) return told;
      await this.#world.sleep(CLIENT_PAUSE_MS);
    }
    throw new Error(`${method} ${path} is never answered`);
  }

  /** The same, for what must not be refused. */
  async untilDone(method: string, path: string, body: unknown, key: string | null, as?: string): Promise<Told> {
    const told = await this.untilTold(method, path, body, key, as);
    if (told.status < 300) return told;
    throw new Error(`${method} ${path} was answered ${JSON.stringify(told)}`);
  }

  /** What answers with a secret, which is shown once: who lost the answer asks anew, under another key. */
  async untilShown(path: string, body: unknown, name: string, secretOf: (told: Told) => unknown): Promise<Told> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const told = await this.untilDone("POST", path, body, `${name} ${tries}`);
      if (typeof secretOf(told) === "string") return told;
    }
    throw new Error(`${path} never shows its secret`);
  }
}
