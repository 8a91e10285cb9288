/**
 * The webhook secrets that an endpoint had, and which of them must have signed what was sent at some moment, as far
 * as it can be told from outside: a replacement takes place somewhere between its request and its answer.
 */

import { createHmac } from "node:crypto";
import type { World } from "./world/world.ts";

/** Rotating more often than this within an overlap ends the oldest early. */
const MOST_SIGNERS = 5;

interface Secret {
  /** Null: its answer is not there yet, or was lost. */
  text: string | null;
  readonly askedAt: number;
  answeredAt: number;
  /** For so long those before it go on. */
  readonly overlapMs: number;
}

export class Secrets {
  readonly #world: World;
  /** In the order in which each took the place of the one before. */
  readonly #all: Secret[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Another one is asked for now. @returns what to call when it is there */
  replace(overlapMs: number): { isKnown(text: unknown): void } {
    const secret: Secret = { text: null, askedAt: this.#world.now, answeredAt: Number.POSITIVE_INFINITY, overlapMs };
    this.#all.push(secret);
    return {
      isKnown: (text) => {
        secret.text = typeof text === "string" ? text : null;
        secret.answeredAt = this.#world.now;
      },
    };
  }

  /** @returns what is wrong with the signatures of a request, or null */
  problemOf(headers: Headers, body: string): string | null {
    const [id, timestamp] = [headers.get("webhook-id"), headers.get("webhook-timestamp")];
    const signatures = headers.get("webhook-signature")?.split(" ") ?? [];
    const at = Number(timestamp) * 1_000;
    for (const [i, secret] of this.#all.entries()) {
      if (secret.text === null) continue;
      const key = Buffer.from(secret.text.slice("whsec_".length), "base64");
      const own = `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
      const later = this.#all.slice(i + 1);
      const isThere = signatures.includes(own);
      if (!isThere && this.#mustSign(secret, later, at)) return `secret ${i + 1} of ${this.#all.length} did not sign`;
      if (isThere && later.some((other) => at > other.answeredAt + other.overlapMs))
        return `secret ${i + 1} of ${this.#all.length} signs after its end`;
    }
    return null;
  }

  /** @param at the beginning of the second in which it was signed */
  #mustSign({ answeredAt }: Secret, later: readonly Secret[], at: number): boolean {
    if (at < answeredAt || later.length >= MOST_SIGNERS) return false;
    return later.every((other) => at + 1_000 < other.askedAt + other.overlapMs);
  }
}
