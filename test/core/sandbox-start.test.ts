/** When a local start brings a sandbox by itself: not where others reach it, unless it is asked to. */

import { expect, test } from "vitest";
import { wantsSandbox } from "../../scripts/sandbox.mjs";

test.each([
  [undefined, "127.0.0.1", true],
  [undefined, "127.8.8.8", true],
  [undefined, "localhost", true],
  [undefined, "::1", true],
  [undefined, "0.0.0.0", false],
  [undefined, "::", false],
  [undefined, "192.168.1.5", false],
  [undefined, "127.0.0.1.example.com", false],
  [undefined, "mymachine", false],
  ["", "0.0.0.0", false],
  ["on", "0.0.0.0", true],
  ["off", "127.0.0.1", false],
])("SANDBOX=%s with HOST=%s: %s", (asked, host, isThere) => expect(wantsSandbox(asked, host)).toBe(isThere));
