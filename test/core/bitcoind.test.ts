/** The Bitcoin nodes that other tests stand on do what those tests rely on; and where none can be had, that is said. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bitcoindEnvironment, findBitcoind } from "../../scripts/bitcoind.mjs";
import { sidSources } from "../../scripts/debian-sources.mjs";
import { atExit } from "../support/at-exit.ts";
import { type Bitcoind, BitcoindError, noBitcoind, startBitcoind } from "../support/bitcoind.ts";

interface Transaction {
  readonly txid: string;
  readonly confirmations?: number;
  readonly vin: readonly { readonly txid: string; readonly vout: number }[];
  readonly vout: readonly { readonly n: number; readonly value: number; readonly scriptPubKey: { hex: string } }[];
}

interface Coin {
  readonly txid: string;
  readonly vout: number;
  readonly amount: number;
}

/** Nobody's here. */
const STRANGER = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";
const STRANGERS_SCRIPT = "0014751e76e8199196d454941c45d1b3a323f1433bd6";

const transaction = (node: Bitcoind, txid: string) => node.rpc<Transaction>("getrawtransaction", txid, 1);
const mempool = (node: Bitcoind) => node.rpc<string[]>("getrawmempool");

describe.skipIf(noBitcoind)("a Bitcoin node", () => {
  let node: Bitcoind;
  beforeAll(async () => {
    node = await startBitcoind({ txindex: true, password: "p@ss/w%rd 1?" });
    await node.mine(110);
  });
  afterAll(() => node?.stop());

  it("mines, pays, and keeps an index when asked", async () => {
    expect(await node.height()).toBe(110);
    const txid = await node.pay(STRANGER, "0.12345678");
    const [block] = await node.mine();
    expect(await node.tip()).toBe(block);
    const found = await transaction(node, txid);
    expect(found.confirmations).toBe(1);
    expect(found.vout.filter(({ scriptPubKey }) => scriptPubKey.hex === STRANGERS_SCRIPT)).toMatchObject([
      { value: 0.12345678 },
    ]);
  });

  it("answers to its URL's user and password alone, and refuses with its code", async () => {
    const { username, password, origin } = new URL(node.url);
    expect([username, decodeURIComponent(password)]).toEqual([node.user, node.password]);
    expect((await fetch(origin, { method: "POST", body: "{}" })).status).toBe(401);
    const refusal = await node.rpc("getblock", "00".repeat(32)).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(BitcoindError);
    expect(refusal).toMatchObject({ method: "getblock", code: -5, reason: "Block not found" });
  });

  it.each([
    ["legacy", /^76a914[0-9a-f]{40}88ac$/],
    ["p2sh-segwit", /^a914[0-9a-f]{40}87$/],
    ["bech32", /^0014[0-9a-f]{40}$/],
    ["bech32m", /^5120[0-9a-f]{64}$/],
  ] as const)("has addresses of type %s", async (type, script) => {
    const { scriptPubKey } = await node.rpc<{ scriptPubKey: string }>("getaddressinfo", await node.newAddress(type));
    expect(scriptPubKey).toMatch(script);
  });

  it("takes its tip back and forth", async () => {
    const txid = await node.pay(STRANGER, "1");
    const [block = ""] = await node.mine();
    const height = await node.height();
    await node.rpc("invalidateblock", block);
    expect(await node.height()).toBe(height - 1);
    expect(await mempool(node)).toContain(txid);
    expect((await node.rpc<{ confirmations: number }>("getblockheader", block)).confirmations).toBe(-1);
    await node.rpc("reconsiderblock", block);
    expect(await node.tip()).toBe(block);
    expect((await transaction(node, txid)).confirmations).toBe(1);
  });

  it("replaces a transaction by one that pays more", async () => {
    const first = await node.pay(STRANGER, "2");
    const { txid: second } = await node.rpc<{ txid: string }>("bumpfee", first);
    expect(await mempool(node)).toEqual([second]);
    expect((await transaction(node, second)).vin).toEqual(
      expect.arrayContaining(
        (await node.rpc<{ decoded: Transaction }>("gettransaction", first, true, true)).decoded.vin.map(
          ({ txid, vout }) => expect.objectContaining({ txid, vout }),
        ),
      ),
    );
    await node.mine();
    expect((await transaction(node, second)).confirmations).toBe(1);
    expect((await node.rpc<{ confirmations: number }>("gettransaction", first)).confirmations).toBe(-1);
  });

  it("relays what Core relays, and mines what no mempool takes", async () => {
    const waiting = await node.pay(STRANGER, "0.1");
    const [coin] = await node.rpc<Coin[]>("listunspent");
    if (coin === undefined) throw new Error("the payer has no coins");
    const { pubkey } = await node.rpc<{ pubkey: string }>("getaddressinfo", await node.newAddress());
    const multisig = `51${`21${pubkey}`.repeat(2)}52ae`;
    const spend = async (outputs: readonly unknown[], script?: string) => {
      const raw = await node.rpc<string>("createrawtransaction", [{ txid: coin.txid, vout: coin.vout }], outputs);
      const changed =
        script === undefined
          ? raw
          : raw.replace(`16${STRANGERS_SCRIPT}`, (script.length / 2).toString(16).padStart(2, "0") + script);
      return (await node.rpc<{ hex: string }>("signrawtransactionwithwallet", changed)).hex;
    };
    const verdict = async (raw: string) => {
      const [answer] = await node.rpc<{ allowed: boolean; "reject-reason"?: string }[]>("testmempoolaccept", [raw]);
      return answer?.["reject-reason"] ?? answer?.allowed;
    };
    const output = { [STRANGER]: (coin.amount - 0.001).toFixed(8) };
    expect(await verdict(await spend([output, { data: "ab".repeat(80) }]))).toBe(true);
    const bare = await spend([output], multisig);
    expect(await verdict(bare)).not.toBe("bare-multisig");

    const block = await node.mineOnly([bare]);
    const { tx } = await node.rpc<{ tx: Transaction[] }>("getblock", block, 2);
    expect(tx.map(({ vout }) => vout[0]?.scriptPubKey.hex)).toEqual([expect.any(String), multisig]);
    expect(await mempool(node)).toEqual([waiting]);
    await node.mine();
  });

  it("ends cleanly and comes back with chain, mempool and wallet", async () => {
    const [height, tip] = [await node.height(), await node.tip()];
    const txid = await node.pay(STRANGER, "3");
    await node.restart();
    expect([await node.height(), await node.tip()]).toEqual([height, tip]);
    expect(await mempool(node)).toEqual([txid]);
    await node.mine();
    expect((await transaction(node, txid)).confirmations).toBe(1);
  });

  it("is killed and comes back with what was on disk", async () => {
    await node.flush();
    const [height, tip] = [await node.height(), await node.tip()];
    await node.mine(3);
    await node.kill();
    await expect(node.height()).rejects.toThrow(/no answer to getblockcount/);
    await node.restart(["-acceptnonstdtxn=1"]);
    expect([await node.height(), await node.tip()]).toEqual([height, tip]);
    await node.mine(2);
    expect(await node.height()).toBe(height + 2);
  });
});

