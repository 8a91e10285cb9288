/**
 * Every way out of `src/` goes through a named step (src/steps.ts), so that tests can end the machine at each of
 * them. These rules find a way that does not. Each violation is a sentence that begins with the file's path.
 */

import { eachFile, type Sources } from "./source-rules.ts";
import { calledMember, declaredNames, firstArgument, isNode, type Node, nameOf, references, walk } from "./syntax.ts";

const STEPS = "src/steps.ts";
const STORAGE = "src/objects/stepped-storage.ts";
/** These take the platform's fetch as it is: what they hand it to makes each request a step. */
const HANDS_FETCH_ON = new Set([
  "src/objects/chain-scanner.ts",
  "src/objects/endpoint/base.ts",
  "src/objects/monitor/operator-webhook.ts",
  "src/objects/tenant/targets.ts",
  "src/objects/tenant/withdrawals/coins/signing.ts",
  "src/objects/tenant/withdrawals/expiring/signing.ts",
  "src/objects/tenant/withdrawals/nonces/signing.ts",
  "src/chains/rpc/http-exchange.ts",
  "src/watcher/evm-source.ts",
]);
/** Bindings whose calls are steps: D1 by `withDeadline`, objects by `objectOf` and its like, the limiter and the sandbox where they are called. */
const KNOWN_BINDINGS = new Set([
  "DB",
  "CHAIN_SCANNER",
  "TENANT",
  "WEBHOOK_ENDPOINT",
  "MONITOR",
  "SIGNUP_LIMITER",
  "SANDBOX",
]);
const OBJECTS = /(^|\.)(CHAIN_SCANNER|TENANT|WEBHOOK_ENDPOINT|MONITOR)$/;
const OTHER_WAYS_OUT = new Set(["WebSocket", "EventSource", "XMLHttpRequest", "caches", "globalThis", "self"]);

type Complain = (node: Node, what: string) => void;

