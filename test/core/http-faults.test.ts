/** What is thrown: 503 when the same call may succeed later, 500 otherwise, and nothing of it in the answer. */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ChainFault } from "../../src/chains/port.ts";
import { log } from "../../src/log.ts";
import { API_KEY, fakeApp, keyed, problemOf } from "../support/http-app.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
let lines: string[] = [];
beforeEach(() => {
  lines = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, "warn").mockReturnValue();
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function thrown(fault: unknown, path = "/v1/tenant") {
  const { app } = fakeApp({
    tenant: {
      getTenant: async () => {
        throw fault;
      },
    },
  });
  const response = await app.request(path, keyed("GET"));
  return { response, problem: await problemOf(response) };
}

describe("503 store_unavailable with Retry-After", () => {
  test.each([
    ["retryable", Object.assign(new Error("x"), { retryable: true })],
    ["overloaded", Object.assign(new Error("x"), { overloaded: true, retryable: false })],
    ["a chain fault", new ChainFault("no answer", true, "rpc.example")],
    ["D1, connection", new Error("D1_ERROR: Network connection lost.")],
    ["D1, reset", new Error("D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.")],
    ["D1, overload", new Error("D1_ERROR: D1 DB is overloaded. Too many requests queued.")],
    ["D1, update", new Error("D1 DB reset because its code was updated.")],
    ["D1, node", new Error("Cannot resolve D1 DB due to transient issue on remote node.")],
    ["not an Error", { retryable: true }],
  ])("%s", async (_, fault) => {
    const { response, problem } = await thrown(fault);
    expect(response.status).toBe(503);
    expect(problem).toMatchObject({ code: "store_unavailable", retryable: true });
    expect(response.headers.get("retry-after")).toBe("2");
  });
});

describe("500 internal_error, with nothing of the error", () => {
  test.each([
    ["an Error", new TypeError(`bad ${SECRET} in C:\\app\\tenant.ts`)],
    ["not retryable", Object.assign(new Error(SECRET), { retryable: false })],
    ["a chain fault that stays", new ChainFault(SECRET, false, "rpc.example")],
    ["a string", SECRET],
    ["undefined", undefined],
    ["null", null],
    ["a number", 7],
  ])("%s", async (_, fault) => {
    const { response, problem } = await thrown(fault);
    expect(response.status).toBe(500);
    expect(problem).toEqual({
      type: "/docs#problem-internal_error",
      title: "Internal error",
      status: 500,
      detail: "Something is broken here. It was logged under the request_id.",
      code: "internal_error",
      request_id: response.headers.get("x-request-id"),
      retryable: true,
    });
    expect(lines.join()).not.toContain(SECRET);
    expect(lines.join()).not.toContain(API_KEY);
  });
});

test("one line of the log names the request and the error", async () => {
  const { problem } = await thrown(new RangeError("a journal does not sum to zero"));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    level: "error",
    time: expect.stringMatching(/^2\d{3}-.*Z$/),
    event: "request_failed",
    request_id: problem.request_id,
    retryable: false,
    error: "RangeError",
    message: "a journal does not sum to zero",
  });
});

test("what looks like a secret is struck out of a message", () => {
  const message = [
    API_KEY,
    SECRET,
    "authorization: Bearer abc.def",
    "https://user:pass@rpc.example/v3/0123456789abcdef?key=zzz",
    `wss://node.example/${"s".repeat(40)}`,
    `xprv9${"s".repeat(106)}`,
  ].join(" ");
  log("error", "x", {}, new Error(message));
  const { message: logged } = JSON.parse(lines[0] ?? "") as { message: string };
  expect(logged).toBe(
    "sk_*** whsec_*** authorization: Bearer *** https://rpc.example/*** wss://node.example/*** xprv***",
  );
});

test("a message of any length is one short line", () => {
  log("error", "x", {}, new Error("x\n".repeat(100_000)));
  expect(lines[0]?.length).toBeLessThan(1_500);
  expect(lines[0]).not.toContain("\n");
});
