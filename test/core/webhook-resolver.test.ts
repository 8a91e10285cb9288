/** Where targets lead, by what a resolver over HTTPS says: every record counts, and no answer is no permission. */

import { afterEach, describe, expect, it } from "vitest";
import type { DeliveryOutcome } from "../../src/core/webhook-schedule.ts";
import { attemptDelivery, type Delivery } from "../../src/webhooks/delivery.ts";
import { encodeQuestion, parseAnswer, TYPE_A, TYPE_AAAA } from "../../src/webhooks/dns-message.ts";
import { mintSecret } from "../../src/webhooks/signature.ts";
import { checkPlace, type PlaceCheck } from "../../src/webhooks/target-place.ts";
import { a, aaaa, asked, cname, type DnsRecord, dnsAnswer, type Zone } from "../support/dns.ts";
import { type Receiver, type Reply, startReceiver } from "../support/receiver.ts";

const URL_ = new URL("https://hooks.shop.example/in");
const PUBLIC_4 = a("93.184.216.34");
const PUBLIC_6 = aaaa(0x2606, 0x4700, 0, 0, 0, 0, 0, 0x1111);
const GOOD: Zone = { A: [PUBLIC_4], AAAA: [PUBLIC_6] };
const MESSAGE = { "content-type": "application/dns-message" };

const receivers: Receiver[] = [];
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((one) => one.close()));
});

/** A resolver on loopback. `script` may answer otherwise, or leave it to the zone. */
async function resolver(zone: Zone, script: (type: "A" | "AAAA") => Reply | null = () => null): Promise<Receiver> {
  const started = await startReceiver(({ body }) => {
    const other = script(asked(body).type);
    return other ?? { kind: "answer", status: 200, headers: MESSAGE, body: Buffer.from(dnsAnswer(body, zone)) };
  });
  receivers.push(started);
  return started;
}

const check = (dnsResolver: string | null, { url = URL_, allowLocal = false, deadlineMs = 10_000 } = {}) =>
  checkPlace(url, { allowLocal, dnsResolver }, (to, init) => fetch(to, init), deadlineMs);
const checkZone = async (zone: Zone) => check((await resolver(zone)).url);
const reasonOf = (place: PlaceCheck) => (place.ok ? "ok" : place.reason);

describe("a question", () => {
  it("asks for A and AAAA by POST, in the wire format of RFC 8484", async () => {
    const doh = await resolver(GOOD);
    expect(await check(doh.url)).toEqual({ ok: true });
    expect(doh.requests.map(({ body }) => asked(body).type).sort()).toEqual(["A", "AAAA"]);
    for (const { method, headers, body } of doh.requests) {
      expect(method).toBe("POST");
      expect(headers).toMatchObject({ "content-type": "application/dns-message", accept: "application/dns-message" });
      expect(asked(body).name).toBe("hooks.shop.example");
    }
  });

  it("has the bytes that RFC 8484, 4.1.1 prints for www.example.com", () => {
    const printed = "AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB";
    expect(Buffer.from(encodeQuestion("www.example.com", TYPE_A)).toString("base64")).toBe(printed);
  });

  it("is asked anew each time", async () => {
    const doh = await resolver(GOOD);
    await check(doh.url);
    await check(doh.url);
    expect(doh.requests).toHaveLength(4);
  });

  it("is not asked without a resolver, nor of this machine in local work", async () => {
    const doh = await resolver({});
    expect(await check(null)).toEqual({ ok: true });
    for (const url of ["http://127.0.0.1:4000/", "http://localhost/", "http://[::1]:4000/"]) {
      expect(await check(doh.url, { url: new URL(url), allowLocal: true })).toEqual({ ok: true });
    }
    expect(doh.requests).toHaveLength(0);
  });
});

