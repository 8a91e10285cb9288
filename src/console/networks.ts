/** The networks that are on, for choices and for what depends on a network's family. */

import { useQuery } from "@tanstack/react-query";
import type { Network } from "../sdk/types.ts";
import { sluice } from "./client.ts";

const MOST = 200;

export function useNetworks() {
  return useQuery<Network[]>({
    queryKey: ["networks", "choices"],
    queryFn: () => sluice.networks.list().toArray(MOST),
    staleTime: 60_000,
  });
}
