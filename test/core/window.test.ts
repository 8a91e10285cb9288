/** The window: where it starts, where links break, which block two branches share. */

import { describe, expect, it } from "vitest";
import { brokenLink, commonAncestor, type Link, safeHeight, windowStart } from "../../src/core/window.ts";

const depth = { finality: "depth", reorgWindow: 20 } as const;
const tag = { finality: "tag", reorgWindow: 64 } as const;
const block = (height: number, hash: string, parentHash: string): Link => ({ height, hash, parentHash });

describe("the start of the window", () => {
  it.each([
    ["trails the tip", depth, { scannedTo: 100, finalized: 36, current: 0 }, 81],
    ["never moves down", depth, { scannedTo: 100, finalized: 36, current: 90 }, 90],
    ["is the first block of a young chain", depth, { scannedTo: 5, finalized: -1, current: 0 }, 0],
    ["waits for the tag", tag, { scannedTo: 500, finalized: 100, current: 90 }, 101],
    ["stays while there is no tag", tag, { scannedTo: 500, finalized: -1, current: 90 }, 90],
    ["never passes the tip", tag, { scannedTo: 100, finalized: 400, current: 90 }, 101],
  ] as const)("%s", (_name, settings, at, expected) => {
    expect(windowStart(settings, at)).toBe(expected);
  });

  it("lets long ranges be read only where nothing can be replaced", () => {
    expect(safeHeight(depth, 100, 99)).toBe(80);
    expect(safeHeight(tag, 100, 37)).toBe(37);
    expect(safeHeight(tag, 100, null)).toBe(-1);
  });
});

describe("links", () => {
  const parent = block(9, "i", "h");
  it("holds for a chain and names the first block that does not go on", () => {
    expect(brokenLink(parent, [])).toBe(-1);
    expect(brokenLink(parent, [block(10, "j", "i"), block(11, "k", "j")])).toBe(-1);
    expect(brokenLink(parent, [block(10, "j", "x")])).toBe(0);
    expect(brokenLink(parent, [block(10, "j", "i"), block(12, "l", "j")])).toBe(1);
    expect(brokenLink(parent, [block(10, "j", "i"), block(11, "k", "i")])).toBe(1);
  });

  it("finds the highest shared block, or none", () => {
    const ours = new Map([
      [8, "h"],
      [9, "i"],
      [10, "j"],
    ]);
    expect(commonAncestor(ours, [block(8, "h", "g"), block(9, "i", "h"), block(10, "J", "i")])?.height).toBe(9);
    expect(commonAncestor(ours, [block(8, "H", "G"), block(9, "I", "H")])).toBeNull();
  });
});