export function stepViolations(sources: Sources): string[] {
  return eachFile(sources, "src/", (program, complain, path) => {
    // The SDK runs in merchants' programs, on their databases.
    if (path === STEPS || path === STORAGE || path.startsWith("src/sdk/")) return;
    if (/^src\/(objects|store|webhooks|chains|watcher)\//.test(path)) fetches(program, complain, path);
    if (/^src\/(objects|store)\//.test(path)) storage(program, complain);
    database(program, complain);
    objects(program, complain);
    if (path === "src/env.ts") bindings(program, complain);
  });
}

/** What is asked of another machine over HTTP, or by a way that is not known here. */
function fetches(program: Node, complain: Complain, path: string): void {
  const steps = within(program, /^step$/);
  const handedOn = HANDS_FETCH_ON.has(path) ? bareForwards(program) : new Set<Node>();
  walk(program, (node) => {
    if (node.type !== "CallExpression" || steps.has(node) || handedOn.has(node)) return undefined;
    if (nameOf(node.callee) === "fetch" || calledMember(node) === "fetch") complain(node, "fetches outside a step");
    return undefined;
  });
  const declared = declaredNames(program);
  for (const { name, node, parent } of references(program)) {
    if (declared.has(name)) continue;
    if (name === "fetch" && !(parent?.type === "CallExpression" && parent.callee === node))
      complain(node, "hands fetch itself on");
    if (OTHER_WAYS_OUT.has(name)) complain(node, `reaches out through ${name}`);
  }
  walk(program, (node) => {
    const source = node.type === "ImportDeclaration" && isNode(node.source) ? String(node.source.value) : "";
    // It reaches nobody: it says for whom something is done.
    if (source === "node:async_hooks") return undefined;
    if (/^(node:|cloudflare:sockets)/.test(source)) complain(node, `reaches out through ${source}`);
    return undefined;
  });
}

/** `(input, init) => fetch(input, init)`: the platform's own, called as a bare function. */
function bareForwards(program: Node): Set<Node> {
  const found = new Set<Node>();
  walk(program, (node) => {
    const body = node.type === "ArrowFunctionExpression" ? node.body : null;
    if (isNode(body) && body.type === "CallExpression" && nameOf(body.callee) === "fetch") found.add(body);
    return undefined;
  });
  return found;
}

/**
 * D1. A statement that is prepared is as good as sent. Drizzle's `prepare()` takes nothing, and stays in the object; a
 * chain's node prepares transactions, by requests that are steps.
 */
function database(program: Node, complain: Complain): void {
  const inTime = within(program, /^withDeadline$/);
  walk(program, (node) => {
    if (node.type !== "CallExpression" || inTime.has(node)) return undefined;
    const method = calledMember(node) ?? "";
    const isPrepared = method === "prepare" && firstArgument(node) !== null && nameOf(node.callee) !== "node.prepare";
    const isDirect =
      /^(batch|exec|dump|withSession)$/.test(method) && /(^|\.)(db|DB)\.\w+$/.test(nameOf(node.callee) ?? "");
    if (isPrepared || isDirect) complain(node, `asks D1 (${method}) outside withDeadline`);
    return undefined;
  });
}

function objects(program: Node, complain: Complain): void {
  const wrapped = within(program, /^(objectOf|objectIfAny)$/);
  walk(program, (node) => {
    if (wrapped.has(node)) return undefined;
    const method = node.type === "CallExpression" ? (calledMember(node) ?? "") : "";
    if (/^(idFromName|idFromString|newUniqueId|getByName)$/.test(method))
      complain(node, `makes a stub (${method}) outside objectOf`);
    if (node.type === "MemberExpression" && OBJECTS.test(nameOf(node) ?? ""))
      complain(node, "reaches an object outside objectOf");
    return undefined;
  });
}

/** The platform's storage is handed to whoever opens the database or makes steps of it, and used by nobody else. */
function storage(program: Node, complain: Complain): void {
  const allowed = new Set<unknown>();
  walk(program, (node) => {
    if (node.type === "CallExpression" && /^(steppedStorage|open\w+Db)$/.test(nameOf(node.callee) ?? ""))
      for (const argument of node.arguments as Node[]) allowed.add(argument);
    return undefined;
  });
  walk(program, (node) => {
    const isOwn = /(^|\.)(ctx|state)\.storage$/.test(nameOf(node) ?? "");
    if (isOwn && !allowed.has(node)) complain(node, "uses the platform's storage without steps");
    if (node.type === "VariableDeclarator" && isNode(node.id) && node.id.type === "ObjectPattern") {
      const keys = (node.id.properties as Node[]).map(({ key }) => nameOf(key));
      if (keys.includes("storage") && /(^|\.)(ctx|state)$/.test(nameOf(node.init) ?? ""))
        complain(node, "uses the platform's storage without steps");
    }
    if (node.type === "CallExpression" && calledMember(node) === "transaction")
      complain(node, "commits outside a step");
    return undefined;
  });
}

/** A new binding is a new way out. */
function bindings(program: Node, complain: Complain): void {
  walk(program, (node) => {
    if (node.type !== "TSPropertySignature" || !isNode(node.typeAnnotation)) return undefined;
    const type = node.typeAnnotation.typeAnnotation;
    const name = nameOf(node.key) ?? "";
    if (isNode(type) && type.type !== "TSStringKeyword" && !KNOWN_BINDINGS.has(name))
      complain(node, `has a binding ${name} whose calls are no steps`);
    return undefined;
  });
}

/** Everything that is written inside the arguments of a call of this name. */
function within(program: Node, name: RegExp): ReadonlySet<Node> {
  const found = new Set<Node>();
  walk(program, (node) => {
    if (node.type !== "CallExpression" || !name.test(nameOf(node.callee) ?? "")) return undefined;
    for (const argument of node.arguments as Node[]) {
      walk(argument, (inner) => {
        found.add(inner);
        return undefined;
      });
    }
    return undefined;
  });
  return found;
}
