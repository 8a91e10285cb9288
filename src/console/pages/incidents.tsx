/** What a person should look at: incidents with what shows them, and how many are open. */

import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import type { Incident } from "../../sdk/types.ts";
import { sluice } from "../client.ts";
import { Empty, Notice } from "../design/answers.tsx";
import { SelectField } from "../design/form.tsx";
import { Card, PageHead } from "../design/layout.tsx";
import { type Column, PagedTable, useRows } from "../design/table.tsx";
import { State, Time } from "../design/text.tsx";

/** More than these are told as so many and more. */
const COUNTED = 50;

const STATUSES = [
  { value: "", label: "Open and closed" },
  { value: "open", label: "open" },
  { value: "closed", label: "closed" },
];

const COLUMNS: readonly Column<Incident>[] = [
  { name: "What", cell: (row) => <span className="break">{row.summary}</span> },
  { name: "Status", cell: (row) => <State of={row.status} /> },
  { name: "Kind", cell: (row) => <code>{row.kind}</code> },
  { name: "What shows it", cell: (row) => <Evidence of={row} /> },
  { name: "Opened", cell: (row) => <Time at={row.opened_at} /> },
  { name: "Closed", cell: (row) => (row.closed_at === null ? "" : <Time at={row.closed_at} />) },
  { name: "Runbook", cell: (row) => <span className="small break">{row.runbook}</span> },
];

export function IncidentsPage() {
  const [search, setSearch] = useSearchParams();
  const chosen = search.get("status");
  const filter = chosen === "open" || chosen === "closed" ? ({ status: chosen } as const) : {};
  const rows = useRows(["incidents", filter], () => sluice.incidents.list(filter), { refetchInterval: 10_000 });
  return (
    <>
      <PageHead title="Incidents">
        What needs a person. Each opens once it has lasted, and closes by itself once it has been well for some time.
      </PageHead>
      <div className="columns">
        <SelectField
          label="Status"
          name="status"
          value={chosen ?? ""}
          choices={STATUSES}
          onChange={(next) => setSearch(next === "" ? {} : { status: next })}
        />
      </div>
      <Card flush>
        <PagedTable
          label="Incidents"
          rows={rows}
          columns={COLUMNS}
          keyOf={(row) => row.id}
          empty={<Empty title={chosen === null ? "Nothing has happened yet" : "No incident fits this filter"} />}
        />
      </Card>
    </>
  );
}

function Evidence({ of: { evidence } }: { readonly of: Incident }) {
  const shown = Object.entries(evidence).filter(([, value]) => value !== null);
  return (
    <span className="small break">
      {shown.map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`).join(", ")}
    </span>
  );
}

/** How many are open, where any is. */
export function OpenIncidents() {
  const open = useQuery({
    queryKey: ["incidents", "open"],
    queryFn: async () => await sluice.incidents.list({ status: "open", limit: COUNTED }).page(),
    refetchInterval: 30_000,
  });
  const page = open.data;
  if (page === undefined || page.data.length === 0) return null;
  const count = page.data.length;
  const title = `${count}${page.next_cursor === null ? "" : " and more"} open ${count === 1 ? "incident" : "incidents"}`;
  return (
    <Notice tone="warn" title={title}>
      <span>{page.data[0]?.summary} </span>
      <Link to="/incidents?status=open">Look at {count === 1 ? "it" : "all"}</Link>
    </Notice>
  );
}
