/**
 * One process of the simulator: runs the seeds it is given, one after the other, and prints what became of
 * each as a line of JSON. Arguments: first seed, number of seeds, events of each. Of several first seeds, joined by
 * commas, each has so many.
 */

import { simulate } from "./run.ts";

const [first = "1", runs = "1", events = "1500"] = process.argv.slice(2);
// The product's own log tells the story of faults that were meant to happen.
if (process.env.SIMULATION_LOG === undefined) {
  console.warn = () => {};
  console.error = () => {};
}
const seeds = first.split(",").flatMap((from) => Array.from({ length: Number(runs) }, (_, i) => Number(from) + i));
for (const seed of seeds) {
  const began = performance.now();
  const result = await simulate({ seed, events: Number(events) });
  const { reach, ...rest } = result;
  const told = { ...rest, reach: Object.fromEntries(reach), tookMs: Math.round(performance.now() - began) };
  if (result.violations.length === 0) told.story = [];
  await new Promise<void>((resolve) => process.stdout.write(`${JSON.stringify(told)}\n`, () => resolve()));
}
