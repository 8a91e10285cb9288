/** Puts nodes of the chain in memory in the place of the network, inside workerd. */

import { vi } from "vitest";
import type { ModelNode } from "../support/model-chain.ts";

/** From now on fetch reaches these nodes, by URL, and nothing else. */
export function serveNodes(nodes: Readonly<Record<string, ModelNode>>): void {
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const node = nodes[new URL(String(input)).origin];
    if (node === undefined || node.down) throw new TypeError("fetch failed");
    return node.answer(String(init?.body));
  });
}
