/** Watched addresses. */

import { createRoute } from "@hono/zod-openapi";
import { Address, AddressPage, AddressQuery, NewAddressBody } from "../../schema/address.ts";
import { idOf } from "../../schema/fields.ts";
import { NoQuery } from "../../schema/page.ts";
import { send, sendCreated, sendGone } from "../answers.ts";
import { body, json, keyed, keyedPost, mayRefuse, needs, problems } from "../calls.ts";
import { filterAndPage } from "../pages.ts";
import type { App } from "../services.ts";
import { idempotencyOf } from "../stages.ts";

const createAddress = createRoute({
  method: "post",
  path: "/v1/addresses",
  operationId: "createAddress",
  tags: ["Addresses"],
  summary: "Watch an address",
  description:
    "Payments to the address become deposits of the account, from the next block on, or from start_height on " +
    "by way of a backfill. An address belongs to one tenant at a time. Every spelling of it names the same " +
    "watch. Asking again for an address that is watched answers 200 with it, and changes nothing of it. With " +
    "xpub_id the address is the next one below that key: every call gives another one, and a repetition with the " +
    "same Idempotency-Key gives the same one again. No address is derived twice, also when it was deleted.",
  ...needs("addresses:write"),
  ...mayRefuse(
    "unknown_network",
    "invalid_address",
    "address_taken",
    "invalid_range",
    "state_conflict",
    "idempotency_key_reused",
    "chain_unavailable",
  ),
  ...keyedPost,
  request: { query: NoQuery, body: body(NewAddressBody) },
  responses: {
    201: json(Address, "It is watched from now on"),
    200: json(Address, "This tenant watched it already"),
    ...problems(400, 401, 403, 409, 413, 415, 422, 429, 500, 503),
  },
});

const listAddresses = createRoute({
  method: "get",
  path: "/v1/addresses",
  operationId: "listAddresses",
  tags: ["Addresses"],
  summary: "List watched addresses, newest first",
  description: "The addresses that are watched now, each with how far it was read.",
  ...needs("read"),
  ...keyed,
  request: { query: AddressQuery },
  responses: { 200: json(AddressPage, "Addresses"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

const getAddress = createRoute({
  method: "get",
  path: "/v1/addresses/{id}",
  operationId: "getAddress",
  tags: ["Addresses"],
  summary: "One address",
  description: "The address, with how far it was read. One that was deleted is unknown.",
  ...needs("read"),
  ...keyed,
  request: { query: NoQuery, params: idOf("addr") },
  responses: { 200: json(Address, "The address"), ...problems(401, 403, 404, 422, 429, 500, 503) },
});

const deleteAddress = createRoute({
  method: "delete",
  path: "/v1/addresses/{id}",
  operationId: "deleteAddress",
  tags: ["Addresses"],
  summary: "Stop watching an address",
  description:
    "Ends the watch and gives the address back, so that another tenant may take it. Payments mined inside the " +
    "reorganisation window still count, and deposits stay. A repeat answers 404.",
  ...needs("addresses:write"),
  ...keyed,
  request: { query: NoQuery, params: idOf("addr") },
  responses: { 204: { description: "No longer watched" }, ...problems(401, 403, 404, 422, 429, 500, 503) },
});

export function addressRoutes(app: App): void {
  app.openapi(createAddress, async (c) => {
    const input = c.req.valid("json");
    const idempotency = idempotencyOf(c, input);
    const { caller, tenant } = c.var;
    return sendCreated(
      c,
      "xpubId" in input
        ? await tenant.deriveAddress(caller, input, idempotency)
        : await tenant.createAddress(caller, input, idempotency),
    );
  });

  app.openapi(listAddresses, async (c) => {
    const { filter, page } = filterAndPage(c.req.valid("query"));
    return send(c, await c.var.tenant.listAddresses(c.var.caller, filter, page), 200);
  });

  app.openapi(getAddress, async (c) =>
    send(c, await c.var.tenant.getAddress(c.var.caller, c.req.valid("param").id), 200),
  );

  app.openapi(deleteAddress, async (c) =>
    sendGone(c, await c.var.tenant.deleteAddress(c.var.caller, c.req.valid("param").id)),
  );
}
