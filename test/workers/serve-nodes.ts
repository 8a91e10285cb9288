/** Puts nodes of chains in memory in the place of the network, inside workerd. */

import { vi } from "vitest";

/** A node of any family. */
interface ServedNode {
  readonly down: boolean;
  answer(body: string, headers?: HeadersInit): Promise<Response>;
}

/** From now on fetch reaches these nodes, by URL, and nothing else. */
export function serveNodes(nodes: Readonly<Record<string, ServedNode>>): void {
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const node = nodes[new URL(String(input)).origin];
    if (node === undefined || node.down) throw new TypeError("fetch failed");
    return node.answer(String(init?.body), init?.headers);
  });
}
