/** The parts of an OpenAPI 3.1 document that are made and read here. The generator's own types allow far more. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly example?: Json;
  readonly default?: Json;
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly example?: Json;
}

export interface Reference {
  readonly $ref: string;
}

export interface Media {
  readonly schema: Schema;
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, Reference>>;
}

export interface Answer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, Media>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly "x-required-scope"?: string;
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Answer>>;
}

export interface Header {
  readonly description: string;
  readonly schema: Schema;
  readonly example: Json;
}

export interface ApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: Json }>>;
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>;
  };
}

/** The last part of a reference: the component's name. */
export function nameOf(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** The schema that is meant, and its name when it is a component. */
export function resolve(
  schema: Schema,
  document: ApiDocument,
): { readonly schema: Schema; readonly name: string | null } {
  if (schema.$ref === undefined) return { schema, name: null };
  const name = nameOf(schema.$ref);
  const meant = document.components.schemas[name];
  if (meant === undefined) throw new Error(`${schema.$ref} leads nowhere`);
  return { schema: meant, name };
}

/** The parameters of a call, references followed. */
export function parametersOf(operation: Operation, document: ApiDocument): readonly Parameter[] {
  return (operation.parameters ?? []).map((parameter) => {
    if (!("$ref" in parameter)) return parameter;
    const meant = document.components.parameters[nameOf(parameter.$ref)];
    if (meant === undefined) throw new Error(`${parameter.$ref} leads nowhere`);
    return meant;
  });
}
