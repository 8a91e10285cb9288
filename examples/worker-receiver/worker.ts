/**
 * A shop's receiver of Sluice's webhooks on Cloudflare Workers, with D1. The line in the books and the inbox's mark
 * are one batch, and the answer comes after it: a request may end at any moment, and each deposit is credited once,
 * each reversal taken back once.
 */

import { d1Storage, Inbox, Sluice, type SluiceEvent, Webhooks, WebhookVerificationError } from "sluice";

export interface Env {
  readonly DB: D1Database;
  readonly SLUICE_WEBHOOK_SECRET: string;
  /** With a key, what a webhook left out is read from the event feed at once. */
  readonly SLUICE_API_KEY?: string;
  readonly SLUICE_URL?: string;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (request.method !== "POST" || new URL(request.url).pathname !== "/webhooks") {
      return new Response(null, { status: 404 });
    }
    let event: SluiceEvent;
    try {
      event = await Webhooks.verify(await request.text(), request.headers, env.SLUICE_WEBHOOK_SECRET);
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      return new Response(error.reason, { status: 400 });
    }
    // Whatever it throws is a 500 of the platform: nothing was committed, or all was, and the event comes again.
    const received = await inboxOf(env).receive(event);
    const headers = new Headers();
    if (received.outcome === "gap") headers.set("retry-after", String(received.retryAfterS));
    return new Response(null, { status: received.status, headers });
  },
} satisfies ExportedHandler<Env>;

function inboxOf(env: Env) {
  const { DB, SLUICE_API_KEY: apiKey, SLUICE_URL: baseUrl } = env;
  return new Inbox({
    storage: d1Storage(DB),
    feed: apiKey && baseUrl ? new Sluice({ apiKey, baseUrl }).events : undefined,
    apply: (event) => {
      if (event.type === "deposit.confirmed") return [entry(DB, event, event.data.amount_units)];
      if (event.type === "deposit.reverted") return [entry(DB, event, `-${event.data.amount_units}`)];
      return [];
    },
  });
}

/** Not run here: it goes into one batch with the mark. Units are text, 18 decimals pass what a number holds. */
function entry(db: D1Database, { id, data }: Extract<SluiceEvent, { type: `deposit.${string}` }>, units: string) {
  return db
    .prepare("INSERT INTO entries (event, account, asset, units) VALUES (?, ?, ?, ?)")
    .bind(id, data.account, `${data.network}/${data.asset}`, units);
}
