/** One logical call of the SDK: what is sent again, with what, how long it waits, and how it fails. */

import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { REFUSALS } from "../../src/core/refusal.ts";
import {
  AbortedError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  RateLimitError,
  ServerError,
  Sluice,
  SluiceError,
  TimeoutError,
  UnexpectedAnswerError,
} from "../../src/sdk/index.ts";
import { readRetryAfter, waitBefore } from "../../src/sdk/retry.ts";
import { API_KEY, given } from "../support/http-app.ts";
import { BASE, json, overRoutes, refused, type Scripted, scripted } from "../support/sdk.ts";

const PAYOUT = {
  network: "local",
  asset: "ETH",
  destination: "0x00000000000000000000000000000000000a11ce",
  amount: "1.5",
};
const DEPOSIT = "dep_01h455vb4pex5vsknk084sn02q";
const cut = () => new TypeError("fetch failed");
const pay = ({ sluice }: Scripted) => sluice.withdrawals.create(PAYOUT, { idempotencyKey: "payout-1" });
const keys = ({ sent }: Scripted) => sent.map(({ headers }) => headers["Idempotency-Key"]);

async function failureOf(call: PromiseLike<unknown>): Promise<SluiceError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

describe("one idempotency key for each logical call (B140)", () => {
  test("made once, and sent with every attempt", async () => {
    const world = scripted([cut(), refused(503, "store_unavailable"), json({ id: "addr" }, 201)]);
    await world.sluice.addresses.create({ network: "local", address: "0x0" });
    expect(keys(world)[0]).toMatch(/^sdk_/);
    expect(new Set(keys(world)).size).toBe(1);
    expect(new Set(world.sent.map(({ body }) => body)).size).toBe(1);
    expect(world.sent).toHaveLength(3);
  });

  test("another one for another call", async () => {
    const world = scripted(() => json({ id: "addr" }, 201));
    await world.sluice.addresses.create({ network: "local", address: "0x0" });
    await world.sluice.addresses.create({ network: "local", address: "0x0" });
    expect(new Set(keys(world)).size).toBe(2);
  });

  test("the caller's own for a withdrawal, also after the SDK gave up and the caller begins again", async () => {
    const world = scripted((_, index) => (index < 4 ? cut() : json({ id: "wd" })));
    const failed = await failureOf(pay(world));
    expect(failed).toMatchObject({ outcomeUnknown: true, idempotencyKey: "payout-1", attempts: 4 });
    await pay(world);
    expect(keys(world)).toEqual(Array(5).fill("payout-1"));
  });

  test("a payment whose answer was lost is made once, over the real routes", async () => {
    const paid = new Map<string, object>();
    const createWithdrawal = async (_: unknown, input: object, key: string) => {
      const replayed = paid.has(key);
      if (!replayed) paid.set(key, { id: `wd_${paid.size}`, ...input });
      return given(paid.get(key), { created: !replayed, replayed });
    };
    const { app } = overRoutes({ tenant: { createWithdrawal } });
    const world = scripted(async ({ path, method, headers, body }, index) => {
      const answer = await app.request(BASE + path, { method, headers, ...(body === undefined ? {} : { body }) });
      return index < 2 ? cut() : answer;
    });
    const { data, answer } = await pay(world).withAnswer();
    expect(paid.size).toBe(1);
    expect(data.id).toBe("wd_0");
    expect(answer).toMatchObject({ status: 200, replayed: true, attempts: 3 });
  });
});

