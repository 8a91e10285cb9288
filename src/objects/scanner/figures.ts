/** What a network's scanner tells the operator's monitor of itself and of its providers. */

import type { ProviderStanding } from "../../chains/nodes.ts";
import { type Figure, figure, SCANNER_COUNTERS, type ScannerCounter } from "../../core/figures.ts";
import { blockAt } from "../../store/scanner/state-store.ts";
import type { ScannerStatus } from "../api.ts";
import type { ScannerContext } from "./context.ts";

const STATUSES = ["ok", "lagging", "halted"] as const;
const CLAIMS = { new: "claims_new", met_again: "claims_met_again", refused: "claims_refused" } as const;
const READINGS = /^readings_(\w+)$/;

export class ScannerFigures {
  /** At the report before, to tell how fast blocks are read. */
  #before: { readonly at: number; readonly blocksRead: number; readonly perSecond: number } | null = null;

  of(s: ScannerContext, status: ScannerStatus): readonly Figure[] {
    const { network } = status;
    const labels = { network };
    const { head, scannedTo, finalized, counters } = status;
    const scanned = scannedTo === null ? undefined : blockAt(s.db, scannedTo);
    const isBehind = s.memory.head !== null && scanned !== undefined && s.memory.head.height > scanned.height;
    const lagSeconds = isBehind ? Math.max(0, (s.memory.head?.timestamp ?? 0) - (scanned?.timestamp ?? 0)) : 0;
    const { polls, pollsFailed, blocksRead } = s.memory.counted;
    return [
      ...STATUSES.map((name) =>
        figure("sluice_network_status", status.status === name ? 1 : 0, { network, status: name }),
      ),
      ...known("sluice_network_head", head, labels),
      ...known("sluice_network_scanned_to", scannedTo, labels),
      ...known("sluice_network_finalized", finalized, labels),
      ...known("sluice_network_lag_blocks", head === null ? null : Math.max(0, head - (scannedTo ?? head)), labels),
      ...known("sluice_network_lag_seconds", scanned === undefined ? null : lagSeconds, labels),
      ...known("sluice_network_scanned_block_timestamp_seconds", scanned?.timestamp ?? null, labels),
      ...known("sluice_network_last_poll_timestamp_seconds", seconds(status.lastPollAt), labels),
      figure("sluice_network_blocks_per_second", this.#perSecond(s.now(), blocksRead), labels),
      figure("sluice_network_blocks_read_total", blocksRead, labels),
      figure("sluice_network_polls_total", polls, labels),
      figure("sluice_network_polls_failed_total", pollsFailed, labels),
      figure("sluice_network_watched_addresses", status.watchedAddresses, labels),
      ...Object.entries(counters).flatMap(([name, value]) => {
        const reason = READINGS.exec(name)?.[1];
        return reason === undefined
          ? []
          : [figure("sluice_network_readings_refused_total", value, { network, reason })];
      }),
      ...Object.entries(CLAIMS).map(([outcome, name]) =>
        figure("sluice_claims_total", counters[name] ?? 0, { network, outcome }),
      ),
      ...(Object.keys(SCANNER_COUNTERS) as ScannerCounter[]).map((name) =>
        figure(`sluice_scanner_${name}_total`, counters[name] ?? 0, labels),
      ),
      ...providerFigures(network, s.nodes.standings(s.now())),
    ];
  }

  #perSecond(at: number, blocksRead: number): number {
    const before = this.#before;
    // Two reports of one moment say nothing of a pace.
    if (before !== null && at <= before.at) return before.perSecond;
    const perSecond = before === null ? 0 : ((blocksRead - before.blocksRead) * 1_000) / (at - before.at);
    this.#before = { at, blocksRead, perSecond };
    return perSecond;
  }
}

function providerFigures(network: string, standings: readonly ProviderStanding[]): Figure[] {
  const best = Math.max(...standings.map(({ head }) => head ?? Number.NEGATIVE_INFINITY));
  return standings.flatMap(({ provider, isHealthy, head, tally, doubts }) => {
    const labels = { network, provider };
    return [
      figure("sluice_provider_healthy", isHealthy ? 1 : 0, labels),
      figure("sluice_provider_requests_total", tally?.requests ?? 0, labels),
      figure("sluice_provider_request_seconds_total", (tally?.totalMs ?? 0) / 1_000, labels),
      ...[...(tally?.failures ?? [])].map(([reason, count]) =>
        figure("sluice_provider_request_errors_total", count, { ...labels, reason }),
      ),
      ...[...doubts].map(([reason, count]) => figure("sluice_provider_doubts_total", count, { ...labels, reason })),
      ...known("sluice_provider_latency_seconds", seconds(tally?.latencyMs ?? null), labels),
      ...known("sluice_provider_head", head, labels),
      ...known("sluice_provider_head_lag_blocks", head === null ? null : best - head, labels),
    ];
  });
}

function known(name: Parameters<typeof figure>[0], value: number | null, labels: Record<string, string>): Figure[] {
  return value === null ? [] : [figure(name, value, labels)];
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}
