import { describe, expect, it } from "vitest";
import { API_VERSION, API_VERSIONS, renderBody } from "../../src/core/api-version.ts";

describe("the version of an event's body", () => {
  it("is the newest one when it is written, and every released one can still be rendered", () => {
    expect(API_VERSION).toBe(API_VERSIONS[0]);
    const body = '{"id":"evt_1","z":"\\u001B\u2028","n":1.0,"two":  "spaces"}';
    for (const version of API_VERSIONS) expect(renderBody(body, version)).toBe(renderBody(body, version));
    expect(renderBody(body, API_VERSION)).toBe(body);
  });

  it.each(["", "2026-11-02", "2026-11-01 "])("%j was never released", (version) => {
    expect(() => renderBody("{}", version)).toThrow(`no event has the API version ${version}`);
  });
});
