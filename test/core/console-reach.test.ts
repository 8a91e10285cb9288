/** Whether the console says that the service is there: by what its calls found, and not by what it ended itself. */

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { isServiceReached, onReach, watchedFetch } from "../../src/console/reach.ts";

const LIST = "https://sluice.example/v1/deposits?limit=50";
const FEED = "https://sluice.example/v1/events?after=3&wait=25";

const answers = (status: number) => vi.stubGlobal("fetch", async () => new Response(null, { status }));
const fails = () =>
  vi.stubGlobal("fetch", async () => {
    throw new TypeError("Failed to fetch");
  });

beforeEach(async () => {
  answers(200);
  await watchedFetch(LIST, {});
});
afterEach(() => {
  vi.unstubAllGlobals();
});

it("is away once a call finds nobody, and back with the next answer, also a refusal, each told once", async () => {
  const told: boolean[] = [];
  const end = onReach(() => told.push(isServiceReached()));
  fails();
  await expect(watchedFetch(LIST, {})).rejects.toThrow("Failed to fetch");
  await expect(watchedFetch(LIST, {})).rejects.toThrow("Failed to fetch");
  answers(403);
  await watchedFetch(LIST, {});
  await watchedFetch(LIST, {});
  end();
  expect(told).toEqual([false, true]);
});

it("is away when the feed is answered with a failure, and not when another call is", async () => {
  answers(503);
  await watchedFetch(LIST, {});
  expect(isServiceReached()).toBe(true);
  await watchedFetch(FEED, {});
  expect(isServiceReached()).toBe(false);
});

it("learns nothing from a call that the page ended", async () => {
  fails();
  await expect(watchedFetch(LIST, { signal: AbortSignal.abort() })).rejects.toThrow();
  expect(isServiceReached()).toBe(true);
});
