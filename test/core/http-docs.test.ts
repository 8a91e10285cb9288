/** What people read of the API: the page at /docs, sound and readable for everybody, and docs/errors.md. */

import { describe, expect, test } from "vitest";
import { isRetryable, REFUSALS, type RefusalCode } from "../../src/core/refusal.ts";
import type { ApiDocument } from "../../src/http/description/document.ts";
import { PROBLEM_GUIDE } from "../../src/http/description/problem-guide.ts";
import { snippetsOf } from "../../src/http/docs/snippets.ts";
import { COLOURS } from "../../src/http/docs/style.ts";
import { fakeApp } from "../support/http-app.ts";

const { app } = fakeApp();
const document = (await (await app.request("/openapi.json")).json()) as ApiDocument;
const page = await (await app.request("/docs")).text();
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
);
const codes = Object.keys(REFUSALS) as RefusalCode[];

describe("the page", () => {
  const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id ?? "");

  test("has an anchor for every call, schema, webhook and code, and each id once", () => {
    expect(new Set(ids).size).toBe(ids.length);
    const wanted = [
      ...operations.map(({ operation }) => `call-${operation.operationId}`),
      ...Object.keys(document.components.schemas).map((name) => `schema-${name}`),
      ...Object.keys(document.webhooks).map((type) => `webhook-${type}`),
      ...codes.map((code) => `problem-${code}`),
    ];
    expect(wanted.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("links lead somewhere", () => {
    const targets = [...page.matchAll(/href="([^"]+)"/g)].map(([, href]) => href ?? "");
    expect(targets.length).toBeGreaterThan(200);
    expect(targets.filter((href) => href !== "/openapi.json" && !ids.includes(href.slice(1)))).toEqual([]);
  });

  test("has one h1 and leaves no level of headings out", () => {
    const levels = [...page.matchAll(/<h([1-6])[ >]/g)].map(([, level]) => Number(level));
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
    for (const [i, level] of levels.entries()) expect(level - (levels[i - 1] ?? 0)).toBeLessThanOrEqual(1);
  });

  test("says what each cell of a table belongs to", () => {
    expect(page).toContain('<html lang="en">');
    expect([...page.matchAll(/<th(?! scope=| *ead)[^>]*>/g)].filter(([tag]) => tag !== "<thead>")).toEqual([]);
    expect(page.split("<table>").length).toBe(page.split("<caption>").length);
  });

  test("shows the scope, the answers, the errors and an example of each call", () => {
    for (const { path, operation } of operations) {
      const start = page.indexOf(`id="call-${operation.operationId}"`);
      const section = page.slice(start, page.indexOf("</section>", start));
      expect(section).toContain(`<code>${path}</code>`);
      const scope = operation["x-required-scope"];
      if (scope !== undefined) expect(section).toContain(`scope ${scope}`);
      expect(section).toContain("curl");
      expect(section).toContain("<h4>Answers</h4>");
      expect(section).toContain('href="#problem-');
      if (operation.requestBody !== undefined) expect(section).toContain("Body");
    }
  });

  test.each(Object.entries(COLOURS))("can be read in the %s", (_, colours) => {
    const { ground, soft, line: _line, ...texts } = colours;
    for (const text of Object.values(texts)) {
      expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5);
      expect(contrast(text, soft)).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
    expect(contrast("#777777", "#ffffff")).toBeLessThan(4.5);
  });
});

test("a snippet is a line for a POSIX shell: what is in quotes stays there", () => {
  const { operation } = operations.find((one) => one.operation.operationId === "createWithdrawal") ?? {};
  if (operation === undefined) throw new Error("there is no such call");
  const media = { schema: {}, example: { label: "it's $HOME" } };
  const changed = { ...operation, requestBody: { content: { "application/json": media } } };
  expect(snippetsOf("post", "/v1/withdrawals", changed, document)).toEqual([
    {
      language: "curl",
      text: [
        'curl -s "$SLUICE/v1/withdrawals"',
        '-H "authorization: Bearer $KEY"',
        "-H 'idempotency-key: payout-17'",
        "-H 'content-type: application/json'",
        `-d '{"label":"it'\\''s $HOME"}'`,
      ].join(" \\\n  "),
    },
  ]);
});

/** Written by `vitest run -u`, and red where the code says something else. */
test("docs/errors.md is what the guide says, code by code", async () => {
  const rows = codes.map((code) => {
    const { when, remedy } = PROBLEM_GUIDE[code];
    return `| \`${code}\` | ${REFUSALS[code]} | ${when} | ${isRetryable(code) ? "yes" : "no"} | ${remedy} |`;
  });
  const text = [
    "# Errors",
    "",
    "Every answer that is not a success is an `application/problem+json` document (RFC 9457) with `code`, `detail`,",
    "`request_id` and `retryable`, and with `errors[] {path, message}` where fields do not fit. Decide by `code`, never by",
    "the texts: a code keeps its meaning for ever, and new ones may be added, so treat an unknown one by its status.",
    "",
    "Retry *yes*: the same request may succeed later without being changed. Wait as long as `Retry-After` says, send the same",
    "`Idempotency-Key`, and wait longer each time. *no*: something must be changed first. Which codes a call can answer stands",
    "beside it in `GET /docs` and, as examples, in `GET /openapi.json`.",
    "",
    "| code | status | when | retry | what to do |",
    "|---|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
  await expect(text).toMatchFileSnapshot("../../docs/errors.md");
});

/** WCAG 2.2, relative luminance and contrast ratio. */
function contrast(one: string, other: string): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
