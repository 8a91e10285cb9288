/** What holds for the checkout as a whole: it stands on its own, and installs the same everywhere. */

import { describe, expect, it } from "vitest";
import { projectFiles } from "./project-files.ts";

const files = projectFiles();

/** In two halves, so that this file does not find itself. */
const TRACES = [
  `${".."}/shared`,
  `/${"work"}/`,
  `shared/${"design"}`,
  `${"chat"}gpt`,
  `language ${"model"}`,
  `this ${"session"}`,
  `issue ${"#"}`,
];

/** Words that must not be in a project's text, by file and line. */
function traces(path: string, text: string): string[] {
  return text
    .split("\n")
    .flatMap((line, index) =>
      TRACES.filter((trace) => line.toLowerCase().includes(trace)).map((trace) => `${path}:${index + 1} ${trace}`),
    );
}

/** Tests that do not run are not there. */
function idleTests(path: string, text: string): string[] {
  return text
    .split("\n")
    .flatMap((line, index) =>
      /\b(it|test|describe)\.(skip|todo|only|fails)\b/.test(line) ? [`${path}:${index + 1}`] : [],
    );
}

const EXACT = /^(npm:@?[a-z0-9/-]+@)?\d+\.\d+\.\d+(-[a-z0-9.]+)?$/;

interface Manifest {
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

function wanted({ dependencies, devDependencies, optionalDependencies }: Manifest) {
  return { ...dependencies, ...devDependencies, ...optionalDependencies };
}

function json<T>(path: string): T {
  return JSON.parse(files.get(path) ?? "null") as T;
}

describe("the project", () => {
  it("says nothing of where or how it was made", () => {
    expect([...files].flatMap(([path, text]) => traces(path, text))).toEqual([]);
    expect(traces("a", `x\nsee ${TRACES[0]}/x`)).toEqual([`a:2 ${TRACES[0]}`]);
  });

  it("runs all of its tests", () => {
    expect(
      [...files].filter(([path]) => path.startsWith("test/")).flatMap(([path, text]) => idleTests(path, text)),
    ).toEqual([]);
    expect(idleTests("a", `it.${"skip"}("x")`)).toEqual(["a:1"]);
  });

  it("shows the watcher's commit as the example has it", () => {
    const example = files.get("examples/watcher-sqlite/watch.ts") ?? "";
    const commit = example.slice(example.indexOf("function commit"), example.indexOf("function addresses")).trimEnd();
    expect(commit).toMatch(/^function commit.*\n}$/s);
    expect(files.get("docs/watcher.md")).toContain(`\`\`\`ts\n${commit}\n\`\`\``);
  });

  it("names in its documents what is there, and in the README each document", () => {
    const paths = new Set(
      [...files.keys()].flatMap((path) => path.split("/").map((_, i, all) => all.slice(0, i + 1).join("/"))),
    );
    const named = [...files].flatMap(([path, text]) =>
      path.endsWith(".md")
        ? [...text.matchAll(/(?<![\w./-])(?:docs|examples|test|scripts|migrations)\/[\w./-]*/g)].map(
            ([found]) => [path, found] as const,
          )
        : [],
    );
    const isThere = (found: string) => paths.has(found.replace(/[./]+$/, ""));
    expect(named.filter(([, found]) => !isThere(found)).map((one) => one.join(": "))).toEqual([]);
    expect(named.length).toBeGreaterThan(50);
    expect(isThere("docs/nothing.md")).toBe(false);
    const pages = [...files.keys()].filter((path) => /^docs\/[\w-]+\.md$/.test(path));
    expect(pages.filter((page) => !files.get("README.md")?.includes(page))).toEqual([]);
  });

  it("names exact versions only", () => {
    const inexact = Object.entries(wanted(json<Manifest>("package.json"))).filter(
      ([, version]) => !EXACT.test(version),
    );
    expect(inexact).toEqual([]);
    for (const loose of ["^1.2.3", "~1.2.3", "1.2", "*", "latest", "git+https://x", "npm:a@^1.2.3"])
      expect(loose).not.toMatch(EXACT);
  });

  it("locks what it names, and no registry", () => {
    const lock = json<{ packages: Record<string, Manifest & { integrity?: string; link?: boolean }> }>(
      "package-lock.json",
    );
    expect(wanted(lock.packages[""] ?? {})).toEqual(wanted(json<Manifest>("package.json")));
    expect(files.get("package-lock.json")).not.toContain('"resolved": "http');
    const unsealed = Object.entries(lock.packages).filter(
      ([path, entry]) => path !== "" && entry.integrity === undefined,
    );
    expect(unsealed.map(([path]) => path)).toEqual([]);
  });

  it("asks npm to record no registry and to run no install script", () => {
    expect(files.get(".npmrc")).toContain("omit-lockfile-registry-resolved=true");
    expect(files.get(".npmrc")).toContain("ignore-scripts=true");
  });
});
