/** One withdrawal: what it is, what it waits for, what can be done, every step it took and everything that was signed. */

import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import type { Withdrawal, WithdrawalTransition } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Answer, Notice } from "../design/answers.tsx";
import { Card, Facts, PageHead, Timeline, type TimelineStep } from "../design/layout.tsx";
import { Amount, Copy, ExactTime, State, toneOf } from "../design/text.tsx";
import { explorerOf } from "../explorers.ts";
import { useNetworks } from "../networks.ts";
import { WithdrawalActions } from "./withdrawals/actions.tsx";
import { Attempts, Transaction } from "./withdrawals/attempts.tsx";
import { Review } from "./withdrawals/review.tsx";
import { ENDED, reasonInWords, waitingInWords } from "./withdrawals/words.ts";

/** Steps come with the feed. What it waits for, and what became of an attempt, has no event. */
const POLL_MS = 4_000;
/** What is paid changes only when its block is replaced. */
const POLL_SLOWLY_MS = 30_000;

export function WithdrawalPage() {
  const { id = "" } = useParams();
  const withdrawal = useQuery({
    queryKey: ["withdrawals", "one", id],
    queryFn: async () => await sluice.withdrawals.get(id),
    refetchInterval: ({ state: { data } }) => {
      if (data === undefined || data.state === "confirmed") return POLL_SLOWLY_MS;
      return ENDED.includes(data.state) ? false : POLL_MS;
    },
  });
  return (
    <>
      <PageHead
        title="Withdrawal"
        actions={
          <>
            {withdrawal.data === undefined ? null : <WithdrawalActions of={withdrawal.data} />}
            <Link to="/withdrawals">All withdrawals</Link>
          </>
        }
      >
        <span className="mono break">{id}</span>
      </PageHead>
      <Answer query={withdrawal}>
        {(row) => (
          <>
            {row.state === "manual_review" ? <Review key={row.id} of={row} /> : null}
            <WhatItIs of={row} />
            <Card title="Steps">
              <Timeline label="Steps of this withdrawal" steps={row.transitions.map(stepOf)} />
            </Card>
            <Card title="Attempts" flush>
              <Attempts of={row} />
            </Card>
          </>
        )}
      </Answer>
    </>
  );
}

function WhatItIs({ of: row }: { readonly of: Withdrawal }) {
  const coin = useNetworks().data?.find(({ id }) => id === row.network)?.native_asset.symbol ?? "";
  const explorer = explorerOf("address", row.network, row.destination);
  const waits = row.waiting_for === null ? null : waitingInWords(row.waiting_for);
  const metadata = Object.entries(row.metadata);
  return (
    <div className="columns">
      <Card>
        <div className="stack">
          <div className="figure-value">
            <Amount amount={row.amount} asset={row.asset} />
          </div>
          <div className="row">
            <State of={row.state} />
          </div>
          {waits === null ? null : (
            <Notice tone={row.waiting_for === "person" ? "warn" : "info"} title={waits[0]}>
              <span>
                {waits[1]}{" "}
                {row.waiting_for === "wallet_top_up" ? (
                  <Link to="/withdrawals?tab=wallets">Show the hot wallets</Link>
                ) : null}
              </span>
            </Notice>
          )}
          <Facts
            of={[
              ["Fee", row.fee === null ? feeInWords(row) : <Amount key="fee" amount={row.fee} asset={coin} />],
              [
                "Transaction",
                row.tx_id === null ? "none is signed" : <Transaction key="tx" network={row.network} txId={row.tx_id} />,
              ],
            ]}
          />
        </div>
      </Card>
      <Card>
        <Facts
          of={[
            ["Account", row.account],
            ["Network", row.network],
            [
              "Destination",
              <span key="destination" className="row" style={{ gap: 4 }}>
                <span className="mono break">{row.destination}</span>
                <Copy text={row.destination} label="destination" />
                {explorer === null ? null : (
                  <a href={explorer} target="_blank" rel="noreferrer">
                    Explorer
                  </a>
                )}
              </span>,
            ],
            row.external_id === null ? null : ["Your id", row.external_id],
            [
              "Key",
              <span key="key" className="mono">
                {row.idempotency_key}
              </span>,
            ],
            ["Asked for", <ExactTime key="asked" at={row.created_at} />],
            ["Last step", <ExactTime key="last" at={row.updated_at} />],
            metadata.length === 0
              ? null
              : [
                  "Metadata",
                  <span key="metadata">{metadata.map(([name, value]) => `${name}: ${value}`).join(", ")}</span>,
                ],
          ]}
        />
      </Card>
    </div>
  );
}

function feeInWords({ state, attempts }: Withdrawal): string {
  if (!ENDED.includes(state)) return "known once it is mined";
  return attempts.length === 0 ? "none: nothing was signed" : "none: no payment was mined";
}

function stepOf({ to, reason, evidence, at }: WithdrawalTransition, index: number): TimelineStep {
  return {
    key: `${index} ${to}`,
    tone: toneOf(to),
    title: to.replaceAll("_", " "),
    at: <ExactTime at={at} />,
    children: (
      <>
        <span>
          {reasonInWords(reason)} <span className="mono quiet">{reason}</span>
        </span>
        {evidence === null ? null : <span className="mono break small">{evidence}</span>}
      </>
    ),
  };
}