describe("sent again", () => {
  test.each([
    ["a lost connection", cut],
    ["408", () => new Response("", { status: 408 })],
    ["429", () => refused(429, "rate_limited")],
    ["500", () => refused(500, "internal_error")],
    ["502 of a proxy", () => new Response("<html>Bad gateway</html>", { status: 502 })],
    ["503", () => refused(503, "chain_unavailable")],
    ["a conflict that says it helps", () => refused(409, "state_conflict", { retryable: true })],
    ["a body that breaks off", () => new Response(new ReadableStream({ start: (c) => c.error(new Error("reset")) }))],
  ])("after %s", async (_, meets) => {
    for (const run of [pay, ({ sluice }: Scripted) => sluice.deposits.get(DEPOSIT)]) {
      const world = scripted([meets(), json({ id: "it" })]);
      expect(await run(world)).toEqual({ id: "it" });
      expect(world.sent).toHaveLength(2);
    }
  });

  test.each(Object.entries(REFUSALS).filter(([, status]) => status < 429))("never after %s", async (code, status) => {
    const world = scripted([refused(status, code)]);
    expect(await failureOf(pay(world))).toMatchObject({ code, status, retryable: false, attempts: 1 });
    expect(world.sent).toHaveLength(1);
  });

  test("never after a fault that the service says will stay", async () => {
    const world = scripted([refused(500, "internal_error", { retryable: false })]);
    expect(await failureOf(pay(world))).toBeInstanceOf(ServerError);
  });

  test("as often as allowed, and not once more", async () => {
    const meets = () => refused(503, "store_unavailable");
    for (const [maxRetries, expected] of [
      [0, 1],
      [2, 3],
      [undefined, 4],
    ] as const) {
      const world = scripted(meets, { maxRetries });
      expect(await failureOf(pay(world))).toMatchObject({ attempts: expected, retryable: true, outcomeUnknown: true });
      expect(world.sent).toHaveLength(expected);
    }
    const world = scripted(meets);
    await failureOf(world.sluice.deposits.get(DEPOSIT, { maxRetries: 1 }));
    expect(world.sent).toHaveLength(2);
  });

  test("a removal that was not heard of is done when the thing is gone; an unknown thing is not", async () => {
    const gone = scripted([cut(), refused(404, "not_found")]);
    expect(await gone.sluice.addresses.delete("addr_1")).toBeUndefined();
    const unknown = scripted([refused(404, "not_found")]);
    expect(await failureOf(unknown.sluice.addresses.delete("addr_1"))).toBeInstanceOf(NotFoundError);
    const proxied = scripted([cut(), new Response("<html>No such host</html>", { status: 404 })]);
    expect(await failureOf(proxied.sluice.addresses.delete("addr_1"))).toBeInstanceOf(UnexpectedAnswerError);
    const limited = scripted([refused(429, "rate_limited"), refused(404, "not_found")]);
    expect(await failureOf(limited.sluice.addresses.delete("addr_1"))).toBeInstanceOf(NotFoundError);
  });
});

describe("waits", () => {
  test("grow, are bounded, and are spread", () => {
    const bounds = [1, 2, 3, 4, 5, 6, 40].map((n) => [waitBefore(n, null, 0), waitBefore(n, null, 1)]);
    expect(bounds).toEqual([
      [250, 500],
      [500, 1000],
      [1000, 2000],
      [2000, 4000],
      [4000, 8000],
      [4000, 8000],
      [4000, 8000],
    ]);
  });

  test("are at least what the service asks for", async () => {
    const world = scripted([
      refused(429, "rate_limited", { headers: { "retry-after": "7" } }),
      refused(503, "store_unavailable", { headers: { "retry-after": "Mon, 01 Jun 2026 00:00:30 GMT" } }),
      json({ id: "wd" }),
    ]);
    await pay(world);
    expect(world.waits).toEqual([7_000, 23_000]);
    expect(waitBefore(1, 7_000, 0.5)).toBe(7_350);
  });

  test("longer than a minute are the caller's to decide", async () => {
    const world = scripted([refused(429, "rate_limited", { headers: { "retry-after": "61" } })]);
    const failed = await failureOf(pay(world));
    expect(failed).toBeInstanceOf(RateLimitError);
    expect(failed).toMatchObject({ retryAfterMs: 61_000, retryable: true, attempts: 1 });
    expect(world.waits).toEqual([]);
  });

  test.each([
    ["3", 3_000],
    ["0", 0],
    [null, null],
    ["soon", null],
    ["-1", null],
    ["1e3", null],
    ["Mon, 01 Jun 2026 00:00:05 GMT", 5_000],
    ["Sun, 31 May 2026 00:00:00 GMT", 0],
  ])("Retry-After %s is %s ms", (text, expected) => {
    expect(readRetryAfter(text, Date.parse("2026-06-01T00:00:00Z"))).toBe(expected);
  });
});

