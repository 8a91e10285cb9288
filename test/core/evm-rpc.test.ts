/** The JSON-RPC client: batches by id, one deadline, a capped body, no redirect, no secret in any message. */

import { afterEach, describe, expect, it } from "vitest";
import { RpcClient } from "../../src/chains/rpc/client.ts";
import { FakeChain, FakeNode, RpcRefusal, type RpcRequest } from "../support/fake-rpc.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function overHttp(fake: FakeNode, timeoutMs = 5_000): Promise<RpcClient> {
  const server = await fake.listen();
  open.push(server);
  return new RpcClient({ url: server.url, fetch, timeoutMs });
}

function fakeNode(): FakeNode {
  return new FakeNode(new FakeChain()).on("echo", ([value]) => value);
}

const echo = (value: unknown) => ({ method: "echo", params: [value] });
const echoes = (count: number) => Array.from({ length: count }, (_, i) => echo(i));

function results(answers: readonly { ok: boolean }[]): unknown[] {
  return answers.map((answer) => ("result" in answer ? answer.result : "failed"));
}

function sizes(fake: FakeNode): number[] {
  return fake.bodies.map((body) => (Array.isArray(body) ? body.length : 1));
}

describe("batches", () => {
  it("B34 matches answers by id, asks again singly for the missing and the failed", async () => {
    const fake = fakeNode();
    fake.raw = (body) => {
      if (!Array.isArray(body)) return null;
      const [one, two, three] = body as RpcRequest[];
      return Response.json([
        { jsonrpc: "2.0", id: one?.id, result: "first" },
        { jsonrpc: "2.0", id: three?.id, error: { code: -32000, message: "try again" } },
        { jsonrpc: "2.0", id: two?.id, result: "second" },
        { jsonrpc: "2.0", id: 999, result: "of nobody" },
      ]);
    };
    const rpc = await overHttp(fake);
    const { answers } = await rpc.batch(["a", "b", "c", "d"].map(echo));
    expect(results(answers)).toEqual(["first", "second", "c", "d"]);
    expect(sizes(fake)).toEqual([4, 1, 1]);
  });

  it("B34 never takes one answer for another when an id comes twice or not at all", async () => {
    const fake = fakeNode();
    fake.raw = (body) =>
      Array.isArray(body)
        ? Response.json(
            body.flatMap(({ id }: RpcRequest) => [0, 1].map((n) => ({ jsonrpc: "2.0", id, result: `copy ${n}` }))),
          )
        : Response.json({ jsonrpc: "2.0", id: 12_345, result: "somebody else's" });
    const rpc = await overHttp(fake);
    const { answers } = await rpc.batch(echoes(2));
    expect(answers.every((answer) => !answer.ok && answer.failure.kind === "malformed")).toBe(true);
  });

  it("asks a failed item again once, not for ever", async () => {
    const fake = fakeNode().on("echo", () => {
      throw new RpcRefusal(-32000, "no luck");
    });
    const rpc = await overHttp(fake);
    const { answers } = await rpc.batch(echoes(3));
    expect(answers.every((answer) => !answer.ok && answer.failure.message === "no luck")).toBe(true);
    expect(sizes(fake)).toEqual([3, 1, 1, 1]);
  });

  it.each([
    [
      "a single error object",
      () => Response.json({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "batch is too long" } }),
    ],
    ["HTTP 413", () => new Response("too large", { status: 413 })],
    [
      "HTTP 400 with a JSON-RPC error",
      () => Response.json({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "no" } }, { status: 400 }),
    ],
    ["something that is no array", () => Response.json({ result: [] })],
  ])("halves a batch refused by %s, and remembers the size", async (_, refusal) => {
    const fake = fakeNode();
    fake.raw = (body) => (Array.isArray(body) && body.length > 3 ? refusal() : null);
    const rpc = await overHttp(fake);
    expect(results((await rpc.batch(echoes(10))).answers)).toEqual(echoes(10).map(({ params }) => params[0]));
    const before = fake.bodies.length;
    expect(results((await rpc.batch(echoes(6))).answers)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(
      sizes(fake)
        .slice(before)
        .every((size) => size <= 3),
    ).toBe(true);
  });

  it("works with a provider that takes no batch at all", async () => {
    const fake = fakeNode();
    fake.raw = (body) =>
      Array.isArray(body) ? Response.json({ error: { code: -32600, message: "no batches" } }) : null;
    const rpc = await overHttp(fake);
    expect(results((await rpc.batch(echoes(9))).answers)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(results((await rpc.together(echoes(3))).answers)).toEqual([0, 1, 2]);
  });

  it("learns from calls that belong together that a provider takes no batches, not from a call that is too heavy", async () => {
    const refusal = () => new Response("too much", { status: 413 });
    const batchless = fakeNode();
    batchless.raw = (body) => (Array.isArray(body) ? refusal() : null);
    const one = await overHttp(batchless);
    for (let i = 0; i < 2; i++) expect(results((await one.together(echoes(3))).answers)).toEqual([0, 1, 2]);
    expect(sizes(batchless)).toEqual([3, 1, 1, 1, 1, 1, 1]);

    const touchy = fakeNode();
    touchy.raw = (body) => (JSON.stringify(body).includes("heavy") ? refusal() : null);
    const other = await overHttp(touchy);
    expect(results((await other.together([echo("heavy"), echo(1)])).answers)).toEqual(["failed", 1]);
    expect(results((await other.batch(echoes(5))).answers)).toEqual([0, 1, 2, 3, 4]);
    expect(sizes(touchy)).toEqual([2, 1, 1, 5]);
  });

  it("does not hammer a provider that is out of order", async () => {
    for (const broken of [
      () => Response.json({ jsonrpc: "2.0", id: null, error: { code: -32603, message: "internal error" } }),
      () => new Response("bad gateway", { status: 502 }),
      () => new Response("slow down", { status: 429 }),
      () => Response.json({ jsonrpc: "2.0", id: null, error: { code: 429, message: "rate limit" } }),
      () => new Response("<html>"),
    ]) {
      const fake = fakeNode();
      fake.raw = broken;
      const rpc = await overHttp(fake);
      const { answers } = await rpc.batch(echoes(100));
      expect(answers.filter((answer) => answer.ok)).toEqual([]);
      expect(answers).toHaveLength(100);
      expect(fake.bodies.length).toBeLessThanOrEqual(8);
    }
  });

  it("sends what is asked for in one turn in one request, each asker with its own answers and its own second try", async () => {
    const fake = fakeNode().on("broken", () => {
      throw new RpcRefusal(-32000, "try again");
    });
    const rpc = await overHttp(fake);
    const [many, one, later] = await rpc.joined(async () => {
      const many = rpc.batch([echo(1), { method: "broken", params: [] }]);
      const one = rpc.call("broken", []);
      await Promise.resolve();
      const later = rpc.batch(echoes(2));
      return [await many, await one, await later] as const;
    });
    expect(results(many.answers)).toEqual([1, "failed"]);
    expect(results(later.answers)).toEqual([0, 1]);
    expect(one.ok).toBe(false);
    // A batch of its own would have asked once more for what failed in it, a single call would not.
    expect(sizes(fake).sort()).toEqual([1, 2, 3]);
    await expect(rpc.joined(() => Promise.reject(new Error("broke off")))).rejects.toThrow("broke off");
    expect(results([await rpc.call("echo", [7])])).toEqual([7]);
  });

  it("sends at most 250 calls in one request, and five requests at a time", async () => {
    const fake = fakeNode();
    let open = 0;
    let most = 0;
    fake.raw = async (body) => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setTimeout(resolve, 20));
      open -= 1;
      return Response.json((body as RpcRequest[]).map((call) => fake.answer(call)));
    };
    const rpc = await overHttp(fake);
    const { answers } = await rpc.batch(echoes(1_450));
    expect(results(answers)).toEqual(echoes(1_450).map(({ params }) => params[0]));
    expect(Math.max(...sizes(fake))).toBe(250);
    expect(most).toBe(5);
  });
});