describe.skipIf(noBitcoind)("two Bitcoin nodes", () => {
  let [one, other] = [] as unknown as [Bitcoind, Bitcoind];
  beforeAll(async () => {
    [one, other] = await Promise.all([startBitcoind({ txindex: true }), startBitcoind()]);
  });
  afterAll(() => Promise.all([one?.stop(), other?.stop()]));

  it("come to one chain, also from nothing", async () => {
    await one.mine(103);
    await one.connect(other);
    expect([await other.height(), await other.tip()]).toEqual([103, await one.tip()]);
    await one.connect(other);
    expect(await one.rpc("getconnectioncount")).toBe(1);
  });

  it("pass payments on", async () => {
    const txid = await one.pay(STRANGER, "0.5");
    await expect.poll(() => mempool(other), { timeout: 5_000 }).toEqual([txid]);
    await other.mine();
    await expect.poll(() => one.height(), { timeout: 5_000 }).toBe(104);
    expect((await transaction(one, txid)).confirmations).toBe(1);
  });

  it("mine apart and, joined again, take the longer branch: a confirmed payment is spent elsewhere", async () => {
    await one.disconnect(other);
    expect([await one.rpc("getconnectioncount"), await other.rpc("getconnectioncount")]).toEqual([0, 0]);
    const split = await one.height();

    const [coin] = await one.rpc<Coin[]>("listunspent");
    if (coin === undefined) throw new Error("the payer has no coins");
    const spend = async (address: string) => {
      const amount = (coin.amount - 0.001).toFixed(8);
      const raw = await one.rpc<string>(
        "createrawtransaction",
        [{ txid: coin.txid, vout: coin.vout }],
        [{ [address]: amount }],
      );
      return (await one.rpc<{ hex: string }>("signrawtransactionwithwallet", raw)).hex;
    };
    const [toStranger, toPayer] = [await spend(STRANGER), await spend(await one.newAddress())];
    const paid = await one.rpc<string>("sendrawtransaction", toStranger);
    const [lost = ""] = await one.mine(2);
    const taken = await other.rpc<string>("sendrawtransaction", toPayer);
    await other.mine(3);
    expect((await transaction(one, paid)).confirmations).toBe(2);

    const from = Date.now();
    await other.connect(one);
    expect(Date.now() - from).toBeLessThan(5_000);
    expect([await one.height(), await one.tip()]).toEqual([split + 3, await other.tip()]);
    expect((await one.rpc<{ confirmations: number }>("getblockheader", lost)).confirmations).toBe(-1);
    expect((await transaction(one, taken)).confirmations).toBe(3);
    // Its coins are gone: it does not come back to the mempool.
    expect(await mempool(one)).toEqual([]);
    expect((await one.rpc<{ confirmations: number }>("gettransaction", paid)).confirmations).toBe(-3);
    await one.disconnect(other);
    expect([await one.rpc("getconnectioncount"), await other.rpc("getconnectioncount")]).toEqual([0, 0]);
  });

  it("come back from a kill and a cut", async () => {
    await other.flush();
    await one.mine(2);
    await other.kill();
    await other.restart();
    await one.connect(other);
    expect(await other.tip()).toBe(await one.tip());
  });
});

