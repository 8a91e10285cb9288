/**
 * The body of an answer, up to a cap. A provider that sends without end, or sends little that unpacks to much, is cut off there.
 */

const FIRST_BYTES = 64 * 1024;

/** The body, or null when it goes past `cap`; the rest of it is then cancelled. */
export async function readCapped(response: Response, cap: number, signal: AbortSignal): Promise<Uint8Array | null> {
  if (response.body === null) return new Uint8Array(0);
  const reader = byteReader(response.body) ?? copyingReader(response.body);
  signal.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  let buffer = new ArrayBuffer(Math.min(cap + 1, FIRST_BYTES));
  let length = 0;
  for (;;) {
    if (length === buffer.byteLength) buffer = grown(buffer, cap);
    const { done, value } = await reader.read(new Uint8Array(buffer, length));
    // The buffer itself travels through the read and comes back in the view.
    if (value !== undefined) buffer = value.buffer;
    if (done || value === undefined) return new Uint8Array(buffer, 0, length);
    length += value.length;
    if (length > cap) {
      await reader.cancel();
      return null;
    }
  }
}

interface IntoReader {
  read(
    room: Uint8Array<ArrayBuffer>,
  ): Promise<{ readonly done: boolean; readonly value?: Uint8Array<ArrayBuffer> | undefined }>;
  cancel(): Promise<void>;
}

/** Reads straight into the room given: many small pieces cost more than their bytes. Null for a stream of another kind. */
function byteReader(body: ReadableStream): IntoReader | null {
  try {
    return body.getReader({ mode: "byob" }) as unknown as IntoReader;
  } catch {
    return null;
  }
}

/** As much of each piece as there is room for, and the rest with the next ones. */
function copyingReader(body: ReadableStream<Uint8Array>): IntoReader {
  const reader = body.getReader();
  let rest = new Uint8Array(0) as Uint8Array;
  return {
    cancel: () => reader.cancel(),
    async read(room) {
      if (rest.length === 0) {
        const { done, value } = await reader.read();
        if (done) return { done, value: room.subarray(0, 0) };
        rest = value;
      }
      const taken = rest.subarray(0, room.length);
      room.set(taken);
      rest = rest.subarray(taken.length);
      return { done: false, value: room.subarray(0, taken.length) };
    },
  };
}

/** Twice as long, and never longer than shows that the cap is passed. */
function grown(buffer: ArrayBuffer, cap: number): ArrayBuffer {
  const longer = new ArrayBuffer(Math.min(cap + 1, 2 * buffer.byteLength));
  new Uint8Array(longer).set(new Uint8Array(buffer));
  return longer;
}
