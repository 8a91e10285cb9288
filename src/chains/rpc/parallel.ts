/**
 * A bounded number of asynchronous tasks at a time. The first fault ends the whole: no further task is
 * started, and the ones under way are waited for, so that nothing runs on behind the caller's back.
 */

/** Results in the order of `items`, whatever order they finish in. */
export async function inParallel<Item, Result>(
  limit: number,
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const pending = items.entries();
  let failed = false;
  const worker = async () => {
    for (const [index, item] of pending) {
      if (failed) return;
      try {
        results[index] = await run(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await allSettledOrThrow(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/** Like `Promise.all`, but a fault is thrown only when every promise has come to its end. */
export async function allSettledOrThrow<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  return settled.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}

/** Two tasks side by side, with the same care: neither is left running when the other fails. */
export async function bothOf<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  await allSettledOrThrow<A | B>([a, b]);
  return [await a, await b];
}

/** `items` in runs of at most `size`. */
export function chunked<Item>(items: readonly Item[], size: number): Item[][] {
  const chunks: Item[][] = [];
  for (let start = 0; start < items.length; start += size) chunks.push(items.slice(start, start + size));
  return chunks;
}
