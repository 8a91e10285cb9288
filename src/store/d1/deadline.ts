/** Every D1 call has its own deadline. One that passes means unknown, never failed. */

import { step } from "../../steps.ts";

const D1_DEADLINE_MS = 10_000;

/** D1 is out of reach, refused, or did not answer in time. The write may have been applied. */
export class StoreFault extends Error {
  override readonly name = "StoreFault";
  readonly retryable = true;
}

/** @throws StoreFault carrying what D1 said as its cause */
export async function withDeadline<T>(what: string, call: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new StoreFault(`${what}: no answer from D1 in ${D1_DEADLINE_MS} ms`)),
      D1_DEADLINE_MS,
    );
  });
  try {
    return await Promise.race([step(`d1 ${what}`, call), deadline]);
  } catch (cause) {
    if (cause instanceof StoreFault) throw cause;
    throw new StoreFault(`${what}: D1 did not do it: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  } finally {
    clearTimeout(timer);
  }
}
