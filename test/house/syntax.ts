/** A source file as a tree (ESTree with TypeScript nodes), and the few questions the house's rules ask of it. */

import { parseSync } from "vite";

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

/** Every rule reads the same files, and none changes a tree: the text that each path had last, as a tree. */
const parsed = new Map<string, { readonly source: string; readonly program: Node }>();

/** @throws Error when the source does not parse */
export function parse(path: string, source: string): Node {
  const known = parsed.get(path);
  if (known?.source === source) return known.program;
  const { program: tree, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message}`);
  const program = tree as unknown as Node;
  parsed.set(path, { source, program });
  return program;
}

/** Every node below and including `root`, parents first. `enter` answering false leaves out what is below. */
export function walk(root: Node, enter: (node: Node, parent: Node | null) => boolean | undefined): void {
  const visit = (node: Node, parent: Node | null): void => {
    if (enter(node, parent) === false) return;
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, node);
    }
  };
  visit(root, null);
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

/** What a file imports, by whatever syntax: static, re-exported, dynamic, or in a type. */
export function importsOf(program: Node): readonly string[] {
  const found: string[] = [];
  walk(program, (node) => {
    const source =
      node.type === "CallExpression" && nameOf(node.callee) === "require" ? firstArgument(node) : node.source;
    const isImport = /^(Import(Declaration|Expression)|Export(All|Named)Declaration|CallExpression|TSImportType)$/.test(
      node.type,
    );
    if (isImport && isNode(source) && typeof source.value === "string") found.push(source.value);
    return undefined;
  });
  return found;
}

/** `a.b.c` as text, for plain names and members alone; null for anything else. */
export function nameOf(node: unknown): string | null {
  if (!isNode(node)) return null;
  if (node.type === "Identifier") return String(node.name);
  if (node.type === "ThisExpression") return "this";
  if (node.type === "ChainExpression") return nameOf(node.expression);
  if (node.type !== "MemberExpression") return null;
  const property = isNode(node.property) ? (node.computed === true ? node.property.value : node.property.name) : null;
  const object = nameOf(node.object);
  return object === null || typeof property !== "string" ? null : `${object}.${property}`;
}

/** The last name of what is called: `transactionSync` of `a.b().transactionSync(...)`. */
export function calledMember(call: Node): string | null {
  const callee = isNode(call.callee) && call.callee.type === "ChainExpression" ? call.callee.expression : call.callee;
  if (!isNode(callee) || callee.type !== "MemberExpression" || !isNode(callee.property)) return null;
  const name = callee.computed === true ? callee.property.value : callee.property.name;
  return typeof name === "string" ? name : null;
}

export function firstArgument(call: Node): Node | null {
  const first = Array.isArray(call.arguments) ? call.arguments[0] : null;
  return isNode(first) ? first : null;
}

/** Uses of a name as a value: not a type, a key, a member's name or a declaration. */
export function references(
  program: Node,
): readonly { readonly name: string; readonly node: Node; readonly parent: Node | null }[] {
  const found: { name: string; node: Node; parent: Node | null }[] = [];
  walk(program, (node, parent) => {
    if (isType(node) || /^(Import|ExportAll)/.test(node.type)) return node.type === "ImportExpression";
    if (node.type === "Identifier" && parent !== null && !isMereName(node, parent))
      found.push({ name: String(node.name), node, parent });
    return undefined;
  });
  return found;
}

/** Names that the file itself declares, in whatever scope. */
export function declaredNames(program: Node): ReadonlySet<string> {
  const names = new Set<string>();
  const pattern = (value: unknown): void => {
    if (!isNode(value)) return;
    if (value.type === "Identifier") names.add(String(value.name));
    if (value.type === "AssignmentPattern") pattern(value.left);
    if (value.type === "RestElement") pattern(value.argument);
    if (value.type === "ArrayPattern") for (const element of value.elements as unknown[]) pattern(element);
    if (value.type === "ObjectPattern")
      for (const property of value.properties as Node[]) pattern(property.value ?? property);
  };
  walk(program, (node) => {
    if (/^(VariableDeclarator|FunctionDeclaration|ClassDeclaration)$/.test(node.type)) pattern(node.id);
    if (/^Import(Default|Namespace)?Specifier$/.test(node.type)) pattern(node.local);
    if (node.type === "CatchClause") pattern(node.param);
    if (Array.isArray(node.params)) for (const param of node.params) pattern(param);
    return undefined;
  });
  return names;
}

function isType(node: Node): boolean {
  return node.type.startsWith("TS") && !/^TS(As|Satisfies|NonNull|Instantiation|TypeAssertion)/.test(node.type);
}

function isMereName(node: Node, parent: Node): boolean {
  if (parent.type === "MemberExpression") return parent.property === node && parent.computed !== true;
  if (parent.type === "Property")
    return parent.key === node && parent.computed !== true && parent.value !== node && parent.shorthand !== true;
  return (
    /^(MethodDefinition|PropertyDefinition|AccessorProperty)$/.test(parent.type) &&
    parent.key === node &&
    parent.computed !== true
  );
}
