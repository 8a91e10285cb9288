/** What the built-in receiver got, kept up by asking for what came since: the latest ones, newest first. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { askSandbox } from "../../sandbox.ts";
import { PER_PAGE, type Received, type ReceivedPage, withPage } from "./received-pages.ts";

const EVERY_MS = 1_500;

export function useReceived() {
  const queries = useQueryClient();
  const queryKey = ["received"];
  return useQuery<Received>({
    queryKey,
    queryFn: async () => {
      let known = queries.getQueryData<Received>(queryKey) ?? { latest: [], next: 0 };
      while (true) {
        const page = await askSandbox<ReceivedPage>("GET", `/deliveries?after=${known.next}`);
        if (page === null) return known;
        known = withPage(known, page);
        if (page.data.length < PER_PAGE) return known;
      }
    },
    // While the page is looked at: not in a tab behind others.
    refetchInterval: EVERY_MS,
  });
}