describe("deadlines and the caller's signal", () => {
  test("an attempt that hangs is given up and made again", async () => {
    const world = scripted(["hang", json({ id: "wd" })], { timeoutMs: 20 });
    expect(await pay(world)).toEqual({ id: "wd" });
    expect(keys(world)).toEqual(["payout-1", "payout-1"]);
  });

  test("a body that never ends counts as one that hangs", async () => {
    const endless = new Response(new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode('{"id":')) }));
    const world = scripted([endless], { timeoutMs: 20, maxRetries: 0 });
    const failed = await failureOf(pay(world));
    expect(failed).toBeInstanceOf(TimeoutError);
    expect(failed).toBeInstanceOf(ConnectionError);
    expect(failed).toMatchObject({ code: "timeout", status: null, outcomeUnknown: true, attempts: 1 });
  });

  test("the time is for one call when it is given with it", async () => {
    const world = scripted(["hang"], { maxRetries: 0 });
    expect(await failureOf(world.sluice.deposits.get(DEPOSIT, { timeoutMs: 10 }))).toMatchObject({
      code: "timeout",
      outcomeUnknown: false,
    });
  });

  test("a signal ends an attempt, a wait, and what has not begun", async () => {
    const during = new AbortController();
    const hanging = scripted(["hang"]);
    const call = failureOf(hanging.sluice.withdrawals.create(PAYOUT, { idempotencyKey: "k", signal: during.signal }));
    during.abort(new Error("shutting down"));
    const aborted = await call;
    expect(aborted).toBeInstanceOf(AbortedError);
    expect(aborted).toMatchObject({ outcomeUnknown: true, attempts: 1, retryable: false });
    expect(aborted.cause).toMatchObject({ message: "shutting down" });

    const between = new AbortController();
    const waiting = scripted(() => refused(503, "store_unavailable"), { sleep: async () => between.abort() });
    const waited = await failureOf(waiting.sluice.deposits.get(DEPOSIT, { signal: between.signal }));
    expect(waited).toMatchObject({ code: "aborted", attempts: 1, outcomeUnknown: false });
    expect(waiting.sent).toHaveLength(1);

    const before = scripted([]);
    const never = await failureOf(
      before.sluice.withdrawals.create(PAYOUT, { idempotencyKey: "k", signal: AbortSignal.abort() }),
    );
    expect(never).toMatchObject({ code: "aborted", attempts: 0, outcomeUnknown: false });
    expect(before.sent).toEqual([]);
  });

  test("a wait of its own ends with the signal at once", async () => {
    const abort = new AbortController();
    const real = new Sluice({
      apiKey: API_KEY,
      baseUrl: BASE,
      fetch: async () => {
        setTimeout(() => abort.abort(), 10);
        return refused(429, "rate_limited", { headers: { "retry-after": "30" } });
      },
    });
    const started = Date.now();
    expect(await failureOf(real.tenant.get({ signal: abort.signal }))).toBeInstanceOf(AbortedError);
    expect(Date.now() - started).toBeLessThan(5_000);
  });

  test("what was sent is told to stop", async () => {
    let heard: { readonly aborted: boolean } | undefined;
    const sluice = new Sluice({
      apiKey: API_KEY,
      baseUrl: BASE,
      timeoutMs: 10,
      maxRetries: 0,
      fetch: async (_, { signal }) => {
        heard = signal;
        return new Promise<never>(() => {});
      },
    });
    await failureOf(sluice.tenant.get());
    expect(heard?.aborted).toBe(true);
  });
});

