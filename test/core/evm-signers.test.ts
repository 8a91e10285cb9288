/** Keys derived from the seed, and keys that another machine holds. */

import { createHash } from "node:crypto";
import { inspect } from "node:util";
import { HDKey } from "@scure/bip32";
import type { Hex, TransactionSerializable } from "viem";
import { hdKeyToAccount, privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { deriveSigner } from "../../src/chains/evm/derived-signer.ts";
import { unsignedOf } from "../../src/chains/evm/intent.ts";
import { remoteSigner } from "../../src/chains/evm/remote-signer.ts";
import { readSigned } from "../../src/chains/evm/signed-transaction.ts";
import { type Intent, SignerFault } from "../../src/chains/payout.ts";

const SEED = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const TENANT = "ten_01jz0000000000000000000000";

const intentFor = (sender: string, change: Partial<Intent> = {}): Intent => ({
  chainId: 31_337,
  sender,
  nonce: 13,
  to: `0x${"70".repeat(20)}`,
  valueUnits: 10n ** 18n,
  data: "0xabcd",
  gasLimit: 65_000n,
  fees: { kind: "eip1559", maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n },
  ...change,
});

describe("a derived signer", () => {
  const signer = deriveSigner(SEED, TENANT, { id: "local" });

  it("has the path and address that the documented rule gives, found by other means", () => {
    const digest = createHash("sha256").update(`sluice hot wallet v1\n${TENANT}\nlocal`).digest();
    const pieces = [0, 4, 8, 12].map((offset) => `${digest.readUInt32BE(offset) % 2 ** 31}'`);
    const path = `m/44'/60'/${pieces.join("/")}` as `m/44'/60'/${string}`;
    const other = hdKeyToAccount(HDKey.fromMasterSeed(Buffer.from(SEED, "hex")), { path });
    expect(signer.path).toBe(path);
    expect(signer.address).toBe(other.address.toLowerCase());
  });

  it.each([
    [
      TENANT,
      "local",
      "m/44'/60'/700441808'/942394731'/432430168'/1861475030'",
      "0xe87dd761afaf13e3550abb90be4e835fe6455a71",
    ],
    [
      TENANT,
      "ethereum",
      "m/44'/60'/1507250041'/205520823'/1212472123'/10145122'",
      "0x3f1ac7859f8c370aeed4075a9564f0013abca702",
    ],
    [
      "ten_01jz0000000000000000000001",
      "local",
      "m/44'/60'/257229706'/1306795368'/1371691234'/954519954'",
      "0xf74a460c897a94959bd5f159224f2c05e327ac59",
    ],
  ])("of %s on %s stays where it was", (tenantId, id, path, address) => {
    const { path: foundPath, address: foundAddress } = deriveSigner(SEED, tenantId, { id });
    expect({ path: foundPath, address: foundAddress }).toEqual({ path, address });
  });

  it("depends on the seed, the tenant and the network, and on where one ends and the next begins", () => {
    const addresses = [
      deriveSigner(SEED, "a", { id: "b" }),
      deriveSigner(SEED.replace("00", "01"), "a", { id: "b" }),
      deriveSigner(SEED, "ab", { id: "" }),
      deriveSigner(SEED, "", { id: "ab" }),
      deriveSigner(SEED, "b", { id: "a" }),
    ].map(({ address }) => address);
    expect(new Set(addresses).size).toBe(5);
  });

  it("takes a seed with or without its prefix, in either case", () => {
    for (const seed of [`0x${SEED}`, SEED.toUpperCase()])
      expect(deriveSigner(seed, TENANT, { id: "local" }).address).toBe(signer.address);
  });

  it.each(["", "0x", "00".repeat(31), "00".repeat(65), `${SEED.slice(1)}`, `${SEED.slice(2)}zz`, ` ${SEED}`])(
    "has no seed %j, and does not repeat it",
    (seed) => {
      const derive = () => deriveSigner(seed, TENANT, { id: "local" });
      expect(derive).toThrow(/^a wallet seed is 32 to 64 bytes of hex, got/);
      if (seed.length > 4) expect(derive).not.toThrow(seed);
    },
  );

  it("B77: signs the same bytes for the same intent, whenever it is asked", async () => {
    const intent = intentFor(signer.address);
    const raw = await signer.sign(intent);
    expect(await deriveSigner(SEED, TENANT, { id: "local" }).sign(intent)).toBe(raw);
    expect(await signer.sign({ ...intent, nonce: 14 })).not.toBe(raw);
    expect(await readSigned(raw, intent)).toMatchObject({ ok: true, signed: { raw } });
  });

  it("signs for nobody else", async () => {
    await expect(signer.sign(intentFor(`0x${"11".repeat(20)}`))).rejects.toThrow(
      `the signer of ${signer.address} was asked to sign for 0x1111`,
    );
  });

  it("shows its key in nothing that can be printed", () => {
    const leaf = HDKey.fromMasterSeed(Buffer.from(SEED, "hex")).derive(signer.path);
    const key = Buffer.from(leaf.privateKey ?? []).toString("hex");
    expect(key).toHaveLength(64);
    const shown = [JSON.stringify(signer), inspect(signer, { depth: 9, showHidden: true }), String(signer)].join();
    expect(shown).not.toContain(key);
    expect(shown).not.toContain(SEED);
    expect(Object.keys(signer).sort()).toEqual(["address", "path"]);
  });
});

describe("a remote signer", () => {
  const account = privateKeyToAccount(`0x${"42".repeat(32)}`);
  const address = account.address.toLowerCase();
  const TOKEN = "t0k3n-of-the-signer";
  const URL_WITH_KEY = "http://signer.test:9000/keys/s3cr3t-path?key=s3cr3t-query";

  interface Asked {
    readonly url: string;
    readonly headers: Headers;
    readonly redirect: string | undefined;
    readonly body: { id: number; method: string; params: [Record<string, string>] };
  }

  function signerAt(answer: (asked: Asked) => Response | Promise<Response>, token: string | null = TOKEN) {
    const asked: Asked[] = [];
    const fetchOnce = (async (input, init) => {
      const one = {
        url: String(input),
        headers: new Headers(init?.headers as Record<string, string>),
        redirect: init?.redirect,
        body: JSON.parse(String(init?.body)),
      };
      asked.push(one);
      return answer(one);
    }) as typeof fetch;
    return { asked, signer: remoteSigner({ url: URL_WITH_KEY, address, token, fetch: fetchOnce, timeoutMs: 50 }) };
  }

  const result = (value: unknown) => (asked: Asked) =>
    Response.json({ jsonrpc: "2.0", id: asked.body.id, result: value });
  const error = (code: number, message: string) => (asked: Asked) =>
    Response.json({ jsonrpc: "2.0", id: asked.body.id, error: { code, message } });

  /** Signs what the request says, as a real signer does, with fields changed on the way. */
  const signing =
    (change: Partial<Record<string, unknown>> = {}, by = account) =>
    async (asked: Asked) => {
      const fields = asked.body.params[0];
      const number = (name: string) => (fields[name] === undefined ? undefined : BigInt(fields[name]));
      const tx = {
        type: fields.type === "0x2" ? "eip1559" : "legacy",
        chainId: Number(fields.chainId),
        nonce: Number(fields.nonce),
        to: fields.to as Hex,
        value: number("value"),
        data: fields.data as Hex,
        gas: number("gas"),
        maxFeePerGas: number("maxFeePerGas"),
        maxPriorityFeePerGas: number("maxPriorityFeePerGas"),
        gasPrice: number("gasPrice"),
        ...change,
      };
      return result(await by.signTransaction(tx as TransactionSerializable))(asked);
    };

  it("is asked in Web3Signer's form, with the token, once, and follows no redirect", async () => {
    const intent = intentFor(address);
    const { asked, signer } = signerAt(signing());
    expect(signer.address).toBe(address);
    expect(await readSigned(await signer.sign(intent), intent)).toMatchObject({ ok: true });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ url: URL_WITH_KEY, redirect: "manual" });
    expect(asked[0]?.headers.get("authorization")).toBe(`Bearer ${TOKEN}`);
    expect(asked[0]?.body).toMatchObject({ jsonrpc: "2.0", method: "eth_signTransaction" });
    expect(asked[0]?.body.params).toEqual([
      {
        from: address,
        to: intent.to,
        gas: "0xfde8",
        value: "0xde0b6b3a7640000",
        data: "0xabcd",
        nonce: "0xd",
        chainId: "0x7a69",
        type: "0x2",
        maxFeePerGas: "0x6fc23ac00",
        maxPriorityFeePerGas: "0x3b9aca00",
      },
    ]);
  });

  it("is asked with a gas price where the network has no base fee, and without a token where there is none", async () => {
    const intent = intentFor(address, { fees: { kind: "legacy", gasPrice: 5n } });
    const { asked, signer } = signerAt(signing(), null);
    expect(await readSigned(await signer.sign(intent), intent)).toMatchObject({ ok: true });
    expect(asked[0]?.headers.has("authorization")).toBe(false);
    expect(asked[0]?.body.params[0]).toMatchObject({ type: "0x0", gasPrice: "0x5" });
    expect(asked[0]?.body.params[0]).not.toHaveProperty("maxFeePerGas");
  });

  it("may answer as geth does", async () => {
    const intent = intentFor(address);
    const raw = await account.signTransaction(unsignedOf(intent));
    expect(await signerAt(result({ raw, tx: { nonce: "0xd" } })).signer.sign(intent)).toBe(raw);
  });

  it.each([
    ["chainId", { chainId: 1 }],
    ["nonce", { nonce: 14 }],
    ["to", { to: `0x${"0d".repeat(20)}` }],
    ["value", { value: 10n ** 18n + 1n }],
    ["data", { data: "0xabce" }],
    ["gas", { gas: 65_001n }],
    ["maxFeePerGas", { maxFeePerGas: 31_000_000_000n }],
    ["maxPriorityFeePerGas", { maxPriorityFeePerGas: 2n }],
    ["accessList", { accessList: [{ address: `0x${"0d".repeat(20)}`, storageKeys: [] }] }],
    ["type", { type: "legacy", gasPrice: 30_000_000_000n, maxFeePerGas: undefined, maxPriorityFeePerGas: undefined }],
  ])("I16: that signs another %s is found out", async (field, change) => {
    const intent = intentFor(address);
    const raw = await signerAt(signing(change)).signer.sign(intent);
    expect(await readSigned(raw, intent)).toMatchObject({
      ok: false,
      problem: expect.stringMatching(`^signed transaction: ${field} is `),
    });
  });

  it("I16: that signs with another key is found out", async () => {
    const intent = intentFor(address);
    const raw = await signerAt(signing({}, privateKeyToAccount(`0x${"43".repeat(32)}`))).signer.sign(intent);
    expect(await readSigned(raw, intent)).toMatchObject({
      ok: false,
      problem: expect.stringContaining("sender is 0x"),
    });
  });

  const lost = () => {
    throw new Error(`connect ECONNREFUSED ${URL_WITH_KEY} ${TOKEN}`);
  };
  it.each<[string, (asked: Asked) => Response | Promise<Response>, boolean, RegExp]>([
    ["a lost connection", lost, true, /request failed/],
    ["silence", () => new Promise<Response>(() => {}), true, /no answer within 50 ms/],
    ["a body that does not end", () => new Response(new ReadableStream({})), true, /no answer within 50 ms/],
    ["HTTP 500", () => new Response(`at ${URL_WITH_KEY}`, { status: 500 }), true, /HTTP 500/],
    ["HTTP 429", () => new Response("", { status: 429 }), true, /HTTP 429/],
    ["HTTP 401", () => new Response(`no ${TOKEN}`, { status: 401 }), false, /HTTP 401/],
    ["HTTP 403", () => new Response("", { status: 403 }), false, /HTTP 403/],
    ["HTTP 404", () => new Response("", { status: 404 }), false, /HTTP 404/],
    [
      "a redirect",
      () => new Response(null, { status: 307, headers: { location: "http://b.test" } }),
      false,
      /HTTP 307/,
    ],
    ["a gateway's page", () => new Response("<html>"), true, /expected JSON/],
    [
      "a locked key",
      error(-32_000, "authentication needed: password or passphrase"),
      true,
      /authentication needed.*-32000/,
    ],
    ["no such method", error(-32_601, "Method not found"), false, /Method not found/],
    ["parameters that it does not take", error(-32_602, "Invalid params"), false, /Invalid params/],
    ["an error that repeats secrets", error(-32_000, `${TOKEN} at ${URL_WITH_KEY}`), true, /\*\*\*/],
    ["null", result(null), false, /expected a signed transaction in hex, got null/],
    ["half a byte", result("0x020"), false, /expected a signed transaction in hex/],
    ["another shape", result({ rawTransaction: "0x02" }), false, /expected a signed transaction in hex/],
    ["more than a signature", result(`0x${"00".repeat(40_000)}`), false, /larger than 65536 bytes/],
  ])("answered by %s", async (_, answer, retryable, message) => {
    const { asked, signer } = signerAt(answer);
    const fault: unknown = await signer.sign(intentFor(address)).catch((thrown: unknown) => thrown);
    expect(fault).toBeInstanceOf(SignerFault);
    expect(fault).toMatchObject({ retryable, message: expect.stringMatching(message) });
    expect(String(fault)).toContain("signer.test:9000");
    for (const secret of ["s3cr3t", TOKEN]) expect(inspect(fault, { depth: 9 })).not.toContain(secret);
    expect(asked).toHaveLength(1);
  });

  it("signs for nobody else, and is not asked to", async () => {
    const { asked, signer } = signerAt(signing());
    await expect(signer.sign(intentFor(`0x${"11".repeat(20)}`))).rejects.toThrow("was asked to sign for 0x1111");
    expect(asked).toEqual([]);
  });

  it("shows neither its URL nor its token", () => {
    const { signer } = signerAt(signing());
    for (const secret of ["s3cr3t", TOKEN])
      expect(JSON.stringify(signer) + inspect(signer, { depth: 9, showHidden: true })).not.toContain(secret);
    const broken = () => remoteSigner({ url: "s3cr3t nonsense", address, token: TOKEN, fetch, timeoutMs: 1 });
    expect(broken).toThrow(/could not be parsed/);
    expect(broken).not.toThrow(/s3cr3t/);
  });
});
