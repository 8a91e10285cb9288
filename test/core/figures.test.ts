/** What many objects told, as one number each: by difference, in whatever order and however often it arrives. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PROJECT } from "../../scripts/install.mjs";
import { addUp, FigureTotals, type HeldReport, takeReport } from "../../src/core/figure-totals.ts";
import { FIGURES, type Figure, type FigureName, figure, kindOf } from "../../src/core/figures.ts";
import { tallied } from "../../src/core/tallies.ts";
import { metricsText } from "../../src/http/metrics.ts";
import { parseMetrics } from "../support/metrics.ts";

const keyOf = ({ name, labels }: Figure) => JSON.stringify([name, labels]);
const asMap = (figures: readonly Figure[]) => new Map(figures.map((one) => [keyOf(one), one.value]));

/** The monitor without its database. */
class Heard {
  readonly totals = new FigureTotals();
  readonly held = new Map<string, HeldReport>();

  take(source: string, report: HeldReport): void {
    const before = this.held.get(source);
    const taken = takeReport(before, report);
    if (taken === null) return;
    this.held.set(source, { at: report.at, figures: taken.figures });
    this.totals.replace(source, before?.figures ?? [], taken.figures);
    if (taken.carried.length === 0) return;
    const carried = this.held.get("carried")?.figures ?? [];
    const all = addUp(carried, taken.carried);
    this.held.set("carried", { at: 0, figures: all });
    this.totals.replace("carried", carried, all);
  }
}

