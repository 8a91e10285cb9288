/**
 * What the operator's monitor knows by name: each figure's kind, its meaning, its labels, and how what many objects say
 * of it becomes one number. Names and units are Prometheus' own: base units, `_total` for what only rises. No label has
 * more values than there are networks, providers and states: never a tenant's, an account's or an address's name.
 */

export interface FigureKind {
  readonly type: "gauge" | "counter";
  readonly help: string;
  /** Of several objects with the same labels: their sum, the smallest or the largest. */
  readonly merge: "sum" | "min" | "max";
}

/** One number of one object. Absolute, not a difference: a repeat changes nothing. */
export interface Figure {
  /** A name of the catalogue. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const counter = (help: string): FigureKind => ({ type: "counter", help, merge: "sum" });
const sum = (help: string): FigureKind => ({ type: "gauge", help, merge: "sum" });
const least = (help: string): FigureKind => ({ type: "gauge", help, merge: "min" });
const most = (help: string): FigureKind => ({ type: "gauge", help, merge: "max" });

const NETWORK = {
  sluice_network_up: least("Whether the network's scanner told of itself lately."),
  sluice_network_last_report_timestamp_seconds: most("When the network's scanner told of itself last."),
  sluice_network_status: most("1 for the status the network is in."),
  sluice_network_head: most("Highest block the chain told of."),
  sluice_network_scanned_to: most("Highest block read without a gap."),
  sluice_network_finalized: most("Highest block final by the chain's own tag."),
  sluice_network_lag_blocks: most("Blocks the scanner is behind the head."),
  sluice_network_lag_seconds: most("Block time between the head and the highest block read."),
  sluice_network_scanned_block_timestamp_seconds: most("Time stamp of the highest block read."),
  sluice_network_last_poll_timestamp_seconds: most("When the chain was asked last."),
  sluice_network_blocks_per_second: sum("Blocks read in a second, between the last two reports."),
  sluice_network_blocks_read_total: counter("Blocks read."),
  sluice_network_polls_total: counter("Polls of the chain."),
  sluice_network_polls_failed_total: counter("Polls in which no provider answered, or something of ours failed."),
  sluice_network_readings_refused_total: counter(
    "Readings that a provider could not show or that were not believed, by reason.",
  ),
  sluice_network_watched_addresses: sum("Addresses that are watched."),
};

const PROVIDER = {
  sluice_provider_healthy: least(
    "1 while nothing lately speaks against the provider, 0 when others are asked first or it is refused.",
  ),
  sluice_provider_requests_total: counter("HTTP requests to the provider, by the scanner."),
  sluice_provider_request_seconds_total: counter("Time that these requests took together."),
  sluice_provider_request_errors_total: counter("Those of them that failed, by reason."),
  sluice_provider_doubts_total: counter("Polls that went no further with this provider, by reason."),
  sluice_provider_latency_seconds: most("Time of one HTTP request, smoothed."),
  sluice_provider_head: most("Highest block the provider told of."),
  sluice_provider_head_lag_blocks: most("Blocks the provider is behind the best head of its network."),
};

/** The scanner's own counters that stand as they are, by its name for them. */
export const SCANNER_COUNTERS = {
  reorganisations: "Reorganisations followed.",
  blocks_replaced: "Blocks taken back by reorganisations.",
  transfers_replaced: "Payments in blocks that were taken back.",
  transfers_removed: "Payments that a reorganisation took off the chain.",
  halts: "Times the network halted.",
  irregular_logs: "Transfer logs of watched tokens that are not to be read.",
  transfers_short_of_their_log: "Payments that brought less than their log says.",
  transfers_not_weighed: "Payments whose log had to be believed.",
  watches_taken: "Addresses that came to be watched.",
  watches_ended: "Addresses that are watched no more.",
  pool_readings_failed: "Readings of what waits to be mined that failed.",
  pool_transfers_added: "Payments seen before they were mined.",
  pool_transfers_gone: "Payments that waited and wait no more.",
  pool_transfers_left_out: "Payments that wait and for which there was no room.",
} as const;

export type ScannerCounter = keyof typeof SCANNER_COUNTERS;

const SCANNER = Object.fromEntries(
  Object.entries(SCANNER_COUNTERS).map(([name, help]) => [`sluice_scanner_${name}_total`, counter(help)]),
) as Record<`sluice_scanner_${ScannerCounter}_total`, FigureKind>;

const MONEY = {
  sluice_claims_total: counter("Payments claimed for their tenants: new, met again, or refused as another's."),
  sluice_payments_met_again_total: counter("Payments that tenants were told of again, unchanged."),
  sluice_deposits: sum("Deposits by state."),
  sluice_withdrawals: sum("Withdrawals by state."),
  sluice_withdrawal_oldest_open_timestamp_seconds: least(
    "When the oldest withdrawal without an outcome was asked for.",
  ),
  sluice_withdrawals_unresolved: sum("Withdrawals that need somebody, in the tenants' latest reconciliations."),
  sluice_reconciliation_mismatches: sum("Differences in the tenants' latest reconciliations."),
  sluice_withdrawal_broadcasts_repeated_total: counter("Signed transactions sent again."),
  sluice_withdrawal_claim_conflicts_total: counter(
    "Nonces, coins or attempts that turned out to be another withdrawal's.",
  ),
  sluice_foreign_spends_total: counter("Payments from hot wallets that are not ours."),
  sluice_wallets_stopped: sum("Hot wallets that were stopped until a person has looked."),
  sluice_idempotency_replays_total: counter("Requests answered with what the same request had made."),
  sluice_idempotency_conflicts_total: counter("Requests refused because their key stands for another one."),
  sluice_accounts_in_debt: sum("Accounts that owe something after a reversal."),
  sluice_accounts_debt_units: sum(
    "What they owe together, in whole units of the asset; a float, exact to some 15 digits.",
  ),
};

const WEBHOOK = {
  sluice_event_oldest_undelivered_timestamp_seconds: least(
    "When the oldest event came to be that an enabled endpoint still waits for.",
  ),
  sluice_webhook_attempts_total: counter("Attempts to deliver, by outcome."),
  sluice_webhook_deliveries_total: counter("Deliveries that ended, by how."),
  sluice_webhook_deliveries_pending: sum("Deliveries that wait; of one endpoint no more than 10,000 are counted."),
  sluice_webhook_endpoints: sum("Endpoints by state."),
};

const PATROL = {
  sluice_cron_last_run_timestamp_seconds: most("When cron looked after the objects last."),
  sluice_alarm_overdue_seconds: most(
    "How long the most overdue alarm of its kind of object was, when cron looked last.",
  ),
  sluice_patrol_failures: sum("Objects that cron could not look after the last time."),
};

export const FIGURES = { ...NETWORK, ...PROVIDER, ...SCANNER, ...MONEY, ...WEBHOOK, ...PATROL };

export type FigureName = keyof typeof FIGURES;

/** A report of an earlier or a later version may name what is not known here. */
export function kindOf(name: string): FigureKind | null {
  return Object.hasOwn(FIGURES, name) ? FIGURES[name as FigureName] : null;
}

export function figure(name: FigureName, value: number, labels: Readonly<Record<string, string>> = {}): Figure {
  return { name, labels, value };
}

/** Nothing at all when there is nothing to tell: of many objects most have none of it. */
export function unlessZero(name: FigureName, value: number, labels: Readonly<Record<string, string>> = {}): Figure[] {
  return value === 0 ? [] : [figure(name, value, labels)];
}
