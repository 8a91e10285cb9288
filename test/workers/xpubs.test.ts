/** Extended public keys in workerd: registered once, and each address below them handed out once, whatever happens. */

import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MAX_INDEX } from "../../src/core/derived-address.ts";
import type { AddressView, XpubView } from "../../src/core/views.ts";
import { ChainScanner } from "../../src/index.ts";
import { claimIndex, type IndexClaim } from "../../src/store/d1/xpub-indexes.ts";
import { MerchantWallet } from "../support/derivation.ts";
import { pay } from "../support/model-chain.ts";
import { checkBooks, DB, Merchant, mineAndPoll, node, quiet, startLine } from "./line.ts";

let merchant: Merchant;
let wallet: MerchantWallet;
let wallets = 0;
beforeEach(async () => {
  await startLine();
  merchant = await Merchant.signUp();
  wallet = new MerchantWallet(`wallet ${++wallets}`);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const codeOf = async (response: Response) => `${response.status} ${((await response.json()) as { code: string }).code}`;

async function register(who: Merchant, more: object = {}): Promise<XpubView> {
  const response = await who.call("POST", "/v1/xpubs", { body: { network: "local", xpub: wallet.xpub, ...more } });
  if (!response.ok) throw new Error(`register: ${response.status} ${await response.text()}`);
  return response.json();
}

function ask(who: Merchant, xpub: XpubView, more: { key?: string; account?: string } = {}): Promise<Response> {
  const { key, ...details } = more;
  const headers: Record<string, string> = key === undefined ? {} : { "Idempotency-Key": key };
  return who.call("POST", "/v1/addresses", { body: { network: "local", xpub_id: xpub.id, ...details }, headers });
}

async function derive(who: Merchant, xpub: XpubView, more: Parameters<typeof ask>[2] = {}): Promise<AddressView> {
  const response = await ask(who, xpub, more);
  if (!response.ok) throw new Error(`derive: ${response.status} ${await response.text()}`);
  return response.json();
}

const indexOf = ({ derivation_path: path }: AddressView) => Number(path?.slice("0/".length));

/** The object as it was before it derived anything, or heard of some addresses at all. */
function restoreOlder(who: Merchant): Promise<void> {
  return who.inside((_, sql) => {
    sql.exec("DELETE FROM idempotency");
    sql.exec("DELETE FROM addresses");
    sql.exec("UPDATE xpubs SET next_index = 0");
  });
}

describe("registering a key", () => {
  it("says what the wallet will show, and only the ends of the key", async () => {
    const made = await register(merchant, { label: "shop" });
    expect(made).toEqual({
      id: made.id,
      network: "local",
      type: "evm",
      xpub: `${wallet.xpub.slice(0, 8)}...${wallet.xpub.slice(-8)}`,
      path: "m/44'/60'/0'",
      fingerprint: expect.stringMatching(/^[0-9a-f]{8}$/),
      label: "shop",
      next_index: 0,
      first_address: wallet.address(0),
      created_at: made.created_at,
    });
    expect(await merchant.get(`/v1/xpubs/${made.id}`)).toEqual(made);
    expect(await merchant.all("/v1/xpubs")).toEqual([made]);
  });

  it("once: again it is 200 and as it was; a repetition by key is marked, another request refused", async () => {
    const body = { network: "local", xpub: wallet.xpub };
    const headers = { "Idempotency-Key": "register" };
    const first = await merchant.call("POST", "/v1/xpubs", { body, headers });
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([201, null]);
    const replay = await merchant.call("POST", "/v1/xpubs", { body, headers });
    expect([replay.status, replay.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(await replay.json()).toEqual(await first.json());
    const other = { ...body, label: "another" };
    expect(await codeOf(await merchant.call("POST", "/v1/xpubs", { body: other, headers }))).toBe(
      "422 idempotency_key_reused",
    );
    const again = await merchant.call("POST", "/v1/xpubs", { body: { ...other, type: "evm" } });
    expect([again.status, ((await again.json()) as XpubView).label]).toEqual([200, null]);
  });

  it("a private key is refused without a trace of it, in answers, logs, the object and D1", async () => {
    const log: string[] = [];
    for (const method of ["warn", "error"] as const)
      vi.spyOn(console, method).mockImplementation((...args) => void log.push(args.join(" ")));
    const answers: string[] = [];
    for (const xpub of [wallet.xprv, wallet.xprv.slice(0, 60), ` ${wallet.xprv}`]) {
      const headers = { "Idempotency-Key": "private" };
      const response = await merchant.call("POST", "/v1/xpubs", { body: { network: "local", xpub }, headers });
      expect(response.status).toBe(422);
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({ code: "invalid_fields", errors: [{ path: "xpub" }] });
      answers.push(text);
    }
    const rows = await merchant.inside((_, sql) =>
      ["xpubs", "idempotency"].map((table) => sql.exec(`SELECT * FROM ${table}`).toArray()),
    );
    expect(rows).toEqual([[], []]);
    const everything = JSON.stringify([log, answers]);
    for (let at = 0; at + 10 <= wallet.xprv.length; at += 5) {
      expect(everything).not.toContain(wallet.xprv.slice(at, at + 10));
    }
  });

  it.each<[string, object, string]>([
    [
      "a key of Bitcoin's",
      {
        xpub: "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs",
      },
      "xpub",
    ],
    ["a type that the network has not", { type: "p2wpkh" }, "type"],
    ["an index beyond the last", { next_index: MAX_INDEX + 1 }, "next_index"],
  ])("%s is 422, with the field", async (_, more, path) => {
    const response = await merchant.call("POST", "/v1/xpubs", {
      body: { network: "local", xpub: wallet.xpub, ...more },
    });
    expect([response.status, ((await response.json()) as { errors: { path: string }[] }).errors[0]?.path]).toEqual([
      422,
      path,
    ]);
  });

  it("of another tenant is unknown, to read and to derive from", async () => {
    const theirs = await register(await Merchant.signUp());
    expect(await codeOf(await merchant.call("GET", `/v1/xpubs/${theirs.id}`))).toBe("404 not_found");
    expect(await codeOf(await ask(merchant, theirs))).toBe("422 invalid_fields");
  });
});

describe("deriving addresses", () => {
  it("one after the other, as the merchant's wallet has them; a payment is the order's", async () => {
    const xpub = await register(merchant);
    const made = [];
    for (const account of ["order-1", "order-2", "order-3"]) made.push(await derive(merchant, xpub, { account }));
    expect(made.map(({ address }) => address)).toEqual([0, 1, 2].map((index) => wallet.address(index)));
    expect(made.map((view) => [view.xpub_id, view.derivation_path])).toEqual(
      [0, 1, 2].map((index) => [xpub.id, `0/${index}`]),
    );
    expect((await merchant.get<XpubView>(`/v1/xpubs/${xpub.id}`)).next_index).toBe(3);
    expect(await merchant.get(`/v1/addresses/${made[1]?.id}`)).toEqual(made[1]);
    await mineAndPoll([pay(wallet.address(1), 5n)], [], [], []);
    expect(await merchant.deposit()).toMatchObject({ account: "order-2", amount_units: "5", status: "confirmed" });
    await checkBooks(merchant);
  });

  it("fifty at once, with keys and without, are fifty; the same keys again are the same ones", async () => {
    const xpub = await register(merchant);
    const keyed = Array.from({ length: 25 }, (_, i) => ({ key: `order-${i}`, account: `c-${i}` }));
    const wanted = [...keyed, ...keyed, ...Array.from({ length: 25 }, () => ({}))];
    const made = await Promise.all(wanted.map((one) => derive(merchant, xpub, one)));
    expect(made.slice(25, 50).map(({ id }) => id)).toEqual(made.slice(0, 25).map(({ id }) => id));
    const distinct = [...made.slice(0, 25), ...made.slice(50)];
    expect(new Set(distinct.map(({ address }) => address)).size).toBe(50);
    expect(distinct.map(indexOf).sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    for (const view of made) expect(view.address).toBe(wallet.address(indexOf(view)));
    expect(made.slice(0, 25).map(({ account }) => account)).toEqual(keyed.map(({ account }) => account));
  });

  it("a repetition by key is marked; another request with it is refused, of either kind", async () => {
    const xpub = await register(merchant);
    const first = await ask(merchant, xpub, { key: "k" });
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([201, null]);
    const replay = await ask(merchant, xpub, { key: "k" });
    expect([replay.status, replay.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(await replay.json()).toEqual(await first.json());
    expect(await codeOf(await ask(merchant, xpub, { key: "k", account: "b" }))).toBe("422 idempotency_key_reused");
    const byHand = { body: { network: "local", address: wallet.address(9) }, headers: { "Idempotency-Key": "k" } };
    expect(await codeOf(await merchant.call("POST", "/v1/addresses", byHand))).toBe("422 idempotency_key_reused");
    expect(indexOf(await derive(merchant, xpub))).toBe(1);
  });

  it("one that was deleted is never given again, and its key gives no other one", async () => {
    const xpub = await register(merchant);
    const { id } = await derive(merchant, xpub, { key: "k" });
    expect((await merchant.call("DELETE", `/v1/addresses/${id}`)).status).toBe(204);
    expect(await codeOf(await ask(merchant, xpub, { key: "k" }))).toBe("409 state_conflict");
    expect(indexOf(await derive(merchant, xpub))).toBe(1);
  });

  it("what a customer was given by hand is passed over, also after it was deleted, and so is another tenant's", async () => {
    const xpub = await register(merchant);
    await merchant.watch(wallet.address(0), { account: "by hand" });
    const { id } = await merchant.watch(wallet.address(1), { account: "by hand" });
    await merchant.call("DELETE", `/v1/addresses/${id}`);
    await (await Merchant.signUp()).watch(wallet.address(2));
    expect(indexOf(await derive(merchant, xpub, { key: "k" }))).toBe(3);
    expect(indexOf(await derive(merchant, xpub))).toBe(4);
    await restoreOlder(merchant);
    expect(indexOf(await derive(merchant, xpub, { key: "k" }))).toBe(3);
  });

  it("a derived one that is watched by hand is the same watch", async () => {
    const xpub = await register(merchant);
    const derived = await derive(merchant, xpub, { account: "order-1" });
    const body = { network: "local", address: derived.address, account: "order-2" };
    const again = await merchant.call("POST", "/v1/addresses", { body });
    expect([again.status, await again.json()]).toEqual([200, derived]);
  });

  it("begins at next_index, and ends at the last index there is", async () => {
    const xpub = await register(merchant, { next_index: MAX_INDEX - 1 });
    expect([indexOf(await derive(merchant, xpub)), indexOf(await derive(merchant, xpub))]).toEqual([
      MAX_INDEX - 1,
      MAX_INDEX,
    ]);
    expect(await codeOf(await ask(merchant, xpub))).toBe("409 state_conflict");
  });

  it("needs one of the two, and no height with a key", async () => {
    const xpub = await register(merchant);
    for (const [body, path] of [
      [{}, "address"],
      [{ address: wallet.address(0), xpub_id: xpub.id }, "xpub_id"],
      [{ xpub_id: xpub.id, start_height: 0 }, "start_height"],
      [{ xpub_id: "xpub_1" }, "xpub_id"],
    ] as const) {
      const response = await merchant.call("POST", "/v1/addresses", { body: { network: "local", ...body } });
      const problem = (await response.json()) as { errors?: { path: string }[] };
      expect([response.status, problem.errors?.map((error) => error.path)]).toEqual([422, [path]]);
    }
    expect((await merchant.get<XpubView>(`/v1/xpubs/${xpub.id}`)).next_index).toBe(0);
  });
});

describe("exactly once, when something is away or lost", () => {
  it("two tenants with one key share its indexes, and no address", async () => {
    const other = await Merchant.signUp();
    const [mine, theirs] = [await register(merchant), await register(other, { next_index: 2 })];
    expect(mine.id).not.toBe(theirs.id);
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? derive(merchant, mine) : derive(other, theirs))),
    );
    expect(new Set(made.map(({ address }) => address)).size).toBe(20);
    expect(Math.max(...made.map(indexOf))).toBe(19);
  });

  it("an object restored from an older copy goes on behind what it gave out, and a key's address is the same", async () => {
    const xpub = await register(merchant);
    const before = [];
    for (const key of ["a", "b", undefined, "c"]) before.push(await derive(merchant, xpub, key ? { key } : {}));
    await restoreOlder(merchant);
    const again = await derive(merchant, xpub, { key: "b" });
    const fields = ({ id, address, derivation_path: path }: AddressView) => [id, address, path];
    expect(fields(again)).toEqual(fields(before[1] as AddressView));
    const fresh = [await derive(merchant, xpub), await derive(merchant, xpub, { key: "d" })];
    expect(fresh.map(indexOf)).toEqual([4, 5]);
    expect(fields(await derive(merchant, xpub, { key: "c" }))).toEqual(fields(before[3] as AddressView));
  });

  it("an older copy that knows nothing of an address that was given by hand passes it over", async () => {
    const xpub = await register(merchant);
    await merchant.watch(wallet.address(0), { account: "by hand" });
    await restoreOlder(merchant);
    expect(indexOf(await derive(merchant, xpub))).toBe(1);
  });

  it("with D1 away nothing is given and nothing used up", async () => {
    quiet("warn", "error");
    const xpub = await register(merchant);
    const away = vi.spyOn(Object.getPrototypeOf(DB), "batch").mockRejectedValue(new Error("away"));
    for (let i = 0; i < 3; i++) expect(await codeOf(await ask(merchant, xpub))).toBe("503 store_unavailable");
    away.mockRestore();
    expect(indexOf(await derive(merchant, xpub))).toBe(0);
  });

  it("with every node away, on a network that nobody watches, neither: a wallet looks only 20 addresses ahead", async () => {
    quiet("warn", "error");
    const xpub = await register(merchant);
    node.down = true;
    for (let i = 0; i < 25; i++)
      expect(await codeOf(await ask(merchant, xpub, { key: `${i}` }))).toBe("503 chain_unavailable");
    node.down = false;
    expect(indexOf(await derive(merchant, xpub, { key: "25" }))).toBe(0);
  });

  it("a claim whose answer is lost: the same key gets its index, and without a key it is passed over", async () => {
    quiet("warn", "error");
    const xpub = await register(merchant);
    const prototype = Object.getPrototypeOf(DB) as D1Database;
    const honest = prototype.batch;
    const loseNext = () =>
      vi.spyOn(prototype, "batch").mockImplementationOnce(async function (this: D1Database, list) {
        await honest.call(this, list);
        throw new Error("D1_ERROR: Network connection lost.");
      });
    loseNext();
    expect(await codeOf(await ask(merchant, xpub, { key: "k" }))).toBe("503 store_unavailable");
    expect(indexOf(await derive(merchant, xpub))).toBe(1);
    expect(indexOf(await derive(merchant, xpub, { key: "k" }))).toBe(0);
    loseNext();
    expect(await codeOf(await ask(merchant, xpub))).toBe("503 store_unavailable");
    expect(indexOf(await derive(merchant, xpub))).toBe(3);
  });

  it("a watch that was not taken: nobody sees the address, nobody takes it by hand, its key completes it", async () => {
    quiet("warn", "error");
    const xpub = await register(merchant);
    vi.spyOn(ChainScanner.prototype, "watch").mockRejectedValueOnce(new Error("Network connection lost."));
    expect((await ask(merchant, xpub, { key: "k", account: "order-1" })).status).toBe(503);
    expect(await merchant.all("/v1/addresses")).toEqual([]);
    const body = { network: "local", address: wallet.address(0), account: "order-2" };
    expect(await codeOf(await merchant.call("POST", "/v1/addresses", { body }))).toBe("409 state_conflict");
    expect(indexOf(await derive(merchant, xpub))).toBe(1);
    const completed = await derive(merchant, xpub, { key: "k", account: "order-1" });
    expect([indexOf(completed), completed.account]).toEqual([0, "order-1"]);
  });

  it("never twice, whatever is asked, deleted, given by hand, lost or restored, in any order", async () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ kind: fc.constant("derive" as const), who: fc.nat(1), key: fc.nat(4) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("without a key" as const), who: fc.nat(1) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("by hand" as const), who: fc.nat(1), index: fc.nat(8) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), who: fc.nat(1), at: fc.nat(20) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("restore" as const), who: fc.nat(1) }) },
    );
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        wallet = new MerchantWallet(`property ${++runs} of ${wallets}`);
        const tenants = [await Merchant.signUp(), await Merchant.signUp()] as const;
        const xpubs = [await register(tenants[0]), await register(tenants[1])] as const;
        /** Whom an address was given to first: tenant and request, or by hand. */
        const given = new Map<string, string>();
        const ids: string[][] = [[], []];
        let requests = 0;
        for (const one of steps) {
          const who = one.who as 0 | 1;
          const tenant = tenants[who];
          if (one.kind === "by hand") {
            const address = wallet.address(one.index);
            const { ok } = await tenant.call("POST", "/v1/addresses", { body: { network: "local", address } });
            if (ok && !given.has(address)) given.set(address, "by hand");
          } else if (one.kind === "delete") {
            const id = ids[who]?.[one.at % Math.max(1, ids[who]?.length ?? 0)];
            if (id !== undefined) await tenant.call("DELETE", `/v1/addresses/${id}`);
          } else if (one.kind === "restore") {
            await restoreOlder(tenant);
          } else {
            const name = one.kind === "derive" ? `key-${one.key}` : `request-${++requests}`;
            const response = await ask(tenant, xpubs[who], one.kind === "derive" ? { key: name } : {});
            if (response.status === 409) continue;
            expect(response.status, await response.clone().text()).toBeLessThan(300);
            const view = (await response.json()) as AddressView;
            expect(view.address).toBe(wallet.address(indexOf(view)));
            const receiver = `${who} ${name}`;
            expect(given.get(view.address) ?? receiver).toBe(receiver);
            given.set(view.address, receiver);
            ids[who]?.push(view.id);
          }
        }
      }),
      { numRuns: 12, seed: 20_251_201 },
    );
  });
});

