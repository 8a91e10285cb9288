/** Lists: one page at a time, or every row through `for await`, with the pages fetched as they are needed. */

import type { Page } from "../core/views.ts";
import type { Call } from "./call.ts";
import { UnexpectedAnswerError } from "./errors.ts";

/** Asks for nothing until it is read. Each reading begins at the first page. */
export class List<T> implements AsyncIterable<T> {
  readonly #fetchPage: (cursor: string | null) => Call<Page<T>>;

  /** @internal */
  constructor(fetchPage: (cursor: string | null) => Call<Page<T>>) {
    this.#fetchPage = fetchPage;
  }

  /** @param cursor `next_cursor` of the page before; left out: the first page */
  page(cursor: string | null = null): Call<Page<T>> {
    return this.#fetchPage(cursor);
  }

  /** Page after page, to the last. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let cursor: string | null = null;
    while (true) {
      const page: Page<T> = await this.#fetchPage(cursor);
      yield page;
      if (page.next_cursor === null) return;
      if (page.next_cursor === cursor) {
        throw new UnexpectedAnswerError(`the page after cursor ${cursor} leads to itself`, {
          code: "unexpected_answer",
        });
      }
      cursor = page.next_cursor;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }

  /** The first rows, at most `max` of them. */
  async toArray(max: number): Promise<T[]> {
    const rows: T[] = [];
    if (max <= 0) return rows;
    for await (const row of this) {
      rows.push(row);
      if (rows.length >= max) break;
    }
    return rows;
  }
}
