import { randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { log, setLog } from "../../src/log.ts";
import { readSettings, SettingsError, type SettingsSource } from "../../src/settings.ts";

const PEPPER = "3f0c9a7be1d24865b0a4c7d9e8f1625347a8b9c0d1e2f3a4";
const TOKEN = "op-7Qm2ZxV9LrT4bKc8WnEy5HsJ1uGf6Ad3";
const SEED = "5c1d0f9a7be3428665b0a4c7d9e8f162b347a8b9c0d1e2f3a4f60718293a4b5d";
const ROOT = "sr9KEZbX+EZIPlA36BeBm/sPf/EvLz88/bac7gdJUXM=";
const GOOD = { KEY_PEPPER: PEPPER, OPERATOR_TOKEN: TOKEN, WALLET_SEED: SEED, SECRETS_KEY: `1:${ROOT}` };

function problems(env: object): readonly string[] {
  try {
    readSettings(env as SettingsSource);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  throw new Error("expected the settings to be refused");
}

describe("settings", () => {
  it("are read: secrets, known networks, and the networks that have a URL", () => {
    const settings = readSettings({
      ...GOOD,
      RPC_LOCAL: "http://127.0.0.1:8545",
      RPC_BASE: " https://a.example/key1 , https://user:pw@b.example/?k=2 ",
      RPC_BSC: "",
      RPC_OPTIMISM: "  ",
      RPC_POLYGON: undefined,
    });
    expect(settings).toMatchObject({
      keyPepper: PEPPER,
      operatorToken: TOKEN,
      walletSeed: SEED,
      rootKeys: [{ version: "1", bytes: new Uint8Array(Buffer.from(ROOT, "base64")) }],
      allowLocalWebhooks: false,
    });
    expect([...settings.networks.keys()]).toEqual(["local", "base"]);
    expect(settings.networks.get("base")).toEqual({
      settings: settings.knownNetworks.get("base"),
      urls: ["https://a.example/key1", "https://user:pw@b.example/?k=2"],
    });
    expect(settings.knownNetworks.size).toBe(15);
  });

  it("apply NETWORKS to what is known and to what is on", () => {
    const added = {
      family: "evm",
      chain_id: 31338,
      native_asset: { symbol: "FOO", decimals: 18 },
      confirmations: 2,
      reorg_window: 10,
      poll_ms: 500,
      finality: "depth",
    };
    const settings = readSettings({
      ...GOOD,
      NETWORKS: JSON.stringify({ local: { confirmations: 7 }, "my-own-2": added }),
      RPC_LOCAL: "http://127.0.0.1:1",
      RPC_MY_OWN_2: "http://127.0.0.1:2",
    });
    expect(settings.networks.get("local")?.settings.confirmations).toBe(7);
    expect(settings.networks.get("my-own-2")?.urls).toEqual(["http://127.0.0.1:2"]);
    expect(settings.knownNetworks.get("my-own-2")?.caip2).toBe("eip155:31338");
  });

  it("are parsed once for each environment", () => {
    const env = { ...GOOD, RPC_LOCAL: "http://127.0.0.1:1" };
    expect(readSettings(env)).toBe(readSettings(env));
    expect(readSettings({ ...env })).not.toBe(readSettings(env));
    const wrong = { ...env, KEY_PEPPER: "short" };
    expect(problems(wrong)).toEqual(problems(wrong));
  });

  it.each([
    ["1", true],
    ["true", true],
    ["YES", true],
    ["on", true],
    ["0", false],
    ["false", false],
    ["no", false],
    ["off", false],
    ["", false],
    [undefined, false],
  ])("ALLOW_LOCAL_WEBHOOKS=%j is %j", (text, open) => {
    expect(readSettings({ ...GOOD, ALLOW_LOCAL_WEBHOOKS: text }).allowLocalWebhooks).toBe(open);
  });

  it.each([
    [undefined, null],
    ["", null],
    ["  ", null],
    [" https://cloudflare-dns.com/dns-query ", "https://cloudflare-dns.com/dns-query"],
    ["https://doh.example/hunter2/q", "https://doh.example/hunter2/q"],
    ["http://127.0.0.1:8053/dns-query", "http://127.0.0.1:8053/dns-query"],
  ])("DNS_RESOLVER=%j is %j", (text, url) => {
    expect(readSettings({ ...GOOD, DNS_RESOLVER: text }).dnsResolver).toBe(url);
  });

  it.each([
    "1.1.1.1",
    "udp://1.1.1.1",
    "http://doh.example/hunter2",
    "http://127.0.0.1.hunter2.example/",
    "https://hunter2@doh.example/",
    "https://doh.example/#hunter2",
    "https://doh.example/hunter2{?dns}",
  ])("DNS_RESOLVER=%j is refused, and not shown", (text) => {
    const found = problems({ ...GOOD, DNS_RESOLVER: text });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^DNS_RESOLVER: (is|has) .*; expected e\.g\. https:/);
    expect(found[0]).not.toContain("hunter2");
  });

  const OPERATOR = {
    OPERATOR_WEBHOOK_URL: "https://ops.example.com/hunter2",
    OPERATOR_WEBHOOK_SECRET: "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  };

  it("the operator's webhook is both settings or neither", () => {
    expect(readSettings(GOOD).operatorWebhook).toBeNull();
    expect(
      readSettings({ ...GOOD, OPERATOR_WEBHOOK_URL: " ", OPERATOR_WEBHOOK_SECRET: "" }).operatorWebhook,
    ).toBeNull();
    expect(readSettings({ ...GOOD, ...OPERATOR }).operatorWebhook).toEqual({
      url: OPERATOR.OPERATOR_WEBHOOK_URL,
      secret: OPERATOR.OPERATOR_WEBHOOK_SECRET,
    });
  });

  it.each([
    ["OPERATOR_WEBHOOK_URL", ""],
    ["OPERATOR_WEBHOOK_SECRET", ""],
    ["OPERATOR_WEBHOOK_URL", "http://ops.example.com/hunter2"],
    ["OPERATOR_WEBHOOK_URL", "https://10.0.0.1/hunter2"],
    ["OPERATOR_WEBHOOK_URL", "https://hunter2@ops.example.com/"],
    ["OPERATOR_WEBHOOK_URL", "http://localhost/hunter2"],
    ["OPERATOR_WEBHOOK_SECRET", "whsec_hunter2"],
    ["OPERATOR_WEBHOOK_SECRET", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="],
  ])("%s=%j is refused, and nothing secret is shown", (name, value) => {
    const found = problems({ ...GOOD, ...OPERATOR, [name]: value });
    expect(found).toEqual([expect.stringMatching(new RegExp(`^${name}: `))]);
    expect(found.join()).not.toMatch(/hunter2|AAECAw/);
  });

  it("what signs the operator's webhook, and what its URL and the resolver's end in, is never logged", () => {
    const said: string[] = [];
    const warn = vi.spyOn(console, "warn").mockImplementation((text) => void said.push(String(text)));
    const secret = `${OPERATOR.OPERATOR_WEBHOOK_SECRET}\n`;
    readSettings({
      ...GOOD,
      OPERATOR_WEBHOOK_URL: "https://ops.example.com/T0/hunter2hunter2",
      OPERATOR_WEBHOOK_SECRET: secret,
      DNS_RESOLVER: "https://doh.example/hunter3hunter3",
    });
    const message = `at hunter2hunter2, hunter3hunter3: ${Buffer.from(secret.trim()).toString("hex")}`;
    log("warn", "it_failed", { message });
    warn.mockRestore();
    setLog("info", []);
    expect(said.map((line) => JSON.parse(line).message)).toEqual(["at ***, ***: ***"]);
  });

  it("ALLOW_LOCAL_WEBHOOKS is never guessed", () => {
    expect(problems({ ...GOOD, ALLOW_LOCAL_WEBHOOKS: "maybe" })).toEqual([
      "ALLOW_LOCAL_WEBHOOKS: expected 1 or 0, true or false",
    ]);
  });
});

describe("secrets", () => {
  const advice = "; expected at least 32 random characters, e.g. from: openssl rand -hex 32";
  describe.each(["KEY_PEPPER", "OPERATOR_TOKEN"])("%s", (name) => {
    it.each([
      [undefined, `missing${advice}`],
      ["", `missing${advice}`],
      [PEPPER.slice(0, 31), `too short with 31 characters${advice}`],
      [12345, "expected text, got number"],
      [`${PEPPER}\n`, "expected printable ASCII in one line, without spaces at the ends"],
      [` ${PEPPER}`, "expected printable ASCII in one line, without spaces at the ends"],
      [`${PEPPER}ä`, "expected printable ASCII in one line, without spaces at the ends"],
      ["a".repeat(64), `uses fewer than 8 characters${advice}`],
      ["ab12ab21".repeat(5), `uses fewer than 8 characters${advice}`],
      ["0123456789abcdef0123456789abcdef", `follows a pattern${advice}`],
      ["kJ8#kq2LpZ".repeat(4), `follows a pattern${advice}`],
      ["abcdefghijklmnopqrstuvwxyz0123456789", `follows a pattern${advice}`],
      [`change-me-${PEPPER}`, `contains a word from well-known values${advice}`],
      ["please_CHANGEME_before_production_1", `contains a word from well-known values${advice}`],
      ["this-is-my-very-long-PASSWORD-2026!", `contains a word from well-known values${advice}`],
      ["your-super-secret-jwt-token-of-32-x", `contains a word from well-known values${advice}`],
    ])("%j is refused", (value, problem) => {
      expect(problems({ ...GOOD, [name]: value })).toEqual([`${name}: ${problem}`]);
    });

    it("takes what the advice makes, and nothing shorter", () => {
      for (let i = 0; i < 200; i++) {
        for (const value of [
          randomBytes(32).toString("hex"),
          randomBytes(16).toString("hex"),
          randomBytes(24).toString("base64url"),
        ]) {
          expect(() => readSettings({ ...GOOD, [name]: value })).not.toThrow();
        }
      }
      expect(() => readSettings({ ...GOOD, [name]: "nine odd words, said by a person: 71 herons" })).not.toThrow();
      expect(() => readSettings({ ...GOOD, [name]: TOKEN.slice(0, 31) })).toThrow(SettingsError);
    });
  });

  it("must differ", () => {
    expect(problems({ ...GOOD, OPERATOR_TOKEN: PEPPER })).toEqual(["OPERATOR_TOKEN: must differ from KEY_PEPPER"]);
    for (const name of ["KEY_PEPPER", "OPERATOR_TOKEN"]) {
      for (const same of [SEED, SEED.toUpperCase()]) {
        expect(problems({ ...GOOD, [name]: same })).toEqual([`WALLET_SEED: must differ from ${name}`]);
      }
    }
  });

  it("that are missing are not also equal", () => {
    expect(problems({})).toHaveLength(4);
  });
});

describe("WALLET_SEED", () => {
  const advice = "; expected 32 to 64 random bytes in hex, e.g. from: openssl rand -hex 32";
  it.each([
    [undefined, `missing${advice}`],
    ["", `missing${advice}`],
    [12345, "expected text, got number"],
    [SEED.slice(0, 62), `has 62 digits${advice}`],
    [SEED.slice(0, 63), `has 63 digits${advice}`],
    [`${SEED}a`, `has 65 digits${advice}`],
    [`${SEED}${SEED}ab`, `has 130 digits${advice}`],
    [`0x${SEED}`, `is not hex${advice}`],
    [`${SEED}\n`, `is not hex${advice}`],
    [` ${SEED}`, `is not hex${advice}`],
    [`${SEED.slice(0, 63)}g`, `is not hex${advice}`],
    ["test test test test test test test test test test test junk", `is not hex${advice}`],
    ["0".repeat(64), `uses fewer than 8 characters${advice}`],
    ["deadbeef".repeat(8), `uses fewer than 8 characters${advice}`],
    ["0123456789abcdef".repeat(4), `follows a pattern${advice}`],
    ["0123456789ABCDEF".repeat(4), `follows a pattern${advice}`],
    [SEED + SEED, `follows a pattern${advice}`],
  ])("%j is refused", (value, problem) => {
    expect(problems({ ...GOOD, WALLET_SEED: value })).toEqual([`WALLET_SEED: ${problem}`]);
  });

  it("takes what the advice makes, up to 64 bytes, and reads capitals as the same seed", () => {
    for (let i = 0; i < 200; i++) {
      for (const bytes of [32, 33, 48, 64]) {
        const seed = randomBytes(bytes).toString("hex");
        expect(readSettings({ ...GOOD, WALLET_SEED: seed.toUpperCase() }).walletSeed).toBe(seed);
      }
    }
  });
});

describe("SECRETS_KEY", () => {
  const advice = '; expected version:base64 of 32 random bytes, e.g. from: echo "1:$(openssl rand -base64 32)"';
  const other = randomBytes(32).toString("base64");
  const HALF = randomBytes(16);
  const of = (bytes: Buffer | number[]) => Buffer.from(bytes).toString("base64");
  it.each([
    [undefined, `missing${advice}`],
    ["", `missing${advice}`],
    [7, "expected text, got number"],
    [ROOT, `key 1 of 1 does not read${advice}`],
    [`:${ROOT}`, `key 1 of 1 does not read${advice}`],
    [`a b:${ROOT}`, `key 1 of 1 does not read${advice}`],
    [`${"v".repeat(17)}:${ROOT}`, `key 1 of 1 does not read${advice}`],
    [`1:${of(randomBytes(31))}`, `key 1 of 1 does not read${advice}`],
    [`1:${of(randomBytes(33))}`, `key 1 of 1 does not read${advice}`],
    [`1:${ROOT.slice(0, -1)}`, `key 1 of 1 does not read${advice}`],
    [`1:${ROOT.replaceAll("+", "-").replaceAll("/", "_")}`, `key 1 of 1 does not read${advice}`],
    [`1:${ROOT},`, `key 2 of 2 does not read${advice}`],
    [`1:${of(Array(32).fill(7))}`, `key 1 of 1 uses fewer than 8 characters${advice}`],
    [`1:${of(Array.from({ length: 32 }, (_, i) => i))}`, `key 1 of 1 follows a pattern${advice}`],
    [`1:${of(Buffer.concat([HALF, HALF]))}`, `key 1 of 1 follows a pattern${advice}`],
    [`1:${ROOT},1:${other}`, "key 2 of 2 has the version of an earlier one"],
    [`1:${ROOT},2:${ROOT}`, "key 2 of 2 is an earlier one's key again"],
    [Array.from({ length: 9 }, (_, i) => `${i}:${of(randomBytes(32))}`).join(), "expected at most 8 keys, got 9"],
  ])("%j is refused", (value, problem) => {
    expect(problems({ ...GOOD, SECRETS_KEY: value })).toEqual([`SECRETS_KEY: ${problem}`]);
  });

  it("takes several, the first of which writes, with spaces around the commas", () => {
    const { rootKeys } = readSettings({ ...GOOD, SECRETS_KEY: `2026-b:${other} , 2026-a:${ROOT}` });
    expect(rootKeys.map(({ version }) => version)).toEqual(["2026-b", "2026-a"]);
    expect(rootKeys.map(({ bytes }) => Buffer.from(bytes).toString("base64"))).toEqual([other, ROOT]);
  });

  it("takes what the advice makes", () => {
    for (let i = 0; i < 500; i++) {
      const value = `1:${randomBytes(32).toString("base64")}`;
      expect(readSettings({ ...GOOD, SECRETS_KEY: value }).rootKeys).toHaveLength(1);
    }
  });

  it("must differ from the other secrets, whichever way they are spelt", () => {
    const seedAsKey = Buffer.from(SEED, "hex").toString("base64");
    expect(problems({ ...GOOD, SECRETS_KEY: `1:${seedAsKey}` })).toEqual(["SECRETS_KEY: must differ from WALLET_SEED"]);
    for (const same of [ROOT, Buffer.from(ROOT, "base64").toString("hex").toUpperCase()]) {
      expect(problems({ ...GOOD, KEY_PEPPER: same })).toEqual(["SECRETS_KEY: must differ from KEY_PEPPER"]);
    }
  });
});

describe("RPC_*", () => {
  const nine = Array.from({ length: 9 }, (_, i) => `https://n${i}.example`).join();
  it.each<[unknown, string]>([
    ["hunter2", "URL 1 of 1 is not one; expected http://... or https://..."],
    ["user:hunter2@node.example", "URL 1 of 1 is not one; expected http://... or https://..."],
    ["wss://node.example/hunter2", "URL 1 of 1 is not one; expected http://... or https://..."],
    ["file:///hunter2", "URL 1 of 1 is not one; expected http://... or https://..."],
    ["https://", "URL 1 of 1 is not one; expected http://... or https://..."],
    ["https://a.example/,", "URL 2 of 2 is empty"],
    ["https://a.example,,https://b.example", "URL 2 of 3 is empty"],
    ["https://a.example/hunter2#x", "URL 1 of 1 has a fragment, which is never sent"],
    ["https://a.example/hunter2, https://a.example/hunter2", "URL 2 of 2 is there twice, which is no second provider"],
    [nine, "expected at most 8 URLs, got 9"],
    [8545, "expected URLs separated by commas, got number"],
  ])("%j is refused", (value, problem) => {
    expect(problems({ ...GOOD, RPC_BASE: value })).toEqual([`RPC_BASE: ${problem}`]);
  });

  it("takes eight URLs", () => {
    const urls = nine.split(",").slice(0, 8);
    expect(readSettings({ ...GOOD, RPC_BASE: urls.join() }).networks.get("base")?.urls).toEqual(urls);
  });

  it.each(["RPC_ETHERUM", "RPC_base", "RPC_", "RPC_URL"])("%s names no network and is refused", (name) => {
    const [problem, ...more] = problems({ ...GOOD, [name]: "https://a.example/hunter2" });
    expect(problem).toMatch(new RegExp(`^${name}: no such network; known are RPC_ETHEREUM, RPC_BASE, `));
    expect(more).toEqual([]);
  });
});

it("names every problem at once and shows no secret, no credential and no path", () => {
  const leaks = ["hunter2", "s3cr3tpath", "k3y", "jane", TOKEN, SEED.slice(0, 8), ROOT.slice(0, 8)];
  const env = {
    KEY_PEPPER: "hunter2",
    OPERATOR_TOKEN: `${TOKEN}\n`,
    WALLET_SEED: `${SEED} `,
    SECRETS_KEY: `1:${ROOT},hunter2:${ROOT.slice(0, 20)}`,
    ALLOW_LOCAL_WEBHOOKS: "hunter2",
    NETWORKS: '{"base":{"poll_ms":1}}',
    RPC_BASE: "ftp://jane:hunter2@a.example/s3cr3tpath?k3y=k3y,jane:hunter2@b",
    RPC_TYPO: "https://jane:hunter2@a.example/s3cr3tpath?k3y=k3y#hunter2",
  };
  const found = problems(env);
  expect(found.map((problem) => problem.split(":")[0])).toEqual([
    "KEY_PEPPER",
    "OPERATOR_TOKEN",
    "WALLET_SEED",
    "SECRETS_KEY",
    "ALLOW_LOCAL_WEBHOOKS",
    "NETWORKS",
    "RPC_BASE",
    "RPC_BASE",
    "RPC_TYPO",
    "RPC_TYPO",
  ]);
  const error = new SettingsError(found);
  for (const leak of leaks) expect(`${error.message} ${JSON.stringify(error)}`).not.toContain(leak);
});
