/** An SDK client over a `fetch` that a test writes, with a clock that only its own waits move. */

import { Sluice, type SluiceOptions } from "../../src/sdk/index.ts";
import { API_KEY, fakeApp, type Options } from "./http-app.ts";

export const BASE = "https://sluice.test";
const MOST_ATTEMPTS = 1_000;

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}

/** What one attempt meets: an answer, an error of the network, or never anything. */
export type Meets = Response | Error | "hang";

export interface Scripted {
  readonly sluice: Sluice;
  readonly sent: Sent[];
  /** Waits between attempts, in ms. */
  readonly waits: number[];
  readonly clock: { now: number };
}

/** @param script what each attempt meets, by its number from 0 on */
export function scripted(
  script: readonly Meets[] | ((sent: Sent, index: number) => Meets | Promise<Meets>),
  options: Partial<SluiceOptions> = {},
): Scripted {
  const sent: Sent[] = [];
  const waits: number[] = [];
  const clock = { now: Date.parse("2026-06-01T00:00:00.000Z") };
  const sluice = new Sluice({
    apiKey: API_KEY,
    baseUrl: BASE,
    now: () => clock.now,
    sleep: async (ms) => {
      waits.push(ms);
      clock.now += ms;
    },
    random: () => 0,
    fetch: async (url, { method, headers, body }) => {
      const { pathname, searchParams } = new URL(url);
      const one = { method, path: pathname, query: searchParams, headers, body };
      sent.push(one);
      // Ends whatever would go on for ever, so that the test fails rather than hangs.
      if (sent.length > MOST_ATTEMPTS) return refused(401, "unauthorized");
      const met = typeof script === "function" ? await script(one, sent.length - 1) : script[sent.length - 1];
      if (met === undefined) throw new Error(`nothing is written for attempt ${sent.length}`);
      if (met === "hang") return new Promise<never>(() => {});
      if (met instanceof Error) throw met;
      return met;
    },
    ...options,
  });
  return { sluice, sent, waits, clock };
}

/**
 * The SDK in front of the real routes over fake objects.
 * @param added what a browser adds to each request by itself
 */
export function overRoutes(options: Options = {}, apiKey: string | null = API_KEY, added: Record<string, string> = {}) {
  const { app, calls } = fakeApp(options);
  const sent: Sent[] = [];
  const sluice = new Sluice({
    apiKey,
    baseUrl: BASE,
    maxRetries: 0,
    fetch: async (url, init) => {
      const { pathname, searchParams } = new URL(url);
      sent.push({ ...init, path: pathname, query: searchParams, body: init.body });
      return app.request(url, { ...init, headers: { ...init.headers, ...added } });
    },
  });
  return { sluice, calls, sent, app };
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
}

export function refused(
  status: number,
  code: string,
  more: { retryable?: boolean; errors?: { path: string; message: string }[]; headers?: Record<string, string> } = {},
): Response {
  const { headers = {}, retryable = status === 429 || status >= 500, errors } = more;
  const body = { type: `/docs#problem-${code}`, title: code, status, detail: "Said why.", code, retryable };
  return new Response(JSON.stringify({ ...body, request_id: "req_1", ...(errors ? { errors } : {}) }), {
    status,
    headers: { "content-type": "application/problem+json", "x-request-id": "req_1", ...headers },
  });
}
