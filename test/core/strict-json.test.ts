import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkStrictJson, MAX_BODY_BYTES, MAX_DEPTH, readStrictJson } from "../../src/http/strict-json.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const check = (text: string) => checkStrictJson(utf8(text));
const refused = (code: string) => expect.objectContaining({ ok: false, refusal: expect.objectContaining({ code }) });

describe("B127: what is not one strict JSON object", () => {
  test.each([
    "",
    " ",
    '{"a":1',
    "{a:1}",
    "{'a':1}",
    '{"a":1,}',
    '{"a":01}',
    '{"a":1}x',
    '{"a":1}{"b":2}',
    "// c\n{}",
    '{"a":NaN}',
    '{"a":+1}',
    '{"a":"\n"}',
    '{"a":"\\x"}',
    '{"a":"\\u12"}',
    "\u0000{}",
    "\u00a0{}",
    "[]",
    "[1]",
    "1",
    '"a"',
    "null",
    "true",
  ])("%j", (text) => {
    expect(check(text)).toEqual(refused("malformed_json"));
  });

  test("a byte order mark", () => {
    expect(check('\uFEFF{"a":1}')).toEqual(refused("malformed_json"));
  });

  test.each([
    ["C3 28 in a string", [0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc3, 0x28, 0x22, 0x7d]],
    ["an overlong slash", [0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc0, 0xaf, 0x22, 0x7d]],
    ["a surrogate in UTF-8", [0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d]],
    ["UTF-16", [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
    ["cut in the middle of a character", [0x7b, 0x7d, 0xe2, 0x82]],
  ])("invalid UTF-8: %s", (_, bytes) => {
    expect(checkStrictJson(new Uint8Array(bytes))).toEqual(refused("malformed_json"));
  });

  test.each([
    '{"amount":"1","amount":"100"}',
    '{"a":1,"\\u0061":2}',
    '{"a":{"b":1,"c":[],"b":2}}',
    '{"a":[{"b":1},{"b":1,"b":2}]}',
    '{"a":1,"b":{"a":{}},"a":2}',
    '{"":1,"":2}',
    '{"a\\"":1,"a\\u0022":2}',
    '{"a\\\\":1,"a\\u005c":2}',
  ])("a name twice in one object: %s", (text) => {
    expect(check(text)).toEqual(refused("malformed_json"));
  });

  test.each(['{"a":"\\ud800"}', '{"a":"\\udc00x"}', '{"\\ud83d":1}', '{"a":"\\ude00\\ud83d"}'])(
    "a lone surrogate: %s",
    (text) => {
      expect(check(text)).toEqual(refused("malformed_json"));
    },
  );

  test.each(['{"__proto__":{"admin":true}}', '{"a":{"\\u005f_proto__":1}}'])("__proto__ as a name: %s", (text) => {
    expect(check(text)).toEqual(refused("malformed_json"));
  });
});

describe("what passes, unchanged", () => {
  test.each([
    "{}",
    ' \t\r\n{"a" : 1 } ',
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}',
    '{"a":"b","b":"a","c":"a,b:{[\\"}]"}',
    '{"a":"{\\"a\\":1,\\"a\\":2}"}',
    '{"a":"\\ud83d\\ude00 😀 e\u0301"}',
    '{"a":"__proto__","constructor":1,"toString":2}',
    '{"a":["a","a","a"]}',
    '{"a":"\\\\","b":"\\\\\\""}',
  ])("%s", (text) => {
    expect(check(text)).toEqual({ ok: true, text });
  });
});

test("depth: the object itself is the first level", () => {
  const nested = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  expect(check(nested(MAX_DEPTH)).ok).toBe(true);
  expect(check(nested(MAX_DEPTH + 1))).toEqual(refused("malformed_json"));
  expect(check(`{"a":${"[".repeat(30_000)}${"]".repeat(30_000)}}`)).toEqual(refused("malformed_json"));
  // Many siblings are not deep.
  expect(check(`{"a":[${Array.from({ length: 500 }, () => "[{}]").join(",")}]}`).ok).toBe(true);
});

test("nothing of the body is said in the refusal", () => {
  for (const text of ['{"sk_secret":', '{"sk_secret":1,"sk_secret":2}', '"sk_secret"']) {
    expect(JSON.stringify(check(text))).not.toContain("sk_secret");
  }
});

test("any object that has been written as JSON passes, and with one field doubled it does not", () => {
  const value = fc.jsonValue({ maxDepth: 4 });
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "grapheme" }), value), (object) => {
      fc.pre(!JSON.stringify(object).includes("__proto__"));
      const text = JSON.stringify(object);
      fc.pre(!/\\ud[89a-f]/.test(text));
      expect(check(text)).toEqual({ ok: true, text });
      const name = Object.keys(object)[0];
      if (name === undefined) return;
      expect(check(`${text.slice(0, -1)},${JSON.stringify(name)}:0}`)).toEqual(refused("malformed_json"));
    }),
  );
});

