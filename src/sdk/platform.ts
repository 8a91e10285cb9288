/**
 * What the SDK asks of the platform it runs on, in the fewest words, so that its types stand without those of
 * Node, Workers or a browser. The platform's own `fetch`, `AbortSignal` and `Headers` fit.
 */

export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The signal that the platform's own `fetch` takes, where one is declared: it takes no other. */
export type Signal = typeof globalThis extends { fetch: (...input: infer Input) => unknown }
  ? Input extends [unknown, (infer Init)?]
    ? NonNullable<Init> extends { signal?: infer S }
      ? NonNullable<S>
      : AbortSignalLike
    : AbortSignalLike
  : AbortSignalLike;

export interface FetchInit {
  method: string;
  headers: Record<string, string>;
  body?: string;
  redirect: "manual";
  signal: Signal;
}

export interface FetchAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export type Fetch = (url: string, init: FetchInit) => Promise<FetchAnswer>;
