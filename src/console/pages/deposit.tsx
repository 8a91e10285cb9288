/** One deposit: what it is, how far it is, and everything that was told about it, in order. */

import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import type { Deposit, SluiceEvent } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Answer, Empty } from "../design/answers.tsx";
import { Card, Facts, PageHead, Timeline, type TimelineStep } from "../design/layout.tsx";
import { Amount, ExactTime, Short, State, toneOf } from "../design/text.tsx";
import { explorerOf } from "../explorers.ts";
import { Confirmations } from "./deposits.tsx";

export function DepositPage() {
  const { id = "" } = useParams();
  const deposit = useQuery({
    queryKey: ["deposits", "one", id],
    queryFn: async () => await sluice.deposits.get(id),
    refetchInterval: ({ state }) => (state.data?.status === "settled" ? false : 2_000),
  });
  const story = useQuery({
    queryKey: ["deposits", "story", id],
    queryFn: () => sluice.events.list({ subject: id }).toArray(200),
  });
  return (
    <>
      <PageHead title="Deposit" actions={<Link to="/deposits">All deposits</Link>}>
        <span className="mono break">{id}</span>
      </PageHead>
      <Answer query={deposit}>{(row) => <WhatItIs deposit={row} />}</Answer>
      <Card title="What happened">
        <Answer query={story}>
          {(events) =>
            events.length === 0 ? (
              <Empty title="Nothing was told about it yet" />
            ) : (
              <Timeline label="Events of this deposit" steps={events.map(stepOf)} />
            )
          }
        </Answer>
      </Card>
    </>
  );
}

function WhatItIs({ deposit: row }: { readonly deposit: Deposit }) {
  const explorer = explorerOf("tx", row.network, row.tx_id);
  return (
    <div className="columns">
      <Card>
        <div className="stack">
          <div className="figure-value">
            <Amount amount={row.amount} asset={row.asset} />
          </div>
          <div className="row">
            <State of={row.status} />
            {row.epoch > 1 ? <span className="small quiet">confirmed {row.epoch} times</span> : null}
          </div>
          <Confirmations of={row} />
        </div>
      </Card>
      <Card>
        <Facts
          of={[
            ["Account", row.account],
            ["Network", row.network],
            ["Address", <Short key="address" text={row.address} label="address" />],
            ["Transaction", <Short key="tx" text={row.tx_id} label="transaction id" />],
            [
              "Place in it",
              <span key="place" className="mono">
                {row.transfer_index}
              </span>,
            ],
            row.memo === null
              ? null
              : [
                  "Memo",
                  <span key="memo" className="break">
                    {row.memo}
                  </span>,
                ],
            ["Block", row.block_height === null ? "none yet" : String(row.block_height)],
            ["Seen", <ExactTime key="seen" at={row.created_at} />],
            explorer === null
              ? null
              : [
                  "Explorer",
                  <a key="explorer" href={explorer} target="_blank" rel="noreferrer">
                    Look at the transaction
                  </a>,
                ],
          ]}
        />
      </Card>
    </div>
  );
}

const TITLES: Record<string, string> = {
  "deposit.pending": "Seen",
  "deposit.confirmed": "Confirmed and credited",
  "deposit.reverted": "Reverted: a reorganisation took its block away, the credit was taken back",
  "deposit.settled": "Settled: too deep to be reorganised",
  "deposit.dropped": "Dropped: its block or its place in the pool is gone",
};

function stepOf(event: SluiceEvent): TimelineStep {
  const { block_height: height } = event.data as Deposit;
  const isGone = event.type === "deposit.reverted" || event.type === "deposit.dropped";
  return {
    key: event.id,
    tone: toneOf(event.type.slice("deposit.".length)),
    title: TITLES[event.type] ?? event.type,
    at: <ExactTime at={event.created_at} />,
    children:
      height === null ? undefined : (
        <span className="small quiet">
          {isGone ? "Was in block" : "In block"} {height}
        </span>
      ),
  };
}
