/**
 * A webhook endpoint that takes nothing: disabled by what it answered, or failing for long. One that its owner disabled
 * is as it should be, and so is one with nothing left to send. Open from what its object says to what its object says.
 */

import { THRESHOLDS } from "../../../core/incident.ts";
import type { EndpointRow } from "../../../store/tenant/endpoint-store.ts";
import type { EventAppender } from "../../../store/tenant/event-store.ts";
import type { TenantContext } from "../context.ts";
import { iso, isoOrNull } from "../deposit-view.ts";
import { recordSight, type TenantSight } from "./record.ts";

/** In the commit that takes in what the endpoint's object said. */
export function recordEndpoint(
  c: TenantContext,
  events: EventAppender,
  tenantId: string,
  row: EndpointRow,
  failingSince: number | null,
): void {
  const sight = sightOf(row, failingSince, c.now());
  if (sight !== null) recordSight(c, events, tenantId, sight);
}

/** Deleted. */
export function endpointIsOver(id: string): TenantSight {
  return { kind: "endpoint_dead", subject: id, state: "well", isCertain: true, since: null, shown: null };
}

/** Null: it fails, and not for long enough to be of any interest. */
function sightOf(row: EndpointRow, failingSince: number | null, now: number): TenantSight | null {
  const { id, status, disabledReason, disabledAt } = row;
  if (disabledReason === "by_request") return endpointIsOver(id);
  const about = { kind: "endpoint_dead", subject: id } as const;
  if (status === "enabled" && failingSince === null) return { ...endpointIsOver(id), isCertain: false };
  if (status === "enabled" && now - (failingSince ?? now) < THRESHOLDS.endpoint_dead.openAfterMs) return null;
  const since = failingSince === null ? null : iso(failingSince);
  const summary =
    status === "disabled"
      ? `The webhook endpoint ${id} is disabled, and its events wait.`
      : `The webhook endpoint ${id} has taken nothing since ${since}.`;
  // The host alone: whoever knows the rest of a URL may pass for its owner, and the operator reads this too.
  const evidence = {
    host: new URL(row.url).host,
    status,
    disabled_reason: disabledReason,
    disabled_at: isoOrNull(disabledAt),
    failing_since: since,
  };
  const shown = { network: null, summary, evidence };
  return { ...about, state: "ill", isCertain: status === "disabled", since: failingSince, shown };
}
