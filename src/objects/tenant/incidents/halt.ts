/** A halted network as one incident of each tenant that watches it: open from the scanner's word to its word. */

import type { NetworkNotice } from "../../api.ts";
import type { TenantSight } from "./record.ts";

export function haltSight({ network, type, data }: NetworkNotice): TenantSight {
  const about = { kind: "network_halted", subject: network, isCertain: true, since: null } as const;
  if (type === "network.resumed") return { ...about, state: "well", shown: null };
  const summary = `The network ${network} is halted. Nothing is credited or paid out on it until the operator has looked.`;
  return {
    ...about,
    state: "ill",
    shown: { network, summary, evidence: { reason: data.reason, height: data.height } },
  };
}
