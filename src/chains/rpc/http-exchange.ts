/**
 * One POST to one provider, and nothing of it left behind: every body is read to its end or cancelled, no
 * redirect is followed, and one deadline covers connecting, waiting and reading. At most five requests are
 * on the wire at a time, because a Worker has six connections in all.
 *
 * A provider's URL is a secret: its path, query and credentials never leave this file.
 */

import { step } from "../../steps.ts";
import { readCapped } from "./capped-body.ts";
import type { FailureKind, RpcFailure } from "./rpc-failure.ts";
import { countRequest, type ProviderTally } from "./tally.ts";

export interface ProviderSettings {
  /** http or https. Credentials in it become a Basic authorization header. */
  readonly url: string;
  readonly fetch: typeof fetch;
  /** Deadline of one HTTP request, reading its body included. */
  readonly timeoutMs: number;
  /** Sent as `Authorization: Bearer`, in place of credentials in the URL. As secret as the URL. */
  readonly bearer?: string | null;
  /** The longest answer that is read; 32 MiB unless given. */
  readonly maxBodyBytes?: number;
  /**
   * Names of headers, lower case, in which vendors take a key. A URL whose user is one of them sends its password
   * there, and no Basic authorization: `https://tron-pro-api-key:<key>@host`.
   */
  readonly keyHeaders?: readonly string[];
  /** Where its requests are counted; by this clock, in milliseconds. */
  readonly tally?: { readonly counts: ProviderTally; readonly now: () => number };
}

export type Exchange =
  | { readonly ok: true; readonly body: unknown; readonly bytes: number }
  | { readonly ok: false; readonly failure: RpcFailure };

const MAX_IN_FLIGHT = 5;
const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** An error page is read up to here, to look for a JSON-RPC error in it. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;
const MAX_MESSAGE_CHARS = 200;
const MIN_SECRET_CHARS = 6;

export class HttpExchange {
  /** Host and port. */
  readonly name: string;
  readonly #target: string;
  readonly #headers: Record<string, string>;
  readonly #secrets: readonly string[];
  readonly #send: typeof fetch;
  readonly #timeoutMs: number;
  readonly #maxBodyBytes: number;
  readonly #tally: ProviderSettings["tally"];
  #inFlight = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(settings: ProviderSettings) {
    const { url, fetch, timeoutMs, bearer = null, maxBodyBytes = MAX_BODY_BYTES, keyHeaders = [] } = settings;
    const parsed = parseProviderUrl(url);
    this.name = parsed.host;
    // A token too short to be a secret would only tear holes into messages.
    const identity = bearer ? { authorization: `Bearer ${bearer}` } : authorization(parsed, keyHeaders);
    // What is sent in a header may come back in an answer as it was sent: user and password in base64.
    const sent = Object.values(identity).map((value) => value.replace(/^(Basic|Bearer) /, ""));
    this.#secrets = [...sent.filter((one) => one.length >= MIN_SECRET_CHARS), ...secretsOf(parsed)];
    this.#headers = { "content-type": "application/json", accept: "application/json", ...identity };
    parsed.username = "";
    parsed.password = "";
    this.#target = parsed.href;
    // Called as a bare function: as a method, a Worker's fetch refuses its receiver.
    this.#send = (input, init) => fetch(input, init);
    this.#timeoutMs = timeoutMs;
    this.#maxBodyBytes = maxBodyBytes;
    this.#tally = settings.tally;
  }

  /**
   * The parsed body of a JSON answer. An error status whose body is JSON-RPC counts as an answer.
   * @param path below the URL's own, without a slash before it, where what is asked for is named by a path
   */
  async post(payload: unknown, path: string | null = null): Promise<Exchange> {
    await this.#slot();
    const tally = this.#tally;
    const startedAt = tally?.now() ?? 0;
    const exchange = await this.#exchange(payload, path);
    if (tally !== undefined) {
      countRequest(tally.counts, tally.now() - startedAt, exchange.ok ? null : exchange.failure.kind);
    }
    return exchange;
  }

  /** In the slot that was taken, which it gives back. */
  async #exchange(payload: unknown, path: string | null): Promise<Exchange> {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), this.#timeoutMs);
    const target = path === null ? this.#target : below(this.#target, path);
    const request = () => this.#request(target, JSON.stringify(payload), abort.signal);
    try {
      return await Promise.race([step(`rpc ${path ?? firstMethod(payload)}`, request), expiry(abort.signal)]);
    } catch (error) {
      if (abort.signal.aborted) return failed("deadline", 0, `no answer within ${this.#timeoutMs} ms`);
      return failed("unreachable", 0, this.clean(`request failed: ${describe(error)}`));
    } finally {
      clearTimeout(timer);
      this.#release();
    }
  }

  /** Text from outside, made fit for a message: printable, short, without anything secret of the URL. */
  clean(text: string): string {
    let cleaned = text;
    for (const secret of this.#secrets) cleaned = cleaned.replaceAll(secret, "***");
    cleaned = cleaned.replace(/[^\x20-\x7e]+/g, " ");
    return cleaned.length > MAX_MESSAGE_CHARS ? `${cleaned.slice(0, MAX_MESSAGE_CHARS)}...` : cleaned;
  }

  async #request(target: string, body: string, signal: AbortSignal): Promise<Exchange> {
    const response = await this.#send(target, {
      method: "POST",
      headers: this.#headers,
      body,
      redirect: "manual",
      signal,
    });
    if (signal.aborted) {
      await response.body?.cancel();
      throw new Error("answered after the deadline");
    }
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      return failed("redirect", response.status, `HTTP ${response.status}: redirects are not followed`);
    }
    const bytes = await readCapped(response, response.ok ? this.#maxBodyBytes : MAX_ERROR_BODY_BYTES, signal);
    if (!response.ok) return this.#errorAnswer(response.status, bytes);
    if (bytes === null) return failed("too_large", 0, `the answer is larger than ${this.#maxBodyBytes} bytes`);
    const text = decode(bytes);
    const parsed = text === null ? undefined : parseJson(text);
    if (parsed !== undefined) return { ok: true, body: parsed, bytes: bytes.length };
    const start = text === null ? "bytes that are not UTF-8" : JSON.stringify(text.slice(0, 80));
    return failed("malformed", 0, this.clean(`expected JSON, got ${start}`));
  }

  #errorAnswer(status: number, bytes: Uint8Array | null): Exchange {
    const text = bytes === null ? null : decode(bytes);
    const body = text === null ? undefined : parseJson(text);
    const isAnswer = Array.isArray(body) || carriesError(body);
    if (isAnswer && bytes !== null) return { ok: true, body, bytes: bytes.length };
    return failed("status", status, this.clean(`HTTP ${status}: ${text?.slice(0, 120) ?? "body not read"}`));
  }

  async #slot(): Promise<void> {
    if (this.#inFlight < MAX_IN_FLIGHT) {
      this.#inFlight += 1;
      return;
    }
    // The slot is handed over by whoever leaves it, so a newcomer cannot overtake those who wait.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#inFlight -= 1;
  }
}