describe("D1's indexes", () => {
  const claim = (more: Partial<IndexClaim>): IndexClaim => ({
    network: "n",
    keyHash: `h${wallets}`,
    from: 0,
    tenantId: "ten_a",
    addressId: "a",
    request: null,
    passedOver: null,
    now: 1,
    ...more,
  });
  const given = async (more: Partial<IndexClaim>) => {
    const claimed = await claimIndex(DB, claim(more));
    return claimed.kind === "own" ? claimed.index : claimed.kind;
  };

  it("the first that is free at or above what is asked, whoever has those below", async () => {
    expect([await given({ addressId: "1" }), await given({ addressId: "2", from: 1 })]).toEqual([0, 1]);
    expect(await given({ addressId: "3", from: 5, tenantId: "ten_b" })).toBe(5);
    expect([await given({ addressId: "4" }), await given({ addressId: "5", from: 5 })]).toEqual([2, 6]);
    expect([await given({ addressId: "6", network: "m" }), await given({ addressId: "7", keyHash: "other" })]).toEqual([
      0, 0,
    ]);
  });

  it("one address and one request have one, however often they ask", async () => {
    const first = await claimIndex(DB, claim({ addressId: "r1", request: "r" }));
    expect(first).toEqual({ kind: "own", index: 0, addressId: "r1" });
    expect(await claimIndex(DB, claim({ addressId: "r1", request: "r" }))).toEqual(first);
    expect(await claimIndex(DB, claim({ addressId: "r2", request: "r", from: 4 }))).toEqual(first);
    const next = { addressId: "r3", request: "r", from: 1, passedOver: 0 };
    expect(await given(next)).toBe(1);
    expect(await given(next)).toBe(1);
    expect(await given({ addressId: "r4", from: 0 })).toBe(2);
  });

  it("none is left after the last", async () => {
    expect(await given({ addressId: "l1", from: MAX_INDEX })).toBe(MAX_INDEX);
    expect(await given({ addressId: "l2", from: MAX_INDEX })).toBe("exhausted");
  });
});
