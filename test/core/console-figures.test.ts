/** What the console's charts show is what the rows say. */

import { describe, expect, test } from "vitest";
import { confirmationsToGo, depositsPerHour, HOUR_MS, latencyOf, millisecondsText } from "../../src/console/figures.ts";
import type { Delivery, Deposit, DepositStatus } from "../../src/sdk/types.ts";

const NOW = Date.parse("2026-01-31T12:20:00.000Z");

function deposit(msAgo: number, status: DepositStatus, confirmations = 0, required: number | null = 12): Deposit {
  const created_at = new Date(NOW - msAgo).toISOString();
  return { created_at, status, confirmations, confirmations_required: required } as Deposit;
}

function delivery(...attempts: [outcome: string, atMs: number, durationMs: number][]): Delivery {
  return {
    created_at: new Date(NOW).toISOString(),
    attempts: attempts.map(([outcome, at, duration_ms]) => ({
      outcome,
      duration_ms,
      at: new Date(NOW + at).toISOString(),
    })),
  } as Delivery;
}

test("deposits are counted in the hour in which they were seen, the present one last", () => {
  const hours = depositsPerHour(
    [
      deposit(0, "pending"),
      deposit(19 * 60_000, "pending"),
      deposit(21 * 60_000, "settled"),
      deposit(23 * HOUR_MS, "reverted"),
      deposit(24 * HOUR_MS, "settled"),
    ],
    NOW,
  );
  expect(hours).toHaveLength(24);
  expect(new Date(hours[0]?.start ?? 0).toISOString()).toBe("2026-01-30T13:00:00.000Z");
  const none = { pending: 0, confirmed: 0, settled: 0, reverted: 0, dropped: 0 };
  expect(hours.at(-1)?.counts).toEqual({ ...none, pending: 2 });
  expect(hours.at(-2)?.counts).toEqual({ ...none, settled: 1 });
  expect(hours[0]?.counts).toEqual({ ...none, reverted: 1 });
});

describe("confirmations to go", () => {
  test("are counted by how many are missing, those that wait for finality apart", () =>
    expect(
      confirmationsToGo([
        deposit(0, "pending", 10),
        deposit(0, "pending", 10),
        deposit(0, "pending", 13),
        deposit(0, "pending", 3, null),
      ]),
    ).toEqual([
      { name: "0", deposits: 1 },
      { name: "1", deposits: 0 },
      { name: "2", deposits: 2 },
      { name: "finality", deposits: 1 },
    ]));

  test("share columns where depths are many, and none is left out", () => {
    const pending = Array.from({ length: 101 }, (_, n) => deposit(0, "pending", n, 101));
    const columns = confirmationsToGo(pending);
    expect(columns.length).toBeLessThanOrEqual(12);
    expect(columns.reduce((sum, { deposits }) => sum + deposits, 0)).toBe(101);
    expect(columns[0]).toEqual({ name: "1–9", deposits: 9 });
  });

  test("of nothing are no columns", () => expect(confirmationsToGo([])).toEqual([]));
});

describe("latency", () => {
  test("runs from the delivery's beginning to the end of the first attempt that succeeded", () =>
    expect(latencyOf([delivery(["timeout", 0, 15_000], ["delivered", 20_000, 300], ["delivered", 90_000, 5])])).toEqual(
      {
        count: 1,
        p50: 20_300,
        p95: 20_300,
      },
    ));

  test("is that of the nearest rank", () => {
    const hundred = Array.from({ length: 100 }, (_, n) => delivery(["delivered", 0, 100 - n]));
    expect(latencyOf(hundred)).toEqual({ count: 100, p50: 50, p95: 95 });
    expect(latencyOf([delivery(["delivered", 0, 3]), delivery(["delivered", 0, 1])])).toMatchObject({ p50: 1, p95: 3 });
  });

  test("is none where nothing was delivered", () => expect(latencyOf([delivery(["timeout", 0, 15_000])])).toBeNull());

  test.each([
    [84.4, "84 ms"],
    [1_234, "1.2 s"],
    [20_300, "20 s"],
    [600_000, "10 min"],
    [7_200_000, "2 h"],
  ])("of %i ms reads %s", (ms, text) => expect(millisecondsText(ms)).toBe(text));
});
