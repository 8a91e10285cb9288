import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it } from "vitest";
import type { DeliveryOutcome } from "../../src/core/webhook-schedule.ts";
import { attemptDelivery, type Delivery, MAX_EXCERPT_BYTES, readRetryAfter } from "../../src/webhooks/delivery.ts";
import { Pace } from "../../src/webhooks/pace.ts";
import { mintSecret } from "../../src/webhooks/signature.ts";
import { answer, type Receiver, type Script, startReceiver } from "../support/receiver.ts";

const SECRET = mintSecret(new Uint8Array(32).fill(3));
const BODY = '{"id":"evt_1","z":"\\u001B\u2028","n":1.0,"two":  "spaces"}';
const HOUR = 3_600_000;
const keysOf = (...secrets: string[]) => secrets.map((secret) => ({ scheme: "v1" as const, secret }));

const receivers: Receiver[] = [];
async function receiver(script?: Script): Promise<Receiver> {
  const started = await startReceiver(script);
  receivers.push(started);
  return started;
}
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((one) => one.close()));
});

const delivery = (url: string, change: Partial<Delivery> = {}): Delivery => {
  return { url, allowLocal: true, dnsResolver: null, eventId: "evt_1", body: BODY, keys: keysOf(SECRET), ...change };
};
const attempt = (url: string, change: Partial<Delivery> = {}, deadlineMs = 2_000, clock = () => Date.now()) =>
  attemptDelivery(delivery(url, change), { fetch: (to, init) => fetch(to, init), clock, deadlineMs });

describe("a request", () => {
  it("carries the exact bytes, the headers of the standard, and verifies (B108)", async () => {
    const merchant = await receiver(answer(200, {}, "thanks"));
    const result = await attempt(merchant.url);
    expect(result).toMatchObject({ outcome: "delivered", status: 200, response: "thanks", retryAfterMs: null });

    const [request] = merchant.requests;
    expect(request).toMatchObject({ method: "POST", path: "/hook" });
    expect(request?.body.equals(Buffer.from(BODY, "utf8"))).toBe(true);
    expect(request?.headers).toMatchObject({
      "content-type": "application/json",
      "user-agent": "Sluice/1 (+webhooks)",
      "webhook-id": "evt_1",
    });
    const headers = request?.headers as Record<string, string>;
    expect(() => new Webhook(SECRET).verify(request?.body.toString() ?? "", headers)).not.toThrow();
  });

  it("is signed with the time of the attempt, in whole seconds (B112)", async () => {
    const merchant = await receiver();
    await attempt(merchant.url, {}, 2_000, () => 1_700_000_000_999);
    await attempt(merchant.url, {}, 2_000, () => 1_700_007_200_000);
    const [first, second] = merchant.requests.map((request) => request.headers);
    expect(first?.["webhook-timestamp"]).toBe("1700000000");
    expect(second?.["webhook-timestamp"]).toBe("1700007200");
    expect(second?.["webhook-id"]).toBe(first?.["webhook-id"]);
    expect(second?.["webhook-signature"]).not.toBe(first?.["webhook-signature"]);
  });

  it("is signed by every secret that is given (B113)", async () => {
    const merchant = await receiver();
    const old = mintSecret(new Uint8Array(24).fill(4));
    await attempt(merchant.url, { keys: keysOf(SECRET, old) });
    const headers = merchant.requests[0]?.headers as Record<string, string>;
    for (const secret of [SECRET, old]) expect(() => new Webhook(secret).verify(BODY, headers)).not.toThrow();
  });

  it("is not made when the target is refused (B115)", async () => {
    const merchant = await receiver();
    for (const url of [merchant.url, "http://10.0.0.1/", "https://127.0.0.1/"]) {
      const result = await attempt(url, { allowLocal: false });
      expect(result).toEqual({
        outcome: "target_refused",
        status: null,
        durationMs: 0,
        response: null,
        retryAfterMs: null,
        error: expect.stringMatching(/^The target is refused: .+\.$/),
      });
    }
    expect(merchant.requests).toHaveLength(0);
  });
});

