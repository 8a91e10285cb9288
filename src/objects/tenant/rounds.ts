/**
 * Work that is done together. What comes while a round is under way makes up the next one, in the order it came; nothing waits
 * for a clock, so whoever comes alone goes at once, alone.
 */

/** In one round at most: bounds what goes to D1 in one statement. */
export const MAX_IN_ROUND = 200;

export interface Waiting<Job, Result> {
  readonly job: Job;
  readonly answer: (result: Result) => void;
  readonly fail: (error: unknown) => void;
}

export class Rounds<Job, Result> {
  #waiting: Waiting<Job, Result>[] = [];
  #isUnderWay = false;

  /**
   * @param round answers each of its jobs, and ends when the next round may begin; what it throws is the answer to those
   *   that it had not answered
   */
  take(job: Job, round: (jobs: readonly Waiting<Job, Result>[]) => Promise<void>): Promise<Result> {
    const result = new Promise<Result>((answer, fail) => this.#waiting.push({ job, answer, fail }));
    if (!this.#isUnderWay) void this.#run(round);
    return result;
  }

  async #run(round: (jobs: readonly Waiting<Job, Result>[]) => Promise<void>): Promise<void> {
    this.#isUnderWay = true;
    while (this.#waiting.length > 0) {
      const jobs = this.#waiting.splice(0, MAX_IN_ROUND);
      try {
        await round(jobs);
      } catch (error) {
        for (const { fail } of jobs) fail(error);
      }
    }
    this.#isUnderWay = false;
  }
}
