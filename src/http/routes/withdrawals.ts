/**
 * Withdrawals. A request for one has a key that names it for ever; whoever moves it later names the
 * withdrawal itself.
 */

import { createRoute } from "@hono/zod-openapi";
import type { z } from "zod";
import type { NewWithdrawal } from "../../objects/api.ts";
import { idOf, NoFields } from "../../schema/fields.ts";
import { NoQuery } from "../../schema/page.ts";
import {
  Estimate,
  NewWithdrawalBody,
  RejectBody,
  ResolveBody,
  Withdrawal,
  WithdrawalPage,
  WithdrawalQuery,
} from "../../schema/withdrawal.ts";
import { send, sendCreated } from "../answers.ts";
import {
  body,
  json,
  keyed,
  keyedAction,
  keyedOnce,
  keyedPost,
  mayRefuse,
  needs,
  optionalBody,
  problems,
} from "../calls.ts";
import { filterAndPage } from "../pages.ts";
import type { App } from "../services.ts";
import { idempotencyOf } from "../stages.ts";

const tags = ["Withdrawals"];
const actOnOne = problems(400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503);

const CANCELLED = { state: "cancelled" as const };
const REJECTED = { state: "rejected" as const };

const createWithdrawal = createRoute({
  method: "post",
  path: "/v1/withdrawals",
  operationId: "createWithdrawal",
  tags,
  summary: "Pay something out",
  description:
    "Reserves the amount in the account's balance at once and pays it at most once. Repeat the call with the " +
    "same Idempotency-Key until it answers: it is one withdrawal, however often it is asked for, and a repeat " +
    "answers 200 with it as it stands. A key never expires; with another network, asset, destination or " +
    "amount it is refused. A refusal reserves nothing and leaves the key free.",
  ...needs("withdrawals:write"),
  ...mayRefuse(
    "unknown_network",
    "unknown_asset",
    "invalid_destination",
    "destination_not_allowed",
    "limit_exceeded",
    "insufficient_funds",
    "account_frozen",
    "state_conflict",
    "idempotency_key_reused",
  ),
  ...keyedOnce,
  request: { query: NoQuery, body: body(NewWithdrawalBody) },
  responses: {
    201: json(Withdrawal, "It is reserved"),
    200: json(Withdrawal, "The withdrawal that this key named before, as it stands now"),
    ...problems(400, 401, 403, 409, 413, 415, 422, 429, 500, 503),
  },
});

const estimateWithdrawal = createRoute({
  method: "post",
  path: "/v1/withdrawals/estimate",
  operationId: "estimateWithdrawal",
  tags,
  summary: "Ask what it would cost and whether it would be accepted",
  description:
    "Takes the body of a withdrawal and records nothing. It says what the fee would be, whether the request " +
    "would be accepted, and what would keep it from being paid at once. It promises nothing: funds and fees " +
    "may change. An Idempotency-Key has no effect.",
  ...needs("read"),
  ...mayRefuse("unknown_network", "unknown_asset", "invalid_destination"),
  ...keyedPost,
  request: { query: NoQuery, body: body(NewWithdrawalBody) },
  responses: { 200: json(Estimate, "The estimate"), ...problems(400, 401, 403, 413, 415, 422, 429, 500, 503) },
});

const listWithdrawals = createRoute({
  method: "get",
  path: "/v1/withdrawals",
  operationId: "listWithdrawals",
  tags,
  summary: "List withdrawals, newest first",
  description:
    "Whatever you have of a withdrawal finds it again: its key, your external_id, a transaction. Filters are " +
    "joined by and.",
  ...needs("read"),
  ...keyed,
  request: { query: WithdrawalQuery },
  responses: { 200: json(WithdrawalPage, "Withdrawals"), ...problems(400, 401, 403, 422, 429, 500, 503) },
});

const getWithdrawal = createRoute({
  method: "get",
  path: "/v1/withdrawals/{id}",
  operationId: "getWithdrawal",
  tags,
  summary: "One withdrawal with its transitions and attempts",
  description:
    "The withdrawal as it stands now, with each change of its state and each transaction that was signed for " + "it.",
  ...needs("read"),
  ...keyed,
  request: { query: NoQuery, params: idOf("wd") },
  responses: { 200: json(Withdrawal, "The withdrawal"), ...problems(401, 403, 404, 422, 429, 500, 503) },
});

