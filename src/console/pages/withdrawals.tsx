/** The withdrawals, newest first, and the hot wallets that pay them. */

import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import type { Withdrawal, WithdrawalState } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Empty } from "../design/answers.tsx";
import { SelectField, TextField } from "../design/form.tsx";
import { Card, PageHead } from "../design/layout.tsx";
import { type Column, PagedTable, useRows } from "../design/table.tsx";
import { Tabs } from "../design/tabs.tsx";
import { Amount, Short, State, Time } from "../design/text.tsx";
import { NewWithdrawalButton } from "./withdrawals/new.tsx";
import { Wallets } from "./withdrawals/wallets.tsx";
import { STATES, waitingInWords } from "./withdrawals/words.ts";

/** Steps come with the feed. What a withdrawal waits for has no event. */
const POLL_MS = 10_000;

const CHOICES = [
  { value: "", label: "Every state" },
  ...STATES.map((value) => ({ value, label: value.replaceAll("_", " ") })),
];

const COLUMNS: readonly Column<Withdrawal>[] = [
  {
    name: "Amount",
    cell: (row) => (
      <Link to={`/withdrawals/${row.id}`}>
        <Amount amount={row.amount} asset={row.asset} />
      </Link>
    ),
  },
  {
    name: "State",
    cell: (row) => (
      <span className="stack stack-tight" style={{ gap: 2, justifyItems: "start" }}>
        <State of={row.state} />
        {row.waiting_for === null ? null : <span className="small quiet">{waitingInWords(row.waiting_for)[0]}</span>}
      </span>
    ),
  },
  { name: "Network", cell: (row) => row.network },
  { name: "Account", cell: (row) => <span className="break">{row.account}</span> },
  { name: "Destination", cell: (row) => <Short text={row.destination} label="destination" /> },
  {
    name: "Your id",
    cell: (row) =>
      row.external_id === null ? <span className="quiet">none</span> : <span className="break">{row.external_id}</span>,
  },
  { name: "Asked for", cell: (row) => <Time at={row.created_at} /> },
];

export function WithdrawalsPage() {
  const [search, setSearch] = useSearchParams();
  return (
    <>
      <PageHead title="Withdrawals" actions={<NewWithdrawalButton />}>
        Each is paid at most once, whatever is repeated, lost or restarted.
      </PageHead>
      <Tabs
        label="Withdrawals and wallets"
        value={search.get("tab") === "wallets" ? "wallets" : "withdrawals"}
        onChange={(tab) => setSearch(tab === "wallets" ? { tab } : {})}
        tabs={[
          { value: "withdrawals", name: "Withdrawals", children: <Listed /> },
          { value: "wallets", name: "Hot wallets", children: <Wallets /> },
        ]}
      />
    </>
  );
}

function Listed() {
  const [search, setSearch] = useSearchParams();
  const state = search.get("state") ?? "";
  const [account, setAccount] = useState(search.get("account") ?? "");
  const [externalId, setExternalId] = useState("");
  const filter = {
    ...(state === "" ? {} : { state: state as WithdrawalState }),
    ...(account.trim() === "" ? {} : { account: account.trim() }),
    ...(externalId.trim() === "" ? {} : { external_id: externalId.trim() }),
  };
  const rows = useRows(["withdrawals", "list", filter], () => sluice.withdrawals.list(filter), {
    refetchInterval: POLL_MS,
  });
  return (
    <>
      <div className="columns">
        <SelectField
          label="State"
          name="state"
          value={state}
          choices={CHOICES}
          onChange={(next) => setSearch(next === "" ? {} : { state: next })}
        />
        <TextField label="Account" name="account" value={account} onChange={setAccount} placeholder="All accounts" />
        <TextField label="Your id" name="external_id" value={externalId} onChange={setExternalId} placeholder="Any" />
      </div>
      <Card flush>
        <PagedTable
          label="Withdrawals"
          rows={rows}
          columns={COLUMNS}
          keyOf={(row) => row.id}
          empty={
            Object.keys(filter).length === 0 ? (
              <Empty title="No withdrawals yet">
                <span>What you pay out appears here, with every step on its way.</span>
              </Empty>
            ) : (
              <Empty title="No withdrawal fits these filters" />
            )
          }
        />
      </Card>
    </>
  );
}
