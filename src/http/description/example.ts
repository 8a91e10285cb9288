/** Examples: a schema's own, or one composed of its parts. */

import { type ApiDocument, type Json, resolve, type Schema } from "./document.ts";

/** Optional fields are in it when they have an example of their own. */
export function exampleOf(of: Schema, document: ApiDocument): Json {
  const { schema } = resolve(of, document);
  if (schema.example !== undefined) return schema.example;
  if (schema.const !== undefined) return schema.const;
  if (schema.allOf?.[0] !== undefined) return exampleOf(schema.allOf[0], document);
  const variant = (schema.oneOf ?? schema.anyOf)?.[0];
  if (variant !== undefined) return exampleOf(variant, document);
  if (schema.enum?.[0] !== undefined) return schema.enum[0];
  const type = typeof schema.type === "object" ? schema.type[0] : schema.type;
  switch (type) {
    case "object":
      return exampleObject(schema, document);
    case "array":
      return schema.items === undefined ? [] : [exampleOf(schema.items, document)];
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    case "boolean":
      return true;
    default:
      return "";
  }
}

function exampleObject(schema: Schema, document: ApiDocument): Json {
  const required = new Set(schema.required);
  const entries = Object.entries(schema.properties ?? {})
    .filter(([name, property]) => required.has(name) || property.example !== undefined)
    .map(([name, property]): [string, Json] => [name, isNullable(property) ? null : exampleOf(property, document)]);
  return Object.fromEntries(entries);
}

function isNullable({ type }: Schema): boolean {
  return typeof type === "object" && type.includes("null");
}
