/** Owns the time that an exchange with a stranger may take: it ends then, whatever the other side does. */

/** A wait that ends at the deadline even when the thing waited for ignores its abort signal. */
export function startDeadline(ms: number) {
  const abort = new AbortController();
  let pass: (reason: Error) => void = () => {};
  const passed = new Promise<never>((_, reject) => {
    pass = reject;
  });
  passed.catch(() => {});
  const timer = setTimeout(() => {
    abort.abort();
    pass(new Error(`no complete answer within ${ms} ms`));
  }, ms);
  return {
    signal: abort.signal,
    orPassed: <T>(work: Promise<T>): Promise<T> => Promise.race([work, passed]),
    end: () => clearTimeout(timer),
  };
}
