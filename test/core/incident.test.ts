/** When an incident opens and when it closes: the decision alone. */

import { describe, expect, it } from "vitest";
import { type Course, INCIDENT_KINDS, judgeSight, type Sight, THRESHOLDS } from "../../src/core/incident.ts";
import { Dice } from "../simulation/world/dice.ts";

const T = { openAfterMs: 100, openAfterLooks: 3, closeAfterMs: 50 };
const ILL: Sight = { state: "ill", isCertain: false, since: null };
const WELL: Sight = { state: "well", isCertain: false, since: null };
const SURE = { isCertain: true } as const;

/** Plays sights, `[at, sight]`, and gives what each one made of it. */
function play(sights: readonly (readonly [number, Sight])[], threshold = T): string {
  let course: Course | null = null;
  const said: string[] = [];
  for (const [at, sight] of sights) {
    const verdict = judgeSight(course, sight, at, threshold);
    said.push(verdict.kind);
    if ("next" in verdict) course = verdict.next;
    if (verdict.kind === "forgotten" || verdict.kind === "closed") course = null;
  }
  return said.join(" ");
}

describe("an incident", () => {
  it.each([
    ["well from the first", [[0, WELL]], "nothing"],
    ["seen once", [[0, ILL]], "suspected"],
    [
      "long enough, and not often enough",
      [
        [0, ILL],
        [200, ILL],
      ],
      "suspected suspected",
    ],
    [
      "often enough, and not long enough",
      [
        [0, ILL],
        [10, ILL],
        [20, ILL],
        [30, ILL],
      ],
      "suspected suspected suspected nothing",
    ],
    [
      "both",
      [
        [0, ILL],
        [50, ILL],
        [99, ILL],
        [100, ILL],
      ],
      "suspected suspected suspected opened",
    ],
    [
      "well in between",
      [
        [0, ILL],
        [50, ILL],
        [60, WELL],
        [70, ILL],
        [110, ILL],
        [160, ILL],
      ],
      "suspected suspected forgotten suspected suspected suspected",
    ],
    ["certain", [[0, { ...ILL, ...SURE }]], "opened"],
    [
      "certain after a suspicion",
      [
        [0, ILL],
        [1, { ...ILL, ...SURE }],
      ],
      "suspected opened",
    ],
    [
      "known since before it was seen",
      [
        [0, { ...ILL, since: -100 }],
        [1, ILL],
        [2, ILL],
      ],
      "suspected suspected opened",
    ],
    [
      "a since of the future counts from now",
      [
        [0, { ...ILL, since: 500 }],
        [60, ILL],
        [100, ILL],
      ],
      "suspected suspected opened",
    ],
    [
      "a clock that stepped back",
      [
        [1_000, ILL],
        [0, ILL],
        [1, ILL],
        [2, ILL],
      ],
      "suspected suspected suspected nothing",
    ],
  ] as [string, [number, Sight][], string][])("opens: %s", (_, sights, said) => expect(play(sights)).toBe(said));

  it.each([
    ["still ill", [[1, ILL]], "nothing"],
    [
      "well, and not for long enough",
      [
        [1, WELL],
        [50, WELL],
      ],
      "kept nothing",
    ],
    [
      "well for long enough",
      [
        [1, WELL],
        [51, WELL],
      ],
      "kept closed",
    ],
    [
      "ill again in between",
      [
        [1, WELL],
        [40, ILL],
        [51, WELL],
        [100, WELL],
        [101, WELL],
      ],
      "kept kept kept nothing closed",
    ],
    ["well for certain", [[1, { ...WELL, ...SURE }]], "closed"],
    ["well since before the look", [[60, { ...WELL, since: 10 }]], "closed"],
    ["nobody has seen it again for too short a time", [[60, { ...WELL, since: 11 }]], "kept"],
    ["certain once more", [[1, { ...ILL, ...SURE }]], "nothing"],
  ] as [string, [number, Sight][], string][])("closes: %s", (_, sights, said) =>
    expect(play([[0, { ...ILL, ...SURE }], ...sights])).toBe(`opened ${said}`),
  );

  it("opens again as another one after it was closed", () => {
    const sure: Sight = { ...ILL, ...SURE };
    expect(
      play([
        [0, sure],
        [1, { ...WELL, ...SURE }],
        [2, sure],
      ]),
    ).toBe("opened closed opened");
  });

  it("has thresholds that are named for every kind and can be reached", () => {
    expect(Object.keys(THRESHOLDS).sort()).toEqual([...INCIDENT_KINDS].sort());
    for (const { openAfterMs, openAfterLooks, closeAfterMs } of Object.values(THRESHOLDS)) {
      expect(openAfterMs).toBeGreaterThanOrEqual(0);
      expect(openAfterLooks).toBeGreaterThanOrEqual(1);
      expect(closeAfterMs).toBeGreaterThanOrEqual(0);
      expect(Number.isSafeInteger(openAfterMs + closeAfterMs)).toBe(true);
    }
  });
});

describe("whatever is seen", () => {
  it.each(INCIDENT_KINDS)("%s: opened and closed alternate, each after what its threshold asks for", (kind) => {
    const threshold = THRESHOLDS[kind];
    for (let seed = 1; seed <= 200; seed++) {
      const chance = new Dice(seed);
      let course: Course | null = null;
      let [at, illSince, wellSince, looks] = [1_000_000, 0, 0, 0];
      let [wasCertain, last] = [false, "closed"];
      for (let step = 0; step < 60; step++) {
        at += chance.roll(4 * 60_000);
        const isIll = chance.roll(2) === 0;
        const isCertain = chance.roll(12) === 0;
        if (isIll) {
          if (looks === 0) illSince = at;
          looks++;
          wellSince = 0;
        } else {
          if (wellSince === 0) wellSince = at;
          looks = course === null || course.openedAt === null ? 0 : looks;
        }
        wasCertain = isCertain;
        const verdict = judgeSight(course, { state: isIll ? "ill" : "well", isCertain, since: null }, at, threshold);
        if (verdict.kind === "opened") {
          expect(last).toBe("closed");
          last = "opened";
          if (!wasCertain) {
            expect(looks).toBeGreaterThanOrEqual(threshold.openAfterLooks);
            expect(at - illSince).toBeGreaterThanOrEqual(threshold.openAfterMs);
          }
        }
        if (verdict.kind === "closed") {
          expect(last).toBe("opened");
          last = "closed";
          looks = 0;
          if (!wasCertain) expect(at - wellSince).toBeGreaterThanOrEqual(threshold.closeAfterMs);
        }
        if ("next" in verdict) course = verdict.next;
        if (verdict.kind === "forgotten" || verdict.kind === "closed") course = null;
      }
    }
  });

  it.each(INCIDENT_KINDS)("%s: what comes and goes below its threshold gives nothing", (kind) => {
    const threshold = THRESHOLDS[kind];
    if (threshold.openAfterLooks === 1 && threshold.openAfterMs === 0) return;
    let course: Course | null = null;
    for (let at = 0; at < 100; at++) {
      const verdict = judgeSight(course, at % 2 === 0 ? ILL : WELL, at * 1_000, threshold);
      expect(verdict.kind).toBe(at % 2 === 0 ? "suspected" : "forgotten");
      course = "next" in verdict ? verdict.next : null;
    }
  });
});