describe("the records", () => {
  it.each<[string, Zone]>([
    ["IPv4 alone", { A: [PUBLIC_4] }],
    ["IPv6 alone", { AAAA: [PUBLIC_6] }],
    ["both, several of each", { A: [PUBLIC_4, a("8.8.8.8")], AAAA: [PUBLIC_6, PUBLIC_6] }],
    ["behind aliases", { A: [cname("edge.cdn.example"), cname("pop.cdn.example"), PUBLIC_4] }],
    ["a public address as IPv4-mapped", { AAAA: [aaaa(0, 0, 0, 0, 0, 0xffff, 0x0808, 0x0808)] }],
    ["a public address behind NAT64", { AAAA: [aaaa(0x64, 0xff9b, 0, 0, 0, 0, 0x0808, 0x0808)] }],
  ])("%s: good", async (_, zone) => {
    expect(await checkZone(zone)).toEqual({ ok: true });
  });

  const bad: [string, DnsRecord][] = [
    ["0.0.0.0", a("0.0.0.0")],
    ["10.0.0.1", a("10.0.0.1")],
    ["100.64.0.1", a("100.64.0.1")],
    ["127.0.0.1", a("127.0.0.1")],
    ["169.254.169.254", a("169.254.169.254")],
    ["172.16.0.1", a("172.16.0.1")],
    ["192.168.1.1", a("192.168.1.1")],
    ["192.0.2.1", a("192.0.2.1")],
    ["224.0.0.1", a("224.0.0.1")],
    ["255.255.255.255", a("255.255.255.255")],
    ["::", aaaa(0, 0, 0, 0, 0, 0, 0, 0)],
    ["::1", aaaa(0, 0, 0, 0, 0, 0, 0, 1)],
    ["::127.0.0.1", aaaa(0, 0, 0, 0, 0, 0, 0x7f00, 1)],
    ["::ffff:127.0.0.1", aaaa(0, 0, 0, 0, 0, 0xffff, 0x7f00, 1)],
    ["::ffff:169.254.169.254", aaaa(0, 0, 0, 0, 0, 0xffff, 0xa9fe, 0xa9fe)],
    ["64:ff9b::169.254.169.254", aaaa(0x64, 0xff9b, 0, 0, 0, 0, 0xa9fe, 0xa9fe)],
    ["64:ff9b:1::1", aaaa(0x64, 0xff9b, 1, 0, 0, 0, 0, 1)],
    ["6to4 of 127.0.0.1", aaaa(0x2002, 0x7f00, 1, 0, 0, 0, 0, 0)],
    ["Teredo", aaaa(0x2001, 0, 0x4136, 0xe378, 0x8000, 0x63bf, 0x3fff, 0xfdd2)],
    ["2001:db8::1", aaaa(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)],
    ["fd00::1", aaaa(0xfd00, 0, 0, 0, 0, 0, 0, 1)],
    ["fe81::1", aaaa(0xfe81, 0, 0, 0, 0, 0, 0, 1)],
    ["ff02::1", aaaa(0xff02, 0, 0, 0, 0, 0, 0, 1)],
  ];
  it.each(bad)("%s among good ones refuses, wherever it stands (B116)", async (_, record) => {
    const type = record.type === "AAAA" ? "AAAA" : "A";
    const good = type === "A" ? PUBLIC_4 : PUBLIC_6;
    for (const records of [[record], [record, good], [good, record], [cname("x.example"), good, good, record]]) {
      expect(reasonOf(await checkZone({ ...GOOD, [type]: records }))).toBe("inside_address");
    }
  });

  it("a good IPv4 and a loopback IPv6: the refusal names the address (B116)", async () => {
    expect(await checkZone({ A: [a("93.0.0.1")], AAAA: [aaaa(0, 0, 0, 0, 0, 0, 0, 1)] })).toEqual({
      ok: false,
      reason: "inside_address",
      detail: '"hooks.shop.example" has the address 0:0:0:0:0:0:0:1, which is not on the public internet.',
    });
  });

  it.each<[string, Zone]>([
    ["no such name", { code: 3 }],
    ["a name without addresses", {}],
    ["an alias that leads nowhere", { A: [cname("gone.example")], AAAA: [cname("gone.example")] }],
  ])("%s: no address", async (_, zone) => {
    const place = await checkZone(zone);
    expect(place).toMatchObject({ ok: false, reason: "no_address" });
    expect(!place.ok && place.detail).toBe('"hooks.shop.example" has no address in the DNS.');
  });

  it("loopback is open in local work, and nothing else that is inside", async () => {
    const of = async (zone: Zone) => reasonOf(await check((await resolver(zone)).url, { allowLocal: true }));
    expect(await of({ A: [a("127.0.0.1")] })).toBe("ok");
    expect(await of({ A: [a("10.0.0.1")] })).toBe("inside_address");
    expect(await of({ AAAA: [aaaa(0, 0, 0, 0, 0, 0xffff, 0x7f00, 1)] })).toBe("inside_address");
  });
});

