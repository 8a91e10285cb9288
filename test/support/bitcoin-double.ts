/**
 * A node that shows a chain in memory over Core's JSON-RPC, in place of fetch, with whatever faults a test sets on it.
 * Answers, codes and texts are those of Core 29; a test compares them with a real node's.
 *
 *   const node = new BitcoinNodeDouble(chain);
 *   serveNodes({ "http://node.test": node });  in workerd; elsewhere hand over node.fetch
 *   node.chain = chain.fork();                 a node cut off; node.chain.join(chain) afterwards
 *   node.lag = 2; node.down = true; node.warmingUp = "Loading block index…"; node.facts.estimate = 12_000n;
 *   node.on("getblock", (params, honest) => ...);  a fault by method; throw CoreError(code, text) for an error
 *   node.next("sendrawtransaction", 1, () => { throw new CoreError(-26, "dust"); });
 *   node.loseAnswers("sendrawtransaction");    done, and never answered
 *   node.turnAway("sendrawtransaction", 503);  not done
 *   const gate = node.hold("getblock"); await gate.reached(); gate.open();
 *   node.hide(txid); node.alter(txid, vout, satoshi);  lies, everywhere but in raw bytes: those cannot lie unseen
 */

import { answer, CoreError, MODERN, type NodeFacts } from "./bitcoin-answers.ts";
import type { BitcoinChain } from "./bitcoin-chain.ts";
import { Btc, type Json, writeJson } from "./bitcoin-json.ts";
import { parseTx } from "./bitcoin-tx.ts";
import { type Fault, Gate } from "./model-chain.ts";
import type { HttpFault } from "./wallet-chain.ts";

export { Btc, CoreError, Gate };

interface Call {
  readonly jsonrpc?: string;
  readonly id?: unknown;
  readonly method: string;
  readonly params?: readonly unknown[];
}

const WARMING_UP = -28;
const METHOD_NOT_FOUND = -32601;
const QUEUE_FULL = "Work queue depth exceeded";

export class BitcoinNodeDouble {
  chain: BitcoinChain;
  /** Blocks at the top that this node does not have yet. */
  lag = 0;
  /** No answer at all. */
  down = false;
  /** What it is still busy with; every call ends in -28. */
  warmingUp: string | null = null;
  /** `user:password`; others get 401. Null: everybody is let in. */
  credentials: string | null = null;
  http: HttpFault | null = null;
  /** Methods asked for, in order. */
  readonly asked: string[] = [];
  /** What came to `sendrawtransaction`, in order, taken or not. */
  readonly sent: string[] = [];
  readonly facts: NodeFacts = {
    initialBlockDownload: false,
    txindex: false,
    estimate: null,
    version: 290_403,
    subversion: "/Satoshi:29.4.3/",
    uptimeS: 86_400,
    poolLoaded: true,
  };
  readonly #faults = new Map<string, Fault>();
  readonly #hidden = new Set<string>();
  readonly #altered = new Map<string, bigint>();
  #held: { readonly method: string; readonly gate: Gate; readonly when: "before" | "after" } | null = null;
  #late: { readonly key: string; readonly chain: BitcoinChain } | null = null;

  constructor(chain: BitcoinChain) {
    this.chain = chain;
  }

  /** Answers a method otherwise; a thrown `CoreError` is answered as one. Null: honestly again. */
  on(method: string, fault: Fault | null): void {
    if (fault === null) this.#faults.delete(method);
    else this.#faults.set(method, fault);
  }

  /** Answers a method otherwise for the next `times` calls. */
  next(method: string, times: number, fault: Fault): void {
    let left = times;
    this.on(method, (params, honest) => (left-- > 0 ? fault(params, honest) : honest()));
  }

  /** Keeps back every request with this method until the gate is opened: it is done only then, or, `after`, before. */
  hold(method: string, when: "before" | "after" = "before"): Gate {
    this.#held = { method, gate: new Gate(), when };
    return this.#held.gate;
  }

