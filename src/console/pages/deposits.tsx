/** The deposits, newest first: what arrived, how far it is, and where it can be looked at. */

import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import type { Deposit, DepositStatus } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Empty } from "../design/answers.tsx";
import { SelectField, TextField } from "../design/form.tsx";
import { Card, PageHead, Progress } from "../design/layout.tsx";
import { type Column, PagedTable, useRows } from "../design/table.tsx";
import { Amount, Short, State, Time } from "../design/text.tsx";

const STATUSES = [
  { value: "", label: "Every status" },
  ...(["pending", "confirmed", "settled", "reverted", "dropped"] as const).map((value) => ({ value, label: value })),
];

const COLUMNS: readonly Column<Deposit>[] = [
  {
    name: "Amount",
    cell: (row) => (
      <Link to={`/deposits/${row.id}`}>
        <Amount amount={row.amount} asset={row.asset} />
      </Link>
    ),
  },
  { name: "Status", cell: (row) => <State of={row.status} /> },
  { name: "Confirmations", cell: (row) => <Confirmations of={row} /> },
  { name: "Network", cell: (row) => row.network },
  { name: "Account", cell: (row) => <span className="break">{row.account}</span> },
  { name: "Transaction", cell: (row) => <Short text={row.tx_id} label="transaction id" /> },
  { name: "Seen", cell: (row) => <Time at={row.created_at} /> },
];

export function DepositsPage() {
  const [search, setSearch] = useSearchParams();
  const status = search.get("status") ?? "";
  const [account, setAccount] = useState(search.get("account") ?? "");
  const filter = {
    ...(status === "" ? {} : { status: status as DepositStatus }),
    ...(account.trim() === "" ? {} : { account: account.trim() }),
  };
  const rows = useRows(["deposits", filter], () => sluice.deposits.list(filter), { refetchInterval: 3_000 });
  return (
    <>
      <PageHead title="Deposits">Every payment to one of your addresses, once.</PageHead>
      <div className="columns">
        <SelectField
          label="Status"
          name="status"
          value={status}
          choices={STATUSES}
          onChange={(next) => setSearch(next === "" ? {} : { status: next })}
        />
        <TextField label="Account" name="account" value={account} onChange={setAccount} placeholder="All accounts" />
      </div>
      <Card flush>
        <PagedTable
          label="Deposits"
          rows={rows}
          columns={COLUMNS}
          keyOf={(row) => row.id}
          empty={
            Object.keys(filter).length > 0 ? (
              <Empty title="No deposit fits these filters" />
            ) : (
              <Empty title="No deposits yet">
                <span>They appear as soon as one of your addresses is paid.</span>
                <Link to="/addresses">Register an address</Link>
              </Empty>
            )
          }
        />
      </Card>
    </>
  );
}

/** How deep its block is, of the depth that is asked for. */
export function Confirmations({ of: deposit }: { readonly of: Deposit }) {
  const { confirmations, confirmations_required: required, status } = deposit;
  if (status === "dropped" || status === "reverted") return <span className="quiet">not in the chain</span>;
  if (required === null) {
    return <span>{status === "pending" ? `${confirmations}, waits for finality` : `${confirmations}, final`}</span>;
  }
  const label = confirmations > required ? `${confirmations}, ${required} needed` : `${confirmations} of ${required}`;
  return <Progress value={confirmations} of={required} label={label} />;
}
