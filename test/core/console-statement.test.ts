/** The ledger's statement: read back by a reader of its own, it is the entries, digit by digit, and no formula. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bounded } from "../../src/console/bounded.ts";
import { csvLine, statementName, statementOf } from "../../src/console/statement.ts";
import type { LedgerEntry } from "../../src/sdk/types.ts";

let count = 0;
function entry(of: Partial<LedgerEntry>): LedgerEntry {
  count++;
  return {
    id: `le_${count}`,
    journal_id: `jrn_${count}`,
    account: "customer-1",
    network: "ethereum",
    asset: "ETH",
    from: "chain",
    to: "available",
    amount: "1",
    amount_units: "1000000000000000000",
    cause: { type: "deposit.confirmed", id: "dep_1", event_id: "evt_1" },
    created_at: "2026-01-31T12:08:36.000Z",
    ...of,
  };
}

/** RFC 4180, section 2: written from its grammar, to hold the writer to it. */
function parse(csv: string): string[][] {
  const lines: string[][] = [];
  let at = 0;
  while (at < csv.length) {
    const line: string[] = [];
    while (true) {
      let cell = "";
      if (csv[at] === '"') {
        at++;
        while (csv[at] !== '"' || csv[at + 1] === '"') {
          if (at >= csv.length) throw new Error("a quote is not closed");
          cell += csv[at];
          at += csv[at] === '"' ? 2 : 1;
        }
        at++;
      } else {
        while (at < csv.length && !',"\r\n'.includes(csv[at] ?? "")) cell += csv[at++];
      }
      line.push(cell);
      if (csv[at] !== ",") break;
      at++;
    }
    if (csv.slice(at, at + 2) !== "\r\n") throw new Error(`expected CRLF at ${at}`);
    at += 2;
    lines.push(line);
  }
  return lines;
}

/** By the names of the first line. */
function rowsOf(parts: string[]): Record<string, string>[] {
  const [head = [], ...lines] = parse(parts.join(""));
  for (const line of lines) expect(line).toHaveLength(head.length);
  return lines.map((line) => Object.fromEntries(head.map((name, i) => [name, line[i] ?? ""])));
}

describe("a line", () => {
  test("quotes what would break it, and nothing else", () =>
    expect(csvLine(["plain", "a,b", 'say "x"', "two\r\nlines", "", "Zürich"])).toBe(
      'plain,"a,b","say ""x""","two\r\nlines",,Zürich\r\n',
    ));

  test.each(["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", '=HYPERLINK("http://x","y")'])(
    "takes the formula out of %j",
    (text) => {
      const [[cell] = []] = parse(csvLine([text]));
      expect(cell).toBe(`'${text}`);
    },
  );

  test.each([
    ["x;=cmd|' /C calc'!A0;", "x;'=cmd|' /C calc'!A0;"],
    ["x; @SUM(A1);", "x; '@SUM(A1);"],
    ["-1;-2", "'-1;'-2"],
    ["a;b", "a;b"],
  ])("takes a formula out of %j where a semicolon begins a cell", (text, safe) =>
    expect(csvLine([text])).toBe(`${safe}\r\n`),
  );

  test.each(["-0.75", "-5", "1=1", "a-b", "0.000000000000000001"])("leaves %j as it is", (text) =>
    expect(csvLine([text])).toBe(`${text}\r\n`),
  );

  test("is read back as what was written", () =>
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (cells) => {
        const [line = []] = parse(csvLine(cells));
        expect(
          line.map((cell, i) =>
            cell === cells[i] ? cell : cell.replaceAll(/(^|;\s*)'(?=[=+\-@\t\r\n＝＋－＠])/g, "$1"),
          ),
        ).toEqual(cells);
        for (const cell of line) if (!/^-\d+(\.\d+)?$/.test(cell)) expect(cell).not.toMatch(/^[=+\-@\t\r\n]/);
      }),
    ));
});

describe("a statement", () => {
  test("has every entry with exact amounts, oldest first, and what was held after each", () => {
    const newestFirst = [
      entry({
        from: "debt",
        to: "chain",
        amount: "0.4",
        cause: { type: "deposit.reverted", id: "dep_1", event_id: null },
      }),
      entry({ from: "reserved", to: "settled", amount: "0.900000000000000001" }),
      entry({ from: "available", to: "reserved", amount: "0.900000000000000001" }),
      entry({ account: "customer-2", amount: "5", amount_units: "5000000000000000000" }),
      entry({ amount: "1.000000000000000002", amount_units: "1000000000000000002" }),
    ];
    const rows = rowsOf(statementOf(newestFirst));
    expect(rows.map(({ entry_id }) => entry_id)).toEqual(newestFirst.map(({ id }) => id).reverse());
    expect(rows[0]).toMatchObject({
      account: "customer-1",
      amount: "1.000000000000000002",
      amount_units: "1000000000000000002",
      cause: "deposit.confirmed",
      cause_id: "dep_1",
      event_id: "evt_1",
      available_after: "1.000000000000000002",
    });
    expect(rows[1]).toMatchObject({ account: "customer-2", available_after: "5" });
    expect(rows.at(-1)).toMatchObject({
      event_id: "",
      available_after: "0.100000000000000001",
      reserved_after: "0",
      settled_after: "0.900000000000000001",
      debt_after: "0.4",
    });
  });

  test("keeps an account's name from being run by a spreadsheet", () => {
    const [row] = rowsOf(statementOf([entry({ account: '=cmd|"/c calc"!A1,x' })]));
    expect(row?.account).toBe('\'=cmd|"/c calc"!A1,x');
  });

  test("of nothing is its head alone", () => expect(rowsOf(statementOf([]))).toEqual([]));

  test("is named by what is in it", () => {
    const now = new Date("2026-01-31T12:08:36.000Z");
    expect(statementName({}, now)).toBe("ledger-all-2026-01-31T120836.csv");
    expect(statementName({ account: "../a b/ü", asset: "ETH" }, now)).toBe("ledger-.._a_b_-ETH-2026-01-31T120836.csv");
  });
});

describe("a list read up to a bound", () => {
  async function* numbers(to: number) {
    for (let n = 1; n <= to; n++) yield n;
  }

  test("says whether there was more", async () => {
    expect(await bounded(numbers(3), 3)).toEqual({ rows: [1, 2, 3], isCut: false });
    expect(await bounded(numbers(4), 3)).toEqual({ rows: [1, 2, 3], isCut: true });
  });

  test("ends with the first row that is not wanted", async () =>
    expect(await bounded(numbers(9), 5, (n) => n > 2)).toEqual({ rows: [1, 2], isCut: false }));
});
