/** Calls between objects have no deadline of their own. One that is not answered in time is unknown, and made again. */

/** @throws Error when the time is over; the call may still have its effect */
export async function soon<T>(call: Promise<T>, withinMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | null = null;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${withinMs} ms`)), withinMs);
  });
  try {
    return await Promise.race([call, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
