/** The books: what each account holds, the entries that it is the sum of, and a statement of them as a file. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useSearchParams } from "react-router";
import type { Balance, LedgerEntry, LedgerFilter } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Empty } from "../design/answers.tsx";
import { SelectField, TextField } from "../design/form.tsx";
import { Card, PageHead } from "../design/layout.tsx";
import { type Column, PagedTable, useRows } from "../design/table.tsx";
import { Amount, ExactTime, Short } from "../design/text.tsx";
import { Cause } from "./ledger/cause.tsx";
import { Statement } from "./ledger/statement.tsx";

/** A name is asked for once it is typed. */
const TYPED_MS = 350;
const MOST_ASSETS = 400;

/** As the columns of the balances are named: a settled deposit is something else. */
const PLACES: Readonly<Record<string, string>> = { settled: "paid out" };

const BALANCES: readonly Column<Balance>[] = [
  { name: "Account", cell: ({ account }) => <span className="break">{account}</span> },
  { name: "Network", cell: ({ network }) => network },
  { name: "Available", number: true, cell: (row) => <Amount amount={row.available} asset={row.asset} /> },
  { name: "Reserved", number: true, cell: (row) => <Amount amount={row.reserved} asset={row.asset} /> },
  { name: "Paid out", number: true, cell: (row) => <Amount amount={row.settled} asset={row.asset} /> },
  { name: "Debt", number: true, cell: (row) => <Amount amount={row.debt} asset={row.asset} /> },
];

const ENTRIES: readonly Column<LedgerEntry>[] = [
  {
    name: "Posted",
    cell: ({ created_at: at }) => (
      <span className="small">
        <ExactTime at={at} />
      </span>
    ),
  },
  {
    name: "Account",
    cell: ({ account, network }) => (
      <span className="stack stack-tight" style={{ gap: 0, minWidth: 110 }}>
        <span className="break">{account}</span>
        <span className="small quiet">{network}</span>
      </span>
    ),
  },
  {
    name: "Movement",
    cell: ({ from, to }) => (
      <span>
        {PLACES[from] ?? from} <span aria-hidden>→</span>
        <span className="only-read">to</span> {PLACES[to] ?? to}
      </span>
    ),
  },
  { name: "Amount", number: true, cell: (row) => <Amount amount={row.amount} asset={row.asset} /> },
  { name: "Cause", cell: ({ cause }) => <Cause type={cause.type} id={cause.id} /> },
  { name: "Journal", cell: (row) => <Short text={row.journal_id} label="journal id" keep={4} /> },
];

export function LedgerPage() {
  const [search, setSearch] = useSearchParams();
  const filter = filterOf(search);
  const narrow = (name: keyof LedgerFilter, value: string) =>
    setSearch(
      (now) => {
        const next = new URLSearchParams(now);
        if (value === "") next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const balances = useRows(["balances", "list", filter], () => sluice.balances.list(filter), {
    refetchInterval: 15_000,
  });
  const entries = useRows(["entries", "list", filter], () => sluice.ledgerEntries.list(filter), {
    refetchInterval: 15_000,
  });
  const isNarrowed = Object.keys(filter).length > 0;
  return (
    <>
      <PageHead title="Ledger">Every movement once, with its cause. Nothing is ever changed or removed.</PageHead>
      <div className="columns">
        <AccountField value={filter.account ?? ""} onChange={(account) => narrow("account", account)} />
        <AssetFields filter={filter} onChange={narrow} />
      </div>
      <Card title="Balances" flush>
        <PagedTable
          label="Balances"
          rows={balances}
          columns={BALANCES}
          keyOf={({ account, network, asset }) => JSON.stringify([account, network, asset])}
          empty={<Nothing isNarrowed={isNarrowed} what="balances" />}
        />
      </Card>
      <Statement filter={filter} />
      <Card title="Entries" flush>
        <PagedTable
          label="Ledger entries"
          rows={entries}
          columns={ENTRIES}
          keyOf={({ id }) => id}
          empty={<Nothing isNarrowed={isNarrowed} what="entries" />}
        />
      </Card>
    </>
  );
}

function Nothing({ isNarrowed, what }: { readonly isNarrowed: boolean; readonly what: string }) {
  return (
    <Empty title={isNarrowed ? `No ${what} fit the filter` : `No ${what} yet`}>
      {isNarrowed ? null : <span>The first one is made when a deposit is confirmed.</span>}
    </Empty>
  );
}

function filterOf(search: URLSearchParams): LedgerFilter {
  const names = ["account", "network", "asset"] as const;
  return Object.fromEntries(names.flatMap((name) => (search.get(name) ? [[name, search.get(name)]] : [])));
}

function AccountField({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    const account = typed.trim();
    if (account === value) return;
    const timer = setTimeout(() => onChange(account), TYPED_MS);
    return () => clearTimeout(timer);
  });
  return <TextField label="Account" name="account" value={typed} onChange={setTyped} placeholder="All accounts" />;
}

function AssetFields({
  filter,
  onChange,
}: {
  readonly filter: LedgerFilter;
  readonly onChange: (name: keyof LedgerFilter, value: string) => void;
}) {
  const assets = useQuery({
    queryKey: ["assets", "all"],
    queryFn: () => sluice.assets.list({ limit: 200 }).toArray(MOST_ASSETS),
    staleTime: 60_000,
  });
  const choices = (what: "network" | "symbol", all: string, chosen: string | undefined) => {
    const names = new Set(assets.data?.map((asset) => asset[what]));
    if (chosen !== undefined) names.add(chosen);
    return [{ value: "", label: all }, ...[...names].sort().map((name) => ({ value: name, label: name }))];
  };
  return (
    <>
      <SelectField
        label="Network"
        name="network"
        value={filter.network ?? ""}
        choices={choices("network", "Every network", filter.network)}
        onChange={(network) => onChange("network", network)}
      />
      <SelectField
        label="Asset"
        name="asset"
        value={filter.asset ?? ""}
        choices={choices("symbol", "Every asset", filter.asset)}
        onChange={(asset) => onChange("asset", asset)}
      />
    </>
  );
}
