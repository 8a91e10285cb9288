/**
 * The Worker that is measured: the product's own endpoint objects, handed events as a tenant's object hands them. Beside it
 * the bare loop: the same signed requests from the same runtime at the same concurrency, and nothing else.
 */

import type { EndpointApi } from "../../src/objects/api.ts";
import { objectOf } from "../../src/steps.ts";
import { signatureHeader } from "../../src/webhooks/signature.ts";
import { eventAt } from "./webhooks-events.ts";

export { WebhookEndpoint } from "../../src/objects/webhook-endpoint.ts";

interface BenchEnv {
  readonly WEBHOOK_ENDPOINT: DurableObjectNamespace;
}

/** What the tenant's object hands over in one call. */
const EVENTS_PER_CALL = 100;
const NO_PAGE = { limit: 1, cursor: null };

export default {
  async fetch(request: Request, env: BenchEnv): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const text = (name: string) => searchParams.get(name) ?? "";
    const endpoint = () => objectOf<EndpointApi>("WebhookEndpoint", env.WEBHOOK_ENDPOINT, text("id"));
    switch (pathname) {
      case "/configure": {
        const [endpointId, url] = [text("id"), text("url")];
        const { secret } = await endpoint().configure({
          ...{ tenantId: "ten_bench", endpointId, url, apiVersion: "2026-11-01", signature: "v1" },
        });
        return Response.json({ secret });
      }
      case "/hand-over":
        await handOver(endpoint(), text("run"), Number(text("count")));
        return Response.json({});
      case "/open": {
        const pending = await endpoint().deliveries({ status: "pending" }, NO_PAGE);
        return Response.json({ open: pending.ok && pending.value.data.length > 0 });
      }
      case "/close":
        await endpoint().close();
        return Response.json({});
      case "/bare":
        await bare(text("url"), text("secret"), text("run"), Number(text("count")), Number(text("concurrency")));
        return Response.json({});
      default:
        return new Response(null, { status: 404 });
    }
  },
};

async function handOver(endpoint: EndpointApi, run: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += EVENTS_PER_CALL) {
    const size = Math.min(EVENTS_PER_CALL, count - from);
    const events = Array.from({ length: size }, (_, n) => eventAt(run, from + n));
    await endpoint.enqueue(events, { replay: false });
  }
}

async function bare(url: string, secret: string, run: string, count: number, concurrency: number): Promise<void> {
  const keys = [{ scheme: "v1", secret } as const];
  let next = 0;
  const sendOn = async () => {
    while (next < count) {
      const { id, body: text } = eventAt(run, next++);
      const body = new TextEncoder().encode(text);
      const timestampS = Math.floor(Date.now() / 1_000);
      const headers = {
        "content-type": "application/json",
        "user-agent": "Sluice/1 (+webhooks)",
        "webhook-id": id,
        "webhook-timestamp": String(timestampS),
        "webhook-signature": await signatureHeader(keys, { id, timestampS, body }),
      };
      const answer = await fetch(url, { method: "POST", redirect: "manual", headers, body });
      if (answer.status !== 204) throw new Error(`the sink answered ${answer.status}`);
      await answer.body?.cancel();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sendOn));
}
