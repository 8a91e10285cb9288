/** The fields of a schema as rows of a table: a nested object's follow it, and a named schema is a link. */

import { html } from "hono/html";
import { type ApiDocument, type Json, nameOf, resolve, type Schema } from "../description/document.ts";

export interface Field {
  /** Dotted; `[]` stands for each item of a list, `<name>` for each name of an object. */
  readonly path: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

const MAX_DEPTH = 6;

/** @param schema an object, or a reference to one */
export function fieldsOf(schema: Schema, document: ApiDocument): readonly Field[] {
  return propertiesOf(resolve(schema, document).schema, document, "", 0);
}

function propertiesOf(schema: Schema, document: ApiDocument, prefix: string, depth: number): Field[] {
  const required = new Set(schema.required);
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = `${prefix}${name}`;
    return [{ path, schema: property, isRequired: required.has(name) }, ...inside(property, document, path, depth + 1)];
  });
}

/** What lies inside of something that has no name of its own. */
function inside(schema: Schema, document: ApiDocument, path: string, depth: number): Field[] {
  if (schema.$ref !== undefined || depth > MAX_DEPTH) return [];
  const variants = variantsOf(schema).flatMap((variant) => inside(variant, document, path, depth));
  const named = schema.additionalProperties;
  return [
    ...propertiesOf(schema, document, `${path}.`, depth),
    ...(schema.items === undefined ? [] : inside(schema.items, document, `${path}[]`, depth)),
    ...(typeof named === "object" ? inside(named, document, `${path}.<name>`, depth) : []),
    ...variants.filter((field, i) => variants.findIndex(({ path: of }) => of === field.path) === i),
  ];
}

function variantsOf(schema: Schema): readonly Schema[] {
  return schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
}

export function fieldTable(caption: string, schema: Schema, document: ApiDocument) {
  const fields = fieldsOf(schema, document);
  if (fields.length === 0) return html`<p>${caption}: none.</p>`;
  return html`<div class="wide" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${fields.map(fieldRow)}</tbody>
</table></div>`;
}

function fieldRow({ path, schema, isRequired }: Field) {
  return html`<tr><th scope="row"><code>${path}</code>${isRequired ? "" : html` <span class="dim">optional</span>`}</th><td>${typeText(schema)}</td><td>${meaning(schema)}</td></tr>
`;
}

/** The description, and below it what else holds. */
export function meaning(schema: Schema) {
  const limits = limitsOf(schema);
  return html`${schema.description ?? ""}${limits === "" ? "" : html` <span class="dim">${limits}</span>`}`;
}

type Html = ReturnType<typeof html>;

export function typeText(schema: Schema): Html {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    return html`<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.items !== undefined) return html`list of ${typeText(schema.items)}${orNull(schema)}`;
  const variants = variantsOf(schema);
  if (variants.length > 0) return html`${variants.map((one, i) => html`${i === 0 ? "" : " or "}${typeText(one)}`)}`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (typeof schema.additionalProperties === "object") {
    return html`object of ${typeText(schema.additionalProperties)} by name`;
  }
  const type = typeof schema.type === "object" ? schema.type.filter((one) => one !== "null").join(" or ") : schema.type;
  return html`${type ?? "any"}${schema.format === undefined ? "" : ` (${schema.format})`}${orNull(schema)}`;
}

function orNull({ type }: Schema): string {
  return typeof type === "object" && type.length > 1 && type.includes("null") ? " or null" : "";
}

function limitsOf(schema: Schema): string {
  const shown = (label: string, value: Json | undefined) =>
    value === undefined ? [] : [`${label} ${typeof value === "string" ? value : JSON.stringify(value)}`];
  return [
    ...(schema.enum === undefined ? [] : [`One of ${schema.enum.filter((one) => one !== null).join(", ")}`]),
    ...(typeof schema.items?.enum === "object" ? [`Of ${schema.items.enum.join(", ")}`] : []),
    ...shown("At least", schema.minimum),
    ...shown("At most", schema.maximum),
    ...(schema.maxLength === undefined ? [] : [`At most ${schema.maxLength} characters`]),
    ...(schema.maxItems === undefined ? [] : [`At most ${schema.maxItems} items`]),
    ...shown("Default", schema.default),
  ]
    .map((limit) => `${limit}.`)
    .join(" ");
}