describe("one request", () => {
  it("gives up at its deadline, also while the body is coming", async () => {
    const fake = fakeNode();
    fake.raw = (body) => {
      if ((body as RpcRequest).params[0] === "never") return new Promise<Response>(() => {});
      const drip = new ReadableStream<Uint8Array>({
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, 20));
          controller.enqueue(new TextEncoder().encode(" "));
        },
      });
      return new Response(drip);
    };
    const rpc = await overHttp(fake, 150);
    for (const kind of ["never", "drip"]) {
      expect(await rpc.call("echo", [kind])).toMatchObject({ ok: false, failure: { kind: "deadline" } });
    }
  });

  it("counts no time spent waiting for a slot", async () => {
    const fake = fakeNode();
    fake.raw = async (body) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return Response.json(fake.answer(body as RpcRequest));
    };
    const rpc = new RpcClient({ url: "http://node.test", fetch: fake.fetch, timeoutMs: 550 });
    // 30 requests of 100 ms through five slots take longer than one deadline; none of them is late.
    const slow = await Promise.all(Array.from({ length: 30 }, (_, i) => rpc.call("echo", [i])));
    expect(results(slow)).toEqual(slow.map((_, i) => i));
  });

  it("gives up at its deadline also when fetch does not heed the signal", async () => {
    const rpc = new RpcClient({ url: "http://node.test", fetch: () => new Promise<Response>(() => {}), timeoutMs: 30 });
    expect(await rpc.call("echo", [])).toMatchObject({ ok: false, failure: { kind: "deadline" } });
  });

  it("stops reading past 32 MiB and cancels the rest", async () => {
    let cancelled = false;
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(1024 * 1024).fill(32));
      },
      cancel() {
        cancelled = true;
      },
    });
    const rpc = new RpcClient({ url: "http://node.test", fetch: async () => new Response(endless), timeoutMs: 5_000 });
    expect(await rpc.call("echo", [])).toMatchObject({ ok: false, failure: { kind: "too_large" } });
    expect(cancelled).toBe(true);
    expect(sent).toBeLessThan(40);
  });

  it("follows no redirect, and sends nothing to its target", async () => {
    const elsewhere = fakeNode();
    const target = await elsewhere.listen();
    open.push(target);
    const fake = fakeNode();
    for (const status of [301, 302, 307, 308]) {
      fake.raw = () => new Response(null, { status, headers: { location: target.url } });
      const rpc = await overHttp(fake);
      expect(await rpc.call("echo", [1])).toMatchObject({ ok: false, failure: { kind: "redirect", code: status } });
    }
    expect(elsewhere.bodies).toEqual([]);
  });

  it("calls fetch as a bare function, as a Worker's fetch demands", async () => {
    const settings = {
      url: "http://node.test",
      timeoutMs: 1_000,
      fetch: function (this: unknown) {
        if (this !== undefined) throw new TypeError("Illegal invocation");
        return Promise.resolve(Response.json({ jsonrpc: "2.0", id: 1, result: 7 }));
      } as typeof fetch,
    };
    expect(await new RpcClient(settings).call("echo", [])).toEqual({ ok: true, result: 7 });
  });

  it("names what is unreachable, malformed or refused", async () => {
    const gone = new RpcClient({ url: "http://127.0.0.1:1", fetch, timeoutMs: 1_000 });
    expect(await gone.call("echo", [])).toMatchObject({ ok: false, failure: { kind: "unreachable" } });
    const fake = fakeNode();
    const rpc = await overHttp(fake);
    for (const [response, kind] of [
      [new Response("<html>not json"), "malformed"],
      [new Response(new Uint8Array([0x22, 0xc3, 0x28, 0x22])), "malformed"],
      [Response.json({ jsonrpc: "2.0", id: 1 }), "malformed"],
      [Response.json({ jsonrpc: "2.0", id: 7_777, result: 1 }), "malformed"],
      [new Response("no", { status: 401 }), "status"],
      [Response.json({ error: { code: -32005, message: "limit" } }, { status: 429 }), "rpc"],
    ] as const) {
      fake.raw = () => response;
      expect(await rpc.call("echo", [])).toMatchObject({ ok: false, failure: { kind } });
    }
  });
});

