/** Lists read up to a bound. Whoever shows them says when there was more. */

export interface Bounded<Row> {
  readonly rows: Row[];
  /** There are more rows than were read. */
  readonly isCut: boolean;
}

/** @param until the first row that is not wanted any more, nor what comes after it */
export async function bounded<Row>(
  list: AsyncIterable<Row>,
  max: number,
  until: (row: Row) => boolean = () => false,
): Promise<Bounded<Row>> {
  const rows: Row[] = [];
  for await (const row of list) {
    if (until(row)) break;
    if (rows.length >= max) return { rows, isCut: true };
    rows.push(row);
  }
  return { rows, isCut: false };
}
