/** What became of each event at one endpoint, newest first. */

import { useState } from "react";
import type { Delivery, WebhookEndpoint } from "../../../sdk/types.ts";
import { sluice } from "../../client.ts";
import { Empty } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { SelectField } from "../../design/form.tsx";
import { Card } from "../../design/layout.tsx";
import { type Column, PagedTable, rowsOf, useRows } from "../../design/table.tsx";
import { State, Time } from "../../design/text.tsx";
import { DeliveryDialog } from "./delivery.tsx";
import { outcomeInWords } from "./events.ts";

type Status = Delivery["status"];

const STATUSES = [
  { value: "", label: "Every status" },
  { value: "pending", label: "pending: tried, or waiting for the event before it" },
  { value: "delivered", label: "delivered" },
  { value: "given_up", label: "given up: ten attempts failed" },
];

export function Deliveries({ of: endpoint }: { readonly of: WebhookEndpoint }) {
  const [status, setStatus] = useState("");
  const [chosen, setChosen] = useState<Delivery | null>(null);
  const filter = status === "" ? {} : { status: status as Status };
  const rows = useRows(
    ["deliveries", endpoint.id, filter],
    () => sluice.webhookEndpoints.deliveries(endpoint.id, filter),
    { refetchInterval: 3_000 },
  );
  // As it stands now, also when it fits the filter no longer.
  const shown = chosen === null ? null : (rowsOf(rows).find(({ id }) => id === chosen.id) ?? chosen);
  return (
    <Card title="Deliveries" flush>
      <div style={{ maxWidth: 420, padding: "6px 16px 12px" }}>
        <SelectField label="Status" name="status" value={status} onChange={setStatus} choices={STATUSES} />
      </div>
      <PagedTable
        label="Deliveries"
        rows={rows}
        columns={columnsOf(setChosen)}
        keyOf={(row) => row.id}
        empty={
          <Empty title={status === "" ? "Nothing was sent yet" : "None has this status"}>
            {status === "" ? (
              <span>It hears of what happens from its creation on. Send a test event to see one.</span>
            ) : undefined}
          </Empty>
        }
      />
      <DeliveryDialog of={shown} endpoint={endpoint} onClose={() => setChosen(null)} />
    </Card>
  );
}

function columnsOf(onChosen: (row: Delivery) => void): readonly Column<Delivery>[] {
  return [
    { name: "Event", cell: (row) => <span className="mono break">{row.event_type}</span> },
    { name: "Sequence", cell: (row) => row.sequence },
    { name: "Status", cell: (row) => <State of={row.status} /> },
    { name: "Attempts", cell: (row) => <Attempts of={row} /> },
    {
      name: "Next attempt",
      cell: (row) =>
        row.next_attempt_at === null ? <span className="quiet">none</span> : <Time at={row.next_attempt_at} />,
    },
    { name: "Queued", cell: (row) => <Time at={row.created_at} /> },
    {
      name: "Details",
      cell: (row) => (
        <Button small aria-label={`Look at ${row.event_type}, sequence ${row.sequence}`} onClick={() => onChosen(row)}>
          Look
        </Button>
      ),
    },
  ];
}

function Attempts({ of: row }: { readonly of: Delivery }) {
  const last = row.attempts.at(-1);
  if (last === undefined) return <span className="quiet">none yet</span>;
  return (
    <span>
      {row.attempts.length}
      <span className="small quiet">
        , last: {outcomeInWords(last.outcome).toLowerCase()}
        {last.status === null ? "" : ` (${last.status})`}
      </span>
    </span>
  );
}