describe("reading a request", () => {
  const request = (body: BodyInit | null, headers: Record<string, string>) =>
    new Request("http://test/", {
      method: "POST",
      headers,
      body,
      ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
    });
  const JSON_TYPE = { "content-type": "application/json" };

  test.each([
    "application/json",
    "Application/JSON",
    "application/json;charset=utf-8",
    'application/json; charset="UTF-8"',
    "application/json ; Charset=utf8",
  ])("media type %s", async (type) => {
    expect(await readStrictJson(request("{}", { "content-type": type }), "required")).toEqual({ ok: true, text: "{}" });
  });

  test.each([
    "text/plain",
    "application/json; charset=utf-16",
    "application/json; charset=latin1",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/problem+json",
    "application/json, application/json",
    "application/jsonx",
    "application/json; profile=x",
    "text/json",
    "",
  ])("media type %j is not read", async (type) => {
    for (const body of ["required", "optional"] as const) {
      expect(await readStrictJson(request("{}", { "content-type": type }), body)).toEqual(
        refused("unsupported_media_type"),
      );
    }
  });

  test("no media type at all", async () => {
    const bytes = utf8("{}");
    expect(await readStrictJson(request(bytes, {}), "required")).toEqual(refused("unsupported_media_type"));
    expect(await readStrictJson(request(bytes, {}), "optional")).toEqual(refused("unsupported_media_type"));
  });

  test("a compressed body", async () => {
    const zipped = { ...JSON_TYPE, "content-encoding": "gzip" };
    expect(await readStrictJson(request("{}", zipped), "required")).toEqual(refused("unsupported_media_type"));
  });

  test("an empty body", async () => {
    expect(await readStrictJson(request("", JSON_TYPE), "required")).toEqual(refused("malformed_json"));
    expect(await readStrictJson(request("", JSON_TYPE), "optional")).toEqual({ ok: true, text: "{}" });
    expect(await readStrictJson(request(null, {}), "required")).toEqual(refused("unsupported_media_type"));
    expect(await readStrictJson(request(null, {}), "optional")).toEqual({ ok: true, text: "{}" });
  });

  test("64 KiB and not one byte more", async () => {
    const sized = (bytes: number) => `{"a":"${"x".repeat(bytes - 8)}"}`;
    expect((await readStrictJson(request(sized(MAX_BODY_BYTES), JSON_TYPE), "required")).ok).toBe(true);
    expect(await readStrictJson(request(sized(MAX_BODY_BYTES + 1), JSON_TYPE), "required")).toEqual(
      refused("payload_too_large"),
    );
  });

  test("a declared length is believed without reading", async () => {
    const big = request("{}", { ...JSON_TYPE, "content-length": String(MAX_BODY_BYTES + 1) });
    expect(await readStrictJson(big, "required")).toEqual(refused("payload_too_large"));
    expect(big.bodyUsed).toBe(false);
  });

  test("an endless body is cut off, whatever it declared", async () => {
    let pulls = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls += 1;
        controller.enqueue(new Uint8Array(1024).fill(0x20));
      },
      cancel() {
        cancelled = true;
      },
    });
    const read = await readStrictJson(request(endless, { ...JSON_TYPE, "content-length": "2" }), "required");
    expect(read).toEqual(refused("payload_too_large"));
    expect(cancelled).toBe(true);
    expect(pulls).toBeLessThan(80);
  });

  test("a character split over two chunks", async () => {
    const bytes = utf8('{"a":"€"}');
    const split = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.slice(0, 7));
        controller.enqueue(bytes.slice(7));
        controller.close();
      },
    });
    expect(await readStrictJson(request(split, JSON_TYPE), "required")).toEqual({ ok: true, text: '{"a":"€"}' });
  });
});
