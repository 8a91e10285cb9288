import { describe, expect, it } from "vitest";
import {
  type AttemptFacts,
  type DeliveryOutcome,
  decideAfterAttempt,
  decideHealth,
  FAILING_LIMIT_MS,
  JITTER,
  MAX_ATTEMPTS,
  RETRY_DELAYS_MS,
} from "../../src/core/webhook-schedule.ts";

const NOW = 1_800_000_000_000;
const failed = (status: number | null, retryAfterMs: number | null = null): AttemptFacts => ({
  outcome: status === null ? "timeout" : "http_error",
  status,
  retryAfterMs,
});

describe("the retry schedule", () => {
  it("is the published one", () => {
    const seconds = RETRY_DELAYS_MS.map((ms) => ms / 1_000);
    expect(seconds).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
    expect(MAX_ATTEMPTS).toBe(10);
  });

  it.each(RETRY_DELAYS_MS.map((delayMs, failures) => ({ failures, delayMs })))(
    "after failure $failures + 1 waits $delayMs ms, at most a tenth more, never less",
    ({ failures, delayMs }) => {
      for (const random of [0, 0.3, 0.999999]) {
        const next = decideAfterAttempt(failures, failed(500), NOW, random);
        expect(next).toMatchObject({ kind: "retry", failures: failures + 1 });
        if (next.kind !== "retry") return;
        expect(next.nextAt - NOW).toBe(Math.round(delayMs * (1 + JITTER * random)));
        expect(next.nextAt - NOW).toBeGreaterThanOrEqual(delayMs);
      }
    },
  );

  it("gives up after the tenth failed attempt, not before", () => {
    expect(decideAfterAttempt(8, failed(500), NOW, 0).kind).toBe("retry");
    expect(decideAfterAttempt(9, failed(500), NOW, 0)).toEqual({ kind: "given_up", failures: 10 });
  });

  it("takes an acknowledgement at any time", () => {
    for (const failures of [0, 5, 9]) {
      const next = decideAfterAttempt(failures, { outcome: "delivered", status: 204, retryAfterMs: null }, NOW, 0.5);
      expect(next).toEqual({ kind: "delivered" });
    }
  });

  it("410 stops the endpoint and costs the delivery nothing, even at its last attempt (B139)", () => {
    for (const failures of [0, 9]) {
      const next = decideAfterAttempt(failures, { outcome: "gone", status: 410, retryAfterMs: null }, NOW, 0.5);
      expect(next).toEqual({ kind: "endpoint_gone" });
    }
  });

  it.each<DeliveryOutcome>(["http_error", "redirect", "timeout", "connection_failed", "target_refused"])(
    "%s is a failure that is tried again",
    (outcome) => {
      expect(decideAfterAttempt(0, { outcome, status: null, retryAfterMs: null }, NOW, 0).kind).toBe("retry");
    },
  );
});

describe("Retry-After (B139)", () => {
  const cases = [
    {
      name: "429, longer than the schedule: honoured",
      status: 429,
      failures: 0,
      askedMs: 3_600_000,
      waitMs: 3_600_000,
    },
    {
      name: "503, longer than the schedule: honoured",
      status: 503,
      failures: 1,
      askedMs: 3_600_000,
      waitMs: 3_600_000,
    },
    {
      name: "429, shorter than the schedule: the schedule",
      status: 429,
      failures: 3,
      askedMs: 1_000,
      waitMs: 7_200_000,
    },
    { name: "429, none", status: 429, failures: 0, askedMs: null, waitMs: 5_000 },
    { name: "500 gives it no meaning", status: 500, failures: 0, askedMs: 3_600_000, waitMs: 5_000 },
  ];
  it.each(cases)("$name", ({ status, failures, askedMs, waitMs }) => {
    const early = decideAfterAttempt(failures, failed(status, askedMs), NOW, 0);
    const late = decideAfterAttempt(failures, failed(status, askedMs), NOW, 0.9999);
    expect(early).toEqual({ kind: "retry", failures: failures + 1, nextAt: NOW + waitMs });
    expect(late.kind === "retry" && late.nextAt).toBeGreaterThan(NOW + waitMs);
  });

  it("does not buy an eleventh attempt", () => {
    expect(decideAfterAttempt(9, failed(429, 1_000), NOW, 0).kind).toBe("given_up");
  });
});

describe("an endpoint's health", () => {
  const failures: DeliveryOutcome[] = ["http_error", "redirect", "timeout", "connection_failed", "target_refused"];

  it.each(failures)("%s counts from the first failure, and disables after five days of nothing else", (outcome) => {
    expect(FAILING_LIMIT_MS).toBe(5 * 24 * 3_600_000);
    expect(decideHealth(null, outcome, NOW)).toEqual({ failingSince: NOW, disable: null });
    expect(decideHealth(NOW, outcome, NOW + FAILING_LIMIT_MS - 1)).toEqual({ failingSince: NOW, disable: null });
    expect(decideHealth(NOW, outcome, NOW + FAILING_LIMIT_MS)).toEqual({ failingSince: NOW, disable: "failing" });
  });

  it("is restored by one success, however late", () => {
    expect(decideHealth(NOW, "delivered", NOW + 2 * FAILING_LIMIT_MS)).toEqual({ failingSince: null, disable: null });
    expect(decideHealth(null, "delivered", NOW)).toEqual({ failingSince: null, disable: null });
  });

  it("ends at once with 410", () => {
    expect(decideHealth(null, "gone", NOW)).toEqual({ failingSince: null, disable: "gone" });
    expect(decideHealth(NOW - 1, "gone", NOW)).toEqual({ failingSince: NOW - 1, disable: "gone" });
  });
});
