/** Webhook endpoints: targets, their secrets, what was delivered. */

import { createRoute } from "@hono/zod-openapi";
import { Event } from "../../schema/event.ts";
import { EXAMPLE } from "../../schema/examples.ts";
import { idOf, NoFields, Overlap } from "../../schema/fields.ts";
import { NoQuery, PageQuery } from "../../schema/page.ts";
import {
  Delivery,
  DeliveryPage,
  DeliveryPath,
  DeliveryQuery,
  Endpoint,
  EndpointPage,
  EndpointPatchBody,
  NewEndpointBody,
  ReplayBody,
  Replayed,
} from "../../schema/webhook-endpoint.ts";
import { send, sendGone } from "../answers.ts";
import {
  body,
  json,
  keyed,
  keyedAction,
  keyedPost,
  keyedWithBody,
  mayRefuse,
  needs,
  optionalBody,
  problems,
} from "../calls.ts";
import { filterAndPage } from "../pages.ts";
import type { App } from "../services.ts";
import { idempotencyOf } from "../stages.ts";

const tags = ["Webhook endpoints"];
const onOne = problems(401, 403, 404, 422, 429, 500, 503);
const actOnOne = problems(400, 401, 403, 404, 413, 415, 422, 429, 500, 503);

const ENDPOINT_WITH_SECRET = { secret: EXAMPLE.webhookSecret };
const TEST_EVENT = {
  type: "webhook.test" as const,
  subject: `endpoint:${EXAMPLE.endpoint}`,
  subject_sequence: 1,
  data: { endpoint_id: EXAMPLE.endpoint, message: "A test event." },
};

const createEndpoint = createRoute({
  method: "post",
  path: "/v1/webhook-endpoints",
  operationId: "createWebhookEndpoint",
  tags,
  summary: "Register an endpoint",
  description:
    "Events that happen from now on are POSTed to the URL, signed as in Standard Webhooks 1.0.0. The secret " +
    "is in this answer and never again. At most 50 endpoints. A repeat with the same Idempotency-Key makes no " +
    "second endpoint and shows no secret.",
  ...needs("webhooks:write"),
  ...mayRefuse("invalid_webhook_target", "state_conflict", "idempotency_key_reused"),
  ...keyedPost,
  request: { query: NoQuery, body: body(NewEndpointBody) },
  responses: {
    201: json(Endpoint, "The endpoint with its secret", ENDPOINT_WITH_SECRET),
    ...problems(400, 401, 403, 409, 413, 415, 422, 429, 500, 503),
  },
});

