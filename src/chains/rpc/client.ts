/**
 * JSON-RPC 2.0 to one provider. Nothing is repeated behind the caller's back except a batch's missing or
 * failed items, each once and singly, and a batch that was refused as such, in halves.
 *
 * Answers belong to calls by id alone: the order of a batch's answers means nothing.
 */

import { ChainFault } from "../port.ts";
import { HttpExchange, type ProviderSettings } from "./http-exchange.ts";
import { Joining } from "./joining.ts";
import { chunked } from "./parallel.ts";
import { isRateLimit, isWorthAskingAgain, type RpcFailure, refusesBatch } from "./rpc-failure.ts";

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly failure: RpcFailure };

export interface BatchAnswer {
  /** One for each call, in the calls' order. */
  readonly answers: readonly RpcAnswer[];
  /** Size of the bodies they came in. */
  readonly bytes: number;
}

/** Calls in one request to whoever takes so many. geth takes 1,000; vendors that take fewer refuse, and that is learned. */
export const MAX_BATCH = 250;
/** More failed items than this are not a slip: the batch was too long for this provider. */
const MAX_ITEMS_ASKED_AGAIN = 32;
/** After so many whole batches in a row, a size that was reduced once is tried doubled. */
const BATCHES_BEFORE_GROWING = 64;

export class RpcClient {
  readonly name: string;
  readonly #http: HttpExchange;
  #nextId = 1;
  #batchLimit = MAX_BATCH;
  #wholeBatches = 0;
  #bytesRead = 0;
  /** Calls that wait to leave together; null: each leaves by itself. */
  #joining: Joining<RpcCall, RpcAnswer> | null = null;

  constructor(settings: ProviderSettings) {
    this.#http = new HttpExchange(settings);
    this.name = this.#http.name;
  }

  /** Size of all answers so far. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** One call in one request. Never repeated. */
  async call(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    if (this.#joining !== null) return at((await this.#joining.add([{ method, params }])).answers, 0);
    return (await this.#single({ method, params })).answer;
  }

  /** Many calls in as few requests as the provider takes; missing and failed items are asked once more. */
  async batch(calls: readonly RpcCall[]): Promise<BatchAnswer> {
    if (this.#joining !== null) return this.#joining.add(calls);
    return this.#completed(calls, await this.#inChunks(calls));
  }

  async #completed(calls: readonly RpcCall[], first: BatchAnswer): Promise<BatchAnswer> {
    // A single call that failed is its own answer; only items of a batch are asked again.
    if (calls.length === 1) return first;
    const answers = [...first.answers];
    const again = answers.flatMap((answer, index) => (!answer.ok && isWorthAskingAgain(answer.failure) ? [index] : []));
    if (again.length > MAX_ITEMS_ASKED_AGAIN) {
      this.#shrinkBatches(Math.min(calls.length, this.#batchLimit));
      return first;
    }
    const retried = await Promise.all(again.map((index) => this.#single(at(calls, index))));
    retried.forEach(({ answer }, i) => {
      answers[at(again, i)] = answer;
    });
    return { answers, bytes: retried.reduce((sum, { bytes }) => sum + bytes, first.bytes) };
  }

  /**
   * What `work` asks for before it first waits goes out in one batch; whatever it asks for later, as it asks for it.
   * For calls that are small enough to be lost together.
   */
  async joined<T>(work: () => Promise<T>): Promise<T> {
    const joining = new Joining<RpcCall, RpcAnswer>();
    this.#joining = joining;
    let running: Promise<T>;
    try {
      running = work();
    } finally {
      this.#joining = null;
    }
    void joining.leave(
      (calls) => this.#inChunks(calls),
      (calls, answer) => this.#completed(calls, answer),
    );
    return running;
  }

  /**
   * Calls that must reach one backend: one request, no item repeated. Only when the provider refuses
   * batches do they go out singly, one after the other.
   */
  async together(calls: readonly RpcCall[]): Promise<BatchAnswer> {
    if (calls.length > this.#batchLimit) return this.#oneByOne(calls);
    const { batch, refusal } = await this.#chunk(calls);
    if (refusal === null) return batch;
    const singly = await this.#oneByOne(calls);
    // What fails singly as well was not refused for being a batch.
    if (singly.answers.every((answer) => answer.ok)) this.#shrinkBatches(calls.length);
    return singly;
  }

  /** The fault to throw for an answer that nothing can be done about here. */
  fault(what: string, failure: RpcFailure): ChainFault {
    const code = failure.kind === "rpc" ? ` (code ${failure.code})` : "";
    return new ChainFault(`${this.name}: ${what}: ${failure.message}${code}`, true, this.name);
  }

  /** Text that came from the provider, made fit for a message. */
  clean(text: string): string {
    return this.#http.clean(text);
  }

  async #oneByOne(calls: readonly RpcCall[]): Promise<BatchAnswer> {
    const answers: RpcAnswer[] = [];
    let bytes = 0;
    for (const call of calls) {
      const single = await this.#single(call);
      answers.push(single.answer);
      bytes += single.bytes;
    }
    return { answers, bytes };
  }

  async #inChunks(calls: readonly RpcCall[]): Promise<BatchAnswer> {
    const parts = chunked(calls, this.#batchLimit).map(async (chunk) => {
      const { batch, refusal } = await this.#chunk(chunk);
      if (refusal !== null) {
        this.#shrinkBatches(chunk.length);
        return this.#halved(chunk, refusal);
      }
      // A batch too heavy for the deadline would be too heavy again.
      if (batch.answers.some((answer) => !answer.ok && answer.failure.kind === "deadline"))
        this.#shrinkBatches(chunk.length);
      return batch;
    });
    return joined(await Promise.all(parts));
  }

  async #halved(calls: readonly RpcCall[], refusal: RpcFailure): Promise<BatchAnswer> {
    const middle = Math.floor(calls.length / 2);
    const head = await this.#inChunks(calls.slice(0, middle));
    // The halves fail just as the whole did: the length was not the reason, and more requests are no help.
    const inVain = head.answers.every((answer) => !answer.ok && answer.failure.message === refusal.message);
    const tail = inVain ? allFailed(calls.slice(middle), refusal) : await this.#inChunks(calls.slice(middle));
    return joined([head, tail]);
  }

  /** One request. `refusal`: the provider turned the batch down as such; then no item was answered. */
  async #chunk(calls: readonly RpcCall[]): Promise<{ batch: BatchAnswer; refusal: RpcFailure | null }> {
    const [first] = calls;
    if (first === undefined) return { batch: joined([]), refusal: null };
    if (calls.length === 1) {
      const { answer, bytes } = await this.#single(first);
      this.#growBatches(1);
      return { batch: { answers: [answer], bytes }, refusal: null };
    }
    const firstId = this.#takeIds(calls.length);
    const exchange = await this.#http.post(calls.map((call, index) => request(firstId + index, call)));
    if (exchange.ok && Array.isArray(exchange.body)) {
      this.#growBatches(calls.length);
      this.#bytesRead += exchange.bytes;
      const answers = this.#matched(firstId, calls.length, exchange.body);
      return { batch: { answers, bytes: exchange.bytes }, refusal: null };
    }
    const failure = exchange.ok ? this.#readWholeRefusal(exchange.body) : exchange.failure;
    const refused = exchange.ok ? !isRateLimit(failure) : refusesBatch(failure);
    return { batch: allFailed(calls, failure), refusal: refused ? failure : null };
  }

