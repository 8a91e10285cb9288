/** The calls as the page shows them: by tag, in the order that the document lists tags in. */

import type { ApiDocument, Operation } from "../description/document.ts";

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

export function callId({ operation }: Call): string {
  return `call-${operation.operationId}`;
}

export interface Group {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly calls: readonly Call[];
}

/** By the first of their tags. */
export function groupsOf(document: ApiDocument): Group[] {
  const calls = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Call => ({ method, path, operation })),
  );
  return document.tags
    .map(({ name, description }) => ({
      id: `tag-${name.toLowerCase().replaceAll(" ", "-")}`,
      name,
      description,
      calls: calls.filter(({ operation }) => operation.tags[0] === name),
    }))
    .filter((group) => group.calls.length > 0);
}
