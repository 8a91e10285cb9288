/**
 * Four charts. Each is made of a bounded number of rows, and says so when there were more. They are asked for at a slow
 * pace of their own, not with every event: a busy feed must not make the page read lists all the time.
 */

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Deposit, DepositStatus, WebhookEndpoint } from "../../../sdk/types.ts";
import { type Bounded, bounded } from "../../bounded.ts";
import { Chart } from "../../charts/chart.tsx";
import { sluice } from "../../client.ts";
import { Answer } from "../../design/answers.tsx";
import { Card } from "../../design/layout.tsx";
import {
  confirmationsToGo,
  DEPOSIT_STATUSES,
  depositsPerHour,
  firstHour,
  type Latency,
  latencyOf,
  millisecondsText,
} from "../../figures.ts";
import { useHeads } from "../../networks.ts";
import styles from "./overview.module.css";
import { MOST_PENDING, usePendingDeposits } from "./pending.ts";

const MOST_DEPOSITS = 1_000;
const MOST_ENDPOINTS = 8;
const DELIVERIES_EACH = 100;

export function Charts() {
  return (
    <div className={styles.charts}>
      <DepositsPerHour />
      <ConfirmationsToGo />
      <DeliveryLatency />
      <DuplicatesMet />
    </div>
  );
}

const COLOURS: Record<DepositStatus, string> = {
  pending: "var(--info)",
  confirmed: "color-mix(in srgb, var(--accent) 50%, var(--surface))",
  settled: "var(--accent)",
  reverted: "var(--bad)",
  dropped: "var(--line-strong)",
};
const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const count = (value: number) => String(value);

function DepositsPerHour() {
  const deposits = useQuery({
    queryKey: ["charts", "deposits"],
    queryFn: async () => {
      const now = Date.now();
      const first = firstHour(now);
      const list = sluice.deposits.list({ limit: 200 });
      return { now, ...(await bounded(list, MOST_DEPOSITS, (row) => Date.parse(row.created_at) < first)) };
    },
    refetchInterval: 10_000,
  });
  return (
    <Waiting title="Deposits per hour" query={deposits}>
      {({ rows, isCut, now }) => {
        const hours = depositsPerHour(rows, now);
        const used = DEPOSIT_STATUSES.filter((status) => hours.some(({ counts }) => counts[status] > 0));
        return (
          <Chart
            title="Deposits per hour"
            words={depositWords(rows, isCut)}
            nameOfRows="Hour"
            rows={hours.map(({ start, counts }) => ({ name: HOUR.format(start), values: counts }))}
            series={used.map((status) => ({ key: status, name: status, colour: COLOURS[status] }))}
            stacked
            format={count}
          />
        );
      }}
    </Waiting>
  );
}

function depositWords(rows: readonly Deposit[], isCut: boolean): string {
  if (rows.length === 0) return "None was seen in the last 24 hours.";
  const parts = DEPOSIT_STATUSES.map((status) => [rows.filter((row) => row.status === status).length, status] as const)
    .filter(([n]) => n > 0)
    .map(([n, status]) => `${n} ${status}`);
  const which = isCut ? `The newest ${rows.length} of the last 24 hours; there were more` : "Of the last 24 hours";
  return `${which}: ${parts.join(", ")}.`;
}

function ConfirmationsToGo() {
  const pending = usePendingDeposits();
  return (
    <Waiting title="Confirmations to go" query={pending}>
      {({ rows, isCut }) => (
        <Chart
          title="Confirmations to go"
          words={toGoWords(rows.length, isCut)}
          nameOfRows="Blocks to go"
          rows={confirmationsToGo(rows).map(({ name, deposits }) => ({ name, values: { deposits } }))}
          series={[{ key: "deposits", name: "deposits", colour: "var(--info)" }]}
          format={count}
        />
      )}
    </Waiting>
  );
}

