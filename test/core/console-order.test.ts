/** A withdrawal that is being asked for in the console: which one is sent, and that it is not forgotten. */

import { QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepOrder, orderIn, saidOf } from "../../src/console/pages/withdrawals/order.ts";
import { becomeSession, createQueries } from "../../src/console/queries.ts";
import type { Session, WithdrawalEstimate } from "../../src/sdk/types.ts";

const BODY = { network: "local", asset: "USDC", destination: "0xab", amount: "5", account: "a", external_id: null };
const SAID = { accepted: true } as WithdrawalEstimate;
const ORDER = { key: "one key", sent: BODY };

beforeEach(() => vi.stubGlobal("location", { search: "", hash: "" }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("an estimate is of exactly what it was asked about", () => {
  expect(saidOf({ ...BODY }, BODY, SAID)).toBe(SAID);
  // As when the token is listed no more, and the form falls back to the coin.
  for (const change of [
    { asset: "ETH" },
    { network: "base" },
    { amount: "50" },
    { destination: "0xcd" },
    { account: "b" },
  ])
    expect(saidOf({ ...BODY, ...change }, BODY, SAID)).toBeNull();
  expect(saidOf(BODY, BODY, undefined)).toBeNull();
});

test("an order outlasts the page that it was sent from, however long and whatever is refreshed", async () => {
  vi.useFakeTimers();
  const queries = createQueries();
  keepOrder(queries, ORDER);
  const page = new QueryObserver(queries, { queryKey: ["withdrawals", "order"], enabled: false });
  const leave = page.subscribe(() => {});
  await queries.invalidateQueries({ queryKey: ["withdrawals"] });
  leave();
  await vi.advanceTimersByTimeAsync(86_400_000);
  await queries.invalidateQueries({ queryKey: ["withdrawals"] });
  expect(orderIn(queries)).toEqual(ORDER);
});

test("and ends with the session: under another one the same key would be another withdrawal", () => {
  const queries = createQueries();
  keepOrder(queries, ORDER);
  becomeSession(queries, { tenant: { id: "ten_b" }, api_key: { id: "key_b" } } as Session);
  expect(orderIn(queries)).toBeNull();
});
