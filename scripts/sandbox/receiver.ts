/**
 * Owns: the merchant's server that everybody has who plays with a sandbox: it takes webhooks, verifies them as the SDK
 * does, writes them down, and answers well or badly as it is told.
 *
 * Each tenant has a URL of its own, which nobody can guess; it is made of the tenant's id and needs no memory.
 */

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { WebhookVerificationError } from "../../src/sdk/errors.ts";
import type { SluiceEvent } from "../../src/sdk/types.ts";
import { Webhooks } from "../../src/sdk/webhooks.ts";
import { readIfThere, writeWhole } from "../data-folder.mjs";
import { Deliveries, type Delivery } from "./deliveries.ts";
import { bodyOf } from "./rpc-proxy.ts";

export const RECEIVER_MODES = ["ok", "fail", "slow", "gone"] as const;
export type ReceiverMode = (typeof RECEIVER_MODES)[number];

const STATUS: Readonly<Record<ReceiverMode, number>> = { ok: 204, slow: 204, fail: 500, gone: 410 };
/** Longer than anybody waits who sends webhooks. */
const SLOW_MS = 20_000;
const NOT_BELIEVED = 400;
/** While a secret is replaced, the old one and the new one sign side by side. */
const SECRETS_PER_ENDPOINT = 2;
const ENDPOINTS_PER_TENANT = 50;
const MAX_BODY_BYTES = 256 * 1024;
const SHOWN_CHARS = 32 * 1024;

interface Stored {
  readonly secret: string;
  /** By tenant, then by endpoint, newest first. */
  readonly keys: Record<string, Record<string, string[]>>;
}

type Verdict =
  | { readonly ok: true; readonly endpointId: string; readonly event: SluiceEvent }
  | { readonly ok: false; readonly problem: string };

export class Receiver {
  readonly deliveries: Deliveries;
  readonly #path: string;
  readonly #stored: Stored;
  readonly #modes = new Map<string, ReceiverMode>();
  readonly #waiting = new Set<() => void>();

  constructor(folder: string) {
    this.deliveries = new Deliveries(folder);
    this.#path = join(folder, "receiver.json");
    const kept = readIfThere(this.#path);
    this.#stored =
      kept === null
        ? { secret: randomBytes(32).toString("hex"), keys: {} }
        : (JSON.parse(kept.toString("utf8")) as Stored);
    if (kept === null) this.#store();
  }

  /** Under the address of the listener. */
  pathOf(tenantId: string): string {
    const mark = createHmac("sha256", this.#stored.secret).update(tenantId).digest("base64url");
    return `/hooks/${tenantId}/${mark}`;
  }

  modeOf(tenantId: string): ReceiverMode {
    return this.#modes.get(tenantId) ?? "ok";
  }

  setMode(tenantId: string, mode: ReceiverMode): void {
    this.#modes.set(tenantId, mode);
    // Whoever was kept waiting is answered.
    for (const wake of [...this.#waiting]) wake();
  }

  /** @returns whether there was room for it */
  addSecret(tenantId: string, endpointId: string, secret: string): boolean {
    const endpoints = this.#stored.keys[tenantId] ?? {};
    const before = endpoints[endpointId] ?? [];
    if (endpoints[endpointId] === undefined && Object.keys(endpoints).length >= ENDPOINTS_PER_TENANT) return false;
    endpoints[endpointId] = [secret, ...before.filter((one) => one !== secret)].slice(0, SECRETS_PER_ENDPOINT);
    this.#stored.keys[tenantId] = endpoints;
    this.#store();
    return true;
  }

  async serve(message: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const tenantId = path.split("/")[2] ?? "";
    if (!/^ten_[0-9a-z]{26}$/.test(tenantId) || !isSame(path, this.pathOf(tenantId)) || message.method !== "POST") {
      response.writeHead(404).end();
      return;
    }
    const at = new Date().toISOString();
    const body = await bodyOf(message, MAX_BODY_BYTES);
    const verdict = await this.#judge(tenantId, body, message);
    const mode = this.modeOf(tenantId);
    const eventId = header(message, "webhook-id");
    const duplicate = verdict.ok && this.deliveries.wasTakenIn(tenantId, verdict.event.id);
    if (mode === "slow") await this.#hesitate(response);
    const status = verdict.ok || mode !== "ok" ? STATUS[mode] : NOT_BELIEVED;
    const answered = response.destroyed ? null : status;
    const facts = factsOf(verdict, eventId);
    const delivery = { at, ...facts, duplicate, answered, body: body.slice(0, SHOWN_CHARS) };
    this.deliveries.add(tenantId, delivery, verdict.ok && STATUS[mode] < 300);
    response.writeHead(status).end();
  }

  /** By each endpoint's secrets alone: so it is known whose delivery it is. */
  async #judge(tenantId: string, body: string, message: IncomingMessage): Promise<Verdict> {
    const endpoints = Object.entries(this.#stored.keys[tenantId] ?? {});
    let problem = "no secret of this tenant is known here: give it with POST /sandbox/receiver/keys";
    for (const [endpointId, secrets] of endpoints) {
      try {
        return { ok: true, endpointId, event: await Webhooks.verify(body, message.headers, secrets) };
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error;
        problem = error.message;
      }
    }
    return { ok: false, problem };
  }

  /** Until it is late, the sender has left, or the mode is another one. */
  #hesitate(response: ServerResponse): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, SLOW_MS);
      this.#waiting.add(wake);
      response.once("close", wake);
    });
  }

  #store(): void {
    writeWhole(this.#path, `${JSON.stringify(this.#stored)}\n`);
  }
}

function factsOf(
  verdict: Verdict,
  eventId: string | null,
): Omit<Delivery, "n" | "at" | "duplicate" | "answered" | "body"> {
  if (!verdict.ok) {
    const unknown = { endpoint_id: null, type: null, subject: null, sequence: null };
    return { ...unknown, event_id: eventId, verified: false, problem: verdict.problem };
  }
  const { endpointId, event } = verdict;
  const { type, subject, sequence } = event;
  return { endpoint_id: endpointId, event_id: event.id, type, subject, sequence, verified: true, problem: null };
}

function header(message: IncomingMessage, name: string): string | null {
  const value = message.headers[name];
  return typeof value === "string" ? value : null;
}

function isSame(a: string, b: string): boolean {
  const [one, other] = [Buffer.from(a), Buffer.from(b)];
  return one.length === other.length && timingSafeEqual(one, other);
}