describe("an answer", () => {
  it.each([
    [200, "delivered", null],
    [201, "delivered", null],
    [204, "delivered", null],
    [299, "delivered", null],
    [300, "redirect", "Answered 300. Redirects are not followed: register the URL they lead to."],
    [304, "redirect", "Answered 304. Redirects are not followed: register the URL they lead to."],
    [400, "http_error", "Answered 400; expected 2xx."],
    [404, "http_error", "Answered 404; expected 2xx."],
    [409, "http_error", "Answered 409; expected 2xx."],
    [410, "gone", "Answered 410 Gone, which disables the endpoint."],
    [429, "http_error", "Answered 429; expected 2xx."],
    [500, "http_error", "Answered 500; expected 2xx."],
    [503, "http_error", "Answered 503; expected 2xx."],
  ])("%d is %s", async (status, outcome, error) => {
    const merchant = await receiver(answer(status));
    expect(await attempt(merchant.url)).toMatchObject({ outcome, status, response: "", error });
  });

  it("whose time runs out while its answer is read has the deadline of the whole, from when it was sent", async () => {
    const merchant = await receiver(() => ({ kind: "drip", status: 200, everyMs: 50 }));
    // What connecting takes is the receiver's time as well.
    const slow = async (to: string, init: RequestInit) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      return fetch(to, init);
    };
    const result = await attemptDelivery(delivery(merchant.url), { fetch: slow, clock: Date.now, deadlineMs: 500 });
    expect(result).toMatchObject({ outcome: "timeout", status: 200, error: "No complete answer within 0.5 s." });
    expect(result.durationMs).toBeLessThan(900);
  });

  it("that breaks off says so in one line, however long the runtime's own words are", async () => {
    const broken = async () => {
      throw new Error(`reset\r\nby peer ${"x".repeat(500)}`);
    };
    const world = { fetch: broken, clock: Date.now, deadlineMs: 500 };
    const { outcome, error } = await attemptDelivery(delivery("http://127.0.0.1:1/"), world);
    expect(outcome).toBe("connection_failed");
    expect(error).toMatch(/^The connection failed: reset by peer x+$/);
    expect(error?.length).toBeLessThan(240);
  });

  it.each([301, 302, 303, 307, 308])("%d is not followed: the other host gets nothing (B117)", async (status) => {
    const other = await receiver();
    const merchant = await receiver(() => ({ kind: "redirect", status, location: other.url }));
    expect(await attempt(merchant.url)).toMatchObject({ outcome: "redirect", status });
    expect(merchant.requests).toHaveLength(1);
    expect(other.requests).toHaveLength(0);
  });

  it.each([
    { name: "text", sent: "x".repeat(5_000), kept: "x".repeat(1_024) },
    { name: "a character cut in half", sent: `${"x".repeat(1_023)}\u00e9`, kept: "x".repeat(1_023) },
    { name: "an emoji cut in half", sent: `${"x".repeat(1_021)}\u{1F600}`, kept: "x".repeat(1_021) },
    { name: "not UTF-8", sent: Buffer.alloc(2_000, 0xff), kept: "\ufffd".repeat(341) },
  ])("is kept up to 1 KiB of valid text: $name", async ({ sent, kept }) => {
    const merchant = await receiver(answer(500, {}, sent));
    const { response } = await attempt(merchant.url);
    expect(response).toBe(kept);
    expect(Buffer.byteLength(response ?? "")).toBeLessThanOrEqual(MAX_EXCERPT_BYTES);
  });

  it("of 1 GB is cut off after 1 KiB, and the rest is not taken (B118)", async () => {
    const merchant = await receiver(() => ({ kind: "huge", status: 200, bytes: 1_000_000_000 }));
    const result = await attempt(merchant.url, {}, 5_000);
    expect(result).toMatchObject({ outcome: "delivered", status: 200, response: "x".repeat(1_024) });
    await expect.poll(() => merchant.open(), { timeout: 2_000 }).toBe(0);
    expect(merchant.bytesWritten()).toBeLessThan(50_000_000);
  });

  it("that does not come ends at the deadline (B118)", async () => {
    const merchant = await receiver(() => ({ kind: "hang" }));
    const result = await attempt(merchant.url, {}, 300);
    expect(result).toMatchObject({ outcome: "timeout", status: null, response: null });
    expect(result.durationMs).toBeGreaterThanOrEqual(290);
    expect(result.durationMs).toBeLessThan(1_500);
    await expect.poll(() => merchant.open(), { timeout: 2_000 }).toBe(0);
  });

  it("that drips for ever ends at the deadline and is no acknowledgement (B118)", async () => {
    const merchant = await receiver(() => ({ kind: "drip", status: 200, everyMs: 100 }));
    const result = await attempt(merchant.url, {}, 550);
    expect(result).toMatchObject({ outcome: "timeout", status: 200 });
    expect(result.response).toMatch(/^\.{2,8}$/);
    expect(result.durationMs).toBeLessThan(1_500);
    await expect.poll(() => merchant.open(), { timeout: 2_000 }).toBe(0);
  });

  it("cut off, and a port where nobody listens, are connection failures", async () => {
    const merchant = await receiver(() => ({ kind: "cut" }));
    expect(await attempt(merchant.url)).toMatchObject({ outcome: "connection_failed", status: null, response: null });
    await merchant.close();
    receivers.splice(0);
    expect(await attempt(merchant.url)).toMatchObject({ outcome: "connection_failed", status: null });
  });

  it("that ignores the abort signal still ends", async () => {
    const stuck = { fetch: () => new Promise<Response>(() => {}), clock: () => Date.now(), deadlineMs: 100 };
    expect(await attemptDelivery(delivery("http://127.0.0.1:1/"), stuck)).toMatchObject({ outcome: "timeout" });
  });

  it.each([
    [429, "3600", HOUR],
    [503, "Fri, 15 Jan 2027 08:10:00 GMT", 600_000],
  ])("%d with Retry-After %j asks for %d ms (B139)", async (status, value, expected) => {
    const merchant = await receiver(answer(status, { "retry-after": value }));
    const result = await attempt(merchant.url, {}, 2_000, () => Date.UTC(2027, 0, 15, 8, 0, 0));
    expect(result).toMatchObject({ outcome: "http_error", status, retryAfterMs: expected });
  });
});

