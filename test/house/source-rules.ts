/**
 * The rules of the house for `src/`, as functions from sources to violations. Each violation is a sentence that
 * begins with the file's path.
 */

import {
  calledMember,
  declaredNames,
  firstArgument,
  importsOf,
  type Node,
  nameOf,
  parse,
  references,
  walk,
} from "./syntax.ts";

/** Path from the project's root, with slashes, to the text of the file. */
export type Sources = ReadonlyMap<string, string>;

/** What each folder may import beside itself. A path with a file names that file alone. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "src/core/": [],
  "src/schema/": ["src/core/"],
  // Named steps are for whoever waits for something; they know nobody.
  "src/steps.ts": [],
  "src/log.ts": [],
  "src/chains/": ["src/core/", "src/steps.ts", "src/log.ts"],
  "src/store/": ["src/core/", "src/steps.ts"],
  "src/webhooks/": ["src/core/", "src/steps.ts"],
  "src/objects/": [
    "src/core/",
    "src/chains/",
    "src/store/",
    "src/webhooks/",
    "src/env.ts",
    "src/settings.ts",
    "src/steps.ts",
    "src/log.ts",
  ],
  "src/http/": [
    "src/schema/",
    "src/core/",
    "src/store/",
    "src/objects/api.ts",
    "src/objects/monitor-api.ts",
    "src/env.ts",
    "src/settings.ts",
    "src/steps.ts",
    "src/log.ts",
  ],
  // For programs that bring their own store: nothing of Cloudflare comes with it.
  "src/watcher/": ["src/core/", "src/chains/"],
  "src/sdk/": ["src/core/"],
  "src/console/": ["src/sdk/"],
  // The operator's own webhook has its targets and secrets checked as merchants' have.
  "src/settings.ts": ["src/core/", "src/log.ts", "src/webhooks/"],
  "src/env.ts": ["src/core/", "src/objects/api.ts", "src/objects/monitor-api.ts", "src/settings.ts"],
  "src/patrol.ts": [
    "src/core/",
    "src/store/",
    "src/objects/api.ts",
    "src/objects/monitor-api.ts",
    "src/objects/soon.ts",
    "src/env.ts",
    "src/settings.ts",
    "src/steps.ts",
    "src/log.ts",
  ],
  // The entry wires everything.
  "src/index.ts": ["src/"],
};

/** Names through which time, chance and the world come in. `Date` has its own rule. */
const IMPURE = new Set(
  "fetch crypto process globalThis self performance setTimeout setInterval setImmediate queueMicrotask console WebSocket caches navigator require".split(
    " ",
  ),
);

export function directionViolations(sources: Sources): string[] {
  const violations: string[] = [];
  for (const [path, targets] of importGraph(sources)) {
    const home = Object.keys(MAY_IMPORT).find((place) => within(path, place));
    if (home === undefined) {
      violations.push(`${path} is in no folder that the house knows`);
      continue;
    }
    for (const target of targets) {
      if (!sources.has(target)) violations.push(`${path} imports ${target}, which is not there`);
      else if (![home, ...(MAY_IMPORT[home] ?? [])].some((place) => within(target, place))) {
        violations.push(
          `${path} imports ${target}: ${home} may import ${MAY_IMPORT[home]?.join(", ") || "itself only"}`,
        );
      }
    }
  }
  return violations;
}

/** Types count: two files that cannot be read without each other are one thing in two places. */
export function cycleViolations(sources: Sources): string[] {
  const graph = importGraph(sources);
  const finished = new Set<string>();
  const violations: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) violations.push(`${[...trail.slice(at), path].join(" -> ")} is a cycle`);
    if (at >= 0 || finished.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    finished.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return violations;
}

/** `src/core/`: no clock, no chance, no world, no waiting. */
export function purityViolations(sources: Sources): string[] {
  return eachFile(sources, "src/core/", (program, complain) => {
    for (const specifier of importsOf(program))
      if (/^(node|cloudflare):/.test(specifier)) complain(program, `imports ${specifier}`);
    const declared = declaredNames(program);
    for (const { name, node, parent } of references(program)) {
      if (IMPURE.has(name) && !declared.has(name)) complain(node, `uses ${name}`);
      if (name === "Date" && !isPureDate(node, parent)) complain(node, "reads the clock through Date");
      if (name === "Math" && nameOf(parent) === "Math.random") complain(node, "uses Math.random");
      if (name === "Math" && parent?.type !== "MemberExpression") complain(node, "hands Math on as a whole");
    }
    walk(program, (node) => {
      if (node.type === "AwaitExpression" || (node.type === "ForOfStatement" && node.await === true))
        complain(node, "waits");
      if (node.async === true) complain(node, "has an async function");
      return undefined;
    });
  });
}

