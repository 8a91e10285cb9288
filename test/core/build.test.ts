/** What is kept of the Worker's builds, and what of those that somebody began and was killed. */

import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { forgetOldest } from "../../scripts/build.mjs";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-builds-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function made(name: string, secondsAgo: number): void {
  mkdirSync(join(folder, name));
  const at = Date.now() / 1_000 - secondsAgo;
  utimesSync(join(folder, name), at, at);
}

it("keeps the last four builds, and what is being made now", () => {
  for (const [i, name] of ["f", "b", "d", "a", "e", "c"].entries()) made(name, 100 - i);
  made(".making-now", 60);
  made(".making-killed", 4_000);
  forgetOldest(folder);
  expect(readdirSync(folder).sort()).toEqual([".making-now", "a", "c", "d", "e"]);
});
