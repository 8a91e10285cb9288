/** Following the event feed: every event once and in order, whatever happens in between. */

import { describe, expect, test } from "vitest";
import { AuthenticationError, type SluiceEvent, UnexpectedAnswerError } from "../../src/sdk/index.ts";
import { json, type Meets, refused, type Scripted, scripted } from "../support/sdk.ts";

const event = (sequence: number) => ({ id: `evt_${sequence}`, type: "webhook.test", sequence, subject: "s" });
const page = (...sequences: number[]) => json({ data: sequences.map(event), next_cursor: null });

/** A feed of so many events that answers as the service does, with what a script puts in its place. */
function feed(total: number, troubles: ReadonlyMap<number, Meets> = new Map()): Scripted {
  return scripted(({ query }, index) => {
    const trouble = troubles.get(index);
    if (trouble !== undefined) return trouble;
    const after = Number(query.get("after"));
    return page(...[1, 2, 3].map((n) => after + n).filter((sequence) => sequence <= total));
  });
}

/** Reads until so many were read. */
async function read(world: Scripted, after: number, count: number): Promise<number[]> {
  const sequences: number[] = [];
  for await (const { sequence } of world.sluice.events.follow({ after })) {
    sequences.push(sequence);
    if (sequences.length === count) break;
  }
  return sequences;
}

describe("following", () => {
  test("goes on from what was given last, holding each request open", async () => {
    const world = feed(7);
    expect(await read(world, 1, 6)).toEqual([2, 3, 4, 5, 6, 7]);
    expect(world.sent.map(({ query }) => String(query))).toEqual([
      "wait=25&limit=200&after=1",
      "wait=25&limit=200&after=4",
    ]);
    expect(world.waits).toEqual([]);
  });

  test("gives each event once and in order across errors, for longer than one call would retry", async () => {
    const lost = Array.from({ length: 13 }, (_, i) => [i + 1, new TypeError("fetch failed")] as const);
    const troubles = new Map<number, Meets>([
      ...lost,
      [15, refused(503, "store_unavailable")],
      [16, refused(429, "rate_limited", { headers: { "retry-after": "90" } })],
      [17, new Response("<html>", { status: 502 })],
    ]);
    const world = feed(12, troubles);
    expect(await read(world, 0, 12)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(Math.max(...world.waits)).toBeGreaterThanOrEqual(90_000);
  });

  test.each(["999999999", "Fri, 01 Jan 2100 00:00:00 GMT"])(
    "waits no longer than ten minutes, whatever stands before the service asks for: Retry-After %s",
    async (asked) => {
      const trouble = new Response("<html>", { status: 503, headers: { "retry-after": asked } });
      const world = feed(1, new Map([[0, trouble]]));
      expect(await read(world, 0, 1)).toEqual([1]);
      expect(world.waits).toEqual([600_000]);
    },
  );

  test("does not ask in a hurry when nobody holds its requests open", async () => {
    const abort = new AbortController();
    const world = scripted((_, index) => {
      if (index === 5) abort.abort();
      return page();
    });
    for await (const _ of world.sluice.events.follow({ after: 0, signal: abort.signal }))
      throw new Error("none is there");
    expect(world.waits).toEqual(Array(5).fill(1_000));
  });

  test("asks again at once when the request was held open", async () => {
    const world = scripted((_, index) => {
      world.clock.now += 25_000;
      return index < 3 ? page() : page(1);
    });
    expect(await read(world, 0, 1)).toEqual([1]);
    expect(world.waits).toEqual([]);
  });

  test("ends without an error with the signal: between events, and while it waits", async () => {
    const abort = new AbortController();
    const seen: number[] = [];
    for await (const { sequence } of feed(9).sluice.events.follow({ after: 0, signal: abort.signal })) {
      seen.push(sequence);
      if (sequence === 2) abort.abort();
    }
    expect(seen).toEqual([1, 2]);

    const waiting = new AbortController();
    const world = scripted(["hang"]);
    setTimeout(() => waiting.abort(), 10);
    for await (const _ of world.sluice.events.follow({ after: 0, signal: waiting.signal }))
      throw new Error("none is there");
    expect(world.sent).toHaveLength(1);
  });

  test("gives a request its own time and the time it may be held open", async () => {
    const world = scripted(["hang", page(1)], { timeoutMs: 15 });
    const started = Date.now();
    for await (const one of world.sluice.events.follow({ after: 0, waitS: 0.05 })) {
      expect(one.sequence).toBe(1);
      break;
    }
    expect(Date.now() - started).toBeGreaterThanOrEqual(60);
  });

  test("throws what repeating does not mend", async () => {
    const world = feed(9, new Map([[1, refused(401, "unauthorized")]]));
    await expect(read(world, 0, 9)).rejects.toBeInstanceOf(AuthenticationError);
    expect(world.sent).toHaveLength(2);
  });

  test.each([
    ["leaves one out", [1, 3]],
    ["goes back", [1, 1]],
    ["begins too early", [0]],
  ])("throws when the sequence %s", async (_, sequences) => {
    const world = scripted([page(...sequences)]);
    await expect(read(world, 0, 9)).rejects.toBeInstanceOf(UnexpectedAnswerError);
  });

  test.each([{ status: "ok" }, { data: [{ id: "evt_1" }], next_cursor: null }, { data: [null], next_cursor: null }])(
    "throws a typed error, and does not begin anew, when what answers is no page of events: %j",
    async (body) => {
      const world = scripted([page(3), json(body)]);
      const seen: number[] = [];
      const follow = async () => {
        const types: SluiceEvent["type"][] = ["deposit.confirmed"];
        for await (const { sequence } of world.sluice.events.follow({ after: 2, types })) seen.push(sequence);
      };
      await expect(follow()).rejects.toBeInstanceOf(UnexpectedAnswerError);
      expect(seen).toEqual([3]);
    },
  );

  test("of some types may leave sequences out, not go back", async () => {
    const world = scripted([page(2, 5), page(5)]);
    const seen: number[] = [];
    const follow = async () => {
      const types: SluiceEvent["type"][] = ["deposit.confirmed"];
      for await (const { sequence } of world.sluice.events.follow({ after: 0, types })) seen.push(sequence);
    };
    await expect(follow()).rejects.toBeInstanceOf(UnexpectedAnswerError);
    expect(seen).toEqual([2, 5]);
    expect(world.sent[0]?.query.get("types")).toBe("deposit.confirmed");
  });
});
