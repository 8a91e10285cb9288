/**
 * The seeded bugs still fit the source: a line that was moved or reworded takes its mutant with it, and a mutant of
 * nothing would be reported as one that survives.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { mutants } from "../simulation/mutants/all.ts";
import { applyEdit, editsOf } from "../simulation/mutants/mutant.ts";

const PROJECT = join(import.meta.dirname, "..", "..");

describe("mutants", () => {
  it("are at least forty, each with a name of its own", () => {
    expect(mutants.length).toBeGreaterThanOrEqual(40);
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  });

  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))("%s changes the source as it is", (_, mutant) => {
    expect(mutant.breaks).not.toEqual([]);
    const sources = new Map<string, string>();
    for (const edit of editsOf(mutant)) {
      const before = sources.get(edit.file) ?? readFileSync(join(PROJECT, edit.file), "utf8");
      const after = applyEdit(before, edit);
      expect(after).not.toBe(before);
      sources.set(edit.file, after);
    }
  });

  it.each([
    ["gone", "const a = 1;"],
    ["twice there", "const b = 2; const b = 2;"],
  ])("a text that is %s is refused", (_, source) => {
    const edit = { file: "src/x.ts", find: "const b = 2;", replace: "const b = 3;" };
    expect(() => applyEdit(source, edit)).toThrow(/src\/x\.ts: expected this text exactly once/);
  });
});