/** An async callback is not rolled back: the transaction ends at its first await. */
export function transactionViolations(sources: Sources): string[] {
  return eachFile(sources, "src/", (program, complain) => {
    const asyncNames = asyncFunctions(program);
    walk(program, (node) => {
      if (node.type !== "CallExpression" || !/^transaction(Sync)?$/.test(calledMember(node) ?? "")) return undefined;
      const callback = firstArgument(node);
      if (callback === null) return undefined;
      const name = nameOf(callback)?.replace(/^this\.#?/, "");
      const isAsync = callback.async === true || (name !== undefined && asyncNames.has(name));
      if (isAsync) complain(node, "gives an async callback to a transaction");
      const body = callback.body as Node | undefined;
      if (body !== undefined && returnsPromise(body)) complain(node, "lets a transaction's callback return a promise");
      return undefined;
    });
  });
}

/** One module prints: it strikes out what must not be shown, and keeps a line to one JSON object. */
export function loggingViolations(sources: Sources): string[] {
  return eachFile(sources, "src/", (program, complain, path) => {
    if (path === "src/log.ts" || declaredNames(program).has("console")) return;
    for (const { name, node } of references(program)) if (name === "console") complain(node, "prints by itself");
  });
}

/** `src/sdk/` is published by itself: of the service it has the types alone, and it depends on no package. */
export function sdkViolations(sources: Sources): string[] {
  return eachFile(sources, "src/sdk/", (program, complain, path) => {
    for (const specifier of importsOf(program))
      if (!specifier.startsWith(".")) complain(program, `depends on ${specifier}`);
    walk(program, (node) => {
      const source = (node.source as Node | null | undefined)?.value;
      if (typeof source !== "string" || !source.startsWith(".")) return undefined;
      const isType = node.importKind === "type" || node.exportKind === "type";
      if (!isType && !resolve(path, source).startsWith("src/sdk/")) complain(node, `needs ${source} when it runs`);
      return undefined;
    });
  });
}

function importGraph(sources: Sources): ReadonlyMap<string, readonly string[]> {
  const graph = new Map<string, readonly string[]>();
  for (const [path, source] of sources) {
    if (!path.endsWith(".ts")) continue;
    const inside = importsOf(parse(path, source)).filter((specifier) => specifier.startsWith("."));
    graph.set(path, [...new Set(inside.map((specifier) => resolve(path, specifier)))]);
  }
  return graph;
}

function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}

function within(path: string, place: string): boolean {
  return place.endsWith("/") ? path.startsWith(place) : path === place;
}

export function eachFile(
  sources: Sources,
  folder: string,
  check: (program: Node, complain: (node: Node, what: string) => void, path: string) => void,
): string[] {
  const violations = new Set<string>();
  for (const [path, source] of sources) {
    if (!path.startsWith(folder) || !path.endsWith(".ts")) continue;
    const lineOf = (node: Node) => source.slice(0, node.start).split("\n").length;
    check(parse(path, source), (node, what) => violations.add(`${path}:${lineOf(node)} ${what}`), path);
  }
  return [...violations];
}

/** `new Date(ms)`, `Date.UTC(...)` and `Date.parse(text)` read no clock. */
function isPureDate(node: Node, parent: Node | null): boolean {
  if (parent === null) return false;
  if (parent.type === "NewExpression" && parent.callee === node) return (parent.arguments as unknown[]).length > 0;
  if (parent.type === "BinaryExpression") return parent.operator === "instanceof" && parent.right === node;
  return /^Date\.(UTC|parse)$/.test(nameOf(parent) ?? "");
}

function asyncFunctions(program: Node): ReadonlySet<string> {
  const names = new Set<string>();
  walk(program, (node) => {
    const value = (node.type === "VariableDeclarator" ? node.init : node.value) as Node | undefined;
    const holder = node.type === "VariableDeclarator" ? node.id : node.key;
    if (node.type === "FunctionDeclaration" && node.async === true) names.add(nameOf(node.id) ?? "");
    else if (value?.async === true) names.add(String((holder as Node | undefined)?.name ?? ""));
    return undefined;
  });
  return names;
}

function returnsPromise(body: Node): boolean {
  let found = false;
  const isPromise = (value: unknown) =>
    /^Promise\./.test(nameOf((value as Node | null)?.callee) ?? "") ||
    nameOf((value as Node | null)?.callee) === "Promise";
  if (isPromise(body)) return true;
  walk(body, (node) => {
    if (/Function/.test(node.type)) return false;
    if (node.type === "ReturnStatement" && isPromise(node.argument)) found = true;
    return undefined;
  });
  return found;
}
