/** The built-in receiver's view: what a shop's server would have got, and whether it would have believed it. */

import { useState } from "react";
import { Link } from "react-router";
import { Answer, Empty } from "../../design/answers.tsx";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Card, Facts } from "../../design/layout.tsx";
import { type Column, Table } from "../../design/table.tsx";
import { Badge, ExactTime, Short, Time } from "../../design/text.tsx";
import type { ReceivedDelivery } from "../../sandbox.ts";
import { pageOfSubject, readable } from "../webhooks/events.ts";
import { useReceived } from "./received.ts";

const STEP = 20;

export function ReceivedDeliveries() {
  const received = useReceived();
  const [shown, setShown] = useState(STEP);
  const [chosen, setChosen] = useState<ReceivedDelivery | null>(null);
  return (
    <Card title="What the receiver got" flush>
      <Answer query={received}>
        {({ latest }) =>
          latest.length === 0 ? (
            <Empty title="Nothing yet">
              <span>It hears of what happens once an endpoint of yours points to it.</span>
              <Link to="/webhooks">To the webhooks</Link>
            </Empty>
          ) : (
            <>
              <Table
                label="Received deliveries"
                columns={columnsOf(setChosen)}
                rows={latest.slice(0, shown)}
                keyOf={({ n }) => String(n)}
              />
              {latest.length > shown ? (
                <div className="row" style={{ justifyContent: "center", padding: 12 }}>
                  <Button onClick={() => setShown(shown + STEP)}>Show more</Button>
                </div>
              ) : null}
            </>
          )
        }
      </Answer>
      <Dialog title="Received delivery" open={chosen !== null} onClose={() => setChosen(null)}>
        {chosen === null ? null : <Shown of={chosen} />}
        <div className="dialog-actions">
          <Button look="main" onClick={() => setChosen(null)}>
            Close
          </Button>
        </div>
      </Dialog>
    </Card>
  );
}

function columnsOf(onChosen: (row: ReceivedDelivery) => void): readonly Column<ReceivedDelivery>[] {
  return [
    { name: "No.", cell: ({ n }) => n },
    { name: "Event", cell: ({ type }) => <span className="mono break">{type ?? "unknown"}</span> },
    { name: "Verified", cell: (row) => <Verdict of={row} /> },
    { name: "Sequence", cell: ({ sequence }) => sequence ?? "unknown" },
    { name: "Answered", cell: ({ answered }) => answered ?? "too late" },
    { name: "Came", cell: ({ at }) => <Time at={at} /> },
    {
      name: "Details",
      cell: (row) => (
        <Button small aria-label={`Look at delivery ${row.n}`} onClick={() => onChosen(row)}>
          Look
        </Button>
      ),
    },
  ];
}

function Verdict({ of: row }: { readonly of: ReceivedDelivery }) {
  return (
    <span className="stack stack-tight">
      <span className="row" style={{ gap: 6 }}>
        {row.verified ? <Badge tone="good">verified</Badge> : <Badge tone="bad">not believed</Badge>}
        {row.duplicate ? <Badge tone="warn">duplicate</Badge> : null}
      </span>
      {row.problem === null ? null : <span className="small quiet break">{row.problem}</span>}
    </span>
  );
}

function Shown({ of: row }: { readonly of: ReceivedDelivery }) {
  const page = row.subject === null ? null : pageOfSubject(row.subject);
  return (
    <>
      <Facts
        of={[
          ["Verified", <Verdict key="verdict" of={row} />],
          row.duplicate
            ? ["Duplicate", "It was taken in before. A shop without an inbox would book it a second time."]
            : null,
          [
            "Event",
            <span key="type" className="mono">
              {row.type ?? "unknown"}
            </span>,
          ],
          row.event_id === null ? null : ["Event id", <Short key="id" text={row.event_id} label="event id" />],
          row.subject === null
            ? null
            : [
                "About",
                page === null ? (
                  row.subject
                ) : (
                  <Link key="subject" to={page}>
                    {row.subject}
                  </Link>
                ),
              ],
          row.endpoint_id === null
            ? null
            : [
                "Endpoint",
                <Link key="endpoint" to={`/webhooks/${row.endpoint_id}`}>
                  {row.endpoint_id}
                </Link>,
              ],
          ["Answered", row.answered === null ? "Nothing: the service had stopped waiting" : String(row.answered)],
          ["Came", <ExactTime key="at" at={row.at} />],
        ]}
      />
      <Code label="Body">{readable(row.body)}</Code>
    </>
  );
}