const cancelWithdrawal = createRoute({
  method: "post",
  path: "/v1/withdrawals/{id}/cancel",
  operationId: "cancelWithdrawal",
  tags,
  summary: "Call it off before anything is signed",
  description:
    "Gives the amount back to available. Possible only while nothing is signed: in funds_reserved without a " +
    "nonce or coins, and in pending_approval. Cancelling what is cancelled answers 200.",
  ...needs("withdrawals:write"),
  ...mayRefuse("illegal_transition", "idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params: idOf("wd"), body: optionalBody(NoFields) },
  responses: { 200: json(Withdrawal, "The withdrawal, cancelled", CANCELLED), ...actOnOne },
});

const approveWithdrawal = createRoute({
  method: "post",
  path: "/v1/withdrawals/{id}/approve",
  operationId: "approveWithdrawal",
  tags,
  summary: "Approve it with another key than the one that asked for it",
  description:
    "Lets a withdrawal go on that is above an approval limit. The key that asked for it, and a key that took " +
    "its place by rotation, get 403. What is approved already answers 409 unless the Idempotency-Key is that " +
    "of the approval.",
  ...needs("withdrawals:approve"),
  ...mayRefuse("illegal_transition", "idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params: idOf("wd"), body: optionalBody(NoFields) },
  responses: { 200: json(Withdrawal, "The withdrawal, on its way"), ...actOnOne },
});

const rejectWithdrawal = createRoute({
  method: "post",
  path: "/v1/withdrawals/{id}/reject",
  operationId: "rejectWithdrawal",
  tags,
  summary: "Refuse to approve it",
  description:
    "Refuses a withdrawal that waits for approval, for good. The amount is available again. Rejecting what is " +
    "rejected answers 200.",
  ...needs("withdrawals:approve"),
  ...mayRefuse("illegal_transition", "idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params: idOf("wd"), body: optionalBody(RejectBody) },
  responses: { 200: json(Withdrawal, "The withdrawal, rejected", REJECTED), ...actOnOne },
});

const speedUpWithdrawal = createRoute({
  method: "post",
  path: "/v1/withdrawals/{id}/speed-up",
  operationId: "speedUpWithdrawal",
  tags,
  summary: "Replace its latest attempt with one that offers more",
  description:
    "The same nonce (Bitcoin: one and the same coin), destination and amount with a higher fee: one of the " +
    "attempts is mined, never two. On Bitcoin it hurries all withdrawals that share the transaction. " +
    "Signing follows shortly after the answer. Each call asks for one more attempt, so send an " +
    "Idempotency-Key with it.",
  ...needs("withdrawals:write"),
  ...mayRefuse("illegal_transition", "idempotency_key_reused"),
  ...keyedAction,
  request: { query: NoQuery, params: idOf("wd"), body: optionalBody(NoFields) },
  responses: { 200: json(Withdrawal, "The withdrawal with the further attempt"), ...actOnOne },
});

const resolveWithdrawal = createRoute({
  method: "post",
  path: "/v1/withdrawals/{id}/resolve",
  operationId: "resolveWithdrawal",
  tags,
  summary: "Decide about one in manual_review",
  description:
    "For a withdrawal in manual_review. confirmed needs evidence that names one of its transactions while one " +
    "may still be mined. failed releases the amount only once none of its signed bytes can be mined any more; " +
    "until then it uses up their nonce with something that pays nothing, or their coin with something that " +
    "does not pay this one.",
  ...needs("withdrawals:approve"),
  ...mayRefuse("illegal_transition", "idempotency_key_reused"),
  ...keyedPost,
  request: { query: NoQuery, params: idOf("wd"), body: body(ResolveBody) },
  responses: { 200: json(Withdrawal, "The withdrawal as it stands now"), ...actOnOne },
});

export function withdrawalRoutes(app: App): void {
  app.openapi(createWithdrawal, async (c) => {
    const input = wanted(c.req.valid("json"));
    return sendCreated(c, await c.var.tenant.createWithdrawal(c.var.caller, input, c.var.idempotencyKey));
  });

  // Before `{id}`, which would take its name for an id.
  app.openapi(estimateWithdrawal, async (c) =>
    send(c, await c.var.tenant.estimateWithdrawal(c.var.caller, wanted(c.req.valid("json"))), 200),
  );

  app.openapi(listWithdrawals, async (c) => {
    const { filter, page } = filterAndPage(c.req.valid("query"));
    return send(c, await c.var.tenant.listWithdrawals(c.var.caller, filter, page), 200);
  });

  app.openapi(getWithdrawal, async (c) =>
    send(c, await c.var.tenant.getWithdrawal(c.var.caller, c.req.valid("param").id), 200),
  );

  app.openapi(cancelWithdrawal, async (c) => {
    const { id } = c.req.valid("param");
    return send(c, await c.var.tenant.cancelWithdrawal(c.var.caller, id, idempotencyOf(c, {})), 200);
  });

  app.openapi(approveWithdrawal, async (c) => {
    const { id } = c.req.valid("param");
    return send(c, await c.var.tenant.approveWithdrawal(c.var.caller, id, idempotencyOf(c, {})), 200);
  });

  app.openapi(rejectWithdrawal, async (c) => {
    const { id } = c.req.valid("param");
    const rejection = c.req.valid("json");
    const idempotency = idempotencyOf(c, rejection);
    return send(c, await c.var.tenant.rejectWithdrawal(c.var.caller, id, rejection.reason, idempotency), 200);
  });

  app.openapi(speedUpWithdrawal, async (c) => {
    const { id } = c.req.valid("param");
    return send(c, await c.var.tenant.speedUpWithdrawal(c.var.caller, id, idempotencyOf(c, {})), 200);
  });

  app.openapi(resolveWithdrawal, async (c) => {
    const { id } = c.req.valid("param");
    const decision = c.req.valid("json");
    return send(c, await c.var.tenant.resolveWithdrawal(c.var.caller, id, decision, idempotencyOf(c, decision)), 200);
  });
}

function wanted({ external_id: externalId, ...rest }: z.output<typeof NewWithdrawalBody>): NewWithdrawal {
  return { ...rest, externalId };
}