/** @throws Error without the URL in it: it may carry a key. */
function parseProviderUrl(url: string): URL {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new Error("an RPC URL could not be parsed (it is not shown, as it may carry a key)");
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw new Error(`an RPC URL must be http or https, got ${parsed.protocol} at host ${parsed.host}`);
  }
  return parsed;
}

/** The path goes below the URL's own, which may be a key; a query stays. */
function below(target: string, path: string): string {
  const url = new URL(target);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${path}`;
  return url.href;
}

/** fetch refuses a URL with credentials in it, so they go where HTTP wants them (RFC 7617), or the vendor. */
function authorization(url: URL, keyHeaders: readonly string[]): Record<string, string> {
  if (url.username === "" && url.password === "") return {};
  const header = decodeLoosely(url.username).toLowerCase();
  if (keyHeaders.includes(header)) return { [header]: decodeLoosely(url.password) };
  const pair = `${decodeLoosely(url.username)}:${decodeLoosely(url.password)}`;
  const binary = String.fromCharCode(...new TextEncoder().encode(pair));
  return { authorization: `Basic ${btoa(binary)}` };
}

/** Everything of the URL past its host, whole and in its parts, longest first. Parts too short to be a key stay. */
function secretsOf(url: URL): string[] {
  const values = [...url.searchParams.values()];
  const parts = [url.username, url.password, ...url.pathname.split("/"), ...values];
  const long = [...parts, ...parts.map(decodeLoosely)].filter((part) => part.length >= MIN_SECRET_CHARS);
  const whole = [url.href, `${url.pathname}${url.search}`, url.search].filter((part) => part.length > 1);
  return [...new Set([...whole, ...long])].sort((a, b) => b.length - a.length);
}

function decodeLoosely(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** What a payload asks for first: the name of its step. */
function firstMethod(payload: unknown): string {
  const first = (Array.isArray(payload) ? payload[0] : payload) as { readonly method?: unknown } | undefined;
  return String(first?.method);
}

/** Ends the wait also when a fetch does not heed its signal. */
function expiry(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("deadline")), { once: true });
  });
}

function carriesError(body: unknown): boolean {
  if (typeof body !== "object" || body === null || !("error" in body)) return false;
  return "jsonrpc" in body || (typeof body.error === "object" && body.error !== null);
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return null;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** undici hides the reason (ECONNREFUSED) one cause down. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}

function failed(kind: FailureKind, code: number, message: string): { ok: false; failure: RpcFailure } {
  return { ok: false, failure: { kind, code, message } };
}
