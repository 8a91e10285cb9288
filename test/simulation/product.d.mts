import type { ObjectClass } from "./world/objects.ts";

export type ObjectKind = "tenant" | "scanner" | "endpoint";
export const objects: Readonly<Record<ObjectKind, ObjectClass>>;
export function fetchHandler(request: Request, env: object, context?: undefined): Promise<Response>;
export function scheduledHandler(controller: object, env: object, context?: undefined): Promise<void>;
/** SQL of each migration, in the order in which they are applied. */
export const migrations: readonly string[];
