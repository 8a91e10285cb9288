/** The operator's calls: metrics, a look at one network, and the end of a halt. */

import { createRoute, z } from "@hono/zod-openapi";
import { refuse } from "../../core/refusal.ts";
import { log } from "../../log.ts";
import type { ScannerStatus } from "../../objects/api.ts";
import { NetworkId } from "../../schema/fields.ts";
import { ResumeBody, Resumed, ScannerView } from "../../schema/operator.ts";
import { NoQuery } from "../../schema/page.ts";
import { json, mayRefuse, operated, operatedAction, optionalBody, problems } from "../calls.ts";
import { METRICS_TYPE, metricsText } from "../metrics.ts";
import { NOT_FOUND, problem } from "../problem.ts";
import { within } from "../scanners.ts";
import type { App } from "../services.ts";
import { clientOf } from "../stages.ts";

const NO_MONITOR = refuse("store_unavailable", "This deployment has no monitor: bind MONITOR.").refusal;
const tags = ["Operator"];
const params = z.object({ id: NetworkId });
const MONITOR_DEADLINE_MS = 2_000;

const metrics = createRoute({
  method: "get",
  path: "/metrics",
  operationId: "metrics",
  tags,
  summary: "Counters and gauges for Prometheus",
  description:
    "Text format 0.0.4. Nobody is asked for it: it is what the objects told last. A network whose scanner is silent " +
    "has `sluice_network_up` 0, and keeps the numbers that it told.",
  ...operated,
  request: { query: NoQuery },
  responses: {
    200: { description: "Prometheus text format", content: { "text/plain": { schema: z.string() } } },
    ...problems(401, 422, 500, 503),
  },
});

const getNetwork = createRoute({
  method: "get",
  path: "/v1/operator/networks/{id}",
  operationId: "getOperatorNetwork",
  tags,
  summary: "One network as its scanner sees it",
  description: "Where it stands, why it is halted, and what went wrong last.",
  ...operated,
  request: { query: NoQuery, params },
  responses: { 200: json(ScannerView, "The scanner"), ...problems(401, 404, 422, 500, 503) },
});

const resume = createRoute({
  method: "post",
  path: "/v1/operator/networks/{id}/resume",
  operationId: "resumeNetwork",
  tags,
  summary: "Accept a deep reorganisation and go on",
  description:
    "A network that halted stays so until a person has looked at it. This says that it may go on: everything " +
    "from the first replaced height on is read anew, and tenants are told once the old tip is reached. An " +
    "Idempotency-Key has no effect; a repeat finds it not halted any more and answers 409.",
  ...mayRefuse("invalid_range", "state_conflict", "chain_unavailable"),
  ...operatedAction,
  request: { query: NoQuery, params, body: optionalBody(ResumeBody) },
  responses: {
    202: json(Resumed, "Going on from this height"),
    ...problems(400, 401, 404, 409, 413, 415, 422, 500, 503),
  },
});

export function operatorRoutes(app: App): void {
  app.openapi(metrics, async (c) => {
    const monitor = c.var.services.monitor();
    if (monitor === null) return problem(c, NO_MONITOR, null);
    const figures = await within(MONITOR_DEADLINE_MS, monitor.figures());
    return c.text(metricsText(figures), 200, { "Content-Type": METRICS_TYPE });
  });

  app.openapi(getNetwork, async (c) => {
    const { services } = c.var;
    const { id } = c.req.valid("param");
    if (!services.settings.networks.has(id)) return problem(c, NOT_FOUND, null);
    return c.json(scannerView(await services.scanner(id).status()), 200);
  });

  app.openapi(resume, async (c) => {
    const { services } = c.var;
    const { id } = c.req.valid("param");
    if (!services.settings.networks.has(id)) return problem(c, NOT_FOUND, null);
    const fromHeight = c.req.valid("json").from_height;
    const outcome = await services.scanner(id).resume(fromHeight);
    log("warn", "network_resumed_by_operator", {
      request_id: c.var.requestId,
      network: id,
      from_height: fromHeight,
      outcome: outcome.ok ? "ok" : outcome.refusal.code,
      client: clientOf(c).address,
    });
    return outcome.ok ? c.json({ from_height: outcome.value.fromHeight }, 202) : problem(c, outcome.refusal, null);
  });
}

function scannerView(status: ScannerStatus): z.infer<typeof ScannerView> {
  return {
    network: status.network,
    head: status.head,
    scanned_to: status.scannedTo,
    finalized: status.finalized,
    window_from: status.windowFrom,
    status: status.status,
    internal: status.internal,
    incident: status.incident && { ...status.incident, at: timeText(status.incident.at) },
    watched_addresses: status.watchedAddresses,
    counters: { ...status.counters },
    last_poll_at: status.lastPollAt === null ? null : timeText(status.lastPollAt),
    last_error: status.lastError,
  };
}

function timeText(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
