import { describe, expect, it } from "vitest";
import { addressScope } from "../../src/webhooks/ip-address.ts";
import { checkTarget, type TargetRefusal } from "../../src/webhooks/target.ts";

const production = { allowLocal: false };
const local = { allowLocal: true };

const ACCEPTED = [
  "https://example.com/hook",
  "https://example.com",
  "https://example.com:443/hook",
  "https://EXAMPLE.com/hook?x=1&y=%20",
  "https://hooks.shop.example.co.uk/a/b/c",
  "https://xn--bcher-kva.example/hook",
  "https://b\u00fccher.example/hook",
  "https://my_host.example.com/",
  "https://127.0.0.1.example.com/",
  "https://localhost.example.com/",
  "https://internal.example.com/",
  "https://mylocalhost.com/",
  "https://notlocal.net/",
  "https://8.8.8.8.nip.example/",
  "https://example.com/path/@user:pw",
  "https://example.com/?to=user@host",
];

const REFUSED: readonly (readonly [string, TargetRefusal])[] = [
  // B115: loopback and private addresses in every spelling that a URL parser takes
  ["https://[::ffff:127.0.0.1]/", "ip_literal"],
  ["https://[::127.0.0.1]/", "ip_literal"],
  ["https://[0:0:0:0:0:ffff:169.254.169.254]/", "ip_literal"],
  ["https://[64:ff9b::a9fe:a9fe]/", "ip_literal"],
  ["https://[2002:7f00:1::]/", "ip_literal"],
  ["https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "ip_literal"],
  ["https://[fe81::1]/", "ip_literal"],
  ["https://[fc00::1]/", "ip_literal"],
  ["https://[::]/", "ip_literal"],
  ["https://[::1]/", "ip_literal"],
  ["https://2130706433/", "ip_literal"],
  ["https://0x7f000001/", "ip_literal"],
  ["https://0x7f.1/", "ip_literal"],
  ["https://0177.0.0.1/", "ip_literal"],
  ["https://017700000001/", "ip_literal"],
  ["https://127.1/", "ip_literal"],
  ["https://127.0.0.1/", "ip_literal"],
  ["https://127.0.0.1./", "ip_literal"],
  ["https://0/", "ip_literal"],
  ["https://0.0.0.0/", "ip_literal"],
  ["https://10.0.0.1/", "ip_literal"],
  ["https://100.64.0.1/", "ip_literal"],
  ["https://169.254.169.254/latest/meta-data", "ip_literal"],
  ["https://192.168.1.1/", "ip_literal"],
  ["https://%31%32%37.0.0.1/", "ip_literal"],
  ["https://\u2460\u2461\u2466.0.0.1/", "ip_literal"],
  ["https://127\u30020\u30020\u30021/", "ip_literal"],
  // Public ones too: no name, no proof of who answers
  ["https://8.8.8.8/", "ip_literal"],
  ["https://[::ffff:8.8.8.8]/", "ip_literal"],
  ["https://[2606:4700::1111]/", "ip_literal"],
  ["https://134744072/", "ip_literal"],

  ["https://localhost/", "inside_name"],
  ["https://LOCALHOST/", "inside_name"],
  ["https://app.localhost/", "inside_name"],
  ["https://printer.local/", "inside_name"],
  ["https://metadata.google.internal/", "inside_name"],
  ["https://router.lan/", "inside_name"],
  ["https://nas.home.arpa/", "inside_name"],
  ["https://host.localdomain/", "inside_name"],
  ["https://intranet/", "inside_name"],
  ["https://kubernetes/", "inside_name"],
  ["https://com/", "inside_name"],

  ["https://localhost./", "malformed"],
  ["https://example.com./", "malformed"],
  ["https://printer.local./", "malformed"],
  ["https://localhost\u3002/", "malformed"],
  ["https://example..com/", "malformed"],
  ["https://-example.com/", "malformed"],
  [`https://${"a".repeat(64)}.com/`, "malformed"],
  [`https://${"a.".repeat(126)}example/`, "malformed"],
  ["https://exa$mple.com/", "malformed"],
  ["https://*.example.com/", "malformed"],

  ["https://user:pw@example.com/", "credentials"],
  ["https://user@example.com/", "credentials"],
  ["https://@example.com/", "credentials"],
  ["https://:@example.com/", "credentials"],
  ["https://example.com%2f@127.0.0.1/", "credentials"],
  ["https://example.com#@127.0.0.1/", "fragment"],
  ["https://example.com/#", "fragment"],
  ["https://example.com/#top", "fragment"],

  ["https://example.com:22/", "port"],
  ["https://example.com:80/", "port"],
  ["https://example.com:8443/", "port"],
  ["https://example.com:0/", "port"],

  ["http://example.com/", "not_https"],
  ["http://example.com:443/", "not_https"],
  ["http://127.0.0.1/", "not_https"],
  ["http://localhost:3000/", "not_https"],

  ["", "malformed"],
  ["example.com", "malformed"],
  ["//example.com/", "malformed"],
  ["/hook", "malformed"],
  ["ftp://example.com/", "malformed"],
  ["file:///etc/passwd", "malformed"],
  ["javascript:alert(1)", "malformed"],
  ["data:text/plain,x", "malformed"],
  ["wss://example.com/", "malformed"],
  ["https:example.com", "malformed"],
  ["https:/example.com", "malformed"],
  ["https:///example.com", "malformed"],
  ["https://", "malformed"],
  ["https:\\\\example.com", "malformed"],
  ["https://example.com\\@127.0.0.1/", "malformed"],
  [" https://example.com/", "malformed"],
  ["https://example.com/ ", "malformed"],
  ["https://exa\nmple.com/", "malformed"],
  ["https://exa\tmple.com/", "malformed"],
  ["https://example.com/\u0000", "malformed"],
  ["https://exam ple.com/", "malformed"],
  ["https://[::1", "malformed"],
  ["https://[fe80::1%25eth0]/", "malformed"],
  ["https://256.256.256.256/", "malformed"],
  ["https://1.2.3.4.5/", "malformed"],
  ["https://example.0x1/", "malformed"],
  ["https://example.com:99999/", "malformed"],
  ["https://example.com:abc/", "malformed"],
  [`https://example.com/${"a".repeat(2_030)}`, "too_long"],
];

describe("targets in production (B115)", () => {
  it.each(ACCEPTED)("%s is accepted", (url) => {
    expect(checkTarget(url, production)).toMatchObject({ ok: true });
  });

  it.each(REFUSED)("%j is refused: %s", (url, reason) => {
    const check = checkTarget(url, production);
    expect(check).toMatchObject({ ok: false, reason });
    expect(!check.ok && check.detail).toMatch(/^[^\n]{10,2200}\.$/);
  });

  it("gives the URL that fetch will see", () => {
    const check = checkTarget("https://EXAMPLE.com:443/a?b", production);
    expect(check.ok && check.url.href).toBe("https://example.com/a?b");
  });
});

describe("targets in local work", () => {
  it.each([
    "http://127.0.0.1:4000/hook",
    "http://127.8.9.10/hook",
    "http://127.1:4000/",
    "https://127.0.0.1/",
    "http://localhost:4000/hook",
    "http://LOCALHOST/",
    "http://[::1]:4000/hook",
    "https://[::1]/",
    ...ACCEPTED,
  ])("%s is accepted", (url) => {
    expect(checkTarget(url, local)).toMatchObject({ ok: true });
  });

  it.each<[string, TargetRefusal]>([
    ["http://10.0.0.1/", "not_https"],
    ["https://10.0.0.1/", "ip_literal"],
    ["http://169.254.169.254/latest/meta-data", "not_https"],
    ["https://169.254.169.254/", "ip_literal"],
    ["https://192.168.1.1:4000/", "ip_literal"],
    ["http://0.0.0.0:4000/", "not_https"],
    ["https://[::]/", "ip_literal"],
    ["https://[::ffff:127.0.0.1]/", "ip_literal"],
    ["https://[::ffff:169.254.169.254]/", "ip_literal"],
    ["https://[fe81::1]/", "ip_literal"],
    ["https://8.8.8.8/", "ip_literal"],
    ["http://example.com/", "not_https"],
    ["https://example.com:22/", "port"],
    ["https://printer.local/", "inside_name"],
    ["http://localhost./", "not_https"],
    ["http://user:pw@localhost:4000/", "credentials"],
    ["http://127.0.0.1:4000/#x", "fragment"],
    ["file://localhost/etc/passwd", "malformed"],
  ])("%s is still refused: %s", (url, reason) => {
    expect(checkTarget(url, local)).toMatchObject({ ok: false, reason });
  });
});

describe("where an address points, by its number", () => {
  it.each([
    "8.8.8.8",
    "1.0.0.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "::ffff:808:808",
    "64:ff9b::808:808",
    "2606:4700::1111",
    "2001:4860:4860::8888",
    "2001:200::1",
    "2003::1",
    "3ffe::1",
  ])("%s: public", (address) => {
    expect(addressScope(address)).toBe("public");
  });

  it.each(["127.0.0.1", "127.255.255.255", "::1", "0:0:0:0:0:0:0:1"])("%s: loopback", (address) => {
    expect(addressScope(address)).toBe("loopback");
  });

  it.each([
    "0.0.0.0",
    "10.255.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::2",
    "::127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::808:808",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00::1",
    "fe80::1",
    "fe81::1",
    "fec0::1",
    "ff02::1",
  ])("%s: inside", (address) => {
    expect(addressScope(address)).toBe("inside");
  });

  it.each([
    "",
    "example.com",
    "1.2.3",
    "1.2.3.4.5",
    "256.0.0.1",
    "01.2.3.4",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "::12345",
    "1:2:3:4:5:6:7:8:9",
    "::1%eth0",
    "1:2:3:4::5:6:7:8",
    "1.2.3.4::",
    ":::",
    ":",
  ])("%j is no address", (text) => {
    expect(addressScope(text)).toBeNull();
  });
});