describe("the Bitcoin node's origin", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-apt-"));
  const sweep = () => rmSync(folder, { recursive: true, force: true });
  const forget = atExit(sweep);
  afterAll(() => {
    forget();
    sweep();
  });

  const aptWith = (files: Readonly<Record<string, string>>) => {
    const apt = mkdtempSync(join(folder, "etc-"));
    mkdirSync(join(apt, "sources.list.d"));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(apt, name), text);
    return apt;
  };

  it("is the machine's own Debian mirror, with its keys, in either form", () => {
    const oneLine = `# deb http://commented.example/debian trixie main
deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian/ trixie main contrib # ours
deb https://mirror.example/debian trixie-updates non-free
deb-src https://source.example/debian trixie main
deb http://security.example/debian-security trixie-security main
deb https://tools.example/node nodistro main
`;
    const stanzas = `# Ours
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
# in between
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
Enabled: no

Types: deb
URIs: http://security.example/debian-security
Suites: bookworm-security
Components: main
`;
    const apt = aptWith({
      "sources.list": oneLine,
      "sources.list.d/debian.sources": stanzas,
      "sources.list.d/old.list.save": "deb http://old.example/debian trixie main\n",
    });
    expect(sidSources(apt)).toEqual([
      { name: "sid.list", text: "deb [arch=amd64 signed-by=/k.gpg] https://mirror.example/debian/ sid main\n" },
      {
        name: "sid.sources",
        text: `Types: deb
Suites: sid
Components: main
URIs: http://mirror.example/debian
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
`,
      },
    ]);
    expect(sidSources(aptWith({ "sources.list": "deb http://archive.example/ubuntu noble main\n" }))).toEqual([]);
    expect(sidSources(join(folder, "nothing"))).toEqual([]);
  });

  it("is said to be missing when there is no mirror, or none that answers", async () => {
    const environment = { SLUICE_BITCOIND_CACHE: join(folder, "cache") };
    const nowhere = await findBitcoind({ environment, say: () => undefined, apt: join(folder, "nothing") });
    const refusing = await findBitcoind({
      environment,
      say: () => undefined,
      apt: aptWith({ "sources.list": "deb [trusted=yes] http://127.0.0.1:1/debian trixie main\n" }),
    });
    for (const found of [nowhere, refusing]) expect(found).toEqual({ missing: expect.any(String) });
    if (process.platform === "linux")
      expect(nowhere).toMatchObject({ missing: expect.stringContaining("no Debian mirror") });
    expect(await findBitcoind({ environment: bitcoindEnvironment({ missing: "it rained" }) })).toEqual({
      missing: "it rained",
    });
  });

  it("may be named, and then must start", async () => {
    await expect(findBitcoind({ environment: { SLUICE_BITCOIND: "/bin/true" } })).rejects.toThrow(
      /SLUICE_BITCOIND names \/bin\/true, which does not start/,
    );
  });
});
