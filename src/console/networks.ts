/** The networks that are on: one answer for all who show one, asked for as often as the most curious of them wants. */

import { useQuery } from "@tanstack/react-query";
import type { Network } from "../sdk/types.ts";
import { sluice } from "./client.ts";

/** More than there are. */
const MOST = 200;

const NETWORKS = {
  queryKey: ["networks", "all"],
  queryFn: (): Promise<Network[]> => sluice.networks.list({ limit: MOST }).toArray(MOST),
};

/** For choices, and for what depends on a network's family. */
export function useNetworks() {
  return useQuery({ ...NETWORKS, staleTime: 60_000 });
}

/** A head moves with every block, and no event tells of that. Nothing is asked while the page is out of sight. */
export function useHeads() {
  return useQuery({ ...NETWORKS, refetchInterval: 2_500 });
}
