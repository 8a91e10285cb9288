/** One call as the caller holds it: a promise of the object, which can also tell of the answer it came in. */

export interface AnswerInfo {
  readonly status: number;
  /** Quote it when asking about the call. */
  readonly requestId: string | null;
  /** The idempotency key had been used before with the same request: this is what that one made, as it stands now. */
  readonly replayed: boolean;
  /** How many times the call was sent until this answer. */
  readonly attempts: number;
  /** What is left of this window's requests; null when the answer does not say. */
  readonly rateLimit: { readonly remaining: number; readonly resetS: number } | null;
}

export interface Answered<T> {
  readonly data: T;
  readonly answer: AnswerInfo;
}

/** `await` it for the object. The request is on its way from the beginning, awaited or not. */
export class Call<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = "Call";
  readonly #answered: Promise<Answered<T>>;

  /** @internal */
  constructor(answered: Promise<Answered<T>>) {
    this.#answered = answered;
  }

  /** The object together with request id, status and rate limit. */
  withAnswer(): Promise<Answered<T>> {
    return this.#answered;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise in all but its class.
  then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#answered.then(({ data }) => data).then(fulfilled, rejected);
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, rejected);
  }

  finally(ended?: (() => void) | null): Promise<T> {
    return this.then().finally(ended);
  }
}
