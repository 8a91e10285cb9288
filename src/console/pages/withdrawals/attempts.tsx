/** The transactions that were signed for a withdrawal, and what became of each. */

import type { Withdrawal, WithdrawalAttempt } from "../../../sdk/types.ts";
import { Empty } from "../../design/answers.tsx";
import { type Column, Table } from "../../design/table.tsx";
import { Short, State, Time } from "../../design/text.tsx";
import { explorerOf } from "../../explorers.ts";
import css from "./attempts.module.css";
import { fateOf } from "./words.ts";

export function Attempts({ of: { attempts, network } }: { readonly of: Withdrawal }) {
  if (attempts.length === 0) {
    return (
      <Empty title="Nothing is signed">
        <span>No transaction of it exists.</span>
      </Empty>
    );
  }
  return <Table label="Attempts" columns={columnsOn(network)} rows={attempts} keyOf={({ tx_id: txId }) => txId} />;
}

function columnsOn(network: string): readonly Column<WithdrawalAttempt>[] {
  return [
    { name: "Transaction", cell: ({ tx_id: txId }) => <Transaction network={network} txId={txId} /> },
    {
      name: "What",
      cell: ({ kind, nonce }) => (
        <span className={css.whole}>
          {kind}
          {nonce === null ? null : <span className="quiet"> nonce {nonce}</span>}
        </span>
      ),
    },
    { name: "Status", cell: ({ status }) => <State of={status} /> },
    { name: "What became of it", cell: (attempt) => fateOf(attempt) },
    {
      name: "Last answer",
      cell: ({ outcome }) =>
        outcome === null ? (
          <span className="quiet">none</span>
        ) : (
          <span className="break">{outcome.replaceAll("_", " ")}</span>
        ),
    },
    {
      name: "Sent",
      cell: ({ sent_at: at }) => (
        <span className={css.whole}>
          <Time at={at} />
        </span>
      ),
    },
  ];
}

/** Its id to copy, and where anybody can look at it. */
export function Transaction({ network, txId }: { readonly network: string; readonly txId: string }) {
  const explorer = explorerOf("tx", network, txId);
  return (
    <span className={`row ${css.whole}`} style={{ gap: 4 }}>
      <Short text={txId} label="transaction id" />
      {explorer === null ? null : (
        <a href={explorer} target="_blank" rel="noreferrer">
          Explorer
        </a>
      )}
    </span>
  );
}