describe("errors", () => {
  test("carry the problem: code, request id, fields", async () => {
    const errors = [{ path: "amount", message: "expected more than 0" }];
    const failed = await failureOf(pay(scripted([refused(422, "invalid_fields", { errors })])));
    expect(failed).toBeInstanceOf(InvalidRequestError);
    expect(failed).toMatchObject({
      name: "InvalidRequestError",
      code: "invalid_fields",
      status: 422,
      requestId: "req_1",
      errors,
    });
    expect(failed.message).toBe(
      "POST /v1/withdrawals was answered with 422 invalid_fields: Said why. amount: expected more than 0.",
    );
  });

  test.each([
    [400, "InvalidRequestError"],
    [401, "AuthenticationError"],
    [403, "PermissionError"],
    [404, "NotFoundError"],
    [405, "InvalidRequestError"],
    [409, "ConflictError"],
    [413, "InvalidRequestError"],
    [415, "InvalidRequestError"],
    [422, "InvalidRequestError"],
    [429, "RateLimitError"],
    [500, "ServerError"],
    [503, "ServerError"],
  ])("of status %d are %s", async (status, name) => {
    const failed = await failureOf(pay(scripted([refused(status, "a_code_of_the_future")], { maxRetries: 0 })));
    expect(failed).toMatchObject({ name, code: "a_code_of_the_future" });
  });

  test("of what is not this API say so, and a redirect is not followed", async () => {
    for (const meets of [
      new Response("<html>Sign in</html>", { status: 200 }),
      new Response("", { status: 302, headers: { location: "https://elsewhere.test/" } }),
      new Response("Not here", { status: 404 }),
      new Response("[]", { status: 200 }),
    ]) {
      const world = scripted([meets]);
      const failed = await failureOf(world.sluice.tenant.get());
      expect(failed).toBeInstanceOf(UnexpectedAnswerError);
      expect(failed.retryable).toBe(false);
    }
    let redirect: unknown;
    const fetch = async (_: string, init: { redirect: unknown }) => {
      redirect = init.redirect;
      return json({});
    };
    await new Sluice({ apiKey: API_KEY, baseUrl: BASE, fetch }).tenant.get();
    expect(redirect).toBe("manual");
  });

  test("of an answer without a body, or another's page, to a change say that it may be done", async () => {
    const { sluice } = scripted(
      (_, index) => new Response(index === 0 ? null : "<html>", { status: index === 0 ? 204 : 200 }),
    );
    for (const change of [
      () => sluice.withdrawals.create(PAYOUT, { idempotencyKey: "payout-1" }),
      () => sluice.policies.setConfirmations("local", { default: 3, assets: {} }),
      () => sluice.webhookEndpoints.update("we_1", {}),
      () => sluice.addresses.delete("addr_1"),
    ]) {
      const failed = await failureOf(change());
      expect(failed).toBeInstanceOf(UnexpectedAnswerError);
      expect(failed.outcomeUnknown).toBe(true);
    }
  });

  test.each([
    { meets: [cut(), refused(422, "insufficient_funds")], unknown: false },
    { meets: [cut(), refused(409, "illegal_transition")], unknown: false },
    { meets: [cut(), refused(401, "unauthorized")], unknown: true },
    { meets: [cut(), refused(403, "forbidden")], unknown: true },
    { meets: [cut(), refused(429, "rate_limited"), refused(401, "unauthorized")], unknown: true },
    { meets: [refused(429, "rate_limited"), refused(401, "unauthorized")], unknown: false },
    // What stands before the service knows nothing of earlier attempts, and may have kept back the answer to this one.
    { meets: [cut(), new Response("<html>Not found</html>", { status: 404 })], unknown: true },
    { meets: [cut(), new Response("", { status: 302 })], unknown: true },
    { meets: [new Response("<html>Blocked</html>", { status: 403 })], unknown: true },
    { meets: [json({ message: "Bad Request" }, 400)], unknown: true },
    { meets: [refused(503, "store_unavailable"), refused(403, "forbidden")], unknown: true },
  ])("say whether it may have been done all the same: $unknown", async ({ meets, unknown }) => {
    expect(await failureOf(pay(scripted(meets)))).toMatchObject({ outcomeUnknown: unknown, attempts: meets.length });
  });
});

describe("what cannot be meant is refused before anything is sent", () => {
  test.each(["выплата-1", "a\nb", " payout-1", "payout-1 ", "x".repeat(256), "", 7])(
    "an idempotency key: %j",
    async (key) => {
      const world = scripted([]);
      const options = { idempotencyKey: key as string };
      const pays = async () => world.sluice.withdrawals.create(PAYOUT, options);
      await expect(pays()).rejects.toThrow(TypeError);
      await expect(pays()).rejects.toThrow("idempotencyKey");
      await expect(world.sluice.addresses.create({ network: "local", address: "0x0" }, options)).rejects.toThrow(
        "idempotencyKey",
      );
      expect(world.sent).toEqual([]);
    },
  );

  test.each([
    { timeoutMs: Number.POSITIVE_INFINITY },
    { timeoutMs: Number.NaN },
    { timeoutMs: 0 },
    { timeoutMs: 2 ** 31 },
    { maxRetries: Number.NaN },
    { maxRetries: -1 },
    { maxRetries: Number.POSITIVE_INFINITY },
  ])("a bound: %o", async (options) => {
    const [name = ""] = Object.keys(options);
    expect(() => new Sluice({ apiKey: API_KEY, baseUrl: BASE, ...options })).toThrow(`expected ${name}`);
    const world = scripted([]);
    await expect(world.sluice.tenant.get(options)).rejects.toThrow(`expected ${name}`);
    expect(world.sent).toEqual([]);
  });
});