describe("Retry-After", () => {
  const now = Date.UTC(2027, 0, 15, 8, 0, 0);
  it.each<[string | null, number | null]>([
    [null, null],
    ["0", 0],
    ["120", 120_000],
    [" 120 ", 120_000],
    ["86400", 24 * HOUR],
    ["86401", 24 * HOUR],
    ["9".repeat(400), 24 * HOUR],
    ["Fri, 15 Jan 2027 08:10:00 GMT", 600_000],
    ["Friday, 15-Jan-27 08:10:00 GMT", 600_000],
    ["Fri, 15 Jan 2027 07:00:00 GMT", 0],
    ["Fri, 15 Jan 2100 08:10:00 GMT", 24 * HOUR],
    ["-5", null],
    ["1.5", null],
    ["1e3", null],
    ["soon", null],
    ["", null],
    ["2027-01-15T08:10:00Z", null],
    ["Fri, 99 Foo 2027 08:10:00 GMT", null],
  ])("%j is %s", (value, expected) => {
    expect(readRetryAfter(value, now)).toBe(expected);
  });
});

describe("the pace", () => {
  const startedAt = (pace: Pace, now: number) => {
    let starts = 0;
    while (starts < 5_000 && pace.take(now) === 0) starts++;
    return starts;
  };
  const hear = (pace: Pace, outcome: DeliveryOutcome, times: number) => {
    for (let i = 0; i < times; i++) pace.heard(outcome);
  };

  it("is the receiver's own while it is well", () => {
    const pace = new Pace();
    expect(startedAt(pace, 0)).toBe(5_000);
    hear(pace, "delivered", 5_000);
    expect(startedAt(pace, 0)).toBe(5_000);
  });

  it("is halved by each failure, down to ten a second, and doubles in each second that goes well (B139)", () => {
    const pace = new Pace();
    pace.heard("http_error");
    expect(startedAt(pace, 1_000)).toBe(500);
    pace.heard("timeout");
    expect(pace.take(1_400)).toBe(600);
    expect(startedAt(pace, 2_000)).toBe(250);
    hear(pace, "connection_failed", 20);
    const bySecond: number[] = [];
    for (let second = 3; second < 11; second++) {
      const starts = startedAt(pace, second * 1_000);
      hear(pace, "delivered", starts);
      bySecond.push(starts);
    }
    expect(bySecond).toEqual([10, 20, 40, 80, 160, 320, 640, 5_000]);
  });

  it("falls at once, also within a second", () => {
    const pace = new Pace();
    pace.heard("http_error");
    for (let i = 0; i < 400; i++) expect(pace.take(5_000)).toBe(0);
    pace.heard("http_error");
    expect(pace.take(5_000)).toBe(1_000);
  });

  it("is not changed by an attempt in which nothing left", () => {
    const pace = new Pace();
    hear(pace, "target_refused", 5);
    hear(pace, "unresolved", 5);
    expect(startedAt(pace, 0)).toBe(5_000);
  });

  it("begins slowly with a receiver that was failing, and does not hold on to the future when the clock goes back", () => {
    const pace = new Pace();
    pace.beginSlowly();
    expect(startedAt(pace, 5_000)).toBe(10);
    expect(pace.take(5_999)).toBe(1);
    expect(startedAt(pace, 1_000)).toBe(10);
  });
});
