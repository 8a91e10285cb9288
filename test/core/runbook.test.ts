/** The runbook: a page for each kind of incident, whose calls are the API's, and which the other pages lead to. */

import { describe, expect, it } from "vitest";
import { INCIDENT_KINDS, runbookOf, THRESHOLDS } from "../../src/core/incident.ts";
import { projectFiles } from "../house/project-files.ts";
import { fakeApp } from "../support/http-app.ts";

const files = projectFiles();
const page = (path: string) => files.get(path) ?? "";
const document = (await (await fakeApp().app.request("/openapi.json")).json()) as {
  paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>;
};
const SECTIONS = [
  "What it means",
  "What is safe meanwhile",
  "How to look",
  "What to do",
  "What not to do",
  "When it closes by itself",
];

/** `GET /v1/withdrawals/{id}?state=x`, as it stands between backticks. */
const CALL = /`(GET|POST|PUT|PATCH|DELETE) (\/[^`?\s]*)(?:\?([^`\s]*))?`/g;

/** Every word of the product. */
const SOURCE_WORDS = new Set(
  [...files].flatMap(([path, text]) => (/^src\/.*\.ts$/.test(path) ? (text.match(/[a-z_]+/g) ?? []) : [])),
);

/** What is wrong with the calls of a text. */
function strangers(text: string): string[] {
  return [...text.matchAll(CALL)].flatMap(([whole, method = "", path = "", query = ""]) => {
    const operation = document.paths[path]?.[method.toLowerCase()];
    if (operation === undefined) return [whole];
    const known = (operation.parameters ?? []).filter((one) => one.in === "query").map(({ name }) => name);
    const asked = [...new URLSearchParams(query).keys()];
    return asked.every((name) => known.includes(name)) ? [] : [whole];
  });
}

describe.each(INCIDENT_KINDS)("%s", (kind) => {
  const text = page(runbookOf(kind));

  it("has a page with every part, and something to look at", () => {
    expect(text.split("\n")[0]).toContain(`\`${kind}\``);
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, name]) => name)).toEqual(SECTIONS);
    expect([...text.matchAll(CALL)].length).toBeGreaterThan(1);
    for (const part of text.split(/^## .*$/m).slice(1)) expect(part.trim().length).toBeGreaterThan(20);
  });

  it("names calls that there are", () => expect(strangers(text)).toEqual([]));

  it("names fields, states and events of the log that there are", () => {
    const words = [...text.matchAll(/`([a-z_]+)(?:\.([a-z_]+))?`/g)].flatMap(([, one = "", other]) => [
      one,
      other ?? one,
    ]);
    expect(words.filter((word) => !SOURCE_WORDS.has(word))).toEqual([]);
  });

  it("leads to pages that there are", () => {
    for (const [, target = ""] of text.matchAll(/\]\(([^)]+)\)/g))
      expect([target, files.has(`docs/runbook/${target}`)]).toEqual([target, true]);
    for (const [, target = ""] of text.matchAll(/`(docs\/[^`]+)`/g))
      expect([target, files.has(target)]).toEqual([target, true]);
  });

  it("stands in the list of incidents with its page", () => {
    expect(page("docs/incidents.md")).toContain(`| \`${kind}\` |`);
    expect(page("docs/incidents.md")).toContain(`(runbook/${kind}.md)`);
  });
});

it("the list of incidents names calls that there are, and times that are those of the code", () => {
  const text = page("docs/incidents.md");
  expect(strangers(text)).toEqual([]);
  const row = (kind: string) => text.split("\n").find((line) => line.startsWith(`| \`${kind}\``)) ?? "";
  for (const kind of INCIDENT_KINDS) {
    const { openAfterMs, closeAfterMs } = THRESHOLDS[kind];
    const [, , opens = "", closes = ""] = row(kind).split("|");
    const spelt = (ms: number) => (ms === 3_600_000 ? "1 h" : `${ms / 60_000} min`);
    if (openAfterMs > 0) expect([kind, opens]).toEqual([kind, expect.stringContaining(spelt(openAfterMs))]);
    if (closeAfterMs > 0) expect([kind, closes]).toEqual([kind, expect.stringContaining(spelt(closeAfterMs))]);
  }
});

it("is led to from where people begin", () => {
  for (const path of ["README.md", "docs/production.md", "docs/webhooks.md"])
    expect([path, page(path).includes("docs/incidents.md")]).toEqual([path, true]);
});

it("catches a call that there is not", () => {
  expect(strangers("`GET /v1/nothing`, `POST /v1/wallets`, `GET /v1/incidents?colour=red`")).toHaveLength(3);
});