  async #single(call: RpcCall): Promise<{ answer: RpcAnswer; bytes: number }> {
    const id = this.#takeIds(1);
    const exchange = await this.#http.post(request(id, call));
    if (!exchange.ok) return { answer: exchange, bytes: 0 };
    this.#bytesRead += exchange.bytes;
    const body = exchange.body;
    // An error may come without its id (JSON-RPC 2.0, section 5); a result may not.
    const mine = isObject(body) && (body.id === id || ((body.id === null || body.id === undefined) && "error" in body));
    const answer = mine
      ? this.#read(body)
      : malformed(`expected an answer to id ${id}, got ${this.clean(brief(body))}`);
    return { answer, bytes: exchange.bytes };
  }

  #matched(firstId: number, count: number, items: readonly unknown[]): RpcAnswer[] {
    const answers = new Array<RpcAnswer | undefined>(count).fill(undefined);
    const twice = new Set<number>();
    for (const item of items) {
      const index = isObject(item) && typeof item.id === "number" ? item.id - firstId : -1;
      if (!isObject(item) || !(index in answers)) continue;
      if (answers[index] !== undefined) twice.add(index);
      answers[index] = this.#read(item);
    }
    const missing: RpcFailure = { kind: "missing", code: 0, message: "the batch was answered without this item" };
    return answers.map((answer, index) =>
      answer === undefined || twice.has(index) ? { ok: false, failure: missing } : answer,
    );
  }

  #read(item: Record<string, unknown>): RpcAnswer {
    if (item.error !== undefined && item.error !== null) return { ok: false, failure: this.#readError(item.error) };
    if ("result" in item) return { ok: true, result: item.result };
    return malformed("the answer has neither result nor error");
  }

  #readError(error: unknown): RpcFailure {
    if (!isObject(error)) return { kind: "rpc", code: 0, message: this.clean(String(error)) };
    const code = typeof error.code === "number" ? error.code : 0;
    const message = typeof error.message === "string" ? error.message : brief(error);
    return { kind: "rpc", code, message: this.clean(message) };
  }

  #readWholeRefusal(body: unknown): RpcFailure {
    if (isObject(body) && body.error !== undefined && body.error !== null) return this.#readError(body.error);
    return { kind: "malformed", code: 0, message: `expected an array for a batch, got ${this.clean(brief(body))}` };
  }

  #takeIds(count: number): number {
    const first = this.#nextId;
    this.#nextId += count;
    return first;
  }

  #shrinkBatches(refused: number): void {
    this.#batchLimit = Math.max(1, Math.min(this.#batchLimit, Math.floor(refused / 2)));
    this.#wholeBatches = 0;
  }

  #growBatches(size: number): void {
    if (this.#batchLimit === MAX_BATCH || size < this.#batchLimit) return;
    this.#wholeBatches += 1;
    if (this.#wholeBatches < BATCHES_BEFORE_GROWING) return;
    this.#wholeBatches = 0;
    this.#batchLimit = Math.min(MAX_BATCH, this.#batchLimit * 2);
  }
}

function request(id: number, call: RpcCall): Record<string, unknown> {
  return { jsonrpc: "2.0", id, method: call.method, params: call.params };
}

function joined(parts: readonly BatchAnswer[]): BatchAnswer {
  return { answers: parts.flatMap((part) => part.answers), bytes: parts.reduce((sum, part) => sum + part.bytes, 0) };
}

function allFailed(calls: readonly RpcCall[], failure: RpcFailure): BatchAnswer {
  return { answers: calls.map(() => ({ ok: false, failure })), bytes: 0 };
}

function malformed(message: string): RpcAnswer {
  return { ok: false, failure: { kind: "malformed", code: 0, message } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Enough of a value to recognise it by. */
function brief(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return (JSON.stringify(value) ?? "nothing").slice(0, 120);
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`index ${index} is outside a list of ${items.length}`);
  return item;
}
