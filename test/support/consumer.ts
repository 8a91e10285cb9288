/**
 * A merchant's program, as simple as the documents allow it to be: it checks the signature with the reference
 * library, remembers event ids, credits on confirmed, debits on reverted. Whatever would alarm a merchant
 * is kept in `alarms`.
 */

import { Webhook } from "standardwebhooks";
import type { DepositView, EventView } from "../../src/core/views.ts";
import { type Received, type Receiver, type Reply, startReceiver } from "./receiver.ts";

/** What it answers to an event. `times`: how often this event came, this time included. */
export type Mood = (event: EventView, times: number) => Reply;

export const CONTENT: Mood = () => ({ kind: "answer", status: 200 });

export interface Consumer {
  readonly url: string;
  /** Each event in the order of its first arrival. */
  readonly events: readonly EventView[];
  readonly alarms: readonly string[];
  /** Requests so far, repeated ones included. */
  readonly requests: () => number;
  /** Unix ms of the first arrival. */
  arrivedAt(eventId: string): number | undefined;
  timesSeen(eventId: string): number;
  /** Base units by `balanceKey`; no entry: never credited. */
  readonly balances: ReadonlyMap<string, bigint>;
  setSecret(secret: string): void;
  setMood(mood: Mood): void;
  /** Resolves with the first event, old or new, that fits. */
  waitFor(wanted: (event: EventView) => boolean, timeoutMs: number): Promise<EventView>;
  close(): Promise<void>;
}

export function balanceKey(of: Pick<DepositView, "account" | "network" | "asset">): string {
  return JSON.stringify([of.account, of.network, of.asset]);
}

interface Seen {
  readonly bytes: string;
  readonly at: number;
  times: number;
}

export async function startConsumer(): Promise<Consumer> {
  const seen = new Map<string, Seen>();
  const events: EventView[] = [];
  const alarms: string[] = [];
  const balances = new Map<string, bigint>();
  /** Highest subject_sequence acknowledged. */
  const acknowledged = new Map<string, number>();
  let webhook: Webhook | null = null;
  let mood = CONTENT;

  function receive(received: Received): Reply {
    const event = verified(received);
    if (event === null) return { kind: "answer", status: 401 };
    const before = seen.get(event.id);
    const bytes = received.body.toString("utf8");
    if (before === undefined) {
      seen.set(event.id, { bytes, at: received.at, times: 1 });
      events.push(event);
      apply(event);
    } else {
      before.times += 1;
      if (before.bytes !== bytes) alarms.push(`${event.id} came again with other bytes`);
    }
    inOrder(event);
    const reply = mood(event, before?.times ?? 1);
    if (reply.kind === "answer" && reply.status < 300) acknowledge(event);
    return reply;
  }

  function verified(received: Received): EventView | null {
    try {
      if (webhook === null) throw new Error("it came before the endpoint was created");
      const event = webhook.verify(received.body.toString("utf8"), headersOf(received)) as EventView;
      if (event.id !== received.headers["webhook-id"]) throw new Error("webhook-id is not the event's id");
      return event;
    } catch (error) {
      alarms.push(`refused a request: ${String(error)}`);
      return null;
    }
  }

  /** Event n + 1 of a subject is not sent before n was acknowledged; n itself may come again. */
  function inOrder(event: EventView): void {
    const last = acknowledged.get(event.subject) ?? 0;
    if (event.subject_sequence <= last + 1) return;
    alarms.push(`${event.subject}: ${event.type} ${event.subject_sequence} came while ${last} was acknowledged`);
  }

  function acknowledge(event: EventView): void {
    const last = acknowledged.get(event.subject) ?? 0;
    acknowledged.set(event.subject, Math.max(last, event.subject_sequence));
  }

  function apply(event: EventView): void {
    const sign = event.type === "deposit.confirmed" ? 1n : event.type === "deposit.reverted" ? -1n : 0n;
    if (sign === 0n) return;
    const deposit = event.data as DepositView;
    const key = balanceKey(deposit);
    balances.set(key, (balances.get(key) ?? 0n) + sign * BigInt(deposit.amount_units));
  }

  const receiver: Receiver = await startReceiver((received) => receive(received));
  return {
    url: receiver.url,
    events,
    alarms,
    balances,
    requests: () => receiver.requests.length,
    arrivedAt: (eventId) => seen.get(eventId)?.at,
    timesSeen: (eventId) => seen.get(eventId)?.times ?? 0,
    setSecret: (secret) => {
      webhook = new Webhook(secret);
    },
    setMood: (next) => {
      mood = next;
    },
    async waitFor(wanted, timeoutMs) {
      const until = Date.now() + timeoutMs;
      for (;;) {
        const found = events.find(wanted);
        if (found !== undefined) return found;
        if (Date.now() > until) throw new Error(`no such event within ${timeoutMs} ms; last: ${brief(events)}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    close: () => receiver.close(),
  };
}

function headersOf(received: Received): Record<string, string> {
  return Object.fromEntries(Object.entries(received.headers).map(([name, value]) => [name, String(value)]));
}

function brief(events: readonly EventView[]): string {
  return events
    .slice(-8)
    .map(({ type, subject }) => `${type} ${subject}`)
    .join(", ");
}
