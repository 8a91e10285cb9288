/**
 * One at a time for each name. Work that goes to D1 and to other objects is not undone by a call of the same
 * kind that was sent earlier and arrives later.
 */

export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Whether any work is under way or waits under a name that begins so. */
  isBusy(prefix: string): boolean {
    return [...this.#last.keys()].some((name) => name.startsWith(prefix));
  }

  /** Runs `work` when everything taken before under this name has ended, well or not. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const turn = (before ?? Promise.resolve()).then(work, work);
    this.#last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    }
  }
}
