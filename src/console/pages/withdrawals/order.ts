/**
 * The withdrawal that is being asked for. It has one idempotency key from when its form is opened until it is answered,
 * and belongs to the session, not to the page: whoever goes to another page and comes back goes on with the same one.
 */

import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import type { NewWithdrawal, WithdrawalEstimate } from "../../../sdk/types.ts";

export interface Order {
  readonly key: string;
  /** What was sent and is not answered for certain; null: nothing is open. */
  readonly sent: NewWithdrawal | null;
}

const ORDER = ["withdrawals", "order"];

export function useOrder(): readonly [Order | null, (order: Order | null) => void] {
  const queries = useQueryClient();
  const { data = null } = useQuery<Order | null>({
    queryKey: ORDER,
    initialData: () => orderIn(queries),
    enabled: false,
    gcTime: Number.POSITIVE_INFINITY,
  });
  return [data, (order) => keepOrder(queries, order)];
}

export function orderIn(queries: QueryClient): Order | null {
  return queries.getQueryData<Order | null>(ORDER) ?? null;
}

/** Until the session is another one. */
export function keepOrder(queries: QueryClient, order: Order | null): void {
  queries.setQueryDefaults(ORDER, { gcTime: Number.POSITIVE_INFINITY });
  queries.setQueryData(ORDER, order);
}

/**
 * What an estimate says of a withdrawal, when it was asked about exactly that one; null: it says nothing of it. Fields can
 * change without anybody touching them, as when what was chosen is offered no more.
 */
export function saidOf(
  body: NewWithdrawal,
  asked: NewWithdrawal | undefined,
  said: WithdrawalEstimate | undefined,
): WithdrawalEstimate | null {
  return said !== undefined && JSON.stringify(asked) === JSON.stringify(body) ? said : null;
}
