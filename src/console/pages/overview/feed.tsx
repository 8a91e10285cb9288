/** The latest events, as a sentence each: those that were there, and those that come while the page is open. */

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { SluiceEvent } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Answer, Empty } from "../../design/answers.tsx";
import { Card, Timeline, type TimelineStep } from "../../design/layout.tsx";
import { Time, toneOf } from "../../design/text.tsx";
import { useLive } from "../../live.tsx";

const SHOWN = 10;

export function LatestEvents() {
  const { latest } = useLive();
  const before = useQuery({
    queryKey: ["events", "latest"],
    queryFn: async () => {
      const { event_sequence: newest } = await sluice.session.get();
      const { data } = await sluice.events.list({ after: Math.max(0, newest - SHOWN), limit: SHOWN }).page();
      return data;
    },
    // The live feed brings what is new; this fills what a lost connection left out of it.
    refetchInterval: 30_000,
  });
  return (
    <Card title="Latest events">
      <Answer query={before}>
        {(known) => {
          const events = newestFirst([...known, ...latest]).slice(0, SHOWN);
          return events.length === 0 ? (
            <Empty title="Nothing has happened yet" />
          ) : (
            <Timeline label="Latest events" steps={events.map(stepOf)} />
          );
        }}
      </Answer>
    </Card>
  );
}

function newestFirst(events: readonly SluiceEvent[]): SluiceEvent[] {
  const bySequence = new Map(events.map((event) => [event.sequence, event]));
  return [...bySequence.values()].sort((a, b) => b.sequence - a.sequence);
}

function stepOf(event: SluiceEvent): TimelineStep {
  return {
    key: event.id,
    tone: toneOfEvent(event),
    title: titleOf(event),
    at: <Time at={event.created_at} />,
    children: (
      <span className="small quiet">
        {event.type}, number {event.sequence}
      </span>
    ),
  };
}

function toneOfEvent(event: SluiceEvent): string {
  switch (event.type) {
    case "withdrawal.updated":
      return toneOf(event.data.state);
    case "account.debt_opened":
    case "network.halted":
      return "bad";
    case "account.debt_cleared":
    case "network.resumed":
      return "good";
    default:
      return toneOf(event.type.split(".")[1] ?? "");
  }
}

const DEPOSITS = {
  "deposit.pending": "seen",
  "deposit.confirmed": "confirmed",
  "deposit.settled": "settled",
  "deposit.reverted": "reverted",
  "deposit.dropped": "dropped",
} as const;

function titleOf(event: SluiceEvent): ReactNode {
  switch (event.type) {
    case "deposit.pending":
    case "deposit.confirmed":
    case "deposit.settled":
    case "deposit.reverted":
    case "deposit.dropped": {
      const { id, amount, asset, account } = event.data;
      return (
        <span className="break">
          <Link to={`/deposits/${id}`}>
            Deposit of {amount} {asset}
          </Link>{" "}
          for {account} {DEPOSITS[event.type]}
        </span>
      );
    }
    case "withdrawal.updated": {
      const { id, amount, asset, state } = event.data;
      return (
        <span className="break">
          <Link to={`/withdrawals/${id}`}>
            Withdrawal of {amount} {asset}
          </Link>
          : {state.replaceAll("_", " ")}
        </span>
      );
    }
    case "account.debt_opened":
      return `${event.data.account} owes ${event.data.debt} ${event.data.asset}`;
    case "account.debt_cleared":
      return `${event.data.account} owes nothing in ${event.data.asset} any more`;
    case "network.halted":
      return `${event.data.network} is halted: ${event.data.reason}`;
    case "network.resumed":
      return `${event.data.network} goes on`;
    case "endpoint.disabled":
      return <Link to={`/webhooks/${event.data.id}`}>Webhook endpoint disabled</Link>;
    case "incident.opened":
      return <Link to="/incidents?status=open">{event.data.summary}</Link>;
    case "incident.closed":
      return <Link to="/incidents">Over: {event.data.summary}</Link>;
    case "webhook.test":
      return <Link to={`/webhooks/${event.data.endpoint_id}`}>Test event for a webhook endpoint</Link>;
    default:
      // A newer service may tell of more.
      return (event as { type: string }).type;
  }
}