  /** Does what the next `times` requests with this method ask, and their answers never arrive. */
  loseAnswers(method: string, times = 1): void {
    this.#nextHttp(method, times, async (honest) => {
      await honest();
      throw new TypeError("fetch failed");
    });
  }

  /** Turns the next `times` requests with this method away before they do anything. 503: its queue is full. */
  turnAway(method: string, status: number, times = 1): void {
    this.#nextHttp(method, times, async () => new Response(status === 503 ? QUEUE_FULL : "", { status }));
  }

  /** Leaves a transaction out of blocks and pool, as if it were not there. */
  hide(txid: string): void {
    this.#hidden.add(txid);
  }

  /** Says that an output holds another amount. */
  alter(txid: string, vout: number, satoshi: bigint): void {
    this.#altered.set(`${txid}:${vout}`, satoshi);
  }

  honestAgain(): void {
    this.#hidden.clear();
    this.#altered.clear();
    this.#faults.clear();
    this.http = null;
  }

  /** In place of the global one. */
  readonly fetch: typeof fetch = async (_input: unknown, init?: RequestInit) => {
    if (this.down) throw new TypeError("fetch failed");
    return this.answer(String(init?.body), init?.headers);
  };

  async answer(body: string, headers?: HeadersInit): Promise<Response> {
    const calls = [JSON.parse(body)].flat() as Call[];
    for (const { method, params } of calls) {
      this.asked.push(method);
      if (method === "sendrawtransaction") this.sent.push(String(params?.[0]));
    }
    const held = this.#held !== null && calls.some(({ method }) => method === this.#held?.method) ? this.#held : null;
    if (held?.when === "before") await held.gate.pass();
    if (this.credentials !== null && new Headers(headers).get("authorization") !== `Basic ${btoa(this.credentials)}`)
      return new Response("", { status: 401, headers: { "www-authenticate": 'Basic realm="jsonrpc"' } });
    const methods = calls.map(({ method }) => method);
    const honest = async () => this.respond(body);
    const response = await (this.http === null ? honest() : this.http(methods, honest));
    if (held?.when === "after") await held.gate.pass();
    return response;
  }

  respond(body: string): Response {
    const calls = JSON.parse(body) as Call | Call[];
    if (Array.isArray(calls))
      return json(
        200,
        calls.map((call) => this.#answer(call).body),
      );
    const { status, body: answered } = this.#answer(calls);
    return json(status, answered);
  }

  /** Before version 28 of Core, and since then to whoever does not say 2.0, an error is an HTTP error too. */
  #answer({ jsonrpc, id, method, params = [] }: Call): { readonly status: number; readonly body: Json } {
    const isModern = jsonrpc === "2.0" && this.facts.version >= MODERN;
    const form = isModern ? { jsonrpc: "2.0" } : {};
    try {
      if (this.warmingUp !== null) throw new CoreError(WARMING_UP, this.warmingUp);
      const honest = () => this.#lie(method, params, this.honest(method, params));
      const fault = this.#faults.get(method);
      const result = fault === undefined ? honest() : fault(params, honest);
      return { status: 200, body: { ...form, result, ...(isModern ? {} : { error: null }), id } };
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      const { code, message } = error;
      const status = isModern ? 200 : code === METHOD_NOT_FOUND ? 404 : 500;
      return { status, body: { ...form, ...(isModern ? {} : { result: null }), error: { code, message }, id } };
    }
  }

  /** What it would honestly say. @throws CoreError */
  honest(method: string, params: readonly unknown[]): unknown {
    const answered = answer(this.#shown(), this.facts, method, params);
    if (this.lag > 0 && method === "sendrawtransaction") this.chain.offer(parseTx(String(params[0])));
    return answered;
  }

  #shown(): BitcoinChain {
    if (this.lag === 0) return this.chain;
    const key = `${this.lag}/${this.chain.tip.hash}/${this.chain.version}`;
    if (this.#late?.key !== key) this.#late = { key, chain: this.chain.fork(this.lag) };
    return this.#late.chain;
  }

  #lie(method: string, params: readonly unknown[], answered: unknown): unknown {
    if (this.#hidden.size === 0 && this.#altered.size === 0) return answered;
    if (this.#hidden.has(String(params[0])) && method === "gettxout") return null;
    if (this.#hidden.has(String(params[0])) && method === "getmempoolentry")
      throw new CoreError(-5, "Transaction not in mempool");
    if (this.#hidden.has(String(params[0])) && method === "getrawtransaction")
      throw new CoreError(-5, "No such mempool transaction. Use gettransaction for wallet transactions.");
    const changed = this.#changed(answered);
    if (method !== "gettxout" || changed === null) return changed;
    const satoshi = this.#altered.get(`${params[0]}:${params[1]}`);
    return satoshi === undefined ? changed : { ...(changed as Json), value: new Btc(satoshi) };
  }

  #changed(value: unknown): unknown {
    if (Array.isArray(value))
      return value
        .filter((item) => !this.#hidden.has(String((item as Json | null)?.txid ?? item)))
        .map((item) => this.#changed(item));
    if (typeof value !== "object" || value === null || value instanceof Btc) return value;
    const shown = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#changed(item)]));
    if (!Array.isArray(shown.vout)) return shown;
    const vout = shown.vout.map((output: Json) => {
      const satoshi = this.#altered.get(`${shown.txid}:${output.n}`);
      return satoshi === undefined ? output : { ...output, value: new Btc(satoshi) };
    });
    return { ...shown, vout };
  }

  #nextHttp(method: string, times: number, fault: (honest: () => Promise<Response>) => Promise<Response>): void {
    let left = times;
    this.http = async (methods, honest) => (methods.includes(method) && left-- > 0 ? fault(honest) : honest());
  }
}

function json(status: number, body: unknown): Response {
  return new Response(writeJson(body), { status, headers: { "content-type": "application/json" } });
}
