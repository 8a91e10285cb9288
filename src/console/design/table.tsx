/**
 * Lists as tables, a page at a time. On a phone each row becomes a card whose values carry their column's name.
 */

import { type InfiniteData, type UseInfiniteQueryResult, useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { List } from "../../sdk/pages.ts";
import type { Page } from "../../sdk/types.ts";
import type { Noun } from "../queries.ts";
import { ErrorNotice, Loading } from "./answers.tsx";
import { Button } from "./button.tsx";

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  readonly number?: boolean;
}

export type Rows<Row> = UseInfiniteQueryResult<InfiniteData<Page<Row>>>;

/**
 * The rows of one of the SDK's lists, page after page as they are asked for.
 * @param key names the list, with everything that narrows it
 */
export function useRows<Row>(
  key: readonly [Noun, ...unknown[]],
  list: () => List<Row>,
  options: { readonly refetchInterval?: number; readonly enabled?: boolean } = {},
): Rows<Row> {
  return useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam }: { pageParam: string | null }) => await list().page(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last: Page<Row>) => last.next_cursor,
    ...options,
  });
}

export function rowsOf<Row>(rows: Rows<Row>): Row[] {
  return rows.data?.pages.flatMap(({ data }) => data) ?? [];
}

export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
}: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}) {
  return (
    <div className="table-scroll">
      <table className="table table-cards" aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ name, number }) => (
              <th key={name} scope="col" className={number ? "number" : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, number, cell }) => (
                <td key={name} data-label={name} className={number ? "number" : undefined}>
                  <div style={{ minWidth: 0 }}>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A list with its waiting, its error, its emptiness, and its next page. */
export function PagedTable<Row>({
  rows,
  empty,
  ...table
}: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: Rows<Row>;
  readonly keyOf: (row: Row) => string;
  readonly empty: ReactNode;
}) {
  const again = () => void rows.refetch();
  if (rows.data === undefined) return rows.isError ? <ErrorNotice error={rows.error} again={again} /> : <Loading />;
  const all = rowsOf(rows);
  return (
    <>
      {rows.isError ? <ErrorNotice error={rows.error} again={again} /> : null}
      {all.length === 0 ? empty : <Table {...table} rows={all} />}
      {rows.hasNextPage ? (
        <div className="row" style={{ justifyContent: "center", padding: 12 }}>
          <Button busy={rows.isFetchingNextPage} onClick={() => void rows.fetchNextPage()}>
            Show more
          </Button>
        </div>
      ) : null}
    </>
  );
}
