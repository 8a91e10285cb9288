/**
 * One logical call: sent, and sent again while that helps, until it has an answer or is given up.
 *
 * The idempotency key of a POST is made once, before the first attempt, and every attempt carries it: a retry
 * after a lost answer finds what the first attempt did, and does nothing twice. The API key is held here alone,
 * and no message carries it.
 */

import type { Page } from "../core/views.ts";
import { answerInfo, parseJson, readProblem } from "./answer.ts";
import { checkedIdempotencyKey, checkedRetries, checkedTimeout } from "./bounds.ts";
import { type Answered, Call } from "./call.ts";
import {
  AbortedError,
  AuthenticationError,
  ConnectionError,
  type ErrorFacts,
  errorClassOf,
  type SluiceError,
  TimeoutError,
  UnexpectedAnswerError,
} from "./errors.ts";
import { List } from "./pages.ts";
import type { AbortSignalLike, Fetch, FetchInit } from "./platform.ts";
import {
  isRetryable,
  LONGEST_ASKED_WAIT_MS,
  leavesOutcomeUnknown,
  readRetryAfter,
  settlesEarlierAttempts,
  waitBefore,
} from "./retry.ts";
import { causeOf, messageOf } from "./thrown.ts";

export interface CallOptions {
  /** Ends the call, its waits included, with an `AbortedError`. */
  readonly signal?: AbortSignalLike | undefined;
  /** For one attempt, body included; above 0, at most 2^31 - 1. */
  readonly timeoutMs?: number | undefined;
  /** Attempts after the first. 0: none. */
  readonly maxRetries?: number | undefined;
}

export interface PostOptions extends CallOptions {
  /**
   * 1 to 255 printable ASCII characters, no blank at either end. Left out: one is made for this call and used for all its attempts.
   * Pass your own to make a repetition by a later call, or by another process, the same call.
   */
  readonly idempotencyKey?: string | undefined;
}

export type Query = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

export interface Sending {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Query | undefined;
  readonly body?: object | undefined;
  /** It is sent without the API key: sign-up, and what is about the session itself. */
  readonly open?: boolean;
  /** Its answer is a page of a list. */
  readonly isPage?: boolean;
}

export interface Settings {
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** Whether the platform keeps cookies: a call without a key may be opened by one. */
  readonly mayHaveSession: boolean;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly userAgent: string | null;
  readonly fetch: Fetch;
  /** Unix ms. */
  readonly now: () => number;
  /** Waits, and ends early when the signal does. */
  readonly sleep: (ms: number, signal?: AbortSignalLike) => Promise<void>;
  /** In [0, 1). */
  readonly random: () => number;
  readonly newIdempotencyKey: () => string;
}

/** What came of one attempt. */
type Attempt =
  | { readonly kind: "answer"; readonly status: number; readonly header: (name: string) => string | null; text: string }
  | { readonly kind: "failed"; readonly thrown: unknown }
  | { readonly kind: "timeout" }
  | { readonly kind: "aborted"; readonly sent: boolean };

export class Transport {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get baseUrl(): string {
    return this.#settings.baseUrl;
  }

  get timeoutMs(): number {
    return this.#settings.timeoutMs;
  }

