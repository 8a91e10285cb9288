/** The simulation's timers: what one part of the product clears ends nothing of another part. */

import { expect, it } from "vitest";
import { World } from "../simulation/world/world.ts";

it("ends no other timer when one of an earlier run is cleared in a later one", async () => {
  const world = new World(1);
  let early: ReturnType<typeof setTimeout> | undefined;
  let hasRun = false;
  world.later(1, "first", () => {
    early = setTimeout(() => {}, 1_000);
  });
  await world.run(() => early !== undefined, 10);
  world.later(1, "second", () => {
    setTimeout(() => {
      hasRun = true;
    }, 10);
    clearTimeout(early);
  });
  await world.run(() => false, 10);
  expect(hasRun).toBe(true);
});

it("never runs a timer that was cleared in a later run than it was set in", async () => {
  const world = new World(1);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hasRun = false;
  world.later(1, "first", () => {
    timer = setTimeout(() => {
      hasRun = true;
    }, 1_000);
  });
  await world.run(() => timer !== undefined, 10);
  world.later(1, "second", () => clearTimeout(timer));
  await world.run(() => false, 10);
  expect(hasRun).toBe(false);
});
