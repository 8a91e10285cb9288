/**
 * Owns the versions that an event's body can have. An event is written once, in the newest version; an endpoint gets
 * it in the version it was created with. A change that takes a field away, renames it or gives it another type makes
 * a new version and a rendering of it for every older one; a field that is added makes none.
 */

/** Newest first. One that was released stays for as long as an endpoint is pinned to it. */
export const API_VERSIONS = ["2026-11-01"] as const;
export type ApiVersion = (typeof API_VERSIONS)[number];

export const API_VERSION: ApiVersion = API_VERSIONS[0];

/**
 * The body of an event for an endpoint of this version. The same bytes for the same event and version, always.
 *
 * @param body as it was written
 * @throws Error for a version that was never released: such an endpoint cannot have been created
 */
export function renderBody(body: string, version: string): string {
  if (version !== API_VERSION) throw new Error(`no event has the API version ${version}; there is ${API_VERSION}`);
  return body;
}
