/** Calls of several askers that leave in one batch. Each gets the answers to its own, and none waits for ever. */

interface Batch<Answer> {
  /** One for each call, in the calls' order. */
  readonly answers: readonly Answer[];
  readonly bytes: number;
}

interface Asker<Call, Answer> {
  readonly calls: readonly Call[];
  readonly answered: (answer: Batch<Answer> | Promise<Batch<Answer>>) => void;
  readonly failed: (error: unknown) => void;
}

export class Joining<Call, Answer> {
  readonly #askers: Asker<Call, Answer>[] = [];

  add(calls: readonly Call[]): Promise<Batch<Answer>> {
    return new Promise((answered, failed) => this.#askers.push({ calls, answered, failed }));
  }

  /**
   * Sends what was added until now.
   * @param complete what an asker's own batch would have done about items that failed
   */
  async leave(
    send: (calls: readonly Call[]) => Promise<Batch<Answer>>,
    complete: (calls: readonly Call[], answer: Batch<Answer>) => Promise<Batch<Answer>>,
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
