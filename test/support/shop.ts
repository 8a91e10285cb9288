/**
 * What a shop's receiver is told, and by whom: deposits that are confirmed, reverted and confirmed again, signed as
 * the service signs, sent by somebody who repeats, reorders and sends several at once until each was acknowledged.
 */

import type { EventData, SluiceEvent } from "../../src/sdk/index.ts";
import { signatureHeader } from "../../src/webhooks/signature.ts";
import { eventOf } from "./sdk-inbox.ts";

export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
export const ASSET = "local/ETH";
const AT_ONCE = 4;
const MOST_VOLLEYS = 200;

export interface Told {
  /** The whole log, in its order. */
  readonly log: readonly SluiceEvent[];
  /** What an endpoint with the default types gets of it. */
  readonly sent: readonly SluiceEvent[];
  /** Those that move money, by the deposit they are about, in their order: what the books must have, once each. */
  readonly booked: ReadonlyMap<string, readonly string[]>;
  /** Base units by account: what is confirmed on the chain in the end. */
  readonly balances: Readonly<Record<string, bigint>>;
}

/** @param random in [0, 1) */
export function tell(deposits: number, random: () => number): Told {
  const balances: Record<string, bigint> = {};
  const booked = new Map<string, string[]>();
  const histories = Array.from({ length: deposits }, (_, i) => {
    const account = `customer-${i % 3}`;
    // Two of them together are more than SQLite's INTEGER holds.
    const units = 5n * 10n ** 18n + BigInt(i);
    const steps = 1 + Math.floor(random() * 4);
    balances[account] = (balances[account] ?? 0n) + (steps % 2 === 1 ? units : 0n);
    const history = historyOf(`dep_${i}`, { account, amount_units: String(units) }, steps);
    booked.set(
      `dep_${i}`,
      history.filter(movesMoney).map(({ id }) => id),
    );
    return history;
  });
  const log: SluiceEvent[] = [];
  for (let left = histories; left.length > 0; left = left.filter((one) => one.length > 0)) {
    const next = left[Math.floor(random() * left.length)]?.shift();
    if (next !== undefined) log.push({ ...next, sequence: log.length + 1 });
  }
  return { log, sent: log.filter(({ type }) => !/pending|dropped/.test(type)), booked, balances };
}

const movesMoney = ({ type }: SluiceEvent) => type === "deposit.confirmed" || type === "deposit.reverted";

/** Confirmed, reverted, confirmed, ... `steps` of these. */
function historyOf(id: string, of: { account: string; amount_units: string }, steps: number): SluiceEvent[] {
  const types: ("deposit.pending" | "deposit.confirmed" | "deposit.reverted")[] = [];
  for (let step = 0; step < steps; step++)
    types.push(
      ...(step % 2 === 0 ? (["deposit.pending", "deposit.confirmed"] as const) : ["deposit.reverted" as const]),
    );
  let epoch = 0;
  return types.map((type, i) => {
    if (type === "deposit.pending") epoch++;
    const data = { id, network: "local", asset: "ETH", ...of, epoch } as EventData[typeof type];
    return eventOf(type, id, i + 1, data);
  });
}

export interface SignedRequest {
  readonly method: "POST";
  readonly headers: Record<string, string>;
  readonly body: string;
}

export async function signed(event: SluiceEvent, secret = SECRET, nowMs = Date.now()): Promise<SignedRequest> {
  const body = JSON.stringify(event);
  const timestampS = Math.floor(nowMs / 1_000);
  const message = { id: event.id, timestampS, body: new TextEncoder().encode(body) };
  const headers = {
    "content-type": "application/json",
    "webhook-id": event.id,
    "webhook-timestamp": String(timestampS),
    "webhook-signature": await signatureHeader([{ scheme: "v1", secret }], message),
  };
  return { method: "POST", headers, body };
}

export interface Sender {
  /** Sends what is not acknowledged until it is. @throws Error when that does not end */
  sendAll(): Promise<void>;
  /** Sends what is not acknowledged once, several at a time. */
  volley(): Promise<void>;
  readonly left: () => number;
}

/** @param post the status of the answer; null: none came */
export function senderOf(
  events: readonly SluiceEvent[],
  post: (request: SignedRequest) => Promise<number | null>,
  random: () => number,
): Sender {
  const waiting = new Map(events.map((event) => [event.id, event]));
  async function send(event: SluiceEvent): Promise<void> {
    const status = await post(await signed(event));
    if (status !== null && status >= 200 && status < 300) waiting.delete(event.id);
  }
  async function volley(): Promise<void> {
    const twice = [...waiting.values()].flatMap((event) => (random() < 0.4 ? [event, event] : [event]));
    const queue = twice.map((event) => ({ event, at: random() })).sort((a, b) => a.at - b.at);
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await send(next.event);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
  return {
    volley,
    left: () => waiting.size,
    async sendAll() {
      for (let i = 0; waiting.size > 0; i++) {
        if (i >= MOST_VOLLEYS) throw new Error(`after ${i} volleys ${waiting.size} events are not acknowledged`);
        await volley();
      }
    },
  };
}

/** The books' lines as they should be: each event that moves money once, in the order of its deposit. */
export function bySubject(events: readonly string[]): Map<string, string[]> {
  return Map.groupBy(events, (id) => id.replace(/^evt_/, "").replace(/_\d+$/, ""));
}
