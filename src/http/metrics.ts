/** Prometheus text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/ */

import type { ScannerStatus } from "../objects/api.ts";
import type { WithdrawalTotals } from "./services.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const STATUSES = ["ok", "lagging", "halted"] as const;

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Gauges and counters of every network; one whose scanner did not answer has `up` 0 and nothing else. What
 * withdrawals have in sum is left out when it could not be read: an absent number is seen, a zero would be believed.
 */
export function metricsText(
  statuses: ReadonlyMap<string, ScannerStatus | null>,
  withdrawals: WithdrawalTotals | null,
): string {
  const answered = [...statuses.values()].filter((status) => status !== null);
  const gauge = (name: string, help: string, of: (status: ScannerStatus) => number | null) =>
    family(
      `sluice_network_${name}`,
      "gauge",
      help,
      answered.flatMap((status) => sampleOf(status, of(status))),
    );

  return [
    family(
      "sluice_network_up",
      "gauge",
      "Whether the scanner answered.",
      [...statuses].map(([network, status]) => ({ labels: { network }, value: status === null ? 0 : 1 })),
    ),
    gauge("head", "Highest block the chain told of.", (status) => status.head),
    gauge("scanned_to", "Highest block read without a gap.", (status) => status.scannedTo),
    gauge("finalized", "Highest block final by the chain's own tag.", (status) => status.finalized),
    gauge("lag_blocks", "Blocks the scanner is behind the head.", (status) =>
      status.head === null || status.scannedTo === null ? null : Math.max(0, status.head - status.scannedTo),
    ),
    gauge("watched_addresses", "Addresses that are watched.", (status) => status.watchedAddresses),
    gauge("last_poll_timestamp_seconds", "When the chain was asked last.", (status) =>
      status.lastPollAt === null ? null : status.lastPollAt / 1000,
    ),
    family(
      "sluice_network_status",
      "gauge",
      "1 for the status the network is in.",
      answered.flatMap((status) =>
        STATUSES.map((name) => ({
          labels: { network: status.network, status: name },
          value: status.status === name ? 1 : 0,
        })),
      ),
    ),
    ...counterFamilies(answered),
    ...withdrawalFamilies(withdrawals),
  ].join("");
}

function counterFamilies(statuses: readonly ScannerStatus[]): string[] {
  const names = [...new Set(statuses.flatMap((status) => Object.keys(status.counters)))].sort();
  return names.map((name) => {
    // camelCase inside, snake_case and a unit-less `_total` outside.
    const metric = `${name.replace(/[A-Z]/g, (char) => `_${char.toLowerCase()}`).replace(/[^a-z0-9_]/g, "_")}_total`;
    const samples = statuses.flatMap((status) => sampleOf(status, status.counters[name] ?? null));
    return family(`sluice_scanner_${metric}`, "counter", `Scanner counter ${name}.`, samples);
  });
}

function withdrawalFamilies(totals: WithdrawalTotals | null): string[] {
  if (totals === null) return [];
  const sum = (value: number) => [{ labels: {}, value }];
  return [
    family(
      "sluice_withdrawals_unresolved",
      "gauge",
      "Withdrawals without an outcome, of all tenants, as cron saw them last.",
      sum(totals.unresolved),
    ),
    family(
      "sluice_reconciliation_mismatches",
      "gauge",
      "Differences in the tenants' latest reconciliations.",
      sum(totals.mismatches),
    ),
  ];
}

function sampleOf(status: ScannerStatus, value: number | null): Sample[] {
  return value === null ? [] : [{ labels: { network: status.network }, value }];
}

function family(name: string, type: "gauge" | "counter", help: string, samples: readonly Sample[]): string {
  if (samples.length === 0) return "";
  const lines = samples.map(({ labels, value }) => {
    const text = Object.entries(labels).map(([label, of]) => `${label}="${escapeLabel(of)}"`);
    return `${name}${text.length === 0 ? "" : `{${text.join(",")}}`} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
