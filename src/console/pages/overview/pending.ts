/** Deposits that are not confirmed yet: asked for once, shown as meters and as a chart. */

import { useQuery } from "@tanstack/react-query";
import { bounded } from "../../bounded.ts";
import { sluice } from "../../client.ts";

export const MOST_PENDING = 400;

export function usePendingDeposits() {
  return useQuery({
    queryKey: ["deposits", "pending"],
    queryFn: () => bounded(sluice.deposits.list({ status: "pending", limit: 200 }), MOST_PENDING),
    // Confirmations rise with every block, and no event tells of that.
    refetchInterval: 2_500,
  });
}
