/** Calls of several askers that leave in one batch. Each gets the answers to its own, and none waits for ever. */

import type { BatchAnswer, RpcCall } from "./client.ts";

interface Asker {
  readonly calls: readonly RpcCall[];
  readonly answered: (answer: BatchAnswer | Promise<BatchAnswer>) => void;
  readonly failed: (error: unknown) => void;
}

export class Joining {
  readonly #askers: Asker[] = [];

  add(calls: readonly RpcCall[]): Promise<BatchAnswer> {
    return new Promise((answered, failed) => this.#askers.push({ calls, answered, failed }));
  }

  /**
   * Sends what was added until now.
   * @param complete what an asker's own batch would have done about items that failed
   */
  async leave(
    send: (calls: readonly RpcCall[]) => Promise<BatchAnswer>,
    complete: (calls: readonly RpcCall[], answer: BatchAnswer) => Promise<BatchAnswer>,
  ): Promise<void> {
    try {
      const { answers, bytes } = await send(this.#askers.flatMap(({ calls }) => calls));
      let next = 0;
      for (const { calls, answered } of this.#askers) {
        const own = answers.slice(next, next + calls.length);
        next += calls.length;
        answered(complete(calls, { answers: own, bytes }));
      }
    } catch (error) {
      for (const { failed } of this.#askers) failed(error);
    }
  }
}
