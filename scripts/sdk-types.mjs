/**
 * Owns: the one `.d.ts` of each entry of the published package, made of the declarations that the compiler wrote file by file.
 *
 * It has what the package exports, under the names it exports it by, and whatever these need; nothing of it is
 * imported, so that a merchant's compiler needs neither our folders nor our packages.
 */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "vite";

/**
 * @param {string} entry the compiler's declaration file of the package's entry
 * @returns {string} declarations without an import
 * @throws Error when two things would have one name, or something comes from a package
 */
export function flattenTypes(entry) {
  const modules = new Map();
  const moduleOf = (path) => {
    if (!modules.has(path)) modules.set(path, readModule(path));
    return modules.get(path);
  };
  const find = (path, name) => findExport(moduleOf, path, name);

  // What is exported comes first and has its public name; what it needs follows.
  const named = new Map();
  const queue = [];
  const want = (declaration, name) => {
    if (named.has(declaration)) return named.get(declaration);
    if ([...named.values()].includes(name)) throw new Error(`two different things of the SDK are called ${name}`);
    named.set(declaration, name);
    queue.push(declaration);
    return name;
  };
  const publicNames = exportedNames(moduleOf, entry);
  for (const name of publicNames) want(find(entry, name), name);

  const texts = [];
  for (const declaration of queue) {
    const { module, node, doc } = declaration;
    const edits = identifiersIn(node)
      .map((identifier) => ({ identifier, target: resolveName(moduleOf, module, identifier.name) }))
      .filter(({ target }) => target !== null)
      .map(({ identifier, target }) => ({
        at: identifier,
        name: target === declaration ? named.get(declaration) : want(target, target.name),
      }));
    const text = edited(module.source, node, edits).replace(/^export /, "");
    texts.push(`${doc}${publicNames.includes(named.get(declaration)) ? "export " : ""}${text}\n`);
  }
  // Without this line every declaration of a .d.ts counts as exported.
  return `${texts.join("\n")}\nexport {};\n`;
}

/** What one file declares, takes in and gives out. */
function readModule(path) {
  const source = readFileSync(path, "utf8");
  const { program, errors, comments } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0].message}`);
  const module = { path, source, declarations: new Map(), imports: new Map(), exports: new Map(), stars: [] };
  let end = 0;
  for (const statement of program.body) {
    const from = statement.source ? target(path, statement.source.value) : null;
    if (statement.type === "ImportDeclaration") {
      for (const { local, imported } of statement.specifiers)
        module.imports.set(local.name, { from, name: imported.name });
    } else if (statement.type === "ExportAllDeclaration") {
      module.stars.push(from);
    } else if (statement.type === "ExportNamedDeclaration" && statement.declaration === null) {
      for (const { local, exported } of statement.specifiers)
        module.exports.set(exported.name, { from, name: local.name });
    } else {
      const node = statement.declaration ?? statement;
      const declared = node.type === "VariableDeclaration" ? node.declarations[0].id : node.id;
      // The comment at the very top is about the file.
      const own = comments.findLast((one) => one.start > 0 && one.start >= end && one.end <= statement.start);
      const doc = own === undefined ? "" : `${source.slice(own.start, own.end)}\n`;
      module.declarations.set(declared.name, { module, name: declared.name, node: statement, doc });
      if (statement !== node) module.exports.set(declared.name, { from: null, name: declared.name });
    }
    end = statement.end;
  }
  return module;
}

function target(path, specifier) {
  if (!specifier.startsWith(".")) throw new Error(`${path} takes types from ${specifier}: the SDK has no dependency`);
  return join(dirname(path), specifier.replace(/\.[jt]s$/, ".d.ts"));
}

function exportedNames(moduleOf, path) {
  const module = moduleOf(path);
  return [...module.exports.keys(), ...module.stars.flatMap((from) => exportedNames(moduleOf, from))];
}

function findExport(moduleOf, path, name) {
  const module = moduleOf(path);
  const exported = module.exports.get(name);
  if (exported !== undefined) {
    if (exported.from !== null) return findExport(moduleOf, exported.from, exported.name);
    const found = resolveName(moduleOf, module, exported.name);
    if (found !== null) return found;
  }
  for (const from of module.stars)
    if (exportedNames(moduleOf, from).includes(name)) return findExport(moduleOf, from, name);
  throw new Error(`${path} exports no ${name}`);
}

/** What a name means inside a file; null: something of the language's or the platform's. */
function resolveName(moduleOf, module, name) {
  const own = module.declarations.get(name);
  if (own !== undefined) return own;
  const imported = module.imports.get(name);
  return imported === undefined ? null : findExport(moduleOf, imported.from, imported.name);
}

/** Names that are used, not those of members. */
function identifiersIn(root) {
  const found = [];
  const visit = (node) => {
    if (node.type === "Identifier") found.push(node);
    for (const [field, value] of Object.entries(node)) {
      const isMember = field === "key" && node.computed !== true;
      if (isMember || (field === "property" && node.type === "MemberExpression")) continue;
      for (const child of Array.isArray(value) ? value : [value])
        if (child !== null && typeof child === "object" && typeof child.type === "string") visit(child);
    }
  };
  visit(root);
  return found;
}

function edited(source, node, edits) {
  let text = "";
  let at = node.start;
  for (const { at: identifier, name } of edits.sort((a, b) => a.at.start - b.at.start)) {
    text += source.slice(at, identifier.start) + name;
    at = identifier.start + identifier.name.length;
  }
  return text + source.slice(at, node.end);
}