function toGoWords(waiting: number, isCut: boolean): string {
  if (waiting === 0) return "No deposit is waiting.";
  const which = isCut ? `The newest ${MOST_PENDING} pending deposits; there are more.` : `${waiting} pending.`;
  return `${which} Each column is how many still need so many blocks.`;
}

interface EndpointLatency {
  readonly endpoint: WebhookEndpoint;
  readonly latency: Latency;
}

function DeliveryLatency() {
  const latencies = useQuery({
    queryKey: ["charts", "latency"],
    queryFn: async () => {
      const endpoints = await bounded(sluice.webhookEndpoints.list({ limit: MOST_ENDPOINTS }), MOST_ENDPOINTS);
      const measured = await Promise.all(
        endpoints.rows.map(async (endpoint) => {
          const list = sluice.webhookEndpoints.deliveries(endpoint.id, { status: "delivered", limit: DELIVERIES_EACH });
          const latency = latencyOf((await list.page()).data);
          return latency === null ? [] : [{ endpoint, latency }];
        }),
      );
      return { rows: measured.flat(), isCut: endpoints.isCut };
    },
    refetchInterval: 30_000,
  });
  return (
    <Waiting title="Webhook latency" query={latencies}>
      {(found) => (
        <Chart
          title="Webhook latency"
          words={latencyWords(found)}
          nameOfRows="Endpoint"
          rows={found.rows.map(({ endpoint, latency: { p50, p95 } }, i) => ({
            name: nameOf(endpoint, found.rows, i),
            values: { p50, p95 },
          }))}
          series={[
            { key: "p50", name: "p50", colour: "var(--accent)" },
            { key: "p95", name: "p95", colour: "var(--warn)" },
          ]}
          format={millisecondsText}
        />
      )}
    </Waiting>
  );
}

function latencyWords({ rows, isCut }: Bounded<EndpointLatency>): string {
  if (rows.length === 0) return "Nothing was delivered yet.";
  const each = rows.map(({ endpoint, latency }, i) => {
    const { p50, p95, count: n } = latency;
    const of = n === 1 ? "1 delivery" : `${n} deliveries`;
    return `${nameOf(endpoint, rows, i)}: p50 ${millisecondsText(p50)}, p95 ${millisecondsText(p95)} of ${of}.`;
  });
  const bound = isCut ? ` The newest ${MOST_ENDPOINTS} endpoints alone.` : "";
  return `From an event to your server's answer, of each endpoint's latest ${DELIVERIES_EACH} deliveries. ${each.join(" ")}${bound}`;
}

/** Its host; with a number where several endpoints are at one. */
function nameOf({ url }: WebhookEndpoint, all: readonly EndpointLatency[], i: number): string {
  const host = hostOf(url);
  const alike = all.filter(({ endpoint }) => hostOf(endpoint.url) === host);
  return alike.length === 1 ? host : `${host} ${alike.indexOf(all[i] as EndpointLatency) + 1}`;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

function DuplicatesMet() {
  const networks = useHeads();
  return (
    <Waiting title="Duplicates met" query={networks}>
      {(rows) => {
        const met = rows.reduce((sum, { duplicates_met: n }) => sum + n, 0);
        return (
          <Chart
            title="Duplicates met"
            words={
              met === 0
                ? "No payment was met a second time."
                : `${met} times a payment was met again after it was known, by reading again or by a reorganisation. None was credited twice.`
            }
            nameOfRows="Network"
            rows={rows.map(({ id, duplicates_met: n }) => ({ name: id, values: { met: n } }))}
            series={[{ key: "met", name: "met again", colour: "var(--accent)" }]}
            format={count}
          />
        );
      }}
    </Waiting>
  );
}

/** Its name is there before its data is. */
function Waiting<T>({
  title,
  query,
  children,
}: {
  readonly title: string;
  readonly query: Parameters<typeof Answer<T>>[0]["query"];
  readonly children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return <Answer query={query}>{children}</Answer>;
  return (
    <Card title={title}>
      <Answer query={query}>{children}</Answer>
    </Card>
  );
}