describe("the totals of many objects", () => {
  const SERIES: readonly [FigureName, Record<string, string>][] = [
    ["sluice_deposits", { network: "a", state: "pending" }],
    ["sluice_deposits", { network: "b", state: "pending" }],
    ["sluice_withdrawal_oldest_open_timestamp_seconds", { network: "a" }],
    ["sluice_alarm_overdue_seconds", { object: "tenant" }],
  ];
  const figures = fc
    .array(fc.tuple(fc.constantFrom(...SERIES), fc.integer({ min: 0, max: 9 })), { maxLength: 5 })
    .map((list) => list.map(([[name, labels], value]) => figure(name, value, labels)));
  const reports = fc.array(
    fc.record({ source: fc.constantFrom("s1", "s2", "s3"), at: fc.integer({ min: 0, max: 20 }), figures }),
    { maxLength: 30 },
  );

  it("are those of the newest of each, in any order and with repeats", () => {
    fc.assert(
      fc.property(reports, fc.infiniteStream(fc.nat()), (all, chances) => {
        // Two reports of one moment are one report.
        const sent = [...new Map(all.map((one) => [`${one.source}/${one.at}`, one])).values()];
        const arriving = [...sent, ...sent.slice(0, 7)]
          .map((one) => ({ one, place: chances.next().value as number }))
          .sort((a, b) => a.place - b.place);
        const heard = new Heard();
        for (const { one } of arriving) {
          heard.take(one.source, one);
          // A scrape in between.
          heard.totals.figures();
        }

        const expected = new Map<string, number>();
        for (const source of ["s1", "s2", "s3"]) {
          const newest = sent.filter((one) => one.source === source).sort((a, b) => b.at - a.at)[0];
          for (const one of newest?.figures ?? []) {
            const before = expected.get(keyOf(one));
            const merge = kindOf(one.name)?.merge;
            if (before === undefined) expected.set(keyOf(one), one.value);
            else if (merge === "sum") expected.set(keyOf(one), before + one.value);
            else expected.set(keyOf(one), merge === "min" ? Math.min(before, one.value) : Math.max(before, one.value));
          }
        }
        expect(asMap(heard.totals.figures())).toEqual(expected);
      }),
    );
  });

  it("of counters never fall: not when an object begins anew, and not when it is gone", () => {
    const counts = fc.array(fc.record({ source: fc.constantFrom("s1", "s2"), value: fc.nat(9) }), { maxLength: 30 });
    fc.assert(
      fc.property(counts, (list) => {
        const heard = new Heard();
        let before = 0;
        for (const [at, { source, value }] of list.entries()) {
          const told = value === 0 ? [] : [figure("sluice_webhook_attempts_total", value, { outcome: "gone" })];
          heard.take(source, { at, figures: told });
          const total = heard.totals.figures()[0]?.value ?? 0;
          expect(total).toBeGreaterThanOrEqual(before);
          before = total;
        }
      }),
    );
  });

  it("of time that was counted do not fall by a rounding, nor when they are added up again", () => {
    const rises = fc.array(fc.record({ source: fc.constantFrom("s1", "s2", "s3"), ms: fc.nat(900_000) }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(rises, (list) => {
        const heard = new Heard();
        let before = 0;
        for (const [at, { source, ms }] of list.entries()) {
          const value = ms / 1_000;
          heard.take(source, { at, figures: [figure("sluice_provider_request_seconds_total", value)] });
          const again = new FigureTotals();
          for (const [name, { figures: told }] of [...heard.held].sort()) again.replace(name, [], told);
          for (const totals of [heard.totals, again]) {
            const total = totals.figures()[0]?.value ?? 0;
            expect(total).toBeGreaterThanOrEqual(before);
            before = total;
          }
        }
      }),
    );
  });

  it("carry on what was counted before a start, once", () => {
    const heard = new Heard();
    const told = (at: number, n: number) =>
      heard.take("s1", { at, figures: [figure("sluice_foreign_spends_total", n)] });
    told(1, 5);
    told(2, 7);
    told(3, 1);
    told(3, 1);
    // Another one of the same moment: the first was heard.
    told(3, 8);
    told(2, 7);
    told(4, 2);
    expect(heard.totals.figures()).toEqual([figure("sluice_foreign_spends_total", 9)]);
  });

  it("forget what an object tells no more, and what this version does not know", () => {
    const heard = new Heard();
    heard.take("s1", { at: 1, figures: [figure("sluice_deposits", 3, { state: "pending" })] });
    heard.take("s2", { at: 1, figures: [{ name: "sluice_of_tomorrow", labels: {}, value: 1 }] });
    heard.take("s1", { at: 2, figures: [] });
    expect(heard.totals.figures()).toEqual([]);
  });

  it("are read in the time of what there is to show, with a hundred thousand objects", () => {
    const totals = new FigureTotals();
    const of = (i: number) => [
      figure("sluice_deposits", i, { network: "a", state: "settled" }),
      figure("sluice_deposits", 1, { network: "a", state: "pending" }),
    ];
    for (let i = 0; i < 100_000; i++) totals.replace(`tenant:${i}`, [], of(i));
    const startedAt = performance.now();
    for (let i = 0; i < 1_000; i++) totals.figures();
    expect(totals.figures().map(({ value }) => value)).toEqual([4_999_950_000, 100_000]);
    // A pass over all of them takes milliseconds.
    expect((performance.now() - startedAt) / 1_000).toBeLessThan(1);
  });
});

describe("tallies", () => {
  it("follow each move, and what does not move changes nothing", () => {
    const first = tallied({}, [
      { from: null, to: "pending" },
      { from: null, to: "pending" },
      { from: "pending", to: "confirmed" },
      { from: "confirmed", to: "confirmed" },
    ]);
    expect(first).toEqual({ pending: 1, confirmed: 1 });
    expect(tallied(first, [{ from: "pending", to: null }])).toEqual({ pending: 0, confirmed: 1 });
  });
});

describe("what is written of them", () => {
  const read = (path: string) => readFileSync(join(PROJECT, path), "utf8");
  const namedIn = (text: string) => new Set(text.match(/\bsluice_[a-z0-9_]+/g));

  it("docs/metrics.md has every one, and no other", () => {
    expect([...namedIn(read("docs/metrics.md"))].sort()).toEqual(Object.keys(FIGURES).sort());
  });

  it("the example's alarms ask for metrics that there are, and for rates of counters alone", () => {
    const [, ...rules] = read("examples/prometheus/alerts.yml").split("- alert: ");
    expect(rules.length).toBeGreaterThan(15);
    for (const rule of rules) {
      const [, alert = "", expr = ""] = /^(\w+)\n\s+expr: (?:>\s+)?([\s\S]*?)\n\s+(?:for|labels):/.exec(rule) ?? [];
      const names = [...namedIn(expr)];
      expect([alert, names.filter((name) => kindOf(name) === null)]).toEqual([alert, []]);
      // A rate is a counter's; a gauge has none.
      for (const [, name] of expr.matchAll(/(?:rate|increase)\((\w+)/g))
        expect([alert, name, kindOf(name ?? "")?.type]).toEqual([alert, name, "counter"]);
      if (names.length === 0) expect(expr).toBe('up{job="sluice"} == 0');
    }
  });
});

describe("the text", () => {
  it("of every figure of the catalogue is Prometheus' format, by its rules for names", () => {
    const odd = 'a"b\\c\nd';
    const all = Object.keys(FIGURES).map((name) => figure(name as FigureName, 1.5e21, { network: odd }));
    const parsed = parseMetrics(metricsText(all));
    expect(parsed.size).toBe(all.length);
    expect([...parsed.keys()][0]).toBe('sluice_network_up{network="a\\"b\\\\c\\nd"}');
    expect([...parsed.values()].every(({ value }) => value === 1.5e21)).toBe(true);
  });

  it("has a family once, however its figures are strewn", () => {
    const strewn = [
      figure("sluice_deposits", 1, { state: "pending" }),
      figure("sluice_network_head", 7, { network: "a" }),
      figure("sluice_deposits", 2, { state: "settled" }),
    ];
    expect(metricsText(strewn)).toBe(
      `${[
        "# HELP sluice_network_head Highest block the chain told of.",
        "# TYPE sluice_network_head gauge",
        'sluice_network_head{network="a"} 7',
        "# HELP sluice_deposits Deposits by state.",
        "# TYPE sluice_deposits gauge",
        'sluice_deposits{state="pending"} 1',
        'sluice_deposits{state="settled"} 2',
      ].join("\n")}\n`,
    );
  });

  it.each([
    ["a sample without its TYPE", 'sluice_a{b="c"} 1\n'],
    ["a family twice", "# HELP sluice_a x\n# TYPE sluice_a gauge\n# HELP sluice_a x\n"],
    ["a series twice", "# HELP sluice_a x\n# TYPE sluice_a gauge\nsluice_a 1\nsluice_a 2\n"],
    ["a counter without _total", "# HELP sluice_a x\n# TYPE sluice_a counter\nsluice_a 1\n"],
    ["a gauge in milliseconds", "# HELP sluice_a_ms x\n# TYPE sluice_a_ms gauge\nsluice_a_ms 1\n"],
    ["a tenant's name", '# HELP sluice_a x\n# TYPE sluice_a gauge\nsluice_a{tenant="t"} 1\n'],
    ["a line without its end", "# HELP sluice_a x"],
  ])("is refused by the test's reader: %s", (_, text) => {
    expect(() => parseMetrics(text)).toThrow();
  });
});
