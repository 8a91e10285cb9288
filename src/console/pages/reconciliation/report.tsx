/** One report: its result, what was compared, each difference by name, who did not answer, and what was counted. */

import { Link } from "react-router";
import type { Difference, Reconciliation } from "../../../sdk/types.ts";
import { Empty, Notice } from "../../design/answers.tsx";
import { Card, Facts } from "../../design/layout.tsx";
import { type Column, Table } from "../../design/table.tsx";
import { ExactTime, State } from "../../design/text.tsx";
import { placeOf } from "../ledger/cause.tsx";

const RESULTS: Record<Reconciliation["status"], string> = {
  matched: "Everything that was compared agrees.",
  mismatched: "Something differs. Each difference is named below.",
  incomplete: "A source did not answer. What could be compared agrees.",
};

/** What a kind of difference means. Others are shown by their name alone. */
const KINDS: Record<string, string> = {
  balance_differs: "A balance is not the sum of its entries",
  reserved_differs: "What is reserved is not the sum of the open withdrawals",
  journal_differs: "A withdrawal's entries are not those of its state",
  key_missing: "A withdrawal's idempotency key is not claimed",
  key_differs: "An idempotency key is claimed for something else",
  nonce_claim_missing: "A nonce is not claimed",
  nonce_claim_differs: "A nonce is claimed for something else",
  foreign_nonce: "A nonce of the hot wallet was used by somebody else",
  receipt_missing: "The chain does not have a transaction that the books have",
  receipt_differs: "The chain tells otherwise of a transaction",
  deposit_claim_missing: "A deposit is not claimed for its tenant",
};

const DIFFERENCES: readonly Column<Difference & { readonly n: number }>[] = [
  {
    name: "Difference",
    cell: ({ kind }) => (
      <span className="stack stack-tight" style={{ gap: 0 }}>
        <span>{KINDS[kind] ?? kind.replaceAll("_", " ")}</span>
        <span className="small quiet mono">{kind}</span>
      </span>
    ),
  },
  {
    name: "Concerns",
    cell: ({ subject }) => {
      const to = placeOf(subject);
      return <span className="mono break">{to === null ? subject : <Link to={to}>{subject}</Link>}</span>;
    },
  },
  { name: "The books say", cell: ({ expected }) => <span className="break">{expected}</span> },
  { name: "Found", cell: ({ found }) => <span className="break">{found}</span> },
];

export function Report({ of: report }: { readonly of: Reconciliation }) {
  const { differences, unreachable } = report;
  const all = report.counters.mismatches ?? differences.length;
  return (
    <>
      <Card title="Latest report">
        <div className="stack">
          <div className="row">
            <State of={report.status} />
            <span>{RESULTS[report.status]}</span>
          </div>
          <Facts
            of={[
              ["Made", <ExactTime key="made" at={report.created_at} />],
              [
                "Report",
                <span key="report" className="mono">
                  {report.id}
                </span>,
              ],
            ]}
          />
          {unreachable.length === 0 ? null : (
            <Notice tone="warn" title="Out of reach">
              <ul>
                {unreachable.map((source) => (
                  <li key={source} className="mono break">
                    {source}
                  </li>
                ))}
              </ul>
            </Notice>
          )}
        </div>
      </Card>
      <Card title="Differences" flush>
        {differences.length === 0 ? (
          <Empty title="No differences" />
        ) : (
          <Table
            label="Differences"
            columns={DIFFERENCES}
            rows={differences.map((difference, n) => ({ ...difference, n }))}
            keyOf={({ n }) => String(n)}
          />
        )}
        {all > differences.length ? (
          <p className="small quiet" style={{ padding: "8px 16px 12px" }}>
            {differences.length} of {all} are named.
          </p>
        ) : null}
      </Card>
      <div className="columns">
        <Counts title="Compared" of={report.compared} />
        <Counts title="Counters" of={report.counters} />
      </div>
    </>
  );
}

function Counts({ title, of: counts }: { readonly title: string; readonly of: Readonly<Record<string, number>> }) {
  const names = Object.keys(counts).sort();
  return (
    <Card title={title}>
      {names.length === 0 ? (
        <span className="quiet">Nothing.</span>
      ) : (
        <Facts of={names.map((name) => [name.replaceAll("_", " "), String(counts[name])] as const)} />
      )}
    </Card>
  );
}