  call<T>(request: Sending, options: PostOptions = {}): Call<T> {
    return new Call(this.#answered<T>(request, options));
  }

  page<T>(path: string, query: Query, options: CallOptions = {}): Call<Page<T>> {
    return this.call<Page<T>>({ method: "GET", path, query, isPage: true }, options);
  }

  list<T>(path: string, filter: Query, options: CallOptions = {}): List<T> {
    return new List((cursor) => this.page<T>(path, cursor === null ? filter : { ...filter, cursor }, options));
  }

  /** @see Settings.sleep */
  sleep(ms: number, signal?: AbortSignalLike): Promise<void> {
    return this.#settings.sleep(ms, signal);
  }

  /** Unix ms. */
  now(): number {
    return this.#settings.now();
  }

  random(): number {
    return this.#settings.random();
  }

  async #answered<T>(request: Sending, options: PostOptions): Promise<Answered<T>> {
    const { now, random, newIdempotencyKey } = this.#settings;
    const maxRetries = checkedRetries(options.maxRetries ?? this.#settings.maxRetries);
    const timeoutMs = checkedTimeout(options.timeoutMs ?? this.#settings.timeoutMs);
    const key = request.method === "POST" ? checkedIdempotencyKey(options.idempotencyKey ?? newIdempotencyKey()) : null;
    const url = urlOf(this.#settings.baseUrl, request);
    const init = this.#init(request, key);
    // Of earlier attempts: whether one of them may have done it without our hearing of it.
    let mayBeDone = false;

    for (let attempts = 1; ; attempts++) {
      const attempt =
        options.signal?.aborted === true
          ? ({ kind: "aborted", sent: false } as const)
          : await this.#send(url, init, timeoutMs, options.signal);
      if (attempt.kind === "answer" && attempt.status >= 200 && attempt.status <= 299) {
        const info = answerInfo(attempt, attempts);
        return { data: parseJson(attempt, info, { ...request, key }) as T, answer: info };
      }
      // The removal that was not heard of has happened: it is gone, which is what was asked for.
      if (request.method === "DELETE" && mayBeDone && attempt.kind === "answer" && isNotFound(attempt))
        return { data: undefined as T, answer: answerInfo(attempt, attempts) };

      const failed = this.#failure(attempt, request, options, { attempts, key, mayBeDone, timeoutMs, now: now() });
      if (!failed.retryable || attempts > maxRetries || (failed.retryAfterMs ?? 0) > LONGEST_ASKED_WAIT_MS)
        throw failed;
      mayBeDone = failed.outcomeUnknown;
      await this.#settings.sleep(waitBefore(attempts, failed.retryAfterMs, random()), options.signal);
    }
  }

  #init(request: Sending, key: string | null): Omit<FetchInit, "signal"> {
    const { apiKey, mayHaveSession, userAgent } = this.#settings;
    if (apiKey === null && !mayHaveSession && request.open !== true) {
      throw new AuthenticationError("this client was made without an API key: it can sign up, and nothing else", {
        code: "unauthorized",
      });
    }
    const headers: Record<string, string> = { Accept: "application/json" };
    if (apiKey !== null && request.open !== true) headers.Authorization = `Bearer ${apiKey}`;
    if (userAgent !== null) headers["User-Agent"] = userAgent;
    if (key !== null) headers["Idempotency-Key"] = key;
    if (request.body === undefined) return { method: request.method, headers, redirect: "manual" };
    headers["Content-Type"] = "application/json";
    return { method: request.method, headers, body: JSON.stringify(request.body), redirect: "manual" };
  }

  /** One attempt. Ends at the deadline and with the caller's signal, also when `fetch` heeds neither. */
  async #send(
    url: string,
    init: Omit<FetchInit, "signal">,
    timeoutMs: number,
    signal: AbortSignalLike | undefined,
  ): Promise<Attempt> {
    const abort = new AbortController();
    let end: (attempt: Attempt) => void = () => {};
    const ended = new Promise<Attempt>((resolve) => {
      end = resolve;
    });
    const timer = setTimeout(() => end({ kind: "timeout" }), timeoutMs);
    const onAbort = () => end({ kind: "aborted", sent: true });
    signal?.addEventListener("abort", onAbort);
    const fetch = this.#settings.fetch;
    const exchange = async (): Promise<Attempt> => {
      try {
        const { status, headers, text } = await receive(fetch(url, { ...init, signal: abort.signal }));
        return { kind: "answer", status, header: (name) => headers.get(name), text };
      } catch (thrown) {
        return { kind: "failed", thrown };
      }
    };
    try {
      return await Promise.race([exchange(), ended]);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      abort.abort();
    }
  }

  #failure(
    attempt: Attempt,
    request: Sending,
    options: PostOptions,
    at: { attempts: number; key: string | null; mayBeDone: boolean; timeoutMs: number; now: number },
  ): SluiceError {
    const what = `${request.method} ${request.path}`;
    const changes = request.method !== "GET";
    const common = { attempts: at.attempts, idempotencyKey: at.key };
    switch (attempt.kind) {
      case "aborted":
        return new AbortedError(`${what} was aborted`, {
          ...common,
          code: "aborted",
          attempts: attempt.sent ? at.attempts : at.attempts - 1,
          outcomeUnknown: changes && (attempt.sent || at.mayBeDone),
          cause: options.signal?.reason,
        });
      case "timeout":
        return new TimeoutError(`${what} had no whole answer within ${at.timeoutMs} ms`, {
          ...common,
          code: "timeout",
          retryable: true,
          outcomeUnknown: changes,
        });
      case "failed":
        return new ConnectionError(`${what} got no answer: ${messageOf(attempt.thrown, this.#settings.apiKey)}`, {
          ...common,
          code: "connection_failed",
          retryable: true,
          outcomeUnknown: changes,
          cause: causeOf(attempt.thrown, this.#settings.apiKey),
        });
      case "answer":
        return this.#refusal(what, attempt, changes, at.mayBeDone, at.now, common);
    }
  }

  #refusal(
    what: string,
    { status, header, text }: Extract<Attempt, { kind: "answer" }>,
    changes: boolean,
    mayBeDone: boolean,
    now: number,
    common: Pick<ErrorFacts, "attempts" | "idempotencyKey">,
  ): SluiceError {
    const problem = readProblem(text);
    // What is not this API's own word may stand in the place of an answer that said it was done.
    const unknown = problem === null || leavesOutcomeUnknown(status) || (mayBeDone && !settlesEarlierAttempts(status));
    const facts: ErrorFacts = {
      ...common,
      code: problem?.code ?? "unexpected_answer",
      status,
      retryable: isRetryable(status, problem?.retryable ?? null),
      outcomeUnknown: changes && unknown,
      detail: problem?.detail ?? null,
      requestId: problem?.requestId ?? header("x-request-id"),
      errors: problem?.errors ?? [],
      retryAfterMs: readRetryAfter(header("retry-after"), now),
    };
    if (problem === null && status < 500 && status !== 408 && status !== 429) {
      const where = status >= 300 && status <= 399 ? ", a redirect, which is not followed" : "";
      return new UnexpectedAnswerError(`${what} was answered with status ${status}${where}, not by this API`, facts);
    }
    const fields = facts.errors?.map(({ path, message }) => ` ${path}: ${message}.`).join("") ?? "";
    const said = problem === null ? `status ${status}` : `${status} ${problem.code}: ${problem.detail}${fields}`;
    const Kind = errorClassOf(status);
    return new Kind(`${what} was answered with ${said}`, facts);
  }
}

function isNotFound({ status, text }: Extract<Attempt, { kind: "answer" }>): boolean {
  return status === 404 && readProblem(text) !== null;
}

async function receive(answered: ReturnType<Fetch>) {
  const response = await answered;
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function urlOf(baseUrl: string, { path, query = {} }: Sending): string {
  const parts = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined || value === null) return [];
    const text = typeof value === "object" ? value.join(",") : String(value);
    return [`${name}=${encodeURIComponent(text)}`];
  });
  return baseUrl + path + (parts.length === 0 ? "" : `?${parts.join("&")}`);
}

/**
 * A path with one name in it, such as an id. An empty one would be another call, `..` another path.
 * @throws TypeError for what no id and no network looks like
 */
export function pathOf(before: string, name: string, after = ""): string {
  if (typeof name !== "string" || !/^[A-Za-z0-9_-]{1,128}$/.test(name)) {
    throw new TypeError(
      `expected an id or the name of a network for ${before}{..}${after}, got ${JSON.stringify(name)}`,
    );
  }
  return before + name + after;
}