describe("the API key", () => {
  test("is in no text of the client or of an error", async () => {
    const world = scripted([new Error(`request with Bearer ${API_KEY} failed`)], { maxRetries: 0 });
    const failed = await failureOf(world.sluice.tenant.get());
    const { sluice } = world;
    const shown = [
      inspect(sluice, { depth: 20, showHidden: true }),
      JSON.stringify(sluice),
      String(sluice),
      failed.message,
      inspect(failed, { depth: 20, showHidden: true }),
    ];
    for (const text of shown) expect(text).not.toContain(API_KEY.slice(-12));
    expect(String(sluice)).toBe(`Sluice(${BASE})`);
    expect(failed.message).toContain("Bearer *** failed");
  });

  test.each(["", "sk_a b", "sk_a\n", "sk_ä", 17, undefined])("that cannot be one is refused: %j", (apiKey) => {
    expect(() => new Sluice({ apiKey: apiKey as string, baseUrl: BASE })).toThrow(/^expected an apiKey/);
  });

  test.each(["", "sluice.test", "ftp://sluice.test", "https://u:p@sluice.test", "https://sluice.test/?a=1", undefined])(
    "goes to no address that cannot be one: %j",
    (baseUrl) =>
      expect(() => new Sluice({ apiKey: API_KEY, baseUrl: baseUrl as string })).toThrow(/^expected a baseUrl/),
  );

  test("goes below a path of the address when it has one", async () => {
    const world = scripted([json({})], { baseUrl: "https://example.test/sluice/" });
    await world.sluice.tenant.get();
    expect(world.sent[0]?.path).toBe("/sluice/v1/tenant");
  });
});

describe("a call", () => {
  test("is a promise among promises", async () => {
    const { sluice } = scripted(() => json({ id: "it" }));
    let ended = 0;
    const all = await Promise.all([sluice.tenant.get(), sluice.tenant.get().finally(() => ended++)]);
    expect(all).toEqual([{ id: "it" }, { id: "it" }]);
    expect(ended).toBe(1);
    expect(
      await scripted([refused(404, "not_found")])
        .sluice.deposits.get(DEPOSIT)
        .catch(() => "none"),
    ).toBe("none");
  });
});

describe("lists", () => {
  test.each([{ status: "ok" }, { data: [] }, { data: {}, next_cursor: null }, { data: [], next_cursor: 7 }])(
    "of which a page is none fail with a typed error: %j",
    async (body) => {
      const world = scripted(() => json(body));
      expect(await failureOf(world.sluice.deposits.list().toArray(5))).toBeInstanceOf(UnexpectedAnswerError);
      expect(await failureOf(world.sluice.deposits.list().page())).toBeInstanceOf(UnexpectedAnswerError);
      expect(world.sent).toHaveLength(2);
    },
  );

  const pages = () => [
    json({ data: [{ id: "a" }, { id: "b" }], next_cursor: "c1" }),
    json({ data: [], next_cursor: "c2" }),
    json({ data: [{ id: "c" }], next_cursor: null }),
  ];

  test("give every row of every page once, filters and page size kept", async () => {
    const world = scripted(pages());
    const ids: string[] = [];
    for await (const { id } of world.sluice.deposits.list({ status: "confirmed", limit: 2 })) ids.push(id);
    expect(ids).toEqual(["a", "b", "c"]);
    expect(world.sent.map(({ query }) => String(query))).toEqual([
      "status=confirmed&limit=2",
      "status=confirmed&limit=2&cursor=c1",
      "status=confirmed&limit=2&cursor=c2",
    ]);
  });

  test("ask for nothing that is not read", async () => {
    const world = scripted(pages());
    const list = world.sluice.deposits.list();
    expect(world.sent).toHaveLength(0);
    expect((await list.toArray(2)).map(({ id }) => id)).toEqual(["a", "b"]);
    expect(world.sent).toHaveLength(1);
    expect(await list.toArray(0)).toEqual([]);
  });

  test("give one page with where the next begins", async () => {
    const world = scripted(pages());
    const list = world.sluice.deposits.list();
    const { data, next_cursor } = await list.page();
    expect([data.length, next_cursor]).toEqual([2, "c1"]);
    await list.page(next_cursor);
    expect(world.sent.map(({ query }) => String(query))).toEqual(["", "cursor=c1"]);
  });

  test("retry a page, and neither lose nor repeat a row", async () => {
    const [one, two, three] = pages();
    if (one === undefined || two === undefined || three === undefined) throw new Error("three pages");
    const world = scripted([one, cut(), two, refused(503, "store_unavailable"), three]);
    expect((await world.sluice.deposits.list().toArray(9)).map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  test("end with an error rather than go in a circle", async () => {
    const world = scripted(() => json({ data: [{ id: "a" }], next_cursor: "same" }));
    await expect(world.sluice.deposits.list().toArray(100)).rejects.toThrow("leads to itself");
    expect(world.sent).toHaveLength(2);
  });
});