describe("no whole answer is no permission", () => {
  const reply = (status: number, headers: Record<string, string>, body: string | Buffer = ""): Reply => {
    return { kind: "answer", status, headers, body };
  };
  it.each<[string, Reply]>([
    ["an error of its own", reply(500, MESSAGE)],
    ["HTML", reply(200, { "content-type": "text/html" }, "<html>")],
    ["nothing", reply(200, MESSAGE)],
    ["a redirect", { kind: "redirect", status: 307, location: "https://elsewhere.example/" }],
    ["a cut connection", { kind: "cut" }],
    ["silence", { kind: "hang" }],
  ])("%s to one of the two questions", async (_, other) => {
    for (const silent of ["A", "AAAA"] as const) {
      const doh = await resolver(GOOD, (type) => (type === silent ? other : null));
      expect(reasonOf(await check(doh.url, { deadlineMs: 300 }))).toBe("unresolved");
    }
  });

  it.each([1, 2, 4, 5, 9])("response code %d", async (code) => {
    expect(reasonOf(await checkZone({ ...GOOD, code }))).toBe("unresolved");
  });

  it("SERVFAIL by its name", async () => {
    const place = await checkZone({ code: 2 });
    expect(!place.ok && place.detail).toBe(
      '"hooks.shop.example" could not be looked up: the resolver answered SERVFAIL.',
    );
  });

  it("a bad address refuses for good, though the other question has no answer", async () => {
    const doh = await resolver({ A: [a("10.0.0.1")] }, (type) => (type === "AAAA" ? reply(500, MESSAGE) : null));
    expect(reasonOf(await check(doh.url))).toBe("inside_address");
  });

  it("redirects are not followed: the other host is asked nothing", async () => {
    const other = await resolver(GOOD);
    const doh = await resolver(GOOD, () => ({ kind: "redirect", status: 307, location: other.url }));
    expect(reasonOf(await check(doh.url))).toBe("unresolved");
    expect(other.requests).toHaveLength(0);
  });

  it("a message that was cut short, at any byte, and one with other questions", () => {
    const question = encodeQuestion("shop.example", TYPE_A);
    const message = dnsAnswer(question, { A: [PUBLIC_4, a("8.8.8.8")] });
    expect(parseAnswer(message, "shop.example", TYPE_A)?.addresses).toEqual(["93.184.216.34", "8.8.8.8"]);
    expect(parseAnswer(message, "SHOP.example", TYPE_A)).not.toBeNull();
    for (let end = 0; end < message.length; end++) {
      expect(parseAnswer(message.subarray(0, end), "shop.example", TYPE_A)).toBeNull();
    }
    for (const [name, type] of [
      ["shop.example", TYPE_AAAA],
      ["shopx.example", TYPE_A],
      ["shop.examplf", TYPE_A],
      ["shop", TYPE_A],
    ] as const)
      expect(parseAnswer(message, name, type)).toBeNull();
    const truncated = dnsAnswer(question, { A: [PUBLIC_4], flags: 0x0200 });
    expect(parseAnswer(truncated, "shop.example", TYPE_A)).toBeNull();
    // A query is no answer, and an address has its length.
    expect(parseAnswer(question, "shop.example", TYPE_A)).toBeNull();
    const short = dnsAnswer(question, { A: [{ type: "A", data: [10, 0, 0] }] });
    expect(parseAnswer(short, "shop.example", TYPE_A)).toBeNull();
  });

  it("is never thrown, whatever the bytes are", () => {
    const message = dnsAnswer(encodeQuestion("shop.example", TYPE_A), { A: [cname("b.example"), PUBLIC_4] });
    for (let at = 0; at < message.length; at++) {
      for (const byte of [0, 1, 0x3f, 0x40, 0xc0, 0xff]) {
        const changed = message.slice();
        changed[at] = byte;
        expect(() => parseAnswer(changed, "shop.example", TYPE_A)).not.toThrow();
      }
    }
  });

  it("an endless body is cut off, by its size and by the time, and cancelled", async () => {
    const cases = [
      { bytes: 1_000, everyMs: 0, deadlineMs: 10_000, expected: /longer than 65535 bytes/ },
      { bytes: 1, everyMs: 20, deadlineMs: 300, expected: /did not answer in 300 ms/ },
    ];
    for (const { bytes, everyMs, deadlineMs, expected } of cases) {
      let cancelled = 0;
      let sent = 0;
      const send = async (_: string, init: RequestInit) => {
        const body = new ReadableStream<Uint8Array>({
          async pull(controller) {
            if (everyMs > 0) await new Promise((resolve) => setTimeout(resolve, everyMs));
            sent += bytes;
            if (!init.signal?.aborted) controller.enqueue(new Uint8Array(bytes));
          },
          cancel() {
            cancelled++;
          },
        });
        init.signal?.addEventListener("abort", () => cancelled++);
        return new Response(body, { headers: MESSAGE });
      };
      const place = await checkPlace(URL_, { allowLocal: false, dnsResolver: "https://doh.test/" }, send, deadlineMs);
      expect(!place.ok && place.detail).toMatch(expected);
      await expect.poll(() => cancelled).toBeGreaterThanOrEqual(2);
      expect(sent).toBeLessThan(2 * 80_000);
    }
  });
});

