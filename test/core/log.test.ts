import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { log, setLog } from "../../src/log.ts";

const SECRET = "T0k/en+of=the?operator,long&enough";
const API_KEY = "sk_3v1emn9dvbtc4ar3ptj4at52dh_9dvbtc4ar3ptj4at52dh";
const WHSEC = "whsec_ab/cd+ef/ghijklmnop+qrstuvwxyz0123456789AB==";

let line = "";
beforeEach(() => {
  line = "";
  vi.spyOn(console, "warn").mockImplementation((text) => {
    line = String(text);
  });
  setLog("info", [SECRET]);
});
afterEach(() => {
  vi.restoreAllMocks();
  setLog("info", []);
});

const said = (message: string) => {
  log("warn", "it_failed", { message });
  return (JSON.parse(line) as { message: string }).message;
};

it.each([
  ["as it is", `a ${API_KEY} b`],
  ["behind an escaped space", `Authorization%3A%20${API_KEY}`],
  ["behind an escaped line end", JSON.stringify(`one\n${API_KEY}`)],
  ["in a URL's spelling", `secret=${encodeURIComponent(WHSEC)}`],
  ["in JSON with escaped slashes", WHSEC.replaceAll("/", "\\/")],
  ["as an escaped header", "Bearer%20abcdefghijklmnop"],
  ["an extended private key behind an escape", "%20xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3"],
  ["in a URL with a user", "postgres+ssl://me:pa?ss@db.example:5432/name"],
  ["one that was set", `a ${SECRET} b`],
  ["one that was set, in a URL", `?token=${encodeURIComponent(SECRET)}`],
])("no line shows a secret: %s", (_, text) => {
  for (const part of ["3v1emn9", "52dh", "ghijkl", "0123456", "abcdefg", "9s21Zr", "pa?ss", "e?operator", "Foperator"])
    expect(said(text)).not.toContain(part);
});

it("shows what is none", () => {
  const text = "addresses_seen of task_id: block 12 of https://rpc.example/*** is not known";
  expect(said(text.replace("***", "key"))).toBe(text);
});

it("shows no part of a secret that stands where a long text is cut, whatever is struck out before it", () => {
  for (let before = 3_950; before < 4_000; before++) {
    const url = `https://h/${"k".repeat(before - 12)}`;
    expect(said(`${url}  ${SECRET}${"x".repeat(100)}`)).not.toContain(SECRET.slice(0, 2));
  }
});

it("takes little time for texts of megabytes that are made to take long", () => {
  const startedAt = performance.now();
  for (const part of ["a.", "://", "bearer ", "@", "sk_", "xprv", "http://a@", " "])
    said(part.repeat(5_000_000 / part.length));
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});