const listEndpoints = createRoute({
  method: "get",
  path: "/v1/webhook-endpoints",
  operationId: "listWebhookEndpoints",
  tags,
  summary: "List endpoints, newest first",
  description: "All endpoints, without secrets.",
  ...needs("read"),
  ...keyed,
  request: { query: PageQuery },
  responses: { 200: json(EndpointPage, "Endpoints"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

const getEndpoint = createRoute({
  method: "get",
  path: "/v1/webhook-endpoints/{id}",
  operationId: "getWebhookEndpoint",
  tags,
  summary: "One endpoint",
  description: "The endpoint, without its secret.",
  ...needs("read"),
  ...keyed,
  request: { query: NoQuery, params: idOf("we") },
  responses: { 200: json(Endpoint, "The endpoint"), ...onOne },
});

const updateEndpoint = createRoute({
  method: "patch",
  path: "/v1/webhook-endpoints/{id}",
  operationId: "updateWebhookEndpoint",
  tags,
  summary: "Change an endpoint",
  description:
    "Fields that are left out stay as they are. Another url gets what is still to be sent; the secret stays.",
  ...needs("webhooks:write"),
  ...mayRefuse("invalid_webhook_target"),
  ...keyedWithBody,
  request: { query: NoQuery, params: idOf("we"), body: body(EndpointPatchBody) },
  responses: { 200: json(Endpoint, "The endpoint as it stands now"), ...actOnOne },
});

const deleteEndpoint = createRoute({
  method: "delete",
  path: "/v1/webhook-endpoints/{id}",
  operationId: "deleteWebhookEndpoint",
  tags,
  summary: "Remove an endpoint and its queue",
  description:
    "Nothing is sent to it any more, and its queue is forgotten. Events stay, and can be read. A repeat " +
    "answers 404.",
  ...needs("webhooks:write"),
  ...keyed,
  request: { query: NoQuery, params: idOf("we") },
  responses: { 204: { description: "Removed" }, ...onOne },
});

const rotateSecret = createRoute({
  method: "post",
  path: "/v1/webhook-endpoints/{id}/rotate-secret",
  operationId: "rotateWebhookSecret",
  tags,
  summary: "Make a new secret",
  description:
    "With v1a: a new key pair. The old key keeps signing beside the new one until the overlap ends, so that receivers can " +
    "be changed meanwhile: each delivery carries both signatures, the new one first, and either one verifies it. " +
    "A repeat with the same Idempotency-Key makes no second secret and shows none.",
  ...needs("webhooks:write"),
  ...mayRefuse("idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params: idOf("we"), body: optionalBody(Overlap) },
  responses: { 200: json(Endpoint, "The endpoint with its new secret", ENDPOINT_WITH_SECRET), ...actOnOne },
});

const enableEndpoint = createRoute({
  method: "post",
  path: "/v1/webhook-endpoints/{id}/enable",
  operationId: "enableWebhookEndpoint",
  tags,
  summary: "Deliver again",
  description:
    "What was to be sent meanwhile goes out at a bounded pace, in order within each subject. Enabling an enabled " +
    "endpoint changes nothing.",
  ...needs("webhooks:write"),
  ...mayRefuse("idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params: idOf("we"), body: optionalBody(NoFields) },
  responses: { 200: json(Endpoint, "The endpoint"), ...actOnOne },
});

const disableEndpoint = createRoute({
  method: "post",
  path: "/v1/webhook-endpoints/{id}/disable",
  operationId: "disableWebhookEndpoint",
  tags,
  summary: "Stop delivering for now",
  description:
    "Events wait until the endpoint is enabled; none is lost. Disabling a disabled endpoint changes nothing.",
  ...needs("webhooks:write"),
  ...mayRefuse("idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params: idOf("we"), body: optionalBody(NoFields) },
  responses: { 200: json(Endpoint, "The endpoint"), ...actOnOne },
});

const testEndpoint = createRoute({
  method: "post",
  path: "/v1/webhook-endpoints/{id}/test",
  operationId: "testWebhookEndpoint",
  tags,
  summary: "Send a test event",
  description:
    "Writes an event of the type webhook.test and sends it to this endpoint alone, whatever types it asks " +
    "for. A repeat with the same Idempotency-Key is the same event.",
  ...needs("webhooks:write"),
  ...mayRefuse("idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params: idOf("we"), body: optionalBody(NoFields) },
  responses: { 202: json(Event, "The event that is on its way", TEST_EVENT), ...actOnOne },
});

const replayEvents = createRoute({
  method: "post",
  path: "/v1/webhook-endpoints/{id}/replay",
  operationId: "replayWebhookEvents",
  tags,
  summary: "Send past events again",
  description:
    "Sends the events of the types that the endpoint asks for once more: the same ids and the same bodies, " +
    "with fresh time stamps and signatures. At most 10,000 events at a time. A repeat with the same " +
    "Idempotency-Key sends nothing again.",
  ...needs("webhooks:write"),
  ...mayRefuse("invalid_range", "idempotency_key_reused"),
  ...keyedPost,
  request: { query: NoQuery, params: idOf("we"), body: body(ReplayBody) },
  responses: { 202: json(Replayed, "What will be sent again"), ...actOnOne },
});

const listDeliveries = createRoute({
  method: "get",
  path: "/v1/webhook-endpoints/{id}/deliveries",
  operationId: "listWebhookDeliveries",
  tags,
  summary: "List deliveries and their attempts, newest first",
  description:
    "What was sent to the endpoint and what waits, each with its attempts: status, duration, and the first " +
    "KiB of the answer.",
  ...needs("read"),
  ...keyed,
  request: { query: DeliveryQuery, params: idOf("we") },
  responses: { 200: json(DeliveryPage, "Deliveries"), ...problems(400, 401, 403, 404, 422, 429, 500, 503) },
});

const resendDelivery = createRoute({
  method: "post",
  path: "/v1/webhook-endpoints/{id}/deliveries/{delivery_id}/resend",
  operationId: "resendWebhookDelivery",
  tags,
  summary: "Send one delivery again",
  description:
    "Whatever became of it: the same event id and the same body as a further delivery, with a fresh time stamp and " +
    "signature, in its place among the events of its subject. One that is still pending is tried now instead of " +
    "when its wait ends.",
  ...needs("webhooks:write"),
  ...mayRefuse("idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params: DeliveryPath, body: optionalBody(NoFields) },
  responses: { 202: json(Delivery, "The delivery that is on its way"), ...actOnOne },
});

export function webhookEndpointRoutes(app: App): void {
  app.openapi(createEndpoint, async (c) => {
    const input = c.req.valid("json");
    const { signature, ...rest } = input;
    // Keys that were sent before there was a choice go on meaning the same request.
    const meaning = signature === "v1" ? rest : input;
    return send(c, await c.var.tenant.createEndpoint(c.var.caller, input, idempotencyOf(c, meaning)), 201);
  });

  app.openapi(listEndpoints, async (c) =>
    send(c, await c.var.tenant.listEndpoints(c.var.caller, filterAndPage(c.req.valid("query")).page), 200),
  );

  app.openapi(getEndpoint, async (c) =>
    send(c, await c.var.tenant.getEndpoint(c.var.caller, c.req.valid("param").id), 200),
  );

  app.openapi(updateEndpoint, async (c) => {
    const { id } = c.req.valid("param");
    return send(c, await c.var.tenant.updateEndpoint(c.var.caller, id, c.req.valid("json")), 200);
  });

  app.openapi(deleteEndpoint, async (c) =>
    sendGone(c, await c.var.tenant.deleteEndpoint(c.var.caller, c.req.valid("param").id)),
  );

  app.openapi(rotateSecret, async (c) => {
    const { id } = c.req.valid("param");
    const overlap = c.req.valid("json");
    const idempotency = idempotencyOf(c, overlap);
    return send(
      c,
      await c.var.tenant.rotateEndpointSecret(c.var.caller, id, overlap.overlap_seconds, idempotency),
      200,
    );
  });

  app.openapi(enableEndpoint, async (c) =>
    send(c, await c.var.tenant.enableEndpoint(c.var.caller, c.req.valid("param").id, idempotencyOf(c, {})), 200),
  );

  app.openapi(disableEndpoint, async (c) =>
    send(c, await c.var.tenant.disableEndpoint(c.var.caller, c.req.valid("param").id, idempotencyOf(c, {})), 200),
  );

  app.openapi(testEndpoint, async (c) => {
    const { id } = c.req.valid("param");
    return send(c, await c.var.tenant.testEndpoint(c.var.caller, id, idempotencyOf(c, {})), 202);
  });

  app.openapi(replayEvents, async (c) => {
    const { id } = c.req.valid("param");
    const from = c.req.valid("json");
    return send(c, await c.var.tenant.replayEvents(c.var.caller, id, from, idempotencyOf(c, from)), 202);
  });

  app.openapi(listDeliveries, async (c) => {
    const { filter, page } = filterAndPage(c.req.valid("query"));
    return send(c, await c.var.tenant.listDeliveries(c.var.caller, c.req.valid("param").id, filter, page), 200);
  });

  app.openapi(resendDelivery, async (c) => {
    const { id, delivery_id: deliveryId } = c.req.valid("param");
    return send(c, await c.var.tenant.resendDelivery(c.var.caller, id, deliveryId, idempotencyOf(c, {})), 202);
  });
}