describe("a good answer that is none by its head", () => {
  it.each([
    [500, MESSAGE],
    [203, MESSAGE],
    [200, { "content-type": "application/dns-json" }],
    [200, {}],
  ])("%d %j", async (status, headers) => {
    const doh = await startReceiver(({ body }) => {
      return { kind: "answer", status, headers, body: Buffer.from(dnsAnswer(body, GOOD)) };
    });
    receivers.push(doh);
    expect(reasonOf(await check(doh.url))).toBe("unresolved");
  });
});

describe("at an attempt", () => {
  /** With this deadline the resolver says nothing. */
  const SILENT_MS = 400;
  const attempt = async (zone: Zone, change: Partial<Delivery> = {}, deadlineMs = 10_000) => {
    const doh = await resolver(zone, () => (deadlineMs === SILENT_MS ? { kind: "hang" } : null));
    const sent: string[] = [];
    const delivery = { url: URL_.href, allowLocal: false, dnsResolver: doh.url, eventId: "evt_1", body: "{}" };
    const keys = [{ scheme: "v1" as const, secret: mintSecret(new Uint8Array(32).fill(3)) }];
    const world = {
      fetch: async (url: string, init: RequestInit) => {
        if (url === doh.url) return fetch(url, init);
        sent.push(url);
        return new Response("ok");
      },
      clock: () => Date.now(),
      deadlineMs,
    };
    const result = await attemptDelivery({ ...delivery, keys, ...change }, world);
    return { outcome: result.outcome, status: result.status, sent };
  };

  it("goes out when every record is good", async () => {
    expect(await attempt(GOOD)).toEqual({ outcome: "delivered", status: 200, sent: [URL_.href] });
  });

  it.each<[string, DeliveryOutcome, Zone]>([
    ["was rebound to the metadata service (B116)", "target_refused", { A: [a("169.254.169.254")] }],
    ["has one bad record of two (B116)", "target_refused", { A: [PUBLIC_4, a("10.0.0.1")] }],
    ["is gone", "unresolved", { code: 3 }],
    ["cannot be looked up", "unresolved", { code: 2 }],
  ])("nothing leaves when the name %s: %s", async (_, outcome, zone) => {
    expect(await attempt(zone)).toEqual({ outcome, status: null, sent: [] });
  });

  it("nothing leaves when the resolver is silent, and the attempt ends in its time", async () => {
    const startedAt = Date.now();
    const result = await attempt(GOOD, {}, SILENT_MS);
    expect(result).toEqual({ outcome: "unresolved", status: null, sent: [] });
    expect(Date.now() - startedAt).toBeLessThan(5_000);
  });

  it.each([
    "https://[::ffff:127.0.0.1]/",
    "https://[::127.0.0.1]/",
    "https://[0:0:0:0:0:ffff:169.254.169.254]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[2002:7f00:1::]/",
    "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
    "https://[fe81::1]/",
    "https://[::]/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0177.0.0.1/",
    "https://127.1/",
    "https://100.64.0.1/",
    "https://localhost./",
    "https://user:pw@hooks.shop.example/",
    "https://hooks.shop.example:22/",
  ])("%s is refused before anybody is asked (B115)", async (url) => {
    for (const dnsResolver of [null, "https://doh.test/"]) {
      expect(await attempt(GOOD, { url, dnsResolver })).toEqual({ outcome: "target_refused", status: null, sent: [] });
    }
  });
});