describe("secrets of the URL", () => {
  const url = "https://user:pass%40word@rpc.example.com:8443/v3/0123456789abcdef?apikey=topsecret99";

  it("never shows more than the host", async () => {
    for (const leak of [
      async () => {
        throw new TypeError(`Failed to fetch ${url}`, { cause: new Error(`connect ${url}`) });
      },
      async () => new Response(`unknown key topsecret99 at /v3/0123456789abcdef, user user:pass@word`, { status: 403 }),
      async () =>
        Response.json({ jsonrpc: "2.0", id: 1, error: { code: -32000, message: `project 0123456789abcdef ${url}` } }),
      async () => Response.json({ jsonrpc: "2.0", id: "topsecret99", result: 1 }),
    ]) {
      const rpc = new RpcClient({ url, fetch: leak, timeoutMs: 1_000 });
      const answer = await rpc.call("eth_chainId", []);
      if (answer.ok) throw new Error("the call should fail");
      const fault = rpc.fault("chain id", answer.failure);
      const text = [rpc.name, fault.message, fault.node, JSON.stringify(answer), String(fault.cause)].join(" ");
      for (const secret of ["0123456789abcdef", "topsecret99", "pass@word", "pass%40word"])
        expect(text).not.toContain(secret);
      expect(rpc.name).toBe("rpc.example.com:8443");
    }
  });

  it("sends credentials as a header, since fetch refuses them in a URL", async () => {
    const seen: [string, string | null][] = [];
    const rpc = new RpcClient({
      url,
      fetch: async (input, init) => {
        seen.push([String(input), new Headers(init?.headers).get("authorization")]);
        return Response.json({ jsonrpc: "2.0", id: 1, result: 1 });
      },
      timeoutMs: 1_000,
    });
    await rpc.call("echo", []);
    expect(seen).toEqual([
      ["https://rpc.example.com:8443/v3/0123456789abcdef?apikey=topsecret99", `Basic ${btoa("user:pass@word")}`],
    ]);
  });

  it("refuses what is no http URL without showing it", () => {
    const make = (bad: string) => () => new RpcClient({ url: bad, fetch, timeoutMs: 1 });
    expect(make("nonsense topsecret99")).toThrow(/could not be parsed/);
    expect(make("nonsense topsecret99")).not.toThrow(/topsecret99/);
    expect(make("ftp://host/topsecret99")).toThrow(/http or https/);
    expect(make("ftp://host/topsecret99")).not.toThrow(/topsecret99/);
  });
});
